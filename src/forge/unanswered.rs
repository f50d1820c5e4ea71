//! Why a call got no answer, and whether the server can have acted on it.

/// Why no answer came.
pub(super) struct Broken {
    pub(super) why: String,
    /// Whether the server can't have got the call.
    pub(super) is_unsent: bool,
    /// Whether another try may help.
    pub(super) is_passing: bool,
    /// What to do now.
    pub(super) hint: Option<&'static str>,
}

/// No message repeats a header or a proxy's address.
pub(super) fn broken(why: &ureq::Error) -> Broken {
    use std::io::ErrorKind;
    use ureq::{Error, Timeout};
    let of = |why: &str, is_unsent, is_passing, hint| Broken {
        why: why.to_owned(),
        is_unsent,
        is_passing,
        hint,
    };
    let untrusted = |why: &dyn std::fmt::Display| {
        let hint = "where the server's certificate is of a CA of your own, name its file by `SSL_CERT_FILE`";
        of(
            &format!("its certificate isn't trusted: {why}"),
            true,
            false,
            Some(hint),
        )
    };
    let address =
        Some("look at the remote's address; where the API has another, tell it by `--forge-url`");
    match why {
        // TLS reports through I/O errors of this kind while it shakes hands.
        Error::Io(why) if why.kind() == ErrorKind::InvalidData => untrusted(why),
        Error::Rustls(why) => untrusted(why),
        Error::Tls(why) => untrusted(why),
        Error::Io(why) => of(
            &format!("the connection broke: {why}"),
            why.kind() == ErrorKind::ConnectionRefused,
            true,
            None,
        ),
        Error::HostNotFound => of("the host name is unknown", true, true, address),
        Error::ConnectionFailed => of("the connection failed", true, true, address),
        Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
            of("the connection timed out", true, true, address)
        }
        // The whole time is spent already, so another try would double the wait.
        Error::Timeout(_) => of("the time is over", false, false, None),
        // The proxy's own words may repeat its address with a password.
        Error::ConnectProxyFailed(_) | Error::InvalidProxyUrl => {
            of("the proxy did not connect", true, false, None)
        }
        other => of(&other.to_string(), false, true, None),
    }
}
