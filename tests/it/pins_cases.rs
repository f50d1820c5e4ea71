//! Cases from public bug reports of tools that find and move versions, each by the real program on a repository of its own.
//!
//! Cases that have their test elsewhere:
//!
//! | case | test |
//! | --- | --- |
//! | O06, a wrong text is written | `pins::edit::tests::o06_a_wrong_text_is_not_proven`, `yaml::prove::tests` |
//! | O08, scaffolded files get CRLF | `git::blobs_have_unix_lines_under_every_setting` |
//! | O09, adding a resource eats comments | `yaml::samples::a_list_shows_where_its_last_item_ends`: nothing adds to a list yet |
//! | O24 to O29, indexes and registries | `o24_…` to `o29_…` in `registry`, and against real programs in `real_registries` |

use std::collections::BTreeSet;

use serde_json::Value;

use crate::env::TestEnv;

const SOURCE: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: apps}\nspec: {url: 'https://charts.example.org'}\n";

/// The head of a HelmRelease of a chart `shop`, up to its `spec`.
const HEAD: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: apps}\n";

/// A HelmRelease with the version as it is written.
fn release(version: &str) -> String {
    format!(
        "{HEAD}spec:\n  chart:\n    spec:\n      chart: shop\n      version: {version}\n      sourceRef: {{kind: HelmRepository, name: charts}}\n"
    )
}

/// An Application of a chart, with the version as it is written.
fn application(chart: &str, version: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {chart}}}\nspec:\n  source: {{repoURL: 'https://charts.example.org', chart: {chart}, targetRevision: {version}}}\n"
    )
}

/// A repository with these files committed.
fn repo(files: &[(&str, &str)]) -> TestEnv {
    let env = TestEnv::new();
    for (path, text) in files {
        env.write(&format!("repo/{path}"), text);
    }
    env.git("repo", &["init", "-q", "-b", "main"]);
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "Start"]);
    env
}

fn pins(env: &TestEnv, more: &[&str], code: i32) -> Value {
    let mut arguments = vec!["-C", "repo", "pins", "--output", "json"];
    arguments.extend(more);
    env.expect(code, &arguments).json()
}

/// The pins of files, asking nobody.
fn found(files: &[(&str, &str)]) -> Value {
    pins(&repo(files), &["--offline"], 0)
}

/// What `pins` says is newest for a pin of `shop`, among some versions.
fn newest(pin: &str, versions: &str) -> Value {
    let env = repo(&[("app.yaml", &application("shop", pin))]);
    env.write("versions.yaml", &format!("shop: {versions}\n"));
    let all = pins(&env, &["--versions", "versions.yaml"], 0);
    all["pins"][0]["newest"].clone()
}

/// Upgrades among some versions of `shop`.
fn upgrade(env: &TestEnv, versions: &str) -> Value {
    env.write("versions.yaml", &format!("shop: {versions}\n"));
    let arguments = ["--versions", "versions.yaml", "--output", "json"];
    let all = [&["-C", "repo", "upgrade"][..], &arguments].concat();
    env.expect(0, &all).json()
}

const BRANCH: &str = "haptic-scaffold/upgrade-shop";

/// A file as the offered branch has it.
fn offered(env: &TestEnv, path: &str) -> String {
    env.git("repo", &["show", &format!("{BRANCH}:{path}")])
}

/// Upgrades a repository from 1.4.0 to 1.4.1 and expects nothing else to change in any byte.
fn moves_alone(files: &[(&str, &str)]) -> TestEnv {
    let env = repo(files);
    let done = upgrade(&env, "['1.4.1']");
    let changes = done["changes"].as_array().map(Vec::len);
    assert_eq!(changes, Some(1), "{done:#}");
    for (path, text) in files {
        assert_eq!(
            offered(&env, path),
            text.replace("1.4.0", "1.4.1"),
            "{path}"
        );
    }
    env
}

fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    let list = list.as_array().expect("a list");
    list.iter().filter_map(|one| one[key].as_str()).collect()
}

