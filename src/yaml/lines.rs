//! Whole lines of a block mapping's entries, for edits that add, replace or take away an entry.
//!
//! Owns ranges of bytes alone. Whoever edits by them parses the result again and checks that it says what it should.

use std::ops::Range;

use super::Node;

/// The lines of an entry, from its key's line to the line that its value ends on. Comments above it are not among them.
pub fn of_entry(text: &str, key: &Node, value: &Node) -> Range<usize> {
    let end = key.span.end.max(value.span.end);
    start_of(text, key.span.start)..end_of(text, end)
}

/// Where the line of an offset begins.
pub fn start_of(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Where the next line begins after an offset, or the end of the text.
pub fn end_of(text: &str, offset: usize) -> usize {
    text[offset..]
        .find('\n')
        .map_or(text.len(), |newline| offset + newline + 1)
}

/// The text with a newline at its end, unless it is empty.
pub fn with_newline(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') {
        text.to_owned()
    } else {
        format!("{text}\n")
    }
}

/// Applies edits that don't overlap. An insertion at the end of a line without newline gets one.
pub fn apply(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut edited = String::with_capacity(text.len());
    let mut from = 0;
    for (range, new) in edits {
        edited.push_str(&text[from..range.start]);
        if range.is_empty() && !new.is_empty() && !edited.is_empty() && !edited.ends_with('\n') {
            edited.push('\n');
        }
        edited.push_str(&new);
        from = range.end;
    }
    edited.push_str(&text[from..]);
    edited
}
