//! Every place where a chart's version stands: found, and moved alone.

use std::collections::BTreeSet;
use std::path::Path;

use haptic_scaffold::model::repo_path::RepoPath;
use haptic_scaffold::pins::{Findings, Form, Pin, edit, join, look, may_have_pins};
use serde_json::Value;

use crate::env::TestEnv;
use crate::golden::files;

/// The repository with one pin for each place.
fn demo() -> Vec<(RepoPath, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pins/demo");
    files(&folder)
        .into_iter()
        .map(|(path, text)| (RepoPath::parse(&path).expect("a path"), text))
        .collect()
}

fn pins(files: &[(RepoPath, String)]) -> Vec<Pin> {
    let wanted = files
        .iter()
        .filter(|(path, text)| may_have_pins(path.name(), text.as_bytes()));
    let found: Vec<Findings> = wanted.map(|(path, text)| look(path, text)).collect();
    join(found).pins
}

/// The places that have to be found: file, version, and whether the version is a part of a scalar.
fn places() -> Vec<(String, String)> {
    let list = include_str!("../pins/demo.json");
    let list: Vec<Value> = serde_json::from_str(list).expect("a list");
    let text = |row: &Value, key: &str| row[key].as_str().expect("a text").to_owned();
    list.iter()
        .map(|row| (text(row, "file"), text(row, "value")))
        .collect()
}

#[test]
fn every_place_of_the_demo_is_found_where_it_stands() {
    let demo = demo();
    let pins = pins(&demo);
    let found: BTreeSet<(String, String)> = pins
        .iter()
        .map(|pin| (pin.file.to_string(), pin.value.clone()))
        .collect();
    let missed: Vec<_> = places()
        .into_iter()
        .filter(|place| !found.contains(place))
        .collect();
    assert_eq!(missed, []);
    assert_eq!(places().len(), 70);
    for pin in &pins {
        let (_, text) = demo
            .iter()
            .find(|(path, _)| *path == pin.file)
            .expect("a file");
        let line = text.lines().nth(pin.line - 1).expect("a line");
        let rest: String = line.chars().skip(pin.column - 1).collect();
        let rest = rest.trim_start_matches(['"', '\'']);
        assert!(rest.starts_with(&pin.value), "{pin:?}: {line}");
    }
}

#[test]
fn each_pin_moves_alone() {
    let demo = demo();
    for pin in pins(&demo) {
        let (path, text) = demo
            .iter()
            .find(|(path, _)| *path == pin.file)
            .expect("a file");
        let new = match pin.form {
            Form::Digest => format!("sha256:{}", "a".repeat(64)),
            Form::Range => ">=9.0.0 <10.0.0".to_owned(),
            _ if pin.value.len() == 40 => "b".repeat(40),
            _ => "9.8.7".to_owned(),
        };
        let edited = edit(path, text, &pin, &new)
            .unwrap_or_else(|why| panic!("{path}: {} ({}): {why}", pin.value, pin.place));
        let (before, after) = (&text[..pin.span.start], &text[pin.span.end..]);
        assert!(
            edited.starts_with(before) && edited.ends_with(after),
            "{path}"
        );
        let middle = &edited[before.len()..edited.len() - after.len()];
        assert_eq!(middle, text[pin.span.clone()].replace(&pin.value, &new));
    }
}

fn shown(env: &TestEnv, more: &[&str], code: i32) -> Value {
    let mut arguments = vec!["-C", "repo", "pins", "--output", "json"];
    arguments.extend(more);
    env.expect(code, &arguments).json()
}

fn repo() -> TestEnv {
    let env = TestEnv::new();
    for (path, text) in demo() {
        env.write(&format!("repo/{path}"), &text);
    }
    env.git("repo", &["init", "-q", "-b", "main"]);
    env
}

