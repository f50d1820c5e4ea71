//! One program, run with a limit of time, and the end of what it prints.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::child;

/// What is kept of the output: its end, where the reason stands.
const MOST_BYTES: usize = 256 << 10;

/// What to run.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) program: &'a Path,
    pub(super) arguments: &'a [String],
    /// The whole environment.
    pub(super) vars: &'a [(String, String)],
    /// The folder to run it in.
    pub(super) folder: &'a Path,
    pub(super) limit: Duration,
}

/// How it ended.
#[derive(Debug)]
pub(super) struct End {
    pub(super) code: i32,
    /// Both of its outputs, in the order in which they were written.
    pub(super) log: String,
}

impl Call<'_> {
    /// Runs it until it ends, or ends it. Fails when it did not end by itself.
    pub(super) fn run(&self) -> Result<End, String> {
        let name = self.program.file_name().unwrap_or_default();
        let said = |what: &str| format!("`{}` {what}", name.to_string_lossy());
        let failed = |why: std::io::Error| said(&format!("can't be run: {why}"));
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        let mut command = Command::new(self.program);
        command
            .args(self.arguments)
            .env_clear()
            .envs(self.vars.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(failed)?)
            .stderr(writer);
        let child = command.spawn().map_err(failed);
        // Our own ends of the pipe go with it, so that the program's end is the pipe's.
        drop(command);
        let mut child = child?;
        let (sender, log) = channel();
        thread::spawn(move || {
            // Nobody listens any more where the time was over.
            _ = sender.send(tail(reader));
        });
        let end = Instant::now() + self.limit;
        let too_long = || {
            said(&format!(
                "took longer than {} seconds",
                self.limit.as_secs()
            ))
        };
        let status = child::ended(&mut child, end).map_err(|why| said(&why.to_string()))?;
        let status = status.ok_or_else(too_long)?;
        let code = status.code().ok_or_else(|| said("was ended by a signal"))?;
        let log = log.recv_timeout(child::rest(end)).map_err(|_| too_long())?;
        Ok(End { code, log })
    }
}

/// Reads a pipe to its end and keeps the last of it.
fn tail(mut pipe: impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 8192];
    let mut is_cut = false;
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..count]);
        if kept.len() > 2 * MOST_BYTES {
            is_cut = true;
            kept.drain(..kept.len() - MOST_BYTES);
        }
    }
    if kept.len() > MOST_BYTES {
        is_cut = true;
        kept.drain(..kept.len() - MOST_BYTES);
    }
    let text = String::from_utf8_lossy(&kept);
    if is_cut {
        format!("[…]{text}")
    } else {
        text.into_owned()
    }
}
