//! Why a route leads nowhere, and how to say it.
//!
//! Owns the data of each failure, its message and its hint. The walk itself is
//! in `find`.

use std::fmt;

use super::{Position, Route, Step};

/// Why a route leads nowhere. `at` is the route up to the node that stopped the walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindError {
    /// The document holds no node at all.
    EmptyDocument,
    /// The mapping has no such key.
    NoSuchKey {
        key: String,
        at: Route,
        position: Position,
    },
    /// The sequence is too short.
    NoSuchIndex {
        index: usize,
        length: usize,
        at: Route,
        position: Position,
    },
    /// The step is a key (or index) but the node has neither.
    NotAMapping {
        step: Step,
        at: Route,
        found: &'static str,
        position: Position,
    },
    /// The step is a name, but the node is a sequence.
    NotAnIndex {
        step: Step,
        at: Route,
        position: Position,
    },
    /// The node is an alias; the value stands at the anchor.
    IsAlias {
        anchor: String,
        anchor_position: Option<Position>,
        at: Route,
        position: Position,
    },
    /// The key can only come from a merge key `<<`, whose position this is.
    ThroughMerge {
        key: String,
        at: Route,
        position: Position,
    },
    /// The key stands twice in the mapping.
    DuplicateKey {
        key: String,
        at: Route,
        first: Position,
        second: Position,
    },
    /// The route leads to a collection where a scalar is needed.
    NotScalar {
        at: Route,
        found: &'static str,
        position: Position,
    },
}

impl FindError {
    /// Where in the text the walk stopped.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::EmptyDocument => None,
            Self::NoSuchKey { position, .. }
            | Self::NoSuchIndex { position, .. }
            | Self::NotAMapping { position, .. }
            | Self::NotAnIndex { position, .. }
            | Self::IsAlias { position, .. }
            | Self::ThroughMerge { position, .. }
            | Self::NotScalar { position, .. } => Some(*position),
            Self::DuplicateKey { second, .. } => Some(*second),
        }
    }

    /// What the reader can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::IsAlias {
                anchor,
                anchor_position: Some(position),
                ..
            } => Some(format!(
                "change the value at `&{anchor}`, line {}",
                position.line
            )),
            Self::ThroughMerge { position, .. } => Some(format!(
                "change the value in the mapping that `<<` in line {} merges",
                position.line
            )),
            Self::DuplicateKey { second, .. } => Some(format!(
                "remove one of the two, for example line {}",
                second.line
            )),
            _ => None,
        }
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

impl fmt::Display for FindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyDocument => f.write_str("the document is empty"),
            Self::NoSuchKey { key, at, position } => {
                write!(f, "no key `{key}` in {}, line {}", Place(at), position.line)
            }
            Self::NoSuchIndex {
                index,
                length,
                at,
                position,
            } => write!(
                f,
                "no item {index} in {}, line {}: it has {length}",
                Place(at),
                position.line
            ),
            Self::NotAMapping {
                step,
                at,
                found,
                position,
            } => {
                write!(
                    f,
                    "no `{step}` in {}, line {}: it is {found}",
                    Place(at),
                    position.line
                )
            }
            Self::NotAnIndex { step, at, position } => {
                write!(
                    f,
                    "`{step}` is no index, but {}, line {}, is a sequence",
                    Place(at),
                    position.line
                )
            }
            Self::IsAlias {
                anchor,
                anchor_position,
                at,
                position,
            } => {
                write!(
                    f,
                    "line {}: {} is an alias of `&{anchor}`",
                    position.line,
                    Place(at)
                )?;
                match anchor_position {
                    Some(position) => write!(f, " (line {})", position.line),
                    None => Ok(()),
                }
            }
            Self::ThroughMerge { key, at, position } => write!(
                f,
                "`{key}` in {} can only come from the merge key `<<` in line {}",
                Place(at),
                position.line
            ),
            Self::DuplicateKey {
                key,
                at,
                first,
                second,
            } => write!(
                f,
                "key `{key}` stands twice in {}, in line {} and line {}",
                Place(at),
                first.line,
                second.line
            ),
            Self::NotScalar {
                at,
                found,
                position,
            } => write!(
                f,
                "{}, line {}, is {found}, not a scalar",
                Place(at),
                position.line
            ),
        }
    }
}

impl std::error::Error for FindError {}
