//! `recover` without a cluster, forge or network: forward only, remembered, and nothing written where it refuses.

use serde_json::Value;

use crate::env::TestEnv;

pub const VERSIONS: &str =
    "haptic: [0.1.0, 0.2.0, 0.2.1, 0.2.2, 0.3.0]\nweb: [1.0.0, 1.0.1, 1.1.0]\n";
/// What HAPTIC's preflight says in the tests.
pub const REASON: &str = "preflight: validation failed: LoadGateFailed: template does not compile";

/// A repository that `init` made, with the rejected version in it.
pub fn scaffold(layout: &str, more: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    scaffold_in(&env, layout, more);
    env
}

pub fn scaffold_in(env: &TestEnv, layout: &str, more: &[&str]) {
    let mut arguments = vec!["init", "repo", "--layout", layout, "--yes"];
    arguments.extend(["--chart-version", "0.2.1", "--certificates", "cert-manager"]);
    arguments.extend(["--repo-url", "https://git.example.org/x/y.git"]);
    if layout.ends_with("fleet") && !more.contains(&"--clusters") {
        arguments.extend(["--clusters", "staging,prod"]);
    }
    arguments.extend(more);
    env.expect(0, &arguments);
    env.write("versions.yaml", VERSIONS);
}

/// A repository that people wrote.
pub fn by_hand(files: &[(&str, &str)]) -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("repo")).expect("a folder");
    env.git("repo", &["init", "-q", "-b", "main"]);
    commit(&env, files);
    env.write("versions.yaml", VERSIONS);
    env
}

/// Writes and commits files of the repository.
pub fn commit(env: &TestEnv, files: &[(&str, &str)]) {
    for (path, text) in files {
        env.write(&format!("repo/{path}"), text);
    }
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "By hand", "--allow-empty"]);
}

/// A HelmRelease of a chart, with its source.
pub fn flux(name: &str, chart: &str, version: &str, more: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: charts, namespace: flux-system}}\nspec: {{type: oci, url: oci://registry.example.org/charts}}\n---\n# ours\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: flux-system}}\nspec:\n  releaseName: {name}\n  targetNamespace: {name}\n  chart:\n    spec:\n      chart: {chart}\n      version: '{version}'   # keep this\n      sourceRef: {{kind: HelmRepository, name: charts}}\n{more}"
    )
}

