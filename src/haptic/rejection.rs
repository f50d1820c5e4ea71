//! What HAPTIC's preflight says when it refuses a release, read from the log of its Job.
//!
//! Owns the words and what each of them calls for. Not every refusal is of a bad release: the version guard also trips over
//! the way in which a chart is fetched, or an image tag that was left behind.

use semver::Version;

use super::names::Names;
use super::verdict_words::{
    has_verdict, is_circumstance, is_success, is_summary, is_verdict, tells,
};
pub use crate::model::range::without_digest;

/// Why preflight refused a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The guard compares versions as texts, and the installed one has the digest that Flux adds to charts of an OCIRepository. No version helps; another form
    /// of the chart's source does.
    ChartForm {
        /// The chart inside the image.
        embedded: String,
        /// The chart that is being installed.
        installed: String,
    },
    /// The image is of another version than the chart: a tag in the values was left behind.
    ImageTag {
        /// The chart inside the image.
        embedded: String,
        /// The chart that is being installed.
        installed: String,
    },
    /// An earlier apply was left half-way (0.7 to 0.9).
    UnfinishedApply,
    /// The configuration of this release is refused, in the log's own words.
    Refused(String),
}

/// The start of the version guard's sentence.
///
/// Source: the project's `cmd/controller/preflight.go`, 0.2 to 0.5.
pub(super) const GUARD: &str = "this image embeds chart ";
const GUARD_THEN: &str = " but the release being installed is chart ";
/// Source: release notes 0.10.0, #559.
pub(super) const UNFINISHED: &str = "finish the current apply before upgrading";
/// The first version that goes on where an apply was left half-way.
///
/// Source: as above.
pub const GETS_PAST: Version = Version::new(0, 10, 0);
/// The most characters of a reason: it stands in a title and in a file.
const MOST_REASON: usize = 240;

/// Reads the log of a Job that failed. Nothing where it says nothing at all.
pub fn cause(log: &str) -> Option<Cause> {
    if let Some((embedded, installed)) = guard(log) {
        let is_form = without_digest(&installed) == embedded;
        return Some(if is_form {
            Cause::ChartForm {
                embedded,
                installed,
            }
        } else {
            Cause::ImageTag {
                embedded,
                installed,
            }
        });
    }
    if log.contains(UNFINISHED) {
        return Some(Cause::UnfinishedApply);
    }
    telling_line(log).map(Cause::Refused)
}

/// The version that a log says is being installed, without a digest.
pub fn installed(log: &str) -> Option<String> {
    guard(log).map(|(_, installed)| without_digest(&installed).to_owned())
}

/// The two versions of the guard's sentence.
fn guard(log: &str) -> Option<(String, String)> {
    let start = log.find(GUARD)? + GUARD.len();
    let rest = &log[start..];
    let then = rest.find(GUARD_THEN)?;
    let is_sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-');
    let word = |text: &str| {
        let word = text.split(|c| !is_sign(c)).next();
        word.unwrap_or_default().trim_end_matches('.').to_owned()
    };
    let (embedded, installed) = (word(&rest[..then]), word(&rest[then + GUARD_THEN.len()..]));
    (!embedded.is_empty() && !installed.is_empty()).then_some((embedded, installed))
}

/// Whether a log has a verdict of preflight in it. Where it has none, somebody has to say that it is one.
pub fn tells_failure(log: &str) -> bool {
    has_verdict(log)
}

/// What kept a Job from judging anything, where that is what its log says and nothing was judged.
pub fn circumstance(log: &str) -> Option<String> {
    telling_line(log).filter(|line| is_circumstance(line) && !has_verdict(log))
}

/// The line that says most: the last verdict, else the last line that speaks of a failure, else the last that says anything. One that says that nothing
/// failed is none of them.
fn telling_line(log: &str) -> Option<String> {
    let lines = || {
        let lines = log.lines().map(str::trim);
        lines.filter(|line| line.chars().any(char::is_alphanumeric) && !is_success(line))
    };
    // HAProxy ends with how many errors there were.
    let line = lines()
        .rfind(|line| is_verdict(line) && !is_summary(line))
        .or_else(|| lines().rfind(|line| is_verdict(line)))
        .or_else(|| lines().rfind(|line| tells(line)))
        .or_else(|| lines().next_back())?;
    let short: String = line.chars().take(MOST_REASON).collect();
    Some(short)
}

