//! Pushes whose answer is lost: what is said of each reference, and how often it is sent.

use std::time::{Duration, Instant};

use git2::Oid;

use super::address::{Address, SshAddress};
use super::channel::Program;
use super::error::Why;
use super::pushed::{Outcome, Pushed};
use super::test_server::{Fault, Fixed, Pair, Server, Trouble, with_ssh};
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

fn serve(pair: &Pair, troubles: Vec<Trouble>) -> Server {
    Server::start(pair.bare.parent().unwrap(), None, troubles)
}

fn make(name: &str, new: Oid) -> RefUpdate {
    RefUpdate {
        name: format!("refs/heads/{name}"),
        new: Some(new),
        expected_old: None,
    }
}

fn push_all(pair: &Pair, url: &str, updates: &[RefUpdate]) -> Result<Pushed, RemoteError> {
    let (env, nobody) = (pair.env(), Fixed::default());
    let mut remote = Remote::at(url, pair.home.path(), &env, &nobody)?;
    remote.pause = |_| std::thread::sleep(Duration::from_millis(100));
    remote.push(&pair.own, updates)
}

/// Makes branch `a` at a commit.
fn push(pair: &Pair, url: &str, new: Oid) -> Result<Pushed, RemoteError> {
    push_all(pair, url, &[make("a", new)])
}

fn is_unknown(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Unknown(_))
}

#[test]
fn a_connection_that_breaks_ends_in_the_same_one_push() {
    let again = vec![LIST, SEND, LIST, LIST, LIST, LIST, SEND];
    let cases = [
        (LIST, 1, Fault::ResetBefore, vec![LIST, LIST, SEND]),
        (LIST, 1, Fault::Cut(30), vec![LIST, LIST, SEND]),
        // Not carried out: it is sent again, once it has been looked at for a while.
        (SEND, 1, Fault::ResetBefore, again.clone()),
        (SEND, 1, status(502, "", ""), again.clone()),
        (
            SEND,
            1,
            status(503, "Retry-After: 1\r\n", ""),
            again.clone(),
        ),
        (SEND, 1, status(500, "", ""), again),
        // Carried out, and the answer lost: it isn't.
        (SEND, 1, Fault::ResetAfter, vec![LIST, SEND, LIST]),
        (SEND, 1, Fault::Cut(20), vec![LIST, SEND, LIST]),
        (SEND, 9, Fault::ResetAfter, vec![LIST, SEND, LIST]),
        (SEND, 1, Fault::Later(503, 0), vec![LIST, SEND, LIST, LIST]),
        // What can't be read is no answer, whatever was done.
        (
            SEND,
            1,
            Fault::Instead("<html>".to_owned()),
            vec![LIST, SEND, LIST],
        ),
        // The report is there, and something behind it isn't.
        (SEND, 1, Fault::CutEnd(4), vec![LIST, SEND]),
        // These servers say that they did nothing.
        (
            LIST,
            1,
            status(503, "Retry-After: 1\r\n", ""),
            vec![LIST, LIST, SEND],
        ),
        (
            SEND,
            1,
            status(429, "Retry-After: 1\r\n", ""),
            vec![LIST, SEND, SEND],
        ),
    ];
    for (on, times, fault, requests) in cases {
        let pair = Pair::new();
        let one = pair.commit("one", &[]);
        let what = format!("{fault:?} at {on}");
        let is_later = matches!(fault, Fault::Later(..));
        let server = serve(&pair, vec![trouble(on, times, fault)]);
        let pushed = push(&pair, &server.url(), one).unwrap();
        assert_eq!(pushed.refs[0].outcome, Outcome::Done, "{what}");
        assert_eq!(pair.there("refs/heads/a"), Some(one), "{what}");
        let sent = server.requests().iter().filter(|it| **it == SEND).count();
        assert_eq!(
            sent,
            requests.iter().filter(|it| **it == SEND).count(),
            "{what}"
        );
        // How many looks it takes is then a question of speed.
        if !is_later {
            assert_eq!(server.requests(), requests, "{what}");
        }
    }
}