#[test]
fn pins_are_shown_with_what_is_newer() {
    let env = repo();
    env.write(
        "versions.json",
        r#"{"haptic": ["1.33.1", {"version": "1.34.0"}, "1.33.2-rc.1"], "other": ["9.0.0"],
            "oci://registry.example.test/charts/haptic": ["1.31.4"], "neighbour": [], "both": [], "digonly": [], "ranged": []}"#,
    );
    let all = shown(&env, &["--offline"], 0);
    assert_eq!(all["pins"].as_array().map(Vec::len), Some(71));
    assert_eq!(all["unread"].as_array().map(Vec::len), Some(1));
    let versions = ["--versions", "versions.json"];
    let argo = shown(&env, &[&versions[..], &["argo/app-helm.yaml"]].concat(), 0);
    let pin = &argo["pins"][0];
    assert_eq!(pin["value"], "1.33.0");
    assert_eq!(pin["newest"], "1.33.1");
    assert_eq!(pin["source"], "https://charts.example.test#haptic");
    let outdated = shown(
        &env,
        &[&versions[..], &["--outdated", "--exit-code"]].concat(),
        10,
    );
    let values: Vec<&str> = outdated["pins"]
        .as_array()
        .expect("pins")
        .iter()
        .filter_map(|pin| pin["value"].as_str())
        .collect();
    assert_eq!(values, ["1.33.0", "1.31.0", "1.32.0"]);
    let one = shown(&env, &["--offline", "--chart", "neighbour"], 0);
    assert_eq!(one["pins"][0]["file"], "flux/multidoc-one-bad.yaml");
    let unknown = shown(&env, &["--versions", "empty.json"], 3);
    assert_eq!(unknown["ok"], false);
    env.write("empty.json", "{}");
    assert_eq!(
        shown(&env, &["--versions", "empty.json"], 4)["pins"]
            .as_array()
            .map(Vec::len),
        Some(71)
    );
}

#[test]
fn a_revision_is_read_without_a_checkout() {
    let env = repo();
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "Demo"]);
    env.git("repo", &["rm", "-rq", "flux", "argo"]);
    let here = shown(&env, &["--offline"], 0);
    let before = shown(&env, &["--offline", "--rev", "HEAD"], 0);
    assert_eq!(before["pins"].as_array().map(Vec::len), Some(71));
    assert_ne!(here["pins"], before["pins"]);
    shown(&env, &["--offline", "--rev", "nowhere"], 2);
    env.git("repo", &["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = env.expect(
        0,
        &["-C", "bare.git", "pins", "--offline", "--output", "json"],
    );
    assert_eq!(bare.json()["pins"], before["pins"]);
}

#[test]
fn a_version_that_no_place_of_a_chart_reads_is_no_pin() {
    let env = TestEnv::new();
    env.write(
        "repo/package.json",
        "{\"name\": \"web\", \"version\": \"1.0.0\"}\n",
    );
    env.write(
        "repo/values.yaml",
        "version: 1.0.0\napp: {version: 2.0.0}\n",
    );
    env.write(
        "repo/appset.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec:\n  generators:\n    - list:\n        elements:\n          - {version: 1.5.0, other: 1.2.3}\n  template:\n    spec:\n      source: {repoURL: https://charts.example.org, chart: web, targetRevision: '{{.version}}'}\n",
    );
    env.git("repo", &["init", "-q"]);
    let pins = shown(&env, &["--offline"], 0);
    let values: Vec<&str> = pins["pins"]
        .as_array()
        .expect("pins")
        .iter()
        .filter_map(|pin| pin["value"].as_str())
        .collect();
    assert_eq!(values, ["1.5.0"]);
    assert_eq!(pins["pins"][0]["source"], "https://charts.example.org#web");
}

