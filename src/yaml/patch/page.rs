//! One document of a text while it is changed, and the small questions about its bytes.

use std::ops::Range;

use super::write::Manner;
use crate::yaml::node::{Comment, Document, Node};
use crate::yaml::{Route, lines};

/// Bytes to replace, and what comes in their place.
pub(super) type Splice = (Range<usize>, String);

/// A document, its text and how it is written.
#[derive(Clone, Copy)]
pub(super) struct Page<'a> {
    pub(super) text: &'a str,
    pub(super) document: &'a Document,
    pub(super) manner: Manner,
}

/// What holds a node.
#[derive(Clone, Copy)]
pub(super) enum Holder<'a> {
    /// Nothing: it is the top node.
    Root,
    /// A map, under this key.
    Key(&'a Node),
    /// A sequence.
    Sequence,
}

/// A collection to change and where it is.
#[derive(Clone, Copy)]
pub(super) struct Held<'a> {
    pub(super) node: &'a Node,
    pub(super) holder: Holder<'a>,
    /// Whether a collection around it has brackets.
    pub(super) in_flow: bool,
}

impl<'a> Page<'a> {
    /// The node at a route that is there.
    pub(super) fn held(&self, route: &Route) -> Option<Held<'a>> {
        let root = self.document.root.as_ref()?;
        let mut held = Held {
            node: root,
            holder: Holder::Root,
            in_flow: false,
        };
        for step in route.steps() {
            let parent = held.node;
            let node = parent.find(&Route::root().step(step.clone())).ok()?;
            let key = parent
                .entries()
                .find(|(_, value)| std::ptr::eq(*value, node))
                .map(|(key, _)| key);
            held = Held {
                node,
                holder: key.map_or(Holder::Sequence, Holder::Key),
                in_flow: held.in_flow || parent.flow,
            };
        }
        Some(held)
    }

    /// Where the line of an offset ends, its line break not included.
    pub(super) fn content_end(&self, offset: usize) -> usize {
        let end = lines::end_of(self.text, offset);
        let line = &self.text[offset..end];
        offset + line.trim_end_matches(['\n', '\r']).len()
    }

    /// Where the line of an offset begins, behind a byte order mark.
    pub(super) fn line_start(&self, offset: usize) -> usize {
        let start = lines::start_of(self.text, offset);
        if self.text[start..offset].starts_with('\u{feff}') {
            start + '\u{feff}'.len_utf8()
        } else {
            start
        }
    }

    /// The blanks before an offset, where nothing else is before it on its line.
    pub(super) fn margin(&self, offset: usize) -> Option<&'a str> {
        let margin = &self.text[self.line_start(offset)..offset];
        margin
            .trim_matches([' ', '\t'])
            .is_empty()
            .then_some(margin)
    }

    /// The `:` behind a key, blanks, line breaks and comments between them left out.
    pub(super) fn colon(&self, key: &Node) -> Option<usize> {
        self.mark(':', key.span.end, self.text.len())
    }

    /// A mark that is the next thing after an offset.
    pub(super) fn mark(&self, mark: char, from: usize, to: usize) -> Option<usize> {
        let mut at = from;
        while at < to {
            let rest = &self.text[at..to];
            let char = rest.chars().next()?;
            at += match char {
                ' ' | '\t' | '\n' | '\r' => 1,
                '#' => rest.find('\n').unwrap_or(rest.len()),
                _ => return (char == mark).then_some(at),
            };
        }
        None
    }

    /// The comments that lie in a range.
    pub(super) fn comments(&self, range: &Range<usize>) -> impl Iterator<Item = &'a Comment> {
        let range = range.clone();
        let comments = self.document.comments.iter();
        comments.filter(move |comment| range.contains(&comment.span.start))
    }

    /// The first comment in a range, with the blanks before it.
    pub(super) fn comment(&self, range: Range<usize>) -> Option<&'a str> {
        let comment = self.comments(&range).next()?;
        let before = self.text[range.start..comment.span.start].trim_end_matches([' ', '\t']);
        let end = comment.span.end;
        Some(self.text[range.start + before.len()..end].trim_end())
    }

    /// A new line behind the line of an offset. The last line of a text without line break at its end stays without one.
    pub(super) fn new_line(&self, offset: usize, line: impl Fn(Manner) -> String) -> Splice {
        let end = lines::end_of(self.text, offset);
        let newline = self.manner.newline;
        let written = if self.text[..end].ends_with('\n') {
            format!("{}{newline}", line(self.manner))
        } else {
            format!("{newline}{}", line(self.at_end()))
        };
        (end..end, written)
    }

    /// The manner at the very end of a text, where a block would lose its last line break.
    pub(super) fn at_end(&self) -> Manner {
        Manner {
            blocks: false,
            ..self.manner
        }
    }
}

/// Where an entry ends.
pub(super) fn end(key: &Node, value: &Node) -> usize {
    key.span.end.max(value.span.end)
}