#[test]
fn what_is_in_the_works_is_waited_for_and_sent_once() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let server = serve(&pair, vec![trouble(SEND, 9, Fault::Later(504, 150))]);
    let pushed = push(&pair, &server.url(), one).unwrap();
    assert_eq!(pushed.refs[0].outcome, Outcome::Done);
    // One that takes longer than anybody waits isn't called unchanged, and not sent again.
    let two = pair.commit("two", &[]);
    let server = serve(&pair, vec![trouble(SEND, 9, Fault::Later(504, 60_000))]);
    let pushed = push_all(&pair, &server.url(), &[make("b", two)]).unwrap();
    assert!(is_unknown(&pushed.refs[0].outcome), "{pushed:?}");
    assert_eq!(server.requests(), [LIST, SEND, LIST, LIST, LIST, LIST]);
    let problem = pushed.check().unwrap_err();
    assert!(
        problem.message.contains("whether `b` moves isn't known"),
        "{problem}"
    );
    assert!(problem.message.contains("status 504"), "{problem}");
    assert!(!problem.message.contains("unchanged"), "{problem}");
}

#[test]
fn a_network_that_stays_broken_is_said_and_nothing_is_claimed() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let server = serve(&pair, vec![trouble(SEND, 9, Fault::ResetBefore)]);
    let pushed = push(&pair, &server.url(), one).unwrap();
    assert!(is_unknown(&pushed.refs[0].outcome), "{pushed:?}");
    let sent = server.requests().iter().filter(|it| **it == SEND).count();
    assert_eq!((sent, server.requests().len()), (2, 11));
    let server = serve(&pair, vec![trouble(LIST, 9, Fault::ResetBefore)]);
    let failed = push(&pair, &server.url(), one).unwrap_err();
    assert!(matches!(failed.why, Why::NoAnswer(_)), "{failed}");
    assert_eq!(server.requests(), [LIST, LIST, LIST]);
    // It is done, and after it nothing answers any more.
    let troubles = vec![
        trouble(SEND, 1, Fault::ResetAfter),
        trouble("GET", 1, Fault::Pass),
        trouble("GET", 9, Fault::ResetBefore),
    ];
    let server = serve(&pair, troubles);
    let pushed = push(&pair, &server.url(), one).unwrap();
    assert!(is_unknown(&pushed.refs[0].outcome), "{pushed:?}");
    assert_eq!(pair.there("refs/heads/a"), Some(one));
    // A look that fails once isn't the last one.
    let two = pair.commit("two", &[]);
    let troubles = vec![
        trouble(SEND, 1, Fault::ResetAfter),
        trouble("GET", 1, Fault::Pass),
        trouble("GET", 3, Fault::ResetBefore),
    ];
    let server = serve(&pair, troubles);
    let pushed = push_all(&pair, &server.url(), &[make("b", two)]).unwrap();
    assert_eq!(pushed.check(), Ok(()));
}

#[test]
fn each_reference_is_told_apart() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let two = pair.commit("two", &[]);
    pair.hook("update", "test \"$1\" != refs/heads/no");
    let before = [make("same", one), make("taken", two)];
    push_all(&pair, &pair.bare.display().to_string(), &before).unwrap();
    let server = serve(&pair, vec![trouble(SEND, 9, Fault::ResetAfter)]);
    let names = ["yes", "no", "taken", "same"];
    let updates = names.map(|name| make(name, one));
    let pushed = push_all(&pair, &server.url(), &updates).unwrap();
    let outcomes: Vec<&Outcome> = pushed.refs.iter().map(|it| &it.outcome).collect();
    assert_eq!(outcomes[0], &Outcome::Done);
    assert!(is_unknown(outcomes[1]), "{outcomes:?}");
    assert_eq!(outcomes[2], &Outcome::LeaseLost(Some(two)));
    assert_eq!(outcomes[3], &Outcome::Unchanged);
}

#[test]
fn a_second_refusal_does_not_say_what_became_of_the_first() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    // What was sent first may hold the lock, and move the branch once nobody looks any more.
    let lock = pair.bare.join("refs/heads/a.lock");
    std::fs::write(&lock, "").unwrap();
    let server = serve(&pair, vec![trouble(SEND, 1, Fault::ResetBefore)]);
    let pushed = push(&pair, &server.url(), one).unwrap();
    assert!(is_unknown(&pushed.refs[0].outcome), "{pushed:?}");
    // Refused at once it is a refusal.
    let server = serve(&pair, vec![]);
    let pushed = push(&pair, &server.url(), one).unwrap();
    assert!(
        matches!(pushed.refs[0].outcome, Outcome::Refused(_)),
        "{pushed:?}"
    );
    std::fs::remove_file(&lock).unwrap();
    // Forbidden only the second time: the first one may be at work.
    let troubles = vec![
        trouble(SEND, 1, Fault::ResetBefore),
        trouble(SEND, 1, status(403, "", "")),
    ];
    let server = serve(&pair, troubles);
    let pushed = push(&pair, &server.url(), one).unwrap();
    assert!(is_unknown(&pushed.refs[0].outcome), "{pushed:?}");
}

