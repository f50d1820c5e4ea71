//! What a cluster has, compared with Git and the answers.

use anyhow::Result;
use secrecy::ExposeSecret as _;

use super::agreement::Agreement;
use crate::cluster::{Cluster, LiveSecret};
use crate::haptic::gitops::NeededSecret;
use crate::haptic::names::Names;
use crate::layout::recorded::SecretsBy;
use crate::secrets::certificate::{CertificateFacts, Wanted, check_public, facts_of};

impl Agreement<'_> {
    /// Looks into a cluster too.
    pub(super) fn look_into(&mut self, name: &str, cluster: &Cluster) -> Result<()> {
        let namespace = self.repo.answers.namespace.clone();
        for needed in &self.repo.profile.secrets {
            let live = cluster.secret(&namespace, &needed.name)?;
            let state = match &live {
                None => "missing",
                Some(live) if needed.keys.iter().any(|key| !live.keys.contains(*key)) => {
                    "incomplete"
                }
                Some(_) => "there",
            };
            if state != "there" {
                self.find(
                    Some(name),
                    None,
                    format!("the Secret `{}` is {state} in the cluster", needed.name),
                    self.missing_hint(),
                );
            }
            let facts = live
                .as_ref()
                .and_then(|live| facts_of(live.values.get("tls.crt")?.expose_secret()));
            if let Some(live) = &live {
                self.compare_live(name, needed, live, facts.as_ref())?;
            }
            let index = self
                .rows
                .iter()
                .position(|row| row.cluster == name && row.name == needed.name);
            if let Some(row) = index.map(|index| &mut self.rows[index]) {
                row.in_cluster = Some(state);
                if row.not_after.is_none() {
                    row.not_after = facts.as_ref().map(|facts| facts.not_after.clone());
                    let end = row.not_after.clone();
                    self.look_at_end(name, needed, end.as_deref(), None);
                }
            }
        }
        Ok(())
    }

    fn missing_hint(&self) -> &'static str {
        match self.repo.answers.secrets {
            SecretsBy::Manual => "haptic-scaffold secrets apply --context CONTEXT makes it",
            SecretsBy::Sops => "kubectl describe kustomization says why Flux has not made it",
            SecretsBy::SealedSecrets => {
                "kubectl describe sealedsecret says why the controller has not made it"
            }
            SecretsBy::ExternalSecrets => {
                "kubectl describe externalsecret says why the operator has not made it"
            }
        }
    }

    /// The Sealed Secrets controller takes over nothing that wasn't handed over to it, and tries nothing again that has failed.
    fn tell_of_other_owner(&mut self, name: &str, needed: &NeededSecret, is_handed_over: bool) {
        let secret = &needed.name;
        let namespace = &self.repo.answers.namespace;
        let anew = format!(
            "kubectl delete sealedsecret {secret} --namespace {namespace} has it brought anew from Git, and the controller tries again"
        );
        let (message, hint) = if is_handed_over {
            let message = format!(
                "the Secret `{secret}` was handed over to the Sealed Secrets controller, which has not taken it over"
            );
            (message, anew)
        } else {
            let message = format!(
                "the Secret `{secret}` was made by somebody else, so the Sealed Secrets controller will not touch it"
            );
            let hint = format!(
                "kubectl annotate secret {secret} --namespace {namespace} sealedsecrets.bitnami.com/managed=true hands it over; then {anew}"
            );
            (message, hint)
        };
        self.find(Some(name), None, message, &hint);
    }

    fn compare_live(
        &mut self,
        name: &str,
        needed: &NeededSecret,
        live: &LiveSecret,
        facts: Option<&CertificateFacts>,
    ) -> Result<()> {
        let answers = &self.repo.answers;
        if answers.secrets == SecretsBy::SealedSecrets
            && live.owner.as_deref() != Some("SealedSecret")
        {
            self.tell_of_other_owner(name, needed, live.is_sealed_managed);
        }
        if live.kind != needed.kind {
            self.find(
                Some(name),
                None,
                format!(
                    "the Secret `{}` has the type `{}`, and the release needs `{}`",
                    needed.name, live.kind, needed.kind
                ),
                "a type can't be changed: delete the Secret and have it made anew",
            );
        }
        let file = self
            .rows
            .iter()
            .find(|row| row.cluster == name && row.name == needed.name)
            .and_then(|row| row.file.clone());
        let in_git = file
            .map(|file| self.described(&file))
            .transpose()?
            .flatten()
            .and_then(|described| described.facts);
        if let (Some(git), Some(facts)) = (&in_git, facts)
            && git.fingerprint != facts.fingerprint
        {
            self.find(
                Some(name),
                None,
                format!(
                    "the certificate of `{}` in the cluster is another one than in Git",
                    needed.name
                ),
                "wait for the controller, or look why it has not applied the newest commit",
            );
        }
        let cas = answers.webhook_cas();
        if let (Some(cas), "webhook", Some(chain)) =
            (&cas, needed.short, live.values.get("tls.crt"))
        {
            let names = Names::of(&answers.release, &answers.namespace);
            let wanted = Wanted {
                host: Some(&names.webhook_host),
                ca: Some(cas),
                now: self.now,
            };
            if let Err(fault) = check_public(chain.expose_secret(), &wanted) {
                self.find(
                    Some(name),
                    None,
                    format!(
                        "the certificate of `{}` in the cluster: {fault}",
                        needed.name
                    ),
                    "haptic-scaffold secrets rotate webhook, or webhook-ca where the CA is another",
                );
            }
        }
        Ok(())
    }
}
