//! The command line: structs for clap, and nothing else. What they mean is decided in `command`.

pub mod bot;
pub mod deliver;
pub mod init;
pub mod layouts;
pub mod pins;
pub mod recover;
pub mod secrets;
pub mod upgrade;
pub mod variables;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

use self::secrets::SecretsCommand;
use crate::ui::{Color, Format};

/// Writes a GitOps config repository for the HAPTIC Helm chart, or any other, under Argo CD or Flux
#[derive(Debug, Parser)]
#[command(
    name = "haptic-scaffold",
    version,
    propagate_version = true,
    max_term_width = 110
)]
pub struct Cli {
    /// Flags of every command.
    #[command(flatten)]
    pub common: Common,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Work in this repository instead of the one around the current folder
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub directory: Option<PathBuf>,
    /// Show what would be done, and do nothing
    #[arg(long, global = true, action = ArgAction::SetTrue)]
    pub dry_run: bool,
    /// Show the text of every change
    #[arg(long, global = true, action = ArgAction::SetTrue)]
    pub diff: bool,
    /// How results are printed
    #[arg(long, value_name = "FORMAT", global = true, default_value = "human")]
    pub output: Format,
    /// Ask nothing, take the defaults
    #[arg(long, global = true, action = ArgAction::SetTrue)]
    pub yes: bool,
    /// Say only what is wrong
    #[arg(short, long, global = true, action = ArgAction::SetTrue, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more; twice for still more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// When to use colours
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub color: Color,
    /// Read the recorded answers from this file instead of .haptic-scaffold.yaml
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

impl Common {
    /// How much is said: below 0 only what is wrong, above 0 more.
    pub fn verbosity(&self) -> i8 {
        if self.quiet {
            -1
        } else {
            i8::try_from(self.verbose).unwrap_or(i8::MAX)
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Render a layout into a repository and commit it
    Init(Box<init::InitArgs>),
    /// List the layouts, explain one, or check your own
    Layouts(layouts::LayoutsArgs),
    /// Print the JSON Schema of .haptic-scaffold.yaml
    Schema,
    /// Show every place where a chart's version stands
    Pins(pins::PinsArgs),
    /// Move the pins of charts to newer versions
    Upgrade(upgrade::UpgradeArgs),
    /// Go forward from a release that was rejected
    Recover(Box<recover::RecoverArgs>),
    /// Do the round of a bot over one repository or many
    Bot(bot::BotArgs),
    /// Create, seal, rotate and inspect the Secrets that the release needs
    Secrets(secrets::SecretsArgs),
}

impl Command {
    /// The name in the JSON output.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Init(_) => "init",
            Self::Layouts(_) => "layouts",
            Self::Schema => "schema",
            Self::Pins(_) => "pins",
            Self::Upgrade(_) => "upgrade",
            Self::Recover(_) => "recover",
            Self::Bot(_) => "bot",
            Self::Secrets(arguments) => match &arguments.command {
                SecretsCommand::List(_) => "secrets-list",
                SecretsCommand::Apply(_) => "secrets-apply",
                SecretsCommand::Script => "secrets-script",
                SecretsCommand::Rotate(_) => "secrets-rotate",
                SecretsCommand::AgeKey { .. } => "secrets-age-key",
                SecretsCommand::TrialCertificates(_) => "secrets-trial-certificates",
            },
        }
    }
}
