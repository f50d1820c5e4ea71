//! The life of a release that is rejected: installed, upgraded, rejected, recovered, and never offered again, on forges and registries that aren't ours and with
//! a cluster's recorded words.
//!
//! `HAPTIC_SCAFFOLD_BLESS=1` writes the requests in `tests/recover` anew.

use std::path::Path;

use haptic_scaffold::forge::Kind;
use serde_json::{Value, json};

use super::{Peer as _, Seen};
use crate::env::{Run, TestEnv};
use crate::fake_cluster::{CONTEXT, FakeCluster};
use crate::golden;
use crate::real_forges::{Sim, name, text};

mod fleets;
mod shapes;

use self::shapes::Shapes;

const UPGRADE: &str = "haptic-scaffold/upgrade-haptic";
const RECOVER: &str = "haptic-scaffold/recover-haptic";
const POLICY: &str = ".haptic-scaffold.yaml";

/// A repository that a layout made, on a forge, with the registry that its chart comes from, and a cluster.
struct Life {
    sim: Sim,
    env: TestEnv,
    cluster: FakeCluster,
    shapes: Shapes,
    project: String,
    /// How people merge.
    method: &'static str,
}

/// Where the chart comes from; people merge by squashing where it is a registry.
#[derive(Clone, Copy)]
enum Source {
    Helm,
    Oci,
}

impl Life {
    /// Installed at 0.2.0, of which 0.2.1 is newer. Nothing where the simulator isn't there.
    fn start(kind: Kind, layout: &str, source: Source) -> Option<Self> {
        let both = format!("{},charts", name(kind));
        let sim = Sim::start_with(kind, &["--kind", &both])?;
        let env = TestEnv::new()
            .without("GIT_AUTHOR_DATE")
            .without("GIT_COMMITTER_DATE")
            .var("HAPTIC_SCAFFOLD_TOKEN", &sim.token);
        let life = Self {
            project: sim.project(layout),
            method: match source {
                Source::Helm => "merge",
                Source::Oci => "squash",
            },
            cluster: FakeCluster::start(),
            shapes: if layout.starts_with("flux") {
                Shapes::Flux
            } else {
                Shapes::Argo
            },
            sim,
            env,
        };
        life.cluster.kubeconfig(&life.env);
        life.publish(&["0.2.0", "0.2.1"]);
        let repo = match source {
            Source::Helm => format!("{}/stable", life.sim.at("helm")),
            Source::Oci => format!("{}/charts", life.sim.at("oci")),
        };
        let address = life.sim.address(&life.project);
        let mut init = vec!["init", "made", "--layout", layout, "--yes"];
        init.extend(["--chart-version", "0.2.0", "--chart-repo", &repo]);
        init.extend(["--repo-url", "https://git.example.org/team/gitops.git"]);
        if layout.ends_with("-fleet") {
            init.extend(["--clusters", "staging,production"]);
        }
        life.env.expect(0, &init);
        let files = golden::files(&life.env.path("made"));
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        life.sim.make(&life.project, &files);
        life.env.git(".", &["clone", "-q", &life.bare(), "repo"]);
        life.env
            .git("repo", &["remote", "set-url", "origin", &address]);
        Some(life)
    }

    /// The forge's own repository.
    fn bare(&self) -> String {
        let path = format!(
            "repo-path?forge={}&project={}",
            name(self.sim.kind),
            self.project
        );
        text(&self.sim.ask(&path)["path"])
    }

    fn publish(&self, versions: &[&str]) {
        let versions: Vec<Value> = versions
            .iter()
            .map(|version| json!({"version": version, "created": "2026-01-02T03:04:05Z", "salt": "x"}))
            .collect();
        let what = json!({"name": "haptic", "oci": "charts/haptic", "helm": "stable",
            "versions": versions});
        self.sim.tell("charts", &what);
    }

    /// The program in the clone.
    #[track_caller]
    fn run(&self, code: i32, arguments: &[&str]) -> Run {
        let mut all = vec!["-C", "repo", "--output", "json"];
        all.extend(arguments);
        let run = self.env.expect(code, &all);
        assert!(!run.stderr.contains("hunter2x"), "{}", run.stderr);
        run
    }

