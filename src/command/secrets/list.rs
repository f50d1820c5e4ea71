//! `secrets list`.

use anyhow::Result;
use serde_json::Map;

use super::Repo;
use super::agreement::{Agreement, Finding, Row, json};
use crate::cli::secrets::ListArgs;
use crate::error::ExitStatus;
use crate::ui::Outcome;
use crate::world::World;

/// Says what the release needs, where each comes from, and what doesn't agree.
pub(super) fn run(arguments: &ListArgs, repo: &Repo, world: &World) -> Result<Outcome> {
    let mut agreement = Agreement::of(repo, world.now)?;
    for (name, cluster) in repo.connect(&arguments.context, world)? {
        agreement.look_into(&name, &cluster)?;
    }
    let (rows, findings) = (&agreement.rows, &agreement.findings);
    let mut text: String = rows.iter().map(shown).collect();
    if rows.is_empty() {
        text.push_str("the release needs no Secret\n");
    }
    text.extend(findings.iter().map(told));
    let status = if arguments.exit_code && !findings.is_empty() {
        ExitStatus::Differences
    } else {
        ExitStatus::Done
    };
    Ok(Outcome {
        status,
        text,
        json: Map::from_iter([
            ("secrets".to_owned(), json(rows)),
            ("findings".to_owned(), json(findings)),
        ]),
        problem: None,
        lists: Vec::new(),
    })
}

fn shown(row: &Row) -> String {
    let mut text = format!(
        "{}/{} in {}: {}\n  {}: {}\n",
        row.namespace,
        row.name,
        row.cluster,
        row.says,
        row.kind,
        row.keys.join(", ")
    );
    if let Some(file) = &row.file {
        text.push_str(&format!("  {file}\n"));
    }
    if let Some(end) = &row.not_after {
        text.push_str(&format!("  its certificate ends on {end}\n"));
    }
    if let Some(state) = row.in_cluster {
        text.push_str(&format!("  in the cluster: {state}\n"));
    }
    text
}

fn told(finding: &Finding) -> String {
    let place = match (&finding.file, finding.line, &finding.cluster) {
        (Some(file), Some(line), _) => format!("{file}:{line}: "),
        (_, _, Some(cluster)) => format!("{cluster}: "),
        _ => String::new(),
    };
    format!("\n{place}{}\n  {}\n", finding.message, finding.hint)
}
