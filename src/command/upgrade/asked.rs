//! What `--to` asks for by hand.

use std::cmp::Ordering;

use anyhow::Result;
use semver::Version;

use super::Upgrade;
use super::next::{Next, lock_move, move_to, tag_move};
use super::subjects::Subject;
use crate::command::choice::versions_of;
use crate::command::published::Known;
use crate::error::{ExitStatus, Problem};
use crate::model::chart::ChartRef;
use crate::model::range::{Range, lenient_version};
use crate::pins::{Form, Kind, Pin, tag_prefix};
use crate::plan::bundle::Move;
use crate::plan::policy::ChartRule;
use crate::plan::upgrade::is_haptic;

impl Upgrade<'_, '_> {
    /// The tag that `--to` asks for, with or without the prefix that the pin has; of a range the newest one.
    pub(super) fn asked_of_git(
        &mut self,
        address: &str,
        pin: &Pin,
        to: &str,
        rule: &ChartRule,
    ) -> Result<Next> {
        let Some(prefix) = tag_prefix(&pin.value) else {
            return Ok(Next::Stays(format!(
                "`{}` says no version: it is moved by hand",
                pin.value
            )));
        };
        let wanted = to.strip_prefix(prefix).unwrap_or(to);
        let range = Range::parse(wanted).map_err(|why| {
            Problem::usage(format!(
                "cannot use `--to {to}` for the tag `{}`: {why}",
                pin.value
            ))
        })?;
        let own = &pin.value[prefix.len()..];
        let v = if own.starts_with('v') { "v" } else { "" };
        let (version, tag) = match (range.exact(), self.published.is_nobody()) {
            (Some(exact), true) => (exact.clone(), format!("{prefix}{v}{exact}")),
            (None, true) => return Err(unasked_range(to).into()),
            (_, false) => {
                let Ok(known) = self.published.tags(address, prefix) else {
                    return Ok(Next::Unknown);
                };
                let versions = versions_of(&known);
                let is_free =
                    |v: &&Version| range.exact().is_some() || rule.rule.against(v).is_none();
                let newest = range.newest(versions.iter().filter(is_free));
                let name = pin.chart.as_deref().unwrap_or(address);
                let newest = newest.ok_or_else(|| none_fits(name, to, &range, &versions, rule))?;
                let tag = known.iter().find(|known| known.version == *newest);
                let tag = tag.map_or_else(
                    || format!("{prefix}{v}{newest}"),
                    |known| known.text.clone(),
                );
                (newest.clone(), tag)
            }
        };
        let name = pin.chart.as_deref().unwrap_or(address);
        if let Some(why) = rule.rejection(&version) {
            return Err(rejected(&version, name, why).into());
        }
        if let Some((most, why)) = &rule.rule.most
            && version.cmp_precedence(most).is_gt()
        {
            return Ok(Next::Stays(why.clone()));
        }
        let order = lenient_version(own).map(|current| version.cmp_precedence(&current));
        Ok(match order {
            Some(Ordering::Equal) => Next::Nothing,
            Some(Ordering::Less) if is_haptic(pin) => Next::IsHigher(lower(&version, pin)),
            _ => Next::Moves(vec![tag_move(pin, tag)]),
        })
    }

    /// The version that `--to` asks for.
    pub(super) fn asked(
        &mut self,
        chart: &ChartRef,
        pin: &Pin,
        to: &str,
        rule: &ChartRule,
    ) -> Result<Next> {
        let range = Range::parse(to)
            .map_err(|why| Problem::usage(format!("cannot use `--to {to}`: {why}")))?;
        let (known, version) = match (range.exact(), self.published.is_nobody()) {
            (Some(exact), true) => (Vec::new(), exact.clone()),
            (None, true) => return Err(unasked_range(to).into()),
            (exact, false) => match self.published.of(chart) {
                Ok(known) => {
                    let versions = versions_of(known);
                    let is_free = |v: &&Version| exact.is_some() || rule.rule.against(v).is_none();
                    // Of versions that differ in metadata alone the very one is meant.
                    let same = versions.iter().find(|version| Some(*version) == exact);
                    let newest = same.or(range.newest(versions.iter().filter(is_free)));
                    let newest = newest
                        .ok_or_else(|| none_fits(&chart.name, to, &range, &versions, rule))?;
                    (known.to_vec(), newest.clone())
                }
                Err(_) => return Ok(Next::Unknown),
            },
        };
        if let Some(why) = rule.rejection(&version) {
            return Err(rejected(&version, &chart.name, why).into());
        }
        if let Some((most, why)) = &rule.rule.most
            && version.cmp_precedence(most).is_gt()
        {
            return Ok(Next::Stays(why.clone()));
        }
        let current = match pin.form {
            Form::Exact => pin.version(),
            Form::Range => return self.asked_of_range(chart, pin, (&known, &version), rule),
            // Neither is ordered; who names a version means it.
            Form::Snapshot | Form::Tag => {
                return Ok(move_to(chart, pin, &known, &version, rule));
            }
            Form::Digest | Form::Ref => None,
        };
        let Some(current) = current else {
            return Ok(Next::Stays(format!(
                "`{}` says no version: it is moved by hand",
                pin.value
            )));
        };
        Ok(match version.cmp_precedence(&current) {
            Ordering::Equal if version.build == current.build => Next::Nothing,
            Ordering::Less if is_haptic(pin) => Next::IsHigher(lower(&version, pin)),
            _ => move_to(chart, pin, &known, &version, rule),
        })
    }

