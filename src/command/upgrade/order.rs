//! The order of environments: a version reaches one after it has been in the one before.

use anyhow::Result;
use git2::{Oid, Repository};
use semver::Version;
use time::OffsetDateTime;

use super::next::counts;
use crate::command::choice::{day, length};
use crate::command::pin_history::{lower, lowest, said};
use crate::command::pin_texts::version_of;
use crate::command::policies::Policies;
use crate::git::history;
use crate::pins::Pin;
use crate::plan::policy::{After, Stage};

/// Where and when it is looked at.
pub(super) struct Now<'a> {
    pub(super) repository: &'a Repository,
    /// The commit that offers are built on.
    pub(super) base: Oid,
    /// Seconds since 1970.
    pub(super) time: i64,
}

/// What the environment before leaves to a pin; by default everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ceiling {
    /// No higher version than this, and why.
    pub(super) most: Option<(Version, String)>,
    /// Nothing yet, and why.
    pub(super) wait: Option<String>,
}

/// Looks at the environment before that of a pin, among the pins of the same chart. `is_now` says that somebody named the environment: then neither
/// time nor command is waited for.
///
/// # Errors
/// When the history can't be read.
pub(super) fn ceiling(
    now: &Now<'_>,
    policies: &Policies,
    pin: &Pin,
    pins: &[Pin],
    is_now: bool,
) -> Result<Ceiling> {
    let Some((stage, name, there)) = before(policies, pin, pins) else {
        return Ok(Ceiling::default());
    };
    let up_to = |version: Version, why: String| Ceiling {
        most: Some((version, why)),
        wait: None,
    };
    let wait = |why: String| Ceiling {
        most: None,
        wait: Some(why),
    };
    let Some(version) = lowest(&there, version_of) else {
        let why = format!(
            "waits for `{name}`, which has something else than one version there: `--environment {}` doesn't",
            stage.name
        );
        return Ok(if is_now {
            Ceiling::default()
        } else {
            wait(why)
        });
    };
    let waits = format!("waits for `{name}`, which has {version}");
    let seconds = match stage.after {
        _ if is_now => return Ok(up_to(version, waits)),
        After::Seconds(0) => return Ok(up_to(version, waits)),
        After::Command => {
            let why = format!("`{0}` follows on command: `--environment {0}`", stage.name);
            return Ok(Ceiling {
                wait: Some(why),
                ..up_to(version, waits)
            });
        }
        After::Seconds(seconds) => seconds,
    };
    // What was there so long ago has served its time, whatever came since; a step back since then has not.
    let past = history::at(now.repository, now.base, now.time - seconds)?;
    let is_cut = past.is_none() && now.repository.is_shallow();
    let mut all = Vec::new();
    for pin in &there {
        let content = match past {
            Some(commit) => history::content(now.repository, commit, &pin.file)?,
            None => None,
        };
        all.push(content.and_then(|content| said(pin, &content)));
    }
    let then: Option<Vec<Version>> = all.into_iter().collect();
    let then = then.and_then(|all| all.into_iter().reduce(lower));
    let then = then.filter(|then| then.cmp_precedence(&version).is_le());
    if then.as_ref() == Some(&version) {
        return Ok(up_to(version, waits));
    }
    // One of those that have it says since when.
    let mut have = there
        .iter()
        .filter(|pin| version_of(pin).as_ref() == Some(&version));
    let reached = have.next().copied().unwrap_or(pin);
    let cut = if is_cut {
        "; the history is cut off here: git fetch --unshallow"
    } else {
        ""
    };
    let follows = format!(
        "`{}` follows {} after `{name}`, which has {version} since {}{cut}",
        stage.name,
        length(seconds),
        since(now, reached)?
    );
    Ok(match then {
        Some(then) => up_to(then, format!("waits: {follows}")),
        None => wait(follows),
    })
}

/// The environment of a pin, the name of the one before it that has the chart, and the pins there.
fn before<'a>(
    policies: &'a Policies,
    pin: &Pin,
    pins: &'a [Pin],
) -> Option<(&'a Stage, &'a str, Vec<&'a Pin>)> {
    let policy = policies.of(&pin.file);
    let own = policy.environment(&pin.file)?;
    let of = |pin: &Pin| {
        let other = policies.of(&pin.file);
        other
            .environment(&pin.file)
            .filter(|_| other.order == policy.order)
    };
    (0..own).rev().find_map(|index| {
        let there = pins.iter().filter(|pin| of(pin) == Some(index));
        let there: Vec<&Pin> = there.filter(|pin| counts(pin, pins)).collect();
        let (stage, earlier) = (&policy.environments[own], &policy.environments[index]);
        (!there.is_empty()).then_some((stage, earlier.name.as_str(), there))
    })
}

/// The day since when a pin has its version.
fn since(now: &Now<'_>, pin: &Pin) -> Result<String> {
    let current = version_of(pin);
    let says = |content: &[u8]| said(pin, content) == current;
    let reached = history::since(now.repository, now.base, &pin.file, &says)?;
    let moment = OffsetDateTime::from_unix_timestamp(reached);
    Ok(moment.map_or_else(|_| "?".to_owned(), day))
}