    /// With delivery to the forge.
    #[track_caller]
    fn deliver(&self, code: i32, arguments: &[&str]) -> Run {
        let mut all = arguments.to_vec();
        all.extend(["--open", "--forge", name(self.sim.kind)]);
        self.run(code, &all)
    }

    /// A round of upgrades: verdicts of the requests.
    #[track_caller]
    fn upgrade(&self) -> Vec<String> {
        verdicts(&self.deliver(0, &["upgrade"]).json())
    }

    /// A recovery by the cluster's word: verdicts of the requests.
    #[track_caller]
    fn recover(&self, more: &[&str]) -> Value {
        let mut all = vec!["recover", "--context", CONTEXT];
        all.extend(more);
        self.deliver(0, &all).json()
    }

    fn all(&self) -> Vec<Seen> {
        self.sim.requests(&self.project)
    }

    #[track_caller]
    fn open(&self, branch: &str) -> Seen {
        let mut open = super::open(&self.sim, &self.project);
        open.retain(|one| one.branch == branch);
        assert_eq!(open.len(), 1, "{branch}: {:#?}", self.all());
        open.remove(0)
    }

    /// A person merges what a branch offers, and the clone takes it.
    #[track_caller]
    fn merge(&self, branch: &str) {
        let what = json!({"project": self.project, "mr": self.open(branch).number, "user": "alice",
            "method": self.method, "delete_branch": false});
        self.sim.tell("merge", &what);
        self.pull();
    }

    fn pull(&self) {
        self.env.git("repo", &["fetch", "-q", &self.bare(), "main"]);
        self.env
            .git("repo", &["reset", "-q", "--hard", "FETCH_HEAD"]);
    }

    fn branches(&self) -> Vec<String> {
        let refs = self.sim.refs(&self.project).into_keys();
        refs.filter_map(|name| Some(name.strip_prefix("refs/heads/")?.to_owned()))
            .filter(|name| name != "main")
            .collect()
    }

    fn file(&self, branch: &str, path: &str) -> String {
        self.sim.file(&self.project, branch, path)
    }

    fn is_flux(&self) -> bool {
        self.shapes == Shapes::Flux
    }

    /// The file with the release's version in a repository of one cluster.
    fn pin(&self) -> &'static str {
        match self.shapes {
            Shapes::Flux => "apps/haptic/release/release.yaml",
            Shapes::Argo => "argocd/apps/haptic.yaml",
        }
    }

    #[track_caller]
    fn has(&self, branch: &str, version: &str) {
        let text = self.file(branch, self.pin());
        assert!(text.contains(&format!("\"{version}\"")), "{branch}: {text}");
    }

    fn git(&self, arguments: &[&str]) -> String {
        let bare = self.bare();
        let run = self
            .env
            .program("git", &[&["-C", &bare][..], arguments].concat(), "");
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
        run.stdout
    }

    /// The version that a file pins at a revision.
    fn pinned(&self, revision: &str, path: &str) -> String {
        let text = self.git(&["show", &format!("{revision}:{path}")]);
        let start = text.find("\"0.").expect("a version") + 1;
        let length = text[start..].find('"').expect("its end");
        text[start..start + length].to_owned()
    }

    /// The versions that `main` has had, the oldest first.
    fn past(&self, path: &str) -> Vec<String> {
        let all = self.git(&["rev-list", "--first-parent", "--reverse", "main"]);
        let mut versions: Vec<String> = all.lines().map(|one| self.pinned(one, path)).collect();
        versions.dedup();
        versions
    }

    /// The versions at the tips of all branches and of all requests there have ever been.
    fn offered(&self, path: &str) -> Vec<String> {
        let all = self.git(&["for-each-ref", "--format=%(refname)"]);
        all.lines().map(|one| self.pinned(one, path)).collect()
    }
}

fn verdicts(said: &Value) -> Vec<String> {
    let changes = said["changes"].as_array().into_iter().flatten();
    changes
        .map(|change| text(&change["request"]["verdict"]))
        .collect()
}

