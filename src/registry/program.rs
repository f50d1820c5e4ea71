//! One program of the user's, run with a limit of time.
//!
//! Owns the pipes and the limit. Nothing that the program says is printed here: a helper prints
//! passwords. Start from [`Call::run`].

use std::io::{ErrorKind, Read, Write as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use crate::child;
use crate::model::env::Env;

/// What to run.
pub(super) struct Call<'a> {
    pub(super) program: &'a str,
    pub(super) arguments: &'a [&'a str],
    /// The whole environment of the program.
    pub(super) env: &'a Env,
    /// What is added to the environment.
    pub(super) vars: &'a [(&'a str, &'a str)],
    /// What it reads on standard input.
    pub(super) input: &'a str,
    pub(super) limit: Duration,
    /// The most that it may print, in bytes.
    pub(super) most: u64,
}

/// What a program that ended said.
pub(super) struct Said {
    pub(super) is_good: bool,
    /// The end in words, such as `exit code 1`.
    pub(super) end: String,
    pub(super) output: Zeroizing<Vec<u8>>,
    pub(super) complaint: Zeroizing<Vec<u8>>,
}

/// Why a program did not end by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoEnd {
    /// It isn't there.
    Missing,
    /// It can't be run.
    Failed(String),
    /// It was ended after so many seconds.
    TooLong(u64),
    /// It printed more than is read.
    TooMuch,
}

impl std::fmt::Display for NoEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("is not installed"),
            Self::Failed(why) => write!(f, "can't be run: {why}"),
            Self::TooLong(seconds) => write!(f, "took longer than {seconds} seconds"),
            Self::TooMuch => f.write_str("printed too much"),
        }
    }
}

impl Call<'_> {
    /// Runs the program until it ends, or ends it.
    ///
    /// # Errors
    ///
    /// [`NoEnd`] when it did not end by itself.
    pub(super) fn run(&self) -> Result<Said, NoEnd> {
        let mut command = Command::new(self.program);
        command
            .args(self.arguments)
            .env_clear()
            .envs(self.env.all())
            .envs(self.vars.iter().copied())
            // Not the folder around: a repository there has settings of its own.
            .current_dir(if cfg!(windows) { "C:\\" } else { "/" })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|why| match why.kind() {
            ErrorKind::NotFound => NoEnd::Missing,
            _ => NoEnd::Failed(why.to_string()),
        })?;
        let output = reader(child.stdout.take(), self.most);
        let complaint = reader(child.stderr.take(), self.most);
        if let Some(mut stdin) = child.stdin.take() {
            // What is sent is short, so it fits into the pipe. A program that doesn't read says why on its own.
            _ = stdin.write_all(self.input.as_bytes());
        }
        let end = Instant::now() + self.limit;
        let too_long = NoEnd::TooLong(self.limit.as_secs());
        let status = child::ended(&mut child, end).map_err(|why| NoEnd::Failed(why.to_string()))?;
        let status = status.ok_or_else(|| too_long.clone())?;
        let all = |pipe: Receiver<Zeroizing<Vec<u8>>>| {
            pipe.recv_timeout(child::rest(end))
                .map_err(|_| too_long.clone())
        };
        let (output, complaint) = (all(output)?, all(complaint)?);
        if output.len() as u64 > self.most {
            return Err(NoEnd::TooMuch);
        }
        Ok(Said {
            is_good: status.success(),
            end: in_words(status),
            output,
            complaint,
        })
    }
}

fn in_words(status: ExitStatus) -> String {
    status
        .code()
        .map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"))
}

/// Reads a pipe to its end, beside the waiting: a program that prints much would wait for us, and we for it.
fn reader(pipe: Option<impl Read + Send + 'static>, most: u64) -> Receiver<Zeroizing<Vec<u8>>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut all = Zeroizing::new(Vec::new());
        if let Some(pipe) = pipe {
            _ = pipe.take(most + 1).read_to_end(&mut all);
        }
        // Nobody listens any more where the time was over.
        _ = sender.send(all);
    });
    receiver
}
