//! The two real makes of [`Tree`]: a git tree, for bare repositories and comparisons, and a work tree, for people.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use git2::{ObjectType, Repository};

use super::raw_trees::RawTrees;
use super::{said, walk};
use crate::model::repo_path::RepoPath;
use crate::model::tree::{Entry, SUBMODULE, Take, Tree, Wanted};

/// The tree of a commit; empty before the first one.
pub struct GitTree<'r> {
    repository: &'r Repository,
    tree: Option<git2::Tree<'r>>,
    trees: RawTrees<'r>,
}

impl<'r> GitTree<'r> {
    /// Reads the tree of a commit.
    ///
    /// # Errors
    /// When the commit can't be read.
    pub fn of(repository: &'r Repository, commit: Option<git2::Oid>) -> Result<Self> {
        let tree = commit
            .map(|id| repository.find_commit(id).and_then(|commit| commit.tree()))
            .transpose();
        let git = |why: git2::Error| said("read the commit", &why);
        Ok(Self {
            repository,
            tree: tree.map_err(git)?,
            trees: RawTrees::of(repository).map_err(git)?,
        })
    }
}

impl Tree for GitTree<'_> {
    fn entry(&self, path: &RepoPath) -> Result<Option<Entry>> {
        let Some(tree) = &self.tree else {
            return Ok(None);
        };
        let git = |why: git2::Error| said(&format!("read `{path}`"), &why);
        let found = self.trees.find(tree.id(), path.as_str()).map_err(git)?;
        let Some(found) = found else {
            return Ok(None);
        };
        let content = || {
            let blob = self.repository.find_blob(found.id).map_err(git)?;
            anyhow::Ok(blob.content().to_vec())
        };
        Ok(Some(match found.mode.as_slice() {
            b"40000" => Entry::Folder,
            b"120000" => Entry::Link(String::from_utf8_lossy(&content()?).into_owned()),
            b"160000" => Entry::Other,
            _ => Entry::File(content()?),
        }))
    }

    fn folders(&self, folder: Option<&RepoPath>) -> Result<Vec<String>> {
        let Some(tree) = &self.tree else {
            return Ok(Vec::new());
        };
        let list = |tree: &git2::Tree<'_>| {
            let folders = tree
                .iter()
                .filter(|entry| entry.kind() == Some(ObjectType::Tree));
            folders
                .map(|entry| String::from_utf8_lossy(entry.name_bytes()).into_owned())
                .collect()
        };
        let Some(folder) = folder else {
            return Ok(list(tree));
        };
        let Ok(entry) = tree.get_path(Path::new(folder.as_str())) else {
            return Ok(Vec::new());
        };
        Ok(self
            .repository
            .find_tree(entry.id())
            .map(|tree| list(&tree))
            .unwrap_or_default())
    }

    fn files(&self, folder: Option<&RepoPath>) -> Result<Vec<RepoPath>> {
        let Some(tree) = &self.tree else {
            return Ok(Vec::new());
        };
        let prefix = RepoPath::prefix(folder);
        let mut files = Vec::new();
        let walked = tree.walk(git2::TreeWalkMode::PreOrder, |parent, entry| {
            let path = format!("{parent}{}", String::from_utf8_lossy(entry.name_bytes()));
            let is_file = entry.kind() == Some(ObjectType::Blob)
                && entry.filemode() != i32::from(git2::FileMode::Link);
            if is_file && path.starts_with(&prefix) {
                files.extend(RepoPath::parse(&path).ok());
            }
            // Folders beside the wanted one are not walked.
            let is_beside = entry.kind() == Some(ObjectType::Tree)
                && !prefix.starts_with(&format!("{path}/"))
                && !path.starts_with(&prefix);
            if is_beside {
                git2::TreeWalkResult::Skip
            } else {
                git2::TreeWalkResult::Ok
            }
        });
        walked.map_err(|why| said("read the tree", &why))?;
        Ok(files)
    }

    fn read_each(&self, is_wanted: &Wanted<'_>, take: &Take<'_>) -> Result<()> {
        let Some(tree) = &self.tree else {
            return Ok(());
        };
        let mut blobs = Vec::new();
        let walked = tree.walk(git2::TreeWalkMode::PreOrder, |parent, entry| {
            let is_file = entry.kind() == Some(ObjectType::Blob)
                && entry.filemode() != i32::from(git2::FileMode::Link);
            if entry.kind() == Some(ObjectType::Commit)
                && let Ok(name) = entry.name()
                && let Ok(path) = RepoPath::parse(&format!("{parent}{name}"))
            {
                take(path, Err(SUBMODULE));
            }
            if is_file
                && let Ok(name) = entry.name()
                && let Ok(path) = RepoPath::parse(&format!("{parent}{name}"))
                && is_wanted(&path)
            {
                blobs.push((path, entry.id()));
            }
            git2::TreeWalkResult::Ok
        });
        walked.map_err(|why| said("read the tree", &why))?;
        walk::read_blobs(self.repository.path(), &blobs, take)
    }
}

