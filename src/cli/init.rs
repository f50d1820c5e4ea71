//! `init`.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{ArgAction, Args, ValueEnum};

/// What to do where a file has a text of somebody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnConflict {
    /// Write nothing at all
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
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Folder of the repository; the one around the current folder where none is given
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Layout: flux-cluster, flux-fleet, argo-cluster, argo-fleet, or one of your own
    #[arg(
        long,
        value_name = "NAME",
        env = "HAPTIC_SCAFFOLD_LAYOUT",
        hide_env = true
    )]
    pub layout: Option<String>,
    /// Controller, for the layout of one cluster: flux or argo
    #[arg(
        long,
        value_name = "NAME",
        env = "HAPTIC_SCAFFOLD_PROVIDER",
        hide_env = true,
        conflicts_with = "layout"
    )]
    pub provider: Option<String>,
    /// Add the layouts and templates of this folder
    #[arg(
        long,
        value_name = "DIR",
        env = "HAPTIC_SCAFFOLD_LAYOUTS",
        hide_env = true
    )]
    pub layouts: Option<PathBuf>,
    /// Folder of the repository that everything goes below
    #[arg(
        long,
        value_name = "SUB",
        env = "HAPTIC_SCAFFOLD_PATH",
        hide_env = true
    )]
    pub path: Option<String>,
    /// Read answers from this file, - for standard input
    #[arg(
        long,
        value_name = "FILE",
        env = "HAPTIC_SCAFFOLD_ANSWERS",
        hide_env = true
    )]
    pub answers: Option<PathBuf>,
    /// Answer any question by its name, also a layout's own
    #[arg(long, value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub set: Vec<String>,

    /// The questions that have flags.
    #[command(flatten)]
    pub questions: Questions,

    /// What to do where a file has a text of somebody else's
    #[arg(
        long,
        value_name = "WHAT",
        env = "HAPTIC_SCAFFOLD_ON_CONFLICT",
        hide_env = true,
        default_value = "stop"
    )]
    pub on_conflict: OnConflict,
    /// Write the files and leave the commit to you
    #[arg(long, env = "HAPTIC_SCAFFOLD_NO_COMMIT", hide_env = true, value_parser = FalseyValueParser::new(), action = ArgAction::SetTrue)]
    pub no_commit: bool,
    /// Author of the commit; git's configuration counts where none is given
    #[arg(
        long,
        value_name = "NAME <MAIL>",
        env = "HAPTIC_SCAFFOLD_AUTHOR",
        hide_env = true
    )]
    pub author: Option<String>,
}

/// The questions that have flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Answers")]
pub struct Questions {
    /// Name of the Helm chart
    #[arg(
        long,
        value_name = "NAME",
        env = "HAPTIC_SCAFFOLD_CHART",
        hide_env = true
    )]
    pub chart: Option<String>,
    /// Address of the chart's repository without the chart's name
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "HAPTIC_SCAFFOLD_CHART_REPO",
        hide_env = true
    )]
    pub chart_repo: Option<String>,
    /// Version of the chart for the first rendering; latest asks the chart's repository
    #[arg(
        long,
        value_name = "VERSION",
        env = "HAPTIC_SCAFFOLD_CHART_VERSION",
        hide_env = true
    )]
    pub chart_version: Option<String>,
    /// Kind of Flux source: helm-repository or oci-repository
    #[arg(
        long,
        value_name = "KIND",
        env = "HAPTIC_SCAFFOLD_CHART_SOURCE",
        hide_env = true
    )]
    pub chart_source: Option<String>,
    /// Name of the Helm release
    #[arg(
        long,
        value_name = "NAME",
        env = "HAPTIC_SCAFFOLD_RELEASE",
        hide_env = true
    )]
    pub release: Option<String>,
    /// Namespace of the release
    #[arg(
        long,
        value_name = "NAME",
        env = "HAPTIC_SCAFFOLD_NAMESPACE",
        hide_env = true
    )]
    pub namespace: Option<String>,
    /// Clusters in the order of promotion, with commas between; NAME=STAGE groups
    #[arg(
        long,
        value_name = "NAMES",
        env = "HAPTIC_SCAFFOLD_CLUSTERS",
        hide_env = true
    )]
    pub clusters: Option<String>,
    /// Address at which the controller reads the repository
    #[arg(
        long,
        value_name = "URL",
        env = "HAPTIC_SCAFFOLD_REPO_URL",
        hide_env = true
    )]
    pub repo_url: Option<String>,
    /// Branch that the controller follows
    #[arg(
        long,
        value_name = "NAME",
        env = "HAPTIC_SCAFFOLD_BRANCH",
        hide_env = true
    )]
    pub branch: Option<String>,
    /// Flux: build on flux bootstrap, or write an own GitRepository and root Kustomization
    #[arg(
        long,
        value_name = "HOW",
        env = "HAPTIC_SCAFFOLD_SYNC",
        hide_env = true
    )]
    pub sync: Option<String>,
    /// Flux: Secret with the credentials for reading the repository
    #[arg(
        long,
        value_name = "NAME",
        env = "HAPTIC_SCAFFOLD_GIT_SECRET",
        hide_env = true
    )]
    pub git_secret: Option<String>,
    /// Argo CD: its namespace
    #[arg(
        long,
        value_name = "NAME",
        env = "HAPTIC_SCAFFOLD_ARGOCD_NAMESPACE",
        hide_env = true
    )]
    pub argocd_namespace: Option<String>,
    /// HAPTIC: certificates from external Secrets or from cert-manager
    #[arg(
        long,
        value_name = "FROM",
        env = "HAPTIC_SCAFFOLD_CERTIFICATES",
        hide_env = true
    )]
    pub certificates: Option<String>,
    /// HAPTIC: PEM file of the CA that signs the webhook's certificate
    #[arg(
        long,
        value_name = "FILE",
        env = "HAPTIC_SCAFFOLD_WEBHOOK_CA",
        hide_env = true
    )]
    pub webhook_ca: Option<PathBuf>,
    /// How Secrets reach the cluster: manual
    #[arg(
        long,
        value_name = "HOW",
        env = "HAPTIC_SCAFFOLD_SECRETS",
        hide_env = true
    )]
    pub secrets: Option<String>,
    /// Your own values for the chart, a YAML file
    #[arg(
        long,
        value_name = "FILE",
        env = "HAPTIC_SCAFFOLD_VALUES",
        hide_env = true
    )]
    pub values: Option<PathBuf>,
    /// Put the values into the release's manifest instead of a file of their own
    #[arg(long, env = "HAPTIC_SCAFFOLD_INLINE_VALUES", hide_env = true, value_parser = FalseyValueParser::new(), action = ArgAction::SetTrue)]
    pub inline_values: bool,
    /// HAPTIC: guide writes the objects of its GitOps guide to the letter
    #[arg(
        long,
        value_name = "STYLE",
        env = "HAPTIC_SCAFFOLD_STYLE",
        hide_env = true
    )]
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
            ("style", &self.style),
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
