//! Replacing scalars by splicing bytes.
//!
//! Owns what may be replaced and how the new value is written: the author's
//! quotes stay where the value can be written in them. Everything is located
//! on the original text, applied from the end to the start, and proven once.
//! In doubt it refuses; it never formats and never touches a second node.

use std::fmt;

use super::find_error::FindError;
use super::node::{Node, Scalar, Style};
use super::parse::{Stream, SyntaxError, parse};
use super::position::Position;
use super::prove::prove_streams;
use super::route::Route;
use super::scalar::{quote, quote_always, quote_single};

/// One scalar to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit<'a> {
    /// The number of the document in the stream, from 0; broken ones count.
    pub document: usize,
    /// The way to the scalar.
    pub route: &'a Route,
    /// The new text. It becomes a string for every reader.
    pub value: &'a str,
}

/// Why an edit was refused. The text is untouched then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The document to change cannot be read.
    Syntax(SyntaxError),
    /// The text holds fewer documents.
    NoSuchDocument { document: usize, count: usize },
    /// The route does not lead to one scalar of its own.
    Find(FindError),
    /// The scalar is a literal or folded block.
    BlockScalar { route: Route, position: Position },
    /// The new value holds a line break.
    LineBreak { route: Route },
    /// The key has no `:` behind which a value could stand.
    NoColon { route: Route, position: Position },
    /// Two edits give one scalar different values.
    Conflict { route: Route },
    /// The new text does not read as the old one with the planned changes.
    Unproven { reason: String },
}

impl EditError {
    /// Where in the text the edit stopped.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::Syntax(error) => Some(error.position),
            Self::Find(error) => error.position(),
            Self::BlockScalar { position, .. } | Self::NoColon { position, .. } => Some(*position),
            Self::NoSuchDocument { .. }
            | Self::LineBreak { .. }
            | Self::Conflict { .. }
            | Self::Unproven { .. } => None,
        }
    }

    /// What the reader can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Find(error) => error.hint(),
            Self::BlockScalar { .. } => Some("write the value on one line".to_owned()),
            _ => None,
        }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => error.fmt(f),
            Self::NoSuchDocument { document, count } => {
                write!(f, "no document {document}: the text holds {count}")
            }
            Self::Find(error) => error.fmt(f),
            Self::BlockScalar { route, position } => {
                write!(f, "line {}: `{route}` is a block scalar", position.line)
            }
            Self::LineBreak { route } => {
                write!(f, "the new value of `{route}` holds a line break")
            }
            Self::NoColon { route, position } => {
                write!(
                    f,
                    "line {}: `{route}` has no value to replace",
                    position.line
                )
            }
            Self::Conflict { route } => write!(f, "two different values for `{route}`"),
            Self::Unproven { reason } => {
                write!(f, "the edit could not be proven: {reason}")
            }
        }
    }
}

// No `source`: the messages of the inner errors are already part of this one.
impl std::error::Error for EditError {}

impl From<FindError> for EditError {
    fn from(error: FindError) -> Self {
        Self::Find(error)
    }
}

/// Returns the text with one scalar replaced and every other byte as it was.
///
/// A value that is already there is left as it is written. Quotes, anchor and
/// tag stay; a plain value that would not be read back as this very string
/// gets double quotes.
pub fn replace_scalar(
    text: &str,
    document: usize,
    route: &Route,
    value: &str,
) -> Result<String, EditError> {
    let edit = Edit {
        document,
        route,
        value,
    };
    replace_scalars(text, &[edit])
}

/// Returns the text with several scalars replaced: all or none.
pub fn replace_scalars(text: &str, edits: &[Edit<'_>]) -> Result<String, EditError> {
    let stream = parse(text);
    let targets = locate(&stream, edits)?;
    let mut splices = Vec::new();
    for target in &targets {
        if !target.is_done() {
            splices.push((target.node.span.clone(), target.written()?));
        }
    }
    if splices.is_empty() {
        return Ok(text.to_owned());
    }
    let mut edited = text.to_owned();
    for (span, written) in splices.into_iter().rev() {
        edited.replace_range(span, &written);
    }
    prove_streams((text, &stream), (&edited, &parse(&edited)), &targets)?;
    Ok(edited)
}

/// A scalar found for an edit.
pub(super) struct Target<'a> {
    pub(super) node: &'a Node,
    pub(super) scalar: &'a Scalar,
    pub(super) route: &'a Route,
    pub(super) value: &'a str,
}

