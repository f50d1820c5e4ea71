//! The versions of a chart in the index of a Helm repository.
//!
//! Owns what is asked of the repository: `index.yaml`, and the archives that it names. It must not choose among the
//! versions. Start from [`HelmRepo`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secrecy::ExposeSecret as _;

use super::credentials::{self, Credentials};
use super::error::{Asked, RegistryError};
use super::helm_index::{self, Charts, Entry};
use super::http::{Ask, Http, Keep};
use super::manifest;
use super::reply::Reply;
use super::{Published, Release};
use crate::http::url::Url;

const YAML: &str = "application/yaml, text/yaml, application/x-yaml, */*;q=0.5";

/// The index of a Helm repository, and how it is asked for.
#[derive(Clone, Copy)]
pub(super) struct HelmRepo<'a> {
    pub(super) http: &'a Http,
    pub(super) credentials: &'a dyn Credentials,
    pub(super) indexes: &'a Indexes,
    /// The address of `index.yaml`.
    pub(super) index: &'a Url,
    pub(super) chart: &'a str,
}

/// The indexes that were asked for in this run, by address: one serves all its charts, and so does a failure.
#[derive(Default)]
pub(super) struct Indexes(Mutex<HashMap<String, Found>>);

type Found = Result<Arc<Index>, RegistryError>;

struct Index {
    /// The address after redirects, which addresses of archives are relative to.
    url: Url,
    charts: Charts,
}

impl Indexes {
    fn locked(&self) -> MutexGuard<'_, HashMap<String, Found>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HelmRepo<'_> {
    /// Lists the versions of the chart, without entries that have no version.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when the index cannot be read or does not hold the chart.
    pub(super) fn versions(&self) -> Result<Vec<Published>, RegistryError> {
        let index = self.index()?;
        let entries = self.entries(&index)?.iter();
        Ok(entries.filter_map(Entry::published).collect())
    }

    /// Counts the entries without a version, once the index was read.
    pub(super) fn left_out(&self) -> usize {
        let index = self.indexes.locked().get(&self.index.to_string()).cloned();
        let index = index.and_then(Result::ok);
        let entries = index.as_ref().and_then(|index| self.entries(index).ok());
        let unusable = |entry: &&Entry| entry.published().is_none();
        entries.map_or(0, |entries| entries.iter().filter(unusable).count())
    }

    /// Says when a version was made, as the index has it. A Helm repository has no digests of tags.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when the index cannot be read or does not hold the version.
    pub(super) fn release(&self, version: &str) -> Result<Release, RegistryError> {
        let index = self.index()?;
        Ok(Release {
            digest: None,
            created: self.entry(&index, version)?.created.0.clone(),
        })
    }

    /// Says where a version's archive lies, as the index has it.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when the index cannot be read, or does not hold the version with an address.
    pub(super) fn archive_address(&self, version: &str) -> Result<String, RegistryError> {
        let index = self.index()?;
        let address = self.entry(&index, version)?.urls.0.clone();
        address.ok_or_else(|| {
            self.malformed(&format!(
                "the entry of version {version} has no address of an archive"
            ))
        })
    }

    /// Fetches a version's archive, checked against the digest of the index where that has one.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when the index does not hold it, its address isn't safe, or the bytes are others.
    pub(super) fn archive(&self, version: &str) -> Result<Vec<u8>, RegistryError> {
        let index = self.index()?;
        let digest = self.entry(&index, version)?.archive_digest();
        let address = self.archive_address(version)?;
        let url = index.url.follow(&address);
        let url = url.map_err(|reason| RegistryError::UnsafeTarget {
            asked: self.asked(),
            reason,
        })?;
        let authorization = credentials::for_helm(self.credentials, self.index)
            .filter(|_| url.same_origin(self.index));
        let reply = self.http.get(&Ask {
            authorization: authorization.as_ref().map(|text| text.expose_secret()),
            keep: digest.as_deref().map_or(Keep::No, Keep::Digest),
            ..Ask::new(
                &format!("fetch version {version} of `{}`", self.chart),
                &url,
                "*/*",
            )
        })?;
        let reply = self.judge(reply)?;
        if let Some(digest) = digest {
            manifest::check(&reply.body, &digest).map_err(|why| reply.malformed(why))?;
        }
        Ok(reply.body)
    }

    fn entry<'i>(&self, index: &'i Index, version: &str) -> Result<&'i Entry, RegistryError> {
        let is_it = |entry: &&Entry| entry.version.0.as_deref() == Some(version);
        let entry = self.entries(index)?.iter().find(is_it);
        entry.ok_or_else(|| RegistryError::NoSuchVersion {
            asked: self.asked(),
            version: version.to_owned(),
        })
    }

    fn entries<'i>(&self, index: &'i Index) -> Result<&'i [Entry], RegistryError> {
        match index.charts.get(self.chart) {
            Some(Some(entries)) => Ok(entries),
            Some(None) => Err(self.malformed("it has no list of versions for the chart")),
            None => Err(RegistryError::NoSuchChart {
                asked: self.asked(),
                chart: self.chart.to_owned(),
            }),
        }
    }

    /// The index, asked for once in a run. A login that was refused is not sent again, and a broken index not fetched again.
    fn index(&self) -> Found {
        let key = self.index.to_string();
        let known = self.indexes.locked().get(&key).cloned();
        if let Some(found) = known {
            return found;
        }
        let found = self.fetch().map(Arc::new);
        self.indexes.locked().insert(key, found.clone());
        found
    }

    fn fetch(&self) -> Result<Index, RegistryError> {
        let authorization = credentials::for_helm(self.credentials, self.index);
        let ask = Ask {
            authorization: authorization.as_ref().map(|text| text.expose_secret()),
            keep: Keep::WhileUnchanged,
            ..Ask::new("read the index", self.index, YAML)
        };
        let reply = self.judge(self.http.get(&ask)?)?;
        let charts = helm_index::read(&reply.body).map_err(|why| RegistryError::Malformed {
            asked: ask.asked(),
            reason: format!("it is no chart index: {why}"),
        })?;
        Ok(Index {
            url: reply.url,
            charts,
        })
    }

    fn malformed(&self, reason: &str) -> RegistryError {
        RegistryError::Malformed {
            asked: self.asked(),
            reason: reason.to_owned(),
        }
    }

    fn judge(&self, reply: Reply) -> Result<Reply, RegistryError> {
        let repository = credentials::repository_of(self.index);
        reply.into_success().map_err(|why| {
            why.with_logins(|| match self.index.is_private_transport() {
                true => self.credentials.account_of_helm(&repository),
                false => "no login is ever sent over plain HTTP".to_owned(),
            })
        })
    }

    fn aim(&self) -> String {
        format!("look `{}` up in the index", self.chart)
    }

    fn asked(&self) -> Asked {
        Ask::new(&self.aim(), self.index, YAML).asked()
    }
}
