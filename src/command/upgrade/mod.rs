//! `upgrade`: pins moved to newer versions, each chart by a commit on a branch of its own.

mod asked;
pub(super) mod base;
pub(super) mod next;
mod order;
pub(super) mod report;
pub(super) mod sections;
pub(super) mod subjects;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use git2::{Oid, Repository};

use self::base::base_of;
use self::next::Next;
use self::order::Ceiling;
use self::report::{as_json, offered, shown, tell_old_offers, tell_uncommitted, warn_left_alone};
use self::subjects::Subject;
use super::author::Author;
use super::deliver::access::Access;
use super::deliver::told::Delivered;
use super::deliver::{Delivery, Listed, Wanted};
use super::files;
use super::pin_files::from_tree;
use super::pins::{chart_of, unknown, unplaced};
use super::policies::Policies;
use super::published::Published;
use crate::cli::Common;
use crate::cli::upgrade::UpgradeArgs;
use crate::error::{ExitStatus, Problem};
use crate::git::branches::{Offered, Rebuild, check_room, offer};
use crate::git::old_offers::OldOffer;
use crate::git::target::Target;
use crate::git::trees::GitTree;
use crate::model::env::Env;
use crate::model::tree::Tree;
use crate::pins::{Kind, Pin};
use crate::plan::bundle::{self, Bundle, Kept};
use crate::plan::change::Change;
use crate::plan::upgrade::plan;
use crate::ui::{Outcome, Ui};
use crate::world::World;

/// Moves pins. The files as they lie in the work tree are neither read nor touched: what is committed counts.
///
/// # Errors
/// When the repository can't be read or written, a chart or version is refused, a pin can't be moved, or the remote or forge can't be asked.
pub fn run(
    arguments: &UpgradeArgs,
    common: &Common,
    world: &World,
    ui: &mut Ui,
) -> Result<Outcome> {
    let folder = files::working_folder(common, world);
    let target = Target::around(&folder)?;
    if !arguments.deliver.is_asked() {
        let (_, base, name) = base_of(&target)?;
        let round = Round::new(arguments, common, world);
        return round.run(&target, (base, &name), None, ui);
    }
    let access = Access::of_target(&arguments.deliver, &target, world)?;
    let reached = access.reach(&arguments.deliver, &target)?;
    // A history that came in pieces is read anew.
    let target = Target::around(&folder)?;
    let base = reached.base.clone();
    let delivery = Delivery::new(&access, reached, common.dry_run);
    let round = Round::new(arguments, common, world);
    round.run(
        &target,
        (base.1, &base.0),
        Some((delivery, arguments.deliver.open)),
        ui,
    )
}

/// One run over one repository.
pub(super) struct Round<'a> {
    arguments: &'a UpgradeArgs,
    common: &'a Common,
    world: &'a World,
}

impl<'a> Round<'a> {
    pub(super) fn new(arguments: &'a UpgradeArgs, common: &'a Common, world: &'a World) -> Self {
        Self {
            arguments,
            common,
            world,
        }
    }

