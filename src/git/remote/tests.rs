//! Pushes to a repository of this machine, and to one behind the user's `ssh`, by the real git.

use git2::Oid;

use super::pushed::Outcome;
use super::test_server::{Fixed, Pair, with_ssh};
use super::{RefUpdate, Remote};
use crate::model::env::Env;

fn update(name: &str, new: Option<Oid>, expected_old: Option<Oid>) -> RefUpdate {
    RefUpdate {
        name: format!("refs/heads/{name}"),
        new,
        expected_old,
    }
}

fn outcomes(pair: &Pair, updates: &[RefUpdate]) -> Vec<Outcome> {
    let (env, nobody) = (pair.env(), Fixed::default());
    let path = pair.bare.display().to_string();
    let remote = Remote::at(&path, pair.home.path(), &env, &nobody).unwrap();
    let pushed = remote.push(&pair.own, updates).unwrap();
    pushed.refs.into_iter().map(|it| it.outcome).collect()
}

#[test]
fn branches_are_made_moved_rewritten_and_deleted_under_a_lease() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let two = pair.commit("two", &[one]);
    let other = pair.commit("other", &[]);
    let push = |update: RefUpdate| outcomes(&pair, &[update]).remove(0);
    assert_eq!(push(update("a", Some(one), None)), Outcome::Done);
    assert_eq!(push(update("a", Some(two), Some(one))), Outcome::Done);
    pair.check_remote();
    assert_eq!(push(update("a", Some(two), Some(one))), Outcome::Unchanged);
    // Somebody else's commit isn't overwritten, whichever way it is asked for.
    for expected in [Some(one), None] {
        let lost = push(update("a", Some(other), expected));
        assert_eq!(lost, Outcome::LeaseLost(Some(two)));
        let lost = push(update("a", None, Some(one)));
        assert_eq!(lost, Outcome::LeaseLost(Some(two)));
    }
    assert_eq!(
        push(update("b", Some(one), Some(two))),
        Outcome::LeaseLost(None)
    );
    assert_eq!(pair.there("refs/heads/a"), Some(two));
    assert_eq!(push(update("a", Some(other), Some(two))), Outcome::Done);
    assert_eq!(pair.there("refs/heads/a"), Some(other));
    pair.check_remote();
    assert_eq!(push(update("a", None, Some(other))), Outcome::Done);
    assert_eq!(pair.there("refs/heads/a"), None);
    assert_eq!(push(update("a", None, Some(other))), Outcome::Unchanged);
}

#[test]
fn one_lost_lease_leaves_the_other_references_alone() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let two = pair.commit("two", &[one]);
    outcomes(&pair, &[update("a", Some(one), None)]);
    let both = [update("a", Some(two), None), update("b", Some(two), None)];
    assert_eq!(
        outcomes(&pair, &both),
        [Outcome::LeaseLost(Some(one)), Outcome::Done]
    );
    let mut tag = update("", Some(two), None);
    tag.name = "refs/tags/v1".to_owned();
    let who = git2::Signature::new("A", "a@example.org", &git2::Time::new(0, 0)).unwrap();
    let object = pair.own.find_object(two, None).unwrap();
    tag.new = Some(pair.own.tag("v1", &object, &who, "words", false).unwrap());
    assert_eq!(outcomes(&pair, &[tag]), [Outcome::Done]);
    pair.check_remote();
}

#[test]
fn only_what_the_remote_lacks_is_sent() {
    let pair = Pair::new();
    let one = pair.commit(&"a long text ".repeat(1000), &[]);
    let two = pair.commit("two", &[one]);
    outcomes(&pair, &[update("a", Some(one), None)]);
    // The old text isn't needed any more once the remote has it.
    let objects = pair.own.path().join("objects");
    let blob = pair
        .own
        .find_commit(one)
        .unwrap()
        .tree()
        .unwrap()
        .get_name("file")
        .unwrap()
        .id();
    let blob = blob.to_string();
    std::fs::remove_file(objects.join(&blob[..2]).join(&blob[2..])).unwrap();
    assert_eq!(
        outcomes(&pair, &[update("b", Some(two), None)]),
        [Outcome::Done]
    );
    pair.check_remote();
}

#[test]
fn a_shallow_clone_pushes() {
    let pair = Pair::new();
    let mut tip = pair.commit("one", &[]);
    tip = pair.commit("two", &[tip]);
    outcomes(&pair, &[update("master", Some(tip), None)]);
    let clone = pair.home.path().join("shallow");
    let address = format!("file://{}", pair.bare.display());
    let mut git = std::process::Command::new("git");
    git.args(["clone", "-q", "--depth=1", &address]).arg(&clone);
    assert!(git.status().unwrap().success());
    let own = git2::Repository::open(&clone).unwrap();
    assert!(own.is_shallow());
    let parent = own.find_commit(tip).unwrap();
    let (who, tree) = (parent.author(), parent.tree().unwrap());
    let next = own
        .commit(None, &who, &who, "next", &tree, &[&parent])
        .unwrap();
    let (env, nobody) = (pair.env(), Fixed::default());
    let remote = Remote::at(&address, &clone, &env, &nobody).unwrap();
    let pushed = remote.push(&own, &[update("b", Some(next), None)]).unwrap();
    assert_eq!(pushed.check(), Ok(()));
    pair.check_remote();
}

