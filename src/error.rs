//! What can go wrong, and how a person hears of it.
//!
//! Owns the documented exit codes and [`Problem`], the error that carries an exit code and the next step to take.
//! It must not print: the edge (`lib.rs`, `ui`) does that.

use std::fmt;
use std::process::ExitCode;

/// The exit codes of every command: a documented interface that scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitStatus {
    /// Done, or nothing to do.
    Done = 0,
    /// Failed.
    Failed = 1,
    /// The command line can't be understood, or lacks something that can't be asked for.
    Usage = 2,
    /// Input is invalid: answers, files, values, a refused version.
    Invalid = 3,
    /// A remote refused or couldn't be asked, or no version fits.
    Remote = 4,
    /// Findings or differences, where they were asked for.
    Differences = 10,
    /// Conflicts are left for a person.
    Conflicts = 11,
}

impl ExitStatus {
    /// Returns the number that the process ends with.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}

/// An error with an exit code and hints: things that the reader can do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What the process ends with.
    pub status: ExitStatus,
    /// What was asked, and why not. No full stop at the end.
    pub message: String,
    /// Next steps, preferably commands, most useful first.
    pub hints: Vec<String>,
}

impl Problem {
    /// Makes a problem without hints.
    pub fn new(status: ExitStatus, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            hints: Vec::new(),
        }
    }

    /// Input is invalid (exit code 3).
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ExitStatus::Invalid, message)
    }

    /// The command line lacks something (exit code 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitStatus::Usage, message)
    }

    /// Failed for another reason (exit code 1).
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ExitStatus::Failed, message)
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// What the edge shows of an error: one message with its causes, hints without repetition, one exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The first line.
    pub message: String,
    /// Why, outermost first; nothing that the message already says.
    pub causes: Vec<String>,
    /// Next steps.
    pub hints: Vec<String>,
    /// The exit code.
    pub status: ExitStatus,
}

impl Report {
    /// Walks the chain of an error. The innermost [`Problem`] decides the exit code; hints of all are kept.
    pub fn of(error: &anyhow::Error) -> Self {
        let mut texts: Vec<String> = Vec::new();
        let mut hints: Vec<String> = Vec::new();
        let mut status = ExitStatus::Failed;
        for cause in error.chain() {
            let text = cause.to_string();
            if !texts.iter().any(|known| known.contains(&text)) {
                texts.push(text);
            }
            if let Some(problem) = cause.downcast_ref::<Problem>() {
                status = problem.status;
                for hint in &problem.hints {
                    if !hints.contains(hint) {
                        hints.push(hint.clone());
                    }
                }
            }
        }
        let message = texts.remove(0);
        Self {
            message,
            causes: texts,
            hints,
            status,
        }
    }
}

impl From<Report> for Problem {
    /// The same as one message, where it is one of many.
    fn from(report: Report) -> Self {
        let all = std::iter::once(report.message).chain(report.causes);
        Self {
            status: report.status,
            message: all.collect::<Vec<_>>().join(": "),
            hints: report.hints,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn the_innermost_problem_decides_the_code_and_nothing_is_said_twice() {
        let error = Err::<(), _>(Problem::invalid("no such key").hint("write `layout`"))
            .context("cannot read `a.yaml`")
            .context("cannot read `a.yaml`: no such key")
            .expect_err("is an error");
        let report = Report::of(&error);
        assert_eq!(report.message, "cannot read `a.yaml`: no such key");
        assert!(report.causes.is_empty());
        assert_eq!(report.hints, ["write `layout`"]);
        assert_eq!(report.status, ExitStatus::Invalid);
    }

    #[test]
    fn codes_are_those_of_the_documentation() {
        use ExitStatus::*;
        let codes =
            [Done, Failed, Usage, Invalid, Remote, Differences, Conflicts].map(ExitStatus::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 10, 11]);
    }
}
