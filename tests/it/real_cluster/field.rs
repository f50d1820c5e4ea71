//! [`Field`]: one cluster, from `field up` to `field down`, and how to wait for something in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::kit;

/// The programs of each group of `field up`; those of the empty name are always needed.
const PROGRAMS: [(&str, &[&str]); 7] = [
    ("", &["etcd", "kube-apiserver", "kubectl", "python3"]),
    ("kwok", &["kwok", "kube-scheduler"]),
    ("flux", &["source-controller", "kustomize-controller"]),
    ("argocd", &["argocd", "helm", "kustomize", "redis-server"]),
    ("cert-manager", &["cert-manager"]),
    ("external-secrets", &["external-secrets"]),
    ("sealed-secrets", &["sealed-secrets"]),
];

/// One cluster at a time, however many threads the tests have.
static ONLY: Mutex<()> = Mutex::new(());

/// A cluster that runs as long as this value lives.
pub struct Field {
    program: PathBuf,
    kubectl: Kubectl,
    folder: tempfile::TempDir,
    facts: Value,
    _only: MutexGuard<'static, ()>,
}

/// The way into a cluster: objects are read and written by it.
#[derive(Clone)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: String,
}

impl Field {
    /// Starts a cluster with these groups, and with these folders of CRDs. `None` where a part of the kit is missing.
    pub fn up(groups: &[&str], crds: &[&str]) -> Option<Self> {
        let program = kit::file("field/field")?;
        let kubectl = kit::program("kubectl")?;
        for (_, programs) in PROGRAMS
            .iter()
            .filter(|(group, _)| group.is_empty() || groups.contains(group))
        {
            for name in *programs {
                kit::program(name)?;
            }
        }
        let only = ONLY.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::Builder::new()
            .prefix("haptic-scaffold-field-")
            .tempdir()
            .expect("a temporary folder");
        let mut command = Command::new(&program);
        command.arg("up").arg("--dir").arg(folder.path());
        for group in groups {
            command.args(["--with", group]);
        }
        for path in crds {
            command.arg("--crds").arg(kit::file(path)?);
        }
        let line = succeeded(&mut command);
        let facts: Value = serde_json::from_str(&line).expect("field up prints JSON");
        let kubectl = Kubectl {
            program: kubectl,
            kubeconfig: text(&facts, "/kubeconfig").to_owned(),
        };
        Some(Self {
            program,
            kubectl,
            folder,
            facts,
            _only: only,
        })
    }

    /// A text of the line that `field up` printed.
    pub fn fact(&self, key: &str) -> &str {
        self.facts[key]
            .as_str()
            .unwrap_or_else(|| panic!("no {key}: {}", self.facts))
    }

    /// Whether a program of the cluster that may be missing is there.
    pub fn runs(&self, program: &str) -> bool {
        self.facts["pids"].get(program).is_some()
    }

    /// Makes the content of a folder the head of the served repository `demo`.
    pub fn publish(&self, tree: &Path) {
        succeeded(
            Command::new(&self.program)
                .args(["publish", "--dir"])
                .arg(self.folder.path())
                .arg(tree)
                .arg("demo"),
        );
    }

    /// Builds versions of the stand-in chart into the Helm repository of the cluster and, with helm, pushes them to its registry.
    pub fn charts(&self, arguments: &[&str]) -> Option<()> {
        built(Path::new(self.fact("charts_root")), &[], arguments)
    }

    /// Runs shell commands in a folder, as a reader of a README does.
    pub fn shell(&self, folder: &Path, commands: &str) {
        let mut command = Command::new("bash");
        command.args([
            "-euo",
            "pipefail",
            "-c",
            r#"PATH="$(dirname "$0"):$PATH"; eval "$1""#,
        ]);
        command.arg(&self.kubectl.program).arg(commands);
        command
            .current_dir(folder)
            .env("KUBECONFIG", &self.kubectl.kubeconfig);
        succeeded(&mut command);
    }
}

