//! What a patch makes of texts as people write them.

use serde_json::{Value, json};

use super::{PatchError, merge};
use crate::yaml::Route;

fn at(route: &str) -> Route {
    Route::parse(route).unwrap()
}

#[track_caller]
fn check_at(document: usize, route: &str, before: &str, patch: &Value, after: &str) {
    let edited = merge(before, document, &at(route), patch).unwrap();
    assert_eq!(edited, after);
    assert_eq!(merge(&edited, document, &at(route), patch).unwrap(), after);
    if !before.contains('\r') && !before.is_empty() {
        let crlf = |text: &str| text.replace('\n', "\r\n");
        let edited = merge(&crlf(before), document, &at(route), patch).unwrap();
        if before.contains('\n') {
            assert_eq!(edited, crlf(after));
        }
    }
}

#[track_caller]
fn check(before: &str, patch: &Value, after: &str) {
    check_at(0, "", before, patch, after);
}

#[track_caller]
fn refused(before: &str, patch: &Value) -> PatchError {
    merge(before, 0, &Route::root(), patch).unwrap_err()
}

#[test]
fn a_scalar_keeps_its_quotes_and_gets_its_type() {
    let before = "a: '1' # c\nb: \"x\"   # d\nc: y # e\nd: 5\n";
    check(
        before,
        &json!({"a": "3.4", "b": "z", "c": "3.4", "d": "v"}),
        "a: '3.4' # c\nb: \"z\"   # d\nc: \"3.4\" # e\nd: v\n",
    );
    check(
        before,
        &json!({"a": 3.4, "b": true, "c": 3, "d": "5"}),
        "a: 3.4 # c\nb: true   # d\nc: 3 # e\nd: \"5\"\n",
    );
    check("a: 'x'\n", &json!({"a": "it's\t"}), "a: \"it's\\t\"\n");
    check("a: x\n", &json!({"a": 1e100}), "a: 1.0e+100\n");
    check("a: x\nb: y\n", &json!({"a": [], "b": {}}), "a: []\nb: {}\n");
}

#[test]
fn what_is_already_so_stays_as_it_is_written() {
    for text in [
        "a: 'x'\nb: [1,  2]\nc: {d: \"e\", f: ~}\ng: a, b?\n",
        "a: \"x\"\nb:\n- 1\n- 2\nc:\n  d: >-\n    e\n  f:\ng: 'a, b?'",
    ] {
        let patch = json!({"a": "x", "b": [1, 2], "c": {"d": "e", "z": null}, "g": "a, b?"});
        check(text, &patch, text);
    }
    // Words that readers take for different things are written so that they don't.
    check("a: yes\n", &json!({"a": "yes"}), "a: \"yes\"\n");
    check("a: 0644\n", &json!({"a": 644}), "a: 644\n");
}

#[test]
fn absent_values_and_nulls_are_filled() {
    check(
        "a:   # c\nb: ~ # d\n",
        &json!({"a": 1, "b": 2}),
        "a: 1   # c\nb: 2 # d\n",
    );
    check(
        "a:   # c\n# d\nb: null # e\n",
        &json!({"a": {"x": 1}, "b": ["q"]}),
        "a:   # c\n  x: 1\n# d\nb: # e\n  - q\n",
    );
    check("{a, b: }\n", &json!({"a": 1, "b": "x"}), "{a: 1, b: x }\n");
}

#[test]
fn new_keys_follow_the_indentation_of_their_map() {
    check(
        "# top\na:\n    b: 1 # c\n\n# next\nd: 2\n# end\n",
        &json!({"a": {"k2": {"x": [1, {"q": "z", "w": []}], "e": {}}}, "m": true}),
        "# top\na:\n    b: 1 # c\n    k2:\n        x:\n            - 1\n            - q: z\n              w: []\n        e: {}\n\n# next\nd: 2\nm: true\n# end\n",
    );
    check(
        "a:\n- x\nb: 1",
        &json!({"c": [["y"], {"z": [1]}]}),
        "a:\n- x\nb: 1\nc:\n- - \"y\"\n- z:\n  - 1",
    );
    check("a: |+\n  x\n\n", &json!({"b": 1}), "a: |+\n  x\n\nb: 1\n");
    check(
        "a: |\n  x\n\n\nb: 1\n",
        &json!({"c": 2}),
        "a: |\n  x\n\n\nb: 1\nc: 2\n",
    );
    check(
        "l:\n- a: 1\n  b: 2\n",
        &json!({"x-y/z": "on"}),
        "l:\n- a: 1\n  b: 2\nx-y/z: \"on\"\n",
    );
}

