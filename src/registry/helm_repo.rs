//! The versions of a chart in the index of a Helm repository.
//!
//! Owns what is asked of the repository: `index.yaml`, and the archives that it names. It must not choose among the
//! versions. Start from [`HelmRepo`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secrecy::ExposeSecret as _;

use super::credentials::{self, Credentials};
use super::error::{Asked, RegistryError};
use super::helm_index::{self, Entry};
use super::http::{Ask, Http, Keep, Reply};
use super::manifest;
use super::url::Url;
use super::{Published, Release};

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

/// The indexes that were read in this run, by address: one serves all its charts.
#[derive(Default)]
pub(super) struct Indexes {
    bodies: Mutex<HashMap<String, Arc<Index>>>,
    charts: Mutex<HashMap<(String, String), Arc<Chart>>>,
}

struct Index {
    /// The address after redirects, which addresses of archives are relative to.
    url: Url,
    body: Vec<u8>,
}

/// The entries of one chart, and the address that theirs are relative to.
struct Chart {
    url: Url,
    entries: Vec<Entry>,
}

impl HelmRepo<'_> {
    /// Lists the versions of the chart, without entries that have no version.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when the index cannot be read or does not hold the chart.
    pub(super) fn versions(&self) -> Result<Vec<Published>, RegistryError> {
        let chart = self.chart()?;
        Ok(chart.entries.iter().filter_map(Entry::published).collect())
    }

    /// Counts the entries without a version, once the index was read.
    pub(super) fn left_out(&self) -> usize {
        let key = (self.index.to_string(), self.chart.to_owned());
        let charts = locked(&self.indexes.charts);
        let entries = charts.get(&key).map(|chart| chart.entries.iter());
        let unusable = |entry: &&Entry| entry.published().is_none();
        entries.map_or(0, |entries| entries.filter(unusable).count())
    }

    /// Says when a version was made, as the index has it. A Helm repository has no digests of tags.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when the index cannot be read or does not hold the version.
    pub(super) fn release(&self, version: &str) -> Result<Release, RegistryError> {
        let chart = self.chart()?;
        Ok(Release {
            digest: None,
            created: self.entry(&chart, version)?.created.0.clone(),
        })
    }

    /// Fetches a version's archive, checked against the digest of the index where that has one.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when the index does not hold it, its address isn't safe, or the bytes are others.
    pub(super) fn archive(&self, version: &str) -> Result<Vec<u8>, RegistryError> {
        let chart = self.chart()?;
        let entry = self.entry(&chart, version)?;
        let wrong = |reason: &str| RegistryError::Malformed {
            asked: self.asked(),
            reason: format!("the entry of version {version} {reason}"),
        };
        let digest = entry.archive_digest();
        let address = entry.urls.0.as_ref();
        let address = address.ok_or_else(|| wrong("has no address of an archive"))?;
        let url = chart
            .url
            .follow(address)
            .map_err(|why| RegistryError::UnsafeTarget {
                asked: self.asked(),
                reason: why,
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

    fn entry<'c>(&self, chart: &'c Chart, version: &str) -> Result<&'c Entry, RegistryError> {
        let is_it = |entry: &&Entry| entry.version.0.as_deref() == Some(version);
        let entry = chart.entries.iter().find(is_it);
        entry.ok_or_else(|| RegistryError::NoSuchVersion {
            asked: self.asked(),
            version: version.to_owned(),
        })
    }

    fn chart(&self) -> Result<Arc<Chart>, RegistryError> {
        let key = (self.index.to_string(), self.chart.to_owned());
        let known = locked(&self.indexes.charts).get(&key).cloned();
        if let Some(chart) = known {
            return Ok(chart);
        }
        let index = self.index()?;
        let entries = helm_index::read(&index.body, Some(self.chart));
        let mut entries = entries.map_err(|reason| RegistryError::Malformed {
            asked: self.asked(),
            reason: format!("it is no chart index: {reason}"),
        })?;
        let entries = entries
            .remove(self.chart)
            .ok_or_else(|| RegistryError::NoSuchChart {
                asked: self.asked(),
                chart: self.chart.to_owned(),
            })?;
        let url = index.url.clone();
        let chart = Arc::new(Chart { url, entries });
        locked(&self.indexes.charts).insert(key, Arc::clone(&chart));
        Ok(chart)
    }

    fn index(&self) -> Result<Arc<Index>, RegistryError> {
        let key = self.index.to_string();
        let known = locked(&self.indexes.bodies).get(&key).cloned();
        if let Some(index) = known {
            return Ok(index);
        }
        let authorization = credentials::for_helm(self.credentials, self.index);
        let reply = self.http.get(&Ask {
            authorization: authorization.as_ref().map(|text| text.expose_secret()),
            keep: Keep::WhileUnchanged,
            ..Ask::new(&self.aim(), self.index, YAML)
        })?;
        let reply = self.judge(reply)?;
        let index = Arc::new(Index {
            url: reply.url,
            body: reply.body,
        });
        locked(&self.indexes.bodies).insert(key, Arc::clone(&index));
        Ok(index)
    }

    fn judge(&self, reply: Reply) -> Result<Reply, RegistryError> {
        let repository = credentials::repository_of(self.index);
        reply
            .into_success()
            .map_err(|why| why.with_logins(|| self.credentials.account_of_helm(&repository)))
    }

    fn aim(&self) -> String {
        format!("look `{}` up in the index", self.chart)
    }

    fn asked(&self) -> Asked {
        Ask::new(&self.aim(), self.index, YAML).asked()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
