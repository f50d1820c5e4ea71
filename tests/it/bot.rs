//! `bot run`: the round over one repository or many.

use serde_json::{Value, json};

use crate::delivery::{BRANCH, commit, pair, refs, tip};
use crate::env::{Run, TestEnv};
use crate::lookups::repo;

fn bot(env: &TestEnv, more: &[&str], code: i32) -> Run {
    let mut arguments = vec!["bot", "run", "--versions", "versions.yaml"];
    arguments.extend(["--output", "json"]);
    arguments.extend(more);
    env.expect(code, &arguments)
}

/// Repositories with the chart `web`, of which 1.1.0 is newer.
fn scene(names: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    for name in names {
        pair(&env, name, &["web"]);
    }
    env.write("versions.yaml", "web: ['1.1.0']\n");
    env
}

fn verdicts(json: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let rows = json["repos"].as_array().expect("repositories");
    let verdict = |row: &Value| text(&row["changes"][0]["request"]["verdict"]);
    rows.iter()
        .map(|row| (text(&row["repo"]), verdict(row)))
        .collect()
}

#[test]
fn a_clone_is_left_as_it_is_and_its_remote_gets_the_change() {
    let env = scene(&["one"]);
    env.write("one/apps/web.yaml", "dirty\n");
    let json = bot(&env, &["one"], 0).json();
    assert_eq!(json["schema"], "haptic-scaffold/bot/v1");
    assert_eq!(json["ok"], true);
    let row = &json["repos"][0];
    assert_eq!(row["ok"], true);
    assert_eq!(row["error"], Value::Null);
    let change = &row["changes"][0];
    assert_eq!(change["key"], "upgrade web");
    assert_eq!(change["request"]["verdict"], "created");
    assert_eq!(change["request"]["number"], 1);
    let commit = change["commit"].as_str().expect("a commit");
    assert_eq!(tip(&env, "one.git", BRANCH), commit);
    assert_eq!(env.read("one/apps/web.yaml"), "dirty\n");
    assert!(env.path("one/.git/haptic-scaffold/requests/1.md").exists());
    let again = bot(&env, &["one"], 0).json();
    assert_eq!(
        again["repos"][0]["changes"][0]["request"]["verdict"],
        "same"
    );
}

#[test]
fn a_folder_without_a_remote_is_the_remote_itself() {
    let env = scene(&["one"]);
    let before = refs(&env, "one.git");
    bot(&env, &["one.git", "--dry-run"], 0);
    assert_eq!(refs(&env, "one.git"), before);
    let json = bot(&env, &["one.git"], 0).json();
    assert_eq!(
        json["repos"][0]["changes"][0]["request"]["verdict"],
        "created"
    );
    let parent = tip(&env, "one.git", &format!("{BRANCH}^"));
    assert_eq!(parent, tip(&env, "one.git", "main"));
    let file = "one.git/haptic-scaffold/requests/1.md";
    let text = env.read(file);
    let after = refs(&env, "one.git");
    let again = bot(&env, &["one.git"], 0).json();
    assert_eq!(
        again["repos"][0]["changes"][0]["request"]["verdict"],
        "same"
    );
    assert_eq!(env.read(file), text);
    assert_eq!(refs(&env, "one.git"), after);
    env.git("one.git", &["fsck", "--strict"]);
}

