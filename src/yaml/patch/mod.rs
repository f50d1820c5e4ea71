//! A merge patch (RFC 7386) for YAML as text: maps merge, null removes, everything else replaces, and every byte that isn't
//! meant stays.
//!
//! Owns the changes of a text by entries and items. Each one is a splice of bytes that stays on the lines of its entry; the
//! result is read again by two readers and compared with what the patch makes of the old value. What can't be done so is
//! refused, and the text is untouched then. Start from [`merge`], [`merge_within`] and [`append`].

mod block;
mod error;
mod flow;
mod page;
mod proof;
mod steps;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_append;
#[cfg(test)]
mod tests_random;
mod value;
mod within;
mod write;

use serde_json::{Map, Value};

pub use error::PatchError;
pub use within::merge_within;

use self::page::{Page, Splice};
use self::proof::Wanted;
use self::steps::{Change, Planner, walk, wrong_kind};
use self::value::fresh;
use self::write::Manner;
use super::node::{Document, Node};
use super::parse::{Stream, parse};
use super::position::Position;
use super::strict::complaints;
use super::{FindError, Route, Step};

/// Returns the text with a merge patch applied to the map at a route of a document (from 0; broken ones count), and every
/// other byte as it was.
///
/// Where the node isn't there yet, or is null, it is made: with the last keys of the route, in an empty text too. A patch
/// that changes nothing returns the text as it is. A scalar keeps its quotes where they can carry the new value and its
/// type; strings are written so that readers of YAML 1.1 and 1.2 take them for strings. New keys go behind the last one of
/// their map. JSON stays JSON.
///
/// # Errors
/// When the document can't be read, the route leads to no map of its own, or the patch can't be applied without a change of
/// something else.
pub fn merge(
    text: &str,
    document: usize,
    route: &Route,
    patch: &Value,
) -> Result<String, PatchError> {
    let patch = patch.as_object().ok_or(PatchError::NotAPatch)?;
    let stream = read(text, document)?;
    let root = root(&stream, document);
    let Some(root) = root.filter(|root| !root.is_null() || root.anchor.is_some()) else {
        return create(text, &stream, document, route.steps(), patch.clone());
    };
    let (way, rest) = walk(root, route)?;
    let (at, node) = &way[way.len() - 1];
    if !node.is_mapping() {
        return Err(wrong_kind(at, node, "a mapping"));
    }
    if !rest.is_empty() && is_nothing(patch) {
        return Ok(text.to_owned());
    }
    let patch =
        wrapped(&rest, patch.clone().into()).ok_or_else(|| no_place(&rest, node.position))?;
    let mut planner = Planner::new(text, root);
    planner.merge(&way, &patch)?;
    let changes = planner.changes();
    apply(
        text,
        &stream,
        document,
        &changes,
        at,
        &Wanted::Merge(&patch),
    )
}

/// Returns the text with an item behind the last one of the sequence at a route of a document, and every other byte as it
/// was.
///
/// Where the sequence isn't there yet, or is null, it is made as [`merge`] does. A sequence in brackets stays so, unless it
/// is `[]` outside of all brackets.
///
/// # Errors
/// As [`merge`]; the node at the route must be a sequence.
pub fn append(
    text: &str,
    document: usize,
    route: &Route,
    item: &Value,
) -> Result<String, PatchError> {
    let stream = read(text, document)?;
    let root = root(&stream, document);
    let list = Value::Array(vec![item.clone()]);
    let Some(root) = root.filter(|root| !root.is_null() || root.anchor.is_some()) else {
        let steps = route.steps();
        let patch = wrapped(steps, list).ok_or_else(|| no_place(steps, Position::START))?;
        return create(text, &stream, document, &[], patch);
    };
    let (way, rest) = walk(root, route)?;
    let (at, node) = &way[way.len() - 1];
    let mut planner = Planner::new(text, root);
    if rest.is_empty() {
        if !node.is_sequence() {
            return Err(wrong_kind(at, node, "a sequence"));
        }
        planner.push(&way, item)?;
        let changes = planner.changes();
        return apply(text, &stream, document, &changes, at, &Wanted::Push(item));
    }
    if !node.is_mapping() {
        return Err(wrong_kind(at, node, "a mapping"));
    }
    let patch = wrapped(&rest, list).ok_or_else(|| no_place(&rest, node.position))?;
    planner.merge(&way, &patch)?;
    let changes = planner.changes();
    apply(
        text,
        &stream,
        document,
        &changes,
        at,
        &Wanted::Merge(&patch),
    )
}

