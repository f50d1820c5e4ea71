//! `upgrade`: pins move by commits on branches, and nothing else does.

use serde_json::Value;

use crate::env::TestEnv;

const RELEASE: &str = "# ours\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: flux-system}\nspec: {type: oci, url: oci://registry.example.org/charts}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: NAME, namespace: flux-system}\nspec:\n  chart:\n    spec:\n      chart: CHART\n      version: 'VERSION'   # keep this\n      sourceRef: {kind: HelmRepository, name: charts}\n";

/// A repository with one release for each of some charts.
fn repo(charts: &[(&str, &str)]) -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("repo")).expect("a folder");
    env.git("repo", &["init", "-q", "-b", "main"]);
    for (chart, version) in charts {
        let text = RELEASE
            .replace("NAME", chart)
            .replace("CHART", chart)
            .replace("VERSION", version);
        env.write(&format!("repo/apps/{chart}.yaml"), &text);
    }
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "Start", "--allow-empty"]);
    env.write(
        "versions.yaml",
        "haptic: [0.2.1, 0.2.2, 0.3.0]\nweb: ['1.0.0', '1.4.0', '2.0.0-rc.1']\n",
    );
    env
}

fn upgrade(env: &TestEnv, more: &[&str], code: i32) -> Value {
    let mut arguments = vec!["-C", "repo", "upgrade", "--output", "json"];
    arguments.extend(["--versions", "versions.yaml"]);
    arguments.extend(more);
    env.expect(code, &arguments).json()
}

fn show(env: &TestEnv, object: &str) -> String {
    env.git("repo", &["show", object])
}

#[test]
fn each_chart_is_one_commit_on_a_branch_and_the_work_tree_stays() {
    let env = repo(&[("haptic", "0.2.1"), ("web", "1.0.0")]);
    env.write("repo/apps/web.yaml", "dirty\n");
    env.write("repo/staged", "x\n");
    env.git("repo", &["add", "staged"]);
    let status = env.git("repo", &["status", "--porcelain"]);
    let done = upgrade(&env, &[], 0);
    assert_eq!(done["changes"].as_array().map(Vec::len), Some(2));
    assert_eq!(env.git("repo", &["status", "--porcelain"]), status);
    assert_eq!(
        env.git("repo", &["rev-parse", "--abbrev-ref", "HEAD"]),
        "main\n"
    );
    let haptic = &done["changes"][0];
    assert_eq!(haptic["key"], "upgrade haptic");
    assert_eq!(haptic["title"], "Upgrade haptic to 0.2.2");
    assert_eq!(haptic["base"], "main");
    let branch = haptic["branch"].as_str().expect("a branch");
    let diff = env.git("repo", &["diff", "--unified=0", "main", branch]);
    let changed: Vec<&str> = diff
        .lines()
        .filter(|l| l.starts_with(['+', '-']) && !l.starts_with("+++") && !l.starts_with("---"))
        .collect();
    assert_eq!(
        changed,
        [
            "-      version: '0.2.1'   # keep this",
            "+      version: '0.2.2'   # keep this"
        ]
    );
    assert!(show(&env, "haptic-scaffold/upgrade-web:apps/web.yaml").contains("version: '1.4.0'"));
    env.git("repo", &["fsck", "--strict"]);
    let message = env.git("repo", &["log", "-1", "--format=%B", branch]);
    assert!(
        message.contains("Haptic-Scaffold-Change: upgrade haptic\n"),
        "{message}"
    );
}

#[test]
fn a_second_run_is_the_same_and_a_newer_version_updates_the_branch() {
    let env = repo(&[("web", "1.0.0")]);
    let first = upgrade(&env, &[], 0);
    let again = upgrade(&env, &[], 0);
    assert_eq!(first["changes"][0]["commit"], again["changes"][0]["commit"]);
    assert_eq!(again["changes"][0]["branch_verdict"], "same");
    env.write("versions.yaml", "web: ['1.5.0']\n");
    let newer = upgrade(&env, &["--exit-code"], 10);
    assert_eq!(newer["changes"][0]["branch_verdict"], "updated");
    assert_eq!(
        env.git(
            "repo",
            &["rev-list", "--count", "main..haptic-scaffold/upgrade-web"]
        ),
        "1\n"
    );
    env.git("repo", &["checkout", "-q", "haptic-scaffold/upgrade-web"]);
    env.write("repo/mine", "x\n");
    env.git("repo", &["add", "mine"]);
    env.git("repo", &["commit", "-qm", "By hand"]);
    env.git("repo", &["checkout", "-q", "main"]);
    env.write("versions.yaml", "web: ['1.6.0']\n");
    let left = upgrade(&env, &[], 0);
    assert_eq!(left["changes"][0]["branch_verdict"], "left-alone");
    assert!(!show(&env, "haptic-scaffold/upgrade-web:apps/web.yaml").contains("1.6.0"));
}

