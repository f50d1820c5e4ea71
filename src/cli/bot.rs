//! `bot`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};

use super::deliver::PlaceArgs;

/// Do the round of a bot: look, upgrade, tidy
#[derive(Debug, Args)]
pub struct BotArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: BotCommand,
}

/// What a bot does.
#[derive(Debug, Subcommand)]
pub enum BotCommand {
    /// Open, update and tidy the merge requests of one repository or many
    Run(Box<BotRunArgs>),
}

/// Open, update and tidy the merge requests of one repository or many.
///
/// A repository given by its address is fetched into a folder of its own, bare and cut off, and nothing of it is left behind. One given by its folder is left as
/// it is: its remote is what counts, or the folder itself where it has none.
#[derive(Debug, Args)]
pub struct BotRunArgs {
    /// Repositories, by address or folder
    #[arg(value_name = "REPOSITORY", required_unless_present = "repos")]
    pub repositories: Vec<String>,
    /// Take the repositories from this file, one on each line; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "repositories")]
    pub repos: Option<PathBuf>,
    /// How many repositories are worked on at the same time
    #[arg(long, value_name = "N", default_value = "4")]
    pub jobs: NonZeroUsize,
    /// Keep fetched repositories in this folder for the next run
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Take the published versions from this file or folder instead of asking for them
    #[arg(long, value_name = "PATH")]
    pub versions: Option<PathBuf>,
    /// Ask nobody for versions
    #[arg(long, action = ArgAction::SetTrue)]
    pub offline: bool,
    /// At most this many charts in each repository
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Author of the commits; git's configuration counts where none is given
    #[arg(long, value_name = "NAME <MAIL>")]
    pub author: Option<String>,

    /// Where merge requests live.
    #[command(flatten)]
    pub place: PlaceArgs,
}
