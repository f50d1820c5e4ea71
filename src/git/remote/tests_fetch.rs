//! Fetches from a repository of this machine, behind the user's `ssh` and behind HTTP, looked at by the real git.

use std::num::NonZeroU32;
use std::path::Path;
use std::process::Command;

use git2::{Oid, Repository};

use super::error::Why;
use super::test_server::{Fault, Fixed, Pair, Server, Trouble, with_ssh};
use super::{Listing, Remote, RemoteError};
use crate::model::env::Env;

const LIST: &str = "GET /a%20b.git/info/refs?service=git-upload-pack";
const ASK: &str = "POST /a%20b.git/git-upload-pack";
const MASTER: &str = "refs/heads/master";

/// A remote with a history of so many commits on `master`, and an empty repository beside it.
struct Case {
    pair: Pair,
    commits: Vec<Oid>,
    here: Repository,
}

impl Case {
    fn new(length: usize) -> Self {
        let pair = Pair::new();
        let here = Repository::init_bare(pair.home.path().join("here")).unwrap();
        let mut case = Self {
            pair,
            commits: Vec::new(),
            here,
        };
        (0..length).for_each(|_| case.grow());
        case
    }

    /// One more commit at the remote.
    fn grow(&mut self) {
        let parent = self.commits.last().copied();
        let text = format!("commit {}", self.commits.len());
        let tip = self.pair.commit(&text, parent.as_slice());
        self.put(MASTER, tip);
        self.commits.push(tip);
    }

    /// Puts a reference to the remote.
    fn put(&self, name: &str, id: Oid) {
        let own = &self.pair.own;
        own.reference("refs/heads/out", id, true, "").unwrap();
        let spec = format!("+{id}:{name}");
        git(own.path(), &["push", "-q", &self.path(), &spec]);
    }

    fn path(&self) -> String {
        self.pair.bare.display().to_string()
    }

    fn fetch_from(&self, address: &str, depth: u32) -> Result<Listing, RemoteError> {
        let (env, nobody) = (self.pair.env(), Fixed::default());
        let remote = Remote::at(address, self.pair.home.path(), &env, &nobody)?;
        let here = Repository::open(self.here.path()).unwrap();
        remote.fetch(&here, &|name| name == MASTER, NonZeroU32::new(depth))
    }

    /// Fetches from the path and writes the reference; a depth of 0 is none.
    fn fetch(&self, depth: u32) -> Vec<Oid> {
        let listed = self.fetch_from(&self.path(), depth).unwrap();
        self.keep(&listed)
    }

    /// Writes the reference and returns its history, as git tells it.
    fn keep(&self, listed: &Listing) -> Vec<Oid> {
        let tip = listed.refs[MASTER];
        self.here.reference(MASTER, tip, true, "").unwrap();
        self.history()
    }

    fn history(&self) -> Vec<Oid> {
        let said = git(self.here.path(), &["fsck", "--full", "--strict"]);
        assert!(!said.contains("missing"), "{said}");
        let log = git(self.here.path(), &["log", "--format=%H", MASTER]);
        let ids: Vec<Oid> = log.lines().map(|id| Oid::from_str(id).unwrap()).collect();
        let fresh = Repository::open(self.here.path()).unwrap();
        let mut walk = fresh.revwalk().unwrap();
        walk.push_ref(MASTER).unwrap();
        let seen: Vec<Oid> = walk.map(Result::unwrap).collect();
        assert_eq!(seen, ids);
        ids
    }

    fn newest(&self, count: usize) -> Vec<Oid> {
        self.commits.iter().rev().take(count).copied().collect()
    }

    fn serve(&self, troubles: Vec<Trouble>) -> Server {
        Server::start(self.pair.bare.parent().unwrap(), None, troubles)
    }

    fn cut_file(&self) -> Option<String> {
        std::fs::read_to_string(self.here.path().join("shallow")).ok()
    }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(arguments);
    let said = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    let text = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success(), "{arguments:?}: {text}");
    String::from_utf8_lossy(&said.stdout).into_owned() + &text
}

