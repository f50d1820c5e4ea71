//! [`ChartRef`]: which chart, and where it is published. Each GitOps tool writes the same address another way.

use thiserror::Error;

use super::address::shown;

/// How a Helm chart is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepoKind {
    /// An OCI registry.
    Oci,
    /// A Helm repository over HTTP, with an `index.yaml`.
    Http,
}

/// A chart: the address of its repository and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartRef {
    /// How it is published.
    pub kind: RepoKind,
    /// Host, port and path without scheme and without the chart's name (OCI), or the whole URL (HTTP); no `/` at the end.
    location: String,
    /// The chart's name.
    pub name: String,
}

/// Why a text is not the address of a chart repository.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChartRefError {
    /// Neither `oci://`, `https://`, `http://` nor a bare host and path.
    #[error(
        "`{0}` is not the address of a chart repository: write `oci://host/path` or `https://host/path`"
    )]
    Scheme(String),
    /// It carries a user name or a password.
    #[error(
        "the address of the chart repository carries credentials: they would stand in Git in clear"
    )]
    Credentials,
    /// It has blanks, a query or a fragment.
    #[error(
        "`{0}` has blanks, a query or other characters that no address of a chart repository has"
    )]
    Characters(String),
}

impl ChartRef {
    /// Reads the address of a repository. Without a scheme it is an OCI registry, as Argo CD writes it.
    ///
    /// # Errors
    /// When it is no such address, or carries credentials.
    pub fn new(repo: &str, name: &str) -> Result<Self, ChartRefError> {
        let (kind, rest) = match repo.split_once("://") {
            Some(("oci", rest)) => (RepoKind::Oci, rest),
            Some(("https" | "http", rest)) => (RepoKind::Http, rest),
            None if repo.contains('/') => (RepoKind::Oci, repo),
            _ => return Err(ChartRefError::Scheme(shown(repo))),
        };
        let host = rest.split('/').next().unwrap_or_default();
        if host.contains('@') {
            return Err(ChartRefError::Credentials);
        }
        if host.is_empty()
            || rest.contains(|c: char| {
                c.is_whitespace() || c.is_control() || "?#\"'<>\\{}`$".contains(c)
            })
        {
            return Err(ChartRefError::Characters(shown(repo)));
        }
        let location = match kind {
            RepoKind::Oci => rest.trim_end_matches('/').to_owned(),
            RepoKind::Http => repo.trim_end_matches('/').to_owned(),
        };
        Ok(Self {
            kind,
            location,
            name: name.to_owned(),
        })
    }

    /// The repository's address with its scheme, without the chart's name: what a Flux HelmRepository has.
    pub fn repo_url(&self) -> String {
        match self.kind {
            RepoKind::Oci => format!("oci://{}", self.location),
            RepoKind::Http => self.location.clone(),
        }
    }

    /// The repository's address as an Argo CD Helm source has it: without `oci://`
    /// (argo-cd issue 10823: with the scheme and `chart` together nothing is found).
    pub fn argo_repo(&self) -> &str {
        &self.location
    }

    /// The chart's full address, which names it where its name alone is ambiguous.
    pub fn address(&self) -> String {
        match self.kind {
            RepoKind::Oci => format!("oci://{}/{}", self.location, self.name),
            RepoKind::Http => format!("{}#{}", self.location, self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_is_written_as_each_tool_wants_it() {
        for text in [
            "oci://r.example.org:5000/x/",
            "r.example.org:5000/x",
            "oci://r.example.org:5000/x",
        ] {
            let chart = ChartRef::new(text, "web").expect("good");
            assert_eq!(chart.repo_url(), "oci://r.example.org:5000/x");
            assert_eq!(chart.argo_repo(), "r.example.org:5000/x");
            assert_eq!(chart.address(), "oci://r.example.org:5000/x/web");
        }
        let http = ChartRef::new("https://charts.example.org/stable/", "web").expect("good");
        assert_eq!(
            (http.repo_url().as_str(), http.argo_repo()),
            (
                "https://charts.example.org/stable",
                "https://charts.example.org/stable"
            )
        );
        assert_eq!(http.address(), "https://charts.example.org/stable#web");
    }

    #[test]
    fn credentials_and_other_schemes_are_refused() {
        for bad in [
            "oci://bot:secret@r.example.org/x",
            "https://u@h/x",
            "git://h/x",
            "plain",
            "oci://",
            "https://h/x?y",
            "oci://h/a b",
        ] {
            assert!(ChartRef::new(bad, "web").is_err(), "{bad}");
        }
    }
}
