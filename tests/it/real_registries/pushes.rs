//! Pushes to git's own server: `git http-backend` and the real sshd.

use git2::{Oid, Repository, Signature, Time};
use haptic_scaffold::git::remote::login::{Aim, Logins};
use haptic_scaffold::git::remote::pushed::{Outcome, Pushed};
use haptic_scaffold::git::remote::{RefUpdate, Remote};
use haptic_scaffold::model::env::Env;
use serde_json::json;

use super::git_servers::GitServer;
use crate::env::TestEnv;
use crate::kit;

/// The secret of the user `bot`, which must not show up anywhere.
const SECRET: &str = "s3cret-of-bot";

struct Own {
    repository: Repository,
    env: Env,
}

impl Own {
    fn new(test: &TestEnv, more: &[(&str, &str)]) -> Self {
        let home = test.home().display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let own = [("HOME", home.as_str()), ("PATH", &path)];
        let all: Vec<(&str, &str)> = own.into_iter().chain(more.iter().copied()).collect();
        Self {
            repository: Repository::init(test.path("own")).expect("a repository"),
            env: Env::of(&all),
        }
    }

    fn commit(&self, text: &str, parents: &[Oid]) -> Oid {
        let own = &self.repository;
        let blob = own.blob(text.as_bytes()).expect("a blob");
        let mut tree = own.treebuilder(None).expect("a tree");
        tree.insert("file", blob, 0o100_644).expect("an entry");
        let tree = own.find_tree(tree.write().expect("a tree")).expect("it");
        let who = Signature::new("A", "a@example.org", &Time::new(0, 0)).expect("a name");
        let parents: Vec<_> = parents
            .iter()
            .map(|id| own.find_commit(*id).expect("a parent"))
            .collect();
        let parents: Vec<_> = parents.iter().collect();
        own.commit(None, &who, &who, text, &tree, &parents)
            .expect("a commit")
    }

    /// Moves `main`.
    fn push(&self, address: &str, old: Option<Oid>, new: Oid) -> Result<Pushed, String> {
        let folder = self.repository.path();
        let aim = Aim {
            addresses: vec![address.to_owned()],
            told: None,
        };
        let logins = Logins::new(&self.env, aim, None, folder).map_err(|why| why.to_string())?;
        let update = RefUpdate {
            name: "refs/heads/main".to_owned(),
            new: Some(new),
            expected_old: old,
        };
        Remote::at(address, folder, &self.env, &logins)
            .and_then(|remote| remote.push(&self.repository, &[update]))
            .map_err(|why| format!("{why:?} {why} {:?}", why.problem()))
    }
}

/// Two million bytes that don't get smaller in a pack, so that no pipe or buffer holds a push at once.
fn noise() -> String {
    let mut state: u64 = 1;
    let words = (0..125_000).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        format!("{state:016x}")
    });
    words.collect()
}

