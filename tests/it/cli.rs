//! The command line: flags, variables, files, refusals with their exit codes, and what is printed.

use serde_json::{Value, json};

use crate::env::TestEnv;

const URL: &str = "https://git.example.org/team/gitops.git";

fn flux(env: &TestEnv, more: &[&str]) -> Value {
    let mut arguments = vec![
        "init",
        "out",
        "--provider",
        "flux",
        "--yes",
        "--output",
        "json",
    ];
    arguments.extend(more);
    env.expect(0, &arguments).json()
}

fn verdicts(json: &Value) -> Vec<(String, String)> {
    let files = json["changes"][0]["files"].as_array().expect("files");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    files
        .iter()
        .map(|file| (text(&file["verdict"]), text(&file["path"])))
        .collect()
}

fn paths_with(json: &Value, verdict: &str) -> Vec<String> {
    verdicts(json)
        .into_iter()
        .filter(|(found, _)| found == verdict)
        .map(|(_, path)| path)
        .collect()
}

#[test]
fn the_readme_command_ends_with_tree_commit_and_next_steps() {
    let env = TestEnv::new();
    let run = env.expect(
        0,
        &[
            "init",
            "demo",
            "--provider",
            "flux",
            "--chart-version",
            "0.2.2",
            "--yes",
        ],
    );
    let commit = env.git("demo", &["rev-parse", "HEAD"]);
    assert!(
        run.stdout
            .contains("└── clusters/\n    └── production/\n        └── haptic.yaml"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .contains(&format!("commit {} on main", commit.trim())),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .contains("next:\n  1. git -C demo remote add origin"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_second_run_is_one_line_and_changes_nothing() {
    let env = TestEnv::new();
    flux(&env, &[]);
    let run = env.expect(0, &["init", "out", "--provider", "flux", "--yes"]);
    assert_eq!(run.stdout, "nothing to do: `out` is as the answers say\n");
    let run = env.expect(0, &["-C", "out", "init", "--yes"]);
    assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
    assert_eq!(env.git("out", &["rev-list", "--count", "HEAD"]).trim(), "1");
}

#[test]
fn a_changed_answer_changes_only_the_files_that_depend_on_it() {
    let env = TestEnv::new();
    flux(&env, &["--repo-url", URL]);
    let json = flux(&env, &["--git-secret", "deploy-key"]);
    assert_eq!(
        paths_with(&json, "update"),
        [
            ".haptic-scaffold.lock",
            ".haptic-scaffold.yaml",
            "README.md",
            "clusters/production/sync.yaml"
        ]
    );
    assert_eq!(env.git("out", &["status", "--porcelain"]), "");
    let fleet = [
        "init",
        "fleet",
        "--layout",
        "flux-fleet",
        "--clusters",
        "a,b",
        "--yes",
        "--output",
        "json",
    ];
    env.expect(0, &fleet);
    let json = env
        .expect(
            0,
            &[
                "init",
                "fleet",
                "--clusters",
                "a,b,c",
                "--yes",
                "--output",
                "json",
            ],
        )
        .json();
    assert!(
        paths_with(&json, "create")
            .iter()
            .all(|path| path.contains("/c/")),
        "{json}"
    );
    let json = env
        .expect(
            0,
            &[
                "init",
                "fleet",
                "--clusters",
                "a,b",
                "--yes",
                "--output",
                "json",
            ],
        )
        .json();
    assert_eq!(paths_with(&json, "delete").len(), 5, "{json}");
    assert!(!env.path("fleet/clusters/c").exists());
}

#[test]
fn flags_come_before_variables_files_and_defaults() {
    let env = TestEnv::new()
        .var("HAPTIC_SCAFFOLD_NAMESPACE", "from-env")
        .var("HAPTIC_SCAFFOLD_RELEASE", "from-env");
    env.write(
        "answers.yaml",
        "release: from-file\nnamespace: from-file\nclusters: [from-file]\n",
    );
    flux(
        &env,
        &["--release", "from-flag", "--answers", "answers.yaml"],
    );
    let recorded = env.read("out/.haptic-scaffold.yaml");
    for line in [
        "release: from-flag",
        "namespace: from-env",
        "clusters: [from-file]",
        "certificates: cert-manager",
    ] {
        assert!(recorded.contains(line), "{line}\n{recorded}");
    }
}

#[test]
fn answers_come_from_standard_input_too() {
    let env = TestEnv::new();
    let program = env!("CARGO_BIN_EXE_haptic-scaffold");
    let run = env.program(
        program,
        &["init", "out", "--answers", "-"],
        "layout: flux-cluster\nrelease: edge\n",
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        env.read("out/apps/edge/release/release.yaml")
            .contains("releaseName: edge")
    );
    assert!(
        env.read("out/apps/edge/release/values.yaml")
            .contains("edge-haptic-gitops-credentials")
    );
}

#[test]
fn every_question_has_a_variable() {
    let env = TestEnv::new()
        .var("HAPTIC_SCAFFOLD_LAYOUT", "flux-cluster")
        .var("HAPTIC_SCAFFOLD_INLINE_VALUES", "1")
        .var("HAPTIC_SCAFFOLD_CHART_VERSION", "0.2.2")
        .var("HAPTIC_SCAFFOLD_YES", "true")
        .var("HAPTIC_SCAFFOLD_OUTPUT", "json");
    let json = env.expect(0, &["init", "out"]).json();
    assert_eq!(json["versions"], json!({"production": "0.2.2"}));
    assert!(!env.path("out/apps/haptic/release/values.yaml").exists());
}

/// Refusals: arguments, exit code, and words that say what to do.
#[test]
fn bad_input_is_refused_with_code_reason_and_next_step_and_nothing_is_written() {
    let env = TestEnv::new();
    env.write("unknown.yaml", "layout: flux-cluster\nrelase: x\n");
    env.write("twice.yaml", "release: a\nrelease: b\n");
    env.write("broken.yaml", "release: [a\n");
    env.write(
        "key.pem",
        "-----BEGIN PRIVATE KEY-----\nMAMCAQE=\n-----END PRIVATE KEY-----\n",
    );
    env.write("text.pem", "hello\n")
        .write("ca.pem", crate::golden::CA);
    env.write(
        "password.yaml",
        "credentials:\n  dataplane:\n    password: hunter2\n",
    );
    env.write("moved.yaml", "# ours\nwebhook:\n  enabled: true\n");
    env.write(
        "other.yaml",
        "controller:\n  webhook:\n    certManager:\n      enabled: false\n",
    );
    env.write("file", "");
    let external = ["--certificates", "external", "--webhook-ca"];
    let table: &[(i32, &[&str], &str)] = &[
        (
            3,
            &[
                "--provider",
                "flux",
                "--secrets",
                "external-secrets",
                "--secret-store",
                "vault",
            ],
            "--secret-store",
        ),
        (
            2,
            &["--provider", "flux", "--secret-store", "SecretStore/vault"],
            "no meaning here",
        ),
        (
            3,
            &[
                "--provider",
                "flux",
                "--secrets",
                "external-secrets",
                external[0],
                external[1],
                external[2],
                "ca.pem",
            ],
            "no store",
        ),
        (2, &[], "--provider flux"),
        (2, &["--provider", "helm"], "--provider flux"),
        (
            3,
            &["--layout", "flux-cluter"],
            "did you mean `flux-cluster`?",
        ),
        (2, &["--provider", "argo"], "--repo-url"),
        (2, &["--provider", "flux", "--sync", "own"], "--repo-url"),
        (
            2,
            &["--provider", "flux", "--set", "team=a"],
            "doesn't ask `team`",
        ),
        (
            2,
            &["--provider", "flux", "--set", "team"],
            "--set KEY=VALUE",
        ),
        (
            2,
            &["--provider", "argo", "--repo-url", URL, "--sync", "own"],
            "doesn't ask `sync`",
        ),
        (
            2,
            &["--provider", "flux", "--certificates", "external"],
            "--webhook-ca",
        ),
        (
            2,
            &["--provider", "flux", "--chart", "podinfo"],
            "--chart-repo",
        ),
        (
            3,
            &["--provider", "flux", "--release", "No_Name"],
            "--release",
        ),
        (
            3,
            &["--provider", "flux", "--clusters", "a,b"],
            "flux-fleet",
        ),
        (3, &["--layout", "flux-fleet", "--clusters", "a,a"], "twice"),
        (
            3,
            &["--provider", "flux", "--chart-version", "0.2.0-alpha.3"],
            "existingSecret",
        ),
        (
            3,
            &["--provider", "flux", "--chart-version", "0.1.0"],
            "0.2",
        ),
        (
            3,
            &["--provider", "flux", "--chart-version", "0.6.0"],
            "--chart-repo",
        ),
        (
            3,
            &["--provider", "flux", "--chart-version", "0.2.x"],
            "exact version",
        ),
        (
            3,
            &["--provider", "flux", "--chart-repo", "oci://bot:secret@h/x"],
            "credentials",
        ),
        (
            3,
            &["--provider", "flux", "--repo-url", "/srv/git/a.git"],
            "https://",
        ),
        (
            3,
            &["--provider", "flux", "--answers", "unknown.yaml"],
            "unknown.yaml:2: unknown key `relase`",
        ),
        (
            3,
            &["--provider", "flux", "--answers", "twice.yaml"],
            "release",
        ),
        (
            3,
            &["--provider", "flux", "--answers", "broken.yaml"],
            "broken.yaml",
        ),
        (
            3,
            &["--provider", "flux", "--answers", "absent.yaml"],
            "absent.yaml",
        ),
        (
            3,
            &[
                "--provider",
                "flux",
                external[0],
                external[1],
                external[2],
                "key.pem",
            ],
            "private key",
        ),
        (
            3,
            &[
                "--provider",
                "flux",
                external[0],
                external[1],
                external[2],
                "text.pem",
            ],
            "openssl x509",
        ),
        (
            3,
            &[
                "--provider",
                "flux",
                external[0],
                external[1],
                external[2],
                "absent.pem",
            ],
            "absent.pem",
        ),
        (
            3,
            &["--provider", "flux", "--values", "password.yaml"],
            "password.yaml:3",
        ),
        (
            3,
            &["--provider", "flux", "--values", "moved.yaml"],
            "moved.yaml:",
        ),
        (
            3,
            &["--provider", "flux", "--values", "other.yaml"],
            "other.yaml:4",
        ),
        (2, &["--provider", "flux", "--path", "../x"], "--path"),
        (2, &["--provider", "flux", "--author", "nobody"], "--author"),
        (2, &["--provider", "flux", "--nonsense"], "--nonsense"),
        (
            3,
            &[
                "--provider",
                "flux",
                "--release",
                "haptic-production-eu-central-1-blue",
                "--namespace",
                "ingress-production-eu-central-1",
            ],
            "shorter",
        ),
    ];
    for (code, flags, words) in table {
        let mut arguments = vec!["init", "out", "--yes"];
        arguments.extend(*flags);
        let run = env.expect(*code, &arguments);
        assert!(
            run.stderr.contains(words),
            "{flags:?}: no «{words}» in {}",
            run.stderr
        );
        assert!(run.stderr.contains("error: "), "{flags:?}: {}", run.stderr);
        assert!(!run.stderr.contains("hunter2"), "{flags:?}");
        assert!(!env.path("out").exists(), "{flags:?} wrote something");
        arguments.extend(["--output", "json"]);
        let json = env.expect(*code, &arguments).json();
        assert_eq!(
            (json["ok"].clone(), json["error"]["code"].clone()),
            (json!(false), json!(code)),
            "{flags:?}"
        );
    }
    let run = env.expect(3, &["init", "file", "--provider", "flux", "--yes"]);
    assert!(run.stderr.contains("it is a file"), "{}", run.stderr);
}

#[test]
fn a_file_in_the_way_stops_everything_unless_it_is_resolved() {
    let env = TestEnv::new();
    let namespace = "apps/haptic/secrets/namespace.yaml";
    env.write(&format!("out/{namespace}"), "mine\n")
        .write("out/src/main.c", "int main;\n");
    let arguments = ["init", "out", "--provider", "flux", "--yes"];
    let run = env.expect(11, &arguments);
    assert!(
        run.stdout.contains(&format!("conflict {namespace}")),
        "{}",
        run.stdout
    );
    assert!(run.stderr.contains("--on-conflict keep"), "{}", run.stderr);
    assert!(!env.path("out/.git").exists() && !env.path("out/clusters").exists());
    let json = env
        .expect(11, &[&arguments[..], &["--output", "json"]].concat())
        .json();
    assert_eq!(json["error"]["code"], 11);
    assert_eq!(paths_with(&json, "conflict"), [namespace]);
    env.expect(0, &[&arguments[..], &["--on-conflict", "keep"]].concat());
    assert_eq!(env.read(&format!("out/{namespace}")), "mine\n");
    assert_eq!(
        env.git("out", &["status", "--porcelain"]),
        format!("?? {namespace}\n?? src/\n")
    );
    let run = env.expect(0, &arguments);
    assert!(run.stdout.contains("nothing to do"), "{}", run.stdout);
    std::fs::remove_file(env.path("out/README.md")).expect("removes");
    let run = env.expect(0, &arguments);
    assert!(
        run.stdout.contains("left alone: README.md"),
        "{}",
        run.stdout
    );
    env.expect(0, &[&arguments[..], &["--on-conflict", "replace"]].concat());
    assert!(env.read("out/README.md").starts_with("# haptic under Flux"));
    env.write(&format!("again/{namespace}"), "mine\n");
    env.expect(
        0,
        &[
            "init",
            "again",
            "--provider",
            "flux",
            "--yes",
            "--on-conflict",
            "replace",
        ],
    );
    assert!(
        env.read(&format!("again/{namespace}"))
            .contains("kind: Namespace")
    );
}

#[test]
fn a_readme_of_somebody_elses_is_no_conflict() {
    let env = TestEnv::new();
    env.write("out/README.md", "our project\n");
    let run = env.expect(0, &["init", "out", "--provider", "flux", "--yes"]);
    assert!(
        run.stdout.contains("out/GITOPS.md has the commands"),
        "{}",
        run.stdout
    );
    assert_eq!(env.read("out/README.md"), "our project\n");
    assert!(env.read("out/GITOPS.md").starts_with("# haptic under Flux"));
    assert!(
        env.expect(0, &["init", "out", "--yes"])
            .stdout
            .contains("nothing to do")
    );
    env.expect(
        0,
        &[
            "init",
            "other",
            "--provider",
            "flux",
            "--readme",
            "docs/haptic.md",
            "--yes",
        ],
    );
    assert!(env.path("other/docs/haptic.md").exists());
}

#[test]
fn edited_files_are_left_alone_and_pins_stay_where_people_moved_them() {
    let env = TestEnv::new();
    flux(&env, &["--chart-version", "0.2.1"]);
    let release = "out/apps/haptic/release/release.yaml";
    env.write(
        release,
        &env.read(release)
            .replace("version: \"0.2.1\"", "version: \"0.2.2\"   # moved"),
    );
    let values = env.read("out/apps/haptic/release/values.yaml") + "haproxy:\n  replicaCount: 3\n";
    env.write("out/apps/haptic/release/values.yaml", &values);
    env.write("out/README.md", "our own page\n");
    env.git("out", &["commit", "-qam", "by hand"]);
    assert_eq!(flux(&env, &[])["changes"][0]["commit"], Value::Null);
    let json = flux(
        &env,
        &["--repo-url", URL, "--sync", "own", "--on-conflict", "keep"],
    );
    assert!(env.read(release).contains("version: \"0.2.2\"   # moved"));
    assert_eq!(env.read("out/apps/haptic/release/values.yaml"), values);
    assert_eq!(env.read("out/README.md"), "our own page\n");
    assert!(paths_with(&json, "create").contains(&"clusters/production/sync.yaml".to_owned()));
    let run = env.expect(3, &["init", "out", "--chart-version", "0.2.1", "--yes"]);
    assert!(
        run.stderr
            .contains("0.2.2 (apps/haptic/release/release.yaml:"),
        "{}",
        run.stderr
    );
    let run = env.expect(0, &["init", "out", "--chart-version", "0.5.0", "--yes"]);
    assert!(
        run.stderr.contains("the pin stays at 0.2.2"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_teams_values_are_kept_to_the_letter_and_wired_without_touching_a_line() {
    let env = TestEnv::new();
    let own =
        "# our values\ncontroller:\n    replicaCount: 3   # three\nvector: {enabled: false}\n";
    env.write("own.yaml", own);
    flux(&env, &["--values", "own.yaml", "--chart-version", "0.2.2"]);
    let written = env.read("out/apps/haptic/release/values.yaml");
    for line in own.lines() {
        assert!(
            written.lines().any(|found| found == line),
            "{line}\n{written}"
        );
    }
    let values: Value = serde_yaml::from_str(&written).expect("YAML");
    assert_eq!(
        values["controller"]["webhook"]["certManager"]["enabled"],
        true
    );
    assert_eq!(
        values["credentials"]["existingSecret"],
        "haptic-gitops-credentials"
    );
    assert_eq!(flux(&env, &[])["changes"][0]["commit"], Value::Null);
    let inline = [
        "init",
        "inline",
        "--provider",
        "flux",
        "--yes",
        "--inline-values",
    ];
    env.expect(0, &[&inline[..], &["--values", "own.yaml"]].concat());
    let run = env.expect(0, &inline);
    assert!(run.stdout.contains("nothing to do"), "{}", run.stdout);
    assert!(
        env.read("inline/apps/haptic/release/release.yaml")
            .contains("      replicaCount: 3   # three")
    );
}

#[test]
fn another_answer_for_values_that_were_edited_is_a_conflict_and_not_lost() {
    let env = TestEnv::new();
    env.write("ca.pem", crate::golden::CA);
    flux(&env, &[]);
    let external = ["--certificates", "external", "--webhook-ca", "ca.pem"];
    flux(&env, &external);
    assert!(
        env.read("out/apps/haptic/release/values.yaml")
            .contains("caBundle"),
        "still as written, so it follows"
    );
    let values = "out/apps/haptic/release/values.yaml";
    env.write(values, &(env.read(values) + "vector:\n  enabled: false\n"));
    let run = env.expect(
        11,
        &["init", "out", "--certificates", "cert-manager", "--yes"],
    );
    assert!(
        run.stdout
            .contains("conflict apps/haptic/release/values.yaml"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_dry_run_shows_the_verdicts_and_the_diff_and_writes_nothing() {
    let env = TestEnv::new();
    let run = env.expect(
        0,
        &[
            "init",
            "out",
            "--provider",
            "flux",
            "--yes",
            "--dry-run",
            "--diff",
        ],
    );
    assert!(run.stdout.contains("create   README.md"), "{}", run.stdout);
    assert!(
        run.stdout.contains("--- /dev/null\n+++ b/README.md"),
        "{}",
        run.stdout
    );
    assert!(!env.path("out").exists());
    let json = env
        .expect(
            0,
            &[
                "init",
                "out",
                "--provider",
                "flux",
                "--yes",
                "--dry-run",
                "--output",
                "json",
            ],
        )
        .json();
    assert_eq!(
        (
            json["dry_run"].clone(),
            json["changes"][0]["commit"].clone()
        ),
        (json!(true), Value::Null)
    );
}

#[test]
fn json_has_the_shape_that_scripts_rely_on() {
    let env = TestEnv::new();
    let json = flux(&env, &["--chart-version", "0.2.2"]);
    assert_eq!(json["schema"], "haptic-scaffold/init/v1");
    assert_eq!(
        (json["ok"].clone(), json["error"].clone()),
        (json!(true), Value::Null)
    );
    let change = &json["changes"][0];
    assert_eq!(
        (
            change["key"].clone(),
            change["branch"].clone(),
            change["request"].clone()
        ),
        (json!("init haptic"), json!("main"), Value::Null)
    );
    assert_eq!(
        change["commit"].as_str().expect("a commit"),
        env.git("out", &["rev-parse", "HEAD"]).trim()
    );
    for key in ["base", "title", "body", "labels"] {
        assert!(change.get(key).is_some(), "{key}");
    }
    assert!(change["files"][0]["why"].is_string());
}

#[test]
fn the_default_version_is_named_with_its_reason_and_latest_asks_the_registry() {
    let env = TestEnv::new();
    let run = env.expect(0, &["init", "out", "--provider", "flux", "--yes"]);
    assert!(
        run.stderr.contains("version 0.5.0: the newest"),
        "{}",
        run.stderr
    );
    let other = [
        "init",
        "other",
        "--provider",
        "flux",
        "--yes",
        "--chart",
        "web",
        "--chart-repo",
    ];
    let run = env.expect(4, &[&other[..], &["http://127.0.0.1:9/charts"]].concat());
    assert!(
        run.stderr.contains("--chart-version VERSION"),
        "{}",
        run.stderr
    );
    let server = helm_repository(
        "entries:\n  web:\n  - version: 1.2.0\n  - version: 2.0.0-rc.1\n  - version: 1.10.0\n",
    );
    env.expect(0, &[&other[..], &[&server]].concat());
    assert!(
        env.read("other/apps/web/release/release.yaml")
            .contains("version: \"1.10.0\"")
    );
}

/// A Helm repository on loopback that answers every request with one index.
fn helm_repository(index: &'static str) -> String {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]).is_err();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                index.len()
            );
            let _ = stream
                .write_all(format!("{head}{index}").as_bytes())
                .is_err();
        }
    });
    format!("http://{address}/charts")
}

#[test]
fn credentials_in_the_repositorys_address_reach_no_file() {
    let env = TestEnv::new();
    let run = env.expect(
        0,
        &[
            "init",
            "out",
            "--provider",
            "argo",
            "--repo-url",
            "https://bot:glpat-secret@git.example.org/a.git",
            "--yes",
        ],
    );
    assert!(run.stderr.contains("carries credentials"), "{}", run.stderr);
    for (path, text) in crate::golden::files(&env.path("out")) {
        assert!(!text.contains("glpat-secret"), "{path}");
    }
    assert!(
        env.read("out/argocd/apps/haptic.yaml")
            .contains("repoURL: https://git.example.org/a.git")
    );
}

#[test]
fn layouts_are_listed_explained_and_checked() {
    let env = TestEnv::new();
    let list = env.expect(0, &["layouts"]);
    assert_eq!(list.stdout.lines().count(), 4, "{}", list.stdout);
    for name in ["flux-cluster", "flux-fleet", "argo-cluster", "argo-fleet"] {
        assert!(list.stdout.contains(name));
        let shown = env.expect(0, &["layouts", "show", name]).stdout;
        assert!(
            shown.contains("Questions\n") && shown.contains("Files\n") && shown.contains("Order\n"),
            "{shown}"
        );
        assert!(!shown.contains("[=") && !shown.contains("[%"), "{shown}");
    }
    env.write("own/mine/layout.yaml", MINE).write(
        "own/templates/mine.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [= team | yaml =]\n",
    );
    assert!(
        env.expect(0, &["layouts", "check", "own"])
            .stdout
            .contains("good: mine")
    );
    assert!(
        env.expect(0, &["layouts", "--layouts", "own"])
            .stdout
            .contains("mine")
    );
    env.expect(
        0,
        &[
            "init",
            "out",
            "--layout",
            "mine",
            "--layouts",
            "own",
            "--set",
            "team=edge",
            "--chart",
            "web",
            "--chart-repo",
            "oci://h.example.org/x",
            "--chart-version",
            "1.0.0",
            "--yes",
        ],
    );
    assert!(env.read("out/teams/edge.yaml").contains("name: edge"));
    assert!(env.read("out/.haptic-scaffold.yaml").contains("team: edge"));
}

const MINE: &str = "title: Mine
about: One file.
provider: flux
clusters: one
questions:
  - name: chart
  - name: chart_repo
  - name: release
  - name: namespace
  - name: clusters
    default: [one]
  - name: team
    type: text
    pattern: ^[a-z]+$
    help: The team.
files:
  - path: 'teams/[= team =].yaml'
    what: the team
    template: mine.yaml
    objects: [ConfigMap]
";

#[test]
fn faults_of_a_layout_are_named() {
    let good = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [= team | yaml =]\n";
    let table = [
        (MINE.to_owned(), "a: [= nothing =]\n", "mine.yaml:1"),
        (MINE.to_owned(), "a: 1\na: 2\n", "not valid YAML"),
        (
            MINE.to_owned(),
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\n",
            "claims the objects ConfigMap, and has Secret",
        ),
        (
            MINE.to_owned(),
            "kind: ConfigMap\nmetadata: {}\n",
            "no name",
        ),
        (MINE.to_owned(), "v: [= release =]\n", "not safe in YAML"),
        (
            MINE.replace("teams/[= team =].yaml", "../[= team =].yaml"),
            good,
            "leaves the repository",
        ),
        (
            MINE.replace("teams/[= team =].yaml", ".git/[= team =]"),
            good,
            "enters a `.git` folder",
        ),
        (
            MINE.to_owned()
                + "  - path: 'teams/[= team =].yaml'\n    what: again\n    template: mine.yaml\n",
            good,
            "two outputs go to",
        ),
        (
            MINE.to_owned() + "order:\n  - object: ConfigMap/absent\n    says: x\n",
            good,
            "no file has it",
        ),
        (
            MINE.replace("type: text\n    pattern", "type: words\n    pattern"),
            good,
            "words",
        ),
        (MINE.replace("title:", "titel:"), good, "titel"),
        (
            MINE.replace("template: mine.yaml", "template: absent.yaml"),
            good,
            "absent.yaml",
        ),
    ];
    for (layout, template, words) in table {
        let env = TestEnv::new();
        env.write("own/mine/layout.yaml", &layout)
            .write("own/templates/mine.yaml", template);
        let run = env.expect(3, &["layouts", "check", "own"]);
        assert!(run.stderr.contains(words), "no «{words}» in {}", run.stderr);
    }
    let env = TestEnv::new();
    env.write("empty/x", "");
    env.expect(3, &["layouts", "check", "empty"]);
    env.expect(3, &["layouts", "show", "nothing"]);
}

#[test]
fn the_schema_accepts_what_init_writes_and_knows_every_question() {
    let env = TestEnv::new();
    let schema: Value = serde_json::from_str(&env.expect(0, &["schema"]).stdout).expect("JSON");
    let answers = schema["$defs"]["RecordedAnswers"]["properties"]
        .as_object()
        .expect("properties");
    let catalog = haptic_scaffold::layout::catalog::Catalog::embedded();
    for question in catalog.standard_questions() {
        assert!(
            answers.contains_key(&question.name),
            "{} is not in the schema",
            question.name
        );
    }
    let json = env.expect(0, &["schema", "--output", "json"]).json();
    assert_eq!(json["json_schema"], schema);
}

#[test]
fn a_closed_pipe_and_quiet_are_no_errors() {
    let env = TestEnv::new();
    let run = env.program(
        "sh",
        &[
            "-c",
            &format!(
                "{} layouts show flux-fleet | head -1",
                env!("CARGO_BIN_EXE_haptic-scaffold")
            ),
        ],
        "",
    );
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let run = env.expect(0, &["init", "out", "--provider", "flux", "--yes", "-q"]);
    assert_eq!(run.stderr, "");
}

#[test]
fn common_flags_do_what_they_say() {
    let env = TestEnv::new();
    env.write(
        "elsewhere.yaml",
        "answers:\n  layout: flux-cluster\n  release: edge\n",
    );
    let run = env.expect(
        0,
        &[
            "init",
            "out",
            "--config",
            "elsewhere.yaml",
            "--yes",
            "--color",
            "always",
            "--verbose",
        ],
    );
    assert!(
        env.read("out/.haptic-scaffold.yaml")
            .contains("release: edge")
    );
    assert!(run.stderr.contains("HAPTIC 0.5.0"), "{}", run.stderr);
    let run = env.expect(2, &["init", "other", "--color", "always"]);
    assert!(run.stderr.contains("\u{1b}["), "{}", run.stderr);
    let run = env.expect(2, &["init", "other", "--color", "never", "--quiet"]);
    assert!(!run.stderr.contains('\u{1b}'), "{}", run.stderr);
    env.expect(
        0,
        &[
            "init",
            "argo",
            "--provider",
            "argo",
            "--repo-url",
            URL,
            "--argocd-namespace",
            "openshift-gitops",
            "--branch",
            "trunk",
            "--secrets",
            "manual",
            "--yes",
        ],
    );
    let root = env.read("argo/argocd/bootstrap/root.yaml");
    assert!(
        root.contains("namespace: openshift-gitops") && root.contains("targetRevision: trunk"),
        "{root}"
    );
    assert_eq!(
        env.git("argo", &["branch", "--show-current"]).trim(),
        "trunk"
    );
}
