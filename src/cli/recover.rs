//! `recover`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use super::deliver::DeliverArgs;

/// Go forward from a release that was rejected: to a higher version, or with corrected values
#[derive(Debug, Default, Args)]
pub struct RecoverArgs {
    /// The chart, by name or address, or the name of its release; HAPTIC where none is given
    #[arg(value_name = "CHART|RELEASE")]
    pub subject: Option<String>,
    /// Go to this version, or to the newest in this range
    #[arg(long, value_name = "VERSION")]
    pub to: Option<String>,
    /// The version that was rejected
    #[arg(long, value_name = "VERSION")]
    pub rejected: Option<String>,
    /// Merge these values into the release's own: a YAML file, where null takes a key away; - for standard input
    #[arg(long, value_name = "FILE")]
    pub values: Option<PathBuf>,
    /// Log of the Job that rejected it, or the Job itself as kubectl prints it; - for standard input
    #[arg(long, value_name = "FILE")]
    pub job_log: Option<PathBuf>,
    /// Ask the cluster of this context of the kubeconfig what was rejected; nothing is written there
    #[arg(long, value_name = "CONTEXT")]
    pub context: Option<String>,
    /// The cluster or environment whose release was rejected
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// What becomes of other environments that have the rejected version too
    #[arg(long, value_name = "HOW", default_value = "tell")]
    pub others: Others,
    /// Take the published versions from this file or folder instead of asking for them
    #[arg(long, value_name = "PATH")]
    pub versions: Option<PathBuf>,
    /// Ask nobody for versions
    #[arg(long, action = ArgAction::SetTrue)]
    pub offline: bool,
    /// Follow the cluster until the new version is live (0), is rejected too (10), or the time is up (1)
    #[arg(long, action = ArgAction::SetTrue)]
    pub watch: bool,
    /// How long to follow it: 90s, 15m, 2h
    #[arg(long, value_name = "TIME", default_value = "15m")]
    pub timeout: String,
    /// Have HAPTIC's own preflight judge the release first, against the schemas in this folder
    #[arg(long, value_name = "DIR")]
    pub schema_dir: Option<PathBuf>,
    /// Author of the commits; git's configuration counts where none is given
    #[arg(long, value_name = "NAME <MAIL>")]
    pub author: Option<String>,

    /// Where the change goes.
    #[command(flatten)]
    pub deliver: DeliverArgs,
}

/// What becomes of other environments that have the rejected version too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Others {
    /// They are told and stay
    #[default]
    Tell,
    /// They move in the same change
    Same,
    /// Each moves in a change of its own, in the order of promotion
    Follow,
}
