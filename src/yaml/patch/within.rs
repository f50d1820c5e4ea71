//! A merge patch for a text of YAML that stands in a literal block of another one, as values within an object do.

use serde_json::Value;

use super::steps::{walk, wrong_kind};
use super::{PatchError, merge, read, root};
use crate::yaml::{Kind, Node, Route, Style};

/// Returns the text with a merge patch applied to the YAML in the literal block (`|`) at a route of a document, and every other
/// byte as it was.
///
/// The block's header and indentation stay. The result is read again, and everything but the block must be as it was.
///
/// # Errors
/// As [`merge`]; when no literal block stands at the route, or its text isn't YAML.
pub fn merge_within(
    text: &str,
    document: usize,
    route: &Route,
    patch: &Value,
) -> Result<String, PatchError> {
    let stream = read(text, document)?;
    let unproven = |reason: &str| PatchError::Unproven {
        reason: reason.to_owned(),
    };
    let Some(root) = root(&stream, document) else {
        return Err(unproven("the document is empty"));
    };
    let (way, rest) = walk(root, route)?;
    let (at, node) = &way[way.len() - 1];
    let scalar = match &node.kind {
        Kind::Scalar(scalar) if scalar.style == Style::Literal && rest.is_empty() => scalar,
        _ => return Err(wrong_kind(at, node, "a literal block (`|`)")),
    };
    if let (Some(anchor), _) | (None, Some(anchor)) = (&node.anchor, &node.tag) {
        return Err(unproven(&format!("`{anchor}` stands before the block")));
    }
    let old = scalar.value.as_str();
    let mut new = merge(old, 0, &Route::root(), patch).map_err(|why| {
        let reason = format!("in the text at `{at}`: {why}");
        PatchError::Unproven { reason }
    })?;
    if new == old {
        return Ok(text.to_owned());
    }
    match (old.ends_with('\n'), new.ends_with('\n')) {
        (true, false) => new.push('\n'),
        (false, true) => new.truncate(new.trim_end_matches('\n').len()),
        _ => {}
    }
    let done = written(text, node, old, &new)
        .ok_or_else(|| unproven("the lines of the block aren't indented alike"))?;
    let again = read(&done, document)?;
    let all = |roots: Vec<&Node>| -> Vec<(Route, Node)> {
        let leaves = roots.into_iter().flat_map(Node::leaves);
        leaves
            .map(|(route, node)| {
                (
                    route,
                    Node {
                        span: 0..0,
                        position: root.position,
                        ..node.clone()
                    },
                )
            })
            .collect()
    };
    let mut wanted = all(stream.roots().collect());
    let own = wanted.iter_mut().filter(|(found, _)| found == route);
    let mut own = own.filter_map(|(_, node)| match &mut node.kind {
        Kind::Scalar(scalar) if scalar.value == old => Some(scalar),
        _ => None,
    });
    match (own.next(), own.next()) {
        (Some(scalar), None) => scalar.value.clone_from(&new),
        // Two documents have the same text in the same place: the right one was read above by its number.
        _ => return Err(unproven("the block isn't the only one of its kind")),
    }
    if all(again.roots().collect()) != wanted {
        return Err(unproven("the new text would read differently"));
    }
    Ok(done)
}

