//! From questions to answers: what was given, in its order of precedence, else what is asked or the default.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use minijinja::Environment;
use minijinja::value::{Serde, Value as Template};
use serde_json::{Map, Value, json};

use super::definition::Layout;
use super::given::{Given, GivenAnswers, Origin};
use super::question::Question;
use super::recorded;
use crate::error::Problem;
use crate::model::git_url::GitUrl;

/// What expressions know besides the answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The repository's address, from its remote.
    pub repo_url: Option<String>,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// Whether `flux bootstrap` has been here.
    pub bootstrap: bool,
    /// The page for people: README.md, or another where that is somebody else's.
    pub readme: String,
    /// Names of the clusters that `flux bootstrap` has made.
    pub clusters: Vec<String>,
}

/// A question as it is put to a person.
pub struct Asked<'a> {
    /// The question.
    pub question: &'a Question,
    /// The answer where none is typed.
    pub default: Option<&'a Value>,
    /// Whether no answer is an answer.
    pub optional: bool,
    /// Says what is wrong with an answer.
    pub check: &'a dyn Fn(&Value) -> Result<(), String>,
}

/// Asks a person. Behind it stands a terminal, or nothing.
pub trait Ask {
    /// Returns the answer to a question, or `None` where nobody can be asked.
    ///
    /// # Errors
    /// When the person ends the dialogue.
    fn ask(&mut self, asked: &Asked<'_>) -> Result<Option<Value>>;
}

/// Nobody to ask.
pub struct NobodyToAsk;

impl Ask for NobodyToAsk {
    fn ask(&mut self, _: &Asked<'_>) -> Result<Option<Value>> {
        Ok(None)
    }
}

/// What the chart's profile gives to expressions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileDefaults {
    /// The documented address of the chart's repository.
    pub chart_repo: Option<String>,
    /// The better kind of Flux source.
    pub chart_source: String,
}

/// Goes through a layout's questions. `profile` gives the chart's defaults once chart and address are known.
///
/// # Errors
/// When an answer is wrong, belongs to no question, or is missing with nobody to ask.
pub fn resolve(
    layout: &Layout,
    given: &GivenAnswers,
    found: &Found,
    profile: &dyn Fn(&str, Option<&str>) -> ProfileDefaults,
    ask: &mut dyn Ask,
) -> Result<Map<String, Value>> {
    refuse_strangers(layout, given)?;
    let mut answers = Map::new();
    for question in &layout.questions {
        let context = context(layout, &answers, found, profile);
        if !is_asked(question, &context)? {
            refuse_unasked(layout, question, given)?;
            continue;
        }
        if let Some(answer) = answer(question, given, found, &context, ask)? {
            answers.insert(question.name.clone(), answer);
        }
    }
    Ok(answers)
}

fn answer(
    question: &Question,
    given: &GivenAnswers,
    found: &Found,
    context: &Template,
    ask: &mut dyn Ask,
) -> Result<Option<Value>> {
    if let Some(given) = given.get(&question.name) {
        let value = question.shape(&given.value);
        return question
            .check(&value)
            .map(|()| Some(value))
            .map_err(|why| wrong(question, &given.origin, &why));
    }
    let default = default_of(question, found, context)?;
    let optional = question.optional;
    let checked = |value: &Value| {
        if optional && value.as_str() == Some("") {
            Ok(())
        } else {
            question.check(&question.shape(value))
        }
    };
    let asked = Asked {
        question,
        default: default.as_ref(),
        optional,
        check: &checked,
    };
    if !question.silent
        && let Some(value) = ask.ask(&asked)?
    {
        let value = question.shape(&value);
        return Ok((!optional || value.as_str() != Some("")).then_some(value));
    }
    match default {
        Some(default) => question
            .check(&default)
            .map(|()| Some(default))
            .map_err(|why| bad_default(question, &why)),
        None if optional => Ok(None),
        None => Err(missing(question)),
    }
}

/// A default follows from other answers, so another answer may be what is wrong.
fn bad_default(question: &Question, why: &str) -> anyhow::Error {
    Problem::invalid(format!(
        "nothing says what `{}` is, and the default that follows from the other answers {why}",
        question.name
    ))
    .hint(format!("add {}", example(question)))
    .into()
}

fn missing(question: &Question) -> anyhow::Error {
    let help = question.help.as_deref().unwrap_or_default();
    Problem::usage(format!(
        "`{}` is needed and nothing says what it is",
        question.name
    ))
    .hint(format!("add {} ({help})", example(question)))
    .hint(format!(
        "or set {}, or the key `{}` in a file for `--answers`",
        question.variable(),
        question.name
    ))
    .into()
}

