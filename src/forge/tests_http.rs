//! Retries, waiting, pages, redirects and redaction, against a loopback server.

use std::sync::Mutex;

use secrecy::SecretString;
use serde_json::json;

use super::*;
use crate::http::test_server::{Answer, Seen, Server};

const SECRET: &str = "t-geheim";

fn client(server: &Server, kind: Kind) -> (Http, Arc<Mutex<Vec<String>>>) {
    let web = format!("http://{}", server.host);
    let place = Place {
        kind,
        api: format!("{web}/api"),
        web,
        project: "co/fleet".to_owned(),
        is_told: true,
    };
    let token = Token::new("", SecretString::from(SECRET), "`X`");
    let lines = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&lines);
    let trace: Trace = Arc::new(move |line| shared.lock().unwrap().push(line.to_owned()));
    (Http::new(&place, token, trace).unwrap(), lines)
}

fn get(server: &Server) -> Result<Reply, ForgeError> {
    client(server, Kind::Gitlab).0.get("look", "/x?y=1")
}

fn post(server: &Server) -> Result<Reply, ForgeError> {
    client(server, Kind::Gitlab).0.post("make", "/x", json!({}))
}

/// The first answers are these, the later ones good.
fn then_good(answers: &'static [fn() -> Answer]) -> Server {
    Server::start(move |number, _| {
        answers
            .get(number)
            .map_or_else(|| Answer::new(200, "[]"), |it| it())
    })
}

#[test]
fn what_may_be_done_twice_is_sent_again() {
    let passing: [&'static [fn() -> Answer]; 5] = [
        &[|| Answer::new(502, "<html>")],
        &[|| Answer::new(503, ""), || Answer::new(504, "")],
        &[Answer::none],
        &[|| Answer::new(200, "[").announced_length(10)],
        &[|| Answer::new(429, "Retry later").header("Retry-After", "2")],
    ];
    for answers in passing {
        let server = then_good(answers);
        assert_eq!(get(&server).unwrap().status, 200);
        assert_eq!(server.seen().len(), answers.len() + 1);
    }
    let server = Server::start(|_, _| Answer::new(503, "busy"));
    let why = get(&server).unwrap_err();
    assert_eq!((why.status, server.seen().len()), (Some(503), 4));
    assert!(!why.may_be_done, "{why}");
}

#[test]
fn what_makes_something_is_sent_again_only_where_nothing_was_made() {
    let server = then_good(&[|| Answer::new(429, "").header("Retry-After", "1")]);
    assert!(post(&server).is_ok());
    assert!(server.seen().iter().all(|seen| seen.method == "POST"));
    let lost: [&'static [fn() -> Answer]; 4] = [
        &[|| Answer::new(502, "")],
        &[|| Answer::new(500, "")],
        &[Answer::none],
        &[|| Answer::new(201, "{").announced_length(10)],
    ];
    for answers in lost {
        let server = then_good(answers);
        let why = post(&server).unwrap_err();
        assert!(why.may_be_done, "{why}");
        assert_eq!(server.seen().len(), 1);
    }
    for status in [400, 401, 403, 404, 409, 422] {
        let server = Server::start(move |_, _| Answer::new(status, "{}"));
        let why = post(&server).unwrap_err();
        assert_eq!((why.may_be_done, why.status), (false, Some(status)));
        assert_eq!(server.seen().len(), 1);
    }
}

#[test]
fn no_connection_at_all_is_tried_again_and_nothing_is_done() {
    let place = Place {
        kind: Kind::Gitea,
        web: "http://127.0.0.1:1".to_owned(),
        api: "http://127.0.0.1:1".to_owned(),
        project: "a/b".to_owned(),
        is_told: true,
    };
    let count = Arc::new(Mutex::new(0));
    let shared = Arc::clone(&count);
    let trace: Trace = Arc::new(move |_| *shared.lock().unwrap() += 1);
    let http = Http::new(&place, None, trace).unwrap();
    let why = http.post("make", "/x", json!({})).unwrap_err();
    assert!(!why.may_be_done, "{why}");
    assert_eq!(*count.lock().unwrap(), 4);
}

#[test]
fn a_limit_is_waited_for_within_bounds() {
    let date = "Sat, 10 Jan 2026 10:00:00 GMT";
    let reply = |status, headers: &[(&'static str, &str)]| {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        Reply {
            status,
            headers: map,
            body: Vec::new(),
            is_change: false,
            url: Url::parse("https://h").unwrap(),
        }
    };
    let call = |repeats| Call {
        aim: "x",
        method: Method::POST,
        url: Url::parse("https://h").unwrap(),
        body: None,
        repeats,
    };
    let limit = [
        ("date", date),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1768039210"),
    ];
    let later = [
        ("date", date),
        ("retry-after", "Sat, 10 Jan 2026 10:00:07 GMT"),
    ];
    let cases = [
        (reply(429, &[]), Some(500)),
        (reply(429, &[("retry-after", "3")]), Some(3000)),
        (reply(429, &later), Some(7000)),
        (reply(403, &limit), Some(11_000)),
        (reply(429, &limit), Some(11_000)),
        (reply(403, &[("retry-after", "3")]), Some(3000)),
        (reply(403, &[("x-ratelimit-remaining", "17")]), None),
        (reply(403, &[]), None),
        (reply(503, &[("retry-after", "3")]), None),
    ];
    for (reply, expected) in cases {
        let wait = delay(&call(false), &reply, 1).map(|wait| wait.as_millis());
        assert_eq!(wait, expected, "{:?}", reply.headers);
    }
    let busy = delay(&call(true), &reply(503, &[("retry-after", "3")]), 1);
    assert_eq!(busy, Some(Duration::from_secs(3)));
    let server = Server::start(|_, _| Answer::new(429, "").header("Retry-After", "3600"));
    let why = get(&server).unwrap_err();
    assert_eq!(server.seen().len(), 1);
    assert!(why.to_string().contains("it asks to wait 3600 s"), "{why}");
}