/// An Application of a chart.
pub fn argo(name: &str, chart: &str, version: &str, helm: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: {name}\n  namespace: argocd\nspec:\n  destination: {{server: https://kubernetes.default.svc, namespace: {name}}}\n  source:\n    repoURL: registry.example.org/charts\n    chart: {chart}\n    targetRevision: {version} # keep this\n    helm:\n      releaseName: {name}\n{helm}"
    )
}

/// Branches, tags and the work tree.
pub fn state(env: &TestEnv) -> String {
    let refs = env.git("repo", &["for-each-ref"]);
    refs + &env.git("repo", &["status", "--porcelain", "-uall", "--ignored"])
}

/// Refuses, for people and for scripts: with an exit code and a next step, and nothing is written. Hands back what is said.
pub fn refused(env: &TestEnv, code: i32, more: &[&str]) -> String {
    let before = state(env);
    let mut arguments = vec!["-C", "repo", "recover"];
    arguments.extend(more);
    let people = env.expect(code, &arguments);
    arguments.extend(["--output", "json"]);
    let json = env.expect(code, &arguments).json();
    assert_eq!(state(env), before, "{more:?}");
    assert_eq!(json["ok"], false, "{json}");
    assert_eq!(json["error"]["code"], code, "{json}");
    let message = json["error"]["message"].as_str().expect("a message");
    let hint = json["error"]["hint"].as_str().expect("a next step");
    let steps = [
        "--",
        "haptic-scaffold ",
        "kubectl ",
        "git ",
        "flux ",
        "`null`",
        "`spec.chart`",
        "iconv ",
    ];
    let has_step = steps.iter().any(|step| hint.contains(step));
    assert!(has_step, "{more:?}: {message}\n{hint}");
    let first = message.lines().next().unwrap_or_default();
    assert!(people.stderr.contains(first), "{}", people.stderr);
    assert!(people.stderr.contains("hint: "), "{}", people.stderr);
    people.stderr
}

/// Recovers, and hands back the JSON.
pub fn recover(env: &TestEnv, more: &[&str]) -> Value {
    let mut arguments = vec!["-C", "repo", "recover", "--output", "json"];
    arguments.extend(more);
    env.expect(0, &arguments).json()
}

/// The usual way: 0.2.1 was rejected, and the newest above is gone to.
pub fn forward(env: &TestEnv, more: &[&str]) -> Value {
    let mut arguments = vec!["--rejected", "0.2.1", "--versions", "versions.yaml"];
    arguments.extend(more);
    recover(env, &arguments)
}

/// The lines that a branch takes away and brings, by file.
pub fn changed(env: &TestEnv, branch: &str) -> Vec<String> {
    let diff = env.git("repo", &["diff", "--unified=0", "main", branch]);
    let lines = diff.lines().filter(|line| {
        line.starts_with(['+', '-']) && !line.starts_with("---") && !line.starts_with("+++ /dev")
    });
    let file = |line: &str| line.strip_prefix("+++ b/").map(|path| format!("= {path}"));
    lines
        .map(|line| file(line).unwrap_or_else(|| line.to_owned()))
        .collect()
}

pub fn branch(done: &Value) -> &str {
    done["changes"][0]["branch"].as_str().expect("a branch")
}

pub fn body(done: &Value) -> &str {
    done["changes"][0]["body"].as_str().expect("a body")
}

fn with_versions<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["--versions", "versions.yaml"];
    all.extend(more);
    all
}

#[test]
fn what_is_not_forward_is_refused_with_the_next_step() {
    let rejected = ["--rejected", "0.2.1"];
    // Arguments beside the rejected version, exit code, words of the message and its hints.
    let table: [(&[&str], i32, &[&str]); 9] = [
        (
            &["--to", "0.2.0"],
            3,
            &["is lower than 0.2.1", "don't come back down", "`--to`"],
        ),
        (
            &["--to", "0.2.1"],
            3,
            &["is what was rejected", "`--values FILE`"],
        ),
        (
            &["--to", "0.1.x"],
            3,
            &["lower than 0.2.1", "`--to 0.1.x` has nothing above"],
        ),
        (&["--to", "v0.2.0"], 3, &["is lower"]),
        (
            &["--to", "0.9.0"],
            4,
            &["isn't published", "published above 0.2.1: 0.3.0, 0.2.2"],
        ),
        (
            &["--to", "0.9.x"],
            4,
            &["no version of `haptic` is in `0.9.x`", "--to 0.2.x"],
        ),
        (&["--to", ">0.2.1 <0.2.2"], 4, &["no version", "--to 0.2.x"]),
        (
            &["--to", "newest"],
            2,
            &["cannot use `--to newest`", "0.2.x"],
        ),
        (&["--to", "0.0.0-main.4f2c1ab"], 3, &["snapshot"]),
    ];
    for layout in ["flux-cluster", "argo-cluster"] {
        let env = scaffold(layout, &[]);
        for (more, code, words) in table {
            let mut arguments = with_versions(&rejected);
            arguments.extend(more);
            let said = refused(&env, code, &arguments);
            for word in words {
                assert!(said.contains(word), "{more:?}: `{word}` in {said}");
            }
        }
        // Nothing newer at all, and nothing newer in the minor.
        env.write("none.yaml", "haptic: [0.2.0, 0.2.1]\n");
        let none = refused(&env, 4, &["--rejected", "0.2.1", "--versions", "none.yaml"]);
        assert!(none.contains("wait for a release"), "{none}");
        env.write("minor.yaml", "haptic: [0.2.0, 0.2.1, 0.3.0]\n");
        let minor = refused(
            &env,
            4,
            &["--rejected", "0.2.1", "--versions", "minor.yaml"],
        );
        assert!(minor.contains("--to 0.3.x"), "{minor}");
        env.write("other.yaml", "web: [1.0.0]\n");
        let unknown = refused(
            &env,
            4,
            &["--rejected", "0.2.1", "--versions", "other.yaml"],
        );
        assert!(unknown.contains("--offline"), "{unknown}");
        let nobody = refused(&env, 2, &["--rejected", "0.2.1", "--offline"]);
        assert!(nobody.contains("`--versions FILE`"), "{nobody}");
    }
}

