//! `--watch`: follows a cluster until the new version is live, or is rejected too.

use std::time::{Duration, Instant};

use anyhow::Result;
use semver::Version;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::cluster::{Seat, View, chart_name, view};
use super::report::nothing;
use super::units::Unit;
use super::verdict::Verdict;
use super::{Facts, Run};
use crate::cluster::{Cluster, Resource};
use crate::command::pin_history::{MOST_COMMITS, lower, said};
use crate::error::{ExitStatus, Problem, Report};
use crate::git::history;
use crate::git::old_offers::OldOffer;
use crate::git::past::{Most, past};
use crate::git::recoveries::recoveries;
use crate::haptic;
use crate::haptic::convergence::unconverged;
use crate::model::range::lenient_version;
use crate::model::repo_path::RepoPath;
use crate::observe::{Phase, without_digest};
use crate::plan::recover::Rejection;
use crate::secrets::redact::redact;
use crate::ui::{Outcome, Ui};

/// How often a cluster is looked at.
const PAUSE: Duration = Duration::from_secs(2);

/// Reads `90s`, `15m`, `2h`.
///
/// # Errors
/// When it is no length of time.
pub(super) fn timeout(text: &str) -> Result<Duration, Problem> {
    let seconds = |text: &str| -> Option<u64> {
        let unit = match text.chars().last()? {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            _ => return None,
        };
        let number: u32 = text[..text.len() - 1].parse().ok()?;
        Some(u64::from(number) * unit)
    };
    let seconds = seconds(text.trim()).ok_or_else(|| {
        Problem::usage(format!("`--timeout {text}` is no length of time"))
            .hint("write a number and a unit: --timeout 90s, 15m, 2h")
    })?;
    Ok(Duration::from_secs(seconds))
}

/// How it ended.
enum End {
    Live(Version),
    Rejected(Box<Rejection>),
    GaveUp(String),
}

