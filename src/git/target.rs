//! [`Target`]: what a command writes into, and what git knows about it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use git2::{Config, ErrorCode, Oid, Repository, RepositoryOpenFlags, RepositoryState};

use super::said;
use super::trees::{GitTree, WorkTree};
use crate::error::Problem;
use crate::model::env::Env;
use crate::model::tree::Tree;

/// What is written into.
pub enum Target {
    /// A folder that isn't there: a new repository, made whole beside its place and then moved.
    New(PathBuf),
    /// A folder that is no repository: it becomes one. Also an empty one, since a shell may stand in it.
    Plain(PathBuf),
    /// A repository, bare or with a work tree.
    Existing(Repository),
}

/// Where HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The full name of the branch; nothing when HEAD is detached.
    pub branch: Option<String>,
    /// The commit; nothing before the first one.
    pub commit: Option<Oid>,
}

impl Head {
    /// The branch as people name it.
    pub fn short(&self) -> Option<&str> {
        self.branch
            .as_deref()
            .map(|name| name.strip_prefix("refs/heads/").unwrap_or(name))
    }
}

impl Target {
    /// Looks at a folder: it is a repository's root, a bare repository, or becomes a new repository. Never part of one around it.
    ///
    /// # Errors
    /// When the path is a file, or a repository there can't be opened.
    pub fn at(folder: &Path) -> Result<Self> {
        match Repository::open_ext(folder, RepositoryOpenFlags::NO_SEARCH, &[] as &[&Path]) {
            Ok(repository) => return Ok(Self::Existing(repository)),
            Err(why) if why.code() == ErrorCode::NotFound => {}
            Err(why) => return Err(unopened(folder, &why)),
        }
        let meta = match std::fs::metadata(folder) {
            Ok(meta) => meta,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::New(folder.to_owned()));
            }
            Err(why) => {
                return Err(why).with_context(|| format!("cannot look at `{}`", folder.display()));
            }
        };
        if !meta.is_dir() {
            return Err(Problem::invalid(format!(
                "cannot write into `{}`: it is a file",
                folder.display()
            ))
            .into());
        }
        Ok(Self::Plain(folder.to_owned()))
    }

    /// Finds the repository around a folder; the folder itself where there is none.
    ///
    /// # Errors
    /// As [`Target::at`].
    pub fn around(folder: &Path) -> Result<Self> {
        match Repository::discover_path(folder, [] as [&Path; 0]) {
            Ok(path) => Repository::open(path)
                .map(Self::Existing)
                .map_err(|why| unopened(folder, &why)),
            Err(why) if why.code() == ErrorCode::NotFound => Self::at(folder),
            Err(why) => Err(unopened(folder, &why)),
        }
    }

    /// The folder as people know it.
    pub fn place(&self) -> &Path {
        match self {
            Self::New(folder) | Self::Plain(folder) => folder,
            Self::Existing(repository) => repository.workdir().unwrap_or_else(|| repository.path()),
        }
    }

    /// Its files: those of the work tree, or of the last commit where there is none.
    ///
    /// # Errors
    /// When the last commit can't be read.
    pub fn tree(&self) -> Result<Box<dyn Tree + '_>> {
        Ok(match self {
            Self::New(folder) | Self::Plain(folder) => Box::new(WorkTree::at(folder)),
            Self::Existing(repository) => match repository.workdir() {
                Some(root) => Box::new(WorkTree::at(root)),
                None => Box::new(GitTree::of(repository, head(repository)?.commit)?),
            },
        })
    }

    /// Where HEAD is, if there is a repository.
    ///
    /// # Errors
    /// When HEAD can't be read.
    pub fn head(&self) -> Result<Option<Head>> {
        match self {
            Self::Existing(repository) => head(repository).map(Some),
            Self::New(_) | Self::Plain(_) => Ok(None),
        }
    }

    /// The remote `origin`, or the only one there is.
    pub fn remote_name(&self) -> Option<String> {
        let Self::Existing(repository) = self else {
            return None;
        };
        if repository.find_remote("origin").is_ok() {
            return Some("origin".to_owned());
        }
        let names = repository.remotes().ok()?;
        if names.len() == 1 {
            names.get(0).ok().flatten().map(str::to_owned)
        } else {
            None
        }
    }

    /// The address of that remote.
    pub fn remote_url(&self) -> Option<String> {
        let Self::Existing(repository) = self else {
            return None;
        };
        repository
            .find_remote(&self.remote_name()?)
            .ok()?
            .url()
            .ok()
            .map(str::to_owned)
    }

    /// git's configuration for it.
    ///
    /// # Errors
    /// When a configuration file can't be read.
    pub fn config(&self, env: &Env) -> Result<Config> {
        let repository = match self {
            Self::Existing(repository) => Some(repository),
            Self::New(_) | Self::Plain(_) => None,
        };
        config(repository, env).map_err(|why| said("read git's configuration", &why))
    }
}

