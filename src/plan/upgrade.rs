//! The planner of `upgrade`: pins of one chart moved to other versions, as one change.

use std::collections::BTreeMap;

use anyhow::Result;
use semver::Version;

use super::change::{Change, Commit, FileChange, Verdict};
use super::message::{DIGEST_TRAILER, KEY_TRAILER, Message, VERSION_TRAILER, digest};
use crate::error::Problem;
use crate::haptic;
use crate::model::range::lenient_version;
use crate::model::repo_path::RepoPath;
use crate::model::tree::{Entry, Tree};
use crate::pins::{Pin, edit};

/// What the names of branches with offers begin with.
pub const OFFERS: &str = "haptic-scaffold/";

/// One pin and the version that it gets.
#[derive(Debug, Clone)]
pub struct Move {
    /// The pin.
    pub pin: Pin,
    /// The version.
    pub to: String,
}

/// A pin that stays, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// File and line.
    pub place: String,
    /// Why.
    pub why: String,
}

/// Why a pin of a chart isn't moved although something is newer; nothing where it may be.
///
/// # Errors
/// When the repository can't be read.
pub fn hindrance(tree: &dyn Tree, pin: &Pin) -> Result<Option<String>> {
    if !pin.effective || !pin.editable {
        return Ok(Some(pin.why.clone().unwrap_or_default()));
    }
    if let Some(name) = pin.defines.as_ref().filter(|name| !is_of_chart(name)) {
        return Ok(Some(format!(
            "`{name}` is a name that others read, so a person has to see all of them"
        )));
    }
    if let Some(why) = &pin.why {
        return Ok(Some(why.clone()));
    }
    let lock = format!("{}Chart.lock", RepoPath::prefix(pin.file.parent().as_ref()));
    if pin.file.name() == "Chart.yaml" && tree.entry(&RepoPath::parse(&lock)?)?.is_some() {
        let why = "Chart.lock beside it has to move with it: helm dependency update does both";
        return Ok(Some(why.to_owned()));
    }
    let Some(Entry::File(bytes)) = tree.entry(&pin.file)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let held = |line: &str| {
        let comment = line.split_once('#')?.1.trim_start();
        comment
            .strip_prefix("hold")
            .map(|reason| format!("held{reason}"))
    };
    let own = lines.get(pin.line - 1).and_then(|line| held(line));
    let above = pin.line.checked_sub(2).and_then(|above| lines.get(above));
    let above = above.filter(|line| line.trim_start().starts_with('#'));
    Ok(own.or_else(|| above.and_then(|line| held(line))))
}

/// Whether a name says that it is a chart's version: then no more than that is expected of it. Another may be read by more than a version's place.
fn is_of_chart(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let plain = last.replace(['_', '-'], "").to_lowercase();
    plain.ends_with("chartversion") || plain.ends_with("charttag") || plain == "targetrevision"
}

/// Moves the pins of one chart. `name` names the chart in the key, the branch and the title.
///
/// # Errors
/// When a file can't be read, or a pin can't be moved without another change.
pub fn plan(
    tree: &dyn Tree,
    name: &str,
    moves: &[Move],
    kept: &[Kept],
    base: &str,
) -> Result<Change> {
    let mut by_file: BTreeMap<&RepoPath, Vec<&Move>> = BTreeMap::new();
    for one in moves {
        by_file.entry(&one.pin.file).or_default().push(one);
    }
    let mut files = Vec::new();
    for (path, mut moves) in by_file {
        let Some(Entry::File(old)) = tree.entry(path)? else {
            continue;
        };
        let mut text = String::from_utf8(old.clone())
            .map_err(|_| Problem::invalid(format!("`{path}` is not UTF-8 text")))?;
        // From the end to the start, so that the bytes of those before stay where they are.
        moves.sort_by_key(|one| std::cmp::Reverse(one.pin.span.start));
        for Move { pin, to } in &moves {
            text = edit(path, &text, pin, to).map_err(|why| {
                Problem::invalid(format!(
                    "cannot move `{}` in {path}:{}: {why}",
                    pin.value, pin.line
                ))
                .hint("change it by hand, and say so to the program's authors: nothing was written")
            })?;
        }
        files.push(FileChange {
            path: path.clone(),
            verdict: Verdict::Update,
            why: format!("{name} moves"),
            commit: Commit::Never,
            old: Some(old),
            new: Some(text.into_bytes()),
        });
    }
    let key = format!("upgrade {name}");
    let title = title(name, moves);
    let body = body(moves, kept);
    let mut versions: Vec<&str> = moves.iter().map(|one| one.to.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    let mut trailers = vec![(KEY_TRAILER.to_owned(), key.clone())];
    trailers.extend(
        versions
            .iter()
            .map(|v| (VERSION_TRAILER.to_owned(), (*v).to_owned())),
    );
    trailers.push((DIGEST_TRAILER.to_owned(), digest(files.iter())));
    Ok(Change {
        branch: format!("{OFFERS}upgrade-{}", slug(name)),
        base: base.to_owned(),
        message: Message {
            subject: title.clone(),
            body: body.clone(),
            trailers,
        },
        key,
        title,
        body,
        labels: vec!["dependencies".to_owned()],
        files,
    })
}

fn title(name: &str, moves: &[Move]) -> String {
    let mut versions: Vec<&str> = moves.iter().map(|one| one.to.as_str()).collect();
    versions.dedup();
    match versions.as_slice() {
        [one] => format!("Upgrade {name} to {one}"),
        _ => format!("Upgrade {name}"),
    }
}

/// What moves, what stays, and what to read before.
fn body(moves: &[Move], kept: &[Kept]) -> String {
    let mut text = "| pin | from | to |\n| --- | --- | --- |\n".to_owned();
    for Move { pin, to } in moves {
        text.push_str(&format!(
            "| {}:{} ({}) | {} | {to} |\n",
            pin.file, pin.line, pin.place, pin.value
        ));
    }
    let notes = notes(moves);
    if !notes.is_empty() {
        text.push_str("\nTo know:\n\n");
        notes
            .iter()
            .for_each(|note| text.push_str(&format!("- {note}\n")));
    }
    if !kept.is_empty() {
        text.push_str("\nNot moved:\n\n");
        for Kept { place, why } in kept {
            text.push_str(&format!("- {place}: {why}\n"));
        }
    }
    text
}

fn notes(moves: &[Move]) -> Vec<&'static str> {
    let mut notes = Vec::new();
    for Move { pin, to } in moves.iter().filter(|one| is_haptic(&one.pin)) {
        if let (Some(from), Ok(to)) = (lenient_version(&pin.value), Version::parse(to)) {
            for note in haptic::notes::upgrade_notes(&from, &to) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    notes
}

/// Whether a pin is of HAPTIC's chart.
pub fn is_haptic(pin: &Pin) -> bool {
    pin.chart.as_deref() == Some(haptic::CHART)
}

/// A chart's name or address as a part of a branch's name.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || c == '.' || c == '_' {
            slug.push(c);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_named_after_the_chart() {
        assert_eq!(slug("haptic"), "haptic");
        assert_eq!(
            slug("oci://r.example.org:5000/x/haptic"),
            "oci-r.example.org-5000-x-haptic"
        );
        assert_eq!(
            slug("https://charts.example.org#web"),
            "https-charts.example.org-web"
        );
    }
}