#[test]
fn o01_a_comment_block_stays_and_lists_keep_their_indent() {
    let text = format!(
        "{HEAD}spec:\n  chart: {{spec: {{chart: shop, version: 1.4.0, sourceRef: {{kind: HelmRepository, name: charts}}}}}}\n  values:\n    # cache:\n    #   size: 2Gi\n\n    ingress:\n      hosts:\n          - name: a.example.org\n"
    );
    moves_alone(&[("app.yaml", &text), ("source.yaml", SOURCE)]);
}

#[test]
fn o02_a_file_without_a_pin_that_moves_is_not_written() {
    let odd = format!(
        "odd:\n   three:   spaces\n   list: [{}]\n   version: 1.4.0-none\n",
        ["long"; 80].join(",  ")
    );
    let env = moves_alone(&[
        ("a.yaml", &release("1.4.0")),
        ("b.yaml", &odd.replace("1.4.0-none", "9.9.9")),
        ("source.yaml", SOURCE),
    ]);
    let names = env.git("repo", &["diff", "--name-only", "main", BRANCH]);
    assert_eq!(names, "a.yaml\n");
}

#[test]
fn o03_all_documents_and_markers_survive() {
    let text = format!(
        "---\n{}---\nkind: ConfigMap\napiVersion: v1\nmetadata: {{name: a}}\ndata: {{a: b}}\n...\n",
        release("1.4.0")
    );
    moves_alone(&[("app.yaml", &text), ("source.yaml", SOURCE)]);
}

#[test]
fn o04_folded_and_literal_texts_stay() {
    let text = format!(
        "{}  values:\n    a: >-\n      one\n      two\n\n      three\n    b: |+\n      keep\n\n\n    c: |2\n        lead\n      x\n    d: \"broken \\\n      over \\\n        lines\"\n",
        release("1.4.0")
    );
    moves_alone(&[("app.yaml", &text), ("source.yaml", SOURCE)]);
}

#[test]
fn o05_each_pin_keeps_its_quotes() {
    let text = [release("'1.4.0'"), release("\"1.4.0\""), release("1.4.0")].join("---\n");
    let env = moves_alone(&[("app.yaml", &text), ("source.yaml", SOURCE)]);
    let diff = env.git(
        "repo",
        &[
            "diff",
            "--word-diff=porcelain",
            "--word-diff-regex=.",
            "main",
            BRANCH,
        ],
    );
    let changed: BTreeSet<&str> = diff
        .lines()
        .filter(|line| {
            line.starts_with(['+', '-']) && !line.starts_with("++") && !line.starts_with("--")
        })
        .collect();
    assert_eq!(changed, BTreeSet::from(["+1", "-0"]), "{diff}");
}

#[test]
fn o07_line_endings_and_the_last_newline_stay() {
    let lf = release("1.4.0");
    let crlf = lf.replace('\n', "\r\n");
    moves_alone(&[
        ("lf.yaml", &lf),
        ("crlf.yaml", &crlf),
        ("lf-open.yaml", lf.trim_end()),
        ("crlf-open.yaml", crlf.trim_end()),
        ("source.yaml", SOURCE),
    ]);
}

#[test]
fn o10_a_template_without_quotes_is_no_name() {
    let text = "repositories: [{name: stable, url: 'https://charts.example.org'}]\nreleases:\n  - name: {{ .Environment.Name }}-web\n    chart: ./local\n  - name: db\n    chart: stable/db\n    version: 1.2.3\n  - {name: {{ .Values.name }}, chart: stable/{{ .Values.chart }}, version: 2.0.0}\n";
    let all = found(&[("helmfile.yaml", text)]);
    let db = &all["pins"][0];
    assert_eq!(
        (db["value"].as_str(), db["line"].as_u64()),
        (Some("1.2.3"), Some(7))
    );
    assert_eq!(db["object"], "release/db");
    assert_eq!(db["source"], "https://charts.example.org#db");
    let other = &all["pins"][1];
    assert_eq!(
        (&other["value"], &other["object"], &other["chart"]),
        (&"2.0.0".into(), &Value::Null, &Value::Null)
    );
}

