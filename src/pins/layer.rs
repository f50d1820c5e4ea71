//! [`Layer`]: a text of YAML, and where each of its bytes stands in the file: the file itself, or a string in it that is YAML again.

use std::borrow::Cow;
use std::ops::Range;

use super::templates::HOLE;
use crate::yaml::{Kind, Node, Style};

/// A text, and its place in the file.
#[derive(Debug, Clone)]
pub(super) struct Layer<'a> {
    /// The text that is parsed.
    pub(super) text: Cow<'a, str>,
    /// The text before holes were made in it, where some were.
    said: Option<Cow<'a, str>>,
    place: Place,
    /// Where it begins in the file, as far as that is known.
    start: usize,
}

/// Where the bytes of a layer stand in the file.
#[derive(Debug, Clone)]
enum Place {
    /// It is the file.
    Whole,
    /// For each of its lines, where it begins in the layer and in the file.
    Lines(Vec<(usize, usize)>),
    /// The text isn't there as it reads.
    Nowhere,
}

impl<'a> Layer<'a> {
    /// A whole file.
    pub(super) fn file(text: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            said: None,
            place: Place::Whole,
            start: 0,
        }
    }

    /// The same layer with a text that has holes, byte for byte as long.
    pub(super) fn masked(mut self, text: String) -> Self {
        debug_assert_eq!(
            self.text.len(),
            text.len(),
            "a hole is as long as what it is for"
        );
        self.said = Some(std::mem::replace(&mut self.text, Cow::Owned(text)));
        self
    }

    /// What stands at some bytes, holes filled again.
    pub(super) fn said(&self, bytes: Range<usize>) -> &str {
        &self.said.as_ref().unwrap_or(&self.text)[bytes]
    }

    /// Whether it is the file, and not a string in it.
    pub(super) fn is_file(&self) -> bool {
        matches!(self.place, Place::Whole)
    }

    /// The text of a string in this layer that is YAML itself. `file` is the whole file.
    pub(super) fn inner(&self, node: &Node, file: &str) -> Option<Layer<'static>> {
        let Kind::Scalar(scalar) = &node.kind else {
            return None;
        };
        let lines = match scalar.style {
            Style::Literal => self.block_lines(node, &scalar.value, file),
            Style::Folded => None,
            Style::Plain | Style::SingleQuoted | Style::DoubleQuoted => {
                let raw = &self.text[node.span.clone()];
                let quote = usize::from(scalar.style != Style::Plain);
                let is_plain = raw.len() == scalar.value.len() + 2 * quote
                    && raw[quote..raw.len() - quote] == scalar.value;
                is_plain
                    .then(|| self.offset(node.span.start + quote))
                    .flatten()
                    .map(|start| vec![(0, start)])
            }
        };
        Some(Layer {
            text: Cow::Owned(scalar.value.clone()),
            said: None,
            place: lines.map_or(Place::Nowhere, Place::Lines),
            start: self.offset(node.span.start).unwrap_or(self.start),
        })
    }

    /// Lines of a literal block stand in the file as they read, behind their indentation.
    fn block_lines(&self, node: &Node, value: &str, file: &str) -> Option<Vec<(usize, usize)>> {
        let header = self.offset(node.span.start)?;
        let mut at = file[header..].find('\n')? + header + 1;
        let mut lines = Vec::new();
        let mut start = 0;
        for line in value.split_inclusive('\n') {
            let end = file[at..].find('\n').map_or(file.len(), |end| at + end + 1);
            let body = line.trim_end_matches('\n');
            let here = file[at..end].trim_end_matches(['\n', '\r']);
            // Nothing stands on a blank line, so it may be blank by a hole.
            let is_blank = body.trim().is_empty();
            let indent = match here.len().checked_sub(body.len()) {
                Some(indent) => indent,
                None if is_blank => 0,
                None => return None,
            };
            let is_same = here.get(indent..) == Some(body)
                || body.contains(HOLE) && here.get(..indent).is_some_and(|it| it.trim().is_empty());
            if !is_same && !is_blank {
                return None;
            }
            lines.push((start, at + indent));
            start += line.len();
            at = end;
        }
        Some(lines)
    }

    /// Where a byte of the layer stands in the file.
    pub(super) fn offset(&self, byte: usize) -> Option<usize> {
        match &self.place {
            Place::Whole => Some(byte),
            Place::Nowhere => None,
            Place::Lines(lines) => {
                let index = lines
                    .partition_point(|(start, _)| *start <= byte)
                    .checked_sub(1)?;
                let (start, at) = lines[index];
                Some(at + byte - start)
            }
        }
    }

    /// Where the layer begins: the best that can be said of a text that isn't there as it reads.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Where a node stands in the file; only where its text is on one line.
    pub(super) fn span(&self, node: &Node) -> Option<Range<usize>> {
        let text = &self.text[node.span.clone()];
        if node
            .as_scalar()
            .is_some_and(|scalar| scalar.style.is_block())
        {
            // Behind the header, a block of one line reads as that line.
            let (header, body) = text.split_once('\n')?;
            let line = body.trim();
            let before = header.len() + 1 + body.find(line)?;
            let start = self.offset(node.span.start + before)?;
            return (!line.is_empty() && !line.contains('\n')).then(|| start..start + line.len());
        }
        let start = self.offset(node.span.start)?;
        (!text.contains('\n')).then(|| start..start + text.len())
    }
}
