//! The version pins of a scaffolded repository: read where they stand, put into texts that were rendered before.

use crate::layout::definition::PinRoute;
use crate::yaml::{self, Node, Route};

/// A version pin in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The version as written.
    pub value: String,
    /// The line, from 1.
    pub line: usize,
    document: usize,
    route: Route,
}

/// Finds the pin of a file by the routes that its layout gives; the first that fits counts.
pub fn find(text: &str, routes: &[PinRoute]) -> Option<Pin> {
    let stream = yaml::parse(text);
    for wanted in routes {
        let route = Route::parse(&wanted.route).ok()?;
        for (document, root) in stream
            .documents
            .iter()
            .enumerate()
            .filter_map(|(n, d)| Some((n, d.root.as_ref()?)))
        {
            if wanted
                .kind
                .as_deref()
                .is_some_and(|kind| root.get("kind").and_then(Node::as_str) != Some(kind))
            {
                continue;
            }
            if let Some((value, node)) = root
                .find(&route)
                .ok()
                .and_then(|node| Some((node.as_str()?.to_owned(), node)))
            {
                return Some(Pin {
                    value,
                    line: node.position.line,
                    document,
                    route,
                });
            }
        }
    }
    None
}

/// Returns the text with another version in its pin; the text itself where it has none.
pub fn moved(text: &str, routes: &[PinRoute], version: &str) -> String {
    find(text, routes)
        .and_then(|pin| yaml::replace_scalar(text, pin.document, &pin.route, version).ok())
        .unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes() -> Vec<PinRoute> {
        let route = |kind: &str, route: &str| PinRoute {
            kind: Some(kind.into()),
            route: route.into(),
        };
        vec![
            route("HelmRelease", "spec.chart.spec.version"),
            route("OCIRepository", "spec.ref.tag"),
        ]
    }

    #[test]
    fn the_pin_is_found_by_kind_and_moved_alone() {
        let text = "kind: HelmRepository\n---\nkind: HelmRelease\nspec: {chart: {spec: {version: '0.2.1'}}} # pin\n";
        let pin = find(text, &routes()).expect("has a pin");
        assert_eq!((pin.value.as_str(), pin.line), ("0.2.1", 4));
        assert_eq!(
            moved(text, &routes(), "0.2.2"),
            text.replace("0.2.1", "0.2.2")
        );
        assert_eq!(moved("a: 1\n", &routes(), "0.2.2"), "a: 1\n");
    }
}
