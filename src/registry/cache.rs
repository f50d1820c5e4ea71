//! Answers of earlier runs, on disk.
//!
//! Owns their files: one for each address or digest, written whole or not at all, readable for
//! their owner alone, and not more than a limit together. A file that cannot be read is no answer,
//! and a folder that cannot be written keeps none; neither is a failure. It must not decide whether
//! an answer still holds. Start from [`Cache`].

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::manifest;
use crate::model::env::Env;

/// All files together, in bytes.
const MOST_BYTES: u64 = 200 << 20;

/// Keeps answers between runs.
#[derive(Debug, Default)]
pub(super) struct Cache {
    folder: Option<PathBuf>,
    most_bytes: u64,
    /// The size of all files, once something was written.
    size: Mutex<Option<u64>>,
}

/// What of an answer's head is kept. No login is among it: those stand in requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
    /// `Link` headers, which lead to the next page.
    pub(super) links: Vec<String>,
}

impl Head {
    /// Whether the source can be asked if the answer still holds.
    pub(super) fn has_validator(&self) -> bool {
        self.etag.is_some() || self.last_modified.is_some()
    }
}

/// The first line of a file.
#[derive(Serialize, Deserialize)]
struct FirstLine {
    sha256: String,
    head: Head,
}

impl Cache {
    /// Keeps nothing.
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// Keeps answers in a folder of its own, made when it is needed.
    pub(super) fn at(folder: PathBuf) -> Self {
        Self {
            folder: Some(folder),
            most_bytes: MOST_BYTES,
            size: Mutex::default(),
        }
    }

    /// The user's cache: `haptic-scaffold/lookups` below `XDG_CACHE_HOME`, else below `~/.cache`.
    pub(super) fn of(env: &Env) -> Self {
        let absolute = |text: String| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
        let of_home = || Some(absolute(env.get("HOME")?)?.join(".cache"));
        let base = env
            .get("XDG_CACHE_HOME")
            .and_then(absolute)
            .or_else(of_home);
        base.map_or_else(Self::none, |base| {
            Self::at(base.join("haptic-scaffold/lookups"))
        })
    }

    /// Returns what is kept under a key, if it is there and whole.
    pub(super) fn get(&self, key: &str) -> Option<(Head, Vec<u8>)> {
        let mut content = fs::read(self.file(key)?).ok()?;
        let end = memchr::memchr(b'\n', &content)?;
        let first: FirstLine = serde_json::from_slice(&content[..end]).ok()?;
        content.drain(..=end);
        (manifest::hex(&content) == first.sha256).then_some((first.head, content))
    }

    /// Keeps an answer; what stands in the way of that is nobody's trouble.
    pub(super) fn put(&self, key: &str, head: &Head, body: &[u8]) {
        if let (Some(folder), Some(file)) = (&self.folder, self.file(key)) {
            let written = write(folder, &file, head, body);
            self.bound(folder, written.unwrap_or_default());
        }
    }

    /// The key is hashed: it may be long, and an address may hold what nobody should read.
    fn file(&self, key: &str) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        Some(folder.join(manifest::hex(key.as_bytes())))
    }

    /// Drops the oldest files where all are too large together.
    fn bound(&self, folder: &Path, added: u64) {
        let mut size = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let known = size.map(|known| known + added);
        if known.is_some_and(|known| known <= self.most_bytes) {
            *size = known;
            return;
        }
        let mut files = files(folder);
        files.sort();
        let mut all: u64 = files.iter().map(|(_, _, bytes)| bytes).sum();
        for (_, path, bytes) in files {
            if all <= self.most_bytes {
                break;
            }
            // Another run may have dropped it already.
            _ = fs::remove_file(path);
            all -= bytes;
        }
        *size = Some(all);
    }
}

/// The files of a folder: when they were written, path, size in bytes.
fn files(folder: &Path) -> Vec<(SystemTime, PathBuf, u64)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((meta.modified().ok()?, entry.path(), meta.len()))
        })
        .collect()
}

/// Writes beside the place and renames, so that no run ever sees half a file.
fn write(folder: &Path, file: &Path, head: &Head, body: &[u8]) -> std::io::Result<u64> {
    make(folder)?;
    let first = FirstLine {
        sha256: manifest::hex(body),
        head: head.clone(),
    };
    let mut content = serde_json::to_vec(&first)?;
    content.push(b'\n');
    // Made for its owner alone, by the crate's default.
    let mut beside = tempfile::NamedTempFile::new_in(folder)?;
    beside.write_all(&content)?;
    beside.write_all(body)?;
    beside.persist(file)?;
    Ok(content.len() as u64 + body.len() as u64)
}

/// Makes the folder for its owner alone.
fn make(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
        builder.mode(0o700).create(folder)?;
        if fs::metadata(folder)?.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        }
    }
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        Head {
            etag: Some("\"1\"".to_owned()),
            ..Head::default()
        }
    }

    #[test]
    fn whole_files_alone_are_answers_and_their_owner_alone_reads_them() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path().join("a/b"));
        assert!(cache.get("k").is_none());
        cache.put("k", &head(), b"line\nbody");
        assert_eq!(cache.get("k"), Some((head(), b"line\nbody".to_vec())));
        assert!(cache.get("other").is_none());
        let folder = root.path().join("a/b");
        let file = files(&folder).remove(0).1;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        }
        let whole = fs::read(&file).unwrap();
        for broken in [
            whole[..whole.len() - 1].to_vec(),
            [whole.as_slice(), b"x"].concat(),
            b"{}\nx".to_vec(),
            Vec::new(),
            vec![0xff; 99],
        ] {
            fs::write(&file, broken).unwrap();
            assert!(cache.get("k").is_none());
        }
        cache.put("k", &head(), b"new");
        assert_eq!(cache.get("k").unwrap().1, b"new");
        assert_eq!(files(&folder).len(), 1);
    }

    #[test]
    fn the_oldest_files_go_where_all_are_too_large() {
        let root = tempfile::tempdir().unwrap();
        let mut cache = Cache::at(root.path().to_owned());
        cache.most_bytes = 3000;
        for (key, age) in [("a", 30_u64), ("b", 20), ("c", 10)] {
            cache.put(key, &head(), &[b'x'; 800]);
            let file = fs::File::options()
                .write(true)
                .open(cache.file(key).unwrap())
                .unwrap();
            let then = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000 - age);
            file.set_modified(then).unwrap();
        }
        cache.put("d", &head(), &[b'x'; 800]);
        let there = |key: &&&str| cache.get(key).is_some();
        let left: Vec<_> = ["a", "b", "c", "d"].iter().filter(there).collect();
        assert_eq!(left, [&"b", &"c", &"d"]);
    }

    #[test]
    fn a_folder_that_cannot_be_made_keeps_nothing() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "x").unwrap();
        let cache = Cache::at(root.path().join("file/below"));
        cache.put("k", &head(), b"x");
        assert!(cache.get("k").is_none());
        assert!(
            Cache::of(&Env::of(&[("XDG_CACHE_HOME", "relative")]))
                .folder
                .is_none()
        );
        let of_home = Cache::of(&Env::of(&[("HOME", "/h")])).folder.unwrap();
        assert_eq!(of_home, Path::new("/h/.cache/haptic-scaffold/lookups"));
    }
}
