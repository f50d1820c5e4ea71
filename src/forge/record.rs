//! [`Record`]: the text of a request file, read back exactly as it was written. Pure.

use std::fmt;

use serde_json::{Value, json};

const LINE: &str = "---\n";

/// A head of named values, and a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    head: Vec<(String, Value)>,
    pub(super) body: String,
}

impl Record {
    pub(super) fn new(body: &str) -> Self {
        Self {
            head: Vec::new(),
            body: body.to_owned(),
        }
    }

    /// Reads a file. Editors may have made CRLF of it, or cut the empty line after the head.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.replace("\r\n", "\n");
        let inside = text.strip_prefix(LINE).ok_or("it has no head")?;
        let (head, body) = inside.split_once("\n---\n").ok_or("its head has no end")?;
        let lines = head.lines().filter(|line| !line.trim().is_empty());
        let head = lines.map(named).collect::<Result<_, &str>>();
        let head =
            head.map_err(|line| format!("a line of its head isn't `name: JSON`: `{line}`"))?;
        Ok(Self {
            head,
            body: body.strip_prefix('\n').unwrap_or(body).to_owned(),
        })
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let mut head = self.head.iter();
        head.find(|(other, _)| other == name)
            .map(|(_, value)| value)
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        match self.head.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) => *old = value,
            None => self.head.push((name.to_owned(), value)),
        }
    }

    pub(super) fn text(&self, name: &str) -> String {
        let text = self.get(name).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let values = self.get(name).and_then(Value::as_array);
        let texts = values.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    }

    /// Counts the changes of all files, so that the last one is known without a clock.
    pub(super) fn changed(&self) -> u64 {
        self.get("changed").and_then(Value::as_u64).unwrap_or(0)
    }

    pub(super) fn is_issue(&self) -> bool {
        self.get("issue") == Some(&json!(true))
    }
}

/// Reads a line of the head; an error is the line.
fn named(line: &str) -> Result<(String, Value), &str> {
    let (name, value) = line.split_once(": ").ok_or(line)?;
    let value = serde_json::from_str(value).map_err(|_| line)?;
    Ok((name.to_owned(), value))
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LINE)?;
        for (name, value) in &self.head {
            writeln!(f, "{name}: {value}")?;
        }
        write!(f, "{LINE}\n{}", self.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(title in any::<String>(), body in "[^\r]*") {
            let mut record = Record::new(&body);
            record.set("title", json!(title));
            record.set("labels", json!(["a", title]));
            prop_assert_eq!(Record::parse(&record.to_string()), Ok(record));
        }
    }

    #[test]
    fn texts_that_look_like_the_file_itself_stay() {
        for body in [
            "",
            "\n",
            "---\n",
            "\n---\n\nx: 1\n---\n",
            "a\n---\nb",
            "ends without",
        ] {
            let mut record = Record::new(body);
            record.set("title", json!("---\n: \"x\""));
            assert_eq!(Record::parse(&record.to_string()), Ok(record));
        }
        for bad in ["", "---\n", "---\na: 1\n", "---\na\n---\n\n", "# no head\n"] {
            assert!(Record::parse(bad).is_err(), "{bad}");
        }
    }
}
