//! What a policy must not let through: versions barred by another way, orders that are skipped, branches that are lost.

use serde_json::Value;

use crate::charts::{dated_oci_folder, oci_folder};
use crate::env::TestEnv;
use crate::policy::{commit, kept, repo, run, titles, write_release};
use crate::request::web;

fn plain(env: &TestEnv, files: &[(&str, &str)]) {
    std::fs::create_dir_all(env.path("repo")).expect("a folder");
    env.git("repo", &["init", "-q", "-b", "main"]);
    for (path, text) in files {
        env.write(&format!("repo/{path}"), text);
    }
    commit(env, "2026-01-01T00:00:00Z", "Start");
}

const CHART: &str = "apiVersion: v2\nname: all\nversion: 0.1.0\ndependencies:\n  - {name: web, version: '^1.0.0', repository: 'https://c.example.org'}\n";
const LOCK: &str = "dependencies:\n- name: web\n  repository: https://c.example.org\n  version: 1.0.0\ndigest: sha256:DIGEST\ngenerated: \"2026-01-01T00:00:00Z\"\n";

/// A lock that belongs to the chart: its digest is asked of the program, which refuses any other.
fn lock() -> String {
    use sha2::Digest as _;
    let json = r#"[[{"name":"web","version":"^1.0.0","repository":"https://c.example.org"}],[{"name":"web","version":"1.0.0","repository":"https://c.example.org"}]]"#;
    LOCK.replace("DIGEST", &format!("{:x}", sha2::Sha256::digest(json)))
}

#[test]
fn a_lock_moves_to_no_version_that_the_policy_bars() {
    let env = TestEnv::new();
    let policy = "rejected: [{chart: web, version: 1.2.0}]\nupgrade: {charts: {web: {ignored: [1.1.0], minimum_age: 3d}}}\n";
    let lock = lock();
    plain(
        &env,
        &[
            (".haptic-scaffold.yaml", policy),
            ("Chart.yaml", CHART),
            ("Chart.lock", &lock),
        ],
    );
    let old = "{version: 1.0.5, created: '2026-01-01T00:00:00Z'}";
    let young = "{version: 1.3.0, created: '2999-01-01T00:00:00Z'}";
    env.write(
        "versions.yaml",
        &format!("web: [1.0.0, 1.1.0, 1.2.0, {old}, {young}]\n"),
    );
    let done = run(&env, 0, "upgrade", &[]);
    assert_eq!(titles(&done), ["Upgrade web to 1.0.5"]);
    let text = env.git("repo", &["show", "haptic-scaffold/upgrade-web:Chart.lock"]);
    assert!(text.contains("version: 1.0.5"), "{text}");
    assert_eq!(
        env.git("repo", &["show", "haptic-scaffold/upgrade-web:Chart.yaml"]),
        CHART
    );
}

#[test]
fn the_age_of_a_version_in_a_registry_is_that_of_its_manifest() {
    let env = repo(
        "upgrade: {charts: {web: {minimum_age: 3d}}}\n",
        &[("web.yaml", "web", "1.0.0")],
    );
    let versions = [web("1.0.0"), web("1.1.0"), web("1.2.0"), web("1.3.0")];
    let created = |version: &str| match version {
        "1.1.0" => Some("2026-01-02T03:04:05Z"),
        "1.3.0" => Some("2999-01-01T00:00:00Z"),
        _ => None,
    };
    dated_oci_folder(&env.path("layout"), "web", &versions, &created);
    let arguments = [
        "-C",
        "repo",
        "pins",
        "--versions",
        "layout",
        "--output",
        "json",
    ];
    let pins = env.expect(0, &arguments).json();
    let pin = &pins["pins"][0];
    assert_eq!(pin["newest"], "1.1.0");
    assert_eq!(
        pin["newest_why"],
        "1.3.0 is published since 2999-01-01, and has to be for 3 days"
    );
}

