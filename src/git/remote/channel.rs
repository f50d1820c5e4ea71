//! A connection through a program: the user's `ssh`, or `git` for a repository of this machine.
//!
//! Owns the pipes, the limits of time and the end of the program. Nobody is asked for a password: the programs fail instead. `ssh` is the
//! user's own, so keys, agent, known hosts and proxies are as its configuration says.

use std::io::{Cursor, ErrorKind, Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::Service;
use super::address::SshAddress;
use super::error::Why;
use super::packets::{Advertisement, Answer, lines};
use crate::model::env::Env;

/// How long a server may take to say what it has.
pub(super) const LIST_LIMIT: Duration = Duration::from_secs(60);
/// How long it may take to accept a push: hooks may run long.
pub(super) const PUSH_LIMIT: Duration = Duration::from_secs(300);
/// How long a pack may take to come.
pub(super) const FETCH_LIMIT: Duration = Duration::from_secs(600);
/// How long a program may take to end, once its output has.
const END_LIMIT: Duration = Duration::from_secs(2);
/// The most that is read of a program, in bytes.
pub(super) const MOST: usize = 64 << 20;

/// Variables that lead git to another repository, or make it say more than it should.
const DROPPED: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_CONFIG",
    "GIT_PREFIX",
    "GIT_CURL_VERBOSE",
    // Only the first version of the protocol is spoken here.
    "GIT_PROTOCOL",
];

/// A program that isn't started yet.
pub(super) struct Program {
    command: Command,
    name: &'static str,
}

impl Program {
    fn new(name: &'static str, program: &str, env: &Env, folder: &Path) -> Self {
        let kept = env.all().filter(|(name, _)| {
            !DROPPED.contains(&name.as_str()) && !name.starts_with("GIT_TRACE")
        });
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(kept)
            .envs([
                ("GIT_TERMINAL_PROMPT", "0"),
                ("GIT_ASKPASS", ""),
                // The credential manager of Git for Windows opens windows otherwise.
                ("GCM_INTERACTIVE", "never"),
                ("SSH_ASKPASS", ""),
                ("SSH_ASKPASS_REQUIRE", "never"),
                ("LC_ALL", "C"),
            ])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self { command, name }
    }

    /// git with arguments.
    pub(super) fn git(env: &Env, arguments: &[&str], folder: &Path) -> Self {
        let mut it = Self::new("git", "git", env, folder);
        it.command.args(arguments);
        it
    }

    /// The service of a repository of this machine. git runs its hooks, which libgit2 doesn't.
    pub(super) fn local(env: &Env, service: Service, path: &str, folder: &Path) -> Self {
        Self::git(env, &[service.short(), "--", path], folder)
    }

    /// The service of a repository behind SSH. `configured` is git's `core.sshCommand`.
    pub(super) fn ssh(
        env: &Env,
        configured: Option<&str>,
        service: Service,
        address: &SshAddress,
        folder: &Path,
    ) -> Self {
        // `GIT_SSH` is a program and not a command: its path may hold blanks.
        let program = || env.get("GIT_SSH").map(|path| quoted(&path));
        let command = env
            .get("GIT_SSH_COMMAND")
            .or_else(|| configured.map(str::to_owned))
            .or_else(program)
            .unwrap_or_else(|| "ssh".to_owned());
        let ssh = |arguments: &[&str]| {
            let mut it = Self::new("ssh", "sh", env, folder);
            it.command
                .args(["-c", &format!("{command} \"$@\""), "ssh"])
                .args(arguments);
            it
        };
        let host = match address.host.contains('@') {
            true => address.host.clone(),
            false => with_user(&address.host, env, ssh(&["-G", &address.host])),
        };
        let mut it = ssh(&["-oBatchMode=yes", "-oConnectTimeout=20"]);
        if let Some(port) = address.port {
            it.command.args(["-p", &port.to_string()]);
        }
        it.command
            .arg(&host)
            .arg(format!("git-{} {}", service.short(), quoted(&address.path)));
        it
    }

    /// Runs it to its end and returns what it prints, if it succeeds in time.
    pub(super) fn output(self, input: &[u8], limit: Duration) -> Option<Zeroizing<Vec<u8>>> {
        let mut running = self.start().ok()?;
        running.write(input);
        running.read_until(limit, |_| false).ok()?;
        let is_good = running.status(END_LIMIT)?.success();
        is_good.then(|| Zeroizing::new(std::mem::take(&mut running.got)))
    }

