//! Commits built in the object database: from the last commit's tree and a change, without index or work tree.

use anyhow::{Context as _, Result};
use git2::build::TreeUpdateBuilder;
use git2::{ErrorCode, FileMode, Oid, Repository, Tree};

use super::identity::Identity;
use super::raw_trees::RawTrees;
use super::said;
use super::sign::{self, Signing};
use super::target::Head;
use crate::error::Problem;
use crate::model::env::Env;
use crate::model::repo_path::RepoPath;
use crate::model::text::unix_lines;
use crate::plan::change::{Change, Commit as Commitment, FileChange, Verdict};
use crate::secrets::clear;

/// How a change is committed.
pub struct Commit<'a> {
    /// Author and committer.
    pub identity: &'a Identity,
    /// How it is signed, if it is.
    pub signing: Option<&'a Signing>,
    /// For the signing program.
    pub env: &'a Env,
}

/// A commit that no branch knows yet, and the paths that it changes.
pub struct Made {
    /// The commit.
    pub id: Oid,
    /// The paths.
    pub paths: Vec<RepoPath>,
}

/// Builds the commit. Nothing where the tree would stay as it is.
///
/// # Errors
/// When the repository can't be read or written, or the signature can't be had.
pub fn make(
    repository: &Repository,
    change: &Change,
    head: &Head,
    commit: &Commit<'_>,
) -> Result<Option<Made>> {
    let trees = RawTrees::of(repository).map_err(|why| said("make the commit", &why))?;
    make_from(&trees, repository, change, head, commit)
}

/// [`make`], where some trees were read before.
pub(super) fn make_from(
    trees: &RawTrees<'_>,
    repository: &Repository,
    change: &Change,
    head: &Head,
    commit: &Commit<'_>,
) -> Result<Option<Made>> {
    let git = |why: git2::Error| said("make the commit", &why);
    let parent = head
        .commit
        .map(|id| repository.find_commit(id))
        .transpose()
        .map_err(git)?;
    let base = match &parent {
        Some(parent) => parent.tree().map_err(git)?,
        None => {
            let empty = repository
                .treebuilder(None)
                .and_then(|builder| builder.write())
                .map_err(git)?;
            repository.find_tree(empty).map_err(git)?
        }
    };
    let (tree, paths) = updated(repository, trees, &base, change)?;
    if tree == base.id() {
        return Ok(None);
    }
    let tree = repository.find_tree(tree).map_err(git)?;
    let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
    let (author, committer) = (&commit.identity.author, &commit.identity.committer);
    let buffer = repository
        .commit_create_buffer(
            author,
            committer,
            &change.message.to_text(),
            &tree,
            &parents,
        )
        .map_err(git)?;
    let text = std::str::from_utf8(&buffer).context("a commit's text is UTF-8")?;
    let id = match commit.signing {
        Some(signing) => {
            repository.commit_signed(text, &sign::sign(signing, commit.env, text)?, None)
        }
        None => repository
            .odb()
            .and_then(|odb| odb.write(git2::ObjectType::Commit, text.as_bytes())),
    };
    Ok(Some(Made {
        id: id.map_err(git)?,
        paths,
    }))
}

/// The tree with the change in it, and the paths that differ.
fn updated(
    repository: &Repository,
    trees: &RawTrees<'_>,
    base: &Tree<'_>,
    change: &Change,
) -> Result<(Oid, Vec<RepoPath>)> {
    let git = |why: git2::Error| said("make the commit", &why);
    let mut update = TreeUpdateBuilder::new();
    let mut exchanged = Vec::new();
    let mut paths = Vec::new();
    for file in change.committed() {
        let path = file.path.as_str();
        let entry = trees.find(base.id(), path).map_err(git)?;
        let committed = entry
            .as_ref()
            .and_then(|entry| repository.find_blob(entry.id).ok());
        let may_change = file.verdict.writes() || file.commit == Commitment::Yes;
        if committed.is_some() && !may_change {
            // Left alone: what the last commit has stays, whatever the work tree has.
            continue;
        }
        match wanted(file) {
            Some(wanted)
                if committed
                    .as_ref()
                    .is_some_and(|blob| is_there(file, blob.content(), &wanted)) => {}
            Some(wanted) => {
                refuse_clear(
                    &file.path,
                    committed.as_ref().map(git2::Blob::content),
                    &wanted,
                )?;
                let mode = match entry.as_ref().map(|entry| entry.mode.as_slice()) {
                    Some(b"100755") => FileMode::BlobExecutable,
                    _ => FileMode::Blob,
                };
                let blob = repository.blob(&wanted).map_err(git)?;
                update.upsert(path, blob, mode);
                // A file that stays a file of its mode needs no tree built anew.
                if entry.is_some_and(|entry| octal(&entry.mode) == i32::from(mode)) {
                    exchanged.push((path, blob));
                }
                paths.push(file.path.clone());
            }
            None if committed.is_some() => {
                update.remove(path);
                paths.push(file.path.clone());
            }
            None => {}
        }
    }
    let made = if exchanged.len() == paths.len() {
        trees.exchange(base.id(), &exchanged)
    } else {
        update.create_updated(repository, base)
    };
    Ok((made.map_err(git)?, paths))
}

/// A mode as a number.
fn octal(mode: &[u8]) -> i32 {
    let digit = |number: i32, byte: &u8| number * 8 + i32::from(byte.saturating_sub(b'0'));
    mode.iter().fold(0, digit)
}

/// The last guard: no commit brings a Secret in clear that the one before hasn't got.
fn refuse_clear(path: &RepoPath, committed: Option<&[u8]>, wanted: &[u8]) -> Result<()> {
    let is_clear = |bytes: &[u8]| clear::is_in(&String::from_utf8_lossy(bytes));
    if !is_clear(wanted) || committed.is_some_and(is_clear) {
        return Ok(());
    }
    Err(Problem::invalid(format!(
        "`{path}` has a Secret in clear, so nothing was committed"
    ))
    .hint("encrypt or seal it, or take it out of the repository")
    .into())
}

/// What the commit should have: a file that is left alone as it is now.
fn wanted(file: &FileChange) -> Option<Vec<u8>> {
    if file.verdict == Verdict::Skip {
        file.old.as_deref().map(unix_lines)
    } else {
        file.new.clone()
    }
}

/// Whether the last commit has what it should. A file that is as it should be but for its line ends is left to git's settings for them.
fn is_there(file: &FileChange, committed: &[u8], wanted: &[u8]) -> bool {
    committed == wanted || (file.verdict == Verdict::Same && unix_lines(committed) == wanted)
}

/// Moves a branch to a commit, if it is still where the commit was made for.
///
/// # Errors
/// When it has moved, or can't be moved.
pub fn move_branch(
    repository: &Repository,
    branch: &str,
    old: Option<Oid>,
    commit: Oid,
    subject: &str,
) -> Result<()> {
    let log = format!(
        "commit{}: {subject}",
        if old.is_none() { " (initial)" } else { "" }
    );
    let moved = match old {
        Some(old) => repository.reference_matching(branch, commit, true, old, &log),
        None => repository.reference(branch, commit, false, &log),
    };
    moved.map(|_| ()).map_err(|why| match why.code() {
        ErrorCode::Modified | ErrorCode::Exists => Problem::failed(format!(
            "`{branch}` has moved while the command ran, so nothing was committed"
        ))
        .hint("run the command again")
        .into(),
        _ => said(&format!("move `{branch}`"), &why),
    })
}
