//! [`RemoteError`]: why a remote couldn't be asked, in words that hold no login.

use thiserror::Error;

use crate::error::{ExitStatus, Problem};

/// What was asked of which remote, and why it isn't done.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cannot {aim} `{address}`: {why}")]
pub struct RemoteError {
    /// An infinitive that ends before the address: `push to`.
    pub aim: &'static str,
    /// The address without user and password.
    pub address: String,
    /// The reason.
    pub why: Why,
}

/// Why a remote couldn't be asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Why {
    /// No answer, or only a part of one.
    #[error("no complete answer, {0}")]
    NoAnswer(String),
    /// No answer before the time was over.
    #[error("no answer in time, {0}")]
    TimeOver(String),
    /// The server's certificate isn't trusted, or TLS failed otherwise.
    #[error("no trusted connection, {0}")]
    Untrusted(String),
    /// A login is needed, and none was found for this host.
    #[error("it wants a login, and there is none for this host")]
    LoginNeeded,
    /// The login was refused.
    #[error("it refuses the login of {source_name}{}", behind(.words))]
    LoginRefused { source_name: String, words: String },
    /// A login would be readable on the way.
    #[error("it wants a login, and the connection isn't encrypted, so none is sent")]
    PlainLogin,
    /// It wants a login behind a redirect to another host.
    #[error("it leads to `{0}`, which wants a login; none is sent to another host")]
    LoginElsewhere(String),
    /// The login may not do this (403).
    #[error("it forbids this (status 403){}", behind(.0))]
    Forbidden(String),
    /// It isn't there, or hidden from this login (404).
    #[error("it isn't there, or hidden from this login (status 404){}", behind(.0))]
    NotFound(String),
    /// Any other status.
    #[error("unexpected status {status}{}", behind(.words))]
    Status { status: u16, words: String },
    /// A redirect that isn't followed.
    #[error("it leads elsewhere: {0}")]
    Redirect(String),
    /// The answer isn't that of a Git server.
    #[error("unusable answer, {0}")]
    Malformed(String),
    /// The server's last words.
    #[error("it says: {0}")]
    Said(String),
    /// The server can't do what is asked for.
    #[error("{0}")]
    Unable(String),
    /// A program that carries the connection failed.
    #[error("{0}")]
    Program(String),
    /// The address isn't one that can be asked.
    #[error("{0}")]
    Address(String),
    /// What is to be pushed can't be read here, or is asked for in a wrong way.
    #[error("{0}")]
    Local(String),
}

impl Why {
    /// Whether the connection broke, so that nobody knows what the server did.
    pub(super) fn is_broken(&self) -> bool {
        matches!(self, Self::NoAnswer(_) | Self::TimeOver(_))
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::NoAnswer(_) | Self::TimeOver(_) => {
                "check the address, the network and the proxy variables, and run it again"
            }
            Self::Untrusted(_) => {
                "add the authority's certificate to the system's store, or name its file in `SSL_CERT_FILE`"
            }
            Self::LoginNeeded => {
                "set `HAPTIC_SCAFFOLD_TOKEN`, or set up a credential helper of git (`git credential fill` has to answer)"
            }
            Self::LoginRefused { .. } => {
                "check that the token is valid, not expired, and may write to repositories"
            }
            Self::PlainLogin => "use the https or ssh address of the repository",
            Self::LoginElsewhere(_) => {
                "if the repository has moved, give the remote its new address: git remote set-url origin ADDRESS"
            }
            Self::Forbidden(_) => {
                "the token needs the right to write to this repository (a CI job token seldom has it), and the repository must not be archived"
            }
            Self::NotFound(_) => {
                "check the address; forges also answer so where the token lacks rights: it needs to read and write this repository"
            }
            Self::Status { .. } => {
                "try again later; if it stays so, ask the server's administrator"
            }
            Self::Redirect(_) => {
                "give the remote its new address: git remote set-url origin ADDRESS"
            }
            Self::Malformed(_) => {
                "check that the address is that of a Git repository: `git ls-remote ADDRESS` has to work"
            }
            Self::Said(_) => "the server's words say what it wants",
            Self::Unable(_) => {
                "the server's administrator can allow it (`receive.advertisePushOptions` for options)"
            }
            Self::Program(_) => "`git ls-remote ADDRESS` has to work without a question",
            Self::Address(_) => "give the remote an address with https or ssh, or a path",
            Self::Local(_) => "`git fsck` shows what the repository lacks",
        }
    }
}

impl RemoteError {
    /// The error as the edge shows it, with its exit code and next step.
    pub fn problem(&self) -> Problem {
        let status = match self.why {
            Why::Address(_) => ExitStatus::Invalid,
            Why::Local(_) => ExitStatus::Failed,
            _ => ExitStatus::Remote,
        };
        Problem::new(status, self.to_string()).hint(self.why.hint())
    }
}

fn behind(words: &str) -> String {
    if words.is_empty() {
        String::new()
    } else {
        format!(": {words}")
    }
}
