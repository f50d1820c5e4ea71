//! The life of a release on real controllers, up to the way forward after a rejection: a version is installed, a higher one is merged, the
//! next is rejected by the chart's own check, and `recover` finds out from the cluster and goes forward by a merge request.
//!
//! People merge on a simulated GitLab, from which the controllers read the repository over HTTP.

use serde_json::{Value, json};

use super::field::Field;
use super::secrets::{self, context};
use super::{first_steps, scaffolded};
use crate::env::{Run, TestEnv};
use crate::real_delivery::{Peer as _, Seen};
use crate::real_forges::Sim;
use haptic_scaffold::forge::Kind;
use live::Live;
use shelf::{Place, Shelf};

mod argo;
mod flux;
mod live;
mod shelf;

/// The versions of a life, in their order: installed, upgraded to, rejected, recovered to. The last is for a life that goes on.
const A: &str = "0.2.0";
const B: &str = "0.2.1";
const C: &str = "0.2.2";
const D: &str = "0.2.3";
const E: &str = "0.2.4";

/// What the check of the rejected version says.
const REASON: &str = "preflight: timeout_queue is no duration in haproxyConfig";

const PROJECT: &str = "team/fleet";

/// What differs between the controllers.
trait Controller {
    /// Waits until a version is live and everything is quiet.
    fn is_live(&self, field: &Field, version: &str);
    /// Waits until the controller's status says that a version was rejected.
    fn has_rejected(&self, field: &Field, version: &str);
    /// Has the controller look at Git at once.
    fn looks(&self, field: &Field);
    /// Has the controller do all of its work again, though nothing has changed, and waits for its end.
    fn repeats(&self, field: &Field);
}

/// One release with its repository, its forge and its cluster.
struct Life<'a> {
    env: TestEnv,
    sim: Sim,
    field: &'a Field,
    shelf: Shelf<'a>,
    controller: &'a dyn Controller,
}