#[test]
fn somebody_elses_move_after_a_lost_answer_is_not_called_untouched() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let two = pair.commit("two", &[one]);
    push_all(&pair, &pair.bare.display().to_string(), &[make("two", two)]).unwrap();
    pair.hook(
        "post-receive",
        &format!("git update-ref refs/heads/a {two} {one}"),
    );
    let server = serve(&pair, vec![trouble(SEND, 1, Fault::ResetAfter)]);
    let pushed = push(&pair, &server.url(), one).unwrap();
    assert!(is_unknown(&pushed.refs[0].outcome), "{pushed:?}");
    let problem = pushed.check().unwrap_err();
    assert!(
        problem.message.contains(&format!("it is at {two:.10} now")),
        "{problem}"
    );
    assert_eq!(server.requests(), [LIST, SEND, LIST]);
}

#[test]
fn last_words_are_shown_and_end_it() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let fatal = "0010\x02see ticket\n000f\x03no memory\n0000";
    for said in [fatal, "0010\x02see ticket\n0011ERR no memory"] {
        let server = serve(&pair, vec![trouble(SEND, 9, status(200, "", said))]);
        let pushed = push(&pair, &server.url(), one).unwrap();
        let problem = pushed.check().unwrap_err();
        let wanted = "`a` is refused: the server gave up: see ticket / no memory";
        assert!(problem.message.contains(wanted), "{problem}");
        assert_eq!(server.requests(), [LIST, SEND, LIST, LIST]);
    }
    let refusal = "001f# service=git-receive-pack\n00000014ERR not for you\n";
    let server = serve(&pair, vec![trouble(LIST, 9, status(200, "", refusal))]);
    let refused = push(&pair, &server.url(), one).unwrap_err();
    assert_eq!(refused.why, Why::Said("not for you".to_owned()));
    assert_eq!(server.requests(), [LIST]);
    // What moved before the server gave up has moved.
    let server = serve(
        &pair,
        vec![trouble(SEND, 9, Fault::Instead(fatal.to_owned()))],
    );
    let pushed = push(&pair, &server.url(), one).unwrap();
    assert_eq!(pushed.refs[0].outcome, Outcome::Done);
}

#[test]
fn words_of_a_gateway_are_kept() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let html = "Content-Type: text/html; charset=utf-8\r\n";
    let page = "<html><title>504 from the edge</title><body>x</body></html>";
    let server = serve(&pair, vec![trouble(SEND, 9, status(504, html, page))]);
    let problem = push(&pair, &server.url(), one)
        .unwrap()
        .check()
        .unwrap_err();
    assert!(
        problem.message.contains("status 504: 504 from the edge"),
        "{problem}"
    );
}

/// A channel to the pair's remote, by a command that stands in for ssh.
fn behind(pair: &Pair, command: &str) -> (super::channel::Channel, Vec<u8>, super::Advertisement) {
    let one = pair.commit("one", &[]);
    let home = pair.home.path().display().to_string();
    let env = Env::of(&[
        ("HOME", &home),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("GIT_SSH_COMMAND", command),
    ]);
    let address = format!("git@h.example.org:{}", pair.bare.display());
    let Address::Ssh(SshAddress { host, port, path }) =
        Address::parse(&address, pair.home.path()).unwrap()
    else {
        panic!("{address}");
    };
    let address = SshAddress { host, port, path };
    let program = Program::ssh(&env, None, Service::Receive, &address, pair.home.path());
    let mut channel = program.start().unwrap();
    let server = channel.advertisement().unwrap();
    let moves = [super::packets::Move {
        name: "refs/heads/a",
        old: None,
        new: Some(one),
    }];
    let pack = super::push::pack(&pair.own, &moves, &server).unwrap();
    let request = super::packets::commands(&server, &moves, &[], &pack).unwrap();
    (channel, request, server)
}

