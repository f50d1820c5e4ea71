//! Cases in which a pin was joined to the wrong chart, read wrongly, or lost.

use super::{Form, address, joined, pin};
use crate::pins::{Kind, Rule, newest};

fn chart(all: &super::Joined, version: &str) -> Option<String> {
    pin(all, version).chart.clone()
}

fn flux_release(chart: &str, namespace: &str, version: &str) -> String {
    let place = if namespace.is_empty() {
        String::new()
    } else {
        format!(", namespace: {namespace}")
    };
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: charts{place}}}\nspec: {{url: 'https://{chart}.example.org'}}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: app{place}}}\nspec: {{chart: {{spec: {{chart: {chart}, version: {version}, sourceRef: {{kind: HelmRepository, name: charts}}}}}}}}\n"
    )
}

fn operation(target: &str, version: &str) -> String {
    format!(
        "- target: {{kind: HelmRelease, {target}}}\n  patch: |\n    - {{op: replace, path: /spec/chart/spec/version, value: {version}}}\n"
    )
}

#[test]
fn a_patch_is_for_an_object_that_its_kustomization_takes_in() {
    let prod = format!(
        "resources: [../base]\npatches:\n{}",
        operation("name: app", "1.5.0")
    );
    let all = joined(&[
        ("a/base/kustomization.yaml", "resources: [app.yaml]\n"),
        ("a/base/app.yaml", &flux_release("foo", "team-a", "1.0.0")),
        ("a/prod/kustomization.yaml", &prod),
        (
            "b/kustomization.yaml",
            "{namespace: team-b, resources: [app.yaml]}\n",
        ),
        ("b/app.yaml", &flux_release("bar", "", "2.0.0")),
    ]);
    assert_eq!(chart(&all, "1.5.0").as_deref(), Some("foo"));
    assert_eq!(address(&all, "1.5.0"), "https://foo.example.org");
}

#[test]
fn a_patch_is_for_the_object_in_a_given_namespace() {
    let patch = "resources: [../base]\npatches:\n- patch: |\n    apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n    metadata: {name: app, namespace: prod}\n    spec: {chart: {spec: {version: 1.5.0}}}\n";
    let files = [
        (
            "a/base/kustomization.yaml",
            "{namespace: prod, resources: [app.yaml]}\n".to_owned(),
        ),
        ("a/base/app.yaml", flux_release("foo", "", "1.0.0")),
        ("a/prod/kustomization.yaml", patch.to_owned()),
        ("b/app.yaml", flux_release("bar", "prod", "2.0.0")),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    assert_eq!(chart(&joined(&files), "1.5.0").as_deref(), Some("foo"));
    // Without the base nothing says that the other cluster's is meant.
    let all = joined(&files[2..]);
    assert_eq!(chart(&all, "1.5.0"), None);
    let why = pin(&all, "1.5.0").why.clone().unwrap_or_default();
    assert!(why.contains("takes in none"), "{why}");
}

#[test]
fn of_several_objects_none_is_chosen() {
    let top = format!(
        "resources: [x.yaml, y.yaml]\npatches:\n{}{}",
        operation("name: app", "1.5.0"),
        operation("name: app, namespace: two", "1.6.0")
    );
    let all = joined(&[
        ("kustomization.yaml", &top),
        ("x.yaml", &flux_release("foo", "one", "1.0.0")),
        ("y.yaml", &flux_release("bar", "two", "2.0.0")),
    ]);
    assert_eq!(chart(&all, "1.5.0"), None);
    let why = pin(&all, "1.5.0").why.clone().unwrap_or_default();
    assert!(why.contains("several"), "{why}");
    assert_eq!(chart(&all, "1.6.0").as_deref(), Some("bar"));
}

#[test]
fn a_components_patch_is_for_what_takes_it_in() {
    let component = format!(
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n{}",
        operation("name: app", "1.5.0")
    );
    let flux = format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: a}}\nspec:\n  path: ./b\n  patches:\n  {}",
        operation("name: app", "1.6.0")
            .replace('\n', "\n  ")
            .trim_end()
    );
    let all = joined(&[
        (
            "a/kustomization.yaml",
            "resources: [app.yaml]\ncomponents: [../new]\n",
        ),
        ("a/app.yaml", &flux_release("foo", "", "1.0.0")),
        ("b/app.yaml", &flux_release("bar", "", "2.0.0")),
        ("new/kustomization.yaml", &component),
        ("flux/b.yaml", &format!("{flux}\n")),
    ]);
    assert_eq!(chart(&all, "1.5.0").as_deref(), Some("foo"));
    assert_eq!(chart(&all, "1.6.0").as_deref(), Some("bar"));
}

