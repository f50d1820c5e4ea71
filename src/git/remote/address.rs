//! [`Address`]: where a remote is, and by which way it is reached.
//!
//! Owns what is shown of an address, and the rule that a login belongs to one origin.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use secrecy::SecretString;
use ureq::http::Uri;

use super::error::Why;

/// Where a remote is.
#[derive(Debug, Clone)]
pub enum Address {
    /// Smart HTTP.
    Http(HttpAddress),
    /// The user's `ssh`.
    Ssh(SshAddress),
    /// A repository of this machine.
    Path(String),
}

/// An address of HTTP without user and password, which stand beside it.
#[derive(Debug, Clone)]
pub struct HttpAddress {
    /// Scheme, host, port and path, without a slash at the end.
    pub(super) base: String,
    pub(super) origin: Origin,
    /// The user that the address names.
    pub(super) user: Option<String>,
    /// The password that the address holds.
    pub(super) password: Option<SecretString>,
}

/// An address of SSH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshAddress {
    /// `user@host`, or the host alone: then the user's configuration of ssh says who.
    pub(super) host: String,
    pub(super) port: Option<u16>,
    pub(super) path: String,
}

/// Whom a login belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) is_plain: bool,
    /// Lower case, an IPv6 address in its brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Origin {
    pub(super) fn is_loopback(&self) -> bool {
        let inner = self.host.trim_start_matches('[').trim_end_matches(']');
        // `127.evil.example` is somebody's name, so only whole addresses count.
        self.host == "localhost"
            || inner.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
            || inner.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// Whether nobody on the way can read what is sent.
    pub(super) fn is_private(&self) -> bool {
        !self.is_plain || self.is_loopback()
    }

    /// The host, with its port where it isn't the usual one.
    pub(super) fn authority(&self) -> String {
        let usual = if self.is_plain { 80 } else { 443 };
        if self.port == usual {
            self.host.clone()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.is_plain { "http" } else { "https" }
    }
}

impl HttpAddress {
    /// Reads an address, for a remote or from a redirect.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let (authority, path) = rest
            .find('/')
            .map_or((rest, ""), |at| (&rest[..at], &rest[at..]));
        let (login, host) = authority
            .rsplit_once('@')
            .map_or((None, authority), |(login, host)| (Some(login), host));
        let is_plain = match scheme.to_ascii_lowercase().as_str() {
            "http" => true,
            "https" => false,
            _ => return None,
        };
        let scheme = if is_plain { "http" } else { "https" };
        let base = format!("{scheme}://{host}{}", path.trim_end_matches('/'));
        let uri: Uri = base.parse().ok()?;
        let host = uri.host().filter(|host| !host.is_empty())?;
        let origin = Origin {
            is_plain,
            host: host.to_ascii_lowercase(),
            port: uri.port_u16().unwrap_or(if is_plain { 80 } else { 443 }),
        };
        let (user, password) = login.map_or((None, None), |login| match login.split_once(':') {
            Some((user, password)) => (Some(user), Some(password)),
            None => (Some(login), None),
        });
        let user = user.filter(|user| !user.is_empty()).map(decoded);
        // A line feed in it would be a second question to a credential helper.
        if user.iter().any(|user| user.chars().any(char::is_control)) {
            return None;
        }
        Some(Self {
            base,
            origin,
            user,
            password: password
                .filter(|password| !password.is_empty())
                .map(|password| SecretString::from(decoded(password))),
        })
    }
}

impl HttpAddress {
    /// The address with its user and without its password.
    pub(super) fn with_user(&self) -> String {
        match (&self.user, self.base.split_once("://")) {
            (Some(user), Some((scheme, rest))) => format!("{scheme}://{}@{rest}", encoded(user)),
            _ => self.base.clone(),
        }
    }
}