impl<'a> Life<'a> {
    /// A repository with version [`A`], written and pushed, and its Secrets in the cluster; nothing is started. `edit` is what the team
    /// changes in what was written.
    fn prepared(
        field: &'a Field,
        controller: &'a dyn Controller,
        place: Place,
        flags: &[&str],
        edit: impl Fn(&TestEnv, &Shelf<'a>),
    ) -> Option<Self> {
        let sim = Sim::start(Kind::Gitlab)?;
        let env = secrets::world(field)
            .var("HAPTIC_SCAFFOLD_TOKEN", &sim.token)
            .without("GIT_AUTHOR_DATE")
            .without("GIT_COMMITTER_DATE");
        let mut shelf = Shelf::at(place, field, &env)?;
        for version in [A, B] {
            shelf.publish(version, None);
        }
        // Anybody may read it, as the controllers do.
        let what = json!({"path": PROJECT, "visibility": "public",
            "members": {"haptic-bot": "developer", "alice": "maintainer"}});
        sim.tell("projects", &what);
        let address = sim.address(PROJECT);
        let repo = shelf.address();
        let mut all = vec!["--repo-url", &address, "--chart-repo", &repo];
        all.extend(flags);
        scaffolded(&env, A, &all);
        edit(&env, &shelf);
        env.git("out", &["add", "--all"]);
        if !env.git("out", &["status", "--porcelain"]).is_empty() {
            env.git("out", &["commit", "--quiet", "--message", "Our registry"]);
        }
        env.git("out", &["remote", "add", "origin", &address]);
        let login = address.replace("://", &format!("://haptic-bot:{}@", sim.token));
        env.git("out", &["push", "--quiet", &login, "HEAD:refs/heads/main"]);
        let rule =
            json!({"project": PROJECT, "branch": "main", "push": "noone", "merge": "maintainer"});
        sim.tell("protect", &rule);
        env.git("out", &["fetch", "--quiet", "origin"]);

        let context = context(field);
        let mut arguments = vec!["-C", "out", "secrets", "apply", "--context", &context];
        if flags.contains(&"external") {
            arguments.extend(["--secret-files", "keys"]);
        }
        env.expect(0, &arguments);
        let life = Self {
            env,
            sim,
            field,
            shelf,
            controller,
        };
        Some(life)
    }

    /// The commands of the README that start the release.
    fn start(&self) -> String {
        let [_, start] = first_steps(&self.env);
        start
    }

    /// The program in the repository, with the login of the forge.
    fn run(&self, arguments: &[&str]) -> Run {
        let mut all = vec!["-C", "out"];
        all.extend(arguments);
        self.env.run(&all)
    }

    #[track_caller]
    fn expect(&self, code: i32, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(
            run.code, code,
            "{arguments:?}\nstdout: {}\nstderr: {}",
            run.stdout, run.stderr
        );
        run
    }

    /// The request that a run has opened.
    #[track_caller]
    fn opened(&self, said: &Value) -> Seen {
        let change = &said["changes"][0];
        assert_eq!(change["request"]["verdict"], "created", "{said}");
        let number = change["request"]["number"].as_u64().expect("a number");
        let mut all = self.sim.requests(PROJECT).into_iter();
        let seen = all.find(|one| one.number == number).expect("a request");
        assert_eq!((seen.state.as_str(), seen.base.as_str()), ("open", "main"));
        seen
    }

    /// Somebody merges a request; the clone has it too.
    fn merge(&self, request: &Seen) {
        self.sim.merge(PROJECT, request.number);
        self.env
            .git("out", &["pull", "--quiet", "--ff-only", "origin", "main"]);
        self.controller.looks(self.field);
    }

    /// A version is published, and upgraded to by a merged request.
    fn upgraded(&self, to: &str) {
        let arguments = [
            "upgrade", "haptic", "--to", to, "--open", "--forge", "gitlab",
        ];
        let said = self.expect(0, &[&arguments[..], &["--output", "json"]].concat());
        self.merge(&self.opened(&said.json()));
    }

    /// The version [`C`] is merged and rejected; what is live stays as it was.
    fn rejected(&mut self) {
        // What isn't published can't be offered.
        let none = self.expect(0, &["upgrade", "haptic"]);
        assert!(!none.stdout.contains(C), "{}", none.stdout);
        self.shelf.publish(C, Some(REASON));
        let before = Live::of(self.field);
        self.upgraded(C);
        self.controller.has_rejected(self.field, C);
        Live::of(self.field).is(&before, "a rejection");
    }

    /// `recover --to 0.2.x`: the rejected version is found in the cluster, and a request with a higher one is opened and merged.
    fn recovered(&self, rejected: &str, to: &str, reason: &str) {
        let context = context(self.field);
        let mut arguments = vec!["recover", "--to", "0.2.x", "--context", &context];
        arguments.extend(["--open", "--forge", "gitlab", "--output", "json"]);
        let said = self.expect(0, &arguments).json();
        assert_eq!(said["schema"], "haptic-scaffold/recover/v1", "{said}");
        assert_eq!(said["rejection"]["version"], rejected, "{said}");
        assert_eq!(said["rejection"]["from"], "cluster", "{said}");
        let request = self.opened(&said);
        assert!(request.body.contains(reason), "{}", request.body);
        assert!(request.title.contains(to), "{}", request.title);
        assert!(
            request.labels.iter().any(|label| label == "recovery"),
            "{request:?}"
        );
        let policy = self
            .sim
            .file(PROJECT, &request.branch, ".haptic-scaffold.yaml");
        let remembered = policy.split("\nrejected:").nth(1);
        assert!(
            remembered.is_some_and(|list| list.contains(rejected)),
            "not remembered:\n{policy}"
        );
        self.merge(&request);
    }

    /// `recover --watch` until its end.
    fn watched(&self, code: i32) -> Run {
        let context = context(self.field);
        let arguments = [
            "recover",
            "--watch",
            "--context",
            &context,
            "--timeout",
            "5m",
        ];
        self.expect(code, &arguments)
    }

    /// A version is live after a recovery: nothing is left to do, and what was rejected isn't offered any more.
    fn ended(&self, version: &str, before: &Live, rejected: &[&str]) {
        let said = self.watched(0);
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(
            said.stdout.contains(&format!("live: haptic {version}\n")),
            "{all}"
        );
        self.controller.is_live(self.field, version);
        let now = Live::of(self.field);
        now.was_rolled_out_since(before, version);

        let context = context(self.field);
        let again = self.expect(0, &["recover", "--to", "0.2.x", "--context", &context]);
        let all = format!("{}{}", again.stdout, again.stderr);
        assert!(all.contains("nothing"), "{all}");
        let offers = self.expect(0, &["upgrade", "--output", "json"]).json();
        assert_eq!(offers["changes"], json!([]), "{offers}");
        for version in rejected {
            let to = self.run(&["upgrade", "haptic", "--to", version]);
            assert!([3, 4].contains(&to.code), "{}{}", to.stdout, to.stderr);
        }

        self.controller.repeats(self.field);
        Live::of(self.field).has_the_same_secrets_and_pods(&now);
        self.sim.assert_kept();
    }

    /// The first half of a life: installed, upgraded, rejected.
    fn goes_wrong(&mut self) {
        self.controller.is_live(self.field, A);
        self.upgraded(B);
        self.controller.is_live(self.field, B);
        self.rejected();
    }

    /// All of a life whose first recovery is good.
    fn lived(&mut self) {
        self.goes_wrong();
        let before = Live::of(self.field);
        self.shelf.publish(D, None);
        self.recovered(C, D, REASON);
        self.ended(D, &before, &[C]);
    }
}