    /// Starts it.
    ///
    /// # Errors
    /// [`Why::Program`] when it can't be started.
    pub(super) fn start(mut self) -> Result<Channel, Why> {
        let name = self.name;
        let mut child = self.command.spawn().map_err(|why| {
            Why::Program(match why.kind() {
                ErrorKind::NotFound => {
                    format!(
                        "addresses of this kind need the program `{name}`, which isn't installed"
                    )
                }
                _ => format!("`{name}` can't be run: {why}"),
            })
        })?;
        Ok(Channel {
            name,
            stdin: child.stdin.take(),
            output: chunks(child.stdout.take()),
            complaint: complaints(child.stderr.take()),
            got: Vec::new(),
            push_limit: PUSH_LIMIT,
            child,
        })
    }
}

/// A running program. It ends with this value.
pub(super) struct Channel {
    name: &'static str,
    child: Child,
    stdin: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    complaint: Receiver<Vec<u8>>,
    got: Vec<u8>,
    pub(super) push_limit: Duration,
}

impl Channel {
    /// Reads what the server has.
    ///
    /// # Errors
    /// When the program ends before, with what it says.
    pub(super) fn advertisement(&mut self) -> Result<Advertisement, Why> {
        // Looked at only where it may be whole, since a long one comes in many pieces.
        let is_whole = |got: &[u8]| {
            let is_packet = got.iter().take(4).all(u8::is_ascii_hexdigit);
            !is_packet || (got.ends_with(b"0000") && !matches!(Advertisement::read(got), Ok(None)))
        };
        self.read_until(LIST_LIMIT, is_whole)?;
        match Advertisement::read(&self.got)? {
            Some(server) => {
                self.got.clear();
                Ok(server)
            }
            None => Err(Why::Program(self.end())),
        }
    }

    /// Ends a connection in which nothing is asked for.
    pub(super) fn leave(&mut self) {
        self.write(b"0000");
        // Whatever comes now is of no interest; a program that doesn't end is ended.
        let _ = self.read_until(Duration::from_secs(5), |_| false).is_ok();
    }

    /// Sends commands and reads the whole answer.
    ///
    /// # Errors
    /// [`Why::NoAnswer`] or [`Why::TimeOver`] when the connection or the time ends before the report does.
    pub(super) fn exchange(
        &mut self,
        server: &Advertisement,
        request: Vec<u8>,
    ) -> Result<Answer, Why> {
        self.send(request);
        let limit = self.push_limit;
        let is_enough = |got: &[u8]| {
            let read = || Answer::read(server, got);
            got.ends_with(b"0000") && read().is_ok_and(|it| it.is_whole && it.is_ended)
        };
        let read = self.read_until(limit, is_enough);
        let got = std::mem::take(&mut self.got);
        let answer = Answer::complete(server, &got, || match read {
            Ok(()) => Why::NoAnswer(self.end()),
            Err(why) => why,
        });
        // It has said everything, and ends by itself.
        self.status(END_LIMIT);
        answer
    }

    /// Sends a request and gives the answer, while it comes, to `take`.
    ///
    /// # Errors
    /// Those of `take`; where the connection ended early, with what the program says.
    pub(super) fn fetch(
        &mut self,
        request: Vec<u8>,
        take: &mut dyn FnMut(&mut dyn Read) -> Result<(), Why>,
    ) -> Result<(), Why> {
        self.send(request);
        let mut flow = Flow {
            output: &self.output,
            chunk: Cursor::default(),
            end: Instant::now() + FETCH_LIMIT,
            is_late: false,
        };
        let taken = take(&mut flow);
        match (taken, flow.is_late) {
            (Err(Why::NoAnswer(_)), false) => Err(Why::NoAnswer(self.end())),
            (Err(Why::NoAnswer(why)), true) => Err(Why::TimeOver(why)),
            (taken, _) => taken,
        }
    }

    fn send(&mut self, request: Vec<u8>) {
        if let Some(mut stdin) = self.stdin.take() {
            // Beside the reading: a server may speak while it is written to, and would wait for us.
            thread::spawn(move || {
                // A program that ends early says why on its own; the broken pipe says nothing.
                let _ = stdin.write_all(&request).is_err();
            });
        }
    }

    /// Short texts fit into the pipe.
    fn write(&mut self, text: &[u8]) {
        if let Some(mut stdin) = self.stdin.take() {
            let _ = stdin.write_all(text).is_err();
        }
    }

