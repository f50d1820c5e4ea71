//! Items behind the last one of sequences as people write them.

use serde_json::{Value, json};

use super::append;
use crate::yaml::Route;

fn at(route: &str) -> Route {
    Route::parse(route).unwrap()
}

#[track_caller]
fn check_append(route: &str, before: &str, item: &Value, after: &str) {
    let edited = append(before, 0, &at(route), item).unwrap();
    assert_eq!(edited, after);
}

#[test]
fn items_go_behind_the_last_one() {
    let item = json!({"a": "x", "b": [1]});
    let table = [
        (
            "l:\n- y: 1 # c\n# d\nz: 1\n",
            "l:\n- y: 1 # c\n- a: x\n  b:\n  - 1\n# d\nz: 1\n",
        ),
        ("l:\n  - y", "l:\n  - y\n  - a: x\n    b:\n      - 1"),
        ("l: [1, 2] # c\n", "l: [1, 2, {a: x, b: [1]}] # c\n"),
        (
            "l: [\n  1, # c\n]\n",
            "l: [\n  1, # c\n  {\n    a: x,\n    b: [\n      1\n    ]\n  },\n]\n",
        ),
        ("l: [] # c\n", "l: # c\n  - a: x\n    b:\n      - 1\n"),
        (
            "l: # c\nz: 1\n",
            "l: # c\n  - a: x\n    b:\n      - 1\nz: 1\n",
        ),
        ("z: 1\n", "z: 1\nl:\n  - a: x\n    b:\n      - 1\n"),
        ("", "l:\n  - a: x\n    b:\n      - 1\n"),
        ("# c\n", "# c\nl:\n  - a: x\n    b:\n      - 1\n"),
        ("{\"l\": []}", "{\"l\": [{\"a\": \"x\", \"b\": [1]}]}"),
        (
            "{\"z\": 1}",
            "{\"z\": 1, \"l\": [{\"a\": \"x\", \"b\": [1]}]}",
        ),
    ];
    for (before, after) in table {
        check_append("l", before, &item, after);
    }
    check_append("", "- a\n", &json!("1"), "- a\n- \"1\"\n");
    check_append(
        "a.b",
        "a:\n  c: 1\n",
        &json!("one\ntwo\n"),
        "a:\n  c: 1\n  b:\n    - |\n      one\n      two\n",
    );
}

#[test]
fn an_item_has_no_place_in_anything_else() {
    for (before, message) in [
        ("l: x\n", "`l` is a scalar, not a sequence"),
        ("l: {}\n", "`l` is a mapping, not a sequence"),
        ("l: !t []\n", "has a tag"),
        ("l: &x [1]\nm: *x\n", "would change what `*x`"),
        ("x: &x [1]\nl: *x\n", "is an alias"),
    ] {
        let error = append(before, 0, &at("l"), &json!(1)).unwrap_err();
        assert!(error.to_string().contains(message), "{before} {error}");
    }
}
