//! Where a login for a registry comes from, and which hosts may receive it.
//!
//! Owns the seam for credentials. It must not read files or the environment itself: an
//! implementation of [`Credentials`] that does so belongs beside this file.

use super::url::Url;

/// Knows the logins for registries.
pub trait Credentials: Send + Sync {
    /// Returns the login for a host as the Base64 text of `user:password`, which is also the form
    /// of Docker's and Helm's configuration files.
    ///
    /// `host` is lower case and holds the port where the address names one.
    fn basic(&self, host: &str) -> Option<String>;
}

/// Knows no login: every source is asked anonymously.
#[derive(Debug, Clone, Copy, Default)]
pub struct Anonymous;

impl Credentials for Anonymous {
    fn basic(&self, _host: &str) -> Option<String> {
        None
    }
}

/// Returns the `Authorization` value for a Helm repository or a registry with basic logins.
pub(super) fn basic_for(credentials: &dyn Credentials, url: &Url) -> Option<String> {
    // A login in plain text would be readable for everyone on the way.
    if !url.is_private_transport() {
        return None;
    }
    let login = credentials.basic(&url.host_and_port())?;
    Some(format!("Basic {login}"))
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
