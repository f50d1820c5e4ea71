//! Whether a repository's policy asks how long something has been there: then all of its history is needed.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use git2::{Oid, Repository};

use crate::command::files;
use crate::command::policies::is_policy;
use crate::git::trees::GitTree;
use crate::model::tree::Tree as _;

/// Looks for the key `after` in the policies of a commit, or in the one that takes their place. A comment that has the word costs a longer fetch and nothing else.
///
/// # Errors
/// When a policy can't be read.
pub(super) fn has_waits(repository: &Repository, base: Oid, config: Option<&Path>) -> Result<bool> {
    if let Some(config) = config {
        return Ok(files::read_text(config)?.contains("after"));
    }
    let found = AtomicBool::new(false);
    let tree = GitTree::of(repository, Some(base))?;
    tree.read_each(&is_policy, &|_, bytes| {
        let text = bytes.map(String::from_utf8_lossy).unwrap_or_default();
        if text.contains("after") {
            found.store(true, Ordering::Relaxed);
        }
    })?;
    Ok(found.into_inner())
}