#[test]
fn a_whole_report_counts_though_the_connection_does_not_end() {
    let pair = Pair::new();
    let script = with_ssh(&pair);
    // It stays after the end, as a shared connection of ssh does.
    let (mut channel, request, server) =
        behind(&pair, &format!("f() {{ '{script}' \"$@\"; sleep 30; }}; f"));
    let start = Instant::now();
    let answer = channel.exchange(&server, request).unwrap();
    assert_eq!(answer.refs["refs/heads/a"], None);
    assert!(start.elapsed() < Duration::from_secs(20));
    drop(channel);
    assert!(pair.there("refs/heads/a").is_some());
    // The report is there, and a hook behind it takes its time.
    let pair = Pair::new();
    let script = with_ssh(&pair);
    pair.hook("post-receive", "sleep 30");
    let (mut channel, request, server) = behind(&pair, &format!("'{script}'"));
    channel.push_limit = Duration::from_secs(3);
    let answer = channel.exchange(&server, request).unwrap();
    assert_eq!(answer.refs["refs/heads/a"], None);
    // And without a report the time is what ended it.
    let pair = Pair::new();
    let script = with_ssh(&pair);
    pair.hook("pre-receive", "sleep 30");
    let (mut channel, request, server) = behind(&pair, &format!("'{script}'"));
    channel.push_limit = Duration::from_secs(1);
    let late = channel.exchange(&server, request).unwrap_err();
    assert!(matches!(late, Why::TimeOver(_)), "{late}");
}

#[test]
fn the_frame_of_gitlab_is_no_part_of_its_words() {
    let pair = Pair::new();
    let rule = "=".repeat(72);
    let lines = [
        "",
        &rule,
        "",
        "ERROR: You are not allowed to push code to this project.",
        "",
        &rule,
        "",
    ];
    let said: String = lines
        .iter()
        .map(|line| format!("remote: {line}\\n"))
        .collect();
    let command = format!("sh -c \"printf '{said}' >&2; exit 1\"");
    let home = pair.home.path().display().to_string();
    let env = Env::of(&[
        ("HOME", &home),
        ("PATH", "/usr/bin:/bin"),
        ("GIT_SSH_COMMAND", &command),
    ]);
    let nobody = Fixed::default();
    let remote = Remote::at("git@h:a", pair.home.path(), &env, &nobody).unwrap();
    let why = remote.list().unwrap_err().to_string();
    let wanted = "exit code 1: ERROR: You are not allowed to push code to this project.";
    assert!(why.ends_with(wanted), "{why}");
    // Behind HTTP the frame stands among the words of a hook.
    let one = pair.commit("one", &[]);
    pair.hook(
        "pre-receive",
        &format!("echo {rule} >&2\necho needs ticket >&2\necho {rule} >&2\nexit 1"),
    );
    let server = serve(&pair, vec![]);
    let pushed = push(&pair, &server.url(), one).unwrap();
    assert_eq!(pushed.words, ["needs ticket"]);
}

#[test]
fn each_address_for_pushing_gets_the_push() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let second = pair.home.path().join("second.git");
    git2::Repository::init_bare(&second).unwrap();
    let set = |values: &[&str]| {
        let mut config = pair.own.config().unwrap();
        _ = config.remove_multivar("remote.origin.pushurl", ".*");
        for value in values {
            config
                .set_multivar("remote.origin.pushurl", "^$", value)
                .unwrap();
        }
    };
    let (first, second) = (
        pair.bare.display().to_string(),
        second.display().to_string(),
    );
    let mut config = pair.own.config().unwrap();
    config.set_str("remote.origin.url", &first).unwrap();
    let (env, nobody) = (pair.env(), Fixed::default());
    let push = |name: &str| {
        let remote = Remote::named(&pair.own, "origin", &env, &nobody).unwrap();
        remote.push(&pair.own, &[make(name, one)])
    };
    let there = |name: &str| {
        let second = git2::Repository::open(&second).unwrap();
        second.refname_to_id(&format!("refs/heads/{name}")).ok()
    };
    set(&[&first, &second]);
    let pushed = push("a").unwrap();
    assert_eq!(pushed.check(), Ok(()));
    assert_eq!(
        (pushed.others.len(), &pushed.others[0].address),
        (1, &second)
    );
    assert_eq!(
        (pair.there("refs/heads/a"), there("a")),
        (Some(one), Some(one))
    );
    // One that can't be reached doesn't hide what became of the other.
    for order in [["/srv/none.git", &second], [&second, "/srv/none.git"]] {
        set(&order);
        let name = if order[0] == second { "b" } else { "c" };
        let problem = push(name).unwrap().check().unwrap_err();
        assert!(problem.message.contains("`/srv/none.git`"), "{problem}");
        assert!(problem.message.contains("wasn't sent"), "{problem}");
        assert!(!problem.message.contains("second.git"), "{problem}");
        assert_eq!(there(name), Some(one));
    }
    set(&["/srv/none.git", "/srv/no.git"]);
    assert!(push("d").is_err());
}
