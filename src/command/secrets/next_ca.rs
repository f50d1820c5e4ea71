//! The steps to another CA for the webhook.
//!
//! They are those of HAPTIC's operations page on webhook certificates: publish the old and the new CA, replace the certificate, drop the old CA. Each is
//! a commit of its own, since the cluster has to arrive at one before the next is safe: with a CA that doesn't fit, the API server refuses every change
//! of an Ingress. Where the rotation stands is read from the answers (`webhook_ca_next`) and from what the sealed files say of themselves.

use anyhow::Result;

use super::agreement::Agreement;
use super::rotate::{Plan, by_hand, purpose};
use super::{Repo, bundles};
use crate::cli::secrets::RotateArgs;
use crate::cluster::Cluster;
use crate::error::Problem;
use crate::haptic::names::Names;
use crate::layout::recorded::Certificates;
use crate::layout::render::outline;
use crate::model::pem::{self, ca_faults};
use crate::secrets::certificate::{Wanted, check_public, fingerprints, of_fingerprint};
use crate::world::World;

/// Which of the three steps is the next, and what it does.
pub(super) fn next_step(arguments: &RotateArgs, repo: &Repo, world: &World) -> Result<Plan> {
    let answers = &repo.answers;
    let Some(old) = answers
        .webhook_ca
        .as_deref()
        .filter(|_| answers.certificates == Some(Certificates::External))
    else {
        return Err(Problem::invalid("cert-manager makes the webhook's certificate and looks after its CA, so there is nothing to rotate here")
            .hint("`haptic-scaffold secrets list` says what the release needs")
            .into());
    };
    if arguments.cluster.is_some() {
        return Err(Problem::usage(
            "the CA stands in the values of all clusters, so it is rotated for all of them",
        )
        .hint("leave out `--cluster`")
        .into());
    }
    let given = arguments
        .webhook_ca
        .as_deref()
        .map(|file| read_ca(&world.folder.join(file), world.now))
        .transpose()?
        .map(|given| without(&given, old));
    let Some(next) = &answers.webhook_ca_next else {
        expect(arguments, 1)?;
        return publish_both(given);
    };
    if let Some(given) = given
        && given != *next
    {
        return Err(Problem::invalid("another rotation of the webhook's CA is under way, to another CA than the one that is given")
            .hint("finish it first: leave out `--webhook-ca`")
            .into());
    }
    refuse_other_bundle(repo)?;
    let arrived = repo.connect(&arguments.context, world)?;
    if is_replaced(repo, next, &arrived, world)? {
        expect(arguments, 3)?;
        return Ok(drop_old(next));
    }
    expect(arguments, 2)?;
    replace(repo, next, &arrived)
}

/// What the answers say of the CAs has to stand in the values too: somebody may have taken it back since.
fn refuse_other_bundle(repo: &Repo) -> Result<()> {
    let cas = repo.answers.webhook_cas().unwrap_or_default();
    let tree = repo.gathered.target.tree()?;
    let outlines = outline(&repo.catalog, &repo.layout, &repo.answers)?;
    let wrong = bundles::find(tree.as_ref(), &outlines, &cas)?;
    match wrong.first() {
        None => Ok(()),
        Some(wrong) => Err(Problem::invalid(format!(
            "{}:{}: {}",
            wrong.file, wrong.line, wrong.says
        ))
        .hint(format!(
            "put both CAs there again and commit it, then run the command again: caBundle: {}",
            pem::bundle(&cas)
        ))
        .into()),
    }
}

/// A step that isn't the next one is refused: the steps are only safe in their order.
fn expect(arguments: &RotateArgs, next: u8) -> Result<()> {
    match arguments.step {
        Some(step) if step != next => Err(Problem::invalid(format!(
            "the next step is {next}, not {step}: 1 publishes both CAs, 2 replaces the certificate, 3 drops the old CA"
        ))
        .hint("run it without `--step`, and let each step arrive in the cluster before the next")
        .into()),
        _ => Ok(()),
    }
}

fn read_ca(path: &std::path::Path, now: i64) -> Result<String> {
    let shown = path.display();
    let text = crate::command::files::read_text(path)?;
    let ca = pem::certificates(&text)
        .map_err(|why| Problem::invalid(format!("cannot use `{shown}`: {why}")))?;
    if let Some(fault) = ca_faults(&ca, now).first() {
        return Err(
            Problem::invalid(format!("cannot use `{shown}` as a CA: {fault}"))
                .hint("give the file of the CA that signs the new certificate")
                .into(),
        );
    }
    Ok(ca)
}

/// The CAs of a file that are not among the old ones: teams hand over both in one file, and the last step has to drop the old one.
fn without(given: &str, old: &str) -> String {
    let old = fingerprints(old);
    let is_new = |digest: &String| !old.contains(digest);
    let new = fingerprints(given).into_iter().filter(is_new);
    new.map(|digest| of_fingerprint(given, &digest)).collect()
}

