//! Pushes by smart HTTP, with faults of the network and of servers.

use git2::Oid;

use super::address::HttpAddress;
use super::error::Why;
use super::http::{Http, proxy};
use super::login::{Aim, Kind, Logins};
use super::pushed::{Outcome, Pushed};
use super::test_server::{Fault, Fixed, Pair, Server, Trouble};
use super::{RefUpdate, Remote, RemoteError, Service};
use crate::model::env::Env;

const LIST: &str = "GET /a%20b.git/info/refs?service=git-receive-pack";
const SEND: &str = "POST /a%20b.git/git-receive-pack";

fn trouble(on: &'static str, times: usize, fault: Fault) -> Trouble {
    Trouble { on, times, fault }
}

fn status(code: u16, headers: &str, text: &str) -> Fault {
    Fault::Status(code, headers.to_owned(), text.to_owned())
}

/// Makes branch `a` at a commit.
fn push(pair: &Pair, url: &str, login: &Fixed, new: Oid) -> Result<Pushed, RemoteError> {
    let env = pair.env();
    let remote = Remote::at(url, pair.home.path(), &env, login)?;
    let update = RefUpdate {
        name: "refs/heads/a".to_owned(),
        new: Some(new),
        expected_old: None,
    };
    remote.push(&pair.own, &[update])
}

fn serve(pair: &Pair, secret: Option<&'static str>, troubles: Vec<Trouble>) -> Server {
    Server::start(pair.bare.parent().unwrap(), secret, troubles)
}

#[test]
fn a_push_is_two_requests_and_a_look_is_one() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let server = serve(&pair, None, vec![]);
    let nobody = Fixed::default();
    let pushed = push(&pair, &server.url(), &nobody, one).unwrap();
    assert_eq!(pushed.check(), Ok(()));
    assert_eq!(server.requests(), [LIST, SEND]);
    pair.check_remote();
    let env = pair.env();
    let remote = Remote::at(&server.url(), pair.home.path(), &env, &nobody).unwrap();
    assert_eq!(remote.list().unwrap().refs["refs/heads/a"], one);
    assert_eq!(server.requests().len(), 3);
    // What is there already isn't sent.
    let again = push(&pair, &server.url(), &nobody, one).unwrap();
    assert_eq!(again.refs[0].outcome, Outcome::Unchanged);
    assert_eq!(server.requests().len(), 4);
    assert!(nobody.asked.lock().unwrap().is_empty());
}

#[test]
fn a_login_is_found_once_and_never_shown() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let server = serve(&pair, Some("geheim"), vec![]);
    let login = Fixed {
        secret: Some("geheim"),
        ..Fixed::default()
    };
    pair.hook("pre-receive", "echo you are bot:geheim >&2");
    let pushed = push(&pair, &server.url(), &login, one).unwrap();
    assert_eq!(pushed.check(), Ok(()));
    assert_eq!(server.requests(), [LIST, LIST, SEND]);
    assert_eq!(*login.asked.lock().unwrap(), [server.url()]);
    // Its hook repeats no secret of the client, but could: the words are masked.
    assert_eq!(pushed.words, ["you are bot:***"]);
}

#[test]
fn a_wrong_token_ends_it_and_a_missing_one_is_said() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let server = serve(&pair, Some("geheim"), vec![]);
    let wrong = Fixed {
        secret: Some("falsch"),
        ..Fixed::default()
    };
    let refused = push(&pair, &server.url(), &wrong, one).unwrap_err();
    let problem = refused.problem();
    assert!(
        problem
            .message
            .contains("it refuses the login of `TEST_TOKEN`"),
        "{problem}"
    );
    // The server repeats the header that it was sent.
    assert!(
        problem.message.contains("no entry with Basic ***"),
        "{problem}"
    );
    assert!(!format!("{refused:?}").contains("falsch"));
    assert_eq!(server.requests().len(), 2);
    assert_eq!(problem.status.code(), 4);
    let none = push(&pair, &server.url(), &Fixed::default(), one).unwrap_err();
    assert_eq!(none.why, Why::LoginNeeded);
    let in_address = server.url().replace("http://", "http://bot:geheim@");
    let pushed = push(&pair, &in_address, &Fixed::default(), one).unwrap();
    assert_eq!(pushed.check(), Ok(()));
    assert!(!pushed.address.contains("geheim"), "{}", pushed.address);
}

/// The logins of a run, with an address of its own.
fn login_of(pair: &Pair, url: &str, variables: &[(&str, &str)]) -> String {
    let home = pair.home.path().display().to_string();
    let path = ("PATH", "/usr/local/bin:/usr/bin:/bin");
    let all = [variables, &[("HOME", home.as_str()), path]].concat();
    let env = Env::of(&all);
    let aim = Aim {
        addresses: vec![url.to_owned()],
        told: Some(Kind::Gitlab),
    };
    let logins = Logins::new(&env, aim, None, pair.home.path()).unwrap();
    let remote = Remote::at(url, pair.home.path(), &env, &logins).unwrap();
    match remote.list() {
        Ok(_) => "taken".to_owned(),
        Err(why) => why.why.to_string(),
    }
}