#[test]
fn kinds_are_exchanged_and_comments_stay() {
    check(
        "# above\na:   # c\n  # d\n  b: 1 # e\n  c: 2\n# f\nz: 1\n",
        &json!({"a": "x"}),
        "# above\na: x   # c\n# f\nz: 1\n",
    );
    check(
        "a: x   # c\nb: [1, 2] # d\nz: 1\n",
        &json!({"a": {"k": "v"}, "b": {"m": 1}}),
        "a:   # c\n  k: v\nb: # d\n  m: 1\nz: 1\n",
    );
    check(
        "a:\n- 1 # c\n- 2\nz: 1",
        &json!({"a": [3]}),
        "a:\n- 3\nz: 1",
    );
    check(
        "a:\n  - 1\nz:\n- 1\n",
        &json!({"z": [3, 4]}),
        "a:\n  - 1\nz:\n- 3\n- 4\n",
    );
    check(
        "a: |  # c\n  one\n  two\n\nb: >-\n  x\n",
        &json!({"a": "one line", "b": 7}),
        "a: one line  # c\n\nb: 7\n",
    );
    check("z: &x 1\na: *x\n", &json!({"a": 2}), "z: &x 1\na: 2\n");
    check("a: !!str 10 # c\n", &json!({"a": 3}), "a: 3 # c\n");
    check(
        "a: &x {b: 1} # c\n",
        &json!({"a": {"b": 2}}),
        "a: &x {b: 2} # c\n",
    );
}

#[test]
fn text_of_many_lines_becomes_a_literal_block() {
    check(
        "m:\n   a: x # c\n   z: 1\n",
        &json!({"m": {"a": "one\ntwo\n", "k2": " lead\nx"}}),
        "m:\n   a: | # c\n     one\n     two\n   z: 1\n   k2: |2-\n      lead\n     x\n",
    );
    // A comment that would become a part of the block.
    check(
        "a: 1\n    # c\n",
        &json!({"b": "c\nd\n"}),
        "a: 1\nb: \"c\\nd\\n\"\n    # c\n",
    );
    check(
        "  a: 1\n  b: &x\n",
        &json!({"a": 2, "b": {}}),
        "  a: 2\n  b: &x {}\n",
    );
    check(
        "a: 'x'\n",
        &json!({"a": "one \r\n two"}),
        "a: \"one \\r\\n two\"\n",
    );
    check("a: x", &json!({"a": "b\nc\n"}), "a: \"b\\nc\\n\"");
    check(
        "a: []\nb: 1\n",
        &json!({"a": ["b\n\nc\n", "d"]}),
        "a:\n  - |\n    b\n\n    c\n  - d\nb: 1\n",
    );
}

#[test]
fn entries_go_with_their_lines() {
    check(
        "# top\na: 1 # own\n# of b\nb:\n  c: 1\n  d: 2\n\n# end\ne: 3\n",
        &json!({"b": null}),
        "# top\na: 1 # own\n# of b\n\n# end\ne: 3\n",
    );
    check("a: 1\nb: 2", &json!({"b": null}), "a: 1");
    check("a: 1\nb: 2\n", &json!({"a": null, "b": null}), "{}\n");
    check("a: 1\n", &json!({"a": null, "b": null, "c": 1}), "c: 1\n");
    check(
        "k:   # c\n  # above\n  a: 1 # own\nz: 2\n",
        &json!({"k": {"a": null}}),
        "k: {}   # c\n  # above\nz: 2\n",
    );
    check(
        "k: &x\n  a: 1\nz: 2\n",
        &json!({"k": {"a": null}}),
        "k: &x {}\nz: 2\n",
    );
    check(
        "\u{feff}a: 1\nb: 2\n",
        &json!({"a": null}),
        "\u{feff}b: 2\n",
    );
    check("a: 1\n", &json!({"b": null}), "a: 1\n");
}

