//! Files with logins in them.
//!
//! Owns their reading, and errors that repeat nothing of them. Start from [`read`].

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

/// No such file of a person's is larger.
const MOST_BYTES: u64 = 4 << 20;

/// Why a file gives no login. The reason never holds a part of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotRead {
    Missing,
    Unreadable(String),
    /// It isn't of the form that it should have, from there on.
    Malformed {
        line: usize,
        column: usize,
    },
}

/// A text that is wiped when it goes.
#[derive(Default, Clone)]
pub(super) struct Hidden(pub(super) Zeroizing<String>);

impl<'de> Deserialize<'de> for Hidden {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(Self(Zeroizing::new(text.unwrap_or_default())))
    }
}

/// Reads a file.
///
/// # Errors
///
/// [`NotRead`] with the reason.
pub(super) fn read(file: &Path) -> Result<Zeroizing<Vec<u8>>, NotRead> {
    let unreadable = |why: std::io::Error| match why.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => NotRead::Missing,
        _ => NotRead::Unreadable(why.to_string()),
    };
    let mut text = Zeroizing::new(Vec::new());
    let open = File::open(file).map_err(unreadable)?;
    let read = open.take(MOST_BYTES + 1).read_to_end(&mut text);
    read.map_err(unreadable)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(NotRead::Unreadable("it is too large".to_owned()));
    }
    Ok(text)
}
