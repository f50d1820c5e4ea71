//! Logins for Helm repositories, as `helm repo add --username` keeps them.
//!
//! Owns the reading of `repositories.yaml`. Pure. Start from [`login`].

use serde::Deserialize;

use super::credentials::Login;
use super::secret_file::{Hidden, NotRead};
use crate::http::url::Url;

#[derive(Deserialize)]
struct Repositories {
    #[serde(default)]
    repositories: Option<Vec<Repository>>,
}

#[derive(Deserialize)]
struct Repository {
    #[serde(default)]
    url: String,
    #[serde(default)]
    username: Hidden,
    #[serde(default)]
    password: Hidden,
}

/// The login for a repository by its whole address; another repository of the same host has its own.
///
/// # Errors
///
/// The place where the file isn't as it should be; the parser's own words could repeat a password.
pub(super) fn login(text: &[u8], repository: &str) -> Result<Option<Login>, NotRead> {
    let file: Repositories = serde_yaml::from_slice(text).map_err(|why| {
        let place = why.location();
        NotRead::Malformed {
            line: place.as_ref().map_or(1, serde_yaml::Location::line),
            column: place.as_ref().map_or(1, serde_yaml::Location::column),
        }
    })?;
    let plain = |address: &str| {
        let url = Url::parse(address).map(|url| url.to_string());
        url.map(|url| url.trim_end_matches('/').to_owned())
    };
    let wanted = plain(repository);
    let all = file.repositories.unwrap_or_default();
    let mut all = all
        .iter()
        .filter(|one| wanted.is_some() && plain(&one.url) == wanted && !one.username.0.is_empty());
    Ok(all
        .next()
        .map(|one| Login::of(&one.username.0, &one.password.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_for_one_repository() {
        let text = b"apiVersion: ''\nrepositories:\n- {name: open, url: 'https://h.example.org/stable'}\n- {name: a, url: 'https://H.example.org/stable/', username: u, password: p}\n- {name: b, url: 'not one', username: x, password: y}\n";
        let found = |repository| login(text, repository).unwrap().is_some();
        assert!(found("https://h.example.org/stable"));
        for other in [
            "https://h.example.org/other",
            "https://h.example.org",
            "http://h.example.org/stable",
            "https://h.example.org:8443/stable",
            "not one",
        ] {
            assert!(!found(other), "{other}");
        }
        assert!(
            login(b"repositories:", "https://h.example.org")
                .unwrap()
                .is_none()
        );
        let wrong = login(
            b"repositories:\n- {url: u, password: [geheim]}\n",
            "https://h.example.org",
        );
        assert!(matches!(
            wrong.unwrap_err(),
            NotRead::Malformed { line: 2, .. }
        ));
    }
}