#[test]
fn a_refusal_of_one_reference_has_the_hooks_words() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    pair.hook(
        "update",
        "test \"$1\" = refs/heads/ok && exit 0\nprintf 'needs \\033[31mticket\\n' >&2\nexit 1",
    );
    let (env, nobody) = (pair.env(), Fixed::default());
    let address = format!("file://{}", pair.bare.display());
    let remote = Remote::at(&address, pair.home.path(), &env, &nobody).unwrap();
    let both = [update("ok", Some(one), None), update("no", Some(one), None)];
    let pushed = remote.push(&pair.own, &both).unwrap();
    assert_eq!(pushed.refs[0].outcome, Outcome::Done);
    assert_eq!(
        pushed.refs[1].outcome,
        Outcome::Refused("hook declined".to_owned())
    );
    let words: Vec<&str> = pushed.words.iter().map(String::as_str).collect();
    assert!(words.contains(&"needs ticket"), "{words:?}");
    let problem = pushed.check().unwrap_err();
    assert!(
        problem.message.contains("remote: needs ticket"),
        "{}",
        problem.message
    );
    assert_eq!(pair.there("refs/heads/ok"), Some(one));
    assert_eq!(pair.there("refs/heads/no"), None);
}

#[test]
fn push_options_reach_the_hook() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let (env, nobody) = (pair.env(), Fixed::default());
    let path = pair.bare.display().to_string();
    let remote = || {
        let remote = Remote::at(&path, pair.home.path(), &env, &nobody).unwrap();
        remote.with_options(vec![
            "merge_request.create".to_owned(),
            "ci.skip".to_owned(),
        ])
    };
    let refused = remote()
        .push(&pair.own, &[update("a", Some(one), None)])
        .unwrap_err();
    assert!(
        refused.to_string().contains("takes no push options"),
        "{refused}"
    );
    pair.set("receive.advertisePushOptions", "true");
    pair.hook(
        "pre-receive",
        "echo $GIT_PUSH_OPTION_COUNT $GIT_PUSH_OPTION_0 $GIT_PUSH_OPTION_1",
    );
    let pushed = remote()
        .push(&pair.own, &[update("a", Some(one), None)])
        .unwrap();
    assert_eq!(pushed.words, ["2 merge_request.create ci.skip"]);
}

#[test]
fn a_race_that_the_lease_cannot_see_is_refused_by_the_server() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let two = pair.commit("two", &[one]);
    let three = pair.commit("three", &[one]);
    outcomes(
        &pair,
        &[update("a", Some(one), None), update("b", Some(three), None)],
    );
    // Between the look and the move somebody else moves the branch.
    let moved = format!("git update-ref refs/heads/a {three} {one}");
    pair.hook(
        "pre-receive",
        &format!("unset GIT_QUARANTINE_PATH\n{moved}"),
    );
    let outcome = outcomes(&pair, &[update("a", Some(two), Some(one))]).remove(0);
    assert!(matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
    assert_eq!(pair.there("refs/heads/a"), Some(three));
}

#[test]
fn an_empty_remote_tells_its_branch_and_takes_the_first_commit() {
    let pair = Pair::new();
    let (env, nobody) = (pair.env(), Fixed::default());
    let remote = Remote::at("team/a b.git", pair.home.path(), &env, &nobody).unwrap();
    assert!(remote.list().unwrap().refs.is_empty());
    let one = pair.commit("one", &[]);
    outcomes(&pair, &[update("master", Some(one), None)]);
    let listed = remote.list().unwrap();
    assert_eq!(listed.head.as_deref(), Some("refs/heads/master"));
    assert_eq!(listed.refs["refs/heads/master"], one);
}

#[test]
fn names_that_could_mean_two_things_are_refused() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let (env, nobody) = (pair.env(), Fixed::default());
    let path = pair.bare.display().to_string();
    let remote = Remote::at(&path, pair.home.path(), &env, &nobody).unwrap();
    let mut short = update("a", Some(one), None);
    short.name = "a".to_owned();
    assert!(remote.push(&pair.own, &[short]).is_err());
    let twice = [update("a", Some(one), None), update("a", None, None)];
    assert!(remote.push(&pair.own, &twice).is_err());
    let unknown = update("a", Some(Oid::from_str(&"1".repeat(40)).unwrap()), None);
    let unknown = remote.push(&pair.own, &[unknown]).unwrap_err();
    assert!(unknown.to_string().contains("can't be packed"), "{unknown}");
}