#[test]
fn o11_an_escaped_template_shifts_no_pin() {
    let text = "label: {{`\"{{ keep.me }}\"`}}\nreleases:\n  - {name: a, chart: x/y, version: 0.3.0}\n  - {name: b, chart: x/z, version: {{ .Values.z }}}\n";
    for name in ["helmfile.yaml.gotmpl", "helmfile.yaml"] {
        let all = found(&[(name, text)]);
        assert_eq!(texts(&all["pins"], "value"), ["0.3.0"], "{name}");
        let pin = &all["pins"][0];
        assert_eq!(
            (pin["line"].as_u64(), pin["column"].as_u64()),
            (Some(3), Some(36)),
            "{name}"
        );
        assert_eq!(pin["chart"], "y");
        assert_eq!(all["unread"][0]["line"], 4, "{all:#}");
    }
}

#[test]
fn o12_a_templated_field_stops_nothing() {
    let templated = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n  source:\n    repoURL: {{ .Values.repo }}\n    chart: {{ .Values.chart }}\n    targetRevision: {{ .Values.rev }}\n";
    let env = moves_alone(&[
        ("apps/templated.yaml", templated),
        ("apps/normal.yaml", &application("shop", "1.4.0")),
    ]);
    let all = pins(&env, &["--offline"], 0);
    let unread = &all["unread"][0];
    assert_eq!(unread["file"], "apps/templated.yaml");
    assert_eq!(unread["line"], 8);
    assert!(
        unread["why"]
            .as_str()
            .is_some_and(|why| why.contains("made by a template"))
    );
}

#[test]
fn o13_a_malformed_file_blocks_no_other() {
    let broken = format!("{}   chart: x\n", release("1.4.0"));
    let env = repo(&[
        ("broken.yaml", &broken),
        ("good.yaml", &release("1.4.0")),
        (
            "markers.yaml",
            &format!("---\n---\n{}", application("shop", "1.4.0")),
        ),
        ("source.yaml", SOURCE),
    ]);
    upgrade(&env, "['1.4.1']");
    let names = env.git("repo", &["diff", "--name-only", "main", BRANCH]);
    assert_eq!(names, "good.yaml\nmarkers.yaml\n");
    let all = pins(&env, &["--offline"], 0);
    let unread = all["unread"].as_array().expect("a list");
    assert_eq!(unread.len(), 1, "{unread:?}");
    assert_eq!(
        (&unread[0]["file"], &unread[0]["line"]),
        (&"broken.yaml".into(), &10.into())
    );
}

#[test]
fn o14_pins_in_another_operators_template_are_found() {
    let set = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: a}\nspec:\n  resources:\n    - kind: OCIRepository\n      metadata: {name: web}\n      spec: {url: 'oci://r.example.org/charts/web', ref: {tag: 0.39.0}}\n  resourcesTemplate: |\n    <<- range $one := inputs.list >>\n    apiVersion: source.toolkit.fluxcd.io/v1\n    kind: OCIRepository\n    metadata: {name: << $one.name >>}\n    spec:\n      url: oci://r.example.org/charts/api\n      ref: {tag: 0.40.0}\n    <<- end >>\n";
    let all = found(&[("set.yaml", set)]);
    assert_eq!(texts(&all["pins"], "value"), ["0.39.0", "0.40.0"]);
    assert_eq!(
        texts(&all["pins"], "source"),
        [
            "oci://r.example.org/charts/web",
            "oci://r.example.org/charts/api"
        ]
    );
    assert_eq!(all["pins"][1]["line"], 16);
    assert!(
        all["pins"][1]["editable"].as_bool().is_some_and(|is| is),
        "{all:#}"
    );
}

