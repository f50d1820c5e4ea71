//! Small repositories whose pins depend on more than one file.

use super::{Joined, Pin, join, look};
use crate::model::repo_path::RepoPath;

fn joined(files: &[(&str, &str)]) -> Joined {
    let look = |(path, text): &(&str, &str)| look(&RepoPath::parse(path).unwrap(), text);
    join(files.iter().map(look).collect())
}

/// The only pin with a version.
fn pin<'a>(joined: &'a Joined, version: &str) -> &'a Pin {
    let pins: Vec<&Pin> = joined
        .pins
        .iter()
        .filter(|pin| pin.value == version)
        .collect();
    match pins.as_slice() {
        [pin] => pin,
        _ => panic!("{version}: {:#?}", joined.pins),
    }
}

fn address(joined: &Joined, version: &str) -> String {
    match &pin(joined, version).source {
        super::Source::Address(address) => address.clone(),
        other => format!("{other:?}"),
    }
}

const REPOSITORY: &str = "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts}\nspec: {url: 'https://URL.example.org'}\n";
const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec: {chart: {spec: {chart: web, version: VERSION, sourceRef: {kind: HelmRepository, name: charts}}}}\n";

fn release(version: &str) -> String {
    RELEASE.replace("VERSION", version)
}

fn repository(url: &str) -> String {
    REPOSITORY.replace("URL", url)
}

#[test]
fn namespaces_come_through_bases_of_bases() {
    let all = joined(&[
        (
            "a/kustomization.yaml",
            "namespace: a\nresources: [middle]\n",
        ),
        (
            "a/middle/kustomization.yaml",
            "resources: [../base/, repo.yaml]\n",
        ),
        ("a/middle/repo.yaml", &repository("one")),
        (
            "a/base/kustomization.yaml",
            "namespace: other\nresources:\n- web.yaml\n",
        ),
        ("a/base/web.yaml", &release("1.0.0")),
        (
            "b/kustomization.yaml",
            "namespace: b\nresources: [repo.yaml, web.yaml]\n",
        ),
        ("b/repo.yaml", &repository("two")),
        ("b/web.yaml", &release("2.0.0")),
    ]);
    assert_eq!(address(&all, "1.0.0"), "https://one.example.org");
    assert_eq!(address(&all, "2.0.0"), "https://two.example.org");
}

#[test]
fn a_target_namespace_is_a_given_one() {
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: x, namespace: flux-system}\nspec: {path: ./PATH, targetNamespace: PATH}\n";
    let all = joined(&[
        ("flux/a.yaml", &flux.replace("PATH", "a")),
        ("flux/b.yaml", &flux.replace("PATH", "b")),
        (
            "a/all.yaml",
            &[release("1.0.0"), repository("one")].concat(),
        ),
        (
            "b/all.yaml",
            &[release("2.0.0"), repository("two")].concat(),
        ),
    ]);
    assert_eq!(address(&all, "1.0.0"), "https://one.example.org");
    assert_eq!(address(&all, "2.0.0"), "https://two.example.org");
}

/// A Kustomization of Flux with `postBuild` as JSON.
fn substituting(post_build: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: apps, namespace: flux-system}}\nspec: {{postBuild: {post_build}}}\n"
    )
}

fn map(name: &str, version: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: flux-system}}\ndata: {{v: \"{version}\"}}\n"
    )
}

#[test]
fn the_last_of_substitute_from_counts_and_substitute_beats_it() {
    let from = "substituteFrom: [{kind: ConfigMap, name: first}, {kind: ConfigMap, name: last}]";
    let mut files = vec![
        ("web.yaml", [release("'${v}'"), repository("one")].concat()),
        ("first.yaml", map("first", "1.0.0")),
        ("last.yaml", map("last", "2.0.0")),
        ("other.yaml", map("other", "3.0.0")),
        ("apps.yaml", substituting(&format!("{{{from}}}"))),
    ];
    let look = |files: &[(&str, String)]| {
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        joined(&files)
    };
    let all = look(&files);
    assert!(!pin(&all, "1.0.0").effective);
    assert!(
        pin(&all, "1.0.0")
            .why
            .as_ref()
            .is_some_and(|why| why.contains("ConfigMap/flux-system/last"))
    );
    assert!(pin(&all, "2.0.0").effective);
    assert_eq!(address(&all, "2.0.0"), "https://one.example.org");
    assert!(
        all.pins.iter().all(|pin| pin.value != "3.0.0"),
        "nothing reads it"
    );
    assert!(all.unread.is_empty(), "{:?}", all.unread);
    files[4].1 = substituting(&format!("{{substitute: {{v: 4.0.0}}, {from}}}"));
    let all = look(&files);
    let effective = |version: &str| pin(&all, version).effective;
    assert_eq!(
        ["1.0.0", "2.0.0", "4.0.0"].map(effective),
        [false, false, true]
    );
    // Of two Kustomizations each has its own winner.
    files.push((
        "more.yaml",
        substituting("{substituteFrom: [{kind: ConfigMap, name: first}]}"),
    ));
    let all = look(&files);
    let effective = |version: &str| pin(&all, version).effective;
    assert_eq!(
        ["1.0.0", "2.0.0", "4.0.0"].map(effective),
        [true, false, true]
    );
}