#[test]
fn a_moved_range_takes_nothing_that_is_barred() {
    let env = repo(
        "rejected: [{chart: web, version: 2.2.0}]\nupgrade: {charts: {web: {ranges: replace}}}\n",
        &[("web.yaml", "web", "^1.0.0")],
    );
    env.write("versions.yaml", "web: [1.0.0, 2.1.0, 2.2.0]\n");
    let done = run(&env, 10, "upgrade", &["--exit-code"]);
    assert_eq!(
        kept(&done),
        ["`^2.1.0` would take 2.2.0 too, which was rejected"]
    );
    assert!(titles(&done).is_empty());
}

#[test]
fn haptic_keeps_to_its_minor_and_never_goes_back_where_its_pin_is_a_range() {
    let env = repo(
        "upgrade: {charts: {'*': {ranges: replace}}}\n",
        &[("haptic.yaml", "haptic", "~0.2.0")],
    );
    env.write("versions.yaml", "haptic: [0.1.5, 0.2.1, 0.3.0]\n");
    assert!(titles(&run(&env, 0, "upgrade", &[])).is_empty());
    let back = run(&env, 3, "upgrade", &["haptic", "--to", "0.1.5"]);
    assert!(
        back["error"]["message"]
            .as_str()
            .is_some_and(|why| why.contains("never goes back")),
        "{back}"
    );
    env.expect(
        3,
        &[
            "-C",
            "repo",
            "upgrade",
            "haptic",
            "--to",
            "0.1.5",
            "--offline",
        ],
    );
    assert_eq!(
        titles(&run(&env, 0, "upgrade", &["haptic", "--to", "0.3.0"])),
        ["Upgrade haptic to 0.3.0"]
    );
}

#[test]
fn a_hold_at_a_tag_holds_its_digest_and_a_digest_of_another_tag_is_told() {
    let source = |tag: &str, digest: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: web, namespace: a}}\nspec:\n  url: oci://r.example.org/charts/web\n  ref:\n    tag: {tag}\n    digest: {digest}\n"
        )
    };
    let env = TestEnv::new();
    let digests = oci_folder(
        &env.path("layout"),
        "web",
        &[web("1.0.0"), web("1.1.0"), web("1.2.0")],
    );
    plain(
        &env,
        &[
            (
                "held.yaml",
                &source("1.0.0 # hold: breaks login", &digests[0]),
            ),
            (
                "other.yaml",
                &source("1.0.0", &digests[1]).replace("name: web,", "name: other,"),
            ),
        ],
    );
    let done = env
        .expect(
            0,
            &[
                "-C",
                "repo",
                "upgrade",
                "--versions",
                "layout",
                "--output",
                "json",
            ],
        )
        .json();
    assert!(titles(&done).is_empty(), "{done}");
    assert_eq!(
        kept(&done),
        [
            "held: breaks login",
            "the digest is not that of the tag 1.0.0 beside it, so it can't be said what runs"
        ]
    );
}

const ORDER: &str = "upgrade:\n  environments:\n  - {name: staging, paths: [/staging]}\n  - {name: production, paths: [/prod], after: 30d}\n";

#[test]
fn production_waits_where_it_can_not_be_told_what_staging_has() {
    let env = repo(
        ORDER,
        &[
            ("staging/web.yaml", "web", "~1.1.0"),
            ("prod/web.yaml", "web", "1.0.0"),
        ],
    );
    env.write("versions.yaml", "web: [1.0.0, 1.1.0, 2.0.0]\n");
    let done = run(&env, 0, "upgrade", &[]);
    assert!(titles(&done).is_empty(), "{done}");
    assert!(
        kept(&done)
            .iter()
            .any(|why| why
                .starts_with("waits for `staging`, which has something else than one version")),
        "{done}"
    );
    let now = run(
        &env,
        0,
        "upgrade",
        &["--environment", "production", "--dry-run"],
    );
    assert_eq!(titles(&now), ["Upgrade web to 2.0.0 in production"]);
}

#[test]
fn a_prerelease_is_barred_where_its_release_is() {
    let env = repo(
        "upgrade: {charts: {web: {ignored: ['2.x']}}}\n",
        &[("web.yaml", "web", "1.0.0-rc.1")],
    );
    env.write("versions.yaml", "web: [1.0.0, 2.0.0-rc.1]\n");
    assert_eq!(
        titles(&run(&env, 0, "upgrade", &[])),
        ["Upgrade web to 1.0.0"]
    );
}

