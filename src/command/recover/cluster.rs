//! What a cluster says of a release: read, never changed.

use anyhow::Result;
use semver::Version;
use serde_json::Value;

use super::evidence::is_of;
use super::units::{Standing, Unit};
use super::verdict::Verdict;
use super::{Facts, Run};
use crate::cluster::{Cluster, Resource};
use crate::error::{ExitStatus, Problem, Report};
use crate::haptic;
use crate::haptic::names::{CRD_UPGRADE_COMPONENT, PRE_ROLLOUT_SUFFIX};
use crate::haptic::rejection::names;
use crate::observe::job::{JobPhase, JobState, job};
use crate::observe::{JobName, Phase, State, argo, flux};
use crate::plan::recover::Rejection;
use crate::plan::release_values::{Controller, Described, Owner};
use crate::ui::Ui;

/// So many lines of a log are asked for.
const MOST_LINES: u32 = 400;

/// What a cluster says of a chart's releases.
pub(super) enum Seen {
    /// A release was rejected: that of this unit.
    Rejected(Box<Rejection>, usize),
    /// Nothing is: this version runs.
    Live(Version),
}

/// A release as it is looked for in a cluster.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    pub(super) owner: Owner,
    pub(super) release: String,
    pub(super) namespace: String,
    /// Its values, where all of them are known.
    pub(super) values: Option<Value>,
}

/// A release as it was found.
pub(super) struct View {
    pub(super) seat: Seat,
    pub(super) state: State,
    /// Why the chart can't be had, where its source says so.
    pub(super) no_chart: Option<String>,
    /// What Argo CD says of the hook that failed.
    pub(super) hook_says: Option<String>,
    /// Whether the Job is in another cluster.
    pub(super) is_elsewhere: bool,
    /// The Job that judges it, where it is there and in this cluster.
    pub(super) job: Option<(JobName, JobState)>,
    /// The end of its log.
    pub(super) log: Option<String>,
    /// Whether what has its name is the hook of the CRDs: long names are cut to the same one.
    pub(super) is_of_crds: bool,
}

impl Seat {
    /// Where a unit's release is: one place for each cluster of its stage, as far as their objects have other names.
    pub(super) fn all(unit: &Unit) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for seat in unit.described.iter().map(Self::of) {
            if !all.iter().any(|known| known.owner == seat.owner) {
                all.push(seat);
            }
        }
        all
    }

    fn of(described: &Described) -> Self {
        let default = match described.owner.controller {
            Controller::Flux => "flux-system",
            Controller::Argo => "argocd",
        };
        let namespace = match described.owner.namespace.as_str() {
            "" => default,
            namespace => namespace,
        };
        Self {
            owner: Owner {
                namespace: namespace.to_owned(),
                ..described.owner.clone()
            },
            release: described.release.clone(),
            namespace: described.namespace.clone(),
            values: described.values.clone(),
        }
    }

    /// The Job by which HAPTIC judges it. Where not all of its values are known, its name may be another one: then that which the controller names counts.
    pub(super) fn judge(&self, failed: &[JobName]) -> JobName {
        let values = self.values.clone().unwrap_or_default();
        let own = JobName {
            namespace: Some(self.namespace.clone()),
            name: names(&self.release, &self.namespace, &values).pre_rollout_job,
        };
        if self.values.is_some() || failed.iter().any(|one| one.name == own.name) {
            return own;
        }
        let named = failed
            .iter()
            .find(|one| one.name.ends_with(PRE_ROLLOUT_SUFFIX));
        match named {
            Some(named) => JobName {
                name: named.name.clone(),
                ..own
            },
            None => own,
        }
    }

    /// Its kind.
    pub(super) fn kind(&self) -> &'static str {
        match self.owner.controller {
            Controller::Flux => "HelmRelease",
            Controller::Argo => "Application",
        }
    }

    /// What people call it.
    pub(super) fn name(&self) -> String {
        format!(
            "the {} {}/{}",
            self.kind(),
            self.owner.namespace,
            self.owner.name
        )
    }
}

