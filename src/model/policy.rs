//! What a team decided about upgrades: the keys `upgrade` and `rejected` of `.haptic-scaffold.yaml`, as they are written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How `pins` and `upgrade` choose versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpgradePolicy {
    /// By chart: its name, its full address, or `*` for what every chart has that says nothing else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub charts: BTreeMap<String, ChartPolicy>,
    /// Parts of the repository in the order in which a version reaches them. Without it, the stages of a fleet's clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environments: Option<Vec<Environment>>,
}

/// How versions of one chart are chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChartPolicy {
    /// Only versions in this range. Without it: for HAPTIC those of the pin's own minor, for other charts all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// Whether pre-releases count. Without it: where the pin is one itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prereleases: Option<bool>,
    /// How long a version has to be published: `36h`, `3d`, `2w`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_age: Option<String>,
    /// Versions or ranges that are never offered, each alone or with its reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<Ignored>,
    /// Nothing moves, for this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// Charts of one group move in one change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// What happens to a range that a newer version is outside of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Ranges>,
}

/// A version or range that is never offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Ignored {
    /// A version or range.
    Versions(String),
    /// With its reason.
    Because {
        /// A version or range.
        versions: String,
        /// Why.
        reason: String,
    },
}

/// What happens to a range that a newer version is outside of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ranges {
    /// It stays.
    #[default]
    Leave,
    /// It takes the newer version in beside what it has.
    Widen,
    /// It becomes the like range of the newer version.
    Replace,
}

/// A part of the repository that gets versions before or after others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Its name.
    pub name: String,
    /// Folders and files, as seen from the repository's top; `*` stands for a part of a name, `**` for any folders.
    pub paths: Vec<String>,
    /// How long the environment before has to have a version: `3d`, or `command` for `--environment` alone. Without it, once it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// How merge requests are opened and kept. Only the file at the repository's top counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestPolicy {
    /// Labels beside those of the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Login names of those who shall see to a new request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignees: Vec<String>,
    /// Login names of those who shall look at a new request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<String>,
    /// Title of a new request's milestone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    /// Whether new requests are drafts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    /// Whether the commits of a request become one. Without it the project decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub squash: Option<bool>,
    /// Whether the branch stays when its request is merged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_branch: bool,
    /// Whether a request is merged by itself as soon as its pipeline and approvals allow it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_merge: bool,
    /// How many of our requests may be open at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_open: Option<usize>,
    /// When requests are opened and changed: `mon-fri 07:00-18:00`, `sat,sun`, `22:00-04:00 +02:00`. Times are UTC where no offset is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<String>,
    /// Whether a branch is built anew whenever its base has moved, and not only where it would conflict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always_rebuild: bool,
    /// Whether an issue lists what is open, held, rejected and unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dashboard: bool,
}

/// A version that a cluster refused. It is never offered again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    /// The chart, by name or full address.
    pub chart: String,
    /// The version.
    pub version: String,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When, as the evidence says: `2026-11-02` or a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Digest of the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}
