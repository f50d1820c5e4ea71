//! From text to a stream of documents.
//!
//! Owns the loop over the parser's events, the split into documents, and what
//! happens when one is broken: it becomes one error, and reading goes on at
//! the next `---`. It never panics and never recurses with the input.

use std::fmt;
use std::ops::Range;

use granit_parser::{Event, Parser, ScanError, Span, StrInput};

use super::build::{Builder, position, range};
use super::node::{Comment, Document, Node};
use super::position::Position;
use super::quick;
use super::strict::complaints;

/// How deep collections may be nested.
pub const MAX_DEPTH: usize = 128;

/// All documents of a text that could be read, and one error for each that could not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stream {
    /// The readable documents, in order.
    pub documents: Vec<Document>,
    /// One error for each broken document, in order.
    pub errors: Vec<SyntaxError>,
}

impl Stream {
    /// Iterates over the top nodes of the readable documents; empty ones have none.
    pub fn roots(&self) -> impl Iterator<Item = &Node> {
        self.documents
            .iter()
            .filter_map(|document| document.root.as_ref())
    }

    /// Returns the document with this number, unless it is broken or absent.
    pub fn document(&self, index: usize) -> Option<&Document> {
        self.documents
            .iter()
            .find(|document| document.index == index)
    }

    /// Returns the error of the document with this number.
    pub fn error(&self, index: usize) -> Option<&SyntaxError> {
        self.errors.iter().find(|error| error.document == index)
    }

    /// Returns how many documents the text holds, broken ones included.
    pub fn count(&self) -> usize {
        self.documents.len() + self.errors.len()
    }
}

/// Why a document cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where it goes wrong.
    pub position: Position,
    /// What is wrong.
    pub message: String,
    /// The number of the document in the stream, from 0.
    pub document: usize,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        write!(f, "line {line}, column {column}: {}", self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// Reads a text. A broken document is one error; those behind it are still
/// read where a `---` shows that they begin.
pub fn parse(text: &str) -> Stream {
    match quick::read(text) {
        Some(documents) => Stream {
            documents,
            errors: Vec::new(),
        },
        None => parse_fully(text),
    }
}

/// Reads a text by the parser of all of YAML, which says what is right.
pub(super) fn parse_fully(text: &str) -> Stream {
    Reader::new(text).read()
}

/// Reads a text that must be right throughout. The first error wins. Besides
/// broken syntax, everything [`complaints`] finds is an error.
pub fn parse_strict(text: &str) -> Result<Vec<Document>, SyntaxError> {
    let stream = parse(text);
    let broken = stream.errors.into_iter().next();
    let complaint = stream
        .documents
        .iter()
        .find_map(|document| complaints(text, document).into_iter().next());
    match [broken, complaint]
        .into_iter()
        .flatten()
        .min_by_key(|error| error.document)
    {
        Some(error) => Err(error),
        None => Ok(stream.documents),
    }
}

/// The document being read.
struct Open<'a> {
    builder: Builder<'a>,
    start: usize,
    position: Position,
    explicit: bool,
}

