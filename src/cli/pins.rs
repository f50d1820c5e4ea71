//! `pins`.

use std::path::PathBuf;

use clap::{ArgAction, Args};

/// Show every place where a chart's version stands
#[derive(Debug, Args)]
pub struct PinsArgs {
    /// Only files below these paths of the repository
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Only this chart, by its name or address
    #[arg(long, value_name = "NAME")]
    pub chart: Option<String>,
    /// Only pins that have something newer
    #[arg(long, action = ArgAction::SetTrue)]
    pub outdated: bool,
    /// Take the published versions from this file or folder instead of asking for them
    #[arg(long, value_name = "PATH")]
    pub versions: Option<PathBuf>,
    /// Ask nobody for versions
    #[arg(long, action = ArgAction::SetTrue)]
    pub offline: bool,
    /// Read this revision instead of the files as they are
    #[arg(long, value_name = "REV")]
    pub rev: Option<String>,
    /// End with 10 where something is newer
    #[arg(long, action = ArgAction::SetTrue)]
    pub exit_code: bool,
}
