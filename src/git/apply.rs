//! Applies a change: its files into the work tree, its commit onto the branch, all of it or nothing.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use git2::build::TreeUpdateBuilder;
use git2::{ErrorCode, FileMode, Oid, Repository, RepositoryInitOptions};

use super::identity::Identity;
use super::journal::{Disk, Entry, Guard, Journal, blob_id, draft_of};
use super::said;
use super::sign::{self, Signing};
use super::target::{Head, Target, check_committable, head};
use crate::error::Problem;
use crate::model::env::Env;
use crate::model::repo_path::RepoPath;
use crate::plan::change::{Change, FileChange, Verdict};

/// How a change is committed.
pub struct Commit<'a> {
    /// Author and committer.
    pub identity: &'a Identity,
    /// How it is signed, if it is.
    pub signing: Option<&'a Signing>,
    /// For the signing program.
    pub env: &'a Env,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The new commit; nothing where none was wanted or nothing was to be committed.
    pub commit: Option<String>,
    /// The branch, as people name it.
    pub branch: Option<String>,
}

/// Applies a change to a target. `branch` is the first branch of a new repository. Without `commit` the files alone are written.
///
/// # Errors
/// When something changed since the change was planned, the commit can't be made or signed, or a file can't be written.
/// Then the target is as it was.
pub fn apply(
    target: &Target,
    change: &Change,
    branch: &str,
    commit: Option<&Commit<'_>>,
    disk: &mut dyn Disk,
) -> Result<Applied> {
    match target {
        Target::New(folder) => into_new(folder, change, branch, commit, disk),
        Target::Plain(folder) => into_plain(folder, change, branch, commit, disk),
        Target::Existing(repository) => into_repository(repository, change, commit, disk),
    }
}

/// A new repository is made whole beside its place and then moved there, so that it is there at once or not at all.
fn into_new(
    folder: &Path,
    change: &Change,
    branch: &str,
    commit: Option<&Commit<'_>>,
    disk: &mut dyn Disk,
) -> Result<Applied> {
    let cannot = || format!("cannot make `{}`", folder.display());
    let parent = folder
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let missing: Vec<PathBuf> = parent
        .ancestors()
        .take_while(|p| !p.as_os_str().is_empty() && !p.exists())
        .map(Path::to_owned)
        .collect();
    let made = make_new(folder, parent, change, branch, commit, disk);
    if made.is_err() {
        for parent in &missing {
            let _ = fs::remove_dir(parent).is_err();
        }
    }
    made.with_context(cannot)
}

fn make_new(
    folder: &Path,
    parent: &Path,
    change: &Change,
    branch: &str,
    commit: Option<&Commit<'_>>,
    disk: &mut dyn Disk,
) -> Result<Applied> {
    disk.step("folder")?;
    fs::create_dir_all(parent)?;
    let name = folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let prefix = format!(".{}.haptic-scaffold-", name.unwrap_or_default());
    remove_drafts(parent, &prefix);
    let draft = tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir_in(parent)?;
    // A temporary folder is for its owner alone; the repository is an ordinary folder.
    let inner = draft.path().join("repository");
    fs::create_dir(&inner)?;
    let repository = init(&inner, branch)?;
    let applied = into_repository(&repository, change, commit, disk)?;
    drop(repository);
    disk.step("move")?;
    fs::rename(&inner, folder)?;
    Ok(applied)
}

/// Takes away what a killed process left beside the place. One that still runs holds its lock.
fn remove_drafts(parent: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
    {
        if !Guard::is_held(&entry.path().join("repository/.git")) {
            let _ = fs::remove_dir_all(entry.path()).is_err();
        }
    }
}

/// A folder with files becomes a repository; if that fails it is none again.
fn into_plain(
    folder: &Path,
    change: &Change,
    branch: &str,
    commit: Option<&Commit<'_>>,
    disk: &mut dyn Disk,
) -> Result<Applied> {
    disk.step("init")?;
    let repository = init(folder, branch)?;
    into_repository(&repository, change, commit, disk).inspect_err(|_| {
        let _ = fs::remove_dir_all(folder.join(".git")).is_err();
    })
}

