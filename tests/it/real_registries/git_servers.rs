//! Tags of Git repositories over smart HTTP, from git's own server.

use serde_json::Value;

use crate::env::TestEnv;
use crate::kit;
use haptic_scaffold::model::env::Env;
use haptic_scaffold::registry::{HttpRegistry, Registry as _};

/// A server of bare repositories. It is ended by its own program.
pub(super) struct GitServer {
    program: String,
    said: Value,
}

impl GitServer {
    pub(super) fn start(env: &TestEnv, arguments: &[&str]) -> Option<Self> {
        let program = kit::file("peers/gitserve.py")?.display().to_string();
        kit::program("python3")?;
        let mut all = vec!["up"];
        all.extend(arguments);
        let run = env.program(&program, &all, "");
        assert_eq!(run.code, 0, "{}", run.stderr);
        Some(Self {
            program,
            said: run.json(),
        })
    }

    pub(super) fn at(&self, name: &str) -> &str {
        self.said[name].as_str().unwrap_or_default()
    }

    /// Tells the server to do something, such as to refuse.
    pub(super) fn tell(&self, name: &str, what: &Value) {
        let address = format!("{}/_/{name}", self.at("url"));
        ureq::post(&address)
            .send(what.to_string())
            .unwrap_or_else(|why| panic!("{name}: {why}"));
    }

    /// A repository with tags, one of them with a text of its own.
    fn fill(&self, env: &TestEnv) {
        let bare = format!("{}/team/a.git", self.at("root"));
        std::fs::create_dir_all(env.path("source")).expect("a folder");
        env.git("source", &["init", "-q", "-b", "main"]);
        env.git("source", &["commit", "-q", "--allow-empty", "-m", "Start"]);
        env.git("source", &["tag", "v1.0.0"]);
        env.git("source", &["tag", "-a", "-m", "x", "v1.1.0"]);
        env.git("source", &["clone", "-q", "--bare", ".", &bare]);
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        let down = std::process::Command::new(&self.program)
            .args(["down", self.at("dir")])
            .status();
        assert!(down.is_ok(), "the server can't be ended");
    }
}

/// A library client whose programs have the world of a test, and more.
fn client(env: &TestEnv, more: &[(&str, &str)]) -> HttpRegistry {
    let home = env.home().display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let own = [("HOME", home.as_str()), ("PATH", &path)];
    let all: Vec<(&str, &str)> = own.into_iter().chain(more.iter().copied()).collect();
    HttpRegistry::new("test/1", Env::of(&all))
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn tags_are_listed_over_http_and_behind_a_login_by_the_users_git() {
    let env = TestEnv::new();
    let Some(open) = GitServer::start(&env, &[]) else {
        return;
    };
    open.fill(&env);
    let address = format!("{}/team/a.git", open.at("url"));
    assert_eq!(
        client(&env, &[]).git_tags(&address).expect("tags"),
        ["v1.0.0", "v1.1.0"]
    );
    let absent = client(&env, &[]).git_tags(&format!("{}/team/b.git", open.at("url")));
    assert!(absent.is_err());
    drop(open);

    let env = TestEnv::new();
    let Some(private) = GitServer::start(&env, &["--auth", "bot:geheim"]) else {
        return;
    };
    private.fill(&env);
    let address = format!("{}/team/a.git", private.at("url"));
    let error = client(&env, &[])
        .git_tags(&address)
        .expect_err("a login is wanted")
        .to_string();
    assert!(
        error.contains("status 401") && error.contains("terminal prompts disabled"),
        "{error}"
    );
    let host = private.at("url").trim_start_matches("http://");
    env.write(
        "../home/.git-credentials",
        &format!("http://bot:geheim@{host}\n"),
    );
    env.write("../home/.gitconfig", "[credential]\n\thelper = store\n");
    assert_eq!(
        client(&env, &[]).git_tags(&address).expect("tags"),
        ["v1.0.0", "v1.1.0"]
    );
}
