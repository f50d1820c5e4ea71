//! What delivery must never do: take somebody's request for its own, close or delete without a reason, bring back what was taken away.

use serde_json::Value;

use crate::delivery::{
    BRANCH, commit, elsewhere, one, pair, put_state, refs, request_file, run, scene, tip,
};
use crate::env::TestEnv;

fn verdict(change: &Value) -> &str {
    change["request"]["verdict"].as_str().unwrap_or("none")
}

#[test]
fn what_was_taken_out_of_the_base_does_not_come_back() {
    let env = scene();
    elsewhere(&env, "main", "secret", "hunter2\n");
    one(&env, &["--open"], 0);
    assert!(
        env.git("repo.git", &["ls-tree", "-r", BRANCH])
            .contains("secret")
    );
    // Its history is rewritten without the secret.
    env.git("other", &["reset", "-q", "--hard", "HEAD~1"]);
    env.git("other", &["push", "-qf", "origin", "main"]);
    let change = one(&env, &["--open"], 0);
    assert_eq!(verdict(&change), "updated");
    let history = env.git("repo.git", &["log", "--format=%s", BRANCH]);
    assert!(!history.contains("By hand"), "{history}");
    // Nor from a branch that was only left here.
    let before = tip(&env, "repo.git", BRANCH);
    env.git(
        "repo.git",
        &["update-ref", "-d", &format!("refs/heads/{BRANCH}")],
    );
    one(&env, &["--open"], 0);
    assert!(
        !env.git("repo.git", &["ls-tree", "-r", BRANCH])
            .contains("secret")
    );
    assert_eq!(tip(&env, "repo.git", BRANCH), before);
}

#[test]
fn a_request_with_a_copied_text_is_nobodys_business() {
    let env = scene();
    one(&env, &["--open"], 0);
    let own = env.read(&request_file(1));
    let copied = own.replace(BRANCH, "alice/work");
    env.write(&request_file(7), &copied);
    env.write("versions.yaml", "web: ['1.2.0']\n");
    let change = one(&env, &["--open"], 0);
    assert_eq!(change["request"]["number"], 1);
    assert_eq!(env.read(&request_file(7)), copied);
}

#[test]
fn a_request_that_people_aimed_elsewhere_is_left_alone() {
    let env = scene();
    one(&env, &["--open"], 0);
    let moved = env
        .read(&request_file(1))
        .replace("base: \"main\"", "base: \"next\"");
    env.write(&request_file(1), &moved);
    env.write("versions.yaml", "web: ['1.2.0']\n");
    let before = refs(&env, "repo.git");
    let change = one(&env, &["--open"], 0);
    assert_eq!(verdict(&change), "left-alone");
    assert_eq!(
        (env.read(&request_file(1)), refs(&env, "repo.git")),
        (moved, before)
    );
}

#[test]
fn nothing_is_closed_for_want_of_knowledge() {
    let env = scene();
    one(&env, &["--open"], 0);
    let (request, there) = (env.read(&request_file(1)), refs(&env, "repo.git"));
    let branch = |refs: &str| {
        refs.lines()
            .find(|line| line.contains(BRANCH))
            .map(str::to_owned)
    };
    // The source has lost its list.
    env.write("versions.yaml", "web: []\n");
    run(&env, &["--open"], 0);
    assert_eq!(
        (env.read(&request_file(1)), refs(&env, "repo.git")),
        (request.clone(), there.clone())
    );
    // The file can't be read for a while.
    env.write("versions.yaml", "web: ['1.1.0']\n");
    elsewhere(&env, "main", "apps/web.yaml", "<<<<<<< x: [\n");
    run(&env, &["--open"], 0);
    assert_eq!(env.read(&request_file(1)), request);
    assert_eq!(branch(&refs(&env, "repo.git")), branch(&there));
}

