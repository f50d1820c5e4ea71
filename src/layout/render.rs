//! [`render`]: answers and versions in, the text of every file out. Nothing leaves here that isn't what it claims to be.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use minijinja::Environment;
use minijinja::value::Value as Template;
use serde_json::{Map, Value, json};

use super::answers::Answers;
use super::catalog::Catalog;
use super::context::{self, Versions};
use super::definition::{Each, FileRule, Kinds, Layout, OrderRule, Owner, PinRoute, Syntax};
use super::order::Step;
use super::profile::Profile;
use super::{claims, resolve, templates, values};
use crate::error::Problem;
use crate::haptic::gitops::NeededSecret;
use crate::model::cluster::Cluster;
use crate::model::repo_path::RepoPath;

/// A rendered file.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// Where it goes.
    pub path: RepoPath,
    /// What it holds.
    pub text: String,
    /// Who owns it.
    pub owner: Owner,
    /// What it is, for people.
    pub what: String,
    /// Where its version pin stands.
    pub pins: Vec<PinRoute>,
    /// The cluster that it belongs to alone.
    pub cluster: Option<String>,
    /// The Secret that it is, sealed: its text is then [`SEALED`], and what stands in the repository isn't made here.
    pub secret: Option<&'static str>,
    /// Routes to scalars that follow the answers also where the rest of the file is the team's.
    pub follows: Vec<String>,
    syntax: Syntax,
}

/// Stands for the text of a sealed file wherever texts are compared: every sealing of the same value differs.
pub const SEALED: &str = "sealed\n";

/// Stands for the text of a sealed file where nothing is to be done: only the run itself seals.
pub const WOULD_SEAL: &str = "# would be sealed by the run itself: every sealing differs\n";

impl Rendered {
    /// Whether it was checked as YAML.
    pub fn is_yaml(&self) -> bool {
        self.syntax == Syntax::Yaml
    }
}

/// The team's own values, given by file.
#[derive(Debug, Clone, Copy)]
pub struct OwnValues<'a> {
    /// The text.
    pub text: &'a str,
    /// Names the file in errors.
    pub place: &'a str,
}

/// What a layout gives for some answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendering {
    /// The files in the layout's order.
    pub files: Vec<Rendered>,
    /// The promised order.
    pub order: Vec<Step>,
}

/// Where a file goes, before its text is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Outline<'a> {
    /// The rule that it comes from.
    pub rule: &'a FileRule,
    /// Where it goes.
    pub path: RepoPath,
    /// The cluster that it belongs to alone.
    pub cluster: Option<&'a Cluster>,
    /// The Secret that it is for, in a word.
    pub secret: Option<&'static str>,
}

/// What a rule is repeated for, and what its templates know then.
struct Turn<'a> {
    cluster: Option<&'a Cluster>,
    secret: Option<&'static str>,
    context: Template,
}

struct Renderer<'a> {
    engine: Environment<'static>,
    layout: &'a Layout,
    answers: &'a Answers,
    versions: &'a Versions,
    context: Map<String, Value>,
    /// The context as templates take it, and that of each cluster.
    base: Template,
    per_cluster: Vec<(&'a Cluster, Template)>,
    secrets: Vec<NeededSecret>,
}

/// Says which files there will be, without their texts: enough to look for pins in a repository.
///
/// # Errors
/// When a path can't be rendered, leaves the repository, or stands twice.
pub fn outline<'a>(
    catalog: &Catalog,
    layout: &'a Layout,
    answers: &'a Answers,
) -> Result<Vec<Outline<'a>>> {
    static NONE: Versions = Versions::new();
    Renderer::new(catalog, layout, answers, &NONE).outline()
}

/// Renders every file of a layout.
///
/// # Errors
/// When a template names something unknown or prints something unsafe, an output isn't valid YAML or not the objects that it claims,
/// two outputs go to one path, a path leaves the repository, or the promised order isn't kept.
pub fn render(
    catalog: &Catalog,
    layout: &Layout,
    answers: &Answers,
    versions: &Versions,
    own: Option<OwnValues<'_>>,
) -> Result<Rendering> {
    let mut renderer = Renderer::new(catalog, layout, answers, versions);
    let values = renderer.values(own)?;
    renderer.set_values(&values);
    let outlines = renderer.outline()?;
    let order = renderer.order()?;
    renderer.describe(&outlines, &order);
    let files = outlines
        .iter()
        .map(|outline| renderer.file(outline))
        .collect::<Result<Vec<_>>>()?;
    super::order::check(layout.provider, &order, &files)?;
    Ok(Rendering { files, order })
}

