//! Small repositories whose pins depend on more than one file.

mod cases;
mod places;

use super::{Form, Joined, Pin, edit, join, look};
use crate::model::repo_path::RepoPath;

/// Puts files together, and moves each pin that can be moved, alone.
fn joined(files: &[(&str, &str)]) -> Joined {
    let look = |(path, text): &(&str, &str)| look(&RepoPath::parse(path).unwrap(), text);
    let all = join(files.iter().map(look).collect());
    for pin in all.pins.iter().filter(|pin| pin.editable) {
        let (_, text) = files
            .iter()
            .find(|(path, _)| *path == pin.file.as_str())
            .unwrap();
        let new = match pin.form {
            Form::Digest => "sha256:99",
            Form::Range => ">=9.8.7",
            _ if pin.value.starts_with('v') => "v9.8.7",
            _ => "9.8.7",
        };
        let edited =
            edit(&pin.file, text, pin, new).unwrap_or_else(|why| panic!("{why}: {pin:?}\n{text}"));
        let (head, tail) = (&text[..pin.span.start], &text[pin.span.end..]);
        assert!(
            edited.starts_with(head) && edited.ends_with(tail),
            "{edited}"
        );
        let middle = &edited[head.len()..edited.len() - tail.len()];
        let old = &text[pin.span.clone()];
        assert!(
            middle == old.replace(&pin.value, new) || middle == format!("\"{new}\""),
            "{middle}"
        );
    }
    all
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
    assert_eq!(pin(&range, ">=1.0.0 <2.0.0").form, Form::Range);
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
            "resources: [../base.yaml]\npatches:\n- {path: pin.yaml, target: {kind: HelmRelease, name: web}}\n- {path: lost.yaml, target: {kind: HelmRelease, name: lost}}\n",
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
    let patches = "resources: [../base]\npatches:\n- target: {kind: HelmRelease, name: web}\n  patch: |-\n    kind: HelmRelease\n    metadata: {name: whatever}\n    spec: {chart: {spec: {version: 1.0.0}}}\n- target: {kind: Application, name: git}\n  patch: |-\n    - {op: replace, path: /spec/source/targetRevision, value: 2.0.0}\n- target: {kind: Application, name: lost}\n  patch: '[{\"op\": \"add\", \"path\": \"/spec/source\", \"value\": {\"targetRevision\": \"3.0.0\"}}]'\n- target: {kind: HelmRelease, name: web}\n  patch: |-\n    - {op: test, path: /spec/chart/spec/version, value: 4.0.0}\n    - {op: add, path: /spec/chart, value: {spec: {version: 5.0.0}}}\n";
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

#[test]
fn values_that_a_range_goes_over_are_followed() {
    let template = "{{- range $name, $app := .Values.apps }}\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: {{ $name }}}\nspec:\n  source:\n    repoURL: https://c.example.org\n    chart: {{ $app.chart }}\n    targetRevision: {{ $app.version | quote }}\n{{- end }}\n";
    let map = "apps:\n  one: {chart: web, version: 1.0.0}\n  api: {version: 2.0.0}\nother: {one: {version: 3.0.0}}\n";
    let list = "apps:\n- {chart: web, version: 1.0.0}\n- {chart: api, version: 2.0.0}\n";
    for values in [map, list] {
        let all = joined(&[
            ("root/templates/apps.yaml", template),
            ("root/values.yaml", values),
        ]);
        for (version, chart) in [("1.0.0", "web"), ("2.0.0", "api")] {
            assert_eq!(pin(&all, version).chart.as_deref(), Some(chart));
            assert_eq!(address(&all, version), "https://c.example.org");
        }
        assert_eq!(all.pins.len(), 2, "{:?}", all.pins);
        assert!(all.unread.is_empty(), "{:?}", all.unread);
    }
}
