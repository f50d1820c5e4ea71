//! Whether Git, the answers and a cluster agree about Secrets and certificates.

use std::collections::BTreeSet;

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use super::{Repo, bundles};
use crate::command::plain_secrets;
use crate::haptic::gitops::NeededSecret;
use crate::layout::recorded::SecretsBy;
use crate::layout::render::{Outline, outline};
use crate::model::pem;
use crate::model::repo_path::RepoPath;
use crate::model::tree::{self, Tree};
use crate::secrets::certificate::{date, ends, fingerprints, seconds};
use crate::secrets::manifest::{Described, describe};

/// A certificate that ends sooner is worth a word.
const SOON: i64 = 30 * 86_400;

/// Of a file that was meant to be encrypted; it isn't told once more as a Secret in clear.
const NOT_ENCRYPTED: &str = "a value in it is not encrypted";

/// One Secret in one cluster.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) cluster: String,
    pub(super) name: String,
    pub(super) namespace: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) keys: &'static [&'static str],
    pub(super) from: &'static str,
    /// The file in Git, where it stands there.
    pub(super) file: Option<RepoPath>,
    /// What it is, for people.
    pub(super) says: String,
    /// When its certificate ends.
    pub(super) not_after: Option<String>,
    /// `there`, `missing` or `incomplete`; nothing where no cluster was asked.
    pub(super) in_cluster: Option<&'static str>,
}

/// Something that doesn't agree.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) file: Option<String>,
    pub(super) line: Option<usize>,
    pub(super) cluster: Option<String>,
    pub(super) message: String,
    pub(super) hint: String,
}

/// Collects rows and findings.
pub(super) struct Agreement<'a> {
    pub(super) repo: &'a Repo,
    tree: Box<dyn Tree + 'a>,
    pub(super) now: i64,
    pub(super) rows: Vec<Row>,
    pub(super) findings: Vec<Finding>,
}

impl<'a> Agreement<'a> {
    /// Looks at the repository.
    pub(super) fn of(repo: &'a Repo, now: i64) -> Result<Self> {
        let mut agreement = Self {
            repo,
            tree: repo.gathered.target.tree()?,
            now,
            rows: Vec::new(),
            findings: Vec::new(),
        };
        let outlines = outline(&repo.catalog, &repo.layout, &repo.answers)?;
        for cluster in &repo.answers.clusters {
            for needed in &repo.profile.secrets {
                agreement.look(&cluster.name, needed, &outlines)?;
            }
        }
        agreement.look_at_bundles(&outlines)?;
        let told: BTreeSet<String> = agreement
            .findings
            .iter()
            .filter(|finding| finding.message == NOT_ENCRYPTED)
            .filter_map(|finding| finding.file.clone())
            .collect();
        for (path, line) in plain_secrets::find(agreement.tree.as_ref())? {
            if told.contains(path.as_str()) {
                continue;
            }
            agreement.findings.push(Finding {
                file: Some(path.to_string()),
                line: Some(line),
                cluster: None,
                message: "a Secret stands here in clear".to_owned(),
                hint: "take it as known to everyone who can read the repository: make a new value, then seal or encrypt it, or take it out of Git".to_owned(),
            });
        }
        Ok(agreement)
    }

    /// What a sealed file says of itself, by cluster and Secret.
    pub(super) fn described(&self, path: &RepoPath) -> Result<Option<Described>> {
        Ok(tree::read_text(self.tree.as_ref(), path)?.and_then(|text| describe(&text)))
    }

    pub(super) fn find(
        &mut self,
        cluster: Option<&str>,
        file: Option<&RepoPath>,
        message: String,
        hint: &str,
    ) {
        self.findings.push(Finding {
            file: file.map(RepoPath::to_string),
            line: file.map(|_| 1),
            cluster: cluster.map(str::to_owned),
            message,
            hint: hint.to_owned(),
        });
    }

