//! Which proxy leads to an API server, by the environment.
//!
//! kube reads the process's environment and compares `NO_PROXY` with the proxy's own address (kube-client 5.0.0,
//! `ConfigLoader::proxy_url`), so a cluster of the company's network would be asked through the proxy. Here the rules are
//! kubectl's, which are those of Go's `httpproxy`.

use crate::model::env::Env;
use crate::model::proxy::{Rules, is_direct, with_scheme};

/// Returns the proxy for a server that is asked by TLS.
pub(super) fn for_server(env: &Env, host: &str, port: u16) -> Option<String> {
    let proxy = env.get("HTTPS_PROXY").or_else(|| env.get("https_proxy"))?;
    let exceptions = env.get("NO_PROXY").or_else(|| env.get("no_proxy"));
    if is_direct(Rules::Go, &exceptions.unwrap_or_default(), host, port) {
        return None;
    }
    Some(with_scheme(&proxy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_named_by_the_environment() {
        let env = Env::of(&[("https_proxy", "proxy:3128"), ("NO_PROXY", "inner")]);
        assert_eq!(
            for_server(&env, "api.example.org", 443).as_deref(),
            Some("http://proxy:3128")
        );
        assert_eq!(for_server(&env, "inner", 443), None);
        assert_eq!(for_server(&env, "127.0.0.1", 443), None);
        assert_eq!(for_server(&Env::default(), "api.example.org", 443), None);
    }
}
