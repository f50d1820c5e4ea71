//! Asks a chart source for the versions it has published.
//!
//! Owns the look-up in OCI registries and Helm repositories and the choice of the newest stable
//! version. An effect module: it reads the network and nothing else. It must not write, not read
//! files or options, not decide what a version means for a pin, and never hold credentials in an
//! address. Start from [`Registry`]; [`HttpRegistry`] is the real one.

mod challenge;
mod credentials;
mod error;
mod failure;
mod helm_repo;
mod http;
mod link;
mod newest;
mod oci;
mod source;
mod url;

#[cfg(test)]
mod test_server;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_login;

pub use credentials::{Anonymous, Credentials};
pub use error::{Asked, RegistryError};
pub use newest::newest_stable;
pub use source::{AddressError, ChartSource};

use http::{Ask, Http};
use source::Place;
use url::Url;

/// One published version of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The version in the spelling of the source. For OCI tags `_` is read as `+`, because tags
    /// cannot hold `+` and Helm writes `_` for it.
    pub version: String,
    /// When it was published, as the source writes it. OCI tag lists do not say.
    pub created: Option<String>,
}

/// Answers which versions of a chart are published.
pub trait Registry {
    /// Lists the published versions of the chart, in the order of the source.
    ///
    /// OCI tags that are no versions (`latest`, signatures) are in the list too.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when the source cannot be reached, refuses, or answers with something
    /// that is not a complete list. A partial list is never returned.
    fn versions(&self, source: &ChartSource) -> Result<Vec<Published>, RegistryError>;

    /// Fetches a public file by its `https` address, or by `http` from this machine.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when the address is none or isn't encrypted, or there is no complete answer.
    fn file(&self, aim: &str, address: &str) -> Result<Vec<u8>, RegistryError>;
}

/// Asks chart sources over HTTP.
///
/// Proxies come from the usual environment variables (loopback hosts are asked directly), trusted
/// certificates from the operating system.
pub struct HttpRegistry {
    http: Http,
    credentials: Box<dyn Credentials>,
}

impl HttpRegistry {
    /// Makes a registry client without credentials.
    #[must_use]
    pub fn new(user_agent: &str) -> Self {
        Self::with_credentials(user_agent, Box::new(Anonymous))
    }

    /// Makes a registry client that logs in where `credentials` knows a login.
    #[must_use]
    pub fn with_credentials(user_agent: &str, credentials: Box<dyn Credentials>) -> Self {
        Self {
            http: Http::new(user_agent),
            credentials,
        }
    }
}

/// An address as it may be shown: without a user and its password, and without the query, which may hold a token.
pub fn shown(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

impl Registry for HttpRegistry {
    fn versions(&self, source: &ChartSource) -> Result<Vec<Published>, RegistryError> {
        let credentials = self.credentials.as_ref();
        match &source.place {
            Place::Oci {
                registry,
                repository,
            } => oci::versions(&self.http, credentials, registry, repository),
            Place::Http { index, chart } => {
                helm_repo::versions(&self.http, credentials, index, chart)
            }
        }
    }

    fn file(&self, aim: &str, address: &str) -> Result<Vec<u8>, RegistryError> {
        let unsafe_address = |reason: &str| RegistryError::UnsafeAddress {
            asked: Asked {
                aim: aim.to_owned(),
                url: shown(address),
            },
            reason: reason.to_owned(),
        };
        let url = Url::parse(address).ok_or_else(|| {
            unsafe_address("it is no https address of the form https://HOST/PATH, without a user")
        })?;
        if url.is_plain() && !url.is_loopback() {
            return Err(unsafe_address(
                "it is not encrypted, so somebody between could put a certificate of their own in its place",
            ));
        }
        let ask = Ask {
            aim,
            url: &url,
            accept: "*/*",
            authorization: None,
        };
        Ok(self.http.get(&ask)?.into_success()?.body)
    }
}
