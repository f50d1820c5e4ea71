//! What was rejected: by the cluster, by a file, by what somebody says, or by Git where somebody says yes to that. And what the repository remembers of it.

use anyhow::Result;
use semver::Version;

use super::units::{Standing, Unit};
use super::{Facts, Run, cluster, evidence};
use crate::command::pin_files::PinFiles;
use crate::command::policies::is_policy;
use crate::error::Problem;
use crate::git::history;
use crate::git::old_offers::OldOffer;
use crate::git::past::End;
use crate::git::trees::GitTree;
use crate::haptic::rejection::Cause;
use crate::layout::recorded::{self, FILE_NAME};
use crate::model::policy::Rejected;
use crate::model::range::lenient_version;
use crate::model::repo_path::RepoPath;
use crate::model::tree::read_text;
use crate::plan::bundle;
use crate::plan::change::Change;
use crate::plan::recover::Rejection;
use crate::ui::{Format, Ui, prompt};

impl Run<'_> {
    /// What was rejected, and in which unit where the cluster says it. Nothing where the cluster runs what came after the rejection.
    pub(super) fn rejection(
        &self,
        facts: &Facts<'_>,
        ui: &mut Ui,
    ) -> Result<Option<(Rejection, Option<usize>)>> {
        let arguments = self.arguments;
        let given = arguments
            .rejected
            .as_deref()
            .map(evidence::given)
            .transpose()?;
        let log = evidence::Log::of(arguments, &self.world.folder, facts.subject)?;
        if let Some(context) = &arguments.context {
            let seen = cluster::look(self, facts, context, ui)?;
            return match seen {
                cluster::Seen::Rejected(rejection, unit) => {
                    agree(given.as_ref(), &rejection.version, "the cluster")?;
                    Ok(Some((*rejection, Some(unit))))
                }
                cluster::Seen::Live(version) => {
                    let asks = given.is_some() || log.is_some() || arguments.values.is_some();
                    let is_behind = |pinned: Version| version.cmp_precedence(&pinned).is_lt();
                    let mut pinned = facts.units.iter().filter_map(Unit::version);
                    if remembers(facts, &version) && !asks && !pinned.any(is_behind) {
                        return Ok(None);
                    }
                    Err(cluster::not_rejected(&version, facts).into())
                }
            };
        }
        if let Some(log) = log {
            if !log.tells_failure() && given.is_none() {
                return Err(Problem::invalid(
                    "no verdict of preflight stands in the log, so nothing was rejected as far as it goes",
                )
                .hint("take the log of the Job that failed; or say so: `--rejected VERSION`")
                .into());
            }
            if let Some(said) = &log.version {
                agree(given.as_ref(), said, "the log")?;
            }
            let known = || self.by_evidence(facts, log.digest().as_deref(), ui);
            let said = log.version.clone().or_else(|| given.clone()).or_else(known);
            let rejection = match said {
                Some(version) => log.rejection(version),
                None => {
                    let mut rejection = log.rejection(self.proposed(facts)?);
                    rejection.how.push_str(
                        "; it names no version, and this is the highest that the pin has had",
                    );
                    rejection
                }
            };
            self.check_known(facts, &rejection.version)?;
            return Ok(Some((rejection, None)));
        }
        if let Some(version) = given {
            self.check_known(facts, &version)?;
            return Ok(Some((evidence::said(version, facts.units), None)));
        }
        let Some(proposed) = evidence::proposed(facts.units) else {
            return Err(Problem::usage("nothing says which version was rejected")
                .hint("`--rejected VERSION` says it; `--context CONTEXT` asks the cluster")
                .into());
        };
        self.confirm(facts, &proposed)?;
        Ok(Some((proposed, None)))
    }

    /// What the repository's files remember with this digest: the same log is evidence once. What came after that version may be refused in the same words, so
    /// who asks for more than that has to say which one is meant.
    fn by_evidence(&self, facts: &Facts<'_>, digest: Option<&str>, ui: &mut Ui) -> Option<Version> {
        let all = facts.found.policies.iter().filter_map(|(path, text)| {
            let recorded = recorded::parse(text, path.as_str()).ok()?;
            Some(recorded.rejected)
        });
        let known = all
            .flatten()
            .find(|one| one.evidence.is_some() && one.evidence.as_deref() == digest)?;
        let version = lenient_version(&known.version)?;
        let is_above = |unit: &Unit| unit.standing(&version) == Standing::Above;
        if facts.units.iter().all(is_above) {
            if self.arguments.to.is_some() || self.arguments.values.is_some() {
                return None;
            }
            ui.warn(&format!(
                "the repository remembers the same text of {version}, which isn't pinned any more; where it is of another version: `--rejected VERSION`"
            ));
        }
        Some(version)
    }

    /// What Git says of a log that names no version: the only one that it can be, or else one that somebody says yes to.
    fn proposed(&self, facts: &Facts<'_>) -> Result<Version> {
        // Of a part of the history the highest may be the one that runs.
        let ends = |end: End| {
            let mut highest = facts.units.iter().filter_map(Unit::highest);
            highest.any(|one| one.end == end)
        };
        let proposed = evidence::proposed(facts.units);
        let Some(proposed) = proposed.filter(|_| !ends(End::Shallow)) else {
            return Err(
                Problem::usage("neither the log nor Git says which version was rejected")
                    .hint("`--rejected VERSION` says it")
                    .into(),
            );
        };
        let is_it = |unit: &Unit| {
            let highest = unit.highest();
            highest.is_some_and(|one| one.version.cmp_precedence(&proposed.version).is_eq())
        };
        // A range has moved on by itself.
        let is_open = |unit: &Unit| unit.version().is_none();
        // A log may be of another environment, or of the version before a recovery.
        if !facts.units.iter().all(is_it)
            || facts.units.iter().any(is_open)
            || ends(End::Limit)
            || remembers(facts, &proposed.version)
        {
            self.confirm(facts, &proposed)?;
        }
        Ok(proposed.version)
    }

    /// What Git proposes counts only where somebody says yes.
    fn confirm(&self, facts: &Facts<'_>, proposed: &Rejection) -> Result<()> {
        let version = &proposed.version;
        let asked = format!(
            "Was {} {version} rejected? ({})",
            facts.subject.name, proposed.how
        );
        let may_ask =
            self.world.is_terminal && !self.common.yes && self.common.output == Format::Human;
        if may_ask && prompt::confirm(&asked)? {
            return Ok(());
        }
        Err(Problem::usage(format!(
            "nobody says what was rejected; Git proposes {version} of `{}`: {}",
            facts.subject.name, proposed.how
        ))
        .hint(format!("if that is it: --rejected {version}"))
        .hint("or have the cluster asked (`--context CONTEXT`), or give the Job's log (`--job-log FILE`)")
        .into())
    }

    /// A version that was never there can't have been rejected: a slip of the pen would be remembered for ever.
    fn check_known(&self, facts: &Facts<'_>, version: &Version) -> Result<()> {
        let is_known = |unit: &Unit| {
            let standing = unit.standing(version);
            let mut had = unit.had.iter().flatten().flat_map(|one| &one.had);
            matches!(standing, Standing::Has | Standing::Open)
                || had.any(|one| one.cmp_precedence(version).is_eq())
        };
        let is_above = |unit: &Unit| {
            let own = unit.version();
            own.is_some_and(|own| own.cmp_precedence(version).is_gt())
        };
        if facts.units.iter().any(is_known) {
            return Ok(());
        }
        let mut published = self.published()?;
        let chart = facts.subject.what.chart();
        let is_published = chart
            .filter(|_| !published.is_nobody())
            .is_some_and(|chart| {
                let known = published.of(chart).unwrap_or_default();
                let mut known = known.iter().map(|one| &one.version);
                known.any(|one| one.cmp_precedence(version).is_eq())
            });
        // What is above all pins may have been rejected before it came here; what is below them never came.
        if is_published && !facts.units.iter().any(is_above) || remembers_it(facts, version) {
            return Ok(());
        }
        let has: Vec<String> = facts
            .units
            .iter()
            .filter_map(|unit| Some(format!("{}: {}", unit.name(), unit.version()?)))
            .collect();
        let mut highest = facts.units.iter().filter_map(Unit::highest);
        let far = highest.find_map(|one| one.end.told());
        let mut problem = Problem::invalid(format!(
            "{version} of `{}` was never pinned here, and {}: it can't have been rejected",
            facts.subject.name,
            match is_published {
                true => "what is pinned is above it",
                false => "isn't known to be published",
            }
        ));
        if let Some(far) = far {
            problem = problem.hint(format!("that is known {far}"));
        }
        Err(problem
            .hint(format!(
                "name the one that was: --rejected VERSION (pinned now: {})",
                has.join("; ")
            ))
            .into())
    }
}

