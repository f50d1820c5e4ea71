//! What a team decided about upgrades: `upgrade` and `rejected` of `.haptic-scaffold.yaml`.

use serde_json::Value;

use crate::env::TestEnv;

const SOURCE: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: flux-system}\nspec: {type: oci, url: oci://registry.example.org/charts}\n";
const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: NAME, namespace: flux-system}\nspec:\n  chart:\n    spec:\n      chart: CHART\n      version: VERSION\n      sourceRef: {kind: HelmRepository, name: charts}\n";

/// A repository with releases at some places, and a policy.
pub fn repo(policy: &str, releases: &[(&str, &str, &str)]) -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("repo")).expect("a folder");
    env.git("repo", &["init", "-q", "-b", "main"]);
    env.write("repo/sources.yaml", SOURCE);
    env.write("repo/.haptic-scaffold.yaml", policy);
    for (file, chart, version) in releases {
        write_release(&env, file, chart, version);
    }
    commit(&env, "2026-01-01T00:00:00Z", "Start");
    env
}

pub fn write_release(env: &TestEnv, file: &str, chart: &str, version: &str) {
    let name = file.replace(['/', '.'], "-");
    let text = RELEASE
        .replace("NAME", &name)
        .replace("CHART", chart)
        .replace("VERSION", &format!("'{version}'"));
    env.write(&format!("repo/{file}"), &text);
}

pub fn commit(env: &TestEnv, date: &str, message: &str) {
    env.git("repo", &["add", "."]);
    let mut git = env.command("git");
    git.args(["-C", "repo", "commit", "-qm", message]);
    let done = git
        .env("GIT_COMMITTER_DATE", date)
        .env("GIT_AUTHOR_DATE", date)
        .output();
    assert!(done.is_ok_and(|done| done.status.success()), "commits");
}

pub fn run(env: &TestEnv, code: i32, command: &str, more: &[&str]) -> Value {
    let mut arguments = vec!["-C", "repo", command, "--output", "json"];
    arguments.extend(["--versions", "versions.yaml"]);
    arguments.extend(more);
    env.expect(code, &arguments).json()
}

pub fn titles(done: &Value) -> Vec<&str> {
    let changes = done["changes"].as_array().into_iter().flatten();
    changes.filter_map(|one| one["title"].as_str()).collect()
}

pub fn kept(done: &Value) -> Vec<&str> {
    let kept = done["not_moved"].as_array().into_iter().flatten();
    kept.filter_map(|one| one["why"].as_str()).collect()
}

fn newest<'a>(pins: &'a Value, chart: &str) -> (&'a Value, &'a Value) {
    let pins = pins["pins"].as_array().into_iter().flatten();
    let pin = pins.into_iter().find(|pin| pin["chart"] == chart);
    let pin = pin.expect("a pin of the chart");
    (&pin["newest"], &pin["newest_why"])
}