fn publish_both(given: Option<String>) -> Result<Plan> {
    let next = given.ok_or_else(|| {
        Problem::usage("nothing says which CA comes next")
            .hint("add `--webhook-ca FILE`, the PEM file of the new CA")
    })?;
    if next.is_empty() {
        return Err(Problem::invalid("the CA that is given is the one that is in use already")
            .hint("`haptic-scaffold secrets rotate webhook` takes another certificate of the same CA")
            .into());
    }
    Ok(Plan {
        purpose: purpose(
            "webhook-ca 1",
            "Publish the webhook's next CA beside the old one".to_owned(),
            "Step 1 of 3. The API server trusts both from now on; the certificate is still of the old one.",
        ),
        webhook_ca: None,
        webhook_ca_next: Some(next),
        signed_by: None,
        reseals: None,
        steps: vec![
            "let it arrive in every cluster: the release is synced, and the caBundle of its ValidatingWebhookConfiguration has both".to_owned(),
            "then: haptic-scaffold secrets rotate webhook-ca --step 2 --secret-files DIR, with a certificate of the new CA in DIR/webhook.crt and its key in DIR/webhook.key".to_owned(),
        ],
    })
}

/// Whether every cluster has a certificate of the next CA: in Git where it stands there, else in the cluster.
fn is_replaced(
    repo: &Repo,
    next: &str,
    arrived: &[(String, Cluster)],
    world: &World,
) -> Result<bool> {
    let wanted = fingerprints(next);
    if repo.answers.seals() {
        let agreement = Agreement::of(repo, world.now)?;
        for outline in outline(&repo.catalog, &repo.layout, &repo.answers)?
            .iter()
            .filter(|outline| outline.rule.sealed && outline.secret == Some("webhook"))
        {
            let facts = agreement.described(&outline.path)?.and_then(|d| d.facts);
            if !facts
                .and_then(|facts| facts.ca)
                .is_some_and(|ca| wanted.contains(&ca))
            {
                return Ok(false);
            }
        }
        for (name, cluster) in arrived {
            if !has_next(repo, next, cluster, world)? {
                return Err(not_yet(name, "the Secret with the new certificate"));
            }
        }
        return Ok(true);
    }
    for known in &repo.answers.clusters {
        let Some((_, cluster)) = arrived.iter().find(|(name, _)| *name == known.name) else {
            return Ok(false);
        };
        if !has_next(repo, next, cluster, world)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the live Secret has a certificate of the next CA.
fn has_next(repo: &Repo, next: &str, cluster: &Cluster, world: &World) -> Result<bool> {
    use secrecy::ExposeSecret as _;
    let answers = &repo.answers;
    let names = Names::of(&answers.release, &answers.namespace);
    let secret = names.gitops_secrets().webhook;
    let Some(live) = cluster.secret(&answers.namespace, &secret)? else {
        return Ok(false);
    };
    let wanted = Wanted {
        host: Some(&names.webhook_host),
        ca: Some(next),
        now: world.now,
    };
    Ok(live
        .values
        .get("tls.crt")
        .is_some_and(|chain| check_public(chain.expose_secret(), &wanted).is_ok()))
}

fn not_yet(cluster: &str, what: &str) -> anyhow::Error {
    Problem::invalid(format!(
        "{what} has not arrived in `{cluster}`, so the next step would break its webhook"
    ))
    .hint("wait until the controller has applied the newest commit, then run the command again")
    .into()
}

fn replace(repo: &Repo, next: &str, arrived: &[(String, Cluster)]) -> Result<Plan> {
    let answers = &repo.answers;
    let names = Names::of(&answers.release, &answers.namespace);
    let wanted = fingerprints(next);
    for (name, cluster) in arrived {
        let bundles = cluster.webhook_bundles(&answers.namespace, &names.webhook_service)?;
        let has = |bundle: &Vec<u8>| {
            let here = fingerprints(&String::from_utf8_lossy(bundle));
            wanted.iter().all(|ca| here.contains(ca))
        };
        if bundles.is_empty() || !bundles.iter().all(has) {
            return Err(not_yet(name, "the caBundle with the new CA"));
        }
    }
    if !answers.seals() {
        let names: Vec<&str> = answers.clusters.iter().map(|c| c.name.as_str()).collect();
        let webhook = repo
            .profile
            .secrets
            .iter()
            .find(|needed| needed.short == "webhook");
        return Err(Problem::invalid(format!(
            "step 2 replaces the certificate, which doesn't stand in Git here, and step 3 wants to see that it was replaced in {}",
            names.join(", ")
        ))
        .hint(format!(
            "make sure that the caBundle with both CAs has arrived; then {}",
            webhook.map(|needed| by_hand(repo, needed)).unwrap_or_default()
        ))
        .hint("then, for step 3: haptic-scaffold secrets rotate webhook-ca --context CONTEXT (CLUSTER=CONTEXT for each of several)")
        .into());
    }
    Ok(Plan {
        purpose: purpose(
            "webhook-ca 2",
            "Replace the webhook's certificate by one of the next CA".to_owned(),
            "Step 2 of 3. The API server trusts both CAs; the old one is no longer needed when this has arrived.",
        ),
        webhook_ca: None,
        webhook_ca_next: Some(next.to_owned()),
        signed_by: Some(next.to_owned()),
        reseals: Some("webhook"),
        steps: vec![
            "let it arrive in every cluster: the Secret has the new certificate, and the controller serves it".to_owned(),
            "then: haptic-scaffold secrets rotate webhook-ca --step 3".to_owned(),
        ],
    })
}

fn drop_old(next: &str) -> Plan {
    Plan {
        purpose: purpose(
            "webhook-ca 3",
            "Drop the webhook's old CA".to_owned(),
            "Step 3 of 3. The API server trusts the new CA alone.",
        ),
        webhook_ca: Some(next.to_owned()),
        webhook_ca_next: Some(String::new()),
        signed_by: None,
        reseals: None,
        steps: Vec::new(),
    }
}