impl std::ops::Deref for Field {
    type Target = Kubectl;

    fn deref(&self) -> &Kubectl {
        &self.kubectl
    }
}

impl Kubectl {
    /// Runs kubectl; what it says on standard error where it fails.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        output(self.command().args(arguments))
    }

    /// Runs kubectl with a text as its standard input.
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), input).expect("writes");
        let input = std::fs::File::open(file.path()).expect("opens");
        output(self.command().args(arguments).stdin(input))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("KUBECONFIG", &self.kubeconfig);
        command
    }

    /// The kubeconfig, with which anything is allowed.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// Gives an object annotations whose value is the object's own version, which is new each time. Returns the value.
    pub fn annotate(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
        annotations: &[&str],
    ) -> String {
        let object = self.get(kind, namespace, name).expect("asks");
        let version = text(&object, "/metadata/resourceVersion").to_owned();
        let mut arguments = vec!["annotate", "--overwrite", "--namespace", namespace];
        let pairs: Vec<String> = annotations
            .iter()
            .map(|key| format!("{key}={version}"))
            .collect();
        arguments.extend([kind, name]);
        arguments.extend(pairs.iter().map(String::as_str));
        self.kubectl(&arguments).expect("annotates");
        version
    }

    /// An object; null where there is none.
    pub fn get(&self, kind: &str, namespace: &str, name: &str) -> Result<Value, String> {
        let mut arguments = vec!["get", kind, name, "--namespace", namespace];
        arguments.extend(["--ignore-not-found", "--output", "json"]);
        let text = self.kubectl(&arguments)?;
        if text.trim().is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&text).map_err(|why| why.to_string())
    }

    /// All objects of a kind in a namespace.
    pub fn list(&self, kind: &str, namespace: &str) -> Result<Vec<Value>, String> {
        let arguments = ["get", kind, "--namespace", namespace, "--output", "json"];
        let list: Value =
            serde_json::from_str(&self.kubectl(&arguments)?).map_err(|why| why.to_string())?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        let mut command = Command::new(&self.program);
        command.arg("down").arg("--dir").arg(self.folder.path());
        let _ = command.output().is_err();
    }
}

/// Builds versions of the stand-in chart into a folder. What it runs has these variables too.
pub fn built(folder: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Option<()> {
    let program = kit::file("double/make.py")?;
    let helm = kit::program("helm")?;
    // The script looks for helm on the PATH.
    succeeded(
        Command::new("sh")
            .args(["-c", r#"PATH="$(dirname "$1"):$PATH"; shift; exec "$@""#])
            .arg("sh")
            .args([&helm, &program])
            .arg(folder)
            .args(arguments)
            .envs(variables.iter().copied()),
    );
    Some(())
}

/// Asks again until something is so; fails with what was seen last.
pub fn within<T>(seconds: u64, what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) => assert!(
                Instant::now() < deadline,
                "not within {seconds} s: {what}\nlast seen: {seen}"
            ),
        }
        std::thread::sleep(Duration::from_millis(250));
    }
}

/// Asks again for so long; fails as soon as something isn't so any more.
pub fn stays(seconds: u64, what: &str, look: impl Fn() -> Result<(), String>) {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < deadline {
        if let Err(seen) = look() {
            panic!("not for {seconds} s: {what}\nseen: {seen}");
        }
        std::thread::sleep(Duration::from_millis(250));
    }
}

/// A text of an object; empty where there is none. Times of Kubernetes are in UTC and compare as texts.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn succeeded(command: &mut Command) -> String {
    match output(command) {
        Ok(text) => text,
        Err(why) => panic!("{command:?} failed: {why}"),
    }
}

fn output(command: &mut Command) -> Result<String, String> {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap_or_else(|why| panic!("cannot run {command:?}: {why}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if status.success() {
        Ok(text(&stdout))
    } else {
        Err(format!("{}{}", text(&stdout), text(&stderr)))
    }
}