#[test]
fn a_history_comes_as_deep_as_it_is_asked_for() {
    let mut case = Case::new(4);
    assert_eq!(case.fetch(1), case.newest(1));
    assert_eq!(case.fetch(2), case.newest(2));
    case.grow();
    assert_eq!(case.fetch(1), case.newest(1));
    assert_eq!(case.fetch(3), case.newest(3));
    // Less than what is there changes nothing.
    assert_eq!(case.fetch(2), case.newest(3));
    assert_eq!(case.fetch(0), case.newest(5));
    assert_eq!(case.cut_file(), None);
    // A whole history isn't cut.
    case.grow();
    case.grow();
    assert_eq!(case.fetch(1), case.newest(7));
    assert_eq!(case.cut_file(), None);
}

#[test]
fn git_goes_on_with_what_was_fetched() {
    let mut case = Case::new(5);
    case.fetch(2);
    case.grow();
    let path = case.path();
    let git = |arguments: &[&str]| git(case.here.path(), arguments);
    git(&["fetch", "-q", &path, "+refs/heads/*:refs/heads/*"]);
    assert_eq!(case.history(), case.newest(3));
    git(&[
        "fetch",
        "-q",
        "--depth=1",
        &path,
        "+refs/heads/*:refs/heads/*",
    ]);
    assert_eq!(case.history(), case.newest(1));
    // And the other way round: git has cut it, and here it is made whole.
    assert_eq!(case.fetch(2), case.newest(2));
    git(&["gc", "-q", "--prune=now"]);
    assert_eq!(case.fetch(0), case.newest(6));
}

#[test]
fn http_is_asked_once_for_the_list_and_once_for_the_pack() {
    let mut case = Case::new(3);
    let server = case.serve(vec![]);
    let fetch = |case: &Case, depth| case.fetch_from(&server.url(), depth).unwrap();
    let listed = fetch(&case, 1);
    assert_eq!(listed.head.as_deref(), Some(MASTER));
    assert_eq!(case.keep(&listed), case.newest(1));
    assert_eq!(server.requests(), [LIST, ASK]);
    // What is there isn't asked for, whether it has a reference or not.
    fetch(&case, 1);
    case.here.find_reference(MASTER).unwrap().delete().unwrap();
    fetch(&case, 1);
    assert_eq!(server.requests(), [LIST, ASK, LIST, LIST]);
    case.grow();
    let listed = fetch(&case, 2);
    assert_eq!(case.keep(&listed), case.newest(2));
    let listed = fetch(&case, 0);
    assert_eq!(case.keep(&listed), case.newest(4));
    fetch(&case, 0);
    assert_eq!(server.requests()[4..], [LIST, ASK, LIST, ASK, LIST]);
}

#[test]
fn ssh_and_paths_bring_the_same() {
    let case = Case::new(3);
    let script = with_ssh(&case.pair);
    let home = case.pair.home.path().display().to_string();
    let path = "/usr/local/bin:/usr/bin:/bin";
    let env = Env::of(&[("HOME", &home), ("PATH", path), ("GIT_SSH", &script)]);
    let nobody = Fixed::default();
    let address = format!("git@h.example.org:{}", case.path());
    let remote = Remote::at(&address, case.pair.home.path(), &env, &nobody).unwrap();
    let depth = NonZeroU32::new(2);
    let fetch = || remote.fetch(&case.here, &|name| name == MASTER, depth);
    assert_eq!(case.keep(&fetch().unwrap()), case.newest(2));
    fetch().unwrap();
    let asked = std::fs::read_to_string(case.pair.home.path().join("asked")).unwrap();
    assert_eq!(asked.lines().count(), 2);
    assert!(asked.lines().all(|line| line.contains("git-upload-pack")));
}

