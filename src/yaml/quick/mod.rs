//! The YAML that most manifests are written in, read line by line.
//!
//! Owns a part of YAML that has one meaning only: block mappings and sequences,
//! scalars and flow collections of one line, literal blocks and comments. For a
//! text with anything else there is no answer, and the parser of all of YAML is
//! asked. The answer is the same as that one's, errors aside: `soup` holds the two
//! against each other. It never recurses deeper than [`DEPTH`].

mod leaf;

use std::ops::Range;

use super::node::{Comment, Document, Kind, Node, Scalar, Style};
use super::position::Position;
use super::scalar::is_unprintable;

/// Deeper texts are left to the parser.
const DEPTH: usize = 48;

/// Keys must be shorter than 1024 characters (YAML 1.2, 7.4.2); a line this short has none that is longer.
const LINE: usize = 1000;

/// What begins something else than a plain scalar (YAML 1.2, 5.3).
const INDICATORS: &[u8] = b"-?:,[]{}#&*!|>'\"%@`";

/// Reads a text; nothing where it isn't of this part of YAML.
pub(super) fn read(text: &str) -> Option<Vec<Document>> {
    if !is_plain(text) {
        return None;
    }
    let mut quick = Quick {
        text,
        bytes: text.as_bytes(),
        at: 0,
        line: 1,
        line_start: 0,
        depth: 0,
        comments: Vec::new(),
        entries: Vec::new(),
        items: Vec::new(),
    };
    quick.documents()
}

/// Whether every character is of those that have no meaning of their own, or one that is known here.
fn is_plain(text: &str) -> bool {
    let is_known = |byte: u8| byte == b'\n' || (0x20..0x7f).contains(&byte);
    text.bytes().all(is_known)
        || text.chars().all(|char| {
            char == '\n' || !is_unprintable(char) && !matches!(char, '\t' | '\u{a0}' | '\u{feff}')
        })
}

struct Quick<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// The next byte. Between nodes it is the first one of a line that has something, of a marker, or the end.
    at: usize,
    line: usize,
    line_start: usize,
    depth: usize,
    comments: Vec<Comment>,
    /// The entries and items of the collections that are open: each takes its own at its end, so that none grows by copies.
    entries: Vec<(Node, Node)>,
    items: Vec<Node>,
}

