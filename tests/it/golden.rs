//! Golden folders: for each layout, certificate source and number of clusters, every byte of every file that `init` writes.
//!
//! `HAPTIC_SCAFFOLD_BLESS=1 cargo test golden` writes them anew; what changed is then for `git diff` to show.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::env::TestEnv;

/// A case: the folder below `tests/golden`, and the flags.
pub struct Case {
    pub name: String,
    pub flags: Vec<String>,
}

/// The CA that the external cases name: public, with a key that nobody has any more.
pub const CA: &str = include_str!("../golden/webhook-ca.pem");

/// A sealing certificate whose key nobody has any more.
pub const SEALING: &str = include_str!("../golden/sealing.pem");

/// A public age key whose private one nobody has any more.
pub const AGE_KEY: &str = "age13e9xvzj8nwga0cyx5lu0tqjrgnyy6f7zqrpjrvhz4r0xleagny6qyke323";

/// Where the repositories of all cases are said to be.
pub const REPO_URL: &str = "https://git.example.org/team/gitops.git";

/// Every layout x certificate source, fleets with one and three clusters, and the other forms once.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for layout in ["flux-cluster", "flux-fleet", "argo-cluster", "argo-fleet"] {
        for certificates in ["cert-manager", "external"] {
            let counts: &[(&str, &str)] = if layout.ends_with("fleet") {
                &[
                    ("-1", "production"),
                    ("-3", "staging,eu=production,us=production"),
                ]
            } else {
                &[("", "")]
            };
            for (suffix, clusters) in counts {
                cases.push(case(
                    &format!("{layout}{suffix}-{certificates}"),
                    layout,
                    &["--certificates", certificates],
                    clusters,
                ));
            }
        }
        let fleet = if layout.ends_with("fleet") {
            "staging,production"
        } else {
            ""
        };
        cases.push(case(
            &format!("{layout}-inline"),
            layout,
            &["--inline-values"],
            fleet,
        ));
        cases.push(case(
            &format!("{layout}-guide"),
            layout,
            &["--style", "guide", "--certificates", "external"],
            fleet,
        ));
        cases.push(case(
            &format!("{layout}-podinfo"),
            layout,
            &[
                "--chart",
                "podinfo",
                "--chart-repo",
                "oci://ghcr.io/stefanprodan/charts",
                "--path",
                "platform/web",
            ],
            fleet,
        ));
    }
    for (layout, operator) in [
        (
            "flux-cluster",
            &["--secrets-operator", "external-secrets"][..],
        ),
        ("argo-cluster", &[]),
    ] {
        let generated = [&["--secrets", "external-secrets"], operator].concat();
        cases.push(case(
            &format!("{layout}-external-secrets"),
            layout,
            &generated,
            "",
        ));
        let store = [
            "--secrets",
            "external-secrets",
            "--secret-store",
            "ClusterSecretStore/vault",
            "--secret-path",
            "team/haptic",
        ];
        let stored = [&store[..], &["--certificates", "external"]].concat();
        cases.push(case(
            &format!("{layout}-external-secrets-store"),
            layout,
            &stored,
            "",
        ));
    }
    for (layout, clusters) in [
        ("flux-cluster", ""),
        ("flux-fleet", "staging,production"),
        ("argo-cluster", ""),
        ("argo-fleet", "staging,production"),
    ] {
        let sops = ["--secrets", "sops", "--age-recipients", AGE_KEY];
        let sealed = [
            "--secrets",
            "sealed-secrets",
            "--sealing-certificate",
            "sealing.pem",
        ];
        for (name, flags) in [("sops", sops), ("sealed-secrets", sealed)] {
            if name == "sops" && layout.starts_with("argo") {
                continue;
            }
            cases.push(case(&format!("{layout}-{name}"), layout, &flags, clusters));
            let external = ["--certificates", "external", "--secret-files", "keys"];
            let flags = [&flags[..], &external].concat();
            cases.push(case(
                &format!("{layout}-{name}-external"),
                layout,
                &flags,
                clusters,
            ));
        }
    }
    cases.push(case(
        "flux-cluster-bootstrap",
        "flux-cluster",
        &["--sync", "bootstrap"],
        "",
    ));
    cases.push(case(
        "flux-cluster-oci-repository",
        "flux-cluster",
        &["--chart-source", "oci-repository"],
        "",
    ));
    cases.push(case(
        "argo-fleet-rolling",
        "argo-fleet",
        &["--set", "rolling_sync=true"],
        "staging,production",
    ));
    cases
}

