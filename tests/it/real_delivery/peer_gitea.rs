//! The real Gitea, as [`Peer`]: people act by its API.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Peer, Seen};
use crate::real_forges::gitea::Gitea;
use crate::real_forges::text;
use haptic_scaffold::forge::Kind;

fn at(project: &str, rest: &str) -> String {
    format!("repos/{project}/{rest}")
}

impl Peer for Gitea {
    fn kind(&self) -> Kind {
        Kind::Gitea
    }

    fn secret(&self) -> String {
        self.at("token2")
    }

    fn address(&self, project: &str) -> String {
        format!("{}/{project}.git", self.at("url"))
    }

    fn project(&self, name: &str) -> String {
        format!("admin1/{name}")
    }

    fn make(&self, project: &str, files: &[(&str, &str)]) {
        let name = project.trim_start_matches("admin1/");
        let what = json!({"name": name, "auto_init": !files.is_empty(), "default_branch": "main"});
        self.tell("POST", "user/repos", &what);
        let bob = json!({"permission": "write"});
        self.tell("PUT", &at(project, "collaborators/bob"), &bob);
        for (path, text) in files {
            self.commit(project, "main", path, text);
        }
    }

    fn requests(&self, project: &str) -> Vec<Seen> {
        let all = self.tell("GET", &at(project, "pulls?state=all&limit=50"), &json!({}));
        let all = all.as_array().expect("a list");
        let mut all: Vec<Seen> = all.iter().map(seen).collect();
        for one in &mut all {
            let path = at(project, &format!("issues/{}/comments", one.number));
            let notes = self.tell("GET", &path, &json!({}));
            let notes = notes.as_array().into_iter().flatten();
            one.notes = notes.map(|note| text(&note["body"])).collect();
        }
        all.sort_by_key(|one| one.number);
        all
    }

    fn refs(&self, project: &str) -> BTreeMap<String, String> {
        let mut refs = BTreeMap::new();
        for (kind, of) in [("branches", "refs/heads"), ("tags", "refs/tags")] {
            let all = self.tell("GET", &at(project, &format!("{kind}?limit=50")), &json!({}));
            for one in all.as_array().into_iter().flatten() {
                let commit = match kind {
                    "tags" => text(&one["commit"]["sha"]),
                    _ => text(&one["commit"]["id"]),
                };
                refs.insert(format!("{of}/{}", text(&one["name"])), commit);
            }
        }
        refs
    }

    fn history(&self, project: &str) -> String {
        let refs = self.refs(project);
        let heads = refs.keys().filter_map(|it| it.strip_prefix("refs/heads/"));
        let all = heads.map(|branch| {
            let path = format!("commits?sha={branch}&limit=50");
            self.tell("GET", &at(project, &path), &json!({}))
                .to_string()
        });
        all.collect()
    }

    fn file(&self, project: &str, branch: &str, path: &str) -> String {
        let path = at(project, &format!("contents/{path}?ref={branch}"));
        let content = text(&self.tell("GET", &path, &json!({}))["content"]);
        let bytes = STANDARD.decode(content.replace('\n', "")).expect("base64");
        String::from_utf8(bytes).expect("text")
    }

    fn commit(&self, project: &str, branch: &str, path: &str, content: &str) {
        let is_there = self
            .refs(project)
            .contains_key(&format!("refs/heads/{branch}"));
        let mut body = json!({"branch": branch, "message": "By hand",
            "content": STANDARD.encode(content)});
        if !is_there {
            body["branch"] = json!("main");
            body["new_branch"] = json!(branch);
        }
        let from = match is_there {
            true => branch,
            false => "main",
        };
        // A file that is there is changed by its blob's name, which the whole tree says without a refusal.
        let from = self.refs(project).remove(&format!("refs/heads/{from}"));
        let from = from.expect("a branch");
        let tree = at(project, &format!("git/trees/{from}?recursive=true"));
        let tree = self.tell("GET", &tree, &json!({}));
        let entries = tree["tree"].as_array().cloned().unwrap_or_default();
        let there = entries.iter().find(|entry| entry["path"] == path);
        let method = match there {
            Some(entry) => {
                body["sha"] = entry["sha"].clone();
                "PUT"
            }
            None => "POST",
        };
        let place = at(project, &format!("contents/{path}"));
        let made = self.tell(method, &place, &body);
        assert!(made["commit"]["sha"].is_string(), "{path}: {made}");
    }

