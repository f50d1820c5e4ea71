//! Nasty but valid manifests, and random ones: an edit changes one scalar and
//! keeps every other byte.

use proptest::prelude::*;

use super::{Route, parse, parse_strict, replace_scalar};

/// Replaces `old`, the only one in the text, and compares byte by byte.
fn bump(text: &str, document: usize, route: &str, (old, value, new): (&str, &str, &str)) {
    assert_eq!(text.matches(old).count(), 1, "{old} in {text}");
    let route: Route = route.parse().unwrap();
    let edited = replace_scalar(text, document, &route, value)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(edited, text.replacen(old, new, 1));
}

/// The usual bump: the digits change and nothing else.
fn digits(text: &str, document: usize, route: &str) {
    bump(text, document, route, ("1.2.3", "1.2.4", "1.2.4"));
}

const REVISION: &str = "spec.source.targetRevision";

#[test]
fn comments_and_odd_indents_stay() {
    digits(
        "# head\nspec:   # a\n    source:\n\n       # why\n       targetRevision:   1.2.3   # pinned\n       # below\n    other: [ a,b ,  c ]\n# foot\n",
        0,
        REVISION,
    );
}

#[test]
fn both_quote_styles_stay() {
    digits(
        "spec:\n  source:\n    targetRevision: '1.2.3'   # c\n",
        0,
        REVISION,
    );
    digits(
        "spec:\n  source:\n    targetRevision: \"1.2.3\"   # c\n",
        0,
        REVISION,
    );
}

#[test]
fn crlf_and_byte_order_mark_stay() {
    let text = "\u{feff}spec:\r\n  source:\r\n    targetRevision: 1.2.3\r\n    path: x\r\n";
    digits(text, 0, REVISION);
}

#[test]
fn an_anchor_definition_stays() {
    digits(
        "spec:\n  source:\n    targetRevision: &rev 1.2.3\n  copy: *rev\n",
        0,
        REVISION,
    );
}

#[test]
fn a_flow_mapping_keeps_its_other_keys() {
    digits(
        "spec: {source: {chart: foo, targetRevision: 1.2.3, repoURL: 'https://x'}}\n",
        0,
        REVISION,
    );
}

#[test]
fn the_second_document_of_three_is_edited() {
    digits(
        "---\nspec: {source: {targetRevision: 1}}\n---\nspec:\n  source: {targetRevision: 1.2.3}\n---\nspec: {}\n...\n",
        1,
        REVISION,
    );
}

#[test]
fn a_list_item_behind_a_block_scalar_with_false_friends() {
    digits(
        "spec:\n  sources:\n  - values: |\n      targetRevision: 9.9.9\n      ---\n      # no comment\n\n    chart: a\n  - chart: b\n    targetRevision: 1.2.3\n",
        0,
        "spec.sources.1.targetRevision",
    );
}

#[test]
fn unicode_before_the_value_and_no_final_newline() {
    digits("größe: '日本 🦀' # ü\nversion: 1.2.3", 0, "version");
}

#[test]
fn a_merge_key_is_overridden_not_followed() {
    digits(
        "base: &b {version: 1}\napp:\n  <<: *b\n  version: 1.2.3\n",
        0,
        "app.version",
    );
}

#[test]
fn a_value_that_looks_like_a_number_gets_quotes() {
    bump(
        "version: 1.9.0 # c\n",
        0,
        "version",
        ("1.9.0", "1.10", "\"1.10\""),
    );
}

#[test]
fn a_tag_stays() {
    digits("version: !!str 1.2.3 # c\n", 0, "version");
    digits(
        "version: !<tag:example.com,2000:v> &v '1.2.3'\n",
        0,
        "version",
    );
}

#[test]
fn a_wide_gap_behind_a_dash_stays() {
    digits(
        "list:\n-     name: a\n      version: 1.2.3\n-   1.1.1\n",
        0,
        "list.0.version",
    );
    digits("list:\n  -    1.2.3   # c\n", 0, "list.0");
}

