//! Lines and columns.
//!
//! Owns [`Position`] and the arithmetic to move one along the text. Positions
//! come from the parser's own running count; moving one costs only the bytes
//! passed over, so a whole stream stays linear.

use std::fmt;

/// A place in a text: line and column, both from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line number, from 1. `\n`, `\r\n` and a lone `\r` end a line.
    pub line: usize,
    /// Column in characters, from 1. A byte order mark has no width.
    pub column: usize,
}

impl Position {
    /// The first character of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// Returns the position of byte `to`, given that `self` is the one of byte `from`.
    pub(super) fn moved(self, text: &str, from: usize, to: usize) -> Self {
        if to >= from {
            return self.forward(&text[from..to]);
        }
        let passed = &text[to..from];
        let breaks = line_breaks(passed);
        let column = if breaks == 0 {
            self.column - width(passed)
        } else {
            let start = text[..to].rfind(['\n', '\r']).map_or(0, |at| at + 1);
            width(&text[start..to]) + 1
        };
        Self {
            line: self.line - breaks,
            column,
        }
    }

    fn forward(self, passed: &str) -> Self {
        match passed.rfind(['\n', '\r']) {
            None => Self {
                line: self.line,
                column: self.column + width(passed),
            },
            Some(last) => Self {
                line: self.line + line_breaks(passed),
                column: width(&passed[last + 1..]) + 1,
            },
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Counts characters. A byte order mark is none: what lies between nodes holds
/// it only at the head of a document.
fn width(text: &str) -> usize {
    text.chars().filter(|&char| char != '\u{feff}').count()
}

/// Counts line breaks, `\r\n` as one.
fn line_breaks(text: &str) -> usize {
    let bytes = text.as_bytes();
    bytes
        .iter()
        .enumerate()
        .filter(|&(at, &byte)| {
            byte == b'\n' || (byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::Position;

    #[test]
    fn a_position_moves_both_ways_over_every_kind_of_break() {
        let text = "aé\r\nbü\rc\nd";
        let (mut at, mut position) = (0, Position::START);
        let mut all = vec![(0, position)];
        for (offset, char) in text.char_indices() {
            // The middle of `\r\n` is no place a node can stand at.
            let next = offset + char.len_utf8();
            if char == '\r' && text[next..].starts_with('\n') {
                continue;
            }
            position = position.moved(text, at, next);
            at = next;
            all.push((at, position));
        }
        assert_eq!(position, Position { line: 4, column: 2 });
        for &(from, start) in &all {
            for &(to, end) in &all {
                assert_eq!(start.moved(text, from, to), end, "{from} to {to}");
            }
        }
    }
}
