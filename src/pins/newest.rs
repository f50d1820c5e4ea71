//! What is newer than a pin, among the published versions.

use std::cmp::Ordering;

use semver::Version;

use super::found::{Form, Pin};
use super::ranges::moved;
use super::rule::Rule;
use crate::haptic;
use crate::model::policy::Ranges;
use crate::model::range::Range;

/// The newest version for a pin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Newest {
    /// The version.
    pub version: Option<Version>,
    /// Whether it is newer than what stands there, so that the pin has to move to get it.
    pub is_newer: bool,
    /// What to know of it, or why there is none.
    pub why: Option<String>,
}

impl Newest {
    fn none(why: &str) -> Self {
        Self {
            why: Some(why.to_owned()),
            ..Self::default()
        }
    }
}

/// The newest of the published versions for a pin, as the rule of its chart says. Without one: for an exact version the newest stable one, and pre-releases only
/// where it is one itself; for HAPTIC of the same minor, since every minor has changes that break values; for a range the newest in it.
pub fn newest(pin: &Pin, published: &[Version], rule: &Rule) -> Newest {
    match pin.form {
        Form::Snapshot => Newest::none("a snapshot of a branch is not ordered among releases"),
        Form::Digest | Form::Ref => Newest::none("a digest or reference is not a version"),
        Form::Tag => Newest::none("the tag is no version"),
        Form::Range => match Range::parse(&pin.value) {
            Ok(range) => of_range(pin, &range, published, rule),
            Err(_) => Newest::none("it is no range that Helm reads"),
        },
        Form::Exact => match pin.version() {
            Some(current) => of_exact(pin, &current, published, rule),
            None => Newest::none("it is no version"),
        },
    }
}

/// What is in the range is taken without a change; what is newer and outside of it only where the range may move.
fn of_range(pin: &Pin, range: &Range, published: &[Version], rule: &Rule) -> Newest {
    let inside = range.newest(published.iter()).cloned();
    let may_be_pre = rule.prereleases == Some(true);
    // HAPTIC stays within its minor here too.
    let minor = inside.as_ref().map(|inside| (inside.major, inside.minor));
    let is_far = |version: &Version| {
        is_haptic(pin) && rule.range.is_none() && minor != Some((version.major, version.minor))
    };
    let allowed = |version: &&Version| {
        is_release(version, may_be_pre)
            && rule.allows(version)
            && rule.against(version).is_none()
            && (rule.ranges == Ranges::Leave || !is_far(version))
    };
    let all = highest(published.iter().filter(allowed));
    // Where nothing published is in the range, nobody can say what is above it.
    let outside = all.filter(|all| {
        let is_above = |inside: &Version| above(all, inside).is_gt();
        !range.matches(all) && inside.as_ref().is_some_and(is_above)
    });
    let rejected = inside.as_ref().and_then(|inside| {
        let why = rule.against(inside)?;
        Some(format!("{inside} {why}, and the range takes it"))
    });
    let Some(outside) = outside else {
        let barred = published.iter().filter(|version| {
            is_release(version, may_be_pre)
                && !range.matches(version)
                && inside
                    .as_ref()
                    .is_none_or(|inside| above(version, inside).is_gt())
                && rule.against(version).is_some()
        });
        let barred = highest(barred)
            .filter(|_| rule.ranges != Ranges::Leave)
            .and_then(|version| Some(format!("{version} {}", rule.against(version)?)));
        let far = published
            .iter()
            .filter(|version| is_release(version, may_be_pre) && is_far(version));
        let far = highest(far)
            .filter(|version| {
                inside
                    .as_ref()
                    .is_none_or(|inside| above(version, inside).is_gt())
            })
            .map(far_minor);
        return Newest {
            version: inside,
            is_newer: false,
            why: rejected.or(barred).or(far),
        };
    };
    let moves = moved(&pin.value, outside, rule.ranges);
    let why = format!("{outside} is outside of the range");
    match (rule.ranges, moves) {
        (Ranges::Leave, _) => Newest {
            version: inside,
            is_newer: false,
            why: Some(why),
        },
        (_, Some(_)) => Newest {
            version: Some(outside.clone()),
            is_newer: true,
            why: None,
        },
        (_, None) => Newest {
            version: inside,
            is_newer: false,
            why: Some(format!(
                "{why}, and the range is of no form that can be moved"
            )),
        },
    }
}

