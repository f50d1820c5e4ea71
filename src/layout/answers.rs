//! [`Answers`]: every answer, complete and typed, as rendering takes them.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Map, Value};

use super::definition::{ClusterCount, Layout, Provider};
use super::recorded::{
    Certificates, ChartSource, OwnAnswer, RecordedAnswers, SecretsBy, Style, Sync, ValuesAs,
};
use crate::error::Problem;
use crate::model::chart::ChartRef;
use crate::model::cluster::Cluster;
use crate::model::git_url::GitUrl;
use crate::model::repo_path::RepoPath;

/// Every answer of a config repository.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// The layout's name.
    pub layout: String,
    /// The layout's controller.
    pub provider: Provider,
    /// The chart.
    pub chart: ChartRef,
    /// The release's name.
    pub release: String,
    /// The release's namespace.
    pub namespace: String,
    /// How closely HAPTIC's guide is followed.
    pub style: Style,
    /// The clusters; at least one.
    pub clusters: Vec<Cluster>,
    /// Where the controller reads the repository. Always there for Argo CD and for `sync: own`.
    pub repo_url: Option<GitUrl>,
    /// The branch that the controller follows.
    pub branch: String,
    /// Flux's source.
    pub sync: Sync,
    /// The Secret for reading the repository; empty for none.
    pub git_secret: String,
    /// Argo CD's namespace.
    pub argocd_namespace: String,
    /// The kind of Flux source that the chart comes from.
    pub chart_source: ChartSource,
    /// Where the webhook's certificate comes from, where the chart asks.
    pub certificates: Option<Certificates>,
    /// The CA of the webhook's certificate, PEM.
    pub webhook_ca: Option<String>,
    /// The CA that comes after it, PEM.
    pub webhook_ca_next: Option<String>,
    /// How Secrets reach the cluster.
    pub secrets: SecretsBy,
    /// Public age keys, with the cluster that one is for alone.
    pub age_recipients: Vec<(Option<String>, String)>,
    /// The Secret with the age key.
    pub sops_secret: String,
    /// Store that the Secrets come from, as kind and name.
    pub secret_store: Option<(String, String)>,
    /// Path in the store.
    pub secret_path: String,
    /// Kustomization that brings the operator of the Secrets; empty for none.
    pub secrets_operator: String,
    /// Where values stand.
    pub values_as: ValuesAs,
    /// The page that says what is where.
    pub readme: String,
    /// The team's own values where they stand in the manifest.
    pub values: Option<String>,
    /// The folder that everything goes below.
    pub path: Option<RepoPath>,
    /// Answers to the layout's own questions.
    pub own: BTreeMap<String, OwnAnswer>,
}

impl Answers {
    /// Makes typed answers of resolved ones, for files below `path`.
    ///
    /// # Errors
    /// When an answer isn't what its question means: an address that is none, a cluster's name that no folder can have.
    pub fn of(
        layout: &Layout,
        resolved: &Map<String, Value>,
        path: Option<RepoPath>,
    ) -> Result<Self> {
        let recorded: RecordedAnswers = serde_json::from_value(Value::Object(resolved.clone()))
            .map_err(|why| Problem::invalid(format!("an answer has the wrong type: {why}")))?;
        let text = |value: Option<String>, name: &str| {
            value.filter(|v| !v.is_empty()).ok_or_else(|| {
                Problem::invalid(format!("layout `{}` must ask `{name}`", layout.name))
            })
        };
        let chart_name = text(recorded.chart, "chart")?;
        let chart = ChartRef::new(&text(recorded.chart_repo, "chart_repo")?, &chart_name)
            .map_err(|why| Problem::invalid(format!("cannot use `chart_repo`: {why}")))?;
        let repo_url = recorded.repo_url.filter(|url| !url.is_empty());
        let repo_url = repo_url
            .map(|url| GitUrl::parse(&url))
            .transpose()
            .map_err(|why| Problem::invalid(format!("cannot use `repo_url`: {why}")))?;
        let release = text(recorded.release, "release")?;
        Ok(Self {
            layout: layout.name.clone(),
            provider: layout.provider,
            clusters: clusters(layout, &recorded.clusters.unwrap_or_default())?,
            namespace: text(recorded.namespace, "namespace")?,
            style: recorded.style.unwrap_or(Style::Default),
            branch: recorded
                .branch
                .filter(|b| !b.is_empty())
                .unwrap_or_else(|| "main".to_owned()),
            sync: recorded.sync.unwrap_or(Sync::Bootstrap),
            git_secret: recorded.git_secret.unwrap_or_default(),
            argocd_namespace: recorded
                .argocd_namespace
                .unwrap_or_else(|| "argocd".to_owned()),
            chart_source: recorded.chart_source.unwrap_or(ChartSource::HelmRepository),
            certificates: recorded.certificates,
            webhook_ca: recorded.webhook_ca,
            webhook_ca_next: recorded.webhook_ca_next,
            secrets: recorded.secrets.unwrap_or(SecretsBy::Manual),
            values_as: recorded.values_as.unwrap_or(ValuesAs::File),
            readme: recorded.readme.unwrap_or_else(|| "README.md".to_owned()),
            values: recorded.values,
            age_recipients: recorded
                .age_recipients
                .unwrap_or_default()
                .iter()
                .map(|text| match text.split_once('=') {
                    Some((cluster, key)) => (Some(cluster.to_owned()), key.to_owned()),
                    None => (None, text.clone()),
                })
                .collect(),
            sops_secret: recorded
                .sops_secret
                .unwrap_or_else(|| "sops-age".to_owned()),
            secret_store: recorded
                .secret_store
                .as_deref()
                .and_then(|store| store.split_once('/'))
                .map(|(kind, name)| (kind.to_owned(), name.to_owned())),
            secret_path: recorded.secret_path.unwrap_or_default(),
            secrets_operator: recorded.secrets_operator.unwrap_or_default(),
            own: recorded.own,
            chart,
            release,
            repo_url,
            path,
        })
    }

