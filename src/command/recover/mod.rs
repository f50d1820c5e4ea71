//! `recover`: forward from a release that was rejected, by a higher version or corrected values, each environment by a commit on a branch of its own.

mod choose;
mod cluster;
mod evidence;
mod gate;
mod known;
mod mend;
mod others;
mod planned;
mod report;
mod units;
mod values;
mod verdict;
mod watch;

use anyhow::Result;
use git2::{Oid, Repository};

use self::report::{Recovered, Told};
use self::units::{Look, Unit, choose, subject, units};
use super::author::Author;
use super::deliver::access::Access;
use super::deliver::{Delivery, Wanted};
use super::files;
use super::pin_files::{PinFiles, from_tree};
use super::policies::Policies;
use super::published::Published;
use super::upgrade::base::base_of;
use super::upgrade::report::{offered, tell_uncommitted, warn_left_alone};
use super::upgrade::subjects::Subject;
use super::{pin_history, pin_texts};
use crate::cli::Common;
use crate::cli::recover::RecoverArgs;
use crate::error::{ExitStatus, Problem};
use crate::git::branches::{Offered, Rebuild, check_room, offer};
use crate::git::old_offers::OldOffer;
use crate::git::target::Target;
use crate::git::trees::GitTree;
use crate::model::tree::Tree;
use crate::plan::bundle::{self, Bundle, Verb};
use crate::plan::change::Change;
use crate::plan::policy::ChartRule;
use crate::plan::recover::Rejection;
use crate::plan::upgrade::is_haptic;
use crate::ui::{Outcome, Ui};
use crate::world::World;

/// Goes forward from a rejected release. The files as they lie in the work tree are neither read nor touched: what is committed counts. Of a cluster nothing is
/// changed.
///
/// # Errors
/// When nothing was rejected, no version may be gone to, something can't be edited, or the cluster, the remote or the forge can't be asked.
pub fn run(
    arguments: &RecoverArgs,
    common: &Common,
    world: &World,
    ui: &mut Ui,
) -> Result<Outcome> {
    check(arguments)?;
    let folder = files::working_folder(common, world);
    let target = Target::around(&folder)?;
    if !arguments.deliver.is_asked() {
        let (_, base, name) = base_of(&target)?;
        let run = Run::new(arguments, common, world);
        return run.run(&target, (base, &name), None, ui);
    }
    let access = Access::of_target(&arguments.deliver, &target, world)?;
    let reached = access.reach(&arguments.deliver, &target)?;
    // A history that came in pieces is read anew.
    let target = Target::around(&folder)?;
    let base = reached.base.clone();
    let delivery = Delivery::new(&access, reached, common.dry_run);
    let run = Run::new(arguments, common, world);
    run.run(&target, (base.1, &base.0), Some(delivery), ui)
}

/// What is asked for in two ways, or can't be followed.
fn check(arguments: &RecoverArgs) -> Result<(), Problem> {
    if arguments.watch && arguments.context.is_none() {
        return Err(
            Problem::usage("`--watch` follows a cluster, and none is named")
                .hint("`--context CONTEXT` names one of the kubeconfig"),
        );
    }
    if arguments.deliver.place.base.is_some() && !arguments.deliver.is_asked() {
        return Err(Problem::usage(
            "`--base` is the branch of a remote that a pushed change is for, and nothing is pushed",
        )
        .hint(
            "add `--open` or `--push`; without them the branch that is checked out is built on",
        ));
    }
    watch::timeout(&arguments.timeout)?;
    Ok(())
}

/// One run over one repository.
struct Run<'a> {
    arguments: &'a RecoverArgs,
    common: &'a Common,
    world: &'a World,
}

/// What a repository says.
struct Facts<'a> {
    repository: &'a Repository,
    base: Oid,
    base_name: &'a str,
    /// The branch that changes are for, as keys have it, where that isn't the default one.
    other_base: Option<String>,
    tree: &'a dyn Tree,
    found: &'a PinFiles,
    policies: &'a Policies,
    /// Recoveries that aren't merged yet.
    recoveries: &'a [OldOffer],
    subject: &'a Subject,
    /// Those that are meant.
    units: &'a [Unit],
    /// Those, and behind them others with the same chart.
    all: &'a [Unit],
}

