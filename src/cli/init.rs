//! `init`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use super::deliver::DeliverArgs;
use super::secrets::SecretArgs;

/// What to do where a file has a text of somebody else's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OnConflict {
    /// Write nothing at all
    #[default]
    Stop,
    /// Leave such files as they are
    Keep,
    /// Write over them
    Replace,
}

/// Render a layout into a repository and commit it.
///
/// The folder is a repository's root, or becomes a new repository. Questions that no flag, variable or file answers are asked on a terminal;
/// with --yes or without a terminal their defaults count.
#[derive(Debug, Default, Args)]
pub struct InitArgs {
    /// Folder of the repository; the one around the current folder where none is given
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Layout: flux-cluster, flux-fleet, argo-cluster, argo-fleet, or one of your own
    #[arg(long, value_name = "NAME")]
    pub layout: Option<String>,
    /// Controller, for the layout of one cluster: flux or argo
    #[arg(long, value_name = "NAME", conflicts_with = "layout")]
    pub provider: Option<String>,
    /// Add the layouts and templates of this folder
    #[arg(long, value_name = "DIR")]
    pub layouts: Option<PathBuf>,
    /// Folder of the repository that everything goes below
    #[arg(long, value_name = "SUB")]
    pub path: Option<String>,
    /// Read answers from this file, - for standard input
    #[arg(long, value_name = "FILE")]
    pub answers: Option<PathBuf>,
    /// Answer any question by its name, also a layout's own
    #[arg(long, value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub set: Vec<String>,

    /// The questions that have flags.
    #[command(flatten)]
    pub questions: Questions,

    /// Values of Secrets that are sealed into the repository.
    #[command(flatten)]
    pub values: SecretArgs,

    /// What to do where a file has a text of somebody else's
    #[arg(long, value_name = "WHAT", default_value = "stop")]
    pub on_conflict: OnConflict,
    /// Write the files and leave the commit to you
    #[arg(long, action = ArgAction::SetTrue, conflicts_with_all = ["push", "open"])]
    pub no_commit: bool,
    /// Author of the commit; git's configuration counts where none is given
    #[arg(long, value_name = "NAME <MAIL>")]
    pub author: Option<String>,

    /// Where the change goes.
    #[command(flatten)]
    pub deliver: DeliverArgs,
}

/// The questions that have flags.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Answers")]
pub struct Questions {
    /// Name of the Helm chart
    #[arg(long, value_name = "NAME")]
    pub chart: Option<String>,
    /// Address of the chart's repository without the chart's name
    #[arg(long, value_name = "ADDRESS")]
    pub chart_repo: Option<String>,
    /// Version of the chart for the first rendering; latest asks the chart's repository
    #[arg(long, value_name = "VERSION")]
    pub chart_version: Option<String>,
    /// Kind of Flux source: helm-repository or oci-repository
    #[arg(long, value_name = "KIND")]
    pub chart_source: Option<String>,
    /// Name of the Helm release
    #[arg(long, value_name = "NAME")]
    pub release: Option<String>,
    /// Namespace of the release
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Clusters in the order of promotion, with commas between; NAME=STAGE groups
    #[arg(long, value_name = "NAMES")]
    pub clusters: Option<String>,
    /// Address at which the controller reads the repository
    #[arg(long, value_name = "URL")]
    pub repo_url: Option<String>,
    /// Branch that the controller follows
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// Flux: build on flux bootstrap, or write an own GitRepository and root Kustomization
    #[arg(long, value_name = "HOW")]
    pub sync: Option<String>,
    /// Flux: Secret with the credentials for reading the repository
    #[arg(long, value_name = "NAME")]
    pub git_secret: Option<String>,
    /// Argo CD: its namespace
    #[arg(long, value_name = "NAME")]
    pub argocd_namespace: Option<String>,
    /// HAPTIC: certificates from external Secrets or from cert-manager
    #[arg(long, value_name = "FROM")]
    pub certificates: Option<String>,
    /// HAPTIC: PEM file of the CA that signs the webhook's certificate
    #[arg(long, value_name = "FILE")]
    pub webhook_ca: Option<PathBuf>,
    /// How Secrets reach the cluster: manual, sops, sealed-secrets or external-secrets
    #[arg(long, value_name = "HOW")]
    pub secrets: Option<String>,
    /// SOPS: public age keys that Secrets are encrypted for, with commas between; CLUSTER=KEY for one cluster alone
    #[arg(long, value_name = "KEYS")]
    pub age_recipients: Option<String>,
    /// SOPS: Secret in flux-system with the age key
    #[arg(long, value_name = "NAME")]
    pub sops_secret: Option<String>,
    /// External Secrets: ClusterSecretStore/NAME or SecretStore/NAME
    #[arg(long, value_name = "STORE")]
    pub secret_store: Option<String>,
    /// External Secrets: path in the store that the Secrets lie below
    #[arg(long, value_name = "PATH")]
    pub secret_path: Option<String>,
    /// Flux: Kustomization that brings the operator of the Secrets
    #[arg(long, value_name = "NAME")]
    pub secrets_operator: Option<String>,
    /// Your own values for the chart, a YAML file
    #[arg(long, value_name = "FILE")]
    pub values: Option<PathBuf>,
    /// Name of the page that says what is where
    #[arg(long, value_name = "FILE")]
    pub readme: Option<String>,
    /// Put the values into the release's manifest instead of a file of their own
    #[arg(long, action = ArgAction::SetTrue)]
    pub inline_values: bool,
    /// HAPTIC: guide writes the objects of its GitOps guide to the letter
    #[arg(long, value_name = "STYLE")]
    pub style: Option<String>,
}

impl Questions {
    /// Texts by the name of their question. Files are not among them: their content is the answer.
    pub fn texts(&self) -> Vec<(&'static str, &str)> {
        let all = [
            ("chart", &self.chart),
            ("chart_repo", &self.chart_repo),
            ("chart_source", &self.chart_source),
            ("release", &self.release),
            ("namespace", &self.namespace),
            ("clusters", &self.clusters),
            ("repo_url", &self.repo_url),
            ("branch", &self.branch),
            ("sync", &self.sync),
            ("git_secret", &self.git_secret),
            ("argocd_namespace", &self.argocd_namespace),
            ("certificates", &self.certificates),
            ("secrets", &self.secrets),
            ("age_recipients", &self.age_recipients),
            ("sops_secret", &self.sops_secret),
            ("secret_store", &self.secret_store),
            ("secret_path", &self.secret_path),
            ("secrets_operator", &self.secrets_operator),
            ("style", &self.style),
            ("readme", &self.readme),
        ];
        let mut texts: Vec<(&'static str, &str)> = all
            .into_iter()
            .filter_map(|(name, text)| Some((name, text.as_deref()?)))
            .collect();
        if self.inline_values {
            texts.push(("values_as", "inline"));
        }
        texts
    }
}