#[test]
fn a_value_on_the_next_line_behind_a_comment() {
    digits("version:   # c\n  # d\n\n  1.2.3\nnext: 1\n", 0, "version");
}

#[test]
fn an_explicit_key_stays() {
    digits("? version\n# c\n: 1.2.3\n? other\n: - x\n", 0, "version");
}

#[test]
fn an_error_in_a_later_document_does_not_matter() {
    digits("version: 1.2.3\n---\nbroken: [a, 'b\n  - }\n", 0, "version");
    digits(
        "version: 1.2.3\n---\nb: \"x\n---\nc: @\n---\nd: 1\n",
        0,
        "version",
    );
}

#[test]
fn a_marker_comment_stays() {
    digits(
        "# renovate: datasource=helm depName=x\nversion: 1.2.3 # {\"$imagepolicy\": \"a:b\"}\n",
        0,
        "version",
    );
}

#[test]
fn a_comment_block_and_its_wide_list_stay_where_they_are() {
    digits(
        "spec:\n  chart: {spec: {chart: shop, version: 1.2.3}}\n  values:\n    # cache:\n    #   size: 2Gi\n\n    ingress:\n      hosts:\n          - name: a.example.org\n",
        0,
        "spec.chart.spec.version",
    );
}

#[test]
fn folded_literal_and_broken_scalars_stay() {
    digits(
        "version: 1.2.3\na: >-\n  one\n  two\n\n  three\nb: |+\n  keep\n\n\nc: |2\n    lead\n  x\nd: \"broken \\\n    over \\\n    lines\"\n",
        0,
        "version",
    );
}

#[test]
fn quotes_are_neither_dropped_nor_swapped() {
    for (at, old) in [("a", "'1.2.3'"), ("b", "\"1.2.3\""), ("c", "v1.2.3 ")] {
        let text = "a: '1.2.3'\nb: \"1.2.3\"\nc: v1.2.3 \n";
        let new = old.replace('3', "4");
        let value = new.trim_matches(['\'', '"', ' ']);
        bump(text, 0, at, (old, value, &new));
    }
}

#[test]
fn line_endings_and_the_last_newline_stay() {
    for text in ["a: 1\nversion: 1.2.3\n", "a: 1\nversion: 1.2.3"] {
        digits(text, 0, "version");
        digits(&text.replace('\n', "\r\n"), 0, "version");
    }
}

#[test]
fn a_list_shows_where_its_last_item_ends() {
    let text = "resources:\n- namespace.yaml\n- crds.yaml       # vendored, see CHANGES\n# apps below are generated\n- web/\n\n# end\n";
    let document = parse_strict(text).unwrap().remove(0);
    let list = document.root.as_ref().unwrap().get("resources").unwrap();
    assert!(text[..list.span.end].ends_with("- web/"));
    assert_eq!((list.position.line, list.position.column), (2, 1));
    assert_eq!(document.comments.len(), 3);
}

/// A random value: how it is written, on one line or as a block below its key.
#[derive(Debug, Clone)]
enum Piece {
    Inline(String),
    Block(Vec<String>),
    Map(Vec<(String, Self)>),
    List(Vec<Self>, usize),
}

fn inline() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "",
        "1.2.3",
        "'it''s'",
        "\"a\\tb\"",
        "&a v1",
        "!!str 10",
        "!t &b 'x'",
        "[a, 'b', {c: d}]",
        "{a: 1, \"b\": [], c: }",
        "plain text # comment",
        "x   # c",
        "https://a.b/c?d#e",
        "~",
        "yes",
        "größe 🦀",
        "{}",
        "[]",
        "'{{ .x }}'",
        "\n      far below",
        "  # comment\n      far below",
    ]);
    prop_oneof![fixed.prop_map(str::to_owned), "[a-z][a-z0-9 ]{0,8}[a-z]"]
}

