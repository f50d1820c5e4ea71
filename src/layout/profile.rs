//! [`Profile`]: what is known of a chart beforehand. HAPTIC is the first; any other chart has the plain one.

use super::answers::Answers;
use super::recorded::{Certificates, ChartSource};
use super::resolve::ProfileDefaults;
use crate::haptic;
use crate::haptic::gitops::NeededSecret;
use crate::haptic::names::Names;
use crate::model::chart::{ChartRef, RepoKind};

/// What is known of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Names of HAPTIC's objects, where the chart is HAPTIC.
    pub haptic: Option<Names>,
    /// Secrets that have to be there before the release.
    pub secrets: Vec<NeededSecret>,
    /// Cluster-scoped kinds that the chart renders, as (group, kind).
    pub cluster_kinds: Vec<(&'static str, &'static str)>,
    /// The template of the values that the answers ask for.
    pub values_template: Option<&'static str>,
}

/// Whether a chart of this name is HAPTIC. Mirrors have other addresses, so the name counts.
pub fn is_haptic(chart: &str) -> bool {
    chart == haptic::CHART
}

/// Defaults that the chart's name and address give to questions.
///
/// HAPTIC's preflight compares the chart's version as text and so rejects what comes from an OCIRepository, whose version carries a digest;
/// for other charts from a registry Flux documents the OCIRepository as the way to go.
pub fn defaults(chart: &str, chart_repo: Option<&str>) -> ProfileDefaults {
    let is_haptic = is_haptic(chart);
    let is_oci = chart_repo.is_none_or(|repo| {
        ChartRef::new(repo, chart).is_ok_and(|chart| chart.kind == RepoKind::Oci)
    });
    let source = if is_haptic || !is_oci {
        ChartSource::HelmRepository
    } else {
        ChartSource::OciRepository
    };
    ProfileDefaults {
        chart_repo: is_haptic.then(|| haptic::CHART_REPO.to_owned()),
        chart_source: source.as_str().to_owned(),
    }
}

impl Profile {
    /// The profile of the chart that the answers name.
    pub fn of(answers: &Answers) -> Self {
        if !is_haptic(&answers.chart.name) {
            // What another chart renders isn't known here.
            return Self {
                haptic: None,
                secrets: Vec::new(),
                cluster_kinds: vec![("*", "*")],
                values_template: None,
            };
        }
        let names = Names::of(&answers.release, &answers.namespace);
        let external = answers.certificates == Some(Certificates::External);
        let mut cluster_kinds = vec![("", "Namespace")];
        cluster_kinds.extend(haptic::gitops::CLUSTER_KINDS);
        Self {
            secrets: haptic::gitops::needed_secrets(&names, external),
            cluster_kinds,
            values_template: Some("haptic/values.yaml"),
            haptic: Some(names),
        }
    }
}
