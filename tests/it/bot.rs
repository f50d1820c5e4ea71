//! `bot run` over folders, without any forge.

use crate::lookups::repo;

#[test]
fn a_history_that_is_longer_than_what_is_fetched_is_no_hindrance() {
    let env = repo("https://charts.example.org", "1.0.0");
    for text in ["1", "2", "3"] {
        env.git("repo", &["commit", "-q", "--allow-empty", "-m", text]);
    }
    env.git(
        ".",
        &["clone", "-q", "--bare", "--no-local", "repo", "there.git"],
    );
    // One that has a remote is worked on by way of that.
    env.git("there.git", &["remote", "remove", "origin"]);
    env.write("v.yaml", "web: [1.0.0, 1.1.0]\n");
    let round = ["bot", "run", "there.git", "--versions", "v.yaml"];
    let said = env.expect(0, &round).stdout;
    assert!(said.contains("merge request created"), "{said}");
    env.git("repo", &["commit", "-q", "--allow-empty", "-m", "4"]);
    env.git("repo", &["push", "-q", "../there.git", "main"]);
    let said = env.expect(0, &round).stdout;
    assert!(said.contains("merge request same"), "{said}");
}