struct Reader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    stream: Stream,
    open: Option<Open<'a>>,
    comments: Vec<Comment>,
    /// Where the last document ended; unknown behind a broken one.
    last_end: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        let options = granit_parser::options! {
            emit_anchor_events: true,
            // Long blocks of comments are common in values files.
            max_buffered_comment_events: usize::MAX,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
        };
        Self {
            text,
            parser: Parser::new_from_str_with_options(text, options),
            stream: Stream::default(),
            open: None,
            comments: Vec::new(),
            last_end: Some(0),
        }
    }

    fn read(mut self) -> Stream {
        while let Some(next) = self.parser.next_event() {
            let failure = match next {
                Ok((event, span)) => {
                    let place = (position(&span), range(&span).start);
                    let taken = self.take(event, &span);
                    taken.err().map(|message| (place, message))
                }
                Err(error) => Some(describe(&error)),
            };
            if let Some(((position, at), message)) = failure
                && !self.give_up(position, at, message)
            {
                break;
            }
        }
        if let Some(last) = self.stream.documents.last_mut() {
            last.comments.append(&mut self.comments);
        }
        for document in &mut self.stream.documents {
            // The parser holds some comments back until it knows where they belong.
            document.comments.sort_by_key(|comment| comment.span.start);
        }
        self.stream
    }

    fn take(&mut self, event: Event<'a>, span: &Span) -> Result<(), String> {
        match event {
            Event::DocumentStart(explicit, _) => {
                let Range { start, end } = range(span);
                // Without `---` the span is that of the first thing found,
                // which for a block scalar is its body.
                // Behind a broken document only a `...` can be before it.
                let dots = || self.text[..start].rfind("\n...").map_or(start, |at| at + 4);
                let before = self.last_end.take().unwrap_or_else(dots);
                let content = if explicit { end } else { before };
                self.open = Some(Open {
                    builder: Builder::new(self.text, content),
                    start,
                    position: position(span),
                    explicit,
                });
            }
            Event::DocumentEnd => {
                self.close(range(span).start);
                self.last_end = Some(range(span).end);
            }
            Event::Comment(text, _) => self.comments.push(Comment {
                span: range(span),
                position: position(span),
                text: text.into_owned(),
            }),
            event => {
                if let Some(open) = &mut self.open {
                    open.builder.take(event, span)?;
                }
            }
        }
        Ok(())
    }

    fn close(&mut self, end: usize) {
        let Some(open) = self.open.take() else {
            return;
        };
        let root = open.builder.finish();
        let (mut start, mut position) = (open.start, open.position);
        if let Some(root) = root.as_ref().filter(|root| root.span.start < start) {
            (start, position) = (root.span.start, root.position);
        }
        self.stream.documents.push(Document {
            index: self.stream.count(),
            root,
            span: start..end.max(start),
            position,
            explicit: open.explicit,
            comments: std::mem::take(&mut self.comments),
        });
    }

    /// Records the error of the current document and moves to the next one.
    /// Returns whether there is any.
    fn give_up(&mut self, position: Position, at: usize, message: String) -> bool {
        if self.open.take().is_none() && self.is_remainder(at) {
            self.stream.documents.pop();
        }
        self.comments.clear();
        self.last_end = None;
        let document = self.stream.count();
        self.stream.errors.push(SyntaxError {
            position,
            message,
            document,
        });
        self.parser.proceed_next_document().unwrap_or(false)
    }

    /// Whether the error at this byte is in the last document although the
    /// parser saw its end: it takes `{a: 1}` for a whole document and `}`
    /// behind it for a broken second one.
    fn is_remainder(&self, at: usize) -> bool {
        let Some(last) = self.stream.documents.last() else {
            return false;
        };
        let end = match &last.root {
            Some(root) => root.span.end,
            None => last.span.start + if last.explicit { "---".len() } else { 0 },
        };
        let between = self.text.get(end..at).unwrap_or_default();
        last.index + 1 == self.stream.count()
            && !between
                .split(['\n', '\r'])
                .skip(1)
                .any(|line| line.starts_with("---") || line.starts_with("..."))
    }
}

/// Returns where an error stands, as position and as byte, and its message.
fn describe(error: &ScanError) -> ((Position, usize), String) {
    let marker = error.marker();
    let position = Position {
        line: marker.line(),
        column: marker.col() + 1,
    };
    let at = marker.byte_offset().unwrap_or_default();
    ((position, at), error.info())
}

#[cfg(test)]
mod tests {
    use super::{Position, parse, parse_strict};
    use crate::yaml::Node;
    use proptest::prelude::*;

