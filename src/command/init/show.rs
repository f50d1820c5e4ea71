//! What `init` tells: for people, for scripts, and as the command that does the same again.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Answered, Init};
use crate::cli::Common;
use crate::cli::init::InitArgs;
use crate::command::shell::quoted;
use crate::error::{ExitStatus, Problem};
use crate::git::apply::Applied;
use crate::layout::context::Versions;
use crate::layout::definition::Layout;
use crate::model::pem;
use crate::plan::change::{Change, Verdict};
use crate::ui::{Outcome, diff};

impl Init<'_> {
    pub(super) fn conflicts(&self, answered: &Answered, change: &Change) -> Outcome {
        let count = change.conflicts().count();
        let message = format!(
            "{count} file{} in the way in `{}`, and nothing was written",
            if count == 1 { " is" } else { "s are" },
            self.place()
        );
        let is_own = change.conflicts().any(|file| file.why.starts_with("yours"));
        let problem = Problem::new(ExitStatus::Conflicts, message);
        let problem = match (is_own, answered.answers.webhook_cas()) {
            (true, Some(cas)) if self.rotation.is_some() => problem.hint(format!(
                "put this there by hand as controller.webhook.caBundle, commit it and run the command again: {}",
                pem::bundle(&cas)
            )),
            _ => problem.hint("`--on-conflict keep` leaves these files as they are, `--on-conflict replace` writes over them; `--diff` shows what differs"),
        };
        let problem = if is_own && self.rotation.is_none() {
            problem.hint(
                "put what the answers ask for into your file by hand, then `--on-conflict keep`",
            )
        } else if self.gathered.is_first {
            problem.hint("`--path SUB` puts everything below a folder")
        } else {
            problem
        };
        let mut text = diff::verdicts(change);
        if self.common.diff {
            text.push_str(&diff::diffs(change));
        }
        Outcome {
            status: ExitStatus::Conflicts,
            text,
            json: self.json(
                change,
                &Applied {
                    commit: None,
                    branch: None,
                },
            ),
            problem: Some(problem),
            lists: Vec::new(),
        }
    }

    pub(super) fn told(
        &self,
        answered: &Answered,
        change: &Change,
        applied: &Applied,
        steps: &[String],
    ) -> String {
        let place = self.place();
        let skipped = change
            .files
            .iter()
            .filter(|f| f.verdict == Verdict::Skip)
            .map(|f| format!("left alone: {} ({})\n", f.path, f.why))
            .collect::<String>();
        if change.writes().next().is_none() && applied.commit.is_none() {
            if self.common.dry_run && self.gathered.is_pending && !self.arguments.no_commit {
                return format!(
                    "{skipped}would commit what an earlier run wrote\n\nnothing was written (dry run)\n"
                );
            }
            let kept = change.files.iter().filter(|file| file.is_kept()).count();
            return match kept {
                0 => format!("{skipped}nothing to do: `{place}` is as the answers say\n"),
                1 => format!(
                    "{skipped}nothing to do: 1 file was kept and differs from the answers\n"
                ),
                many => format!(
                    "{skipped}nothing to do: {many} files were kept and differ from the answers\n"
                ),
            };
        }
        let mut text = if self.common.dry_run {
            diff::verdicts(change)
        } else {
            String::new()
        };
        if self.common.diff {
            text.push_str(&diff::diffs(change));
        }
        if self.common.dry_run {
            text.push_str("\nnothing was written (dry run)\n");
            return text;
        }
        let is_first = self.gathered.is_first;
        if is_first {
            let own = change
                .files
                .iter()
                .filter(|f| f.verdict != Verdict::Delete)
                .map(|f| f.path.as_str());
            text.push_str(&format!(
                "{place}: {} for {}{}\n{}",
                answered.layout.name,
                answered.answers.chart.name,
                shown_versions(&answered.chosen.versions),
                diff::tree(own)
            ));
        } else {
            text.push_str(
                &diff::verdicts(change)
                    .lines()
                    .filter(|line| !line.starts_with("same"))
                    .map(|line| format!("{line}\n"))
                    .collect::<String>(),
            );
        }
        if let Some(commit) = &applied.commit {
            text.push_str(&format!(
                "\ncommit {commit} on {}: {}\n",
                applied.branch.as_deref().unwrap_or("HEAD"),
                change.message.subject
            ));
        } else {
            let why = if self.arguments.no_commit {
                "not committed"
            } else {
                "nothing to commit"
            };
            text.push_str(&format!("\nwritten, {why}\n"));
        }
        if !steps.is_empty() {
            text.push_str("\nnext:\n");
            for (number, step) in steps.iter().enumerate() {
                text.push_str(&format!("  {}. {step}\n", number + 1));
            }
        }
        text
    }

    pub(super) fn json(&self, change: &Change, applied: &Applied) -> Map<String, Value> {
        let changes = json!([change.to_json(applied.commit.as_deref())]);
        Map::from_iter([
            ("changes".to_owned(), changes),
            ("dry_run".to_owned(), json!(self.common.dry_run)),
        ])
    }
}

fn shown_versions(versions: &Versions) -> String {
    let all: BTreeSet<&str> = versions
        .values()
        .map(String::as_str)
        .filter(|version| !version.is_empty())
        .collect();
    all.into_iter()
        .map(|version| format!(" {version}"))
        .collect()
}

/// The command that does without questions what was answered to them.
pub(super) fn equivalent(
    arguments: &InitArgs,
    common: &Common,
    layout: &Layout,
    answered: &[(String, String)],
) -> String {
    let mut words = vec!["haptic-scaffold".to_owned()];
    let mut flag = |name: &str, value: &str| words.extend([name.to_owned(), quoted(value)]);
    let path = |path: &Option<std::path::PathBuf>| {
        path.as_ref()
            .map(|path| path.to_string_lossy().into_owned())
    };
    for (name, value) in [
        ("-C", path(&common.directory)),
        ("--config", path(&common.config)),
    ] {
        value.iter().for_each(|value| flag(name, value));
    }
    words.push("init".to_owned());
    words.extend(path(&arguments.dir).iter().map(|dir| quoted(dir)));
    let mut flag = |name: &str, value: &str| words.extend([name.to_owned(), quoted(value)]);
    flag("--layout", &layout.name);
    for (name, value) in [
        ("--layouts", path(&arguments.layouts)),
        ("--path", arguments.path.clone()),
        ("--answers", path(&arguments.answers)),
        ("--chart-version", arguments.questions.chart_version.clone()),
        ("--webhook-ca", path(&arguments.questions.webhook_ca)),
        ("--values", path(&arguments.questions.values)),
        ("--author", arguments.author.clone()),
    ] {
        value.iter().for_each(|value| flag(name, value));
    }
    arguments.set.iter().for_each(|pair| flag("--set", pair));
    let given = arguments
        .questions
        .texts()
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text.to_owned()));
    for (name, text) in given.chain(answered.iter().cloned()) {
        let is_standard = layout
            .questions
            .iter()
            .any(|question| question.name == name && question.standard);
        match (name.as_str(), text.as_str()) {
            ("values_as", "inline") => words.push("--inline-values".to_owned()),
            _ if is_standard && name != "values_as" => {
                words.extend([format!("--{}", name.replace('_', "-")), quoted(&text)]);
            }
            _ => words.extend(["--set".to_owned(), quoted(&format!("{name}={text}"))]),
        }
    }
    if arguments.no_commit {
        words.push("--no-commit".to_owned());
    }
    words.push("--yes".to_owned());
    words.join(" ")
}
