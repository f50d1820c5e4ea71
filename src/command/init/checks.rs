//! Answers that fit their questions and still can't be: checked before anything is planned.

use anyhow::Result;
use semver::Version;
use serde_json::Value;

use super::own_values::OwnText;
use super::{Init, LastRun};
use crate::cli::init::OnConflict;
use crate::command::{moves, plain_secrets, values_lines};
use crate::error::Problem;
use crate::haptic;
use crate::layout::answers::Answers;
use crate::layout::context::Versions;
use crate::layout::definition::{ClusterCount, Layout, Provider};
use crate::layout::profile::is_haptic;
use crate::layout::recorded::{Certificates, SecretsBy, Sync};
use crate::model::git_url::GitUrl;
use crate::model::pem::{self, CaFault};
use crate::secrets::certificate::fingerprints;

impl Init<'_> {
    pub(super) fn check_answers(&mut self, layout: &Layout, answers: &Answers) -> Result<()> {
        let needs_url = answers.provider == Provider::Argo || answers.sync == Sync::Own;
        if needs_url && answers.repo_url.is_none() {
            return Err(Problem::usage(format!(
                "layout `{}` needs to know where the controller reads this repository",
                answers.layout
            ))
            .hint("add `--repo-url https://git.example.org/team/gitops.git`, with your own address")
            .hint("or add a remote first: git remote add origin URL")
            .into());
        }
        if answers
            .repo_url
            .as_ref()
            .is_some_and(GitUrl::had_credentials)
        {
            self.ui
                .warn("the repository's address carries credentials; they are left out, and no file has them");
        }
        if answers.provider == Provider::Flux
            && answers.sync == Sync::Bootstrap
            && let Some(elsewhere) = &self.gathered.bootstrap_elsewhere
        {
            return Err(Problem::invalid(format!(
                "flux bootstrap applies `{elsewhere}`, and this layout writes to `{}clusters/NAME`: nothing would apply it",
                answers.prefix()
            ))
            .hint("use `--sync own`, which writes a GitRepository and a root Kustomization of its own")
            .hint("or run flux bootstrap with `--path clusters/NAME`")
            .into());
        }
        self.check_ca(answers)?;
        self.refuse_sudden_ca(answers)?;
        self.refuse_unused_values(answers)?;
        check_recipients(answers)?;
        let needs_store = answers.secrets == SecretsBy::ExternalSecrets
            && answers.certificates == Some(Certificates::External);
        if needs_store && answers.secret_store.is_none() {
            return Err(Problem::invalid("`certificates: external` has certificates that can't be made in the cluster, and no store is named that they come from")
                .hint("add `--secret-store ClusterSecretStore/NAME`, or take `--certificates cert-manager`")
                .into());
        }
        let names = haptic::names::Names::of(&answers.release, &answers.namespace);
        if let (true, Some(length)) = (is_haptic(&answers.chart.name), names.too_long()) {
            return Err(Problem::invalid(format!(
                "release `{}` in namespace `{}` is too long a pair: `{}-{}` has {length} characters, and above {} HAPTIC's hook Jobs lose their names' ends",
                answers.release,
                answers.namespace,
                names.fullname,
                answers.namespace,
                haptic::names::SCOPED_LIMIT
            ))
            .hint("take a shorter `--release` or `--namespace`")
            .into());
        }
        if layout.clusters == ClusterCount::Many && answers.provider == Provider::Argo {
            check_parent_names(answers)?;
        }
        if let Some(LastRun {
            answers: before, ..
        }) = &self.last
        {
            moves::consequences(layout, before, answers)
                .iter()
                .for_each(|told| self.ui.warn(told));
        }
        Ok(())
    }

    /// With another CA at once the API server would refuse the certificate that is there, and with it every change of an Ingress. Where the
    /// certificate is sealed here, it is known which CA signed it; else any CA that was in use may have.
    fn refuse_sudden_ca(&self, answers: &Answers) -> Result<()> {
        let Some(LastRun {
            answers: before, ..
        }) = &self.last
        else {
            return Ok(());
        };
        let is_same = before.release == answers.release && before.namespace == answers.namespace;
        let (Some(old), Some(new)) = (&before.webhook_ca, answers.webhook_cas()) else {
            return Ok(());
        };
        let known = fingerprints(&new);
        let is_kept = fingerprints(old).iter().all(|ca| known.contains(ca));
        let is_asked = !self.is_init || self.arguments.on_conflict == OnConflict::Replace;
        if is_asked || is_kept || !is_same || answers.seals() {
            return Ok(());
        }
        Err(Problem::invalid("`webhook_ca` becomes another CA at once, and until the certificate is replaced the API server would refuse every change of an Ingress")
            .hint("haptic-scaffold secrets rotate webhook-ca --webhook-ca FILE takes the three steps to another CA")
            .hint("`--on-conflict replace` does it all the same, where nothing runs yet")
            .into())
    }

    /// A value that is given and not used would be missed only when it is needed.
    fn refuse_unused_values(&self, answers: &Answers) -> Result<()> {
        let values = &self.arguments.values;
        let how = answers.secrets.as_str();
        let external = answers.certificates == Some(Certificates::External);
        let refused = [
            (
                "--password-file",
                values.password_file.is_some() && !answers.seals(),
            ),
            (
                "--secret-files",
                values.secret_files.is_some() && !answers.seals() && !external,
            ),
            (
                "--sealing-certificate",
                !values.sealing_certificate.is_empty()
                    && answers.secrets != SecretsBy::SealedSecrets,
            ),
        ];
        match refused.iter().find(|(_, is_unused)| *is_unused) {
            None => Ok(()),
            Some((flag, _)) => Err(Problem::usage(format!(
                "`{flag}` has no meaning here: with `secrets: {how}` nothing is sealed with it"
            ))
            .hint(
                "leave it out; `haptic-scaffold secrets apply` takes values for `secrets: manual`",
            )
            .into()),
        }
    }

    /// A Secret in clear is known to everyone who can read the repository. It is left alone: what to do about it is a person's to decide.
    pub(super) fn warn_of_plain_secrets(&mut self) -> Result<()> {
        if self.gathered.head.is_none() {
            return Ok(());
        }
        let found = plain_secrets::find(self.gathered.target.tree()?.as_ref())?;
        for (path, line) in found.iter().take(MOST_TOLD) {
            self.ui
                .warn(&format!("{path}:{line}: a Secret stands here in clear"));
        }
        if found.len() > MOST_TOLD {
            self.ui.warn(&format!(
                "and {} more: `haptic-scaffold secrets list` has them all",
                found.len() - MOST_TOLD
            ));
        }
        Ok(())
    }

    /// A CA that can't vouch for anything would block every change of an Ingress. What only looks odd is said.
    fn check_ca(&mut self, answers: &Answers) -> Result<()> {
        for fault in pem::ca_faults(
            answers.webhook_ca.as_deref().unwrap_or_default(),
            self.world.now,
        ) {
            match fault {
                CaFault::NoCa { .. } => self.ui.warn(&format!("`webhook_ca`: {fault}")),
                CaFault::Expired { .. } | CaFault::Unreadable(_) => {
                    return Err(Problem::invalid(format!("cannot use `webhook_ca`: {fault}"))
                        .hint("give the file of the CA that signs the webhook's certificate now: `--webhook-ca FILE`")
                        .into());
                }
            }
        }
        Ok(())
    }

    /// The team's values hold keys that the version doesn't know any more, or what must not stand in Git.
    pub(super) fn check_values(
        &mut self,
        answers: &Answers,
        own: Option<&OwnText>,
        versions: &Versions,
    ) -> Result<()> {
        let Some(OwnText { text, place, .. }) = own else {
            return Ok(());
        };
        if !is_haptic(&answers.chart.name) {
            return Ok(());
        }
        let values: Value = serde_yaml::from_str(text)
            .map_err(|why| Problem::invalid(format!("cannot read `{place}`: {why}")))?;
        for version in versions
            .values()
            .filter_map(|version| Version::parse(version).ok())
        {
            let mut refused = Vec::new();
            for finding in haptic::keys::check_values(&values, &version) {
                let line = values_lines::line_of(text, &finding.route);
                let told = format!("{place}:{line}: `{}`: {}", finding.route, finding.message);
                if finding.refuse {
                    refused.push((told, finding.hint));
                } else {
                    self.ui.warn(&told);
                }
            }
            if !refused.is_empty() {
                let message = refused
                    .iter()
                    .map(|(told, _)| told.as_str())
                    .collect::<Vec<_>>()
                    .join("\n  ");
                let problem = Problem::invalid(format!(
                    "cannot use `{place}` with HAPTIC {version}:\n  {message}"
                ));
                return Err(refused
                    .into_iter()
                    .map(|(_, hint)| hint)
                    .fold(problem, Problem::hint)
                    .into());
            }
        }
        Ok(())
    }
}

