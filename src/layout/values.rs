//! The chart's values: what the answers ask for, put into the team's own text without touching a line of it.

use anyhow::Result;

use crate::error::Problem;
use crate::yaml::{self, Node, lines};

/// Puts the entries of `required` that `own` lacks into it. `place` names the team's file in errors.
///
/// Missing keys go below the key that they belong to, at its children's indent; at the top level they go to the end.
///
/// # Errors
/// When `own` isn't a YAML mapping, says something else at a required place, or has a form there that lines can't be added to.
pub fn compose(required: &str, own: &str, place: &str) -> Result<String> {
    let own_root = mapping(own, place)?;
    let required_documents = yaml::parse_strict(required)
        .map_err(|why| anyhow::anyhow!("the values that the answers ask for: {}", why.message))?;
    let Some(required_root) = required_documents.first().and_then(|d| d.root.as_ref()) else {
        return Ok(lines::with_newline(own));
    };
    let Some(own_root) = own_root else {
        return Ok(format!("{}{required}", lines::with_newline(own)));
    };
    let mut composer = Composer {
        required,
        own,
        place,
        insertions: Vec::new(),
    };
    composer.merge(required_root, &own_root, None)?;
    let composed = composer.finish();
    let is_whole = mapping(&composed, place)
        .ok()
        .flatten()
        .is_some_and(|root| has_all(&root, required_root) && has_all(&root, &own_root));
    if is_whole {
        return Ok(composed);
    }
    Err(Problem::invalid(format!(
        "cannot put the required values into `{place}` without changing what it says"
    ))
    .hint("write them in by hand; they are those that the same command writes without `--values`")
    .into())
}

/// The one mapping of a values file; nothing where there are only comments.
fn mapping(text: &str, place: &str) -> Result<Option<Node>> {
    let documents = yaml::parse_strict(text).map_err(|why| {
        Problem::invalid(format!(
            "cannot read `{place}`: {}",
            super::recorded::syntax_text(&why)
        ))
    })?;
    if documents.len() > 1 {
        return Err(Problem::invalid(format!(
            "cannot use `{place}` as values: it has more than one document"
        ))
        .hint("Helm reads the first alone")
        .into());
    }
    match documents
        .into_iter()
        .next()
        .and_then(|document| document.root)
    {
        Some(root) if root.is_mapping() => Ok(Some(root)),
        Some(root) if !root.is_null() => Err(Problem::invalid(format!(
            "cannot use `{place}` as values: it is {}, and values are a mapping",
            root.kind.name()
        ))
        .into()),
        _ => Ok(None),
    }
}

/// Whether every scalar of a tree stands at its place in another one.
fn has_all(root: &Node, part: &Node) -> bool {
    part.leaves().into_iter().all(|(route, leaf)| {
        root.find(&route)
            .is_ok_and(|found| found.as_str() == leaf.as_str())
    })
}

struct Composer<'a> {
    required: &'a str,
    own: &'a str,
    place: &'a str,
    /// Offset in `own`, and the text to put there.
    insertions: Vec<(usize, String)>,
}

