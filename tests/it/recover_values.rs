//! `recover --values`: corrected values go where the release's values stand, every other byte stays, and what would be refused again is refused here.

use serde_json::Value;

use crate::charts::{archive, oci_folder};
use crate::env::TestEnv;
use crate::recover::{
    argo, body, branch, by_hand, changed, commit, flux, forward, refused, scaffold,
};

pub const FIX: &str = "controller:\n  replicas: 3\n  webhook:\n    certManager: {enabled: false}\n";

pub fn with_values(env: &TestEnv, values: &str, more: &[&str]) -> Value {
    env.write("fix.yaml", values);
    let mut arguments = vec!["--values", "fix.yaml"];
    arguments.extend(more);
    forward(env, &arguments)
}

/// The lines of a change, without those of the record.
pub fn without_record(lines: &[String]) -> Vec<&str> {
    let mut kept: Vec<&str> = Vec::new();
    let mut is_record = false;
    for line in lines {
        if line.starts_with("= ") {
            is_record = line == "= .haptic-scaffold.yaml";
        }
        if !is_record {
            kept.push(line);
        }
    }
    kept
}

#[test]
fn values_go_into_the_releases_own_place_in_every_layout() {
    let table: [(&str, &[&str], &str); 8] = [
        ("flux-cluster", &[], "apps/haptic/release/values.yaml"),
        (
            "flux-cluster",
            &["--inline-values"],
            "apps/haptic/release/release.yaml",
        ),
        ("argo-cluster", &[], "apps/haptic/values.yaml"),
        (
            "argo-cluster",
            &["--inline-values"],
            "argocd/apps/haptic.yaml",
        ),
        ("flux-fleet", &[], "apps/haptic/staging/release/values.yaml"),
        (
            "flux-fleet",
            &["--inline-values"],
            "apps/haptic/staging/release/pin.yaml",
        ),
        ("argo-fleet", &[], "clusters/staging/haptic-values.yaml"),
        (
            "argo-fleet",
            &["--inline-values"],
            "clusters/staging/haptic-values.yaml",
        ),
    ];
    for (layout, more, file) in table {
        let env = scaffold(layout, more);
        let before = env.read(&format!("repo/{file}"));
        let done = with_values(&env, FIX, &[]);
        let name = branch(&done);
        let lines = changed(&env, name);
        let files: Vec<&String> = lines.iter().filter(|line| line.starts_with("= ")).collect();
        // Values alone move no pin, and blame no version.
        assert_eq!(files, [&format!("= {file}")], "{layout} {more:?}");
        assert_eq!(done["chosen"], Value::Null);
        let after = env.git("repo", &["show", &format!("{name}:{file}")]);
        assert!(after.contains("replicas: 3"), "{layout} {more:?}: {after}");
        for line in before.lines().filter(|line| line.contains('#')) {
            assert!(
                after.lines().any(|one| one == line),
                "{layout} {more:?}: {line} in {after}"
            );
        }
        assert!(
            body(&done).contains("`controller.replicas`"),
            "{}",
            body(&done)
        );
        // Once more is the same.
        let again = with_values(&env, FIX, &[]);
        assert_eq!(again["changes"][0]["commit"], done["changes"][0]["commit"]);
        // With a version all of it is one change.
        let both = with_values(&env, FIX, &["--to", "0.2.2"]);
        assert_eq!(
            both["changes"].as_array().map(Vec::len),
            Some(1),
            "{layout}"
        );
        let lines = changed(&env, branch(&both));
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with('+') && line.contains("0.2.2")),
            "{lines:?}"
        );
        assert!(lines.contains(&format!("= {file}")), "{lines:?}");
        assert!(lines.contains(&"+rejected:".to_owned()), "{lines:?}");
    }
}

#[test]
fn every_other_byte_of_a_file_of_people_stays() {
    let values = "  values:\r\n    # the pods\r\n    controller:   {replicas: 2, extra: [a,  b]} # keep\r\n    text: |\r\n      one\r\n\r\n      two\r\n";
    let text = flux("haptic", "haptic", "0.2.1", "").replace('\n', "\r\n") + values;
    let env = by_hand(&[("haptic.yaml", &text)]);
    let done = with_values(&env, "controller: {replicas: 3}\n", &["--to", "0.2.2"]);
    let after = env.git("repo", &["show", &format!("{}:haptic.yaml", branch(&done))]);
    assert_eq!(
        after,
        text.replace("replicas: 2", "replicas: 3")
            .replace("0.2.1", "0.2.2")
    );

    let helm = "      valuesObject:\n        controller:\n          replicas: 2 # two\n\n          oldKey: x # goes\n        # last\n";
    let text = argo("haptic", "haptic", "0.2.1", helm);
    let env = by_hand(&[("haptic.yaml", &text)]);
    let done = with_values(&env, "controller: {replicas: 3, oldKey: null}\n", &[]);
    let lines = changed(&env, branch(&done));
    assert_eq!(
        without_record(&lines),
        [
            "= haptic.yaml",
            "-          replicas: 2 # two",
            "+          replicas: 3 # two",
            "-          oldKey: x # goes",
        ]
    );
    assert!(
        body(&done).contains("`controller.oldKey` goes"),
        "{}",
        body(&done)
    );
}

