//! Variables: every flag is also `HAPTIC_SCAFFOLD_<FLAG>`, weaker than the flag itself. An empty one says nothing, as CI systems set them.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory as _};

use super::Cli;
use crate::model::env::Env;

/// Flags that answer the same question another way: a variable of one gives way to the other on the command line.
const RIVALS: [(&str, &str); 4] = [
    ("layout", "provider"),
    ("provider", "layout"),
    ("quiet", "verbose"),
    ("verbose", "quiet"),
];

/// The name of a flag's variable.
fn variable(arg: &Arg) -> Option<String> {
    let name = arg
        .get_long()
        .map(str::to_owned)
        .or_else(|| arg.get_short().map(String::from))?;
    Some(format!(
        "HAPTIC_SCAFFOLD_{}",
        name.replace('-', "_").to_uppercase()
    ))
}

/// The variables of all flags of all commands.
pub fn names() -> Vec<String> {
    let mut command = Cli::command();
    command.build();
    let commands = command
        .get_subcommands()
        .flat_map(|inner| inner.get_arguments());
    commands
        .filter(|arg| !arg.is_positional())
        .filter_map(variable)
        .collect()
}

/// Adds what variables say to a command line that doesn't say it itself. One that can't be understood stays as it is.
pub fn with_variables(arguments: Vec<OsString>, env: &Env) -> Vec<OsString> {
    let mut command = Cli::command();
    command.build();
    let Ok(matches) = command.clone().try_get_matches_from(&arguments) else {
        return arguments;
    };
    let Some((name, inner)) = matches.subcommand() else {
        return arguments;
    };
    let Some(inner_command) = command.find_subcommand(name) else {
        return arguments;
    };
    let mut added = Vec::new();
    for arg in inner_command
        .get_arguments()
        .filter(|arg| !arg.is_positional())
    {
        let is_said = |id: &str| says(inner, id) || says(&matches, id);
        let rival = RIVALS
            .iter()
            .find(|(id, _)| *id == arg.get_id().as_str())
            .is_some_and(|(_, rival)| is_said(rival));
        if is_said(arg.get_id().as_str()) || rival {
            continue;
        }
        if let Some(value) = variable(arg).and_then(|variable| env.get(&variable)) {
            added.extend(words(arg, &value));
        }
    }
    let end = arguments
        .iter()
        .position(|word| word == "--")
        .unwrap_or(arguments.len());
    let mut all = arguments;
    all.splice(end..end, added);
    all
}

fn says(matches: &ArgMatches, id: &str) -> bool {
    matches.try_contains_id(id).is_ok()
        && matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// The words of a flag with a variable's value.
fn words(arg: &Arg, value: &str) -> Vec<OsString> {
    let flag = match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => return Vec::new(),
    };
    match arg.get_action() {
        ArgAction::SetTrue if is_true(value) => vec![flag.into()],
        ArgAction::SetTrue
        | ArgAction::Help
        | ArgAction::HelpShort
        | ArgAction::HelpLong
        | ArgAction::Version => Vec::new(),
        ArgAction::Count => {
            vec![flag.into(); value.parse().unwrap_or(usize::from(is_true(value))).min(3)]
        }
        ArgAction::Append => value
            .lines()
            .filter(|line| !line.is_empty())
            .flat_map(|line| [flag.clone().into(), line.into()])
            .collect(),
        _ if arg.get_long().is_some() => vec![format!("{flag}={value}").into()],
        _ => vec![flag.into(), value.into()],
    }
}

fn is_true(value: &str) -> bool {
    !matches!(
        value.to_lowercase().as_str(),
        "0" | "false" | "no" | "off" | "n" | "f"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(arguments: &[&str], env: &[(&str, &str)]) -> Vec<String> {
        let arguments = std::iter::once("haptic-scaffold")
            .chain(arguments.iter().copied())
            .map(OsString::from)
            .collect();
        with_variables(arguments, &Env::of(env))
            .into_iter()
            .skip(1)
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn a_variable_is_weaker_than_its_flag_and_than_the_flags_rival() {
        let env = [
            ("HAPTIC_SCAFFOLD_LAYOUT", "flux-fleet"),
            ("HAPTIC_SCAFFOLD_RELEASE", "a"),
        ];
        assert_eq!(
            with(&["init", "--provider", "argo", "--release", "b"], &env),
            ["init", "--provider", "argo", "--release", "b"]
        );
        assert_eq!(
            with(&["init"], &env),
            ["init", "--layout=flux-fleet", "--release=a"]
        );
    }

    #[test]
    fn an_empty_or_false_variable_says_nothing() {
        assert_eq!(
            with(
                &["init"],
                &[("HAPTIC_SCAFFOLD_LAYOUT", ""), ("HAPTIC_SCAFFOLD_YES", "0")]
            ),
            ["init"]
        );
        assert_eq!(
            with(
                &["schema"],
                &[
                    ("HAPTIC_SCAFFOLD_OUTPUT", "json"),
                    ("HAPTIC_SCAFFOLD_C", "x")
                ]
            )
            .len(),
            4
        );
        assert_eq!(
            with(&["init"], &[("HAPTIC_SCAFFOLD_VERBOSE", "2")]),
            ["init", "--verbose", "--verbose"]
        );
    }

    #[test]
    fn no_question_of_a_layout_can_have_the_name_of_a_flag() {
        let catalog = crate::layout::catalog::Catalog::embedded();
        let mut command = Cli::command();
        command.build();
        for arg in command
            .find_subcommand("init")
            .expect("is there")
            .get_arguments()
        {
            let Some(long) = arg
                .get_long()
                .filter(|long| !matches!(*long, "help" | "version"))
            else {
                continue;
            };
            let name = long.replace('-', "_");
            let is_standard = catalog
                .standard_questions()
                .iter()
                .any(|question| question.name == name);
            assert!(
                is_standard || crate::layout::question::TAKEN.contains(&name.as_str()),
                "{name}"
            );
        }
    }
}
