//! A small absolute HTTP address: parse, resolve a reference, compare origins.
//!
//! Owns the safety rules for addresses: no user information, no control characters, a display
//! without the query. It must not know registries. Start from [`Url`].

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// An `http` or `https` address without user information and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    plain: bool,
    host: String,
    port: Option<u16>,
    /// Begins with `/`; holds the query, if any.
    target: String,
}

impl Url {
    /// Makes an address from parts that were checked before.
    pub(crate) fn from_parts(plain: bool, authority: Authority, target: String) -> Self {
        Self {
            plain,
            host: authority.host,
            port: authority.port,
            target,
        }
    }

    /// Parses an absolute address; `None` for everything that is not a clean one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let plain = match scheme.to_ascii_lowercase().as_str() {
            "http" => true,
            "https" => false,
            _ => return None,
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        Some(Self::from_parts(
            plain,
            Authority::parse(authority)?,
            clean_target(target)?,
        ))
    }

    /// Resolves a reference as it stands in a `Link` or `Location` header.
    pub(crate) fn join(&self, reference: &str) -> Option<Self> {
        if let Some(rest) = reference.strip_prefix("//") {
            return Self::parse(&format!("{}://{rest}", self.scheme()));
        }
        if has_scheme(reference) {
            return Self::parse(reference);
        }
        let path = self.path();
        let target = if reference.starts_with('/') {
            reference.to_owned()
        } else if reference.starts_with('?') {
            format!("{path}{reference}")
        } else {
            let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
            format!("{folder}{reference}")
        };
        Some(Self {
            target: clean_target(&target)?,
            ..self.clone()
        })
    }

    /// Resolves a reference that an answer from this address gave, if it is safe to follow.
    ///
    /// # Errors
    ///
    /// A reason when it cannot be read, gives TLS up, or leads from the network to this machine.
    pub(crate) fn follow(&self, reference: &str) -> Result<Self, String> {
        let mut next = self.join(reference).ok_or("it cannot be read as a URL")?;
        if self.is_plain_twin(&next) {
            next.plain = false;
            next.port = self.port;
        }
        if next.plain && !self.plain {
            return Err(format!("it is not encrypted: `{next}`"));
        }
        if next.is_loopback() != self.is_loopback() && (next.plain || next.is_loopback()) {
            return Err(format!("it leaves for another network: `{next}`"));
        }
        Ok(next)
    }

    /// Returns the same address with another path and query.
    pub(crate) fn with_target(&self, target: String) -> Self {
        Self {
            target,
            ..self.clone()
        }
    }

    /// Returns the host, lower case, an IPv6 address in its brackets.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the host with the port where one is written.
    pub(crate) fn host_and_port(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }

    /// Returns scheme, host and port.
    pub(crate) fn origin(&self) -> String {
        format!("{}://{}", self.scheme(), self.host_and_port())
    }

    /// Returns path and query.
    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    /// Tells whether the address has a query.
    pub(crate) fn has_query(&self) -> bool {
        self.target.contains('?')
    }

    fn path(&self) -> &str {
        let end = self.target.find('?').unwrap_or(self.target.len());
        &self.target[..end]
    }

    fn scheme(&self) -> &'static str {
        if self.plain { "http" } else { "https" }
    }

    fn effective_port(&self) -> u16 {
        self.port.unwrap_or(if self.plain { 80 } else { 443 })
    }

    /// Tells whether the connection isn't encrypted.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Tells whether the host is this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// Tells whether the host is an IP address instead of a name.
    pub(crate) fn is_ip_address(&self) -> bool {
        self.host.starts_with('[') || self.host.parse::<Ipv4Addr>().is_ok()
    }

    /// Tells whether nobody on the way can read what is sent.
    pub(crate) fn is_private_transport(&self) -> bool {
        !self.plain || self.is_loopback()
    }

    /// Tells whether scheme, host and port are the same.
    pub(crate) fn same_origin(&self, other: &Self) -> bool {
        self.plain == other.plain
            && self.host == other.host
            && self.effective_port() == other.effective_port()
    }

    /// Tells whether `other` is this host on the default port of plain HTTP.
    ///
    /// Registries behind a proxy that ends TLS write such addresses for themselves.
    fn is_plain_twin(&self, other: &Self) -> bool {
        !self.plain && other.plain && self.host == other.host && other.effective_port() == 80
    }

    /// Returns the full text for the request line. Not for messages: the query may be secret.
    pub(crate) fn request_text(&self) -> String {
        format!(
            "{}://{}{}",
            self.scheme(),
            self.host_and_port(),
            self.target
        )
    }
}

