//! Which versions of charts are published: looked up once for each chart and run, or told by a file.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use semver::Version;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::told::Told;
use crate::model::chart::ChartRef;
use crate::model::range::lenient_version;
use crate::registry::{self, ChartSource, Registry, Release};

/// Where published versions are known from.
pub struct Published<'a> {
    registry: Option<&'a dyn Registry>,
    told: Option<Told>,
    known: BTreeMap<String, Result<Vec<Known>, String>>,
    tags: BTreeMap<String, Result<Vec<Known>, String>>,
    releases: BTreeMap<(String, String), Result<Release, String>>,
}

/// A published version, and how its source writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The version.
    pub version: Version,
    /// Its text.
    pub text: String,
    /// When it was published, where the list says so. The lists of OCI registries and of Git never do: [`Published::created`] asks for one version.
    pub created: Option<OffsetDateTime>,
}

/// Reads a published version. A tag of fewer parts moves (`1.25`), or counts something else (`20240105`): no version that can be pinned.
fn known(published: &registry::Published) -> Option<Known> {
    let text = &published.version;
    let core = text.strip_prefix('v').unwrap_or(text);
    let core = core.split(['-', '+']).next().unwrap_or_default();
    let version = lenient_version(text).filter(|_| core.split('.').count() == 3)?;
    Some(Known {
        version,
        text: text.clone(),
        created: published.created.as_deref().and_then(moment),
    })
}

/// Reads a moment as indexes and annotations write it (RFC 3339). Another form is as none: a source isn't refused for it.
fn moment(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok()
}

impl<'a> Published<'a> {
    /// From a file, which answers everything; else from the charts' own sources; from nowhere where neither is given.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn new(file: Option<&Path>, registry: Option<&'a dyn Registry>) -> Result<Self> {
        Ok(Self {
            told: file.map(Told::read).transpose()?,
            registry: registry.filter(|_| file.is_none()),
            known: BTreeMap::new(),
            tags: BTreeMap::new(),
            releases: BTreeMap::new(),
        })
    }

    /// Whether nobody is asked at all.
    pub fn is_nobody(&self) -> bool {
        self.told.is_none() && self.registry.is_none()
    }

    /// The versions of a chart, in no order; or why they aren't known.
    pub fn of(&mut self, chart: &ChartRef) -> Result<&[Known], &str> {
        let address = chart.address();
        if !self.known.contains_key(&address) {
            let found = self.look_up(chart);
            self.known.insert(address.clone(), found);
        }
        self.known[&address].as_deref().map_err(|why| why.as_str())
    }

    /// The tags of a Git repository that are versions, in no order; or why they aren't known.
    pub fn tags(&mut self, address: &str) -> Result<&[Known], &str> {
        if !self.tags.contains_key(address) {
            let found = self.look_up_tags(address);
            self.tags.insert(address.to_owned(), found);
        }
        self.tags[address].as_deref().map_err(|why| why.as_str())
    }

    /// When a version was published; nothing where nobody says it. `text` is as [`Self::of`] gave it.
    ///
    /// # Errors
    /// Why the source couldn't be asked.
    pub fn created(
        &mut self,
        chart: &ChartRef,
        text: &str,
    ) -> Result<Option<OffsetDateTime>, String> {
        let listed = self.of(chart)?.iter().find(|known| known.text == text);
        if let Some(created) = listed.and_then(|known| known.created) {
            return Ok(Some(created));
        }
        let release = self.release(chart, text)?;
        Ok(release.created.as_deref().and_then(moment))
    }

    /// The digest of the manifest that a version's tag has now; nothing where the source has no digests. `text` is as [`Self::of`] gave it.
    ///
    /// # Errors
    /// Why the source couldn't be asked.
    pub fn digest(&mut self, chart: &ChartRef, text: &str) -> Result<Option<String>, String> {
        Ok(self.release(chart, text)?.digest)
    }

    /// The archive (`.tgz`) of a version, compared with its digest where one is known; nothing where the versions were only told.
    ///
    /// # Errors
    /// Why the source couldn't be asked, or that it has other bytes than it says.
    pub fn archive(&mut self, chart: &ChartRef, text: &str) -> Result<Option<Vec<u8>>, String> {
        if let Some(told) = &self.told {
            return told.archive(chart, text);
        }
        let archive = self.registry()?.archive(&source(chart)?, text);
        archive.map(Some).map_err(|why| why.to_string())
    }

    /// Charts and repositories that could not be asked about, with the reason.
    pub fn unknown(&self) -> impl Iterator<Item = (&str, &str)> {
        self.known
            .iter()
            .chain(&self.tags)
            .filter_map(|(chart, found)| Some((chart.as_str(), found.as_ref().err()?.as_str())))
    }

    fn registry(&self) -> Result<&'a dyn Registry, String> {
        self.registry.ok_or_else(|| "nobody was asked".to_owned())
    }

    fn look_up(&self, chart: &ChartRef) -> Result<Vec<Known>, String> {
        let published = match &self.told {
            Some(told) => told.versions(chart)?,
            None => self
                .registry()?
                .versions(&source(chart)?)
                .map_err(|why| why.to_string())?,
        };
        Ok(published.iter().filter_map(known).collect())
    }

    fn look_up_tags(&self, address: &str) -> Result<Vec<Known>, String> {
        if let Some(told) = &self.told {
            return Ok(told.tags(address)?.iter().filter_map(known).collect());
        }
        let tags = self.registry()?.git_tags(address);
        let published = |version| registry::Published {
            version,
            created: None,
        };
        let tags = tags.map_err(|why| why.to_string())?.into_iter();
        Ok(tags.map(published).filter_map(|tag| known(&tag)).collect())
    }

    fn release(&mut self, chart: &ChartRef, text: &str) -> Result<Release, String> {
        let key = (chart.address(), text.to_owned());
        if let Some(release) = self.releases.get(&key) {
            return release.clone();
        }
        let release = self.look_up_release(chart, text);
        self.releases.insert(key, release.clone());
        release
    }

    fn look_up_release(&self, chart: &ChartRef, text: &str) -> Result<Release, String> {
        if let Some(told) = &self.told {
            return told.release(chart, text);
        }
        let release = self.registry()?.release(&source(chart)?, text);
        release.map_err(|why| why.to_string())
    }
}

fn source(chart: &ChartRef) -> Result<ChartSource, String> {
    ChartSource::new(&chart.repo_url(), &chart.name).map_err(|why| why.to_string())
}
