//! [`Question`]: what a layout asks, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::Problem;
use crate::model::cluster::Cluster;

/// What kind of answer a question takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuestionKind {
    /// A text of one line.
    Text,
    /// Yes or no.
    Bool,
    /// One of the choices.
    Choice,
    /// Texts, with commas between on the command line.
    List,
    /// A file given by path; its text is the answer.
    File,
}

/// A question. In a layout, one that the tool knows needs only its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The key in `.haptic-scaffold.yaml`, and with `-` for `_` the flag.
    pub name: String,
    /// What kind of answer it takes.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<QuestionKind>,
    /// The answer where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// An expression that gives the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_from: Option<String>,
    /// The answers that there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// A regular expression that the answer matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// One or two sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// An expression: asked only where it is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// What the default follows from, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_says: Option<String>,
    /// Where it is asked, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_says: Option<String>,
    /// Whether no answer is an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Whether its default is taken without asking a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
    /// Whether the tool knows it by name, and so has a flag for it.
    #[serde(skip_deserializing, default)]
    pub standard: bool,
}

/// Names that mean something else in templates, or are flags that answer no question: no question of a layout can have them.
pub const TAKEN: &[&str] = &[
    "answers",
    "author",
    "base",
    "c",
    "chart_version",
    "cluster",
    "color",
    "config",
    "diff",
    "dirs",
    "dry_run",
    "files",
    "forge",
    "forge_url",
    "found",
    "git",
    "haptic",
    "inline_values",
    "layout",
    "layouts",
    "names",
    "needed",
    "no_commit",
    "on_conflict",
    "open",
    "order",
    "output",
    "password_file",
    "path",
    "pins",
    "prefix",
    "profile",
    "project",
    "provider",
    "push",
    "quiet",
    "remote",
    "sealing",
    "sealing_certificate",
    "secret",
    "secret_files",
    "set",
    "source",
    "stages",
    "token_file",
    "values",
    "verbose",
    "version",
    "yes",
];

impl Question {
    /// Fills in what the standard question of this name has and this one does not say.
    ///
    /// # Errors
    /// When a question of the layout's own lacks type or help, has a name that is taken, or choices that don't fit its type.
    pub fn complete(&mut self, standard: &[Self]) -> Result<(), Problem> {
        if let Some(known) = standard.iter().find(|q| q.name == self.name) {
            if self.kind.is_some_and(|kind| Some(kind) != known.kind) {
                return Err(Problem::invalid(format!(
                    "question `{}`: its type is known and can't be another",
                    self.name
                )));
            }
            if let Some(foreign) = self.choices.iter().find(|c| !known.choices.contains(c)) {
                return Err(Problem::invalid(format!(
                    "question `{}`: `{foreign}` is none of its choices: {}",
                    self.name,
                    known.choices.join(", ")
                )));
            }
            self.fill(known);
        }
        self.validate()
    }

    fn fill(&mut self, known: &Self) {
        self.standard = true;
        self.silent |= known.silent;
        self.optional |= known.optional;
        self.kind = known.kind;
        if self.default.is_none() && self.default_from.is_none() {
            self.default.clone_from(&known.default);
            self.default_from.clone_from(&known.default_from);
            self.default_says.clone_from(&known.default_says);
        }
        if self.choices.is_empty() {
            self.choices.clone_from(&known.choices);
        }
        self.pattern = self.pattern.take().or_else(|| known.pattern.clone());
        self.help = self.help.take().or_else(|| known.help.clone());
        if self.when.is_none() {
            self.when.clone_from(&known.when);
            self.when_says.clone_from(&known.when_says);
        }
    }