impl Facts<'_> {
    /// Recoveries of a unit that aren't merged yet, for the same branch.
    fn recoveries_of(&self, unit: &Unit) -> impl Iterator<Item = &OldOffer> {
        let key = self.key(unit);
        let base = self.other_base.as_deref();
        let is_it = move |one: &&OldOffer| one.key_and_base() == (key.as_str(), base);
        self.recoveries.iter().filter(is_it)
    }

    /// What was decided about the chart, for a unit.
    fn rule(&self, unit: &Unit) -> ChartRule {
        let policy = self.policies.of(&unit.pins[0].file);
        match self.subject.what.named() {
            Some((name, address)) => policy.rule(name, &address),
            None => policy.rule(&self.subject.name, ""),
        }
    }

    /// What a unit's change is about, whichever branch it is for.
    fn key(&self, unit: &Unit) -> String {
        self.bundle(unit).key()
    }

    /// The change of a unit, empty so far. A release is named where others of the same chart are in the same place.
    fn bundle(&self, unit: &Unit) -> Bundle {
        Bundle {
            verb: Verb::Recover,
            name: self.subject.name.clone(),
            environment: unit.place().map(str::to_owned),
            release: unit.release().filter(|_| unit.has_siblings),
            ..Bundle::default()
        }
    }
}

impl<'a> Run<'a> {
    fn new(arguments: &'a RecoverArgs, common: &'a Common, world: &'a World) -> Self {
        Self {
            arguments,
            common,
            world,
        }
    }

    fn run(
        &self,
        target: &Target,
        (base, base_name): (Oid, &str),
        delivery: Option<Delivery<'_>>,
        ui: &mut Ui,
    ) -> Result<Outcome> {
        let Target::Existing(repository) = target else {
            return Err(Problem::usage("there is no repository").into());
        };
        let arguments = self.arguments;
        let tree = GitTree::of(repository, Some(base))?;
        let found = from_tree(&tree)?;
        let config = self.common.config.as_ref();
        let config = config.map(|file| self.world.folder.join(file));
        let mut policies = Policies::read(&found.policies, config.as_deref())?;
        let mut recoveries = policies.with_recoveries(repository, base)?;
        let policies = policies;
        let opens = arguments.deliver.open;
        let mut delivery = match delivery {
            Some(delivery) => {
                Some(delivery.opening(repository, policies.requests.clone(), opens, ui)?)
            }
            None => None,
        };
        // What people closed says what was rejected, and moves nothing.
        if let Some(delivery) = &mut delivery {
            delivery.keep_awaited(&mut recoveries)?;
        }
        tell_uncommitted(repository, &tree, &found.policies, ui);
        let (subject, release) = subject(&tree, &found.joined, arguments.subject.as_deref())?;
        let look = Look {
            repository,
            base,
            tree: &tree,
            policies: &policies,
            recorded: &found.policies,
        };
        let named = (release.as_deref(), arguments.cluster.as_deref());
        let units = units(&look, &subject, named)?;
        let facts = Facts {
            repository,
            base,
            base_name,
            other_base: delivery
                .as_ref()
                .filter(|delivery| !delivery.reached.is_default())
                .map(|_| bundle::base_word(base_name)),
            tree: &tree,
            found: &found,
            policies: &policies,
            recoveries: &recoveries,
            subject: &subject,
            units: &units[..units.iter().take_while(|unit| unit.is_meant).count()],
            all: &units,
        };
        self.tell_ways_back(&facts, ui);
        let asks_more = [
            arguments.to.is_some(),
            arguments.values.is_some(),
            arguments.rejected.is_some(),
            arguments.job_log.is_some(),
        ];
        if arguments.watch && !asks_more.contains(&true) {
            return self.only_watch(&facts, ui);
        }
        let Some((rejection, known)) = self.rejection(&facts, ui)? else {
            return Ok(report::already_live(&facts, self.common));
        };
        let rejection = known::as_before(&facts, rejection)?;
        if let Some(outcome) = self.mended_by_source(&facts, (&rejection, known), ui)? {
            return Ok(outcome);
        }
        let chosen = choose(&units, &rejection.version, known)?;
        if let Some(why) = &chosen.why {
            ui.notice(why);
        }
        let told = self.planned(&facts, (&rejection, &chosen), ui)?;
        let mut outcome = self.finish(target, &facts, (&rejection, told), delivery, ui)?;
        if arguments.watch && outcome.problem.is_none() && !self.common.dry_run {
            let unit = &units[chosen.first];
            let has_branch = facts.recoveries_of(unit).next().is_some();
            let goal = match outcome.is_left && has_branch {
                true => watch::awaited(&facts, unit)?,
                false => outcome.goal.clone(),
            };
            self.watch(&facts, (chosen.first, goal), &mut outcome.outcome, ui);
        }
        Ok(outcome.outcome)
    }

