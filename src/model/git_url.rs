//! [`GitUrl`]: the repository's address as GitOps controllers read it, never with a password in it.

use thiserror::Error;

/// An address of a Git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitUrl {
    text: String,
    scp: Option<(String, String)>,
    had_credentials: bool,
}

/// Why a text is not the address of a Git repository that a controller in a cluster can read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GitUrlError {
    /// A folder of this machine, or a scheme that no controller knows.
    #[error(
        "`{0}` is not an address that a controller in a cluster can read: write `https://…`, `ssh://…` or `git@host:path`"
    )]
    NotRemote(String),
    /// It has blanks, a query or characters that need quoting. The text isn't repeated: a query may hold a token.
    #[error(
        "the address has characters that no address of a repository has: blanks, quotes, `?` or `#`"
    )]
    Characters,
    /// It looks like a user name and password without a scheme. The text isn't repeated.
    #[error(
        "the address looks as if it carries a password: write `https://host/path` or `user@host:path`"
    )]
    Password,
}

impl GitUrl {
    /// Reads `https://`, `http://`, `ssh://` or `user@host:path`. A password, and a user name on HTTP, are dropped.
    ///
    /// # Errors
    /// When it is a local path or another scheme.
    pub fn parse(text: &str) -> Result<Self, GitUrlError> {
        let text = text.trim().trim_end_matches('/');
        if text.contains(|c: char| {
            c.is_whitespace() || c.is_control() || "\"'<>\\{}`$|^?#".contains(c)
        }) {
            return Err(GitUrlError::Characters);
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return Self::with_scheme(scheme, rest)
                .ok_or_else(|| GitUrlError::NotRemote(redact(text)));
        }
        match text.split_once(':') {
            Some((_, path)) if path.contains('@') => Err(GitUrlError::Password),
            Some((host, path)) if !host.contains('/') && host.len() > 1 && !path.is_empty() => {
                // Without a user name git would take that of whoever runs it; servers want `git`.
                let host = if host.contains('@') {
                    host.to_owned()
                } else {
                    format!("git@{host}")
                };
                let path = path.trim_start_matches('/').to_owned();
                Ok(Self {
                    text: format!("{host}:{path}"),
                    scp: Some((host, path)),
                    had_credentials: false,
                })
            }
            _ => Err(GitUrlError::NotRemote(text.to_owned())),
        }
    }

    fn with_scheme(scheme: &str, rest: &str) -> Option<Self> {
        let (authority, path) = rest.split_once('/')?;
        let (user, host) = authority
            .rsplit_once('@')
            .map_or((None, authority), |(user, host)| (Some(user), host));
        if host.is_empty() || path.is_empty() || !matches!(scheme, "https" | "http" | "ssh") {
            return None;
        }
        let user_name = user.map(|u| u.split(':').next().unwrap_or_default());
        let kept = match (scheme, user_name) {
            ("ssh", Some(name)) => format!("{name}@"),
            _ => String::new(),
        };
        let had_credentials = user.is_some_and(|u| scheme != "ssh" || u.contains(':'));
        Some(Self {
            text: format!("{scheme}://{kept}{host}/{path}"),
            scp: None,
            had_credentials,
        })
    }

    /// The address for Argo CD, which takes both forms.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The address for a Flux GitRepository, whose schema wants a scheme: `git@h:p` becomes `ssh://git@h/p`.
    pub fn with_scheme_only(&self) -> String {
        match &self.scp {
            Some((host, path)) => format!("ssh://{host}/{path}"),
            None => self.text.clone(),
        }
    }

    /// Whether a key is needed to read it.
    pub fn is_ssh(&self) -> bool {
        self.scp.is_some() || self.text.starts_with("ssh://")
    }

    /// Whether the text that was read carried a user name or password that is not in this value.
    pub fn had_credentials(&self) -> bool {
        self.had_credentials
    }
}

/// Takes everything before the `@` out of a URL.
pub fn redact(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').map_or((rest, ""), |(a, p)| (a, p));
            match authority.rsplit_once('@') {
                Some((_, host)) if path.is_empty() => format!("{scheme}://{host}"),
                Some((_, host)) => format!("{scheme}://{host}/{path}"),
                None => text.to_owned(),
            }
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_controller_gets_its_form() {
        let scp = GitUrl::parse("git@git.example.org:co/project/ops/fleet.git").expect("good");
        assert_eq!(scp.as_str(), "git@git.example.org:co/project/ops/fleet.git");
        assert_eq!(
            scp.with_scheme_only(),
            "ssh://git@git.example.org/co/project/ops/fleet.git"
        );
        assert!(scp.is_ssh());
        let https = GitUrl::parse("https://git.example.org/a/b.git/").expect("good");
        assert_eq!(https.with_scheme_only(), "https://git.example.org/a/b.git");
    }

    #[test]
    fn credentials_never_stay_in_the_address() {
        let url = GitUrl::parse("https://bot:glpat-secret@git.example.org/a.git").expect("good");
        assert_eq!(url.as_str(), "https://git.example.org/a.git");
        assert!(url.had_credentials());
        let ssh = GitUrl::parse("ssh://git@git.example.org:2222/a.git").expect("good");
        assert_eq!(ssh.as_str(), "ssh://git@git.example.org:2222/a.git");
        assert!(!ssh.had_credentials());
        assert_eq!(redact("ftp://u:p@h/x"), "ftp://h/x");
    }

    #[test]
    fn local_paths_and_other_schemes_are_refused() {
        for bad in [
            "/srv/git/a.git",
            "../a",
            "file:///srv/a.git",
            "git://h/a.git",
            "C:\\a",
            "https://",
            "https://h",
            "a b",
            "",
        ] {
            assert!(GitUrl::parse(bad).is_err(), "{bad}");
        }
    }
}
