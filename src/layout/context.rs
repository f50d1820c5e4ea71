//! What templates know: answers, names and addresses derived from them, clusters with their pins.

use std::collections::BTreeMap;

use base64::Engine as _;
use minijinja::value::{Serde, Value as Template};
use serde_json::{Map, Value, json};

use super::answers::Answers;
use super::definition::{ClusterCount, Layout, Provider};
use super::profile::Profile;
use super::recorded::{ChartSource, OwnAnswer, Style, Sync};
use crate::model::chart::RepoKind;
use crate::model::cluster::{Cluster, stages};

/// The version of the chart in each cluster, by the cluster's name.
pub type Versions = BTreeMap<String, String>;

/// Everything that templates of a layout know, apart from what belongs to one file.
pub(super) fn context(
    layout: &Layout,
    answers: &Answers,
    profile: &Profile,
    versions: &Versions,
) -> Map<String, Value> {
    let fleet = layout.clusters == ClusterCount::Many;
    let guide = answers.style == Style::Guide;
    let clusters: Vec<Value> = answers
        .clusters
        .iter()
        .map(|cluster| cluster_value(cluster, &answers.clusters))
        .collect();
    let first_version = answers
        .clusters
        .first()
        .and_then(|c| versions.get(&c.name))
        .cloned()
        .unwrap_or_default();
    let values = json!({
        "layout": answers.layout,
        "provider": answers.provider.as_str(),
        "haptic": profile.haptic.is_some(),
        "fleet": fleet,
        "release": answers.release,
        "namespace": answers.namespace,
        "style": answers.style.as_str(),
        "branch": answers.branch,
        "sync": answers.sync.as_str(),
        "git_secret": answers.git_secret,
        "argocd_namespace": answers.argocd_namespace,
        "certificates": answers.certificates.map(super::recorded::Certificates::as_str),
        "secrets": answers.secrets.as_str(),
        "readme": answers.readme,
        "values_as": answers.values_as.as_str(),
        "prefix": answers.prefix(),
        "project": if guide { "default" } else { &answers.release },
        "source": match answers.sync { Sync::Bootstrap => "flux-system".to_owned(), Sync::Own => format!("{}-sync", answers.release) },
        "git": {"url": git_url(answers), "flux_url": answers.repo_url.as_ref().map(crate::model::git_url::GitUrl::with_scheme_only)},
        "chart": chart(answers),
        "clusters": clusters,
        "stages": stages(&answers.clusters),
        "version": first_version,
        "cluster_kinds": profile.cluster_kinds.iter().map(|(group, kind)| json!({"group": group, "kind": kind})).collect::<Vec<_>>(),
        "secrets_needed": secrets(profile),
        "secret_objects": secret_objects(answers, profile),
        "store": answers.secret_store.as_ref().map(|(kind, name)| json!({"kind": kind, "name": name})),
        "secret_path": answers.secret_path,
        "secrets_operator": answers.secrets_operator,
    });
    let Value::Object(mut all) = values else {
        unreachable!("json! of an object is an object")
    };
    all.extend(haptic(answers, profile));
    for question in layout.questions.iter().filter(|q| !q.standard) {
        all.insert(
            question.name.clone(),
            answers.own.get(&question.name).map_or(Value::Null, own),
        );
    }
    all
}

/// Adds what belongs to one cluster.
pub(super) fn for_cluster(
    all: &Map<String, Value>,
    layout: &Layout,
    answers: &Answers,
    cluster: &Cluster,
    versions: &Versions,
) -> Map<String, Value> {
    let mut all = all.clone();
    all.insert("cluster".into(), cluster_value(cluster, &answers.clusters));
    all.insert("version".into(), json!(versions.get(&cluster.name)));
    all.insert("dirs".into(), dirs(layout, answers, Some(cluster)));
    all
}

/// As templates take it.
pub(super) fn template_value(all: &Map<String, Value>) -> Template {
    Template::from(Serde(Value::Object(all.clone())))
}