impl Address {
    /// Reads an address as git does; a relative path starts at `folder`.
    ///
    /// # Errors
    /// [`Why::Address`] for schemes that aren't known and for texts that a program would take for an option.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, Why> {
        let refused = |why: &str| Why::Address(why.to_owned());
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(refused("the address is empty or has control characters"));
        }
        if may_hold_password(text) {
            return Err(refused(
                "it looks as if it holds a password or token where none belongs, or lacks a `/` behind its scheme",
            ));
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return match scheme.to_ascii_lowercase().as_str() {
                "http" | "https" => HttpAddress::parse(text)
                    .filter(|address| !address.base.contains(['?', '#']))
                    .map(Self::Http)
                    .ok_or_else(|| refused("the address can't be read")),
                "ssh" | "git+ssh" | "ssh+git" => ssh_url(rest).map(Self::Ssh),
                "file" if rest.starts_with('/') => Ok(Self::Path(decoded(rest))),
                "file" => Err(refused("an address of a file has three slashes: file:///…")),
                _ => Err(refused("the address has a scheme that isn't known")),
            };
        }
        let before_path = text.split('/').next().unwrap_or_default();
        if before_path.contains("::") {
            // `NAME::…` is a remote helper of git's, which may run anything.
            return Err(refused("addresses of git's remote helpers aren't asked"));
        }
        match text.split_once(':') {
            Some((host, path)) if before_path.contains(':') => {
                let (user, host) = user_and_host(host)?;
                SshAddress::checked(user, &host, None, path).map(Self::Ssh)
            }
            _ => Ok(Self::Path(folder.join(text).display().to_string())),
        }
    }

    /// The host without a user, with its port where an address of HTTP has one; nothing for a path.
    pub fn host(&self) -> Option<String> {
        match self {
            Self::Http(address) => Some(address.origin.authority()),
            Self::Ssh(address) => {
                let host = address.host.rsplit('@').next();
                host.map(str::to_ascii_lowercase)
            }
            Self::Path(_) => None,
        }
    }

    /// The address as people may see it: without user and password.
    pub fn shown(&self) -> String {
        match self {
            Self::Http(address) => address.base.clone(),
            Self::Ssh(address) => {
                let port = address
                    .port
                    .map_or_else(String::new, |port| format!(":{port}"));
                let slash = if address.path.starts_with('/') {
                    ""
                } else {
                    "/"
                };
                format!("ssh://{}{port}{slash}{}", address.host, address.path)
            }
            Self::Path(path) => path.clone(),
        }
    }
}

impl SshAddress {
    fn checked(
        user: Option<String>,
        host: &str,
        port: Option<u16>,
        path: &str,
    ) -> Result<Self, Why> {
        let is_option = |text: &str| text.starts_with('-');
        let name = user.as_deref().unwrap_or_default();
        if host.is_empty() || path.is_empty() || [name, host, path].into_iter().any(is_option) {
            return Err(Why::Address(
                "the address lacks a host or path, or begins one with `-`".to_owned(),
            ));
        }
        Ok(Self {
            host: user.map_or_else(|| host.to_owned(), |user| format!("{user}@{host}")),
            port,
            path: path.to_owned(),
        })
    }
}

fn ssh_url(rest: &str) -> Result<SshAddress, Why> {
    let unread = || Why::Address("the address can't be read".to_owned());
    let (authority, path) = rest.split_at(rest.find('/').ok_or_else(unread)?);
    let (user, host) = user_and_host(authority)?;
    let (host, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => {
            (name.to_owned(), Some(port.parse().map_err(|_| unread())?))
        }
        _ => (host, None),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let path = decoded(path);
    // git's way to name a home: the slash before it belongs to the address.
    let path = path
        .strip_prefix('/')
        .filter(|home| home.starts_with('~'))
        .unwrap_or(&path);
    SshAddress::checked(user, host, port, path)
}

/// SSH takes no password from an address.
fn user_and_host(authority: &str) -> Result<(Option<String>, String), Why> {
    match authority.rsplit_once('@') {
        Some((user, _)) if user.contains(':') => Err(Why::Address(
            "the address carries a password, which SSH doesn't take and every process could read"
                .to_owned(),
        )),
        Some((user, host)) => Ok((Some(decoded(user)), host.to_owned())),
        None => Ok((None, authority.to_owned())),
    }
}

/// Whether an address may hold a secret at a place that git would show, or look for a host at.
///
/// Such are `bot:pw@host:path` (no scheme), `https:/bot:pw@host` (one slash), `https://bot:p/w@host` (a raw slash in the password) and a token in a
/// query. A path may have an `@` at the start of one of its names, as scopes have it; other ones can be written as `%40`.
fn may_hold_password(text: &str) -> bool {
    let is_query = |text: &str| text.contains(['?', '#']);
    if let Some((scheme, rest)) = text.split_once("://") {
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_file = scheme.eq_ignore_ascii_case("file");
        // With a colon before it, even an `@` behind a slash may end a password.
        let at = has_at(path) || (authority.contains(':') && path.contains('@'));
        return !is_file && (at || is_query(rest));
    }
    let is_local = text.starts_with(['/', '.', '~', '\\']);
    let Some((host, path)) = text.split_once(':').filter(|_| !is_local) else {
        return false;
    };
    let scheme = host
        .split('/')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    if ["http", "https", "ssh", "file", "git"].contains(&scheme.as_str()) {
        return true;
    }
    // Where the user stands before the colon, a scope may follow it; else a password may.
    let is_named = host.contains('@') && !host.contains('/');
    is_query(path)
        || if is_named {
            has_at(path)
        } else {
            path.contains('@')
        }
}

/// Whether there is an `@` elsewhere than at the start of a name.
fn has_at(path: &str) -> bool {
    path.split('/')
        .any(|name| name.chars().skip(1).any(|letter| letter == '@'))
}

/// An address that is refused, if it surely holds no secret.
pub(super) fn harmless(text: &str) -> &str {
    const MOST: usize = 200;
    let is_harmful = text.contains(['@', '?', '#', '=', '%'])
        || text.contains("::")
        || text.chars().any(char::is_control)
        || text.len() > MOST;
    if is_harmful { "…" } else { text }
}

/// Writes what a user's name in an address can't hold as `%2F` and the like.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+".contains(&byte);
    let codes = text.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    codes.collect()
}