/// Compares a request with the one that is kept.
#[track_caller]
fn is_as_kept(name: &str, change: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recover/{name}.md"));
    let shown = format!("# {}\n\n{}", text(&change["title"]), text(&change["body"]));
    if std::env::var_os("HAPTIC_SCAFFOLD_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(&path, &shown).expect("writes");
    }
    let kept = std::fs::read_to_string(&path).expect("is there");
    assert!(
        kept == shown,
        "not as in {}:\n{shown}\nrather than:\n{kept}",
        path.display()
    );
}

/// What is published before a round, the verdicts of it, and what people do with the request then.
type Round = (&'static [&'static str], &'static [&'static str], Then);

#[derive(Clone, Copy, PartialEq)]
enum Then {
    Leave,
    Merge,
    Close,
}

/// After the recovery to 0.2.2. What was rejected is published again, and again with other metadata.
const ROUNDS: [Round; 10] = [
    (&["0.2.3"], &["created"], Then::Merge),
    (&["0.2.4"], &["created"], Then::Leave),
    (&["0.2.5"], &["updated"], Then::Leave),
    (&["0.2.1"], &["same"], Then::Leave),
    (&["0.3.0"], &["updated"], Then::Merge),
    (&["0.2.6"], &["created"], Then::Close),
    (&["0.2.1+again"], &["closed"], Then::Leave),
    (&["0.2.7"], &["created"], Then::Merge),
    (&["0.3.1"], &[], Then::Leave),
    (&["0.2.8"], &["created"], Then::Leave),
];

fn life(kind: Kind, layout: &str, source: Source) {
    let Some(life) = Life::start(kind, layout, source) else {
        return;
    };
    assert_eq!(life.upgrade(), ["created"]);
    assert_eq!(life.upgrade(), ["same"]);
    life.merge(UPGRADE);
    life.has("main", "0.2.1");
    let kept = match source {
        Source::Helm => layout.to_owned(),
        Source::Oci => format!("{layout}-oci"),
    };
    life.is_recovered(&kept);
    life.is_followed();
    life.never_comes_back();
    life.goes_forward_after_a_revert();
    life.sim.assert_kept();
}

impl Life {
    /// Rejected, recovered, and merged.
    fn is_recovered(&self, kept: &str) {
        self.cluster_rejects("0.2.1");
        self.publish(&["0.2.2"]);
        let before = self.cluster.requests().len();
        let said = self.recover(&["--to", "0.2.x"]);
        assert!(
            self.cluster.requests().len() <= before + 6,
            "{:#?}",
            self.cluster.requests()
        );
        assert_eq!(verdicts(&said), ["created"]);
        assert_eq!(said["rejection"]["version"], "0.2.1");
        assert_eq!(said["chosen"]["version"], "0.2.2");
        assert!(!said.to_string().contains("hunter2x"), "{said}");
        let change = &said["changes"][0];
        is_as_kept(kept, change);
        let made = self.open(RECOVER);
        assert!(
            made.body.contains(text(&change["body"]).trim()),
            "{}",
            made.body
        );
        assert_eq!(made.labels, ["recovery"]);
        self.has(RECOVER, "0.2.2");
        // A file with the log says the same as the cluster.
        self.env.write("job.log", shapes::LOG);
        let by_log = [
            "recover",
            "--job-log",
            "job.log",
            "--to",
            "0.2.x",
            "--dry-run",
        ];
        let by_log = self.run(0, &by_log).json();
        for key in ["version", "reason", "evidence", "log"] {
            assert_eq!(by_log["rejection"][key], said["rejection"][key], "{key}");
        }
        let remembered = self.file(RECOVER, POLICY);
        let remembered = &remembered[remembered.find("rejected:").expect("remembered")..];
        let digest = text(&said["rejection"]["evidence"]);
        assert_eq!(remembered, shapes::remembered(&digest));
        assert!(!self.sim.history(&self.project).contains("hunter2x"));

        let before = (self.all(), self.sim.refs(&self.project));
        assert_eq!(verdicts(&self.recover(&["--to", "0.2.x"])), ["same"]);
        let waits = self.deliver(0, &["upgrade"]).json();
        assert_eq!(verdicts(&waits), [""; 0]);
        assert!(
            waits.to_string().contains("waits for its recovery"),
            "{waits}"
        );
        self.publish(&["0.2.1"]);
        assert_eq!(self.upgrade(), [""; 0]);
        assert_eq!((self.all(), self.sim.refs(&self.project)), before);
        // Somebody's clone knows the recovery's branch, and doesn't hear that it went.
        self.env.git(".", &["clone", "-q", "repo", "colleague"]);
        let address = self.sim.address(&self.project);
        let origin = ["remote", "set-url", "origin", &address];
        self.env.git("colleague", &origin);
        let known = [
            "fetch",
            "-q",
            &self.bare(),
            "refs/heads/*:refs/remotes/origin/*",
        ];
        self.env.git("colleague", &known);
        self.merge(RECOVER);
        self.has("main", "0.2.2");
    }

