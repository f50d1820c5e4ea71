//! The table of the chart versions that are known.
//!
//! Owns data only; [`super::versions`] draws the conclusions. Facts come from the project's tags,
//! changelog and release notes.

use semver::Version;

/// One published version of the chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The version, as the chart writes it.
    pub version: &'static str,
    /// The day in the changelog or on the release page, `YYYY-MM-DD`.
    pub date: Option<&'static str>,
    /// Whether the chart is documented to lie at [`CHART_REPO`](super::CHART_REPO), for stable use.
    pub at_default_address: bool,
    /// The chart's `kubeVersion`; from 0.6 on our spelling of what the release notes say.
    pub kube: Option<&'static str>,
    /// What can go wrong with this very version, one sentence each.
    pub traps: &'static [&'static str],
}

impl Known {
    /// Returns the version, parsed.
    pub(super) fn parsed(&self) -> Version {
        Version::parse(self.version).expect("the table holds valid versions")
    }
}

/// Release notes 0.2.2.
const VALIDATED_STUCK: &str = "after a rolling upgrade the condition `Validated` can stay False \
     (`LoadGateFailed`) although the configuration is good; fixed in 0.2.2";
/// Release notes 0.2.1.
const RESTARTS: &str = "the controller can use too much memory, and standby controllers can \
     restart; fixed in 0.2.1";
/// Release notes 0.4.1.
const FALSE_CONFLICTS: &str = "under load, admission can reject valid changes as conflicting; \
     fixed in 0.4.1";
/// Release notes 0.10.0, #559. Which of 0.7 to 0.9 brought it in isn't documented.
pub(super) const PARTIAL_APPLY: &str = "after a release that was only partly applied, the pre-rollout hook \
     fails every later sync with `finish the current apply before upgrading`; fixed in 0.10.0";

/// `Chart.yaml` of 0.2 to 0.5: the HAProxy pods use native sidecars.
const KUBE_1_33: Option<&str> = Some(">=1.33.0-0");
/// Release notes 0.6.0.
const KUBE_1_35: Option<&str> = Some(">=1.35.0-0");

/// The table behind [`known`], ascending.
const KNOWN: &[Known] = &[
    old("0.1.0-alpha.12", Some("2026-02-27"), None),
    old("0.1.0", Some("2026-03-09"), None),
    old("0.2.0-alpha.3", None, KUBE_1_33),
    at_gitlab("0.2.0", "2026-09-24", &[VALIDATED_STUCK, RESTARTS]),
    at_gitlab("0.2.1", "2026-10-01", &[VALIDATED_STUCK]),
    at_gitlab("0.2.2", "2026-10-03", &[]),
    at_gitlab("0.3.0", "2026-10-05", &[]),
    at_gitlab("0.4.0", "2026-10-06", &[FALSE_CONFLICTS]),
    at_gitlab("0.4.1", "2026-10-07", &[]),
    at_gitlab("0.5.0", "2026-10-08", &[]),
    after_the_move("0.6.0", "2026-10-18", &[]),
    after_the_move("0.7.0", "2026-10-20", &[PARTIAL_APPLY]),
    after_the_move("0.9.0", "2026-10-30", &[PARTIAL_APPLY]),
    after_the_move("0.10.0", "2026-11-02", &[]),
];

/// A version from before `credentials.existingSecret`.
const fn old(
    version: &'static str,
    date: Option<&'static str>,
    kube: Option<&'static str>,
) -> Known {
    Known {
        version,
        date,
        at_default_address: false,
        kube,
        traps: &[],
    }
}

/// A stable version that the guide and the upgrade notes take from [`CHART_REPO`](super::CHART_REPO).
const fn at_gitlab(
    version: &'static str,
    date: &'static str,
    traps: &'static [&'static str],
) -> Known {
    Known {
        version,
        date: Some(date),
        at_default_address: true,
        kube: KUBE_1_33,
        traps,
    }
}

/// A version from after the project's move to GitHub (release notes 0.6.0).
const fn after_the_move(
    version: &'static str,
    date: &'static str,
    traps: &'static [&'static str],
) -> Known {
    Known {
        version,
        date: Some(date),
        at_default_address: false,
        kube: KUBE_1_35,
        traps,
    }
}

/// Returns the known versions, oldest first.
pub fn known() -> &'static [Known] {
    KNOWN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_versions_ascend() {
        assert!(KNOWN.is_sorted_by(|left, right| left.parsed() < right.parsed()));
    }
}