    /// Plans, commits and delivers what a base asks for. The delivery comes with whether requests are opened.
    pub(super) fn run(
        &self,
        target: &Target,
        (base, base_name): (Oid, &str),
        delivery: Option<(Delivery<'_>, bool)>,
        ui: &mut Ui,
    ) -> Result<Outcome> {
        let Self {
            arguments,
            common,
            world,
        } = self;
        let Target::Existing(repository) = target else {
            return Err(Problem::usage("there is no repository").into());
        };
        let tree = GitTree::of(repository, Some(base))?;
        let found = from_tree(&tree)?;
        let config = common.config.as_ref().map(|file| world.folder.join(file));
        let mut policies = Policies::read(&found.policies, config.as_deref())?;
        let mut recoveries = policies.with_recoveries(repository, base)?;
        let policies = policies;
        check_environments(arguments, &policies)?;
        let mut delivery = match delivery {
            Some((delivery, opens)) => {
                Some(delivery.opening(repository, policies.requests.clone(), opens, ui)?)
            }
            None => None,
        };
        match &mut delivery {
            Some(delivery) => delivery.keep_awaited(&mut recoveries)?,
            None => recoveries.retain(|one| one.may_be_for(base_name)),
        }
        let mut upgrade = Upgrade {
            arguments,
            repository,
            base,
            tree: &tree,
            policies: &policies,
            now: world.now,
            env: &world.env,
            published: Published::asked(arguments.versions.as_deref(), arguments.offline, world)?,
            is_by_hand: false,
            recoveries,
            ceilings: BTreeMap::new(),
        };
        let mut planned = upgrade.planned(&found.joined.pins, base_name)?;
        for unmet in policies.unmet(&found.joined.pins) {
            ui.warn(&unmet);
        }
        tell_uncommitted(repository, &tree, &found.policies, ui);
        for remark in upgrade.published.remarks() {
            ui.warn(remark);
        }
        let unasked = unknown(&upgrade.published);
        if let Some(delivery) = &mut delivery {
            if !delivery.reached.is_default() {
                planned.for_base(base_name);
            }
            let held = (&mut planned.kept, &mut planned.staying);
            delivery.hold_back(&mut planned.changes, held, world.now)?;
        }
        if !common.dry_run && !planned.changes.is_empty() {
            check_room(repository, &planned.changes)?;
        }
        let author = Author::of(target, arguments.author.as_deref(), world)?;
        let rebuild = Rebuild::of(&policies.requests);
        let offer =
            |change: &Change| offer(repository, change, (base, rebuild), &author.commit(world));
        let is_whole = arguments.charts.is_empty()
            && arguments.environments.is_empty()
            && arguments.limit.is_none()
            && !upgrade.published.is_nobody();
        let is_all = is_whole && unasked.is_none();
        let (told, refused) = match &mut delivery {
            None => (offered(&planned.changes, common.dry_run, &offer)?, None),
            Some(delivery) => {
                let facts = Facts {
                    planned: &planned,
                    policies: &policies,
                    unasked: unasked.as_ref(),
                    is_whole,
                };
                delivered(delivery, repository, &facts, &offer, ui)?
            }
        };
        warn_left_alone(&told, ui);
        if is_all && delivery.is_none() {
            let planned = (planned.changes.as_slice(), &planned.staying, &policies);
            tell_old_offers(repository, base, planned, ui)?;
        }
        let is_new = |one: &Delivered<'_>| matches!(one.offered, Some(Offered::Created(_)));
        if told.iter().any(is_new) {
            author.tell(ui);
        }
        let problem = refused.or(unasked);
        let status = match &problem {
            Some(problem) => problem.status,
            None if arguments.exit_code && planned.is_newer => ExitStatus::Differences,
            None => ExitStatus::Done,
        };
        Ok(Outcome {
            status,
            text: shown(&told, &planned.kept, common, upgrade.published.is_nobody()),
            json: as_json(&told, &planned.kept, common),
            problem,
            lists: Vec::new(),
        })
    }
}

/// What a run found out.
struct Facts<'p, 'a> {
    planned: &'p Planned,
    policies: &'a Policies,
    /// What couldn't be asked about.
    unasked: Option<&'a Problem>,
    /// Whether all of the repository was looked at.
    is_whole: bool,
}

/// Delivers what was planned, takes away what nothing asks for any more, and lists all.
fn delivered<'c>(
    delivery: &mut Delivery<'_>,
    repository: &Repository,
    facts: &Facts<'c, '_>,
    offer: &dyn Fn(&Change) -> Result<Offered>,
    ui: &mut Ui,
) -> Result<(Vec<Delivered<'c>>, Option<Problem>)> {
    let Facts {
        planned, policies, ..
    } = facts;
    let (told, mut refused) = delivery.deliver(repository, &planned.changes, offer, ui)?;
    let wanted = Wanted {
        stays: &|key| planned.staying.contains(key),
        is_rejected: &|key, versions| policies.have_rejected(key, versions),
        // What was refused has no request that could take the place of an older one.
        is_all: facts.is_whole && facts.unasked.is_none() && refused.is_none(),
    };
    let left = delivery.tidy(repository, &told, &wanted, ui)?;
    refused = refused.or(left);
    if facts.is_whole {
        let unknown = facts.unasked.map(|problem| problem.message.lines().skip(1));
        let listed = Listed {
            delivered: &told,
            kept: &planned.kept,
            rejected: &policies.rejected(),
            unknown: &unknown
                .into_iter()
                .flatten()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        };
        refused = refused.or(delivery.dashboard(&listed, ui).err());
    }
    Ok((told, refused))
}