/// Whether the repository remembers that this version was rejected.
fn remembers_it(facts: &Facts<'_>, version: &Version) -> bool {
    facts.rule(&facts.units[0]).rejection(version).is_some()
}

/// Whether the repository remembers a rejection of something lower: then what runs came after it.
fn remembers(facts: &Facts<'_>, version: &Version) -> bool {
    let rule = facts.rule(&facts.units[0]);
    let mut rejected = rule.rejected.iter();
    rejected.any(|(one, _)| one.cmp_precedence(version).is_lt())
}

/// A controller tries a rejected release again and again, each time with a Job of another date, and somebody may say it once more by hand. What an open recovery
/// says of the same version stays as it is.
///
/// # Errors
/// When the recovery can't be read.
pub(super) fn as_before(facts: &Facts<'_>, rejection: Rejection) -> Result<Rejection> {
    let known = remembered(facts, &rejection)?;
    Ok(match known {
        Some(known) => Rejection {
            // The reason that stands there is as good as new.
            cause: rejection.cause.or(known.reason.map(Cause::Refused)),
            date: known.date,
            evidence: known.evidence,
            ..rejection
        },
        None => rejection,
    })
}

/// What an open recovery remembers of a rejection, unless more is known now.
fn remembered(facts: &Facts<'_>, rejection: &Rejection) -> Result<Option<Rejected>> {
    let wanted = rejection.record(&facts.subject.name);
    let is_same = |one: &Rejected| {
        (&one.chart, &one.version) == (&wanted.chart, &wanted.version)
            && (one.reason.is_some() || wanted.reason.is_none())
    };
    for recovery in facts.recoveries {
        let found = rejected_by(facts, recovery)?.into_iter().find(is_same);
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// What a recovery says was rejected.
fn rejected_by(facts: &Facts<'_>, recovery: &OldOffer) -> Result<Vec<Rejected>> {
    let tree = GitTree::of(facts.repository, Some(recovery.tip))?;
    let mut all = Vec::new();
    for path in &recovery.paths {
        // People may have put anything there.
        let Ok(path) = RepoPath::parse(path) else {
            continue;
        };
        let text = is_policy(&path).then(|| read_text(&tree, &path).ok());
        let recorded = text
            .flatten()
            .flatten()
            .and_then(|text| recorded::parse(&text, path.as_str()).ok());
        all.extend(recorded.into_iter().flat_map(|recorded| recorded.rejected));
    }
    Ok(all)
}

/// What an open recovery of a unit changes and a new one doesn't: the new one would take its place, and that back. Corrected values that are given anew
/// (`has_values`) are all that is wanted in the files that they go to.
///
/// # Errors
/// When there is something; or a commit can't be read.
pub(super) fn takes_nothing_back(
    facts: &Facts<'_>,
    unit: &Unit,
    change: &Change,
    has_values: bool,
) -> Result<()> {
    // One that somebody works on is left alone anyway.
    for recovery in facts.recoveries_of(unit).filter(|one| one.is_intact) {
        for path in &recovery.paths {
            let place = RepoPath::parse(path)?;
            let of = |commit| history::content(facts.repository, commit, &place);
            let (old, base) = (of(recovery.tip)?, of(facts.base)?);
            let written = change.writes().find(|file| file.path == place);
            let is_lost = match written.map(|file| &file.new) {
                Some(_) if has_values || is_policy(&place) => false,
                // Somebody has changed the file of the base since, and it remembers what it has to.
                None if is_policy(&place) => {
                    !remembers_all(facts, recovery, &place, base.as_deref())?
                }
                written => {
                    let new = written.unwrap_or(&base);
                    let before = facts.repository.find_commit(recovery.tip);
                    let before = before.and_then(|tip| tip.parent_id(0)).ok();
                    let before = before.map(of).transpose()?.flatten();
                    let all = [&before, &old, &base, new];
                    let all = all.map(|one| {
                        let text = one.as_deref().map(String::from_utf8_lossy);
                        text.unwrap_or_default().into_owned()
                    });
                    lost((&all[0], &all[1]), (&all[2], &all[3]))
                }
            };
            if is_lost {
                return Err(Problem::invalid(format!(
                    "the open recovery `{}` changes `{path}` too, and this one would take its place without that",
                    recovery.branch
                ))
                .hint("give what it was made with again (`--values`, `--others`), so that one change has all of it")
                .hint(format!("or merge it first; or take it away: {}", recovery.take_away()))
                .into());
            }
        }
    }
    Ok(())
}

/// Whether no other open recovery moves the pins of a change: one of another name for the same environment, say, or of one that moves in the same change.
///
/// # Errors
/// When there is one: two requests for one pin would be one too many.
pub(super) fn is_alone(facts: &Facts<'_>, units: &[&Unit], change: &Change) -> Result<()> {
    let own = facts.key(units[0]);
    let base = facts.other_base.as_deref();
    let mut pins = units.iter().flat_map(|unit| &unit.pins);
    let is_written = |file: &RepoPath| change.writes().any(|one| one.path == *file);
    let moved = |recovery: &OldOffer, file: &RepoPath| {
        let (key, for_base) = recovery.key_and_base();
        key != own
            && for_base == base
            && bundle::is_of_chart(key, &facts.subject.name)
            && recovery.paths.iter().any(|path| path == file.as_str())
    };
    let found = pins.find_map(|pin| {
        let mut all = facts.recoveries.iter();
        let other = all.find(|one| moved(one, &pin.file) && is_written(&pin.file))?;
        Some((pin, other))
    });
    let Some((pin, other)) = found else {
        return Ok(());
    };
    Err(Problem::invalid(format!(
        "the open recovery `{}` moves the pin in {}:{} already",
        other.branch, pin.file, pin.line
    ))
    .hint(format!(
        "merge it first; or take it away: {}",
        other.take_away()
    ))
    .into())
}

/// Whether a text of a policy file has all that a recovery's says was rejected.
fn remembers_all(
    facts: &Facts<'_>,
    recovery: &OldOffer,
    place: &RepoPath,
    text: Option<&[u8]>,
) -> Result<bool> {
    let text = String::from_utf8_lossy(text.unwrap_or_default());
    let known = recorded::parse(&text, place.as_str()).unwrap_or_default();
    let all = rejected_by(facts, recovery)?;
    let is = |one: &Rejected, other: &Rejected| {
        (&one.chart, &one.version) == (&other.chart, &other.version)
    };
    Ok(all
        .iter()
        .all(|one| known.rejected.iter().any(|other| is(one, other))))
}

/// Whether an old change of a file does something that a new one of the same file doesn't: values stand in the file of the pin, say. What the new one's own
/// beginning has already is done, and one line instead of another is the same whatever version stands there.
fn lost((old_before, old): (&str, &str), (before, new): (&str, &str)) -> bool {
    let has = |text: &str, line: &str| text.lines().any(|one| one == line);
    let (goes, comes) = (minus(before, new), minus(new, before));
    let (old_goes, old_comes) = (minus(old_before, old), minus(old, old_before));
    let is_kept = |line: &&str| has(before, line) && !goes.contains(line);
    let old_comes = old_comes.iter().filter(|line| !has(before, line)).count();
    // Lines that came without another's going.
    let is_longer = old_comes + goes.len() > comes.len() + old_goes.len();
    old_goes.iter().any(is_kept) || is_longer
}

/// The lines of a text that another doesn't have, as often as it doesn't.
fn minus<'t>(text: &'t str, other: &str) -> Vec<&'t str> {
    let mut rest: Vec<&str> = other.lines().collect();
    let mut is_new = |line: &&str| match rest.iter().position(|one| one == line) {
        Some(at) => {
            rest.remove(at);
            false
        }
        None => true,
    };
    text.lines().filter(|line| is_new(line)).collect()
}