impl<'a> Renderer<'a> {
    fn new(
        catalog: &Catalog,
        layout: &'a Layout,
        answers: &'a Answers,
        versions: &'a Versions,
    ) -> Self {
        let profile = Profile::of(answers);
        let mut context = context::context(layout, answers, &profile, versions);
        context.insert("dirs".into(), context::dirs(layout, answers, None));
        let template = profile
            .values_template
            .map_or(Value::Null, |name| json!(name));
        context.insert("values_template".into(), template);
        let engine = templates::engine(catalog.templates().clone());
        let mut renderer = Self {
            engine,
            layout,
            answers,
            versions,
            context,
            base: Template::UNDEFINED,
            per_cluster: Vec::new(),
            secrets: profile.secrets,
        };
        renderer.refresh();
        renderer
    }

    fn set_values(&mut self, values: &str) {
        self.context.insert("values".into(), json!(values));
        self.refresh();
    }

    fn refresh(&mut self) {
        self.base = context::template_value(&self.context);
        let of = |cluster| {
            context::for_cluster(
                &self.context,
                self.layout,
                self.answers,
                cluster,
                self.versions,
            )
        };
        self.per_cluster = self
            .answers
            .clusters
            .iter()
            .map(|cluster| (cluster, context::template_value(&of(cluster))))
            .collect();
    }

    /// What the answers ask for, together with the team's own.
    fn values(&self, own: Option<OwnValues<'_>>) -> Result<String> {
        let required = match self.context.get("values_template").and_then(Value::as_str) {
            Some(name) => self.template(name, &self.base)?,
            None => String::new(),
        };
        match (own, self.answers.values.as_deref()) {
            (Some(own), _) => values::compose(&required, own.text, own.place),
            (None, Some(text)) => values::compose(&required, text, "values of the answers"),
            (None, None) => Ok(required),
        }
    }

    fn template(&self, name: &str, context: &Template) -> Result<String> {
        let template = self
            .engine
            .get_template(name)
            .map_err(|why| Problem::invalid(format!("there is no template `{name}`: {why}")))?;
        template.render(context.clone()).map_err(|why| {
            let line = why
                .line()
                .map(|line| format!(":{line}"))
                .unwrap_or_default();
            Problem::invalid(format!(
                "cannot render {}{line}: {}",
                why.name().unwrap_or(name),
                why.detail()
                    .map_or_else(|| why.kind().to_string(), str::to_owned)
            ))
            .into()
        })
    }

    fn text(&self, text: &str, context: &Template) -> Result<String> {
        let problem =
            |why: minijinja::Error| Problem::invalid(format!("cannot render `{text}`: {why}"));
        let engine = &self.engine;
        Ok(engine.render_str(text, context.clone()).map_err(problem)?)
    }

    fn holds(&self, when: Option<&String>, context: &Template) -> Result<bool> {
        match when {
            Some(when) => Ok(resolve::evaluate(&self.engine, when, context)?.is_true()),
            None => Ok(true),
        }
    }

