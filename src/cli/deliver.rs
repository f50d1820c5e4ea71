//! The flags of every command that can put its change behind a merge request.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

/// A forge, as it is named on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ForgeName {
    /// GitLab
    Gitlab,
    /// GitHub and GitHub Enterprise Server
    Github,
    /// Gitea and Forgejo
    Gitea,
    /// No server: a branch, and a request file in the repository's git folder
    Local,
}

/// Flags of every command that can put its change behind a merge request.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Delivery")]
pub struct DeliverArgs {
    /// Push the branch
    #[arg(long, action = ArgAction::SetTrue)]
    pub push: bool,
    /// Push the branch, and open its merge request or bring the open one up to date
    #[arg(long, action = ArgAction::SetTrue)]
    pub open: bool,
    /// Where and for which branch.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Remote to push to; origin, or the only one, where none is given
    #[arg(long, value_name = "NAME")]
    pub remote: Option<String>,
}

/// Where merge requests live, and for which branch they are.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Delivery")]
pub struct PlaceArgs {
    /// Forge; known from the remote's address and the CI's variables where it isn't given
    #[arg(long, value_name = "NAME")]
    pub forge: Option<ForgeName>,
    /// Address of the forge, or of its API, where the remote doesn't tell it
    #[arg(long, value_name = "URL")]
    pub forge_url: Option<String>,
    /// Branch that changes are for; the current one, else the remote's default
    #[arg(long, value_name = "BRANCH")]
    pub base: Option<String>,
    /// File that holds the token
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

impl DeliverArgs {
    /// Whether anything leaves this machine.
    pub fn is_asked(&self) -> bool {
        self.push || self.open
    }
}
