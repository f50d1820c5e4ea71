//! `layouts`: list, show, check.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::files;
use super::gather::{Places, gather};
use crate::cli::Common;
use crate::cli::layouts::{LayoutsArgs, LayoutsCommand};
use crate::error::{ExitStatus, Problem};
use crate::layout::catalog::Catalog;
use crate::layout::check;
use crate::layout::definition::{ClusterCount, Layout, Owner};
use crate::layout::question::Question;
use crate::model::repo_path::RepoPath;
use crate::ui::Outcome;
use crate::world::World;

/// Runs `layouts` and its sub-commands.
///
/// # Errors
/// When a folder can't be read, there is no such layout, or one isn't valid.
pub fn run(arguments: &LayoutsArgs, common: &Common, world: &World) -> Result<Outcome> {
    let folder = common.directory.as_deref().map_or_else(
        || world.folder.clone(),
        |dir| files::from(&world.folder, dir),
    );
    let catalog = || match &arguments.layouts {
        Some(dir) => files::catalog(Some(&files::from(&world.folder, dir))),
        None => recorded_catalog(&folder),
    };
    match &arguments.command {
        None => list(&catalog()?),
        Some(LayoutsCommand::Show { name }) => show(&catalog()?.layout(name)?),
        Some(LayoutsCommand::Check { dir }) => check_folder(&files::from(&folder, dir)),
    }
}

/// The layouts that a scaffold around the folder records, else the embedded ones.
fn recorded_catalog(folder: &std::path::Path) -> Result<Catalog> {
    let places = Places {
        folder,
        dir: None,
        sub: None,
        config: None,
        may_follow_bootstrap: false,
        bench: None,
    };
    let Ok(gathered) = gather(&places) else {
        return Ok(Catalog::embedded());
    };
    let recorded = gathered
        .recorded
        .as_ref()
        .and_then(|(recorded, _)| recorded.layouts.as_deref());
    let Some(dir) = recorded else {
        return Ok(Catalog::embedded());
    };
    let prefix = RepoPath::prefix(gathered.path.as_ref());
    files::catalog_of(
        gathered.target.tree()?.as_ref(),
        &RepoPath::parse(&format!("{prefix}{dir}"))?,
    )
}

fn done(text: String, json: Map<String, Value>) -> Outcome {
    Outcome {
        status: ExitStatus::Done,
        text,
        json,
        problem: None,
        lists: Vec::new(),
    }
}

fn list(catalog: &Catalog) -> Result<Outcome> {
    let layouts = catalog
        .names()
        .map(|name| catalog.layout(name))
        .collect::<Result<Vec<_>>>()?;
    let width = layouts
        .iter()
        .map(|l| l.name.len())
        .max()
        .unwrap_or_default();
    let text = layouts
        .iter()
        .map(|l| format!("{:<width$}  {}\n", l.name, l.title))
        .collect();
    let json = layouts
        .iter()
        .map(|l| json!({"name": l.name, "title": l.title, "about": l.about, "provider": l.provider, "clusters": l.clusters}))
        .collect::<Vec<_>>();
    Ok(done(
        text,
        Map::from_iter([("layouts".to_owned(), json!(json))]),
    ))
}

fn show(layout: &Layout) -> Result<Outcome> {
    let clusters = match layout.clusters {
        ClusterCount::One => "one cluster",
        ClusterCount::Many => "one or more clusters",
    };
    let mut text = format!(
        "{}: {} ({}, {clusters})\n{}\n\nQuestions\n",
        layout.name,
        layout.title,
        layout.provider.as_str(),
        layout.about.trim()
    );
    for question in &layout.questions {
        text.push_str(&show_question(question));
    }
    text.push_str("\nFiles\n");
    for file in &layout.files {
        let owner = if file.owner == Owner::User {
            ", yours"
        } else {
            ""
        };
        let each = if file.each.is_some() {
            ", for each cluster"
        } else {
            ""
        };
        let when = file
            .when
            .as_ref()
            .map(|when| format!(", where {when}"))
            .unwrap_or_default();
        text.push_str(&format!(
            "  {}\n      {}{each}{owner}{when}\n",
            plain(&file.path),
            file.what.trim_end_matches("; this file is yours")
        ));
    }
    text.push_str("\nOrder\n");
    for (number, step) in layout.order.iter().enumerate() {
        let how = step
            .how
            .as_ref()
            .map(|how| format!(" ({how})"))
            .unwrap_or_default();
        text.push_str(&format!(
            "  {}. {}: {}{how}\n",
            number + 1,
            plain(&step.object),
            plain(&step.says)
        ));
    }
    Ok(done(
        text,
        Map::from_iter([("layout".to_owned(), serde_json::to_value(layout)?)]),
    ))
}

