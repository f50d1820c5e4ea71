//! What `--versions PATH` says instead of the charts' sources: a file of versions, the index of a Helm repository, or a folder with an OCI layout.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::files;
use crate::error::Problem;
use crate::model::chart::ChartRef;
use crate::model::text::one_line;
use crate::registry::{Local, Published, Release};

/// What is told, and by what.
pub enum Told {
    /// Versions by a chart's address or name, or by the address of a Git repository.
    Versions(BTreeMap<String, Vec<Published>>),
    /// Charts that lie on this machine, by name.
    Charts(Local),
}

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
    /// Reads a file of versions, an index or a folder.
    ///
    /// # Errors
    /// When it can't be read, or is none of them.
    pub fn read(path: &Path) -> Result<Self> {
        let refuse = |why: String| {
            Problem::invalid(why).hint(
                "`--versions` names a file of versions, the `index.yaml` of a Helm repository, or a folder with an OCI layout",
            )
        };
        if path.is_dir() {
            return Ok(Self::Charts(Local::folder(path).map_err(refuse)?));
        }
        // An index is none of the other, and may be much larger.
        let no_index = match Local::index(path) {
            Ok(index) => return Ok(Self::Charts(index)),
            Err(why) => refuse(why),
        };
        match read_versions(path) {
            Ok(told) => Ok(Self::Versions(told)),
            Err(_) if looks_like_index(path) => Err(no_index.into()),
            Err(why) => Err(why),
        }
    }

    /// The versions of a chart.
    ///
    /// # Errors
    /// When it isn't told.
    pub fn versions(&self, chart: &ChartRef) -> Result<Vec<Published>, String> {
        let found = match self {
            Self::Versions(told) => {
                let by_address = told.get(&chart.address());
                by_address.or_else(|| told.get(&chart.name)).cloned()
            }
            Self::Charts(local) => local.versions(&chart.name),
        };
        found.ok_or_else(|| not_told(&chart.name))
    }

    /// The tags of a Git repository.
    ///
    /// # Errors
    /// When they aren't told.
    pub fn tags(&self, address: &str) -> Result<Vec<Published>, String> {
        let found = match self {
            Self::Versions(told) => told.get(address).cloned(),
            Self::Charts(_) => None,
        };
        found.ok_or_else(|| not_told(address))
    }

    /// What is told about one version.
    ///
    /// # Errors
    /// When the chart isn't told.
    pub fn release(&self, chart: &ChartRef, text: &str) -> Result<Release, String> {
        if let Self::Charts(local) = self {
            let found = local.release(&chart.name, text);
            return found.ok_or_else(|| not_told(&format!("{} {text}", chart.name)));
        }
        let versions = self.versions(chart)?.into_iter();
        let mut of_text = versions.filter(|published| published.version == text);
        Ok(Release {
            digest: None,
            created: of_text.next().and_then(|published| published.created),
        })
    }

    /// The archive of one version, where it lies on this machine.
    ///
    /// # Errors
    /// When it isn't what its digest says.
    pub fn archive(&self, chart: &ChartRef, text: &str) -> Result<Option<Vec<u8>>, String> {
        match self {
            Self::Versions(_) => Ok(None),
            Self::Charts(local) => local.archive(&chart.name, text),
        }
    }
}

fn not_told(what: &str) -> String {
    let what = one_line(what);
    format!("what `--versions` names doesn't have `{what}`")
}

/// Whether a file that is neither index nor file of versions was meant to be an index.
fn looks_like_index(file: &Path) -> bool {
    let text = files::read_text(file).unwrap_or_default();
    let mut lines = text.lines();
    lines.any(|line| {
        line.trim_start_matches(['{', ' ', '"'])
            .starts_with("entries")
    })
}

fn read_versions(file: &Path) -> Result<BTreeMap<String, Vec<Published>>> {
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
    Ok(all)
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