#[test]
fn ranges_prereleases_and_ignored_versions_choose_what_is_newest() {
    let env = repo(
        "upgrade:\n  charts:\n    web: {range: '>=1 <2'}\n    api: {prereleases: true}\n    db:\n      ignored: [1.3.0, {versions: '>=1.2 <1.3', reason: eats data}]\n    haptic: {range: '>=0.2 <0.4'}\n",
        &[
            ("web.yaml", "web", "1.0.0"),
            ("api.yaml", "api", "1.0.0"),
            ("db.yaml", "db", "1.0.0"),
            ("haptic.yaml", "haptic", "0.2.1"),
            ("alpha.yaml", "alpha", "0.2.0-alpha.3"),
        ],
    );
    env.write(
        "versions.yaml",
        "web: [1.0.0, 1.9.0, 2.0.0]\napi: [1.0.0, 1.1.0-rc.1]\ndb: [1.0.0, 1.1.0, 1.2.5, 1.3.0]\nhaptic: [0.2.1, 0.2.2, 0.3.0, 0.4.1, 0.0.0-main.4f2c1ab]\nalpha: [0.2.0-alpha.3, 0.2.0-alpha.10, 0.2.0-alpha.4, 0.2.0-beta.1]\n",
    );
    let pins = run(&env, 0, "pins", &[]);
    assert_eq!(newest(&pins, "web").0, "1.9.0");
    assert!(newest(&pins, "web").1.as_str().is_some_and(
        |why| why == "2.0.0 is newer, outside of the range `>=1 <2` of `.haptic-scaffold.yaml`"
    ));
    assert_eq!(newest(&pins, "api").0, "1.1.0-rc.1");
    assert_eq!(newest(&pins, "db").0, "1.1.0");
    assert_eq!(
        newest(&pins, "db").1,
        "1.3.0 is ignored by `.haptic-scaffold.yaml`"
    );
    assert_eq!(newest(&pins, "haptic").0, "0.3.0");
    assert_eq!(newest(&pins, "alpha").0, "0.2.0-beta.1");
    let done = run(&env, 10, "upgrade", &["--exit-code"]);
    assert_eq!(
        titles(&done),
        [
            "Upgrade alpha to 0.2.0-beta.1",
            "Upgrade api to 1.1.0-rc.1",
            "Upgrade db to 1.1.0",
            "Upgrade haptic to 0.3.0",
            "Upgrade web to 1.9.0"
        ]
    );
}

#[test]
fn a_rejected_version_is_never_offered_and_never_had_by_hand() {
    let env = repo(
        "rejected:\n- {chart: haptic, version: 0.2.2, reason: timeouts, date: 2026-10-05}\n",
        &[("haptic.yaml", "haptic", "0.2.1")],
    );
    env.write("versions.yaml", "haptic: [0.2.1, 0.2.2]\n");
    let pins = run(&env, 0, "pins", &["--exit-code"]);
    assert_eq!(
        newest(&pins, "haptic").1,
        "0.2.2 was rejected on 2026-10-05: timeouts"
    );
    assert!(titles(&run(&env, 0, "upgrade", &[])).is_empty());
    let by_hand = run(&env, 3, "upgrade", &["haptic", "--to", "0.2.2"]);
    assert_eq!(
        by_hand["error"]["message"],
        "0.2.2 of `haptic` was rejected on 2026-10-05: timeouts"
    );
    let offline = env.expect(
        3,
        &[
            "-C",
            "repo",
            "upgrade",
            "haptic",
            "--to",
            "0.2.2",
            "--offline",
        ],
    );
    assert!(
        offline.stderr.contains("was rejected"),
        "{}",
        offline.stderr
    );
    let range = run(&env, 0, "upgrade", &["haptic", "--to", "0.2.x"]);
    assert!(titles(&range).is_empty(), "{range}");
    env.write("versions.yaml", "haptic: [0.2.1, 0.2.2, 0.2.3]\n");
    assert_eq!(
        titles(&run(&env, 0, "upgrade", &["haptic", "--to", "0.2.x"])),
        ["Upgrade haptic to 0.2.3"]
    );
}

#[test]
fn what_a_scaffold_in_a_folder_rejected_is_rejected_and_its_policy_is_for_its_folder() {
    let env = repo(
        "",
        &[
            ("web.yaml", "web", "1.0.0"),
            ("edge/web.yaml", "web", "1.0.0"),
        ],
    );
    env.write(
        "repo/edge/.haptic-scaffold.yaml",
        "upgrade: {charts: {web: {hold: until March}}}\nrejected: [{chart: web, version: 1.2.0}]\n",
    );
    commit(&env, "2026-01-02T00:00:00Z", "Edge");
    env.write("versions.yaml", "web: [1.0.0, 1.1.0, 1.2.0]\n");
    let done = run(&env, 0, "upgrade", &[]);
    assert_eq!(titles(&done), ["Upgrade web to 1.1.0"]);
    assert_eq!(kept(&done), ["held: until March"]);
    let files = &done["changes"][0]["files"];
    assert_eq!(files.as_array().map(Vec::len), Some(1));
    assert_eq!(files[0]["path"], "web.yaml");
    let pins = run(&env, 0, "pins", &["edge"]);
    assert_eq!(
        newest(&pins, "web").1,
        "held: until March; 1.2.0 was rejected"
    );
}