#[test]
fn ssh_is_the_users_own_and_asks_nothing() {
    let pair = Pair::new();
    let one = pair.commit("one", &[]);
    let script = with_ssh(&pair);
    let home = pair.home.path().display().to_string();
    let nobody = Fixed::default();
    let env = |name: &str, value: &str| {
        Env::of(&[
            ("HOME", &home),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            (name, value),
        ])
    };
    let bare = pair.bare.display().to_string();
    let quoted = format!("'{script}'");
    let cases = [
        (
            "GIT_SSH",
            script.as_str(),
            format!("ssh://h.example.org:2222{}", bare.replace(' ', "%20")),
        ),
        (
            "GIT_SSH_COMMAND",
            quoted.as_str(),
            format!("git@h.example.org:{bare}"),
        ),
        (
            "GIT_SSH_COMMAND",
            quoted.as_str(),
            format!("h.example.org:{bare}"),
        ),
    ];
    for (at, (name, value, address)) in cases.iter().enumerate() {
        let env = env(name, value);
        let remote = Remote::at(address, pair.home.path(), &env, &nobody).unwrap();
        let branch = format!("b{at}");
        let pushed = remote
            .push(&pair.own, &[update(&branch, Some(one), None)])
            .unwrap();
        assert_eq!(pushed.check(), Ok(()), "{address}");
        assert!(
            remote
                .list()
                .unwrap()
                .refs
                .contains_key(&format!("refs/heads/{branch}"))
        );
    }
    // `core.sshCommand`, and an address that is rewritten to one of SSH.
    let mut config = pair.own.config().unwrap();
    config.set_str("core.sshCommand", &quoted).unwrap();
    config
        .set_str("remote.origin.url", &format!("https://h.example.org{bare}"))
        .unwrap();
    config
        .set_str("url.git@h.example.org:.insteadOf", "https://h.example.org")
        .unwrap();
    let env = pair.env();
    let remote = Remote::named(&pair.own, "origin", &env, &nobody).unwrap();
    assert_eq!(
        remote
            .push(&pair.own, &[update("c", Some(one), None)])
            .unwrap()
            .check(),
        Ok(())
    );
    assert!(nobody.asked.lock().unwrap().is_empty());
    let asked = std::fs::read_to_string(pair.home.path().join("asked")).unwrap();
    let is_right = |line: &str| line.contains("-oBatchMode=yes") && line.contains("h.example.org");
    assert!(
        asked.lines().count() == 7 && asked.lines().all(is_right),
        "{asked}"
    );
    assert!(asked.contains("-p 2222 h.example.org git-"), "{asked}");
    // Who it is says the address, or else the configuration of ssh.
    let named = asked
        .lines()
        .filter(|line| line.contains(" git@h.example.org git-"));
    assert_eq!(named.count(), 3, "{asked}");
    // Where that says nothing, it is the one user that forges have (O44).
    let env = Env::of(&[
        ("HOME", &home),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("GIT_SSH", &script),
        ("USER", "me"),
        ("CONFIGURED", "me"),
    ]);
    let address = format!("ssh://h.example.org{}", bare.replace(' ', "%20"));
    let remote = Remote::at(&address, pair.home.path(), &env, &nobody).unwrap();
    remote.list().unwrap();
    let asked = std::fs::read_to_string(pair.home.path().join("asked")).unwrap();
    let last = asked.lines().last().unwrap();
    assert!(last.contains(" git@h.example.org git-"), "{last}");
}

#[test]
fn what_ssh_says_is_told_and_a_missing_program_named() {
    let pair = Pair::new();
    let nobody = Fixed::default();
    let home = pair.home.path().display().to_string();
    let refusing = "sh -c 'echo \"git@h: Permission denied (publickey).\" >&2; exit 255'";
    let env = Env::of(&[
        ("HOME", &home),
        ("PATH", "/usr/bin:/bin"),
        ("GIT_SSH_COMMAND", refusing),
    ]);
    let remote = Remote::at("git@h:a", pair.home.path(), &env, &nobody).unwrap();
    let why = remote.list().unwrap_err().to_string();
    assert!(why.contains("cannot list `ssh://git@h/a`"), "{why}");
    assert!(
        why.contains("exit code 255: git@h: Permission denied (publickey)."),
        "{why}"
    );
    let nothing = Env::of(&[("PATH", &home)]);
    let remote = Remote::at("/srv/none.git", pair.home.path(), &nothing, &nobody).unwrap();
    let why = remote.list().unwrap_err();
    assert!(
        why.to_string().contains("`git`, which isn't installed"),
        "{why}"
    );
    let absent = pair.env();
    let remote = Remote::at("/srv/none.git", pair.home.path(), &absent, &nobody).unwrap();
    let why = remote.list().unwrap_err();
    assert!(
        why.to_string()
            .contains("exit code 128: fatal: '/srv/none.git'"),
        "{why}"
    );
}
