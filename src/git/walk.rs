//! Trees read on all processors at once. Folders of a work tree are listed and files are read by whoever is free.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use git2::{Oid, Repository};

use super::said;
use crate::model::repo_path::RepoPath;
use crate::model::tree::{MOST_BYTES, Take, Wanted, too_large};

/// How many work at once.
pub(super) fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Reads the files below a folder whose path is wanted. Links aren't followed; folders with a repository of their own, and what can't be read, are handed over with the reason.
///
/// # Errors
/// When the folder itself can't be read.
pub(super) fn read_each(root: &Path, is_wanted: &Wanted<'_>, take: &Take<'_>) -> Result<()> {
    let queue = Queue::new();
    let work = || {
        let mut buffer = Vec::with_capacity(64 << 10);
        while let Some(turn) = queue.next() {
            let folder = turn.folder.as_ref();
            let files = match (visit(root, folder, &queue, is_wanted), folder) {
                (Ok(Some(files)), _) => files,
                (Ok(None), folder) => {
                    if let Some(folder) = folder {
                        take(folder.clone(), Err(OTHERS));
                    }
                    continue;
                }
                (Err(why), Some(folder)) => {
                    take(folder.clone(), Err(&cannot(&why)));
                    continue;
                }
                (Err(why), None) => {
                    let why = anyhow::Error::new(why);
                    let why = why.context(format!("cannot read `{}`", root.display()));
                    queue.lock().failed.get_or_insert(why);
                    continue;
                }
            };
            for path in files {
                match read(&root.join(path.as_str()), &mut buffer) {
                    Ok(true) => take(path, Ok(&buffer)),
                    Ok(false) => take(path, Err(&too_large())),
                    Err(why) => take(path, Err(&cannot(&why))),
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers() {
            scope.spawn(work);
        }
        work();
    });
    let failed = queue.lock().failed.take();
    failed.map_or(Ok(()), Err)
}

/// Why a folder with a repository of its own isn't read. Whether it is a submodule, its walker can't see.
const OTHERS: &str = "another repository, such as a submodule";

fn cannot(why: &std::io::Error) -> String {
    format!("it can't be opened: {why}")
}

/// Lists one folder: its folders are queued, and its wanted files are returned. Nothing where it has a repository of its own.
fn visit(
    root: &Path,
    folder: Option<&RepoPath>,
    queue: &Queue,
    is_wanted: &Wanted<'_>,
) -> std::io::Result<Option<Vec<RepoPath>>> {
    let place = folder.map_or_else(|| root.to_owned(), |folder| root.join(folder.as_str()));
    let prefix = RepoPath::prefix(folder);
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(&place)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == ".git" {
            if folder.is_some() {
                return Ok(None);
            }
            continue;
        }
        let kind = entry.file_type()?;
        // A name that no path of ours can have is nobody's to edit.
        let path = || RepoPath::parse(&format!("{prefix}{}", name.to_str()?)).ok();
        if kind.is_dir() {
            folders.extend(path());
        } else if kind.is_file() {
            files.extend(path().filter(|path| is_wanted(path)));
        }
    }
    queue.add(folders);
    Ok(Some(files))
}

/// So many blobs are taken at once: neighbours lie close in a pack.
const BATCH: usize = 64;

/// Reads blobs of a repository; those that are too large are handed over with that reason. Handles of libgit2 aren't shared, so each worker has its own.
///
/// # Errors
/// When a blob can't be read.
pub(super) fn read_blobs(
    repository: &Path,
    blobs: &[(RepoPath, Oid)],
    take: &Take<'_>,
) -> Result<()> {
    let batches = Mutex::new(blobs.chunks(BATCH));
    let next = || {
        batches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next()
    };
    let work = || -> Result<()> {
        let repository =
            Repository::open(repository).map_err(|why| said("open the repository again", &why))?;
        let odb = repository
            .odb()
            .map_err(|why| said("read the repository", &why))?;
        while let Some(batch) = next() {
            for (path, id) in batch {
                let size = odb.read_header(*id).map(|(size, _)| size as u64);
                if size.is_ok_and(|size| size > MOST_BYTES) {
                    take(path.clone(), Err(&too_large()));
                    continue;
                }
                let blob = odb
                    .read(*id)
                    .map_err(|why| said(&format!("read `{path}`"), &why))?;
                take(path.clone(), Ok(blob.data()));
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers()).map(|_| scope.spawn(work)).collect();
        let own = work();
        let all = others
            .into_iter()
            .map(|other| other.join().expect("a worker ends"));
        all.fold(own, Result::and)
    })
}

/// The bytes of a file into a buffer that is used again, without asking for its size; says whether that is all of it.
fn read(place: &Path, buffer: &mut Vec<u8>) -> std::io::Result<bool> {
    buffer.clear();
    let most = MOST_BYTES + 1;
    let read = File::open(place)?.take(most).read_to_end(buffer)?;
    let is_whole = (read as u64) < most;
    if !is_whole {
        // Other files need no such buffer.
        *buffer = Vec::new();
    }
    Ok(is_whole)
}

/// The folders that nobody has listed yet.
struct Queue {
    state: Mutex<State>,
    has_changed: Condvar,
}

struct State {
    /// `None` is the top.
    folders: Vec<Option<RepoPath>>,
    /// How many folders are somebody's turn: each may bring more.
    busy: usize,
    failed: Option<anyhow::Error>,
}

/// A folder that one works on. Its end is told however it comes, so that nobody waits for somebody who panicked.
struct Turn<'q> {
    queue: &'q Queue,
    folder: Option<RepoPath>,
}

