//! Which version is gone to, and what each unit's change is.

use anyhow::Result;
use semver::Version;
use serde_json::Value;

use super::known::record;
use super::units::{Standing, Unit};
use super::{Facts, Run, gate, mend, values};
use crate::cli::upgrade::UpgradeArgs;
use crate::command::choice::versions_of;
use crate::command::pin_texts::version_of;
use crate::command::pins::unknown;
use crate::command::published::Published;
use crate::command::upgrade::next::Next;
use crate::command::upgrade::subjects::What;
use crate::command::upgrade::{By, Upgrade, sections};
use crate::error::{ExitStatus, Problem};
use crate::haptic;
use crate::haptic::rejection::Cause;
use crate::model::range::{Range, lenient_version};
use crate::pins::{Form, tag_prefix};
use crate::plan::bundle::{Bundle, Kept};
use crate::plan::change::Change;
use crate::plan::corrected::patched;
use crate::plan::forward::{self, Choice, Wish};
use crate::plan::reconcile::{Follow, follow as how};
use crate::plan::recover::{Patch, Recovery, Rejection, edits, plan};
use crate::plan::release_values::Described;
use crate::plan::upgrade::Section;

/// Where a recovery goes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    /// The version; nothing where it stays.
    pub(super) choice: Option<Choice>,
    /// Corrected values, and what for.
    pub(super) patch: Option<(Value, String)>,
}

impl Target {
    /// Whether the version is to blame, so that it is remembered: not where its values, its image or its form are.
    pub(super) fn remembers(&self, rejection: &Rejection) -> bool {
        let cause = rejection.cause.as_ref();
        let blames = cause.is_none_or(Cause::is_of_the_version);
        blames && (self.patch.is_none() || self.choice.is_some())
    }
}

/// What changes are made with.
pub(super) struct Planner<'r, 'a> {
    run: &'r Run<'a>,
    facts: &'r Facts<'r>,
    rejection: &'r Rejection,
    /// Corrected values that were given.
    values: Option<Value>,
    /// Lent out while pins are looked at.
    published: Option<Published<'a>>,
}

