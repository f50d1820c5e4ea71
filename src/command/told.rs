//! What `--versions FILE` says instead of the charts' sources.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::files;
use crate::error::Problem;
use crate::model::chart::ChartRef;
use crate::registry::{Published, Release};

/// Versions by a chart's address or name, or by the address of a Git repository.
pub struct Told(BTreeMap<String, Vec<Published>>);

/// How a file of versions writes one.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    /// A version.
    Version(String),
    /// A version with the time of its release.
    Dated {
        version: String,
        created: Option<String>,
    },
}

impl Told {
    /// Reads a file of versions.
    ///
    /// # Errors
    /// When it can't be read, or a time in it isn't one.
    pub fn read(file: &Path) -> Result<Self> {
        let text = files::read_text(file)?;
        let refuse = |why: String| {
            Problem::invalid(format!("cannot read `{}`: {why}", file.display())).hint(
                r#"it has lists of versions by chart: {"haptic": ["0.2.1", {"version": "0.2.2", "created": "2026-10-03T00:00:00Z"}]}"#,
            )
        };
        let told: BTreeMap<String, Vec<Line>> =
            serde_yaml::from_str(&text).map_err(|why| refuse(why.to_string()))?;
        let mut all = BTreeMap::new();
        for (chart, lines) in told {
            let lines = lines.into_iter().map(published);
            let versions: Result<Vec<Published>, String> = lines.collect();
            let versions = versions.map_err(|why| refuse(format!("of `{chart}` {why}")))?;
            all.insert(chart, versions);
        }
        Ok(Self(all))
    }

    /// The versions of a chart.
    ///
    /// # Errors
    /// When the file doesn't have the chart.
    pub fn versions(&self, chart: &ChartRef) -> Result<Vec<Published>, String> {
        let by_address = self.0.get(&chart.address());
        let found = by_address.or_else(|| self.0.get(&chart.name));
        found
            .cloned()
            .ok_or_else(|| format!("the file of versions doesn't have `{}`", chart.name))
    }

    /// The tags of a Git repository.
    ///
    /// # Errors
    /// When the file doesn't have the repository.
    pub fn tags(&self, address: &str) -> Result<Vec<Published>, String> {
        let found = self.0.get(address).cloned();
        found.ok_or_else(|| format!("the file of versions doesn't have `{address}`"))
    }

    /// What is told about one version.
    ///
    /// # Errors
    /// When the file doesn't have the chart.
    pub fn release(&self, chart: &ChartRef, text: &str) -> Result<Release, String> {
        let versions = self.versions(chart)?.into_iter();
        let mut of_text = versions.filter(|published| published.version == text);
        Ok(Release {
            digest: None,
            created: of_text.next().and_then(|published| published.created),
        })
    }

    /// A file of versions has no archives.
    ///
    /// # Errors
    /// Never: what else tells versions may have them.
    pub fn archive(&self, _chart: &ChartRef, _text: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }
}

/// A person wrote the time, so what isn't one is an error and not nothing.
fn published(line: Line) -> Result<Published, String> {
    let (version, created) = match line {
        Line::Version(version) => (version, None),
        Line::Dated { version, created } => (version, created),
    };
    if let Some(text) = &created {
        OffsetDateTime::parse(text, &Rfc3339).map_err(|_| {
            format!(
                "version {version} has a time that is none: `{text}` (write 2026-10-03T00:00:00Z)"
            )
        })?;
    }
    Ok(Published { version, created })
}
