//! [`RepoPath`]: a path inside a repository, the only kind of path that a change may name.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A relative path with `/` between its parts, that can't leave the repository or enter a `.git` folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(String);

/// Why a text is not a [`RepoPath`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RepoPathError {
    /// There is nothing in it.
    #[error("the path is empty")]
    Empty,
    /// It starts at the root of the file system, or names a drive.
    #[error("`{0}` is absolute: paths are relative to the repository")]
    Absolute(String),
    /// A part is `..`.
    #[error("`{0}` leaves the repository")]
    Leaves(String),
    /// A part is `.git` in any spelling that some file system takes for it.
    #[error("`{0}` enters a `.git` folder")]
    EntersGit(String),
    /// A part is empty, `.`, or has a character that not every file system can hold.
    #[error("`{0}` has a part that not every file system can hold: `{1}`")]
    BadPart(String, String),
}

impl RepoPath {
    /// Reads a path. `./` in front and a `/` at the end are taken away.
    ///
    /// # Errors
    /// When the path is absolute, leaves the repository, enters `.git`, or can't be held by every file system.
    pub fn parse(text: &str) -> Result<Self, RepoPathError> {
        let trimmed = text.trim_start_matches("./").trim_end_matches('/');
        if trimmed.is_empty() || trimmed == "." {
            return Err(RepoPathError::Empty);
        }
        if trimmed.starts_with('/')
            || trimmed.starts_with('~')
            || trimmed.as_bytes().get(1) == Some(&b':')
        {
            return Err(RepoPathError::Absolute(text.to_owned()));
        }
        for part in trimmed.split('/') {
            check_part(text, part)?;
        }
        Ok(Self(trimmed.to_owned()))
    }

    /// Returns the text, with `/` between the parts.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the parts from the outermost folder to the file's name.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the last part.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns what stands before paths below a folder: `""`, or the folder with a `/`.
    pub fn prefix(folder: Option<&Self>) -> String {
        folder
            .map(|folder| format!("{folder}/"))
            .unwrap_or_default()
    }

    /// Returns the folder that holds it, if it isn't the repository itself.
    pub fn parent(&self) -> Option<Self> {
        self.0
            .rsplit_once('/')
            .map(|(folder, _)| Self(folder.to_owned()))
    }
}

/// Windows and macOS take `.GIT`, `git~1`, `.git ` and `.git::$INDEX_ALLOCATION` for `.git`
/// (git refuses the same; see `core.protectNTFS` and `core.protectHFS` in git-config(1)).
fn check_part(path: &str, part: &str) -> Result<(), RepoPathError> {
    let bad = || RepoPathError::BadPart(path.to_owned(), part.to_owned());
    if part == ".." {
        return Err(RepoPathError::Leaves(path.to_owned()));
    }
    // Every path of a repository comes here, and most need no copy.
    let plain: Cow<'_, str> = if part.is_ascii() {
        Cow::Borrowed(part)
    } else {
        let kept = part.chars().filter(|c| !is_ignored_by_hfs(*c));
        Cow::Owned(kept.collect::<String>().to_lowercase())
    };
    let stem = plain
        .split(':')
        .next()
        .unwrap_or_default()
        .trim_end_matches(['.', ' ']);
    if stem.eq_ignore_ascii_case(".git") || stem.eq_ignore_ascii_case("git~1") {
        return Err(RepoPathError::EntersGit(path.to_owned()));
    }
    let awkward =
        |c: char| c.is_control() || matches!(c, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    if part.is_empty() || part == "." || part.contains(awkward) || part.ends_with([' ', '.']) {
        return Err(bad());
    }
    Ok(())
}

fn is_ignored_by_hfs(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RepoPath {
    type Err = RepoPathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl serde::Serialize for RepoPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A path that a file of a folder names, as kustomizations do, as seen from the repository's top; nothing where it leaves the repository, or is an address.
pub fn resolved(folder: Option<&RepoPath>, path: &str) -> Option<String> {
    if path.contains("://") || path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.into_iter().flat_map(RepoPath::parts).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_or_enter_git_are_refused() {
        for bad in [
            "/etc/passwd",
            "../x",
            "a/../../x",
            "C:/x",
            "~/x",
            ".git/config",
            "a/.GIT/x",
            "a/git~1/x",
            ".git./x",
            ".g\u{200c}it/x",
            ".git::$INDEX_ALLOCATION/x",
        ] {
            assert!(RepoPath::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_that_not_every_file_system_holds_are_refused() {
        for bad in [
            "", ".", "./", "a//b", "a/./b", "a\\b", "a\nb", "a/b.", "a/b ", "a:b", "a*",
        ] {
            assert!(RepoPath::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn good_paths_keep_their_text() {
        for (text, wanted) in [
            ("./a/b.yaml", "a/b.yaml"),
            ("a/", "a"),
            (".github/x", ".github/x"),
            (".gitignore", ".gitignore"),
        ] {
            assert_eq!(RepoPath::parse(text).expect("good").as_str(), wanted);
        }
    }
}