#[test]
fn a_version_has_to_be_published_long_enough() {
    let env = repo(
        "upgrade: {charts: {'*': {minimum_age: 3d}}}\n",
        &[("web.yaml", "web", "1.0.0"), ("api.yaml", "api", "1.0.0")],
    );
    env.write(
        "versions.yaml",
        "web: [1.0.0, {version: 1.1.0, created: '2026-01-01T00:00:00Z'}, {version: 1.2.0, created: '2999-01-01T00:00:00Z'}]\napi: [1.0.0, 1.1.0]\n",
    );
    let done = run(&env, 0, "upgrade", &[]);
    assert_eq!(titles(&done), ["Upgrade web to 1.1.0"]);
    let pins = run(&env, 0, "pins", &[]);
    assert_eq!(
        newest(&pins, "web").1,
        "1.2.0 is published since 2999-01-01, and has to be for 3 days"
    );
    assert_eq!(
        newest(&pins, "api").1,
        "1.1.0 has to be published for 3 days, and its source doesn't say since when it is"
    );
    assert_eq!(
        titles(&run(&env, 0, "upgrade", &["api", "--to", "1.1.0"])),
        ["Upgrade api to 1.1.0"]
    );
}

#[test]
fn charts_of_a_group_move_in_one_change() {
    let env = repo(
        "upgrade: {charts: {web: {group: front}, api: {group: front}}}\n",
        &[
            ("web.yaml", "web", "1.0.0"),
            ("api.yaml", "api", "1.0.0"),
            ("db.yaml", "db", "1.0.0"),
        ],
    );
    env.write("versions.yaml", "web: [1.1.0]\napi: [1.2.0]\ndb: [1.3.0]\n");
    let done = run(&env, 0, "upgrade", &[]);
    assert_eq!(
        titles(&done),
        [
            "Upgrade db to 1.3.0",
            "Upgrade front (api 1.2.0; web 1.1.0)"
        ]
    );
    let front = &done["changes"][1];
    assert_eq!(front["key"], "upgrade group:front");
    assert_eq!(front["branch"], "haptic-scaffold/upgrade-group--front");
    assert_eq!(front["files"].as_array().map(Vec::len), Some(2));
}

const ENVIRONMENTS: &str = "upgrade:\n  environments:\n  - {name: staging, paths: [staging/]}\n  - {name: production, paths: ['prod-*/'], after: 3d}\n  - {name: vault, paths: [vault/], after: command}\n";

#[test]
fn a_version_reaches_environments_in_their_order() {
    let env = repo(
        ENVIRONMENTS,
        &[
            ("staging/web.yaml", "web", "1.0.0"),
            ("prod-eu/web.yaml", "web", "1.0.0"),
            ("vault/web.yaml", "web", "1.0.0"),
        ],
    );
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    let first = run(&env, 0, "upgrade", &[]);
    assert_eq!(titles(&first), ["Upgrade web to 1.1.0 in staging"]);
    assert_eq!(first["changes"][0]["key"], "upgrade web staging");
    assert_eq!(
        first["changes"][0]["branch"],
        "haptic-scaffold/upgrade-web--staging"
    );
    // Merged just now: production waits.
    write_release(&env, "staging/web.yaml", "web", "1.1.0");
    commit(&env, "2099-01-01T00:00:00Z", "Staging moves");
    let waits = run(&env, 0, "upgrade", &[]);
    assert!(titles(&waits).is_empty(), "{waits}");
    assert_eq!(
        kept(&waits),
        [
            "1.1.0 waits: `production` follows 3 days after `staging`, which has 1.1.0 since 2099-01-01",
            "1.1.0 waits for `production`, which has 1.0.0"
        ]
    );
    let now = run(
        &env,
        0,
        "upgrade",
        &["--environment", "production", "--dry-run"],
    );
    assert_eq!(titles(&now), ["Upgrade web to 1.1.0 in production"]);
    run(&env, 2, "upgrade", &["--environment", "prod"]);
}