#[test]
fn entries_of_items_go_and_come() {
    let before = "l:\n- a: 1 # own\n  b: 2\n- c: 3\n";
    check_at(
        0,
        "l.0",
        before,
        &json!({"a": null, "k2": [1]}),
        "l:\n- b: 2\n  k2:\n  - 1\n- c: 3\n",
    );
    check_at(
        0,
        "l.1",
        before,
        &json!({"c": null}),
        "l:\n- a: 1 # own\n  b: 2\n- {}\n",
    );
    check_at(
        0,
        "l.0",
        "l:\n- {} # c\n",
        &json!({"a": 1, "b": 2}),
        "l:\n- # c\n  a: 1\n  b: 2\n",
    );
}

#[test]
fn maps_in_braces_stay_on_their_lines() {
    check(
        "a: { b: 1, c: 'x' } # d\n",
        &json!({"a": {"c": "y", "k2": {"m": [1, "2"]}}}),
        "a: { b: 1, c: 'y', k2: {m: [1, \"2\"]} } # d\n",
    );
    check(
        "a: {b: 1, c: 2,}\n",
        &json!({"a": {"d": 3}}),
        "a: {b: 1, c: 2, d: 3,}\n",
    );
    check(
        "a: {b: 1, c: 2, d: 3}\n",
        &json!({"a": {"b": null}}),
        "a: {c: 2, d: 3}\n",
    );
    check(
        "a: {b: 1, c: 2, d: 3}\n",
        &json!({"a": {"c": null}}),
        "a: {b: 1, d: 3}\n",
    );
    check(
        "a: {b: 1, c: 2, d: 3}\n",
        &json!({"a": {"d": null}}),
        "a: {b: 1, c: 2}\n",
    );
    check("a: { b: 1 }\n", &json!({"a": {"b": null}}), "a: {}\n");
    check(
        "a: {} # none\n",
        &json!({"a": {"b": 1, "c": 2}}),
        "a: # none\n  b: 1\n  c: 2\n",
    );
}

#[test]
fn braces_over_many_lines_keep_their_form() {
    let before = "a: {\n  b: 1, # one\n  # of c\n  c: 2 # two\n}\n";
    check(
        before,
        &json!({"a": {"d": {"x": 1}}}),
        "a: {\n  b: 1, # one\n  # of c\n  c: 2, # two\n  d: {\n    x: 1\n  }\n}\n",
    );
    check(
        before,
        &json!({"a": {"b": null}}),
        "a: {\n  # of c\n  c: 2 # two\n}\n",
    );
    check(
        before,
        &json!({"a": {"c": null}}),
        "a: {\n  b: 1 # one\n  # of c\n}\n",
    );
    check(
        "a: {\n  b: 1,\n}\n",
        &json!({"a": {"c": 2}}),
        "a: {\n  b: 1,\n  c: 2,\n}\n",
    );
    check(
        "a: {\n  b: 1 }\n",
        &json!({"a": {"c": 2}}),
        "a: {\n  b: 1,\n  c: 2 }\n",
    );
}

#[test]
fn json_stays_json() {
    let before = "{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"c\": \"x\"\n\t},\n\t\"l\": []\n}\n";
    check(
        before,
        &json!({"a": "y", "b": {"d": {"e": [true]}, "c": null}, "k2": 1}),
        "{\n\t\"a\": \"y\",\n\t\"b\": {\n\t\t\"d\": {\n\t\t\t\"e\": [\n\t\t\t\ttrue\n\t\t\t]\n\t\t}\n\t},\n\t\"l\": [],\n\t\"k2\": 1\n}\n",
    );
    check("{\"a\":1}", &json!({"b": "x", "a": null}), "{\"b\": \"x\"}");
    check("{}", &json!({"a": {"b": 1}}), "{\"a\": {\"b\": 1}}");
    check(
        "{} # none\n",
        &json!({"a": {"b": 1}}),
        "# none\na:\n  b: 1\n",
    );
}

#[test]
fn an_empty_text_is_begun() {
    let patch = json!({"a": {"b": 1, "c": null}, "d": null});
    check("", &patch, "a:\n  b: 1\n");
    check("# c\n\n", &patch, "# c\n\na:\n  b: 1\n");
    check("# c", &patch, "# c\na:\n  b: 1");
    check("---\n# c\n", &patch, "---\n# c\na:\n  b: 1\n");
    check("---", &patch, "---\na:\n  b: 1");
    check("--- {} # c\n", &patch, "--- \n# c\na:\n  b: 1\n");
    check("~\n", &patch, "a:\n  b: 1\n");
    check("", &json!({"d": null}), "");
    check_at(
        0,
        "spec.values",
        "",
        &json!({"x": "y"}),
        "spec:\n  values:\n    x: \"y\"\n",
    );
    check_at(
        1,
        "",
        "a: 1\n---\n# c\n---\nb: 1\n",
        &json!({"x": 1}),
        "a: 1\n---\n# c\nx: 1\n---\nb: 1\n",
    );
}