#[test]
fn haptic_goes_forward_only_and_within_its_minor_unless_asked() {
    let env = repo(&[("haptic", "0.2.1")]);
    let lower = env.expect(
        3,
        &[
            "-C",
            "repo",
            "upgrade",
            "haptic",
            "--to",
            "0.2.0",
            "--offline",
        ],
    );
    assert!(lower.stderr.contains("never goes back"), "{}", lower.stderr);
    let asked = upgrade(&env, &["haptic", "--to", "0.3.x", "--dry-run"], 0);
    assert_eq!(asked["changes"][0]["title"], "Upgrade haptic to 0.3.0");
    assert!(
        asked["changes"][0]["body"]
            .as_str()
            .is_some_and(|body| body.contains("HTTP/3"))
    );
    assert_eq!(asked["changes"][0]["commit"], Value::Null);
    let none = upgrade(&env, &["haptic", "--to", "9.x"], 4);
    assert_eq!(none["ok"], false);
    upgrade(&env, &["nothing"], 2);
    let offline = env.expect(0, &["-C", "repo", "upgrade", "--offline"]);
    assert!(offline.stdout.contains("nothing to upgrade"));
}

#[test]
fn what_must_not_move_alone_is_told_and_stays() {
    let env = repo(&[("web", "1.0.0")]);
    let held = env
        .read("repo/apps/web.yaml")
        .replace("# keep this", "# hold: waits for the new nodes");
    env.write("repo/apps/web.yaml", &held);
    env.write(
        "repo/chart/Chart.yaml",
        "apiVersion: v2\nname: a\nversion: 0.1.0\ndependencies:\n  - {name: web, version: 1.0.0, repository: oci://registry.example.org/charts}\n",
    );
    env.write("repo/chart/Chart.lock", "dependencies: []\n");
    env.write(
        "repo/oci.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: web}\nspec: {url: oci://registry.example.org/charts/web, ref: {tag: 1.0.0, digest: 'sha256:00'}}\n",
    );
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "More"]);
    let done = upgrade(
        &env,
        &[
            "web",
            "--limit",
            "1",
            "--author",
            "A Team <team@example.org>",
        ],
        0,
    );
    assert_eq!(done["changes"].as_array().map(Vec::len), Some(0));
    let kept: Vec<&str> = done["not_moved"]
        .as_array()
        .expect("pins")
        .iter()
        .filter_map(|kept| kept["why"].as_str())
        .collect();
    assert_eq!(kept.len(), 3, "{kept:?}");
    assert!(
        kept.iter()
            .any(|why| why.contains("waits for the new nodes"))
    );
    assert!(kept.iter().any(|why| why.contains("Chart.lock")));
    assert!(kept.iter().any(|why| why.contains("digest")));
}

#[test]
fn a_bare_repository_is_enough_and_a_chart_that_nobody_knows_is_told() {
    let env = repo(&[("haptic", "0.2.1"), ("web", "1.0.0"), ("strange", "1.0.0")]);
    env.git("repo", &["clone", "-q", "--bare", ".", "../bare.git"]);
    let run = env.expect(
        4,
        &[
            "-C",
            "bare.git",
            "upgrade",
            "--versions",
            "versions.yaml",
            "--output",
            "json",
        ],
    );
    assert_eq!(run.json()["changes"].as_array().map(Vec::len), Some(2));
    assert_eq!(run.json()["error"]["code"], 4);
    let branches = env.git("bare.git", &["branch", "--format=%(refname:short)"]);
    assert!(
        branches.contains("haptic-scaffold/upgrade-haptic\n"),
        "{branches}"
    );
}

/// Writes and commits files of the repository.
fn commit(env: &TestEnv, files: &[(&str, &str)]) {
    for (path, text) in files {
        env.write(&format!("repo/{path}"), text);
    }
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "More"]);
}

