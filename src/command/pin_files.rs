//! The files of a repository that may have pins: of the work tree, or of a revision.

use std::path::Path;
use std::sync::Mutex;

use anyhow::Result;
use git2::{Oid, Repository};

use super::policies::is_policy;
use crate::error::Problem;
use crate::git::said;
use crate::git::target::Target;
use crate::git::trees::GitTree;
use crate::model::repo_path::RepoPath;
use crate::model::tree::{SUBMODULE, Tree};
use crate::pins::{Findings, Joined, Unread, join, look_at_bytes, may_have_pins, may_name_pins};

/// Finds the pins of a repository, or of the files below a folder that is none. Without `rev` those of the work tree, or of the last commit where there is none.
///
/// # Errors
/// When the folder or the revision isn't there, or can't be read.
pub(super) fn gather(folder: &Path, rev: Option<&str>) -> Result<PinFiles> {
    if !folder.is_dir() {
        return Err(
            Problem::usage(format!("there is no folder `{}`", folder.display()))
                .hint("`-C` names a folder that is there")
                .into(),
        );
    }
    let target = Target::around(folder)?;
    match (&target, rev) {
        (Target::Existing(repository), rev) => match commit_of(repository, rev)? {
            Some(commit) => from_tree(&GitTree::of(repository, Some(commit))?),
            None => of_work_tree(repository, target.tree()?.as_ref()),
        },
        (_, Some(_)) => Err(Problem::usage(format!(
            "`{}` is no repository, so it has no revisions",
            folder.display()
        ))
        .into()),
        _ => from_tree(target.tree()?.as_ref()),
    }
}

/// The commit that is read: that of a revision, or the last one where there is no work tree. Nothing where the work tree is read.
///
/// # Errors
/// When the revision isn't there.
pub(super) fn commit_of(repository: &Repository, rev: Option<&str>) -> Result<Option<Oid>> {
    if rev.is_none() && repository.workdir().is_some() {
        return Ok(None);
    }
    let rev = rev.unwrap_or("HEAD");
    let commit = repository
        .revparse_single(rev)
        .and_then(|object| object.peel_to_commit())
        .map_err(|why| {
            Problem::usage(format!(
                "cannot read the revision `{rev}`: {}",
                why.message()
            ))
            .hint("name a branch, a tag or a commit of this repository")
        })?;
    Ok(Some(commit.id()))
}

/// Looks at every file of a tree that may have pins.
///
/// # Errors
/// When the tree can't be read.
pub(super) fn from_tree(tree: &dyn Tree) -> Result<PinFiles> {
    Ok(find(tree)?.joined(&|_| true))
}

/// Looks at the files of a work tree, without those that Git ignores: `upgrade`, and whatever reads the repository elsewhere, never sees them.
fn of_work_tree(repository: &Repository, tree: &dyn Tree) -> Result<PinFiles> {
    let mut found = find(tree)?;
    let index = repository.index();
    let index = index.map_err(|why| said("read the index", &why))?;
    let is_tracked = |path: &RepoPath| {
        let path = Path::new(path.as_str());
        // The stages of a file in conflict are 1 to 3.
        (0..=3).any(|stage| index.get_path(path, stage).is_some())
    };
    // A submodule that wasn't fetched is an empty folder.
    for entry in index.iter().filter(|entry| entry.mode == SUBMODULE_MODE) {
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        if let Ok(path) = RepoPath::parse(&path) {
            found.findings.retain(|(known, _)| *known != path);
            found.findings.push((path.clone(), unread(path, SUBMODULE)));
        }
    }
    // A file that can't be asked about counts.
    let is_ignored = |path: &RepoPath| {
        !is_tracked(path) && repository.is_path_ignored(path.as_str()).unwrap_or(false)
    };
    Ok(found.joined(&|path| !is_ignored(path)))
}

/// The mode of a submodule in a tree or an index.
const SUBMODULE_MODE: u32 = 0o160_000;

fn find(tree: &dyn Tree) -> Result<Found> {
    let found: Mutex<Found> = Mutex::default();
    let is_wanted = |path: &RepoPath| may_name_pins(path.name()) || is_policy(path);
    tree.read_each(&is_wanted, &|path, bytes| {
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(why) => {
                let mut found = found.lock().expect("nobody panics with the lock");
                found.findings.push((path.clone(), unread(path, why)));
                return;
            }
        };
        let text = || String::from_utf8_lossy(bytes).into_owned();
        let policy = is_policy(&path).then(|| (path.clone(), text()));
        let findings = may_have_pins(path.name(), bytes).then(|| look_at_bytes(&path, bytes));
        if policy.is_some() || findings.is_some() {
            let mut found = found.lock().expect("nobody panics with the lock");
            found.policies.extend(policy);
            found.findings.extend(findings.map(|one| (path, one)));
        }
    })?;
    Ok(found.into_inner().expect("nobody panics with the lock"))
}

/// What is said of something that isn't read at all.
fn unread(path: RepoPath, why: &str) -> Findings {
    Findings {
        unread: vec![Unread {
            file: path,
            line: 1,
            why: why.to_owned(),
        }],
        ..Findings::default()
    }
}

/// What the files of a repository say.
pub(super) struct PinFiles {
    /// Its pins.
    pub(super) joined: Joined,
    /// The texts of the files with policies.
    pub(super) policies: Vec<(RepoPath, String)>,
}

#[derive(Default)]
struct Found {
    findings: Vec<(RepoPath, Findings)>,
    policies: Vec<(RepoPath, String)>,
}

impl Found {
    /// Puts together what counts, by path, whoever was ready first.
    fn joined(mut self, counts: &dyn Fn(&RepoPath) -> bool) -> PinFiles {
        self.findings.retain(|(path, _)| counts(path));
        self.policies.retain(|(path, _)| counts(path));
        self.findings
            .sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        self.policies.sort();
        let findings = self.findings.into_iter().map(|(_, findings)| findings);
        PinFiles {
            joined: join(findings.collect()),
            policies: self.policies,
        }
    }
}
