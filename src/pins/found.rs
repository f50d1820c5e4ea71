//! [`Pin`]: a place where a version stands, as it was found.

use std::ops::Range;

use semver::Version;
use serde::Serialize;

use super::templates::is_made;
use crate::model::range::{Range as VersionRange, lenient_version};
use crate::model::repo_path::RepoPath;

/// What a version is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A Helm chart.
    Chart,
    /// A container image.
    Image,
    /// A Git reference.
    Git,
    /// Something else that has versions.
    Other,
}

/// How a version is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// One version.
    Exact,
    /// A range of versions.
    Range,
    /// A tag that is no version.
    Tag,
    /// The digest of an artifact.
    Digest,
    /// A Git reference that is no version.
    Ref,
    /// A build of a branch, `0.0.0-main.<sha>`: never ordered.
    Snapshot,
}

/// Where a chart comes from, as far as the place itself says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Source {
    /// It doesn't say.
    #[default]
    Unknown,
    /// An address, with the chart's name apart: `oci://host/path` or `https://host/path`.
    Address(String),
    /// An object of Flux, by kind, namespace (where said) and name.
    Reference {
        kind: String,
        /// As the reference says it.
        namespace: Option<String>,
        /// The namespace of the object that refers, as its file says it.
        own: Option<String>,
        name: String,
    },
    /// A repository of a helmfile, by its name there.
    Alias(String),
}

impl Source {
    /// The same, or unknown where a template or a variable makes a part of it.
    pub(super) fn if_known(&self) -> Self {
        let is_whole = match self {
            Self::Unknown => true,
            Self::Address(text) | Self::Alias(text) => !is_made(text),
            Self::Reference {
                namespace, name, ..
            } => ![Some(name), namespace.as_ref()]
                .into_iter()
                .flatten()
                .any(|text| is_made(text)),
        };
        if is_whole {
            self.clone()
        } else {
            Self::Unknown
        }
    }
}

/// A place where a version stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Pin {
    /// The file.
    pub file: RepoPath,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1: where the scalar begins as written, quotes included.
    pub column: usize,
    /// The bytes of the scalar in the file.
    pub span: Range<usize>,
    /// What kind of place it is.
    pub place: String,
    /// What the version is of.
    pub kind: Kind,
    /// `Kind/namespace/name` of the object that it stands in or is meant for.
    pub object: Option<String>,
    /// The chart's name, or the image's.
    pub chart: Option<String>,
    /// Where it comes from.
    pub source: Source,
    /// The version as it reads.
    pub value: String,
    /// How it is written.
    pub form: Form,
    /// The variable that it is the default of, where it is one.
    pub default_of: Option<String>,
    /// The name that it defines, where others read it by that.
    pub defines: Option<String>,
    /// Whether it is what counts in the end.
    pub effective: bool,
    /// Whether it can be edited where it stands.
    pub editable: bool,
    /// Why it isn't effective or can't be edited.
    pub why: Option<String>,
}

/// A part of a file that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// The file.
    pub file: RepoPath,
    /// The line, from 1.
    pub line: usize,
    /// Why.
    pub why: String,
}

impl Pin {
    /// The version that an exact pin has. A tag can't hold `+`, so `_` stands for it there.
    ///
    /// Source: Helm's registry client, which writes one for the other.
    pub fn version(&self) -> Option<Version> {
        lenient_version(&self.value.replace('_', "+"))
    }
}

impl Form {
    /// How the text of a tag of an OCI artifact is written: it is one thing, and never a range; `6.1` is no version of three parts.
    pub fn of_tag(value: &str) -> Self {
        let plain = value.replace('_', "+");
        let core = plain.split(['-', '+']).next().unwrap_or_default();
        match Self::of(&plain, Kind::Image) {
            Self::Exact if core.split('.').count() == 3 => Self::Exact,
            form @ (Self::Digest | Self::Snapshot) => form,
            _ => Self::Tag,
        }
    }

    /// How a version text is written, for a chart or an image.
    pub fn of(value: &str, kind: Kind) -> Self {
        if value.starts_with("sha256:") {
            return Self::Digest;
        }
        if crate::haptic::versions::snapshot_text(value) {
            return Self::Snapshot;
        }
        match VersionRange::parse(value) {
            Ok(range) if range.exact().is_some() => Self::Exact,
            // A tag of an image or of Git is always one thing; `1.2` is no range there.
            Ok(_) if kind == Kind::Chart || value.contains(['>', '<', '~', '^', '*', ' ']) => {
                Self::Range
            }
            _ if kind == Kind::Git => Self::Ref,
            _ => Self::Tag,
        }
    }
}
