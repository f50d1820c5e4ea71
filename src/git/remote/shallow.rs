//! The file `shallow` of a repository: the commits whose parents it hasn't got.
//!
//! Owns its lock, which is git's own (`shallow.lock`), so that a git that runs at the same time waits or fails. Source: git's `shallow.c` and
//! `gitrepository-layout`; the file is that of the main repository where work trees share one. No file means that nothing is cut.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use git2::{Oid, Repository};

use super::error::Why;

/// How often a lock is tried, and how long it is waited between.
const MOST_TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// The file `shallow` of one repository.
pub(super) struct Shallow {
    file: PathBuf,
}

impl Shallow {
    pub(super) fn of(repository: &Repository) -> Self {
        Self {
            file: repository.commondir().join("shallow"),
        }
    }

    /// The commits at which the history is cut.
    ///
    /// # Errors
    /// [`Why::Local`] when the file can't be read, or holds something else.
    pub(super) fn read(&self) -> Result<BTreeSet<Oid>, Why> {
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(why) => return Err(self.failed("read", &why.to_string())),
        };
        text.lines()
            .map(|line| Oid::from_str(line.trim()))
            .collect::<Result<_, _>>()
            .map_err(|_| self.failed("read", "it has a line that isn't a commit"))
    }

    /// Adds and removes commits, under git's lock. What somebody else changed meanwhile stays.
    ///
    /// # Errors
    /// [`Why::Local`] when the lock isn't had within a second, or the file can't be written.
    pub(super) fn change(&self, added: &BTreeSet<Oid>, removed: &BTreeSet<Oid>) -> Result<(), Why> {
        if added.is_empty() && removed.is_empty() {
            return Ok(());
        }
        let lock = Lock::take(&self.file.with_extension("lock"))
            .map_err(|why| self.failed("lock", &why.to_string()))?;
        let old = self.read()?;
        let mut new = old.clone();
        new.extend(added);
        new.retain(|id| !removed.contains(id));
        if new == old {
            return Ok(());
        }
        let text: String = new.iter().map(|id| format!("{id}\n")).collect();
        let written = match text.is_empty() {
            true => std::fs::remove_file(&self.file),
            false => lock.write(&text, &self.file),
        };
        written.map_err(|why| self.failed("write", &why.to_string()))
    }

    fn failed(&self, aim: &str, why: &str) -> Why {
        Why::Local(format!("`{}`: cannot {aim} it: {why}", self.file.display()))
    }
}

/// A lock, which goes with this value.
struct Lock {
    file: PathBuf,
}

impl Lock {
    fn take(file: &Path) -> std::io::Result<Self> {
        let mut tries = 0;
        loop {
            tries += 1;
            match OpenOptions::new().write(true).create_new(true).open(file) {
                Ok(_) => {
                    return Ok(Self {
                        file: file.to_owned(),
                    });
                }
                Err(why) if why.kind() == ErrorKind::AlreadyExists && tries < MOST_TRIES => {
                    thread::sleep(PAUSE);
                }
                Err(why) if why.kind() == ErrorKind::AlreadyExists => {
                    return Err(std::io::Error::other(format!(
                        "`{}` is there, so another git is at work; if none is running, take the file away",
                        file.display()
                    )));
                }
                Err(why) => return Err(why),
            }
        }
    }

    /// Writes a text and puts it into the place of the locked file.
    fn write(&self, text: &str, target: &Path) -> std::io::Result<()> {
        let mut open = OpenOptions::new().write(true).open(&self.file)?;
        open.write_all(text.as_bytes())?;
        open.sync_all()?;
        drop(open);
        std::fs::rename(&self.file, target)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // It is gone already where it took the place of the file.
        let _ = std::fs::remove_file(&self.file).is_ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: &str) -> Oid {
        Oid::from_str(&digit.repeat(40)).unwrap()
    }

    #[test]
    fn commits_come_and_go_under_the_lock_of_git() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init(folder.path()).unwrap();
        let shallow = Shallow::of(&repository);
        let set = |ids: &[&str]| ids.iter().map(|it| id(it)).collect::<BTreeSet<_>>();
        assert_eq!(shallow.read(), Ok(set(&[])));
        shallow.change(&set(&["1", "2"]), &set(&[])).unwrap();
        shallow.change(&set(&["3"]), &set(&["1"])).unwrap();
        assert_eq!(shallow.read(), Ok(set(&["2", "3"])));
        let lock = repository.path().join("shallow.lock");
        assert!(!lock.exists());
        std::fs::write(&lock, "").unwrap();
        let refused = shallow.change(&set(&[]), &set(&["2"])).unwrap_err();
        assert!(refused.to_string().contains("shallow.lock"), "{refused}");
        assert!(lock.exists());
        std::fs::remove_file(&lock).unwrap();
        shallow.change(&set(&[]), &set(&["2", "3"])).unwrap();
        // An empty file would be one of a cut history for some programs.
        assert!(!repository.path().join("shallow").exists() && !lock.exists());
        std::fs::write(repository.path().join("shallow"), "what\n").unwrap();
        assert!(shallow.read().is_err());
    }
}
