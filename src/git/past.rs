//! The texts that files have had, as the history of a branch says, also where the files lay elsewhere.

use std::rc::Rc;

use anyhow::Result;
use git2::{Commit, Oid, Repository};

use super::moves::{Lost, lost_files, origin};
use super::raw_trees::RawTrees;
use super::said;
use super::wanted::Wanted;
use crate::model::repo_path::RepoPath;

/// How far a history is followed.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// So many commits.
    pub commits: usize,
    /// So many texts of each file.
    pub texts: usize,
}

/// A text that a file has had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// The commit that brought it.
    pub commit: Oid,
    /// When, in seconds since 1970.
    pub time: i64,
    /// Where the file lay, and the id of its text; nothing where the file was gone.
    pub text: Option<(Rc<RepoPath>, Oid)>,
}

/// Where what is known of a file ends.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Where the file began.
    #[default]
    Beginning,
    /// Where a shallow clone does: there may be older texts that it doesn't have.
    Shallow,
    /// Where enough was looked at: there may be older texts.
    Limit,
}

impl End {
    /// How far something is known, where there may be more.
    pub const fn told(self) -> Option<&'static str> {
        match self {
            Self::Beginning => None,
            Self::Shallow => {
                Some("as far as this shallow clone goes (git fetch --unshallow brings the rest)")
            }
            Self::Limit => Some("as far back as a history is looked at"),
        }
    }
}

/// What is known of a file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Trail {
    /// Its texts, the newest first.
    pub texts: Vec<Past>,
    /// What there may be further back.
    pub end: End,
}

/// Says whether a file that is gone, by its path and the id of its text, has what one of the files is looked at for (by its place among them).
pub type HasIt<'a> = dyn Fn(usize, &RepoPath, Oid) -> bool + 'a;

/// Returns the texts that files have had, along first parents. Only folders that differ between two commits are read, so that many files cost little more than
/// one.
///
/// A file that begins with a commit was moved where another is gone with the same commit that has the same text, or else what `has_it` says; it is followed
/// there. Of several the path that is most alike counts; where two are alike in the same way and the text is another, none.
///
/// # Errors
/// When a commit can't be read.
pub fn past(
    repository: &Repository,
    tip: Oid,
    paths: &[&RepoPath],
    most: Most,
    has_it: &HasIt<'_>,
) -> Result<Vec<Trail>> {
    let git = |why: git2::Error| said("read the history", &why);
    let trees = RawTrees::of(repository).map_err(git)?;
    let mut commit = repository.find_commit(tip).map_err(git)?;
    let mut walk = Walk::new(&trees, paths, most);
    walk.start(commit.tree_id()).map_err(git)?;
    for _ in 0..most.commits {
        let Ok(parent) = commit.parent(0) else {
            break;
        };
        if walk.wanted.is_empty() {
            break;
        }
        walk.step(&commit, parent.tree_id(), has_it).map_err(git)?;
        commit = parent;
    }
    Ok(walk.end(&commit, end(repository, &commit)))
}

/// What comes before a commit that a walk ended at.
fn end(repository: &Repository, commit: &Commit<'_>) -> End {
    // libgit2 leaves out what `.git/shallow` cuts off; the commit's own bytes still say it.
    let mut lines = commit.raw_header_bytes().split(|byte| *byte == b'\n');
    if commit.parent(0).is_ok() {
        End::Limit
    } else if repository.is_shallow() && lines.any(|line| line.starts_with(b"parent ")) {
        End::Shallow
    } else {
        End::Beginning
    }
}

/// The way back through a history.
struct Walk<'t, 'r> {
    trees: &'t RawTrees<'r>,
    wanted: Wanted,
    /// Where each file lies, and what it is there, at the commit that the walk has come to.
    paths: Vec<Rc<RepoPath>>,
    known: Vec<Option<Oid>>,
    trails: Vec<Trail>,
    most: Most,
}

impl<'t, 'r> Walk<'t, 'r> {
    fn new(trees: &'t RawTrees<'r>, paths: &[&RepoPath], most: Most) -> Self {
        let mut wanted = Wanted::default();
        for (at, path) in paths.iter().enumerate() {
            wanted.add(path.as_str(), at);
        }
        Self {
            trees,
            wanted,
            paths: paths.iter().map(|path| Rc::new((*path).clone())).collect(),
            known: vec![None; paths.len()],
            trails: vec![Trail::default(); paths.len()],
            most,
        }
    }

    fn start(&mut self, tree: Oid) -> Result<(), git2::Error> {
        let Self {
            wanted,
            trees,
            known,
            ..
        } = self;
        wanted.compare(trees, None, Some(tree), &mut |at, id| known[at] = id)
    }