    /// A run from a clone that knows branches that are gone by now.
    #[track_caller]
    fn upgrade_of_a_colleague(&self) -> Vec<String> {
        let all = ["-C", "colleague", "--output", "json", "upgrade", "--open"];
        let forge = ["--forge", name(self.sim.kind)];
        verdicts(&self.env.expect(0, &[&all[..], &forge].concat()).json())
    }

    /// The cluster goes on to 0.2.2, or doesn't.
    fn is_followed(&self) {
        let watch = |code, timeout| {
            let more = [
                "recover",
                "--watch",
                "--context",
                CONTEXT,
                "--timeout",
                timeout,
            ];
            self.run(code, &more)
        };
        // The merge is not there yet.
        let early = self.recover(&["--to", "0.2.x"]);
        assert_eq!(verdicts(&early), [""; 0]);
        let stuck = watch(1, "3s");
        assert_eq!(
            stuck.json()["watch"]["outcome"],
            "gave-up",
            "{}",
            stuck.stdout
        );
        assert!(
            stuck.stdout.contains("0.2.2 isn't live"),
            "{}",
            stuck.stdout
        );
        self.cluster_rejects("0.2.2");
        let again = watch(10, "60s");
        assert_eq!(
            again.json()["watch"]["outcome"],
            "rejected",
            "{}",
            again.stdout
        );
        let none = self.deliver(4, &["recover", "--context", CONTEXT, "--to", "0.2.x"]);
        assert!(none.stdout.contains("0.2.2"), "{}", none.stdout);
        self.cluster_goes_live("0.2.2");
        let live = watch(0, "60s").json();
        assert_eq!(live["watch"]["outcome"], "live", "{live}");
        assert_eq!(live["watch"]["version"], "0.2.2");
        // What runs has nothing to be recovered.
        let said = self.recover(&["--to", "0.2.x"]);
        assert_eq!(verdicts(&said), [""; 0]);
    }

    /// Newer releases come, and the rejected one doesn't.
    fn never_comes_back(&self) {
        for (at, (published, expected, then)) in ROUNDS.into_iter().enumerate() {
            self.publish(published);
            assert_eq!(self.upgrade(), expected, "round {at}: {published:?}");
            if published == ["0.3.0"] {
                assert!(self.open(UPGRADE).body.contains("0.3.0 is newer"));
            }
            match then {
                Then::Leave => {}
                Then::Merge => self.merge(UPGRADE),
                Then::Close => self.sim.close(&self.project, self.open(UPGRADE).number),
            }
            let refused = self.deliver(3, &["upgrade", "haptic", "--to", "0.2.1"]);
            assert!(refused.stdout.contains("0.2.1"), "{}", refused.stdout);
        }
        assert_eq!(self.upgrade_of_a_colleague(), ["same"]);
        self.has("main", "0.2.7");
        self.has(UPGRADE, "0.2.8");
        assert_eq!(self.branches(), [UPGRADE]);
        assert_eq!(
            self.past(self.pin()),
            ["0.2.0", "0.2.1", "0.2.2", "0.2.3", "0.2.5", "0.2.7"]
        );
        let mut offered = self.offered(self.pin());
        offered.retain(|version| version == "0.2.1");
        assert_eq!(offered.len(), 1, "that of the first request");
        let all = self.all();
        let offers =
            |one: &&Seen| one.title.contains("to 0.2.1") || one.body.contains("| 0.2.1 |\n");
        assert_eq!(all.iter().filter(offers).count(), 1, "{all:#?}");
        let states: Vec<&str> = all.iter().map(|one| one.state.as_str()).collect();
        assert_eq!(
            states,
            [
                "merged", "merged", "merged", "merged", "closed", "merged", "open"
            ]
        );
    }

