//! Plans the files that are sealed: Secrets that stand in Git.

use anyhow::Result;

use super::change::{Commit, FileChange, Verdict};
use super::scaffold::Facts;
use crate::layout::render::{Rendered, WOULD_SEAL};
use crate::model::tree::{self, Entry, Tree};

/// A sealed file is written where none is, and where another value was asked for. Every sealing differs, so it is never compared.
pub(super) fn plan(tree: &dyn Tree, facts: &Facts<'_>, rendered: &Rendered) -> Result<FileChange> {
    let path = tree::resolve(tree, &rendered.path)?;
    let old = match tree.entry(&path)? {
        Some(Entry::File(old)) => Some(old),
        _ => None,
    };
    let new = facts
        .sealed
        .get(&rendered.path)
        .map(|text| text.clone().into_bytes());
    let would = facts
        .sealed
        .get(&rendered.path)
        .is_some_and(|text| text == WOULD_SEAL);
    let (verdict, why) = match (&old, &new) {
        (None, Some(_)) if would => (Verdict::Create, "would be sealed"),
        (Some(_), Some(_)) if would => (Verdict::Update, "would be sealed anew"),
        (None, Some(_)) => (Verdict::Create, rendered.what.as_str()),
        (Some(_), Some(_)) => (Verdict::Update, "sealed anew"),
        (Some(_), None) => (Verdict::Same, "sealed once"),
        (None, None) => (Verdict::Conflict, "a folder has this name"),
    };
    let commit = match verdict {
        _ if !facts.is_pending => Commit::Never,
        Verdict::Same => Commit::Yes,
        _ => Commit::IfMissing,
    };
    Ok(FileChange {
        path,
        verdict,
        why: why.to_owned(),
        commit,
        new: new.or_else(|| old.clone()),
        old,
    })
}