/// The whole life of a branch, which is the same over each way.
fn life(server: &GitServer, own: &Own, address: &str) {
    let one = own.commit("one", &[]);
    let two = own.commit(&noise(), &[one]);
    let done = own.push(address, None, one).expect("an answer");
    assert_eq!(done.check(), Ok(()));
    let lost = own.push(address, None, two).expect("an answer");
    assert_eq!(lost.refs[0].outcome, Outcome::LeaseLost(Some(one)));
    server.tell(
        "refuse",
        &json!({"repo": "team/b.git", "message": "GL-HOOK-ERR: needs ticket"}),
    );
    let refused = own.push(address, Some(one), two).expect("an answer");
    let problem = refused.check().expect_err("refused");
    assert!(
        problem
            .message
            .contains("remote: GL-HOOK-ERR: needs ticket"),
        "{problem}"
    );
    server.tell("refuse", &json!({"repo": "team/b.git", "message": ""}));
    let done = own.push(address, Some(one), two).expect("an answer");
    assert_eq!(done.check(), Ok(()));
    let same = own.push(address, Some(one), two).expect("an answer");
    assert_eq!(same.refs[0].outcome, Outcome::Unchanged);
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn pushes_over_http_with_a_login_and_through_a_broken_connection() {
    let test = TestEnv::new();
    let auth = format!("--auth=oauth2:{SECRET}");
    let Some(server) = GitServer::start(&test, &[&auth]) else {
        return;
    };
    server.tell("repo", &json!({"repo": "team/b.git"}));
    server.tell("repo", &json!({"repo": "team/c.git"}));
    let own = Own::new(&test, &[("HAPTIC_SCAFFOLD_TOKEN", SECRET)]);
    life(&server, &own, &format!("{}/team/b.git", server.at("url")));

    let address = format!("{}/team/c.git", server.at("url"));
    let mut tip = None;
    for (number, fault) in ["reset-before", "reset-after"].into_iter().enumerate() {
        let parents: Vec<Oid> = tip.into_iter().collect();
        let next = own.commit(&format!("commit {number}"), &parents);
        server.tell("fault", &json!({"do": fault, "on": "POST /team/c.git"}));
        let pushed = own.push(&address, tip, next).expect(fault);
        assert_eq!(pushed.refs[0].outcome, Outcome::Done, "{fault}");
        tip = Some(next);
    }
    let busy = json!({"do": "status", "on": "git-receive-pack", "status": 503, "headers": {"Retry-After": "1"}});
    server.tell("fault", &busy);
    let last = own.commit("last", &tip.into_iter().collect::<Vec<_>>());
    let pushed = own.push(&address, tip, last).expect("an answer");
    assert_eq!(pushed.check(), Ok(()));

    let wrong = Own::new(&test, &[("HAPTIC_SCAFFOLD_TOKEN", "wr0ng-secret")]);
    let refused = wrong.push(&address, Some(last), last).expect_err("refused");
    assert!(
        refused.contains("refuses the login of `HAPTIC_SCAFFOLD_TOKEN`"),
        "{refused}"
    );
    assert!(!refused.contains("wr0ng-secret"), "{refused}");
    let absent = own.push(&format!("{}/team/x.git", server.at("url")), None, last);
    assert!(absent.expect_err("absent").contains("status 404"));
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn pushes_over_ssh_with_a_key_and_known_hosts() {
    let test = TestEnv::new();
    if kit::program("sshd").is_none() {
        return;
    }
    let Some(server) = GitServer::start(&test, &["--ssh"]) else {
        return;
    };
    server.tell("repo", &json!({"repo": "team/b.git"}));
    let command = server.at("ssh_command");
    let own = Own::new(&test, &[("GIT_SSH_COMMAND", command)]);
    let address = format!("{}/team/b.git", server.at("ssh"));
    life(&server, &own, &address);

    let next = own.commit("next", &[]);
    let reader = command.replace(server.at("key"), server.at("key_ro"));
    let reader = Own::new(&test, &[("GIT_SSH_COMMAND", &reader)]);
    let refused = reader.push(&address, None, next).expect_err("refused");
    assert!(refused.contains("marked as read only"), "{refused}");
    let unknown = command.replace(server.at("known_hosts"), "/dev/null");
    let unknown = Own::new(&test, &[("GIT_SSH_COMMAND", &unknown)]);
    let refused = unknown.push(&address, None, next).expect_err("refused");
    assert!(
        refused.contains("Host key verification failed"),
        "{refused}"
    );
    let absent = own.push(&format!("{}/team/x.git", server.at("ssh")), None, next);
    assert!(absent.expect_err("absent").contains("Repository not found"));
}

/// A clone whose remote is at an address, with a pin, pushed there by git itself into the server's folder.
fn clone_of(test: &TestEnv, server: &GitServer, address: &str, folder: &str) {
    let bare = format!("{}/team/{folder}.git", server.at("root"));
    test.program("git", &["init", "-q", "--bare", "-b", "main", &bare], "");
    test.write(
        &format!("{folder}/web.yaml"),
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec:\n  chart:\n    spec:\n      chart: web\n      version: 1.0.0\n      sourceRef: {kind: HelmRepository, name: all}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: all, namespace: apps}\nspec: {url: https://charts.example.org/all}\n",
    );
    test.git(folder, &["init", "-q", "-b", "main"]);
    test.git(folder, &["add", "-A"]);
    test.git(folder, &["commit", "-qm", "First"]);
    test.git(folder, &["push", "-q", &bare, "main"]);
    test.git(folder, &["remote", "add", "origin", address]);
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn commands_reach_gits_own_servers() {
    let test = TestEnv::new();
    let auth = format!("bot:{SECRET}");
    let Some(server) = GitServer::start(&test, &["--auth", &auth, "--ssh"]) else {
        return;
    };
    test.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    let test = test
        .var("HAPTIC_SCAFFOLD_TOKEN", SECRET)
        .var("GIT_SSH_COMMAND", server.at("ssh_command"));
    // The server knows one user, and takes no token beside any name.
    let http = server.at("url").replace("://", "://bot@");
    for (folder, base) in [("http", http.as_str()), ("ssh", server.at("ssh"))] {
        let address = format!("{base}/team/{folder}.git");
        clone_of(&test, &server, &address, folder);
        let refs = || {
            let bare = format!("{}/team/{folder}.git", server.at("root"));
            let run = test.program("git", &["-C", &bare, "for-each-ref"], "");
            run.stdout
        };
        let upgrade = [
            "-C",
            folder,
            "upgrade",
            "--push",
            "--versions",
            "versions.yaml",
        ];
        let run = test.expect(0, &upgrade);
        assert!(!(run.stdout + &run.stderr).contains(SECRET));
        let pushed = refs();
        assert!(
            pushed.contains("refs/heads/haptic-scaffold/upgrade-web"),
            "{pushed}"
        );
        test.expect(0, &upgrade);
        assert_eq!(refs(), pushed);
        test.write("newer.yaml", "web: [1.0.0, 1.1.0, 1.2.0]\n");
        let run = test.expect(
            0,
            &[
                "-C",
                folder,
                "upgrade",
                "--push",
                "-vv",
                "--versions",
                "newer.yaml",
            ],
        );
        assert_ne!(refs(), pushed);
        assert!(!(run.stdout + &run.stderr).contains(SECRET));
        // The server's own words are shown, and nothing is called done.
        let refuse =
            json!({"repo": format!("team/{folder}.git"), "message": "GL-HOOK-ERR: needs ticket"});
        server.tell("refuse", &refuse);
        test.write("newest.yaml", "web: [1.3.0]\n");
        let arguments = [
            "-C",
            folder,
            "upgrade",
            "--push",
            "--versions",
            "newest.yaml",
        ];
        let run = test.expect(4, &arguments);
        assert!(run.stderr.contains("needs ticket"), "{}", run.stderr);
    }
}