/// Finds all scalars, in the order of the text.
pub(super) fn locate<'a>(
    stream: &'a Stream,
    edits: &[Edit<'a>],
) -> Result<Vec<Target<'a>>, EditError> {
    let mut targets = Vec::new();
    for edit in edits {
        targets.push(locate_one(stream, *edit)?);
    }
    targets.sort_by_key(|target| target.node.span.start);
    for pair in targets.windows(2) {
        if std::ptr::eq(pair[0].node, pair[1].node) && pair[0].value != pair[1].value {
            let route = pair[1].route.clone();
            return Err(EditError::Conflict { route });
        }
    }
    targets.dedup_by(|next, kept| std::ptr::eq(next.node, kept.node));
    Ok(targets)
}

fn locate_one<'a>(stream: &'a Stream, edit: Edit<'a>) -> Result<Target<'a>, EditError> {
    let Edit {
        document,
        route,
        value,
    } = edit;
    if let Some(error) = stream.error(document) {
        return Err(EditError::Syntax(error.clone()));
    }
    let found = stream.document(document);
    let found = found.ok_or_else(|| EditError::NoSuchDocument {
        document,
        count: stream.count(),
    })?;
    let root = found.root.as_ref().ok_or(FindError::EmptyDocument)?;
    let node = root.find_scalar(route)?;
    let scalar = node.as_scalar().expect("only scalars are found");
    if value.contains(['\n', '\r']) {
        let route = route.clone();
        return Err(EditError::LineBreak { route });
    }
    if scalar.style.is_block() {
        let (route, position) = (route.clone(), node.position);
        return Err(EditError::BlockScalar { route, position });
    }
    Ok(Target {
        node,
        scalar,
        route,
        value,
    })
}