#[test]
fn what_the_base_has_or_was_rejected_is_closed_and_its_branch_goes() {
    for rejected in [true, false] {
        let env = scene();
        one(&env, &["--open"], 0);
        let note = if rejected {
            let policy = "rejected: [{chart: web, version: 1.1.0}]\n";
            elsewhere(&env, "main", ".haptic-scaffold.yaml", policy);
            "Its version was rejected."
        } else {
            let text = env.git("repo.git", &["show", &format!("{BRANCH}:apps/web.yaml")]);
            elsewhere(&env, "main", "apps/web.yaml", &text);
            "`main` has this already."
        };
        run(&env, &["--open"], 0);
        let text = env.read(&request_file(1));
        assert!(
            text.contains("state: \"closed\"") && text.contains(note),
            "{text}"
        );
        assert!(!refs(&env, "repo.git").contains(BRANCH));
        assert!(
            !refs(&env, "repo").contains(BRANCH),
            "neither here nor there"
        );
    }
}

#[test]
fn an_offer_that_has_no_request_yet_is_not_tidied_for_an_older_one() {
    let env = TestEnv::new();
    pair(&env, "repo", &["web", "api"]);
    env.write("versions.yaml", "web: ['1.1.0']\napi: ['1.0.0']\n");
    one(&env, &["--open"], 0);
    put_state(&env, 1, "closed");
    env.write("versions.yaml", "web: ['1.2.0']\napi: ['1.1.0']\n");
    run(&env, &["web", "--push"], 0);
    let pushed = tip(&env, "repo.git", BRANCH);
    run(&env, &["api", "--open"], 0);
    assert_eq!(tip(&env, "repo.git", BRANCH), pushed);
}

#[test]
fn a_dry_run_says_that_a_branch_is_left_alone() {
    let env = scene();
    one(&env, &["--open"], 0);
    elsewhere(&env, BRANCH, "more", "x\n");
    env.write("versions.yaml", "web: ['1.2.0']\n");
    for more in [&["--open", "--dry-run"][..], &["--open"]] {
        assert_eq!(verdict(&one(&env, more, 0)), "left-alone");
    }
}

#[test]
fn a_rebase_by_a_button_is_no_work_of_somebody() {
    let env = scene();
    run(&env, &["--open"], 0);
    for number in 0..4 {
        elsewhere(&env, "main", "notes", &format!("{number}\n"));
        if number == 1 {
            env.git("other", &["fetch", "-q"]);
            let branch = format!("origin/{BRANCH}");
            env.git("other", &["checkout", "-qB", BRANCH, &branch]);
            env.git("other", &["rebase", "-q", "origin/main"]);
            env.git("other", &["push", "-qf", "origin", BRANCH]);
        }
    }
    env.write("versions.yaml", "web: ['1.2.0']\n");
    // A bot fetches no more of a history than it needs, and here that is more than usual.
    let round = ["bot", "run", "repo", "--versions", "versions.yaml"];
    let said = env.expect(0, &round).stdout;
    assert!(said.contains("merge request updated"), "{said}");
    commit(&env, "repo", "Not pushed");
    env.git(".", &["clone", "-q", "--bare", "repo.git", "bare.git"]);
    env.git("bare.git", &["remote", "remove", "origin"]);
    env.write("versions.yaml", "web: ['1.3.0']\n");
    let said = env
        .expect(
            0,
            &["bot", "run", "bare.git", "--versions", "versions.yaml"],
        )
        .stdout;
    assert!(said.contains("merge request created"), "{said}");
}

#[test]
fn a_branch_that_shall_stay_when_it_is_merged_stays() {
    let env = scene();
    let policy = "requests: {keep_branch: true}\n";
    elsewhere(&env, "main", ".haptic-scaffold.yaml", policy);
    one(&env, &["--open"], 0);
    put_state(&env, 1, "merged");
    let text = env.git("repo.git", &["show", &format!("{BRANCH}:apps/web.yaml")]);
    elsewhere(&env, "main", "apps/web.yaml", &text);
    run(&env, &["--open"], 0);
    assert!(refs(&env, "repo.git").contains(BRANCH));
}
