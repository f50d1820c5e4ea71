//! Asks a chart source for the versions it has published, and what belongs to them.
//!
//! Owns the look-up in OCI registries, Helm repositories and Git repositories and the choice of the
//! newest stable version. An effect module: it reads the network and the files that hold logins, and
//! writes its own cache alone. It must not read options, not decide what a version means for a pin,
//! and never hold credentials in an address. Start from [`Registry`]; [`HttpRegistry`] is the real one.

mod cache;
mod challenge;
mod credentials;
mod docker_config;
mod error;
mod failure;
mod git_program;
mod git_tags;
mod helm_index;
mod helm_logins;
mod helm_repo;
mod http;
mod local;
mod logins;
mod manifest;
mod newest;
mod oci;
mod oci_layout;
mod program;
mod reply;
mod secret_file;
mod session;
pub mod shared;
mod source;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_login;
#[cfg(test)]
mod tests_logins;
#[cfg(test)]
mod tests_release;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

pub use error::{Asked, RegistryError};
pub use local::Local;
pub use newest::newest_stable;
pub use source::{AddressError, ChartSource};

pub use crate::model::address::shown;

use crate::http::url::Url;
use cache::Cache;
use credentials::Credentials;
use helm_repo::{HelmRepo, Indexes};
use http::{Ask, Http};
use logins::LoginFiles;
use session::{Session, Tokens};
use source::Place;

use crate::model::env::Env;

/// One published version of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The version in the spelling of the source. For OCI tags `_` is read as `+`, because tags
    /// cannot hold `+` and Helm writes `_` for it.
    pub version: String,
    /// When it was published, as the source writes it. OCI tag lists do not say.
    pub created: Option<String>,
}

/// What a source says about one version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Release {
    /// The digest of the manifest that the version's tag has now, as `sha256:…`. Helm repositories have none.
    pub digest: Option<String>,
    /// When it was published, as the source writes it.
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

    /// Says how many entries of the chart the last list left out, since they have no version that can be read.
    /// Nobody is asked for it.
    fn left_out(&self, _source: &ChartSource) -> usize {
        0
    }

    /// Says what the source has about one version, in the spelling that [`Self::versions`] gave.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when the source cannot be asked, does not have the version, or what it
    /// has is not what its digest says.
    fn release(&self, source: &ChartSource, version: &str) -> Result<Release, RegistryError>;

    /// Fetches the archive (`.tgz`) of one version. It is compared with the digest that an OCI
    /// manifest or an index has; an index may have none.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] as from [`Self::release`], or when the version is no chart.
    fn archive(&self, source: &ChartSource, version: &str) -> Result<Vec<u8>, RegistryError>;

    /// Lists the tags of a Git repository by their names, in the order of the repository.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when the repository cannot be asked, or its address is not one that is.
    fn git_tags(&self, address: &str) -> Result<Vec<String>, RegistryError>;

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
    /// The environment of the programs that are run.
    env: Env,
    tokens: Tokens,
    indexes: Indexes,
    /// What git was waited for in vain for, by host.
    silent_git: Mutex<HashMap<String, RegistryError>>,
}

impl HttpRegistry {
    /// Makes a registry client with the logins and the cache of the user whose environment it is.
    #[must_use]
    pub fn new(user_agent: &str, env: Env) -> Self {
        let http = Http::new(user_agent, Cache::of(&env));
        Self::with(http, Box::new(LoginFiles::new(env.clone())), env)
    }

    fn with(http: Http, credentials: Box<dyn Credentials>, env: Env) -> Self {
        Self {
            http,
            credentials,
            env,
            tokens: Tokens::default(),
            indexes: Indexes::default(),
            silent_git: Mutex::default(),
        }
    }

    /// Lists tags by the program `git`. A host that was waited for in vain is not asked again.
    fn tags_by_git(&self, address: &str) -> Result<Vec<String>, RegistryError> {
        let silent = || {
            self.silent_git
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let host = git_program::host(address);
        if let Some(error) = silent().get(host) {
            return Err(error.clone());
        }
        git_program::list(&self.env, address).inspect_err(|error| {
            if matches!(error, RegistryError::Unreachable { .. }) && !host.is_empty() {
                silent().insert(host.to_owned(), error.clone().again("ask again", host));
            }
        })
    }

    fn session<'a>(&'a self, registry: &'a Url, repository: &'a str) -> Session<'a> {
        Session {
            http: &self.http,
            credentials: self.credentials.as_ref(),
            tokens: &self.tokens,
            registry,
            repository,
        }
    }

    fn helm_repo<'a>(&'a self, index: &'a Url, chart: &'a str) -> HelmRepo<'a> {
        HelmRepo {
            http: &self.http,
            credentials: self.credentials.as_ref(),
            indexes: &self.indexes,
            index,
            chart,
        }
    }
}

/// Reads `oci://HOST/PATH/CHART:TAG`, as an index has it whose archives lie in a registry.
fn oci_address(address: &str) -> Option<(ChartSource, String)> {
    let (image, tag) = address.strip_prefix("oci://")?.rsplit_once(':')?;
    let (repo, chart) = image.rsplit_once('/')?;
    let source = ChartSource::new(&format!("oci://{repo}"), chart).ok()?;
    Some((source, tag.to_owned()))
}

impl Registry for HttpRegistry {
    fn versions(&self, source: &ChartSource) -> Result<Vec<Published>, RegistryError> {
        match &source.place {
            Place::Oci {
                registry,
                repository,
            } => oci::versions(self.session(registry, repository)),
            Place::Http { index, chart } => self.helm_repo(index, chart).versions(),
        }
    }

    fn left_out(&self, source: &ChartSource) -> usize {
        match &source.place {
            Place::Oci { .. } => 0,
            Place::Http { index, chart } => self.helm_repo(index, chart).left_out(),
        }
    }

    fn release(&self, source: &ChartSource, version: &str) -> Result<Release, RegistryError> {
        match &source.place {
            Place::Oci {
                registry,
                repository,
            } => oci::release(self.session(registry, repository), version),
            Place::Http { index, chart } => self.helm_repo(index, chart).release(version),
        }
    }

    fn archive(&self, source: &ChartSource, version: &str) -> Result<Vec<u8>, RegistryError> {
        match &source.place {
            Place::Oci {
                registry,
                repository,
            } => oci::archive(self.session(registry, repository), version),
            Place::Http { index, chart } => {
                let repo = self.helm_repo(index, chart);
                match oci_address(&repo.archive_address(version)?) {
                    Some((source, tag)) => self.archive(&source, &tag),
                    None => repo.archive(version),
                }
            }
        }
    }

    fn git_tags(&self, address: &str) -> Result<Vec<String>, RegistryError> {
        if git_program::is_for_git(address) {
            return self.tags_by_git(address);
        }
        match git_tags::list(&self.http, address) {
            // The user's git may keep a login for it.
            Err(refused @ RegistryError::Denied { .. }) => self
                .tags_by_git(address)
                .map_err(|why| refused.with_logins(|| why.to_string())),
            listed => listed,
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
        let ask = Ask::new(aim, &url, "*/*");
        Ok(self.http.get(&ask)?.into_success()?.body)
    }
}