impl<'r, 'a: 'r> Planner<'r, 'a> {
    pub(super) fn new(
        run: &'r Run<'a>,
        facts: &'r Facts<'r>,
        rejection: &'r Rejection,
    ) -> Result<Self> {
        Ok(Self {
            run,
            facts,
            rejection,
            values: match &run.arguments.values {
                Some(file) => Some(values::read(&run.world.folder.join(file))?),
                None => None,
            },
            published: Some(run.published()?),
        })
    }

    /// What is odd about the lists of versions that were read.
    pub(super) fn remarks(&self) -> Vec<&str> {
        let remarks = self.published.iter().flat_map(Published::remarks);
        remarks.map(String::as_str).collect()
    }

    /// Where some units go that move together.
    pub(super) fn goal(&mut self, at: &[usize]) -> Result<Target> {
        let arguments = self.run.arguments;
        let units: Vec<&Unit> = at.iter().map(|at| &self.facts.all[*at]).collect();
        let is_asked = arguments.to.is_some() || self.values.is_some();
        let mended = mend::image_tag(self.rejection, units[0], is_asked)?;
        let patch = match (&self.values, mended) {
            (Some(values), Some((mended, why))) => {
                Some((patched(mended, values), format!("corrected values; {why}")))
            }
            (Some(values), None) => Some((values.clone(), "corrected values".to_owned())),
            (None, mended) => mended,
        };
        let is_values_only = arguments.to.is_none() && patch.is_some();
        let choice = match is_values_only {
            // What an open recovery brings already stays in it.
            true => self.carried(units[0])?,
            false => self.choice(&units, arguments.to.as_deref())?,
        };
        Ok(Target { choice, patch })
    }

    /// The version that an open recovery of a unit brings.
    fn carried(&mut self, unit: &Unit) -> Result<Option<Choice>> {
        let facts = self.facts;
        let versions = facts.recoveries_of(unit).flat_map(|one| &one.versions);
        let version = versions.filter_map(|text| lenient_version(text)).max();
        let is_on = |version: &Version| {
            version.cmp_precedence(&self.rejection.version).is_gt()
                && unit
                    .version()
                    .is_none_or(|own| version.cmp_precedence(&own).is_gt())
        };
        match version.filter(is_on) {
            None => Ok(None),
            Some(version) => {
                // It was looked up when the recovery was made.
                let published = self.published.take();
                let choice = self.choice(&[unit], Some(&version.to_string()));
                self.published = published;
                Ok(choice?.map(|choice| Choice {
                    why: "its recovery that isn't merged yet goes there already".to_owned(),
                    ..choice
                }))
            }
        }
    }

    fn choice(&mut self, units: &[&Unit], to: Option<&str>) -> Result<Option<Choice>> {
        let unit = units[0];
        let subject = self.facts.subject;
        let rule = self.facts.rule(unit);
        let range = to.map(|to| {
            Range::parse(to).map_err(|why| {
                Problem::usage(format!("cannot use `--to {to}`: {why}"))
                    .hint("write it as Helm does: --to 0.2.2, --to 0.2.x, --to \">=0.2.2 <0.4\"")
            })
        });
        let range = range.transpose()?;
        let rejected = &self.rejection.version;
        // What went on already stays, unless it is asked to go elsewhere.
        let own = unit.version();
        let mut all = units.iter();
        let is_on = all.all(|unit| unit.standing(rejected) == Standing::Above);
        let fits = |range: &Range| own.as_ref().is_some_and(|own| range.matches(own));
        if is_on && range.as_ref().is_none_or(fits) {
            return Ok(None);
        }
        // Below nothing that any of those has had which move.
        let is_lasting = |version: &Version| !haptic::versions::is_snapshot(version);
        let had = units.iter().filter_map(|unit| unit.highest());
        let had = had.map(|highest| highest.version.clone());
        let pinned = units.iter().filter_map(|unit| unit.version());
        let pinned: Vec<Version> = pinned.filter(is_lasting).collect();
        let highest = had.filter(is_lasting).chain(pinned.iter().cloned());
        let highest = highest.max_by(Version::cmp_precedence);
        // One that is there already waits for the others.
        let lowest = pinned.into_iter().min_by(Version::cmp_precedence);
        let wish = Wish {
            chart: match subject.what.named() {
                Some((name, _)) => name,
                None => &subject.name,
            },
            to: range.as_ref().zip(to),
            rejected,
            highest: highest.as_ref(),
            pinned: lowest.as_ref(),
            is_unfinished: self.rejection.cause == Some(Cause::UnfinishedApply),
            takes_prereleases: rule
                .rule
                .prereleases
                .unwrap_or(own.as_ref().is_some_and(|own| !own.pre.is_empty())),
            rule: &rule,
        };
        let versions = self.versions(unit)?;
        if let (None, None) = (to, &versions) {
            return Err(Problem::usage(
                "nobody is asked which versions there are, so the one to go to has to be named",
            )
            .hint("--to 0.2.2, or say what is published: `--versions FILE`")
            .into());
        }
        let choice = forward::choose(&wish, versions.as_deref())?;
        Ok(Some(choice))
    }

    /// What is published; nothing where nobody is asked.
    fn versions(&mut self, unit: &Unit) -> Result<Option<Vec<Version>>> {
        let Some(published) = self.published.as_mut().filter(|one| !one.is_nobody()) else {
            return Ok(None);
        };
        let found = match &self.facts.subject.what {
            What::Chart(chart) => published.of(chart).map(versions_of).ok(),
            What::Git(address, _) => {
                let prefix = unit.pins.iter().find_map(|pin| tag_prefix(&pin.value));
                let tags = published.tags(address, prefix.unwrap_or_default());
                tags.map(|tags| versions_of(&tags)).ok()
            }
            What::Named => None,
        };
        match found {
            Some(found) => Ok(Some(found)),
            None => Err(self.unknown()),
        }
    }

    fn unknown(&self) -> anyhow::Error {
        let problem = self.published.as_ref().and_then(unknown);
        let problem = problem.unwrap_or_else(|| {
            Problem::new(
                ExitStatus::Remote,
                format!("nobody can be asked about `{}`", self.facts.subject.name),
            )
        });
        problem
            .hint("a version that is named is gone to without asking: --to VERSION --offline")
            .into()
    }

    /// The change of some units; nothing where all is as it should be.
    pub(super) fn change(
        &mut self,
        at: &[usize],
        goal: &Target,
        others: &[String],
    ) -> Result<Option<Change>> {
        let facts = self.facts;
        let units: Vec<&Unit> = at.iter().map(|at| &facts.all[*at]).collect();
        let unit = units[0];
        let mut bundle = facts.bundle(unit);
        if let Some(choice) = &goal.choice {
            self.moves(&units, choice, &mut bundle)?;
        }
        let described: Vec<&Described> = units.iter().flat_map(|unit| &unit.described).collect();
        let mut follow = Follow::default();
        for one in &described {
            follow.add(how(facts.tree, &one.pin, one)?);
        }
        let recovery = Recovery {
            bundle: &bundle,
            rejection: self.rejection,
            choice: goal.choice.as_ref(),
            record: match goal.remembers(self.rejection) {
                true => Some(record(facts, self.rejection, unit)?),
                false => None,
            },
            values: goal
                .patch
                .as_ref()
                .map(|(values, why)| Patch { values, why }),
            described: &described,
            follow: &follow,
            others,
        };
        if recovery.values.is_some() && described.is_empty() {
            return Err(Problem::invalid(format!(
                "it isn't known where the values of {} stand",
                unit.name()
            ))
            .hint("correct them by hand, merge that, and go on to a version: `--to VERSION` without `--values`")
            .into());
        }
        let edits = edits(facts.tree, &recovery)?;
        let after = edits.after(facts.tree);
        let mut published = self.published.take();
        let mut judge = || match &mut published {
            Some(published) => {
                let version = goal
                    .choice
                    .as_ref()
                    .map(|choice| choice.version.to_string());
                let version = version.or_else(|| unit.version().map(|one| one.to_string()));
                let mut judged = Vec::new();
                for (at, described) in described.iter().enumerate() {
                    let corrected = edits.corrected.get(at).map(|one| one.values.as_ref());
                    let gate = gate::Gate {
                        run: self.run,
                        subject: facts.subject,
                        described,
                        values: corrected.unwrap_or(described.values.as_ref()),
                        version: version.as_deref(),
                        is_changed: !edits.files.is_empty(),
                        is_corrected: !edits.corrected.is_empty(),
                    };
                    judged.extend(gate.judge(published)?);
                }
                judged.dedup();
                let said = sections::of(published, &after, &self.run.world.env, &bundle);
                Ok(judged.into_iter().chain(said).collect())
            }
            None => anyhow::Ok(Vec::<Section>::new()),
        };
        // Given back first, whatever it came to: others ask it too.
        let sections = judge();
        self.published = published;
        let sections = sections?;
        // How to watch is said by a recovery itself.
        let sections: Vec<_> = sections
            .into_iter()
            .filter(|one| one.title != sections::WATCH)
            .collect();
        Ok(plan(&recovery, &edits, &sections, facts.base_name))
    }

    fn moves(&mut self, units: &[&Unit], choice: &Choice, bundle: &mut Bundle) -> Result<()> {
        let facts = self.facts;
        let arguments = UpgradeArgs {
            to: Some(choice.version.to_string()),
            ..UpgradeArgs::default()
        };
        let Some(published) = self.published.take() else {
            return Err(self.unknown());
        };
        let by = By {
            repository: facts.repository,
            base: facts.base,
            tree: facts.tree,
            policies: facts.policies,
            world: self.run.world,
            published,
        };
        let mut upgrade = Upgrade::by_hand(&arguments, by);
        let mut refused: Vec<(usize, String, String)> = Vec::new();
        let (mut is_unknown, mut failed) = (false, None);
        let mut moved = vec![0; units.len()];
        for (at, pin) in units
            .iter()
            .enumerate()
            .flat_map(|(at, unit)| unit.pins.iter().map(move |pin| (at, pin)))
        {
            let place = format!("{}:{}", pin.file, pin.line);
            let next = match upgrade.next(facts.subject, pin) {
                Ok((next, _)) => next,
                Err(why) => {
                    failed = Some(why);
                    break;
                }
            };
            // Never lower, whatever chart it is: what is above already stays.
            let is_above =
                version_of(pin).is_some_and(|own| own.cmp_precedence(&choice.version).is_ge());
            match next {
                Next::Moves(_) if is_above && pin.form == Form::Exact => {}
                Next::Moves(moves) => {
                    moved[at] += moves.len();
                    bundle.moves.extend(moves);
                }
                Next::Stays(why) => {
                    if pin.effective {
                        refused.push((at, place.clone(), why.clone()));
                    }
                    bundle.kept.push(Kept { place, why });
                }
                Next::Told(why) => bundle.kept.push(Kept { place, why }),
                Next::IsHigher(problem) => bundle.kept.push(Kept {
                    place,
                    why: problem.message,
                }),
                Next::Unknown => is_unknown = true,
                Next::Nothing => {}
            }
        }
        self.published = Some(upgrade.published);
        if let Some(why) = failed {
            return Err(why);
        }
        if is_unknown {
            return Err(self.unknown());
        }
        // Whoever has them move together doesn't want one of them left behind.
        match refused.into_iter().find(|(at, ..)| moved[*at] == 0) {
            Some((_, place, why)) => Err(Problem::invalid(format!(
                "the pin of `{}` in {place} can't be moved to {}: {why}",
                facts.subject.name, choice.version
            ))
            .hint("move it by hand to a higher version, never back; `haptic-scaffold pins` shows where it stands")
            .into()),
            None => Ok(()),
        }
    }
}