    fn validate(&self) -> Result<(), Problem> {
        let bad = |why: &str| Err(Problem::invalid(format!("question `{}`: {why}", self.name)));
        let name_ok = self
            .name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if self.name.is_empty() || !name_ok {
            return bad("a name has lower-case letters, digits and `_`");
        }
        if !self.standard && TAKEN.contains(&self.name.as_str()) {
            return bad("this name means something else in templates");
        }
        if self.kind.is_none() || self.help.is_none() {
            return bad("a question of the layout's own needs `type` and `help`");
        }
        if (self.kind == Some(QuestionKind::Choice)) == self.choices.is_empty() {
            return bad("`choices` go with `type: choice`, and only with it");
        }
        if let Some(pattern) = &self.pattern
            && let Err(why) = regex_lite::Regex::new(pattern)
        {
            return bad(&format!("its pattern is no regular expression: {why}"));
        }
        Ok(())
    }

    /// What kind of answer it takes.
    pub fn kind(&self) -> QuestionKind {
        self.kind.unwrap_or(QuestionKind::Text)
    }

    /// Where it is asked, in the layout's words if it has any. `None` for one that is always asked.
    pub fn asked_where(&self) -> Option<String> {
        let when = self.when.as_ref()?;
        Some(
            self.when_says
                .clone()
                .unwrap_or_else(|| format!("where {when}")),
        )
    }

    /// The flag that answers it: its own for a standard question, `--set NAME=VALUE` for a layout's own.
    pub fn flag(&self) -> String {
        match self.name.as_str() {
            "values_as" => "--inline-values".to_owned(),
            name if self.standard => format!("--{}", name.replace('_', "-")),
            name => format!("--set {name}=…"),
        }
    }

    /// The environment variable that answers it.
    pub fn variable(&self) -> String {
        format!("HAPTIC_SCAFFOLD_{}", self.name.to_uppercase())
    }

    /// Brings an answer to the type of its question where it means the same: `a,b` for a list, `true` for yes.
    pub fn shape(&self, value: &Value) -> Value {
        match (self.kind(), value) {
            (QuestionKind::List, Value::String(text)) => {
                json!(
                    text.split(',')
                        .map(str::trim)
                        .filter(|part| !part.is_empty())
                        .collect::<Vec<_>>()
                )
            }
            (QuestionKind::Bool, Value::String(text)) => match text.to_lowercase().as_str() {
                "true" | "yes" | "y" | "1" => Value::Bool(true),
                "false" | "no" | "n" | "0" => Value::Bool(false),
                _ => value.clone(),
            },
            (QuestionKind::Text | QuestionKind::Choice, Value::String(text)) => json!(text.trim()),
            _ => value.clone(),
        }
    }

    /// Checks an answer.
    ///
    /// # Errors
    /// With what is wrong with it.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match self.kind() {
            QuestionKind::Bool => value
                .as_bool()
                .map(|_| ())
                .ok_or_else(|| "is neither true nor false".to_owned()),
            QuestionKind::List => {
                let items = value.as_array().ok_or("is no list")?;
                items.iter().try_for_each(|item| {
                    self.check_text(item.as_str().ok_or("has an item that is no text")?)
                })
            }
            QuestionKind::File => value
                .as_str()
                .map(|_| ())
                .ok_or_else(|| "is no text".to_owned()),
            QuestionKind::Text | QuestionKind::Choice => {
                self.check_text(value.as_str().ok_or("is no text")?)
            }
        }
    }

    fn check_text(&self, text: &str) -> Result<(), String> {
        if text.chars().any(char::is_control) {
            return Err("has a line break or another control character".to_owned());
        }
        if !self.choices.is_empty() && !self.choices.iter().any(|choice| choice == text) {
            return Err(format!("`{text}` is none of: {}", self.choices.join(", ")));
        }
        if self.standard && self.name == "clusters" {
            return Cluster::parse(text).map(|_| ());
        }
        if self.standard
            && self.name == "branch"
            && (text.contains("..") || text.contains("//") || text.ends_with(".lock"))
        {
            return Err(format!("`{text}` is no name that git gives to a branch"));
        }
        if let Some(pattern) = &self.pattern {
            let regex = regex_lite::Regex::new(pattern).map_err(|why| why.to_string())?;
            if !regex.is_match(text) {
                return Err(format!("`{text}` does not match {pattern}"));
            }
        }
        Ok(())
    }
}