#[test]
fn odd_files_end_neither_the_run_nor_the_machine() {
    let env = TestEnv::new();
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\n";
    let folded = format!(
        "{release}spec: {{chart: {{spec: {{chart: a}}}}}}\n---\n{release}spec:\n  chart:\n    spec:\n      chart: a\n      version: >-\n        ${{v:=1.0.0}}\n"
    );
    env.write("repo/folded.yaml", &folded);
    env.write(
        "repo/loop.yaml",
        "version: 1.0.0\na: &a\n  b: *a\n  <<: *a\n",
    );
    let mut laughs = "version: 1.0.0\na0: &a0 {version: 1.0.0}\n".to_owned();
    for n in 1..12 {
        let before = format!("*a{}", n - 1);
        let all = [before.as_str(); 6].join(", ");
        laughs.push_str(&format!("a{n}: &a{n} {{x: [{all}], <<: [{all}]}}\n"));
    }
    env.write("repo/values-laughs.yaml", &laughs);
    env.write("repo/patch/kustomization.yaml", "patches:\n  - target: {kind: HelmRelease, name: a}\n    patch: \"- op: replace\\n  path: /spec/chart/spec/version\\n  value: 2.0.0\\n\"\n");
    env.write("repo/helmfile.d/web.yaml", "repositories: [{name: r, url: oci://ghcr.io/o, oci: true}]\nreleases: [{name: a, chart: r/a, version: 3.0.0}]\n");
    env.write("repo/chart/templates/app.yaml", "{{/* targetRevision: 0.1.0 */}}\nspec:\n  source:\n    chart: a\n    repoURL: https://r.example.org\n    targetRevision: {{ .Values.charts.a }}\n");
    env.write("repo/chart/values.yaml", "charts:\n  a: 4.0.0\n");
    env.git("repo", &["init", "-q"]);
    let all = shown(&env, &["--offline"], 0);
    let found: BTreeSet<(&str, &str)> = all["pins"]
        .as_array()
        .expect("pins")
        .iter()
        .filter_map(|pin| {
            Some((
                pin["value"].as_str()?,
                pin["source"].as_str().unwrap_or_default(),
            ))
        })
        .collect();
    for wanted in [
        ("1.0.0", ""),
        ("2.0.0", ""),
        ("3.0.0", "oci://ghcr.io/o/a"),
        ("4.0.0", "https://r.example.org#a"),
    ] {
        assert!(found.contains(&wanted), "{wanted:?}: {found:?}");
    }
    assert_eq!(found.len(), 4, "{found:?}");
    shown(&env, &["--offline", "nowhere"], 2);
    let below = env.expect(
        0,
        &[
            "-C",
            "repo/chart",
            "pins",
            "--offline",
            ".",
            "--output",
            "json",
        ],
    );
    assert_eq!(below.json()["pins"].as_array().map(Vec::len), Some(1));
}

#[test]
fn logins_in_addresses_are_told_and_never_shown() {
    let env = TestEnv::new();
    env.write(
        "repo/x/Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies:\n- {name: bar, version: 1.0.0, repository: 'https://u:secretpw@p.example.org/x?token=zzz'}\n",
    );
    env.write("repo/a.yaml", "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: r, namespace: x}\nspec: {url: 'https://u:secretpw@h.example.org/${team}'}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: app, namespace: x}\nspec: {chart: {spec: {chart: foo, version: 1.0.0, sourceRef: {kind: HelmRepository, name: r}}}}\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x}\nspec:\n  source: {repoURL: 'https://u:ghp_secret@git.example.org/x/y.git', targetRevision: v1.0.0, path: .}\n");
    env.git("repo", &["init", "-q", "-b", "main"]);
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "Start"]);
    env.write("versions.json", r#"{"bar": ["2.0.0"], "foo": ["2.0.0"]}"#);
    for command in ["pins", "upgrade"] {
        for more in [&["--output", "json"][..], &[]] {
            let mut arguments = vec!["-C", "repo", command, "--versions", "versions.json"];
            arguments.extend(more);
            let run = env.expect(0, &arguments);
            for text in [&run.stdout, &run.stderr] {
                for secret in ["secretpw", "ghp_secret", "zzz"] {
                    assert!(!text.contains(secret), "{arguments:?}: {text}");
                }
            }
        }
    }
    let run = env.expect(0, &["-C", "repo", "pins", "--offline", "--output", "json"]);
    let said = run.json();
    let sources: Vec<&str> = said["pins"]
        .as_array()
        .expect("pins")
        .iter()
        .filter_map(|pin| pin["source"].as_str())
        .collect();
    assert_eq!(
        sources,
        ["https://git.example.org/x/y.git", "https://p.example.org/x"]
    );
    assert_eq!(
        run.stderr.matches("its address carries a login").count(),
        2,
        "{}",
        run.stderr
    );
}