    /// Reads until `is_enough` or the end of the output.
    fn read_until(
        &mut self,
        limit: Duration,
        is_enough: impl Fn(&[u8]) -> bool,
    ) -> Result<(), Why> {
        let end = Instant::now() + limit;
        while !is_enough(&self.got) || self.got.is_empty() {
            let rest = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(rest) {
                Ok(chunk) => self.got.extend(chunk),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = limit.as_secs();
                    return Err(Why::TimeOver(format!("{seconds} seconds are over")));
                }
            }
            if self.got.len() > MOST {
                return Err(Why::Malformed("it is too long".to_owned()));
            }
        }
        Ok(())
    }

    fn complaints(&mut self) -> Vec<String> {
        let end = Instant::now() + END_LIMIT;
        let mut all = Vec::new();
        // A child of the program may hold the pipe for longer than the program lives.
        while let Ok(chunk) = self
            .complaint
            .recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            all.extend(chunk);
        }
        lines(&all)
    }

    /// How the program ended: its pipes close a moment before it does.
    fn status(&mut self, limit: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + limit;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(5)),
                other => return other.ok().flatten(),
            }
        }
    }

    /// How the program ended, in its own last words.
    fn end(&mut self) -> String {
        // GitLab's shell writes as git shows the words of a server.
        let plain = |line: &str| {
            line.strip_prefix("remote:")
                .unwrap_or(line)
                .trim()
                .to_owned()
        };
        let words = self
            .complaints()
            .iter()
            .map(|line| plain(line))
            .collect::<Vec<_>>();
        let words = lines(words.join("\n").as_bytes());
        let last = words[words.len().saturating_sub(3)..].join(" / ");
        let name = self.name;
        let code = self.status(END_LIMIT).and_then(|status| status.code());
        let code = code.map_or_else(String::new, |code| format!(" with exit code {code}"));
        let said = if last.is_empty() {
            String::new()
        } else {
            format!(": {last}")
        };
        format!("`{name}` ended{code}{said}")
    }
}

/// The output of a program as it comes.
struct Flow<'c> {
    output: &'c Receiver<Vec<u8>>,
    chunk: Cursor<Vec<u8>>,
    end: Instant,
    is_late: bool,
}

impl Read for Flow<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let length = self.chunk.read(into)?;
        if length > 0 || into.is_empty() {
            return Ok(length);
        }
        let rest = self.end.saturating_duration_since(Instant::now());
        match self.output.recv_timeout(rest) {
            Ok(chunk) => self.chunk = Cursor::new(chunk),
            Err(RecvTimeoutError::Disconnected) => return Ok(0),
            Err(RecvTimeoutError::Timeout) => {
                self.is_late = true;
                return Err(std::io::Error::new(ErrorKind::TimedOut, "the time is over"));
            }
        }
        self.chunk.read(into)
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.stdin = None;
        // It may have ended already, then neither does anything.
        let _ = self.child.kill().is_ok();
        let _ = self.child.wait().is_ok();
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Reads a pipe beside everything else, and not far ahead of whoever takes it.
fn chunks(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    const MOST_AHEAD: usize = 16;
    let (sender, receiver) = sync_channel(MOST_AHEAD);
    thread::spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let mut chunk = vec![0; 64 << 10];
        while let Ok(length @ 1..) = pipe.read(&mut chunk) {
            // Nobody listens any more where the time was over.
            if sender.send(chunk[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Reads a pipe that nobody takes from until the end, beside everything else.
fn complaints(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let mut chunk = vec![0; 64 << 10];
        let mut sum = 0;
        while let Ok(length @ 1..) = pipe.read(&mut chunk) {
            sum += length;
            // Nobody listens any more where the time was over.
            if sum > 2 * MOST || sender.send(chunk[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// How long ssh may take to say what its configuration is: it asks nobody for it.
const CONFIGURATION_LIMIT: Duration = Duration::from_secs(5);

/// Forges know one user, `git`. It counts where the address names none and ssh's configuration neither: ssh would take the name of whoever runs it.
fn with_user(host: &str, env: &Env, configuration: Program) -> String {
    let answer = configuration.output(&[], CONFIGURATION_LIMIT);
    let text = answer.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let user = text
        .as_deref()
        .and_then(|text| text.lines().find_map(|line| line.strip_prefix("user ")));
    let own = env
        .get("USER")
        .or_else(|| env.get("LOGNAME"))
        .unwrap_or_else(|| "root".to_owned());
    match user {
        Some(user) if user != own => host.to_owned(),
        _ => format!("git@{host}"),
    }
}