#[test]
fn a_git_repository_of_another_namespace_is_no_chart() {
    let source = "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: repo}\nspec: {url: 'https://g.example.org/r', ref: {tag: VERSION}}\n";
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: app}\nspec: {chart: {spec: {chart: ./foo, sourceRef: {kind: GitRepository, name: repo}}}}\n";
    let all = joined(&[
        (
            "a/kustomization.yaml",
            "{namespace: a, resources: [all.yaml]}\n",
        ),
        (
            "a/all.yaml",
            &[release, &source.replace("VERSION", "v1.0.0")].concat(),
        ),
        (
            "b/kustomization.yaml",
            "{namespace: b, resources: [all.yaml]}\n",
        ),
        ("b/all.yaml", &source.replace("VERSION", "v2.0.0")),
    ]);
    assert_eq!(chart(&all, "v1.0.0").as_deref(), Some("foo"));
    assert_eq!(chart(&all, "v2.0.0"), None);
}

#[test]
fn manifests_and_a_chart_of_one_name_are_told_apart_by_namespace() {
    let source = |place: &str, version: &str| {
        format!(
            "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: app{place}}}\nspec: {{url: 'oci://r.example.org/foo', ref: {{tag: {version}}}}}\n"
        )
    };
    let manifests = "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: app, namespace: a}\nspec: {path: ./, sourceRef: {kind: OCIRepository, name: app}}\n";
    let release = "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: app}\nspec: {chartRef: {kind: OCIRepository, name: app}}\n";
    let all = joined(&[
        (
            "a.yaml",
            &[&source(", namespace: a", "1.0.0"), manifests].concat(),
        ),
        (
            "b/kustomization.yaml",
            "{namespace: b, resources: [all.yaml]}\n",
        ),
        ("b/all.yaml", &[&source("", "2.0.0"), release].concat()),
    ]);
    assert_eq!(pin(&all, "1.0.0").kind, Kind::Other);
    assert_eq!(pin(&all, "2.0.0").kind, Kind::Chart);
}

#[test]
fn a_tag_of_an_artifact_is_never_a_range() {
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: a}\nspec: {url: 'oci://r.example.org/web', ref: {tag: 'TAG'}}\n";
    let form = |tag: &str| {
        let all = joined(&[("a.yaml", &source.replace("TAG", tag))]);
        all.pins[0].form
    };
    for tag in ["6.1", "6", "1.x", "latest", "v6.1", ">=1.0.0"] {
        assert_eq!(form(tag), Form::Tag, "{tag}");
    }
    for tag in ["6.1.0", "v6.1.0", "1.0.0_up1", "1.0.0-rc.1"] {
        assert_eq!(form(tag), Form::Exact, "{tag}");
    }
    let operations = "resources: [a.yaml]\npatches:\n- target: {kind: OCIRepository, name: a}\n  patch: |\n    - {op: replace, path: /spec/ref/tag, value: '6.2'}\n    - {op: replace, path: /spec/ref, value: {tag: '6.3'}}\n    - {op: replace, path: /spec/ref/semver, value: '6.4'}\n";
    let variables = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec: {path: ./, postBuild: {substitute: {web_version: '6.5'}}}\n";
    let all = joined(&[
        ("kustomization.yaml", operations),
        ("a.yaml", &source.replace("TAG", "${web_version}")),
        ("b.yaml", &source.replace("TAG", "${other:=6.6}")),
        ("flux.yaml", &variables.replace("6.5", "6.5.x")),
    ]);
    for (value, form) in [
        ("6.2", Form::Tag),
        ("6.3", Form::Tag),
        ("6.4", Form::Range),
        ("6.5.x", Form::Tag),
        ("6.6", Form::Tag),
    ] {
        assert_eq!(pin(&all, value).form, form, "{value}");
    }
}

#[test]
fn an_underscore_in_a_tag_is_a_plus() {
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: a}\nspec: {url: 'oci://r.example.org/web', ref: {tag: 1.0.0_up1}}\n";
    let all = joined(&[("a.yaml", source)]);
    let published = ["1.0.0+up1", "1.0.0+up2", "0.9.0"].map(|text| text.parse().unwrap());
    let newest = newest(pin(&all, "1.0.0_up1"), &published, &Rule::default());
    assert!(newest.is_newer);
    assert_eq!(newest.version, Some(published[1].clone()));
}

