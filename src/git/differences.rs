//! In which files two trees differ, read from those folders alone that differ: libgit2's own diff reads all, which takes its time in a large repository.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use git2::{Error, Oid, Repository};

use super::raw_trees::{Entries, Entry, RawTrees};

/// Paths with their new content; none where the file is gone, or is none.
pub(super) type Differences = BTreeMap<String, Option<Vec<u8>>>;

/// Compares two trees. Nothing for one of them is an empty one.
///
/// # Errors
/// When a tree can't be read.
pub(super) fn differences(
    repository: &Repository,
    trees: &RawTrees<'_>,
    old: Option<Oid>,
    new: Option<Oid>,
) -> Result<Differences, Error> {
    let mut comparison = Comparison {
        repository,
        trees,
        found: Differences::new(),
    };
    comparison.compare(old, new, "")?;
    Ok(comparison.found)
}

struct Comparison<'a> {
    repository: &'a Repository,
    trees: &'a RawTrees<'a>,
    found: Differences,
}

impl Comparison<'_> {
    fn compare(&mut self, old: Option<Oid>, new: Option<Oid>, prefix: &str) -> Result<(), Error> {
        let bytes = |tree: Option<Oid>| tree.map(|id| self.trees.bytes(id)).transpose();
        let (old, new) = (bytes(old)?, bytes(new)?);
        let mut olds = Entries::of(old.as_deref().unwrap_or_default()).peekable();
        let mut news = Entries::of(new.as_deref().unwrap_or_default()).peekable();
        loop {
            let order = match (olds.peek(), news.peek()) {
                (Some(one), Some(other)) => order(one, other),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Ok(()),
            };
            let one = olds.next_if(|_| order.is_le());
            let other = news.next_if(|_| order.is_ge());
            let says = |entry: &Entry<'_>| (entry.id, entry.mode.to_vec());
            if one.as_ref().map(says) == other.as_ref().map(says) {
                continue;
            }
            let Some(either) = other.as_ref().or(one.as_ref()) else {
                continue;
            };
            let path = format!("{prefix}{}", String::from_utf8_lossy(either.name));
            if either.is_folder() {
                let id = |entry: &Entry<'_>| entry.id;
                let (one, other) = (one.as_ref().map(id), other.as_ref().map(id));
                self.compare(one, other, &format!("{path}/"))?;
            } else {
                let blob = other.and_then(|entry| self.repository.find_blob(entry.id).ok());
                self.found
                    .insert(path, blob.map(|blob| blob.content().to_vec()));
            }
        }
    }
}

/// The order of entries in a tree: by their bytes, folders as if a `/` ended their name (git-mktree).
fn order(one: &Entry<'_>, other: &Entry<'_>) -> Ordering {
    let end = |entry: &Entry<'_>| if entry.is_folder() { &b"/"[..] } else { b"" };
    let one = one.name.iter().chain(end(one));
    one.cmp(other.name.iter().chain(end(other)))
}

#[cfg(test)]
mod tests {
    use git2::Tree;

    use super::*;

    /// A tree of some files, written as an index would.
    fn tree<'r>(repository: &'r Repository, files: &[(&str, &str)]) -> Tree<'r> {
        let mut update = git2::build::TreeUpdateBuilder::new();
        for (path, text) in files {
            let blob = repository.blob(text.as_bytes()).unwrap();
            update.upsert(*path, blob, git2::FileMode::Blob);
        }
        let empty = repository.treebuilder(None).unwrap().write().unwrap();
        let empty = repository.find_tree(empty).unwrap();
        let made = update.create_updated(repository, &empty).unwrap();
        repository.find_tree(made).unwrap()
    }

    /// What libgit2's own diff says.
    fn wanted(repository: &Repository, old: &Tree<'_>, new: &Tree<'_>) -> Differences {
        let diff = repository.diff_tree_to_tree(Some(old), Some(new), None);
        let diff = diff.unwrap();
        let file = |delta: git2::DiffDelta<'_>| {
            let path = delta.new_file().path().unwrap().to_str().unwrap();
            let blob = repository.find_blob(delta.new_file().id()).ok();
            (path.to_owned(), blob.map(|blob| blob.content().to_vec()))
        };
        diff.deltas().map(file).collect()
    }

    #[test]
    fn they_are_those_of_libgit2() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        let all: [&[(&str, &str)]; 5] = [
            &[],
            &[
                ("a", "1"),
                ("a.b", "1"),
                ("a0", "1"),
                ("x/y/z", "1"),
                ("x/w", "1"),
            ],
            &[
                ("a/b", "1"),
                ("a.b", "2"),
                ("a0", "1"),
                ("x/y/z", "2"),
                ("x/w", "1"),
            ],
            &[("x/y/z", "1"), ("x-y", "1"), ("x.y", "3"), ("xy/z", "1")],
            &[("x/y", "1"), ("x-y", "2"), ("xy", "1"), ("a", "1")],
        ];
        let trees: Vec<Tree<'_>> = all.iter().map(|files| tree(&repository, files)).collect();
        for old in &trees {
            for new in &trees {
                let raw = RawTrees::of(&repository).unwrap();
                let ids = (Some(old.id()), Some(new.id()));
                let found = differences(&repository, &raw, ids.0, ids.1).unwrap();
                assert_eq!(found, wanted(&repository, old, new));
                assert_eq!(found.is_empty(), old.id() == new.id());
            }
        }
    }
}
