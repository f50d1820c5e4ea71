//! From parser events to a tree of nodes.
//!
//! Owns all knowledge of the parser's spans and where they are not what an
//! editor needs: an empty value is moved directly behind its `:` or `-`, a
//! block scalar gets its header and loses the blank lines behind it, a block
//! collection ends with its last child. No other file touches an event.

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, ScalarStyle, Span, StructureStyle, Tag};

use super::node::{Alias, Kind, Node, Scalar, Style};
use super::parse::MAX_DEPTH;
use super::position::Position;

/// A collection whose end has not come yet.
struct Frame {
    node: Node,
    children: Vec<Node>,
}

impl Frame {
    fn is_mapping(&self) -> bool {
        self.node.is_mapping()
    }

    fn expects_value(&self) -> bool {
        self.is_mapping() && self.children.len() % 2 == 1
    }

    fn close(self, closing: Range<usize>) -> Node {
        let Self { mut node, children } = self;
        let last = children
            .last()
            .map_or(node.span.end, |child| child.span.end);
        // Only brackets are written; a block, or `a: b` in `[a: b]`, just stops.
        node.span.end = if closing.is_empty() {
            last
        } else {
            closing.end
        };
        match &mut node.kind {
            Kind::Sequence(items) => *items = children,
            Kind::Mapping(entries) => {
                let mut children = children.into_iter();
                while let (Some(key), Some(value)) = (children.next(), children.next()) {
                    entries.push((key, value));
                }
            }
            Kind::Scalar(_) | Kind::Alias(_) => unreachable!("a frame holds a collection"),
        }
        node
    }
}

