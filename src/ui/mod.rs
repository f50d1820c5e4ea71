//! What people and scripts see: data on standard output, everything else on standard error.
//!
//! The only module that prints. Commands hand it values; it knows nothing of what they mean.

pub mod diff;
pub mod prompt;

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::{ExitStatus, Problem, Report};
use crate::model::text::lines;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// One JSON object.
    Json,
}

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What a command has to say at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The exit code.
    pub status: ExitStatus,
    /// For people.
    pub text: String,
    /// For scripts: the keys beside `schema`, `ok` and `error`.
    pub json: Map<String, Value>,
    /// Why it isn't done, where there is something to show all the same.
    pub problem: Option<Problem>,
    /// More keys for scripts, each with its JSON: lists of thousands are written as they are told, and never stand in memory as values.
    pub lists: Vec<(&'static str, String)>,
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// What a kept [`Ui`] said.
#[derive(Debug, Clone, Default)]
pub struct Said(Arc<Mutex<Vec<u8>>>);

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The streams, and how much goes to them.
pub struct Ui {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    format: Format,
    verbosity: i8,
}

impl Ui {
    /// The process's own streams. `verbosity`: below 0 quiet, above 0 more detail.
    pub fn real(format: Format, color: Color, verbosity: i8) -> Self {
        let choice = match color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        // JSON has no colours, so there are none to take away.
        let of_results = match format {
            Format::Human => choice,
            Format::Json => anstream::ColorChoice::AlwaysAnsi,
        };
        Self {
            out: Box::new(anstream::AutoStream::new(std::io::stdout(), of_results)),
            err: Box::new(anstream::AutoStream::new(std::io::stderr(), choice)),
            format,
            verbosity,
        }
    }

    /// One whose messages are kept, for [`Self::pass_on`] when its work is done.
    pub fn kept(format: Format, verbosity: i8) -> (Self, Said) {
        let said = Said::default();
        let own = Self {
            out: Box::new(std::io::sink()),
            err: Box::new(said.clone()),
            format,
            verbosity,
        };
        (own, said)
    }

    /// Says what another said, each line behind whom it is about.
    pub fn pass_on(&mut self, about: &str, said: &Said) {
        let bytes = said.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = anstream::adapter::strip_str(&String::from_utf8_lossy(&bytes)).to_string();
        for line in text.lines() {
            self.tell(&format!("{about}: {line}"));
        }
    }

    /// Hears of calls that others make, for `-vv`.
    pub fn trace(&self) -> Arc<dyn Fn(&str) + Send + Sync> {
        if self.verbosity < 2 {
            return Arc::new(|_| {});
        }
        let err = Mutex::new(anstream::AutoStream::new(
            std::io::stderr(),
            anstream::ColorChoice::Never,
        ));
        Arc::new(move |line| {
            if let Ok(mut err) = err.lock() {
                // Whoever closed stderr doesn't want to hear.
                let _ = writeln!(err, "{line}");
            }
        })
    }

    /// Something to know that asks for nothing.
    pub fn notice(&mut self, text: &str) {
        if self.verbosity >= 0 {
            self.tell(&lines(text));
        }
    }

    /// A detail: 1 for `-v`, 2 for `-vv`.
    pub fn detail(&mut self, level: i8, text: &str) {
        if self.verbosity >= level {
            self.tell(&lines(text));
        }
    }

    /// Something that may not be what was meant.
    pub fn warn(&mut self, text: &str) {
        self.tell(&format!("{WARNING}warning:{WARNING:#} {}", lines(text)));
    }

    fn tell(&mut self, text: &str) {
        // Nobody reads standard error any more: there is nobody to say so to.
        let _ = writeln!(self.err, "{text}").is_err();
    }

    /// The command's result.
    ///
    /// # Errors
    /// When standard output can't be written to; a closed pipe is none.
    pub fn result(&mut self, command: &str, outcome: &Outcome) -> std::io::Result<()> {
        let report = outcome
            .problem
            .clone()
            .map(|problem| Report::of(&problem.into()));
        if self.format == Format::Json {
            return self.put(&quiet(object(command, report.as_ref(), outcome)));
        }
        self.put(&lines(&outcome.text))?;
        if let Some(report) = report {
            self.say(&report);
        }
        Ok(())
    }

    /// The command's error.
    ///
    /// # Errors
    /// As [`Ui::result`].
    pub fn error(&mut self, command: &str, report: &Report) -> std::io::Result<()> {
        if self.format == Format::Json {
            return self.put(&quiet(whole(command, Some(report), &Map::new())));
        }
        self.say(report);
        Ok(())
    }

    fn say(&mut self, report: &Report) {
        self.tell(&format!(
            "{ERROR}error:{ERROR:#} {}",
            lines(&report.message)
        ));
        for cause in &report.causes {
            self.tell(&format!("  {}", lines(cause)));
        }
        for (index, hint) in report.hints.iter().enumerate() {
            let gap = if index == 0 { "\n" } else { "" };
            self.tell(&format!("{gap}{HINT}hint:{HINT:#} {}", lines(hint)));
        }
    }

    fn put(&mut self, text: &str) -> std::io::Result<()> {
        let newline = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        match write!(self.out, "{text}{newline}").and_then(|()| self.out.flush()) {
            Err(why) if why.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// What every command prints, and what it has beside that: written as it is, since some have thousands of lines.
#[derive(Serialize)]
struct Whole<'a> {
    schema: String,
    ok: bool,
    error: Option<Value>,
    #[serde(flatten)]
    rest: &'a Map<String, Value>,
}

/// JSON whose strings have no control character. JSON itself lets those from 7F to 9F stand, and terminals obey some of them.
fn quiet(json: String) -> String {
    let is_loud = |c: char| c.is_control() && c != '\n';
    if !json.contains(is_loud) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match is_loud(c) {
            true => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
    }
    out
}

/// The one JSON object of a command.
fn object(command: &str, report: Option<&Report>, outcome: &Outcome) -> String {
    let mut text = whole(command, report, &outcome.json);
    for (key, list) in &outcome.lists {
        // There are keys before it, and the last brace is the object's own.
        text.pop();
        text.push_str(&format!(",\"{key}\":{list}}}"));
    }
    text
}

fn whole(command: &str, report: Option<&Report>, rest: &Map<String, Value>) -> String {
    let error = report.map(|report| {
        let message = std::iter::once(&report.message)
            .chain(&report.causes)
            .cloned()
            .collect::<Vec<_>>()
            .join(": ");
        json!({"message": message, "hint": report.hints.first(), "code": report.status.code()})
    });
    let whole = Whole {
        schema: format!("haptic-scaffold/{command}/v1"),
        ok: error.is_none(),
        error,
        rest,
    };
    serde_json::to_string(&whole).expect("values are JSON")
}