/// A tag and a digest move together or not at all; no tag ever gets a digest behind it.
#[test]
fn o15_a_tag_with_a_digest_beside_it_moves_not_alone() {
    let source = |name: &str, more: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: {name}}}\nspec:\n  url: oci://r.example.org/charts/shop\n  ref:\n    tag: 1.4.0\n{more}"
        )
    };
    let digest = format!("    digest: sha256:{}   # of 1.4.0\n", "1".repeat(64));
    let env = repo(&[
        ("alone.yaml", &source("a", "")),
        ("both.yaml", &source("b", &digest)),
    ]);
    let done = upgrade(&env, "['1.4.1']");
    assert_eq!(offered(&env, "both.yaml"), source("b", &digest));
    assert_eq!(
        offered(&env, "alone.yaml"),
        source("a", "").replace("1.4.0", "1.4.1")
    );
    assert!(
        texts(&done["not_moved"], "place").contains(&"both.yaml:8"),
        "{done:#}"
    );
}

#[test]
fn o16_a_source_is_looked_for_in_its_namespace() {
    let source = |namespace: &str, url: &str| {
        SOURCE
            .replace("namespace: apps", &format!("namespace: {namespace}"))
            .replace("charts.example.org", url)
    };
    let other = release("1.0.0").replace("name: charts}", "name: charts, namespace: flux-system}");
    let all = found(&[
        ("one.yaml", &source("flux-system", "one.example.org")),
        ("two.yaml", &source("apps", "two.example.org")),
        ("a.yaml", &other),
        ("b.yaml", &release("1.0.0")),
    ]);
    assert_eq!(
        texts(&all["pins"], "source"),
        [
            "https://one.example.org#shop",
            "https://two.example.org#shop"
        ]
    );
}

#[test]
fn o17_of_equal_versions_the_one_with_the_higher_metadata_is_newest() {
    let versions = "['12.0.1+up3.4.10', '12.0.1+up3.4.2', '11.0.0+up3.0.0']";
    assert_eq!(newest("11.0.0+up3.0.0", versions), "12.0.1+up3.4.10");
    let env = repo(&[("app.yaml", &application("shop", "11.0.0+up3.0.0"))]);
    upgrade(&env, versions);
    let moved = application("shop", "12.0.1+up3.4.10");
    assert_eq!(offered(&env, "app.yaml"), moved);
}

#[test]
fn o18_versions_are_ordered_as_versions() {
    assert_eq!(newest("0.18.0", "[0.19.0, 0.101.0, 0.20.0]"), "0.101.0");
}

/// A pin with a suffix takes every later one with a suffix too.
#[test]
fn o19_a_pin_with_a_suffix_gets_newer_ones_with_a_suffix() {
    assert_eq!(newest("2.7.0-r3", "[2.7.0-r4, 2.8.0-r1]"), "2.8.0-r1");
    assert_eq!(newest("2.7.0", "[2.7.0-r4, 2.8.0-r1]"), Value::Null);
}

#[test]
fn o20_padded_calendar_versions_are_read_and_written_as_published() {
    let env = repo(&[("app.yaml", &application("shop", "2031.04.07"))]);
    upgrade(&env, "['2031.04.07', '2031.4.8', '2031.11.0']");
    assert_eq!(offered(&env, "app.yaml"), application("shop", "2031.11.0"));
    upgrade(&env, "['2031.04.07', '2031.11.09', '2031.4.30']");
    assert_eq!(offered(&env, "app.yaml"), application("shop", "2031.11.09"));
}

#[test]
fn o21_the_spelling_of_the_source_is_written() {
    for pin in ["v8.1.0", "8.1.0"] {
        let env = repo(&[("app.yaml", &application("shop", pin))]);
        upgrade(&env, "[v8.1.0, v8.2.0]");
        assert_eq!(offered(&env, "app.yaml"), application("shop", "v8.2.0"));
    }
}

#[test]
fn o22_a_prerelease_is_not_sold_as_stable() {
    assert_eq!(
        newest("5.0.0", "[5.4.1, 5.4.1-pr6.1, 5.4.2-pr7.1]"),
        "5.4.1"
    );
}

#[test]
fn o23_a_range_with_a_space_is_a_range_and_stays() {
    let range = "'>4.0.0 <4.2.3'";
    assert_eq!(newest(range, "[4.2.2, 4.2.3, 4.3.0]"), "4.2.2");
    let env = repo(&[("app.yaml", &application("shop", range))]);
    let done = upgrade(&env, "[4.2.2, 4.2.3, 4.3.0]");
    assert_eq!(done["changes"].as_array().map(Vec::len), Some(0));
}

