//! [`GivenAnswers`]: what flags, variables and files answer, the strongest source first.

use std::collections::BTreeMap;

use serde_json::Value;

/// Where an answer came from, for messages and precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag or its environment variable.
    Flag,
    /// An answers file or the recorded answers: file and line.
    File {
        /// The file.
        place: String,
        /// The line of the key.
        line: usize,
        /// Whether it is `.haptic-scaffold.yaml` of an earlier run, whose answers may have lost their question.
        recorded: bool,
    },
}

/// An answer that was given.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The answer.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
}

/// Answers that were given, by name of the question. The strongest source is put in first.
#[derive(Debug, Clone, Default)]
pub struct GivenAnswers(pub(super) BTreeMap<String, Given>);

impl GivenAnswers {
    /// Adds an answer unless a stronger source has given one.
    pub fn add(&mut self, name: &str, value: Value, origin: Origin) {
        self.0
            .entry(name.to_owned())
            .or_insert(Given { value, origin });
    }

    /// Adds an answer of a variable: weaker than a flag, stronger than every file.
    pub fn add_variable(&mut self, name: &str, value: Value) {
        match self.0.get(name) {
            Some(Given {
                origin: Origin::Flag,
                ..
            }) => {}
            _ => {
                self.0.insert(
                    name.to_owned(),
                    Given {
                        value,
                        origin: Origin::Flag,
                    },
                );
            }
        }
    }

    /// Puts another text in place of an answer, from the same source.
    pub fn replace(&mut self, name: &str, value: Value) {
        if let Some(given) = self.0.get_mut(name) {
            given.value = value;
        }
    }

    /// Returns an answer.
    pub fn get(&self, name: &str) -> Option<&Given> {
        self.0.get(name)
    }

    /// Returns a text answer.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|given| given.value.as_str())
    }
}