fn titles(done: &Value) -> Vec<&str> {
    let changes = done["changes"].as_array().expect("changes");
    changes
        .iter()
        .filter_map(|change| change["title"].as_str())
        .collect()
}

#[test]
fn what_is_not_surely_the_charts_own_pin_stays() {
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: NS}\nspec: {url: https://URL}\n---\n";
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: NS}\nspec: {chart: {spec: {chart: CHART, version: VERSION, sourceRef: {kind: KIND, name: charts}}}}\n";
    let object = |ns: &str, chart: &str, version: &str, kind: &str, url: &str| {
        [
            source.replace("NS", ns).replace("URL", url),
            release.replace("NS", ns),
        ]
        .concat()
        .replace("CHART", chart)
        .replace("VERSION", version)
        .replace("KIND", kind)
    };
    let variable = object(
        "a",
        "web",
        "'${version}'",
        "HelmRepository",
        "a.example.org",
    );
    let two = [
        object("b", "web", "1.0.0", "HelmRepository", "one.example.org"),
        object("b", "web", "1.0.0", "HelmRepository", "two.example.org"),
    ];
    let from_git = object("c", "web", "1.0.0", "GitRepository", "c.example.org");
    let anchors = "kind: List\nitems:\n  - apiVersion: argoproj.io/v1alpha1\n    kind: Application\n    metadata: {name: a}\n    spec: {source: {repoURL: https://d.example.org, chart: web, targetRevision: &v 1.0.0}}\n  - apiVersion: argoproj.io/v1alpha1\n    kind: Application\n    metadata: {name: b}\n    spec: {source: {repoURL: https://d.example.org, chart: other, targetRevision: *v}}\n";
    let appset = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec:\n  generators: [{list: {elements: [{rev: v0.9.0}]}}]\n  template:\n    spec:\n      sources:\n        - {repoURL: https://e.example.org, chart: web, targetRevision: 1.4.0}\n        - {repoURL: https://e.example.org/x.git, ref: values, targetRevision: '{{rev}}'}\n";
    let encrypted = "kind: Application\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: s}\nspec: {source: {repoURL: https://f.example.org, chart: web, targetRevision: 1.0.0}}\nsops: {mac: 'ENC[x]'}\n";
    let manifests = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: m}\nspec: {url: oci://r.example.org/manifests/web, ref: {tag: 1.0.0}}\n---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: m}\nspec: {sourceRef: {kind: OCIRepository, name: m}}\n";
    let map = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: app, namespace: other}\ndata: {version: 1.0.0}\n";
    let env = repo(&[]);
    commit(
        &env,
        &[
            ("variable.yaml", &variable),
            ("map.yaml", map),
            ("one.yaml", &two[0]),
            ("two.yaml", &two[1]),
            ("git.yaml", &from_git),
            ("anchors.yaml", anchors),
            ("appset.yaml", appset),
            ("encrypted.yaml", encrypted),
            ("manifests.yaml", manifests),
        ],
    );
    env.write("versions.yaml", "web: [1.4.0]\nother: [1.0.0]\n");
    let done = upgrade(&env, &[], 0);
    assert_eq!(titles(&done), Vec::<&str>::new(), "{done}");
}

#[test]
fn versions_are_written_as_they_are_published() {
    let env = repo(&[("web", "1.0.0")]);
    let oci = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: api}\nspec: {url: oci://registry.example.org/charts/api, ref: {tag: 1.0.0}}\n";
    commit(&env, &[("oci.yaml", oci)]);
    env.write(
        "versions.yaml",
        "web: ['20240105', '1.25', v1.2.0]\napi: ['1.1.0+b.1']\n",
    );
    let done = upgrade(&env, &[], 0);
    assert_eq!(
        titles(&done),
        ["Upgrade api to 1.1.0_b.1", "Upgrade web to v1.2.0"]
    );
}

