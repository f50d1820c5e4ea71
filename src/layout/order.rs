//! The order that a layout promises, and whether the rendered objects keep it.

use anyhow::Result;
use serde::Serialize;

use super::definition::Provider;
use super::render::Rendered;
use crate::error::Problem;
use crate::yaml::{self, Node, Route};

/// One step of the order in which things come up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// A name for diagrams.
    pub id: String,
    /// `Kind/name`.
    pub object: String,
    /// What is there when it is done.
    pub says: String,
    /// The step before.
    pub after: Option<String>,
    /// The name of the step before, for diagrams.
    pub after_id: Option<String>,
    /// What makes it wait.
    pub how: Option<String>,
    /// Whether the object is among the rendered ones.
    #[serde(skip)]
    pub seen: bool,
}

/// Checks the promised order against the objects that were rendered.
///
/// # Errors
/// When an object is missing, or nothing in it makes it wait for the one before.
pub fn check(provider: Provider, steps: &[Step], files: &[Rendered]) -> Result<()> {
    let documents: Vec<yaml::Document> = files
        .iter()
        .filter(|f| f.is_yaml())
        .flat_map(|f| yaml::parse(&f.text).documents)
        .collect();
    let objects: Vec<&Node> = documents.iter().filter_map(|d| d.root.as_ref()).collect();
    for step in steps.iter().filter(|step| step.seen) {
        let found: Vec<&&Node> = objects
            .iter()
            .filter(|object| name_of(object).as_deref() == Some(&step.object))
            .collect();
        if found.is_empty() {
            return Err(Problem::invalid(format!(
                "the order promises `{}`, and no file has it",
                step.object
            ))
            .into());
        }
        let Some(after) = step.after.as_deref() else {
            continue;
        };
        let before: Vec<&&Node> = objects
            .iter()
            .filter(|object| name_of(object).as_deref() == Some(after))
            .collect();
        let waits = match provider {
            Provider::Flux => found.iter().all(|object| depends_on(object, after)),
            Provider::Argo => found
                .iter()
                .all(|object| before.iter().all(|earlier| wave(earlier) < wave(object))),
        };
        if !waits || before.is_empty() {
            return Err(Problem::invalid(format!(
                "the order promises `{}` after `{after}`, and nothing makes it wait",
                step.object
            ))
            .into());
        }
    }
    Ok(())
}

fn text<'a>(node: &'a Node, route: &str) -> Option<&'a str> {
    node.find(&Route::parse(route).ok()?).ok()?.as_str()
}

/// `Kind/name` of an object.
fn name_of(object: &Node) -> Option<String> {
    Some(format!(
        "{}/{}",
        text(object, "kind")?,
        text(object, "metadata.name")?
    ))
}

fn depends_on(object: &Node, after: &str) -> bool {
    let name = after.split_once('/').map_or(after, |(_, name)| name);
    let list = Route::parse("spec.dependsOn")
        .ok()
        .and_then(|route| object.find(&route).ok());
    list.into_iter()
        .flat_map(Node::items)
        .any(|item| item.get("name").and_then(Node::as_str) == Some(name))
}

/// The sync wave; 0 where none is said (Argo CD, gitops-engine `pkg/sync/syncwaves`).
fn wave(object: &Node) -> i64 {
    text(
        object,
        r"metadata.annotations.argocd\.argoproj\.io/sync-wave",
    )
    .and_then(|wave| wave.parse().ok())
    .unwrap_or(0)
}
