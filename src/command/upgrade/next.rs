//! What becomes of a pin: it moves, it stays for a reason, or there is nothing newer.

use anyhow::Result;
use semver::Version;

use super::Upgrade;
use super::asked::by_name;
use super::order::{self, Ceiling};
use super::subjects::{Subject, What};
use crate::command::choice::{allowed, allowed_tag, versions_of};
use crate::command::pin_texts::version_of;
use crate::command::policies::is_policy;
use crate::command::published::Known;
use crate::error::Problem;
use crate::git::old_offers::OldOffer;
use crate::model::chart::ChartRef;
use crate::model::policy::Ranges;
use crate::model::range::{Range, lenient_version};
use crate::model::repo_path::RepoPath;
use crate::pins::{Form, Newest, Pin, admitted, locked, moved};
use crate::plan::bundle::{Bundle, Move, Verb, is_of_chart};
use crate::plan::policy::ChartRule;
use crate::plan::upgrade::{held, hindrance, lock_of};

impl Upgrade<'_, '_> {
    /// What becomes of a pin, and the group that it moves with.
    pub(in crate::command) fn next(
        &mut self,
        subject: &Subject,
        pin: &Pin,
    ) -> Result<(Next, Option<String>)> {
        let policy = self.policies.of(&pin.file);
        let environment = policy.environment(&pin.file);
        let named = environment.map(|index| &policy.environments[index].name);
        let is_named = named.is_some_and(|name| self.arguments.environments.contains(name));
        if !self.arguments.environments.is_empty() && !is_named && !self.is_by_hand {
            return Ok((Next::Nothing, None));
        }
        let mut rule = match subject.what.named() {
            Some((name, address)) => policy.rule(name, &address),
            // What is said of a chart counts too where nobody knows its address.
            None => policy.rule(pin.chart.as_deref().unwrap_or_default(), &subject.name),
        };
        // By hand one chart is meant, whatever else it moves with.
        let group = rule.group.clone().filter(|_| self.arguments.to.is_none());
        let now = order::Now {
            repository: self.repository,
            base: self.base,
            time: self.now,
        };
        // Who names an environment and a version means both.
        let is_meant = is_named && self.arguments.to.is_some();
        let ceiling = if is_meant || self.is_by_hand {
            Ceiling::default()
        } else {
            // All pins of a chart in an environment have the same before them.
            let key = (subject.name.clone(), policy.order, environment);
            match self.ceilings.get(&key) {
                Some(known) => known.clone(),
                None => {
                    let found = order::ceiling(&now, self.policies, pin, &subject.pins, is_named)?;
                    self.ceilings.insert(key, found.clone());
                    found
                }
            }
        };
        rule.rule.most = ceiling.most;
        let (pin, digest) = match digest_pair(pin, &subject.pins) {
            Pair::None => (pin, None),
            Pair::DigestOf(tag) => (tag, Some(pin)),
            Pair::TagOf => return Ok((Next::Nothing, group)),
        };
        let hindrance = match (&rule.hold, digest) {
            (Some(why), _) => Some(format!("held: {why}")),
            (None, Some(digest)) => held(self.tree, pin)?.or(hindrance(self.tree, digest)?),
            (None, None) => far_digest(pin, &subject.pins).or(hindrance(self.tree, pin)?),
        };
        let next = match (&self.arguments.to, &subject.what) {
            (Some(to), What::Chart(chart)) => self.asked(chart, pin, to, &rule)?,
            (Some(to), What::Git(address, _)) => self.asked_of_git(address, pin, to, &rule)?,
            (Some(to), What::Named) => by_name(subject, pin, to, &rule)?,
            (None, _) if self.published.is_nobody() => Next::Nothing,
            (None, What::Chart(chart)) => self.newer(chart, pin, &mut rule)?,
            (None, What::Git(address, _)) => self.newer_tag(address, pin, &rule),
            (None, What::Named) => Next::Nothing,
        };
        let is_held = rule.hold.is_some();
        let recovery = self
            .recovery(subject, pin)
            .filter(|_| self.arguments.to.is_none());
        let next = match (next, hindrance.or(ceiling.wait).or(recovery)) {
            (Next::Moves(_), Some(why)) => Next::Stays(why),
            // What is held is held, whatever else is against it.
            (Next::Told(_), Some(why)) if is_held => Next::Told(why),
            (Next::Moves(moves), None) => match &subject.what {
                What::Chart(chart) => self.with_digest(chart, moves, digest),
                _ => Next::Moves(moves),
            },
            (next, _) => next,
        };
        Ok((next, group))
    }

