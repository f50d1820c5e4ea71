//! The life of a request, step by step, on every forge.

use super::{Bot, FILE, Peer, Seen, WEB, open, release, verdicts, wrong};
use crate::env::Run;
use crate::real_forges::Sim;
use crate::real_forges::gitea::Gitea;
use haptic_scaffold::forge::Kind;

const V1: &str = "web: [1.0.0, 1.1.0]\n";
const V2: &str = "web: [1.0.0, 1.1.0, 1.2.0]\n";
const POLICY: &str = ".haptic-scaffold.yaml";

/// A project of a step's own.
struct On<'a> {
    peer: &'a dyn Peer,
    bot: Bot,
    project: String,
}

impl On<'_> {
    fn make(&self, more: &[(&str, &str)]) {
        let web = release("web", "1.0.0");
        let mut files = vec![(FILE, web.as_str())];
        files.extend(more);
        self.peer.make(&self.project, &files);
    }

    fn run(&self, versions: &str, more: &[&str]) -> Run {
        self.bot.run(self.peer, &self.project, versions, more)
    }

    /// A run that ends well has these verdicts.
    #[track_caller]
    fn expect(&self, versions: &str, verdicts: &[&str]) {
        let said = self.bot.round(self.peer, &self.project, versions, &[]);
        assert_eq!(said, verdicts);
    }

    fn all(&self) -> Vec<Seen> {
        self.peer.requests(&self.project)
    }

    #[track_caller]
    fn only_open(&self) -> Seen {
        let mut open = open(self.peer, &self.project);
        assert_eq!(open.len(), 1, "{:#?}", self.all());
        open.remove(0)
    }

    fn commit(&self, branch: &str, path: &str, text: &str) {
        self.peer.commit(&self.project, branch, path, text);
    }

    fn tip(&self, branch: &str) -> Option<String> {
        let refs = self.peer.refs(&self.project);
        refs.get(&format!("refs/heads/{branch}")).cloned()
    }

    fn is_right(&self, version: &str) {
        assert_eq!(wrong(self.peer, &self.project, version), None);
    }
}

/// One step in the life of a request; it has a project of its own.
type Step = (&'static str, fn(&On<'_>));

