//! Applies a change: its files into the work tree, its commit onto the branch, all of it or nothing.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use git2::{Repository, RepositoryInitOptions};

use super::commit::{self, Commit, Made};
use super::journal::{Disk, Entry, Guard, Journal, blob_id, draft_of};
use super::said;
use super::target::{Head, Target, check_committable, head};
use crate::error::{ExitStatus, Problem};
use crate::model::repo_path::RepoPath;
use crate::plan::change::{Change, Verdict};

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
    // Held until the move: nobody takes the draft for one that was left behind.
    let lock = File::create(draft.path().join(DRAFT_LOCK))?;
    lock.try_lock().context("cannot lock the draft")?;
    // A temporary folder is for its owner alone; the repository is an ordinary folder.
    let inner = draft.path().join("repository");
    fs::create_dir(&inner)?;
    let repository = init(&inner, branch)?;
    let applied = into_repository(&repository, change, commit, disk)?;
    drop(repository);
    disk.step("move")?;
    if folder.symlink_metadata().is_ok() {
        return Err(Problem::failed("it is there now, made by somebody else")
            .hint("run the command again")
            .into());
    }
    fs::rename(&inner, folder)?;
    Ok(applied)
}

/// The lock of a draft.
const DRAFT_LOCK: &str = "lock";

/// A draft without a lock may just be being made; after this long it was left behind.
const DRAFT_AGE: Duration = Duration::from_secs(600);

/// Takes away what a killed process left beside the place. One that still runs holds its lock.
fn remove_drafts(parent: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
    {
        let is_left = match File::open(entry.path().join(DRAFT_LOCK)) {
            Ok(lock) => lock.try_lock().is_ok(),
            Err(_) => entry
                .metadata()
                .and_then(|meta| meta.modified())
                .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > DRAFT_AGE)),
        };
        if is_left {
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
    if commit.is_some() {
        check_staged(repository, change, &head)?;
    }
    let made = commit
        .map(|commit| commit::make(repository, change, &head, commit))
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

/// Somebody may have staged a text that stands nowhere else: writing the index would lose it.
fn check_staged(repository: &Repository, change: &Change, head: &Head) -> Result<()> {
    if repository.is_bare() {
        return Ok(());
    }
    let git = |why: git2::Error| said("read the index", &why);
    let index = repository.index().map_err(git)?;
    let tree = head
        .commit
        .map(|id| repository.find_commit(id).and_then(|commit| commit.tree()))
        .transpose()
        .map_err(git)?;
    for file in change.writes() {
        let path = Path::new(file.path.as_str());
        let Some(staged) = index.get_path(path, 0).map(|entry| entry.id.to_string()) else {
            continue;
        };
        let committed = tree
            .as_ref()
            .and_then(|tree| tree.get_path(path).ok())
            .map(|entry| entry.id().to_string());
        let known = [file.old.as_deref(), file.new.as_deref()]
            .into_iter()
            .flatten()
            .map(blob_id)
            .collect::<Result<Vec<_>>>()?;
        if Some(&staged) != committed.as_ref() && !known.contains(&staged) {
            return Err(Problem::new(
                ExitStatus::Conflicts,
                format!(
                    "`{}` has a staged text that stands nowhere else, so nothing was written",
                    file.path
                ),
            )
            .hint(format!(
                "commit it, or take it back: git restore --staged {}",
                file.path
            ))
            .into());
        }
    }
    Ok(())
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
            commit::move_branch(
                self.repository,
                branch,
                self.head.commit,
                made.id,
                &self.change.message.subject,
            )?;
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
            if file.verdict == Verdict::Delete {
                index.remove_path(path).map_err(git)?;
            } else {
                index.add_path(path).map_err(git)?;
            }
        }
        disk.step("index")?;
        index.write().map_err(git)
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
