//! Writes a GitOps config repository for the HAPTIC Helm chart, or any other, under Argo CD or Flux.
//!
//! A command gathers facts, plans a [`plan::change::Change`] and applies it:
//!
//! - [`cli`] parses, [`command`] has one file for each use case;
//! - [`model`], [`yaml`], [`layout`], [`haptic`], [`secrets`], [`pins`], [`observe`] and [`plan`] are pure: values in, values out;
//! - [`git`], [`forge`], [`registry`], [`cluster`], [`helm`], [`preflight`], [`sops`] and [`ui`] are the effects, [`world`] makes the real ones;
//! - [`error`] says what went wrong and what to do now.

mod child;
pub mod cli;
pub mod cluster;
pub mod command;
pub mod error;
pub mod forge;
pub mod git;
pub mod haptic;
pub mod helm;
mod http;
pub mod layout;
pub mod model;
pub mod observe;
pub mod pins;
pub mod plan;
pub mod preflight;
pub mod registry;
pub mod secrets;
pub mod sops;
pub mod ui;
pub mod world;
pub mod yaml;

use std::ffi::OsString;

use clap::Parser as _;

use crate::cli::bot::BotCommand;
use crate::cli::variables::with_variables;
use crate::cli::{Cli, Command};
use crate::error::{ExitStatus, Problem, Report};
use crate::model::env::Env;
use crate::ui::{Color, Format, Ui};
use crate::world::World;

/// Runs a command line and returns what the process ends with.
pub fn run(arguments: impl IntoIterator<Item = OsString>, mut world: World) -> ExitStatus {
    git::set_up();
    let arguments = with_variables(arguments.into_iter().collect(), &world.env);
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(why) => return refuse(&arguments, &world.env, &why),
    };
    let verbosity = cli.common.verbosity();
    let mut ui = Ui::real(cli.common.output, cli.common.color, verbosity);
    let name = cli.command.name();
    let outcome = match &cli.command {
        Command::Init(arguments) => command::init::run(arguments, &cli.common, &mut world, &mut ui),
        Command::Layouts(arguments) => command::layouts::run(arguments, &cli.common, &world),
        Command::Schema => Ok(command::schema::run()),
        Command::Pins(arguments) => command::pins::run(arguments, &cli.common, &world, &mut ui),
        Command::Upgrade(arguments) => {
            command::upgrade::run(arguments, &cli.common, &world, &mut ui)
        }
        Command::Recover(arguments) => {
            command::recover::run(arguments, &cli.common, &world, &mut ui)
        }
        Command::Bot(arguments) => match &arguments.command {
            BotCommand::Run(arguments) => {
                command::bot::run(arguments, &cli.common, &world, &mut ui)
            }
        },
        Command::Secrets(arguments) => {
            command::secrets::run(arguments, &cli.common, &world, &mut ui)
        }
    };
    let (status, printed) = match outcome {
        Ok(outcome) => (outcome.status, ui.result(name, &outcome)),
        Err(why) => {
            let report = Report::of(&why);
            (report.status, ui.error(name, &report))
        }
    };
    if printed.is_err() {
        ExitStatus::Failed
    } else {
        status
    }
}

/// Help and version are answers; everything else that clap says is a wrong command line.
fn refuse(arguments: &[OsString], env: &Env, why: &clap::Error) -> ExitStatus {
    if !why.use_stderr() {
        let _ = why.print().is_err();
        return ExitStatus::Done;
    }
    let says_json = arguments
        .windows(2)
        .any(|pair| pair[0] == "--output" && pair[1] == "json")
        || arguments.iter().any(|word| word == "--output=json");
    let wants_json = says_json || env.get("HAPTIC_SCAFFOLD_OUTPUT").as_deref() == Some("json");
    if wants_json {
        let text = why.render().to_string();
        let first = text
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ")
            .to_owned();
        let problem = Problem::usage(first).hint("haptic-scaffold --help lists commands and flags");
        let name = command_of(arguments);
        let _ = Ui::real(Format::Json, Color::Never, 0)
            .error(&name, &Report::of(&problem.into()))
            .is_err();
    } else {
        let _ = why.print().is_err();
    }
    ExitStatus::Usage
}

/// The name of the command in the JSON output, as far as a wrong command line says it.
fn command_of(arguments: &[OsString]) -> String {
    const NAMES: [&str; 8] = [
        "init", "layouts", "schema", "pins", "upgrade", "recover", "bot", "secrets",
    ];
    const OF_SECRETS: [&str; 6] = [
        "list",
        "apply",
        "script",
        "rotate",
        "age-key",
        "trial-certificates",
    ];
    let mut words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    let Some(name) = words.find(|word| NAMES.contains(word)) else {
        return "usage".to_owned();
    };
    let inner = words.find(|word| name == "secrets" && OF_SECRETS.contains(word));
    inner.map_or_else(|| name.to_owned(), |inner| format!("{name}-{inner}"))
}
