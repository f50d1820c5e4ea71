//! `secrets rotate`: another value for a Secret in Git. The steps to another CA are in `next_ca`.

use anyhow::Result;

use super::{Repo, next_ca};
use crate::cli::Common;
use crate::cli::init::InitArgs;
use crate::cli::secrets::{RotateArgs, Rotated};
use crate::command::init::{self, Rotation};
use crate::error::Problem;
use crate::haptic::gitops::NeededSecret;
use crate::layout::recorded::SecretsBy;
use crate::layout::render::Rendered;
use crate::plan::purpose::Purpose;
use crate::ui::{Outcome, Ui};
use crate::world::World;

/// Rotates one thing by one commit.
pub(super) fn run(
    arguments: &RotateArgs,
    path: Option<&str>,
    common: &Common,
    world: &World,
    ui: &mut Ui,
) -> Result<Outcome> {
    refuse_unused(arguments)?;
    let repo = Repo::open(path, common, world)?;
    let plan = match arguments.what {
        Rotated::Credentials => reseal("credentials", arguments, &repo)?,
        Rotated::Webhook => reseal("webhook", arguments, &repo)?,
        Rotated::Frontend => reseal("frontend", arguments, &repo)?,
        Rotated::WebhookCa => next_ca::next_step(arguments, &repo, world)?,
    };
    let init = InitArgs {
        path: path.map(str::to_owned),
        author: arguments.author.clone(),
        values: arguments.values.clone(),
        on_conflict: arguments.on_conflict,
        deliver: arguments.deliver.clone(),
        ..InitArgs::default()
    };
    let cluster = arguments.cluster.clone();
    let again = move |file: &Rendered| {
        file.secret.is_some()
            && file.secret == plan.reseals
            && cluster
                .as_ref()
                .is_none_or(|name| file.cluster.as_ref().is_none_or(|of| of == name))
    };
    init::rotate(
        &init,
        common,
        world,
        ui,
        &Rotation {
            purpose: plan.purpose,
            webhook_ca: plan.webhook_ca,
            webhook_ca_next: plan.webhook_ca_next,
            signed_by: plan.signed_by,
            again: &again,
            steps: plan.steps,
        },
    )
}

/// A flag that is given and not looked at would be taken for a check.
fn refuse_unused(arguments: &RotateArgs) -> Result<()> {
    let is_ca = arguments.what == Rotated::WebhookCa;
    let of_ca = [
        ("--webhook-ca", arguments.webhook_ca.is_some()),
        ("--step", arguments.step.is_some()),
        ("--context", !arguments.context.is_empty()),
    ];
    let refused = of_ca
        .iter()
        .filter(|_| !is_ca)
        .chain(&[(
            "--password-file",
            arguments.values.password_file.is_some() && arguments.what != Rotated::Credentials,
        )])
        .find(|(_, is_given)| *is_given)
        .map(|(flag, _)| *flag);
    match refused {
        None => Ok(()),
        Some(flag) => Err(
            Problem::usage(format!("`{flag}` has no meaning for what is rotated"))
                .hint("leave it out: haptic-scaffold secrets rotate --help says what it is for")
                .into(),
        ),
    }
}

/// One rotation, as one commit.
pub(super) struct Plan {
    pub(super) purpose: Purpose,
    pub(super) webhook_ca: Option<String>,
    pub(super) webhook_ca_next: Option<String>,
    pub(super) signed_by: Option<String>,
    pub(super) reseals: Option<&'static str>,
    pub(super) steps: Vec<String>,
}

pub(super) fn purpose(what: &str, subject: String, body: &str) -> Purpose {
    Purpose::Rotate {
        what: what.to_owned(),
        subject,
        body: body.to_owned(),
    }
}

/// Another value for a Secret that stands in Git.
fn reseal(short: &str, arguments: &RotateArgs, repo: &Repo) -> Result<Plan> {
    if let Some(name) = &arguments.cluster
        && repo
            .answers
            .clusters
            .iter()
            .all(|known| known.name != *name)
    {
        let known = repo
            .answers
            .clusters
            .iter()
            .map(|known| known.name.as_str());
        return Err(Problem::usage(format!("there is no cluster `{name}`"))
            .hint(format!(
                "the clusters are {}",
                known.collect::<Vec<_>>().join(", ")
            ))
            .into());
    }
    let Some(needed) = repo
        .profile
        .secrets
        .iter()
        .find(|needed| needed.short == short)
    else {
        if repo.profile.secrets.is_empty() {
            return Err(Problem::invalid(format!(
                "the chart `{}` asks for no Secret",
                repo.answers.chart.name
            ))
            .hint("`haptic-scaffold secrets list` says what a release needs")
            .into());
        }
        return Err(Problem::invalid(format!(
            "the release has no Secret for `{short}` that somebody makes: cert-manager makes its certificates"
        ))
        .hint("`haptic-scaffold secrets list` says what the release needs")
        .into());
    };
    if !repo.answers.seals() {
        return Err(elsewhere(repo, needed));
    }
    let steps = if short == "credentials" {
        vec!["where HAProxy pods still use the password (haproxy.agent.tls.enabled: false), replace them when the Secret has arrived".to_owned()]
    } else {
        Vec::new()
    };
    Ok(Plan {
        purpose: purpose(
            short,
            format!("Rotate {short} of {}", repo.answers.release),
            &format!(
                "The Secret {} gets another value: {}.",
                needed.name, needed.what
            ),
        ),
        webhook_ca: None,
        webhook_ca_next: repo.answers.webhook_ca_next.clone(),
        signed_by: None,
        reseals: Some(needed.short),
        steps,
    })
}

/// Values that don't stand in Git are replaced where they are.
fn elsewhere(repo: &Repo, needed: &NeededSecret) -> anyhow::Error {
    Problem::invalid(format!(
        "`{}` doesn't stand in Git (`secrets: {}`), so there is nothing to rotate here",
        needed.name,
        repo.answers.secrets.as_str()
    ))
    .hint(by_hand(repo, needed))
    .into()
}

/// How a value that doesn't stand in Git is replaced.
pub(super) fn by_hand(repo: &Repo, needed: &NeededSecret) -> String {
    let (namespace, name) = (&repo.answers.namespace, &needed.name);
    match (repo.answers.secrets, &repo.answers.secret_store) {
        (SecretsBy::ExternalSecrets, Some((kind, store))) => format!(
            "put the new value into {kind}/{store}; it arrives within an hour, or at once after: kubectl annotate externalsecret {name} --namespace {namespace} force-sync=\"$(date +%s)\" --overwrite"
        ),
        (SecretsBy::ExternalSecrets, None) => format!(
            "kubectl delete secret {name} --namespace {namespace} has the operator make another one"
        ),
        _ => format!(
            "kubectl delete secret {name} --namespace {namespace}, and at once:\n{}",
            needed.command
        ),
    }
}