#[test]
fn a_group_is_offered_whole_or_not() {
    let env = repo(
        "upgrade: {charts: {web: {group: front}, api: {group: front}}}\n",
        &[("web.yaml", "web", "1.0.0"), ("api.yaml", "api", "1.0.0")],
    );
    env.write("versions.yaml", "web: [1.1.0]\napi: [1.2.0]\n");
    let whole = ["Upgrade front (api 1.2.0; web 1.1.0)"];
    assert_eq!(titles(&run(&env, 0, "upgrade", &[])), whole);
    let again = run(&env, 0, "upgrade", &["web"]);
    assert_eq!(titles(&again), whole);
    assert_eq!(again["changes"][0]["branch_verdict"], "same");
    env.write("versions.yaml", "web: [1.3.0]\n");
    let half = run(&env, 4, "upgrade", &[]);
    assert!(titles(&half).is_empty(), "{half}");
    assert_eq!(
        kept(&half),
        ["a group moves as one, and not all of it could be asked about: api"]
    );
}

#[test]
fn nested_policies_have_environments_of_their_own_and_inherit_what_they_leave_unsaid() {
    let env = repo(
        "upgrade: {charts: {web: {ignored: [1.2.0]}}}\n",
        &[("sub/web.yaml", "web", "1.0.0")],
    );
    env.write(
        "repo/sub/.haptic-scaffold.yaml",
        "answers: {release: web}\n",
    );
    env.write(
        "repo/a/.haptic-scaffold.yaml",
        "upgrade: {environments: [{name: staging, paths: [a/staging]}, {name: prod, paths: [a/prod]}]}\n",
    );
    env.write(
        "repo/b/.haptic-scaffold.yaml",
        "upgrade: {environments: [{name: first, paths: [b/first]}, {name: staging, paths: [b/staging]}]}\n",
    );
    write_release(&env, "a/staging/web.yaml", "web", "1.0.0");
    write_release(&env, "b/staging/web.yaml", "web", "1.0.0");
    commit(&env, "2026-01-02T00:00:00Z", "More");
    env.write("versions.yaml", "web: [1.0.0, 1.1.0, 1.2.0]\n");
    let first = run(&env, 0, "upgrade", &[]);
    assert_eq!(
        titles(&first),
        ["Upgrade web to 1.1.0", "Upgrade web to 1.1.0 in staging"]
    );
    let files = &first["changes"][1]["files"];
    assert_eq!(files.as_array().map(Vec::len), Some(2));
    let again = run(&env, 0, "upgrade", &[]);
    assert_eq!(again["changes"][1]["branch_verdict"], "same");
}

#[test]
fn an_offer_that_no_longer_holds_is_told_and_a_branch_in_the_way_is_named() {
    let env = repo("", &[("web.yaml", "web", "1.0.0")]);
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    run(&env, 0, "upgrade", &[]);
    env.write(
        "repo/.haptic-scaffold.yaml",
        "rejected: [{chart: web, version: 1.1.0}]\n",
    );
    commit(&env, "2026-01-02T00:00:00Z", "Rejected");
    let told = env.expect(0, &["-C", "repo", "upgrade", "--versions", "versions.yaml"]);
    assert!(
        told.stderr.contains(
            "haptic-scaffold/upgrade-web: it offers 1.1.0, which nothing asks for any more"
        ),
        "{}",
        told.stderr
    );
    assert!(
        told.stdout
            .contains("not moved: web.yaml:8: 1.1.0 was rejected"),
        "{}",
        told.stdout
    );
    let env = repo("", &[("web.yaml", "web", "1.0.0")]);
    env.git("repo", &["branch", "haptic-scaffold"]);
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    let refused = run(&env, 1, "upgrade", &[]);
    assert!(
        refused["error"]["message"]
            .as_str()
            .is_some_and(|why| why.contains("there is a branch `haptic-scaffold`")),
        "{refused}"
    );
}

