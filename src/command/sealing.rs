//! Seals what a rendering leaves open: the Secrets that stand in Git.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};

use super::inputs::{self, Inputs};
use crate::cli::secrets::SecretArgs;
use crate::error::{ExitStatus, Problem};
use crate::haptic::gitops::NeededSecret;
use crate::layout::answers::Answers;
use crate::layout::recorded::SecretsBy;
use crate::layout::render::{Rendered, WOULD_SEAL};
use crate::model::repo_path::RepoPath;
use crate::model::tree::{self, Tree};
use crate::registry;
use crate::secrets::certificate::{CertificateFacts, fingerprints};
use crate::secrets::manifest::{self, Described};
use crate::secrets::mask::Mask;
use crate::secrets::sealed::{SealingCertificate, SealingFault};
use crate::sops;
use crate::ui::Ui;
use crate::world::World;

/// The texts of sealed files that are to be written, by path.
pub type Sealed = BTreeMap<RepoPath, String>;

/// What sealing needs to know.
pub struct Sealer<'a> {
    /// The answers.
    pub answers: &'a Answers,
    /// The Secrets that the chart needs.
    pub needed: &'a [NeededSecret],
    /// Where values come from.
    pub inputs: &'a Inputs<'a>,
    /// The outside.
    pub world: &'a World,
    /// The answers of the last run.
    pub before: Option<&'a Answers>,
    /// Whether nothing is to be done, so that nothing is sealed either.
    pub dry_run: bool,
    /// Whether a file that is neither sealed nor encrypted is made anew.
    pub replaces: bool,
    /// Whether values that are given have to be those of the files that are there: not where one of them is replaced.
    pub compares: bool,
}