/// More lines of one kind would hide everything else.
const MOST_TOLD: usize = 5;

/// SOPS would say that a recipient is malformed only after values were made, and what is encrypted for nobody opens nowhere.
fn check_recipients(answers: &Answers) -> Result<()> {
    if answers.secrets != SecretsBy::Sops {
        return Ok(());
    }
    for (cluster, key) in &answers.age_recipients {
        let is_private = key.to_uppercase().starts_with("AGE-SECRET-KEY");
        if is_private {
            return Err(Problem::invalid("`age_recipients` has a private key, which must never stand in Git; it is not repeated here")
                .hint("give the public one, age1…: age-keygen -y FILE prints it")
                .into());
        }
        if let Err(why) = key.parse::<age::x25519::Recipient>() {
            return Err(Problem::invalid(format!("`age_recipients`: `{key}` is no public age key: {why}"))
                .hint("`haptic-scaffold secrets age-key FILE` makes a key and prints its public part, age1…")
                .into());
        }
        if let Some(cluster) = cluster
            && answers.clusters.iter().all(|known| known.name != *cluster)
        {
            return Err(Problem::invalid(format!(
                "`age_recipients` has a key for `{cluster}`, and `clusters` has no such cluster"
            ))
            .hint(format!("its clusters are {}", names(answers)))
            .into());
        }
    }
    if let Some(cluster) = answers
        .clusters
        .iter()
        .find(|cluster| answers.recipients(&cluster.name).is_empty())
    {
        return Err(Problem::invalid(format!(
            "`age_recipients` has no key for the cluster `{}`",
            cluster.name
        ))
        .hint("a key without a cluster's name before it is for all of them")
        .into());
    }
    Ok(())
}

fn names(answers: &Answers) -> String {
    let names = answers.clusters.iter().map(|known| known.name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// Helm's longest name of a release, which the parent Application of a cluster has too.
const LONGEST_RELEASE: usize = 53;

fn check_parent_names(answers: &Answers) -> Result<()> {
    let refuse = |message: String| {
        Err(Problem::invalid(message)
            .hint("take another name for the cluster, or a shorter `--release`")
            .into())
    };
    for cluster in &answers.clusters {
        let parent = format!("{}-{}", answers.release, cluster.name);
        if parent.len() > LONGEST_RELEASE {
            return refuse(format!(
                "`{parent}`, the parent Application's name, is longer than {LONGEST_RELEASE} characters, which is Helm's longest name of a release"
            ));
        }
        let is_child = |other: &str| {
            cluster.name == format!("{other}-secrets") || cluster.name == format!("{other}-release")
        };
        if cluster.name == "root" || answers.clusters.iter().any(|other| is_child(&other.name)) {
            return refuse(format!(
                "cluster `{}` would give its parent Application the name `{parent}`, which another Application has",
                cluster.name
            ));
        }
    }
    Ok(())
}
