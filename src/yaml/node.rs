//! The tree: documents, nodes, and how to step from a node to its children.
//!
//! Owns the types only. A node knows where it stands and how it was written;
//! it never holds the text itself. Aliases and merge keys are kept as they
//! are written and never followed.

use std::ops::Range;

use super::{Position, Route};

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Style {
    /// No quotes. An empty value is plain, too.
    Plain,
    /// `'single'`.
    SingleQuoted,
    /// `"double"`.
    DoubleQuoted,
    /// A block starting with `|`.
    Literal,
    /// A block starting with `>`.
    Folded,
}

impl Style {
    /// Whether this is a block scalar, literal or folded.
    pub fn is_block(self) -> bool {
        matches!(self, Self::Literal | Self::Folded)
    }
}

/// A leaf of the tree: text, always. What type a reader gives it is not decided here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The decoded text: escapes resolved, lines folded. Empty if nothing is written.
    pub value: String,
    /// How it is written.
    pub style: Style,
    /// Whether nothing is written and there is no `:` or `-` before it either,
    /// as in `{a}` and `? a`.
    pub(super) has_no_place: bool,
}

/// A reference to an anchor, `*name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The name, without `*`.
    pub name: String,
    /// Where the anchor it refers to, `&name`, stands.
    pub target: Option<Position>,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Scalar(Scalar),
    /// Keys and values in the order of the text, duplicates and `<<` included.
    Mapping(Vec<(Node, Node)>),
    /// Items in the order of the text.
    Sequence(Vec<Node>),
    /// A reference to another node; not followed.
    Alias(Box<Alias>),
}

impl Kind {
    /// Names the kind for messages: `a scalar`, `a mapping` …
    pub fn name(&self) -> &'static str {
        match self {
            Self::Scalar(_) => "a scalar",
            Self::Mapping(_) => "a mapping",
            Self::Sequence(_) => "a sequence",
            Self::Alias(_) => "an alias",
        }
    }
}

/// One node with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The bytes of the node. Quotes and flow brackets are inside; anchor, tag
    /// and comments before it are not. A block scalar starts with its header
    /// (`|`); a block collection ends where its last child does; nothing
    /// written is an empty range directly behind the `:` or `-`.
    pub span: Range<usize>,
    /// The position of the first byte of `span`.
    pub position: Position,
    /// The tag as written, for example `!!str`.
    pub tag: Option<Box<str>>,
    /// The name of the anchor defined here, without `&`.
    pub anchor: Option<Box<str>>,
    /// Whether this is a collection in flow style, `{…}` or `[…]`.
    pub flow: bool,
    /// What the node is.
    pub kind: Kind,
}

