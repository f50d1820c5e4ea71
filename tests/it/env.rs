//! [`TestEnv`]: a folder, a HOME and a git configuration of a test's own, and the real program run in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The world of one test.
pub struct TestEnv {
    root: tempfile::TempDir,
    vars: BTreeMap<String, String>,
}

/// What a program did.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl TestEnv {
    pub fn new() -> Self {
        let root = tempfile::Builder::new()
            .prefix("haptic-scaffold-test-")
            .tempdir()
            .expect("a temporary folder");
        let home = root.path().join("home");
        std::fs::create_dir(&home).expect("a home");
        std::fs::create_dir(root.path().join("work")).expect("a work folder");
        let around = std::env::var_os("PATH").unwrap_or_default();
        let folders =
            std::iter::once(root.path().join("bin")).chain(std::env::split_paths(&around));
        let path = std::env::join_paths(folders).expect("a path");
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let vars = BTreeMap::from(
            [
                ("PATH", path.to_string_lossy().into_owned()),
                ("HOME", text(&home)),
                ("XDG_CONFIG_HOME", text(&home.join("xdg"))),
                ("LANG", "C.UTF-8".to_owned()),
                ("TZ", "UTC".to_owned()),
                ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
                ("GIT_AUTHOR_NAME", "A Team".to_owned()),
                ("GIT_AUTHOR_EMAIL", "team@example.org".to_owned()),
                ("GIT_AUTHOR_DATE", "1700000000 +0000".to_owned()),
                ("GIT_COMMITTER_NAME", "A Team".to_owned()),
                ("GIT_COMMITTER_EMAIL", "team@example.org".to_owned()),
                ("GIT_COMMITTER_DATE", "1700000000 +0000".to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        Self { root, vars }
    }

    /// Sets a variable for every later run.
    pub fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Takes a variable away.
    pub fn without(mut self, name: &str) -> Self {
        self.vars.remove(name);
        self
    }

    /// The folder that programs are started in.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.work().join(path)
    }

    /// Writes a file below the work folder.
    pub fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("writes");
        self
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path))
            .unwrap_or_else(|why| panic!("cannot read {path}: {why}"))
    }

    /// Sets the mode of a file below the work folder.
    pub fn mode(&self, path: &str, mode: u32) -> &Self {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.path(path), mode).expect("sets the mode");
        self
    }

    /// Puts a shell script first on the PATH of every program.
    pub fn program_on_path(&self, name: &str, script: &str) {
        let path = self.root.path().join("bin").join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(&path, script).expect("writes");
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
    }

    /// Runs the program itself.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.program(env!("CARGO_BIN_EXE_haptic-scaffold"), arguments, "")
    }

    /// Runs the program and expects an exit code.
    pub fn expect(&self, code: i32, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(
            run.code, code,
            "{arguments:?}\nstdout: {}\nstderr: {}",
            run.stdout, run.stderr
        );
        run
    }

    /// Runs git and expects it to succeed.
    pub fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let folder = self.path(folder).to_string_lossy().into_owned();
        let mut all = vec!["-C", &folder];
        all.extend(arguments);
        let run = self.program("git", &all, "");
        assert_eq!(run.code, 0, "git {arguments:?}: {}", run.stderr);
        run.stdout
    }

    /// Runs any program in this world.
    pub fn program(&self, program: &str, arguments: &[&str], input: &str) -> Run {
        use std::io::Write as _;
        let mut child = self
            .command(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|why| panic!("cannot run {program}: {why}"));
        let mut stdin = child.stdin.take().expect("a pipe");
        let _ = stdin.write_all(input.as_bytes()).is_err();
        drop(stdin);
        Run::of(&child.wait_with_output().expect("ends"))
    }

    /// A command in this world, with nothing of the environment around.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.work())
            .env_clear()
            .envs(&self.vars);
        command
    }
}

impl Run {
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// The one JSON object on standard output.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|why| panic!("no JSON ({why}): {}\n{}", self.stdout, self.stderr))
    }
}
