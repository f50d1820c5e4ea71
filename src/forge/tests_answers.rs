//! What the simulator lacks: forks, issues, milestones, and repositories that allow less. The answers are shaped as the forges' documentation has them.

use std::sync::{Arc, Mutex};

use secrecy::SecretString;
use serde_json::{Value, json};

use super::*;
use crate::http::test_server::{Answer, Seen, Server};

type Answers = fn(&str, &str) -> (u16, Value);
type Seens = Arc<Mutex<Vec<(String, Value)>>>;

/// A server whose answers come from a function of method, path and body, and what it was told.
fn server(answer: Answers) -> (Server, Seens) {
    let told = Seens::default();
    let shared = Arc::clone(&told);
    let server = Server::start(move |_, seen: &Seen| {
        let path = seen.target.split('?').next().unwrap_or_default().to_owned();
        let body = serde_json::from_str(&seen.body).unwrap_or(Value::Null);
        shared
            .lock()
            .unwrap()
            .push((format!("{} {path}", seen.method), body));
        let (status, body) = answer(&seen.method, &path);
        Answer::new(status, body.to_string())
    });
    (server, told)
}

fn forge(server: &Server, kind: Kind) -> Box<dyn Forge> {
    let web = format!("http://{}", server.host);
    let place = Place {
        kind,
        api: web.clone(),
        web,
        project: "co/fleet".to_owned(),
        is_told: true,
    };
    let token = Token::new("", SecretString::from("t-geheim"), "`X`");
    connect(&place, token.as_ref(), Path::new("/"), Arc::new(|_| {})).unwrap()
}

/// A body that was sent by a method to a path.
fn body_of(told: &Seens, call: &str) -> Value {
    let told = told.lock().unwrap();
    let found = told.iter().rev().find(|(other, _)| other == call);
    found
        .unwrap_or_else(|| panic!("no {call}: {told:?}"))
        .1
        .clone()
}

fn merge_request(number: u64, source: &Value) -> Value {
    json!({"iid": number, "web_url": "https://h/1", "source_branch": "b", "target_branch": "main", "sha": null, "title": "Draft: t",
        "description": "a\r\nb", "state": "locked", "source_project_id": source, "target_project_id": 7, "new_field": 1})
}

fn pull(number: u64, repo: &Value) -> Value {
    json!({"number": number, "node_id": "N", "html_url": "https://h/1", "title": "t", "body": null, "state": "open", "labels": null,
        "head": {"ref": "b", "label": "co:b", "sha": "c", "repo": repo, "repo_id": repo["id"]},
        "base": {"ref": "main", "label": "main", "sha": "d", "repo": {"id": 7}, "repo_id": 7}})
}

fn numbers(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|request| request.number).collect()
}

#[test]
fn requests_from_forks_are_never_given() {
    let (lab, _) = server(|_, _| {
        (
            200,
            json!([
                merge_request(1, &json!(8)),
                merge_request(2, &json!(7)),
                merge_request(3, &json!(null))
            ]),
        )
    });
    let found = forge(&lab, Kind::Gitlab).recent().unwrap().requests;
    assert_eq!(numbers(&found), [2]);
    assert_eq!(
        (found[0].body.as_str(), found[0].state, found[0].is_draft),
        ("a\nb", State::Open, true)
    );
    let list = |_: &str, _: &str| {
        let pulls = [
            pull(1, &json!({"id": 8})),
            pull(2, &json!({"id": 7})),
            pull(3, &json!(null)),
        ];
        (200, json!(pulls))
    };
    for kind in [Kind::Github, Kind::Gitea] {
        let (hub, _) = server(list);
        let found = forge(&hub, kind).open().unwrap();
        assert_eq!(numbers(&found), [2], "{kind:?}");
    }
}

#[test]
fn a_branch_of_gitea_that_is_gone_keeps_its_name() {
    let (tea, _) = server(|_, _| {
        let mut gone = pull(1, &json!({"id": 7}));
        gone["head"]["ref"] = json!("refs/pull/1/head");
        gone["head"]["label"] = json!("haptic/x");
        gone["merged"] = json!(true);
        gone["state"] = json!("closed");
        (200, json!([gone]))
    });
    let found = forge(&tea, Kind::Gitea).of_branch("haptic/x").unwrap();
    assert_eq!((found.len(), found[0].state), (1, State::Merged));
}

#[test]
fn an_issue_is_known_by_its_whole_title_and_written_once() {
    let cases = [
        (
            Kind::Gitlab,
            "/projects/co%2Ffleet/issues",
            "PUT",
            "description",
        ),
        (Kind::Github, "/repos/co/fleet/issues", "PATCH", "body"),
        (Kind::Gitea, "/repos/co/fleet/issues", "PATCH", "body"),
    ];
    for (kind, path, change, field) in cases {
        let (server, told) = server(|method, _| {
            let issue = |number: u64, title: &str| json!({"id": number, "iid": number, "number": number, "title": title, "body": "a\r\n", "description": "a\r\n"});
            let mut pull = issue(1, "Open");
            pull["pull_request"] = json!({"url": "x"});
            match method {
                "GET" => (
                    200,
                    json!([
                        issue(9, "Open"),
                        issue(4, "Open"),
                        issue(2, "Open doors"),
                        pull
                    ]),
                ),
                _ => (201, issue(4, "Open")),
            }
        });
        let forge = forge(&server, kind);
        let issue = forge.issue("Open").unwrap().unwrap();
        // GitHub alone gives pull requests among issues.
        let expected = if kind == Kind::Github { 4 } else { 1 };
        assert_eq!((issue.number, issue.body.as_str()), (expected, "a\n"));
        assert_eq!(forge.put_issue(None, "T", "text"), Ok(Able::Done));
        assert_eq!(
            body_of(&told, &format!("POST {path}")),
            json!({"title": "T", field: "text"})
        );
        assert_eq!(forge.put_issue(Some(4), "T", "text"), Ok(Able::Done));
        assert_eq!(
            body_of(&told, &format!("{change} {path}/4")),
            json!({field: "text"})
        );
    }
}