impl Quick<'_> {
    fn documents(&mut self) -> Option<Vec<Document>> {
        let mut documents: Vec<Document> = Vec::new();
        self.skip()?;
        while self.at < self.bytes.len() {
            let explicit = self.is_marker();
            if !explicit && !documents.is_empty() {
                return None;
            }
            let (start, position) = (self.at, self.position(self.at));
            if explicit {
                self.at += 3;
                if self.end_of_line()? {
                    self.skip()?;
                } else {
                    return None;
                }
            }
            let root = match self.is_content() {
                true => Some(self.collection()?),
                false => None,
            };
            // An empty document is its marker alone.
            let end = if root.is_some() { self.at } else { start + 3 };
            documents.push(Document {
                index: documents.len(),
                root,
                span: start..end,
                position,
                explicit,
                comments: std::mem::take(&mut self.comments),
            });
        }
        if let Some(last) = documents.last_mut() {
            last.comments.append(&mut self.comments);
        }
        Some(documents)
    }

    /// Skips the rest of a line that may only have a comment. Returns whether there is nothing else.
    fn end_of_line(&mut self) -> Option<bool> {
        let start = self.at;
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
        match self.peek() {
            None | Some(b'\n') => Some(true),
            Some(b'#') if self.at > start || self.at == self.line_start => {
                self.comment();
                Some(true)
            }
            Some(b'#') => None,
            Some(_) => Some(false),
        }
    }

    fn comment(&mut self) {
        let start = self.at;
        let end = self.line_end();
        self.comments.push(Comment {
            span: start..end,
            position: self.position(start),
            text: self.text[start + 1..end].to_owned(),
        });
        self.at = end;
    }

    /// From the end of a line to the next one that has something, or to the end.
    fn skip(&mut self) -> Option<()> {
        loop {
            if !self.end_of_line()? {
                break;
            }
            if self.at == self.bytes.len() {
                return Some(());
            }
            self.at += 1;
            self.line += 1;
            self.line_start = self.at;
        }
        let is_outside = self.at == self.line_start
            && (self.bytes[self.at] == b'%' || self.bytes[self.at..].starts_with(b"..."));
        (!is_outside && self.line_end() - self.line_start <= LINE).then_some(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn line_end(&self) -> usize {
        memchr::memchr(b'\n', &self.bytes[self.at..]).map_or(self.bytes.len(), |end| self.at + end)
    }

    fn is_marker(&self) -> bool {
        self.at == self.line_start && self.bytes[self.at..].starts_with(b"---")
    }

    fn is_content(&self) -> bool {
        self.at < self.bytes.len() && !self.is_marker()
    }

    /// The column of the next node, from 0, where one stands there.
    fn column(&self) -> Option<usize> {
        self.is_content().then(|| self.at - self.line_start)
    }

    fn is_dash(&self) -> bool {
        self.peek() == Some(b'-')
            && matches!(self.bytes.get(self.at + 1), None | Some(b' ' | b'\n'))
    }

    fn position(&self, at: usize) -> Position {
        let before = &self.text[self.line_start..at];
        let column = if before.is_ascii() {
            before.len()
        } else {
            before.chars().count()
        };
        Position {
            line: self.line,
            column: column + 1,
        }
    }

    fn node(&self, span: Range<usize>, kind: Kind, flow: bool) -> Node {
        Node {
            position: self.position(span.start),
            span,
            tag: None,
            anchor: None,
            flow,
            kind,
        }
    }

    fn scalar(&self, span: Range<usize>, value: &str, style: Style) -> Node {
        let scalar = Scalar {
            value: value.to_owned(),
            style,
            has_no_place: false,
        };
        self.node(span, Kind::Scalar(scalar), false)
    }

    /// A block mapping or a block sequence that begins here.
    fn collection(&mut self) -> Option<Node> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let node = if self.is_dash() {
            self.sequence()
        } else {
            self.mapping()
        };
        self.depth -= 1;
        node
    }

    fn sequence(&mut self) -> Option<Node> {
        let column = self.column()?;
        let mut node = self.node(self.at..self.at, Kind::Sequence(Vec::new()), false);
        let own = self.items.len();
        while self.column() == Some(column) && self.is_dash() {
            self.at += 1;
            let absent = self.scalar(self.at..self.at, "", Style::Plain);
            let item = if self.end_of_line()? {
                self.skip()?;
                match self.column() {
                    Some(inner) if inner > column => self.collection()?,
                    _ => absent,
                }
            } else if self.is_dash() || self.is_key() {
                self.collection()?
            } else {
                self.value(column)?
            };
            self.items.push(item);
        }
        let last = self.items.last();
        node.span = self.close(node.span.start, column, last)?;
        node.kind = Kind::Sequence(self.items.drain(own..).collect());
        Some(node)
    }

    fn mapping(&mut self) -> Option<Node> {
        let column = self.column()?;
        let mut node = self.node(self.at..self.at, Kind::Mapping(Vec::new()), false);
        let own = self.entries.len();
        while self.column() == Some(column) && !self.is_dash() {
            let key = self.key()?;
            let absent = self.scalar(self.at..self.at, "", Style::Plain);
            let value = if self.end_of_line()? {
                self.skip()?;
                match self.column() {
                    Some(inner) if inner > column => self.collection()?,
                    // A list may stand as deep as its key.
                    Some(inner) if inner == column && self.is_dash() => self.collection()?,
                    _ => absent,
                }
            } else {
                self.value(column)?
            };
            self.entries.push((key, value));
        }
        let last = self.entries.last().map(|(_, value)| value);
        node.span = self.close(node.span.start, column, last)?;
        node.kind = Kind::Mapping(self.entries.drain(own..).collect());
        Some(node)
    }

    /// The span of a block collection, which what follows has to be outside of.
    fn close(&self, start: usize, column: usize, last: Option<&Node>) -> Option<Range<usize>> {
        let is_outside = self.column().is_none_or(|next| next <= column);
        let end = last?.span.end;
        is_outside.then_some(start..end)
    }

    /// Whether a key begins here: only asked behind a dash, where a scalar may stand as well.
    fn is_key(&self) -> bool {
        let line = &self.bytes[self.at..self.line_end()];
        match line.first() {
            Some(b'"' | b'\'') => false,
            Some(b'{' | b'[') => false,
            _ => key_end(line).is_some(),
        }
    }

    /// A key with its colon.
    fn key(&mut self) -> Option<Node> {
        let start = self.at;
        let key = match self.peek()? {
            b'"' | b'\'' => self.quoted()?,
            _ => {
                let line = &self.text[start..self.line_end()];
                let text = &line[..key_end(line.as_bytes())?];
                self.at = start + text.len();
                is_plain_scalar(text).then(|| self.scalar(start..self.at, text, Style::Plain))?
            }
        };
        let is_key = self.peek() == Some(b':')
            && matches!(self.bytes.get(self.at + 1), None | Some(b' ' | b'\n'));
        self.at += 1;
        is_key.then_some(key)
    }

    /// A value of this line, in a collection of this column. What follows must be outside of it.
    fn value(&mut self, column: usize) -> Option<Node> {
        let start = self.at;
        let node = match self.peek()? {
            b'|' => return self.literal(column),
            b'"' | b'\'' => self.quoted()?,
            b'{' | b'[' => self.flow()?,
            _ => {
                let line = &self.text[start..self.line_end()];
                let end = memchr::memmem::find(line.as_bytes(), b" #").unwrap_or(line.len());
                let text = line[..end].trim_end_matches(' ');
                if key_end(text.as_bytes()).is_some() || !is_plain_scalar(text) {
                    return None;
                }
                self.at = start + text.len();
                self.scalar(start..self.at, text, Style::Plain)
            }
        };
        if !self.end_of_line()? {
            return None;
        }
        self.skip()?;
        self.column()
            .is_none_or(|next| next <= column)
            .then_some(node)
    }
}

/// Where the colon of a key stands in a line, if it has one.
fn key_end(line: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b':', line).find(|at| matches!(line.get(at + 1), None | Some(b' ')))
}

/// Whether a text of one line, without a colon of a key in it, is a plain scalar.
fn is_plain_scalar(text: &str) -> bool {
    let begins_well = match text.as_bytes() {
        [] => false,
        [b'-', next, ..] => next.is_ascii_alphanumeric(),
        [first, ..] => !INDICATORS.contains(first),
    };
    begins_well && !text.ends_with(' ') && !text.contains(" #")
}