/// Whoever asks without a login gets a 401, as an anonymous limit would have it.
fn needs_login(seen: &Seen, answer: Answer) -> Answer {
    match seen.headers.get("authorization").map(String::as_str) {
        Some("Bearer t-geheim") => answer,
        _ => Answer::new(401, "{}"),
    }
}

#[test]
fn every_page_is_asked_with_the_login_and_none_elsewhere() {
    let server = Server::start(|number, seen| {
        let next = format!(
            "<http://{}/api/x?page=2>; rel=\"next\"",
            seen.headers["host"]
        );
        let page = Answer::new(200, format!("[{number}]"));
        needs_login(
            seen,
            match number {
                0 => page.header("Link", &next),
                _ => page,
            },
        )
    });
    let (http, _) = client(&server, Kind::Gitlab);
    let all: Vec<u32> = http.pages("list", "/x").unwrap();
    assert_eq!(all, [0, 1]);
    assert_eq!(server.targets(), ["/api/x", "/api/x?page=2"]);

    let other = Server::start(|_, _| Answer::new(200, "[9]"));
    let elsewhere = format!("<http://{}/api/x>; rel=\"next\"", other.host);
    let server = Server::start(move |_, _| Answer::new(200, "[0]").header("Link", &elsewhere));
    let (http, _) = client(&server, Kind::Gitlab);
    let why = http.pages::<u32>("list", "/x").unwrap_err();
    assert!(why.to_string().contains("another server"), "{why}");
    assert!(other.seen().is_empty());
}

#[test]
fn a_moved_project_is_followed_by_questions_on_the_same_server() {
    let server = Server::start(|number, seen| {
        needs_login(
            seen,
            match number {
                0 => Answer::new(301, "").header("Location", "/api/new?y=1"),
                _ => Answer::new(200, "[]"),
            },
        )
    });
    assert!(get(&server).is_ok());
    assert_eq!(server.targets(), ["/api/x?y=1", "/api/new?y=1"]);

    let server = Server::start(|_, _| Answer::new(307, "").header("Location", "/api/new"));
    let why = post(&server).unwrap_err();
    assert!(why.to_string().contains("/api/new`"), "{why}");
    assert!(why.hint.unwrap().contains("set-url"));
    assert_eq!(server.seen().len(), 1);

    let other = Server::start(|_, _| Answer::new(200, "[]"));
    let away = format!("http://{}/api/x", other.host);
    let server = Server::start(move |_, _| Answer::new(302, "").header("Location", &away));
    let why = get(&server).unwrap_err();
    assert!(why.to_string().contains("another server"), "{why}");
    assert!(other.seen().is_empty());
    let server = Server::start(|_, _| Answer::new(302, "").header("Location", "/api/x?y=1"));
    assert!(get(&server).is_err());
    assert_eq!(server.seen().len(), 6);
}

#[test]
fn no_error_and_no_line_repeats_the_token() {
    let body = format!("{{\"message\":\"bad token {SECRET}\"}}");
    let server = Server::start(move |_, _| Answer::new(401, body.clone()));
    let (http, lines) = client(&server, Kind::Gitlab);
    let why = http.get("look", &format!("/x?y={SECRET}")).unwrap_err();
    assert!(!format!("{why:?} {why}").contains(SECRET), "{why:?}");
    assert!(why.to_string().contains("bad token ***"), "{why}");
    assert_eq!(*lines.lock().unwrap(), ["GET /api/x?y=*** 401"]);
    let seen = &server.seen()[0];
    assert_eq!(seen.headers["user-agent"], USER_AGENT);
}

#[test]
fn what_is_no_answer_of_an_api_is_said() {
    let server = Server::start(|_, _| Answer::new(200, "<!DOCTYPE html>"));
    let (http, _) = client(&server, Kind::Gitlab);
    let why = http.pages::<u32>("list", "/x").unwrap_err();
    assert!(why.to_string().contains("a page for browsers"), "{why}");
    assert!(!why.may_be_done, "{why}");
    assert!(why.hint.unwrap().contains("--forge-url"));
    let reply = http.post("make", "/x", json!({})).unwrap();
    assert!(http.read::<u32>("make", &reply).unwrap_err().may_be_done);
}

#[test]
fn no_token_goes_over_a_network_in_clear() {
    let place = Place {
        kind: Kind::Gitlab,
        web: "http://h.example.org".to_owned(),
        api: "http://h.example.org/api/v4".to_owned(),
        project: "a/b".to_owned(),
        is_told: true,
    };
    let token = Token::new("", SecretString::from(SECRET), "`X`");
    let trace: Trace = Arc::new(|_| {});
    assert!(Http::new(&place, token, Arc::clone(&trace)).is_err());
    assert!(Http::new(&place, None, trace).is_ok());
}

#[test]
fn each_forge_gets_its_login_as_it_wants_it() {
    let token = |user: &str| Token::new(user, SecretString::from("t"), "`X`").unwrap();
    let of = |kind, user| {
        let (name, value) = login(kind, &token(user));
        assert!(value.is_sensitive());
        format!("{name}: {}", value.to_str().unwrap())
    };
    assert_eq!(of(Kind::Gitlab, ""), "authorization: Bearer t");
    assert_eq!(of(Kind::Gitlab, "gitlab-ci-token"), "job-token: t");
    assert_eq!(of(Kind::Github, ""), "authorization: Bearer t");
    assert_eq!(of(Kind::Gitea, ""), "authorization: token t");
}
