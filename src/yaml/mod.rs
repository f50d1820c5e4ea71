//! Lossless YAML: text to a tree with byte spans, and one scalar replaced in place.
//!
//! This module owns everything the crate knows about YAML as *text*: where a
//! node stands, how a scalar is written, and how a value is replaced without
//! touching any other byte. Each edit is proven by parsing the result again.
//!
//! It must not read files, print, follow aliases or guess types: a scalar is
//! its text. Start from [`parse`] to read and from [`replace_scalar`] to write.

mod block;
mod build;
mod edit;
mod find;
mod find_error;
pub mod lines;
mod node;
mod parse;
pub mod patch;
mod position;
mod prove;
mod quick;
mod route;
#[cfg(test)]
mod samples;
pub mod scalar;
#[cfg(test)]
mod soup;
mod strict;

pub use edit::{Edit, EditError, replace_scalar, replace_scalars};
pub use find_error::FindError;
pub use node::{Alias, Comment, Document, Kind, Node, Scalar, Style};
pub use parse::{MAX_DEPTH, Stream, SyntaxError, parse, parse_strict};
pub use position::Position;
pub use prove::prove;
pub use route::{Route, RouteError, Step};
pub use strict::complaints;
