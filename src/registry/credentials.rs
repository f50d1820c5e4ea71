//! Where a login for a registry comes from, and which hosts may receive it.
//!
//! Owns the seam for credentials. It must not read files or the environment itself: `logins` does.
//! Start from [`Credentials`].

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

use super::session::percent_encode;
use crate::http::url::Url;

/// Knows the logins for registries and Helm repositories.
pub(super) trait Credentials: Send + Sync {
    /// Returns the login for a repository of an OCI registry.
    ///
    /// `place` is `HOST[:PORT]/REPOSITORY`, the host in lower case.
    fn registry(&self, place: &str) -> Option<Login>;

    /// Returns the login for a Helm repository by its address, without `/` at the end.
    fn helm(&self, repository: &str) -> Option<Login>;

    /// Says where a login for a repository of a registry was looked for, and whether there is one.
    fn account_of_registry(&self, place: &str) -> String;

    /// Says where a login for a Helm repository was looked for, and whether there is one.
    fn account_of_helm(&self, repository: &str) -> String;
}

/// A login.
#[derive(Debug, Clone)]
pub(super) enum Login {
    /// The Base64 text of `user:password`.
    Basic(SecretString),
    /// A token that a token service changes for another.
    Identity(SecretString),
}

impl Login {
    /// Makes a login of a user and a password.
    pub(super) fn of(user: &str, password: &str) -> Self {
        let both = Zeroizing::new(format!("{user}:{password}"));
        Self::Basic(BASE64.encode(both.as_bytes()).into())
    }

    /// Returns the value of an `Authorization` header; none for a token that isn't meant for one.
    pub(super) fn basic(&self) -> Option<SecretString> {
        match self {
            Self::Basic(text) => Some(format!("Basic {}", text.expose_secret()).into()),
            Self::Identity(_) => None,
        }
    }

    /// Returns the form that changes an identity token for one for `query`, which names service and scope.
    ///
    /// From distribution's `docs/content/spec/auth/oauth.md`.
    pub(super) fn refresh(&self, query: &str) -> Option<SecretString> {
        match self {
            Self::Basic(_) => None,
            Self::Identity(token) => {
                let token = Zeroizing::new(percent_encode(token.expose_secret()));
                let form = format!(
                    "grant_type=refresh_token&client_id=haptic-scaffold&refresh_token={}&{query}",
                    token.as_str()
                );
                Some(form.into())
            }
        }
    }
}

/// Knows no login: every source is asked anonymously.
#[cfg(test)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Anonymous;

#[cfg(test)]
impl Credentials for Anonymous {
    fn registry(&self, _place: &str) -> Option<Login> {
        None
    }

    fn helm(&self, _repository: &str) -> Option<Login> {
        None
    }

    fn account_of_registry(&self, _place: &str) -> String {
        "no login was looked for".to_owned()
    }

    fn account_of_helm(&self, _repository: &str) -> String {
        "no login was looked for".to_owned()
    }
}

/// Returns the login for a registry, if it may be sent there.
pub(super) fn for_registry(
    credentials: &dyn Credentials,
    registry: &Url,
    place: &str,
) -> Option<Login> {
    // A login in plain text would be readable for everyone on the way.
    let is_private = registry.is_private_transport();
    is_private.then(|| credentials.registry(place)).flatten()
}

/// Returns the `Authorization` value for a Helm repository, by the address of its index, if it may be sent there.
pub(super) fn for_helm(credentials: &dyn Credentials, index: &Url) -> Option<SecretString> {
    let is_private = index.is_private_transport();
    let login = is_private.then(|| credentials.helm(&repository_of(index)))??;
    login.basic()
}

/// The address of a Helm repository by that of its index.
pub(super) fn repository_of(index: &Url) -> String {
    let index = index.to_string();
    let repository = index.strip_suffix("/index.yaml").unwrap_or(&index);
    repository.to_owned()
}

/// Tells whether the token service `realm` may receive the login of `registry`.
///
/// The realm is named by the registry's answer, so it is not trusted by itself: it must be the
/// same host, the parent domain of the registry's host, or Docker Hub's known token service.
pub(super) fn may_receive_login(registry: &Url, realm: &Url) -> bool {
    if !realm.is_private_transport() {
        return false;
    }
    let (host, service) = (registry.host(), realm.host());
    if host == "registry-1.docker.io" && service == "auth.docker.io" {
        return true;
    }
    if host == service {
        return true;
    }
    let parent = host.split_once('.').map(|(_, parent)| parent);
    // A parent of one label would be a whole top-level domain or a part of an IP address.
    parent == Some(service) && service.contains('.') && !registry.is_ip_address()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_partners_of_the_registry_receive_its_login() {
        let cases = [
            (
                "https://r.example.org/",
                "https://r.example.org/token",
                true,
            ),
            (
                "https://registry.example.org/",
                "https://example.org/jwt",
                true,
            ),
            (
                "https://registry-1.docker.io/",
                "https://auth.docker.io/token",
                true,
            ),
            (
                "https://r.example.org/",
                "https://auth.example.org/token",
                false,
            ),
            (
                "https://r.example.org/",
                "https://evil.example/token",
                false,
            ),
            ("https://example.org/", "https://org/token", false),
            ("https://10.0.0.1/", "https://0.0.1/token", false),
            ("http://r.example.org/", "http://r.example.org/token", false),
        ];
        for (registry, realm, expected) in cases {
            let (registry, realm) = (Url::parse(registry).unwrap(), Url::parse(realm).unwrap());
            assert_eq!(may_receive_login(&registry, &realm), expected, "{realm}");
        }
    }
}
