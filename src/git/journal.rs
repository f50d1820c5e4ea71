//! What makes writing several files all or nothing, also when the process is killed in between.
//!
//! Before the first file is touched, a journal in the repository's git directory says what was there. It goes when everything is done.
//! Whoever finds one puts things right first: if the branch has the new commit the change was complete, else the files go back.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use git2::{Index, IndexEntry, IndexTime, Oid, Repository};
use serde::{Deserialize, Serialize};

use super::said;
use crate::error::Problem;

/// The folder in the git directory.
const FOLDER: &str = "haptic-scaffold";

/// One file of a change, as the journal remembers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Below the work tree.
    pub path: String,
    /// Whether its bytes change; else it is only staged.
    pub written: bool,
    /// The number of the backup with its bytes before; nothing where there was no file.
    pub backup: Option<usize>,
    /// git's id of the bytes that it gets; nothing where it goes.
    pub new: Option<String>,
    /// What the index had: id and mode.
    pub staged: Option<(String, u32)>,
}

/// What was there before a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The branch that gets the commit, and the commit; nothing where none is made.
    pub commit: Option<(String, String)>,
    /// The files.
    pub files: Vec<Entry>,
    /// Folders that were not there, outermost first.
    pub folders: Vec<String>,
}

/// Writes to the file system and the repository. Tests have one that stops in the middle.
pub trait Disk {
    /// Called before each step that changes something.
    ///
    /// # Errors
    /// Never in the real one.
    fn step(&mut self, what: &str) -> io::Result<()>;
}

/// The real one: nothing is in the way.
pub struct RealDisk;

impl Disk for RealDisk {
    fn step(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }
}

/// Holds the only right to write into a repository, among processes of this program.
pub struct Guard {
    folder: PathBuf,
    _lock: File,
}

impl Guard {
    /// Whether a process was ended in the middle.
    pub fn is_needed(repository: &Repository) -> bool {
        repository.path().join(FOLDER).join("journal.json").exists()
    }

    /// Waits for nobody longer than a moment: a second process is told so. Puts right what a killed one left.
    ///
    /// # Errors
    /// When another process is writing, or what was left can't be put right.
    pub fn take(repository: &Repository) -> Result<Self> {
        let folder = repository.path().join(FOLDER);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot write into `{}`", repository.path().display()))?;
        let lock = File::create(folder.join("lock"))
            .with_context(|| format!("cannot write into `{}`", folder.display()))?;
        if !is_locked_soon(&lock) {
            return Err(Problem::failed(format!(
                "another haptic-scaffold is writing into `{}`",
                repository.path().display()
            ))
            .hint("wait until it is done, then run the command again")
            .into());
        }
        let guard = Self {
            folder,
            _lock: lock,
        };
        guard.recover(repository)?;
        Ok(guard)
    }

