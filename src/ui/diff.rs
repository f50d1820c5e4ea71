//! Changes for people: one line for each verdict, the tree that was written, and unified diffs.

use std::collections::BTreeMap;

use similar::TextDiff;

use crate::layout::render::WOULD_SEAL;
use crate::plan::change::{Change, FileChange, Verdict};
use crate::secrets::clear;

/// One line for each file, the ones that need attention with their reason.
pub fn verdicts(change: &Change) -> String {
    let line = |file: &FileChange| match file.verdict {
        Verdict::Create | Verdict::Update | Verdict::Same if !would_be_sealed(file) => {
            format!("{:<8} {}\n", file.verdict.as_str(), file.path)
        }
        _ => format!(
            "{:<8} {}  ({})\n",
            file.verdict.as_str(),
            file.path,
            file.why
        ),
    };
    change.files.iter().map(line).collect()
}

/// A text that only the run itself makes.
fn would_be_sealed(file: &FileChange) -> bool {
    file.new.as_deref() == Some(WOULD_SEAL.as_bytes())
}

/// Unified diffs of the files that get another text, and of those in conflict.
pub fn diffs(change: &Change) -> String {
    let shown = |file: &&FileChange| file.verdict.writes() || file.verdict == Verdict::Conflict;
    change.files.iter().filter(shown).map(diff).collect()
}

fn diff(file: &FileChange) -> String {
    if file.path.name() == crate::plan::lock::FILE_NAME {
        return format!("{}: packed texts, not shown\n", file.path);
    }
    let text = |bytes: &Option<Vec<u8>>| {
        bytes
            .as_ref()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .unwrap_or_default()
    };
    let name = |there: bool, side: char| {
        if there {
            format!("{side}/{}", file.path)
        } else {
            "/dev/null".to_owned()
        }
    };
    let (old, new) = (text(&file.old), text(&file.new));
    if clear::is_in(&old) || clear::is_in(&new) {
        return format!("{}: a Secret stands in it in clear, not shown\n", file.path);
    }
    TextDiff::from_lines(&old, &new)
        .unified_diff()
        .header(
            &name(file.old.is_some(), 'a'),
            &name(file.new.is_some(), 'b'),
        )
        .to_string()
}

/// The files as a tree, with what they are.
pub fn tree<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    let mut root = Folder::default();
    for path in paths {
        root.add(path);
    }
    let mut text = String::new();
    root.draw("", &mut text);
    text
}

#[derive(Default)]
struct Folder(BTreeMap<String, Self>);

impl Folder {
    fn add(&mut self, path: &str) {
        let (name, rest) = path
            .split_once('/')
            .map_or((path, None), |(name, rest)| (name, Some(rest)));
        let inner = self.0.entry(name.to_owned()).or_default();
        if let Some(rest) = rest {
            inner.add(rest);
        }
    }

    fn draw(&self, indent: &str, into: &mut String) {
        for (index, (name, inner)) in self.0.iter().enumerate() {
            let is_last = index + 1 == self.0.len();
            let (branch, below) = if is_last {
                ("└── ", "    ")
            } else {
                ("├── ", "│   ")
            };
            let slash = if inner.0.is_empty() { "" } else { "/" };
            into.push_str(&format!("{indent}{branch}{name}{slash}\n"));
            inner.draw(&format!("{indent}{below}"), into);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_drawn_as_a_tree() {
        assert_eq!(
            tree(["a/b.yaml", "a/c/d.yaml", "e.md"].into_iter()),
            "├── a/\n│   ├── b.yaml\n│   └── c/\n│       └── d.yaml\n└── e.md\n"
        );
    }
}