#[test]
fn one_that_fails_keeps_no_other_back_and_the_order_is_that_of_the_list() {
    let env = scene(&["c", "a", "b"]);
    env.write(
        "repos.txt",
        "# ours\nc.git\n\nbroken.git   # moved away\na\nb.git\nc.git\n",
    );
    let ran = bot(&env, &["--repos", "repos.txt", "--jobs", "3"], 1);
    let json = ran.json();
    let rows = json["repos"].as_array().expect("repositories");
    assert_eq!(rows.len(), 4, "{json}");
    for (row, end) in rows.iter().zip(["c.git", "broken.git", "a", "b.git"]) {
        let name = row["repo"].as_str().expect("a name");
        assert!(name.ends_with(end), "{name}");
        let is_good = end != "broken.git";
        assert_eq!(row["ok"], is_good, "{row}");
        let verdict = &row["changes"][0]["request"]["verdict"];
        assert_eq!(verdict == "created", is_good, "{row}");
    }
    let error = &rows[1]["error"];
    assert_eq!(rows[1]["changes"], json!([]));
    assert!(
        error["message"].is_string() && error["hint"].is_string(),
        "{error}"
    );
    assert_eq!(error["code"], 2);
    assert_eq!(json["ok"], false);
    assert_eq!(json["error"]["code"], 1);
    assert_eq!(json["error"]["message"], "1 of 4 repositories failed");
    let human = env.expect(
        1,
        &[
            "bot",
            "run",
            "--repos",
            "repos.txt",
            "--versions",
            "versions.yaml",
        ],
    );
    assert!(
        human.stdout.contains("4 repositories, 1 failed"),
        "{}",
        human.stdout
    );
    assert!(human.stdout.contains("  failed: "), "{}", human.stdout);
    assert!(
        human.stdout.contains("merge request same"),
        "{}",
        human.stdout
    );
}

