//! Places one by one: what is found there, and whether it counts.

use super::{address, joined, pin, release, repository, substituting};

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
        crate::pins::Form::Exact
    );
    assert_eq!(
        pin(&joined(&[("a.yaml", &release("'1.2'"))]), "1.2").form,
        crate::pins::Form::Range
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

#[test]
fn inputs_of_a_resource_set_nest_and_escaped_parameters_are_followed() {
    let set = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: a}\nspec:\n  inputs:\n  - app: {version: 1.0.x}\n  resources:\n  - kind: OCIRepository\n    metadata: {name: << inputs.app.name >>}\n    spec: {url: 'oci://r.example.org/c/web', ref: {semver: << inputs.app.version | quote >>}}\n";
    assert_eq!(
        address(&joined(&[("set.yaml", set)]), "1.0.x"),
        "oci://r.example.org/c"
    );
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: {{ .Release.Name }}}\nspec:\n  generators: [{list: {elements: [{version: 1.0.0}]}}]\n  template: {spec: {source: {chart: web, repoURL: 'https://c.example.org', targetRevision: '{{`{{ .version }}`}}'}}}\n";
    let all = joined(&[("chart/templates/set.yaml", set)]);
    assert_eq!(address(&all, "1.0.0"), "https://c.example.org");
    assert!(all.unread.is_empty(), "{:?}", all.unread);
}

#[test]
fn every_line_that_a_template_makes_is_told() {
    let text = "releases:\n- {name: a, chart: r/a, version: {{ .Values.a }}}\n- name: b\n  chart: r/b\n  version: '{{ .Values.b }}'\n";
    let all = joined(&[("hf/helmfile.yaml", text), ("values.yaml", "b: 1.0.0\n")]);
    let lines: Vec<usize> = all.unread.iter().map(|unread| unread.line).collect();
    assert_eq!(lines, [2, 5]);
    assert!(all.pins.is_empty(), "{:?}", all.pins);
    let beside = joined(&[("hf/helmfile.yaml", text), ("hf/values.yaml", "b: 1.0.0\n")]);
    let lines: Vec<usize> = beside.unread.iter().map(|unread| unread.line).collect();
    assert_eq!(lines, [2]);
    assert_eq!(pin(&beside, "1.0.0").defines.as_deref(), Some("b"));
}

#[test]
fn a_block_of_terraform_ends_at_its_own_brace() {
    let text = "  resource \"helm_release\" \"a\" {\n    chart = \"a\"\n    version = \"1.0.0\"\n  }\nresource \"helm_release\" \"b\" {\n  repository = var.repository\n  chart = \"b\"\n  version = \"2.0.0\"\n}\n";
    let all = joined(&[("main.tf", text)]);
    assert_eq!(pin(&all, "1.0.0").source, crate::pins::Source::Unknown);
    assert_eq!(pin(&all, "2.0.0").source, crate::pins::Source::Unknown);
    assert_eq!(pin(&all, "2.0.0").chart.as_deref(), Some("b"));
}

#[test]
fn k3s_and_fleet_have_charts_too() {
    let k3s = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: web, namespace: kube-system}\nspec:\n  repo: https://c.example.org\n  chart: web\n  version: 1.0.0\n  valuesContent: |-\n    image: {repository: x, tag: 2.0.0}\n";
    let fleet = "helm: {chart: 'oci://r.example.org/c/web', version: 3.0.0}\ntargetCustomizations:\n- {name: prod, helm: {version: 4.0.0}}\n";
    let all = joined(&[("web.yaml", k3s), ("web/fleet.yaml", fleet)]);
    assert_eq!(address(&all, "1.0.0"), "https://c.example.org");
    assert_eq!(pin(&all, "2.0.0").line, 9);
    assert_eq!(address(&all, "3.0.0"), "oci://r.example.org/c");
    assert_eq!(pin(&all, "4.0.0").place, "fleet.yaml helm.version");
}

#[test]
fn what_a_variable_makes_is_no_name_and_no_address() {
    let all = joined(&[(
        "a.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: '${name}'}\nspec: {url: 'oci://r.example.org/c/${chart}', ref: {tag: 1.0.0}}\n",
    )]);
    let one = pin(&all, "1.0.0");
    assert_eq!((&one.chart, &one.object), (&None, &None));
    assert_eq!(
        one.source,
        crate::pins::Source::Address("oci://r.example.org/c".to_owned())
    );
    let all = joined(&[(
        "a.yaml",
        &[release("1.0.0"), repository("${DOMAIN}")].concat(),
    )]);
    let one = pin(&all, "1.0.0");
    assert_eq!(one.source, crate::pins::Source::Unknown);
    assert!(
        one.why
            .as_ref()
            .is_some_and(|why| why.contains("${DOMAIN}"))
    );
}

#[test]
fn other_controllers_have_charts_too() {
    let release = "apiVersion: helm.crossplane.io/v1beta1\nkind: Release\nmetadata: {name: a}\nspec: {forProvider: {chart: {name: web, repository: 'https://one.example.org', version: 1.0.0}}}\n---\n";
    let proxy = "apiVersion: addons.cluster.x-k8s.io/v1alpha1\nkind: HelmChartProxy\nmetadata: {name: a}\nspec: {chartName: web, repoURL: 'https://two.example.org', version: 2.0.0}\n---\n";
    let profile = "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterProfile\nmetadata: {name: a}\nspec: {helmCharts: [{repositoryURL: 'https://three.example.org', chartName: web/web, chartVersion: v3.0.0}]}\n";
    let all = joined(&[("all.yaml", &[release, proxy, profile].concat())]);
    for (version, url) in [("1.0.0", "one"), ("2.0.0", "two"), ("v3.0.0", "three")] {
        assert_eq!(address(&all, version), format!("https://{url}.example.org"));
        assert_eq!(pin(&all, version).chart.as_deref(), Some("web"));
    }
}

#[test]
fn a_variable_in_an_encrypted_file_is_not_edited() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {v: 1.0.0}\nsops: {mac: x}\n";
    let all = joined(&[
        ("web.yaml", &[release("'${v}'"), repository("one")].concat()),
        ("secret.yaml", secret),
        (
            "apps.yaml",
            &substituting("{substituteFrom: [{kind: Secret, name: s}]}"),
        ),
    ]);
    assert_eq!(address(&all, "1.0.0"), "https://one.example.org");
    assert!(!pin(&all, "1.0.0").editable);
}

#[test]
fn a_string_in_a_template_has_no_lines_of_it() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata:\n  guide: |\n    chart: web\n    version: 1.0.0\n";
    assert_eq!(in_one("chart/templates/map.yaml", text), []);
    let branches = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  source:\n    chart: web\n    repoURL: https://c.example.org\n    {{- if .Values.new }}\n    targetRevision: 2.0.0\n    {{- else }}\n    targetRevision: 1.0.0\n    {{- end }}\n";
    assert_eq!(
        in_one("chart/templates/app.yaml", branches),
        are(&[("2.0.0", true), ("1.0.0", true)])
    );
}