    /// Goes from a commit to its parent.
    fn step(
        &mut self,
        commit: &Commit<'_>,
        parent: Oid,
        has_it: &HasIt<'_>,
    ) -> Result<(), git2::Error> {
        let tree = commit.tree_id();
        let mut changed = Vec::new();
        self.wanted.compare(
            self.trees,
            Some(tree),
            Some(parent),
            &mut |at, older: Option<Oid>| changed.push((at, older)),
        )?;
        // Read once, and only where a file begins.
        let mut lost: Option<Vec<Lost>> = None;
        for (at, older) in changed {
            let newer = self.known[at];
            self.note(at, commit);
            self.known[at] = older;
            if let (Some(id), None) = (newer, older) {
                let lost = match &mut lost {
                    Some(lost) => lost,
                    none => none.insert(lost_files(self.trees, parent, tree)?),
                };
                if let Some(origin) = origin(lost, (&self.paths[at], id), &|path, id| {
                    has_it(at, path, id)
                }) {
                    self.wanted.remove(self.paths[at].as_str(), at);
                    self.wanted.add(origin.path.as_str(), at);
                    self.paths[at] = Rc::clone(&origin.path);
                    self.known[at] = Some(origin.id);
                }
            }
            if self.trails[at].texts.len() >= self.most.texts {
                self.wanted.remove(self.paths[at].as_str(), at);
                self.known[at] = None;
                self.trails[at].end = End::Limit;
            }
        }
        Ok(())
    }

    /// Notes that a commit brought what a file is now.
    fn note(&mut self, at: usize, commit: &Commit<'_>) {
        let text = self.known[at].map(|id| (Rc::clone(&self.paths[at]), id));
        self.trails[at].texts.push(Past {
            commit: commit.id(),
            time: commit.time().seconds(),
            text,
        });
    }

    /// Where the history ends, or is cut off, a file has stood there at least so long.
    fn end(mut self, commit: &Commit<'_>, end: End) -> Vec<Trail> {
        for at in 0..self.known.len() {
            if self.known[at].is_some() {
                self.note(at, commit);
                self.trails[at].end = end;
            }
        }
        self.trails
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commits files, each with its text or gone, and returns the last commit.
    fn commit(repository: &Repository, time: i64, files: &[(&str, Option<&str>)]) -> Oid {
        let parent = repository
            .head()
            .ok()
            .and_then(|head| head.peel_to_commit().ok());
        let mut index = git2::Index::new().unwrap();
        if let Some(parent) = &parent {
            index.read_tree(&parent.tree().unwrap()).unwrap();
        }
        repository.set_index(&mut index).unwrap();
        for (path, text) in files {
            match text {
                Some(text) => {
                    let entry = git2::IndexEntry {
                        ctime: git2::IndexTime::new(0, 0),
                        mtime: git2::IndexTime::new(0, 0),
                        dev: 0,
                        ino: 0,
                        mode: 0o100_644,
                        uid: 0,
                        gid: 0,
                        file_size: 0,
                        id: repository.blob(text.as_bytes()).unwrap(),
                        flags: 0,
                        flags_extended: 0,
                        path: path.as_bytes().to_vec(),
                    };
                    index.add(&entry).unwrap();
                }
                None => index.remove(std::path::Path::new(path), 0).unwrap(),
            }
        }
        let tree = index.write_tree_to(repository).unwrap();
        let tree = repository.find_tree(tree).unwrap();
        let who = git2::Signature::new("A", "a@example.org", &git2::Time::new(time, 0)).unwrap();
        let parents: Vec<&Commit<'_>> = parent.iter().collect();
        repository
            .commit(Some("HEAD"), &who, &who, "x", &tree, &parents)
            .unwrap()
    }

    /// The times and texts of a trail.
    fn shown(repository: &Repository, trail: &Trail) -> Vec<(i64, Option<String>)> {
        let text = |id: Oid| {
            let blob = repository.find_blob(id).unwrap();
            String::from_utf8(blob.content().to_vec()).unwrap()
        };
        let of = |one: &Past| (one.time, one.text.as_ref().map(|(_, id)| text(*id)));
        trail.texts.iter().map(of).collect()
    }

    #[test]
    fn every_text_of_each_file_is_found_with_its_commit() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        commit(&repository, 1, &[("a/x", Some("1")), ("b", Some("1"))]);
        commit(&repository, 2, &[("other", Some("1"))]);
        commit(&repository, 3, &[("a/x", Some("2"))]);
        commit(&repository, 4, &[("a/x", None), ("a/x/y", Some("3"))]);
        let tip = commit(&repository, 5, &[("a/x/y", None), ("a/x", Some("4"))]);
        let paths = ["a/x", "a/x/y", "b", "none"].map(|path| RepoPath::parse(path).unwrap());
        let paths: Vec<&RepoPath> = paths.iter().collect();
        let told = |most: usize| -> Vec<Vec<(i64, Option<String>)>> {
            let most = Most {
                commits: most,
                texts: 100,
            };
            let all = past(&repository, tip, &paths, most, &|_, _, _| false).unwrap();
            all.iter().map(|trail| shown(&repository, trail)).collect()
        };
        let is = |time: i64, text: &str| (time, Some(text.to_owned()));
        let all = told(100);
        assert_eq!(all[0], [is(5, "4"), (4, None), is(3, "2"), is(1, "1")]);
        assert_eq!(all[1], [(5, None), is(4, "3")]);
        assert_eq!(all[2], [is(1, "1")]);
        assert_eq!(all[3], []);
        // Of what is further back it is known that it stood there so long.
        assert_eq!(told(2)[0], [is(5, "4"), (4, None), is(3, "2")]);
        assert_eq!(told(1)[2], [is(4, "1")]);
    }