impl Composer<'_> {
    /// `key` is the key in `own` that holds the mapping; nothing for the top level.
    fn merge(&mut self, required: &Node, own: &Node, key: Option<&Node>) -> Result<()> {
        if !own.is_mapping() || own.flow {
            return self.refuse_form(own, key);
        }
        let mut missing = String::new();
        for (required_key, required_value) in required.entries() {
            let name = required_key.as_str().unwrap_or_default();
            match own.entries().find(|(k, _)| k.as_str() == Some(name)) {
                None => missing.push_str(&self.lines_of(required_key, required_value)),
                Some((own_key, own_value)) if required_value.is_mapping() => {
                    self.merge(required_value, own_value, Some(own_key))?;
                }
                Some((_, own_value)) if own_value.as_str() == required_value.as_str() => {}
                Some((own_key, own_value)) => {
                    return Err(self.contradiction(name, required_value, own_key, own_value));
                }
            }
        }
        if !missing.is_empty() {
            let indent = own
                .entries()
                .next()
                .map_or(0, |(first, _)| first.position.column - 1);
            let at = key.map_or(self.own.len(), |key| lines::end_of(self.own, key.span.end));
            self.insertions.push((at, indented(&missing, indent)));
        }
        Ok(())
    }

    fn contradiction(&self, name: &str, wanted: &Node, key: &Node, found: &Node) -> anyhow::Error {
        let found = found.as_str().unwrap_or("a list or a mapping");
        let wanted = wanted.as_str().unwrap_or_default();
        Problem::invalid(format!(
            "{}:{}: `{name}` is `{found}`, and the answers need `{wanted}`",
            self.place, key.position.line
        ))
        .hint(format!(
            "take the line out of `{}`, or change the answer",
            self.place
        ))
        .into()
    }

    fn refuse_form(&self, own: &Node, key: Option<&Node>) -> Result<()> {
        let name = key.and_then(Node::as_str).unwrap_or("the whole file");
        Err(Problem::invalid(format!(
            "{}:{}: `{name}` must be a mapping with one key on each line, so that the required values can be added",
            self.place, own.position.line
        ))
        .hint("write it in block style")
        .into())
    }

    /// The lines of an entry of `required`, comments above it included, without their indent.
    fn lines_of(&self, key: &Node, value: &Node) -> String {
        let lines = lines::of_entry(self.required, key, value);
        let indent = key.position.column - 1;
        let above = self.required[..lines.start]
            .lines()
            .rev()
            .take_while(|line| line.trim_start().starts_with('#'))
            .count();
        let start = self.required[..lines.start]
            .lines()
            .rev()
            .take(above)
            .map(|line| line.len() + 1)
            .sum::<usize>();
        self.required[lines.start - start..lines.end]
            .lines()
            .map(|line| format!("{}\n", line.get(indent..).unwrap_or_default()))
            .collect()
    }

    fn finish(self) -> String {
        let edits = self
            .insertions
            .into_iter()
            .map(|(at, lines)| (at..at, lines))
            .collect();
        lines::with_newline(&lines::apply(self.own, edits))
    }
}

fn indented(text: &str, indent: usize) -> String {
    let pad = " ".repeat(indent);
    text.lines()
        .map(|line| {
            if line.is_empty() {
                "\n".to_owned()
            } else {
                format!("{pad}{line}\n")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRED: &str = "a:\n  # why\n  secret: s\n  deep:\n    on: false\nb:\n  c: 1\n";

    #[test]
    fn missing_entries_go_where_they_belong_and_no_line_changes() {
        let own = "# mine\na:\n    # first\n    x: 1 # one\nz: [1,   2]";
        let composed = compose(REQUIRED, own, "v.yaml").expect("composes");
        assert_eq!(
            composed,
            "# mine\na:\n    # why\n    secret: s\n    deep:\n      on: false\n    # first\n    x: 1 # one\nz: [1,   2]\nb:\n  c: 1\n"
        );
    }

    #[test]
    fn what_is_there_already_stays() {
        assert_eq!(
            compose(REQUIRED, REQUIRED, "v").expect("composes"),
            REQUIRED
        );
        assert_eq!(compose(REQUIRED, "", "v").expect("composes"), REQUIRED);
        assert_eq!(compose("", "x: 1", "v").expect("composes"), "x: 1\n");
    }

    #[test]
    fn a_contradiction_is_named_with_its_line() {
        let error =
            compose(REQUIRED, "a:\n  secret: other\n", "v.yaml").expect_err("contradiction");
        assert_eq!(
            error.to_string(),
            "v.yaml:2: `secret` is `other`, and the answers need `s`"
        );
    }

    #[test]
    fn forms_without_lines_of_their_own_are_refused() {
        for own in [
            "a: {x: 1}\n",
            "a: text\n",
            "- a\n",
            "a:\n",
            "{}\n",
            "x: 1\n...\n",
        ] {
            assert!(compose(REQUIRED, own, "v").is_err(), "{own}");
        }
    }
}
