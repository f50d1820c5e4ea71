//! Which versions of charts are published: looked up once for each chart and run, or told by a file.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use semver::Version;
use serde::Deserialize;

use super::files;
use crate::error::Problem;
use crate::model::chart::ChartRef;
use crate::model::range::lenient_version;
use crate::registry::{ChartSource, Registry};

/// What `--versions FILE` has for one version.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Told {
    /// A version.
    Version(String),
    /// A version with the time of its release.
    Dated {
        version: String,
        #[expect(dead_code, reason = "the minimum age of versions isn't asked for yet")]
        created: Option<String>,
    },
}

/// Where published versions are known from.
pub struct Published<'a> {
    registry: Option<&'a dyn Registry>,
    told: Option<BTreeMap<String, Vec<String>>>,
    known: BTreeMap<String, Result<Vec<Known>, String>>,
}

/// A published version, and how its source writes it.
#[derive(Debug, Clone)]
pub struct Known {
    /// The version.
    pub version: Version,
    /// Its text.
    pub text: String,
}

/// Reads a published version. A tag of fewer parts moves (`1.25`), or counts something else (`20240105`): no version that can be pinned.
fn known(text: &str) -> Option<Known> {
    let core = text.strip_prefix('v').unwrap_or(text);
    let core = core.split(['-', '+']).next().unwrap_or_default();
    let version = lenient_version(text).filter(|_| core.split('.').count() == 3)?;
    Some(Known {
        version,
        text: text.to_owned(),
    })
}

impl<'a> Published<'a> {
    /// From a file, which answers everything; else from the charts' own sources; from nowhere where neither is given.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn new(file: Option<&Path>, registry: Option<&'a dyn Registry>) -> Result<Self> {
        Ok(Self {
            told: file.map(read).transpose()?,
            registry: registry.filter(|_| file.is_none()),
            known: BTreeMap::new(),
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

    /// Charts that could not be asked about, with the reason.
    pub fn unknown(&self) -> impl Iterator<Item = (&str, &str)> {
        self.known
            .iter()
            .filter_map(|(chart, found)| Some((chart.as_str(), found.as_ref().err()?.as_str())))
    }

    fn look_up(&self, chart: &ChartRef) -> Result<Vec<Known>, String> {
        if let Some(told) = &self.told {
            let texts = told
                .get(&chart.address())
                .or_else(|| told.get(&chart.name))
                .ok_or_else(|| format!("the file of versions doesn't have `{}`", chart.name))?;
            return Ok(texts.iter().filter_map(|text| known(text)).collect());
        }
        let registry = self.registry.ok_or("nobody was asked")?;
        let source =
            ChartSource::new(&chart.repo_url(), &chart.name).map_err(|why| why.to_string())?;
        let published = registry.versions(&source).map_err(|why| why.to_string())?;
        Ok(published
            .iter()
            .filter_map(|published| known(&published.version))
            .collect())
    }
}

fn read(file: &Path) -> Result<BTreeMap<String, Vec<String>>> {
    let text = files::read_text(file)?;
    let told: BTreeMap<String, Vec<Told>> = serde_yaml::from_str(&text).map_err(|why| {
        Problem::invalid(format!("cannot read `{}`: {why}", file.display())).hint(
            r#"it has lists of versions by chart: {"haptic": ["0.2.1", {"version": "0.2.2", "created": "2026-10-03T00:00:00Z"}]}"#,
        )
    })?;
    let version = |told: Told| match told {
        Told::Version(version) | Told::Dated { version, .. } => version,
    };
    Ok(told
        .into_iter()
        .map(|(chart, versions)| (chart, versions.into_iter().map(version).collect()))
        .collect())
}
