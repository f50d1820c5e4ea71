//! The webhook's `caBundle` wherever it stands in a repository, compared with the CAs of the answers.

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::layout::render::Outline;
use crate::model::repo_path::RepoPath;
use crate::model::tree::{self, Tree};
use crate::secrets::certificate::fingerprints;
use crate::yaml::{self, Node};

/// Where the key is in the chart's values.
const KEY: &str = "controller.webhook.caBundle";

/// A bundle that doesn't fit.
pub(super) struct Wrong {
    pub(super) file: RepoPath,
    pub(super) line: usize,
    pub(super) says: String,
}

/// Finds the bundles that lack a CA, and says so where there is none at all.
pub(super) fn find(tree: &dyn Tree, outlines: &[Outline<'_>], cas: &str) -> Result<Vec<Wrong>> {
    let wanted = fingerprints(cas);
    let mut wrong = Vec::new();
    let mut has_one = false;
    let mut place = None;
    for outline in outlines
        .iter()
        .filter(|outline| !outline.rule.sealed && outline.path.as_str().ends_with(".yaml"))
    {
        let Some(text) = tree::read_text(tree, &outline.path)? else {
            continue;
        };
        if outline.rule.values || place.is_none() && !outline.rule.pin.is_empty() {
            place = Some(outline.path.clone());
        }
        let stream = yaml::parse(&text);
        if let Some(error) = stream
            .errors
            .first()
            .filter(|_| outline.rule.values || text.contains("caBundle"))
        {
            wrong.push(Wrong {
                file: outline.path.clone(),
                line: error.position.line,
                says: format!(
                    "it is no YAML, so nothing in it was looked at: {}",
                    error.message
                ),
            });
        }
        let roots = stream.roots();
        for (line, bundle) in roots.flat_map(bundles_of) {
            has_one = true;
            let here = fingerprints(&String::from_utf8_lossy(&bundle));
            if !wanted.iter().all(|ca| here.contains(ca)) {
                wrong.push(Wrong {
                    file: outline.path.clone(),
                    line,
                    says: "this caBundle lacks a CA of the answers (`webhook_ca`), so the API server would refuse the webhook's certificate, and with it every change of an Ingress".to_owned(),
                });
            }
        }
    }
    if let (false, true, Some(file)) = (has_one, wrong.is_empty(), place) {
        wrong.push(Wrong {
            file,
            line: 1,
            says: format!("`{KEY}` is not there, so the chart would make a certificate of its own, another one at every render"),
        });
    }
    Ok(wrong)
}

/// Line and decoded bytes of each bundle.
fn bundles_of(root: &Node) -> Vec<(usize, Vec<u8>)> {
    root.leaves()
        .into_iter()
        .filter(|(route, _)| route.to_string().ends_with(KEY))
        .filter_map(|(_, node)| {
            let text: String = node.as_str()?.split_whitespace().collect();
            Some((
                node.position.line,
                STANDARD.decode(text).unwrap_or_default(),
            ))
        })
        .collect()
}
