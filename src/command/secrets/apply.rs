//! `secrets apply`: creates in a cluster what is missing there, and never overwrites.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::Repo;
use crate::cli::Common;
use crate::cli::secrets::ApplyArgs;
use crate::cluster::{Cluster, Created, LiveSecret, NewSecret};
use crate::command::inputs::Inputs;
use crate::error::{ExitStatus, Problem};
use crate::haptic::gitops::NeededSecret;
use crate::layout::recorded::SecretsBy;
use crate::secrets::Material;
use crate::ui::{Outcome, Ui};
use crate::world::World;

/// Marks who made a Secret, as Kubernetes recommends.
const LABELS: [(&str, &str); 1] = [("app.kubernetes.io/managed-by", "haptic-scaffold")];

/// Looks at everything and checks every value before anything is made.
pub(super) fn run(
    arguments: &ApplyArgs,
    repo: &Repo,
    common: &Common,
    world: &World,
    ui: &mut Ui,
) -> Result<Outcome> {
    refuse_others(repo)?;
    let (name, context) = repo.context(&arguments.context)?;
    let cluster = Cluster::connect(&world.env, Some(context))?;
    let namespace = &repo.answers.namespace;
    let inputs = Inputs {
        arguments: &arguments.values,
        folder: &world.folder,
        repository: Some(repo.gathered.target.place()),
        next_ca: None,
        now: world.now,
        typed: std::cell::OnceCell::new(),
    };
    let mut missing = Vec::new();
    let mut told = Vec::new();
    for needed in &repo.profile.secrets {
        match cluster.secret(namespace, &needed.name)? {
            Some(live) => {
                refuse_incomplete(needed, &live, namespace)?;
                told.push((needed, "same"));
            }
            None => missing.push((needed, inputs.material(needed, &repo.answers, name)?)),
        }
    }
    if common.dry_run {
        told.extend(missing.iter().map(|(needed, _)| (*needed, "would-create")));
        return Ok(outcome(repo, name, context, &told));
    }
    let mut no_namespace = if missing.is_empty() {
        None
    } else {
        make_namespace(&cluster, namespace, ui)
    };
    for (needed, material) in &missing {
        let created = create(&cluster, namespace, needed, material);
        let made: Vec<&str> = told
            .iter()
            .filter(|(_, verdict)| *verdict == "created")
            .map(|(needed, _)| needed.name.as_str())
            .collect();
        if created.is_err() && !made.is_empty() {
            ui.notice(&format!("created before that: {}", made.join(", ")));
        }
        let verdict = created.map_err(|why| match no_namespace.take() {
            // Without the namespace no Secret can be made, so its reason comes first.
            Some(first) => Problem {
                message: format!("{}; {why}", first.message),
                ..first
            }
            .into(),
            None => why,
        })?;
        told.push((needed, verdict));
    }
    Ok(outcome(repo, name, context, &told))
}

/// Makes the namespace where that is allowed. Not everyone needs to: who may only make Secrets in one that is there is not held back, and
/// hears why it couldn't be made only if a Secret can't be made either.
fn make_namespace(cluster: &Cluster, namespace: &str, ui: &mut Ui) -> Option<Problem> {
    match cluster.create_namespace(namespace) {
        Ok(Created::Made) => ui.notice(&format!("the namespace {namespace} was created")),
        Ok(Created::WasThere) => {}
        Err(why) => {
            ui.detail(1, &why.to_string());
            return why.downcast().ok();
        }
    }
    None
}

fn create(
    cluster: &Cluster,
    namespace: &str,
    needed: &NeededSecret,
    material: &Material,
) -> Result<&'static str> {
    let values: Vec<_> = material
        .values
        .iter()
        .map(|(key, value)| (*key, value))
        .collect();
    let created = cluster.create_secret(&NewSecret {
        namespace,
        name: &needed.name,
        kind: needed.kind,
        values: &values,
        labels: &LABELS,
    })?;
    Ok(match created {
        Created::Made => "created",
        // Somebody else was faster: theirs stays.
        Created::WasThere => "same",
    })
}

/// Where something else makes the Secrets, one that is made by hand would be in its way.
fn refuse_others(repo: &Repo) -> Result<()> {
    let who = match repo.answers.secrets {
        SecretsBy::Manual if repo.profile.secrets.is_empty() => {
            return Err(Problem::invalid(format!(
                "the chart `{}` asks for no Secret",
                repo.answers.chart.name
            ))
            .into());
        }
        SecretsBy::Manual => return Ok(()),
        SecretsBy::Sops => "Flux makes them from Git",
        SecretsBy::SealedSecrets => {
            "the Sealed Secrets controller makes them from Git, and fails on a Secret that is there already"
        }
        SecretsBy::ExternalSecrets => {
            "External Secrets Operator makes them, and takes over a Secret that is there already"
        }
    };
    Err(Problem::invalid(format!(
        "nothing to create by hand with `secrets: {}`: {who}",
        repo.answers.secrets.as_str()
    ))
    .hint("`haptic-scaffold secrets list` says where each Secret comes from")
    .into())
}

fn refuse_incomplete(needed: &NeededSecret, live: &LiveSecret, namespace: &str) -> Result<()> {
    let lacking: Vec<&str> = needed
        .keys
        .iter()
        .copied()
        .filter(|key| !live.keys.contains(*key))
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Problem::invalid(format!(
        "the Secret `{}` is there and lacks {}; it isn't overwritten, and nothing was created",
        needed.name,
        lacking.join(", ")
    ))
    .hint(format!(
        "if nothing else needs it: kubectl delete secret {} --namespace {namespace}, then run the command again",
        needed.name
    ))
    .into())
}

fn outcome(repo: &Repo, cluster: &str, context: &str, told: &[(&NeededSecret, &str)]) -> Outcome {
    let mut text = String::new();
    for (needed, verdict) in told {
        let words = match *verdict {
            "same" => "is there already",
            "created" => "created",
            _ => "would be created",
        };
        text.push_str(&format!(
            "{}/{}: {words}\n",
            repo.answers.namespace, needed.name
        ));
    }
    let secrets: Vec<Value> = told
        .iter()
        .map(|(needed, verdict)| json!({"name": needed.name, "verdict": verdict}))
        .collect();
    Outcome {
        status: ExitStatus::Done,
        text,
        json: Map::from_iter([
            ("cluster".to_owned(), json!(cluster)),
            ("context".to_owned(), json!(context)),
            ("namespace".to_owned(), json!(repo.answers.namespace)),
            ("secrets".to_owned(), json!(secrets)),
        ]),
        problem: None,
        lists: Vec::new(),
    }
}
