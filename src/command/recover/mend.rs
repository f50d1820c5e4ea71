//! Rejections that no other version mends: the form in which a chart is fetched, and an image tag that was left behind.

use anyhow::Result;
use serde_json::{Value, json};

use super::units::{Unit, choose};
use super::{Facts, Run, report};
use crate::cli::init::{InitArgs, Questions};
use crate::command::init;
use crate::error::Problem;
use crate::haptic::rejection::Cause;
use crate::layout::recorded;
use crate::model::repo_path::RepoPath;
use crate::plan::recover::Rejection;
use crate::plan::release_values::Form;
use crate::plan::upgrade::is_haptic;
use crate::ui::{Outcome, Ui};

/// The values that let the chart choose its own image again, and what for; nothing where the image isn't to blame.
///
/// # Errors
/// When the image is to blame, no value of the release says which it is, and nobody asks for something else.
pub(super) fn image_tag(
    rejection: &Rejection,
    unit: &Unit,
    is_asked: bool,
) -> Result<Option<(Value, String)>> {
    let Some(Cause::ImageTag {
        embedded,
        installed,
    }) = &rejection.cause
    else {
        return Ok(None);
    };
    let values = unit.described.iter().filter_map(|one| one.values.as_ref());
    let mut tags = values.filter_map(|values| values.pointer("/controller/image/tag"));
    let has_tag = tags.any(|tag| !tag.is_null());
    if !has_tag && is_asked {
        return Ok(None);
    }
    if !has_tag {
        return Err(Problem::invalid(format!(
            "the image embeds chart {embedded} and chart {installed} is installed, and no `controller.image.tag` stands in the values that are known of {}",
            unit.name()
        ))
        .hint(format!("find where the image is set (a mirror, a patch, a parameter; git grep -nF {embedded}), and take the tag away there: the chart then takes the image of its own version"))
        .into());
    }
    let patch = json!({"controller": {"image": {"tag": null}}});
    Ok(Some((
        patch,
        "the image tag goes: the chart takes the image of its own version".to_owned(),
    )))
}

/// What is said where nobody knows why a version was rejected, and the form of the chart's source may have been the reason.
pub(super) fn doubt(rejection: &Rejection, unit: &Unit) -> Option<String> {
    let mut all = unit.described.iter();
    let is_oci = all.any(|one| matches!(one.source, Form::OciRepository(_)));
    let is_doubted = rejection.cause.is_none() && is_oci && unit.pins.iter().any(is_haptic);
    is_doubted.then(|| {
        "its chart comes from an OCIRepository: unless helm-controller runs with `DisableChartDigestTracking=true`, it adds a digest to the version, and preflight refuses every version for that; the Job's log tells (`--job-log FILE`)".to_owned()
    })
}

/// The folder of the scaffold that the pins lie below, where there is one: nothing for the repository's top.
fn scaffold(facts: &Facts<'_>, unit: &Unit) -> Option<Option<String>> {
    let pin = &unit.pins.first()?.file;
    let is_of = |path: &RepoPath| {
        let prefix = RepoPath::prefix(path.parent().as_ref());
        pin.as_str().starts_with(&prefix)
    };
    let has_answers = |path: &RepoPath, text: &str| {
        let recorded = recorded::parse(text, path.as_str());
        recorded.is_ok_and(|recorded| recorded.answers.is_some())
    };
    let all = facts.found.policies.iter();
    let all = all.filter(|(path, text)| is_of(path) && has_answers(path, text));
    let (path, _) = all.max_by_key(|(path, _)| path.parts().count())?;
    Some(path.parent().map(|folder| folder.to_string()))
}

impl Run<'_> {
    /// Mends the form of the chart's source, where that is what was rejected: by the answer that says it, and a request where one is asked for.
    pub(super) fn mended_by_source(
        &self,
        facts: &Facts<'_>,
        (rejection, known): (&Rejection, Option<usize>),
        ui: &mut Ui,
    ) -> Result<Option<Outcome>> {
        let Some(cause @ Cause::ChartForm { .. }) = &rejection.cause else {
            return Ok(None);
        };
        let unit = &facts.all[choose(facts.all, &rejection.version, known)?.first];
        let scaffold = scaffold(facts, unit);
        let is_scaffolded = scaffold.is_some();
        let path = scaffold.flatten();
        let mut all = unit.described.iter();
        let is_oci = all.any(|one| matches!(one.source, Form::OciRepository(_)));
        let arguments = self.arguments;
        if is_scaffolded && is_oci && arguments.deliver.open {
            ui.notice(&format!(
                "{} {} is no bad release: {}",
                facts.subject.name,
                rejection.version,
                cause.text()
            ));
            ui.notice("the chart's source becomes a HelmRepository, which leaves the version as it is; nothing is remembered as rejected");
            let answers = InitArgs {
                questions: Questions {
                    chart_source: Some("helm-repository".to_owned()),
                    ..Questions::default()
                },
                path: path.clone(),
                deliver: arguments.deliver.clone(),
                author: arguments.author.clone(),
                ..InitArgs::default()
            };
            let mut world = self.world.clone();
            let common = crate::cli::Common {
                yes: true,
                ..self.common.clone()
            };
            let mut outcome = init::run(&answers, &common, &mut world, ui)?;
            report::add_rejection(&mut outcome, rejection, &facts.subject.name);
            return Ok(Some(outcome));
        }
        let mut problem = Problem::invalid(format!(
            "{} {} was refused for its form, and no other version helps: {}",
            facts.subject.name,
            rejection.version,
            cause.text()
        ));
        problem = if is_scaffolded && is_oci {
            let path = path
                .map(|path| format!(" --path {path}"))
                .unwrap_or_default();
            problem
                .hint(format!("have the chart come from a HelmRepository: haptic-scaffold init{path} --chart-source helm-repository"))
                .hint("`--open` opens a merge request with just that")
        } else {
            problem.hint("give the HelmRelease `spec.chart` with a HelmRepository of `type: oci` instead of `chartRef`")
        };
        Err(problem
            .hint("or start helm-controller with --feature-gates=DisableChartDigestTracking=true")
            .into())
    }
}