#[test]
fn the_login_of_an_address_counts_before_those_of_forges_and_behind_ours() {
    let pair = Pair::new();
    let server = serve(&pair, Some("geheim"), vec![]);
    let address = |secret: &str| {
        server
            .url()
            .replace("http://", &format!("http://bot:{secret}@"))
    };
    let ours = ("HAPTIC_SCAFFOLD_TOKEN", "falsch");
    let usual = ("GITLAB_TOKEN", "falsch");
    let named = |url: &str| url.replace("http://", "http://bot@");
    assert_eq!(login_of(&pair, &address("geheim"), &[usual]), "taken");
    let refused = login_of(&pair, &address("geheim"), &[ours, usual]);
    assert!(
        refused.contains("login of `HAPTIC_SCAFFOLD_TOKEN`"),
        "{refused}"
    );
    let refused = login_of(&pair, &address("falsch"), &[("GITLAB_TOKEN", "geheim")]);
    assert!(
        refused.contains("login of the remote's address"),
        "{refused}"
    );
    let refused = login_of(&pair, &named(&server.url()), &[usual]);
    assert!(refused.contains("login of `GITLAB_TOKEN`"), "{refused}");
    let usual = [("GITLAB_TOKEN", "geheim")];
    assert_eq!(login_of(&pair, &named(&server.url()), &usual), "taken");
}

#[test]
fn a_proxy_counts_as_for_curl() {
    let of = |variables: &[(&str, &str)], url: &str| {
        let origin = HttpAddress::parse(url).unwrap().origin;
        let proxy = proxy(&Env::of(variables), &origin);
        proxy.map(|proxy| proxy.map(|it| format!("{}:{}", it.host(), it.port())))
    };
    let is = |variables: &[(&str, &str)], url: &str, wanted: Option<&str>| {
        let found = of(variables, url).unwrap();
        assert_eq!(found.as_deref(), wanted, "{variables:?} {url}");
    };
    let (tls, plain) = ("https://git.example.org/a", "http://git.example.org/a");
    let both = [("https_proxy", "one:3128"), ("http_proxy", "http://two:80")];
    is(&both, tls, Some("one:3128"));
    is(&both, plain, Some("two:80"));
    is(&[("HTTP_PROXY", "one:1")], plain, None);
    is(&[("HTTPS_PROXY", "one:1")], tls, Some("one:1"));
    is(&[("ALL_PROXY", "one:1")], plain, Some("one:1"));
    is(&[], tls, None);
    let past = |exceptions| [("https_proxy", "one:1"), ("no_proxy", exceptions)];
    for exceptions in [
        "example.org",
        ".example.org",
        "x git.example.org",
        "*",
        "example.org:443",
    ] {
        is(&past(exceptions), tls, None);
    }
    for exceptions in ["it.example.org", "example.org:8443", "*.example.org"] {
        is(&past(exceptions), tls, Some("one:1"));
    }
    is(&past("10.0.0.0/8"), "https://10.1.2.3/a", None);
    is(&past("x"), "https://127.0.0.1/a", None);
    let hidden = of(&[("https_proxy", "http://u:geheim@ h")], tls).unwrap_err();
    assert!(!hidden.to_string().contains("geheim"), "{hidden}");
}

#[test]
fn a_login_never_goes_to_another_host() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let login = || Fixed {
        secret: Some("geheim"),
        ..Fixed::default()
    };
    // The second server wants the same login, and doesn't get it: not with the redirect, not by its own 401.
    let other = serve(&pair, Some("geheim"), vec![]);
    let target = format!("{}/info/refs?service=git-receive-pack", other.url());
    let location = format!("Location: {target}\r\n");
    // It redirects at once, or only whoever is logged in.
    for late in [false, true] {
        let mut troubles = vec![trouble("GET", 9, status(302, &location, ""))];
        if late {
            troubles.insert(0, trouble("GET", 1, status(401, "", "")));
        }
        let own = serve(&pair, None, troubles);
        let refused = push(&pair, &own.url(), &login(), one).unwrap_err();
        let elsewhere = Why::LoginElsewhere(other.host.clone());
        assert_eq!(refused.why, elsewhere);
        assert_eq!(
            own.seen()
                .iter()
                .filter(|it| it.authorization.is_some())
                .count(),
            usize::from(late)
        );
    }
    assert!(!other.seen().is_empty());
    assert!(other.seen().iter().all(|it| it.authorization.is_none()));
    assert_eq!(pair.there("refs/heads/a"), None);
}