/// The files of a work tree, or of a folder that is none yet. A folder that doesn't exist is empty.
pub struct WorkTree {
    root: PathBuf,
}

impl WorkTree {
    /// Takes the files below a folder.
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }
}

impl Tree for WorkTree {
    fn entry(&self, path: &RepoPath) -> Result<Option<Entry>> {
        let place = self.root.join(path.as_str());
        let meta = match std::fs::symlink_metadata(&place) {
            Ok(meta) => meta,
            Err(why)
                if matches!(
                    why.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(why) => return Err(why).with_context(|| format!("cannot read `{path}`")),
        };
        let kind = meta.file_type();
        Ok(Some(if kind.is_symlink() {
            let target = std::fs::read_link(&place)
                .with_context(|| format!("cannot read the link `{path}`"))?;
            Entry::Link(target.to_string_lossy().into_owned())
        } else if kind.is_dir() {
            // A folder with a repository of its own is a submodule, or somebody else's: nothing of ours goes into it.
            if place.join(".git").symlink_metadata().is_ok() {
                Entry::Other
            } else {
                Entry::Folder
            }
        } else if kind.is_file() {
            Entry::File(std::fs::read(&place).with_context(|| format!("cannot read `{path}`"))?)
        } else {
            Entry::Other
        }))
    }

    fn folders(&self, folder: Option<&RepoPath>) -> Result<Vec<String>> {
        let place = folder.map_or_else(
            || self.root.clone(),
            |folder| self.root.join(folder.as_str()),
        );
        let Ok(entries) = std::fs::read_dir(&place) else {
            return Ok(Vec::new());
        };
        let folders = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut names: Vec<String> = folders
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != ".git")
            .collect();
        names.sort();
        Ok(names)
    }

    fn files(&self, folder: Option<&RepoPath>) -> Result<Vec<RepoPath>> {
        let start = folder.map_or_else(
            || self.root.clone(),
            |folder| self.root.join(folder.as_str()),
        );
        if !start.is_dir() {
            return Ok(Vec::new());
        }
        let is_wanted = |entry: &walkdir::DirEntry| {
            let is_repository = entry.depth() > 0
                && entry.file_type().is_dir()
                && entry.path().join(".git").symlink_metadata().is_ok();
            entry.file_name() != ".git" && !is_repository
        };
        let mut files = Vec::new();
        for entry in walkdir::WalkDir::new(&start)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(is_wanted)
        {
            let entry = entry.with_context(|| format!("cannot read `{}`", start.display()))?;
            if entry.file_type().is_file()
                && let Ok(below) = entry.path().strip_prefix(&self.root)
            {
                files.extend(RepoPath::parse(&below.to_string_lossy().replace('\\', "/")).ok());
            }
        }
        Ok(files)
    }

    fn read_each(&self, is_wanted: &Wanted<'_>, take: &Take<'_>) -> Result<()> {
        if !self.root.is_dir() {
            return Ok(());
        }
        walk::read_each(&self.root, is_wanted, take)
    }
}
