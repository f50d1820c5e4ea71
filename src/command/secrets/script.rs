//! `secrets script`: the kubectl lines for people who may not run the program against a cluster.

use serde_json::{Map, json};

use super::Repo;
use crate::error::ExitStatus;
use crate::layout::recorded::SecretsBy;
use crate::ui::Outcome;

/// Prints the lines. Values come from files and pipes, so that none is in the shell's history.
pub(super) fn run(repo: &Repo) -> Outcome {
    let namespace = &repo.answers.namespace;
    let mut lines = vec![format!("kubectl create namespace {namespace}")];
    let by_hand = repo.answers.secrets == SecretsBy::Manual;
    for secret in repo.profile.secrets.iter().filter(|_| by_hand) {
        lines.push(format!("# {}\n{}", secret.what, secret.command));
    }
    let text = if by_hand && !repo.profile.secrets.is_empty() {
        format!("{}\n", lines.join("\n\n"))
    } else {
        format!(
            "# nothing to make by hand: {}\n",
            match repo.answers.secrets {
                _ if repo.profile.secrets.is_empty() => "this chart asks for no Secret",
                SecretsBy::Sops => "the Secrets stand in Git, and Flux decrypts them",
                SecretsBy::SealedSecrets =>
                    "the Secrets stand in Git, and the Sealed Secrets controller opens them",
                SecretsBy::ExternalSecrets | SecretsBy::Manual =>
                    "External Secrets Operator makes them",
            }
        )
    };
    Outcome {
        status: ExitStatus::Done,
        json: Map::from_iter([("script".to_owned(), json!(text))]),
        text,
        problem: None,
        lists: Vec::new(),
    }
}