    /// One turn without a cluster, or one for each; and that once, or for each Secret.
    fn turns(&self, each: Option<Each>) -> Vec<Turn<'a>> {
        let clusters = if each.is_some_and(Each::is_of_cluster) {
            let of =
                |(cluster, context): &'_ (&'a Cluster, Template)| (Some(*cluster), context.clone());
            self.per_cluster.iter().map(of).collect()
        } else {
            vec![(None, self.base.clone())]
        };
        if !each.is_some_and(Each::is_of_secret) {
            let turn = |(cluster, context)| Turn {
                cluster,
                secret: None,
                context,
            };
            return clusters.into_iter().map(turn).collect();
        }
        let mut turns = Vec::new();
        for (cluster, _) in clusters {
            for secret in &self.secrets {
                turns.push(Turn {
                    cluster,
                    secret: Some(secret.short),
                    context: self.context_of(cluster, Some(secret)),
                });
            }
        }
        turns
    }

    /// What templates know of a cluster and a Secret.
    fn context_of(&self, cluster: Option<&Cluster>, secret: Option<&NeededSecret>) -> Template {
        let mut all = self.context.clone();
        if let Some(cluster) = cluster {
            all = context::for_cluster(&all, self.layout, self.answers, cluster, self.versions);
        }
        if let Some(secret) = secret {
            all = context::for_secret(&all, secret);
        }
        context::template_value(&all)
    }

    fn outline(&self) -> Result<Vec<Outline<'a>>> {
        let mut outlines = Vec::new();
        let mut taken = BTreeSet::new();
        for rule in &self.layout.files {
            for Turn {
                cluster,
                secret,
                context,
            } in self.turns(rule.each)
            {
                if !self.holds(rule.when.as_ref(), &context)? {
                    continue;
                }
                let text = format!(
                    "{}{}",
                    self.answers.prefix(),
                    self.text(&rule.path, &context)?
                );
                let path = RepoPath::parse(&text).map_err(|why| {
                    Problem::invalid(format!("layout `{}`: {why}", self.layout.name))
                })?;
                if !taken.insert(path.as_str().to_lowercase()) {
                    return Err(Problem::invalid(format!(
                        "layout `{}`: two outputs go to `{path}`",
                        self.layout.name
                    ))
                    .into());
                }
                outlines.push(Outline {
                    rule,
                    path,
                    cluster,
                    secret,
                });
            }
        }
        Ok(outlines)
    }

    fn order(&self) -> Result<Vec<Step>> {
        let mut steps: Vec<Step> = Vec::new();
        for rule in &self.layout.order {
            for Turn { context, .. } in self.turns(rule.each) {
                let Some(step) = self.step(rule, &context, steps.len())? else {
                    continue;
                };
                if !steps.iter().any(|known| known.object == step.object) {
                    steps.push(step);
                }
            }
        }
        let ids: Vec<(String, String)> = steps
            .iter()
            .map(|step| (step.object.clone(), step.id.clone()))
            .collect();
        for step in &mut steps {
            let id = step
                .after
                .as_ref()
                .and_then(|after| ids.iter().find(|(object, _)| object == after));
            step.after = id.map(|(object, _)| object.clone());
            step.after_id = id.map(|(_, id)| id.clone());
        }
        Ok(steps)
    }

    fn step(&self, rule: &OrderRule, context: &Template, number: usize) -> Result<Option<Step>> {
        if !self.holds(rule.when.as_ref(), context)? {
            return Ok(None);
        }
        let after = rule
            .after
            .as_ref()
            .map(|after| self.text(after, context))
            .transpose()?;
        Ok(Some(Step {
            id: format!("s{number}"),
            object: self.text(&rule.object, context)?,
            says: self.text(&rule.says, context)?,
            after,
            after_id: None,
            how: rule.how.clone(),
            seen: !rule.unseen,
        }))
    }

    /// Tells templates of all files and of the order, for pages like the README.
    fn describe(&mut self, outlines: &[Outline<'_>], order: &[Step]) {
        let files: Vec<Value> = outlines
            .iter()
            .map(|o| json!({"path": o.path, "what": o.rule.what}))
            .collect();
        let pinned: Vec<&Outline<'_>> =
            outlines.iter().filter(|o| !o.rule.pin.is_empty()).collect();
        let pins: Vec<&str> = pinned.iter().map(|o| o.path.as_str()).collect();
        if let Some(clusters) = self
            .context
            .get_mut("clusters")
            .and_then(Value::as_array_mut)
        {
            for cluster in clusters {
                let name = cluster["name"].as_str().unwrap_or_default();
                let pin = pinned
                    .iter()
                    .find(|o| o.cluster.is_none_or(|c| c.name == name))
                    .map(|o| o.path.as_str());
                cluster["pin_file"] = json!(pin);
            }
        }
        self.context.insert("files".into(), json!(files));
        self.context.insert("pins".into(), json!(pins));
        self.context.insert("order".into(), json!(order));
        // Pages that list everything are no files of a cluster.
        self.base = context::template_value(&self.context);
    }

    fn file(&self, outline: &Outline<'_>) -> Result<Rendered> {
        let rule = outline.rule;
        if rule.sealed {
            return Ok(Rendered {
                text: SEALED.to_owned(),
                ..rendered(outline, Syntax::Text)
            });
        }
        let own = self
            .per_cluster
            .iter()
            .find(|(cluster, _)| Some(*cluster) == outline.cluster);
        let context = own.map_or(&self.base, |(_, context)| context);
        let text = self
            .template(&rule.template, context)
            .with_context(|| format!("cannot make `{}`", outline.path))?
            .replace("\r\n", "\n");
        let syntax = rule
            .syntax
            .unwrap_or(if templates::is_yaml(outline.path.as_str()) {
                Syntax::Yaml
            } else {
                Syntax::Text
            });
        if syntax == Syntax::Yaml {
            let kinds = self.kinds(rule, context)?;
            claims::check(&text, kinds.as_deref()).with_context(|| {
                format!(
                    "template `{}` makes a wrong `{}`",
                    rule.template, outline.path
                )
            })?;
        }
        Ok(Rendered {
            text,
            ..rendered(outline, syntax)
        })
    }

    fn kinds(&self, rule: &FileRule, context: &Template) -> Result<Option<Vec<String>>> {
        Ok(match &rule.objects {
            Kinds::List(list) if list.is_empty() => None,
            Kinds::List(list) => Some(list.clone()),
            Kinds::Template(text) => Some(
                self.text(text, context)?
                    .split(',')
                    .map(|kind| kind.trim().to_owned())
                    .collect(),
            ),
        })
    }
}

/// The file of an outline, without its text.
fn rendered(outline: &Outline<'_>, syntax: Syntax) -> Rendered {
    let rule = outline.rule;
    Rendered {
        path: outline.path.clone(),
        text: String::new(),
        owner: rule.owner,
        what: rule.what.clone(),
        pins: rule.pin.clone(),
        cluster: outline.cluster.map(|cluster| cluster.name.clone()),
        secret: outline.secret.filter(|_| rule.sealed),
        follows: rule.follows.clone(),
        syntax,
    }
}
