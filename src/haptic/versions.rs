//! What a chart version can and can't do for a GitOps repository.
//!
//! Owns the choice of a default and the verdict on a version that the user names; the table they
//! rest on is in `releases.rs`. It must not ask a registry: what is published today is for
//! callers to find out. Start from [`judge`].

use std::cmp::Ordering;

use semver::{BuildMetadata, Prerelease, Version};

use super::CHART_REPO;
pub use super::notes::upgrade_notes;
use super::releases::PARTIAL_APPLY;
pub use super::releases::{Known, known};

/// A version and the reason for choosing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The version.
    pub version: &'static str,
    /// The reason, as one clause.
    pub why: String,
}

/// How grave a [`Remark`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The version can't work here.
    Refuse,
    /// The version works, with a risk that the user should know.
    Warn,
    /// Something to check, no risk by itself.
    Note,
}

/// One thing to tell the user about a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// How grave it is.
    pub severity: Severity,
    /// What is the case.
    pub text: String,
    /// What the user can do now.
    pub hint: Option<String>,
}

/// Returns the newest known stable version that lies at the default address and has no trap.
pub fn default_version() -> Choice {
    let (at, chosen) = known()
        .iter()
        .enumerate()
        .rfind(|(_, known)| {
            known.at_default_address && known.traps.is_empty() && known.parsed().pre.is_empty()
        })
        .expect("the table has a stable version without a trap at the default address");
    let address = CHART_REPO.trim_start_matches("oci://");
    let mut why =
        format!("the newest of {address} that is known without a fault; it was not looked up");
    if let Some(moved) = known()[at..].iter().find(|known| !known.at_default_address) {
        why += &format!(
            "; {} and later moved to an address that isn't documented",
            moved.version
        );
    }
    Choice {
        version: chosen.version,
        why,
    }
}

/// Returns what this version can't do for a GitOps repository, gravest first.
///
/// `default_address` says whether the chart is to come from [`CHART_REPO`].
pub fn judge(version: &Version, default_address: bool) -> Vec<Remark> {
    if is_snapshot(version) {
        return vec![remark(
            Severity::Warn,
            "a snapshot has no place in the order of versions",
            Some("pin a release for production"),
        )];
    }
    let mut remarks: Vec<Remark> = too_old(version).into_iter().collect();
    if default_address && (version.major, version.minor) >= (0, 6) {
        remarks.push(remark(
            Severity::Refuse,
            "the chart's address from 0.6.0 on isn't documented, and the default one is for 0.2 to 0.5",
            Some("give the address with `--chart-repo`"),
        ));
    }
    if !version.pre.is_empty() {
        let text = "a pre-release isn't recommended for production";
        remarks.push(remark(Severity::Warn, text, None));
    }
    remarks.extend(
        traps(version)
            .iter()
            .map(|text| remark(Severity::Warn, text, None)),
    );
    remarks.extend(kubernetes(version).map(|release| {
        let text = format!("needs Kubernetes {release} or newer");
        remark(Severity::Note, &text, None)
    }));
    remarks
}

/// Returns whether the version is a snapshot of the main branch, `0.0.0-main.<short sha>`.
pub fn is_snapshot(version: &Version) -> bool {
    snapshot_text(&version.to_string())
}