    /// Remembers what was there. `backups` are the bytes that entries refer to by number.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn begin(&self, disk: &mut dyn Disk, journal: &Journal, backups: &[Vec<u8>]) -> Result<()> {
        for (number, bytes) in backups.iter().enumerate() {
            disk.step("backup")?;
            fs::write(self.folder.join(format!("backup-{number}")), bytes)?;
        }
        disk.step("journal")?;
        let draft = self.folder.join("journal.new");
        fs::write(&draft, serde_json::to_vec(journal)?)?;
        fs::rename(draft, self.folder.join("journal.json"))?;
        Ok(())
    }

    /// Forgets: everything is done, or was put back.
    ///
    /// # Errors
    /// When the journal can't be taken away.
    pub fn end(&self, disk: &mut dyn Disk) -> Result<()> {
        disk.step("end")?;
        self.forget()
    }

    fn forget(&self) -> Result<()> {
        let journal = self.folder.join("journal.json");
        match fs::remove_file(&journal) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => {
                return Err(why)
                    .with_context(|| format!("cannot take `{}` away", journal.display()));
            }
            _ => {}
        }
        for entry in fs::read_dir(&self.folder)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with("backup-") {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Puts right what an earlier process left, if it left something.
    ///
    /// # Errors
    /// When the journal can't be read or a file can't be put back.
    pub fn recover(&self, repository: &Repository) -> Result<()> {
        let path = self.folder.join("journal.json");
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return self.forget(),
            Err(why) => {
                return Err(why).with_context(|| format!("cannot read `{}`", path.display()));
            }
        };
        let journal: Journal = serde_json::from_slice(&bytes)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        let is_complete = journal.commit.as_ref().is_some_and(|(branch, commit)| {
            repository
                .refname_to_id(branch)
                .is_ok_and(|id| id.to_string() == *commit)
        });
        if !is_complete {
            self.put_back(repository, &journal)?;
        }
        self.forget()
    }

    /// Puts back every file that still has the bytes that the change gave it; what somebody changed since is theirs.
    fn put_back(&self, repository: &Repository, journal: &Journal) -> Result<()> {
        let Some(root) = repository.workdir() else {
            return Ok(());
        };
        for entry in journal.files.iter().filter(|entry| entry.written) {
            let path = root.join(&entry.path);
            let _ = fs::remove_file(draft_of(&path)).is_err();
            let now = fs::read(&path).ok();
            let is_ours = match (&now, &entry.new) {
                (Some(bytes), Some(new)) => blob_id(bytes)? == *new,
                (None, None) => true,
                _ => false,
            };
            if is_ours {
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                match entry.backup {
                    Some(number) => fs::write(
                        &path,
                        fs::read(self.folder.join(format!("backup-{number}")))?,
                    )
                    .with_context(|| format!("cannot put back `{}`", entry.path))?,
                    None if now.is_some() => fs::remove_file(&path)
                        .with_context(|| format!("cannot take away `{}`", entry.path))?,
                    None => {}
                }
            }
        }
        for folder in journal.folders.iter().rev() {
            // Still holds something of somebody else's: then it stays.
            let _ = fs::remove_dir(root.join(folder)).is_err();
        }
        let mut index = repository
            .index()
            .map_err(|why| said("read the index", &why))?;
        index
            .read(true)
            .map_err(|why| said("read the index", &why))?;
        put_back_staged(&mut index, journal).map_err(|why| said("put back the index", &why))
    }
}

/// A lock that was just let go can still be held for a moment, by a child that another thread is about to start.
fn is_locked_soon(lock: &File) -> bool {
    (0..25).any(|_| {
        let is_locked = lock.try_lock().is_ok();
        if !is_locked {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        is_locked
    })
}

fn put_back_staged(index: &mut Index, journal: &Journal) -> Result<(), git2::Error> {
    let mut changed = false;
    for entry in &journal.files {
        let path = Path::new(&entry.path);
        let now = index.get_path(path, 0).map(|found| found.id.to_string());
        if now != entry.new || now == entry.staged.as_ref().map(|(id, _)| id.clone()) {
            continue;
        }
        changed = true;
        match &entry.staged {
            Some((id, mode)) => index.add(&index_entry(&entry.path, Oid::from_str(id)?, *mode))?,
            None => index.remove_path(path)?,
        }
    }
    if changed { index.write() } else { Ok(()) }
}

/// git's id of a file's bytes.
pub(super) fn blob_id(bytes: &[u8]) -> Result<String> {
    Oid::hash_object(git2::ObjectType::Blob, bytes)
        .map(|id| id.to_string())
        .map_err(|why| said("hash a file", &why))
}

/// An entry of the index without times and sizes: git looks at the file when it needs them.
pub(super) fn index_entry(path: &str, id: Oid, mode: u32) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

/// Where a file is written before it takes its place.
pub(super) fn draft_of(path: &Path) -> PathBuf {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    path.with_file_name(format!(".{name}.haptic-scaffold-new"))
}