#[test]
fn a_key_that_is_to_go_is_taken_out_of_the_shared_file_too() {
    for (layout, shared) in [
        ("flux-fleet", "apps/haptic/base/release/values.yaml"),
        ("argo-fleet", "apps/haptic/values.yaml"),
    ] {
        let env = scaffold(layout, &[]);
        let text = env.read(&format!("repo/{shared}"));
        commit(&env, &[(shared, &format!("{text}oldKey: x # ours\n"))]);
        let done = with_values(&env, "oldKey: null\nreplicas: 3\n", &[]);
        let after = env.git("repo", &["show", &format!("{}:{shared}", branch(&done))]);
        assert_eq!(after, text, "{layout}");
        let said = body(&done);
        assert!(
            said.contains(&format!("taken out of `{shared}` too")),
            "{said}"
        );
    }
}

#[test]
fn a_file_of_values_that_says_nothing_useful_is_refused_with_its_line() {
    let env = scaffold("flux-cluster", &[]);
    let table: [(&str, &[&str]); 7] = [
        ("", &["says nothing"]),
        ("# only\n", &["says nothing"]),
        ("{}\n", &["says nothing"]),
        ("- a\n- b\n", &["isn't a mapping"]),
        ("text\n", &["isn't a mapping"]),
        ("a: 1\nb: [\nc: }\n", &["fix.yaml", ":3", "isn't YAML"]),
        ("a: 1\n---\nb: 2\n", &["isn't YAML"]),
    ];
    for (text, words) in table {
        env.write("fix.yaml", text);
        let said = refused(
            &env,
            3,
            &["--rejected", "0.2.1", "--values", "fix.yaml", "--offline"],
        );
        for word in words {
            assert!(said.contains(word), "{text:?}: `{word}` in {said}");
        }
    }
    let nowhere = env.expect(
        3,
        &[
            "-C",
            "repo",
            "recover",
            "--rejected",
            "0.2.1",
            "--values",
            "no.yaml",
            "--offline",
        ],
    );
    assert!(nowhere.stderr.contains("no.yaml"), "{}", nowhere.stderr);
    // Where a Secret has a part of them, the release's own place still wins.
    let more = "  valuesFrom: [{kind: Secret, name: more}]\n";
    let env = by_hand(&[("haptic.yaml", &flux("haptic", "haptic", "0.2.1", more))]);
    let done = with_values(&env, "replicas: 3\n", &[]);
    assert_eq!(
        changed(&env, branch(&done)),
        ["= haptic.yaml", "+  values:", "+    replicas: 3"]
    );
    // The release isn't in the repository at all.
    let text = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: haptic, namespace: flux-system}\nspec: {url: oci://registry.example.org/charts/haptic, ref: {tag: 0.2.1}}\n";
    let elsewhere = by_hand(&[("haptic.yaml", text)]);
    elsewhere.write("fix.yaml", FIX);
    let arguments = ["--rejected", "0.2.1", "--values", "fix.yaml", "--offline"];
    let said = refused(&elsewhere, 3, &arguments);
    assert!(
        said.contains("where the values of `haptic.yaml` stand"),
        "{said}"
    );
}

/// An OCI layout with versions of HAPTIC, of which 0.2.2 takes no `oldKey`.
fn layout(env: &TestEnv) {
    let chart = |version: &str| -> Vec<u8> {
        let schema = match version {
            "0.2.2" => {
                r#"{"type": "object", "not": {"required": ["oldKey"]}, "properties": {"replicas": {"type": "integer"}}}"#
            }
            _ => "{}",
        };
        let about = format!("apiVersion: v2\nname: haptic\nversion: {version}\n");
        let files = [
            ("Chart.yaml", about.as_str()),
            ("values.yaml", "replicas: 2\n"),
            ("values.schema.json", schema),
            (
                "templates/all.yaml",
                "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n",
            ),
        ];
        archive("haptic", &files)
    };
    let versions = ["0.2.1", "0.2.2"].map(|version| (version, chart(version)));
    oci_folder(&env.path("layout"), "haptic", &versions);
}