#[test]
fn production_follows_after_its_time_and_some_only_on_command() {
    let env = repo(
        ENVIRONMENTS,
        &[
            ("staging/web.yaml", "web", "1.0.0"),
            ("prod-eu/web.yaml", "web", "1.0.0"),
            ("vault/web.yaml", "web", "1.0.0"),
        ],
    );
    write_release(&env, "staging/web.yaml", "web", "1.1.0");
    commit(&env, "2026-02-01T00:00:00Z", "Staging moves");
    // What is changed beside the pin since then doesn't start the time again.
    let text = env.read("repo/staging/web.yaml");
    env.write("repo/staging/web.yaml", &format!("# ours\n{text}"));
    commit(&env, "2099-01-01T00:00:00Z", "A comment");
    env.write("versions.yaml", "web: [1.0.0, 1.1.0, 1.2.0]\n");
    let done = run(&env, 0, "upgrade", &[]);
    assert_eq!(
        titles(&done),
        [
            "Upgrade web to 1.2.0 in staging",
            "Upgrade web to 1.1.0 in production"
        ]
    );
    write_release(&env, "prod-eu/web.yaml", "web", "1.1.0");
    commit(&env, "2026-02-09T00:00:00Z", "Production moves");
    let done = run(&env, 0, "upgrade", &["web"]);
    assert_eq!(titles(&done), ["Upgrade web to 1.2.0 in staging"]);
    assert!(
        kept(&done).contains(&"`vault` follows on command: `--environment vault`"),
        "{done}"
    );
    let vault = run(&env, 0, "upgrade", &["--environment", "vault"]);
    assert_eq!(titles(&vault), ["Upgrade web to 1.1.0 in vault"]);
}

#[test]
fn the_stages_of_a_fleet_are_its_environments() {
    let env = TestEnv::new();
    env.expect(
        0,
        &[
            "init",
            "repo",
            "--layout",
            "flux-fleet",
            "--chart-version",
            "0.2.1",
            "--clusters",
            "dev=staging,two=staging,prod",
            "--repo-url",
            "https://git.example.org/x/y.git",
            "--certificates",
            "cert-manager",
            "--yes",
        ],
    );
    env.write("versions.yaml", "haptic: [0.2.1, 0.2.2]\n");
    let done = run(&env, 0, "upgrade", &[]);
    assert_eq!(titles(&done), ["Upgrade haptic to 0.2.2 in staging"]);
    let files = done["changes"][0]["files"].as_array().map(Vec::len);
    assert_eq!(files, Some(2));
    let branch = "haptic-scaffold/upgrade-haptic--staging";
    env.git("repo", &["merge", "-q", "--ff-only", branch]);
    let done = run(&env, 0, "upgrade", &[]);
    assert_eq!(titles(&done), ["Upgrade haptic to 0.2.2 in prod"]);
}

