//! Proof that a new text is the old one with the patch, and with nothing else.
//!
//! Owns the comparison of two texts: by the crate's own tree, by a second
//! reader, and comment by comment. It trusts nothing that the editor did.

use std::ops::Range;

use serde_json::{Map, Value};

use super::page::{Held, Holder, Page, Splice, end};
use super::steps::Change;
use super::value::{fresh, key_text, merged, merged_yaml, read};
use crate::yaml::lines;
use crate::yaml::node::{Kind, Node};
use crate::yaml::parse::Stream;
use crate::yaml::{Route, Step};

/// What was to happen at a node that is there.
pub(super) enum Wanted<'a> {
    /// A merge patch.
    Merge(&'a Map<String, Value>),
    /// An item at the end.
    Push(&'a Value),
}

type Verdict = Result<(), String>;

/// Checks that the new text reads as the old one with what was wanted at the route of a document.
pub(super) fn prove(
    old: (&str, &Stream),
    new: (&str, &Stream),
    document: usize,
    at: &Route,
    wanted: &Wanted<'_>,
) -> Verdict {
    let count = |stream: &Stream| (stream.count().max(1), stream.errors.len());
    if count(old.1) != count(new.1) {
        return Err("the text no longer holds the same documents".to_owned());
    }
    for after in &new.1.documents {
        let before = old.1.document(after.index);
        let before_root = before.and_then(|document| document.root.as_ref());
        match (before_root, after.root.as_ref()) {
            (before, Some(after_root)) if after.index == document => {
                changed(before, after_root, at.steps(), wanted)?;
            }
            (None, None) => {}
            (Some(before), Some(after)) => same(before, after)?,
            _ => return Err(format!("document {} changed", after.index)),
        }
    }
    second_reader(old, new, document, at, wanted)
}

fn differs(node: &Node) -> String {
    let line = node.position.line;
    format!("{} in line {line} changed", node.kind.name())
}

/// Compares two nodes with all that is below them; where they stand and how they are laid out doesn't count.
fn same(old: &Node, new: &Node) -> Verdict {
    let is_same = (&old.tag, &old.anchor, old.flow) == (&new.tag, &new.anchor, new.flow);
    match (&old.kind, &new.kind) {
        _ if !is_same => {}
        (Kind::Scalar(before), Kind::Scalar(after)) if before == after => return Ok(()),
        (Kind::Alias(before), Kind::Alias(after)) if before.name == after.name => return Ok(()),
        (Kind::Sequence(before), Kind::Sequence(after)) if before.len() == after.len() => {
            let mut pairs = before.iter().zip(after);
            return pairs.try_for_each(|(old, new)| same(old, new));
        }
        (Kind::Mapping(before), Kind::Mapping(after)) if before.len() == after.len() => {
            return before.iter().zip(after).try_for_each(|(old, new)| {
                same(&old.0, &new.0)?;
                same(&old.1, &new.1)
            });
        }
        _ => {}
    }
    Err(differs(old))
}

/// Walks to the node that changes; what is beside the way is the same.
fn changed(old: Option<&Node>, new: &Node, steps: &[Step], wanted: &Wanted<'_>) -> Verdict {
    let Some((step, rest)) = steps.split_first() else {
        return match wanted {
            Wanted::Merge(patch) => merge(old, new, patch),
            Wanted::Push(item) => push(old, new, item),
        };
    };
    let old = old.ok_or("what should change isn't there")?;
    if (&old.tag, &old.anchor, old.flow) != (&new.tag, &new.anchor, new.flow) {
        return Err(differs(old));
    }
    let mut is_met = false;
    let name = step.to_string();
    match (&old.kind, &new.kind) {
        (Kind::Mapping(before), Kind::Mapping(after)) if before.len() == after.len() => {
            for ((key, value), (new_key, new_value)) in before.iter().zip(after) {
                same(key, new_key)?;
                let is_step = key.as_str().is_some_and(|key| match step {
                    Step::Key(step) => key == step,
                    Step::Index(_) => key == name,
                });
                if is_step && !is_met {
                    is_met = true;
                    changed(Some(value), new_value, rest, wanted)?;
                } else {
                    same(value, new_value)?;
                }
            }
        }
        (Kind::Sequence(before), Kind::Sequence(after)) if before.len() == after.len() => {
            for (index, (item, new_item)) in before.iter().zip(after).enumerate() {
                if *step == Step::Index(index) {
                    is_met = true;
                    changed(Some(item), new_item, rest, wanted)?;
                } else {
                    same(item, new_item)?;
                }
            }
        }
        _ => return Err(differs(old)),
    }
    if is_met { Ok(()) } else { Err(differs(old)) }
}

fn says(node: &Node, wanted: &Value) -> Verdict {
    if read(node).as_ref() == Some(wanted) {
        return Ok(());
    }
    let line = node.position.line;
    Err(format!("the new value in line {line} isn't read back"))
}

fn merge(old: Option<&Node>, new: &Node, patch: &Map<String, Value>) -> Verdict {
    let Some(old) = old.filter(|old| !old.is_null()) else {
        return says(new, &fresh(&Value::Object(patch.clone())));
    };
    let (Kind::Mapping(before), Kind::Mapping(after)) = (&old.kind, &new.kind) else {
        return Err(differs(old));
    };
    if (&old.tag, &old.anchor) != (&new.tag, &new.anchor) {
        return Err(differs(old));
    }
    let mut after = after.iter();
    let mut next = || after.next().ok_or_else(|| differs(old));
    for (key, value) in before {
        let wanted = key.as_str().and_then(|key| patch.get(key));
        if wanted.is_some_and(Value::is_null) {
            continue;
        }
        let (new_key, new_value) = next()?;
        same(key, new_key)?;
        match wanted {
            None => same(value, new_value)?,
            Some(Value::Object(inner)) if value.is_mapping() => {
                merge(Some(value), new_value, inner)?;
            }
            Some(wanted) => says(new_value, &fresh(wanted))?,
        }
    }
    let is_known = |key: &str| old.get(key).is_some();
    for (key, wanted) in patch {
        if !wanted.is_null() && !is_known(key) {
            let (new_key, new_value) = next()?;
            if read(new_key) != Some(Value::String(key.clone())) {
                return Err(differs(new_key));
            }
            says(new_value, &fresh(wanted))?;
        }
    }
    next().map_or(Ok(()), |(key, _)| Err(differs(key)))
}

fn push(old: Option<&Node>, new: &Node, item: &Value) -> Verdict {
    let old = old.ok_or("what should change isn't there")?;
    let (Kind::Sequence(before), Kind::Sequence(after)) = (&old.kind, &new.kind) else {
        return Err(differs(old));
    };
    let is_same = (&old.tag, &old.anchor) == (&new.tag, &new.anchor);
    match after.split_last() {
        Some((last, kept)) if is_same && kept.len() == before.len() => {
            let mut pairs = before.iter().zip(kept);
            pairs.try_for_each(|(old, new)| same(old, new))?;
            says(last, item)
        }
        _ => Err(differs(old)),
    }
}

/// The same by a reader that shares no code with ours, which follows aliases too.
fn second_reader(
    (old_text, old): (&str, &Stream),
    (new_text, new): (&str, &Stream),
    document: usize,
    at: &Route,
    wanted: &Wanted<'_>,
) -> Verdict {
    if let Ok(mut value) = serde_json::from_str::<Value>(old_text) {
        let read: Value = serde_json::from_str(new_text)
            .map_err(|why| format!("the text is no longer JSON: {why}"))?;
        let place = at.steps().iter().try_fold(&mut value, json_step);
        let place = place.ok_or("another reader doesn't find the place")?;
        match wanted {
            Wanted::Merge(patch) => {
                *place = merged(Some(place.take()), &Value::Object((*patch).clone()));
            }
            Wanted::Push(item) => {
                let items = place.as_array_mut();
                let items = items.ok_or("another reader doesn't find the place")?;
                items.push((*item).clone());
            }
        }
        return if value == read {
            Ok(())
        } else {
            Err("a reader of JSON reads something else".to_owned())
        };
    }
    let value = |text: &str, stream: &Stream| -> Result<serde_yaml::Value, String> {
        let span = stream.document(document).map(|d| d.span.clone());
        // With the blanks before it, by which its first line is indented.
        let span = span.map(|span| lines::start_of(text, span.start)..span.end);
        let text = span.and_then(|span| text.get(span)).unwrap_or_default();
        let text = text.trim_start_matches('\u{feff}');
        serde_yaml::from_str(text).map_err(|why| format!("another reader says: {why}"))
    };
    let mut expected = value(old_text, old)?;
    let place = at.steps().iter().try_fold(&mut expected, yaml_step);
    let place = place.ok_or("another reader doesn't find the place")?;
    match wanted {
        Wanted::Merge(patch) => {
            let patch = Value::Object((*patch).clone());
            let new = merged_yaml(Some(place.clone()), &patch);
            *place = new.ok_or("the patch can't be read")?;
        }
        Wanted::Push(item) => {
            let items = place.as_sequence_mut();
            let items = items.ok_or("another reader doesn't find the place")?;
            items.push(serde_yaml::to_value(item).map_err(|why| why.to_string())?);
        }
    }
    if value(new_text, new)? == expected {
        Ok(())
    } else {
        Err("another reader reads something else".to_owned())
    }
}

fn json_step<'a>(value: &'a mut Value, step: &Step) -> Option<&'a mut Value> {
    match (value, step) {
        (Value::Array(items), Step::Index(index)) => items.get_mut(*index),
        (Value::Object(map), Step::Index(index)) => map.get_mut(&index.to_string()),
        (Value::Object(map), Step::Key(key)) => map.get_mut(key),
        _ => None,
    }
}