#[test]
fn a_variable_with_text_beside_it_is_pinned_where_it_is_defined() {
    let all = joined(&[
        (
            "web.yaml",
            &[release("\"v${v}\""), repository("one")].concat(),
        ),
        ("apps.yaml", &substituting("{substitute: {v: 1.0.0}}")),
    ]);
    assert_eq!(address(&all, "1.0.0"), "https://one.example.org");
    assert_eq!(pin(&all, "1.0.0").file.as_str(), "apps.yaml");
    let range = joined(&[
        ("web.yaml", &release("\"${v}\"")),
        (
            "apps.yaml",
            &substituting("{substitute: {v: '>=1.0.0 <2.0.0'}}"),
        ),
    ]);
    assert_eq!(pin(&range, ">=1.0.0 <2.0.0").form, super::Form::Range);
    let inside = joined(&[("web.yaml", &release("\"v${v:=1.0.0}\""))]);
    assert_eq!(
        (pin(&inside, "1.0.0").line, pin(&inside, "1.0.0").column),
        (4, 51)
    );
}

#[test]
fn a_name_that_nothing_here_defines_is_told() {
    let all = joined(&[("web.yaml", &release("'${v}'"))]);
    assert!(all.pins.is_empty());
    assert_eq!((all.unread[0].line, all.unread.len()), (4, 1));
    assert!(all.unread[0].why.contains("`v`"), "{:?}", all.unread);
    let two = joined(&[("web.yaml", &release("'${a}.${b}'"))]);
    assert!(
        two.unread
            .iter()
            .any(|unread| unread.why.contains("more than one variable"))
    );
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec:\n  generators: [{git: {files: [{path: 'envs/*/app.yaml'}]}}]\n  template: {spec: {source: {chart: web, repoURL: 'https://c.example.org', targetRevision: '{{.web.release}}'}}}\n";
    let missing = joined(&[("set.yaml", set)]);
    assert!(
        missing.unread[0].why.contains("`web.release`"),
        "{:?}",
        missing.unread
    );
    let files = joined(&[
        ("set.yaml", set),
        (
            "envs/prod/app.yaml",
            "web: {release: 1.0.0}\nother: {release: 3.0.0}\n",
        ),
        ("elsewhere/app.yaml", "web: {release: 2.0.0}\n"),
    ]);
    assert!(files.unread.is_empty(), "{:?}", files.unread);
    assert_eq!(address(&files, "1.0.0"), "https://c.example.org");
    assert_eq!(files.pins.len(), 1, "{:?}", files.pins);
}

#[test]
fn a_helmfile_names_repositories_of_another_document_or_file() {
    let releases = "---\nreleases:\n- {name: a, chart: one/a, version: 1.0.0}\n- {name: b, chart: two/b, version: 2.0.0}\n";
    let all = joined(&[
        (
            "helmfile.yaml",
            &format!("repositories: [{{name: one, url: 'https://one.example.org'}}]\n{releases}"),
        ),
        (
            "helmfile.d/repositories.yaml",
            "repositories:\n- {name: two, url: r.example.org/x, oci: true}\n- {name: one, url: 'https://wrong.example.org'}\n",
        ),
    ]);
    assert_eq!(address(&all, "1.0.0"), "https://one.example.org");
    assert_eq!(address(&all, "2.0.0"), "oci://r.example.org/x");
}

#[test]
fn operations_in_a_file_of_their_own_are_for_their_target() {
    let all = joined(&[
        ("base.yaml", &[release("1.0.0"), repository("one")].concat()),
        (
            "prod/kustomization.yaml",
            "patches:\n- {path: pin.yaml, target: {kind: HelmRelease, name: web}}\n- {path: lost.yaml, target: {kind: HelmRelease, name: lost}}\n",
        ),
        (
            "prod/pin.yaml",
            "- {op: replace, path: /spec/chart/spec/version, value: 2.0.0}\n",
        ),
        (
            "prod/lost.yaml",
            "- {op: replace, path: /spec/chart/spec/version, value: 3.0.0}\n",
        ),
    ]);
    assert_eq!(address(&all, "2.0.0"), "https://one.example.org");
    let lost = pin(&all, "3.0.0");
    assert!(
        !lost.effective
            && lost
                .why
                .as_ref()
                .is_some_and(|why| why.contains("HelmRelease/lost"))
    );
}