/// Reads a text, of which one document must be right.
fn read(text: &str, document: usize) -> Result<Stream, PatchError> {
    if text.replace("\r\n", "").contains('\r') {
        let reason = "a line ends with a carriage return alone".to_owned();
        return Err(PatchError::Unproven { reason });
    }
    let stream = parse(text);
    if let Some(error) = stream.error(document) {
        return Err(PatchError::Syntax(error.clone()));
    }
    match stream.document(document) {
        Some(found) => match complaints(text, found).into_iter().next() {
            Some(complaint) => Err(PatchError::Syntax(complaint)),
            None => Ok(stream),
        },
        None if stream.count() == 0 && document == 0 => Ok(stream),
        None => Err(PatchError::NoSuchDocument {
            document,
            count: stream.count(),
        }),
    }
}

fn root(stream: &Stream, document: usize) -> Option<&Node> {
    stream.document(document)?.root.as_ref()
}

/// Whether a patch makes nothing of nothing.
fn is_nothing(patch: &Map<String, Value>) -> bool {
    patch.values().all(Value::is_null)
}

/// A value with the keys that lead to it. `None` where an index is among them: nothing can be made at an index.
fn wrapped(steps: &[Step], value: Value) -> Option<Map<String, Value>> {
    let mut steps = steps.iter().rev();
    let value = steps.try_fold(value, |inner, step| match step {
        Step::Key(key) => Some(Value::Object(Map::from_iter([(key.clone(), inner)]))),
        Step::Index(_) => None,
    });
    match value? {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

/// Says that nothing can be made at an index.
fn no_place(steps: &[Step], position: Position) -> PatchError {
    let index = steps.iter().find_map(|step| match step {
        Step::Index(index) => Some(*index),
        Step::Key(_) => None,
    });
    FindError::NoSuchIndex {
        index: index.unwrap_or_default(),
        length: 0,
        at: Route::root(),
        position,
    }
    .into()
}

/// Makes the content of a document that holds nothing.
fn create(
    text: &str,
    stream: &Stream,
    document: usize,
    steps: &[Step],
    patch: Map<String, Value>,
) -> Result<String, PatchError> {
    if is_nothing(&patch) {
        return Ok(text.to_owned());
    }
    let patch = wrapped(steps, patch.into()).ok_or_else(|| no_place(steps, Position::START))?;
    let Value::Object(content) = fresh(&Value::Object(patch.clone())) else {
        return Err(PatchError::NotAPatch);
    };
    let nothing = Document {
        index: 0,
        root: None,
        span: text.len()..text.len(),
        position: Position::START,
        explicit: false,
        comments: Vec::new(),
    };
    let found = stream.document(document);
    let at = Route::root();
    with_and_without_blocks(Manner::of(text, found), |mut manner| {
        manner.json = false;
        let page = Page {
            text,
            document: found.unwrap_or(&nothing),
            manner,
        };
        let splice = match page.held(&at) {
            Some(held) => block::fill(&page, &held, &Value::Object(content.clone())),
            None => Some(block::found(&page, &content)),
        };
        let edited = spliced(text, splice)?;
        proven(
            text,
            stream,
            &edited,
            document,
            (&at, &Wanted::Merge(&patch)),
        )?;
        Ok(edited)
    })
}

/// Makes the changes one after the other, and proves what comes out.
fn apply(
    text: &str,
    stream: &Stream,
    document: usize,
    changes: &[Change],
    at: &Route,
    wanted: &Wanted<'_>,
) -> Result<String, PatchError> {
    if changes.is_empty() {
        return Ok(text.to_owned());
    }
    with_and_without_blocks(Manner::of(text, stream.document(document)), |manner| {
        let mut edited = text.to_owned();
        for change in changes {
            let stream = parse(&edited);
            let now = stream.document(document);
            let now = now.ok_or_else(|| unproven("a change broke the document"))?;
            let page = Page {
                text: &edited,
                document: now,
                manner,
            };
            let splice = splice(&page, change);
            if let Some(splice) = &splice {
                proof::stays_inside(&page, change, splice)
                    .map_err(|reason| PatchError::Unproven { reason })?;
            }
            edited = spliced(&edited, splice)?;
        }
        proven(text, stream, &edited, document, (at, wanted))?;
        Ok(edited)
    })
}

/// Tries once more without literal blocks where the result isn't proven: lines below would become a part of them.
fn with_and_without_blocks(
    manner: Manner,
    edit: impl Fn(Manner) -> Result<String, PatchError>,
) -> Result<String, PatchError> {
    match edit(manner) {
        Err(PatchError::Unproven { .. }) => edit(Manner {
            blocks: false,
            ..manner
        }),
        other => other,
    }
}

fn proven(
    text: &str,
    stream: &Stream,
    edited: &str,
    document: usize,
    (at, wanted): (&Route, &Wanted<'_>),
) -> Result<(), PatchError> {
    let new = (edited, &parse(edited));
    proof::prove((text, stream), new, document, at, wanted)
        .map_err(|reason| PatchError::Unproven { reason })
}

fn unproven(reason: &str) -> PatchError {
    let reason = reason.to_owned();
    PatchError::Unproven { reason }
}

fn spliced(text: &str, splice: Option<Splice>) -> Result<String, PatchError> {
    let (range, new) = splice.ok_or_else(|| unproven("the place to change isn't found"))?;
    let before = text.get(..range.start);
    let behind = text.get(range.end..);
    let parts = before.zip(behind).filter(|_| range.start <= range.end);
    let (before, behind) = parts.ok_or_else(|| unproven("the place to change isn't found"))?;
    Ok(format!("{before}{new}{behind}"))
}

/// The bytes of one change.
fn splice(page: &Page<'_>, change: &Change) -> Option<Splice> {
    let (Change::Set { at, .. } | Change::Remove { at, .. } | Change::Push { at, .. }) = change;
    let held = page.held(at)?;
    let node = held.node;
    let may_have_lines = node.flow && !held.in_flow && !page.manner.json;
    match change {
        Change::Set { key, value, .. } => {
            let entry = node.entries().find(|(name, _)| name.as_str() == Some(key));
            match entry {
                Some(entry) if node.flow => flow::set(page, node, entry, value),
                Some((name, old)) => block::set(page, name, old, value),
                None if may_have_lines && node.entries().count() == 0 => {
                    let map = Map::from_iter([(key.clone(), value.clone())]);
                    block::fill(page, &held, &map.into())
                }
                None if node.flow => Some(flow::add(page, node, key, value)),
                None => block::add(page, node, key, value),
            }
        }
        Change::Remove { key, .. } => {
            let mut keys = node.entries().map(|(name, _)| name.as_str());
            let index = keys.position(|name| name == Some(key))?;
            if node.flow {
                flow::remove(page, node, index)
            } else {
                block::remove(page, &held, index)
            }
        }
        Change::Push { item, .. } if may_have_lines && node.items().count() == 0 => {
            block::fill(page, &held, &Value::Array(vec![item.clone()]))
        }
        Change::Push { item, .. } if node.flow => Some(flow::push(page, node, item)),
        Change::Push { item, .. } => block::push(page, node, item),
    }
}
