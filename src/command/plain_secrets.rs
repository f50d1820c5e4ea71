//! Secrets that stand in a repository in clear.

use anyhow::Result;
use memchr::memmem;

use crate::model::repo_path::RepoPath;
use crate::model::tree::{Entry, Tree};
use crate::secrets::clear;

/// A file and the line of the object.
pub type Place = (RepoPath, usize);

/// Finds every `kind: Secret` with values that nothing has encrypted. Only places are returned, never a value.
///
/// # Errors
/// When the repository can't be read.
pub fn find(tree: &dyn Tree) -> Result<Vec<Place>> {
    let mut found = Vec::new();
    for path in tree.files(None)? {
        let is_manifest = [".yaml", ".yml", ".json"]
            .iter()
            .any(|ending| path.as_str().ends_with(ending));
        if !is_manifest {
            continue;
        }
        let Some(Entry::File(bytes)) = tree.entry(&path)? else {
            continue;
        };
        // Most manifests are none: they are told apart before they are parsed.
        if memmem::find(&bytes, b"Secret").is_none() {
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        found.extend(
            clear::lines(&text)
                .into_iter()
                .map(|line| (path.clone(), line)),
        );
    }
    Ok(found)
}