    /// Somebody takes the recovery back.
    fn goes_forward_after_a_revert(&self) {
        let pin = self.file("main", self.pin());
        let back = pin.replace("\"0.2.7\"", "\"0.2.1\"");
        self.sim.commit(&self.project, "main", self.pin(), &back);
        self.pull();
        let told = self.run(0, &["pins"]);
        assert!(told.stderr.contains("0.2.7"), "{}", told.stderr);
        let by_hand = ["recover", "--rejected", "0.2.1"];
        for lower in ["0.2.0", "0.2.2"] {
            let refused = self.deliver(3, &[&by_hand[..], &["--to", lower]].concat());
            assert!(refused.stdout.contains("0.2.7"), "{}", refused.stdout);
        }
        let said = self.deliver(0, &[&by_hand[..], &["--to", "0.2.x"]].concat());
        assert_eq!(said.json()["chosen"]["version"], "0.2.8");
        self.has(RECOVER, "0.2.8");
        assert_eq!(self.upgrade(), [""; 0]);
        self.merge(RECOVER);
        self.has("main", "0.2.8");
        assert_eq!(self.upgrade(), [""; 0]);
        assert_eq!(self.branches(), [""; 0]);
    }
}

/// A recovery that people close, after somebody has put a commit on it, or after one of its name was merged: what it says was rejected stands nowhere else.
fn closed(kind: Kind, layout: &str) {
    let Some(life) = Life::start(kind, layout, Source::Helm) else {
        return;
    };
    let recover = |rejected: &str| {
        let all = ["recover", "--rejected", rejected, "--to", "0.2.x"];
        let said = life.deliver(0, &all).json();
        assert_eq!(verdicts(&said), ["created"]);
    };
    let close = || {
        let number = life.open(RECOVER).number;
        life.sim.close(&life.project, number);
        life.upgrade();
        life.upgrade();
        assert!(life.branches().contains(&RECOVER.to_owned()));
    };
    assert_eq!(life.upgrade(), ["created"]);
    life.merge(UPGRADE);
    life.publish(&["0.2.2"]);
    recover("0.2.1");
    life.merge(RECOVER);
    life.publish(&["0.2.3"]);
    assert_eq!(life.upgrade(), ["created"]);
    life.merge(UPGRADE);
    life.pull();
    life.publish(&["0.2.4"]);
    recover("0.2.3");
    close();
    life.sim.drop_branch(&life.project, RECOVER);
    life.git(&[
        "fetch",
        "-q",
        "--prune",
        &life.bare(),
        "+refs/heads/*:refs/remotes/origin/*",
    ]);
    life.publish(&["0.2.5"]);
    let all = ["recover", "--rejected", "0.2.3", "--to", "0.2.5"];
    assert_eq!(verdicts(&life.deliver(0, &all).json()), ["created"]);
    life.sim
        .commit(&life.project, RECOVER, "notes.md", "mine\n");
    close();
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitlab_keeps_what_a_closed_recovery_says() {
    closed(Kind::Gitlab, "flux-cluster");
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitea_keeps_what_a_closed_recovery_says() {
    closed(Kind::Gitea, "argo-cluster");
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitlab_flux_recovers() {
    life(Kind::Gitlab, "flux-cluster", Source::Helm);
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitlab_argo_recovers() {
    life(Kind::Gitlab, "argo-cluster", Source::Helm);
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_github_flux_recovers() {
    life(Kind::Github, "flux-cluster", Source::Oci);
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitea_argo_recovers() {
    life(Kind::Gitea, "argo-cluster", Source::Oci);
}
