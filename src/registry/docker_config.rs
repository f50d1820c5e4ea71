//! The form of Docker's `config.json`, which Helm and Podman share.
//!
//! Owns the choice of the entry for a place. Pure. Start from [`DockerConfig`].

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::credentials::Login;
use super::secret_file::{Hidden, NotRead};

/// What of the file concerns logins.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DockerConfig {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
    #[serde(default)]
    cred_helpers: BTreeMap<String, String>,
    #[serde(default)]
    creds_store: String,
}

#[derive(Default, Deserialize)]
struct Entry {
    /// Base64 of `user:password`.
    #[serde(default)]
    auth: Hidden,
    #[serde(default)]
    username: Hidden,
    #[serde(default)]
    password: Hidden,
    #[serde(default)]
    identitytoken: Hidden,
}

impl DockerConfig {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// The place where it isn't as it should be; the parser's own words could repeat a password.
    pub(super) fn read(text: &[u8]) -> Result<Self, NotRead> {
        serde_json::from_slice(text).map_err(|why| NotRead::Malformed {
            line: why.line(),
            column: why.column(),
        })
    }

    /// The programs that may know a login for a place, the most particular one first.
    pub(super) fn helpers(&self, place: &str) -> Vec<String> {
        let own = best(&self.cred_helpers, place).map(String::as_str);
        let names = own.into_iter().chain([self.creds_store.as_str()]);
        // The name comes from a file that other programs write: it must not lead to another folder.
        let is_name = |name: &&str| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        let mut names: Vec<String> = names
            .filter(is_name)
            .map(|name| format!("docker-credential-{name}"))
            .collect();
        names.dedup();
        names
    }

    /// The login that the file itself has for a place.
    pub(super) fn login(&self, place: &str) -> Option<Login> {
        best(&self.auths, place)?.login()
    }
}

impl Entry {
    fn login(&self) -> Option<Login> {
        if !self.identitytoken.0.is_empty() {
            return Some(Login::Identity(self.identitytoken.0.as_str().into()));
        }
        if !self.auth.0.is_empty() {
            let decoded = Zeroizing::new(BASE64.decode(self.auth.0.trim()).ok()?);
            let decoded = std::str::from_utf8(&decoded).ok()?;
            let (user, password) = decoded.split_once(':')?;
            return Some(Login::of(user, password.trim_end_matches('\0')));
        }
        let is_there = !self.username.0.is_empty() && !self.password.0.is_empty();
        is_there.then(|| Login::of(&self.username.0, &self.password.0))
    }
}

/// The entry whose key fits a place best: a host, or a host and the beginning of a path (Podman).
fn best<'a, T>(entries: &'a BTreeMap<String, T>, place: &str) -> Option<&'a T> {
    let place = plain(place);
    let fits = |(key, entry): (&String, &'a T)| {
        let key = plain(key);
        let rest = place.strip_prefix(&key)?;
        (rest.is_empty() || rest.starts_with('/')).then_some((key.len(), entry))
    };
    let fitting = entries.iter().filter_map(fits);
    let best = fitting.max_by_key(|(length, _)| *length);
    best.map(|(_, entry)| entry)
}

/// A key without scheme and the version of an old API, and with one name for Docker Hub.
fn plain(key: &str) -> String {
    let key = key.split_once("://").map_or(key, |(_, rest)| rest);
    let key = key.trim_end_matches('/');
    let key = ["/v1", "/v2"]
        .iter()
        .find_map(|end| key.strip_suffix(end))
        .unwrap_or(key);
    let (host, path) = key.split_at(key.find('/').unwrap_or(key.len()));
    let host = host.to_ascii_lowercase();
    let host = if is_hub(&host) { "docker.io" } else { &host };
    format!("{host}{path}")
}

/// Whether a host is one of Docker Hub's names.
pub(super) fn is_hub(host: &str) -> bool {
    matches!(
        host,
        "docker.io" | "index.docker.io" | "registry-1.docker.io"
    )
}

/// Reads what a helper says.
///
/// # Errors
///
/// A reason that repeats nothing of it.
pub(super) fn of_helper(output: &[u8]) -> Result<Login, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Answer {
        username: Hidden,
        secret: Hidden,
    }
    let answer: Answer =
        serde_json::from_slice(output).map_err(|_| "said something that is no login".to_owned())?;
    // From docker/docker-credential-helpers: this name marks a token instead of a password.
    Ok(match answer.username.0.as_str() {
        "<token>" => Login::Identity(answer.secret.0.as_str().into()),
        user => Login::of(user, &answer.secret.0),
    })
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn user(config: &DockerConfig, place: &str) -> Option<String> {
        let login = config.login(place)?;
        let text = match login {
            Login::Basic(text) => {
                String::from_utf8(BASE64.decode(text.expose_secret()).unwrap()).unwrap()
            }
            Login::Identity(text) => format!("token {}", text.expose_secret()),
        };
        Some(text)
    }

    #[test]
    fn the_key_that_fits_best_is_taken() {
        let auth = |text: &str| BASE64.encode(text);
        let config = serde_json::json!({"auths": {
            "r.example.org": {"auth": auth("host:p:w")},
            "R.example.org/team/": {"auth": auth("team:pw\0")},
            "https://o.example.org:5000/v2/": {"username": "old", "password": "pw"},
            "https://index.docker.io/v1/": {"auth": auth("hub:pw")},
            "t.example.org": {"auth": auth("00000000-0000-0000-0000-000000000000:"), "identitytoken": "tok"},
            "empty.example.org": {}, "null.example.org": {"auth": null}, "bad.example.org": {"auth": "%%"},
        }, "HttpHeaders": {"x": 1}});
        let config = DockerConfig::read(config.to_string().as_bytes())
            .ok()
            .unwrap();
        let cases = [
            ("r.example.org/other/api", Some("host:p:w")),
            ("r.example.org/team/api", Some("team:pw")),
            ("r.example.org/teams/api", Some("host:p:w")),
            ("r.example.org:5000/api", None),
            ("evil.r.example.org/api", None),
            ("r.example.org.evil/api", None),
            ("o.example.org:5000/api", Some("old:pw")),
            ("registry-1.docker.io/team/api", Some("hub:pw")),
            ("t.example.org/api", Some("token tok")),
            ("empty.example.org/api", None),
            ("null.example.org/api", None),
            ("bad.example.org/api", None),
        ];
        for (place, expected) in cases {
            assert_eq!(user(&config, place).as_deref(), expected, "{place}");
        }
    }

    #[test]
    fn helpers_are_programs_by_name_alone() {
        let text = r#"{"credsStore":"desktop","credHelpers":{"r.example.org":"gcr","x.example.org":"../../bin/evil"}}"#;
        let config = DockerConfig::read(text.as_bytes()).ok().unwrap();
        let all = ["docker-credential-gcr", "docker-credential-desktop"];
        assert_eq!(config.helpers("r.example.org/api"), all);
        assert_eq!(config.helpers("x.example.org/api"), all[1..]);
    }

    #[test]
    fn errors_repeat_nothing() {
        let why = DockerConfig::read(br#"{"auths":{"r":{"auth":["geheim"]}}}"#);
        assert_eq!(
            why.err().unwrap(),
            NotRead::Malformed {
                line: 1,
                column: 22
            }
        );
        assert!(
            !of_helper(br#"{"Username":["geheim"]}"#)
                .unwrap_err()
                .contains("geheim")
        );
    }
}
