//! Changes of collections with brackets, JSON among them.

use serde_json::Value;

use super::page::{Page, Splice, end};
use super::write::Flow;
use crate::yaml::node::{Node, Style};

/// How the entries of a collection are written; `last` is where its last one begins.
fn shape(page: &Page<'_>, node: &Node, last: Option<usize>) -> Flow {
    let is_quoted = |key: &Node| {
        let style = key.as_scalar().map(|scalar| scalar.style);
        style == Some(Style::DoubleQuoted)
    };
    let mut keys = node.entries().map(|(key, _)| key).peekable();
    let quoted = page.manner.json || (keys.peek().is_some() && keys.all(is_quoted));
    let margin = last.and_then(|last| page.margin(last));
    let lines = margin.map(|margin| {
        let closing = page.margin(node.span.end - 1);
        let unit = closing.and_then(|closing| margin.strip_prefix(closing));
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or("  ");
        (format!("{}{margin}", page.manner.newline), unit.to_owned())
    });
    Flow { quoted, lines }
}

/// Replaces the value of an entry.
pub(super) fn set(
    page: &Page<'_>,
    map: &Node,
    (key, old): (&Node, &Node),
    new: &Value,
) -> Option<Splice> {
    let shape = shape(page, map, Some(key.span.start));
    let scalar = old.as_scalar();
    let written = shape.value(new, scalar.map(|scalar| scalar.style));
    if scalar.is_some_and(|scalar| scalar.has_no_place) {
        let at = key.span.end;
        return Some((at..at, format!(": {written}")));
    }
    if old.tag.is_some() || old.anchor.is_some() {
        let from = page.colon(key)? + 1;
        return Some((from..old.span.end.max(from), format!(" {written}")));
    }
    let gap = if old.span.is_empty() { " " } else { "" };
    Some((old.span.clone(), format!("{gap}{written}")))
}

/// Puts an entry before the closing brace.
pub(super) fn add(page: &Page<'_>, map: &Node, key: &str, value: &Value) -> Splice {
    let last = map.entries().last();
    let shape = shape(page, map, last.map(|(key, _)| key.span.start));
    let written = shape.entry(key, value);
    let end = last.map(|(key, value)| end(key, value));
    insert(page, map, end, &shape, &written)
}

/// Puts an item before the closing bracket.
pub(super) fn push(page: &Page<'_>, list: &Node, item: &Value) -> Splice {
    let last = list.items().last();
    let shape = shape(page, list, last.map(|item| item.span.start));
    let written = shape.value(item, None);
    insert(page, list, last.map(|item| item.span.end), &shape, &written)
}

fn insert(
    page: &Page<'_>,
    node: &Node,
    last_end: Option<usize>,
    shape: &Flow,
    written: &str,
) -> Splice {
    let text = page.text;
    let closing = node.span.end - 1;
    let Some(end) = last_end else {
        let from = node.span.start + 1;
        let is_blank = text[from..closing].trim().is_empty();
        return (
            if is_blank { from..closing } else { from..from },
            written.to_owned(),
        );
    };
    let comma = page.mark(',', end, closing);
    let behind = comma.map_or(end, |comma| comma + 1);
    let Some((line, _)) = &shape.lines else {
        return match comma {
            None => (end..end, format!(", {written}")),
            Some(_) => (behind..behind, format!(" {written},")),
        };
    };
    let line_end = page.content_end(behind);
    let (before, trailing) = match comma {
        None => (",", ""),
        Some(_) => ("", ","),
    };
    if closing < line_end {
        return match comma {
            None => (end..end, format!(",{line}{written}")),
            Some(_) => (behind..behind, format!("{line}{written},")),
        };
    }
    let kept = &text[end..line_end];
    (
        end..line_end,
        format!("{before}{kept}{line}{written}{trailing}"),
    )
}

/// Takes an entry out.
pub(super) fn remove(page: &Page<'_>, map: &Node, index: usize) -> Option<Splice> {
    let text = page.text;
    let entries: Vec<(&Node, &Node)> = map.entries().collect();
    let (key, value) = *entries.get(index)?;
    let closing = map.span.end - 1;
    let (start, stop) = (key.span.start, end(key, value));
    let comma = page.mark(',', stop, closing);
    let behind = comma.map_or(stop, |comma| comma + 1);
    let line_end = page.content_end(behind);
    // Whether nothing but a comment is behind the entry on its line.
    let rest = text[behind..line_end].trim_start();
    let has_own_lines = page.margin(start).is_some() && (rest.is_empty() || rest.starts_with('#'));
    if entries.len() == 1 {
        let inside = map.span.start + 1..closing;
        let is_bare = page.comments(&inside).next().is_none();
        return Some((if is_bare { inside } else { start..behind }, String::new()));
    }
    if index + 1 < entries.len() {
        let next = entries[index + 1].0.span.start;
        if has_own_lines && next > line_end {
            let line = page.line_start(start);
            return Some((
                line..crate::yaml::lines::end_of(text, behind),
                String::new(),
            ));
        }
        let blanks = text[behind..].len() - text[behind..].trim_start_matches([' ', '\t']).len();
        return Some((start..behind + blanks, String::new()));
    }
    // The last one: the comma before it goes too, unless one is behind it.
    let (before_key, before_value) = entries[index - 1];
    let from = end(before_key, before_value);
    let own = page.mark(',', from, start)?;
    let until = if has_own_lines {
        // With the line break before it.
        text[..page.line_start(start)]
            .trim_end_matches('\n')
            .trim_end_matches('\r')
            .len()
    } else if page.comments(&(from..start)).next().is_some() {
        start
    } else {
        text[..start].trim_end().len()
    };
    let until = until.max(own + 1);
    let kept_comma = if comma.is_some() { "," } else { "" };
    let kept = format!("{}{kept_comma}{}", &text[from..own], &text[own + 1..until]);
    let to = if has_own_lines { line_end } else { behind };
    Some((from..to, kept))
}
