//! What becomes of a pin: it moves, it stays for a reason, or there is nothing newer.

use std::cmp::Ordering;

use anyhow::Result;
use semver::Version;

use super::subjects::{Subject, What};
use super::{Upgrade, order};
use crate::command::choice::{allowed, allowed_tag, versions_of};
use crate::command::published::Known;
use crate::error::{ExitStatus, Problem};
use crate::model::chart::ChartRef;
use crate::model::policy::Ranges;
use crate::model::range::{Range, lenient_version};
use crate::pins::{Form, Pin, locked, moved, tag_prefix};
use crate::plan::policy::ChartRule;
use crate::plan::upgrade::{Move, hindrance, is_haptic, lock_of};

impl Upgrade<'_> {
    /// What becomes of a pin, and the group that it moves with.
    pub(super) fn next(&mut self, subject: &Subject, pin: &Pin) -> Result<(Next, Option<String>)> {
        let policy = self.policies.of(&pin.file);
        let environment = policy.environment(&pin.file);
        let named = environment.map(|index| &policy.environments[index].name);
        let is_named = named.is_some_and(|name| self.arguments.environments.contains(name));
        if !self.arguments.environments.is_empty() && !is_named {
            return Ok((Next::Nothing, None));
        }
        let Some((name, address)) = subject.what.named() else {
            return Ok((self.by_name(subject, pin)?, None));
        };
        let mut rule = policy.rule(name, &address);
        let group = rule.group.clone();
        let before = order::before(self.policies, pin, &subject.pins);
        // Who names an environment and a version means both.
        let before = before.filter(|_| !(is_named && self.arguments.to.is_some()));
        if let Some(before) = &before {
            let why = format!("waits for `{}`, which has {}", before.name, before.version);
            rule.rule.most = Some((before.version.clone(), why));
        }
        let (pin, digest) = match digest_pair(pin, &subject.pins) {
            Pair::None => (pin, None),
            Pair::DigestOf(tag) => (tag, Some(pin)),
            Pair::TagOf => return Ok((Next::Nothing, group)),
        };
        let hindrance = match &rule.hold {
            Some(why) => Some(format!("held: {why}")),
            None => hindrance(self.tree, digest.unwrap_or(pin))?,
        };
        let next = match (&self.arguments.to, &subject.what) {
            (Some(to), What::Chart(chart)) => self.asked(chart, pin, to, &rule)?,
            (Some(to), _) => self.asked_of_git(subject, pin, to, &rule)?,
            (None, _) if self.published.is_nobody() => Next::Nothing,
            (None, What::Chart(chart)) => self.newer(chart, pin, &mut rule),
            (None, _) => self.newer_tag(&address, pin, &rule),
        };
        let waits = match (&next, &before) {
            (Next::Moves(_), Some(before)) if !is_named => {
                before.wait(self.repository, self.base, self.now)?
            }
            _ => None,
        };
        let next = match (next, hindrance.or(waits)) {
            (Next::Moves(_) | Next::IsHigher(_), Some(why)) => Next::Stays(why),
            (Next::Moves(moves), None) => match &subject.what {
                What::Chart(chart) => self.with_digest(chart, moves, digest),
                _ => Next::Moves(moves),
            },
            (next, _) => next,
        };
        Ok((next, group))
    }

    /// The newest version that the chart's rule allows. A source that can't be asked is told once for all of its pins.
    fn newer(&mut self, chart: &ChartRef, pin: &Pin, rule: &mut ChartRule) -> Next {
        let Ok(newest) = allowed(&mut self.published, chart, pin, rule, self.now) else {
            return Next::Nothing;
        };
        let known = self.published.of(chart).unwrap_or_default();
        match newest.version {
            Some(version) if newest.is_newer => move_to(chart, pin, known, &version, rule),
            Some(version) => self.relocked(chart, pin, &version),
            None => Next::Nothing,
        }
    }

    /// The newest tag of a Git repository that the rule of the chart in it allows.
    fn newer_tag(&mut self, address: &str, pin: &Pin, rule: &ChartRule) -> Next {
        match allowed_tag(&mut self.published, address, pin, rule) {
            Ok((newest, Some(tag))) if newest.is_newer => Next::Moves(vec![tag_move(pin, tag)]),
            _ => Next::Nothing,
        }
    }

    /// The tag that `--to` asks for: as it is written, or with the prefix that the pin has.
    fn asked_of_git(
        &mut self,
        subject: &Subject,
        pin: &Pin,
        to: &str,
        rule: &ChartRule,
    ) -> Result<Next> {
        let prefix = tag_prefix(&pin.value);
        let (Some(prefix), Some(wanted)) = (prefix, lenient_version(to)) else {
            return self.by_name(subject, pin);
        };
        if let Some(why) = rule.rejection(&wanted) {
            return Err(rejected(&wanted, &subject.name, why).into());
        }
        let v = if pin.value[prefix.len()..].starts_with('v') && !to.starts_with('v') {
            "v"
        } else {
            ""
        };
        let current = lenient_version(&pin.value[prefix.len()..]);
        let order = current.map(|current| wanted.cmp_precedence(&current));
        Ok(match order {
            Some(Ordering::Equal) => Next::Nothing,
            Some(Ordering::Less) if is_haptic(pin) => Next::IsHigher(lower(&wanted, pin)),
            _ => Next::Moves(vec![tag_move(pin, format!("{prefix}{v}{to}"))]),
        })
    }

    /// A range that has the newest version already, in a chart whose lock has an older one.
    fn relocked(&self, chart: &ChartRef, pin: &Pin, version: &Version) -> Next {
        let lock = lock_of(self.tree, pin).ok().flatten();
        let locked = lock.and_then(|(chart, lock)| locked(&chart, &lock, pin.span.start));
        let locked = locked.and_then(|text| lenient_version(&text));
        match locked {
            Some(locked) if pin.form == Form::Range && version.cmp_precedence(&locked).is_gt() => {
                Next::Moves(vec![Move {
                    pin: pin.clone(),
                    chart: chart.name.clone(),
                    to: pin.value.clone(),
                    version: version.to_string(),
                }])
            }
            _ => Next::Nothing,
        }
    }

    /// A digest belongs to its tag: both move, or none.
    fn with_digest(&mut self, chart: &ChartRef, moves: Vec<Move>, digest: Option<&Pin>) -> Next {
        let (Some(pin), [tag]) = (digest, moves.as_slice()) else {
            return Next::Moves(moves);
        };
        let text = tag.to.replace('_', "+");
        let why = match self.published.digest(chart, &text) {
            Ok(Some(digest)) => {
                let digest = Move {
                    pin: pin.clone(),
                    chart: chart.name.clone(),
                    to: digest,
                    version: tag.version.clone(),
                };
                return Next::Moves(vec![tag.clone(), digest]);
            }
            Ok(None) => "nobody says it".to_owned(),
            Err(why) => why,
        };
        Next::Stays(format!(
            "tag and digest move together, and the digest of {} can't be had: {why}",
            tag.version
        ))
    }

    /// An image or a Git repository that was asked for by name: the version is taken as it is written.
    fn by_name(&self, subject: &Subject, pin: &Pin) -> Result<Next> {
        let to = self.arguments.to.clone().unwrap_or_default();
        if pin.value == to {
            return Ok(Next::Nothing);
        }
        let has_digest = |other: &Pin| {
            other.form == Form::Digest && other.file == pin.file && other.object == pin.object
        };
        Ok(if let Some(why) = hindrance(self.tree, pin)? {
            Next::Stays(why)
        } else if pin.form == Form::Digest {
            Next::Stays("a digest is moved by hand".to_owned())
        } else if subject.pins.iter().any(has_digest) {
            Next::Stays("a digest beside it says which image it is".to_owned())
        } else {
            Next::Moves(vec![Move {
                pin: pin.clone(),
                chart: subject.name.clone(),
                version: to.clone(),
                to,
            }])
        })
    }

    /// The version that `--to` asks for.
    fn asked(&mut self, chart: &ChartRef, pin: &Pin, to: &str, rule: &ChartRule) -> Result<Next> {
        let range = Range::parse(to)
            .map_err(|why| Problem::usage(format!("cannot use `--to {to}`: {why}")))?;
        let (known, version) = match (range.exact(), self.published.is_nobody()) {
            (Some(exact), true) => (Vec::new(), exact.clone()),
            (None, true) => {
                return Err(Problem::usage(format!(
                    "`--to {to}` is a range, and nobody is asked which versions there are"
                ))
                .hint("name the version, or take away `--offline`")
                .into());
            }
            (exact, false) => match self.published.of(chart) {
                Ok(known) => {
                    let versions = versions_of(known);
                    let is_free = |v: &&Version| exact.is_some() || rule.rule.against(v).is_none();
                    let newest = range.newest(versions.iter().filter(is_free));
                    let newest =
                        newest.ok_or_else(|| none_fits(chart, to, &range, &versions, rule))?;
                    (known.to_vec(), newest.clone())
                }
                Err(_) => return Ok(Next::Nothing),
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
            Form::Exact => lenient_version(&pin.value),
            Form::Range => {
                let inside = Range::parse(&pin.value).is_ok_and(|range| range.matches(&version));
                return Ok(match inside {
                    true => self.relocked(chart, pin, &version),
                    false => move_to(chart, pin, &known, &version, rule),
                });
            }
            _ => None,
        };
        let Some(current) = current else {
            return Ok(Next::Nothing);
        };
        Ok(match version.cmp_precedence(&current) {
            Ordering::Equal if version.build == current.build => Next::Nothing,
            Ordering::Less if is_haptic(pin) => Next::IsHigher(lower(&version, pin)),
            _ => move_to(chart, pin, &known, &version, rule),
        })
    }
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

fn tag_move(pin: &Pin, tag: String) -> Move {
    Move {
        pin: pin.clone(),
        chart: pin.chart.clone().unwrap_or_default(),
        version: tag.clone(),
        to: tag,
    }
}

fn none_fits(
    chart: &ChartRef,
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
            "no version of `{}` fits `--to {to}`{}",
            chart.name,
            why.unwrap_or_default()
        ),
    )
    .hint("`haptic-scaffold pins` says what is newest")
}

