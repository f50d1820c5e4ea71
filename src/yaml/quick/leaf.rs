//! Nodes that are no block collections: quoted scalars, flow collections of one line, and literal blocks.

use super::{DEPTH, Quick, is_plain_scalar, key_end};
use crate::yaml::node::{Kind, Node, Style};

impl Quick<'_> {
    /// A quoted scalar without escapes, on one line.
    pub(super) fn quoted(&mut self) -> Option<Node> {
        let (start, quote) = (self.at, self.peek()?);
        let line = &self.bytes[start + 1..self.line_end()];
        let length = memchr::memchr(quote, line)?;
        let style = if quote == b'"' {
            Style::DoubleQuoted
        } else {
            Style::SingleQuoted
        };
        if line.get(length + 1) == Some(&quote)
            || memchr::memchr(b'\\', &line[..length]).is_some() && quote == b'"'
        {
            return None;
        }
        self.at = start + length + 2;
        Some(self.scalar(start..self.at, &self.text[start + 1..self.at - 1], style))
    }

    /// A flow collection on one line.
    pub(super) fn flow(&mut self) -> Option<Node> {
        self.depth += 1;
        let start = self.at;
        let is_mapping = self.peek()? == b'{';
        let closing = if is_mapping { b'}' } else { b']' };
        let (own_entries, own_items) = (self.entries.len(), self.items.len());
        self.at += 1;
        self.blanks();
        while self.peek()? != closing {
            let first = self.flow_node(is_mapping)?;
            if is_mapping {
                if self.peek()? != b':' || self.bytes.get(self.at + 1) != Some(&b' ') {
                    return None;
                }
                self.at += 1;
                self.blanks();
                let value = self.flow_node(false)?;
                self.entries.push((first, value));
            } else {
                self.items.push(first);
            }
            self.blanks();
            match self.peek()? {
                b',' => {
                    self.at += 1;
                    self.blanks();
                    if self.peek()? == closing {
                        return None;
                    }
                }
                byte if byte == closing => {}
                _ => return None,
            }
        }
        self.at += 1;
        self.depth -= 1;
        let kind = if is_mapping {
            Kind::Mapping(self.entries.drain(own_entries..).collect())
        } else {
            Kind::Sequence(self.items.drain(own_items..).collect())
        };
        Some(self.node(start..self.at, kind, true))
    }

    fn flow_node(&mut self, is_key: bool) -> Option<Node> {
        match self.peek()? {
            b'{' | b'[' if !is_key && self.depth < DEPTH => self.flow(),
            b'"' | b'\'' => self.quoted(),
            _ => {
                let line = &self.text[self.at..self.line_end()];
                let end = line.find([',', '[', ']', '{', '}', '#', '"', '\''])?;
                let end = key_end(&line.as_bytes()[..end]).unwrap_or(end);
                let text = line[..end].trim_end_matches(' ');
                if !is_plain_scalar(text) || (is_key && text.len() != end) {
                    return None;
                }
                let start = self.at;
                self.at += text.len();
                Some(self.scalar(start..self.at, text, Style::Plain))
            }
        }
    }

    fn blanks(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// A literal block, its header without indicators but `-`.
    pub(super) fn literal(&mut self, column: usize) -> Option<Node> {
        let mut node = self.scalar(self.at..self.at, "", Style::Literal);
        self.at += 1;
        let strips = self.peek() == Some(b'-');
        self.at += usize::from(strips);
        if self.peek()? != b'\n' {
            return None;
        }
        let (mut value, mut breaks, mut indent) = (String::new(), 0, None);
        while self.at + 1 < self.bytes.len() {
            let start = self.at + 1;
            // Without a last line break readers differ in what the text ends with.
            let end = start + memchr::memchr(b'\n', &self.bytes[start..])?;
            let line = &self.text[start..end];
            let depth = line.bytes().take_while(|byte| *byte == b' ').count();
            if !line.is_empty() {
                // Whether blanks alone belong to the text is a question of its own.
                if depth == line.len() {
                    return None;
                }
                let indent = *indent.get_or_insert(depth);
                if depth <= column {
                    break;
                }
                if depth < indent {
                    return None;
                }
                value.extend(std::iter::repeat_n('\n', breaks));
                value.push_str(&line[indent..]);
                node.span.end = end;
                breaks = 0;
            }
            breaks += 1;
            (self.at, self.line, self.line_start) = (end, self.line + 1, start);
        }
        if value.is_empty() {
            return None;
        }
        if !strips {
            value.push('\n');
        }
        if let Kind::Scalar(scalar) = &mut node.kind {
            scalar.value = value;
        }
        self.skip()?;
        Some(node)
    }
}