/// Looks at one release; nothing where the cluster doesn't have it.
///
/// # Errors
/// When the cluster can't be asked, or refuses.
pub(super) fn view(cluster: &Cluster, seat: &Seat, chart: &str) -> Result<Option<View>> {
    let Owner {
        controller,
        namespace,
        name,
    } = &seat.owner;
    let resource = match controller {
        Controller::Flux => Resource::HELM_RELEASE,
        Controller::Argo => Resource::APPLICATION,
    };
    let Some(object) = cluster.object(&resource, namespace, name)? else {
        return Ok(None);
    };
    let mut state = match controller {
        Controller::Flux => flux::helm_release(&object),
        Controller::Argo => argo::application(&object, chart),
    };
    let source = match controller {
        Controller::Flux => source(cluster, &object)?,
        Controller::Argo => None,
    };
    if let Some(source) = &source {
        state.wanted = state.wanted.or(source.wanted.clone());
    }
    let mut view = View {
        seat: seat.clone(),
        state,
        no_chart: source
            .filter(|source| !source.has_wanted())
            .and_then(|source| source.failure),
        hook_says: None,
        is_elsewhere: *controller == Controller::Argo && is_elsewhere(&object),
        job: None,
        log: None,
        is_of_crds: false,
    };
    if *controller == Controller::Argo {
        view.hook_says = argo::hook_says(&object, view.judge(chart).map(|one| one.name).as_deref());
    }
    // What runs needs no Job to say so, and in another cluster there is another Job.
    if view.state.phase != Phase::Live && !view.is_elsewhere {
        view.look_at_job(cluster, chart)?;
    }
    Ok(Some(view))
}

/// What Flux's source of the chart says: a HelmRelease says nothing of a version that can't be had for a long while.
fn source(cluster: &Cluster, object: &Value) -> Result<Option<flux::Source>> {
    let Some(name) = flux::chart_source(object) else {
        return Ok(None);
    };
    let resource = match name.kind.as_str() {
        "HelmChart" => Resource::HELM_CHART,
        "OCIRepository" => Resource::OCI_REPOSITORY,
        _ => return Ok(None),
    };
    let found = cluster.object(&resource, &name.namespace, &name.name)?;
    Ok(found.as_ref().map(flux::source))
}

/// Whether an Application is for another cluster than the one that it lies in.
fn is_elsewhere(object: &Value) -> bool {
    let text = |key: &str| {
        let found = object.pointer(&format!("/spec/destination/{key}"));
        found.and_then(Value::as_str).unwrap_or_default()
    };
    !matches!(text("server"), "" | "https://kubernetes.default.svc")
        || !matches!(text("name"), "" | "in-cluster")
}

impl View {
    /// The Job that judges: HAPTIC's by its name; of other charts the one that is said to have failed.
    fn judge(&self, chart: &str) -> Option<JobName> {
        if chart != haptic::CHART {
            return self.state.jobs.first().cloned();
        }
        Some(self.seat.judge(&self.state.jobs))
    }

    /// Looks at it, and at its log where it refused something.
    fn look_at_job(&mut self, cluster: &Cluster, chart: &str) -> Result<()> {
        let Some(name) = self.judge(chart) else {
            return Ok(());
        };
        let namespace = name.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| self.seat.namespace.clone());
        let Some(object) = cluster.object(&Resource::JOB, &namespace, &name.name)? else {
            return Ok(());
        };
        if chart == haptic::CHART && is_of(CRD_UPGRADE_COMPONENT, &object) {
            self.is_of_crds = true;
            return Ok(());
        }
        let selector = format!("job-name={}", name.name);
        let pods = cluster.objects(&Resource::POD, Some(&namespace), Some(&selector))?;
        let state = job(&object, &pods.unwrap_or_default());
        if let (JobPhase::Rejected, Some(pod)) = (&state.state, &state.pod) {
            let log = cluster.log(&namespace, pod, state.container.as_deref(), MOST_LINES)?;
            self.log = log.or_else(|| state.message.clone());
        }
        self.job = Some((
            JobName {
                namespace: Some(namespace),
                ..name
            },
            state,
        ));
        Ok(())
    }
}

