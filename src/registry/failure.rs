//! Why one try of a request failed, and whether another try may help.
//!
//! Owns the translation of the HTTP client's errors. No message may repeat a header or a proxy's
//! address.

use super::error::{Asked, RegistryError};

/// A try without a complete answer.
pub(super) struct Failure {
    pub(super) error: RegistryError,
    /// Whether the next try may succeed.
    pub(super) transient: bool,
    /// Whether waiting for the host took long and came to nothing.
    pub(super) in_vain: bool,
}

/// Says why a request got no answer.
pub(super) fn no_answer(asked: &Asked, error: &ureq::Error) -> Failure {
    use ureq::{Error, Timeout};
    let unreachable = |reason: String, transient| Failure {
        error: RegistryError::Unreachable {
            asked: asked.clone(),
            reason,
        },
        transient,
        in_vain: matches!(error, Error::Timeout(_)),
    };
    match error {
        // TLS reports through I/O errors of this kind while it shakes hands.
        Error::Io(e) if e.kind() == std::io::ErrorKind::InvalidData => untrusted(asked.clone(), e),
        Error::Rustls(e) => untrusted(asked.clone(), e),
        Error::Tls(e) => untrusted(asked.clone(), e),
        Error::Io(e) => unreachable(e.to_string(), true),
        Error::HostNotFound => unreachable("the host name is unknown".to_owned(), true),
        Error::ConnectionFailed => unreachable("the connection failed".to_owned(), true),
        Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
            unreachable("the connection timed out".to_owned(), true)
        }
        // The whole time is spent already, so another try would double the wait.
        Error::Timeout(_) => unreachable("the time is over".to_owned(), false),
        // The proxy's own words may repeat its address with a password.
        Error::ConnectProxyFailed(_) | Error::InvalidProxyUrl => {
            unreachable("the proxy did not connect".to_owned(), false)
        }
        other => Failure {
            error: RegistryError::Malformed {
                asked: asked.clone(),
                reason: other.to_string(),
            },
            transient: false,
            in_vain: false,
        },
    }
}

fn untrusted(asked: Asked, reason: impl std::fmt::Display) -> Failure {
    Failure {
        error: RegistryError::Untrusted {
            asked,
            reason: reason.to_string(),
        },
        transient: false,
        in_vain: false,
    }
}

/// Says why a body could not be read to its end.
pub(super) fn broken_body(asked: Asked, error: &ureq::Error, limit: u64) -> Failure {
    use ureq::Error;
    let in_vain = matches!(error, Error::Timeout(_));
    let (error, transient) = match error {
        Error::BodyExceedsLimit(_) => (RegistryError::TooLarge { asked, limit }, false),
        Error::Timeout(_) => {
            let reason = "the time is over".to_owned();
            (RegistryError::Unreachable { asked, reason }, false)
        }
        Error::Io(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => {
            let reason = e.to_string();
            (RegistryError::Unreachable { asked, reason }, true)
        }
        other => {
            let reason = format!("it is cut off or damaged: {other}");
            (RegistryError::Malformed { asked, reason }, true)
        }
    };
    Failure {
        error,
        transient,
        in_vain,
    }
}