fn of_exact(pin: &Pin, current: &Version, published: &[Version], rule: &Rule) -> Newest {
    let may_be_pre = rule.prereleases.unwrap_or(!current.pre.is_empty());
    let is_in_minor = is_haptic(pin) && rule.range.is_none();
    let is_near = |version: &Version| {
        rule.allows(version)
            && (!is_in_minor || (version.major, version.minor) == (current.major, current.minor))
    };
    let all: Vec<&Version> = published
        .iter()
        .filter(|version| is_release(version, may_be_pre))
        .collect();
    let near = all.iter().copied().filter(|version| is_near(version));
    let free = highest(near.filter(|version| rule.against(version).is_none()));
    let base = free.filter(|free| above(free, current).is_gt());
    let base = base.unwrap_or(current);
    Newest {
        is_newer: free.is_some_and(|free| above(free, current).is_gt()),
        version: free.cloned(),
        why: passed_over(&all, base, rule, is_in_minor, &is_near),
    }
}

/// What is still newer than the chosen version, and why it isn't chosen.
fn passed_over(
    all: &[&Version],
    chosen: &Version,
    rule: &Rule,
    is_in_minor: bool,
    is_near: &dyn Fn(&Version) -> bool,
) -> Option<String> {
    let higher = || all.iter().copied().filter(|v| above(v, chosen).is_gt());
    let barred = highest(higher().filter(|version| rule.against(version).is_some()))
        .and_then(|version| Some(format!("{version} {}", rule.against(version)?)));
    // What a pin's own range leaves out is no news.
    let is_far = |version: &&Version| !is_near(version) && (is_in_minor || rule.range.is_some());
    let far = highest(higher().filter(is_far)).map(|version| {
        if is_in_minor {
            far_minor(version)
        } else {
            let range = rule.range.as_ref().map(ToString::to_string);
            format!(
                "{version} is newer, outside of the range `{}` of `.haptic-scaffold.yaml`",
                range.unwrap_or_default()
            )
        }
    });
    let all: Vec<String> = barred.into_iter().chain(far).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn far_minor(version: &Version) -> String {
    format!("{version} is newer, in another minor: read the notes of each between")
}

fn is_haptic(pin: &Pin) -> bool {
    pin.chart.as_deref() == Some(haptic::CHART)
}

/// A published version that a moved range would take and that nobody may get, and why; nothing where all that it takes may be had.
pub fn admitted(
    old: &str,
    new: &str,
    published: &[Version],
    rule: &Rule,
) -> Option<(Version, String)> {
    let (old, new) = (Range::parse(old).ok()?, Range::parse(new).ok()?);
    let taken = published
        .iter()
        .filter(|version| new.matches(version) && !old.matches(version));
    let barred = taken.filter_map(|version| {
        let why = match rule.against(version) {
            Some(why) => why.to_owned(),
            None if !rule.allows(version) => "is outside of the policy's range".to_owned(),
            None if rule.prereleases == Some(false) && !version.pre.is_empty() => {
                "is a pre-release".to_owned()
            }
            None => return None,
        };
        Some((version.clone(), why))
    });
    barred.max_by(|(one, _), (other, _)| one.cmp(other))
}

fn is_release(version: &Version, may_be_pre: bool) -> bool {
    (version.pre.is_empty() || may_be_pre) && !haptic::versions::is_snapshot(version)
}

/// The highest; of equal ones the one with the higher build metadata, so that the choice never depends on the source's order.
fn highest<'a>(versions: impl Iterator<Item = &'a Version>) -> Option<&'a Version> {
    versions.max()
}

/// How a version stands to what is there. Build metadata counts only between two that have it: `1.2.3+b1` is no newer than `1.2.3`.
fn above(version: &Version, current: &Version) -> Ordering {
    let by_build = || {
        if version.build.is_empty() || current.build.is_empty() {
            Ordering::Equal
        } else {
            version.build.cmp(&current.build)
        }
    };
    version.cmp_precedence(current).then_with(by_build)
}
