//! What can be recovered: the pins of one chart, by the release and the environment that they are of.

use anyhow::Result;
use git2::{Oid, Repository};
use semver::Version;

use crate::command::pin_history::{Highest, highest};
use crate::command::pin_texts::version_of;
use crate::command::policies::Policies;
use crate::command::upgrade::next::counts;
use crate::command::upgrade::subjects::{Subject, charts};
use crate::error::Problem;
use crate::haptic;
use crate::layout::recorded;
use crate::model::repo_path::RepoPath;
use crate::model::tree::Tree;
use crate::pins::{Joined, Kind, Pin, Unread};
use crate::plan::release_values::{Described, describe};

/// So many places that couldn't be read are told where no pin is found.
const MOST_UNREAD: usize = 3;

/// The pins of one release in one environment.
pub(super) struct Unit {
    /// The environment, where the repository has some, and its place in the order.
    pub(super) environment: Option<(usize, String)>,
    /// The release wherever it is deployed, as far as the repository says it: once in each cluster of a stage.
    pub(super) described: Vec<Described>,
    /// Its pins.
    pub(super) pins: Vec<Pin>,
    /// The highest version that each of them has had, as far as it counts.
    pub(super) had: Vec<Option<Highest>>,
    /// Whether it is one of those that were asked for.
    pub(super) is_meant: bool,
    /// Whether other releases of the chart are in the same place, so that its name has to be said.
    pub(super) has_siblings: bool,
    /// Whether one of those has the same name in another namespace.
    pub(super) has_twin: bool,
}

/// How a unit stands to a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has it.
    Has,
    /// It had it, and is lower now: a downgrade in disguise.
    WentBack,
    /// It never had it.
    Below,
    /// It has a higher one.
    Above,
    /// It has no one version: a range, a digest, a branch.
    Open,
}

impl Unit {
    /// The lowest version of the pins that count.
    pub(super) fn version(&self) -> Option<Version> {
        let counts = self.pins.iter().filter(|pin| counts(pin, &self.pins));
        counts
            .filter_map(version_of)
            .min_by(Version::cmp_precedence)
    }

    /// How it stands to a version.
    pub(super) fn standing(&self, version: &Version) -> Standing {
        let Some(own) = self.version() else {
            return Standing::Open;
        };
        // One of several clusters may have it already.
        let mut counting = self.pins.iter().filter(|pin| counts(pin, &self.pins));
        let has =
            |pin: &Pin| version_of(pin).is_some_and(|own| own.cmp_precedence(version).is_eq());
        if counting.any(has) {
            return Standing::Has;
        }
        let went_back = || {
            let mut all = self.pins.iter().zip(&self.had);
            all.any(|(pin, had)| {
                let is_below = |own: Version| own.cmp_precedence(version).is_lt();
                let mut had = had.iter().flat_map(|had| &had.had);
                had.any(|had| had.cmp_precedence(version).is_eq())
                    && version_of(pin).is_some_and(is_below)
            })
        };
        match own.cmp_precedence(version) {
            std::cmp::Ordering::Equal => Standing::Has,
            std::cmp::Ordering::Greater => Standing::Above,
            std::cmp::Ordering::Less if went_back() => Standing::WentBack,
            std::cmp::Ordering::Less => Standing::Below,
        }
    }

    /// The highest version that any of the pins has had.
    pub(super) fn highest(&self) -> Option<&Highest> {
        let all = self.had.iter().flatten();
        all.max_by(|one, other| one.version.cmp_precedence(&other.version))
    }

    /// The environment's name.
    pub(super) fn place(&self) -> Option<&str> {
        self.environment.as_ref().map(|(_, name)| name.as_str())
    }

    /// What people call it.
    pub(super) fn name(&self) -> String {
        let file = self.pins.first().map(|pin| pin.file.to_string());
        let release = self.release();
        let release = release.map(|one| format!("the release `{one}`"));
        let name = release.unwrap_or_else(|| format!("`{}`", file.unwrap_or_default()));
        match self.place() {
            Some(place) => format!("{name} in `{place}`"),
            None => name,
        }
    }

    fn is_of(&self, named: &str) -> bool {
        self.described.iter().any(|one| is_called(one, named))
    }

    /// The release's name, with its namespace where another one has the name.
    pub(super) fn release(&self) -> Option<String> {
        let one = self.described.first()?;
        Some(match self.has_twin {
            true => format!("{}/{}", one.namespace, one.release),
            false => one.release.clone(),
        })
    }
}