/// Builds the tree of one document.
pub(super) struct Builder<'a> {
    text: &'a str,
    /// Where the content of the document may begin.
    start: usize,
    frames: Vec<Frame>,
    root: Option<Node>,
    anchors: HashMap<usize, (String, Position)>,
    last_is_open: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(text: &'a str, start: usize) -> Self {
        Self {
            text,
            start,
            frames: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            last_is_open: false,
        }
    }

    /// Takes one event that belongs to the content of the document. Fails if
    /// the nesting is too deep.
    pub(super) fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), String> {
        match event {
            Event::Scalar(value, style, anchor, tag) => {
                let node = self.scalar(&value, style, anchor != 0, tag.as_deref(), span);
                self.add(node);
            }
            Event::Alias(id) => {
                let node = self.alias(id, span);
                self.add(node);
            }
            Event::Anchor(id, name) => self.name_anchor(id, &name, span),
            Event::MappingStart(style, _, tag) => {
                self.open(Kind::Mapping(Vec::new()), style, tag.as_deref(), span)?;
            }
            Event::SequenceStart(style, _, tag) => {
                self.open(Kind::Sequence(Vec::new()), style, tag.as_deref(), span)?;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                if let Some(frame) = self.frames.pop() {
                    let node = frame.close(range(span));
                    self.add(node);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the document. An empty one has no root.
    pub(super) fn finish(self) -> Option<Node> {
        self.root
            .filter(|root| !(root.span.is_empty() && root.is_null() && root.anchor.is_none()))
    }

    fn add(&mut self, node: Node) {
        self.last_is_open = false;
        match self.frames.last_mut() {
            Some(frame) => frame.children.push(node),
            None => self.root = Some(node),
        }
    }

    fn open(
        &mut self,
        kind: Kind,
        style: StructureStyle,
        tag: Option<&Tag>,
        span: &Span,
    ) -> Result<(), String> {
        if self.frames.len() >= MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        let flow = style == StructureStyle::Flow;
        let mut node = self.node(kind, tag, span);
        node.flow = flow;
        let under_mapping = self.frames.last().is_some_and(Frame::is_mapping);
        if !flow && node.is_sequence() && under_mapping {
            // A sequence at its key's own column begins, for the parser, behind the dash.
            let dash = content_start(self.text, self.previous_end(), &[':', '?']);
            if self.text[dash..].starts_with('-') {
                self.place(&mut node, dash..dash);
            }
        }
        let children = Vec::new();
        self.frames.push(Frame { node, children });
        self.last_is_open = true;
        Ok(())
    }

    fn alias(&self, id: usize, span: &Span) -> Node {
        let name = self.text[range(span)].trim_start_matches('*').to_owned();
        let target = self.anchors.get(&id).map(|(_, position)| *position);
        self.node(Kind::Alias(Box::new(Alias { name, target })), None, span)
    }

    /// The anchor's event follows its node, or the start of its collection.
    fn name_anchor(&mut self, id: usize, name: &str, span: &Span) {
        self.anchors.insert(id, (name.to_owned(), position(span)));
        let node = match self.frames.last_mut() {
            Some(frame) if self.last_is_open => Some(&mut frame.node),
            Some(frame) => frame.children.last_mut(),
            None => self.root.as_mut(),
        };
        if let Some(node) = node {
            node.anchor = Some(name.into());
        }
    }

    fn scalar(
        &self,
        value: &str,
        style: ScalarStyle,
        anchored: bool,
        tag: Option<&Tag>,
        span: &Span,
    ) -> Node {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::SingleQuoted,
            ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
            ScalarStyle::Literal => Style::Literal,
            ScalarStyle::Folded => Style::Folded,
        };
        let absent = style == Style::Plain && range(span).is_empty();
        // The parser's stand-in for an absent value is `~`.
        let value = if absent { "" } else { value }.to_owned();
        let place = if absent && !anchored && tag.is_none() {
            self.absent_place()
        } else {
            // Behind an anchor or a tag the parser's place is right.
            Some(range(span).start)
        };
        let scalar = Scalar {
            value,
            style,
            has_no_place: place.is_none(),
        };
        let mut node = self.node(Kind::Scalar(scalar), tag, span);
        if style.is_block() {
            let span = self.block_span(&node.span);
            self.place(&mut node, span);
        } else if absent {
            let is_value = self.frames.last().is_some_and(Frame::expects_value);
            let at = match place {
                Some(at) => at,
                None if is_value => self.previous_end(),
                None => node.span.start,
            };
            self.place(&mut node, at..at);
        }
        node
    }

    /// Returns the place directly behind the `:` or `-` of a value that is not
    /// written; `None` if there is neither.
    fn absent_place(&self) -> Option<usize> {
        let frame = self.frames.last()?;
        let indicator = match frame.expects_value() {
            true => ':',
            false if frame.node.flow || frame.is_mapping() => return None,
            false => '-',
        };
        let end = self.previous_end();
        let at = content_start(self.text, end, &[]);
        // On a later line, the `:` of an explicit key stands in the column of
        // its mapping; in another one it belongs to an outer mapping.
        let line = self.text[end..at].rfind(['\n', '\r']);
        let is_own = frame.node.flow
            || indicator == '-'
            || line.is_none_or(|line| at - (end + line) == frame.node.position.column);
        (is_own && self.text[at..].starts_with(indicator)).then_some(at + 1)
    }

    /// Returns the span of a block scalar: from its header to the end of its
    /// last line. Blank lines behind it belong to it only if the header keeps
    /// them (`+`); the last line break never does.
    fn block_span(&self, body: &Range<usize>) -> Range<usize> {
        // The dots are those of a `...` before the document.
        let skip = [':', '?', '-', '.'];
        let start = content_start(self.text, self.previous_end(), &skip);
        if start >= body.end || !self.text[start..].starts_with(['|', '>']) {
            return body.clone();
        }
        let keep = self.text[start + 1..]
            .chars()
            .take(2)
            .any(|char| char == '+');
        let mut end = body.end;
        while let Some(at) = self.text[start..end].rfind(['\n', '\r']) {
            let at = start + at;
            if !self.text[at..end].trim().is_empty() {
                break;
            }
            let ended_line = at + 1 == end;
            end = if self.text[start..=at].ends_with("\r\n") {
                at - 1
            } else {
                at
            };
            if keep && ended_line {
                break;
            }
        }
        start..end
    }

    /// Returns the end of whatever stands before the node to come.
    fn previous_end(&self) -> usize {
        match self.frames.last() {
            None => self.start,
            Some(Frame { node, children }) => match children.last() {
                Some(child) => child.span.end,
                None => node.span.end,
            },
        }
    }

    fn node(&self, kind: Kind, tag: Option<&Tag>, span: &Span) -> Node {
        let tag = tag.map(|tag| {
            let raw = span.tag_span().and_then(|span| span.slice(self.text));
            raw.map_or_else(|| tag.original().into(), Box::from)
        });
        Node {
            span: range(span),
            position: position(span),
            tag,
            anchor: None,
            flow: false,
            kind,
        }
    }

    fn place(&self, node: &mut Node, span: Range<usize>) {
        node.position = node.position.moved(self.text, node.span.start, span.start);
        node.span = span;
    }
}

/// The bytes of a parser span.
pub(super) fn range(span: &Span) -> Range<usize> {
    let range = span.byte_range();
    range.expect("the parser counts bytes when it reads a string")
}

/// The position of a parser span, whose columns are from 0.
pub(super) fn position(span: &Span) -> Position {
    Position {
        line: span.start.line(),
        column: span.start.col() + 1,
    }
}

/// Skips blanks, line breaks and comments, and, if `skip` is not empty, also
/// these indicators, anchors and tags. Returns where the next thing begins.
fn content_start(text: &str, from: usize, skip: &[char]) -> usize {
    let mut at = from;
    loop {
        let rest = &text[at..];
        let Some(char) = rest.chars().next() else {
            return at;
        };
        let break_at = |end: &[char]| rest.find(end).unwrap_or(rest.len());
        at += match char {
            ' ' | '\t' | '\n' | '\r' | '\u{feff}' => char.len_utf8(),
            '#' => break_at(&['\n', '\r']),
            '&' | '!' if !skip.is_empty() => break_at(&[' ', '\t', '\n', '\r']),
            char if skip.contains(&char) => char.len_utf8(),
            _ => return at,
        };
    }
}