    fn tag(&self, project: &str, tag: &str) {
        let what = json!({"tag_name": tag, "target": "main"});
        self.tell("POST", &at(project, "tags"), &what);
    }

    fn merge(&self, project: &str, number: u64) {
        let path = format!("pulls/{number}/merge");
        let body = json!({"Do": "merge", "delete_branch_after_merge": false});
        for _ in 0..50 {
            let request = ureq::post(format!("{}/api/v1/{}", self.at("url"), at(project, &path)))
                .header("Authorization", format!("token {}", self.at("token")))
                .header("Content-Type", "application/json")
                .send(body.to_string());
            if request.is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        panic!("{number} can't be merged");
    }

    fn close(&self, project: &str, number: u64) {
        let path = at(project, &format!("pulls/{number}"));
        self.tell("PATCH", &path, &json!({"state": "closed"}));
    }

    fn write(&self, project: &str, number: u64, title: &str, body: &str) {
        let path = at(project, &format!("pulls/{number}"));
        self.tell("PATCH", &path, &json!({"title": title, "body": body}));
    }

    fn label(&self, project: &str, number: u64, labels: &[&str]) {
        let known = self.tell("GET", &at(project, "labels"), &json!({}));
        let known = known.as_array().cloned().unwrap_or_default();
        let id = |name: &&str| {
            let mut known = known.iter();
            let label = known.find(|label| label["name"] == **name);
            label.map(|label| label["id"].clone()).unwrap_or_else(|| {
                let body = json!({"name": name, "color": "#00ff00"});
                self.tell("POST", &at(project, "labels"), &body)["id"].clone()
            })
        };
        let ids: Vec<Value> = labels.iter().map(id).collect();
        let path = at(project, &format!("issues/{number}/labels"));
        self.tell("PUT", &path, &json!({"labels": ids}));
    }

    fn open(&self, project: &str, branch: &str, title: &str, body: &str) -> u64 {
        let what = json!({"head": branch, "base": "main", "title": title, "body": body});
        let made = self.tell("POST", &at(project, "pulls"), &what);
        made["number"].as_u64().expect("a number")
    }

    fn drop_branch(&self, project: &str, branch: &str) {
        self.tell(
            "DELETE",
            &at(project, &format!("branches/{branch}")),
            &json!({}),
        );
    }

    /// It closes the requests of a deleted branch some time after the deletion, by the branch's name.
    fn settle(&self) {
        self.work_off();
    }

    fn wait_for_checks(&self, project: &str) -> bool {
        let what = json!({"rule_name": "main", "enable_status_check": true,
            "status_check_contexts": ["ci"]});
        self.tell("POST", &at(project, "branch_protections"), &what);
        true
    }

    fn checks_pass(&self, project: &str, number: u64) -> bool {
        let path = at(project, &format!("pulls/{number}"));
        let head = text(&self.tell("GET", &path, &json!({}))["head"]["sha"]);
        let what = json!({"context": "ci", "state": "success"});
        self.tell("POST", &at(project, &format!("statuses/{head}")), &what);
        for _ in 0..50 {
            if self.tell("GET", &path, &json!({}))["merged"] == true {
                return true;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        false
    }
}

fn seen(one: &Value) -> Seen {
    let state = match (one["merged"] == true, text(&one["state"])) {
        (true, _) => "merged".to_owned(),
        (false, state) => state,
    };
    let labels = one["labels"].as_array().into_iter().flatten();
    Seen {
        number: one["number"].as_u64().expect("a number"),
        state,
        title: text(&one["title"]),
        body: text(&one["body"]),
        labels: labels.map(|label| text(&label["name"])).collect(),
        branch: text(&one["head"]["ref"]),
        base: text(&one["base"]["ref"]),
        people: ["assignees", "requested_reviewers"]
            .iter()
            .flat_map(|name| one[*name].as_array().cloned().unwrap_or_default())
            .map(|user| text(&user["login"]))
            .collect(),
        notes: Vec::new(),
    }
}
