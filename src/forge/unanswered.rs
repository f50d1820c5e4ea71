//! Why a call got no answer, and whether the server can have acted on it.

/// Why no answer came.
pub(super) struct Broken {
    pub(super) why: String,
    /// Whether the server can't have got the call.
    pub(super) is_unsent: bool,
    /// Whether another try may help.
    pub(super) is_passing: bool,
}

/// No message repeats a header or a proxy's address.
pub(super) fn broken(why: &ureq::Error) -> Broken {
    use std::io::ErrorKind;
    use ureq::{Error, Timeout};
    let of = |why: &str, is_unsent, is_passing| Broken {
        why: why.to_owned(),
        is_unsent,
        is_passing,
    };
    match why {
        // TLS reports through I/O errors of this kind while it shakes hands.
        Error::Io(why) if why.kind() == ErrorKind::InvalidData => of(
            &format!("its certificate isn't trusted: {why}"),
            true,
            false,
        ),
        Error::Rustls(why) => of(
            &format!("its certificate isn't trusted: {why}"),
            true,
            false,
        ),
        Error::Tls(why) => of(why, true, false),
        Error::Io(why) => of(
            &format!("the connection broke: {why}"),
            why.kind() == ErrorKind::ConnectionRefused,
            true,
        ),
        Error::HostNotFound => of("the host name is unknown", true, true),
        Error::ConnectionFailed => of("the connection failed", true, true),
        Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
            of("the connection timed out", true, true)
        }
        // The whole time is spent already, so another try would double the wait.
        Error::Timeout(_) => of("the time is over", false, false),
        // The proxy's own words may repeat its address with a password.
        Error::ConnectProxyFailed(_) | Error::InvalidProxyUrl => {
            of("the proxy did not connect", true, false)
        }
        other => of(&other.to_string(), false, true),
    }
}
