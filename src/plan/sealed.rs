//! Plans the files that are sealed: Secrets that stand in Git.

use anyhow::Result;

use super::change::{Commit, FileChange, Verdict};
use super::scaffold::{Facts, OnConflict};
use crate::layout::render::{Rendered, WOULD_SEAL};
use crate::model::tree::{self, Entry, Tree};
use crate::secrets::manifest::describe;

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
        (Some(old), None) if !is_sealed(old) => match facts.on_conflict {
            OnConflict::Keep => (Verdict::Skip, "kept: it is neither sealed nor encrypted"),
            OnConflict::Stop | OnConflict::Replace => (Verdict::Conflict, OPEN),
        },
        (Some(_), None) => (Verdict::Same, "sealed once"),
        (None, None) => (Verdict::Conflict, "a folder has this name"),
    };
    let commit = match verdict {
        Verdict::Same if facts.is_pending => Commit::Yes,
        Verdict::Create | Verdict::Update if facts.is_pending => Commit::IfMissing,
        // What isn't sealed is never committed, whatever else is.
        _ => Commit::Never,
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

/// The reason of a file that must not be committed as it is.
const OPEN: &str = "it is neither sealed nor encrypted, so it must not be committed: encrypt it again (sops encrypt -i), take it back from Git, or have it made anew by --on-conflict replace";

/// Whether a file is a Secret of which every value is sealed or encrypted.
fn is_sealed(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    describe(&text).is_some_and(|described| !described.has_clear_value)
}
