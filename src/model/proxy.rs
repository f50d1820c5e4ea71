//! Which hosts are asked past the proxy: the variable `NO_PROXY`, as the two programs read it that people know it from.

use core::net::IpAddr;

/// Whose rules count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Those of curl, and so of git. Source: curl's `noproxy.c`. Entries with a port, which curl doesn't know, count as for Go.
    Curl,
    /// Those of Go, and so of kubectl. Source: Go's `golang.org/x/net/http/httpproxy`.
    Go,
}

/// A proxy without a scheme is a plain one.
pub fn with_scheme(proxy: &str) -> String {
    if proxy.contains("://") {
        proxy.to_owned()
    } else {
        format!("http://{proxy}")
    }
}

/// Whether a host is asked past the proxy. An IPv6 address may have its brackets.
pub fn is_direct(rules: Rules, exceptions: &str, host: &str, port: u16) -> bool {
    let host = plain(host);
    let ip: Option<IpAddr> = host.parse().ok();
    // For curl a proxy counts for these too.
    let is_here = host == "localhost" || ip.is_some_and(|ip| ip.is_loopback());
    if rules == Rules::Go && is_here {
        return true;
    }
    // For curl it stands for every host only where it stands alone.
    if rules == Rules::Curl && exceptions.trim() == "*" {
        return true;
    }
    let is_end = |letter: char| letter == ',' || (rules == Rules::Curl && letter.is_whitespace());
    exceptions
        .split(is_end)
        .map(|entry| entry.trim().to_ascii_lowercase())
        .filter(|entry| !entry.is_empty())
        .any(|entry| matches(rules, &entry, &host, ip, port))
}

fn plain(host: &str) -> String {
    host.trim_matches(['[', ']'])
        .trim_end_matches('.')
        .to_ascii_lowercase()
}

fn matches(rules: Rules, entry: &str, host: &str, ip: Option<IpAddr>, port: u16) -> bool {
    if entry == "*" {
        return rules == Rules::Go;
    }
    if let Some((network, length)) = entry.split_once('/') {
        return match (network.parse(), length.parse(), ip) {
            // curl takes a length of 0 for none at all.
            (Ok(network), Ok(0), Some(ip)) if rules == Rules::Curl => ip == network,
            (Ok(network), Ok(length), Some(ip)) => is_within(ip, network, length),
            _ => false,
        };
    }
    if let Ok(named) = entry.trim_matches(['[', ']']).parse::<IpAddr>() {
        return ip == Some(named);
    }
    let (name, has_port) = match entry.rsplit_once(':') {
        Some((name, named)) => (name.trim_matches(['[', ']']), named.parse() == Ok(port)),
        None => (entry, true),
    };
    if !has_port {
        return false;
    }
    let is_below = |domain: &str| {
        host.strip_suffix(domain)
            .is_some_and(|rest| rest.ends_with('.'))
    };
    // An address has no domain, whatever its digits look like.
    let is_named = |name: &str| host == name || (ip.is_none() && is_below(name));
    match rules {
        Rules::Curl => {
            let name = name.trim_end_matches('.').trim_start_matches('.');
            !name.is_empty() && is_named(name)
        }
        Rules::Go => {
            let name = name.strip_prefix('*').unwrap_or(name);
            match name.strip_prefix('.') {
                Some(domain) => is_below(domain),
                None => host == name || is_below(name),
            }
        }
    }
}

fn is_within(ip: IpAddr, network: IpAddr, length: u32) -> bool {
    // A shift by the whole width, for a length of 0, is none that the processor knows.
    match (ip, network) {
        (IpAddr::V4(ip), IpAddr::V4(network)) if length <= 32 => {
            let shift = 32 - length;
            ip.to_bits().checked_shr(shift) == network.to_bits().checked_shr(shift)
        }
        (IpAddr::V6(ip), IpAddr::V6(network)) if length <= 128 => {
            let shift = 128 - length;
            ip.to_bits().checked_shr(shift) == network.to_bits().checked_shr(shift)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exceptions, a host, whether it is asked past the proxy by Go, and by curl.
    const CASES: [(&str, &str, bool, bool); 27] = [
        ("", "api.example.org", false, false),
        ("*", "api.example.org", true, true),
        ("a,*", "api.example.org", true, false),
        ("example.org", "api.example.org", true, true),
        ("example.org", "example.org", true, true),
        ("EXAMPLE.org", "api.Example.ORG.", true, true),
        ("example.org", "badexample.org", false, false),
        (".example.org", "api.example.org", true, true),
        (".example.org", "example.org", false, true),
        ("*.example.org", "api.example.org", true, false),
        ("example.org:6443", "api.example.org", true, true),
        ("example.org:443", "api.example.org", false, false),
        ("a example.org", "example.org", false, true),
        ("a, example.org", "example.org", true, true),
        ("10.0.0.0/8, ,x", "10.1.2.3", true, true),
        ("10.0.0.0/8", "11.1.2.3", false, false),
        ("10.0.0.0/33", "10.0.0.0", false, false),
        ("0.0.0.0/0", "11.1.2.3", true, false),
        ("10.1.2.3", "10.1.2.3", true, true),
        ("2.3", "10.1.2.3", true, false),
        ("fd00::/8", "[fd00::1]", true, true),
        ("fd00::1", "[fd00::1]", true, true),
        ("fd00::/8", "fe00::1", false, false),
        (".", "example.org", false, false),
        ("", "127.0.0.1", true, false),
        ("", "[::1]", true, false),
        ("localhost", "localhost", true, true),
    ];

    #[test]
    fn exceptions_are_those_of_each_program() {
        for (exceptions, host, go, curl) in CASES {
            let is = |rules| is_direct(rules, exceptions, host, 6443);
            assert_eq!(is(Rules::Go), go, "Go: `{exceptions}` {host}");
            assert_eq!(is(Rules::Curl), curl, "curl: `{exceptions}` {host}");
        }
    }
}
