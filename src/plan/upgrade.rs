//! The planner of `upgrade`: pins of one chart moved to other versions, as one change.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::bundle::{Bundle, Kept, Move};
use super::change::{Change, Commit, FileChange, Verdict};
use super::message::{DIGEST_TRAILER, KEY_TRAILER, Message, VERSION_TRAILER, digest};
use crate::error::Problem;
use crate::haptic;
use crate::model::range::lenient_version;
use crate::model::repo_path::RepoPath;
use crate::model::tree::{Entry, Tree, read_text};
use crate::pins::{Pin, edit, follow};

/// A part of a request's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Its text, Markdown.
    pub text: String,
    /// Whether it is shown only when asked for.
    pub is_folded: bool,
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
            "`{name}` is a name that others read, so a person has to see all of them; one that ends with `chartVersion` moves"
        )));
    }
    if let Some(why) = &pin.why {
        return Ok(Some(why.clone()));
    }
    if let Some(why) = lock_hindrance(tree, pin)? {
        return Ok(Some(why));
    }
    held(tree, pin)
}

/// What a comment at a pin, or on the line above, says against moving it: `# hold: reason`.
///
/// # Errors
/// When the repository can't be read.
pub fn held(tree: &dyn Tree, pin: &Pin) -> Result<Option<String>> {
    let Some(Entry::File(bytes)) = tree.entry(&pin.file)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let own = lines.get(pin.line - 1).and_then(|line| held_by(line));
    let above = pin.line.checked_sub(2).and_then(|above| lines.get(above));
    let above = above.filter(|line| line.trim_start().starts_with('#'));
    Ok(own.or_else(|| above.and_then(|line| held_by(line))))
}

/// A comment that begins with the word `hold`, also behind another one.
fn held_by(line: &str) -> Option<String> {
    line.match_indices('#').find_map(|(at, _)| {
        let comment = line[at + 1..].trim_start();
        let word = comment
            .get(..4)
            .filter(|word| word.eq_ignore_ascii_case("hold"))?;
        let rest = &comment[word.len()..];
        let is_word = rest.is_empty() || rest.starts_with([':', ' ', ',', '-']);
        let reason = rest.trim_start_matches([':', ' ', ',', '-']);
        let reason = reason.split(" #").next().unwrap_or_default().trim();
        is_word.then(|| match reason {
            "" => "held".to_owned(),
            reason => format!("held: {reason}"),
        })
    })
}

/// Whether a name says that it is a chart's version: then no more than that is expected of it. Another may be read by more than a version's place.
fn is_of_chart(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let plain = last.replace(['_', '-'], "").to_lowercase();
    plain.ends_with("chartversion") || plain.ends_with("charttag") || plain == "targetrevision"
}

/// The path of a file beside another one.
fn beside(file: &RepoPath, name: &str) -> Result<RepoPath> {
    let prefix = RepoPath::prefix(file.parent().as_ref());
    Ok(RepoPath::parse(&format!("{prefix}{name}"))?)
}

/// The lock beside a `Chart.yaml` that a pin stands in, with the text of both.
///
/// # Errors
/// When the repository can't be read.
pub fn lock_of(tree: &dyn Tree, pin: &Pin) -> Result<Option<(String, String)>> {
    if pin.file.name() != "Chart.yaml" {
        return Ok(None);
    }
    let lock = read_text(tree, &beside(&pin.file, "Chart.lock")?)?;
    let chart = read_text(tree, &pin.file)?;
    Ok(chart.zip(lock))
}

/// A dependency moves with its lock, and not where the archive itself lies in the repository.
fn lock_hindrance(tree: &dyn Tree, pin: &Pin) -> Result<Option<String>> {
    let is_old = pin.file.name() == "requirements.yaml";
    if !is_old && pin.file.name() != "Chart.yaml" {
        return Ok(None);
    }
    if is_old
        && tree
            .entry(&beside(&pin.file, "requirements.lock")?)?
            .is_some()
    {
        let why =
            "requirements.lock beside it has to move with it: helm dependency update does both";
        return Ok(Some(why.to_owned()));
    }
    let lock = lock_of(tree, pin)?;
    if let Some(Err(why)) = lock
        .as_ref()
        .map(|(chart, lock)| follow(chart, chart, lock, &[]))
    {
        return Ok(Some(why.to_string()));
    }
    let name = pin.chart.as_deref().unwrap_or_default();
    let vendored = beside(&pin.file, "charts")?;
    let archives = match tree.entry(&vendored)? {
        Some(Entry::Folder) => tree.files(Some(&vendored))?,
        _ => Vec::new(),
    };
    let is_of_chart = |path: &&RepoPath| {
        let below = path
            .as_str()
            .strip_prefix(vendored.as_str())
            .unwrap_or_default();
        let rest = below.trim_start_matches('/').strip_prefix(name);
        let is_version = |rest: &str| {
            let version = rest.strip_prefix('-').unwrap_or_default();
            let version = version.strip_prefix('v').unwrap_or(version);
            version.starts_with(|c: char| c.is_ascii_digit()) && rest.ends_with(".tgz")
        };
        rest.is_some_and(|rest| rest.starts_with('/') || is_version(rest))
    };
    Ok(archives.iter().find(is_of_chart).map(|path| {
        format!("the chart itself lies in `{path}`: helm dependency update moves all of it")
    }))
}

/// Moves the pins of a bundle.
///
/// # Errors
/// When a file can't be read, or a pin can't be moved without another change.
pub fn plan(tree: &dyn Tree, bundle: &Bundle, sections: &[Section], base: &str) -> Result<Change> {
    let files = moved_files(tree, bundle)?;
    let (key, title) = (bundle.key(), bundle.title());
    let text = body(&bundle.moves, &bundle.kept);
    let trailers = trailers(bundle, &files);
    Ok(Change {
        branch: bundle.branch(),
        base: base.to_owned(),
        body: with_sections(&text, sections),
        message: Message {
            subject: title.clone(),
            body: text,
            trailers,
        },
        key,
        title,
        labels: vec!["dependencies".to_owned()],
        files,
    })
}

