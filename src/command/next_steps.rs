//! What is left for people after `init`, as lines that can be typed.

use super::gather::Gathered;
use crate::git::apply::Applied;
use crate::layout::answers::Answers;
use crate::layout::definition::Provider;
use crate::layout::profile::Profile;
use crate::layout::recorded::Sync;

/// The next steps in their order.
pub fn next_steps(
    answers: &Answers,
    profile: &Profile,
    gathered: &Gathered,
    place: &str,
    applied: &Applied,
    no_commit: bool,
) -> Vec<String> {
    let prefix = answers.prefix();
    let mut steps = Vec::new();
    if no_commit {
        steps.push(format!(
            "look at the files and commit them: git -C {place} status"
        ));
    } else {
        steps.push(push(answers, gathered, place, applied));
    }
    if !profile.secrets.is_empty() {
        let names: Vec<&str> = profile
            .secrets
            .iter()
            .map(|secret| secret.name.as_str())
            .collect();
        steps.push(format!(
            "make {} in the cluster: the commands are in {prefix}README.md, \"Before the first sync\"",
            names.join(", ")
        ));
    }
    match answers.provider {
        Provider::Argo => {
            steps.push(format!(
                "kubectl patch configmap argocd-cm --namespace {} --type merge --patch-file {place}/{prefix}argocd/health/argocd-cm.yaml",
                answers.argocd_namespace
            ));
            steps.push(format!(
                "kubectl apply -f {place}/{prefix}argocd/bootstrap/root.yaml"
            ));
        }
        Provider::Flux => steps.extend(answers.clusters.iter().map(|cluster| {
            let folder = format!("{prefix}clusters/{}", cluster.name);
            match answers.sync {
                Sync::Own => format!(
                    "in {}: kubectl apply -f {place}/{folder}/sync.yaml",
                    cluster.name
                ),
                Sync::Bootstrap if gathered.found.clusters.contains(&cluster.name) => {
                    format!(
                        "in {}: nothing, flux bootstrap applies {folder}",
                        cluster.name
                    )
                }
                Sync::Bootstrap => format!(
                    "in {}: flux bootstrap git --url URL --path {folder}",
                    cluster.name
                ),
            }
        })),
    }
    steps
}

fn push(answers: &Answers, gathered: &Gathered, place: &str, applied: &Applied) -> String {
    let branch = applied.branch.as_deref().unwrap_or(&answers.branch);
    if gathered.target.remote_url().is_some() {
        return format!("git -C {place} push -u origin {branch}");
    }
    let url = answers.repo_url.as_ref().map_or("URL", |url| url.as_str());
    format!("git -C {place} remote add origin {url} && git -C {place} push -u origin {branch}")
}