#[test]
fn a_branch_that_the_main_work_tree_is_on_is_left_alone() {
    let env = repo("", &[("web.yaml", "web", "1.0.0")]);
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    run(&env, 0, "upgrade", &[]);
    env.git("repo", &["checkout", "-q", "haptic-scaffold/upgrade-web"]);
    env.git("repo", &["worktree", "add", "-q", "../linked", "main"]);
    env.write("versions.yaml", "web: [1.0.0, 1.2.0]\n");
    let arguments = [
        "-C",
        "linked",
        "upgrade",
        "--versions",
        "versions.yaml",
        "--output",
        "json",
    ];
    let done = env.expect(0, &arguments).json();
    assert_eq!(done["changes"][0]["branch_verdict"], "left-alone");
    assert_eq!(env.git("repo", &["status", "--porcelain"]), "");
}

#[test]
fn what_can_not_be_upgraded_is_told() {
    let env = TestEnv::new();
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: a}\nspec: {chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: elsewhere}}}}\n";
    plain(&env, &[("web.yaml", release)]);
    env.write("versions.yaml", "web: [1.1.0]\n");
    let done = run(&env, 0, "upgrade", &[]);
    assert_eq!(
        kept(&done),
        ["the HelmRepository `elsewhere` is not in this repository"]
    );
    let snapshot = repo("", &[("haptic.yaml", "haptic", "0.0.0-main.4f2c1ab")]);
    snapshot.write("versions.yaml", "haptic: [0.2.0, 0.2.1]\n");
    assert_eq!(
        titles(&run(&snapshot, 0, "upgrade", &["haptic", "--to", "0.2.0"])),
        ["Upgrade haptic to 0.2.0"]
    );
    let held = repo(
        "upgrade: {charts: {web: {hold: yes it is}}}\n",
        &[("web.yaml", "web", "1.0.0"), ("api.yaml", "api", "1.0.0")],
    );
    held.write("versions.yaml", "web: [1.1.0]\napi: [1.1.0]\n");
    let told = held.expect(
        10,
        &[
            "-C",
            "repo",
            "upgrade",
            "--versions",
            "versions.yaml",
            "--exit-code",
        ],
    );
    assert!(
        told.stdout
            .contains("not moved: web.yaml:8: held: yes it is"),
        "{}",
        told.stdout
    );
    let alone: Value = run(&held, 10, "upgrade", &["web", "--exit-code"]);
    assert!(titles(&alone).is_empty());
}

#[test]
fn a_vendored_archive_and_an_old_lock_hold_their_dependency() {
    let env = TestEnv::new();
    let old = "dependencies:\n- {name: web, version: 1.0.0, repository: 'https://c.example.org'}\n";
    let exact = CHART.replace("^1.0.0", "1.0.0");
    plain(
        &env,
        &[
            (
                "old/Chart.yaml",
                "apiVersion: v1\nname: old\nversion: 0.1.0\n",
            ),
            ("old/requirements.yaml", old),
            ("old/requirements.lock", "digest: x\n"),
            ("vendored/Chart.yaml", &exact),
            ("vendored/charts/web-1.0.0.tgz", "x"),
        ],
    );
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    let done = run(&env, 0, "upgrade", &[]);
    assert!(titles(&done).is_empty(), "{done}");
    assert_eq!(kept(&done).len(), 2, "{done}");
}

/// What the second look at the traps found.
#[test]
fn a_file_with_answers_alone_leaves_the_order_of_environments() {
    let env = repo(
        "upgrade: {environments: [{name: staging, paths: [staging]}, {name: prod, paths: [prod], after: command}]}\n",
        &[
            ("staging/web.yaml", "web", "1.0.0"),
            ("prod/web.yaml", "web", "1.0.0"),
        ],
    );
    env.write("repo/prod/.haptic-scaffold.yaml", "answers: {release: x}\n");
    commit(&env, "2026-01-02T00:00:00Z", "Answers");
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    assert_eq!(
        titles(&run(&env, 0, "upgrade", &[])),
        ["Upgrade web to 1.1.0 in staging"]
    );
}

