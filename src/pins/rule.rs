//! [`Rule`]: which versions a chart's pins may get.

use std::collections::BTreeMap;

use semver::Version;

use crate::model::policy::Ranges;
use crate::model::range::Range;

/// What a team decided about the versions of one chart.
#[derive(Debug, Clone, Default)]
pub struct Rule {
    /// Only these. Without it: for HAPTIC those of the pin's own minor, for other charts all.
    pub range: Option<Range>,
    /// Only these too: what the pin itself takes, where its lock moves.
    pub within: Option<Range>,
    /// Whether pre-releases count. Without it: where the pin is one itself.
    pub prereleases: Option<bool>,
    /// What is never offered, and why.
    pub barred: Vec<Barred>,
    /// Versions that are too young or of unknown age, and what is said of each.
    pub young: BTreeMap<Version, String>,
    /// None above this, and why.
    pub most: Option<(Version, String)>,
    /// What happens to a range that a newer version is outside of.
    pub ranges: Ranges,
}

/// Versions that are never offered.
#[derive(Debug, Clone)]
pub struct Barred {
    /// Which.
    pub versions: Range,
    /// Why, as a part of a sentence: `is rejected: …`.
    pub why: String,
}

impl Rule {
    /// Why a version isn't offered; nothing where nobody is against it.
    pub fn against(&self, version: &Version) -> Option<&str> {
        if let Some(why) = self.young.get(version) {
            return Some(why);
        }
        let barred = self.barred.iter().find(|barred| barred.has(version));
        let most = self.most.as_ref();
        let above = most.filter(|(most, _)| version.cmp_precedence(most).is_gt());
        barred
            .map(|barred| barred.why.as_str())
            .or_else(|| above.map(|(_, why)| why.as_str()))
    }

    /// Whether a version is in the range, if there is one. A pre-release that the team wants is in it where its release would be.
    pub fn allows(&self, version: &Version) -> bool {
        let is_within = |range: &Range| {
            range.matches(version)
                || self.prereleases == Some(true) && range.matches(&release(version))
        };
        self.range.iter().all(is_within) && self.within.iter().all(|range| range.matches(version))
    }
}

impl Barred {
    /// Whether it is about a version.
    pub fn has(&self, version: &Version) -> bool {
        match self.versions.exact() {
            Some(exact) => exact.cmp_precedence(version).is_eq(),
            // A pre-release is barred where its release is.
            None => self.versions.matches(version) || self.versions.matches(&release(version)),
        }
    }
}

/// The release that a version is or is before.
fn release(version: &Version) -> Version {
    Version::new(version.major, version.minor, version.patch)
}