    fn look(
        &mut self,
        cluster: &str,
        needed: &NeededSecret,
        outlines: &[Outline<'_>],
    ) -> Result<()> {
        let answers = &self.repo.answers;
        let file = outlines
            .iter()
            .find(|o| {
                o.rule.sealed
                    && o.secret == Some(needed.short)
                    && o.cluster.is_none_or(|c| c.name == cluster)
            })
            .map(|o| o.path.clone());
        let says = match (answers.secrets, &answers.secret_store) {
            (SecretsBy::Manual, _) => "made by hand".to_owned(),
            (SecretsBy::Sops, _) => "encrypted in Git".to_owned(),
            (SecretsBy::SealedSecrets, _) => "sealed in Git".to_owned(),
            (SecretsBy::ExternalSecrets, Some((kind, name))) => format!(
                "External Secrets, from {kind}/{name}, {}/{}",
                answers.secret_path, needed.short
            ),
            (SecretsBy::ExternalSecrets, None) => {
                "External Secrets, made in the cluster".to_owned()
            }
        };
        let mut not_after = None;
        if let Some(file) = &file {
            let described = self.described(file)?;
            if let Some(described) = &described {
                self.compare_file(cluster, file, needed, described);
                not_after = described
                    .facts
                    .as_ref()
                    .map(|facts| facts.not_after.clone());
            } else {
                self.find(
                    None,
                    Some(file),
                    format!(
                        "the Secret `{}` is neither sealed nor encrypted here, or not there",
                        needed.name
                    ),
                    "haptic-scaffold init writes what is missing",
                );
            }
        }
        self.look_at_end(cluster, needed, not_after.as_deref(), file.as_ref());
        self.rows.push(Row {
            cluster: cluster.to_owned(),
            name: needed.name.clone(),
            namespace: answers.namespace.clone(),
            kind: needed.kind,
            keys: needed.keys,
            from: answers.secrets.as_str(),
            file,
            says,
            not_after,
            in_cluster: None,
        });
        Ok(())
    }

    /// Name, namespace and type belong to the sealing, and the controller that decrypts doesn't look whether they were changed.
    fn compare_file(
        &mut self,
        cluster: &str,
        file: &RepoPath,
        needed: &NeededSecret,
        described: &Described,
    ) {
        let namespace = self.repo.answers.namespace.clone();
        let facts = [
            ("name", described.name.as_str(), needed.name.as_str()),
            ("namespace", &described.namespace, &namespace),
            ("type", &described.secret_type, needed.kind),
        ];
        for (what, here, wanted) in facts {
            if here != wanted {
                self.find(None, Some(file), format!("its {what} is `{here}`, and the release needs `{wanted}`: it was renamed after it was sealed, or for another release"), &rotate_hint(needed));
            }
        }
        let lacking: Vec<&str> = needed
            .keys
            .iter()
            .copied()
            .filter(|key| described.keys.iter().all(|here| here != key))
            .collect();
        if !lacking.is_empty() {
            self.find(
                None,
                Some(file),
                format!("it lacks {}", lacking.join(", ")),
                &rotate_hint(needed),
            );
        }
        let wanted: BTreeSet<&str> = self.repo.answers.recipients(cluster).into_iter().collect();
        let known = described.recipients.iter().map(String::as_str).collect();
        if self.repo.answers.secrets == SecretsBy::Sops && wanted != known {
            let hint = format!("sops updatekeys {file}");
            self.find(
                None,
                Some(file),
                "it is encrypted for other keys than `age_recipients` says".to_owned(),
                &hint,
            );
        }
        if described.has_clear_value {
            self.find(
                None,
                Some(file),
                NOT_ENCRYPTED.to_owned(),
                "take the value as known, and make a new one",
            );
        }
        let cas = self
            .repo
            .answers
            .webhook_cas()
            .map(|pem| fingerprints(&pem));
        let signer = described.facts.as_ref().and_then(|facts| facts.ca.as_ref());
        if let (Some(cas), Some(signer), "webhook") = (cas, signer, needed.short)
            && !cas.contains(signer)
        {
            self.find(None, Some(file), "the certificate in it was signed by another CA than the one in the answers (`webhook_ca`)".to_owned(), "haptic-scaffold secrets rotate webhook-ca");
        }
    }

    pub(super) fn look_at_end(
        &mut self,
        cluster: &str,
        needed: &NeededSecret,
        end: Option<&str>,
        file: Option<&RepoPath>,
    ) {
        let Some(seconds) = end.and_then(seconds) else {
            return;
        };
        let end = end.unwrap_or_default();
        let when = if seconds < self.now {
            "ended on"
        } else if seconds < self.now + SOON {
            "ends on"
        } else {
            return;
        };
        let message = format!("the certificate of `{}` {when} {end}", needed.name);
        self.find(Some(cluster), file, message, &rotate_hint(needed));
    }

    /// Every `caBundle` of the webhook in the repository has to have the CAs of the answers.
    fn look_at_bundles(&mut self, outlines: &[Outline<'_>]) -> Result<()> {
        let Some(cas) = self.repo.answers.webhook_cas() else {
            return Ok(());
        };
        for (subject, end) in ends(&cas) {
            self.look_at_ca(&subject, end);
        }
        let bundles = bundles::find(self.tree.as_ref(), outlines, &cas)?;
        for wrong in bundles {
            self.findings.push(Finding {
                file: Some(wrong.file.to_string()),
                line: Some(wrong.line),
                cluster: None,
                message: wrong.says,
                hint: format!(
                    "controller.webhook.caBundle of the CA in the answers is {}",
                    pem::bundle(&cas)
                ),
            });
        }
        Ok(())
    }

    fn look_at_ca(&mut self, subject: &str, end: i64) {
        let when = if end < self.now {
            "ended on"
        } else if end < self.now + SOON {
            "ends on"
        } else {
            return;
        };
        let message = format!("the CA `{subject}` (`webhook_ca`) {when} {}", date(end));
        self.find(
            None,
            None,
            message,
            "haptic-scaffold secrets rotate webhook-ca --webhook-ca FILE takes the steps to another one",
        );
    }
}

fn rotate_hint(needed: &NeededSecret) -> String {
    format!("haptic-scaffold secrets rotate {}", needed.short)
}

/// As scripts get it.
pub(super) fn json<T: Serialize>(all: &[T]) -> Value {
    serde_json::to_value(all).unwrap_or_default()
}