/// Evidence and what somebody says have to be about one version.
fn agree(given: Option<&Version>, said: &Version, who: &str) -> Result<(), Problem> {
    match given {
        Some(given) if given.cmp_precedence(said).is_ne() => Err(Problem::invalid(format!(
            "{who} says that {said} was rejected, and `--rejected` says {given}"
        ))
        .hint(format!(
            "leave `--rejected {given}` out, or give evidence of that version"
        ))),
        _ => Ok(()),
    }
}

/// The file that remembers a rejection of a pin's chart: the nearest above, else the one at the top.
fn policy_file(found: &PinFiles, pin_file: &RepoPath) -> Result<RepoPath> {
    let above = |path: &&RepoPath| {
        pin_file
            .as_str()
            .starts_with(&RepoPath::prefix(path.parent().as_ref()))
    };
    let files = found.policies.iter().map(|(path, _)| path);
    let nearest = files
        .filter(above)
        .max_by_key(|path| path.parent().map_or(0, |folder| folder.parts().count()));
    Ok(match nearest {
        Some(path) => path.clone(),
        None => RepoPath::parse(FILE_NAME)?,
    })
}

/// What is remembered of a rejection, and where: also what an open recovery of the same unit remembers, whose place this one takes.
pub(super) fn record(
    facts: &Facts<'_>,
    rejection: &Rejection,
    unit: &Unit,
) -> Result<(RepoPath, Vec<Rejected>)> {
    let path = policy_file(facts.found, &unit.pins[0].file)?;
    let chart = &facts.subject.name;
    let own = match remembered(facts, rejection)? {
        Some(known) => known,
        None => rejection.record(chart),
    };
    let mut all = Vec::new();
    for recovery in facts.recoveries_of(unit) {
        let earlier = rejected_by(facts, recovery)?.into_iter();
        all.extend(earlier.filter(|one| one.chart == *chart && one.version != own.version));
    }
    all.push(own);
    Ok((path, all))
}
