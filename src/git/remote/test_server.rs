//! Repositories and a loopback server of smart HTTP for the tests of this folder.
//!
//! The server gives the work to the real `git receive-pack` and `git upload-pack`; faults are of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use git2::{Oid, Repository, Signature, Time};
use secrecy::SecretString;

use super::login::{GitLogin, Login};
use crate::model::env::Env;

/// The environment of git in a test, with a home of its own.
pub(super) fn env(home: &Path) -> Env {
    let home = home.display().to_string();
    Env::of(&[("HOME", &home), ("PATH", "/usr/local/bin:/usr/bin:/bin")])
}

/// A bare remote and a repository that pushes to it.
pub(super) struct Pair {
    pub(super) home: tempfile::TempDir,
    pub(super) bare: PathBuf,
    pub(super) own: Repository,
}

impl Pair {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let bare = home.path().join("team").join("a b.git");
        let mut options = git2::RepositoryInitOptions::new();
        options.bare(true).initial_head("refs/heads/master");
        Repository::init_opts(&bare, &options).unwrap();
        let own = Repository::init(home.path().join("own")).unwrap();
        Self { home, bare, own }
    }

    pub(super) fn env(&self) -> Env {
        env(self.home.path())
    }

    /// A commit with a file, on top of others.
    pub(super) fn commit(&self, text: &str, parents: &[Oid]) -> Oid {
        let own = &self.own;
        let blob = own.blob(text.as_bytes()).unwrap();
        let mut tree = own.treebuilder(None).unwrap();
        tree.insert("file", blob, 0o100_644).unwrap();
        let tree = own.find_tree(tree.write().unwrap()).unwrap();
        let who = Signature::new("A", "a@example.org", &Time::new(0, 0)).unwrap();
        let parents: Vec<_> = parents
            .iter()
            .map(|id| own.find_commit(*id).unwrap())
            .collect();
        let parents: Vec<_> = parents.iter().collect();
        own.commit(None, &who, &who, text, &tree, &parents).unwrap()
    }

    /// Where a reference of the remote is.
    pub(super) fn there(&self, name: &str) -> Option<Oid> {
        Repository::open(&self.bare)
            .unwrap()
            .refname_to_id(name)
            .ok()
    }

    /// Whether git finds all objects of the remote.
    pub(super) fn check_remote(&self) {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(&self.bare)
            .args(["fsck", "--full", "--strict"]);
        let said = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        let text = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.status.success() && !text.contains("missing"), "{text}");
    }

    /// A hook of the remote.
    pub(super) fn hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = self.bare.join("hooks");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(super) fn set(&self, key: &str, value: &str) {
        let bare = Repository::open(&self.bare).unwrap();
        bare.config().unwrap().set_str(key, value).unwrap();
    }
}

/// Does what SSH asks the other machine for, on this one.
const SSH: &str = "#!/bin/sh\nif [ \"$1\" = -G ]; then echo \"user ${CONFIGURED:-deploy}\"; exit; fi\nprintf '%s\\n' \"$*\" >>\"$HOME/asked\"\nfor last; do :; done\nexec sh -c \"$last\"\n";

/// An `ssh` of the test, with a blank in its path.
pub(super) fn with_ssh(pair: &Pair) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let script = pair.home.path().join("my ssh");
    std::fs::write(&script, SSH).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script.display().to_string()
}

/// A login that counts how often it is asked.
#[derive(Default)]
pub(super) struct Fixed {
    pub(super) secret: Option<&'static str>,
    pub(super) asked: Mutex<Vec<String>>,
}

impl GitLogin for Fixed {
    fn basic(&self, url: &str) -> Option<Login> {
        self.asked.lock().unwrap().push(url.to_owned());
        Some(Login {
            user: "bot".to_owned(),
            secret: SecretString::from(self.secret?.to_owned()),
            source: "`TEST_TOKEN`".to_owned(),
        })
    }
}

/// What the server does instead of answering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// It answers as always.
    Pass,
    /// It hangs up and does nothing.
    ResetBefore,
    /// It does what it is asked for and hangs up.
    ResetAfter,
    /// It sends only so many bytes of the answer's body, and announces all.
    Cut(usize),
    /// It does what it is asked for and leaves so many bytes of the answer's end out.
    CutEnd(usize),
    /// It answers with a status, headers and a text.
    Status(u16, String, String),
    /// It does what it is asked for and answers with a text of its own.
    Instead(String),
    /// It answers with this status at once, and does what it is asked for only after so many milliseconds.
    Later(u16, u64),
}

