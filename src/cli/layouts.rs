//! `layouts`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// List the layouts, explain one, or check your own
#[derive(Debug, Args)]
pub struct LayoutsArgs {
    /// Add the layouts and templates of this folder
    #[arg(long, value_name = "DIR", global = true)]
    pub layouts: Option<PathBuf>,
    /// What to do; lists them where nothing is said.
    #[command(subcommand)]
    pub command: Option<LayoutsCommand>,
}

/// What to do with layouts.
#[derive(Debug, Subcommand)]
pub enum LayoutsCommand {
    /// Explain a layout: its questions, its files, the order that it promises
    Show {
        /// The layout
        name: String,
    },
    /// Check the layouts in a folder
    Check {
        /// The folder, with NAME/layout.yaml and templates/
        dir: PathBuf,
    },
}