    fn first(text: &str) -> Node {
        parse_strict(text).unwrap().remove(0).root.unwrap()
    }

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let node = first("\u{feff}ä: 'é'  # c\r\nliste:\r\n- ö: x\r\n");
        let at = |node: &Node| (node.position.line, node.position.column);
        assert_eq!(at(node.get("ä").unwrap()), (1, 4));
        let list = node.get("liste").unwrap();
        assert_eq!(at(list), (3, 1));
        assert_eq!(at(list.at(0).unwrap().get("ö").unwrap()), (3, 6));
    }

    #[test]
    fn spans_cover_what_an_editor_needs() {
        let text = "a: &x !t 'v' # c\nb:   # c\nc:\n- # c\n- |+  # c\n  t\n\n- >-\n  u \n\n# end\nd: {e: [1], f:}\n";
        let node = first(text);
        let slice = |node: &Node| &text[node.span.clone()];
        let a = node.get("a").unwrap();
        assert_eq!(slice(a), "'v'");
        assert_eq!(
            (a.anchor.as_deref(), a.tag.as_deref()),
            (Some("x"), Some("!t"))
        );
        let b = node.get("b").unwrap().span.clone();
        assert!(b.is_empty() && text[..b.end].ends_with("b:"));
        let list = node.get("c").unwrap();
        let empty = list.at(0).unwrap().span.clone();
        assert!(empty.is_empty() && text[..empty.end].ends_with("c:\n-"));
        assert_eq!(slice(list.at(1).unwrap()), "|+  # c\n  t\n");
        assert_eq!(slice(list.at(2).unwrap()), ">-\n  u ");
        assert!(slice(list).starts_with("- # c") && slice(list).ends_with("  u "));
        assert_eq!(
            list.at(2).unwrap().position,
            Position { line: 8, column: 3 }
        );
        assert_eq!(slice(node.get("d").unwrap()), "{e: [1], f:}");
        assert_eq!(slice(node.get("d").unwrap().get("e").unwrap()), "[1]");
    }

    #[test]
    fn aliases_know_their_anchor() {
        let node = first("a: &x {k: v}\nb: *x\n");
        let crate::yaml::Kind::Alias(alias) = &node.get("b").unwrap().kind else {
            panic!("not an alias");
        };
        assert_eq!(alias.name, "x");
        assert_eq!(alias.target, Some(Position { line: 1, column: 4 }));
    }

    #[test]
    fn a_broken_document_is_one_error_and_the_rest_is_read() {
        let stream = parse("a: 1\n---\nb: [1\n---\nc: 3\n---\nd: \"x\n---\n---\ne: 1\n");
        let indices: Vec<usize> = stream.documents.iter().map(|d| d.index).collect();
        assert_eq!(indices, [0, 2, 4, 5]);
        let errors: Vec<(usize, usize)> = stream
            .errors
            .iter()
            .map(|error| (error.document, error.position.line))
            .collect();
        assert_eq!(errors, [(1, 3), (3, 7)]);
        assert_eq!(stream.count(), 6);
        assert!(stream.document(4).unwrap().root.is_none());
        assert!(stream.document(1).is_none() && stream.error(1).is_some());
        assert_eq!(parse_strict("a: [\n").unwrap_err().position.line, 1);
    }

    #[test]
    fn a_remainder_behind_a_whole_node_breaks_its_document() {
        for text in [
            "{a: 1}\n}",
            "{{ if x }}\na: 1\n{{ end }}\n",
            "'a' b",
            "&x ,",
            "--- 'a'\n}",
        ] {
            let stream = parse(&format!("{text}\n---\nok: 1\n"));
            assert_eq!(stream.errors.len(), 1, "{text} {stream:?}");
            assert_eq!(stream.errors[0].document, 0);
            assert_eq!(stream.documents[0].index, 1);
        }
        for text in [
            "a: 1\n---\n@\n",
            "a: 1\n--- @\n",
            "a: 1\n...\n}\n",
            "a: 1\n...\n%YAML x\n---\nb\n",
        ] {
            let stream = parse(text);
            assert_eq!(stream.documents.len(), 1, "{text} {stream:?}");
            assert_eq!((stream.errors.len(), stream.errors[0].document), (1, 1));
        }
    }

    #[test]
    fn empty_texts_have_no_root() {
        assert!(parse("").documents.is_empty());
        assert!(parse("# only\n").documents.is_empty());
        let stream = parse("---\n# c\n---\na: 1\n...\n");
        assert_eq!(stream.documents.len(), 2);
        assert!(stream.documents[0].root.is_none() && stream.documents[0].explicit);
    }

    #[test]
    fn comments_belong_to_their_document_in_order() {
        let stream = parse("# 0\na: !!str &x   # 1\n# 2\n---\n# 3\nb: |  # 4\n  # text\n# 5\n");
        let comments = |index: usize| -> Vec<&str> {
            let document: &crate::yaml::Document = &stream.documents[index];
            document.comments.iter().map(|c| c.text.as_str()).collect()
        };
        let all = [comments(0), comments(1)].concat();
        assert_eq!(all, [" 0", " 1", " 2", " 3", " 4", " 5"]);
    }

    #[test]
    fn hundreds_of_comment_lines_are_no_error() {
        let text = format!("a:\n{}b: 1\n", "  # c\n".repeat(500));
        let documents = parse_strict(&text).unwrap();
        assert_eq!(documents[0].comments.len(), 500);
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        let deep = 20_000;
        let blocks: String = (0..300).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        for text in [
            "[".repeat(deep),
            "{a: ".repeat(deep),
            "- ".repeat(deep),
            "? ".repeat(deep),
            format!("{}{}", "[".repeat(deep), "]".repeat(deep)),
            blocks,
            format!("{}{}", "- ".repeat(100), "[".repeat(100)),
        ] {
            let stream = parse(&format!("{text}\n---\nok: 1\n"));
            assert!(!stream.errors.is_empty(), "{}", &text[..20]);
            assert!(parse_strict(&text).is_err());
        }
        let fine = format!("{}x{}", "[".repeat(128), "]".repeat(128));
        assert!(parse_strict(&fine).is_ok());
    }

    #[test]
    fn large_inputs_are_read_whole() {
        // Quadratic code would take minutes here; nothing is timed, machines differ.
        let one = "---\n# comment\nkind: Thing\nspec:\n  list:\n  - a: 'x'\n    b:\n  text: |\n    hello\n";
        let line = format!("x: {{{}}}\n", "a:, b: [c], ".repeat(60_000));
        let keys: String = (0..20_000).map(|n| format!("k{n}:\n- |\n  t\n")).collect();
        assert_eq!(parse_strict(&one.repeat(12_000)).unwrap().len(), 12_000);
        assert!(parse(&line).errors.is_empty());
        assert_eq!(first(&keys).entries().count(), 20_000);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let stream = parse(&text);
            prop_assert_eq!(stream.count(), stream.documents.len() + stream.errors.len());
        }
    }
}