/// Looks for a rejection of a chart in a cluster.
///
/// # Errors
/// When the cluster can't be asked, has no such release, rejected nothing, or rejected more than one that is meant.
pub(super) fn look(run: &Run<'_>, facts: &Facts<'_>, context: &str, ui: &mut Ui) -> Result<Seen> {
    let cluster =
        Cluster::connect(&run.world.env, Some(context)).map_err(|why| without_it(&why))?;
    ui.detail(1, &format!("asking the cluster of context `{context}`"));
    let chart = chart_name(facts);
    let mut seen: Vec<(usize, Verdict)> = Vec::new();
    let mut looked_for = Vec::new();
    for (at, unit) in facts.units.iter().enumerate() {
        for seat in Seat::all(unit) {
            looked_for.push(seat.name());
            if let Some(view) = view(&cluster, &seat, &chart).map_err(|why| without_it(&why))? {
                seen.push((at, view.verdict(&chart)));
            }
        }
    }
    looked_for.sort();
    looked_for.dedup();
    if seen.is_empty() {
        let what = match looked_for.is_empty() {
            true => format!(
                "no manifest in this repository says what deploys `{}`, so the cluster can't be asked about it",
                facts.subject.name
            ),
            false => format!(
                "the cluster of context `{context}` has none of {}",
                looked_for.join(", ")
            ),
        };
        return Err(Problem::invalid(what)
            .hint("name the cluster's context: kubectl config get-contexts")
            .hint("or give what is known: `--job-log FILE`, `--rejected VERSION`")
            .into());
    }
    chosen(facts, seen)
}

/// A cluster that can't be asked is no reason to stay where one is.
fn without_it(why: &anyhow::Error) -> anyhow::Error {
    // Whatever kept it from being asked: that isn't what a release that wasn't rejected ends with.
    let problem = Problem {
        status: ExitStatus::Remote,
        ..Problem::from(Report::of(why))
    };
    problem
        .hint("without the cluster: `--job-log FILE`, or `--rejected VERSION`, and no `--context`")
        .into()
}

/// The rejection that is meant.
fn chosen(facts: &Facts<'_>, seen: Vec<(usize, Verdict)>) -> Result<Seen> {
    let mut rejected = Vec::new();
    let (mut live, mut not) = (None, None);
    for (at, verdict) in seen {
        match verdict {
            Verdict::Rejected(rejection) => rejected.push((at, rejection)),
            Verdict::Live(version) => live = live.or(Some(version)),
            Verdict::Not(problem) => not = not.or(Some(problem)),
        }
    }
    if rejected.len() > 1 {
        // Flux's objects have the same names in every cluster of a fleet: what stands in Git tells them apart.
        let carries = |(at, rejection): &(usize, Box<Rejection>)| {
            let standing = facts.units[*at].standing(&rejection.version);
            matches!(standing, Standing::Has | Standing::WentBack)
        };
        if rejected.iter().any(carries) {
            rejected.retain(carries);
        }
        // Of several clusters of one stage that reject the same version one is enough: they move together.
        let first = (rejected[0].0, rejected[0].1.version.clone());
        if rejected
            .iter()
            .all(|(at, one)| (*at, &one.version) == (first.0, &first.1))
        {
            rejected.truncate(1);
        }
    }
    match (rejected.len(), live, not) {
        (1, ..) => {
            let (at, rejection) = rejected.remove(0);
            Ok(Seen::Rejected(rejection, at))
        }
        (0, _, Some(problem)) => Err(problem.into()),
        (0, Some(live), None) => Ok(Seen::Live(live)),
        (0, None, None) => Err(Problem::failed("the cluster said nothing").into()),
        _ => {
            let names: Vec<String> = rejected
                .iter()
                .map(|(at, _)| facts.units[*at].name())
                .collect();
            Err(Problem::usage(format!(
                "more than one release was rejected, or could be: {}",
                names.join(", ")
            ))
            .hint("name one: haptic-scaffold recover RELEASE, or `--cluster NAME` for a cluster of a fleet")
            .into())
        }
    }
}

/// The chart's own name.
pub(super) fn chart_name(facts: &Facts<'_>) -> String {
    match facts.subject.what.named() {
        Some((name, _)) => name.to_owned(),
        None => facts.subject.name.clone(),
    }
}

/// Why nothing is to be recovered where everything runs.
pub(super) fn not_rejected(version: &Version, facts: &Facts<'_>) -> Problem {
    let pinned = facts.units.iter().filter_map(Unit::version).max();
    let ahead = pinned.filter(|pinned| pinned.cmp_precedence(version).is_gt());
    if let Some(pinned) = ahead {
        return Problem::invalid(format!(
            "nothing was rejected: `{}` {version} is live, and {pinned}, which stands in Git, hasn't been tried there yet",
            facts.subject.name
        ))
        .hint("the controller comes to it by itself, and `recover --watch --context CONTEXT` follows it; the request's text says how to have it look now");
    }
    Problem::invalid(format!(
        "nothing was rejected: `{}` {version} is live",
        facts.subject.name
    ))
    .hint(format!(
        "to move on to a newer version: haptic-scaffold upgrade {}",
        facts.subject.name
    ))
}