/// Merge keys of merge keys, and lists of lists, that few bytes make endless.
#[test]
fn what_aliases_multiply_is_told_and_not_followed() {
    let many = |name: &str| vec![name; 250].join(", ");
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n";
    let merges = format!(
        "x0: &a0 {{a: b}}\nx1: &a1 {{<<: [{}]}}\nx2: &a2 {{<<: [{}]}}\nx3: &a3 {{<<: [{}]}}\nspec: {{source: {{<<: [{}]}}}}\n",
        many("*a0"),
        many("*a1"),
        many("*a2"),
        many("*a3")
    );
    let lists = format!(
        "x0: &a0 {{kind: List, items: []}}\nx1: &a1 {{kind: List, items: [{}]}}\nx2: &a2 {{kind: List, items: [{}]}}\nx3: &a3 {{kind: List, items: [{}]}}\nkind: List\nitems: [{}]\n",
        many("*a0"),
        many("*a1"),
        many("*a2"),
        many("*a3")
    );
    let good = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: &s {repoURL: 'https://c.example.org', chart: web, targetRevision: 1.0.0}}\n";
    let all = joined(&[
        ("good.yaml", good),
        ("lists.yaml", &lists),
        ("merges.yaml", &format!("{application}{merges}")),
    ]);
    assert_eq!(chart(&all, "1.0.0").as_deref(), Some("web"));
    let unread: Vec<(&str, usize)> = all
        .unread
        .iter()
        .map(|one| (one.file.as_str(), one.line))
        .collect();
    assert_eq!(unread, [("lists.yaml", 1), ("merges.yaml", 1)]);
}

#[test]
fn terraform_is_read_by_its_blocks() {
    let text = "resource \"helm_release\" \"x\" {\n  repository = \"https://c.example.org\"\n  chart = \"web\"\n  values = [yamlencode({\n    image = { repository = \"ghcr.io/x\" }\n    version = \"1.0.0\"\n  }), <<EOF\n}\nversion = 3.3.3\nEOF\n  ]\n  version = \"2.0.0\"\n}\n/*\nresource \"helm_release\" \"old\" {\n  chart = \"web\"\n  version = \"1.0.0\"\n}\n*/\nresource \"helm_release\" \"y\" {\n  chart = \"web\"\n  values = [yamlencode({\n    version = \"1.0.0\"\n  })]\n}\nresource \"helm_release\" \"z\" {\n  version = var.a ? \"1.0.0\" : \"1.1.0\"\n}\n";
    let all = joined(&[("main.tf", text)]);
    assert_eq!(all.pins.len(), 1, "{:#?}", all.pins);
    assert_eq!(chart(&all, "2.0.0").as_deref(), Some("web"));
    assert_eq!(address(&all, "2.0.0"), "https://c.example.org");
    let unread: Vec<usize> = all.unread.iter().map(|one| one.line).collect();
    assert_eq!(unread, [27]);
}

#[test]
fn each_branch_of_a_template_has_its_own_chart() {
    let head = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x}\nspec:\n  source:\n    repoURL: https://c.example.org\n";
    let both = "    {{- if .Values.new }}\n    targetRevision: 2.0.0\n    chart: bar\n    {{- else }}\n    targetRevision: 1.0.0\n    chart: foo\n    {{- end }}\n";
    let all = joined(&[("templates/a.yaml", &[head, both].concat())]);
    assert_eq!(chart(&all, "1.0.0").as_deref(), Some("foo"));
    assert_eq!(address(&all, "1.0.0"), "https://c.example.org");
    assert_eq!(chart(&all, "2.0.0").as_deref(), Some("bar"));
    assert_eq!(address(&all, "2.0.0"), "https://c.example.org");
    let open = "    targetRevision: 1.0.0\n    {{- if .Values.new }}\n    chart: bar\n    {{- else if .Values.old }}\n    chart: foo\n    {{- end }}\n";
    let all = joined(&[("templates/a.yaml", &[head, open].concat())]);
    let one = pin(&all, "1.0.0");
    assert_eq!(
        (one.kind, &one.chart, &one.source),
        (Kind::Chart, &None, &crate::pins::Source::Unknown)
    );
    assert!(
        one.why
            .as_deref()
            .is_some_and(|why| why.contains("condition"))
    );
}

#[test]
fn a_marker_names_a_chart_by_a_part_of_its_path() {
    let kind = |name: &str| {
        let text =
            format!("app:\n  # renovate: datasource=docker depName={name}\n  version: 1.6.1\n");
        let all = joined(&[("values.yaml", &text)]);
        pin(&all, "1.6.1").kind
    };
    for name in [
        "ghcr.io/chartdb/chartdb",
        "alpine/helm",
        "r.example.org/charts",
        "chartmuseum",
    ] {
        assert_eq!(kind(name), Kind::Image, "{name}");
    }
    for name in [
        "ghcr.io/x/charts/web",
        "r.example.org/helm/web",
        "ghcr.io/x/helm-charts/web",
    ] {
        assert_eq!(kind(name), Kind::Chart, "{name}");
    }
}

