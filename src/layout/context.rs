//! What templates know: answers, names and addresses derived from them, clusters with their pins.

use std::collections::BTreeMap;

use minijinja::value::{Serde, Value as Template};
use serde_json::{Map, Value, json};

use super::answers::Answers;
use super::definition::{ClusterCount, Layout, Provider};
use super::profile::Profile;
use super::recorded::{ChartSource, OwnAnswer, SecretsBy, Style, Sync};
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
        "sealing": match answers.secrets {
            SecretsBy::Sops => Some("sops"),
            SecretsBy::SealedSecrets => Some("sealed"),
            SecretsBy::Manual | SecretsBy::ExternalSecrets => None,
        },
        "sops_secret": answers.sops_secret,
        "sops_rules": sops_rules(layout, answers),
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

/// Adds what belongs to one Secret.
pub(super) fn for_secret(
    all: &Map<String, Value>,
    secret: &crate::haptic::gitops::NeededSecret,
) -> Map<String, Value> {
    let mut all = all.clone();
    all.insert("needed".into(), needed(secret));
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
    // An Application of a fleet has one folder for every cluster, so what is sealed for one lies beside that cluster's file.
    let of_cluster = cluster
        .filter(|_| layout.clusters == ClusterCount::Many && layout.provider == Provider::Argo)
        .map(|cluster| format!("clusters/{}/{}-secrets", cluster.name, answers.release));
    json!({
        "sealed": of_cluster.unwrap_or_else(|| format!("apps/{}{overlay}/secrets", answers.release)),
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
    profile.secrets.iter().map(needed).collect()
}

fn needed(s: &crate::haptic::gitops::NeededSecret) -> Value {
    json!({"short": s.short, "name": s.name, "type": s.kind, "keys": s.keys, "what": s.what, "command": s.command})
}

/// The rules of `.sops.yaml`: one for each folder, whose path SOPS takes as a regular expression, seen from the file.
fn sops_rules(layout: &Layout, answers: &Answers) -> Vec<Value> {
    if answers.secrets != SecretsBy::Sops {
        return Vec::new();
    }
    let mut rules: Vec<Value> = Vec::new();
    for cluster in &answers.clusters {
        let dirs = dirs(layout, answers, Some(cluster));
        let folder = dirs["sealed"]
            .as_str()
            .unwrap_or_default()
            .replace('.', "[.]");
        let rule = json!({
            "path": format!("^{folder}/.*[.]sops[.]yaml$"),
            "age": answers.recipients(&cluster.name).join(","),
        });
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules
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
        // The chart puts `caBundle` into the webhook configuration as it stands.
        let ca = answers
            .webhook_cas()
            .map(|pem| crate::model::pem::bundle(&pem));
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
