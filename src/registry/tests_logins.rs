//! Logins from people's files, sent to loopback servers: which file counts, who gets what, and what errors say.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;

use super::logins::LoginFiles;
use super::program::{Call, NoEnd};
use super::tests::{registry_with, spellings};
use super::{ChartSource, Registry as _, RegistryError};
use crate::http::test_server::{Answer, Seen, Server};
use crate::model::env::Env;

/// A home, and the environment of a person who lives there.
struct Home {
    root: tempfile::TempDir,
    more: Vec<(&'static str, String)>,
}

impl Home {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        Self {
            root,
            more: Vec::new(),
        }
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A credential helper: a script on the PATH.
    fn helper(&self, name: &str, script: &str) -> &Self {
        use std::os::unix::fs::PermissionsExt as _;
        let path = format!("bin/docker-credential-{name}");
        self.file(&path, &format!("#!/bin/sh\n{script}\n"));
        let path = self.root.path().join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn env(&self) -> Env {
        let root = self.root.path();
        let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
        let own = [("HOME", root.display().to_string()), ("PATH", path)];
        let all = own.into_iter().chain(self.more.clone());
        Env::new(all.map(|(name, value)| (name.to_owned(), value)))
    }

    fn ask(&self, repo: &str) -> Result<Vec<String>, RegistryError> {
        let source = ChartSource::new(repo, "api").unwrap();
        let (registry, _) = registry_with(Box::new(LoginFiles::new(self.env())));
        let versions = registry.versions(&source)?;
        Ok(spellings(&versions)
            .iter()
            .map(|&text| text.to_owned())
            .collect())
    }
}

fn auths(host: &str, login: &str) -> String {
    serde_json::json!({"auths": {host: {"auth": BASE64.encode(login)}}}).to_string()
}

/// A registry that lets `login` in by Basic and tells which one came.
fn basic_registry(login: &'static str) -> Server {
    let wanted = format!("Basic {}", BASE64.encode(login));
    Server::start(
        move |_, seen: &Seen| match seen.headers.get("authorization") {
            Some(sent) if *sent == wanted => Answer::tags(&["1.0.0".to_owned()]),
            _ => Answer::new(401, "{}").header("WWW-Authenticate", "Basic realm=\"r\""),
        },
    )
}

#[test]
fn each_file_is_looked_at_helms_first() {
    let server = basic_registry("u:pw");
    let (good, bad) = (auths(&server.host, "u:pw"), auths(&server.host, "u:old"));
    for path in [
        ".config/helm/registry/config.json",
        ".docker/config.json",
        ".config/containers/auth.json",
    ] {
        let home = Home::new();
        home.file(path, &good);
        assert!(home.ask(&server.host).is_ok(), "{path}");
    }
    let home = Home::new();
    home.file(".docker/config.json", &bad);
    home.file(".config/helm/registry/config.json", &good);
    assert!(home.ask(&server.host).is_ok());
    for (variable, path) in [
        ("HELM_REGISTRY_CONFIG", "x/any.json"),
        ("HELM_CONFIG_HOME", "x/registry/config.json"),
        ("XDG_CONFIG_HOME", "x/helm/registry/config.json"),
        ("DOCKER_CONFIG", "x/config.json"),
        ("REGISTRY_AUTH_FILE", "x/any.json"),
    ] {
        let mut home = Home::new();
        let value = if path.ends_with("any.json") {
            path
        } else {
            "x"
        };
        home.more
            .push((variable, home.root.path().join(value).display().to_string()));
        home.file(path, &good);
        assert!(home.ask(&server.host).is_ok(), "{variable}");
    }
}

#[test]
fn refusals_say_where_a_login_was_looked_for_and_never_which() {
    let server = basic_registry("u:pw");
    let home = Home::new();
    home.file(
        ".docker/config.json",
        "{\"auths\": {\"x\": {\"auth\": [\"geheim\"]}}}",
    );
    home.file(
        ".config/containers/auth.json",
        &auths("r.example.org", "u:geheim"),
    );
    let error = home.ask(&server.host).unwrap_err().to_string();
    let root = home.root.path().display();
    let expected = format!(
        "no login for `{}` is in `{root}/.config/helm/registry/config.json` (not there), \
         `{root}/.docker/config.json` (can't be read: line 1, column 25 isn't as it should be), \
         `{root}/.config/containers/auth.json` (has none for it)",
        server.host
    );
    assert!(error.ends_with(&expected), "{error}");
    home.file(".docker/config.json", &auths(&server.host, "u:geheim"));
    let error = home.ask(&server.host).unwrap_err().to_string();
    assert!(
        error.contains("/.docker/config.json` has for it was not accepted"),
        "{error}"
    );
    assert!(
        !error.contains("geheim") && !error.contains(&BASE64.encode("u:geheim")),
        "{error}"
    );
}

#[test]
fn helpers_are_asked_by_standard_input_and_their_words_are_not_shown() {
    let server = basic_registry("u:pw");
    let home = Home::new();
    let config = serde_json::json!({"credHelpers": {&server.host: "own"}, "credsStore": "all"});
    home.file(".docker/config.json", &config.to_string());
    home.helper("own", r#"[ "$1" = get ] && read -r host || true; echo "$host" >"$HOME/asked"; echo '{"Username":"u","Secret":"pw"}'"#);
    assert!(home.ask(&server.host).is_ok());
    let asked = fs::read_to_string(home.root.path().join("asked")).unwrap();
    assert_eq!(asked.trim(), server.host);

    home.helper(
        "own",
        "echo 'credentials not found in native keychain'; exit 1",
    );
    home.helper("all", r#"echo '{"Username":"u","Secret":"pw"}'"#);
    assert!(
        home.ask(&server.host).is_ok(),
        "the store is asked after the helper of the host"
    );

    home.helper("own", "echo geheim; echo geheim >&2; exit 3");
    home.helper("all", "echo geheim");
    let error = home.ask(&server.host).unwrap_err().to_string();
    assert!(error.contains("(`docker-credential-own` failed with exit code 3; `docker-credential-all` said something that is no login)"), "{error}");
    assert!(!error.contains("geheim"), "{error}");

    let config = serde_json::json!({"credsStore": "absent"});
    home.file(".docker/config.json", &config.to_string());
    let error = home.ask(&server.host).unwrap_err().to_string();
    assert!(
        error.contains("`docker-credential-absent` is not installed"),
        "{error}"
    );
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let home = Home::new();
    home.helper("slow", "sleep 30 & sleep 30");
    let start = Instant::now();
    let env = home.env();
    let call = Call {
        program: "docker-credential-slow",
        arguments: &[],
        env: &env,
        vars: &[],
        input: "",
        limit: Duration::from_millis(300),
        most: 100,
    };
    assert_eq!(call.run().err(), Some(NoEnd::TooLong(0)));
    assert!(start.elapsed() < Duration::from_secs(10));
    home.helper("slow", "head -c 100000 /dev/zero");
    let call = Call {
        limit: Duration::from_secs(20),
        ..call
    };
    // It is ended by its broken pipe, or printed more than is read.
    assert!(call.run().map_or(true, |said| !said.is_good));
}

#[test]
fn identity_tokens_are_changed_by_a_form_and_never_sent_as_a_password() {
    let server = Server::start(|_, seen| {
        let sent = seen.headers.get("authorization").map(String::as_str);
        match (seen.target.as_str(), sent) {
            ("/token", None) if seen.body.contains("refresh_token=r%2Bt&") => {
                Answer::new(200, r#"{"access_token":"t0k"}"#)
            }
            (_, Some("Bearer t0k")) => Answer::tags(&["1.0.0".to_owned()]),
            _ => {
                let realm = format!(
                    "Bearer realm=\"http://{}/token\",service=\"s\"",
                    seen.headers["host"]
                );
                Answer::new(401, "{}").header("WWW-Authenticate", &realm)
            }
        }
    });
    let home = Home::new();
    let config = serde_json::json!({"auths": {&server.host: {"auth": BASE64.encode("0:"), "identitytoken": "r+t"}}});
    home.file(".docker/config.json", &config.to_string());
    assert!(home.ask(&server.host).is_ok());
    let form = &server.seen()[1].body;
    assert_eq!(
        form,
        "grant_type=refresh_token&client_id=haptic-scaffold&refresh_token=r%2Bt&service=s&scope=repository:api:pull"
    );
}

/// A Helm repository whose second archive lies on another host.
fn helm_repository(other: &str) -> Server {
    let index = format!(
        "entries: {{api: [{{version: 1.0.0, urls: [a.tgz]}}, {{version: 2.0.0, urls: ['http://{other}/b.tgz']}}]}}"
    );
    let wanted = format!("Basic {}", BASE64.encode("u:pw"));
    Server::start(
        move |_, seen: &Seen| match seen.headers.get("authorization") {
            Some(sent) if *sent == wanted && seen.target.ends_with("index.yaml") => {
                Answer::new(200, index.clone())
            }
            Some(sent) if *sent == wanted => Answer::new(200, "tgz"),
            _ => Answer::new(401, ""),
        },
    )
}

fn write_repositories(home: &Home, path: &str, url: &str) {
    let text = format!("repositories:\n- {{name: x, url: '{url}', username: u, password: pw}}\n");
    home.file(path, &text);
}

#[test]
fn logins_for_helm_repositories_are_by_address_and_stay_with_their_host() {
    let other = Server::start(|_, _| Answer::new(200, "tgz"));
    let server = helm_repository(&other.host);
    let repo = format!("http://{}/stable", server.host);
    let mut home = Home::new();
    // A login for a registry of the same host isn't meant for it.
    home.file(".docker/config.json", &auths(&server.host, "u:pw"));
    let error = home.ask(&repo).unwrap_err().to_string();
    assert!(
        error.contains("helm/repositories.yaml` (not there)"),
        "{error}"
    );
    write_repositories(
        &home,
        ".config/helm/repositories.yaml",
        &format!("{repo}/more"),
    );
    let error = home.ask(&repo).unwrap_err().to_string();
    assert!(
        error.contains("repositories.yaml` (has none for it)"),
        "{error}"
    );
    let path = home.root.path().join("own.yaml").display().to_string();
    home.more.push(("HELM_REPOSITORY_CONFIG", path));
    write_repositories(&home, "own.yaml", &repo);
    assert_eq!(home.ask(&repo).unwrap(), ["1.0.0", "2.0.0"]);
    let (registry, _) = registry_with(Box::new(LoginFiles::new(home.env())));
    let source = ChartSource::new(&repo, "api").unwrap();
    assert_eq!(registry.archive(&source, "1.0.0").unwrap(), b"tgz");
    assert_eq!(registry.archive(&source, "2.0.0").unwrap(), b"tgz");
    assert!(!other.seen()[0].headers.contains_key("authorization"));
}

#[test]
fn a_person_without_a_home_has_no_logins() {
    let server = basic_registry("u:pw");
    let files = LoginFiles::new(Env::default());
    let (registry, _) = registry_with(Box::new(files));
    let source = ChartSource::new(&server.host, "api").unwrap();
    let error = registry.versions(&source).unwrap_err().to_string();
    assert!(
        error.contains("neither HOME nor a file is known"),
        "{error}"
    );
    assert!(!Path::new(".docker").exists());
}