impl Node {
    /// Returns the first value of a mapping whose key has this text. Aliases
    /// and merge keys are not followed.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries()
            .find(|(name, _)| name.as_str() == Some(key))
            .map(|(_, value)| value)
    }

    /// Returns an item of a sequence.
    pub fn at(&self, index: usize) -> Option<&Self> {
        self.items().nth(index)
    }

    /// Returns the decoded text of a scalar.
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar().map(|scalar| scalar.value.as_str())
    }

    /// Returns the scalar, if the node is one.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            Kind::Scalar(scalar) => Some(scalar),
            Kind::Mapping(_) | Kind::Sequence(_) | Kind::Alias(_) => None,
        }
    }

    /// Iterates over the entries of a mapping; over nothing for other kinds.
    pub fn entries(&self) -> impl Iterator<Item = (&Self, &Self)> {
        let entries = match &self.kind {
            Kind::Mapping(entries) => entries.as_slice(),
            Kind::Scalar(_) | Kind::Sequence(_) | Kind::Alias(_) => &[],
        };
        entries.iter().map(|(key, value)| (key, value))
    }

    /// Iterates over the items of a sequence; over nothing for other kinds.
    pub fn items(&self) -> impl Iterator<Item = &Self> {
        let items = match &self.kind {
            Kind::Sequence(items) => items.as_slice(),
            Kind::Scalar(_) | Kind::Mapping(_) | Kind::Alias(_) => &[],
        };
        items.iter()
    }

    /// Whether the node is a mapping.
    pub fn is_mapping(&self) -> bool {
        matches!(self.kind, Kind::Mapping(_))
    }

    /// Whether the node is a sequence.
    pub fn is_sequence(&self) -> bool {
        matches!(self.kind, Kind::Sequence(_))
    }

    /// Whether the node is null: a plain scalar without a tag that is empty, `~` or `null`.
    pub fn is_null(&self) -> bool {
        self.tag.is_none()
            && self.as_scalar().is_some_and(|scalar| {
                scalar.style == Style::Plain
                    && matches!(scalar.value.as_str(), "" | "~" | "null" | "Null" | "NULL")
            })
    }

    /// Whether the node is a merge key: a plain `<<`.
    pub fn is_merge_key(&self) -> bool {
        self.as_scalar()
            .is_some_and(|scalar| scalar.style == Style::Plain && scalar.value == "<<")
    }

    /// Lists every scalar and alias that is a value or an item, in the order
    /// of the text, with its route. Values behind a key that is no scalar have
    /// no route and are left out.
    pub fn leaves(&self) -> Vec<(Route, &Self)> {
        let mut found = Vec::new();
        self.collect_leaves(&Route::root(), &mut found);
        found
    }

    fn collect_leaves<'a>(&'a self, route: &Route, found: &mut Vec<(Route, &'a Self)>) {
        match &self.kind {
            Kind::Scalar(_) | Kind::Alias(_) => found.push((route.clone(), self)),
            Kind::Mapping(entries) => {
                for (key, value) in entries {
                    if let Some(key) = key.as_str() {
                        value.collect_leaves(&route.key(key), found);
                    }
                }
            }
            Kind::Sequence(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.collect_leaves(&route.index(index), found);
                }
            }
        }
    }
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The bytes, `#` included, the line break not.
    pub span: Range<usize>,
    /// The position of the `#`.
    pub position: Position,
    /// The text behind the `#`, as written.
    pub text: String,
}

/// One document of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The number of the document in the stream, from 0; broken ones count.
    pub index: usize,
    /// The top node; `None` if the document is empty.
    pub root: Option<Node>,
    /// From the `---` or the first node up to the next document's marker.
    pub span: Range<usize>,
    /// The position of the first byte of `span`.
    pub position: Position,
    /// Whether the document starts with `---`.
    pub explicit: bool,
    /// The comments of the document in the order of the text. Those above its
    /// `---` are its own; those below the last document belong to the last.
    pub comments: Vec<Comment>,
}

#[cfg(test)]
mod tests {
    use crate::yaml::{Node, parse};

    fn root(text: &str) -> Node {
        let mut stream = parse(text);
        assert!(stream.errors.is_empty(), "{:?}", stream.errors);
        stream.documents.remove(0).root.expect("a document")
    }

    #[test]
    fn children_are_found_by_key_text_and_index() {
        let node = root("a: [x, 'y']\n\"b\": {c: \"d\\n\"}\n");
        assert_eq!(node.get("a").unwrap().at(1).unwrap().as_str(), Some("y"));
        assert_eq!(
            node.get("b").unwrap().get("c").unwrap().as_str(),
            Some("d\n")
        );
        assert!(node.get("c").is_none() && node.at(0).is_none());
        assert_eq!(node.get("a").unwrap().items().count(), 2);
        assert_eq!(node.entries().count(), 2);
    }

    #[test]
    fn only_plain_untagged_words_are_null() {
        let node = root("- \n- ~\n- null\n- ''\n- \"null\"\n- !!str\n- nil\n");
        let nulls: Vec<bool> = node.items().map(Node::is_null).collect();
        assert_eq!(nulls, [true, true, true, false, false, false, false]);
    }

    #[test]
    fn leaves_come_in_text_order_with_routes() {
        let node = root(
            "a: 1\nb:\n- c.d: 2\n  e: *x\n"
                .replace("a: 1", "a: &x 1")
                .as_str(),
        );
        let routes: Vec<String> = node
            .leaves()
            .iter()
            .map(|(route, _)| route.to_string())
            .collect();
        assert_eq!(routes, ["a", "b.0.c\\.d", "b.0.e"]);
    }
}
