//! Random patches of random texts: refused, or proven and done for good.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::value::{merged, merged_yaml};
use super::{PatchError, append, merge};
use crate::yaml::soup::{manifests, soup};
use crate::yaml::{Route, lines, parse};

fn word() -> impl Strategy<Value = String> {
    prop_oneof![6 => "[a-d]", 1 => "[a-z1.: #-]{1,4}"]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        2 => (-20..20_i64).prop_map(Value::from),
        1 => any::<f64>().prop_filter_map("finite", |n| n.is_finite().then(|| Value::from(n))),
        2 => prop::sample::select(vec!["x", "3.4", "yes", "", "a\nb\n", " a\nb", "a: b #", "2026-01-01", "~", "1e3", "{{ x }}", "\u{feff}", "a\n"])
            .prop_map(Value::from),
        1 => "[ -~é\n\t]{0,9}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            2 => map_of(inner.clone()),
            1 => prop::collection::vec(inner, 0..3).prop_map(Value::from),
        ]
    })
}

fn map_of(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((word(), inner), 0..4)
        .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>()))
}

/// Lines as people write them, at random depths.
fn page() -> impl Strategy<Value = String> {
    let lines = prop::sample::select(vec![
        "a:",
        "b: # c",
        "c: 'q' # d",
        "d: \"r\"",
        "a: 1",
        "b: plain words  # e",
        "c: [1, 'x'] # f",
        "d: {a: 1, b: {c: 2}}",
        "- a: 1",
        "- b",
        "-",
        "# note",
        "",
        "a: |\n        text\n\n",
        "b: >-\n        fold",
        "c: |+\n        keep\n\n",
        "d: &x 1",
        "a: *x",
        "<<: *x",
        "b: !t y",
        "c: {}",
        "d: [] # g",
        "a: ~",
        "'b': 2",
        "? c",
        ": d",
        "a: {\n      b: 1, # h\n      c: 2 }",
        "b: {\n      \"a\": [1,\n       2],\n      }",
        "c: &y",
        "---",
        "...",
        "\"d\": {\"a\": \"b\", \"c\": {}}",
        "é: ü",
    ]);
    let line = (0..4_usize, lines);
    (
        prop::collection::vec(line, 0..9),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(lines, crlf, mark, is_ended)| {
            let mut text = String::new();
            for (depth, line) in lines {
                if !line.starts_with(['.', '-']) || line.len() != 3 {
                    text.push_str(&"  ".repeat(depth / 2 + depth % 2));
                }
                text.push_str(line);
                text.push('\n');
            }
            if !is_ended {
                text.pop();
            }
            if crlf {
                text = text.replace('\n', "\r\n");
            }
            if mark {
                text.insert(0, '\u{feff}');
            }
            text
        })
}

/// A map that is written well, in one of several manners.
fn written() -> impl Strategy<Value = (String, Value)> {
    (map_of(value()), 0..4_usize).prop_map(|(value, manner)| {
        let text = match manner {
            0 => serde_json::to_string(&value).unwrap(),
            1 => serde_json::to_string_pretty(&value).unwrap(),
            2 => serde_yaml::to_string(&value).unwrap(),
            _ => merge("", 0, &Route::root(), &value).unwrap_or_default(),
        };
        (text, value)
    })
}

fn routes() -> impl Strategy<Value = Route> {
    prop::sample::select(vec!["", "a", "b", "a.b", "c", "c.0", "d.a"])
        .prop_map(|route| Route::parse(route).unwrap())
}

fn second(text: &str) -> serde_yaml::Value {
    serde_yaml::from_str(text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_patched_once_or_refused(text in page(), route in routes(), document in 0..2_usize, patch in map_of(value())) {
        let Ok(edited) = merge(&text, document, &route, &patch) else { return Ok(()) };
        let again = merge(&edited, document, &route, &patch);
        prop_assert_eq!(again, Ok(edited.clone()), "{}", text);
        // What the patch doesn't name is there, byte by byte, with the comments above it and behind it.
        let stream = parse(&text);
        let root = stream.document(document).and_then(|document| document.root.as_ref());
        if let Some(root) = root.filter(|root| route.is_root() && !root.flow) {
            for (key, value) in root.entries().filter(|(key, _)| patch.get(key.as_str().unwrap()).is_none()) {
                let line = lines::of_entry(&text, key, value);
                prop_assert!(edited.contains(text[line].trim_end_matches(['\r', '\n'])), "{}", edited);
            }
            let is_inside = |at: usize| root.entries().any(|(key, value)| lines::of_entry(&text, key, value).contains(&at));
            for comment in &stream.document(document).unwrap().comments {
                let is_kept = edited.contains(&text[comment.span.clone()]);
                prop_assert!(is_kept || is_inside(comment.span.start), "{}", edited);
            }
        }
    }

    #[test]
    fn any_text_gets_an_item_or_is_refused(text in page(), route in routes(), item in value()) {
        let Ok(edited) = append(&text, 0, &route, &item) else { return Ok(()) };
        let stream = parse(&edited);
        let list = stream.documents[0].root.as_ref().unwrap().find(&route).unwrap();
        let last = list.items().last().unwrap();
        prop_assert_eq!(super::value::read(last), Some(item));
    }

    #[test]
    fn texts_that_nobody_would_write_are_patched_or_refused(soup in soup(), lines in manifests(), patch in map_of(value())) {
        for text in [soup, lines] {
            for document in 0..2 {
                if let Ok(edited) = merge(&text, document, &Route::root(), &patch) {
                    prop_assert_eq!(merge(&edited, document, &Route::root(), &patch), Ok(edited), "{}", text);
                }
                let _ = append(&text, document, &Route::root().key("a"), &patch);
            }
        }
    }

    #[test]
    fn well_written_maps_take_every_patch((text, value) in written(), patch in map_of(value())) {
        let edited = match merge(&text, 0, &Route::root(), &patch) {
            Ok(edited) => edited,
            // A reader in between may not take what another one wrote; text is never taken for a map.
            Err(PatchError::Syntax(_) | PatchError::BlockText { .. }) => return Ok(()),
            Err(why) => return Err(TestCaseError::fail(format!("{why}\n{text}\n{patch}"))),
        };
        if let Ok(json) = serde_json::from_str::<Value>(&text) {
            let read: Value = serde_json::from_str(&edited).unwrap();
            prop_assert_eq!(read, merged(Some(json), &patch));
        } else {
            let expected = merged_yaml(Some(second(&text)), &patch).unwrap();
            let _ = value;
            if !edited.is_empty() {
                prop_assert_eq!(second(&edited), expected, "{}", edited);
            }
        }
        prop_assert_eq!(merge(&edited, 0, &Route::root(), &patch).unwrap(), edited);
    }
}