impl Sealer<'_> {
    /// Seals every file of a rendering that isn't there, and those that are `again`.
    ///
    /// # Errors
    /// When a value is missing or wrong, a certificate can't be sealed for, or `sops` fails.
    pub fn seal(
        &self,
        files: &[Rendered],
        tree: &dyn Tree,
        again: &dyn Fn(&Rendered) -> bool,
        ui: &mut Ui,
    ) -> Result<Sealed> {
        let mut sealed = Sealed::new();
        let mut certificates = BTreeMap::new();
        for file in files {
            let Some(needed) = self.needed.iter().find(|n| Some(n.short) == file.secret) else {
                continue;
            };
            let cluster = file
                .cluster
                .as_deref()
                .unwrap_or(&self.answers.clusters[0].name);
            let there = tree::read_text(tree, &file.path)?;
            let is_open = there.as_ref().is_some_and(|text| {
                manifest::describe(text).is_none_or(|described| described.has_clear_value)
            });
            let is_again =
                again(file) || self.is_for_another_release() || (self.replaces && is_open);
            if let (Some(text), false) = (&there, is_again) {
                if self.compares && !is_open {
                    self.compare(text, file, needed, cluster, ui)?;
                }
                continue;
            }
            if let Some(text) = there.as_ref().filter(|_| !self.compares && !is_open)
                && self.is_same(text, needed, cluster)?
            {
                ui.notice(&format!(
                    "`{}` has this certificate already, so it stays as it is",
                    file.path
                ));
                continue;
            }
            let text = self
                .one(needed, cluster, &mut certificates, ui)
                .with_context(|| format!("cannot make `{}`", file.path))?;
            sealed.insert(file.path.clone(), text);
        }
        Ok(sealed)
    }

    fn one(
        &self,
        needed: &NeededSecret,
        cluster: &str,
        certificates: &mut BTreeMap<String, SealingCertificate>,
        ui: &mut Ui,
    ) -> Result<String> {
        let material = self.inputs.material(needed, self.answers, cluster)?;
        let namespace = &self.answers.namespace;
        ui.detail(
            1,
            &format!(
                "{} the Secret {} for {cluster}: {}",
                if self.dry_run {
                    "would seal"
                } else {
                    "sealing"
                },
                needed.name,
                needed.keys.join(", ")
            ),
        );
        if self.answers.secrets == SecretsBy::Sops {
            let recipients = self.answers.recipients(cluster);
            if self.dry_run {
                return Ok(WOULD_SEAL.to_owned());
            }
            let clear = manifest::clear(needed, namespace, &material);
            let mask = Mask::of(material.hidden());
            let what = format!("the Secret `{}`", needed.name);
            let text = sops::encrypt(&self.world.env, &clear, &recipients, &what, &mask)?;
            return Ok(format!(
                "# The Secret {}, encrypted by SOPS: {}.\n{text}",
                needed.name, needed.what
            ));
        }
        if !certificates.contains_key(cluster) {
            certificates.insert(cluster.to_owned(), self.certificate(cluster)?);
        }
        if self.dry_run {
            return Ok(WOULD_SEAL.to_owned());
        }
        manifest::sealed(needed, namespace, &material, &certificates[cluster])
            .map_err(|why| Problem::failed(format!("cannot seal `{}`: {why}", needed.name)).into())
    }

    /// Whether a sealed file has the certificate that is given for it.
    fn is_same(&self, text: &str, needed: &NeededSecret, cluster: &str) -> Result<bool> {
        let digest = |facts: Option<CertificateFacts>| facts.map(|facts| facts.fingerprint);
        let here = digest(manifest::describe(text).and_then(|described| described.facts));
        if here.is_none() || needed.short == "credentials" {
            return Ok(false);
        }
        let material = self.inputs.material(needed, self.answers, cluster)?;
        Ok(here == digest(material.facts))
    }

    /// Name and namespace are part of a sealing, so with another release every Secret is another one.
    fn is_for_another_release(&self) -> bool {
        let names = |answers: &Answers| (answers.release.clone(), answers.namespace.clone());
        self.before
            .is_some_and(|before| names(before) != names(self.answers))
    }

    /// A file that is there stays as it is. Values that were given for it all the same must be those in it.
    fn compare(
        &self,
        text: &str,
        file: &Rendered,
        needed: &NeededSecret,
        cluster: &str,
        ui: &mut Ui,
    ) -> Result<()> {
        let arguments: &SecretArgs = self.inputs.arguments;
        let here = manifest::describe(text);
        if let Some(here) = &here {
            self.compare_ca(file, here)?;
            self.compare_recipients(file, here, cluster, ui);
        }
        if needed.short == "credentials" {
            let has_one = arguments.password_file.is_some()
                || self.inputs.find("password", cluster)?.is_some();
            if has_one {
                ui.notice(&format!(
                    "`{}` is there already, so the password was not read; `haptic-scaffold secrets rotate credentials` replaces it",
                    file.path
                ));
            }
            return Ok(());
        }
        if self
            .inputs
            .find(&format!("{}.crt", needed.short), cluster)?
            .is_none()
        {
            return Ok(());
        }
        let is_known = here.is_some_and(|described| described.facts.is_some());
        if !is_known || self.is_same(text, needed, cluster)? {
            return Ok(());
        }
        Err(Problem::invalid(format!(
            "`{}` has another certificate than the one that is given, and a Secret that is there is never replaced on the way",
            file.path
        ))
        .hint(format!("haptic-scaffold secrets rotate {} --secret-files DIR", needed.short))
        .into())
    }

    /// With another CA in the values than the one that signed, the API server would refuse the webhook's certificate, and with it every change of an Ingress.
    fn compare_ca(&self, file: &Rendered, here: &Described) -> Result<()> {
        let signed = here.facts.as_ref().and_then(|facts| facts.ca.as_ref());
        let (Some(signed), Some(cas)) = (signed, self.answers.webhook_cas()) else {
            return Ok(());
        };
        if fingerprints(&cas).contains(signed) {
            return Ok(());
        }
        Err(Problem::invalid(format!(
            "`webhook_ca` is another CA than the one that signed the certificate in `{}`",
            file.path
        ))
        .hint("haptic-scaffold secrets rotate webhook-ca --webhook-ca FILE takes the three steps to another CA")
        .into())
    }

    /// Other keys in the answers change nothing in a file that is there.
    fn compare_recipients(&self, file: &Rendered, here: &Described, cluster: &str, ui: &mut Ui) {
        let wanted: BTreeSet<&str> = self.answers.recipients(cluster).into_iter().collect();
        let known: BTreeSet<&str> = here.recipients.iter().map(String::as_str).collect();
        if self.answers.secrets == SecretsBy::Sops && wanted != known {
            ui.warn(&format!(
                "`{}` is encrypted for other keys than `age_recipients` says: sops updatekeys {0}, or haptic-scaffold secrets rotate makes it anew",
                file.path
            ));
        }
    }

    /// The certificate of the cluster's sealing controller.
    fn certificate(&self, cluster: &str) -> Result<SealingCertificate> {
        let arguments = &self.inputs.arguments.sealing_certificate;
        let of_cluster = arguments.iter().find_map(|text| {
            text.split_once('=')
                .filter(|(name, _)| *name == cluster)
                .map(|(_, place)| place)
        });
        let is_named = |text: &&String| {
            text.split_once('=').is_some_and(|(name, _)| {
                self.answers.clusters.iter().any(|known| known.name == name)
            })
        };
        let of_all = arguments
            .iter()
            .find(|text| !is_named(text))
            .map(String::as_str);
        let place = of_cluster.or(of_all).ok_or_else(|| {
            Problem::usage(format!(
                "nothing says what to seal for in `{cluster}`: the certificate of its Sealed Secrets controller is needed"
            ))
            .hint("kubeseal --fetch-cert > sealing.pem, then add `--sealing-certificate sealing.pem`")
            .hint("or its address, https://HOST/v1/cert.pem")
        })?;
        let is_address = place.starts_with("https://") || place.starts_with("http://");
        let content = if is_address {
            let asked = self
                .world
                .registry
                .file("fetch the sealing certificate", place);
            asked.map_err(|why| {
                Problem::new(ExitStatus::Remote, why.to_string())
                    .hint("save it to a file: kubeseal --fetch-cert > sealing.pem, then `--sealing-certificate sealing.pem`")
            })?
        } else {
            inputs::read(&self.inputs.folder.join(place)).map_err(|why| {
                Problem::invalid(why.to_string()).hint(format!(
                    "kubeseal --fetch-cert > {} makes it, from the cluster",
                    super::shell::quoted(place)
                ))
            })?
        };
        Ok(
            SealingCertificate::parse(&content, self.inputs.now).map_err(|why| {
                let place = &if is_address { registry::shown(place) } else { place.to_owned() };
                let hint = match why {
                    SealingFault::Der if is_address => {
                        format!("curl {place} | openssl x509 -inform der -out sealing.pem, then `--sealing-certificate sealing.pem`")
                    }
                    SealingFault::Der => {
                        format!("openssl x509 -inform der -in {place} -out {place}.pem")
                    }
                    SealingFault::PrivateKey => {
                        "give the certificate alone, and keep that key where it belongs".to_owned()
                    }
                    _ => "fetch it anew: kubeseal --fetch-cert > sealing.pem".to_owned(),
                };
                Problem::invalid(format!("cannot seal for `{place}`: {why}")).hint(hint)
            })?,
        )
    }
}
