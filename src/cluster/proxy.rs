//! Which proxy leads to an API server, by the environment.
//!
//! kube reads the process's environment and compares `NO_PROXY` with the proxy's own address (kube-client 5.0.0,
//! `ConfigLoader::proxy_url`), so a cluster of the company's network would be asked through the proxy. Here the rules are
//! kubectl's, which are those of Go's `httpproxy`.

use std::net::IpAddr;

use crate::model::env::Env;

/// Returns the proxy for a server that is asked by TLS.
pub(super) fn for_server(env: &Env, host: &str, port: u16) -> Option<String> {
    let proxy = env.get("HTTPS_PROXY").or_else(|| env.get("https_proxy"))?;
    let exceptions = env.get("NO_PROXY").or_else(|| env.get("no_proxy"));
    if is_direct(&exceptions.unwrap_or_default(), host, port) {
        return None;
    }
    Some(with_scheme(&proxy))
}

/// A proxy without a scheme is a plain one.
pub(super) fn with_scheme(proxy: &str) -> String {
    if proxy.contains("://") {
        proxy.to_owned()
    } else {
        format!("http://{proxy}")
    }
}

fn is_direct(exceptions: &str, host: &str, port: u16) -> bool {
    let host = host
        .trim_matches(['[', ']'])
        .trim_end_matches('.')
        .to_ascii_lowercase();
    let ip: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || ip.is_some_and(|ip| ip.is_loopback()) {
        return true;
    }
    exceptions
        .split(',')
        .map(|entry| entry.trim().to_ascii_lowercase())
        .filter(|entry| !entry.is_empty())
        .any(|entry| matches(&entry, &host, ip, port))
}

fn matches(entry: &str, host: &str, ip: Option<IpAddr>, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    if let Some((network, length)) = entry.split_once('/') {
        return match (network.parse(), length.parse(), ip) {
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
    let name = name.strip_prefix('*').unwrap_or(name);
    let is_below = |domain: &str| {
        host.strip_suffix(domain)
            .is_some_and(|rest| rest.ends_with('.'))
    };
    has_port
        && match name.strip_prefix('.') {
            Some(domain) => is_below(domain),
            None => host == name || is_below(name),
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

    #[test]
    fn exceptions_are_those_of_kubectl() {
        let cases = [
            ("", "api.example.org", false),
            ("*", "api.example.org", true),
            ("example.org", "api.example.org", true),
            ("example.org", "example.org", true),
            ("example.org", "badexample.org", false),
            (".example.org", "example.org", false),
            ("*.example.org", "api.example.org", true),
            ("example.org:6443", "api.example.org", true),
            ("example.org:443", "api.example.org", false),
            ("10.0.0.0/8, ,x", "10.1.2.3", true),
            ("10.0.0.0/8", "11.1.2.3", false),
            ("0.0.0.0/0", "11.1.2.3", true),
            ("10.1.2.3", "10.1.2.3", true),
            ("fd00::/8", "[fd00::1]", true),
            ("", "127.0.0.1", true),
            ("", "[::1]", true),
            ("", "localhost", true),
        ];
        for (exceptions, host, direct) in cases {
            assert_eq!(
                is_direct(exceptions, host, 6443),
                direct,
                "`{exceptions}` {host}"
            );
        }
    }

    #[test]
    fn a_proxy_is_named_by_the_environment() {
        let env = Env::of(&[("https_proxy", "proxy:3128"), ("NO_PROXY", "inner")]);
        assert_eq!(
            for_server(&env, "api.example.org", 443).as_deref(),
            Some("http://proxy:3128")
        );
        assert_eq!(for_server(&env, "inner", 443), None);
        assert_eq!(for_server(&Env::default(), "api.example.org", 443), None);
    }
}
