//! Checks a rendered file: it is YAML, and holds the objects that its layout claims.

use anyhow::Result;

use super::recorded::syntax_text;
use crate::error::Problem;
use crate::yaml;

/// Valid YAML, no key twice, and the objects that were claimed.
pub(super) fn check(text: &str, kinds: Option<&[String]>) -> Result<()> {
    let documents = yaml::parse_strict(text)
        .map_err(|why| Problem::invalid(format!("not valid YAML: {}", syntax_text(&why))))?;
    let Some(kinds) = kinds else { return Ok(()) };
    let found: Vec<&str> = documents
        .iter()
        .filter_map(|d| d.root.as_ref())
        .map(|root| {
            root.get("kind")
                .and_then(yaml::Node::as_str)
                .unwrap_or("no kind")
        })
        .collect();
    if found != kinds {
        return Err(Problem::invalid(format!(
            "it claims the objects {}, and has {}",
            kinds.join(", "),
            found.join(", ")
        ))
        .into());
    }
    let named = documents
        .iter()
        .filter_map(|d| d.root.as_ref())
        .all(|root| {
            let is_kustomize = root
                .get("apiVersion")
                .and_then(yaml::Node::as_str)
                .is_some_and(|v| v.starts_with("kustomize.config.k8s.io/"));
            is_kustomize
                || root
                    .get("metadata")
                    .and_then(|m| m.get("name"))
                    .and_then(yaml::Node::as_str)
                    .is_some_and(|n| !n.is_empty())
        });
    if named {
        Ok(())
    } else {
        Err(Problem::invalid("an object has no name").into())
    }
}
