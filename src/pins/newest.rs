//! What is newer than a pin, among the published versions.

use std::cmp::Ordering;

use semver::Version;

use super::found::{Form, Pin};
use crate::haptic;
use crate::model::range::{Range, lenient_version};

/// The newest version for a pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newest {
    /// The version.
    pub version: Option<Version>,
    /// Whether it is newer than what stands there.
    pub is_newer: bool,
    /// What to know of it, or why there is none.
    pub why: Option<String>,
}

impl Newest {
    fn none(why: &str) -> Self {
        Self {
            version: None,
            is_newer: false,
            why: Some(why.to_owned()),
        }
    }
}

/// The newest of the published versions for a pin: for an exact version the newest stable one, and pre-releases only where it is one itself; for HAPTIC of the
/// same minor, since every minor has changes that break values; for a range the newest in it.
pub fn newest(pin: &Pin, published: &[Version]) -> Newest {
    match pin.form {
        Form::Snapshot => Newest::none("a snapshot of a branch is not ordered among releases"),
        Form::Digest | Form::Ref => Newest::none("a digest or reference is not a version"),
        Form::Tag => Newest::none("the tag is no version"),
        Form::Range => of_range(&pin.value, published),
        Form::Exact => {
            let is_haptic = pin.chart.as_deref() == Some(haptic::CHART);
            of_exact(&pin.value, published, is_haptic)
        }
    }
}

fn of_range(text: &str, published: &[Version]) -> Newest {
    let Ok(range) = Range::parse(text) else {
        return Newest::none("it is no range that Helm reads");
    };
    let all = highest(published.iter().filter(|version| version.pre.is_empty()));
    let inside = range.newest(published.iter());
    let why = match (inside, all) {
        (_, Some(all))
            if !range.matches(all) && inside.is_none_or(|inside| is_above(all, inside)) =>
        {
            Some(format!("{all} is outside of the range"))
        }
        _ => None,
    };
    Newest {
        version: inside.cloned(),
        // What is in the range is taken without a change here.
        is_newer: false,
        why,
    }
}

fn of_exact(text: &str, published: &[Version], is_haptic: bool) -> Newest {
    let Some(current) = lenient_version(text) else {
        return Newest::none("it is no version");
    };
    let is_candidate = |version: &&Version| {
        (version.pre.is_empty() || !current.pre.is_empty())
            && !haptic::versions::is_snapshot(version)
    };
    let all = highest(published.iter().filter(is_candidate));
    let is_near = |version: &&Version| {
        !is_haptic || (version.major, version.minor) == (current.major, current.minor)
    };
    let near = highest(published.iter().filter(is_candidate).filter(is_near));
    let why = match (near, all) {
        (near, Some(all))
            if near.is_none_or(|near| is_above(all, near)) && is_above(all, &current) =>
        {
            Some(format!(
                "{all} is newer, in another minor: read the notes of each between"
            ))
        }
        _ => None,
    };
    Newest {
        is_newer: near.is_some_and(|near| is_above(near, &current)),
        version: near.cloned(),
        why,
    }
}

fn highest<'a>(versions: impl Iterator<Item = &'a Version>) -> Option<&'a Version> {
    versions.max_by(|a, b| a.cmp_precedence(b))
}

fn is_above(one: &Version, other: &Version) -> bool {
    one.cmp_precedence(other) == Ordering::Greater
}