/// An environment that nobody knows would be nothing to do, silently.
fn check_environments(arguments: &UpgradeArgs, policies: &Policies) -> Result<()> {
    let known = policies.environments();
    let mut asked = arguments.environments.iter();
    match asked.find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let hint = if known.is_empty() {
                "`.haptic-scaffold.yaml` has none: `upgrade.environments` or the clusters of a fleet".to_owned()
            } else {
                format!("there are: {}", known.join(", "))
            };
            Err(Problem::usage(format!("there is no environment `{name}`"))
                .hint(hint)
                .into())
        }
    }
}

/// What pins can become: the facts of a run.
pub(super) struct Upgrade<'a, 'w> {
    arguments: &'a UpgradeArgs,
    repository: &'a Repository,
    base: Oid,
    tree: &'a dyn Tree,
    policies: &'a Policies,
    now: i64,
    env: &'a Env,
    pub(super) published: Published<'w>,
    /// Whether somebody moves one chart to one version: neither time nor order is waited for.
    is_by_hand: bool,
    /// Recoveries that aren't merged yet.
    recoveries: Vec<OldOffer>,
    /// What environments before leave, by chart, order and environment.
    ceilings: BTreeMap<(String, usize, Option<usize>), Ceiling>,
}

/// Bundles by what they are about, each with the place of its environment in the order.
type Bundles = BTreeMap<String, (usize, Bundle)>;

/// What came of all pins.
#[derive(Default)]
struct Planned {
    changes: Vec<Change>,
    kept: Vec<Kept>,
    /// Whether something is newer, whether it moves or not.
    is_newer: bool,
    /// Keys of what has something newer that stays: an older offer of it may be as good as ever.
    staying: BTreeSet<String>,
}

impl Planned {
    /// Makes all that was planned for another branch than the default one.
    fn for_base(&mut self, base: &str) {
        for change in &mut self.changes {
            bundle::for_base(change, base);
        }
        let staying = std::mem::take(&mut self.staying).into_iter();
        self.staying = staying
            .map(|key| bundle::key_for_base(&key, base))
            .collect();
    }
}

impl<'a, 'w> Upgrade<'a, 'w> {
    /// For pins that somebody moves to one version by hand: neither time nor order is waited for.
    pub(super) fn by_hand(arguments: &'a UpgradeArgs, facts: By<'a, 'w>) -> Self {
        Self {
            arguments,
            repository: facts.repository,
            base: facts.base,
            tree: facts.tree,
            policies: facts.policies,
            now: facts.world.now,
            env: &facts.world.env,
            published: facts.published,
            is_by_hand: true,
            recoveries: Vec::new(),
            ceilings: BTreeMap::new(),
        }
    }
}

/// What pins that are moved by hand are looked at with.
pub(super) struct By<'a, 'w> {
    pub(super) repository: &'a Repository,
    pub(super) base: Oid,
    pub(super) tree: &'a dyn Tree,
    pub(super) policies: &'a Policies,
    pub(super) world: &'a World,
    pub(super) published: Published<'w>,
}

