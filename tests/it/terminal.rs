//! Questions on a terminal, asked and answered on a pseudo-terminal.

use std::time::Duration;

use crate::env::TestEnv;

fn session(env: &TestEnv, arguments: &[&str]) -> rexpect::session::PtySession {
    let mut command = env.command(env!("CARGO_BIN_EXE_haptic-scaffold"));
    command
        .args(arguments)
        .env("TERM", "xterm")
        .env("NO_COLOR", "1");
    rexpect::session::spawn_command(command, Some(20_000)).expect("starts")
}

#[test]
fn questions_have_defaults_are_checked_at_once_and_end_with_the_same_command() {
    let env = TestEnv::new();
    let mut terminal = session(
        &env,
        &[
            "init",
            "out",
            "--layout",
            "flux-cluster",
            "--chart-version",
            "0.2.2",
        ],
    );
    let mut answer = |name: &str, text: &str| {
        terminal
            .exp_string(&format!("({name})"))
            .unwrap_or_else(|why| panic!("not asked for {name}: {why}"));
        terminal.send(&format!("{text}\r")).expect("sends");
        terminal.flush().expect("sends");
    };
    answer("chart", "");
    answer("chart_repo", "");
    answer("release", "Bad_Name");
    terminal
        .exp_string("does not match")
        .expect("says what is wrong");
    terminal.send("edge\r").expect("sends");
    terminal.flush().expect("sends");
    let mut answer = |name: &str, text: &str| {
        terminal
            .exp_string(&format!("({name})"))
            .unwrap_or_else(|why| panic!("not asked for {name}: {why}"));
        terminal.send(&format!("{text}\r")).expect("sends");
        terminal.flush().expect("sends");
    };
    answer("namespace", "");
    answer("style", "");
    answer("clusters", "");
    answer("repo_url", "https://git.example.org/team/gitops.git");
    answer("branch", "");
    answer("sync", "");
    answer("git_secret", "");
    answer("chart_source", "");
    answer("certificates", "");
    answer("secrets", "");
    answer("values_as", "");
    let rest = terminal.exp_eof().expect("ends");
    assert!(
        rest.contains("the same again: haptic-scaffold init out --layout flux-cluster"),
        "{rest}"
    );
    assert!(
        rest.contains("--release edge")
            && rest.contains("--repo-url https://git.example.org/team/gitops.git"),
        "{rest}"
    );
    assert!(
        env.read("out/clusters/production/edge.yaml")
            .contains("name: edge-secrets")
    );
}

#[test]
fn the_end_of_the_dialogue_writes_nothing() {
    let env = TestEnv::new();
    let mut terminal = session(&env, &["init", "out", "--layout", "flux-cluster"]);
    terminal.exp_string("(chart)").expect("asks");
    terminal.send_control('c').expect("sends");
    let _ = terminal.exp_eof().is_err();
    std::thread::sleep(Duration::from_millis(50));
    assert!(!env.path("out").exists());
}

#[test]
fn with_yes_nothing_is_asked_on_a_terminal() {
    let env = TestEnv::new();
    let mut terminal = session(&env, &["init", "out", "--provider", "flux", "--yes"]);
    let all = terminal.exp_eof().expect("ends");
    assert!(all.contains("commit "), "{all}");
}

#[test]
fn what_git_proposes_is_recorded_after_a_yes_alone() {
    let env = TestEnv::new();
    env.expect(
        0,
        &[
            "init",
            "out",
            "--layout",
            "flux-cluster",
            "--chart-version",
            "0.2.1",
            "--yes",
        ],
    );
    env.write("versions.yaml", "haptic: [0.2.1, 0.2.2]\n");
    let recover = ["-C", "out", "recover", "--versions", "versions.yaml"];
    let branches = || env.git("out", &["branch", "--list", "haptic-scaffold/*"]);
    // Enter alone is a no.
    for (answer, is_made) in [("\r", false), ("n", false), ("y", true)] {
        let mut terminal = session(&env, &recover);
        terminal
            .exp_string("Was haptic 0.2.1 rejected?")
            .expect("is asked");
        terminal.send(answer).expect("sends");
        terminal.flush().expect("sends");
        let rest = terminal.exp_eof().expect("ends");
        assert_eq!(!branches().is_empty(), is_made, "{answer:?}: {rest}");
    }
    let made = env.git(
        "out",
        &[
            "show",
            "haptic-scaffold/recover-haptic:.haptic-scaffold.yaml",
        ],
    );
    assert!(made.contains("version: 0.2.1"), "{made}");
    // `--yes` takes defaults, and this question's is no.
    let run = env.expect(2, &[&recover[..], &["--yes"]].concat());
    assert!(run.stderr.contains("--rejected 0.2.1"), "{}", run.stderr);
}