impl fmt::Display for Url {
    /// Writes the address without its query, which may hold a signature or a token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, path) = (self.scheme(), self.path());
        write!(f, "{scheme}://{}{path}", self.host_and_port())
    }
}

/// A host with an optional port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
}

impl Authority {
    /// Parses `host`, `host:port` or `[v6]:port`; `None` with user information or a bad host.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (host, port) = if text.starts_with('[') {
            let end = text.find(']')?;
            text[1..end].parse::<Ipv6Addr>().ok()?;
            let (host, rest) = text.split_at(end + 1);
            match rest {
                "" => (host, None),
                rest => (host, Some(rest.strip_prefix(':')?)),
            }
        } else {
            match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            }
        };
        let is_name = |host: &str| {
            !host.is_empty()
                && host.len() <= 253
                && !host.starts_with(['.', '-'])
                && host
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
        };
        if !host.starts_with('[') && !is_name(host) {
            return None;
        }
        Some(Self {
            host: host.to_ascii_lowercase(),
            port: port.map(parse_port).transpose().ok()?,
        })
    }

    /// Tells whether the host is this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }
}

fn parse_port(text: &str) -> Result<u16, ()> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(());
    }
    text.parse().ok().filter(|port| *port != 0).ok_or(())
}

// Only full literals and `localhost` itself: `127.evil.example` is somebody's name.
fn is_loopback(host: &str) -> bool {
    let inner = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        || inner.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback())
}

fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    })
}

/// Drops the fragment, makes the path absolute and resolves dot segments.
fn clean_target(target: &str) -> Option<String> {
    let target = target.split('#').next().unwrap_or_default();
    let is_clean = |b: u8| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b);
    if !target.bytes().all(is_clean) {
        return None;
    }
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let mut parts: Vec<&str> = Vec::new();
    let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_dot = matches!(segment, "." | "..");
        if segment == ".." {
            parts.pop();
        }
        if !is_dot {
            parts.push(segment);
        } else if segments.peek().is_none() {
            parts.push("");
        }
    }
    let path = parts.join("/");
    Some(match query {
        Some(query) => format!("/{path}?{query}"),
        None => format!("/{path}"),
    })
}

#[cfg(test)]
mod tests {
    use super::Url;

    #[test]
    fn references_resolve_against_the_page() {
        let base = Url::parse("https://r.example.org:5000/v2/a/list?n=1").unwrap();
        let cases = [
            ("/v2/b?x=/../y", "https://r.example.org:5000/v2/b?x=/../y"),
            ("list?last=b", "https://r.example.org:5000/v2/a/list?last=b"),
            ("../b", "https://r.example.org:5000/v2/b"),
            ("../../../b/..", "https://r.example.org:5000/"),
            ("?last=c", "https://r.example.org:5000/v2/a/list?last=c"),
            ("//o.example.org/x", "https://o.example.org/x"),
            ("https://o.example.org", "https://o.example.org/"),
        ];
        for (reference, expected) in cases {
            let joined = base.join(reference).unwrap();
            assert_eq!(joined.request_text(), expected, "{reference}");
        }
        for reference in [
            "ftp://x/",
            "https://u:p@x/",
            "https://",
            "/a b",
            "/\u{e4}",
            "mailto:x",
        ] {
            assert!(base.join(reference).is_none(), "{reference}");
        }
    }

    #[test]
    fn following_keeps_encryption_and_network() {
        let base = Url::parse("https://r.example.org/v2/").unwrap();
        let followed = |reference| base.follow(reference).map(|url| url.request_text());
        let twin = followed("http://r.example.org/x?y=1");
        assert_eq!(twin.as_deref(), Ok("https://r.example.org/x?y=1"));
        assert!(followed("https://o.example.org/x").is_ok());
        for refused in [
            "http://o.example.org/x",
            "http://r.example.org:8080/x",
            "https://127.0.0.1/x",
            "https://localhost:8443/x",
        ] {
            assert!(followed(refused).is_err(), "{refused}");
        }
        let local = Url::parse("http://127.0.0.1:5000/").unwrap();
        assert!(local.follow("http://localhost:5001/token").is_ok());
        assert!(local.follow("http://auth.example.org/token").is_err());
        let secret = Url::parse("https://h.example.org/x?token=1").unwrap();
        assert_eq!(secret.to_string(), "https://h.example.org/x");
    }
}
