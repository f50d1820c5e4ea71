//! Forges that aren't ours: the simulator of GitLab, GitHub and Gitea with its faults, and a real Gitea.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use secrecy::SecretString;
use serde_json::{Value, json};

use crate::forge_contract::Stage;
use crate::kit;
use haptic_scaffold::forge::detect::{Place, Told, place};
use haptic_scaffold::forge::token::Token;
use haptic_scaffold::forge::{Forge, Kind, Trace, connect};
use haptic_scaffold::model::env::Env;

mod faults;
pub mod gitea;
mod simulated;

const PROJECT: &str = "team/gitops";

/// The simulator with one forge and one project. It ends with the test.
pub struct Sim {
    child: Child,
    said: Value,
    pub kind: Kind,
    pub token: String,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Sim {
    pub fn start(kind: Kind) -> Option<Self> {
        Self::start_with(kind, &[])
    }

    pub fn start_with(kind: Kind, arguments: &[&str]) -> Option<Self> {
        let (python, program) = (kit::program("python3")?, kit::file("sim/forge_sim.py")?);
        let mut child = Command::new(python)
            .arg(program)
            .args(["--kind", name(kind), "--max-seconds", "900"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("reads");
        let said = serde_json::from_str(&line).expect("one line of JSON");
        let mut sim = Self {
            child,
            said,
            kind,
            token: String::new(),
            lines: Arc::default(),
        };
        let token = json!({"name": "bot", "user": "haptic-bot"});
        sim.token = text(&sim.tell("tokens", &token)["secret"]);
        sim.project(PROJECT);
        Some(sim)
    }

    fn project(&self, path: &str) {
        self.tell(
            "projects",
            &json!({"path": path, "files": {"a.yaml": "x: 1\n"},
                "members": {"haptic-bot": "maintainer", "alice": "developer"}}),
        );
    }

    pub fn at(&self, name: &str) -> String {
        text(&self.said[name])
    }

    pub fn tell(&self, path: &str, what: &Value) -> Value {
        let mut what = what.clone();
        what["forge"] = json!(name(self.kind));
        let address = format!("{}/_sim/{path}", self.at("control"));
        let mut answer = ureq::post(&address)
            .send(what.to_string())
            .unwrap_or_else(|why| panic!("{path} {what}: {why}"));
        let text = answer.body_mut().read_to_string().expect("text");
        serde_json::from_str(&text).expect("JSON")
    }

    fn of_project(&self, path: &str, what: &Value) -> Value {
        let mut what = what.clone();
        what["project"] = json!(PROJECT);
        self.tell(path, &what)
    }

    pub fn ask(&self, path: &str) -> Value {
        let address = format!("{}/_sim/{path}", self.at("control"));
        let mut answer = ureq::get(&address).call().expect("answers");
        let text = answer.body_mut().read_to_string().expect("text");
        serde_json::from_str(&text).expect("JSON")
    }

    pub fn fault(&self, what: &Value) {
        let address = format!("{}/_sim/faults", self.at("control"));
        ureq::delete(&address).call().expect("cleared");
        self.tell("faults", what);
    }

    /// The place of a project's remote, told as a person would.
    fn place(&self, path: &str) -> Place {
        let remote = format!("{}/{path}.git", self.at(name(self.kind)));
        let told = Told {
            kind: Some(self.kind),
            url: None,
        };
        place(&remote, &told, &Env::default()).expect("a place")
    }

    fn forge_with(&self, place: &Place, secret: Option<&str>, user: &str) -> Box<dyn Forge> {
        let token = secret.map(|secret| {
            Token::new(user, SecretString::from(secret.to_owned()), "the test").expect("a token")
        });
        let lines = Arc::clone(&self.lines);
        let trace: Trace = Arc::new(move |line| lines.lock().expect("lock").push(line.to_owned()));
        let requests = std::path::Path::new("/nonexistent");
        connect(place, token.as_ref(), requests, trace).expect("a forge")
    }

    /// The calls to the API since the last look.
    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().expect("lock"))
    }

    /// No token reached a place that it isn't for or stood in a line, and the simulator had no fault of its own.
    pub fn assert_kept(&self) {
        for path in ["leaks", "errors"] {
            let said = self.ask(path);
            let list = said.as_array().or_else(|| said[path].as_array());
            assert_eq!(list.map(Vec::len), Some(0), "{path}: {said}");
        }
        let lines = self.lines.lock().expect("lock").join("\n");
        assert!(!lines.contains(&self.token), "{lines}");
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let _ = self.child.kill().is_err();
        let _ = self.child.wait().is_err();
    }
}

impl Stage for Sim {
    fn forge(&self) -> Box<dyn Forge> {
        self.forge_with(&self.place(PROJECT), Some(&self.token), "")
    }

    fn branch(&self, name: &str) -> String {
        let file = format!("{}.yaml", name.replace('/', "-"));
        let what = json!({"branch": name, "start_branch": "main", "user": "alice",
            "files": {file: "x: 2\n"}, "message": "Change it"});
        self.of_project("commit", &what);
        let path = format!("refs?forge={}&project={PROJECT}", self::name(self.kind));
        let refs = self.ask(&path);
        text(&refs[format!("refs/heads/{name}")])
    }

    fn label(&self, number: u64, labels: &[&str]) {
        self.of_project("edit", &json!({"mr": number, "labels": labels}));
    }

    fn merge(&self, number: u64) -> bool {
        let what = json!({"mr": number, "user": "alice", "method": "merge", "delete_branch": true});
        self.of_project("merge", &what);
        true
    }

    fn somebody(&self) -> String {
        "alice".to_owned()
    }

    fn has_issues(&self) -> bool {
        false
    }
}

pub fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Gitlab => "gitlab",
        Kind::Github => "github",
        Kind::Gitea => "gitea",
        Kind::Local => "local",
    }
}

pub fn text(value: &Value) -> String {
    let text = value.as_str();
    text.unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}

pub const ALL: [Kind; 3] = [Kind::Gitlab, Kind::Github, Kind::Gitea];