fn yaml_step<'a>(
    value: &'a mut serde_yaml::Value,
    step: &Step,
) -> Option<&'a mut serde_yaml::Value> {
    let name = match step {
        Step::Key(key) => key.clone(),
        Step::Index(index) => index.to_string(),
    };
    match (value, step) {
        (serde_yaml::Value::Sequence(items), Step::Index(index)) => items.get_mut(*index),
        (serde_yaml::Value::Mapping(map), _) => {
            let key = map.keys().find(|key| key_text(key).as_ref() == Some(&name));
            let key = key.cloned()?;
            map.get_mut(&key)
        }
        _ => None,
    }
}

/// Checks that a splice touches the lines of its own entry alone: no byte of another one, and no comment elsewhere is lost.
pub(super) fn stays_inside(page: &Page<'_>, change: &Change, splice: &Splice) -> Verdict {
    let (range, written) = splice;
    let (at, key) = match change {
        Change::Set { at, key, .. } | Change::Remove { at, key } => (at, Some(key.as_str())),
        Change::Push { at, .. } => (at, None),
    };
    let held = page.held(at).ok_or("the place isn't there any more")?;
    let is_own = |name: &Node| key.is_some() && name.as_str() == key;
    let entries = held.node.entries();
    let others = entries.filter(|(name, _)| !is_own(name));
    let others = others.map(|(name, value)| name.span.start..end(name, value));
    let mut kept = others.chain(held.node.items().map(|item| item.span.clone()));
    let overlaps = |span: &Range<usize>| span.start < range.end && range.start < span.end;
    let limits = limits(page, &held);
    if kept.any(|span| overlaps(&span)) || range.start < limits.start || limits.end < range.end {
        return Err("bytes of another entry would change".to_owned());
    }
    let own = held.node.entries().find(|(name, _)| is_own(name));
    let own = own.map(|(name, value)| name.span.start..page.content_end(end(name, value)));
    let is_own = |at: usize| own.as_ref().is_some_and(|own| own.contains(&at));
    let mut rest = written.as_str();
    for comment in page.comments(range) {
        let written = format!("#{}", comment.text);
        match rest.find(written.trim_end()) {
            Some(found) => rest = &rest[found + written.trim_end().len()..],
            None if is_own(comment.span.start) => {}
            None => return Err("a comment of another entry would be lost".to_owned()),
        }
    }
    Ok(())
}

/// Where a collection may change: between its brackets, or on its own lines and behind its key.
fn limits(page: &Page<'_>, held: &Held<'_>) -> Range<usize> {
    let span = &held.node.span;
    let is_empty = held.node.entries().next().is_none() && held.node.items().next().is_none();
    if held.node.flow && !is_empty {
        return span.clone();
    }
    let start = match held.holder {
        Holder::Key(key) => key.span.end,
        Holder::Root | Holder::Sequence => {
            // A last line that goes takes the line break before it along.
            page.line_start(span.start)
                .saturating_sub(2)
                .min(span.start)
        }
    };
    start..lines::end_of(page.text, span.end)
}