#[test]
fn a_chart_without_an_address_has_its_rules_all_the_same() {
    let env = TestEnv::new();
    let chart = "apiVersion: v2\nname: all\nversion: 0.1.0\ndependencies:\n  - {name: haptic, version: 0.2.1, repository: '@alias'}\n";
    plain(
        &env,
        &[
            ("c/Chart.yaml", chart),
            (
                ".haptic-scaffold.yaml",
                "rejected: [{chart: haptic, version: 0.2.2}]\n",
            ),
        ],
    );
    for to in ["0.1.0", "0.2.2"] {
        env.expect(
            3,
            &["-C", "repo", "upgrade", "haptic", "--to", to, "--offline"],
        );
    }
}

#[test]
fn a_digest_that_stands_apart_from_its_tag_holds_it() {
    let source = |reference: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: web, namespace: a}}\nspec:\n  url: oci://r.example.org/charts/web\n  ref: {reference}\n"
        )
    };
    let digest = format!("{{digest: 'sha256:{}'}}", "1".repeat(64));
    let env = TestEnv::new();
    plain(
        &env,
        &[
            ("base/web.yaml", &source("{tag: 1.0.0}")),
            ("prod/web.yaml", &source(&digest)),
        ],
    );
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    let done = run(&env, 0, "upgrade", &[]);
    assert!(titles(&done).is_empty(), "{done}");
    assert!(
        kept(&done)
            .iter()
            .any(|why| why.contains("a person has to move both")),
        "{done}"
    );
    env.write("versions.yaml", "web: [1.0.0]\n");
    run(&env, 0, "upgrade", &["--exit-code"]);
}

#[test]
fn a_hold_is_a_word_of_any_comment_of_the_line() {
    let env = repo(
        "",
        &[
            ("a.yaml", "web", "1.0.0"),
            ("b.yaml", "web", "1.0.0"),
            ("c.yaml", "web", "1.0.0"),
        ],
    );
    for (file, comment) in [
        ("a.yaml", "# renovate: datasource=helm # Hold: until May"),
        ("b.yaml", "# holding pattern"),
        ("c.yaml", "# hold"),
    ] {
        let text = env.read(&format!("repo/{file}"));
        let text = text.replace("'1.0.0'\n", &format!("'1.0.0' {comment}\n"));
        env.write(&format!("repo/{file}"), &text);
    }
    commit(&env, "2026-01-02T00:00:00Z", "Comments");
    env.write("versions.yaml", "web: [1.1.0]\n");
    let done = run(&env, 0, "upgrade", &[]);
    assert_eq!(
        done["changes"][0]["files"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(done["changes"][0]["files"][0]["path"], "b.yaml");
    assert_eq!(kept(&done), ["held: until May", "held"]);
}

#[test]
fn a_chart_comes_before_an_image_of_its_name_and_metadata_is_meant() {
    let env = repo("", &[("nginx.yaml", "nginx", "1.0.0")]);
    env.write(
        "repo/values.yaml",
        "image: {repository: nginx, tag: 1.25.0}\n",
    );
    commit(&env, "2026-01-02T00:00:00Z", "Image");
    env.write("versions.yaml", "nginx: [1.0.0, 1.1.0+b1, 1.1.0+b2]\n");
    assert_eq!(
        titles(&run(&env, 0, "upgrade", &["nginx"])),
        ["Upgrade nginx to 1.1.0+b2"]
    );
    assert_eq!(
        titles(&run(&env, 0, "upgrade", &["nginx", "--to", "1.1.0+b1"])),
        ["Upgrade nginx to 1.1.0+b1"]
    );
}

#[test]
fn an_offer_that_may_be_good_is_not_to_be_deleted() {
    let env = repo("", &[("web.yaml", "web", "1.0.0")]);
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    run(&env, 0, "upgrade", &[]);
    // Somebody's own work on it, and a pin that is held since.
    env.git("repo", &["checkout", "-q", "haptic-scaffold/upgrade-web"]);
    env.write("repo/own.yaml", "a: 1\n");
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-q", "--amend", "--no-edit"]);
    env.git("repo", &["checkout", "-q", "main"]);
    env.write(
        "repo/.haptic-scaffold.yaml",
        "upgrade: {charts: {web: {hold: x}}}\n",
    );
    commit(&env, "2026-01-02T00:00:00Z", "Hold");
    let told = env.expect(0, &["-C", "repo", "upgrade", "--versions", "versions.yaml"]);
    assert!(!told.stderr.contains("branch -D"), "{}", told.stderr);
}

#[test]
fn a_branch_that_a_clone_knows_from_its_remote_counts() {
    let env = repo("", &[("web.yaml", "web", "1.0.0")]);
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    let first = run(&env, 0, "upgrade", &[]);
    env.git("", &["clone", "-q", "repo", "clone"]);
    let arguments = [
        "-C",
        "clone",
        "upgrade",
        "--versions",
        "versions.yaml",
        "--output",
        "json",
    ];
    let same = env.expect(0, &arguments).json();
    assert_eq!(same["changes"][0]["branch_verdict"], "same");
    assert_eq!(same["changes"][0]["commit"], first["changes"][0]["commit"]);
    env.git("repo", &["checkout", "-q", "haptic-scaffold/upgrade-web"]);
    env.write("repo/own.yaml", "a: 1\n");
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "By hand"]);
    env.git("", &["clone", "-q", "repo", "other"]);
    env.git("other", &["checkout", "-q", "main"]);
    env.write("versions.yaml", "web: [1.0.0, 1.2.0]\n");
    let arguments = [
        "-C",
        "other",
        "upgrade",
        "--versions",
        "versions.yaml",
        "--output",
        "json",
    ];
    let left = env.expect(0, &arguments).json();
    assert_eq!(left["changes"][0]["branch_verdict"], "left-alone");
}