/// A fault, and for which requests: a part of `METHOD /path?query`. It comes so many times.
pub(super) struct Trouble {
    pub(super) on: &'static str,
    pub(super) times: usize,
    pub(super) fault: Fault,
}

#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) request: String,
    pub(super) authorization: Option<String>,
}

/// The server.
pub(super) struct Server {
    pub(super) host: String,
    log: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Serves the folder of repositories; `secret` is what the user `bot` has to know.
    pub(super) fn start(root: &Path, secret: Option<&'static str>, troubles: Vec<Trouble>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (shared, root) = (Arc::clone(&log), root.to_owned());
        // The thread ends with the test process; every answer closes its connection.
        thread::spawn(move || {
            let mut troubles = troubles;
            for stream in listener.incoming().flatten() {
                _ = serve(stream, &root, secret, &mut troubles, &shared);
            }
        });
        Self { host, log }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/a%20b.git", self.host)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.log.lock().unwrap().clone()
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.request).collect()
    }
}

fn serve(
    mut stream: TcpStream,
    root: &Path,
    secret: Option<&str>,
    troubles: &mut [Trouble],
    log: &Mutex<Vec<Seen>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let request = line.trim().trim_end_matches(" HTTP/1.1").to_owned();
    let (mut length, mut authorization) = (0, None);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "authorization" => authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    log.lock().unwrap().push(Seen {
        request: request.clone(),
        authorization: authorization.clone(),
    });
    let trouble = troubles
        .iter_mut()
        .find(|it| it.times > 0 && request.contains(it.on));
    let fault = trouble.map(|it| {
        it.times -= 1;
        it.fault.clone()
    });
    match &fault {
        Some(Fault::ResetBefore) => return Ok(()),
        Some(Fault::Status(status, headers, text)) => {
            return answer(&mut stream, *status, headers, text.as_bytes(), text.len());
        }
        _ => {}
    }
    if let Some(secret) = secret {
        use base64::Engine as _;
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("bot:{secret}"));
        if authorization != Some(format!("Basic {pair}")) {
            let headers = "WWW-Authenticate: Basic realm=\"x\"\r\nContent-Type: text/plain\r\n";
            let text = format!("no entry with {}", authorization.unwrap_or_default());
            return answer(&mut stream, 401, headers, text.as_bytes(), text.len());
        }
    }
    if let Some(Fault::Later(status, wait)) = fault {
        let root = root.to_owned();
        thread::spawn(move || {
            thread::sleep(std::time::Duration::from_millis(wait));
            work(&root, &request, &body);
        });
        return answer(&mut stream, status, "", b"", 0);
    }
    let reply = work(root, &request, &body);
    let sent = |stream: &mut TcpStream, length: usize| {
        let part = &reply[..length.min(reply.len())];
        answer(stream, 200, "", part, reply.len())
    };
    match fault {
        Some(Fault::ResetAfter) => Ok(()),
        Some(Fault::Cut(length)) => sent(&mut stream, length),
        Some(Fault::CutEnd(length)) => sent(&mut stream, reply.len() - length),
        Some(Fault::Instead(text)) => answer(&mut stream, 200, "", text.as_bytes(), text.len()),
        _ => answer(&mut stream, 200, "", &reply, reply.len()),
    }
}

fn answer(
    stream: &mut TcpStream,
    status: u16,
    headers: &str,
    body: &[u8],
    length: usize,
) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}

/// What git answers.
fn work(root: &Path, request: &str, body: &[u8]) -> Vec<u8> {
    let service = if request.contains("receive-pack") {
        "receive-pack"
    } else {
        "upload-pack"
    };
    let asks = request.starts_with("GET ");
    let mut git = Command::new("git");
    git.args([service, "--stateless-rpc"]);
    if asks {
        git.arg("--advertise-refs");
    }
    let mut child = git
        .arg(root.join("a b.git"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    _ = child.stdin.take().unwrap().write_all(body);
    let said = child.wait_with_output().unwrap().stdout;
    if asks {
        let name = format!("# service=git-{service}\n");
        return [
            format!("{:04x}{name}0000", name.len() + 4).into_bytes(),
            said,
        ]
        .concat();
    }
    said
}