#[test]
fn a_warehouse_without_a_name_names_the_chart_by_its_address() {
    let text = "apiVersion: kargo.akuity.io/v1alpha1\nkind: Warehouse\nmetadata: {name: w}\nspec:\n  subscriptions:\n  - chart: {repoURL: 'oci://r.example.org/charts/web', semverConstraint: ^6.0.0}\n  - chart: {repoURL: 'https://c.example.org', name: api, semverConstraint: ^7.0.0}\n";
    let all = joined(&[("w.yaml", text)]);
    assert_eq!(chart(&all, "^6.0.0").as_deref(), Some("web"));
    assert_eq!(address(&all, "^6.0.0"), "oci://r.example.org/charts");
    assert_eq!(chart(&all, "^7.0.0").as_deref(), Some("api"));
    assert_eq!(address(&all, "^7.0.0"), "https://c.example.org");
}

#[test]
fn a_helmfile_is_known_by_what_it_has_and_its_templates_are_inherited() {
    let top = "repositories: [{name: p, url: 'https://p.example.org'}]\ntemplates:\n  d: &d\n    chart: p/foo\n    version: 1.0.0\n  e: {version: 3.0.0}\nreleases:\n- name: a\n  inherit: [{template: d}]\n- name: b\n  chart: p/bar\n  inherit: [{template: d}, {template: e}]\n- name: c\n  inherit: [{template: lost}]\nhelmfiles:\n- path: apps/monitoring.yaml\n- path: git::https://g.example.org/x.git@helmfile.yaml\n";
    let other = "repositories: [{name: p, url: 'https://q.example.org'}]\nreleases:\n- name: b\n  chart: p/web\n  version: 2.0.0\n";
    let all = joined(&[("apps/monitoring.yaml", other), ("helmfile.yaml", top)]);
    assert_eq!(chart(&all, "1.0.0").as_deref(), Some("foo"));
    assert_eq!(address(&all, "1.0.0"), "https://p.example.org");
    assert!(pin(&all, "1.0.0").editable);
    assert_eq!(chart(&all, "3.0.0").as_deref(), Some("bar"));
    assert_eq!(chart(&all, "2.0.0").as_deref(), Some("web"));
    assert_eq!(address(&all, "2.0.0"), "https://q.example.org");
    let unread: Vec<usize> = all.unread.iter().map(|one| one.line).collect();
    assert_eq!(unread, [14, 17], "{:#?}", all.unread);
}

fn set(name: &str, generators: &str, source: &str) -> String {
    format!(
        "---\napiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: {name}}}\nspec:\n  generators: [{generators}]\n  template: {{spec: {{source: {source}}}}}\n"
    )
}

#[test]
fn the_chart_is_that_of_the_same_element_or_data() {
    let made = "{repoURL: '{{repo}}', chart: '{{chart}}', targetRevision: '{{version}}'}";
    let elements = "{list: {elements: [{repo: 'https://p.example.org', chart: foo, version: 1.0.0}, {repo: r.example.org/x, chart: bar, version: 2.0.0}, {version: 3.0.0}]}}";
    let data = set(
        "data",
        "{git: {files: [{path: 'data/*.yaml'}]}}",
        "{repoURL: 'https://c.example.org', chart: '{{.redis.name}}', targetRevision: '{{.redis.version}}'}",
    );
    let all = joined(&[
        ("data.yaml", &data),
        (
            "data/a.yaml",
            "redis:\n  name: redis-cluster\n  version: 9.0.0\n",
        ),
        ("list.yaml", &set("list", elements, made)),
    ]);
    assert_eq!(chart(&all, "1.0.0").as_deref(), Some("foo"));
    assert_eq!(address(&all, "1.0.0"), "https://p.example.org");
    assert_eq!(chart(&all, "2.0.0").as_deref(), Some("bar"));
    assert_eq!(address(&all, "2.0.0"), "oci://r.example.org/x");
    assert_eq!(chart(&all, "3.0.0"), None);
    assert_eq!(chart(&all, "9.0.0").as_deref(), Some("redis-cluster"));
}

#[test]
fn parameters_are_those_of_their_own_object() {
    let one = set(
        "one",
        "{list: {elements: [{version: 1.0.0}]}}",
        "{repoURL: 'https://p.example.org', chart: foo, targetRevision: '{{version}}'}",
    );
    let two = set(
        "two",
        "{list: {elements: [{version: 1.0.5}]}}",
        "{repoURL: 'https://p.example.org', chart: bar, targetRevision: 2.0.0, helm: {parameters: [{name: k8s, value: '{{version}}'}]}}",
    );
    let all = joined(&[("as.yaml", &[one, two].concat())]);
    let values: Vec<&str> = all.pins.iter().map(|pin| pin.value.as_str()).collect();
    assert_eq!(values, ["1.0.0", "2.0.0"]);
    assert_eq!(chart(&all, "1.0.0").as_deref(), Some("foo"));
}
