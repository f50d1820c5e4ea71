//! The order of the sources, and which token goes where.

use super::*;
use crate::forge::detect::{Told, place};

const LAB: &str = "https://gitlab.com/co/fleet.git";

fn found(remote: &str, kind: Option<Kind>, env: &[(&str, &str)], file: Option<&Path>) -> String {
    let env = Env::of(env);
    let place = place(remote, &Told { kind, url: None }, &env).unwrap();
    let helper = |url: &str| {
        assert!(!url.contains('@'), "{url}");
        Token::new("bot", SecretString::from("t-helper"), "the helper")
    };
    let sources = Sources {
        file,
        env: &env,
        remote,
        helper: &helper,
    };
    match find(&place, &sources) {
        Ok(token) => {
            token.map_or_else(String::new, |token| token.secret.expose_secret().to_owned())
        }
        Err(why) => format!("refused: {}", why.message),
    }
}

#[test]
fn the_first_source_of_the_order_counts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "t-file\n").unwrap();
    let all = [
        ("HAPTIC_SCAFFOLD_TOKEN", "t-own"),
        ("GITLAB_TOKEN", " t-usual\n"),
        ("CI_JOB_TOKEN", "t-job"),
        ("CI_SERVER_URL", "https://gitlab.com"),
        ("GITHUB_TOKEN", "t-foreign"),
    ];
    let with_login = "https://oauth2:t%2Dremote@gitlab.com/co/fleet.git";
    let of_job = "https://gitlab-ci-token:t-job2@gitlab.com/co/fleet.git";
    assert_eq!(found(with_login, None, &all, Some(&file)), "t-file");
    assert_eq!(found(with_login, None, &all, None), "t-own");
    assert_eq!(found(with_login, None, &all[1..], None), "t-remote");
    assert_eq!(found(LAB, None, &all[1..], None), "t-usual");
    // A job's own login in the address isn't in the way of a better one.
    assert_eq!(found(of_job, None, &all[1..], None), "t-usual");
    assert_eq!(found(LAB, None, &all[2..], None), "t-job");
    assert_eq!(found(of_job, None, &[], None), "t-job2");
    assert_eq!(found(LAB, None, &[], None), "t-helper");
    assert_eq!(found("/srv/a.git", None, &all, None), "");
}

#[test]
fn a_usual_variable_goes_to_a_server_of_its_forge_alone() {
    let all = [
        ("GITLAB_TOKEN", "t-lab"),
        ("GH_TOKEN", "t-hub"),
        ("GITEA_TOKEN", "t-tea"),
        ("FORGEJO_TOKEN", "t-forge"),
        ("CI_JOB_TOKEN", "t-job"),
    ];
    let cases = [
        ("https://gitlab.com/a/b", None, "t-lab"),
        ("git@gitlab.example.org:a/b.git", None, "t-helper"),
        ("https://gitlab.evil.example/a/b", None, "t-helper"),
        (
            "git@gitlab.example.org:a/b.git",
            Some(Kind::Gitlab),
            "t-lab",
        ),
        ("https://github.com/a/b", None, "t-hub"),
        ("https://gitea.com/a/b", None, "t-tea"),
        ("https://codeberg.org/a/b", None, "t-forge"),
        ("https://git.example.org/a/b", Some(Kind::Gitea), "t-tea"),
        ("http://127.0.0.1:1/a/b", Some(Kind::Gitlab), "t-lab"),
    ];
    for (remote, kind, expected) in cases {
        assert_eq!(found(remote, kind, &all, None), expected, "{remote}");
    }
    // Where a variable names its server, the token is for no other that nobody named.
    let named = [
        ("GITLAB_TOKEN", "t-lab"),
        ("GITLAB_HOST", "gitlab.example.org"),
    ];
    let of = |remote| found(remote, None, &named, None);
    assert_eq!(of("https://gitlab.example.org/a/b"), "t-lab");
    assert_eq!(of("https://gitlab.example.net/a/b"), "t-helper");
    // A job's token is for its CI's own server whatever is told.
    let job = [
        ("CI_JOB_TOKEN", "t-job"),
        ("CI_SERVER_URL", "https://a.example.org"),
    ];
    assert_eq!(
        found("https://b.example.org/a/b", Some(Kind::Gitlab), &job, None),
        "t-helper"
    );
    let tea = [
        ("GITEA_ACTIONS", "true"),
        ("GITHUB_TOKEN", "t-actions"),
        ("GITHUB_SERVER_URL", "https://git.example.org"),
    ];
    assert_eq!(
        found("https://git.example.org/a/b", None, &tea, None),
        "t-actions"
    );
    assert_eq!(
        found("https://github.com/a/b", None, &tea, None),
        "t-helper"
    );
}

#[test]
fn no_token_goes_over_the_network_in_clear_and_none_is_shown() {
    let env = [("HAPTIC_SCAFFOLD_TOKEN", "t-geheim")];
    let said = found("http://gitlab.example.org/a/b", None, &env, None);
    assert!(
        said.starts_with("refused: ") && !said.contains("t-geheim"),
        "{said}"
    );
    let token = Token::new("", SecretString::from("t-geheim"), "`X`").unwrap();
    assert_eq!(format!("{token:?}"), "Token from `X`");
    // What would end a header is no token.
    assert!(Token::new("", SecretString::from("a\nb"), "`X`").is_none());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "t-geheim und mehr").unwrap();
    let said = found(LAB, None, &[], Some(&file));
    assert!(
        said.starts_with("refused: ") && !said.contains("t-geheim"),
        "{said}"
    );
    // A login in an address counts for the forge's own server alone.
    let elsewhere = Url::parse("https://gitlab.com").unwrap();
    assert!(of_remote("https://u:t-geheim@h.example.org/a/b", &elsewhere).is_none());
}
