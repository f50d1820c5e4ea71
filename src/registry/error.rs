//! Why a chart source could not be asked, and what to do about it.
//!
//! Owns the error of the module and its hints. Nothing here may hold a token, a login or the query
//! of a URL: these texts are printed.

use std::fmt;

use thiserror::Error;

/// What was asked of which address; the first half of every message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The aim as an infinitive, such as ``list the tags of `charts/api` ``.
    pub aim: String,
    /// The address without user, password and query.
    pub url: String,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} at `{}`", self.aim, self.url)
    }
}

/// A look-up that failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No answer came: no network, no such host, a refused or broken connection, a time-out.
    #[error("{asked}: no answer, {reason}")]
    Unreachable { asked: Asked, reason: String },
    /// The server's certificate is not trusted, or TLS failed otherwise.
    #[error("{asked}: no trusted connection, {reason}")]
    Untrusted { asked: Asked, reason: String },
    /// The source wants other rights (401 or 403).
    #[error("{asked}: access refused with status {status}{}{}", in_brackets(.detail), behind(.logins))]
    Denied {
        asked: Asked,
        status: u16,
        detail: Option<String>,
        /// Where a login was looked for, and whether there was one.
        logins: Option<String>,
    },
    /// The source knows no such address (404).
    #[error("{asked}: not found (status 404){}", in_brackets(.detail))]
    NotFound {
        asked: Asked,
        detail: Option<String>,
    },
    /// The source is over its limit or out of order, and stayed so.
    #[error("{asked}: the server is busy (status {status}){}", wait_text(.wait_seconds))]
    Busy {
        asked: Asked,
        status: u16,
        wait_seconds: Option<u64>,
    },
    /// Any other status than success.
    #[error("{asked}: unexpected status {status}{}", in_brackets(.detail))]
    Status {
        asked: Asked,
        status: u16,
        detail: Option<String>,
    },
    /// The answer is larger than what is read into memory.
    #[error("{asked}: the answer is larger than {limit} bytes")]
    TooLarge { asked: Asked, limit: u64 },
    /// The answer is cut off, or not what such a source answers.
    #[error("{asked}: unusable answer, {reason}")]
    Malformed { asked: Asked, reason: String },
    /// The address that was given must not be asked.
    #[error("{asked}: {reason}")]
    UnsafeAddress { asked: Asked, reason: String },
    /// The answer leads to an address that must not be asked.
    #[error("{asked}: the answer leads to an unsafe address, {reason}")]
    UnsafeTarget { asked: Asked, reason: String },
    /// A program that was to ask did not.
    #[error("{asked}: {reason}")]
    Program { asked: Asked, reason: String },
    /// The Helm repository is there but does not hold the chart.
    #[error("{asked}: the index has no chart of this name: `{chart}`")]
    NoSuchChart { asked: Asked, chart: String },
    /// The Helm repository has the chart but not this version of it.
    #[error("{asked}: the index has no version {version} of it")]
    NoSuchVersion { asked: Asked, version: String },
}

impl RegistryError {
    /// Adds to a refusal where a login was looked for.
    pub(super) fn with_logins(mut self, account: impl FnOnce() -> String) -> Self {
        if let Self::Denied { logins, .. } = &mut self {
            *logins = Some(account());
        }
        self
    }

    /// The error of a host that is not asked again, as every later question to it gets it: without what the first one was about.
    pub(super) fn again(mut self, aim: &str, host: &str) -> Self {
        if let Self::Unreachable { asked, .. }
        | Self::Busy { asked, .. }
        | Self::Denied { asked, .. } = &mut self
        {
            *asked = Asked {
                aim: aim.to_owned(),
                url: host.to_owned(),
            };
        }
        self
    }

    /// Returns the next step for the reader.
    #[must_use]
    pub fn hint(&self) -> String {
        const GIVE: &str = "name the version with `--chart-version VERSION`";
        match self {
            Self::Unreachable { .. } => format!(
                "check the address, the network and the proxy variables; without a network, {GIVE}"
            ),
            Self::Untrusted { .. } => format!(
                "add the authority's certificate to the system's store or name its file in \
                 `SSL_CERT_FILE`; or {GIVE}"
            ),
            Self::Denied { .. } => format!(
                "check the address of the chart source and log in (`helm registry login HOST`, or \
                 `helm repo add` with `--username`); or {GIVE}"
            ),
            Self::NotFound { asked, .. } if asked.url.ends_with("/index.yaml") => {
                "check the address: it is that of the repository, without `index.yaml`".to_owned()
            }
            Self::NotFound { .. } => format!(
                "check the address, which does not hold the chart's name, and the chart's name; \
                 some registries hide private charts this way: then {GIVE}"
            ),
            Self::NoSuchChart { .. } => "check the chart's name and the repository".to_owned(),
            Self::NoSuchVersion { .. } => {
                "check the version: the index may write it with a leading `v`, or without"
                    .to_owned()
            }
            Self::Program { .. } => {
                "try `git ls-remote --tags ADDRESS`: it has to work without a question".to_owned()
            }
            Self::Busy { .. } => format!("try again later, or {GIVE}"),
            Self::Status { .. }
            | Self::TooLarge { .. }
            | Self::Malformed { .. }
            | Self::UnsafeAddress { .. }
            | Self::UnsafeTarget { .. } => format!(
                "check that the address is that of an OCI registry (`oci://`) or a Helm \
                 repository (`https://`); or {GIVE}"
            ),
        }
    }
}

fn in_brackets(detail: &Option<String>) -> String {
    detail
        .as_ref()
        .map_or_else(String::new, |text| format!(" ({text})"))
}

fn behind(text: &Option<String>) -> String {
    text.as_ref()
        .map_or_else(String::new, |text| format!("; {text}"))
}

fn wait_text(seconds: &Option<u64>) -> String {
    seconds.map_or_else(String::new, |s| format!(", it asks to wait {s} seconds"))
}
