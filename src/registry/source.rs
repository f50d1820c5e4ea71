//! The address of a chart: where it is published and under which name.
//!
//! Owns the reading of what the user wrote. It must not ask the network. Start from
//! [`ChartSource`].

use std::fmt;

use thiserror::Error;

use crate::http::url::{Authority, Url};
use crate::model::text::one_line;

/// A chart in an OCI registry or in a Helm repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartSource {
    pub(super) place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// `repository` includes the chart's name.
    Oci { registry: Url, repository: String },
    /// `index` is the address of `index.yaml`.
    Http { index: Url, chart: String },
}

/// An address or a chart name that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The text is not repeated, because it may hold a password.
    #[error("the address of a chart source holds `@`: no user, password or digest belongs there")]
    AtSign,
    /// The text is not repeated, because a query may hold a token.
    #[error("the address of a chart source holds a query, a fragment, a blank or a sign like it")]
    ForeignSign,
    /// Neither `oci`, `https`, `http` nor none.
    #[error("the address of a chart source has an unknown scheme: `{scheme}`")]
    Scheme { scheme: String },
    /// The host or its port cannot be read.
    #[error("the address of a chart source has no valid host and port: `{address}`")]
    Host { address: String },
    /// A part of the path cannot be part of a repository's name.
    #[error("the address of a chart source has a part that registries do not allow: `{part}`")]
    Path { part: String },
    /// The chart's name is empty or holds other signs than letters, digits, `-`, `_` and `.`.
    #[error("not a chart name: `{chart}`")]
    Chart { chart: String },
}

impl AddressError {
    /// Returns the next step for the reader.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Path { .. } => {
                "names in an OCI registry are lower case, without tag and digest".to_owned()
            }
            Self::Chart { .. } => "give the chart's own name, without its path".to_owned(),
            _ => "write `oci://HOST/PATH` or `https://HOST/PATH`, without the chart's name"
                .to_owned(),
        }
    }
}

impl ChartSource {
    /// Reads the address of a chart source and the name of a chart in it.
    ///
    /// `repo` is `oci://HOST[:PORT]/PATH`, the same without a scheme, or the `https://` (or
    /// `http://`) address of a Helm repository. It does not hold the chart's name.
    ///
    /// # Errors
    ///
    /// An [`AddressError`] when the address holds credentials or cannot be read.
    pub fn new(repo: &str, chart: &str) -> Result<Self, AddressError> {
        check_signs(repo)?;
        let (scheme, rest) = match repo.split_once("://") {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
            None => ("oci".to_owned(), repo),
        };
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host_error = || AddressError::Host {
            address: repo.to_owned(),
        };
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let is_oci = match scheme.as_str() {
            "oci" => true,
            "https" | "http" => false,
            _ => return Err(AddressError::Scheme { scheme }),
        };
        let authority = Authority::parse(host).ok_or_else(host_error)?;
        check_chart(chart, is_oci)?;
        let place = if is_oci {
            oci_place(authority, &parts, chart)?
        } else {
            http_place(scheme == "http", authority, &parts, chart)?
        };
        Ok(Self { place })
    }
}

impl fmt::Display for ChartSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Oci {
                registry,
                repository,
            } => write!(f, "oci://{}/{repository}", registry.host_and_port()),
            Place::Http { index, chart } => write!(f, "{chart} of {index}"),
        }
    }
}

/// Refuses what may be secret before any other error can repeat the text.
fn check_signs(repo: &str) -> Result<(), AddressError> {
    if repo.contains('@') {
        return Err(AddressError::AtSign);
    }
    let is_clean = |b: u8| b.is_ascii_graphic() && !b"?#\"<>\\^`{|}".contains(&b);
    if repo.bytes().all(is_clean) {
        Ok(())
    } else {
        Err(AddressError::ForeignSign)
    }
}

fn check_chart(chart: &str, is_oci: bool) -> Result<(), AddressError> {
    if is_name_part(chart, is_oci) {
        return Ok(());
    }
    Err(AddressError::Chart {
        chart: one_line(chart).into_owned(),
    })
}

/// The distribution specification allows lower case only; Helm repositories are not so strict.
fn is_name_part(part: &str, lower_case: bool) -> bool {
    let ends_well = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    ends_well(part.chars().next())
        && ends_well(part.chars().last())
        && part.bytes().all(|b| {
            b.is_ascii_lowercase()
                || b.is_ascii_digit()
                || matches!(b, b'-' | b'_' | b'.')
                || (!lower_case && b.is_ascii_uppercase())
        })
}