    /// The texts of one file; `has_it` says of a text whether it is looked for.
    fn of(
        repository: &Repository,
        tip: Oid,
        path: &str,
        texts: usize,
        has_it: &dyn Fn(&str) -> bool,
    ) -> (Vec<String>, End) {
        let path = RepoPath::parse(path).unwrap();
        let most = Most {
            commits: 100,
            texts,
        };
        let has_it = |_: usize, _: &RepoPath, id: Oid| {
            has_it(std::str::from_utf8(repository.find_blob(id).unwrap().content()).unwrap())
        };
        let trail = past(repository, tip, &[&path], most, &has_it).unwrap();
        let shown = shown(repository, &trail[0]).into_iter();
        let texts = shown.map(|(_, text)| text.unwrap_or_else(|| "gone".to_owned()));
        (texts.collect(), trail[0].end)
    }

    #[test]
    fn a_file_is_followed_where_it_was_moved_from() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        let none = |_: &str| false;
        commit(
            &repository,
            1,
            &[("a/x.yaml", Some("1")), ("b/x.yaml", Some("1"))],
        );
        commit(&repository, 2, &[("a/x.yaml", Some("2"))]);
        commit(&repository, 3, &[("a/x.yaml", Some("1"))]);
        // Two with the same text: the path says which.
        let moved = commit(
            &repository,
            4,
            &[
                ("a/x.yaml", None),
                ("b/x.yaml", None),
                ("all/a/x.yaml", Some("1")),
                ("all/b/x.yaml", Some("1")),
            ],
        );
        let texts = |path: &str, tip: Oid, has_it: &dyn Fn(&str) -> bool| {
            of(&repository, tip, path, 100, has_it).0
        };
        assert_eq!(texts("all/a/x.yaml", moved, &none), ["1", "1", "2", "1"]);
        assert_eq!(texts("all/b/x.yaml", moved, &none), ["1", "1"]);
        // Moved and changed at once, and further back as it was.
        let again = commit(
            &repository,
            5,
            &[("all/a/x.yaml", None), ("c/y.yaml", Some("3"))],
        );
        assert_eq!(
            texts("c/y.yaml", again, &|text| text == "1"),
            ["3", "1", "1", "2", "1"]
        );
        assert_eq!(texts("c/y.yaml", again, &none), ["3"]);
        // No more texts than are wanted.
        let some = of(&repository, again, "c/y.yaml", 2, &|text| text == "1");
        assert_eq!(some.0, ["3", "1"]);
        assert_eq!(some.1, End::Limit);
    }

    #[test]
    fn of_several_that_may_be_it_none_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        let old = [("a/x.yaml", Some("1")), ("b/x.yaml", Some("2"))];
        commit(&repository, 1, &old);
        let gone = [("a/x.yaml", None), ("b/x.yaml", None)];
        let tip = commit(
            &repository,
            2,
            &[
                &gone[..],
                &[("c/x.yaml", Some("3")), ("new/b/x.yaml", Some("4"))],
            ]
            .concat(),
        );
        let texts = |path: &str| of(&repository, tip, path, 100, &|_| true).0;
        assert_eq!(texts("c/x.yaml"), ["3"]);
        assert_eq!(texts("new/b/x.yaml"), ["4", "2"]);
        // What is still there is a copy's source, and not its past.
        let tip = commit(&repository, 3, &[("copy/x.yaml", Some("3"))]);
        assert_eq!(of(&repository, tip, "copy/x.yaml", 100, &|_| true).0, ["3"]);
    }

    #[test]
    fn where_a_shallow_clone_ends_more_may_have_been() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        let first = commit(&repository, 1, &[("x", Some("1"))]);
        let second = commit(&repository, 2, &[("x", Some("2"))]);
        let tip = commit(&repository, 3, &[("y", Some("1"))]);
        let cut_at = |at: Oid| {
            std::fs::write(folder.path().join("shallow"), format!("{at}\n")).unwrap();
            let cut = Repository::open(folder.path()).unwrap();
            ["x", "y"].map(|path| of(&cut, tip, path, 100, &|_| false))
        };
        let (twice, once) = (vec!["2".to_owned(), "1".to_owned()], vec!["2".to_owned()]);
        let new = vec!["1".to_owned()];
        // What began since then is known from its start.
        assert_eq!(
            cut_at(second),
            [(once, End::Shallow), (new.clone(), End::Beginning)]
        );
        // The very first commit has no parents that are missing.
        assert_eq!(
            cut_at(first),
            [(twice, End::Beginning), (new, End::Beginning)]
        );
    }
}