#[test]
fn a_redirect_is_followed_for_the_question_only() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let other = serve(&pair, None, vec![]);
    let target = format!("{}/info/refs?service=git-receive-pack", other.url());
    let location = format!("Location: {target}\r\n");
    let own = serve(
        &pair,
        None,
        vec![trouble("GET", 1, status(301, &location, ""))],
    );
    let nobody = Fixed::default();
    assert_eq!(
        push(&pair, &own.url(), &nobody, one).unwrap().check(),
        Ok(())
    );
    assert_eq!(other.requests(), [LIST, SEND]);
    let two = pair.commit("two", &[]);
    for (on, location) in [
        (SEND, location.as_str()),
        ("GET", "Location: http://evil.example/login\r\n"),
        (
            "GET",
            "Location: http://u:p@127.0.0.1:1/info/refs?service=git-receive-pack\r\n",
        ),
        ("GET", ""),
    ] {
        let own = serve(&pair, None, vec![trouble(on, 1, status(307, location, ""))]);
        let update = RefUpdate {
            name: "refs/heads/b".to_owned(),
            new: Some(two),
            expected_old: None,
        };
        let env = pair.env();
        let remote = Remote::at(&own.url(), pair.home.path(), &env, &nobody).unwrap();
        let refused = remote.push(&pair.own, &[update]).unwrap_err();
        assert!(
            matches!(refused.why, Why::Redirect(_)),
            "{on} {location}: {refused}"
        );
    }
    assert_eq!(pair.there("refs/heads/b"), None);
}

#[test]
fn plain_http_to_another_machine_gets_no_login() {
    let login = Fixed {
        secret: Some("geheim"),
        ..Fixed::default()
    };
    let asked = |address: &str| {
        let own = HttpAddress::parse(address).unwrap();
        let env = Env::default();
        let mut http = Http::new(&own, Service::Receive, &env, &login);
        http.log_in("")
    };
    assert_eq!(asked("http://git.invalid/a.git"), Err(Why::PlainLogin));
    assert_eq!(asked("http://u:p@git.invalid/a.git"), Err(Why::PlainLogin));
    assert!(login.asked.lock().unwrap().is_empty());
    assert_eq!(asked("https://git.invalid/a.git"), Ok(()));
    assert_eq!(asked("http://127.0.0.1/a.git"), Ok(()));
}

#[test]
fn what_a_server_says_in_refusing_is_kept_with_a_next_step() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let nobody = Fixed::default();
    let plain = "Content-Type: text/plain; charset=utf-8\r\n";
    let cases = [
        (LIST, 403, "This repo is archived.", "archived", "archived"),
        (
            LIST,
            404,
            "Repository not found",
            "Repository not found",
            "lacks rights",
        ),
        (
            SEND,
            403,
            "Forbidden",
            "(status 403): Forbidden",
            "right to write",
        ),
        (
            LIST,
            500,
            "no disk",
            "unexpected status 500: no disk",
            "administrator",
        ),
        (LIST, 418, "", "unexpected status 418", "administrator"),
        (LIST, 503, "x", "unexpected status 503: x", "administrator"),
    ];
    for (on, code, text, said, hint) in cases {
        let server = serve(&pair, None, vec![trouble(on, 9, status(code, plain, text))]);
        let problem = push(&pair, &server.url(), &nobody, one)
            .unwrap_err()
            .problem();
        assert!(problem.message.contains(said), "{problem}");
        assert!(problem.message.contains(&server.url()), "{problem}");
        assert!(problem.hints[0].contains(hint), "{:?}", problem.hints);
    }
    let page = serve(
        &pair,
        None,
        vec![trouble(LIST, 1, status(200, "", "<html>"))],
    );
    let problem = push(&pair, &page.url(), &nobody, one)
        .unwrap_err()
        .problem();
    assert!(
        problem.message.contains("isn't that of a Git server"),
        "{problem}"
    );
    assert_eq!(pair.there("refs/heads/a"), None);
}

#[test]
fn a_hook_behind_http_refuses_in_its_own_words() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    pair.hook(
        "pre-receive",
        "echo 'GL-HOOK-ERR: Commit must be signed' >&2\nexit 1",
    );
    let server = serve(&pair, None, vec![]);
    let pushed = push(&pair, &server.url(), &Fixed::default(), one).unwrap();
    let problem = pushed.check().unwrap_err();
    assert!(
        problem
            .message
            .contains("`a` is refused: pre-receive hook declined"),
        "{problem}"
    );
    assert!(
        problem
            .message
            .contains("remote: GL-HOOK-ERR: Commit must be signed"),
        "{problem}"
    );
    assert!(
        problem.hints[0].contains("commit.gpgsign"),
        "{:?}",
        problem.hints
    );
    assert_eq!(server.requests(), [LIST, SEND]);
}