#[test]
fn texts_of_files_do_nothing_on_a_terminal() {
    let env = TestEnv::new();
    env.write("repo/a.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x}\nspec: {source: {repoURL: https://p.example.org, chart: \"foo\\e[2Jx\\nfake.yaml:1:1: foo 9.9.9\", targetRevision: \"1.0.0\"}}\n");
    env.git("repo", &["init", "-q", "-b", "main"]);
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "Start"]);
    env.write("versions.json", "{}");
    for command in ["pins", "upgrade"] {
        let run = env.expect(4, &["-C", "repo", command, "--versions", "versions.json"]);
        for text in [&run.stdout, &run.stderr] {
            assert!(!text.contains('\u{1b}'), "{text}");
            assert!(
                !text.lines().any(|line| line.starts_with("fake.yaml")),
                "{text}"
            );
        }
    }
    let run = env.expect(0, &["-C", "repo", "pins", "--offline"]);
    let text = env.read("repo/a.yaml").replace("foo\\e[2J", r"foo\x9b2J");
    env.write("repo/a.yaml", &text);
    let json = env.expect(0, &["-C", "repo", "pins", "--offline", "--output", "json"]);
    assert!(!json.stdout.contains('\u{9b}'), "{}", json.stdout);
    let chart = &json.json()["pins"][0]["chart"];
    assert_eq!(chart, "foo\u{9b}2Jx\nfake.yaml:1:1: foo 9.9.9");
    assert!(
        run.stdout.contains(r"foo\u{1b}[2Jx\u{a}fake.yaml"),
        "{}",
        run.stdout
    );
}

#[test]
fn what_git_ignores_is_no_pin_unless_it_is_committed() {
    let env = TestEnv::new();
    let chart = "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies:\n- {name: web, version: 1.0.0, repository: 'https://charts.example.org'}\n";
    for folder in ["own", "new", "kept", "charts/foo", ".terraform/modules/x"] {
        env.write(&format!("repo/{folder}/Chart.yaml"), chart);
    }
    env.write("repo/.terraform/modules/y/.git/HEAD", "x");
    env.write("repo/.gitignore", "/charts/\n.terraform/\nkept/\n");
    env.git("repo", &["init", "-q", "-b", "main"]);
    env.git("repo", &["add", "own", ".gitignore"]);
    env.git("repo", &["add", "-f", "kept"]);
    let said = shown(&env, &["--offline"], 0);
    let files: Vec<&str> = said["pins"]
        .as_array()
        .expect("pins")
        .iter()
        .filter_map(|pin| pin["file"].as_str())
        .collect();
    assert_eq!(
        files,
        ["kept/Chart.yaml", "new/Chart.yaml", "own/Chart.yaml"]
    );
    assert_eq!(said["unread"].as_array().map(Vec::len), Some(0), "{said:#}");
}