#[test]
fn the_route_leads_into_one_document_of_many() {
    let before = "kind: A\nspec:\n  values: {}\n---\nkind: HelmRelease # c\nspec:\n  chart: x\n  values:\n    a: &q 1\n    b: *q # d\n---\nkind: Application\nspec:\n  source:\n    helm:\n      releaseName: r\n";
    check_at(
        1,
        "spec.values",
        before,
        &json!({"b": 2, "c": ["x"]}),
        before
            .replace("    b: *q # d\n", "    b: 2 # d\n    c:\n      - x\n")
            .as_str(),
    );
    check_at(
        2,
        "spec.source.helm.valuesObject",
        before,
        &json!({"b": {"c": "1"}}),
        &format!("{before}      valuesObject:\n        b:\n          c: \"1\"\n"),
    );
    let error = merge(before, 3, &at("spec"), &json!({})).unwrap_err();
    assert_eq!(error.to_string(), "no document 3: the text holds 3");
    let same = merge(
        before,
        2,
        &at("spec.source.helm.valuesObject"),
        &json!({"x": null}),
    );
    assert_eq!(same.unwrap(), before);
}

#[test]
fn what_reaches_further_is_refused_with_its_place() {
    let set = json!({"a": {"b": 2}});
    let table: [(&str, &Value, &str, usize); 15] = [
        (
            "x: &x {b: 1}\na: *x\n",
            &set,
            "is an alias of `&x` (line 1)",
            2,
        ),
        (
            "a: &x {b: 1}\nc: *x\n",
            &set,
            "would change what `*x` in line 2 means",
            1,
        ),
        (
            "a:\n  b: &x 1\nc: *x\n",
            &set,
            "would change what `*x` in line 3 means",
            2,
        ),
        ("a:\n  b: {c: &x 1}\nc: *x\n", &set, "would change what", 2),
        (
            "x: &x {b: 1}\na:\n  <<: *x\n",
            &set,
            "merge key `<<` in line 3",
            3,
        ),
        ("a: 1\na: 2\n", &set, "key `a` stands already in line 1", 2),
        ("a: !t {b: 1}\n", &set, "`a` has a tag", 1),
        (
            "a: |\n  b: 1\n",
            &set,
            "is a block of text, not a mapping",
            1,
        ),
        ("a: [\n", &set, "", 1),
        (
            "a:\n  ? b\n  : 1\n",
            &set,
            "isn't written as `key: value`",
            2,
        ),
        ("a:\n  &k b: 1\n", &set, "isn't written as `key: value`", 2),
        ("a: {{ .x }}\n", &set, "needs quotes", 1),
        ("{{- if x }}\na: 1\n{{- end }}\n", &set, "", 1),
        (
            "- a\n",
            &set,
            "the document is a sequence, not a mapping",
            1,
        ),
        ("text\n", &set, "the document is a scalar, not a mapping", 1),
    ];
    for (before, patch, message, line) in table {
        let error = refused(before, patch);
        assert!(error.to_string().contains(message), "{before} {error}");
        let position = error.position();
        if !message.is_empty() {
            assert_eq!(position.map(|p| p.line), Some(line), "{before} {error}");
        }
        assert!(
            error.hint().is_some() || matches!(error, PatchError::Find(_)),
            "{error}"
        );
    }
    let merged = "x: &x {b: 1}\na:\n  <<: *x\n  b: 3\n";
    assert!(matches!(
        refused(merged, &json!({"a": {"b": null}})),
        PatchError::Find(_)
    ));
    check(merged, &set, &merged.replace('3', "2"));
    assert_eq!(refused("a: 1\n", &json!([])), PatchError::NotAPatch);
    assert!(matches!(
        refused("a: 1\rb: 2\r", &set),
        PatchError::Unproven { .. }
    ));
}