#[test]
fn a_lock_moves_within_a_range_that_has_to_stay() {
    let env = TestEnv::new();
    let policy =
        "rejected: [{chart: web, version: 2.2.0}]\nupgrade: {charts: {web: {ranges: replace}}}\n";
    let lock = lock();
    plain(
        &env,
        &[
            (".haptic-scaffold.yaml", policy),
            ("Chart.yaml", CHART),
            ("Chart.lock", &lock),
        ],
    );
    env.write("versions.yaml", "web: [1.0.0, 1.5.0, 2.1.0, 2.2.0]\n");
    assert_eq!(
        titles(&run(&env, 0, "upgrade", &[])),
        ["Upgrade web to 1.5.0"]
    );
}

#[test]
fn the_whole_name_of_a_tag_has_the_rules_of_its_version() {
    let env = TestEnv::new();
    let application = |chart: &str, tag: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {chart}}}\nspec:\n  source: {{repoURL: https://git.example.org/{chart}, path: deploy/{chart}, targetRevision: {tag}, helm: {{releaseName: a}}}}\n"
        )
    };
    plain(
        &env,
        &[
            ("web.yaml", &application("web", "web-v1.0.0")),
            ("haptic.yaml", &application("haptic", "haptic-0.2.1")),
            (
                ".haptic-scaffold.yaml",
                "rejected: [{chart: web, version: 1.2.0}]\n",
            ),
        ],
    );
    env.write(
        "versions.yaml",
        "https://git.example.org/web: [web-v1.0.0, web-v1.1.0, web-v1.2.0]\nhttps://git.example.org/haptic: [haptic-0.1.0, haptic-0.2.1]\n",
    );
    for (chart, to, code) in [
        ("web", "web-v1.2.0", 3),
        ("web", "1.2.0", 3),
        ("web", "api-v9.0.0", 2),
        ("web", "9.0.0", 4),
        ("haptic", "haptic-0.1.0", 3),
    ] {
        run(&env, code, "upgrade", &[chart, "--to", to]);
    }
    for to in ["web-v1.1.0", "v1.1.0", "1.x"] {
        let done = run(&env, 0, "upgrade", &["web", "--to", to]);
        assert_eq!(titles(&done), ["Upgrade web to web-v1.1.0"], "{to}");
    }
}