#[test]
fn a_milestone_is_found_by_its_title() {
    let new = NewRequest {
        branch: "b".to_owned(),
        base: "main".to_owned(),
        title: "t".to_owned(),
        milestone: Some("1.2".to_owned()),
        remove_branch: true,
        ..NewRequest::default()
    };
    let answer = |method: &str, path: &str| match (method, path) {
        ("GET", path) if path.ends_with("/milestones") => (
            200,
            json!([{"id": 1, "iid": 1, "number": 1, "title": "1.20"}, {"id": 5, "iid": 3, "number": 3, "title": "1.2"}]),
        ),
        (_, path) if path.ends_with("/merge_requests") => (201, merge_request(2, &json!(7))),
        _ => (201, pull(2, &json!({"id": 7}))),
    };
    let cases = [
        (
            Kind::Gitlab,
            "POST /projects/co%2Ffleet/merge_requests",
            "milestone_id",
            5,
        ),
        (
            Kind::Github,
            "PATCH /repos/co/fleet/issues/2",
            "milestone",
            3,
        ),
        (Kind::Gitea, "POST /repos/co/fleet/pulls", "milestone", 5),
    ];
    for (kind, call, field, expected) in cases {
        let (server, told) = server(answer);
        let made = forge(&server, kind).create(&new).unwrap();
        assert_eq!(made.unable, Vec::<String>::new());
        let told = told.lock().unwrap();
        let mut bodies = told.iter().filter(|(other, _)| other == call);
        assert!(
            bodies.any(|(_, body)| body[field] == expected),
            "{kind:?}: {told:?}"
        );
    }
}

#[test]
fn github_merges_in_a_way_that_the_repository_allows() {
    let cases: [(Answers, &str); 3] = [
        (
            |_, path| {
                ways(
                    path,
                    json!({"allow_merge_commit": false, "allow_squash_merge": true}),
                )
            },
            "SQUASH",
        ),
        (
            |_, path| {
                ways(
                    path,
                    json!({"allow_merge_commit": false, "allow_squash_merge": false, "allow_rebase_merge": true}),
                )
            },
            "REBASE",
        ),
        (|_, path| ways(path, json!({})), "MERGE"),
    ];
    for (answer, expected) in cases {
        let (server, told) = server(answer);
        assert_eq!(
            forge(&server, Kind::Github).merge_when_ready(2, "c"),
            Ok(Able::Done)
        );
        let asked = body_of(&told, "POST /graphql");
        assert_eq!(
            asked["variables"],
            json!({"id": "N", "head": "c", "method": expected})
        );
    }
}

fn ways(path: &str, ways: Value) -> (u16, Value) {
    match path {
        "/repos/co/fleet" => (200, ways),
        "/graphql" => (200, json!({"data": {"enablePullRequestAutoMerge": null}})),
        _ => (200, pull(2, &json!({"id": 7}))),
    }
}

#[test]
fn a_draft_that_a_plan_of_github_lacks_is_opened_without() {
    static ASKED: Mutex<u32> = Mutex::new(0);
    let (server, told) = server(|method, path| match (method, path) {
        ("GET", _) => (200, json!([])),
        ("POST", "/repos/co/fleet/pulls") => {
            let mut asked = ASKED.lock().unwrap();
            *asked += 1;
            match *asked {
                1 => (
                    422,
                    json!({"message": "Draft pull requests are not supported"}),
                ),
                _ => (201, pull(2, &json!({"id": 7}))),
            }
        }
        _ => (404, json!({})),
    });
    let new = NewRequest {
        is_draft: true,
        remove_branch: true,
        ..NewRequest::default()
    };
    let made = forge(&server, Kind::Github).create(&new).unwrap();
    assert_eq!(made.unable.len(), 1, "{:?}", made.unable);
    assert!(made.unable[0].starts_with("draft: "), "{:?}", made.unable);
    assert_eq!(body_of(&told, "POST /repos/co/fleet/pulls")["draft"], false);
}

#[test]
fn a_lock_of_gitlab_passes_and_a_comma_is_refused() {
    static ASKED: Mutex<u32> = Mutex::new(0);
    let (server, _) = server(|_, _| {
        let mut asked = ASKED.lock().unwrap();
        *asked += 1;
        match *asked {
            1 | 2 => (409, json!({"message": "409 Conflict: Resource lock"})),
            _ => (200, merge_request(2, &json!(7))),
        }
    });
    let forge = forge(&server, Kind::Gitlab);
    assert!(forge.close(2).is_ok());
    let edit = Edit {
        labels: Some(vec!["a,b".to_owned()]),
        ..Edit::default()
    };
    assert!(forge.edit(2, &edit).unwrap_err().why.contains("comma"));
    assert_eq!(server.seen().len(), 3);
}