/// Opens a repository by its git folder. Not by libgit2's way for bare ones, which doesn't read where a history is cut off.
///
/// # Errors
/// When it is none, or can't be read.
pub fn open(folder: &Path) -> Result<Repository> {
    Repository::open(folder).map_err(|why| unopened(folder, &why))
}

/// Makes a bare repository for what is fetched.
///
/// # Errors
/// When it can't be made.
pub fn make_bare(folder: &Path) -> Result<Repository> {
    Repository::init_bare(folder).map_err(|why| said(&format!("make `{}`", folder.display()), &why))
}

/// Says where a remote's branch is, as `git fetch` and `git push` do; nothing for one that is gone.
///
/// # Errors
/// When the reference can't be written.
pub fn move_tracking(
    repository: &Repository,
    remote: &str,
    branch: &str,
    to: Option<Oid>,
) -> Result<()> {
    let name = format!("refs/remotes/{remote}/{branch}");
    let moved = match to {
        Some(id) => repository
            .reference(&name, id, true, "haptic-scaffold: looked at the remote")
            .map(|_| ()),
        None => match repository.find_reference(&name) {
            Ok(mut reference) => reference.delete(),
            Err(_) => Ok(()),
        },
    };
    moved.map_err(|why| said(&format!("move `{name}`"), &why))
}

fn unopened(folder: &Path, why: &git2::Error) -> anyhow::Error {
    let problem = Problem::failed(format!(
        "cannot open the repository `{}`: {}",
        folder.display(),
        why.message()
    ));
    let hint = if why.code() == ErrorCode::Owner {
        format!(
            "it belongs to another user; git lets you trust it: git config --global --add safe.directory {}",
            folder.display()
        )
    } else {
        "`git status` there has to work first".to_owned()
    };
    problem.hint(hint).into()
}

/// Where HEAD of a repository is.
///
/// # Errors
/// When it can't be read.
pub fn head(repository: &Repository) -> Result<Head> {
    let reference = repository
        .find_reference("HEAD")
        .map_err(|why| said("read HEAD", &why))?;
    match reference
        .symbolic_target()
        .ok()
        .flatten()
        .map(str::to_owned)
    {
        Some(branch) => {
            let commit = match repository.refname_to_id(&branch) {
                Ok(id) => Some(id),
                Err(why) if why.code() == ErrorCode::NotFound => None,
                Err(why) => return Err(said(&format!("read `{branch}`"), &why)),
            };
            Ok(Head {
                branch: Some(branch),
                commit,
            })
        }
        None => Ok(Head {
            branch: None,
            commit: reference.target(),
        }),
    }
}

/// Refuses to commit where a commit would be lost or get mixed up with what somebody is doing.
///
/// # Errors
/// When HEAD is detached, or a merge, rebase or the like is going on.
pub fn check_committable(repository: &Repository, head: &Head) -> Result<()> {
    let state = repository.state();
    if state != RepositoryState::Clean {
        return Err(Problem::invalid(format!(
            "cannot commit: git is in the middle of something ({state:?})"
        ))
        .hint("finish or abort it (`git status` says how), then run the command again")
        .into());
    }
    let lock = repository.path().join("index.lock");
    if lock.exists() {
        return Err(Problem::failed(format!(
            "cannot commit: `{}` is there, so another git is at work",
            lock.display()
        ))
        .hint("wait for it; if none is running, take the file away")
        .into());
    }
    if head.branch.is_none() {
        return Err(Problem::invalid(
            "cannot commit: HEAD is detached, and a commit on no branch is soon lost",
        )
        .hint("check out a branch first: git switch main, or git switch --create my-branch")
        .hint("or write the files alone with `--no-commit`")
        .into());
    }
    Ok(())
}

/// libgit2 reads git's usual files; where the environment names others (as tests and CI do), those count, as for git itself.
pub(super) fn config(repository: Option<&Repository>, env: &Env) -> Result<Config, git2::Error> {
    let global = env.get("GIT_CONFIG_GLOBAL");
    let no_system = env
        .get("GIT_CONFIG_NOSYSTEM")
        .is_some_and(|value| value != "0" && value != "false");
    if global.is_none() && !no_system {
        return match repository {
            Some(repository) => repository.config(),
            None => Config::open_default(),
        };
    }
    let mut config = Config::new()?;
    let mut add = |path: Option<PathBuf>, level| match path.filter(|path| path.is_file()) {
        Some(path) => config.add_file(&path, level, false),
        None => Ok(()),
    };
    if !no_system {
        add(Config::find_system().ok(), git2::ConfigLevel::System)?;
    }
    match global {
        Some(path) => add(Some(PathBuf::from(path)), git2::ConfigLevel::Global)?,
        None => {
            add(Config::find_xdg().ok(), git2::ConfigLevel::XDG)?;
            add(Config::find_global().ok(), git2::ConfigLevel::Global)?;
        }
    }
    add(
        repository.map(|r| r.commondir().join("config")),
        git2::ConfigLevel::Local,
    )?;
    Ok(config)
}