fn case(name: &str, layout: &str, flags: &[&str], clusters: &str) -> Case {
    let mut all: Vec<String> = ["--layout", layout, "--yes", "--repo-url", REPO_URL]
        .map(str::to_owned)
        .into();
    all.extend(flags.iter().map(|flag| (*flag).to_owned()));
    if !flags.contains(&"--chart") {
        all.extend(["--chart-version".to_owned(), "0.2.2".to_owned()]);
    } else {
        all.extend(["--chart-version".to_owned(), "6.2.0".to_owned()]);
    }
    if flags.contains(&"external") && !flags.contains(&"--secret-files") {
        all.extend(["--webhook-ca".to_owned(), "webhook-ca.pem".to_owned()]);
    }
    if !clusters.is_empty() {
        all.extend(["--clusters".to_owned(), clusters.to_owned()]);
    }
    Case {
        name: name.to_owned(),
        flags: all,
    }
}

/// Runs `init` for a case into the folder `out`.
pub fn init(env: &TestEnv, case: &Case, more: &[&str]) {
    given(env);
    let mut arguments = vec!["init", "out"];
    arguments.extend(case.flags.iter().map(String::as_str));
    arguments.extend(more);
    env.expect(0, &arguments);
}

/// The files that the cases' flags name, and their `sops`.
pub fn given(env: &TestEnv) {
    env.write("webhook-ca.pem", CA);
    env.write("sealing.pem", SEALING);
    keys(env);
    fake_sops(env);
}

/// Puts the tests' certificates and keys into the folder `keys`.
pub fn keys(env: &TestEnv) {
    for (name, text) in files(&folder().join("keys")) {
        env.write(&format!("keys/{name}"), &text);
        env.mode(&format!("keys/{name}"), 0o600);
    }
}

/// Puts a program `sops` first on the PATH that hides every value and encrypts nothing: what the real one does is for the tests with real programs.
pub fn fake_sops(env: &TestEnv) {
    env.program_on_path("sops", FAKE_SOPS);
}

const FAKE_SOPS: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in --age) age=$2; shift;; esac
  shift
done
sed -E '/^data:/,$ s/^(  [A-Za-z._]+: ).*/\1ENC[not really]/'
printf 'sops:\n    age:\n        - recipient: %s\n    version: 0.0.0\n' "$age"
"#;

/// Every sealing differs, so what is sealed is cut out.
fn without_sealings(mut files: BTreeMap<String, String>) -> BTreeMap<String, String> {
    for (path, text) in &mut files {
        if path.ends_with(".sealed.yaml") {
            let lines = text.lines().map(|line| match line.split_once(": Ag") {
                Some((key, _)) => format!("{key}: Ag\n"),
                None => format!("{line}\n"),
            });
            *text = lines.collect();
        }
    }
    files
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The files of a folder by path, without `.git`.
pub fn files(folder: &Path) -> BTreeMap<String, String> {
    let walk = walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != ".git");
    walk.map(|entry| entry.expect("readable"))
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let path = entry
                .path()
                .strip_prefix(folder)
                .expect("below")
                .to_string_lossy()
                .replace('\\', "/");
            (path, std::fs::read_to_string(entry.path()).expect("text"))
        })
        .collect()
}

#[test]
fn every_case_writes_its_golden_folder_and_a_second_run_nothing() {
    let mut wrong = Vec::new();
    for case in cases() {
        let env = TestEnv::new();
        init(&env, &case, &[]);
        let written = without_sealings(files(&env.path("out")));
        let golden = folder().join(&case.name);
        if std::env::var_os("HAPTIC_SCAFFOLD_BLESS").is_some() {
            bless(&golden, &written);
        }
        let wanted = files(&golden);
        for path in written
            .keys()
            .chain(wanted.keys())
            .collect::<std::collections::BTreeSet<_>>()
        {
            if written.get(path) != wanted.get(path) {
                wrong.push(format!("{}/{path}", case.name));
            }
        }
        let head = env.git("out", &["rev-parse", "HEAD"]);
        init(&env, &case, &[]);
        assert_eq!(
            env.git("out", &["rev-parse", "HEAD"]),
            head,
            "{}: a second run commits",
            case.name
        );
        assert_eq!(
            env.git("out", &["status", "--porcelain"]),
            "",
            "{}: a second run leaves something",
            case.name
        );
    }
    assert!(
        wrong.is_empty(),
        "not as in tests/golden:\n{}",
        wrong.join("\n")
    );
}

fn bless(golden: &Path, written: &BTreeMap<String, String>) {
    let _ = std::fs::remove_dir_all(golden).is_err();
    for (path, text) in written {
        let path = golden.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("writes");
    }
}
