//! Changes of block collections: whole lines, and the values behind their keys.

use serde_json::{Map, Value};

use super::page::{Held, Holder, Page, Splice, end};
use super::write::{Below, scalar_or_empty};
use crate::yaml::lines;
use crate::yaml::node::Node;

/// Replaces the value of an entry of a block map. `None` where the entry isn't `key: value`.
pub(super) fn set(page: &Page<'_>, key: &Node, old: &Node, new: &Value) -> Option<Splice> {
    let colon = page.colon(key)?;
    let is_inline = match old.as_scalar() {
        Some(scalar) => !scalar.style.is_block(),
        None => old.flow || !(old.is_mapping() || old.is_sequence()),
    };
    let to = page.content_end(old.span.end.max(colon + 1));
    let mut manner = page.manner;
    manner.blocks &= to < page.text.len();
    if is_inline && old.tag.is_none() && !manner.has_lines(new) {
        let style = old.as_scalar().map(|scalar| scalar.style);
        let gap = if old.span.is_empty() { " " } else { "" };
        let written = scalar_or_empty(new, style, false);
        return Some((old.span.clone(), format!("{gap}{written}")));
    }
    let first = colon + 1..page.content_end(colon + 1);
    let last = old.span.end.max(colon + 1)..to;
    let comment = page
        .comment(first)
        .or_else(|| page.comment(last).filter(|_| is_inline));
    let column = key.position.column - 1;
    if old.is_sequence() && !old.flow {
        manner.dash = old.position.column.saturating_sub(key.position.column);
    }
    let Below { head, lines } = manner.below(new, column);
    let comment = comment.unwrap_or_default();
    Some((colon + 1..to, format!("{head}{comment}{lines}")))
}

/// Puts a new entry behind the last one of a block map.
pub(super) fn add(page: &Page<'_>, map: &Node, key: &str, value: &Value) -> Option<Splice> {
    let (first, _) = map.entries().next()?;
    let (last, last_value) = map.entries().last()?;
    let column = first.position.column - 1;
    Some(page.new_line(end(last, last_value), |manner| {
        let pad = " ".repeat(column);
        format!("{pad}{}", manner.entry(key, value, column))
    }))
}

/// Puts a new item behind the last one of a block sequence.
pub(super) fn push(page: &Page<'_>, list: &Node, item: &Value) -> Option<Splice> {
    let last = list.items().last()?;
    let column = list.position.column - 1;
    Some(page.new_line(last.span.end, |manner| {
        let pad = " ".repeat(column);
        format!("{pad}{}", manner.item(item, column))
    }))
}

/// Puts a value with lines of its own where an empty collection or a null stands, outside of all brackets.
pub(super) fn fill(page: &Page<'_>, held: &Held<'_>, value: &Value) -> Option<Splice> {
    let node = held.node;
    let to = page.content_end(node.span.end);
    let manner = if to < page.text.len() {
        page.manner
    } else {
        page.at_end()
    };
    let at = |column: usize| match value {
        Value::Object(map) => manner.entries(map, column),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|i| manner.item(i, column)).collect();
            items.join(&manner.line(column))
        }
        _ => scalar_or_empty(value, None, false),
    };
    // A comment behind it goes above, since more than one line may come.
    let comment = |column| match page.comment(node.span.end..to) {
        Some(comment) => format!("{}{}", comment.trim_start(), manner.line(column)),
        None => String::new(),
    };
    match held.holder {
        Holder::Key(key) => set(page, key, node, value),
        Holder::Sequence => {
            let column = node.position.column - 1;
            let written = format!("{}{}", comment(column), at(column));
            Some((node.span.start..to, written))
        }
        Holder::Root => {
            let is_behind = page.margin(node.span.start).is_none();
            let start = if is_behind { manner.newline } else { "" };
            let written = format!("{start}{}{}", comment(0), at(0));
            Some((node.span.start..to, written))
        }
    }
}

/// The text of a document that holds nothing yet: behind its comments.
pub(super) fn found(page: &Page<'_>, map: &Map<String, Value>) -> Splice {
    let (text, newline) = (page.text, page.manner.newline);
    let at = if page.document.explicit {
        behind_comments(text, page.document.span.start)
    } else {
        text.len()
    };
    let has_line = text[..at].is_empty() || text[..at].ends_with(['\n', '\u{feff}']);
    let written = if has_line {
        format!("{}{newline}", page.manner.entries(map, 0))
    } else {
        format!("{newline}{}", page.at_end().entries(map, 0))
    };
    (at..at, written)
}

/// Behind the line of an offset and the comments below it; at the end, where nothing else is below.
fn behind_comments(text: &str, from: usize) -> usize {
    let first = lines::end_of(text, from);
    let (mut behind, mut at) = (first, first);
    while at < text.len() {
        let end = lines::end_of(text, at);
        let line = text[at..end].trim();
        if line.starts_with('#') {
            behind = end;
        } else if !line.is_empty() {
            return behind;
        }
        at = end;
    }
    text.len()
}

/// Takes an entry out of a block map.
pub(super) fn remove(page: &Page<'_>, held: &Held<'_>, index: usize) -> Option<Splice> {
    let text = page.text;
    let (key, value) = held.node.entries().nth(index)?;
    let to = page.content_end(end(key, value));
    if held.node.entries().count() == 1 {
        return remove_last(page, held, to);
    }
    if page.margin(key.span.start).is_some() {
        let mut start = page.line_start(key.span.start);
        let stop = lines::end_of(text, end(key, value));
        if !text[..stop].ends_with('\n') {
            // The line before becomes the last one, which has no line break.
            start -= usize::from(text[..start].ends_with('\n'));
            start -= usize::from(text[..start].ends_with('\r'));
        }
        return Some((start..stop, String::new()));
    }
    // Behind a dash: the next entry takes its place.
    let next = held.node.entries().nth(index + 1);
    let next = next.map(|(key, _)| key.span.start);
    match next {
        Some(next) if text[to..next].trim().is_empty() => {
            Some((key.span.start..next, String::new()))
        }
        _ => Some((key.span.start..to, String::new())),
    }
}

/// Takes the only entry out of a block map, of which `{}` is left.
fn remove_last(page: &Page<'_>, held: &Held<'_>, to: usize) -> Option<Splice> {
    let text = page.text;
    let (key, _) = held.node.entries().next()?;
    let Holder::Key(outer) = held.holder else {
        return Some((key.span.start..to, "{}".to_owned()));
    };
    let from = page.colon(outer)? + 1;
    let between = &text[from..page.line_start(key.span.start).max(from)];
    let mut at = 0;
    // Behind an anchor, which stays.
    loop {
        let rest = between[at..].trim_start_matches([' ', '\t']);
        if !rest.starts_with(['&', '!']) {
            break;
        }
        let word = rest.find([' ', '\t', '\r', '\n']).unwrap_or(rest.len());
        at = between.len() - rest.len() + word;
    }
    let (before, after) = between.split_at(at);
    let after = after.trim_end_matches('\n').trim_end_matches('\r');
    Some((from..to, format!("{before} {{}}{after}")))
}