/// Finds the chart that is meant.
///
/// # Errors
/// When there is none, or more than one.
pub(super) fn subject(
    tree: &dyn Tree,
    joined: &Joined,
    named: Option<&str>,
) -> Result<(Subject, Option<String>)> {
    let wanted = named.unwrap_or(haptic::CHART);
    let mut all = charts(&joined.pins);
    let is_it = |one: &Subject| one.is(wanted);
    let mut found: Vec<usize> = (0..all.len()).filter(|at| is_it(&all[*at])).collect();
    let mut release = None;
    if let (true, Some(named)) = (found.is_empty(), named) {
        for (at, one) in all.iter().enumerate() {
            if has_release(tree, one, named)? {
                found.push(at);
                release = Some(named.to_owned());
            }
        }
    }
    match found.as_slice() {
        [one] => Ok((all.swap_remove(*one), release)),
        [] => {
            let problem = none(&joined.pins, wanted, named);
            // One of them may be the pin.
            let unread = joined.unread.iter().take(MOST_UNREAD);
            Err(unread
                .fold(problem, |problem, one| {
                    let Unread { file, line, why } = one;
                    problem.hint(format!("not read: {file}:{line}: {why}"))
                })
                .into())
        }
        many => {
            let names: Vec<String> = many.iter().map(|at| all[*at].name.clone()).collect();
            Err(
                Problem::usage(format!("`{wanted}` is more than one chart here"))
                    .hint(format!("name one of them: {}", names.join(", ")))
                    .into(),
            )
        }
    }
}

