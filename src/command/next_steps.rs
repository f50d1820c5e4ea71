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
use crate::plan::change::{Change, Verdict};

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
    /// Whether the commit is pushed.
    pub is_pushed: bool,
}

impl NextSteps<'_> {
    /// The next steps in their order: only what this change asks for. Nothing where it wrote nothing.
    ///
    /// # Errors
    /// When the repository can't be read.
    pub fn list(&self) -> Result<Vec<String>> {
        if self.change.writes().next().is_none() {
            return Ok(Vec::new());
        }
        let mut steps = Vec::new();
        if self.no_commit {
            steps.push(format!(
                "look at the files and commit them: git -C {} status",
                self.here()
            ));
        } else if !self.is_pushed {
            steps.push(self.push());
        }
        let new = self.new_clusters();
        if !self.profile.secrets.is_empty()
            && self.answers.secrets == SecretsBy::Manual
            && !new.is_empty()
            && self.has(&self.answers.readme)
        {
            let names: Vec<&str> = self
                .profile
                .secrets
                .iter()
                .map(|secret| secret.name.as_str())
                .collect();
            let page = self.file(&self.answers.readme);
            steps.push(format!(
                "make {} in {}: {page} has the commands, under \"Before the first sync\"",
                names.join(", "),
                list(&new)
            ));
        }
        if self.answers.secrets == SecretsBy::Sops && !new.is_empty() {
            steps.push(format!(
                "in {}: kubectl create secret generic {} --namespace flux-system --from-file=age.agekey=FILE, with the private age key",
                list(&new),
                self.answers.sops_secret
            ));
        }
        match self.answers.provider {
            Provider::Argo => self.argo(&new, &mut steps),
            Provider::Flux => self.flux(&new, &mut steps)?,
        }
        Ok(steps)
    }

    /// Clusters that this change brings: those with a new file of their own, all of them the first time.
    fn new_clusters(&self) -> Vec<&str> {
        let names = self
            .answers
            .clusters
            .iter()
            .map(|cluster| cluster.name.as_str());
        let is_new = |name: &&str| {
            self.gathered.is_first
                || self.change.writes().any(|file| {
                    file.verdict == Verdict::Create && file.path.parts().any(|part| part == *name)
                })
        };
        names.filter(is_new).collect()
    }

    fn argo(&self, new: &[&str], steps: &mut Vec<String>) {
        if self.gathered.is_first && self.has(ROOT) {
            steps.push(format!(
                "let Argo CD read {} (a repository Secret, where it isn't public)",
                self.url()
            ));
        }
        for cluster in new.iter().filter(|name| **name != "in-cluster") {
            steps.push(format!("make the cluster known to Argo CD as {cluster}: argocd cluster add CONTEXT --name {cluster}"));
        }
        if self.writes(HEALTH) {
            steps.push(self.typed(&format!(
                "kubectl patch configmap argocd-cm --namespace {} --type merge --patch-file {}",
                self.answers.argocd_namespace,
                self.file(HEALTH)
            )));
        }
        if self.writes(ROOT) {
            steps.push(self.typed(&format!("kubectl apply -f {}", self.file(ROOT))));
        }
    }

    fn flux(&self, new: &[&str], steps: &mut Vec<String>) -> Result<()> {
        if self.answers.sync == Sync::Own && !self.answers.git_secret.is_empty() && !new.is_empty()
        {
            steps.push(format!(
                "in {}: flux create secret git {} --url={} and your kind of access",
                list(new),
                self.answers.git_secret,
                self.url()
            ));
        }
        for cluster in &self.answers.clusters {
            let folder = format!("clusters/{}", cluster.name);
            let sync = format!("{folder}/sync.yaml");
            if self.answers.sync == Sync::Own {
                if self.writes(&sync) {
                    steps.push(format!(
                        "in {}: {}",
                        cluster.name,
                        self.typed(&format!("kubectl apply -f {}", self.file(&sync)))
                    ));
                }
                continue;
            }
            let release = format!("{folder}/{}.yaml", self.answers.release);
            if !self.writes(&release) {
                continue;
            }
            let is_known = self.gathered.found.clusters.contains(&cluster.name);
            if !is_known && new.contains(&cluster.name.as_str()) {
                let path = format!("{}{folder}", self.answers.prefix());
                steps.push(format!(
                    "in {}: flux bootstrap git --url {} --branch {} --path {path}",
                    cluster.name,
                    self.url(),
                    self.answers.branch
                ));
            }
            self.kustomization(&folder, steps)?;
        }
        Ok(())
    }

    /// A kustomization file lists what is applied, and would leave our file out.
    fn kustomization(&self, folder: &str, steps: &mut Vec<String>) -> Result<()> {
        for name in ["kustomization.yaml", "kustomization.yml", "Kustomization"] {
            let path = RepoPath::parse(&format!("{}{folder}/{name}", self.answers.prefix()))?;
            if self.gathered.target.tree()?.entry(&path)?.is_some() {
                steps.push(format!(
                    "add `- {}.yaml` to the resources of {path}, or nothing applies it",
                    self.answers.release
                ));
            }
        }
        Ok(())
    }

    /// Whether a file below the scaffold is among those of the layout.
    fn has(&self, path: &str) -> bool {
        let path = format!("{}{path}", self.answers.prefix());
        self.change
            .files
            .iter()
            .any(|file| file.path.as_str() == path && file.verdict != Verdict::Delete)
    }

    fn writes(&self, path: &str) -> bool {
        let path = format!("{}{path}", self.answers.prefix());
        self.change
            .writes()
            .any(|file| file.path.as_str() == path && file.verdict != Verdict::Delete)
    }

    /// A bare repository has no files: they are in a clone of it.
    fn typed(&self, command: &str) -> String {
        let is_bare =
            matches!(&self.gathered.target, Target::Existing(repository) if repository.is_bare());
        if is_bare {
            format!("in a clone: {command}")
        } else {
            command.to_owned()
        }
    }

    fn push(&self) -> String {
        let git = if self.place == "." {
            "git".to_owned()
        } else {
            format!("git -C {}", self.here())
        };
        match self.gathered.target.remote_name() {
            Some(remote) => format!("{git} push -u {} {}", quoted(&remote), self.change.branch),
            None => format!(
                "{git} remote add origin {} && {git} push -u origin {}",
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

    /// A file below the scaffold, as it can be typed.
    fn file(&self, path: &str) -> String {
        let path = format!("{}{path}", self.answers.prefix());
        match &self.gathered.target {
            Target::Existing(repository) if repository.is_bare() => quoted(&path),
            _ if self.place == "." => quoted(&path),
            _ => quoted(&format!("{}/{path}", self.place.trim_end_matches('/'))),
        }
    }
}

const ROOT: &str = "argocd/bootstrap/root.yaml";
const HEALTH: &str = "argocd/health/argocd-cm.yaml";

/// A few names, or how many there are.
fn list(names: &[&str]) -> String {
    match names {
        [one] => format!("the cluster {one}"),
        few if few.len() <= 4 => format!("the clusters {}", few.join(", ")),
        many => format!("each of the {} clusters", many.len()),
    }
}
