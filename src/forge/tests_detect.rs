//! Tables of remotes, of what is told, and of the variables of CIs.

use super::*;

/// Kind, web, API and project in one line.
fn found(remote: &str, told: &Told<'_>, env: &[(&str, &str)]) -> String {
    match place(remote, told, &Env::of(env)) {
        Ok(place) => format!(
            "{:?} {} {} {}",
            place.kind, place.web, place.api, place.project
        ),
        Err(why) => format!("refused: {}", why.message),
    }
}

fn told(kind: Kind) -> Told<'static> {
    Told {
        kind: Some(kind),
        url: None,
    }
}

#[test]
fn a_remote_tells_its_forge() {
    let lab = "Gitlab https://gitlab.com https://gitlab.com/api/v4";
    let hub = "Github https://github.com https://api.github.com co/fleet";
    let cases = [
        ("https://gitlab.com/co/project/ops/fleet.git", format!("{lab} co/project/ops/fleet")),
        ("https://bot:geheim@gitlab.com/co/fleet/", format!("{lab} co/fleet")),
        ("git@gitlab.com:co/project/ops/fleet.git", format!("{lab} co/project/ops/fleet")),
        ("ssh://git@altssh.gitlab.com:443/co/fleet.git", format!("{lab} co/fleet")),
        ("git@github.com:co/fleet.git", hub.to_owned()),
        ("ssh://git@ssh.github.com:443/co/fleet.git", hub.to_owned()),
        ("https://GitHub.com/co/fleet", hub.to_owned()),
        ("https://acme.ghe.com/co/fleet", "Github https://acme.ghe.com https://api.acme.ghe.com co/fleet".to_owned()),
        ("https://github.example.org/co/fleet", "Github https://github.example.org https://github.example.org/api/v3 co/fleet".to_owned()),
        ("https://codeberg.org/co/fleet.git", "Gitea https://codeberg.org https://codeberg.org/api/v1 co/fleet".to_owned()),
        ("https://gitea.com/co/fleet.git", "Gitea https://gitea.com https://gitea.com/api/v1 co/fleet".to_owned()),
        ("https://git.forgejo.example.org/forge/co/fleet", "Gitea https://git.forgejo.example.org/forge https://git.forgejo.example.org/forge/api/v1 co/fleet".to_owned()),
        ("http://gitlab.example.org:8080/co/fleet.git", "Gitlab http://gitlab.example.org:8080 http://gitlab.example.org:8080/api/v4 co/fleet".to_owned()),
        ("ssh://git@gitlab.example.org:2222/co/fleet.git", "Gitlab https://gitlab.example.org https://gitlab.example.org/api/v4 co/fleet".to_owned()),
        ("ssh://gitlab.example.org/co/fleet.git", "Gitlab https://gitlab.example.org https://gitlab.example.org/api/v4 co/fleet".to_owned()),
    ];
    for (remote, expected) in cases {
        assert_eq!(found(remote, &Told::default(), &[]), expected, "{remote}");
    }
    for remote in [
        "https://git.example.org/co/fleet.git",
        "git@gitlabs.example.org:co/fleet.git",
        "/srv/gitlab/fleet.git",
        "../fleet.git",
        "file:///srv/a.git",
        "",
    ] {
        assert_eq!(
            found(remote, &Told::default(), &[]).trim(),
            "Local",
            "{remote}"
        );
    }
}

#[test]
fn what_is_told_counts_whatever_the_host_is_called() {
    let here = "http://127.0.0.1:8080/team/gitops.git";
    let cases = [
        (
            Kind::Gitlab,
            "Gitlab http://127.0.0.1:8080 http://127.0.0.1:8080/api/v4 team/gitops",
        ),
        (
            Kind::Github,
            "Github http://127.0.0.1:8080 http://127.0.0.1:8080/api/v3 team/gitops",
        ),
        (
            Kind::Gitea,
            "Gitea http://127.0.0.1:8080 http://127.0.0.1:8080/api/v1 team/gitops",
        ),
    ];
    for (kind, expected) in cases {
        assert_eq!(found(here, &told(kind), &[]), expected);
    }
    let local = found("https://gitlab.com/a/b", &told(Kind::Local), &[]);
    assert_eq!(local.trim(), "Local");
    let ssh = found(
        "git@git.example.org:co/project/ops/fleet.git",
        &told(Kind::Gitlab),
        &[],
    );
    assert_eq!(
        ssh,
        "Gitlab https://git.example.org https://git.example.org/api/v4 co/project/ops/fleet"
    );
    let refused = [
        ("/srv/fleet.git", Kind::Gitlab),
        ("https://git.example.org/fleet.git", Kind::Gitlab),
        ("git@git.example.org:a/b/c.git", Kind::Github),
        ("https://git.example.org/a/../b.git", Kind::Gitlab),
        ("https://u:geheim@git.example.org/a%2Fb?x", Kind::Gitlab),
    ];
    for (remote, kind) in refused {
        let said = found(remote, &told(kind), &[]);
        assert!(said.starts_with("refused: "), "{remote}: {said}");
        assert!(!said.contains("geheim"), "{said}");
    }
}

