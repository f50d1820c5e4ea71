//! What is left for people after `init`, as lines that can be typed.

use anyhow::Result;

use super::gather::Gathered;
use super::shell::quoted;
use crate::git::target::Target;
use crate::layout::answers::Answers;
use crate::layout::definition::Provider;
use crate::layout::profile::Profile;
use crate::layout::recorded::{SecretsBy, Sync};
use crate::model::git_url::GitUrl;
use crate::model::repo_path::RepoPath;
use crate::plan::change::Change;

/// What the next steps depend on.
pub struct NextSteps<'a> {
    /// The answers.
    pub answers: &'a Answers,
    /// What is known of the chart.
    pub profile: &'a Profile,
    /// What was there.
    pub gathered: &'a Gathered,
    /// What was done.
    pub change: &'a Change,
    /// The target as the person named it.
    pub place: &'a str,
    /// Whether the commit is left to the person.
    pub no_commit: bool,
}

impl NextSteps<'_> {
    /// The next steps in their order.
    ///
    /// # Errors
    /// When the repository can't be read.
    pub fn list(&self) -> Result<Vec<String>> {
        let mut steps = vec![if self.no_commit {
            format!(
                "look at the files and commit them: git -C {} status",
                self.here()
            )
        } else {
            self.push()
        }];
        if !self.profile.secrets.is_empty() && self.answers.secrets == SecretsBy::Manual {
            let names: Vec<&str> = self
                .profile
                .secrets
                .iter()
                .map(|secret| secret.name.as_str())
                .collect();
            let page = self.file(&self.answers.readme);
            steps.push(format!(
                "make {} in each cluster: {page} has the commands, under \"Before the first sync\"",
                names.join(", ")
            ));
        }
        match self.answers.provider {
            Provider::Argo => {
                steps.push(format!(
                    "kubectl patch configmap argocd-cm --namespace {} --type merge --patch-file {}",
                    self.answers.argocd_namespace,
                    self.file("argocd/health/argocd-cm.yaml")
                ));
                steps.push(format!(
                    "kubectl apply -f {}",
                    self.file("argocd/bootstrap/root.yaml")
                ));
            }
            Provider::Flux => {
                for cluster in &self.answers.clusters {
                    steps.extend(self.flux(&cluster.name)?);
                }
            }
        }
        Ok(steps)
    }

    fn flux(&self, cluster: &str) -> Result<Vec<String>> {
        let folder = format!("{}clusters/{cluster}", self.answers.prefix());
        if self.answers.sync == Sync::Own {
            return Ok(vec![format!(
                "in {cluster}: kubectl apply -f {}",
                self.file(&format!("clusters/{cluster}/sync.yaml"))
            )]);
        }
        let mut steps = Vec::new();
        if !self
            .gathered
            .found
            .clusters
            .iter()
            .any(|known| known == cluster)
        {
            steps.push(format!(
                "in {cluster}: flux bootstrap git --url {} --path {folder}",
                self.url()
            ));
        }
        // A kustomization file there lists what is applied, and would leave our file out.
        for name in ["kustomization.yaml", "kustomization.yml", "Kustomization"] {
            let path = RepoPath::parse(&format!("{folder}/{name}"))?;
            if self.gathered.target.tree()?.entry(&path)?.is_some() {
                steps.push(format!(
                    "add `- {}.yaml` to the resources of {path}, or nothing applies it",
                    self.answers.release
                ));
            }
        }
        Ok(steps)
    }

    fn push(&self) -> String {
        let here = self.here();
        match self.gathered.target.remote_name() {
            Some(remote) => format!(
                "git -C {here} push -u {} {}",
                quoted(&remote),
                self.change.branch
            ),
            None => format!(
                "git -C {here} remote add origin {} && git -C {here} push -u origin {}",
                self.url(),
                self.change.branch
            ),
        }
    }

    /// The repository's address, or a word for it where nobody has said it.
    fn url(&self) -> String {
        self.answers.repo_url.as_ref().map_or_else(
            || "YOUR-REPOSITORY".to_owned(),
            |url: &GitUrl| quoted(url.as_str()),
        )
    }

    fn here(&self) -> String {
        quoted(self.place)
    }

    /// A file below the scaffold, as it can be typed. A bare repository has no files: they are in a clone.
    fn file(&self, path: &str) -> String {
        let path = format!("{}{path}", self.answers.prefix());
        match &self.gathered.target {
            Target::Existing(repository) if repository.is_bare() => {
                format!("{} (in a clone)", quoted(&path))
            }
            _ if self.place == "." => quoted(&path),
            _ => quoted(&format!("{}/{path}", self.place.trim_end_matches('/'))),
        }
    }
}