/// Returns whether the text is a snapshot's version.
///
/// A short sha of digits with a leading zero isn't valid SemVer, so this looks at the raw text.
pub fn snapshot_text(text: &str) -> bool {
    text.strip_prefix("0.0.0-main.").is_some_and(|rest| {
        let sha = rest.split('+').next().unwrap_or(rest);
        !sha.is_empty() && sha.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Returns the refusal of a version from before `credentials.existingSecret` (changelog 0.2.0).
fn too_old(version: &Version) -> Option<Remark> {
    let last = Version {
        pre: prerelease("alpha.3"),
        ..Version::new(0, 2, 0)
    };
    if version.cmp_precedence(&last) == Ordering::Greater {
        return None;
    }
    let text = if (version.major, version.minor) < (0, 2) {
        "this version has no `credentials.existingSecret` and keeps its settings at the root of \
         the values"
    } else {
        "this version has no `credentials.existingSecret`, which came with 0.2.0"
    };
    let default = default_version().version;
    let hint = format!("use 0.2.2, or the default {default}");
    Some(remark(Severity::Refuse, text, Some(&hint)))
}

/// Returns the traps of a version, also of one between two known ones.
fn traps(version: &Version) -> &'static [&'static str] {
    let same = |known: &&Known| known.parsed().cmp_precedence(version) == Ordering::Equal;
    match known().iter().find(same) {
        Some(known) => known.traps,
        None if (7..10).contains(&version.minor) && version.major == 0 => &[PARTIAL_APPLY],
        None => &[],
    }
}

/// Returns the oldest Kubernetes, such as `1.33`, for a version: that of the nearest known one.
fn kubernetes(version: &Version) -> Option<&'static str> {
    // The minor counts, so that a pre-release of 0.6.0 asks for what 0.6.0 asks for.
    let line = (version.major, version.minor);
    let nearest = known().iter().rfind(|known| {
        let known = known.parsed();
        (known.major, known.minor) <= line
    })?;
    let range = nearest.kube?;
    Some(range.trim_start_matches(">=").trim_end_matches(".0-0"))
}

/// Returns the version without build metadata, which SemVer leaves out of the order.
pub(super) fn without_build(version: &Version) -> Version {
    Version {
        build: BuildMetadata::EMPTY,
        ..version.clone()
    }
}

/// Returns a pre-release part from a literal.
fn prerelease(text: &str) -> Prerelease {
    Prerelease::new(text).expect("the literal is a valid pre-release")
}

/// Builds a remark.
fn remark(severity: Severity, text: &str, hint: Option<&str>) -> Remark {
    Remark {
        severity,
        text: text.to_owned(),
        hint: hint.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    fn severities(text: &str, default_address: bool) -> Vec<Severity> {
        judge(&version(text), default_address)
            .iter()
            .map(|remark| remark.severity)
            .collect()
    }

    fn says(text: &str, part: &str) -> bool {
        judge(&version(text), false)
            .iter()
            .any(|remark| remark.text.contains(part))
    }

    #[test]
    fn default_is_the_newest_without_a_trap_at_the_default_address() {
        let choice = default_version();
        assert_eq!(choice.version, "0.5.0");
        assert_eq!(
            choice.why,
            "the newest of registry.gitlab.com/haproxy-haptic/haptic/charts that is known without a fault; it \
             was not looked up; 0.6.0 and later moved to an address that isn't documented"
        );
        assert_eq!(severities(choice.version, true), [Severity::Note]);
    }

    #[test]
    fn versions_before_existing_secret_are_refused() {
        for text in [
            "0.1.0-alpha.12",
            "0.1.0",
            "0.1.7",
            "0.2.0-alpha.1",
            "0.2.0-alpha.3",
        ] {
            let first = &judge(&version(text), true)[0];
            assert_eq!(first.severity, Severity::Refuse, "{text}");
            assert_eq!(
                first.hint.as_deref(),
                Some("use 0.2.2, or the default 0.5.0")
            );
        }
        assert_eq!(severities("0.2.0-alpha.3+build", true)[0], Severity::Refuse);
    }

    #[test]
    fn later_pre_releases_are_only_warned_about() {
        for text in ["0.2.0-alpha.4", "0.2.0-beta.1", "0.2.0-rc.1", "0.5.0-rc.1"] {
            assert_eq!(
                severities(text, true),
                [Severity::Warn, Severity::Note],
                "{text}"
            );
        }
    }

    #[test]
    fn default_address_ends_before_0_6() {
        assert_eq!(severities("0.6.0", true)[0], Severity::Refuse);
        assert_eq!(severities("0.10.0", true)[0], Severity::Refuse);
        assert_eq!(severities("1.0.0", true)[0], Severity::Refuse);
        assert_eq!(severities("0.6.0", false), [Severity::Note]);
        assert_eq!(severities("0.5.3", true), [Severity::Note]);
    }

    #[test]
    fn known_traps_are_warnings() {
        assert!(says("0.2.0", "LoadGateFailed"));
        assert!(says("0.2.1", "LoadGateFailed"));
        assert!(!says("0.2.2", "LoadGateFailed"));
        for text in ["0.7.0", "0.8.1", "0.9.0", "0.9.4"] {
            assert!(
                says(text, "finish the current apply before upgrading"),
                "{text}"
            );
        }
        assert!(!says("0.6.0", "finish the current apply"));
        assert!(!says("0.10.0", "finish the current apply"));
    }

    #[test]
    fn flux_digest_suffix_changes_nothing() {
        assert_eq!(
            judge(&version("0.2.1+0123456789ab"), true),
            judge(&version("0.2.1"), true)
        );
    }

    #[test]
    fn kubernetes_version_is_noted() {
        assert!(says("0.2.0", "needs Kubernetes 1.33 or newer"));
        assert!(says("0.5.9", "needs Kubernetes 1.33 or newer"));
        assert!(says("0.6.0-rc.1", "needs Kubernetes 1.35 or newer"));
        assert!(says("0.11.0", "needs Kubernetes 1.35 or newer"));
        assert!(!says("0.1.0", "needs Kubernetes"));
    }

    #[test]
    fn snapshots_are_a_class_of_their_own() {
        let remarks = judge(&version("0.0.0-main.a1b2c3d"), true);
        assert_eq!(remarks.len(), 1);
        assert_eq!(remarks[0].severity, Severity::Warn);
        assert!(snapshot_text("0.0.0-main.0123456"));
        assert!(Version::parse("0.0.0-main.0123456").is_err());
        assert!(snapshot_text("0.0.0-main.a1b2c3d+0123456789ab"));
        for text in [
            "0.0.0-main.",
            "0.0.0-main",
            "0.0.0-gitops.1",
            "0.2.0",
            "main-a1b2c3d",
        ] {
            assert!(!snapshot_text(text), "{text}");
        }
    }
}