/// A pin moved to a version: an exact one as its source writes it, a range as it is written itself.
fn move_to(
    chart: &ChartRef,
    pin: &Pin,
    known: &[Known],
    version: &Version,
    rule: &ChartRule,
) -> Next {
    let to = if pin.form == Form::Range {
        // Who asks for a version by hand wants the range to take it.
        let how = match rule.rule.ranges {
            Ranges::Leave => Ranges::Replace,
            how => how,
        };
        match moved(&pin.value, version, how) {
            Some(range) => range,
            None => {
                return Next::Stays(format!(
                    "{version} is outside of the range, and that is of no form that can be moved"
                ));
            }
        }
    } else {
        text_of(known, version, pin)
    };
    let version = if pin.form == Form::Range {
        version.to_string()
    } else {
        to.clone()
    };
    Next::Moves(vec![Move {
        pin: pin.clone(),
        chart: chart.name.clone(),
        to,
        version,
    }])
}

/// Whether a pin is a tag or a digest that belong together.
enum Pair<'a> {
    None,
    /// It is the digest of this tag.
    DigestOf(&'a Pin),
    /// It is the tag of a digest, which moves it.
    TagOf,
}

fn digest_pair<'a>(pin: &Pin, pins: &'a [Pin]) -> Pair<'a> {
    let other = |key: &str| {
        let (parent, _) = pin.place.rsplit_once('.')?;
        let place = format!("{parent}.{key}");
        let near = pins.iter().filter(|other| {
            other.file == pin.file && other.object == pin.object && other.place == place
        });
        near.min_by_key(|other| other.line.abs_diff(pin.line))
    };
    if pin.form == Form::Digest {
        return other("tag").map_or(Pair::None, Pair::DigestOf);
    }
    let has_digest = pin.place.ends_with("spec.ref.tag") && other("digest").is_some();
    if has_digest { Pair::TagOf } else { Pair::None }
}

/// What becomes of a pin.
pub(super) enum Next {
    /// It gets this, and so may what belongs to it.
    Moves(Vec<Move>),
    /// It stays although something is newer, for this reason.
    Stays(String),
    /// What was asked for is lower, and the chart never goes back.
    IsHigher(Problem),
    /// Nothing is newer, or nothing is known.
    Nothing,
}

/// A version as its source writes it; as the pin does where nobody was asked. A tag of a registry has no `+`.
fn text_of(known: &[Known], version: &Version, pin: &Pin) -> String {
    let v = if pin.value.starts_with('v') && known.is_empty() {
        "v"
    } else {
        ""
    };
    let text = known
        .iter()
        .find(|known| known.version == *version)
        .map_or_else(|| format!("{v}{version}"), |known| known.text.clone());
    if pin.place.starts_with("OCIRepository") {
        text.replace('+', "_")
    } else {
        text
    }
}
