//! What `upgrade` says about its changes, for people and scripts.

use std::collections::BTreeSet;

use anyhow::Result;
use git2::{Oid, Repository};
use serde_json::{Map, Value, json};

use super::base::uncommitted;
use crate::cli::Common;
use crate::command::deliver::told::{Delivered, Told};
use crate::command::policies::Policies;
use crate::git::branches::Offered;
use crate::git::old_offers::offers;
use crate::model::repo_path::RepoPath;
use crate::model::tree::Tree;
use crate::plan::bundle::Kept;
use crate::plan::change::Change;
use crate::ui::{Ui, diff};

/// Commits changes, and leaves them here.
pub(in crate::command) fn offered<'c>(
    changes: &'c [Change],
    is_dry: bool,
    offer: &dyn Fn(&Change) -> Result<Offered>,
) -> Result<Vec<Delivered<'c>>> {
    let offered = changes.iter().map(|change| {
        Ok(Delivered {
            change,
            offered: (!is_dry).then(|| offer(change)).transpose()?,
            request: None,
        })
    });
    offered.collect()
}

/// Policies that were edited and not committed don't count.
pub(in crate::command) fn tell_uncommitted(
    repository: &Repository,
    tree: &dyn Tree,
    policies: &[(RepoPath, String)],
    ui: &mut Ui,
) {
    for path in uncommitted(repository, tree, policies) {
        ui.notice(&format!(
            "`{path}` in the work tree is another than in the commit that is built on: it doesn't count here"
        ));
    }
}

/// Branches that somebody works on.
pub(in crate::command) fn warn_left_alone(told: &[Delivered<'_>], ui: &mut Ui) {
    for one in told {
        let why = match &one.offered {
            Some(Offered::LeftAlone) => "has a commit that isn't ours",
            Some(Offered::CheckedOut) => "is checked out",
            _ => continue,
        };
        ui.warn(&format!(
            "{}: the branch {why}, so it is left alone; a new offer is made when it is merged or gone",
            one.change.branch
        ));
    }
}

/// Offers of earlier runs that nothing asks for any more: the version was rejected since, or the pin has moved.
pub(in crate::command) fn tell_old_offers(
    repository: &Repository,
    base: Oid,
    (changes, staying, policies): (&[Change], &BTreeSet<String>, &Policies),
    ui: &mut Ui,
) -> Result<()> {
    for old in offers(repository, base)? {
        let is_offered = changes.iter().any(|change| change.key == old.key);
        let may_hold =
            staying.contains(&old.key) && !policies.have_rejected(&old.key, &old.versions);
        if !is_offered && !may_hold {
            ui.notice(&format!(
                "{0}: it offers {1}, which nothing asks for any more: git branch -D {0}",
                old.branch,
                old.versions.join(", ")
            ));
        }
    }
    Ok(())
}

/// The word for what became of a branch.
pub(in crate::command) fn word(one: &Delivered<'_>) -> &'static str {
    match &one.offered {
        None if one.is_closed() => "closed",
        None => "would be offered",
        Some(Offered::Created(_)) => "created",
        Some(Offered::Updated(_)) => "updated",
        Some(Offered::Same(_)) => "same",
        Some(Offered::LeftAlone | Offered::CheckedOut) => "left-alone",
    }
}

/// A change with what became of it, as scripts rely on it.
pub(in crate::command) fn change_json(one: &Delivered<'_>) -> Value {
    let commit = one.offered.as_ref().and_then(Offered::commit);
    let mut json = one.change.to_json(commit);
    json["branch_verdict"] = json!(word(one));
    json["request"] = json!(one.request.as_ref().map(Told::to_json));
    json
}

/// What scripts rely on.
pub(in crate::command) fn as_json(
    told: &[Delivered<'_>],
    kept: &[Kept],
    common: &Common,
) -> Map<String, Value> {
    let changes: Vec<Value> = told.iter().map(change_json).collect();
    let kept: Vec<Value> = kept
        .iter()
        .map(|kept| json!({"place": kept.place, "why": kept.why}))
        .collect();
    Map::from_iter([
        ("changes".to_owned(), json!(changes)),
        ("not_moved".to_owned(), json!(kept)),
        ("dry_run".to_owned(), json!(common.dry_run)),
    ])
}

/// What people read.
pub(in crate::command) fn shown(
    told: &[Delivered<'_>],
    kept: &[Kept],
    common: &Common,
    is_nobody: bool,
) -> String {
    let mut text = String::new();
    for one in told {
        let Delivered {
            change,
            offered,
            request,
        } = one;
        let (branch, title) = (&change.branch, &change.title);
        text.push_str(&format!("{branch}: {title} ({})\n", word(one)));
        if let Some(request) = request {
            text.push_str(&format!("  {}\n", request.to_text()));
        }
        // What stands on a branch that is left alone is somebody else's; what has a request is read there.
        let is_elsewhere = matches!(offered, Some(Offered::LeftAlone | Offered::CheckedOut));
        if !is_elsewhere && request.is_none() {
            text.push_str(&format!("\n{}\n", change.body));
        }
        if common.diff && !is_elsewhere {
            text.push_str(&diff::diffs(change));
        }
    }
    // What stands in no text above.
    let is_said = |one: &&Kept| {
        let line = format!("- {}: {}\n", one.place, one.why);
        let mut said = told.iter().filter(|told| told.request.is_none());
        said.any(|told| told.change.body.contains(&line))
    };
    if told.is_empty() {
        let asked = if is_nobody {
            "nothing to upgrade: nobody was asked which versions there are\n"
        } else {
            "nothing to upgrade\n"
        };
        text.push_str(asked);
    }
    for Kept { place, why } in kept.iter().filter(|one| !is_said(one)) {
        text.push_str(&format!("  not moved: {place}: {why}\n"));
    }
    if !told.is_empty() && common.dry_run {
        text.push_str("nothing was written (dry run)\n");
    }
    text
}