fn init(folder: &Path, branch: &str) -> Result<Repository> {
    let mut options = RepositoryInitOptions::new();
    options
        .initial_head(branch)
        .external_template(false)
        .mkdir(false);
    Repository::init_opts(folder, &options).map_err(|why| {
        said(
            &format!("make a repository of `{}`", folder.display()),
            &why,
        )
    })
}

fn into_repository(
    repository: &Repository,
    change: &Change,
    commit: Option<&Commit<'_>>,
    disk: &mut dyn Disk,
) -> Result<Applied> {
    let head = head(repository)?;
    if repository.is_bare() && commit.is_none() {
        return Err(Problem::usage("a bare repository has no files to write")
            .hint("leave out `--no-commit`")
            .into());
    }
    let guard = Guard::take(repository)?;
    if commit.is_some() {
        check_committable(repository, &head)?;
    }
    check_unchanged(repository, change)?;
    let made = commit
        .map(|commit| make_commit(repository, change, &head, commit))
        .transpose()?
        .flatten();
    if made.is_none() && change.writes().next().is_none() {
        return Ok(Applied {
            commit: None,
            branch: head.short().map(str::to_owned),
        });
    }
    let write = Write {
        repository,
        change,
        head: &head,
        made: made.as_ref(),
    };
    let done = write.files_and_branch(&guard, disk);
    if done.is_err() {
        guard
            .recover(repository)
            .context("and what was written could not be put back")?;
    }
    done?;
    Ok(Applied {
        commit: made.map(|made| made.id.to_string()),
        branch: head.short().map(str::to_owned),
    })
}

/// Compares what is there with what the change expects.
fn check_unchanged(repository: &Repository, change: &Change) -> Result<()> {
    let Some(root) = repository.workdir() else {
        return Ok(());
    };
    for file in change.writes() {
        let now = match fs::read(root.join(file.path.as_str())) {
            Ok(bytes) => Some(bytes),
            Err(why)
                if matches!(
                    why.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                None
            }
            Err(why) => return Err(why).with_context(|| format!("cannot read `{}`", file.path)),
        };
        if now != file.old {
            return Err(Problem::failed(format!(
                "`{}` has changed while the command ran, so nothing was written",
                file.path
            ))
            .hint("run the command again")
            .into());
        }
    }
    Ok(())
}

/// A commit that no branch knows yet, and the paths that it changes.
struct Made {
    id: Oid,
    paths: Vec<RepoPath>,
}