impl Run<'_> {
    /// Follows without changing anything: what is wanted is what stands on the base, or on the branch of a recovery that isn't merged here yet.
    pub(super) fn only_watch(&self, facts: &Facts<'_>, ui: &mut Ui) -> Result<Outcome> {
        let at = self.watched(facts)?;
        let unit = &facts.units[at];
        let mut outcome = nothing(self.common);
        self.watch(facts, (at, awaited(facts, unit)?), &mut outcome, ui);
        Ok(outcome)
    }

    /// The unit that is followed where none was recovered.
    fn watched(&self, facts: &Facts<'_>) -> Result<usize> {
        let known: Vec<usize> = (0..facts.units.len())
            .filter(|at| !Seat::all(&facts.units[*at]).is_empty())
            .collect();
        match known.as_slice() {
            [one] => Ok(*one),
            [] => Err(Problem::invalid(format!(
                "no manifest in this repository says what deploys `{}`, so the cluster can't be asked about it",
                facts.subject.name
            ))
            .hint("kubectl get helmreleases,applications --all-namespaces")
            .into()),
            many => {
                let names: Vec<String> =
                    many.iter().map(|at| facts.units[*at].name()).collect();
                Err(Problem::usage(format!(
                    "`--watch` follows one release, and there are more: {}",
                    names.join(", ")
                ))
                .hint("`--cluster NAME` or the release's name says which")
                .into())
            }
        }
    }

    /// Follows a unit's release, and puts the end of it into the outcome. What was done before stays said, whatever becomes of this.
    pub(super) fn watch(
        &self,
        facts: &Facts<'_>,
        (at, wanted): (usize, Option<Version>),
        outcome: &mut Outcome,
        ui: &mut Ui,
    ) {
        let told = match self.followed(facts, (at, wanted), ui) {
            Ok((wanted, end)) => {
                let names = (facts.subject.name.as_str(), self.named(facts, at));
                let (word, why) = self.ended(names, &wanted, end, outcome);
                json!({"version": wanted.to_string(), "outcome": word, "why": why})
            }
            Err(why) => {
                let problem = Problem::from(Report::of(&why));
                outcome.status = problem.status;
                let told = json!({"version": null, "outcome": "gave-up", "why": problem.message});
                outcome.problem = Some(problem);
                told
            }
        };
        outcome.json.insert("watch".to_owned(), told);
    }

    fn followed(
        &self,
        facts: &Facts<'_>,
        (at, wanted): (usize, Option<Version>),
        ui: &mut Ui,
    ) -> Result<(Version, End)> {
        let unit = &facts.all[at];
        let seats = Seat::all(unit);
        let (false, Some(wanted)) = (seats.is_empty(), wanted.or_else(|| unit.version())) else {
            return Err(Problem::invalid(
                "it isn't known what deploys the release, or in which version, so it can't be followed",
            )
            .hint("kubectl get helmreleases,applications --all-namespaces")
            .into());
        };
        let context = self.arguments.context.as_deref();
        let limit = timeout(&self.arguments.timeout)?;
        let names: Vec<String> = seats.iter().map(Seat::name).collect();
        ui.notice(&format!(
            "following {} until {wanted} is live",
            names.join(", ")
        ));
        if let Some(open) = facts.recoveries_of(unit).next() {
            ui.notice(&format!(
                "  as far as is known here its recovery isn't merged yet: {}",
                open.branch
            ));
        }
        let mut follower = Follower {
            cluster: Cluster::connect(&self.world.env, context)?,
            seats,
            chart: chart_name(facts),
            since: self.changed(facts, unit)?,
            wanted,
            before: None,
            told: String::new(),
        };
        if !corrections(facts, unit)?.is_empty() {
            follower.note_before()?;
        }
        let end = follower.follow(limit, ui)?;
        Ok((follower.wanted, end))
    }

    /// When the release's own files changed last (seconds since 1970) while its version stayed, on the base or on the branch of its recovery: a rejection of that
    /// version from before is of what they were. 0 where the version came last.
    fn changed(&self, facts: &Facts<'_>, unit: &Unit) -> Result<i64> {
        let mut last = 0;
        for recovery in corrections(facts, unit)? {
            let tip = facts.repository.find_commit(recovery.tip);
            last = last.max(tip.map_or(0, |tip| tip.time().seconds()));
        }
        let came = unit.highest().map(|one| one.since);
        let layers = unit.described.iter().flat_map(|one| &one.layers);
        let paths: Vec<&RepoPath> = layers.map(|layer| &layer.file).collect();
        let most = Most {
            commits: MOST_COMMITS,
            texts: 1,
        };
        let past = past(facts.repository, facts.base, &paths, most, &|_, _, _| false)?;
        let own = past
            .iter()
            .filter_map(|all| all.texts.first().map(|one| one.time));
        let own = own.max().filter(|own| came.is_some_and(|came| *own > came));
        Ok(last.max(own.unwrap_or(0)))
    }

    /// How a unit is named on the command line.
    fn named(&self, facts: &Facts<'_>, at: usize) -> String {
        let release = facts.bundle(&facts.all[at]).release;
        let name = self.arguments.subject.clone().or(release);
        let name = name.map_or_else(String::new, |name| format!(" {name}"));
        let place = self.arguments.cluster.as_ref();
        let place = place.map_or_else(String::new, |name| format!(" --cluster {name}"));
        name + &place
    }

    /// Puts an end into words.
    fn ended(
        &self,
        (chart, named): (&str, String),
        wanted: &Version,
        end: End,
        outcome: &mut Outcome,
    ) -> (&'static str, Value) {
        match end {
            End::Live(version) => {
                outcome.text.push_str(&format!("live: {chart} {version}\n"));
                ("live", Value::Null)
            }
            End::Rejected(rejection) => {
                let reason = rejection.reason().unwrap_or_default();
                let context = self.arguments.context.as_deref().unwrap_or("CONTEXT");
                let problem = Problem::new(
                    ExitStatus::Differences,
                    format!("{chart} {} was rejected too: {reason}", rejection.version),
                );
                let problem = problem.hint(format!(
                    "go on from there: haptic-scaffold recover{named} --context {context}, with `--to` or `--values`"
                ));
                outcome.status = ExitStatus::Differences;
                outcome.problem = Some(problem);
                ("rejected", json!(reason))
            }
            End::GaveUp(last) => {
                let problem = Problem::failed(format!(
                    "gave up after {}: {wanted} isn't live: {last}",
                    self.arguments.timeout
                ));
                outcome.status = ExitStatus::Failed;
                outcome.problem = Some(
                    problem.hint("`--timeout 30m` waits longer; nothing was changed by waiting"),
                );
                ("gave-up", json!(last))
            }
        }
    }
}