impl Queue {
    fn new() -> Self {
        Self {
            state: Mutex::new(State {
                folders: vec![None],
                busy: 0,
                failed: None,
            }),
            has_changed: Condvar::new(),
        }
    }

    /// Nothing panics while it has the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A folder to list; nothing when all are done, or one has failed.
    fn next(&self) -> Option<Turn<'_>> {
        let is_idle = |state: &mut State| {
            state.failed.is_none() && state.folders.is_empty() && state.busy > 0
        };
        let mut state = self
            .has_changed
            .wait_while(self.lock(), is_idle)
            .unwrap_or_else(PoisonError::into_inner);
        if state.failed.is_some() {
            return None;
        }
        let folder = state.folders.pop()?;
        state.busy += 1;
        Some(Turn {
            queue: self,
            folder,
        })
    }

    fn add(&self, folders: Vec<RepoPath>) {
        if !folders.is_empty() {
            self.lock().folders.extend(folders.into_iter().map(Some));
            self.has_changed.notify_all();
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.busy -= 1;
        if state.busy == 0 || state.failed.is_some() {
            self.queue.has_changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let place = root.path().join(file);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, file).unwrap();
        }
        root
    }

    #[test]
    fn wanted_files_are_read_once_and_those_of_other_repositories_never() {
        let mut names: Vec<String> = (0..300).map(|n| format!("a/{}/f{n}.yaml", n % 7)).collect();
        names.push("top.yaml".to_owned());
        let others = ["a/b.txt", ".git/c.yaml", "sub/.git", "sub/d.yaml"];
        let all: Vec<&str> = names.iter().map(String::as_str).chain(others).collect();
        let root = tree(&all);
        #[cfg(unix)]
        std::os::unix::fs::symlink("top.yaml", root.path().join("link.yaml")).unwrap();
        let read = Mutex::new(BTreeMap::new());
        read_each(
            root.path(),
            &|path| path.name().ends_with(".yaml"),
            &|path, bytes| {
                let Ok(bytes) = bytes else {
                    assert_eq!((path.as_str(), bytes), ("sub", Err(OTHERS)));
                    return;
                };
                let old = read.lock().unwrap().insert(path, bytes.to_vec());
                assert_eq!(old, None);
            },
        )
        .unwrap();
        let read = read.into_inner().unwrap();
        assert!(
            read.iter()
                .all(|(path, bytes)| path.as_str().as_bytes() == bytes)
        );
        names.sort();
        assert_eq!(read.keys().map(RepoPath::as_str).collect::<Vec<_>>(), names);
    }

    #[test]
    fn what_is_too_large_or_gone_is_told_and_the_rest_is_read() {
        let root = tree(&["a/b.yaml", "c/large.yaml", "e/f.yaml"]);
        let large = File::create(root.path().join("c/large.yaml")).unwrap();
        large.set_len(MOST_BYTES + 1).unwrap();
        let fits = File::create(root.path().join("e/f.yaml")).unwrap();
        fits.set_len(MOST_BYTES).unwrap();
        let told = Mutex::new(BTreeMap::new());
        read_each(root.path(), &|_| true, &|path, bytes| {
            let size = bytes.map(<[u8]>::len).map_err(str::to_owned);
            told.lock().unwrap().insert(path.as_str().to_owned(), size);
        })
        .unwrap();
        let told = told.into_inner().unwrap();
        assert_eq!(told["a/b.yaml"], Ok(8));
        assert_eq!(
            told["c/large.yaml"],
            Err("it is larger than 64 MiB".to_owned())
        );
        assert_eq!(told["e/f.yaml"], Ok(64 << 20));
        let gone = read(&root.path().join("gone"), &mut Vec::new()).unwrap_err();
        assert!(cannot(&gone).starts_with("it can't be opened: "));
    }

    #[test]
    fn a_failure_or_a_panic_ends_the_walk() {
        let root = tree(&["a/b.yaml", "c/d.yaml", "e/f.yaml"]);
        let gone = read_each(&root.path().join("gone"), &|_| true, &|_, _| {});
        assert!(gone.unwrap_err().to_string().contains("gone"));
        let panicked = std::panic::catch_unwind(|| {
            read_each(root.path(), &|_| true, &|_, _| panic!("as asked"))
        });
        assert!(panicked.is_err());
    }
}