fn example(question: &Question) -> String {
    if question.standard {
        format!("`{} …`", question.flag())
    } else {
        format!("`{}`", question.flag())
    }
}

fn wrong(question: &Question, origin: &Origin, why: &str) -> anyhow::Error {
    let place = match origin {
        Origin::Flag => format!("`{}` (or {})", question.flag(), question.variable()),
        Origin::File { place, line, .. } => format!("{place}:{line}: `{}`", question.name),
    };
    Problem::invalid(format!("{place}: {why}"))
        .hint(question.help.clone().unwrap_or_default())
        .into()
}

/// Answers that no question of the layout asks for: a flag of another layout, a misspelt key.
fn refuse_strangers(layout: &Layout, given: &GivenAnswers) -> Result<()> {
    for (name, answer) in &given.0 {
        if layout.questions.iter().any(|q| &q.name == name)
            || matches!(
                name.as_str(),
                "layout" | "values" | "provider" | "webhook_ca_next"
            )
        {
            continue;
        }
        match &answer.origin {
            Origin::File { recorded: true, .. }
                if super::catalog::Catalog::embedded()
                    .standard_questions()
                    .iter()
                    .any(|q| &q.name == name) => {}
            Origin::File { place, line, .. } => {
                return Err(recorded::unknown_key(
                    name,
                    place,
                    *line,
                    layout.questions.iter().map(|q| q.name.as_str()),
                ));
            }
            Origin::Flag => {
                let mut problem =
                    Problem::usage(format!("layout `{}` doesn't ask `{name}`", layout.name));
                if let Some(nearest) =
                    recorded::nearest(name, layout.questions.iter().map(|q| q.name.as_str()))
                {
                    problem = problem.hint(format!("did you mean `{nearest}`?"));
                }
                return Err(problem
                    .hint(format!(
                        "`haptic-scaffold layouts show {}` lists its questions",
                        layout.name
                    ))
                    .into());
            }
        }
    }
    Ok(())
}

/// A flag that has no meaning under the other answers would be lost in silence.
fn refuse_unasked(layout: &Layout, question: &Question, given: &GivenAnswers) -> Result<()> {
    match given.get(&question.name) {
        Some(Given {
            origin: Origin::Flag,
            ..
        }) => Err(
            Problem::usage(format!("`{}` has no meaning here", question.flag()))
                .hint(format!(
                    "layout `{}` asks `{}` only {}",
                    layout.name,
                    question.name,
                    question
                        .asked_where()
                        .unwrap_or_else(|| "sometimes".to_owned()),
                ))
                .into(),
        ),
        _ => Ok(()),
    }
}

fn is_asked(question: &Question, context: &Template) -> Result<bool> {
    match &question.when {
        Some(when) => Ok(evaluate(&engine(), when, context)
            .with_context(|| format!("question `{}`", question.name))?
            .is_true()),
        None => Ok(true),
    }
}

fn default_of(question: &Question, found: &Found, context: &Template) -> Result<Option<Value>> {
    if question.standard && question.name == "clusters" && !found.clusters.is_empty() {
        return Ok(Some(json!(found.clusters)));
    }
    match (&question.default, &question.default_from) {
        (Some(default), _) => Ok(Some(question.shape(default))),
        (None, Some(expression)) => {
            let value = evaluate(&engine(), expression, context)
                .with_context(|| format!("default of question `{}`", question.name))?;
            let value = serde_json::to_value(&value).context("a default is no plain value")?;
            Ok((!value.is_null()).then(|| question.shape(&value)))
        }
        (None, None) => Ok(None),
    }
}

fn context(
    layout: &Layout,
    answers: &Map<String, Value>,
    found: &Found,
    profile: &dyn Fn(&str, Option<&str>) -> ProfileDefaults,
) -> Template {
    let text = |name: &str| answers.get(name).and_then(Value::as_str);
    let chart = text("chart").unwrap_or_default();
    let profile = profile(chart, text("chart_repo"));
    let mut all = Map::new();
    for question in &layout.questions {
        all.insert(question.name.clone(), Value::Null);
    }
    all.extend(answers.clone());
    all.insert("provider".into(), json!(layout.provider.as_str()));
    all.insert("haptic".into(), json!(super::profile::is_haptic(chart)));
    all.insert(
        "repo_is_ssh".into(),
        json!(
            text("repo_url")
                .and_then(|url| GitUrl::parse(url).ok())
                .is_some_and(|url| url.is_ssh())
        ),
    );
    all.insert(
        "found".into(),
        json!({"repo_url": found.repo_url, "branch": found.branch, "bootstrap": found.bootstrap, "readme": if found.readme.is_empty() { "README.md" } else { &found.readme }}),
    );
    all.insert(
        "profile".into(),
        json!({"chart_repo": profile.chart_repo, "chart_source": profile.chart_source}),
    );
    Template::from(Serde(Value::Object(all)))
}