/// The whole text with other lines in a block. Lines that are the same before and behind what changes stay byte for byte.
fn written(text: &str, node: &Node, old: &str, new: &str) -> Option<String> {
    let start = text[node.span.start..].find('\n')? + node.span.start + 1;
    let eol = match text[..start].ends_with("\r\n") {
        true => "\r\n",
        false => "\n",
    };
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let here: Vec<&str> = text[start..]
        .split_inclusive('\n')
        .take(old_lines.len())
        .collect();
    let mut indent: Option<&str> = None;
    for (line, said) in here.iter().zip(&old_lines) {
        let (line, said) = (
            line.trim_end_matches(['\r', '\n']),
            said.trim_end_matches('\n'),
        );
        if said.trim().is_empty() {
            continue;
        }
        let own = line.strip_suffix(said)?;
        if !own.bytes().all(|byte| byte == b' ') || indent.is_some_and(|known| known != own) {
            return None;
        }
        indent = Some(own);
    }
    let (indent, most) = (indent?, old_lines.len().min(new_lines.len()));
    let same = |pair: (&&str, &&str)| pair.0 == pair.1;
    let before = old_lines
        .iter()
        .zip(&new_lines)
        .take_while(|pair| same(*pair))
        .count();
    let behind = old_lines.iter().rev().zip(new_lines.iter().rev());
    let behind = behind
        .take_while(|pair| same(*pair))
        .count()
        .min(most - before);
    let end = start + here.iter().map(|line| line.len()).sum::<usize>();
    let mut done = text[..start].to_owned();
    done.extend(here[..before].iter().copied());
    for line in &new_lines[before..new_lines.len() - behind] {
        let said = line.trim_end_matches('\n');
        if !done.ends_with('\n') {
            done.push_str(eol);
        }
        if !said.is_empty() {
            done.push_str(indent);
            done.push_str(said);
        }
        done.push_str(eol);
    }
    done.extend(here[here.len() - behind..].iter().copied());
    let ended = text[..end].ends_with('\n');
    if !ended && behind == 0 {
        done.truncate(done.trim_end_matches(['\r', '\n']).len());
    }
    done.push_str(&text[end..]);
    Some(done)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const APPLICATION: &str = "# head\nspec:\n  helm:\n    values: |\n      # values\n      replicas: 1 # one\n\n      tls:\n        open: true\n    next: 1 # n\n---\na: 1\n";

    fn at() -> Route {
        Route::root().key("spec").key("helm").key("values")
    }

    #[test]
    fn what_is_in_a_block_is_patched_there() {
        let patch = json!({"replicas": 3, "tls": {"open": null, "port": 9}, "new": {"a": "x y"}});
        let wanted = "# head\nspec:\n  helm:\n    values: |\n      # values\n      replicas: 3 # one\n\n      tls:\n        port: 9\n      new:\n        a: x y\n    next: 1 # n\n---\na: 1\n";
        for (text, wanted) in [
            (APPLICATION.to_owned(), wanted.to_owned()),
            (APPLICATION.replace('|', "|-"), wanted.replace('|', "|-")),
            (
                APPLICATION.replace('\n', "\r\n"),
                wanted.replace('\n', "\r\n"),
            ),
        ] {
            let done = merge_within(&text, 0, &at(), &patch).unwrap();
            assert_eq!(done, wanted);
        }
        let end = "spec:\n  helm:\n    values: |\n      replicas: 1";
        let done = merge_within(end, 0, &at(), &json!({"a": 1})).unwrap();
        assert_eq!(done, format!("{end}\n      a: 1"));
        let same = merge_within(APPLICATION, 0, &at(), &json!({"replicas": 1})).unwrap();
        assert_eq!(same, APPLICATION);
    }

    #[test]
    fn what_is_no_literal_block_is_refused() {
        for text in [
            "spec: {helm: {values: 'a: 1'}}\n",
            "spec:\n  helm:\n    values: >\n      a: 1\n",
            "spec:\n  helm:\n    values: |\n      - a\n",
            "spec:\n  helm:\n    values: &x |\n      a: 1\n    b: *x\n",
            "spec:\n  helm: {}\n",
            "",
        ] {
            assert!(
                merge_within(text, 0, &at(), &json!({"a": 2})).is_err(),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_text_is_what_the_patch_makes_of_it(
            keys in proptest::collection::btree_map("[a-d]", "[a-z0-9 :#'-]{0,6}", 1..4),
            patch in proptest::collection::btree_map("[a-f]", proptest::option::of("[a-z0-9 :#'\n-]{0,6}"), 0..4),
            chomp in "[+-]?",
        ) {
            let inner = serde_yaml::to_string(&keys).unwrap();
            let block: String = inner.lines().map(|line| format!("    {line}\n")).collect();
            let text = format!("a:\n  v: |{chomp}\n{block}  w: 'x'\n");
            let patch = json!(patch);
            let route = Route::root().key("a").key("v");
            let Ok(done) = merge_within(&text, 0, &route, &patch) else { return Ok(()) };
            let read: Value = serde_yaml::from_str(&done).unwrap();
            prop_assert_eq!(&read["a"]["w"], "x");
            let values: Value = serde_yaml::from_str(read["a"]["v"].as_str().unwrap()).unwrap();
            let mut wanted = json!(keys);
            for (key, value) in patch.as_object().unwrap() {
                match value {
                    Value::Null => { wanted.as_object_mut().unwrap().remove(key); }
                    value => wanted[key] = value.clone(),
                }
            }
            let is_empty = values.is_null() && wanted == json!({});
            prop_assert!(is_empty || values == wanted, "{}", done);
        }
    }
}