fn piece() -> impl Strategy<Value = Piece> {
    let lines = prop::collection::vec("([a-z:#-][a-z :#'\"-]{0,8})?", 1..4);
    let leaf =
        prop_oneof![4 => inline().prop_map(Piece::Inline), 1 => lines.prop_map(Piece::Block)];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let entry = ("[a-z]{1,5}", inner.clone());
        prop_oneof![
            prop::collection::vec(entry, 1..4).prop_map(Piece::Map),
            (prop::collection::vec(inner, 1..4), 0..3usize)
                .prop_map(|(items, gap)| Piece::List(items, gap)),
        ]
    })
}

/// Writes a piece behind its indicator; the rest of the current line is its own.
fn render(piece: &Piece, indent: usize, text: &mut String) {
    let margin = " ".repeat(indent);
    match piece {
        Piece::Inline(written) => {
            let written = written.replace("\n      ", &format!("\n{margin}      "));
            let gap = if written.is_empty() { "" } else { " " };
            text.push_str(&format!("{gap}{written}\n"));
        }
        Piece::Block(lines) => {
            let header = ["|", ">-", "|+", "|- # c"][lines.len() % 4];
            text.push_str(&format!(" {header}\n"));
            for line in lines.iter().filter(|line| !line.is_empty()) {
                text.push_str(&format!("{margin}  {line}\n\n"));
            }
        }
        Piece::Map(entries) => {
            text.push_str("  # map\n");
            for (at, (key, value)) in entries.iter().enumerate() {
                text.push_str(&format!("{margin}# {key}\n{margin}{key}{at}:"));
                render(value, indent + 2, text);
            }
        }
        Piece::List(items, gap) => {
            text.push('\n');
            let margin = " ".repeat(indent + gap);
            for item in items {
                text.push_str(&format!("{margin}-"));
                render(item, indent + gap + 2, text);
            }
        }
    }
}

fn document(entries: &[(String, Piece)], crlf: bool, mark: bool) -> String {
    let mut text = String::from("# first\n---\nfirst: 'document'\n---");
    render(&Piece::Map(entries.to_vec()), 0, &mut text);
    text.push_str("...\n---\nlast: \"document\" # end");
    if crlf {
        text = text.replace('\n', "\r\n");
    }
    if mark {
        text.insert(0, '\u{feff}');
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_random_edit_of_a_random_text_changes_one_scalar(
        entries in prop::collection::vec(("[a-z]{1,5}", piece()), 1..5),
        value in prop_oneof![Just("2.0.0".to_owned()), "[ -~é\t\u{85}]{0,8}", "[^\r\n]{0,6}"],
        pick in any::<prop::sample::Index>(),
        crlf: bool,
        mark: bool,
    ) {
        let text = document(&entries, crlf, mark);
        let stream = parse(&text);
        // A repeated anchor is fine, everything else must be read.
        prop_assert!(stream.errors.is_empty(), "{:?}\n{text}", stream.errors);
        let root = stream.documents[1].root.as_ref().unwrap();
        let leaves = root.leaves();
        prop_assume!(!leaves.is_empty());
        let (route, node) = &leaves[pick.index(leaves.len())];
        if node.as_scalar().is_none_or(|scalar| scalar.style.is_block()) {
            prop_assert!(replace_scalar(&text, 1, route, &value).is_err());
            return Ok(());
        }
        let edited = replace_scalar(&text, 1, route, &value)
            .map_err(|error| TestCaseError::fail(format!("{route}: {error}\n{text}")))?;
        prop_assert!(edited.starts_with(&text[..node.span.start]), "{edited}");
        prop_assert!(edited.ends_with(&text[node.span.end..]), "{edited}");
        let again = parse(&edited);
        let changed = again.documents[1].root.as_ref().unwrap().find(route).unwrap();
        prop_assert_eq!(changed.as_str(), Some(value.as_str()));
        prop_assert_eq!(replace_scalar(&edited, 1, route, &value).unwrap(), edited);
    }
}
