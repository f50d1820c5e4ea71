//! Answers of HTTP as far as they came, and what is told of those that aren't good.

use std::io::{ErrorKind, Read as _};

use ureq::http::{Response, header};

use super::channel::MOST;
use super::error::Why;
use super::packets::{clean, lines};
use crate::http::{retry_after, text};

const MOST_OF_AN_ERROR: usize = 64 << 10;
const MOST_WORDS: usize = 300;

/// One answer.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) location: Option<String>,
    /// Seconds that the server asks to wait.
    pub(super) wait: Option<u64>,
    /// What it says to people, where it isn't good.
    pub(super) words: String,
    pub(super) body: Vec<u8>,
    /// Why the body isn't there to its end.
    pub(super) cut: Option<Why>,
}

impl Reply {
    /// Reads an answer, also one that is cut off: what is there of it may be enough.
    pub(super) fn read(response: Response<ureq::Body>) -> Self {
        let status = response.status().as_u16();
        let headers = response.headers();
        let location = text(headers, header::LOCATION.as_str()).map(str::to_owned);
        let kind = text(headers, header::CONTENT_TYPE.as_str()).map(str::to_owned);
        let wait = retry_after(headers);
        let most = if status == 200 {
            MOST
        } else {
            MOST_OF_AN_ERROR
        };
        let whole = response.into_body().into_with_config().limit(u64::MAX);
        let mut body = Vec::new();
        let read = whole.reader().take(most as u64 + 1).read_to_end(&mut body);
        let cut = match read {
            Ok(length) if length > most => Some(Why::Malformed("it is too long".to_owned())),
            Ok(_) => None,
            Err(why) => Some(cut_off(&why)),
        };
        let words = match status {
            200 => String::new(),
            _ => words(kind.as_deref().unwrap_or_default(), &body),
        };
        Self {
            status,
            location,
            wait,
            words,
            body,
            cut,
        }
    }
}

/// The first words of an error's body: of a page for browsers its title alone.
fn words(kind: &str, body: &[u8]) -> String {
    let is = |wanted: &str| kind.starts_with(wanted);
    let said = if is("text/plain") || is("application/json") {
        lines(body)
            .into_iter()
            .take(3)
            .collect::<Vec<_>>()
            .join(" / ")
    } else if is("text/html") {
        let page = String::from_utf8_lossy(body);
        let lower = page.to_ascii_lowercase();
        let title = lower.find("<title>").and_then(|at| {
            let start = at + "<title>".len();
            let end = start + lower[start..].find("</title>")?;
            page.get(start..end)
        });
        clean(title.unwrap_or_default().trim())
    } else {
        String::new()
    };
    said.chars().take(MOST_WORDS).collect()
}

/// No message repeats a header or a proxy's address.
pub(super) fn no_answer(why: &ureq::Error) -> Why {
    use ureq::Error;
    let broken = |why: &str| Why::NoAnswer(why.to_owned());
    match why {
        // TLS reports through I/O errors of this kind while it shakes hands.
        Error::Io(why) if why.kind() == ErrorKind::InvalidData => Why::Untrusted(why.to_string()),
        Error::Rustls(why) => Why::Untrusted(why.to_string()),
        Error::Tls(why) => Why::Untrusted((*why).to_owned()),
        Error::Io(why) => Why::NoAnswer(why.to_string()),
        Error::HostNotFound => broken("the host name is unknown"),
        Error::ConnectionFailed => broken("the connection failed"),
        Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => {
            broken("no connection in time")
        }
        Error::Timeout(_) => Why::TimeOver("the connection was given up".to_owned()),
        Error::ConnectProxyFailed(_) | Error::InvalidProxyUrl => {
            broken("the proxy did not connect")
        }
        other => Why::NoAnswer(other.to_string()),
    }
}

fn cut_off(why: &std::io::Error) -> Why {
    let timed_out = || {
        let inner = why.get_ref()?.downcast_ref::<ureq::Error>()?;
        matches!(inner, ureq::Error::Timeout(_)).then_some(())
    };
    if why.kind() == ErrorKind::TimedOut || timed_out().is_some() {
        return Why::TimeOver("it is cut off".to_owned());
    }
    Why::NoAnswer(format!("it is cut off ({why})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_for_people() {
        let page = b"<html><head><TITLE> 502 Bad\x1b[1m Gateway</TITLE></head><body>x</body>";
        let cases: [(&str, &[u8], &str); 5] = [
            ("text/plain; charset=utf-8", b"a\n\nb\nc\nd", "a / b / c"),
            (
                "application/json",
                b"{\"message\":\"busy\"}",
                "{\"message\":\"busy\"}",
            ),
            ("text/html", page, "502 Bad Gateway"),
            ("text/html", "\u{130}<title>x".as_bytes(), ""),
            ("application/octet-stream", b"a", ""),
        ];
        for (kind, body, expected) in cases {
            assert_eq!(words(kind, body), expected);
        }
        assert_eq!(words("text/plain", &[b'a'; 999]).len(), MOST_WORDS);
    }
}
