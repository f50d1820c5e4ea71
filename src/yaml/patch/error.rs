//! Why a patch was refused, where, and what the reader can do about it.

use std::fmt;

use crate::yaml::{FindError, Position, Route, SyntaxError};

/// Why a patch was refused. The text is untouched then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchError {
    /// The document can't be read, or has what no reader of manifests should take: a key twice, a template without quotes.
    Syntax(SyntaxError),
    /// The text holds fewer documents.
    NoSuchDocument { document: usize, count: usize },
    /// The route leads to no node of its own: an alias or a merge key is on the way, or an index isn't there.
    Find(FindError),
    /// The patch isn't a map.
    NotAPatch,
    /// A map (or, for an item to append, a sequence) is needed where something else stands.
    WrongKind {
        route: Route,
        wanted: &'static str,
        found: &'static str,
        position: Position,
    },
    /// A map is needed where a literal or folded block stands: text that may be YAML itself.
    BlockText { route: Route, position: Position },
    /// The collection to change has a tag, so that nobody knows what a change means.
    Tagged { route: Route, position: Position },
    /// What would change has an anchor, and the alias at `alias` takes its value from it.
    Shared {
        anchor: String,
        route: Route,
        position: Position,
        alias: Position,
    },
    /// A key of the map isn't a scalar of its own on one line: it begins with `?`, or has an anchor or a tag.
    OddKey { route: Route, position: Position },
    /// The new text does not read as the old one with the patch.
    Unproven { reason: String },
}

impl PatchError {
    /// Where in the text the patch stopped.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::Syntax(error) => Some(error.position),
            Self::Find(error) => error.position(),
            Self::WrongKind { position, .. }
            | Self::BlockText { position, .. }
            | Self::Tagged { position, .. }
            | Self::Shared { position, .. }
            | Self::OddKey { position, .. } => Some(*position),
            Self::NoSuchDocument { .. } | Self::NotAPatch | Self::Unproven { .. } => None,
        }
    }

    /// What the reader can do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Find(error) => return error.hint(),
            Self::Shared { anchor, alias, .. } => {
                return Some(format!(
                    "write the value at `*{anchor}`, line {}, in full, or change `&{anchor}` by hand",
                    alias.line
                ));
            }
            Self::Syntax(_) => "put the text right first",
            Self::NotAPatch => "write a map of the keys to change",
            Self::WrongKind { .. } => "change the value by hand, or take it out",
            Self::BlockText { .. } => "write the text's content as a map, or change it by hand",
            Self::Tagged { .. } => "take the tag out, or change the value by hand",
            Self::OddKey { .. } => "write the key as `key: value`",
            Self::NoSuchDocument { .. } => return None,
            Self::Unproven { .. } => "make the change by hand",
        };
        Some(text.to_owned())
    }
}

/// A route in back-ticks, or words for the empty one.
struct Place<'a>(&'a Route);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_root() {
            f.write_str("the document")
        } else {
            write!(f, "`{}`", self.0)
        }
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => error.fmt(f),
            Self::NoSuchDocument { document, count } => {
                write!(f, "no document {document}: the text holds {count}")
            }
            Self::Find(error) => error.fmt(f),
            Self::NotAPatch => f.write_str("the patch is no map"),
            Self::WrongKind {
                route,
                wanted,
                found,
                position,
            } => write!(
                f,
                "line {}: {} is {found}, not {wanted}",
                position.line,
                Place(route)
            ),
            Self::BlockText { route, position } => write!(
                f,
                "line {}: {} is a block of text, not a mapping",
                position.line,
                Place(route)
            ),
            Self::Tagged { route, position } => {
                write!(f, "line {}: {} has a tag", position.line, Place(route))
            }
            Self::Shared {
                anchor,
                route,
                position,
                alias,
            } => write!(
                f,
                "line {}: a change of {} would change what `*{anchor}` in line {} means",
                position.line,
                Place(route),
                alias.line
            ),
            Self::OddKey { route, position } => write!(
                f,
                "line {}: a key of {} isn't written as `key: value`",
                position.line,
                Place(route)
            ),
            Self::Unproven { reason } => write!(f, "the patch could not be proven: {reason}"),
        }
    }
}

// No `source`: the messages of the inner errors are already part of this one.
impl std::error::Error for PatchError {}

impl From<FindError> for PatchError {
    fn from(error: FindError) -> Self {
        Self::Find(error)
    }
}