#[test]
fn ranges_move_as_the_policy_says_and_keep_their_style() {
    let releases = [
        ("caret.yaml", "web", "^1.2"),
        ("x.yaml", "web", "1.x"),
        ("bounds.yaml", "web", ">=1.0.0 <2.0.0"),
        ("odd.yaml", "web", ">1.0.0 <1.9.3"),
    ];
    let left = repo("", &releases);
    left.write("versions.yaml", "web: [1.3.0, 2.1.0]\n");
    assert!(titles(&run(&left, 0, "upgrade", &[])).is_empty());
    for (how, expected) in [
        (
            "replace",
            [
                "version: '^2.1'",
                "version: '2.x'",
                "version: '>=2.1.0 <3.0.0'",
            ],
        ),
        (
            "widen",
            [
                "version: '^1.2 || ^2.1'",
                "version: '1.x || 2.x'",
                "version: '>=1.0.0 <3.0.0'",
            ],
        ),
    ] {
        let env = repo(
            &format!("upgrade: {{charts: {{web: {{ranges: {how}}}}}}}\n"),
            &releases,
        );
        env.write("versions.yaml", "web: [1.3.0, 2.1.0]\n");
        let done = run(&env, 0, "upgrade", &[]);
        assert_eq!(titles(&done), ["Upgrade web to 2.1.0"]);
        for (file, version) in ["caret.yaml", "x.yaml", "bounds.yaml"].iter().zip(expected) {
            let text = env.git(
                "repo",
                &["show", &format!("haptic-scaffold/upgrade-web:{file}")],
            );
            assert!(text.contains(&format!("{version}\n")), "{text}");
        }
        let pins = run(&env, 0, "pins", &["--outdated"]);
        assert_eq!(pins["pins"].as_array().map(Vec::len), Some(3));
    }
    let asked = run(&left, 0, "upgrade", &["web", "--to", "2.1.0"]);
    assert_eq!(titles(&asked), ["Upgrade web to 2.1.0"]);
    assert_eq!(
        kept(&asked),
        ["2.1.0 is outside of the range, and that is of no form that can be moved"]
    );
}

#[test]
fn a_policy_that_can_not_be_read_stops_with_its_line() {
    let env = repo(
        "upgrade:\n  charts:\n    web: {minimum_age: soon}\n",
        &[("web.yaml", "web", "1.0.0")],
    );
    env.write("versions.yaml", "web: [1.1.0]\n");
    for command in ["pins", "upgrade"] {
        let failed = run(&env, 3, command, &[]);
        assert_eq!(
            failed["error"]["message"],
            ".haptic-scaffold.yaml:3: `soon` is no length of time"
        );
    }
    env.write("own.yaml", "upgrade: {charts: {web: {hold: today}}}\n");
    let done = run(&env, 0, "upgrade", &["--config", "own.yaml"]);
    assert_eq!(kept(&done), ["held: today"]);
}

#[test]
fn a_chart_in_git_is_upgraded_by_the_tags_of_its_repository() {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("repo")).expect("a folder");
    env.git("repo", &["init", "-q", "-b", "main"]);
    env.write(
        "repo/flux.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: charts, namespace: flux-system}\nspec:\n  url: https://git.example.org/charts\n  ref: {tag: web-v1.0.0}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: manifests, namespace: flux-system}\nspec:\n  url: https://git.example.org/manifests\n  ref: {tag: v1.0.0}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec: {chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: charts, namespace: flux-system}}}}\n",
    );
    env.write(
        "repo/argo.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: api}\nspec:\n  source: {repoURL: https://git.example.org/api, path: deploy/api, targetRevision: v1.0.0, helm: {releaseName: api}}\n",
    );
    commit(&env, "2026-01-01T00:00:00Z", "Start");
    env.write(
        "versions.yaml",
        "https://git.example.org/charts: [web-v1.0.0, web-v1.10.0, web-v1.9.0, other-v2.0.0, v3.0.0]\nhttps://git.example.org/api: [v1.1.0, v1.2.0-rc.1]\n",
    );
    let pins = run(&env, 0, "pins", &[]);
    assert_eq!(newest(&pins, "web").0, "1.10.0");
    let done = run(&env, 0, "upgrade", &[]);
    assert_eq!(
        titles(&done),
        ["Upgrade api to v1.1.0", "Upgrade web to web-v1.10.0"]
    );
    let text = env.git("repo", &["show", "haptic-scaffold/upgrade-web:flux.yaml"]);
    assert!(text.contains("ref: {tag: web-v1.10.0}"), "{text}");
    assert!(text.contains("ref: {tag: v1.0.0}"), "{text}");
    let asked = run(&env, 0, "upgrade", &["web", "--to", "1.9.0", "--dry-run"]);
    assert_eq!(titles(&asked), ["Upgrade web to web-v1.9.0"]);
    env.write(
        "repo/.haptic-scaffold.yaml",
        "upgrade: {charts: {web: {range: '<1.10'}, api: {minimum_age: 3d}}}\n",
    );
    commit(&env, "2026-01-02T00:00:00Z", "Policy");
    let done = run(&env, 0, "upgrade", &["--dry-run"]);
    assert_eq!(titles(&done), ["Upgrade web to web-v1.9.0"]);
}