#[test]
fn what_nobody_says_clearly_is_asked_back() {
    let env = scaffold("flux-cluster", &[]);
    let table: [(&[&str], i32, &[&str]); 9] = [
        (
            &[],
            2,
            &[
                "nobody says what was rejected",
                "--rejected 0.2.1",
                "--context",
            ],
        ),
        (&["--dry-run"], 2, &["--rejected 0.2.1"]),
        (&["--rejected", "0.2"], 2, &["not one version", "0.2.1"]),
        (&["--rejected", "7.7.7"], 3, &["never pinned here", "0.2.1"]),
        (&["--watch"], 2, &["`--context CONTEXT`"]),
        (&["--timeout", "soon"], 2, &["90s, 15m, 2h"]),
        (
            &["--rejected", "0.2.1", "--cluster", "mars"],
            2,
            &["`mars`", "haptic-scaffold pins"],
        ),
        (
            &["nothing"],
            2,
            &["no pin is of a chart or release `nothing`"],
        ),
        (
            &["--rejected", "0.2.1", "--context", "nowhere"],
            4,
            &["no kubeconfig", "`KUBECONFIG`"],
        ),
    ];
    for (more, code, words) in table {
        let said = refused(&env, code, &with_versions(more));
        for word in words {
            assert!(said.contains(word), "{more:?}: `{word}` in {said}");
        }
    }
    // A name with a slip in a flag that takes few words.
    let usage = env.expect(
        2,
        &[
            "-C", "repo", "recover", "--others", "all", "--output", "json",
        ],
    );
    assert_eq!(usage.json()["ok"], false);
    let nowhere = env.expect(2, &["recover", "--rejected", "0.2.1", "--output", "json"]);
    assert_eq!(nowhere.json()["error"]["code"], 2);
}

/// Paths and texts.
type Files<'a> = &'a [(&'a str, &'a str)];