    /// A range that takes the version stays, and its lock moves; any other moves itself.
    fn asked_of_range(
        &self,
        chart: &ChartRef,
        pin: &Pin,
        (known, version): (&[Known], &Version),
        rule: &ChartRule,
    ) -> Result<Next> {
        let Ok(range) = Range::parse(&pin.value) else {
            return Ok(Next::Stays("it is no range that Helm reads".to_owned()));
        };
        let locked = self.locked(pin)?.and_then(|text| lenient_version(&text));
        let versions = versions_of(known);
        let written = pin.value.trim_start_matches(|c: char| !c.is_ascii_digit());
        let written = written.split([' ', ',', '|']).next().unwrap_or_default();
        let has = locked
            .clone()
            .or_else(|| range.newest(versions.iter()).cloned())
            .or_else(|| lenient_version(written.trim_end_matches(['.', 'x', 'X', '*'])));
        if is_haptic(pin) && has.is_some_and(|has| version.cmp_precedence(&has).is_lt()) {
            return Ok(Next::IsHigher(lower(version, pin)));
        }
        Ok(match (range.matches(version), locked) {
            (false, _) => move_to(chart, pin, known, version, rule),
            (true, Some(locked)) if version.cmp_precedence(&locked).is_ne() => {
                Next::Moves(vec![lock_move(chart, pin, version)])
            }
            (true, _) => Next::Told(format!("the range `{}` takes {version} already", pin.value)),
        })
    }
}

/// What was asked for by name and has no address: an image, a Git reference, a chart that nobody knows the source of. The version is taken as it is written.
pub(super) fn by_name(subject: &Subject, pin: &Pin, to: &str, rule: &ChartRule) -> Result<Next> {
    if pin.value == to {
        return Ok(Next::Nothing);
    }
    if pin.kind == Kind::Chart
        && let Some(refused) = refused_by_name(subject, pin, to, rule)?
    {
        return Ok(refused);
    }
    let has_digest = |other: &Pin| {
        other.form == Form::Digest && other.file == pin.file && other.object == pin.object
    };
    Ok(if pin.form == Form::Digest {
        Next::Stays("a digest is moved by hand".to_owned())
    } else if subject.pins.iter().any(has_digest) {
        Next::Stays("a digest beside it says which image it is".to_owned())
    } else {
        Next::Moves(vec![Move {
            pin: pin.clone(),
            chart: subject.name.clone(),
            version: to.to_owned(),
            to: to.to_owned(),
            note: None,
        }])
    })
}

/// A chart's rules hold for it without its address too, and only one version can be compared with them.
fn refused_by_name(
    subject: &Subject,
    pin: &Pin,
    to: &str,
    rule: &ChartRule,
) -> Result<Option<Next>> {
    let version = Range::parse(to)
        .ok()
        .and_then(|range| range.exact().cloned());
    let Some(version) = version else {
        return Err(Problem::usage(format!(
            "`--to {to}` is not one version, and it isn't known where `{}` is published, so nobody can be asked for one",
            subject.name
        ))
        .hint("name one version")
        .into());
    };
    if let Some(why) = rule.rejection(&version) {
        return Err(rejected(&version, &subject.name, why).into());
    }
    let Some(current) = pin.version().filter(|_| pin.form == Form::Exact) else {
        return Ok(Some(Next::Stays(format!(
            "`{}` is not one version, and nobody can be asked about the chart: it is moved by hand",
            pin.value
        ))));
    };
    if is_haptic(pin) && version.cmp_precedence(&current).is_lt() {
        return Ok(Some(Next::IsHigher(lower(&version, pin))));
    }
    let most = rule.rule.most.as_ref();
    let above = most.filter(|(most, _)| version.cmp_precedence(most).is_gt());
    Ok(above.map(|(_, why)| Next::Stays(why.clone())))
}

/// Why a range can't be asked for where nobody is asked.
fn unasked_range(to: &str) -> Problem {
    Problem::usage(format!(
        "`--to {to}` is a range, and nobody is asked which versions there are"
    ))
    .hint("name the version, or take away `--offline`")
}

/// Why a rejected version isn't had by hand either.
fn rejected(version: &Version, chart: &str, why: &str) -> Problem {
    Problem::invalid(format!("{version} of `{chart}` {why}"))
        .hint("name a higher version, or correct the values; a rejection that no longer holds is taken out of `rejected:` in `.haptic-scaffold.yaml`")
}

/// Why a lower version of HAPTIC is refused.
fn lower(version: &Version, pin: &Pin) -> Problem {
    Problem::invalid(format!(
        "{version} is lower than {} in {}:{}, and HAPTIC never goes back: its CRDs and configuration don't come down again",
        pin.value, pin.file, pin.line
    ))
    .hint("a version that fails is answered by a higher one or by corrected values: `--to` names a higher one")
}

fn none_fits(
    chart: &str,
    to: &str,
    range: &Range,
    versions: &[Version],
    rule: &ChartRule,
) -> Problem {
    let barred = range.newest(versions.iter());
    let why =
        barred.and_then(|version| Some(format!(": {version} {}", rule.rule.against(version)?)));
    Problem::new(
        ExitStatus::Remote,
        format!(
            "no version of `{chart}` fits `--to {to}`{}",
            why.unwrap_or_default()
        ),
    )
    .hint("`haptic-scaffold pins` says what is newest")
}
