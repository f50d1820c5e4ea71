//! What a forge refuses, breaks and hides, by the simulator.

use serde_json::{Value, json};

use super::{ALL, PROJECT, Sim, name, text};
use crate::forge_contract::{Stage as _, new, open};
use haptic_scaffold::forge::detect::{Told, place};
use haptic_scaffold::forge::error::ForgeError;
use haptic_scaffold::forge::push_options::push_options;
use haptic_scaffold::forge::{Able, Kind, State};
use haptic_scaffold::model::env::Env;

/// What makes a request, and what lists them.
const MAKES: &str = "/(merge_requests|pulls)$";
const LISTS: &str = "/(merge_requests|pulls)\\?";

fn each(test: impl Fn(&Sim)) {
    for kind in ALL {
        let Some(sim) = Sim::start(kind) else { return };
        test(&sim);
        sim.assert_kept();
    }
}

fn hint(why: &ForgeError) -> &str {
    why.hint.as_deref().unwrap_or_default()
}

/// Pushes a branch with a commit of its own, by git.
fn push(sim: &Sim, branch: &str, options: &[String]) {
    let folder = tempfile::tempdir().expect("a folder");
    let options: Vec<String> = options
        .iter()
        .map(|it| format!("--push-option={it}"))
        .collect();
    let mut last = vec!["push", "--quiet"];
    last.extend(options.iter().map(String::as_str));
    last.extend(["origin", branch]);
    let address = format!("{}/{PROJECT}.git", sim.at(name(sim.kind)));
    let address = address.replace("://", &format!("://haptic-bot:{}@", sim.token));
    for arguments in [
        vec!["clone", "--quiet", &address, "."],
        vec!["checkout", "--quiet", "-b", branch],
        vec!["commit", "--quiet", "--allow-empty", "-m", "Change it"],
        last,
    ] {
        let done = std::process::Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(arguments)
            .current_dir(folder.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", folder.path())
            .output()
            .expect("git");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}");
    }
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitlab_below_a_path_with_groups_in_groups() {
    let Some(sim) = Sim::start_with(Kind::Gitlab, &["--gitlab-root", "/gitlab"]) else {
        return;
    };
    let project = "co/project/ops/fleet";
    sim.project(project);
    // A group of the same name elsewhere is another one.
    sim.project("ops/fleet");
    let web = sim.at("gitlab");
    assert!(web.ends_with("/gitlab"), "{web}");
    let remote = format!("{web}/{project}.git");
    let what = json!({"project": project, "branch": "haptic/x", "start_branch": "main", "files": {"b": "x"}, "message": "x"});
    sim.tell("commit", &what);
    for (count, typed) in ["", "/", "/api/v4", "/api/v4/"].into_iter().enumerate() {
        let url = format!("{web}{typed}");
        let told = Told {
            kind: Some(Kind::Gitlab),
            url: Some(&url),
        };
        let place = place(&remote, &told, &Env::default()).expect("a place");
        assert_eq!((place.project.as_str(), &place.web), (project, &web));
        let forge = sim.forge_with(&place, Some(&sim.token), "");
        if count == 0 {
            let made = forge.create(&new("haptic/x")).expect("opened").request;
            assert!(
                made.url.starts_with(&format!("{web}/{project}/")),
                "{}",
                made.url
            );
        }
        assert_eq!(forge.open().expect("a list").len(), 1);
    }
    sim.assert_kept();
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_push_options_open_a_request() {
    let Some(sim) = Sim::start(Kind::Gitlab) else {
        return;
    };
    let request = haptic_scaffold::forge::NewRequest {
        remove_branch: true,
        is_draft: true,
        ..new("haptic/x")
    };
    let written = push_options(&request);
    assert_eq!(written.unable, Vec::<String>::new());
    push(&sim, "haptic/x", &written.options);
    let found = sim.forge().of_branch("haptic/x").expect("a list");
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0].title, &found[0].body),
        (&request.title, &request.body)
    );
    assert_eq!((found[0].base.as_str(), found[0].is_draft), ("main", true));
    let mut labels = found[0].labels.clone();
    labels.sort();
    assert_eq!(labels, request.labels);
    sim.assert_kept();
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_one_look_costs_one_call() {
    each(|sim| {
        open(sim, &new("haptic/x"));
        sim.calls();
        sim.forge().recent().expect("a list");
        let calls = sim.calls();
        assert_eq!(calls.len(), 1, "{calls:?}");
        assert!(
            calls[0].starts_with("GET /api/") && calls[0].ends_with(" 200"),
            "{calls:?}"
        );
    });
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_refusals_are_told_with_what_to_do() {
    each(|sim| {
        let place = sim.place(PROJECT);
        let wrong = sim.forge_with(&place, Some("not-a-token"), "");
        let why = wrong.recent().expect_err("a wrong token");
        assert_eq!(why.status, Some(401), "{why}");
        assert!(
            hint(&why).contains("wrong, revoked or expired"),
            "{}",
            hint(&why)
        );
        let why = sim
            .forge_with(&place, None, "")
            .recent()
            .expect_err("no token");
        assert!(matches!(why.status, Some(401 | 404)), "{why}");
        assert!(hint(&why).contains("no token was found"), "{}", hint(&why));

        // A project that the token can't see is like one that isn't there, and nothing is made or tried again.
        sim.tell(
            "projects",
            &json!({"path": "secret/fleet", "files": {"a": "b"}}),
        );
        sim.calls();
        let hidden = sim.forge_with(&sim.place("secret/fleet"), Some(&sim.token), "");
        let why = hidden.recent().expect_err("hidden");
        assert_eq!((why.status, sim.calls().len()), (Some(404), 1), "{why}");
        assert!(hint(&why).contains("can't see it"), "{}", hint(&why));

        let request = haptic_scaffold::forge::NewRequest {
            labels: Vec::new(),
            ..new("haptic/x")
        };
        sim.calls();
        let why = hidden.create(&request).expect_err("hidden");
        assert_eq!(why.status, Some(404), "{why}");
        let calls = sim.calls();
        assert!(calls.len() <= 2, "{calls:?}");

        let scope = if sim.kind == Kind::Gitlab {
            "read_api"
        } else {
            "read:repository"
        };
        let token = json!({"name": "reader", "user": "haptic-bot", "scopes": [scope]});
        if sim.kind != Kind::Github {
            let secret = text(&sim.tell("tokens", &token)["secret"]);
            let reader = sim.forge_with(&place, Some(&secret), "");
            sim.branch("haptic/refused");
            let made = new("haptic/refused");
            let made = haptic_scaffold::forge::NewRequest {
                labels: Vec::new(),
                ..made
            };
            let why = reader.create(&made).expect_err("may only read");
            assert_eq!((why.status, why.may_be_done), (Some(403), false), "{why}");
            assert!(hint(&why).contains("may not do this"), "{}", hint(&why));
        }
        let gone = json!({"name": "bot", "expires_at": "2020-01-01T00:00:00Z"});
        sim.tell("tokens/update", &gone);
        let why = sim.forge().recent().expect_err("expired");
        assert_eq!(why.status, Some(401), "{why}");
    });
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_a_job_token_is_told_from_a_bad_one() {
    let Some(sim) = Sim::start(Kind::Gitlab) else {
        return;
    };
    let token = json!({"name": "job", "user": "alice", "kind": "job", "project": PROJECT});
    let secret = text(&sim.tell("tokens", &token)["secret"]);
    let forge = sim.forge_with(&sim.place(PROJECT), Some(&secret), "gitlab-ci-token");
    sim.branch("haptic/x");
    for why in [
        forge.recent().expect_err("no job's"),
        forge.create(&new("haptic/x")).expect_err("no job's"),
    ] {
        assert!(
            hint(&why).contains("a CI job token can't use merge requests"),
            "{why}"
        );
    }
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_a_busy_server_is_waited_for() {
    each(|sim| {
        for fault in [
            json!({"path": LISTS, "kind": "status", "status": 429, "headers": {"Retry-After": "1"}, "times": 1}),
            json!({"path": LISTS, "kind": "status", "status": 502, "body": "<html/>", "times": 2}),
            json!({"path": LISTS, "kind": "reset", "times": 1}),
            json!({"path": LISTS, "kind": "reset_after", "times": 1}),
            json!({"path": LISTS, "kind": "truncate", "bytes": 1, "times": 1}),
        ] {
            sim.fault(&fault);
            let found = sim.forge().recent();
            assert!(found.is_ok(), "{fault}: {found:?}");
        }
        if sim.kind == Kind::Gitlab {
            let made = open(sim, &new("haptic/lock")).request;
            sim.fault(&json!({"preset": "gitlab-resource-lock"}));
            sim.forge().close(made.number).expect("closed");
        }
        // The server did nothing, so what makes a request is sent again too.
        sim.branch("haptic/x");
        sim.fault(
            &json!({"method": "POST", "path": MAKES, "kind": "status", "status": 429,
            "headers": {"Retry-After": "1"}, "times": 1}),
        );
        sim.forge().create(&new("haptic/x")).expect("opened");
        let found = sim.forge().of_branch("haptic/x").expect("a list");
        assert_eq!(found.len(), 1);
    });
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_an_answer_that_is_lost_may_be_done() {
    each(|sim| {
        let cases = [
            ("status", json!({"kind": "status", "status": 502}), 0),
            (
                "status-after",
                json!({"kind": "status", "status": 504, "process": true}),
                1,
            ),
            ("reset", json!({"kind": "reset"}), 0),
            ("reset-after", json!({"kind": "reset_after"}), 1),
            ("truncate", json!({"kind": "truncate", "bytes": 9}), 1),
        ];
        for (case, mut fault, made) in cases {
            let request = new(&format!("haptic/{case}"));
            sim.branch(&request.branch);
            fault["method"] = json!("POST");
            fault["path"] = json!(MAKES);
            fault["times"] = json!(1);
            sim.fault(&fault);
            let why = sim.forge().create(&request).expect_err("lost");
            assert!(why.may_be_done, "{} {case}: {why}", name(sim.kind));
            let found = sim.forge().of_branch(&request.branch).expect("a list");
            assert_eq!(found.len(), made, "{} {case}: {why}", name(sim.kind));
            // Whoever looked and saw nothing opens it; there is one then.
            if made == 0 {
                sim.forge().create(&request).expect("opened");
            }
            let found = sim.forge().of_branch(&request.branch).expect("a list");
            assert_eq!((found.len(), found[0].state), (1, State::Open));
        }
    });
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_a_branch_may_take_a_moment_to_be_known() {
    each(|sim| {
        sim.tell("options", &json!({"lag_refusals": 2}));
        push(sim, "haptic/late", &[]);
        let made = sim.forge().create(&new("haptic/late")).expect("opened");
        assert_eq!(made.request.state, State::Open);
        let calls = sim.calls();
        let posts = calls.iter().filter(|call| {
            let mut parts = call.split(' ');
            parts.next() == Some("POST")
                && parts.next().is_some_and(|path| {
                    path.ends_with("/merge_requests") || path.ends_with("/pulls")
                })
        });
        assert_eq!(posts.count(), 3, "{calls:?}");
        let why = sim
            .forge()
            .create(&new("haptic/never-pushed"))
            .expect_err("no branch");
        assert!(!why.may_be_done, "{why}");
    });
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_every_page_is_read() {
    each(|sim| {
        for number in 0..120 {
            let branch = format!("people/{number}");
            let file = format!("f{number}");
            sim.of_project("commit", &json!({"branch": branch, "start_branch": "main", "files": {file: "x"}, "message": "x"}));
            sim.of_project("open-mr", &json!({"source": branch, "title": branch}));
        }
        let forge = sim.forge();
        assert_eq!(forge.open().expect("a list").len(), 120);
        let recent = forge.recent().expect("a list");
        let size = if sim.kind == Kind::Gitea { 50 } else { 100 };
        assert_eq!((recent.requests.len(), recent.is_all), (size, false));
        assert_eq!(forge.of_branch("people/0").expect("a list").len(), 1);
    });
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_a_moved_project_is_read_and_named() {
    each(|sim| {
        let forge = sim.forge();
        sim.of_project("projects/update", &json!({"move_to": "team/moved"}));
        assert!(forge.recent().is_ok(), "{:?}", forge.recent());
        let what = json!({"project": "team/moved", "branch": "haptic/x", "start_branch": "main",
            "files": {"b": "x"}, "message": "x"});
        sim.tell("commit", &what);
        let request = haptic_scaffold::forge::NewRequest {
            labels: Vec::new(),
            ..new("haptic/x")
        };
        match forge.create(&request) {
            // GitLab redirects questions alone.
            Err(why) if sim.kind == Kind::Gitlab => assert!(!why.may_be_done, "{why}"),
            Err(why) => {
                assert!(why.to_string().contains("it is now at `http"), "{why}");
                assert!(hint(&why).contains("set-url"), "{why:?}");
            }
            Ok(made) => panic!("{made:?}"),
        }
    });
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_merging_waits_for_what_it_has_to() {
    each(|sim| {
        let settings = json!({"allow_auto_merge": true, "pipeline_must_succeed": true});
        sim.of_project("projects/update", &json!({"settings": settings}));
        sim.of_project("protect", &json!({"branch": "main", "push": "noone", "merge": "developer", "required_checks": ["ci"]}));
        let made = open(sim, &new("haptic/x")).request;
        let head = made.head.expect("a commit");
        sim.of_project("pipeline", &json!({"mr": made.number, "status": "running"}));
        let forge = sim.forge();
        let able = forge
            .merge_when_ready(made.number, &head)
            .expect("an answer");
        assert_eq!(able, Able::Done, "{}: {:?}", name(sim.kind), sim.calls());
        let state = || forge.of_branch("haptic/x").expect("a list")[0].state;
        assert_eq!(state(), State::Open);
        sim.of_project("pipeline", &json!({"mr": made.number, "status": "success"}));
        assert_eq!(state(), State::Merged, "{}", name(sim.kind));
        // One that is closed can't be merged any more.
        let closed = open(sim, &new("haptic/y")).request;
        forge.close(closed.number).expect("closed");
        let head = closed.head.expect("a commit");
        let able = forge.merge_when_ready(closed.number, &head);
        assert!(
            matches!(
                able,
                Ok(Able::Unable(_))
                    | Err(ForgeError {
                        status: Some(404),
                        ..
                    })
            ),
            "{able:?}"
        );
    });
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_github_with_an_api_host_of_its_own() {
    let Some(sim) = Sim::start(Kind::Github) else {
        return;
    };
    let (web, api) = (sim.at("github"), sim.at("github-api"));
    let env = Env::of(&[
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_SERVER_URL", &web),
        ("GITHUB_API_URL", &api),
    ]);
    let place = place(&format!("{web}/{PROJECT}.git"), &Told::default(), &env).expect("a place");
    assert_eq!((place.kind, &place.api), (Kind::Github, &api));
    let forge = sim.forge_with(&place, Some(&sim.token), "");
    let head = sim.branch("haptic/x");
    let made = forge.create(&new("haptic/x")).expect("opened").request;
    assert_eq!(made.head.as_deref(), Some(head.as_str()));
    let able = forge
        .merge_when_ready(made.number, &head)
        .expect("an answer");
    assert!(matches!(able, Able::Unable(_)), "{able:?}");
    let calls = sim.calls();
    assert!(calls.contains(&"POST /graphql 200".to_owned()), "{calls:?}");
    sim.assert_kept();
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_limits_of_github_are_known() {
    let Some(sim) = Sim::start(Kind::Github) else {
        return;
    };
    let headers = |remaining: &str, reset: &str| json!({"x-ratelimit-remaining": remaining, "x-ratelimit-reset": reset});
    let fault = |headers: Value, times: u32| {
        sim.fault(
            &json!({"path": LISTS, "kind": "status", "status": 403, "headers": headers,
            "body": {"message": "API rate limit exceeded"}, "times": times}),
        );
    };
    // Over already.
    fault(headers("0", "1"), 1);
    assert!(sim.forge().recent().is_ok());
    fault(headers("0", "99999999999"), 1);
    sim.calls();
    let why = sim.forge().recent().expect_err("too long");
    assert_eq!(sim.calls().len(), 1);
    assert!(hint(&why).contains("rate limit"), "{why:?}");
    fault(json!({"retry-after": "1"}), 1);
    assert!(sim.forge().recent().is_ok());
}