/// What is committed counts, and nothing of the work tree is touched.
#[test]
fn o50_uncommitted_work_is_neither_lost_nor_taken_in() {
    let env = repo(&[
        ("apps/web/app.yaml", &application("shop", "1.4.0")),
        ("docs/guide.md", "one\n"),
    ]);
    env.write("repo/docs/guide.md", "two\n");
    let mine = application("shop", "1.3.0 # mine");
    env.write("repo/apps/web/app.yaml", &mine);
    let status = env.git("repo", &["status", "--porcelain"]);
    upgrade(&env, "['1.4.1']");
    assert_eq!(env.git("repo", &["status", "--porcelain"]), status);
    assert_eq!(env.read("repo/docs/guide.md"), "two\n");
    assert_eq!(env.read("repo/apps/web/app.yaml"), mine);
    let names = env.git("repo", &["diff", "--name-only", "main", BRANCH]);
    assert_eq!(names, "apps/web/app.yaml\n");
    assert_eq!(
        offered(&env, "apps/web/app.yaml"),
        application("shop", "1.4.1")
    );
}

#[test]
fn a_file_in_another_encoding_is_told_and_stays() {
    let text = application("shop", "1.4.0");
    let env = repo(&[("good.yaml", &text)]);
    let wide: Vec<u8> = format!("\u{feff}{text}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    std::fs::write(env.path("repo/wide.yaml"), &wide).expect("writes");
    std::fs::write(
        env.path("repo/latin.yaml"),
        [text.as_bytes(), b"# caf\xe9\n"].concat(),
    )
    .expect("writes");
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "More"]);
    let all = pins(&env, &["--offline"], 0);
    assert_eq!(
        texts(&all["pins"], "file"),
        ["good.yaml", "latin.yaml", "wide.yaml"]
    );
    assert_eq!(texts(&all["unread"], "file"), ["latin.yaml", "wide.yaml"]);
    assert_eq!(all["unread"][0]["line"], 6);
    let done = upgrade(&env, "['1.4.1']");
    let names = env.git("repo", &["diff", "--name-only", "main", BRANCH]);
    assert_eq!(names, "good.yaml\n");
    assert_eq!(
        texts(&done["not_moved"], "place"),
        ["latin.yaml:5", "wide.yaml:5"]
    );
}

/// Files without a word of a version say where pins of others belong.
#[test]
fn a_namespace_comes_from_a_file_that_has_no_version() {
    let source = |url: &str| {
        SOURCE
            .replace(", namespace: apps", "")
            .replace("charts.", url)
    };
    let web = release("1.0.0").replace(", namespace: apps", "");
    let all = found(&[
        (
            "one/kustomization.yaml",
            "namespace: one\nresources: [../base, source.yaml]\n",
        ),
        ("one/source.yaml", &source("one.")),
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", &web),
        (
            "two/kustomization.yaml",
            "namespace: two\nresources: [source.yaml]\n",
        ),
        ("two/source.yaml", &source("two.")),
    ]);
    assert_eq!(
        texts(&all["pins"], "source"),
        ["https://one.example.org#shop"]
    );
}

/// A generator's file has no word that means a version.
#[test]
fn a_parameter_is_found_under_any_name() {
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec:\n  generators: [{git: {files: [{path: 'envs/*.json'}]}}]\n  template: {spec: {source: {chart: web, repoURL: 'https://c.example.org', targetRevision: '{{web.release}}'}}}\n";
    let all = found(&[
        ("set.yaml", set),
        ("envs/prod.json", "{\"web\": {\"release\": \"1.0.0\"}}\n"),
    ]);
    assert_eq!(texts(&all["pins"], "value"), ["1.0.0"]);
    assert_eq!(texts(&all["pins"], "source"), ["https://c.example.org#web"]);
    assert_eq!(all["unread"].as_array().map(Vec::len), Some(0));
}