/// What a unit comes to: what stands on the base, or on the branch of a recovery that isn't merged here yet, whoever put it there.
pub(super) fn awaited(facts: &Facts<'_>, unit: &Unit) -> Result<Option<Version>> {
    let mut all: Vec<Version> = unit.version().into_iter().collect();
    for recovery in facts.recoveries_of(unit) {
        let mut on_branch = Vec::new();
        for pin in &unit.pins {
            let text = history::content(facts.repository, recovery.tip, &pin.file)?;
            on_branch.extend(text.and_then(|text| said(pin, &text)));
        }
        all.extend(on_branch.into_iter().reduce(lower));
    }
    Ok(all.into_iter().max())
}

/// The recoveries of a unit that aren't merged and bring no version: values are corrected there. Read anew, since this run may have made one.
fn corrections(facts: &Facts<'_>, unit: &Unit) -> Result<Vec<OldOffer>> {
    let all = recoveries(facts.repository, facts.base)?;
    let key = facts.key(unit);
    let own = (key.as_str(), facts.other_base.as_deref());
    let is_own = |one: &OldOffer| one.key_and_base() == own && one.versions.is_empty();
    Ok(all.into_iter().filter(is_own).collect())
}

/// One release that is followed, in each cluster of its stage.
struct Follower {
    cluster: Cluster,
    seats: Vec<Seat>,
    chart: String,
    wanted: Version,
    /// When what is deployed changed last.
    since: i64,
    /// What was tried at the first look, where that is what is to be corrected: a rejection of it is none of what comes.
    before: Option<Vec<(Seat, String)>>,
    told: String,
}

impl Follower {
    /// Notes what was tried so far.
    fn note_before(&mut self) -> Result<()> {
        let mut before = Vec::new();
        for seat in &self.seats {
            let view = view(&self.cluster, seat, &self.chart)?;
            let attempt = view.and_then(|view| view.state.attempt);
            before.extend(attempt.map(|attempt| (seat.clone(), attempt)));
        }
        self.before = Some(before);
        Ok(())
    }