/// Resolves `%2F` and the like; what isn't a code stays.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = text
            .get(at + 1..at + 3)
            .filter(|code| bytes[at] == b'%' && code.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        plain.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret as _;

    fn shown(text: &str) -> String {
        Address::parse(text, Path::new("/work")).unwrap().shown()
    }

    #[test]
    fn each_way_is_known_and_nothing_secret_is_shown() {
        let cases = [
            (
                "https://H.example.org/a/b.git/",
                "https://H.example.org/a/b.git",
            ),
            (
                "https://bot:geheim@h.example.org:8443/a",
                "https://h.example.org:8443/a",
            ),
            (
                "ssh://h.example.org:2222/a.git",
                "ssh://h.example.org:2222/a.git",
            ),
            ("ssh://bot@[::1]:22/~/a", "ssh://bot@::1:22/~/a"),
            (
                "git@h.example.org:co/ops/fleet.git",
                "ssh://git@h.example.org/co/ops/fleet.git",
            ),
            ("h.example.org:a", "ssh://h.example.org/a"),
            (
                "git@h.example.org:@team/a",
                "ssh://git@h.example.org/@team/a",
            ),
            ("https://bot@h/@team/a", "https://h/@team/a"),
            ("file:///srv/a%20b.git", "/srv/a b.git"),
            ("../a.git", "/work/../a.git"),
            ("/srv/a:b.git", "/srv/a:b.git"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn what_a_program_would_misread_is_refused_without_being_repeated() {
        for text in [
            "",
            "ext::sh -c x",
            "git://h/a",
            "-oProxyCommand=x:y",
            "ssh://-oProxyCommand=x/a",
            "h:-x",
            "ssh://u:geheim@h/a",
            "https://h/a?token=geheim",
            "https:///a",
            "https://a%0Ahost=evil.example@h/a",
            "a\nb",
            "bot:geheim@h.example.org:a/b",
            "bot:geheim@h.example.org/a/b",
            "bot:ge/heim@h.example.org:a/b",
            "me@corp:geheim@h.example.org:a",
            "https:/bot:geheim@h/a",
            "https:/geheim@h/a",
            "https:bot:geheim@h/a",
            "https//bot:geheim@h/a",
            "https://h/a?private_token=geheim",
            "https://h/a#geheim",
            "https://bot:x/geheim@h/a",
            "https://bot:12/geheim@h/a",
            "https://bot:12/@geheim/a",
            "https://h/a@geheim",
            "https://h/\u{e9}@geheim",
            "ext::curl -u geheim",
            "ssh://bot:12/geheim@h/a",
            "ssh://bot@h/a?private_token=geheim",
            "git@h:a?private_token=geheim",
            "file://bot:geheim@h/a",
            "ftp://bot:geheim@h/a",
            "git://h/a?private_token=geheim",
        ] {
            let why = Address::parse(text, Path::new("/"))
                .unwrap_err()
                .to_string();
            let shown = harmless(text);
            assert!(!why.contains("geheim"), "{text}: {why}");
            assert!(
                !shown.contains("geheim") && !shown.contains("heim"),
                "{text}"
            );
        }
        assert_eq!(harmless("git://h/a"), "git://h/a");
    }

    #[test]
    fn the_login_of_an_address_is_kept_apart() {
        let address = HttpAddress::parse("https://bot:a%40b@h.example.org/x").unwrap();
        assert_eq!(address.user.as_deref(), Some("bot"));
        assert_eq!(address.password.as_ref().unwrap().expose_secret(), "a@b");
        assert!(!format!("{address:?}").contains("a@b"));
        let named = HttpAddress::parse("https://b%40t@h.example.org/x").unwrap();
        assert_eq!(named.with_user(), "https://b%40t@h.example.org/x");
        let local = |text| HttpAddress::parse(text).unwrap().origin.is_private();
        assert!(local("http://127.0.0.1:80/a") && local("http://[::1]/a") && local("https://h/a"));
        assert!(!local("http://127.evil.example/a") && !local("http://h/a"));
    }
}
