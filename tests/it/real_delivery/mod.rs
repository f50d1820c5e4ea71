//! The whole way of a change, by the real program: from the look at a repository to its merge request on a forge that isn't ours.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use haptic_scaffold::forge::Kind;

use crate::env::{Run, TestEnv};
use crate::real_forges::{Sim, name};

mod faults;
mod killed;
mod life;
mod peer_gitea;
mod peer_sim;
mod quiet;
mod recover;

/// A merge request as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub number: u64,
    /// `open`, `closed` or `merged`.
    pub state: String,
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    pub branch: String,
    pub base: String,
    /// Who shall see to it, and who shall look at it.
    pub people: Vec<String>,
    pub notes: Vec<String>,
}

/// A forge with the bot's user and people on it.
pub trait Peer: Sync {
    fn kind(&self) -> Kind;
    /// The bot's token.
    fn secret(&self) -> String;
    /// Where projects are, as a remote's address begins.
    fn address(&self, project: &str) -> String;
    /// A name of a project that can be made.
    fn project(&self, name: &str) -> String;
    /// Makes a project with files on `main`; without any it is empty.
    fn make(&self, project: &str, files: &[(&str, &str)]);
    /// By number.
    fn requests(&self, project: &str) -> Vec<Seen>;
    /// Full names of references, and where they are.
    fn refs(&self, project: &str) -> BTreeMap<String, String>;
    /// Every commit with its message and difference.
    fn history(&self, project: &str) -> String;
    fn file(&self, project: &str, branch: &str, path: &str) -> String;
    /// A person's commit; a branch that isn't there starts at `main`.
    fn commit(&self, project: &str, branch: &str, path: &str, text: &str);
    fn tag(&self, project: &str, tag: &str);
    fn merge(&self, project: &str, number: u64);
    fn close(&self, project: &str, number: u64);
    /// A person changes title and text.
    fn write(&self, project: &str, number: u64, title: &str, body: &str);
    /// A person changes labels.
    fn label(&self, project: &str, number: u64, labels: &[&str]);
    fn open(&self, project: &str, branch: &str, title: &str, body: &str) -> u64;
    fn drop_branch(&self, project: &str, branch: &str);
    /// Waits until the forge has done what it does later than it answers.
    fn settle(&self) {}
    /// Lets requests wait for something, so that they can be merged by themselves.
    fn wait_for_checks(&self, project: &str) -> bool;
    /// What is waited for comes; whether the request is merged then.
    fn checks_pass(&self, project: &str, number: u64) -> bool;
}

const WEB: &str = "haptic-scaffold/upgrade-web";
const FILE: &str = "apps/web.yaml";

/// A release of a chart at a version.
fn release(chart: &str, version: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {{name: charts, namespace: flux-system}}
spec: {{url: 'https://charts.example.org'}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: {chart}, namespace: flux-system}}
spec:
  chart:
    spec:
      chart: {chart}
      version: {version}
      sourceRef: {{kind: HelmRepository, name: charts}}
"
    )
}

/// The bot, with a HOME of its own.
struct Bot {
    env: TestEnv,
    runs: AtomicUsize,
}

impl Bot {
    fn new() -> Self {
        let env = TestEnv::new()
            .without("GIT_AUTHOR_DATE")
            .without("GIT_COMMITTER_DATE");
        Self {
            env,
            runs: AtomicUsize::new(0),
        }
    }

    /// The program, about to do the round of a project where charts have these versions.
    fn command(
        &self,
        peer: &dyn Peer,
        project: &str,
        versions: &str,
        more: &[&str],
    ) -> std::process::Command {
        let file = format!("{}.yaml", self.runs.fetch_add(1, Ordering::Relaxed));
        self.env.write(&file, versions);
        let mut command = self.env.command(env!("CARGO_BIN_EXE_haptic-scaffold"));
        command
            .args(["bot", "run", &peer.address(project), "--forge"])
            .args([name(peer.kind()), "--output", "json", "--versions", &file])
            .args(more)
            .env("HAPTIC_SCAFFOLD_TOKEN", peer.secret());
        command
    }

    fn run(&self, peer: &dyn Peer, project: &str, versions: &str, more: &[&str]) -> Run {
        let mut command = self.command(peer, project, versions, more);
        Run::of(&command.output().expect("runs"))
    }

    /// A run that ends with 0; gives the verdicts of the changes.
    fn round(&self, peer: &dyn Peer, project: &str, versions: &str, more: &[&str]) -> Vec<String> {
        let run = self.run(peer, project, versions, more);
        assert_eq!(
            run.code, 0,
            "{project} {more:?}\n{}\n{}",
            run.stdout, run.stderr
        );
        verdicts(&run)
    }
}

/// What became of the request of each change.
fn verdicts(run: &Run) -> Vec<String> {
    let said = run.json();
    let changes = said["repos"][0]["changes"].as_array().cloned();
    let verdict =
        |change: serde_json::Value| change["request"]["verdict"].as_str().map(str::to_owned);
    changes
        .unwrap_or_default()
        .into_iter()
        .filter_map(verdict)
        .collect()
}

/// The open requests of a project.
fn open(peer: &dyn Peer, project: &str) -> Vec<Seen> {
    let mut all = peer.requests(project);
    all.retain(|request| request.state == "open");
    all
}

/// What is wrong with a project for which one request of an upgrade was due; nothing where all is right.
fn wrong(peer: &dyn Peer, project: &str, version: &str) -> Option<String> {
    let all = peer.requests(project);
    let [one] = all.as_slice() else {
        return Some(format!("{} requests: {all:#?}", all.len()));
    };
    let refs = peer.refs(project);
    let branches: Vec<&String> = refs
        .keys()
        .filter(|name| name.starts_with("refs/heads/"))
        .collect();
    if branches != ["refs/heads/haptic-scaffold/upgrade-web", "refs/heads/main"] {
        return Some(format!("branches {branches:?}"));
    }
    let is_right = one.state == "open"
        && one.title.contains(version)
        && one.body.contains(&format!("| {version} |"))
        && one.body.matches("<!-- haptic-scaffold ").count() == 1
        && (one.branch.as_str(), one.base.as_str()) == (WEB, "main")
        && peer.file(project, WEB, FILE) == release("web", version)
        && peer.file(project, "main", FILE) == release("web", "1.0.0");
    (!is_right).then(|| format!("{one:#?}"))
}

/// Each simulated forge in turn.
fn each(mut test: impl FnMut(&Sim)) {
    for kind in crate::real_forges::ALL {
        let Some(sim) = Sim::start(kind) else { return };
        test(&sim);
        sim.assert_kept();
    }
}
