//! [`Lock`]: the file `.haptic-scaffold.lock`, what was last rendered of each file.
//!
//! It holds the texts themselves, compressed: a merge needs its base, for years, offline, after squash merges, without the templates of then.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Problem;
use crate::layout::definition::Owner;
use crate::model::repo_path::RepoPath;

/// The name of the file, beside `.haptic-scaffold.yaml`.
pub const FILE_NAME: &str = ".haptic-scaffold.lock";

/// The only version of the format so far.
const VERSION: u32 = 1;

/// A rendered text of more than this is no text that people keep in a config repository, but a broken lock.
const MOST_BYTES: u64 = 16 << 20;

/// What was last rendered of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedFile {
    /// Who owns it.
    pub owner: Owner,
    /// The text as it was rendered.
    pub text: String,
    /// The digest of a text that a person refused for it: the file was kept as it is.
    pub kept: Option<String>,
    packed: String,
}

impl LockedFile {
    /// Holds a text.
    pub fn new(owner: Owner, text: &str) -> Self {
        Self {
            owner,
            text: text.to_owned(),
            kept: None,
            packed: pack(text),
        }
    }
}

/// What was last rendered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    /// The layout's name.
    pub layout: String,
    /// The digest of the layout and its templates.
    pub digest: String,
    /// Whether layouts or templates of a team's own were at hand.
    pub own_layouts: bool,
    /// The answers that the files were rendered from: people may have edited those in `.haptic-scaffold.yaml` since.
    pub answers: Map<String, Value>,
    /// By path.
    pub files: BTreeMap<RepoPath, LockedFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    layout: StoredLayout,
    #[serde(default)]
    answers: String,
    files: BTreeMap<String, StoredFile>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct StoredLayout {
    name: String,
    digest: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    own: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct StoredFile {
    owner: Owner,
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
}

impl Lock {
    /// Reads the file's text. `place` names it in errors.
    ///
    /// # Errors
    /// When it isn't a lock, or one of a later version of the format.
    pub fn parse(text: &str, place: &str) -> Result<Self> {
        let broken = |why: String| {
            Problem::invalid(format!("cannot read `{place}`: {why}"))
                .hint(format!(
                    "take the version of the last good commit: git checkout HEAD -- {place}"
                ))
                .hint("after a merge conflict in it, take one side whole, finish the merge, then run the command again")
        };
        let stored: Stored = serde_json::from_str(text).map_err(|why| broken(why.to_string()))?;
        if stored.version != VERSION {
            return Err(broken(format!(
                "it has version {} of the format, and this program knows {VERSION}",
                stored.version
            ))
            .into());
        }
        let answers =
            unpack(&stored.answers).map_err(|why| broken(format!("the answers: {why}")))?;
        let answers = if answers.is_empty() {
            Map::new()
        } else {
            serde_json::from_str(&answers).map_err(|why| broken(why.to_string()))?
        };
        let mut files = BTreeMap::new();
        for (path, file) in stored.files {
            let path = RepoPath::parse(&path).map_err(|why| broken(why.to_string()))?;
            let text =
                unpack(&file.text).map_err(|why| broken(format!("the text of `{path}`: {why}")))?;
            files.insert(
                path,
                LockedFile {
                    owner: file.owner,
                    text,
                    kept: file.kept,
                    packed: file.text,
                },
            );
        }
        Ok(Self {
            layout: stored.layout.name,
            digest: stored.layout.digest,
            own_layouts: stored.layout.own,
            answers,
            files,
        })
    }

    /// Writes the file's text: one line for each file, so that git merges changes of different files.
    pub fn to_text(&self) -> String {
        let line = |value: serde_json::Result<String>| value.expect("texts are JSON");
        let layout = StoredLayout {
            name: self.layout.clone(),
            digest: self.digest.clone(),
            own: self.own_layouts,
        };
        let answers = if self.answers.is_empty() {
            String::new()
        } else {
            pack(&line(serde_json::to_string(&self.answers)))
        };
        let mut text = format!(
            "{{\n  \"version\": {VERSION},\n  \"layout\": {},\n  \"answers\": \"{answers}\",\n  \"files\": {{",
            line(serde_json::to_string(&layout))
        );
        for (index, (path, file)) in self.files.iter().enumerate() {
            let stored = StoredFile {
                owner: file.owner,
                text: file.packed.clone(),
                kept: file.kept.clone(),
            };
            let comma = if index == 0 { "" } else { "," };
            text.push_str(&format!(
                "{comma}\n    {}: {}",
                line(serde_json::to_string(path)),
                line(serde_json::to_string(&stored))
            ));
        }
        text.push_str("\n  }\n}\n");
        text
    }

    /// Takes the packed form of texts that have not changed from an older lock: another version of the compressor must not change the file.
    pub fn keep_packed(&mut self, older: &Self) {
        for (path, file) in &mut self.files {
            if let Some(known) = older
                .files
                .get(path)
                .filter(|known| known.text == file.text)
            {
                file.packed.clone_from(&known.packed);
            }
        }
    }
}

fn pack(text: &str) -> String {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder
        .write_all(text.as_bytes())
        .and_then(|()| encoder.finish())
        .map(|bytes| STANDARD.encode(bytes))
        .expect("memory takes every byte")
}

fn unpack(packed: &str) -> Result<String, String> {
    if packed.is_empty() {
        return Ok(String::new());
    }
    let bytes = STANDARD.decode(packed).map_err(|why| why.to_string())?;
    let mut text = String::new();
    let read = flate2::read::ZlibDecoder::new(bytes.as_slice())
        .take(MOST_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|why| why.to_string())?;
    if read as u64 > MOST_BYTES {
        Err("it is too large".to_owned())
    } else {
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let mut lock = Lock {
            layout: "a".into(),
            digest: "sha256:1".into(),
            own_layouts: true,
            answers: Map::from_iter([("release".to_owned(), Value::from("edge"))]),
            files: BTreeMap::new(),
        };
        for (path, text) in [("b/x.yaml", "a: 1\n"), ("README.md", "# ü\n")] {
            lock.files.insert(
                RepoPath::parse(path).expect("good"),
                LockedFile::new(Owner::Scaffold, text),
            );
        }
        assert_eq!(Lock::parse(&lock.to_text(), "lock").expect("reads"), lock);
        assert_eq!(
            Lock::parse(&Lock::default().to_text(), "lock").expect("reads"),
            Lock::default()
        );
    }

    #[test]
    fn a_broken_lock_says_what_to_do() {
        for bad in [
            "",
            "<<<<<<< HEAD\n",
            "{\"version\": 2, \"layout\": {\"name\": \"\", \"digest\": \"\"}, \"files\": {}}",
        ] {
            let error = Lock::parse(bad, "lock").expect_err("broken");
            assert!(!crate::error::Report::of(&error).hints.is_empty());
        }
    }
}