fn has_release(tree: &dyn Tree, subject: &Subject, named: &str) -> Result<bool> {
    for pin in &subject.pins {
        let described = describe(tree, pin)?;
        if described.is_some_and(|one| is_called(&one, named)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether people call a release so: by its name, that of its object, or with its namespace.
fn is_called(described: &Described, named: &str) -> bool {
    let Described {
        release, namespace, ..
    } = described;
    release == named || described.owner.name == named || format!("{namespace}/{release}") == named
}

/// Why there is nothing to recover.
fn none(pins: &[Pin], wanted: &str, named: Option<&str>) -> Problem {
    // A chart whose source nobody knows has no address, and can't be looked up.
    let mut homeless = pins
        .iter()
        .filter(|pin| pin.kind == Kind::Chart && pin.chart.as_deref() == Some(wanted));
    if let Some(pin) = homeless.next() {
        let why = pin.why.clone();
        let why = why.unwrap_or_else(|| "it isn't known where the chart is published".to_owned());
        return Problem::invalid(format!(
            "the pin of `{wanted}` in {}:{} can't be moved: {why}",
            pin.file, pin.line
        ))
        .hint("move it by hand; `haptic-scaffold pins` shows all pins");
    }
    match named {
        Some(named) => Problem::usage(format!("no pin is of a chart or release `{named}`"))
            .hint("`haptic-scaffold pins` shows charts and pins"),
        None => Problem::invalid(format!(
            "there is no pin of the chart `{wanted}` in this repository"
        ))
        .hint("`haptic-scaffold pins` shows which charts there are: name one, haptic-scaffold recover CHART")
        .hint("`-C DIR` names another repository"),
    }
}

/// What a subject's units are looked up with.
pub(super) struct Look<'a> {
    pub(super) repository: &'a Repository,
    pub(super) base: Oid,
    pub(super) tree: &'a dyn Tree,
    pub(super) policies: &'a Policies,
    /// The files with answers, and their texts.
    pub(super) recorded: &'a [(RepoPath, String)],
}

/// The units of a chart, those that are meant first, and in the order of promotion. `release` and `cluster` say which are meant; of a cluster the others are
/// there too, since they may have the rejected version as well.
///
/// # Errors
/// When the repository can't be read, or no unit is meant.
pub(super) fn units(
    look: &Look<'_>,
    subject: &Subject,
    (release, cluster): (Option<&str>, Option<&str>),
) -> Result<Vec<Unit>> {
    let mut units: Vec<Unit> = Vec::new();
    let pins: Vec<&Pin> = subject.pins.iter().collect();
    let all = highest(look.repository, look.base, &pins)?;
    for (pin, highest) in pins.into_iter().zip(all) {
        let policy = look.policies.of(&pin.file);
        let environment = policy.environment(&pin.file);
        let environment = environment.map(|index| (index, policy.environments[index].name.clone()));
        let described = describe(look.tree, pin)?;
        let (environment, is_meant) = match cluster {
            None => (environment, true),
            Some(name) if is_only_cluster(look.recorded, pin, name) => (environment, true),
            Some(name) if is_in(pin, environment.as_ref(), name) => {
                let index = environment.map_or(0, |(index, _)| index);
                (Some((index, name.to_owned())), true)
            }
            Some(_) => (environment, false),
        };
        let highest = highest.filter(|_| counts(pin, &subject.pins));
        let is_same = |unit: &&mut Unit| {
            let id = |one: Option<&Described>| {
                one.map(|one| (one.release.clone(), one.namespace.clone()))
            };
            // A base, a patch or a variable describes no release by itself.
            let is_open = unit.described.is_empty() || described.is_none();
            let is_there = unit.environment == environment && unit.is_meant == is_meant;
            is_there && (is_open || id(unit.described.first()) == id(described.as_ref()))
        };
        match units.iter_mut().find(is_same) {
            Some(unit) => {
                unit.pins.push(pin.clone());
                let is_other = |new: &Described| {
                    let is = |known: &Described| {
                        (&known.owner, &known.layers) == (&new.owner, &new.layers)
                    };
                    !unit.described.iter().any(is)
                };
                let new = described.filter(is_other);
                unit.described.extend(new);
                unit.had.push(highest);
            }
            None => units.push(Unit {
                environment,
                described: described.into_iter().collect(),
                pins: vec![pin.clone()],
                had: vec![highest],
                is_meant,
                has_siblings: false,
                has_twin: false,
            }),
        }
    }
    // Whoever is meant: a release has the same name in every run.
    let id = |unit: &Unit| {
        let one = unit.described.first();
        one.map(|one| (one.release.clone(), one.namespace.clone()))
    };
    let ids: Vec<_> = units
        .iter()
        .map(|unit| (unit.environment.clone(), id(unit)))
        .collect();
    for unit in &mut units {
        let own = id(unit);
        let others = ids.iter().filter(|(place, _)| *place == unit.environment);
        let mut others = others.map(|(_, id)| id).filter(|id| **id != own).peekable();
        unit.has_siblings = others.peek().is_some();
        let name = own.as_ref().map(|(name, _)| name);
        unit.has_twin =
            name.is_some() && others.any(|other| other.as_ref().map(|(name, _)| name) == name);
    }
    if let Some(named) = release {
        for unit in &mut units {
            unit.is_meant &= unit.is_of(named);
        }
    }
    units.sort_by(|one, other| {
        let order = |unit: &Unit| (!unit.is_meant, unit.environment.clone());
        order(one).cmp(&order(other))
    });
    if !units.iter().any(|unit| unit.is_meant) {
        let name = cluster.or(release).unwrap_or_default();
        return Err(Problem::usage(format!(
            "no pin of `{}` is of a cluster or environment `{name}`",
            subject.name
        ))
        .hint("`haptic-scaffold pins` shows where they stand: a folder of that name, or an environment of `upgrade.environments`")
        .into());
    }
    Ok(units)
}

/// Whether a pin lies in a scaffold for this one cluster.
fn is_only_cluster(recorded: &[(RepoPath, String)], pin: &Pin, name: &str) -> bool {
    recorded.iter().any(|(path, text)| {
        let prefix = RepoPath::prefix(path.parent().as_ref());
        let recorded = recorded::parse(text, path.as_str()).ok();
        let clusters = recorded
            .and_then(|one| one.answers)
            .and_then(|one| one.clusters);
        let is_it = clusters.is_some_and(|all| match all.as_slice() {
            [one] => one.split('=').next() == Some(name),
            _ => false,
        });
        is_it && pin.file.as_str().starts_with(&prefix)
    })
}

/// Whether a pin is of a cluster or an environment.
fn is_in(pin: &Pin, environment: Option<&(usize, String)>, name: &str) -> bool {
    let folder = name.trim_matches('/');
    let below = pin.file.as_str().strip_prefix(folder);
    let is_below = below.is_some_and(|rest| rest.starts_with('/'));
    environment.is_some_and(|(_, own)| own == name)
        || is_below
        || pin.file.parts().any(|part| part == name)
}

/// The unit that failed, and those that have the rejected version too.
pub(super) struct Chosen {
    /// Its place.
    pub(super) first: usize,
    /// Others, in the order of promotion.
    pub(super) others: Vec<usize>,
    /// Why this one, where there was a choice.
    pub(super) why: Option<String>,
}

/// Chooses the unit that failed, where the cluster hasn't said it.
///
/// # Errors
/// When several releases could be meant.
pub(super) fn choose(units: &[Unit], version: &Version, known: Option<usize>) -> Result<Chosen> {
    let carries = |at: &usize| {
        matches!(
            units[*at].standing(version),
            Standing::Has | Standing::WentBack
        )
    };
    let carriers: Vec<usize> = (0..units.len()).filter(carries).collect();
    // Those that are meant come first.
    let has = |at: &&usize| units[**at].standing(version) == Standing::Has;
    let mut meant = carriers.iter().filter(|at| units[**at].is_meant);
    let first = meant.clone().find(has).or_else(|| meant.next());
    let first = match (known, first) {
        (Some(known), _) => known,
        (None, Some(first)) => *first,
        (None, None) => {
            let is_open =
                |at: &usize| units[*at].is_meant && units[*at].standing(version) != Standing::Above;
            (0..units.len()).find(is_open).unwrap_or(0)
        }
    };
    let mut others = carriers.clone();
    others.retain(|at| *at != first);
    let is_meant = |at: &&usize| units[**at].is_meant;
    let same: Vec<String> = others
        .iter()
        .filter(is_meant)
        .filter(|at| units[**at].environment == units[first].environment)
        .map(|at| units[*at].name())
        .collect();
    if known.is_none() && !same.is_empty() {
        return Err(Problem::usage(format!(
            "{version} is pinned by more than one release: {}, {}",
            units[first].name(),
            same.join(", ")
        ))
        .hint("name the release that was rejected: haptic-scaffold recover RELEASE")
        .hint("or have the cluster asked: `--context CONTEXT`")
        .into());
    }
    let why = (known.is_none() && others.iter().any(|at| units[*at].is_meant)).then(|| {
        format!(
            "{} comes first in the order of promotion of those that have {version}; `--cluster NAME` names another",
            units[first].name()
        )
    });
    Ok(Chosen { first, others, why })
}