    /// A revert of a bad pin is a downgrade, whatever it is called.
    fn tell_ways_back(&self, facts: &Facts<'_>, ui: &mut Ui) {
        let mut highest = facts.units.iter().filter_map(Unit::highest);
        // A cluster says itself what it has.
        if let Some(far) = highest
            .find_map(|one| one.end.told())
            .filter(|_| self.arguments.context.is_none())
        {
            ui.warn(&format!(
                "versions that were there before are known {far}, and one further back may be chosen"
            ));
        }
        for unit in facts.units {
            for (pin, highest) in unit.pins.iter().zip(&unit.had) {
                let Some(highest) = highest.as_ref().filter(|_| pin.effective) else {
                    continue;
                };
                let own = pin_texts::version_of(pin);
                let is_lower = own.is_some_and(|own| own.cmp_precedence(&highest.version).is_lt());
                if is_lower && is_haptic(pin) {
                    ui.warn(&pin_history::told(pin, highest));
                }
            }
        }
    }

    fn published(&self) -> Result<Published<'a>> {
        let arguments = self.arguments;
        Published::asked(arguments.versions.as_deref(), arguments.offline, self.world)
    }

    /// Commits and delivers, and takes away the upgrade that brought the rejected version.
    fn finish(
        &self,
        target: &Target,
        facts: &Facts<'_>,
        (rejection, recovered): (&Rejection, Recovered),
        delivery: Option<Delivery<'_>>,
        ui: &mut Ui,
    ) -> Result<Told> {
        let repository = facts.repository;
        let changes = &recovered.changes;
        if !self.common.dry_run && !changes.is_empty() {
            check_room(repository, changes)?;
        }
        let author = Author::of(target, self.arguments.author.as_deref(), self.world)?;
        let rebuild = Rebuild::of(&facts.policies.requests);
        let offer = |change: &Change| {
            offer(
                repository,
                change,
                (facts.base, rebuild),
                &author.commit(self.world),
            )
        };
        let (told, problem) = match delivery {
            None => (offered(changes, self.common.dry_run, &offer)?, None),
            Some(mut delivery) => {
                let (told, refused) = delivery.deliver(repository, changes, &offer, ui)?;
                let left = match recovered.is_remembered && refused.is_none() {
                    true => self.close_upgrades(&mut delivery, facts, (rejection, &told), ui)?,
                    false => None,
                };
                (told, refused.or(left))
            }
        };
        let problem = problem.or(report::closed(&told)).or(recovered.left.clone());
        warn_left_alone(&told, ui);
        if told
            .iter()
            .any(|one| matches!(one.offered, Some(Offered::Created(_))))
        {
            author.tell(ui);
        }
        let outcome = Outcome {
            status: problem
                .as_ref()
                .map_or(ExitStatus::Done, |problem: &Problem| problem.status),
            text: report::shown(&told, &recovered, facts, self.common),
            json: report::as_json(&told, &recovered, self.common),
            problem: problem.clone(),
            lists: Vec::new(),
        };
        Ok(Told {
            outcome,
            problem,
            goal: recovered.goal.clone(),
            is_left: told.first().is_some_and(|one| {
                matches!(one.offered, Some(Offered::LeftAlone | Offered::CheckedOut))
            }),
        })
    }

    /// The request that offers what was rejected is closed, and says why.
    fn close_upgrades(
        &self,
        delivery: &mut Delivery<'_>,
        facts: &Facts<'_>,
        (rejection, told): (&Rejection, &[super::deliver::told::Delivered<'_>]),
        ui: &mut Ui,
    ) -> Result<Option<Problem>> {
        let of = (facts.subject.name.as_str(), &rejection.version);
        let is_rejected = |key: &str, versions: &[String]| facts.policies.offers(key, versions, of);
        let wanted = Wanted {
            stays: &|_| true,
            is_rejected: &is_rejected,
            is_all: true,
        };
        delivery.tidy(facts.repository, told, &wanted, ui)
    }
}