/// The folders that Kustomizations and Applications point at; overlays have one for each cluster.
pub(super) fn dirs(layout: &Layout, answers: &Answers, cluster: Option<&Cluster>) -> Value {
    let overlay = match cluster {
        Some(cluster)
            if layout.clusters == ClusterCount::Many && layout.provider == Provider::Flux =>
        {
            format!("/{}", cluster.name)
        }
        _ => String::new(),
    };
    json!({
        "secrets": format!("apps/{}{overlay}/secrets", answers.release),
        "release": format!("apps/{}{overlay}/release", answers.release),
    })
}

fn cluster_value(cluster: &Cluster, all: &[Cluster]) -> Value {
    let stages = stages(all);
    let number = stages
        .iter()
        .position(|stage| *stage == cluster.stage)
        .unwrap_or_default();
    json!({
        "name": cluster.name,
        "stage": cluster.stage,
        "after": number.checked_sub(1).map(|before| stages[before]),
    })
}

/// GitLab answers an address without `.git` with a redirect, which Argo CD doesn't follow.
fn git_url(answers: &Answers) -> Option<String> {
    let url = answers.repo_url.as_ref()?.as_str();
    let gitlab = url
        .split('/')
        .nth(2)
        .unwrap_or(url)
        .split(':')
        .next()
        .unwrap_or_default()
        .contains("gitlab");
    Some(if gitlab && !url.ends_with(".git") {
        format!("{url}.git")
    } else {
        url.to_owned()
    })
}

fn chart(answers: &Answers) -> Value {
    let oci_source = answers.chart_source == ChartSource::OciRepository;
    json!({
        "name": answers.chart.name,
        "repo_url": answers.chart.repo_url(),
        "argo_repo": answers.chart.argo_repo(),
        "address": answers.chart.address(),
        "is_oci": answers.chart.kind == RepoKind::Oci,
        "source": answers.chart_source.as_str(),
        "source_kind": if oci_source { "OCIRepository" } else { "HelmRepository" },
        "pinned_kind": if oci_source { "OCIRepository" } else { "HelmRelease" },
    })
}

/// The kinds that External Secrets' file has: without a store a generator comes first.
fn secret_objects(answers: &Answers, profile: &Profile) -> String {
    let generator = answers.secret_store.is_none().then_some("Password");
    let kinds: Vec<&str> = generator
        .into_iter()
        .chain(profile.secrets.iter().map(|_| "ExternalSecret"))
        .collect();
    kinds.join(",")
}

fn secrets(profile: &Profile) -> Vec<Value> {
    let secret = |s: &crate::haptic::gitops::NeededSecret| json!({"short": s.short, "name": s.name, "type": s.kind, "keys": s.keys, "what": s.what, "command": s.command});
    profile.secrets.iter().map(secret).collect()
}

fn haptic(answers: &Answers, profile: &Profile) -> Map<String, Value> {
    let mut all = Map::new();
    if let Some(names) = &profile.haptic {
        let gitops = names.gitops_secrets();
        all.insert(
            "names".into(),
            json!({"webhook_host": names.webhook_host, "pre_rollout_job": names.pre_rollout_job}),
        );
        all.insert(
            "secret".into(),
            json!({"credentials": gitops.credentials, "webhook": gitops.webhook, "frontend": gitops.frontend}),
        );
        // The chart puts `caBundle` into the webhook configuration as it stands: base64 of the PEM.
        let ca = answers
            .webhook_ca
            .as_deref()
            .map(|pem| base64::engine::general_purpose::STANDARD.encode(pem));
        all.insert("ca_bundle".into(), json!(ca));
    }
    all
}

fn own(answer: &OwnAnswer) -> Value {
    match answer {
        OwnAnswer::Bool(value) => json!(value),
        OwnAnswer::Text(value) => json!(value),
        OwnAnswer::List(value) => json!(value),
    }
}