    /// Why a pin waits that a recovery moves: two requests for it would be one too many.
    fn recovery(&self, subject: &Subject, pin: &Pin) -> Option<String> {
        let policy = self.policies.of(&pin.file);
        let environment = policy.environment(&pin.file);
        let own = Bundle {
            verb: Verb::Recover,
            name: subject.name.clone(),
            environment: environment.map(|index| policy.environments[index].name.clone()),
            ..Bundle::default()
        };
        let own = own.key();
        let is_it = |one: &&OldOffer| {
            let has_file = one.paths.iter().any(|path| *path == pin.file.as_str());
            let is_there = one.key_and_base().0 == own;
            // One that only remembers something moves nothing.
            let is_more = |path: RepoPath| !is_policy(&path);
            let mut paths = one.paths.iter().map(|path| RepoPath::parse(path));
            let moves = paths.any(|path| path.is_ok_and(is_more));
            let is_of = is_of_chart(&one.key, &subject.name) && moves;
            is_of && (has_file || is_there) && !is_past(pin, one)
        };
        let one = self.recoveries.iter().find(is_it)?;
        Some(format!(
            "waits for its recovery, which isn't merged yet: {} (if it isn't wanted any more: {}, which also forgets what it says was rejected)",
            one.branch,
            one.take_away()
        ))
    }

    /// The newest version that the chart's rule allows. A source that can't be asked is told once for all of its pins.
    fn newer(&mut self, chart: &ChartRef, pin: &Pin, rule: &mut ChartRule) -> Result<Next> {
        let Ok(newest) = allowed(&mut self.published, chart, pin, rule, self.now) else {
            return Ok(Next::Unknown);
        };
        if let (Some(version), true) = (&newest.version, newest.is_newer) {
            let known = self.published.of(chart).unwrap_or_default();
            let mut next = move_to(chart, pin, known, version, rule);
            if let Next::Moves(moves) = &mut next {
                moves
                    .iter_mut()
                    .for_each(|one| one.note.clone_from(&newest.why));
            }
            // A range that has to stay may still take more than its lock has.
            if let (Next::Stays(_), Some(locked)) = (&next, self.locked(pin)?)
                && let moved @ Next::Moves(_) = self.newer_lock(chart, pin, locked, rule)
            {
                return Ok(moved);
            }
            return Ok(next);
        }
        if let (Form::Range, Some(locked)) = (pin.form, self.locked(pin)?) {
            return Ok(self.newer_lock(chart, pin, locked, rule));
        }
        Ok(newest.why.map_or(Next::Nothing, Next::Told))
    }

    /// The version that the lock beside a `Chart.yaml` has.
    pub(in crate::command) fn locked(&self, pin: &Pin) -> Result<Option<String>> {
        let lock = lock_of(self.tree, pin)?;
        Ok(lock.and_then(|(chart, lock)| locked(&chart, &lock, pin.span.start)))
    }

    /// The newest version that a range takes and the rule allows, in a chart whose lock has an older one.
    fn newer_lock(
        &mut self,
        chart: &ChartRef,
        pin: &Pin,
        locked: String,
        rule: &mut ChartRule,
    ) -> Next {
        rule.rule.within = Range::parse(&pin.value).ok();
        let as_locked = Pin {
            value: locked,
            form: Form::Exact,
            ..pin.clone()
        };
        match allowed(&mut self.published, chart, &as_locked, rule, self.now) {
            Ok(Newest {
                version: Some(version),
                is_newer: true,
                ..
            }) => Next::Moves(vec![lock_move(chart, pin, &version)]),
            Ok(newest) => newest.why.map_or(Next::Nothing, Next::Told),
            Err(_) => Next::Unknown,
        }
    }

    /// The newest tag of a Git repository that the rule of the chart in it allows.
    fn newer_tag(&mut self, address: &str, pin: &Pin, rule: &ChartRule) -> Next {
        match allowed_tag(&mut self.published, address, pin, rule) {
            Ok((newest, Some(tag))) if newest.is_newer => Next::Moves(vec![tag_move(pin, tag)]),
            Ok((newest, _)) => newest.why.map_or(Next::Nothing, Next::Told),
            Err(_) => Next::Unknown,
        }
    }