fn repo(values: &str) -> TestEnv {
    let env = by_hand(&[(
        "haptic.yaml",
        &flux(
            "haptic",
            "haptic",
            "0.2.1",
            &format!("  values: {values}\n"),
        ),
    )]);
    layout(&env);
    env
}

const LAYOUT: [&str; 4] = ["--rejected", "0.2.1", "--versions", "layout"];

fn with_layout<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut all = LAYOUT.to_vec();
    all.extend(more);
    all
}

#[test]
fn what_the_chart_would_refuse_is_refused_before() {
    let env = repo("{oldKey: x, replicas: many}");
    let said = refused(&env, 3, &with_layout(&["--to", "0.2.2"]));
    for word in ["0.2.2 would refuse the values", "replicas", "--values FILE"] {
        assert!(said.contains(word), "`{word}` in {said}");
    }
    // Corrected in the same change it passes.
    env.write("fix.yaml", "oldKey: null\nreplicas: 3\n");
    let done = crate::recover::recover(
        &env,
        &with_layout(&["--to", "0.2.2", "--values", "fix.yaml"]),
    );
    let lines = changed(&env, branch(&done));
    assert!(
        lines.contains(&"+  values: {replicas: 3}".to_owned()),
        "{lines:?}"
    );
    // And half of the correction does not.
    env.write("fix.yaml", "replicas: 4\n");
    let said = refused(
        &env,
        3,
        &with_layout(&["--to", "0.2.2", "--values", "fix.yaml"]),
    );
    assert!(said.contains("would refuse"), "{said}");
}

const ASKED: &str = "case \"$*\" in *--expect-chart-version=0.2.2*--schema-dir=*) ;; *) echo \"asked: $*\"; exit 9;; esac\n";

#[test]
fn preflight_judges_before_where_it_is_at_hand() {
    let env = repo("{replicas: 2}");
    std::fs::create_dir(env.path("schemas")).expect("a folder");
    env.program_on_path("haptic", &format!("#!/bin/sh\n{ASKED}exit 0\n"));
    let arguments = with_layout(&["--to", "0.2.2", "--schema-dir", "schemas"]);
    let done = crate::recover::recover(&env, &arguments);
    assert!(
        body(&done).contains("preflight accepts 0.2.2"),
        "{}",
        body(&done)
    );
    env.git("repo", &["branch", "-D", branch(&done)]);
    env.program_on_path(
        "haptic",
        &format!(
            "#!/bin/sh\n{ASKED}echo 'preflight: LoadGateFailed: no backend'\necho 'dataplane_password: hunter2hunter2'\nexit 1\n"
        ),
    );
    let said = refused(&env, 3, &arguments);
    for word in [
        "preflight refuses 0.2.2",
        "LoadGateFailed: no backend",
        "--values FILE",
    ] {
        assert!(said.contains(word), "`{word}` in {said}");
    }
    assert!(!said.contains("hunter2hunter2"), "{said}");
    // What it says without one may be a part of what was said before.
    env.program_on_path(
        "haptic",
        "#!/bin/sh\nprintf 'panic\\ndataplane_password: |\\n  hunter2x\\n'\nexit 1\n",
    );
    let said = refused(&env, 3, &arguments);
    assert!(said.contains("without a verdict"), "{said}");
    assert!(!said.contains("hunter2x"), "{said}");
    // Who asks for a verdict isn't left with the thought that there was one.
    let env = env.var("PATH", "/nonexistent");
    let run = env.expect(
        3,
        &[&["-C", "repo", "recover"], arguments.as_slice()].concat(),
    );
    assert!(run.stderr.contains("it can't be had"), "{}", run.stderr);
    assert!(
        run.stderr.contains("leave `--schema-dir` out"),
        "{}",
        run.stderr
    );
}

