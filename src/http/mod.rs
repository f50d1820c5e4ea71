//! What every client of HTTP shares: addresses and whom a login belongs to, `Link` headers, how long to wait, the connection's settings.
//!
//! Owns TLS, proxies and time-outs of connecting. It sends nothing itself and knows neither registries nor forges.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use ureq::Agent;
use ureq::config::{AutoHeaderValue, ConfigBuilder};
use ureq::http::{HeaderMap, HeaderValue, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

pub(crate) mod link;
pub(crate) mod url;

#[cfg(test)]
pub(crate) mod test_server;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The settings of a client: certificates of the system or of `SSL_CERT_FILE`, proxies of the environment, no redirects, statuses are no errors.
pub(crate) fn settings(
    user_agent: impl Into<AutoHeaderValue>,
    whole: Duration,
) -> ConfigBuilder<AgentScope> {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
        .build();
    Agent::config_builder()
        .user_agent(user_agent)
        .tls_config(tls)
        .timeout_resolve(Some(CONNECT_TIMEOUT))
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_global(Some(whole))
        .http_status_as_error(false)
        // Each client follows redirects itself, where its rules for them can be seen and tested.
        .max_redirects(0)
        .max_redirects_will_error(false)
}

/// The seconds that a server asks to wait: a number, or a date beside that of the answer, since the clocks of two machines differ.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let value = text(headers, header::RETRY_AFTER.as_str())?;
    let by_date = || {
        let wait = moment(value)? - date(headers)?;
        Some(wait.whole_seconds().max(0).unsigned_abs())
    };
    value.parse().ok().or_else(by_date)
}

/// When an answer was given, by the clock of the server.
pub(crate) fn date(headers: &HeaderMap) -> Option<OffsetDateTime> {
    moment(text(headers, header::DATE.as_str())?)
}

/// A header's value, as far as it is text.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    Some(headers.get(name)?.to_str().ok()?.trim())
}

fn moment(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc2822).ok()
}

/// A header's value that no log of the client shows. What isn't a header's text becomes nothing.
pub(crate) fn sensitive(text: &str) -> HeaderValue {
    let value = HeaderValue::from_str(text);
    let mut value = value.unwrap_or_else(|_| HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}
