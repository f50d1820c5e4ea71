//! Questions on a terminal. Without one nobody is asked and nothing waits.

use anyhow::Result;
use dialoguer::theme::ColorfulTheme;
use dialoguer::{Confirm, Input, Select};
use serde_json::{Value, json};

use crate::error::Problem;
use crate::layout::question::{Question, QuestionKind};
use crate::layout::resolve::{Ask, Asked};

/// Reads the text of a file that a person named.
pub type ReadFile<'a> = dyn Fn(&str) -> Result<String> + 'a;

/// The terminal.
pub struct Terminal<'a> {
    /// For answers that are files.
    pub read: &'a ReadFile<'a>,
    /// What was answered, as flags: for the command that does the same again.
    pub answered: Vec<(String, String)>,
}

impl Ask for Terminal<'_> {
    fn ask(&mut self, asked: &Asked<'_>) -> Result<Option<Value>> {
        let Asked {
            question, default, ..
        } = *asked;
        let prompt = question.help.clone().unwrap_or_default();
        let prompt = format!("{} ({})", prompt.trim_end_matches('.'), question.name);
        let ended = |why: dialoguer::Error| {
            Problem::failed(format!("the dialogue was ended: {why}"))
                .hint("nothing was written; `--yes` takes the defaults")
        };
        let answer = match question.kind() {
            QuestionKind::Bool => json!(
                Confirm::with_theme(&theme())
                    .with_prompt(prompt)
                    .default(default == Some(&json!(true)))
                    .interact()
                    .map_err(ended)?
            ),
            QuestionKind::Choice => {
                json!(question.choices[choose(question, &prompt, default).map_err(ended)?])
            }
            QuestionKind::Text | QuestionKind::List | QuestionKind::File => {
                self.text(asked, prompt).map_err(ended)?
            }
        };
        if default != Some(&answer) && question.kind() != QuestionKind::File {
            self.answered.push((question.name.clone(), shown(&answer)));
        }
        Ok(Some(answer))
    }
}

impl Terminal<'_> {
    fn text(&mut self, asked: &Asked<'_>, prompt: String) -> Result<Value, dialoguer::Error> {
        let Asked {
            question,
            default,
            optional,
            check,
        } = *asked;
        let is_file = question.kind() == QuestionKind::File;
        let value_of = |text: &str| {
            if is_file {
                (self.read)(text)
                    .map(Value::String)
                    .map_err(|why| format!("{why:#}"))
            } else {
                Ok(json!(text))
            }
        };
        let theme = theme();
        let mut input = Input::<String>::with_theme(&theme)
            .with_prompt(prompt)
            .validate_with(|text: &String| value_of(text.trim()).and_then(|value| check(&value)));
        match default.map(shown) {
            Some(text) if text.is_empty() => input = input.allow_empty(true),
            Some(text) => input = input.default(text),
            None => input = input.allow_empty(optional),
        }
        let text = input.interact_text()?;
        if is_file {
            self.answered
                .push((question.name.clone(), text.trim().to_owned()));
        }
        Ok(value_of(text.trim()).unwrap_or_default())
    }
}

/// Asks a question that is answered by yes or no; no is the default.
///
/// # Errors
/// When the dialogue is ended.
pub fn confirm(question: &str) -> Result<bool> {
    let asked = Confirm::with_theme(&theme())
        .with_prompt(question)
        .default(false)
        .interact();
    Ok(asked.map_err(|why| {
        Problem::failed(format!("the dialogue was ended: {why}")).hint("nothing was written")
    })?)
}

/// Asks for the layout.
///
/// # Errors
/// When the person ends the dialogue.
pub fn choose_layout(layouts: &[(String, String)]) -> Result<String> {
    let items: Vec<String> = layouts
        .iter()
        .map(|(name, title)| format!("{name}: {title}"))
        .collect();
    let chosen = Select::with_theme(&theme())
        .with_prompt("Layout")
        .items(&items)
        .default(0)
        .interact();
    let ended = |why| {
        Problem::failed(format!("the dialogue was ended: {why}")).hint("`--layout NAME` answers it")
    };
    Ok(layouts[chosen.map_err(ended)?].0.clone())
}

fn choose(
    question: &Question,
    prompt: &str,
    default: Option<&Value>,
) -> Result<usize, dialoguer::Error> {
    if question.choices.len() == 1 {
        return Ok(0);
    }
    let first = default
        .and_then(Value::as_str)
        .and_then(|text| question.choices.iter().position(|choice| choice == text))
        .unwrap_or(0);
    Select::with_theme(&theme())
        .with_prompt(prompt)
        .items(&question.choices)
        .default(first)
        .interact()
}

fn theme() -> ColorfulTheme {
    ColorfulTheme::default()
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().unwrap_or_default())
            .collect::<Vec<_>>()
            .join(","),
        other => other.to_string(),
    }
}