fn show_question(question: &Question) -> String {
    let default = match (&question.default, &question.default_from) {
        (Some(Value::Array(items)), _) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            format!("; default {}", items.join(","))
        }
        (Some(Value::String(text)), _) if text.is_empty() => "; default none".to_owned(),
        (Some(Value::String(text)), _) => format!("; default {text}"),
        (Some(default), _) => format!("; default {default}"),
        (None, Some(from)) => format!(
            "; default: {}",
            question.default_says.as_deref().unwrap_or(from)
        ),
        (None, None) => String::new(),
    };
    let choices = if question.choices.is_empty() {
        String::new()
    } else {
        format!("; one of {}", question.choices.join(", "))
    };
    let when = question
        .asked_where()
        .map(|when| format!("; asked {when}"))
        .unwrap_or_default();
    format!(
        "  {:<18} {}\n      {}{choices}{default}{when}\n",
        question.name,
        question.help.as_deref().unwrap_or_default(),
        question.flag()
    )
}

/// Templates as people read them: `clusters/CLUSTER/RELEASE.yaml`, and a text that depends on answers with all its parts.
fn plain(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, tag)) = rest.split_once('[') {
        text.push_str(before);
        let closed = |opening, closing| tag.strip_prefix(opening)?.split_once(closing);
        if let Some((expression, after)) = closed("=", "=]") {
            let path: Vec<&str> = expression.trim().split('.').collect();
            let name = match path[..] {
                [.., owner, "name"] => owner,
                [.., name] => name,
                [] => "",
            };
            text.push_str(&name.to_uppercase());
            rest = after;
        } else if let Some((_, after)) = closed("%", "%]") {
            rest = after;
        } else {
            text.push('[');
            rest = tag;
        }
    }
    text + rest
}

fn check_folder(folder: &std::path::Path) -> Result<Outcome> {
    let own = files::own_files(folder)?;
    let catalog = Catalog::with_own(&own, &folder.display().to_string());
    let names: Vec<&str> = own
        .keys()
        .filter_map(|path| path.strip_suffix("/layout.yaml"))
        .filter(|name| !name.contains('/'))
        .collect();
    let checked: Vec<&str> = if names.is_empty() {
        catalog.names().collect()
    } else {
        names
    };
    let faults = check::check(&catalog, checked.iter().copied());
    if let Some(first) = faults.first() {
        let lines = faults.iter().map(|fault| {
            let under = if fault.answers.is_empty() {
                String::new()
            } else {
                format!("\n      with {}", fault.answers)
            };
            format!("{}: {}{under}", fault.layout, fault.message)
        });
        let message = format!(
            "{} fault{} in `{}`\n  {}",
            faults.len(),
            if faults.len() == 1 { "" } else { "s" },
            folder.display(),
            lines.collect::<Vec<_>>().join("\n  ")
        );
        return Err(Problem::invalid(message)
            .hint(format!(
                "`haptic-scaffold layouts show {} --layouts {}` shows what it says",
                first.layout,
                folder.display()
            ))
            .into());
    }
    let text = format!(
        "{} good: {}\n",
        if checked.len() == 1 {
            "1 layout is"
        } else {
            "all layouts are"
        },
        checked.join(", ")
    );
    Ok(done(
        text,
        Map::from_iter([("checked".to_owned(), json!(checked))]),
    ))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn templates_are_told_in_plain_words() {
        for (template, words) in [
            (
                "clusters/[= cluster.name =]/[= release =].yaml",
                "clusters/CLUSTER/RELEASE.yaml",
            ),
            (
                "namespace[% if secrets_needed %] and Secrets[% endif %]",
                "namespace and Secrets",
            ),
            ("a =] b [= c", "a =] b [= c"),
            ("[x] [= y =]", "[x] Y"),
        ] {
            assert_eq!(plain(template), words);
        }
    }
}