/// A chart that is released often must not keep production where it is.
#[test]
fn what_has_served_its_time_is_offered_though_staging_has_moved_on() {
    let env = repo(
        ENVIRONMENTS,
        &[
            ("staging/web.yaml", "web", "1.0.0"),
            ("prod-eu/web.yaml", "web", "1.0.0"),
        ],
    );
    write_release(&env, "staging/web.yaml", "web", "1.1.0");
    commit(&env, "2026-02-01T00:00:00Z", "Staging moves");
    write_release(&env, "staging/web.yaml", "web", "1.2.0");
    commit(&env, "2099-01-01T00:00:00Z", "And again");
    env.write("versions.yaml", "web: [1.0.0, 1.1.0, 1.2.0]\n");
    let done = run(&env, 0, "upgrade", &[]);
    assert_eq!(titles(&done), ["Upgrade web to 1.1.0 in production"]);
    let body = done["changes"][0]["body"].as_str().unwrap_or_default();
    assert!(
        body.contains("1.2.0 waits: `production` follows 3 days after `staging`"),
        "{body}"
    );
    // In a shallow clone the time can't be told, and that is said.
    let url = format!("file://{}", env.path("repo").display());
    env.git("", &["clone", "-q", "--depth", "1", &url, "shallow"]);
    let arguments = [
        "-C",
        "shallow",
        "upgrade",
        "--versions",
        "versions.yaml",
        "--output",
        "json",
    ];
    let cut = env.expect(0, &arguments).json();
    assert!(titles(&cut).is_empty(), "{cut}");
    assert!(kept(&cut)[0].ends_with("git fetch --unshallow"), "{cut}");
}

#[test]
fn a_policy_in_a_folder_adds_to_the_one_above_and_what_meets_nothing_is_told() {
    let env = repo(
        ENVIRONMENTS,
        &[
            ("staging/web.yaml", "web", "1.0.0"),
            ("prod-eu/web.yaml", "web", "1.0.0"),
        ],
    );
    env.write(
        "repo/prod-eu/.haptic-scaffold.yaml",
        "upgrade: {charts: {web: {prereleases: false}, wbe: {hold: x}}}\n",
    );
    commit(&env, "2026-02-01T00:00:00Z", "More");
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    let done = env.expect(0, &["-C", "repo", "upgrade", "--versions", "versions.yaml"]);
    assert!(
        done.stdout.contains("upgrade-web--staging"),
        "{}",
        done.stdout
    );
    assert!(
        !done.stdout.contains("upgrade-web--production"),
        "{}",
        done.stdout
    );
    for told in [
        "`upgrade.charts` has `wbe`, and no pin is of such a chart",
        "the environment `vault` has no pin: none is below `vault/`",
    ] {
        assert!(done.stderr.contains(told), "{}", done.stderr);
    }
    env.write(
        "repo/.haptic-scaffold.yaml",
        "upgrade: {charts: {'*': {hold: now}}}\n",
    );
    let told = env.expect(0, &["-C", "repo", "upgrade", "--versions", "versions.yaml"]);
    assert!(
        told.stderr
            .contains("`.haptic-scaffold.yaml` in the work tree is another than"),
        "{}",
        told.stderr
    );
}

#[test]
fn an_age_that_all_charts_have_is_lifted_for_one() {
    let env = repo(
        "upgrade: {charts: {'*': {minimum_age: 3d}, web: {minimum_age: 0d}}}\n",
        &[("web.yaml", "web", "1.0.0")],
    );
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    assert_eq!(
        titles(&run(&env, 0, "upgrade", &[])),
        ["Upgrade web to 1.1.0"]
    );
}