#[test]
fn only_wanted_references_come_and_none_is_written() {
    let case = Case::new(1);
    let other = case.pair.commit("other", &[]);
    case.put("refs/heads/other", other);
    let object = case.pair.own.find_object(other, None).unwrap();
    let who = git2::Signature::new("A", "a@example.org", &git2::Time::new(0, 0)).unwrap();
    let tag = case.pair.own.tag("v1", &object, &who, "words", false);
    case.put("refs/tags/v1", tag.unwrap());
    let listed = case.fetch_from(&case.path(), 1).unwrap();
    let has = |name: &str| {
        let fresh = Repository::open(case.here.path()).unwrap();
        fresh.find_object(listed.refs[name], None).is_ok()
    };
    assert!(has(MASTER) && !has("refs/heads/other") && !has("refs/tags/v1"));
    assert_eq!(case.here.references().unwrap().count(), 0);
    let (env, nobody) = (case.pair.env(), Fixed::default());
    let remote = Remote::at(&case.path(), case.pair.home.path(), &env, &nobody).unwrap();
    remote
        .fetch(&case.here, &|name| name.starts_with("refs/tags/"), None)
        .unwrap();
    assert!(has("refs/tags/v1") && has("refs/heads/other"));
    case.keep(&listed);
}

#[test]
fn an_empty_remote_has_nothing_to_bring() {
    let case = Case::new(0);
    let server = case.serve(vec![]);
    for address in [server.url(), case.path()] {
        let listed = case.fetch_from(&address, 1).unwrap();
        assert!(listed.refs.is_empty());
    }
    assert_eq!(server.requests(), [LIST]);
}

#[test]
fn only_what_is_new_is_sent() {
    let mut case = Case::new(1);
    let big: String = (0..200_000_u32)
        .map(|it| format!("{:x}", it.wrapping_mul(2_654_435_761)))
        .collect();
    let first = case.pair.commit(&big, &case.commits);
    case.put(MASTER, first);
    case.commits.push(first);
    case.fetch(0);
    let packed = |case: &Case| {
        let folder = case.here.path().join("objects").join("pack");
        let files = std::fs::read_dir(folder).unwrap();
        files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum::<u64>()
    };
    let before = packed(&case);
    assert!(before > 100_000, "{before}");
    // A commit of ours that the remote doesn't have doesn't hide what both have.
    let here = Repository::open(case.here.path()).unwrap();
    let own = here.find_commit(first).unwrap();
    let tree = own.tree().unwrap();
    let who = own.author();
    here.commit(Some("refs/heads/mine"), &who, &who, "mine", &tree, &[&own])
        .unwrap();
    case.here.find_reference(MASTER).unwrap().delete().unwrap();
    case.grow();
    assert_eq!(case.fetch(0), case.newest(3));
    assert!(packed(&case) < before + 5000);
}

#[test]
fn what_git_has_tidied_away_in_part_comes_again() {
    let case = Case::new(2);
    let listed = case.fetch_from(&case.path(), 0).unwrap();
    // The objects one by one, and one of them lost.
    let folder = case.here.path().join("objects");
    for file in std::fs::read_dir(folder.join("pack")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_some_and(|kind| kind == "pack") {
            let unpacked = Command::new("sh")
                .args([
                    "-c",
                    "mv \"$0\" p && rm -f objects/pack/* && git unpack-objects -q <p",
                ])
                .arg(&file)
                .current_dir(case.here.path())
                .status();
            assert!(unpacked.unwrap().success());
        }
    }
    let commit = case.pair.own.find_commit(case.commits[0]).unwrap();
    let lost = commit
        .tree()
        .unwrap()
        .get_name("file")
        .unwrap()
        .id()
        .to_string();
    std::fs::remove_file(folder.join(&lost[..2]).join(&lost[2..])).unwrap();
    case.fetch_from(&case.path(), 0).unwrap();
    assert_eq!(case.keep(&listed), case.newest(2));
}

#[test]
fn an_answer_that_is_cut_off_leaves_nothing_behind() {
    let case = Case::new(3);
    for at in [0, 3, 40, 60, 150, 300] {
        let cut = |times| Trouble {
            on: ASK,
            times,
            fault: Fault::Cut(at),
        };
        let server = case.serve(vec![cut(9)]);
        let failed = case.fetch_from(&server.url(), 1).unwrap_err();
        assert!(matches!(failed.why, Why::NoAnswer(_)), "{at}: {failed}");
        assert_eq!(server.requests(), [LIST, ASK, LIST, ASK]);
        assert_eq!(case.cut_file(), None, "{at}");
        let folder = case.here.path().join("objects").join("pack");
        let left = std::fs::read_dir(folder).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{at}");
    }
    // It is asked for again, once.
    let once = Trouble {
        on: ASK,
        times: 1,
        fault: Fault::Cut(150),
    };
    let server = case.serve(vec![once]);
    let listed = case.fetch_from(&server.url(), 1).unwrap();
    assert_eq!(case.keep(&listed), case.newest(1));
}