/// Builds the commit in the object database. Nothing where the tree would stay as it is.
fn make_commit(
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
    let mut update = TreeUpdateBuilder::new();
    let mut paths = Vec::new();
    for file in change.committed() {
        let committed = base
            .get_path(Path::new(file.path.as_str()))
            .ok()
            .and_then(|entry| repository.find_blob(entry.id()).ok());
        match &file.new {
            Some(new)
                if committed
                    .as_ref()
                    .is_some_and(|blob| is_same(file, blob.content(), new)) => {}
            Some(new) => {
                let blob = repository.blob(new).map_err(git)?;
                update.upsert(file.path.as_str(), blob, FileMode::Blob);
                paths.push(file.path.clone());
            }
            None if committed.is_some() => {
                update.remove(file.path.as_str());
                paths.push(file.path.clone());
            }
            None => {}
        }
    }
    let tree = update.create_updated(repository, &base).map_err(git)?;
    if tree == base.id() {
        return Ok(None);
    }
    let tree = repository.find_tree(tree).map_err(git)?;
    let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
    let message = change.message.to_text();
    let buffer = repository
        .commit_create_buffer(
            &commit.identity.author,
            &commit.identity.committer,
            &message,
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

/// A file that is as it should be but for its line ends is left to git's settings for line ends.
fn is_same(file: &FileChange, committed: &[u8], new: &[u8]) -> bool {
    committed == new
        || (file.verdict == Verdict::Same && crate::plan::scaffold::unix_lines(committed) == new)
}

struct Write<'a> {
    repository: &'a Repository,
    change: &'a Change,
    head: &'a Head,
    made: Option<&'a Made>,
}

impl Write<'_> {
    fn files_and_branch(&self, guard: &Guard, disk: &mut dyn Disk) -> Result<()> {
        if let Some(root) = self.repository.workdir().map(Path::to_owned) {
            let (journal, backups) = self.journal(&root)?;
            guard.begin(disk, &journal, &backups)?;
            self.files(&root, disk)?;
            if let Some(made) = self.made {
                self.index(made, disk)?;
            }
        }
        if let (Some(made), Some(branch)) = (self.made, &self.head.branch) {
            disk.step("branch")?;
            self.branch(branch, made.id)?;
        }
        guard.end(disk)
    }

    fn journal(&self, root: &Path) -> Result<(Journal, Vec<Vec<u8>>)> {
        let index = self
            .repository
            .index()
            .map_err(|why| said("read the index", &why))?;
        let (mut files, mut backups, mut folders) = (Vec::new(), Vec::new(), Vec::new());
        for file in self.change.committed() {
            let written = file.verdict.writes();
            let backup = file.old.as_ref().filter(|_| written).map(|old| {
                backups.push(old.clone());
                backups.len() - 1
            });
            let staged = index.get_path(Path::new(file.path.as_str()), 0);
            files.push(Entry {
                path: file.path.to_string(),
                written,
                backup,
                new: file.new.as_deref().map(blob_id).transpose()?,
                staged: staged.map(|entry| (entry.id.to_string(), entry.mode)),
            });
            let parents = std::iter::successors(file.path.parent(), RepoPath::parent);
            let missing: Vec<String> = parents
                .map(|folder| folder.to_string())
                .take_while(|folder| !root.join(folder).exists())
                .collect();
            for folder in missing.into_iter().rev() {
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
        let commit = self
            .made
            .and_then(|made| Some((self.head.branch.clone()?, made.id.to_string())));
        Ok((
            Journal {
                commit,
                files,
                folders,
            },
            backups,
        ))
    }

    fn files(&self, root: &Path, disk: &mut dyn Disk) -> Result<()> {
        for file in self.change.writes() {
            let path = root.join(file.path.as_str());
            let cannot = || format!("cannot write `{}`", file.path);
            disk.step("file").with_context(cannot)?;
            let Some(new) = &file.new else {
                fs::remove_file(&path).with_context(cannot)?;
                remove_empty_parents(root, &path);
                continue;
            };
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).with_context(cannot)?;
            }
            let draft = draft_of(&path);
            fs::write(&draft, new).with_context(cannot)?;
            if let Ok(meta) = fs::metadata(&path) {
                fs::set_permissions(&draft, meta.permissions()).with_context(cannot)?;
            }
            disk.step("rename").with_context(cannot)?;
            fs::rename(&draft, &path).with_context(cannot)?;
        }
        Ok(())
    }

    /// Stages the paths of the commit and leaves everything else that is staged as it is.
    fn index(&self, made: &Made, disk: &mut dyn Disk) -> Result<()> {
        let git = |why: git2::Error| said("write the index", &why);
        let mut index = self.repository.index().map_err(git)?;
        for file in self
            .change
            .committed()
            .filter(|file| file.verdict.writes() || made.paths.contains(&file.path))
        {
            let path = Path::new(file.path.as_str());
            if file.new.is_some() {
                index.add_path(path).map_err(git)?;
            } else {
                index.remove_path(path).map_err(git)?;
            }
        }
        disk.step("index")?;
        index.write().map_err(git)
    }

    /// Moves the branch, if it is still where the commit was made for.
    fn branch(&self, branch: &str, commit: Oid) -> Result<()> {
        let log = format!(
            "commit{}: {}",
            if self.head.commit.is_none() {
                " (initial)"
            } else {
                ""
            },
            self.change.message.subject
        );
        let moved = match self.head.commit {
            Some(old) => self
                .repository
                .reference_matching(branch, commit, true, old, &log),
            None => self.repository.reference(branch, commit, false, &log),
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
}

fn remove_empty_parents(root: &Path, path: &Path) {
    for folder in path
        .ancestors()
        .skip(1)
        .take_while(|folder| *folder != root)
    {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
}