/// What the commit of a bundle says of it: its key, the versions that it brings, and the digest of its files.
pub(super) fn trailers(bundle: &Bundle, files: &[FileChange]) -> Vec<(String, String)> {
    let versions = bundle.moves.iter().map(|one| one.version.as_str());
    let versions: BTreeSet<&str> = versions.collect();
    let versions = versions
        .into_iter()
        .map(|version| (VERSION_TRAILER.to_owned(), version.to_owned()));
    let key = (KEY_TRAILER.to_owned(), bundle.key());
    let digest = (DIGEST_TRAILER.to_owned(), digest(files.iter()));
    std::iter::once(key)
        .chain(versions)
        .chain([digest])
        .collect()
}

/// The files of a bundle with its pins moved, by path.
///
/// # Errors
/// When a file can't be read, or a pin can't be moved without another change.
pub(super) fn moved_files(tree: &dyn Tree, bundle: &Bundle) -> Result<Vec<FileChange>> {
    let mut by_file: BTreeMap<&RepoPath, Vec<&Move>> = BTreeMap::new();
    for one in &bundle.moves {
        by_file.entry(&one.pin.file).or_default().push(one);
    }
    let mut files = Vec::new();
    for (path, moves) in by_file {
        files.extend(moved(tree, path, &moves, &bundle.name)?);
    }
    files.sort_by(|one: &FileChange, other| one.path.cmp(&other.path));
    Ok(files)
}

/// One file with its pins moved, and the lock that has to follow it.
fn moved(tree: &dyn Tree, path: &RepoPath, moves: &[&Move], name: &str) -> Result<Vec<FileChange>> {
    let Some(Entry::File(old)) = tree.entry(path)? else {
        return Ok(Vec::new());
    };
    let before = String::from_utf8(old)
        .map_err(|_| Problem::invalid(format!("`{path}` is not UTF-8 text")))?;
    let mut text = before.clone();
    // From the end to the start, so that the bytes of those before stay where they are.
    let mut moves = moves.to_vec();
    moves.sort_by_key(|one| std::cmp::Reverse(one.pin.span.start));
    for Move { pin, to, .. } in moves.iter().filter(|one| one.to != one.pin.value) {
        text = edit(path, &text, pin, to).map_err(|why| {
            Problem::invalid(format!(
                "cannot move `{}` in {path}:{}: {why}",
                pin.value, pin.line
            ))
            .hint("change it by hand, and say so to the program's authors: nothing was written")
        })?;
    }
    let update = |path: &RepoPath, old: &str, new: &str| FileChange {
        path: path.clone(),
        verdict: Verdict::Update,
        why: format!("{name} moves"),
        commit: Commit::Never,
        old: Some(old.as_bytes().to_vec()),
        new: Some(new.as_bytes().to_vec()),
    };
    let mut files = Vec::new();
    if let Some((_, lock)) = moves
        .first()
        .map(|one| lock_of(tree, &one.pin))
        .transpose()?
        .flatten()
    {
        let versions: Vec<(usize, String)> = moves
            .iter()
            .map(|one| (one.pin.span.start, one.version.clone()))
            .collect();
        let lock_path = beside(path, "Chart.lock")?;
        let followed = follow(&before, &text, &lock, &versions)
            .map_err(|why| Problem::invalid(format!("cannot move `{lock_path}`: {why}")))?;
        files.push(update(&lock_path, &lock, &followed));
    }
    if text != before {
        files.push(update(path, &before, &text));
    }
    Ok(files)
}

/// A request's text with its further parts.
pub(super) fn with_sections(text: &str, sections: &[Section]) -> String {
    let mut body = text.to_owned();
    for section in sections {
        let Section {
            title,
            text,
            is_folded,
        } = section;
        let text = text.trim_end();
        body.push_str(&if *is_folded {
            format!("\n<details><summary>{title}</summary>\n\n{text}\n\n</details>\n")
        } else {
            format!("\n### {title}\n\n{text}\n")
        });
    }
    body
}

/// Which pin gets what, as a table.
pub(super) fn moves_table(moves: &[Move]) -> String {
    let mut text = "| chart | pin | from | to |\n| --- | --- | --- | --- |\n".to_owned();
    for Move {
        pin,
        chart,
        to,
        version,
        ..
    } in moves
    {
        let to = if *to == pin.value {
            format!("{to} (locked: {version})")
        } else {
            to.clone()
        };
        text.push_str(&format!(
            "| {} | {}:{} ({}) | {} | {} |\n",
            cell(chart),
            pin.file,
            pin.line,
            cell(&pin.place),
            cell(&pin.value),
            cell(&to)
        ));
    }
    text
}

/// What moves, what stays, and what to read before.
fn body(moves: &[Move], kept: &[Kept]) -> String {
    let mut text = moves_table(moves);
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

/// A text in a table: a range may have `||`.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn notes(moves: &[Move]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for Move { chart, note, .. } in moves {
        let note = note.as_ref().map(|note| format!("{chart}: {note}"));
        notes.extend(note.filter(|note| !notes.contains(note)));
    }
    for Move { pin, version, .. } in moves.iter().filter(|one| is_haptic(&one.pin)) {
        if let (Some(from), Some(to)) = (pin.version(), lenient_version(version)) {
            for note in haptic::notes::upgrade_notes(&from, &to) {
                if !notes.iter().any(|known| known == note) {
                    notes.push(note.to_owned());
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