    fn follow(&mut self, limit: Duration, ui: &mut Ui) -> Result<End> {
        let begun = Instant::now();
        let mut is_first = true;
        loop {
            let last = match self.look() {
                Ok(Ok(end)) => return Ok(end),
                Ok(Err(waiting)) => waiting,
                // A cluster that never answered isn't waited for.
                Err(why) if is_first => return Err(why),
                Err(why) => why.to_string(),
            };
            is_first = false;
            if last != self.told {
                ui.notice(&format!("  {last}"));
                self.told.clone_from(&last);
            }
            if begun.elapsed() + PAUSE > limit {
                return Ok(End::GaveUp(last));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// One look: the end, or what is waited for. All of a stage have to be live; one that rejects is enough.
    fn look(&self) -> Result<Result<End, String>> {
        let mut live = None;
        let mut waiting = None;
        for seat in &self.seats {
            // Objects of other clusters lie elsewhere.
            let Some(view) = view(&self.cluster, seat, &self.chart)? else {
                continue;
            };
            match self.look_at(&view)? {
                Ok(End::Live(version)) => live = live.or(Some(version)),
                Ok(end) => return Ok(Ok(end)),
                Err(why) => waiting = waiting.or(Some(why)),
            }
        }
        Ok(match (waiting, live) {
            (Some(waiting), _) => Err(waiting),
            (None, Some(live)) => Ok(End::Live(live)),
            (None, None) => {
                let names: Vec<String> = self.seats.iter().map(Seat::name).collect();
                Err(format!("{} isn't there", names.join(", ")))
            }
        })
    }

    fn look_at(&self, view: &View) -> Result<Result<End, String>> {
        let wanted = &self.wanted;
        Ok(match view.verdict(&self.chart) {
            Verdict::Live(live) if live.cmp_precedence(wanted).is_lt() => {
                Err(format!("{live} is live, and {wanted} hasn't come yet"))
            }
            // What another cluster has isn't seen from here: the controller's word counts.
            Verdict::Live(live) if view.is_elsewhere => Ok(End::Live(live)),
            Verdict::Live(live) => match self.unconverged(&view.seat)? {
                Some(why) => Err(why),
                None => Ok(End::Live(live)),
            },
            Verdict::Rejected(rejection) if rejection.version.cmp_precedence(wanted).is_lt() => {
                let suspended = match view.state.is_suspended && view.state.wanted.is_some() {
                    true => ", and nothing goes on by itself: it is suspended, or syncs by hand",
                    false => "",
                };
                Err(format!(
                    "{} is the last that was tried, and it was rejected; {wanted} hasn't come yet{suspended}",
                    rejection.version
                ))
            }
            Verdict::Rejected(rejection) if self.is_before(view) => Err(format!(
                "{} was rejected as it stands, and the corrected values haven't come yet; as far as is known here they aren't merged (git fetch)",
                rejection.version
            )),
            Verdict::Rejected(rejection) if self.is_old(&rejection) => Err(format!(
                "{} was rejected before its files changed last, and hasn't been tried again yet",
                rejection.version
            )),
            Verdict::Rejected(rejection) if Self::is_tried_again(view) => Err(format!(
                "{} was rejected, and is tried again",
                rejection.version
            )),
            Verdict::Rejected(rejection) => Ok(End::Rejected(rejection)),
            Verdict::Not(problem) => Err(problem.message),
        })
    }

    /// Whether what was tried is what was tried at the first look.
    fn is_before(&self, view: &View) -> bool {
        let owner = &view.seat.owner;
        let attempt = view.state.attempt.as_deref();
        let mut before = self.before.iter().flatten();
        before.any(|(seat, before)| seat.owner == *owner && attempt == Some(before))
    }

    /// Whether a rejection is of what the files said before they changed last.
    fn is_old(&self, rejection: &Rejection) -> bool {
        let date = rejection.date.as_deref();
        let date = date.and_then(|text| OffsetDateTime::parse(text, &Rfc3339).ok());
        date.is_some_and(|date| date.unix_timestamp() < self.since)
    }

    /// A controller that tries a rejected release again right now may still see it pass: values can have changed.
    fn is_tried_again(view: &View) -> bool {
        let state = &view.state;
        let spec = state.wanted.as_deref().map(without_digest);
        let tried = state.attempted.as_deref();
        // The spec has moved on already.
        let is_old = spec.zip(tried).is_some_and(|(spec, tried)| {
            match (lenient_version(spec), lenient_version(tried)) {
                (Some(spec), Some(tried)) => spec.cmp_precedence(&tried).is_gt(),
                _ => false,
            }
        });
        is_old || !state.is_current && matches!(state.phase, Phase::Progressing { .. })
    }

    /// What isn't as HAPTIC's own tests want it after an upgrade, beyond what the controller says.
    fn unconverged(&self, seat: &Seat) -> Result<Option<String>> {
        if self.chart != haptic::CHART {
            return Ok(None);
        }
        let namespace = Some(seat.namespace.as_str());
        let selector = format!("app.kubernetes.io/instance={}", seat.release);
        let all = |resource: &Resource, selector: Option<&str>| {
            let found = self.cluster.objects(resource, namespace, selector)?;
            anyhow::Ok(found.unwrap_or_default())
        };
        let deployments = all(&Resource::DEPLOYMENT, Some(&selector))?;
        let configs = all(&Resource::TEMPLATE_CONFIG, Some(&selector))?;
        let cfgs = all(&Resource::HAPROXY_CFG, None)?;
        let all = unconverged(&deployments, &configs, &cfgs);
        // HAPTIC's own words, which may quote the configuration.
        Ok((!all.is_empty()).then(|| redact(&all.join("; "))))
    }
}