#[test]
fn an_address_means_the_same_with_and_without_the_end_of_its_api() {
    let remote = "https://example.org/gitlab/group/sub/project.git";
    let expected =
        "Gitlab https://example.org/gitlab https://example.org/gitlab/api/v4 group/sub/project";
    for url in [
        "https://example.org/gitlab",
        "https://example.org/gitlab/",
        "https://example.org/gitlab/api/v4",
        "https://example.org/gitlab/api/v4/",
    ] {
        let told = Told {
            kind: Some(Kind::Gitlab),
            url: Some(url),
        };
        assert_eq!(found(remote, &told, &[]), expected, "{url}");
        // Over SSH the path of the web server isn't a part of the project's.
        let ssh = found("git@ssh.example.org:group/sub/project.git", &told, &[]);
        assert_eq!(ssh, expected, "{url}");
    }
    let alone = |url| {
        found(
            "git@h.example.org:a/b.git",
            &Told {
                kind: None,
                url: Some(url),
            },
            &[],
        )
    };
    for (url, expected) in [
        (
            "https://h.example.org/api/v4",
            "Gitlab https://h.example.org https://h.example.org/api/v4 a/b",
        ),
        (
            "https://h.example.org/api/v3/",
            "Github https://h.example.org https://h.example.org/api/v3 a/b",
        ),
        (
            "https://h.example.org/x/api/v1",
            "Gitea https://h.example.org/x https://h.example.org/x/api/v1 a/b",
        ),
        (
            "https://api.github.com",
            "Github https://github.com https://api.github.com a/b",
        ),
        (
            "https://gitlab.example.org",
            "Gitlab https://gitlab.example.org https://gitlab.example.org/api/v4 a/b",
        ),
        (
            "https://h.example.org",
            "refused: cannot tell which forge `https://h.example.org` is",
        ),
    ] {
        assert_eq!(alone(url), expected);
    }
    for url in [
        "h.example.org",
        "https://u:geheim@h.example.org",
        "https://h.example.org/?token=geheim",
    ] {
        let said = alone(url);
        assert!(
            said.starts_with("refused: ") && !said.contains("geheim"),
            "{said}"
        );
    }
}

#[test]
fn a_ci_tells_the_forge_of_its_own_server_alone() {
    let lab = [
        ("CI_SERVER_URL", "https://example.org/gitlab"),
        ("CI_API_V4_URL", "https://example.org/gitlab/api/v4"),
        ("CI_PROJECT_PATH", "group/other"),
    ];
    let expected =
        "Gitlab https://example.org/gitlab https://example.org/gitlab/api/v4 group/project";
    let of = |remote: &str, env: &[(&str, &str)]| found(remote, &Told::default(), env);
    assert_eq!(
        of("https://example.org/gitlab/group/project.git", &lab),
        expected
    );
    assert_eq!(of("git@example.org:group/project.git", &lab), expected);
    for other in [
        "https://example.org:8443/gitlab/a/b",
        "https://git.example.net/a/b",
    ] {
        assert_eq!(of(other, &lab).trim(), "Local", "{other}");
    }
    let other = of("https://github.com/a/b", &lab);
    assert_eq!(
        other,
        "Github https://github.com https://api.github.com a/b"
    );

    let hub = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_SERVER_URL", "http://127.0.0.1:1"),
        ("GITHUB_API_URL", "http://127.0.0.1:2"),
    ];
    let expected = "Github http://127.0.0.1:1 http://127.0.0.1:2 a/b";
    assert_eq!(of("http://127.0.0.1:1/a/b.git", &hub), expected);

    for variable in ["GITEA_ACTIONS", "FORGEJO_ACTIONS"] {
        let tea = [
            (variable, "true"),
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_SERVER_URL", "https://git.example.org/"),
            ("GITHUB_API_URL", "https://git.example.org/api/v1"),
        ];
        let expected = "Gitea https://git.example.org https://git.example.org/api/v1 a/b";
        assert_eq!(
            of("https://git.example.org/a/b", &tea),
            expected,
            "{variable}"
        );
        // What is told is stronger than the CI.
        let said = found("https://git.example.org/a/b", &told(Kind::Gitlab), &tea);
        assert!(said.starts_with("Gitlab "), "{said}");
    }
}
