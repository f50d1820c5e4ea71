//! The order of environments: a version reaches one after it has been in the one before.

use anyhow::Result;
use git2::{Oid, Repository};
use semver::Version;
use time::OffsetDateTime;

use super::next::{Pair, digest_pair};
use crate::command::choice::{day, length};
use crate::command::policies::Policies;
use crate::git::history;
use crate::model::range::lenient_version;
use crate::pins::{Form, Pin, look};
use crate::plan::policy::{After, Policy, Stage};

/// What the environment before has to say.
pub(super) struct Before<'a> {
    /// The environment of the pin.
    pub(super) stage: &'a Stage,
    /// The environment that comes before it and has the chart.
    pub(super) name: &'a str,
    /// The lowest version there; nothing where it can't be told.
    pub(super) version: Option<Version>,
    /// The pins there.
    pins: Vec<&'a Pin>,
}

/// Finds the environment before that of a pin, among the pins of the same chart.
pub(super) fn before<'a>(policies: &'a Policies, pin: &Pin, pins: &'a [Pin]) -> Option<Before<'a>> {
    let policy = policies.of(&pin.file);
    let own = policy.environment(&pin.file)?;
    let of = |pin: &Pin| {
        let is_same = std::ptr::eq::<Policy>(policies.of(&pin.file), policy);
        policy.environment(&pin.file).filter(|_| is_same)
    };
    // A tag beside its digest counts, though the digest is what is read.
    let counts = |pin: &&Pin| match digest_pair(pin, pins) {
        Pair::None => pin.effective,
        Pair::TagOf => true,
        Pair::DigestOf(_) => false,
    };
    (0..own).rev().find_map(|index| {
        let there: Vec<&Pin> = pins
            .iter()
            .filter(|pin| of(pin) == Some(index))
            .filter(counts)
            .collect();
        let version = |pin: &&Pin| lenient_version(&pin.value).filter(|_| pin.form == Form::Exact);
        let versions: Option<Vec<Version>> = there.iter().map(version).collect();
        let lowest = |all: Vec<Version>| all.into_iter().min_by(|a, b| a.cmp_precedence(b));
        (!there.is_empty()).then(|| Before {
            stage: &policy.environments[own],
            name: &policy.environments[index].name,
            version: versions.and_then(lowest),
            pins: there,
        })
    })
}

impl Before<'_> {
    /// Why a version has to wait although the environment before has it; nothing where it may follow.
    ///
    /// # Errors
    /// When the history can't be read.
    pub(super) fn wait(
        &self,
        repository: &Repository,
        base: Oid,
        now: i64,
    ) -> Result<Option<String>> {
        let Self { stage, name, .. } = self;
        let Some(version) = &self.version else {
            return Ok(Some(format!(
                "waits for `{name}`, which has something else than one version there: `--environment {}` doesn't",
                stage.name
            )));
        };
        let seconds = match stage.after {
            After::Command => {
                return Ok(Some(format!(
                    "`{0}` follows on command: `--environment {0}`",
                    stage.name
                )));
            }
            After::Seconds(0) => return Ok(None),
            After::Seconds(seconds) => seconds,
        };
        let mut since = i64::MIN;
        for pin in &self.pins {
            let says = |bytes: &[u8]| {
                let found = look(&pin.file, &String::from_utf8_lossy(bytes));
                let is = |one: &Pin| {
                    (&one.place, &one.object, &one.value) == (&pin.place, &pin.object, &pin.value)
                };
                let definitions = found.facts.definitions.iter().map(|one| &one.pin);
                found.pins.iter().chain(definitions).any(is)
            };
            since = since.max(history::since(repository, base, &pin.file, &says)?);
        }
        let there = OffsetDateTime::from_unix_timestamp(since);
        let there = there.map_or_else(|_| "?".to_owned(), day);
        Ok((now - since < seconds).then(|| {
            format!(
                "`{}` follows {} after `{name}`, which has {} since {there}",
                stage.name,
                length(seconds),
                version
            )
        }))
    }
}