/// Questions have no templates.
fn engine() -> Environment<'static> {
    super::templates::engine(BTreeMap::new())
}

/// Evaluates an expression of a layout.
///
/// # Errors
/// When it can't be read or names something unknown.
pub(super) fn evaluate(
    engine: &Environment<'_>,
    expression: &str,
    context: &Template,
) -> Result<Template> {
    let problem =
        |why: minijinja::Error| Problem::invalid(format!("cannot evaluate `{expression}`: {why}"));
    let compiled = engine.compile_expression(expression).map_err(problem)?;
    Ok(compiled.eval(context.clone()).map_err(problem)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ExitStatus, Report};
    use crate::layout::catalog::Catalog;

    fn profile(chart: &str, _: Option<&str>) -> ProfileDefaults {
        ProfileDefaults {
            chart_repo: (chart == "haptic").then(|| "oci://r.example.org/charts".to_owned()),
            chart_source: "helm-repository".into(),
        }
    }

    fn given(pairs: &[(&str, &str)]) -> GivenAnswers {
        let mut given = GivenAnswers::default();
        for (name, value) in pairs {
            given.add(name, json!(value), Origin::Flag);
        }
        given
    }

    fn run(layout: &str, pairs: &[(&str, &str)]) -> Result<Map<String, Value>> {
        let layout = Catalog::embedded().layout(layout)?;
        resolve(
            &layout,
            &given(pairs),
            &Found::default(),
            &profile,
            &mut NobodyToAsk,
        )
    }

    #[test]
    fn defaults_follow_the_answers_before_them() {
        let answers = run("flux-cluster", &[]).expect("complete");
        assert_eq!(answers["sync"], "bootstrap");
        assert_eq!(answers["namespace"], "haptic");
        let answers = run(
            "flux-cluster",
            &[
                ("repo_url", "git@h.example.org:a/b.git"),
                ("release", "edge"),
            ],
        )
        .expect("complete");
        assert_eq!(answers["sync"], "own");
        assert_eq!(answers["git_secret"], "edge-git");
        assert_eq!(answers["namespace"], "edge");
        assert_eq!(
            run("flux-cluster", &[("style", "guide")]).expect("complete")["values_as"],
            "inline"
        );
    }

    #[test]
    fn a_flag_without_meaning_is_refused_and_not_lost() {
        let error = run("flux-cluster", &[("git_secret", "x")]).expect_err("no own sync");
        assert_eq!(Report::of(&error).status, ExitStatus::Usage);
        assert!(run("argo-cluster", &[("sync", "own")]).is_err());
    }

    #[test]
    fn another_chart_needs_an_address() {
        let error = run("flux-cluster", &[("chart", "podinfo")]).expect_err("no address");
        let report = Report::of(&error);
        assert_eq!(report.status, ExitStatus::Usage);
        assert!(report.hints[0].contains("--chart-repo"), "{report:?}");
    }

    #[test]
    fn a_stronger_source_wins_and_a_wrong_answer_is_named_with_its_place() {
        let mut answers = given(&[("release", "edge")]);
        let file = |line| Origin::File {
            place: "a.yaml".into(),
            line,
            recorded: false,
        };
        answers.add("release", json!("other"), file(1));
        answers.add("namespace", json!("Bad_Name"), file(3));
        let layout = Catalog::embedded().layout("flux-cluster").expect("valid");
        let error = resolve(
            &layout,
            &answers,
            &Found::default(),
            &profile,
            &mut NobodyToAsk,
        )
        .expect_err("bad namespace");
        assert!(
            error.to_string().starts_with("a.yaml:3: `namespace`"),
            "{error}"
        );
        assert_eq!(answers.text("release"), Some("edge"));
    }

    #[test]
    fn an_unknown_key_in_a_file_is_named_with_the_nearest_question() {
        let mut answers = GivenAnswers::default();
        answers.add(
            "realease",
            json!("x"),
            Origin::File {
                place: "a.yaml".into(),
                line: 7,
                recorded: true,
            },
        );
        let layout = Catalog::embedded().layout("flux-cluster").expect("valid");
        let error = resolve(
            &layout,
            &answers,
            &Found::default(),
            &profile,
            &mut NobodyToAsk,
        )
        .expect_err("unknown");
        assert_eq!(error.to_string(), "a.yaml:7: unknown key `realease`");
        assert_eq!(Report::of(&error).hints, ["did you mean `release`?"]);
    }
}
