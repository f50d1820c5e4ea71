//! The text of `.haptic-scaffold.yaml`: written once, and edited from then on without losing a comment.

use std::ops::Range;

use anyhow::Result;
use serde_json::{Map, Value};

use crate::error::Problem;
use crate::layout::recorded::{self, FILE_NAME};
use crate::yaml::{self, Node, lines, scalar};

/// What a new file begins with.
pub(super) const HEADER: &str = "\
# What the team decided about this repository. haptic-scaffold reads and writes it; people may edit it.
# The same answers give the same files. `haptic-scaffold schema` prints what may stand here.
";

/// Writes the answers into a text, or makes a new one.
///
/// # Errors
/// When the text can't be edited so that it says the wanted answers.
pub fn write(old: Option<&str>, answers: &Map<String, Value>) -> Result<String> {
    let Some(old) = old else {
        return Ok(format!("{HEADER}answers:\n{}", block(answers)));
    };
    let recorded = recorded::parse(old, FILE_NAME)?
        .answers
        .map(|answers| answers.to_map());
    let text = match recorded {
        Some(known) if known == *answers => return Ok(old.to_owned()),
        Some(known) => edit(old, &known, answers)?,
        None => format!("{}answers:\n{}", lines::with_newline(old), block(answers)),
    };
    let read = recorded::parse(&text, FILE_NAME)?
        .answers
        .map(|answers| answers.to_map());
    if read.as_ref() == Some(answers) {
        return Ok(text);
    }
    Err(Problem::invalid(format!(
        "cannot write the answers into `{FILE_NAME}` without touching what else stands there"
    ))
    .hint("write `answers:` as a block with one key on each line, or take it out and run the command again")
    .into())
}

fn block(answers: &Map<String, Value>) -> String {
    answers
        .iter()
        .map(|(name, value)| entry(name, value, 2))
        .collect()
}

/// The lines of one answer.
fn entry(name: &str, value: &Value, indent: usize) -> String {
    let pad = " ".repeat(indent);
    match value {
        Value::String(text) if text.contains('\n') => match scalar::block(text, indent + 2) {
            Some(block) => format!("{pad}{name}: {}\n", block.trim_end_matches('\n')),
            None => format!("{pad}{name}: {}\n", scalar::quote_always(text)),
        },
        Value::String(text) => format!("{pad}{name}: {}\n", scalar::quote(text)),
        Value::Array(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| scalar::quote(item.as_str().unwrap_or_default()))
                .collect();
            format!("{pad}{name}: [{}]\n", items.join(", "))
        }
        other => format!("{pad}{name}: {other}\n"),
    }
}

/// Changes the lines of the answers that changed, and no others.
fn edit(old: &str, known: &Map<String, Value>, wanted: &Map<String, Value>) -> Result<String> {
    let documents =
        yaml::parse_strict(old).map_err(|why| Problem::invalid(recorded::syntax_text(&why)))?;
    let root = documents.first().and_then(|d| d.root.as_ref());
    let Some((answers_key, answers)) = root
        .into_iter()
        .flat_map(Node::entries)
        .find(|(key, _)| key.as_str() == Some("answers"))
    else {
        return Ok(old.to_owned());
    };
    let indent = answers
        .entries()
        .next()
        .map_or(2, |(first, _)| first.position.column - 1);
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut end = lines::end_of(old, answers_key.span.end);
    for (key, value) in answers.entries() {
        let name = key.as_str().unwrap_or_default();
        let range = lines::of_entry(old, key, value);
        end = range.end;
        match wanted.get(name) {
            None => edits.push((range, String::new())),
            Some(new) if known.get(name) == Some(new) => {}
            Some(new) => edits.push(replacement(old, value, range, name, new, indent)),
        }
    }
    let added: String = wanted
        .iter()
        .filter(|(name, _)| !known.contains_key(*name))
        .map(|(name, value)| entry(name, value, indent))
        .collect();
    edits.push((end..end, added));
    Ok(lines::apply(old, edits))
}

/// A value of one line is replaced where it stands, so that a comment behind it stays; anything else with its lines.
fn replacement(
    old: &str,
    value: &Node,
    range: Range<usize>,
    name: &str,
    new: &Value,
    indent: usize,
) -> (Range<usize>, String) {
    let text = entry(name, new, 0);
    let written = text
        .trim_end()
        .strip_prefix(&format!("{name}: "))
        .unwrap_or_default();
    let before = &old[value.span.clone()];
    let is_one_line = |text: &str| !text.is_empty() && !text.contains('\n');
    if is_one_line(before) && is_one_line(written) && (value.flow || value.as_str().is_some()) {
        (value.span.clone(), written.to_owned())
    } else {
        (range, entry(name, new, indent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn a_new_file_is_read_back_as_the_same_answers() {
        let answers = map(
            &json!({"layout": "x", "clusters": ["a", "b=on"], "webhook_ca": "-----BEGIN\nabc\n-----END\n", "own": true, "path": "1.10"}),
        );
        let text = write(None, &answers).expect("writes");
        assert_eq!(
            recorded::parse(&text, "f")
                .expect("reads")
                .answers
                .expect("has answers")
                .to_map(),
            answers
        );
        assert_eq!(write(Some(&text), &answers).expect("writes"), text);
    }

    #[test]
    fn an_edit_keeps_comments_and_everything_else() {
        let old = "# top\nlayouts: mine # ours\nanswers:\n    # which\n    layout: x   # fine\n    clusters:\n    - a\n    release: r\n# end\n";
        let wanted = map(&json!({"layout": "other", "clusters": ["a", "b"], "namespace": "ns"}));
        let text = write(Some(old), &wanted).expect("writes");
        assert_eq!(
            text,
            "# top\nlayouts: mine # ours\nanswers:\n    # which\n    layout: other   # fine\n    clusters: [a, b]\n    namespace: ns\n# end\n"
        );
    }

    #[test]
    fn a_file_without_answers_gets_them_at_its_end() {
        let text = write(Some("layouts: mine"), &map(&json!({"layout": "x"}))).expect("writes");
        assert_eq!(text, "layouts: mine\nanswers:\n  layout: x\n");
    }
}