#[test]
fn where_there_is_no_pin_or_none_that_can_be_edited_file_and_line_are_named() {
    let empty = by_hand(&[("README.md", "x\n")]);
    let said = refused(&empty, 3, &with_versions(&["--rejected", "0.2.1"]));
    assert!(said.contains("no pin of the chart `haptic`"), "{said}");
    assert!(said.contains("haptic-scaffold pins"), "{said}");

    let plain = flux("haptic", "haptic", "0.2.1", "");
    let variable = plain.replace("'0.2.1'", "'${haptic_version}'");
    let anchored = [
        argo("haptic", "haptic", "&v 0.2.1", ""),
        argo("other", "other", "*v", ""),
    ]
    .map(|text| format!("  - {}", text.replace('\n', "\n    ").trim_end()))
    .join("\n");
    let anchored = format!("apiVersion: v1\nkind: List\nitems:\n{anchored}\n");
    let held = plain.replace("# keep this", "# hold: waits for the new nodes");
    let encrypted = argo("haptic", "haptic", "0.2.1", "sops: {mac: 'ENC[x]'}\n");
    let latin = format!("{plain}# caf\u{e9}\n");
    let umbrella = "apiVersion: v2\nname: all\nversion: 0.1.0\ndependencies:\n  - {name: haptic, version: 0.2.1, repository: oci://registry.example.org/charts}\n";
    // The files, their pin, and a word of the reason.
    let table: [(Files<'_>, &str, &str); 5] = [
        (&[("a.yaml", &variable)], "a.yaml:16", "haptic_version"),
        (&[("a.yaml", &anchored)], "a.yaml:14", ""),
        (&[("a.yaml", &held)], "a.yaml:16", "waits for the new nodes"),
        (&[("a.yaml", &encrypted)], "a.yaml:11", ""),
        (
            &[
                ("all/Chart.yaml", umbrella),
                ("all/Chart.lock", "dependencies: []\n"),
            ],
            "all/Chart.yaml:5",
            "Chart.lock",
        ),
    ];
    for (files, place, why) in table {
        let env = by_hand(files);
        let said = refused(
            &env,
            3,
            &with_versions(&["--rejected", "0.2.1", "--to", "0.2.2"]),
        );
        assert!(
            said.contains(place) && said.contains(why),
            "{files:?} {said}"
        );
    }
    let env = by_hand(&[]);
    let bytes: Vec<u8> = latin
        .chars()
        .map(|c| u8::try_from(c).expect("Latin"))
        .collect();
    std::fs::write(env.path("repo/a.yaml"), bytes).expect("writes");
    commit(&env, &[]);
    let said = refused(&env, 3, &with_versions(&["--rejected", "0.2.1"]));
    assert!(
        said.contains("a.yaml:18") && said.contains("UTF-8"),
        "{said}"
    );
}

#[test]
fn two_releases_are_told_apart_by_name() {
    for (one, other) in [
        (
            flux("one", "haptic", "0.2.1", ""),
            flux("two", "haptic", "0.2.1", ""),
        ),
        (
            argo("one", "haptic", "0.2.1", ""),
            argo("two", "haptic", "0.2.1", ""),
        ),
    ] {
        let env = by_hand(&[("a/one.yaml", &one), ("b/two.yaml", &other)]);
        let said = refused(&env, 2, &with_versions(&["--rejected", "0.2.1"]));
        for word in [
            "`one`",
            "`two`",
            "haptic-scaffold recover RELEASE",
            "--context",
        ] {
            assert!(said.contains(word), "{said}");
        }
        let done = forward(&env, &["two"]);
        assert_eq!(
            changed(&env, branch(&done))
                .iter()
                .filter(|line| line.starts_with("= "))
                .collect::<Vec<_>>(),
            ["= .haptic-scaffold.yaml", "= b/two.yaml"]
        );
    }
}

/// The lines of the record.
fn record(date: &str) -> Vec<String> {
    let lines = ["+rejected:", "+  - chart: haptic", "+    version: 0.2.1"];
    let mut lines: Vec<String> = lines.map(str::to_owned).to_vec();
    lines.push(format!("+    date: \"{date}\""));
    lines
}

/// When the commits of the tests are made.
const DATE: &str = "2023-11-14T22:13:20Z";

#[test]
fn every_layout_gets_the_pin_and_the_record_and_nothing_else() {
    for (layout, file, more) in [
        (
            "flux-cluster",
            "apps/haptic/release/release.yaml",
            [].as_slice(),
        ),
        (
            "flux-cluster",
            "apps/haptic/release/release.yaml",
            &["--inline-values"],
        ),
        ("argo-cluster", "argocd/apps/haptic.yaml", &[]),
        ("flux-fleet", "apps/haptic/staging/release/pin.yaml", &[]),
        ("argo-fleet", "clusters/staging/haptic.yaml", &[]),
    ] {
        let env = scaffold(layout, more);
        let before = state(&env);
        let dry = forward(&env, &["--to", "0.2.2", "--dry-run"]);
        assert_eq!(state(&env), before, "{layout}");
        assert_eq!(dry["changes"][0]["commit"], Value::Null);
        let head = env.git("repo", &["rev-parse", "HEAD"]);
        let done = forward(&env, &["--to", "0.2.2"]);
        assert_eq!(env.git("repo", &["rev-parse", "HEAD"]), head);
        assert_eq!(env.git("repo", &["status", "--porcelain"]), "");
        let lines = changed(&env, branch(&done));
        let at = lines.iter().position(|line| *line == format!("= {file}"));
        let at = at.unwrap_or_else(|| panic!("{layout}: {lines:?}"));
        assert_eq!(lines.len(), at + 3, "{layout}: {lines:?}");
        assert!(lines[at + 1].starts_with('-'), "{lines:?}");
        assert_eq!(
            lines[at + 2].trim_start_matches('+'),
            lines[at + 1]
                .trim_start_matches('-')
                .replace("0.2.1", "0.2.2")
        );
        assert_eq!(lines[0], "= .haptic-scaffold.yaml");
        assert_eq!(lines[1..at], record(DATE), "{layout}");
        env.git("repo", &["fsck", "--strict"]);
        // Once more is the same commit; and so is the newest of the range.
        for to in ["0.2.2", "0.2.x"] {
            let again = forward(&env, &["--to", to]);
            let (one, other) = (&done["changes"][0], &again["changes"][0]);
            assert_eq!(one["branch"], other["branch"], "{layout}");
            if to == "0.2.2" {
                assert_eq!(one["commit"], other["commit"], "{layout}");
            }
        }
        // Merged, there is nothing left to do, and the rejected version isn't had again.
        env.git("repo", &["merge", "-q", "--no-edit", branch(&done)]);
        let after = match layout.ends_with("fleet") {
            true => forward(&env, &["--cluster", "staging"]),
            false => forward(&env, &[]),
        };
        assert_eq!(after["changes"], serde_json::json!([]), "{layout}: {after}");
    }
}

#[test]
fn a_repository_that_people_wrote_gets_a_file_that_remembers() {
    let text = flux("haptic", "haptic", "0.2.1", "");
    let env = by_hand(&[("deep/er/haptic.yaml", &text)]);
    let done = forward(&env, &["--author", "A Night Shift <night@example.org>"]);
    let lines = changed(&env, branch(&done));
    assert_eq!(
        lines[lines.len() - 3..],
        [
            "= deep/er/haptic.yaml",
            "-      version: '0.2.1'   # keep this",
            "+      version: '0.2.2'   # keep this"
        ]
    );
    let show = |path: &str| env.git("repo", &["show", &format!("{}:{path}", branch(&done))]);
    assert!(show(".haptic-scaffold.yaml").starts_with("# "), "new");
    let author = env.git("repo", &["log", "-1", "--format=%an <%ae>", branch(&done)]);
    assert_eq!(author, "A Night Shift <night@example.org>\n");
    assert_eq!(done["rejection"]["from"], "flag");
    assert_eq!(done["chosen"]["version"], "0.2.2");
    let people = env.expect(
        0,
        &[
            "-C",
            "repo",
            "recover",
            "--rejected",
            "0.2.1",
            "--versions",
            "versions.yaml",
            "--diff",
        ],
    );
    for word in [
        "on to 0.2.2",
        "next: git",
        " show haptic-scaffold/recover-haptic",
        "+      version: '0.2.2'",
    ] {
        assert!(people.stdout.contains(word), "{word}: {}", people.stdout);
    }
    // The nearest file that remembers is taken, and line ends stay as they are.
    let crlf = text.replace('\n', "\r\n");
    let env = by_hand(&[
        ("deep/er/haptic.yaml", &crlf),
        ("deep/.haptic-scaffold.yaml", "# ours\r\n"),
        (".haptic-scaffold.yaml", "# top\n"),
    ]);
    let done = forward(&env, &[]);
    let show = |path: &str| env.git("repo", &["show", &format!("{}:{path}", branch(&done))]);
    assert_eq!(show("deep/er/haptic.yaml"), crlf.replace("0.2.1", "0.2.2"));
    let remembered = show("deep/.haptic-scaffold.yaml");
    assert!(
        remembered.starts_with("# ours\r\nrejected:\r\n"),
        "{remembered:?}"
    );
    assert_eq!(
        remembered.matches('\n').count(),
        remembered.matches("\r\n").count()
    );
    assert_eq!(show(".haptic-scaffold.yaml"), "# top\n");
}

#[test]
fn a_bare_repository_and_a_folder_in_one_are_enough() {
    let env = scaffold("argo-cluster", &[]);
    env.git("", &["clone", "-q", "--bare", "repo", "bare.git"]);
    let arguments = [
        "-C",
        "bare.git",
        "recover",
        "--rejected",
        "0.2.1",
        "--to",
        "0.2.2",
        "--offline",
        "--output",
        "json",
    ];
    let done = env.expect(0, &arguments).json();
    let shown = env.git(
        "bare.git",
        &[
            "show",
            &format!("{}:argocd/apps/haptic.yaml", branch(&done)),
        ],
    );
    assert!(shown.contains("0.2.2"), "{shown}");

    let env = scaffold("flux-cluster", &["--path", "platform/web"]);
    let done = forward(&env, &[]);
    let lines = changed(&env, branch(&done));
    let files: Vec<&String> = lines.iter().filter(|line| line.starts_with("= ")).collect();
    assert_eq!(
        files,
        [
            "= platform/web/.haptic-scaffold.yaml",
            "= platform/web/apps/haptic/release/release.yaml"
        ]
    );
}

#[test]
fn another_chart_recovers_in_the_same_way() {
    let text = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: flux-system}\nspec: {url: https://charts.example.org/stable}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: front, namespace: flux-system}\nspec:\n  chart:\n    spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: charts}}\n";
    let env = by_hand(&[("front.yaml", text)]);
    for subject in ["web", "front", "https://charts.example.org/stable#web"] {
        let done = recover(
            &env,
            &[
                subject,
                "--rejected",
                "1.0.0",
                "--versions",
                "versions.yaml",
            ],
        );
        assert_eq!(
            done["changes"][0]["title"],
            "Recover web: 1.0.1 after 1.0.0 was rejected"
        );
        let said = body(&done);
        assert!(said.contains("flux reconcile source helm charts"), "{said}");
        assert!(!said.contains("haptic preflight"), "{said}");
    }
    let said = refused(&env, 3, &with_versions(&["--rejected", "1.0.0"]));
    assert!(said.contains("no pin of the chart `haptic`"), "{said}");
    let lower = refused(
        &env,
        3,
        &with_versions(&["web", "--rejected", "1.0.1", "--to", "1.0.0"]),
    );
    assert!(lower.contains("lower than 1.0.1"), "{lower}");
}

#[test]
fn the_work_of_a_colleague_on_the_branch_stays() {
    let env = scaffold("flux-cluster", &[]);
    let done = forward(&env, &["--to", "0.2.2"]);
    let name = branch(&done);
    env.git("repo", &["switch", "-q", name]);
    commit(&env, &[("note.txt", "mine\n")]);
    env.git("repo", &["switch", "-q", "main"]);
    let before = state(&env);
    let arguments = [
        "-C",
        "repo",
        "recover",
        "--rejected",
        "0.2.1",
        "--to",
        "0.3.0",
        "--versions",
        "versions.yaml",
    ];
    let run = env.expect(0, &arguments);
    assert!(
        run.stderr.contains("warning") && run.stderr.contains(name),
        "{}",
        run.stderr
    );
    assert_eq!(state(&env), before);
    // What stands on it counts all the same: no second request for the pin.
    let upgrade = ["-C", "repo", "upgrade", "--versions", "versions.yaml"];
    let said = env.expect(0, &upgrade).stdout;
    assert!(said.contains("waits for its recovery"), "{said}");
    assert_eq!(state(&env), before);
    // And one that is checked out isn't moved under somebody's feet.
    env.git("repo", &["branch", "-D", name]);
    let done = forward(&env, &["--to", "0.2.2"]);
    env.git("repo", &["switch", "-q", branch(&done)]);
    env.git("repo", &["branch", "-q", "-f", "main", "main"]);
    let run = env.run(&arguments);
    assert_ne!(run.code, 1, "{}", run.stderr);
    assert_eq!(env.git("repo", &["status", "--porcelain"]), "");
}

#[test]
fn a_way_back_by_revert_is_told_and_recovered_from() {
    let env = by_hand(&[("haptic.yaml", &flux("haptic", "haptic", "0.2.0", ""))]);
    commit(
        &env,
        &[("haptic.yaml", &flux("haptic", "haptic", "0.2.1", ""))],
    );
    commit(&env, &[("web.yaml", &flux("web", "web", "1.1.0", ""))]);
    env.git("repo", &["revert", "--no-edit", "HEAD~1"]);
    commit(&env, &[("web.yaml", &flux("web", "web", "1.0.0", ""))]);
    let arguments = [
        "-C",
        "repo",
        "pins",
        "--versions",
        "versions.yaml",
        "--output",
        "json",
    ];
    let run = env.expect(0, &arguments);
    let pins = run.json();
    let why = |chart: &str| {
        let pins = pins["pins"].as_array().into_iter().flatten();
        let mut pins = pins.filter(|pin| pin["chart"] == chart);
        pins.next()
            .map(|pin| pin["newest_why"].to_string())
            .expect("a pin")
    };
    assert!(
        why("haptic").contains("0.2.1") && why("haptic").contains("never goes back"),
        "{pins}"
    );
    assert!(
        !why("web").contains("1.1.0 until") && !why("web").contains("never goes back"),
        "{pins}"
    );
    let people = env.expect(0, &["-C", "repo", "pins", "--versions", "versions.yaml"]);
    let told = format!("{}{}", people.stdout, people.stderr);
    assert!(
        told.contains("haptic.yaml:16: it had 0.2.1 until"),
        "{told}"
    );
    assert!(!told.contains("web.yaml:16: it had"), "{told}");
    // The floor is what was tried, not what stands there now.
    let said = refused(&env, 2, &with_versions(&[]));
    assert!(
        said.contains("it was taken back") && said.contains("--rejected 0.2.1"),
        "{said}"
    );
    let done = forward(&env, &[]);
    assert_eq!(done["chosen"]["version"], "0.2.2");
    let lines = changed(&env, branch(&done));
    assert!(
        lines.contains(&"-      version: '0.2.0'   # keep this".to_owned()),
        "{lines:?}"
    );
    let lower = refused(
        &env,
        3,
        &with_versions(&["--rejected", "0.2.0", "--to", "0.2.1"]),
    );
    assert!(lower.contains("0.2.1"), "{lower}");
}

#[test]
fn upgrades_wait_while_a_recovery_isnt_merged() {
    let env = scaffold("flux-cluster", &[]);
    let upgrade = |more: &[&str], code: i32| {
        let mut arguments = vec!["-C", "repo", "upgrade", "--output", "json"];
        arguments.extend(["--versions", "versions.yaml"]);
        arguments.extend(more);
        env.expect(code, &arguments).json()
    };
    let done = forward(&env, &[]);
    let offered = upgrade(&[], 0);
    assert_eq!(offered["changes"], serde_json::json!([]), "{offered}");
    env.git("repo", &["merge", "-q", "--no-edit", branch(&done)]);
    let again = upgrade(&["haptic", "--to", "0.2.1"], 3);
    assert!(
        again["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("0.2.1")),
        "{again}"
    );
}

#[test]
fn what_the_team_decided_counts() {
    let text = flux("haptic", "haptic", "0.2.1", "");
    let env = by_hand(&[
        ("haptic.yaml", &text),
        (
            ".haptic-scaffold.yaml",
            "upgrade:\n  charts:\n    haptic: {hold: until the audit is over}\n",
        ),
    ]);
    let said = refused(&env, 3, &with_versions(&["--rejected", "0.2.1"]));
    assert!(
        said.contains("until the audit is over") && said.contains("haptic.yaml:16"),
        "{said}"
    );

    commit(
        &env,
        &[(
            ".haptic-scaffold.yaml",
            "upgrade:\n  charts:\n    haptic:\n      ignored: [{versions: 0.2.3, reason: eats data}]\nrejected:\n  - {chart: haptic, version: 0.2.4, reason: timeouts}\n",
        )],
    );
    env.write("versions.yaml", "haptic: [0.2.1, 0.2.2, 0.2.3, 0.2.4]\n");
    let done = forward(&env, &[]);
    assert_eq!(done["chosen"]["version"], "0.2.2");
    let why = done["chosen"]["why"].as_str().expect("a reason");
    assert!(
        why.contains("0.2.4") && why.contains("timeouts") && why.contains("0.2.3"),
        "{why}"
    );
    // Who names an ignored version has it; a rejected one nobody has.
    let done = forward(&env, &["--to", "0.2.3"]);
    assert_eq!(done["chosen"]["version"], "0.2.3");
    let said = refused(
        &env,
        3,
        &with_versions(&["--rejected", "0.2.1", "--to", "0.2.4"]),
    );
    assert!(said.contains("timeouts"), "{said}");
    // A policy of the one who runs it.
    env.write(
        "mine.yaml",
        "upgrade:\n  charts:\n    haptic: {hold: a freeze}\n",
    );
    let frozen = refused(
        &env,
        3,
        &with_versions(&["--rejected", "0.2.1", "--config", "mine.yaml"]),
    );
    assert!(frozen.contains("a freeze"), "{frozen}");
}

#[test]
fn other_clusters_of_a_fleet_are_told_or_move() {
    for (layout, files) in [
        (
            "flux-fleet",
            [
                "apps/haptic/staging/release/pin.yaml",
                "apps/haptic/prod/release/pin.yaml",
            ],
        ),
        (
            "argo-fleet",
            ["clusters/staging/haptic.yaml", "clusters/prod/haptic.yaml"],
        ),
    ] {
        let env = scaffold(layout, &[]);
        let moved = |done: &Value| -> Vec<Vec<String>> {
            let changes = done["changes"].as_array().into_iter().flatten();
            let pins = |one: &Value| -> Vec<String> {
                let lines = changed(&env, one["branch"].as_str().expect("a branch"));
                let files = lines.iter().filter_map(|line| line.strip_prefix("= "));
                let pins = files.filter(|file| *file != ".haptic-scaffold.yaml");
                pins.map(str::to_owned).collect()
            };
            changes.map(pins).collect()
        };
        let first = files[0].to_owned();
        let told = forward(&env, &["--others", "tell"]);
        assert_eq!(moved(&told), [vec![first.clone()]], "{layout}");
        assert_eq!(told["others"][0]["name"], "the release `haptic` in `prod`");
        assert!(body(&told).contains("`--others same`"), "{}", body(&told));
        let follow = forward(&env, &["--others", "follow"]);
        assert_eq!(
            moved(&follow),
            [vec![first.clone()], vec![files[1].to_owned()]],
            "{layout}"
        );
        // Two requests for one pin would be one too many, whichever comes first.
        let alone = |branch: &str, more: &[&str]| {
            let all = with_versions(&[&["--rejected", "0.2.1"], more].concat());
            let said = refused(&env, 3, &all);
            assert!(
                said.contains(&format!("`{branch}` moves the pin in")),
                "{said}"
            );
            env.git("repo", &["branch", "-qD", branch]);
        };
        alone(
            "haptic-scaffold/recover-haptic--prod",
            &["--others", "same"],
        );
        let same = forward(&env, &["--others", "same"]);
        let mut both = files.map(str::to_owned).to_vec();
        both.sort();
        assert_eq!(moved(&same), [both], "{layout}");
        alone(
            "haptic-scaffold/recover-haptic--staging",
            &["--cluster", "prod"],
        );
        let prod = forward(&env, &["--cluster", "prod"]);
        assert_eq!(moved(&prod), [vec![files[1].to_owned()]], "{layout}");
    }
}