impl Cause {
    /// One sentence without a full stop, for people.
    pub fn text(&self) -> String {
        match self {
            Self::ChartForm {
                embedded,
                installed,
            } => format!(
                "the image embeds chart {embedded}, and Flux installs it as {installed}: the digest behind the `+` comes from the chart's source (an OCIRepository), and no other version is without it"
            ),
            Self::ImageTag {
                embedded,
                installed,
            } => format!(
                "the image embeds chart {embedded}, and chart {installed} is being installed: an image tag in the values was left behind"
            ),
            Self::UnfinishedApply => format!(
                "an earlier release was applied only in part: preflight says `{UNFINISHED}`, and only {GETS_PAST} and later get past it"
            ),
            Self::Refused(line) => line.clone(),
        }
    }

    /// Whether another version can help at all.
    pub fn is_of_the_version(&self) -> bool {
        match self {
            Self::ChartForm { .. } | Self::ImageTag { .. } => false,
            Self::UnfinishedApply | Self::Refused(_) => true,
        }
    }
}

/// The names of a release, as its values override them.
pub fn names(release: &str, namespace: &str, values: &serde_json::Value) -> Names {
    let text = |key: &str| values.get(key).and_then(serde_json::Value::as_str);
    Names::with_overrides(
        release,
        namespace,
        text("nameOverride"),
        text("fullnameOverride"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_tells_a_form_from_a_tag() {
        let say = |embedded: &str, installed: &str| {
            format!(
                "starting\npreflight: chart version mismatch: {GUARD}{embedded}{GUARD_THEN}{installed}.\n"
            )
        };
        let log = say("0.2.2", "0.2.2+f936452fecaa");
        assert_eq!(
            cause(&log),
            Some(Cause::ChartForm {
                embedded: "0.2.2".to_owned(),
                installed: "0.2.2+f936452fecaa".to_owned()
            })
        );
        assert_eq!(installed(&log).as_deref(), Some("0.2.2"));
        for (embedded, at) in [
            ("0.2.1", "0.2.2"),
            ("0.2.1", "0.2.2+f936452fecaa"),
            ("0.2.2", "0.2.2+build.7"),
        ] {
            let cause = cause(&say(embedded, at)).unwrap();
            assert!(matches!(cause, Cause::ImageTag { .. }), "{cause:?}");
            assert!(!cause.is_of_the_version());
        }
    }

    #[test]
    fn the_line_that_says_most_is_the_reason() {
        let log = "loading\npreflight: validation failed: LoadGateFailed: template does not compile\n\n  \nexit status 1\n---\n";
        assert_eq!(
            cause(log),
            Some(Cause::Refused(
                "preflight: validation failed: LoadGateFailed: template does not compile"
                    .to_owned()
            ))
        );
        assert_eq!(cause("a\nb\n"), Some(Cause::Refused("b".to_owned())));
        assert_eq!(cause(" \n--\n"), None);
        assert_eq!(
            cause("cannot go on\nb\n9 checks, 0 failed\n"),
            Some(Cause::Refused("cannot go on".to_owned()))
        );
        assert_eq!(cause("b\nno error\n"), Some(Cause::Refused("b".to_owned())));
        assert_eq!(cause("844 validation tests passed, 0 failed\n"), None);
        let long = cause(&format!("error: {}", "ü".repeat(900))).unwrap();
        assert_eq!(long.text().chars().count(), MOST_REASON);
    }

    #[test]
    fn an_unfinished_apply_is_known() {
        let log = "x: finish the current apply before upgrading\n";
        assert_eq!(cause(log), Some(Cause::UnfinishedApply));
        assert!(Cause::UnfinishedApply.is_of_the_version());
    }

    #[test]
    fn only_a_digest_is_taken_off() {
        assert_eq!(without_digest("0.2.2+f936452fecaa"), "0.2.2");
        assert_eq!(without_digest("0.2.2+f936452fecaa.1"), "0.2.2");
        assert_eq!(without_digest("0.2.2+build.7"), "0.2.2+build.7");
        assert_eq!(without_digest("0.2.2"), "0.2.2");
    }
}