    /// A digest belongs to its tag: both move, or none.
    fn with_digest(&mut self, chart: &ChartRef, moves: Vec<Move>, digest: Option<&Pin>) -> Next {
        let (Some(pin), [tag]) = (digest, moves.as_slice()) else {
            return Next::Moves(moves);
        };
        let mut of = |text: &str| self.published.digest(chart, &text.replace('_', "+"));
        match of(&tag.pin.value) {
            Ok(Some(own)) if own != pin.value => {
                return Next::Stays(format!(
                    "the digest is not that of the tag {} beside it, so it can't be said what runs",
                    tag.pin.value
                ));
            }
            Err(_) => return Next::Unknown,
            Ok(_) => {}
        }
        match of(&tag.to) {
            Ok(Some(digest)) => {
                let digest = Move {
                    pin: pin.clone(),
                    chart: chart.name.clone(),
                    to: digest,
                    version: tag.version.clone(),
                    note: None,
                };
                Next::Moves(vec![tag.clone(), digest])
            }
            Ok(None) => Next::Stays(format!(
                "tag and digest move together, and the digest of {} can't be had: nobody says it",
                tag.version
            )),
            Err(_) => Next::Unknown,
        }
    }
}

pub(in crate::command) fn tag_move(pin: &Pin, tag: String) -> Move {
    Move {
        pin: pin.clone(),
        chart: pin.chart.clone().unwrap_or_default(),
        version: tag.clone(),
        to: tag,
        note: None,
    }
}

/// A pin moved to a version: an exact one as its source writes it, a range as it is written itself.
pub(in crate::command) fn move_to(
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
        let mut versions = versions_of(known);
        versions.extend(rule.rejected.iter().map(|(version, _)| version.clone()));
        match moved(&pin.value, version, how) {
            Some(range) => match admitted(&pin.value, &range, &versions, &rule.rule) {
                None => range,
                Some((taken, why)) => {
                    return Next::Stays(format!("`{range}` would take {taken} too, which {why}"));
                }
            },
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
        note: None,
    }])
}

/// A range that stays, in a chart whose lock moves.
pub(in crate::command) fn lock_move(chart: &ChartRef, pin: &Pin, version: &Version) -> Move {
    Move {
        pin: pin.clone(),
        chart: chart.name.clone(),
        to: pin.value.clone(),
        version: version.to_string(),
        note: None,
    }
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

/// Whether a pin says which version there is. A tag beside its digest does, though the digest is what is read.
pub(in crate::command) fn counts(pin: &Pin, pins: &[Pin]) -> bool {
    match digest_pair(pin, pins) {
        Pair::None => pin.effective,
        Pair::TagOf => true,
        Pair::DigestOf(_) => false,
    }
}

/// A digest wins over a tag of the same object that stands elsewhere: in a base, a patch or a variable.
fn far_digest(pin: &Pin, pins: &[Pin]) -> Option<String> {
    let is_tag = pin.place.contains("ref.tag") || pin.place.contains("/spec/ref");
    let is_far = |other: &&Pin| {
        let is_alone = matches!(digest_pair(other, pins), Pair::None);
        let is_far = is_tag && is_same_object(pin, other) || pin.defines.is_some() && is_alone;
        other.form == Form::Digest && is_far
    };
    let mut others = pins.iter().filter(|_| pin.form != Form::Digest);
    let far = others.find(is_far)?;
    Some(format!(
        "{}:{} has a digest that says what runs, and this stands elsewhere: a person has to move both",
        far.file, far.line
    ))
}

/// Whether two pins are of one object; a patch may leave out the namespace.
fn is_same_object(one: &Pin, other: &Pin) -> bool {
    let parts = |pin: &Pin| -> Option<(String, Option<String>, String)> {
        let object = pin.object.as_ref()?;
        let (kind, rest) = object.split_once('/')?;
        let (namespace, name) = match rest.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, rest),
        };
        Some((kind.to_owned(), namespace, name.to_owned()))
    };
    let (Some(one), Some(other)) = (parts(one), parts(other)) else {
        return false;
    };
    let is_open = one.1.is_none() || other.1.is_none();
    (&one.0, &one.2) == (&other.0, &other.2) && (is_open || one.1 == other.1)
}

/// What becomes of a pin.
pub(in crate::command) enum Next {
    /// It gets this, and so may what belongs to it.
    Moves(Vec<Move>),
    /// It stays although something is newer, for this reason.
    Stays(String),
    /// Nothing is newer that it may get, and this is to know.
    Told(String),
    /// What was asked for is lower, and the chart never goes back.
    IsHigher(Problem),
    /// Its source couldn't be asked.
    Unknown,
    /// Nothing is newer.
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

/// Whether a pin has got to where a recovery leads. Its branch may be left over: one that was merged by squashing is in no history, and what came after it
/// changed the same file.
fn is_past(pin: &Pin, recovery: &OldOffer) -> bool {
    let own = version_of(pin);
    let is_reached = |text: &String| {
        let version = lenient_version(text);
        version
            .zip(own.as_ref())
            .is_some_and(|(version, own)| own.cmp_precedence(&version).is_ge())
    };
    !recovery.versions.is_empty() && recovery.versions.iter().all(is_reached)
}