#[test]
fn the_list_is_taken_from_standard_input_too() {
    let env = scene(&["one", "two"]);
    let arguments = "bot run --repos - --jobs 1 --versions versions.yaml --output json";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let program = env!("CARGO_BIN_EXE_haptic-scaffold");
    let ran = env.program(program, &arguments, "two.git\none.git\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let done = verdicts(&ran.json());
    assert!(done[0].0.ends_with("two.git"), "{done:?}");
    assert!(done.iter().all(|one| one.1 == "created"), "{done:?}");
    let none = env.program(program, &arguments, "# nothing\n");
    assert_eq!(none.code, 2);
    assert!(none.stdout.contains("there is no repository in the list"));
    env.expect(2, &["bot", "run"]);
    env.expect(2, &["bot", "run", "one", "--repos", "repos.txt"]);
    env.expect(2, &["bot", "run", "one", "--jobs", "0"]);
}

#[test]
fn a_cache_keeps_what_was_fetched_and_changes_nothing_else() {
    let env = scene(&["one"]);
    let entries = || {
        let all = std::fs::read_dir(env.path("cache")).expect("a cache");
        all.count()
    };
    bot(&env, &["one.git", "--cache", "cache"], 0);
    assert_eq!(entries(), 1);
    let same = bot(&env, &["one.git", "--cache", "cache"], 0).json();
    assert_eq!(same["repos"][0]["changes"][0]["request"]["verdict"], "same");
    // What moved meanwhile is seen, a rewritten base too.
    let text = env.read("one/apps/web.yaml");
    env.write("one/apps/web.yaml", &format!("# a note\n{text}"));
    env.git("one", &["add", "."]);
    env.git("one", &["commit", "-q", "--amend", "-m", "Rewritten"]);
    env.git("one", &["push", "-q", "--force", "origin", "main"]);
    let rebuilt = bot(&env, &["one.git", "--cache", "cache"], 0).json();
    let request = &rebuilt["repos"][0]["changes"][0]["request"];
    assert_eq!(request["verdict"], "updated");
    assert_eq!(request["number"], 1);
    let parent = tip(&env, "one.git", &format!("{BRANCH}^"));
    assert_eq!(parent, tip(&env, "one.git", "main"));
    assert_eq!(entries(), 1);
}

#[test]
fn limits_authors_and_bases_are_those_of_the_flags() {
    let env = TestEnv::new();
    pair(&env, "one", &["api", "web"]);
    env.write("versions.yaml", "api: [1.1.0]\nweb: [1.1.0]\n");
    let nobody = bot(&env, &["one.git", "--limit", "0"], 0).json();
    assert_eq!(nobody["repos"][0]["changes"], json!([]));
    let arguments = [
        "one.git",
        "--limit",
        "1",
        "--author",
        "A Bot <bot@example.org>",
    ];
    let json = bot(&env, &arguments, 0).json();
    let changes = json["repos"][0]["changes"].as_array().expect("changes");
    assert_eq!(changes.len(), 1);
    let branch = changes[0]["branch"].as_str().expect("a branch");
    let author = env.git("one.git", &["log", "-1", "--format=%an <%ae>", branch]);
    assert_eq!(author, "A Bot <bot@example.org>\n");
    env.git("one.git", &["branch", "test", "main"]);
    let json = bot(&env, &["one.git", "--base", "test", "--forge", "local"], 0).json();
    assert_eq!(json["repos"][0]["changes"][1]["base"], "test");
    let offline = env.expect(0, &["bot", "run", "one.git", "--offline"]);
    assert!(
        offline.stdout.contains("nobody was asked"),
        "{}",
        offline.stdout
    );
}

#[test]
fn one_token_is_not_given_to_several_hosts() {
    let env = scene(&[]);
    let repos = ["https://a.example.org/x/y.git", "git@b.example.org:x/y.git"];
    let with = TestEnv::new().var("HAPTIC_SCAFFOLD_TOKEN", "geheim");
    let mut arguments = vec!["bot", "run", "--offline"];
    arguments.extend(repos);
    let refused = with.expect(2, &arguments);
    assert!(!refused.stderr.contains("git@"), "{}", refused.stderr);
    let words = [
        "one token would be sent to 2 hosts",
        "a.example.org, b.example.org",
        "`GH_TOKEN`",
        "`GH_HOST`",
    ];
    for word in words {
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    assert!(!refused.stderr.contains("geheim"));
    env.write("token", "geheim\n");
    arguments.extend(["--token-file", "token"]);
    let refused = env.expect(2, &arguments);
    assert!(refused.stderr.contains("2 hosts"), "{}", refused.stderr);
    // A clone's only remote counts by whatever name it has.
    let env = scene(&["one"]).var("HAPTIC_SCAFFOLD_TOKEN", "geheim");
    env.git("one", &["remote", "remove", "origin"]);
    env.git("one", &["remote", "add", "up", "git@b.example.org:x/y.git"]);
    let refused = env.expect(2, &["bot", "run", "--offline", "one", repos[0]]);
    assert!(refused.stderr.contains("2 hosts"), "{}", refused.stderr);
    // One host in two spellings is one.
    let same = ["https://b.example.org/x/y.git", "git@b.example.org:x/z.git"];
    let told = env.expect(1, &["bot", "run", "--offline", same[0], same[1]]);
    assert!(
        told.stderr.contains("2 of 2 repositories failed"),
        "{}",
        told.stderr
    );
}

#[test]
fn a_usual_token_is_not_given_to_several_hosts_because_of_a_flag() {
    let repos = ["https://a.example.org/x/y.git", "git@b.example.org:x/y.git"];
    let run = ["bot", "run", "--offline", "--forge", "gitlab"];
    let two = [&run[..], &repos].concat();
    let env = TestEnv::new().var("GITLAB_TOKEN", "geheim");
    let refused = env.expect(2, &two);
    for word in [
        "2 hosts: a.example.org, b.example.org",
        "`GITLAB_TOKEN`",
        "`GITLAB_HOST`",
    ] {
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    assert!(!refused.stderr.contains("geheim"), "{}", refused.stderr);
    // One that names its host goes nowhere else, whatever the flag says; neither does that of another forge.
    let limited = TestEnv::new()
        .var("GITLAB_TOKEN", "geheim")
        .var("GITLAB_HOST", "c.example.org");
    let foreign = TestEnv::new().var("GITEA_TOKEN", "geheim");
    for env in [limited, foreign] {
        let said = env.expect(1, &two).stderr;
        assert!(said.contains("2 of 2 repositories failed"), "{said}");
    }
    let one = [&run[..], &repos[..1]].concat();
    env.expect(1, &one);
}

#[test]
fn a_repository_whose_forge_nobody_knows_is_told_before_it_is_asked() {
    let env = scene(&[]);
    let json = bot(
        &env,
        &["https://user:geheim@git.example.org/team/repo.git"],
        1,
    )
    .json();
    let row = &json["repos"][0];
    assert_eq!(row["error"]["code"], 2);
    let text = row.to_string();
    assert!(text.contains("isn't known which forge"), "{text}");
    assert!(text.contains("`--forge gitlab`"), "{text}");
    assert!(!text.contains("geheim"), "{text}");
    let file = bot(
        &env,
        &[
            "https://gitlab.example.org/team/repo.git",
            "--token-file",
            "none",
        ],
        1,
    );
    let text = file.json().to_string();
    assert!(text.contains("none"), "{text}");
    let url = [
        "https://git.example.org/a/b.git",
        "--forge-url",
        "https://git.example.org",
    ];
    let text = bot(&env, &url, 1).json().to_string();
    assert!(text.contains("cannot tell which forge"), "{text}");
}

#[test]
fn the_policy_of_requests_is_read_from_the_base_of_what_is_fetched() {
    let env = scene(&["one"]);
    env.write(
        "one/.haptic-scaffold.yaml",
        "requests: {labels: [bot], draft: true, most_open: 5}\n",
    );
    commit(&env, "one", "Decide");
    env.git("one", &["push", "-q", "origin", "main"]);
    bot(&env, &["one.git"], 0);
    let text = env.read("one.git/haptic-scaffold/requests/1.md");
    assert!(text.contains("\"bot\""), "{text}");
    assert!(text.contains("draft: true\n"), "{text}");
}

#[test]
fn a_history_comes_whole_where_an_environment_waits_for_another() {
    let env = TestEnv::new();
    pair(&env, "one", &["web"]);
    let old = env.read("one/apps/web.yaml");
    let new = old.replace("1.0.0", "1.1.0");
    env.write("one/staging/web.yaml", &new);
    env.write("one/prod/web.yaml", &old);
    env.write(
        "one/.haptic-scaffold.yaml",
        "upgrade: {environments: [{name: staging, paths: [staging]}, {name: prod, paths: [prod], after: 3d}]}\n",
    );
    env.git("one", &["rm", "-q", "apps/web.yaml"]);
    commit(&env, "one", "Environments");
    // Staging has had it for years; what came since is of today.
    for text in ["1", "2", "3"] {
        env.write("one/notes", text);
        env.git("one", &["add", "."]);
        let mut git = env.command("git");
        git.env_remove("GIT_COMMITTER_DATE")
            .env_remove("GIT_AUTHOR_DATE");
        let done = git.args(["-C", "one", "commit", "-qm", "Today"]).status();
        assert!(done.expect("git").success());
    }
    env.git("one", &["push", "-q", "origin", "main"]);
    env.write("versions.yaml", "web: ['1.1.0']\n");
    for _ in 0..2 {
        let json = bot(&env, &["one.git", "--cache", "cache"], 0).json();
        let changes = &json["repos"][0]["changes"];
        assert_eq!(
            changes[0]["branch"], "haptic-scaffold/upgrade-web--prod",
            "{json}"
        );
    }
    env.git("one.git", &["fsck", "--strict"]);
}

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

#[test]
fn one_repository_in_several_spellings_is_worked_on_once() {
    let env = scene(&["one"]);
    let spellings = ["one.git", "one.git/", "./one.git"];
    let json = bot(&env, &spellings, 0).json();
    let created = ("one.git", "created");
    let found = verdicts(&json);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].0.ends_with(created.0) && found[0].1 == created.1,
        "{found:?}"
    );
}
