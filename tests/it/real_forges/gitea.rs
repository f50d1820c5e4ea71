//! The contract against a real Gitea.

use std::process::Command;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::text;
use crate::forge_contract::{Stage, hold, new, open};
use crate::kit;
use haptic_scaffold::forge::detect::{Told, place};
use haptic_scaffold::forge::token::Token;
use haptic_scaffold::forge::{Able, Forge, Kind, State, Trace, connect};
use haptic_scaffold::model::env::Env;

/// A Gitea with fresh data. It ends with the test.
pub struct Gitea {
    said: Value,
}

impl Gitea {
    pub fn start() -> Option<Self> {
        let (python, up) = (kit::program("python3")?, kit::file("peers/gitea.py")?);
        kit::program("gitea")?;
        let done = Command::new(python)
            .arg(up)
            .args(["up", "--seconds", "600"])
            .output()
            .expect("starts");
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        let said = serde_json::from_slice(&done.stdout).expect("one line of JSON");
        let gitea = Self { said };
        gitea.tell(
            "POST",
            "user/repos",
            &json!({"name": "gitops", "auto_init": true, "default_branch": "main"}),
        );
        let bob = json!({"permission": "write"});
        gitea.tell("PUT", "repos/admin1/gitops/collaborators/bob", &bob);
        Some(gitea)
    }

    pub fn at(&self, name: &str) -> String {
        text(&self.said[name])
    }

    /// What a person does, by the API.
    pub fn tell(&self, method: &str, path: &str, body: &Value) -> Value {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}/api/v1/{path}", self.at("url")))
            .header("Authorization", format!("token {}", self.at("token")))
            .header("Content-Type", "application/json")
            .body(body.to_string());
        let mut answer = ureq::run(request.expect("a request"))
            .unwrap_or_else(|why| panic!("{method} {path}: {why}"));
        let text = answer.body_mut().read_to_string().expect("text");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Waits until its queues are empty: what pushes and deletions of branches still have to do is done.
    pub fn work_off(&self) {
        let program = kit::program("gitea").expect("it runs");
        let config = std::path::Path::new(&self.at("dir")).join("app.ini");
        let done = Command::new(program)
            .arg("--config")
            .arg(config)
            .args(["manager", "flush-queues", "--timeout", "60s"])
            .output()
            .expect("starts");
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }

    fn forge_of(&self, project: &str, token: &str) -> Box<dyn Forge> {
        let remote = format!("{}/{project}.git", self.at("url"));
        let told = Told {
            kind: Some(Kind::Gitea),
            url: None,
        };
        let place = place(&remote, &told, &Env::default()).expect("a place");
        let token = Token::new("", SecretString::from(token.to_owned()), "the test");
        let trace: Trace = Arc::new(|_| {});
        let requests = std::path::Path::new("/nonexistent");
        connect(&place, token.as_ref(), requests, trace).expect("a forge")
    }
}

impl Drop for Gitea {
    fn drop(&mut self) {
        let (Some(python), Some(down)) = (kit::program("python3"), kit::file("peers/gitea.py"))
        else {
            return;
        };
        let done = Command::new(python)
            .arg(down)
            .args(["down", &self.at("dir")])
            .status();
        let _ = done.is_err();
    }
}

impl Stage for Gitea {
    fn forge(&self) -> Box<dyn Forge> {
        self.forge_of("admin1/gitops", &self.at("token2"))
    }

    fn branch(&self, name: &str) -> String {
        let file = name.replace('/', "-");
        let path = format!("repos/admin1/gitops/contents/{file}.yaml");
        let there = self.tell("GET", "repos/admin1/gitops/branches?limit=50", &json!({}));
        let there = there.as_array().into_iter().flatten();
        let mut there = there.filter(|branch| branch["name"] == name);
        if let Some(branch) = there.next() {
            return text(&branch["commit"]["id"]);
        }
        let body = json!({"branch": "main", "new_branch": name, "message": "Change it",
            "content": STANDARD.encode("x: 2\n")});
        text(&self.tell("POST", &path, &body)["commit"]["sha"])
    }

    fn label(&self, number: u64, labels: &[&str]) {
        let known = self.tell("GET", "repos/admin1/gitops/labels", &json!({}));
        let known = known.as_array().cloned().unwrap_or_default();
        let id = |name: &&str| {
            let mut known = known.iter();
            let label = known.find(|label| label["name"] == **name);
            label.map(|label| label["id"].clone()).unwrap_or_else(|| {
                let body = json!({"name": name, "color": "#00ff00"});
                self.tell("POST", "repos/admin1/gitops/labels", &body)["id"].clone()
            })
        };
        let ids: Vec<Value> = labels.iter().map(id).collect();
        let path = format!("repos/admin1/gitops/issues/{number}/labels");
        self.tell("PUT", &path, &json!({"labels": ids}));
    }

    fn merge(&self, number: u64) -> bool {
        let path = format!("repos/admin1/gitops/pulls/{number}/merge");
        let body = json!({"Do": "merge", "delete_branch_after_merge": true});
        for _ in 0..50 {
            let request = ureq::post(format!("{}/api/v1/{path}", self.at("url")))
                .header("Authorization", format!("token {}", self.at("token")))
                .header("Content-Type", "application/json")
                .send(body.to_string());
            if request.is_ok() {
                return true;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        panic!("{number} can't be merged");
    }

    fn somebody(&self) -> String {
        "admin1".to_owned()
    }

    fn has_issues(&self) -> bool {
        true
    }
}

#[test]
#[ignore = "needs python3 and gitea"]
fn real_gitea_holds_the_contract() {
    let Some(gitea) = Gitea::start() else { return };
    hold(&gitea);

    // Without a check nothing is waited for.
    let forge = gitea.forge();
    let made = open(&gitea, &new("haptic/ready")).request;
    let head = made.head.clone().expect("a commit");
    let able = forge
        .merge_when_ready(made.number, &head)
        .expect("an answer");
    assert_eq!(able, Able::Done);
    // The server does it a moment later.
    let state = || forge.of_branch("haptic/ready").expect("a list")[0].state;
    for _ in 0..50 {
        if state() == State::Merged {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert_eq!(state(), State::Merged);

    let missing = gitea.forge_of("admin1/none", &gitea.at("token2"));
    let why = missing.recent().expect_err("there is none");
    assert_eq!(why.status, Some(404));
    assert!(why.hint.expect("a hint").contains("can't see it"));
    let wrong = gitea.forge_of("admin1/gitops", "not-a-token");
    let why = wrong.recent().expect_err("no token of it");
    assert_eq!(why.status, Some(401));
    let said = format!("{why} {why:?}");
    assert!(!said.contains("not-a-token"), "{said}");
}