#[test]
fn a_busy_server_is_asked_again_and_a_refusing_one_quoted() {
    let case = Case::new(1);
    let trouble = |times, code, text: &str| Trouble {
        on: ASK,
        times,
        fault: Fault::Status(
            code,
            "Content-Type: text/plain\r\n".to_owned(),
            text.to_owned(),
        ),
    };
    let server = case.serve(vec![trouble(2, 503, "")]);
    case.fetch_from(&server.url(), 1).unwrap();
    assert_eq!(server.requests(), [LIST, ASK, ASK, ASK]);
    let case = Case::new(1);
    let server = case.serve(vec![trouble(9, 403, "not yours")]);
    let refused = case.fetch_from(&server.url(), 1).unwrap_err();
    assert_eq!(refused.why, Why::Forbidden("not yours".to_owned()));
    let said = "0008NAK\n000f\x03no memory\n".to_owned();
    let server = case.serve(vec![Trouble {
        on: ASK,
        times: 9,
        fault: Fault::Status(200, String::new(), said),
    }]);
    let refused = case.fetch_from(&server.url(), 0).unwrap_err();
    assert_eq!(refused.why, Why::Said("no memory".to_owned()));
    assert_eq!(server.requests(), [LIST, ASK]);
}

#[test]
fn a_remote_that_is_cut_itself_gives_what_it_has() {
    let mut case = Case::new(4);
    let address = format!("file://{}", case.path());
    let middle = case.pair.home.path().join("middle");
    let name = middle.display().to_string();
    git(
        case.pair.home.path(),
        &["clone", "-q", "--bare", "--depth=2", &address, &name],
    );
    let listed = case.fetch_from(&name, 0).unwrap();
    assert_eq!(case.keep(&listed), case.newest(2));
    let listed = case.fetch_from(&name, 1).unwrap();
    assert_eq!(case.keep(&listed), case.newest(2));
    case.grow();
    assert_eq!(case.fetch(0), case.newest(5));
}

#[test]
fn a_work_tree_beside_the_repository_shares_what_is_cut() {
    let mut case = Case::new(3);
    case.fetch(1);
    let beside = case.pair.home.path().join("beside");
    let name = beside.display().to_string();
    git(
        case.here.path(),
        &["worktree", "add", "-q", "--detach", &name, MASTER],
    );
    case.grow();
    let (env, nobody) = (case.pair.env(), Fixed::default());
    let remote = Remote::at(&case.path(), &beside, &env, &nobody).unwrap();
    let own = Repository::open(&beside).unwrap();
    let depth = NonZeroU32::new(1);
    let listed = remote.fetch(&own, &|name| name == MASTER, depth).unwrap();
    assert_eq!(case.keep(&listed), case.newest(1));
}

#[test]
fn a_named_remote_is_fetched_from_where_git_fetches() {
    let case = Case::new(2);
    let mut config = case.here.config().unwrap();
    config.set_str("remote.origin.url", "up:a.git").unwrap();
    let base = format!(
        "url.{}/.insteadOf",
        case.pair.bare.parent().unwrap().display()
    );
    config.set_str(&base, "up:").unwrap();
    std::fs::rename(&case.pair.bare, case.pair.bare.with_file_name("a.git")).unwrap();
    config
        .set_str("remote.origin.pushurl", "/srv/none.git")
        .unwrap();
    let (env, nobody) = (case.pair.env(), Fixed::default());
    let here = Repository::open(case.here.path()).unwrap();
    let remote = Remote::named(&here, "origin", &env, &nobody).unwrap();
    let listed = remote.fetch(&here, &|name| name == MASTER, None).unwrap();
    assert_eq!(case.keep(&listed), case.newest(2));
    assert!(remote.shown() == "/srv/none.git" && remote.list().is_err());
}
