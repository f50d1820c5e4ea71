//! The simulator, as [`Peer`].

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};

use super::{Peer, Seen};
use crate::real_forges::{Sim, name, text};
use haptic_scaffold::forge::Kind;

impl Peer for Sim {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn secret(&self) -> String {
        self.token.clone()
    }

    fn address(&self, project: &str) -> String {
        format!("{}/{project}.git", self.at(name(self.kind)))
    }

    fn project(&self, name: &str) -> String {
        match self.kind {
            Kind::Gitlab => format!("team/ops/apps/{name}"),
            _ => format!("team/{name}"),
        }
    }

    fn make(&self, project: &str, files: &[(&str, &str)]) {
        let files: BTreeMap<&str, &str> = files.iter().copied().collect();
        let mut what = json!({"path": project, "protect": ["main"],
            "members": {"haptic-bot": "developer", "alice": "maintainer"}});
        if !files.is_empty() {
            what["files"] = json!(files);
        }
        self.tell("projects", &what);
    }

    fn requests(&self, project: &str) -> Vec<Seen> {
        let all = self.ask(&format!("mrs?forge={}&project={project}", name(self.kind)));
        let mut all: Vec<Seen> = all.as_array().expect("a list").iter().map(seen).collect();
        all.sort_by_key(|one| one.number);
        all
    }

    fn refs(&self, project: &str) -> BTreeMap<String, String> {
        let refs = self.ask(&format!("refs?forge={}&project={project}", name(self.kind)));
        serde_json::from_value(refs).expect("references")
    }

    fn history(&self, project: &str) -> String {
        let at = self.ask(&format!(
            "repo-path?forge={}&project={project}",
            name(self.kind)
        ));
        let log = ["log", "--all", "--format=raw", "-p"];
        let done = Command::new("git")
            .args(["-C", &text(&at["path"])])
            .args(log)
            .output();
        String::from_utf8_lossy(&done.expect("git").stdout).into_owned()
    }

    fn file(&self, project: &str, branch: &str, path: &str) -> String {
        text(
            &self.ask(&format!(
                "file?forge={}&project={project}&ref=refs/heads/{branch}&path={path}",
                name(self.kind)
            ))["text"],
        )
    }

    fn commit(&self, project: &str, branch: &str, path: &str, content: &str) {
        let what = json!({"project": project, "branch": branch, "user": "alice",
            "files": {path: content}, "message": "By hand\n"});
        self.tell("commit", &what);
    }

    fn tag(&self, project: &str, tag: &str) {
        let at = self.ask(&format!(
            "repo-path?forge={}&project={project}",
            name(self.kind)
        ));
        let done = Command::new("git")
            .args(["-C", &text(&at["path"]), "tag", tag, "main"])
            .status();
        assert!(done.expect("git").success());
    }

    fn merge(&self, project: &str, number: u64) {
        let what = json!({"project": project, "mr": number, "user": "alice",
            "method": "merge", "delete_branch": false});
        self.tell("merge", &what);
    }

    fn close(&self, project: &str, number: u64) {
        let what = json!({"project": project, "mr": number, "user": "alice"});
        self.tell("close", &what);
    }

    fn write(&self, project: &str, number: u64, title: &str, body: &str) {
        let what = json!({"project": project, "mr": number, "title": title, "description": body});
        self.tell("edit", &what);
    }

    fn label(&self, project: &str, number: u64, labels: &[&str]) {
        let what = json!({"project": project, "mr": number, "labels": labels});
        self.tell("edit", &what);
    }

    fn open(&self, project: &str, branch: &str, title: &str, body: &str) -> u64 {
        let what = json!({"project": project, "source": branch, "target": "main",
            "user": "alice", "title": title, "description": body});
        self.tell("open-mr", &what)["iid"]
            .as_u64()
            .expect("a number")
    }

    fn drop_branch(&self, project: &str, branch: &str) {
        let what = json!({"project": project, "branch": branch, "delete": true, "user": "alice"});
        self.tell("branch", &what);
    }

    fn wait_for_checks(&self, project: &str) -> bool {
        let settings = json!({"allow_auto_merge": true, "pipeline_must_succeed": true,
            "auto_pipeline": "running"});
        let what = json!({"project": project, "settings": settings});
        self.tell("projects/update", &what);
        let rule = json!({"project": project, "branch": "main", "push": "maintainer",
            "merge": "developer", "required_checks": ["ci"]});
        self.tell("protect", &rule);
        true
    }

    fn checks_pass(&self, project: &str, number: u64) -> bool {
        let what = json!({"project": project, "mr": number, "status": "success"});
        self.tell("pipeline", &what);
        let mut all = self.requests(project).into_iter();
        all.any(|one| one.number == number && one.state == "merged")
    }
}

fn seen(one: &Value) -> Seen {
    let texts = |list: &Value| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.map(text).collect()
    };
    let notes = one["notes"].as_array().into_iter().flatten();
    let notes = notes.filter(|note| note["system"] != true);
    let state = text(&one["state"]);
    Seen {
        number: one["iid"].as_u64().expect("a number"),
        state: state.replace("opened", "open"),
        title: text(&one["title"]),
        body: one["description"].as_str().unwrap_or_default().to_owned(),
        labels: texts(&one["labels"]),
        branch: text(&one["source"]),
        base: text(&one["target"]),
        people: [texts(&one["assignees"]), texts(&one["reviewers"])].concat(),
        notes: notes.map(|note| text(&note["body"])).collect(),
    }
}
