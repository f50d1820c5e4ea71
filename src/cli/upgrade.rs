//! `upgrade`.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::deliver::DeliverArgs;

/// Move the pins of charts to newer versions, each chart by a commit on a branch of its own
#[derive(Debug, Default, Args)]
pub struct UpgradeArgs {
    /// Only these charts, by name or address
    #[arg(value_name = "CHART")]
    pub charts: Vec<String>,
    /// Move to this version, or to the newest in this range
    #[arg(long, value_name = "VERSION")]
    pub to: Option<String>,
    /// Only this environment, and now: it needn't wait for its time or command; may be given several times
    #[arg(long = "environment", value_name = "NAME")]
    pub environments: Vec<String>,
    /// Take the published versions from this file or folder instead of asking for them
    #[arg(long, value_name = "PATH")]
    pub versions: Option<PathBuf>,
    /// Ask nobody for versions
    #[arg(long, action = ArgAction::SetTrue)]
    pub offline: bool,
    /// At most this many charts
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// End with 10 where something is newer
    #[arg(long, action = ArgAction::SetTrue)]
    pub exit_code: bool,
    /// Author of the commits; git's configuration counts where none is given
    #[arg(long, value_name = "NAME <MAIL>")]
    pub author: Option<String>,

    /// Where the change goes.
    #[command(flatten)]
    pub deliver: DeliverArgs,
}