#[test]
fn what_is_not_read_is_told_and_ends_nothing() {
    let env = TestEnv::new();
    let chart = "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies:\n- {name: web, version: 1.0.0, repository: 'https://charts.example.org'}\n";
    for folder in ["own", "locked", "closed"] {
        env.write(&format!("repo/{folder}/Chart.yaml"), chart);
    }
    env.write("other/Chart.yaml", chart);
    for repo in ["repo", "other"] {
        env.git(repo, &["init", "-q", "-b", "main"]);
        env.git(repo, &["add", "."]);
        env.git(repo, &["commit", "-qm", "Start"]);
    }
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../other",
        "sub",
    ];
    env.git("repo", &add);
    env.git("repo", &["commit", "-qm", "A submodule"]);
    let large = std::fs::File::create(env.path("repo/large.yaml")).expect("a file");
    large.set_len(65 << 20).expect("sparse");
    env.mode("repo/locked/Chart.yaml", 0o000);
    env.mode("repo/closed", 0o000);
    // Who may read everything finds nothing closed.
    let is_root = std::fs::read(env.path("repo/locked/Chart.yaml")).is_ok();
    let said = shown(&env, &["--offline"], 0);
    env.mode("repo/closed", 0o755);
    let told: Vec<(&str, &str)> = said["unread"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|unread| Some((unread["file"].as_str()?, unread["why"].as_str()?)))
        .collect();
    let submodule = ("sub", "a submodule: another repository");
    let large = ("large.yaml", "it is larger than 64 MiB");
    match is_root {
        true => assert_eq!(told, [large, submodule]),
        false => {
            let denied = "it can't be opened: Permission denied (os error 13)";
            assert_eq!(
                told,
                [
                    ("closed", denied),
                    large,
                    ("locked/Chart.yaml", denied),
                    submodule
                ]
            );
        }
    }
    let pins = said["pins"].as_array().map(Vec::len);
    assert_eq!(pins, Some(if is_root { 3 } else { 1 }));
    // A submodule that isn't there, and the same in a revision.
    env.git("repo", &["submodule", "--quiet", "deinit", "-f", "sub"]);
    for more in [&["--offline", "sub"][..], &["--offline", "--rev", "HEAD"]] {
        let said = shown(&env, more, 0);
        let unread = said["unread"].as_array().expect("a list");
        assert!(
            unread
                .iter()
                .any(|one| one["file"] == "sub" && one["why"] == submodule.1),
            "{said:#}"
        );
    }
}

#[test]
fn a_chart_or_a_path_that_is_not_there_is_a_mistake() {
    let env = repo();
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "Demo"]);
    env.git("repo", &["rm", "-rq", "flux"]);
    env.git("repo", &["clone", "-q", "--bare", ".", "../bare.git"]);
    env.write("other/a.yaml", "");
    let refused = |arguments: &[&str], why: &str| {
        let arguments = [&["pins", "--offline"][..], arguments].concat();
        let run = env.expect(2, &arguments);
        assert!(run.stderr.contains(why), "{arguments:?}: {}", run.stderr);
    };
    refused(
        &["-C", "repo", "--chart", "podnfo", "--exit-code"],
        "no pin is of a chart `podnfo`",
    );
    refused(
        &["-C", "repo", "flux"],
        "there is no `flux` in the repository",
    );
    refused(
        &["-C", "repo", "../other"],
        "there is no `../other` in the repository",
    );
    refused(
        &["-C", "repo", "--rev", "main", "nosuch"],
        "there is no `nosuch` in the revision `main`",
    );
    refused(
        &["-C", "repo", "--rev", "main", "../other"],
        "there is no `../other` in the revision",
    );
    refused(
        &["-C", "repo", "--rev", "main", "flux/../nosuch"],
        "there is no `flux/../nosuch`",
    );
    refused(
        &["-C", "bare.git", "nosuch"],
        "there is no `nosuch` in the repository",
    );
    let count = |arguments: &[&str]| {
        let arguments = [&["pins", "--offline", "--output", "json"][..], arguments].concat();
        env.expect(0, &arguments).json()["pins"]
            .as_array()
            .map(Vec::len)
    };
    let flux = count(&["-C", "repo", "--rev", "main", "flux"]);
    assert!(flux > Some(1), "{flux:?}");
    assert_eq!(
        count(&["-C", "repo", "--rev", "main", "./argo/../flux/"]),
        flux
    );
    assert_eq!(
        count(&["-C", "repo/argo", "--rev", "main", "../flux"]),
        flux
    );
    assert_eq!(count(&["-C", "bare.git", "flux"]), flux);
    assert_eq!(count(&["-C", "repo", "--rev", "main", "."]), Some(71));
    let by_address = [
        "-C",
        "repo",
        "--chart",
        "https://charts.example.test#haptic",
    ];
    assert!(count(&by_address) > Some(0));
}