#[test]
fn a_patch_gives_the_version_of_an_object_that_says_none() {
    let bare = release("x").replace(" version: x,", "");
    let git = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: git}\nspec: {source: {repoURL: 'https://g.example.org/r.git', path: x, targetRevision: main}}\n";
    let patches = "patches:\n- target: {kind: HelmRelease, name: web}\n  patch: |-\n    kind: HelmRelease\n    metadata: {name: whatever}\n    spec: {chart: {spec: {version: 1.0.0}}}\n- target: {kind: Application, name: git}\n  patch: |-\n    - {op: replace, path: /spec/source/targetRevision, value: 2.0.0}\n- target: {kind: Application, name: lost}\n  patch: '[{\"op\": \"add\", \"path\": \"/spec/source\", \"value\": {\"targetRevision\": \"3.0.0\"}}]'\n- target: {kind: HelmRelease, name: web}\n  patch: |-\n    - {op: test, path: /spec/chart/spec/version, value: 4.0.0}\n    - {op: add, path: /spec/chart, value: {spec: {version: 5.0.0}}}\n";
    let all = joined(&[
        (
            "base/web.yaml",
            &[bare, repository("one"), format!("---\n{git}")].concat(),
        ),
        ("prod/kustomization.yaml", patches),
    ]);
    for version in ["1.0.0", "5.0.0"] {
        assert_eq!(address(&all, version), "https://one.example.org");
        assert_eq!(
            pin(&all, version).object.as_deref(),
            Some("HelmRelease/web")
        );
        assert!(pin(&all, version).effective);
    }
    assert!(pin(&all, "2.0.0").effective);
    assert!(!pin(&all, "3.0.0").effective);
    let test = pin(&all, "4.0.0");
    assert!(
        !test.effective && test.chart.as_deref() == Some("web"),
        "{test:?}"
    );
}

/// The pins of one file, each with whether it counts.
fn in_one(path: &str, text: &str) -> Vec<(String, bool)> {
    let all = joined(&[(path, text)]);
    all.pins
        .into_iter()
        .map(|pin| (pin.value, pin.effective))
        .collect()
}

fn are(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
    expected
        .iter()
        .map(|(value, is)| ((*value).to_owned(), *is))
        .collect()
}

#[test]
fn what_another_key_beats_is_not_effective() {
    let git = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: a}\nspec:\n  ref:\n    tag: v1.0.0\n    semver: '>=1.0.0'\n    name: refs/tags/v2.0.0\n";
    assert_eq!(
        in_one("a.yaml", git),
        are(&[("v1.0.0", false), (">=1.0.0", false), ("v2.0.0", true)])
    );
    let app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n  source: {repoURL: 'https://c.example.org', chart: a, targetRevision: 1.0.0}\n  sources:\n  - repoURL: https://c.example.org\n    chart: a\n    targetRevision: 2.0.0\n    helm:\n      values: |\n        image: {repository: x, tag: 3.0.0}\n      valuesObject:\n        image: {repository: x, tag: 4.0.0}\n";
    assert_eq!(
        in_one("a.yaml", app),
        are(&[
            ("1.0.0", false),
            ("2.0.0", true),
            ("3.0.0", false),
            ("4.0.0", true)
        ])
    );
    let images =
        "images:\n- name: a\n  newTag: 1.0.0\n  digest: sha256:00\n- name: b\n  newTag: 2.0.0\n";
    assert_eq!(
        in_one("kustomization.yaml", images),
        are(&[("1.0.0", false), ("sha256:00", true), ("2.0.0", true)])
    );
}

#[test]
fn tags_that_name_a_chart_are_pins_and_branches_are_none() {
    let app = |revision: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: a}}\nspec: {{source: {{repoURL: 'https://g.example.org/r.git', path: x, targetRevision: '{revision}'}}}}\n"
        )
    };
    for tag in [
        "haptic-0.2.0",
        "charts/haptic/v0.2.0-alpha.4",
        "v1.2.3",
        "1.*",
        ">=1.0.0 <2.0.0",
    ] {
        assert_eq!(in_one("a.yaml", &app(tag)), are(&[(tag, true)]), "{tag}");
    }
    for branch in ["main", "HEAD", "release-1.2", "feature/v1", "2024-01-02"] {
        assert_eq!(in_one("a.yaml", &app(branch)), [], "{branch}");
    }
}

#[test]
fn argo_takes_two_numbers_for_a_version_and_flux_for_a_range() {
    let app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {repoURL: 'https://c.example.org', chart: a, targetRevision: '1.2'}}\n";
    assert_eq!(
        pin(&joined(&[("a.yaml", app)]), "1.2").form,
        super::Form::Exact
    );
    assert_eq!(
        pin(&joined(&[("a.yaml", &release("'1.2'"))]), "1.2").form,
        super::Form::Range
    );
}

