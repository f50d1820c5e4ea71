//! [`Message`]: the text of a commit, with trailers that say which change it belongs to.

use sha2::{Digest as _, Sha256};

use super::change::FileChange;

/// Trailer with the key of the change.
pub const KEY_TRAILER: &str = "Haptic-Scaffold-Change";
/// Trailer with the digest of what the change holds.
pub const DIGEST_TRAILER: &str = "Haptic-Scaffold-Digest";
/// Trailer with the chart's version that the change offers.
pub const VERSION_TRAILER: &str = "Haptic-Scaffold-Version";

/// Trailer with the commit that the change was built on: the parent, unless somebody has rebased it since.
pub const BASE_TRAILER: &str = "Haptic-Scaffold-Base";

/// The parts of a commit's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The first line.
    pub subject: String,
    /// The text below it; may be empty.
    pub body: String,
    /// Trailers in their order.
    pub trailers: Vec<(String, String)>,
}

impl Message {
    /// The whole text, with a newline at the end.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.subject);
        if !self.body.is_empty() {
            text.push_str(&format!("\n{}\n", self.body.trim_end()));
        }
        if !self.trailers.is_empty() {
            text.push('\n');
            for (name, value) in &self.trailers {
                text.push_str(&format!("{name}: {value}\n"));
            }
        }
        text
    }
}

/// A digest of the wanted texts by path, whatever stood there before.
pub fn digest<'a>(files: impl Iterator<Item = &'a FileChange>) -> String {
    digest_of(files.map(|file| (file.path.as_str(), file.new.as_deref())))
}

/// The same of paths and wanted texts.
pub fn digest_of<'a>(files: impl Iterator<Item = (&'a str, Option<&'a [u8]>)>) -> String {
    let mut hash = Sha256::new();
    for (path, new) in files {
        hash.update(path);
        match new {
            Some(new) => {
                hash.update([0, 1]);
                hash.update(Sha256::digest(new));
            }
            None => hash.update([0, 0]),
        }
    }
    format!("sha256:{:x}", hash.finalize())
}