#[test]
fn work_on_an_offered_branch_is_not_lost() {
    let env = repo(&[("web", "1.0.0")]);
    upgrade(&env, &[], 0);
    let branch = "haptic-scaffold/upgrade-web";
    env.git("repo", &["worktree", "add", "-q", "../elsewhere", branch]);
    env.write("versions.yaml", "web: [1.5.0]\n");
    let left = upgrade(&env, &[], 0);
    assert_eq!(left["changes"][0]["branch_verdict"], "left-alone");
    env.write("elsewhere/human.txt", "x\n");
    env.git("elsewhere", &["add", "."]);
    env.git("elsewhere", &["commit", "-q", "--amend", "--no-edit"]);
    env.git("repo", &["worktree", "remove", "../elsewhere"]);
    let amended = upgrade(&env, &[], 0);
    assert_eq!(amended["changes"][0]["branch_verdict"], "left-alone");
    env.git("repo", &["switch", "-q", branch]);
    let refused = upgrade(&env, &[], 2);
    assert_eq!(refused["ok"], false);
}

#[test]
fn one_file_that_can_not_be_edited_leaves_the_others() {
    let env = repo(&[("haptic", "0.2.1"), ("web", "1.0.0")]);
    let mut bytes = std::fs::read(env.path("repo/apps/web.yaml")).expect("reads");
    bytes.splice(0..0, b"# caf\xe9\n".iter().copied());
    std::fs::write(env.path("repo/apps/web.yaml"), bytes).expect("writes");
    commit(&env, &[]);
    let done = upgrade(&env, &[], 0);
    assert_eq!(titles(&done), ["Upgrade haptic to 0.2.2"]);
    assert!(
        done["not_moved"][0]["why"]
            .as_str()
            .is_some_and(|why| why.contains("UTF-8"))
    );
}

#[test]
fn the_pins_of_fleets_are_the_charts_wherever_its_source_stands() {
    for (layout, file) in [
        ("flux-fleet", "apps/haptic/prod/release/pin.yaml"),
        ("argo-fleet", "clusters/prod/haptic.yaml"),
    ] {
        let env = TestEnv::new();
        let arguments = [
            "init",
            "repo",
            "--layout",
            layout,
            "--chart-version",
            "0.2.1",
            "--clusters",
            "dev=staging,prod",
            "--repo-url",
            "https://git.example.org/x/y.git",
            "--certificates",
            "cert-manager",
            "--yes",
        ];
        env.expect(0, &arguments);
        env.write("versions.yaml", "haptic: [0.2.1, 0.2.2]\n");
        let pins = env.expect(
            0,
            &[
                "-C",
                "repo",
                "pins",
                "--versions",
                "versions.yaml",
                "--output",
                "json",
            ],
        );
        let pins = pins.json();
        let pin = |pin: &&Value| pin["file"] == file;
        let pin = pins["pins"]
            .as_array()
            .and_then(|pins| pins.iter().find(pin));
        let pin = pin.expect("a pin of the cluster");
        assert_eq!(pin["chart"], "haptic", "{layout}");
        assert_eq!(
            pin["source"],
            "oci://registry.gitlab.com/haproxy-haptic/haptic/charts/haptic"
        );
        assert_eq!(pin["newest"], "0.2.2");
        let asked = upgrade(&env, &["haptic", "--to", "0.2.2", "--dry-run"], 0);
        assert!(
            asked["changes"][0]["files"]
                .as_array()
                .is_some_and(|files| !files.is_empty()),
            "{asked}"
        );
    }
}

#[test]
fn a_recovery_that_was_squashed_holds_nothing_up() {
    let env = repo(&[("haptic", "0.2.1")]);
    let versions = [
        "recover",
        "--rejected",
        "0.2.1",
        "--to",
        "0.2.2",
        "--offline",
    ];
    env.expect(0, &[&["-C", "repo"][..], &versions].concat());
    env.write("versions.yaml", "haptic: [0.2.1, 0.2.2, 0.2.3, 0.2.4]\n");
    let waits = upgrade(&env, &[], 0);
    assert_eq!(titles(&waits), [""; 0]);
    assert!(
        waits.to_string().contains("waits for its recovery"),
        "{waits}"
    );
    env.git(
        "repo",
        &["merge", "-q", "--squash", "haptic-scaffold/recover-haptic"],
    );
    env.git("repo", &["commit", "-qm", "Squashed"]);
    // What comes after it changes the file again, so that the leftover branch looks like one that is still to come.
    let file = env.read("repo/apps/haptic.yaml").replace("0.2.2", "0.2.3");
    commit(&env, &[("apps/haptic.yaml", &file)]);
    assert_eq!(titles(&upgrade(&env, &[], 0)), ["Upgrade haptic to 0.2.4"]);
}
