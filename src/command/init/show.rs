//! What `init` tells: for people, for scripts, and as the command that does the same again.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Answered, Init};
use crate::cli::init::InitArgs;
use crate::error::{ExitStatus, Problem};
use crate::git::apply::Applied;
use crate::layout::catalog::Catalog;
use crate::layout::context::Versions;
use crate::layout::recorded::ValuesAs;
use crate::plan::change::{Change, Verdict};
use crate::ui::{Outcome, diff};

impl Init<'_> {
    pub(super) fn conflicts(&self, change: &Change) -> Outcome {
        let count = change.conflicts().count();
        let message = format!(
            "{count} file{} in the way in `{}`, and nothing was written",
            if count == 1 { " is" } else { "s are" },
            self.place()
        );
        let problem = Problem::new(ExitStatus::Conflicts, message)
            .hint("`--on-conflict keep` leaves these files as they are, `--on-conflict replace` writes over them")
            .hint("`--diff` shows what differs, `--path SUB` puts everything below a folder");
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
            return format!("{skipped}nothing to do: `{place}` is as the answers say\n");
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
        let is_first = self.gathered.lock.files.is_empty();
        if is_first {
            let own = change
                .files
                .iter()
                .filter(|f| f.verdict != Verdict::Delete)
                .map(|f| f.path.as_str());
            text.push_str(&format!(
                "{place}: {} for {} {}\n{}",
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
            text.push_str("\nwritten, not committed\n");
        }
        if is_first && !steps.is_empty() {
            text.push_str("\nnext:\n");
            for (number, step) in steps.iter().enumerate() {
                text.push_str(&format!("  {}. {step}\n", number + 1));
            }
        }
        text
    }

    pub(super) fn json(&self, change: &Change, applied: &Applied) -> Map<String, Value> {
        let branch = applied.branch.clone().or_else(|| {
            self.gathered
                .head
                .as_ref()
                .and_then(|h| h.short().map(str::to_owned))
        });
        let change = json!({
            "key": change.key,
            "branch": branch,
            "base": branch,
            "commit": applied.commit,
            "title": change.message.subject,
            "body": change.message.body,
            "labels": [],
            "files": change.files,
            "request": null,
        });
        Map::from_iter([
            ("changes".to_owned(), json!([change])),
            ("dry_run".to_owned(), json!(self.common.dry_run)),
        ])
    }
}

fn shown_versions(versions: &Versions) -> String {
    let all: BTreeSet<&String> = versions.values().collect();
    all.into_iter().cloned().collect::<Vec<_>>().join(", ")
}

/// The command that does without questions what was answered to them.
pub(super) fn equivalent(
    arguments: &InitArgs,
    layout: &str,
    answered: &[(String, String)],
) -> String {
    let mut words = vec!["haptic-scaffold".to_owned(), "init".to_owned()];
    words.extend(
        arguments
            .dir
            .iter()
            .map(|dir| quoted(&dir.to_string_lossy())),
    );
    words.extend(["--layout".to_owned(), quoted(layout)]);
    for (name, text) in arguments.questions.texts() {
        words.extend([format!("--{}", name.replace('_', "-")), quoted(text)]);
    }
    for (name, text) in answered {
        let is_inline = name == "values_as" && text == ValuesAs::Inline.as_str();
        match Catalog::embedded()
            .standard_questions()
            .iter()
            .any(|q| &q.name == name)
        {
            _ if is_inline => words.push("--inline-values".to_owned()),
            true => words.extend([format!("--{}", name.replace('_', "-")), quoted(text)]),
            false => words.extend(["--set".to_owned(), quoted(&format!("{name}={text}"))]),
        }
    }
    words.push("--yes".to_owned());
    words.join(" ")
}

fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
