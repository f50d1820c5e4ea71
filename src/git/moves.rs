//! Where a file came from that begins with a commit: one that is gone with the same commit.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use git2::Oid;

use super::raw_trees::{Entries, RawTrees};
use crate::model::repo_path::RepoPath;

/// Of more files that are gone with one commit nobody looks for the one that was moved.
const MOST_LOST: usize = 10_000;
/// So many of them are looked at for one file that was moved and changed in one commit.
const MOST_LOOKED_AT: usize = 50;

/// A file that is gone with a commit.
pub(super) struct Lost {
    pub(super) path: Rc<RepoPath>,
    pub(super) id: Oid,
}

/// Where a file came from, of those that are gone.
pub(super) fn origin<'l>(
    lost: &'l [Lost],
    (path, id): (&RepoPath, Oid),
    has_it: &dyn Fn(&RepoPath, Oid) -> bool,
) -> Option<&'l Lost> {
    let mut lost: Vec<(_, &Lost)> = lost
        .iter()
        .map(|one| (likeness(path, &one.path), one))
        .collect();
    lost.sort_by_key(|(likeness, _)| Reverse(*likeness));
    if let Some((_, same)) = lost.iter().find(|(_, one)| one.id == id) {
        return Some(same);
    }
    let end = |path: &RepoPath| path.name().rsplit('.').next().map(str::to_owned);
    let own = end(path);
    let mut alike = lost
        .iter()
        .filter(|(_, one)| end(&one.path) == own)
        .take(MOST_LOOKED_AT)
        .filter(|(_, one)| has_it(&one.path, one.id));
    let (best, found) = alike.next()?;
    match alike.next() {
        Some((second, _)) if second == best => None,
        _ => Some(found),
    }
}

/// How many parts two paths have in common, from their end and from their start.
fn likeness(one: &RepoPath, other: &RepoPath) -> (usize, usize) {
    let same = |(one, other): &(&str, &str)| one == other;
    let (one, other): (Vec<&str>, Vec<&str>) = (one.parts().collect(), other.parts().collect());
    let from_end = one.iter().rev().copied().zip(other.iter().rev().copied());
    let from_start = one.iter().copied().zip(other.iter().copied());
    (
        from_end.take_while(same).count(),
        from_start.take_while(same).count(),
    )
}

/// The files that one tree has and another hasn't; none where they are too many.
///
/// # Errors
/// When a tree can't be read.
pub(super) fn lost_files(
    trees: &RawTrees<'_>,
    old: Oid,
    new: Oid,
) -> Result<Vec<Lost>, git2::Error> {
    let mut lost = Vec::new();
    let mut folders = vec![(String::new(), old, Some(new))];
    while let Some((prefix, old, new)) = folders.pop() {
        let olds = trees.read_once(old)?;
        let news = new.map(|id| trees.read_once(id)).transpose()?;
        let news: BTreeMap<&[u8], (Oid, bool)> = Entries::of(news.as_deref().unwrap_or_default())
            .map(|entry| (entry.name, (entry.id, entry.is_folder())))
            .collect();
        for entry in Entries::of(&olds) {
            let other = news
                .get(entry.name)
                .filter(|(_, is_folder)| *is_folder == entry.is_folder());
            let path = || format!("{prefix}{}", String::from_utf8_lossy(entry.name));
            match other.map(|(id, _)| *id) {
                Some(id) if id == entry.id => {}
                other if entry.is_folder() => folders.push((path() + "/", entry.id, other)),
                Some(_) => {}
                // Links and submodules have no text of their own.
                None if !entry.mode.starts_with(b"100") => {}
                None => {
                    if let Ok(path) = RepoPath::parse(&path()) {
                        let path = Rc::new(path);
                        lost.push(Lost { path, id: entry.id });
                    }
                }
            }
        }
        if lost.len() + folders.len() > MOST_LOST {
            return Ok(Vec::new());
        }
    }
    Ok(lost)
}
