//! Keys that are made here: an age key for SOPS, and certificates for a trial. Always in new files outside of every repository.

use std::path::Path;

use age::secrecy::ExposeSecret as _;
use anyhow::{Context as _, Result};
use serde_json::{Map, json};

use super::Repo;
use crate::cli::Common;
use crate::cli::secrets::TrialArgs;
use crate::command::inputs::{refuse_repository, write_new, write_private};
use crate::command::shell::quoted;
use crate::error::{ExitStatus, Problem};
use crate::haptic;
use crate::haptic::names::Names;
use crate::secrets::certificate::date;
use crate::secrets::{SecretBytes, trial};
use crate::ui::Outcome;
use crate::world::World;

/// Makes an age key, and says how it gets into the cluster.
pub(super) fn age_key(file: &Path, common: &Common, world: &World) -> Result<Outcome> {
    let path = world.folder.join(file);
    refuse_repository(&path)?;
    let identity = age::x25519::Identity::generate();
    let recipient = identity.to_public().to_string();
    if !common.dry_run {
        let text = zeroize::Zeroizing::new(format!(
            "# created: {}\n# public key: {recipient}\n{}\n",
            date(world.now),
            identity.to_string().expose_secret()
        ));
        write_private(&path, &SecretBytes::from(text.as_bytes().to_vec()))?;
    }
    let shown = quoted(&file.display().to_string());
    let command = format!(
        "kubectl create secret generic sops-age --namespace flux-system --from-file=age.agekey={shown}"
    );
    let text = if common.dry_run {
        format!("would make an age key in {shown}\n")
    } else {
        format!(
            "{recipient}\n\nThe private key is in {shown}. Who has it can read every Secret that is encrypted for it: keep a copy where the team keeps such things.\n\nnext:\n  1. in each cluster: {command}\n  2. haptic-scaffold init --secrets sops --age-recipients {recipient}\n"
        )
    };
    let text = if common.quiet && !common.dry_run {
        format!("{recipient}\n")
    } else {
        text
    };
    let recipient = (!common.dry_run).then_some(recipient);
    Ok(done(
        text,
        [
            ("file", json!(file)),
            ("recipient", json!(recipient)),
            ("command", json!(command)),
        ],
    ))
}

/// Makes a CA, a certificate for the webhook and one for the front, under the names that `--secret-files` looks for.
pub(super) fn trial(
    arguments: &TrialArgs,
    path: Option<&str>,
    common: &Common,
    world: &World,
) -> Result<Outcome> {
    // Where a repository was named it has to be there; where none was, the one around may say the names.
    let repo = match Repo::open(path, common, world) {
        Err(why) if path.is_some() || common.directory.is_some() => return Err(why),
        opened => opened.ok(),
    };
    let answers = repo.as_ref().map(|repo| &repo.answers);
    let release = arguments
        .release
        .as_deref()
        .or(answers.map(|answers| answers.release.as_str()))
        .unwrap_or(haptic::CHART);
    let namespace = arguments
        .namespace
        .as_deref()
        .or(answers.map(|answers| answers.namespace.as_str()))
        .unwrap_or(release);
    let names = Names::of(release, namespace);
    let webhook = [names.webhook_host.as_str()];
    let wild = format!("*.{}", arguments.frontend_host);
    let frontend = [arguments.frontend_host.as_str(), wild.as_str()];
    let made = trial::make(&[&webhook, &frontend], arguments.days, world.now).map_err(|why| {
        Problem::invalid(format!("cannot make certificates: {why}"))
            .hint("hosts are DNS names, such as haptic-webhook.haptic.svc")
    })?;
    let folder = world.folder.join(&arguments.dir);
    // Folders are made on the way, so what counts is the first that is there.
    let there = folder.ancestors().find(|above| above.exists());
    refuse_repository(&there.unwrap_or(&folder).join("webhook.key"))?;
    let public = |name: &str| folder.join(format!("{name}.crt"));
    let private = |name: &str| folder.join(format!("{name}.key"));
    let issued = [
        ("webhook-ca", &made.ca),
        ("webhook", &made.leaves[0]),
        ("frontend", &made.leaves[1]),
    ];
    for (name, _) in issued {
        for file in [public(name), private(name)] {
            if file.symlink_metadata().is_ok() {
                return Err(Problem::invalid(format!(
                    "`{}` is there already, and a key is never overwritten",
                    file.display()
                ))
                .hint("name another folder")
                .into());
            }
        }
    }
    if !common.dry_run {
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
        for (name, issued) in issued {
            write_private(&private(name), &issued.key)?;
            write_new(&public(name), issued.certificate.as_bytes(), false)?;
        }
    }
    let end = date(world.now + i64::from(arguments.days) * 86_400);
    let shown = quoted(&arguments.dir.display().to_string());
    let verb = if common.dry_run { "would make" } else { "made" };
    let text = format!(
        "{verb} in {shown}: webhook-ca, webhook ({}) and frontend ({}), each .crt and .key\n\nThey are for a trial and end on {end}. For production take certificates of your CA, or cert-manager.\n\nnext:\n  haptic-scaffold init --certificates external --secret-files {shown}\n",
        names.webhook_host, arguments.frontend_host
    );
    let text = if common.quiet { String::new() } else { text };
    Ok(done(
        text,
        [
            ("folder", json!(arguments.dir)),
            ("webhook_host", json!(names.webhook_host)),
            ("not_after", json!(end)),
        ],
    ))
}

fn done<const N: usize>(text: String, json: [(&str, serde_json::Value); N]) -> Outcome {
    Outcome {
        status: ExitStatus::Done,
        text,
        json: json
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect::<Map<_, _>>(),
        problem: None,
        lists: Vec::new(),
    }
}
