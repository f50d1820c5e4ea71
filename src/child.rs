//! A program that was started, waited for with a limit of time.

use std::io;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// How often a running program is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Waits until a program ends; nothing where its time was over: then it was killed.
///
/// # Errors
/// When it can't be waited for.
pub(crate) fn ended(child: &mut Child, end: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if Instant::now() < end => thread::sleep(LOOK),
            None => {
                _ = child.kill();
                _ = child.wait();
                return Ok(None);
            }
        }
    }
}

/// How long is left for what a program printed, once it has ended: a child of its own may hold its pipes for longer than it lives.
pub(crate) fn rest(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now()) + LOOK
}