    /// The public age keys for a cluster.
    pub fn recipients(&self, cluster: &str) -> Vec<&str> {
        self.age_recipients
            .iter()
            .filter(|(of, _)| of.as_deref().is_none_or(|of| of == cluster))
            .map(|(_, key)| key.as_str())
            .collect()
    }

    /// Every CA that the webhook's certificate may come from, PEM.
    pub fn webhook_cas(&self) -> Option<String> {
        let first = self.webhook_ca.as_deref()?;
        Some(format!(
            "{first}{}",
            self.webhook_ca_next.as_deref().unwrap_or_default()
        ))
    }

    /// Whether Secrets stand in Git, sealed or encrypted.
    pub fn seals(&self) -> bool {
        matches!(self.secrets, SecretsBy::Sops | SecretsBy::SealedSecrets)
    }

    /// `""`, or the folder that everything goes below with a `/`.
    pub fn prefix(&self) -> String {
        RepoPath::prefix(self.path.as_ref())
    }
}

fn clusters(layout: &Layout, texts: &[String]) -> Result<Vec<Cluster>> {
    let clusters = texts
        .iter()
        .map(|text| Cluster::parse(text))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Problem::invalid)?;
    for (index, cluster) in clusters.iter().enumerate() {
        if clusters[..index]
            .iter()
            .any(|other| other.name == cluster.name)
        {
            return Err(Problem::invalid(format!(
                "cluster `{}` stands twice in `clusters`",
                cluster.name
            ))
            .into());
        }
    }
    if let Some(cluster) = scattered(&clusters) {
        return Err(Problem::invalid(format!("stage `{}` stands apart from itself in `clusters`: a version goes through one stage after the other", cluster.stage))
            .hint(format!("put `{}` beside the other clusters of its stage", cluster.name))
            .into());
    }
    match (layout.clusters, clusters.len()) {
        (_, 0) => Err(Problem::invalid("`clusters` is empty: name at least one").into()),
        (ClusterCount::One, 2..) => Err(Problem::invalid(format!(
            "layout `{}` is for one cluster, and `clusters` has {}",
            layout.name,
            clusters.len()
        ))
        .hint(format!(
            "use `--layout {}`, or one cluster",
            layout.name.replace("-cluster", "-fleet")
        ))
        .into()),
        _ => Ok(clusters),
    }
}

/// A cluster whose stage was left and is entered again.
fn scattered(clusters: &[Cluster]) -> Option<&Cluster> {
    let is_again = |index: usize| {
        index > 0
            && clusters[index - 1].stage != clusters[index].stage
            && clusters[..index]
                .iter()
                .any(|c| c.stage == clusters[index].stage)
    };
    (0..clusters.len())
        .find(|index| is_again(*index))
        .map(|index| &clusters[index])
}