#[test]
fn a_digest_in_a_tag_is_told() {
    let text = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: a}\nspec: {url: 'oci://r.example.org/c/a', ref: {tag: '1.0.0@sha256:00'}}\n";
    let all = joined(&[("a.yaml", text)]);
    assert!(
        !all.pins[0].editable
            && all.pins[0]
                .why
                .as_ref()
                .is_some_and(|why| why.contains("digest"))
    );
}

#[test]
fn kustomize_has_versions_in_many_places() {
    let text = "resources:\n- https://raw.githubusercontent.com/argoproj/argo-cd/v3.0.1/manifests/install.yaml\n- https://github.com/o/r//deploy?timeout=90s&ref=v1.1.0\nhelmChartInflationGenerator:\n- {chartName: a, chartRepoUrl: 'https://c.example.org', chartVersion: 1.2.0}\ngenerators:\n- |-\n  apiVersion: builtin\n  kind: HelmChartInflationGenerator\n  metadata: {name: b}\n  name: b\n  repo: https://c.example.org\n  version: 1.3.0\n";
    assert_eq!(
        in_one("kustomization.yaml", text),
        are(&[
            ("v3.0.1", true),
            ("v1.1.0", true),
            ("1.2.0", true),
            ("1.3.0", true)
        ])
    );
}

#[test]
fn literals_of_a_generated_map_are_variables() {
    let all = joined(&[
        ("web.yaml", &[release("'${v}'"), repository("one")].concat()),
        (
            "kustomization.yaml",
            "configMapGenerator:\n- name: versions\n  literals: [v=1.0.0, 'w=2.0.0']\n",
        ),
        (
            "apps.yaml",
            &substituting("{substituteFrom: [{kind: ConfigMap, name: versions}]}"),
        ),
    ]);
    assert_eq!(address(&all, "1.0.0"), "https://one.example.org");
    assert_eq!(
        (pin(&all, "1.0.0").line, pin(&all, "1.0.0").column),
        (3, 16)
    );
    assert_eq!(all.pins.len(), 1);
}

#[test]
fn a_marker_says_who_writes_a_line() {
    let text = "image: r.example.org/a/web:1.0.0 # {\"$imagepolicy\": \"flux-system:web\"}\ntag: 2.0.0 # {\"$imagepolicy\": \"flux-system:web:tag\"}\n";
    let all = joined(&[("values.yaml", text)]);
    for version in ["1.0.0", "2.0.0"] {
        let why = pin(&all, version).why.as_deref().unwrap_or_default();
        assert!(why.contains("taken back"), "{why}");
    }
    assert_eq!(pin(&all, "1.0.0").chart.as_deref(), Some("web"));
    let chart = joined(&[(
        "a.yaml",
        "# renovate: datasource=docker depName=ghcr.io/o/charts/web\nweb_version: 1.0.0\n",
    )]);
    assert_eq!(address(&chart, "1.0.0"), "oci://ghcr.io/o/charts");
}

#[test]
fn terraform_names_a_chart_by_its_address_or_says_no_version() {
    let text = "resource \"helm_release\" \"a\" {\n  chart   = \"oci://r.example.org/c/web\"\n  version = \"1.0.0\"\n}\nresource \"helm_release\" \"b\" {\n  chart   = \"b\"\n  version = var.b\n}\n";
    let all = joined(&[("main.tf", text)]);
    assert_eq!(address(&all, "1.0.0"), "oci://r.example.org/c");
    assert_eq!((all.pins.len(), all.unread[0].line), (1, 7));
}

#[test]
fn values_in_a_config_map_have_images() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  values.yaml: |\n    image:\n      repository: x\n      tag: 1.0.0\n";
    let all = joined(&[("a.yaml", text)]);
    assert_eq!(
        (pin(&all, "1.0.0").line, pin(&all, "1.0.0").column),
        (8, 12)
    );
}

#[test]
fn json_with_tabs_and_a_byte_order_mark_is_read() {
    let json = "{\n\t\"apiVersion\": \"argoproj.io/v1alpha1\",\n\t\"kind\": \"Application\",\n\t\"spec\": {\"source\": {\"repoURL\": \"https://c.example.org\", \"chart\": \"a\",\n\t\t\"targetRevision\": \"1.0.0\"}}\n}\n";
    let all = joined(&[("a.json", json)]);
    assert_eq!(
        (pin(&all, "1.0.0").line, pin(&all, "1.0.0").column),
        (5, 21)
    );
    let marked = joined(&[(
        "a.json",
        &format!("\u{feff}{}", json.replace(['\n', '\t'], "")),
    )]);
    assert_eq!(pin(&marked, "1.0.0").line, 1);
}