impl Upgrade<'_, '_> {
    /// One change for each chart or group and environment that has something newer, and the pins that stay.
    fn planned(&mut self, pins: &[Pin], base: &str) -> Result<Planned> {
        let mut planned = Planned::default();
        let mut bundles = Bundles::new();
        let policies = self.policies;
        let groups = |subject: &Subject| match subject.what.named() {
            Some((name, address)) => {
                let rules = subject
                    .pins
                    .iter()
                    .map(|pin| policies.of(&pin.file).rule(name, &address));
                rules.filter_map(|rule| rule.group).collect()
            }
            None => BTreeSet::new(),
        };
        for subject in subjects::wanted(pins, self.arguments, &groups)? {
            let (mut has_moved, mut lower) = (false, None);
            for pin in &subject.pins {
                let stays = |why: String| Kept {
                    place: format!("{}:{}", pin.file, pin.line),
                    why,
                };
                let (next, group) = self.next(&subject, pin)?;
                let bundle = self.bundle(&mut bundles, &subject, group, pin);
                match next {
                    Next::Moves(moves) => {
                        has_moved = true;
                        bundle.moves.extend(moves);
                    }
                    Next::Stays(why) => {
                        planned.is_newer = true;
                        planned.staying.insert(bundle.key());
                        bundle.kept.push(stays(why));
                    }
                    Next::Told(why) => {
                        // What only waits may have been offered by hand.
                        planned.staying.insert(bundle.key());
                        bundle.kept.push(stays(why));
                    }
                    Next::IsHigher(problem) => {
                        bundle.kept.push(stays(problem.message.clone()));
                        lower = lower.or(Some(problem));
                    }
                    Next::Unknown => {
                        bundle.unknown.insert(subject.name.clone());
                    }
                    Next::Nothing => {}
                }
            }
            if let (false, Some(problem)) = (has_moved, lower) {
                return Err(problem.into());
            }
        }
        let mut bundles: Vec<(usize, Bundle)> = bundles.into_values().collect();
        bundles.sort_by(|(at, one), (other_at, other)| {
            (&one.name, at, &one.environment).cmp(&(&other.name, other_at, &other.environment))
        });
        for (_, bundle) in &mut bundles {
            planned.is_newer |= !bundle.moves.is_empty();
            self.plan(bundle, base, &mut planned);
            planned.kept.append(&mut bundle.kept);
        }
        if self.arguments.charts.is_empty() && self.arguments.environments.is_empty() {
            planned.kept.extend(homeless(pins));
        }
        Ok(planned)
    }

    /// The change of a bundle, if it has one.
    fn plan(&mut self, bundle: &mut Bundle, base: &str, planned: &mut Planned) {
        let most = self.arguments.limit.unwrap_or(usize::MAX);
        if bundle.moves.is_empty() {
            return;
        }
        let is_over = planned.changes.len() >= most;
        let mut stays = |why: String| {
            let place = bundle.name.clone();
            planned.kept.push(Kept { place, why });
            planned.staying.insert(bundle.key());
        };
        if is_over {
            return stays(format!("left out by `--limit {most}`"));
        }
        if bundle.is_group && !bundle.unknown.is_empty() {
            let names: Vec<&str> = bundle.unknown.iter().map(String::as_str).collect();
            return stays(format!(
                "a group moves as one, and not all of it could be asked about: {}",
                names.join(", ")
            ));
        }
        let sections = sections::of(&mut self.published, self.tree, self.env, bundle);
        // One file that can't be edited is no reason to leave the other charts.
        match plan(self.tree, bundle, &sections, base) {
            Ok(change) => planned.changes.push(change),
            Err(why) => stays(why.to_string()),
        }
    }

    /// The bundle that a pin belongs to.
    fn bundle<'b>(
        &self,
        bundles: &'b mut Bundles,
        subject: &Subject,
        group: Option<String>,
        pin: &Pin,
    ) -> &'b mut Bundle {
        let policy = self.policies.of(&pin.file);
        let environment = policy.environment(&pin.file);
        let bundle = Bundle {
            is_group: group.is_some(),
            name: group.unwrap_or_else(|| subject.name.clone()),
            environment: environment.map(|index| policy.environments[index].name.clone()),
            ..Bundle::default()
        };
        let entry = bundles.entry(bundle.key());
        &mut entry.or_insert((environment.unwrap_or_default(), bundle)).1
    }
}

/// Pins of charts that nobody can be asked about.
fn homeless(pins: &[Pin]) -> Vec<Kept> {
    let is_homeless =
        |pin: &&Pin| pin.kind == Kind::Chart && pin.effective && chart_of(pin).is_none();
    let told = pins.iter().filter(is_homeless).map(|pin| Kept {
        place: format!("{}:{}", pin.file, pin.line),
        why: match &pin.why {
            Some(why) => why.clone(),
            None => unplaced(pin).to_owned(),
        },
    });
    told.collect()
}