#[test]
fn whose_values_change_too_is_told() {
    let release = flux("haptic", "haptic", "0.2.0", "  values: {replicas: 2}\n");
    let overlay = |version: &str| {
        format!(
            "resources: [../../base]\npatches:\n  - target: {{kind: HelmRelease, name: haptic}}\n    patch: |\n      - op: replace\n        path: /spec/chart/spec/version\n        value: {version}\n"
        )
    };
    let policy = "upgrade:\n  environments:\n    - {name: stg, paths: [ov/stg/]}\n    - {name: prod, paths: [ov/prod/]}\n";
    let of = |prod: &str| {
        let env = by_hand(&[
            ("base/haptic.yaml", &release),
            ("base/kustomization.yaml", "resources: [haptic.yaml]\n"),
            ("ov/stg/kustomization.yaml", &overlay("0.2.1")),
            ("ov/prod/kustomization.yaml", &overlay(prod)),
            (".haptic-scaffold.yaml", policy),
        ]);
        env.write("fix.yaml", "replicas: 4\n");
        let done = forward(
            &env,
            &["--to", "0.2.2", "--cluster", "stg", "--values", "fix.yaml"],
        );
        let text = body(&done).to_owned();
        (done["others"].to_string(), text)
    };
    let shared = "since they stand in `base/haptic.yaml` for both";
    for (prod, wanted) in [
        ("0.2.0", "gets the corrected values too"),
        ("0.2.1", "its values change with this one's"),
    ] {
        let (others, body) = of(prod);
        assert!(others.contains("in `prod`"), "{others}");
        for said in [&others, &body] {
            assert!(said.contains(wanted) && said.contains(shared), "{said}");
            assert!(!said.contains("and stays:"), "{said}");
        }
    }
}

#[test]
fn what_moves_together_and_what_nobody_deploys_is_told() {
    let env = by_hand(&[
        ("eu/haptic.yaml", &flux("haptic", "haptic", "0.2.1", "")),
        ("us/haptic.yaml", &flux("haptic", "haptic", "0.2.1", "")),
    ]);
    let done = forward(&env, &["--to", "0.2.2", "--dry-run"]);
    let text = body(&done);
    assert!(
        text.contains("its pins in `eu`, `us` move together"),
        "{text}"
    );
    assert!(!body(&forward(&env, &["--to", "0.2.2", "--cluster", "eu"])).contains("move together"));
    let helmfile = "repositories:\n  - {name: haptic, url: registry.gitlab.com/haproxy-haptic/haptic/charts, oci: true}\nreleases:\n  - {name: haptic, namespace: haptic, chart: haptic/haptic, version: 0.2.1}\n";
    let env = by_hand(&[("helmfile.yaml", helmfile)]);
    let done = forward(&env, &["--to", "0.2.2"]);
    let text = body(&done);
    assert!(text.contains("whoever deploys it has to do so"), "{text}");
    assert!(
        !text.contains("--watch") && !text.contains("by themselves"),
        "{text}"
    );
    // Where a part of the values stands elsewhere, nothing has judged what comes of a correction.
    let more = "  valuesFrom: [{kind: Secret, name: more}]\n  values: {replicas: 2}\n";
    let env = by_hand(&[("haptic.yaml", &flux("haptic", "haptic", "0.2.1", more))]);
    env.write("fix.yaml", "replicas: 3\n");
    let done = forward(&env, &["--to", "0.2.2", "--values", "fix.yaml"]);
    let text = body(&done);
    assert!(
        text.contains("compared with nothing: not all values"),
        "{text}"
    );
    assert!(
        text.contains("and what doesn't stand in this repository"),
        "{text}"
    );
}

#[test]
fn one_file_of_two_releases_shares_nothing() {
    let of = |name: &str| flux(name, "haptic", "0.2.1", "  values: {replicas: 2}\n");
    let both = format!("{}---\n{}", of("inner"), of("outer"));
    let env = by_hand(&[("all.yaml", &both)]);
    env.write("fix.yaml", "replicas: 4\n");
    let done = forward(&env, &["inner", "--to", "0.2.2", "--values", "fix.yaml"]);
    let others = done["others"].to_string();
    assert!(
        others.contains("outer") && others.contains("too and stays"),
        "{others}"
    );
    assert!(!body(&done).contains("for both"), "{}", body(&done));
}

#[test]
fn values_are_taken_as_helm_takes_them_and_keys_as_they_stand() {
    let inline = "  values:\n    point: {x: 1, y: 3}\n    tls: {enabled: true}\n";
    let env = by_hand(&[("haptic.yaml", &flux("haptic", "haptic", "0.2.1", inline))]);
    env.write("fix.yaml", "point: {y: 0o17}\ntls: {enabled: no}\n");
    let done = forward(&env, &["--to", "0.2.2", "--values", "fix.yaml"]);
    let lines = changed(&env, branch(&done));
    for line in ["+    point: {x: 1, y: 15}", "+    tls: {enabled: false}"] {
        assert!(lines.iter().any(|one| one == line), "{line}: {lines:?}");
    }
}
