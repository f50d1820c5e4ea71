//! `secrets`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand, ValueEnum};

use super::deliver::DeliverArgs;
use super::init::OnConflict;

/// Where values come from. None is ever an argument: arguments are seen by everyone on the machine.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Secret values")]
pub struct SecretArgs {
    /// Folder outside of the repository with webhook.crt, webhook.key, webhook-ca.crt, frontend.crt, frontend.key; a folder of a cluster's name in it goes first
    #[arg(long, value_name = "DIR")]
    pub secret_files: Option<PathBuf>,
    /// File with the password, - for standard input; a random one is made where none is given
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// Sealed Secrets: the controller's certificate, a file or https address; CLUSTER=FILE for one cluster alone
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    pub sealing_certificate: Vec<String>,
}

/// Create, seal, rotate and inspect the Secrets that the release needs
#[derive(Debug, Args)]
pub struct SecretsArgs {
    /// Folder of the repository that everything is below
    #[arg(long, value_name = "SUB", global = true)]
    pub path: Option<String>,
    /// What to do.
    #[command(subcommand)]
    pub command: SecretsCommand,
}

/// What to do with Secrets.
#[derive(Debug, Subcommand)]
pub enum SecretsCommand {
    /// Say what the release needs, where each comes from, and whether everything agrees
    List(ListArgs),
    /// Create in a cluster what is missing there; nothing is ever overwritten
    Apply(ApplyArgs),
    /// Print the kubectl lines that do the same
    Script,
    /// Replace a Secret in Git, or take the next step to another CA for the webhook
    Rotate(Box<RotateArgs>),
    /// Make an age key in a new file outside of the repository, for SOPS
    AgeKey {
        /// The new file
        file: PathBuf,
    },
    /// Make a CA and certificates for a trial in a folder outside of the repository
    TrialCertificates(TrialArgs),
}

/// `secrets list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Look into this context of the kubeconfig too; CLUSTER=CONTEXT where there are several clusters
    #[arg(long, value_name = "CONTEXT", action = ArgAction::Append)]
    pub context: Vec<String>,
    /// End with 10 where something doesn't agree
    #[arg(long, action = ArgAction::SetTrue)]
    pub exit_code: bool,
}

/// `secrets apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// Context of the kubeconfig; CLUSTER=CONTEXT where there are several clusters
    #[arg(long, value_name = "CONTEXT", required = true)]
    pub context: String,
    /// Values.
    #[command(flatten)]
    pub values: SecretArgs,
}

/// What to rotate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rotated {
    /// User and password
    Credentials,
    /// The webhook's certificate, by the same CA
    Webhook,
    /// The certificate that is served where no other fits
    Frontend,
    /// The CA of the webhook's certificate, in three steps
    WebhookCa,
}

/// `secrets rotate`.
#[derive(Debug, Args)]
pub struct RotateArgs {
    /// What to rotate
    pub what: Rotated,
    /// Only this cluster
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// For webhook-ca: PEM file of the new CA
    #[arg(long, value_name = "FILE")]
    pub webhook_ca: Option<PathBuf>,
    /// For webhook-ca: the step that is expected to be the next; another one is refused
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=3))]
    pub step: Option<u8>,
    /// For webhook-ca: context of the kubeconfig, to see that the step before has arrived; CLUSTER=CONTEXT where there are several clusters
    #[arg(long, value_name = "CONTEXT", action = ArgAction::Append)]
    pub context: Vec<String>,
    /// What to do where a file can't follow: stop, or keep it as it is
    #[arg(long, value_name = "WHAT", default_value = "stop")]
    pub on_conflict: OnConflict,
    /// Author of the commit; git's configuration counts where none is given
    #[arg(long, value_name = "NAME <MAIL>")]
    pub author: Option<String>,
    /// Values.
    #[command(flatten)]
    pub values: SecretArgs,
    /// Where the change goes.
    #[command(flatten)]
    pub deliver: DeliverArgs,
}

/// `secrets trial-certificates`.
#[derive(Debug, Args)]
pub struct TrialArgs {
    /// The folder; files that are there are never overwritten
    pub dir: PathBuf,
    /// How long they are valid, in days
    #[arg(long, value_name = "DAYS", default_value = "30", value_parser = clap::value_parser!(u16).range(1..=90))]
    pub days: u16,
    /// Name of the Helm release; the repository's answers say it where there is one
    #[arg(long, value_name = "NAME")]
    pub release: Option<String>,
    /// Namespace of the release
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Host of the certificate that is served where no other fits
    #[arg(long, value_name = "HOST", default_value = "localdev.me")]
    pub frontend_host: String,
}