const STEPS: &[Step] = &[
    ("opened-kept-updated", |on| {
        on.make(&[]);
        on.expect(V1, &["created"]);
        on.is_right("1.1.0");
        let before = (on.all(), on.peer.refs(&on.project));
        for _ in 0..3 {
            on.expect(V1, &["same"]);
            assert_eq!((on.all(), on.peer.refs(&on.project)), before, "O36, O40");
        }
        on.expect(V2, &["updated"]);
        on.is_right("1.2.0");
        assert_eq!(on.all()[0].number, before.0[0].number);
    }),
    ("words-of-people-stay", |on| {
        on.make(&[]);
        on.expect(V1, &["created"]);
        let made = on.only_open();
        let body = format!("Ask the team first.\n\n{}", made.body);
        on.peer
            .write(&on.project, made.number, "Not before Monday", &body);
        on.peer.label(&on.project, made.number, &["stop"]);
        on.expect(V1, &["same"]);
        let before = on.only_open();
        on.expect(V2, &["updated"]);
        let after = on.only_open();
        assert_eq!(
            (&after.title, &after.labels),
            (&before.title, &before.labels)
        );
        assert_eq!(after.number, made.number);
        assert_eq!(
            (after.title.as_str(), after.labels.as_slice()),
            ("Not before Monday", &["stop".to_owned()][..])
        );
        assert!(after.body.starts_with("Ask the team first."), "{after:?}");
        assert_eq!(
            on.peer.file(&on.project, WEB, FILE),
            release("web", "1.2.0")
        );
        on.expect(V2, &["same"]);
        assert_eq!(on.only_open(), after);
    }),
    ("somebodys-commit", |on| {
        on.make(&[]);
        on.expect(V1, &["created"]);
        on.commit(WEB, "apps/note.yaml", "x: 1\n");
        let before = (on.all(), on.peer.refs(&on.project));
        for versions in [V1, V2] {
            let run = on.run(versions, &[]);
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert_eq!(verdicts(&run), ["left-alone"]);
            assert!(
                run.stderr.contains("has a commit that isn't ours"),
                "{}",
                run.stderr
            );
            assert_eq!((on.all(), on.peer.refs(&on.project)), before);
        }
    }),
    ("closed-is-a-no-to-that-version", |on| {
        on.make(&[]);
        on.expect(V1, &["created"]);
        let number = on.only_open().number;
        on.peer.close(&on.project, number);
        for _ in 0..2 {
            on.expect(V1, &["closed"]);
            assert_eq!(open(on.peer, &on.project), []);
            assert_eq!(on.all().len(), 1);
            assert_eq!(on.tip(WEB), None, "a branch whose request ended goes");
        }
        on.peer.settle();
        on.expect(V2, &["created"]);
        assert_ne!(on.only_open().number, number, "O35: a new one");
        assert_eq!(
            on.peer.file(&on.project, WEB, FILE),
            release("web", "1.2.0")
        );
        on.expect(V2, &["same"]);
    }),
    ("closed-and-branch-deleted", |on| {
        on.make(&[]);
        on.expect(V1, &["created"]);
        let number = on.only_open().number;
        on.peer.close(&on.project, number);
        on.peer.drop_branch(&on.project, WEB);
        on.expect(V1, &["closed"]);
        assert_eq!(on.tip(WEB), None);
        on.peer.settle();
        on.expect(V2, &["created"]);
        assert_ne!(on.only_open().number, number);
    }),
    ("merged-branch-left", |on| {
        on.make(&[]);
        on.expect(V1, &["created"]);
        on.peer.merge(&on.project, on.only_open().number);
        assert!(on.tip(WEB).is_some());
        on.expect(V1, &[]);
        assert_eq!(on.tip(WEB), None, "O41: tidied");
        on.expect(V1, &[]);
        on.expect(V2, &["created"]);
        assert_eq!(on.all().len(), 2);
    }),
    ("merged-branch-left-and-newer", |on| {
        on.make(&[]);
        on.expect(V1, &["created"]);
        on.peer.merge(&on.project, on.only_open().number);
        on.expect(V2, &["created"]);
        assert_eq!(on.only_open().number, on.all()[1].number);
        assert_eq!(
            on.peer.file(&on.project, WEB, FILE),
            release("web", "1.2.0")
        );
        on.expect(V2, &["same"]);
    }),
    ("superseded-by-a-group", |on| {
        on.make(&[]);
        on.expect(V1, &["created"]);
        let old = on.only_open();
        let policy = "upgrade:\n  charts:\n    web: {group: front}\n";
        on.commit("main", POLICY, policy);
        on.expect(V1, &["created"]);
        let new = on.only_open();
        assert_ne!((new.number, &new.branch), (old.number, &old.branch));
        let old = on.all().remove(0);
        let named = format!("/{}.", new.number);
        let says = |note: &String| note.contains("Superseded by") && note.contains(&named);
        assert!(
            old.state == "closed" && old.notes.iter().any(says),
            "{old:#?}"
        );
        assert_eq!(on.tip(WEB), None);
        on.expect(V1, &["same"]);
        on.peer.settle();
        on.commit("main", POLICY, "upgrade: {}\n");
        on.expect(V1, &["created"]);
        assert_eq!(
            on.only_open().branch,
            WEB,
            "what we closed is nobody's no (O35)"
        );
        assert_eq!(on.all().len(), 3);
    }),
    ("rejected", |on| {
        on.make(&[]);
        on.expect(V1, &["created"]);
        on.commit(
            "main",
            POLICY,
            "rejected:\n  - {chart: web, version: 1.1.0, reason: slow}\n",
        );
        on.expect(V1, &[]);
        let old = on.all().remove(0);
        assert!(old.state == "closed", "{old:#?}");
        let says = |note: &String| note.contains("version was rejected");
        assert!(old.notes.iter().any(says), "{old:#?}");
        assert_eq!(on.tip(WEB), None);
        on.expect(V1, &[]);
        assert_eq!(on.all().len(), 1);
    }),
    ("base-changes-the-same-file", |on| {
        on.make(&[]);
        on.expect(V1, &["created"]);
        let (number, old) = (on.only_open().number, on.tip(WEB));
        let changed = |version| format!("{}  timeout: 5m\n", release("web", version));
        on.commit("main", FILE, &changed("1.0.0"));
        on.expect(V1, &["updated"]);
        assert_eq!(on.only_open().number, number, "O37: the same one");
        assert_ne!(on.tip(WEB), old);
        assert_eq!(on.peer.file(&on.project, WEB, FILE), changed("1.1.0"));
        on.expect(V1, &["same"]);
        on.peer.merge(&on.project, number);
        assert_eq!(on.peer.file(&on.project, "main", FILE), changed("1.1.0"));
    }),
    ("base-changes-another-file", |on| {
        on.make(&[]);
        on.expect(V1, &["created"]);
        let (old, before) = (on.tip(WEB), on.all());
        on.commit("main", "README.md", "Read me\n");
        on.expect(V1, &["same"]);
        assert_eq!((on.tip(WEB), on.all()), (old, before), "O40: no push");
    }),
    ("always-rebuild", |on| {
        on.make(&[(POLICY, "requests: {always_rebuild: true}\n")]);
        on.expect(V1, &["created"]);
        let (old, before) = (on.tip(WEB), on.only_open());
        on.commit("main", "README.md", "Read me\n");
        on.expect(V1, &["updated"]);
        assert_ne!(on.tip(WEB), old);
        assert_eq!(on.only_open(), before);
        on.expect(V1, &["same"]);
    }),
    ("opened-by-a-person", |on| {
        on.make(&[]);
        on.expect(V1, &["created"]);
        on.peer.close(&on.project, on.only_open().number);
        let number = on
            .peer
            .open(&on.project, WEB, "By hand", "Please have a look");
        on.expect(V1, &["adopted"]);
        let adopted = on.only_open();
        assert_eq!(
            (adopted.number, adopted.title.as_str()),
            (number, "By hand")
        );
        assert!(
            adopted.body.starts_with("Please have a look"),
            "{adopted:?}"
        );
        assert_eq!(adopted.labels, ["dependencies"]);
        on.expect(V1, &["same"]);
        assert_eq!(on.only_open(), adopted);
        on.expect(V2, &["updated"]);
        assert_eq!(on.only_open().number, number);
    }),
    ("merged-by-itself", |on| {
        on.make(&[(POLICY, "requests: {auto_merge: true}\n")]);
        if !on.peer.wait_for_checks(&on.project) {
            return;
        }
        on.expect(V1, &["created"]);
        let number = on.only_open().number;
        on.expect(V1, &["same"]);
        on.expect(V2, &["updated"]);
        on.expect(V2, &["same"]);
        assert!(on.peer.checks_pass(&on.project, number));
        assert_eq!(
            on.peer.file(&on.project, "main", FILE),
            release("web", "1.2.0")
        );
        on.expect(V2, &[]);
    }),
    ("labels-and-people", |on| {
        let somebody = match (on.peer.kind(), on.project.starts_with("admin1/")) {
            (Kind::Gitea, true) => "admin1",
            _ => "alice",
        };
        let policy = format!(
            "requests: {{labels: [team], reviewers: [{somebody}, nobody-such], assignees: [{somebody}], draft: true}}\n"
        );
        on.make(&[(POLICY, policy.as_str())]);
        let run = on.run(V1, &[]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stderr.contains("`nobody-such`"), "{}", run.stderr);
        assert!(
            !run.stderr.contains(&format!("`{somebody}`")),
            "{}",
            run.stderr
        );
        let mut made = on.only_open();
        made.labels.sort();
        assert_eq!(made.labels, ["dependencies", "team"]);
        assert_eq!(made.people, [somebody, somebody]);
        on.expect(V1, &["same"]);
    }),
    ("only-so-many-at-once", |on| {
        let other = release("db", "1.0.0");
        let policy = "requests: {most_open: 1}\n";
        on.make(&[("apps/db.yaml", &other), (POLICY, policy)]);
        let versions = "web: [1.0.0, 1.1.0]\ndb: [1.0.0, 1.1.0]\n";
        on.expect(versions, &["created"]);
        on.expect(versions, &["same"]);
        let first = on.only_open();
        on.peer.merge(&on.project, first.number);
        on.expect(versions, &["created"]);
        assert_ne!(on.only_open().branch, first.branch);
    }),
    ("another-base", |on| {
        on.make(&[]);
        on.commit("next", "README.md", "Read me\n");
        let run = on.run(V1, &["--base", "next"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(on.only_open().base, "next", "O46");
        let note = on
            .peer
            .file(&on.project, &on.only_open().branch, "README.md");
        assert_eq!(note, "Read me\n", "on top of it");
        let again = on.run(V1, &["--base", "next"]);
        assert_eq!(verdicts(&again), ["same"]);
        let none = on.run(V1, &["--base", "none"]);
        assert_eq!(none.code, 1);
        assert!(
            none.stdout.contains("has no branch `none`"),
            "{}",
            none.stdout
        );
    }),
    ("names-that-are-also-something-else", |on| {
        on.make(&[]);
        on.commit("apps", "README.md", "Read me\n");
        on.peer.tag(&on.project, "apps");
        let run = on.run(V1, &["--base", "apps"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(on.only_open().base, "apps", "O38");
        let note = on
            .peer
            .file(&on.project, &on.only_open().branch, "README.md");
        assert_eq!(note, "Read me\n", "the branch, not the tag");
    }),
    ("empty", |on| {
        on.peer.make(&on.project, &[]);
        let run = on.run(V1, &[]);
        assert_eq!(run.code, 1);
        let said = run.stdout + &run.stderr;
        assert!(said.contains("it is empty"), "O45: {said}");
    }),
];

/// Goes through all steps, and says of each that failed what was wrong.
fn live(peer: &dyn Peer) {
    let failed: Vec<String> = STEPS
        .iter()
        .filter_map(|(name, step)| {
            let on = On {
                peer,
                bot: Bot::new(),
                project: peer.project(name),
            };
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| step(&on)));
            done.is_err().then(|| (*name).to_owned())
        })
        .collect();
    assert_eq!(failed, Vec::<String>::new());
}

fn simulated(kind: Kind) {
    let Some(sim) = Sim::start(kind) else { return };
    live(&sim);
    sim.assert_kept();
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitlab_requests_live() {
    simulated(Kind::Gitlab);
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_github_requests_live() {
    simulated(Kind::Github);
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitea_requests_live() {
    simulated(Kind::Gitea);
}

#[test]
#[ignore = "needs python3 and gitea"]
fn real_gitea_requests_live() {
    let Some(gitea) = Gitea::start() else { return };
    live(&gitea);
}
