//! In which files two trees differ, read from those folders alone that differ: libgit2's own diff reads all, which takes its time in a large repository.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use git2::{Error, ObjectType, Repository, Tree, TreeEntry};

/// Paths with their new content; none where the file is gone, or is none.
pub(super) type Differences = BTreeMap<String, Option<Vec<u8>>>;

/// Compares two trees. Nothing for one of them is an empty one.
///
/// # Errors
/// When a tree can't be read.
pub(super) fn differences(
    repository: &Repository,
    old: Option<&Tree<'_>>,
    new: Option<&Tree<'_>>,
) -> Result<Differences, Error> {
    let mut found = Differences::new();
    compare(repository, old, new, "", &mut found)?;
    Ok(found)
}

fn compare(
    repository: &Repository,
    old: Option<&Tree<'_>>,
    new: Option<&Tree<'_>>,
    prefix: &str,
    found: &mut Differences,
) -> Result<(), Error> {
    let (mut old_at, mut new_at) = (0, 0);
    loop {
        let one = old.and_then(|tree| tree.get(old_at));
        let other = new.and_then(|tree| tree.get(new_at));
        let order = match (&one, &other) {
            (Some(one), Some(other)) => order(one, other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return Ok(()),
        };
        let one = one.filter(|_| order.is_le());
        let other = other.filter(|_| order.is_ge());
        old_at += usize::from(one.is_some());
        new_at += usize::from(other.is_some());
        let says = |entry: &TreeEntry<'_>| (entry.id(), entry.filemode());
        if one.as_ref().map(says) == other.as_ref().map(says) {
            continue;
        }
        let Some(either) = other.as_ref().or(one.as_ref()) else {
            continue;
        };
        let path = format!("{prefix}{}", String::from_utf8_lossy(either.name_bytes()));
        if is_tree(either) {
            let tree = |entry: Option<TreeEntry<'_>>| {
                entry
                    .map(|entry| repository.find_tree(entry.id()))
                    .transpose()
            };
            let (one, other) = (tree(one)?, tree(other)?);
            let prefix = format!("{path}/");
            compare(repository, one.as_ref(), other.as_ref(), &prefix, found)?;
        } else {
            let blob = other.and_then(|entry| repository.find_blob(entry.id()).ok());
            found.insert(path, blob.map(|blob| blob.content().to_vec()));
        }
    }
}

fn is_tree(entry: &TreeEntry<'_>) -> bool {
    entry.kind() == Some(ObjectType::Tree)
}

/// The order of entries in a tree: by their bytes, folders as if a `/` ended their name (git-mktree).
fn order(one: &TreeEntry<'_>, other: &TreeEntry<'_>) -> Ordering {
    let key = |entry: &TreeEntry<'_>| {
        let end = if is_tree(entry) { &b"/"[..] } else { b"" };
        [entry.name_bytes(), end].concat()
    };
    match (is_tree(one), is_tree(other)) {
        (false, false) => one.name_bytes().cmp(other.name_bytes()),
        _ => key(one).cmp(&key(other)),
    }
}

#[cfg(test)]
mod tests {
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
                let found = differences(&repository, Some(old), Some(new)).unwrap();
                assert_eq!(found, wanted(&repository, old, new));
                assert_eq!(found.is_empty(), old.id() == new.id());
            }
        }
    }
}