#[test]
fn a_step_back_in_staging_has_to_serve_its_time() {
    let env = repo(
        "upgrade: {environments: [{name: staging, paths: [staging]}, {name: prod, paths: [prod], after: 3d}]}\n",
        &[
            ("staging/web.yaml", "web", "1.5.0"),
            ("prod/web.yaml", "web", "1.4.0"),
        ],
    );
    write_release(&env, "staging/web.yaml", "web", "1.4.9");
    commit(&env, "2099-01-01T00:00:00Z", "A step back");
    env.write("versions.yaml", "web: [1.4.0, 1.4.9, 1.5.0]\n");
    let done = run(
        &env,
        0,
        "upgrade",
        &["--environment", "staging", "--dry-run"],
    );
    assert_eq!(titles(&done), ["Upgrade web to 1.5.0 in staging"]);
    let done = run(&env, 0, "upgrade", &["--dry-run"]);
    assert_eq!(titles(&done), ["Upgrade web to 1.5.0 in staging"]);
}

#[test]
fn a_digest_holds_its_own_object_and_no_other() {
    let source = |name: &str, reference: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: {name}, namespace: a}}\nspec:\n  url: oci://r.example.org/charts/web\n  ref: {reference}\n"
        )
    };
    let digest = format!("{{digest: 'sha256:{}'}}", "1".repeat(64));
    let env = TestEnv::new();
    plain(
        &env,
        &[
            ("a.yaml", &source("web-a", "{tag: 1.0.0}")),
            ("c.yaml", &source("web-c", &digest)),
        ],
    );
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    assert_eq!(
        titles(&run(&env, 0, "upgrade", &[])),
        ["Upgrade web to 1.1.0"]
    );
    env.git(
        "repo",
        &["checkout", "-q", "--detach", "haptic-scaffold/upgrade-web"],
    );
    run(&env, 2, "upgrade", &[]);
}

#[test]
fn a_range_that_nothing_is_in_never_moves_down() {
    let env = repo(
        "upgrade: {charts: {web: {ranges: replace}}}\n",
        &[("web.yaml", "web", "^2.0")],
    );
    env.write("versions.yaml", "web: [1.4.0, 1.5.0]\n");
    assert!(titles(&run(&env, 0, "upgrade", &["--exit-code"])).is_empty());
}

#[test]
fn each_dependency_of_a_chart_has_its_own_past() {
    let chart = |web: &str| {
        format!(
            "apiVersion: v2\nname: all\nversion: 0.1.0\ndependencies:\n  - {{name: redis, version: 18.0.0, repository: 'https://c.example.org'}}\n  - {{name: web, version: {web}, repository: 'https://c.example.org'}}\n"
        )
    };
    let env = TestEnv::new();
    plain(
        &env,
        &[
            (
                ".haptic-scaffold.yaml",
                "upgrade: {environments: [{name: staging, paths: [staging]}, {name: prod, paths: [prod], after: 3d}]}\n",
            ),
            ("staging/Chart.yaml", &chart("1.1.0")),
            ("prod/Chart.yaml", &chart("1.0.0")),
        ],
    );
    env.write("repo/staging/Chart.yaml", &chart("1.2.0"));
    commit(&env, "2099-01-01T00:00:00Z", "Staging moves");
    env.write(
        "versions.yaml",
        "web: [1.0.0, 1.1.0, 1.2.0]\nredis: [18.0.0]\n",
    );
    assert_eq!(
        titles(&run(&env, 0, "upgrade", &[])),
        ["Upgrade web to 1.1.0 in prod"]
    );
}

#[test]
fn thousands_of_versions_without_an_age_end() {
    let env = repo(
        "upgrade: {charts: {'*': {minimum_age: 3d}}}\n",
        &[("web.yaml", "web", "1.0.0")],
    );
    let all: Vec<String> = (0..5_000).map(|patch| format!("1.0.{patch}")).collect();
    env.write("versions.yaml", &format!("web: [{}]\n", all.join(", ")));
    let pins = run(&env, 0, "pins", &[]);
    assert_eq!(pins["pins"][0]["newest"], Value::Null);
    assert!(
        pins["pins"][0]["newest_why"]
            .as_str()
            .is_some_and(|why| why.contains("doesn't say since when")),
        "{pins}"
    );
}