fn oci_place(mut authority: Authority, parts: &[&str], chart: &str) -> Result<Place, AddressError> {
    if let Some(part) = parts.iter().find(|part| !is_name_part(part, true)) {
        return Err(AddressError::Path {
            part: (*part).to_owned(),
        });
    }
    // Docker Hub's name is not the host of its registry.
    if matches!(authority.host.as_str(), "docker.io" | "index.docker.io") {
        authority.host = "registry-1.docker.io".to_owned();
    }
    let plain = authority.is_loopback();
    let mut path = parts.to_vec();
    path.push(chart);
    Ok(Place::Oci {
        registry: Url::from_parts(plain, authority, "/".to_owned()),
        repository: path.join("/"),
    })
}

fn http_place(
    plain: bool,
    authority: Authority,
    parts: &[&str],
    chart: &str,
) -> Result<Place, AddressError> {
    if let Some(part) = parts.iter().find(|part| matches!(**part, "." | "..")) {
        return Err(AddressError::Path {
            part: (*part).to_owned(),
        });
    }
    let mut path = parts.to_vec();
    path.push("index.yaml");
    Ok(Place::Http {
        index: Url::from_parts(plain, authority, format!("/{}", path.join("/"))),
        chart: chart.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(repo: &str) -> String {
        ChartSource::new(repo, "api").unwrap().to_string()
    }

    #[test]
    fn o28_o29_addresses_give_one_host_and_one_path() {
        let cases = [
            ("oci://r.example.org/x", "oci://r.example.org/x/api"),
            ("r.example.org/x", "oci://r.example.org/x/api"),
            (
                "https://r.example.org/x",
                "api of https://r.example.org/x/index.yaml",
            ),
            (
                "oci://r.example.org:5000/x/",
                "oci://r.example.org:5000/x/api",
            ),
            (
                "oci://r.example.org/group/project/charts",
                "oci://r.example.org/group/project/charts/api",
            ),
            ("OCI://R.Example.org//x//", "oci://r.example.org/x/api"),
            ("oci://r.example.org", "oci://r.example.org/api"),
            ("localhost:5000/x", "oci://localhost:5000/x/api"),
            ("oci://[::1]:5000/x", "oci://[::1]:5000/x/api"),
            (
                "oci://docker.io/team",
                "oci://registry-1.docker.io/team/api",
            ),
            (
                "https://r.example.org/",
                "api of https://r.example.org/index.yaml",
            ),
            (
                "http://r.example.org:8080/a/b/",
                "api of http://r.example.org:8080/a/b/index.yaml",
            ),
        ];
        for (repo, expected) in cases {
            assert_eq!(shown(repo), expected, "{repo}");
        }
    }

    #[test]
    fn only_loopback_registries_are_asked_without_tls() {
        let cases = [
            ("127.0.0.1:5000", true),
            ("127.8.9.10", true),
            ("localhost", true),
            ("[::1]:5000", true),
            ("127.evil.example", false),
            ("127.0.0.1.example.org", false),
            ("localhost.example.org", false),
            ("10.0.0.1", false),
            ("[2001:db8::1]", false),
            ("0.0.0.0", false),
        ];
        for (host, plain) in cases {
            let source = ChartSource::new(host, "api").unwrap();
            let Place::Oci { registry, .. } = &source.place else {
                panic!("{host} is not OCI");
            };
            assert_eq!(
                registry.request_text().starts_with("http://"),
                plain,
                "{host}"
            );
        }
    }

    #[test]
    fn credentials_are_refused_and_not_repeated() {
        let cases = [
            "oci://user:pw@r.example.org/x",
            "https://user:pw@r.example.org/x",
            "user:pw@r.example.org/x",
            "ftp://user:p/w@r.example.org/x",
            "https://r.example.org/x?token=pw",
            "https://r.example.org/x#pw",
            "oci://r.example.org/x@sha256:pw",
        ];
        for repo in cases {
            let message = ChartSource::new(repo, "api").unwrap_err().to_string();
            assert!(!message.contains("pw"), "{message}");
        }
    }

    #[test]
    fn unusable_addresses_and_names_are_refused() {
        let repos = [
            "",
            "/",
            "oci://",
            "oci:///x",
            "git://r.example.org/x",
            "oci://https://r.example.org/x",
            "oci://r.example.org:/x",
            "oci://r.example.org:0/x",
            "oci://r.example.org:70000/x",
            "oci://r.example.org:+80/x",
            "oci://r.example.org/x:1.2.3",
            "oci://r.example.org/../x",
            "oci://r.example.org/Team",
            "https://r.example.org/a/../b",
            "oci://r.example.org/a b",
            "oci://r\u{fc}.example.org/x",
            "oci://[::1/x",
        ];
        for repo in repos {
            assert!(ChartSource::new(repo, "api").is_err(), "{repo}");
        }
        for chart in ["", "a/b", "..", "-a", "a b", "a:1", "Api"] {
            assert!(
                ChartSource::new("oci://r.example.org/x", chart).is_err(),
                "{chart}"
            );
        }
        assert!(ChartSource::new("https://r.example.org/x", "Api").is_ok());
    }
}