impl Target<'_> {
    /// Whether the string is there already. A null is no string, whatever its text.
    pub(super) fn is_done(&self) -> bool {
        self.scalar.value == self.value && !self.node.is_null()
    }

    /// Writes the new value for the place of the old one.
    fn written(&self) -> Result<String, EditError> {
        let written = match self.scalar.style {
            Style::SingleQuoted => {
                quote_single(self.value).unwrap_or_else(|| quote_always(self.value))
            }
            Style::DoubleQuoted => quote_always(self.value),
            Style::Plain | Style::Literal | Style::Folded => quote(self.value),
        };
        if self.scalar.has_no_place {
            // A colon would have to be made up.
            return Err(EditError::NoColon {
                route: self.route.clone(),
                position: self.node.position,
            });
        }
        let absent = self.node.span.is_empty();
        Ok(if absent {
            format!(" {written}")
        } else {
            written
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, EditError, replace_scalar, replace_scalars};
    use crate::yaml::{FindError, Route};

    fn route(text: &str) -> Route {
        text.parse().unwrap()
    }

    fn replace(text: &str, at: &str, value: &str) -> Result<String, EditError> {
        replace_scalar(text, 0, &route(at), value)
    }

    #[test]
    fn the_style_is_kept_where_the_value_can_be_written_in_it() {
        let table = [
            ("a: 1.2.3 # c\n", "1.2.4", "a: 1.2.4 # c\n"),
            ("a: 1.2.3\n", "1.10", "a: \"1.10\"\n"),
            ("a: 1.10\n", "1.11", "a: \"1.11\"\n"),
            ("a: '1.2'\n", "it's", "a: 'it''s'\n"),
            ("a: '1.2'\n", "a\tb", "a: \"a\\tb\"\n"),
            ("a: \"1.2\"\n", "1.3\\", "a: \"1.3\\\\\"\n"),
            ("a: x\n  y # c\n", "z", "a: z # c\n"),
            ("a: \"x\n  y\"\n", "z", "a: \"z\"\n"),
            (
                "a: &v !!str 1 # c\nb: *v\n",
                "2.0.1",
                "a: &v !!str 2.0.1 # c\nb: *v\n",
            ),
            ("a: x\n", "", "a: \"\"\n"),
            ("a: ~\n", "~", "a: \"~\"\n"),
            ("{\"a\":\"b\"}", "c", "{\"a\":\"c\"}"),
            ("a: x\n", "b: c", "a: \"b: c\"\n"),
            ("{a: x}", "b,c", "{a: \"b,c\"}"),
        ];
        for (text, value, expected) in table {
            assert_eq!(replace(text, "a", value).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_there_already_changes_nothing() {
        for text in ["a: 1.10\n", "a: '1.10'", "a: \"1.\\x310\"\n"] {
            assert_eq!(replace(text, "a", "1.10").unwrap(), text);
        }
    }

    #[test]
    fn an_absent_value_is_written_behind_its_indicator() {
        let table = [
            ("a:\nb: 1\n", "a", "a: v\nb: 1\n"),
            ("a:", "a", "a: v"),
            ("a:   # c\r\n", "a", "a: v   # c\r\n"),
            ("a:\n  # c\nb:\n", "a", "a: v\n  # c\nb:\n"),
            ("a:\n-\n- # c\n- x\n", "a.1", "a:\n-\n- v # c\n- x\n"),
            ("a: &x\nb: *x\n", "a", "a: &x v\nb: *x\n"),
            ("a: !t &x  # c\n", "a", "a: !t &x v  # c\n"),
            ("{a: , b:}", "a", "{a: v , b:}"),
            ("{a: , b:}", "b", "{a: , b: v}"),
            ("? a\n:\n", "a", "? a\n: v\n"),
        ];
        for (text, at, expected) in table {
            assert_eq!(replace(text, at, "v").as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_scalar_of_its_own_is_refused() {
        let text = "a: &x 1\nb: *x\nc: {<<: {d: 1}}\ne: |\n  f\ng: >-\n  h\n? i\nj: {k}\nl: []\nm: 1\nm: 2\n";
        let error = |at: &str| replace(text, at, "2").unwrap_err();
        let message = error("b").to_string();
        assert_eq!(message, "line 2: `b` is an alias of `&x` (line 1)");
        assert!(matches!(
            error("c.d"),
            EditError::Find(FindError::ThroughMerge { .. })
        ));
        assert!(matches!(error("e"), EditError::BlockScalar { .. }));
        assert!(matches!(error("g"), EditError::BlockScalar { .. }));
        assert!(matches!(error("i"), EditError::NoColon { .. }));
        assert!(matches!(error("j.k"), EditError::NoColon { .. }));
        assert!(matches!(
            error("l"),
            EditError::Find(FindError::NotScalar { .. })
        ));
        assert!(matches!(
            error("m"),
            EditError::Find(FindError::DuplicateKey { .. })
        ));
        assert!(matches!(
            replace(text, "a", "x\ny"),
            Err(EditError::LineBreak { .. })
        ));
        assert!(matches!(
            replace("---\n", "a", "x"),
            Err(EditError::Find(FindError::EmptyDocument))
        ));
    }

    #[test]
    fn documents_are_chosen_by_number_and_broken_ones_count() {
        let text = "a: 1\n---\na: [\n---\na: x # c\n";
        let at = route("a");
        assert_eq!(
            replace_scalar(text, 2, &at, "z").unwrap(),
            "a: 1\n---\na: [\n---\na: z # c\n"
        );
        assert!(matches!(
            replace_scalar(text, 1, &at, "z"),
            Err(EditError::Syntax(_))
        ));
        let none = replace_scalar(text, 3, &at, "z").unwrap_err();
        assert_eq!(
            none,
            EditError::NoSuchDocument {
                document: 3,
                count: 3
            }
        );
    }

    #[test]
    fn several_edits_are_one() {
        let (a, b, c) = (route("a"), route("b.0"), route("c"));
        let edit = |document, route, value| Edit {
            document,
            route,
            value,
        };
        let text = "c: 'z'\na: x\nb: [y]\n---\na:\n";
        let edits = [
            edit(1, &a, "4"),
            edit(0, &b, "longer"),
            edit(0, &a, "1.2.3"),
            edit(0, &c, ""),
        ];
        assert_eq!(
            replace_scalars(text, &edits).unwrap(),
            "c: ''\na: 1.2.3\nb: [longer]\n---\na: \"4\"\n"
        );
        let twice = [edit(0, &a, "v"), edit(0, &a, "v")];
        assert!(replace_scalars(text, &twice).is_ok());
        let both = [edit(0, &a, "v"), edit(0, &a, "w")];
        let conflict = EditError::Conflict { route: a.clone() };
        assert_eq!(replace_scalars(text, &both), Err(conflict));
    }
}
