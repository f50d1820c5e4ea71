//! The version pins of a scaffolded repository: read where they stand, and kept apart when texts are compared.

use std::ops::Range;

use crate::layout::definition::PinRoute;
use crate::yaml::{self, Node, Route};

/// A version pin in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The version as written.
    pub value: String,
    /// The line, from 1.
    pub line: usize,
    span: Range<usize>,
}

/// Finds the pin of a file by the routes that its layout gives; the first that fits counts.
pub fn find(text: &str, routes: &[PinRoute]) -> Option<Pin> {
    let stream = yaml::parse(text);
    for wanted in routes {
        let route = Route::parse(&wanted.route).ok()?;
        for root in stream.roots() {
            let is_kind = |kind: &String| root.get("kind").and_then(Node::as_str) == Some(kind);
            if !wanted.kind.as_ref().is_none_or(is_kind) {
                continue;
            }
            if let Ok(node) = root.find(&route)
                && let Some(value) = node.as_str().filter(|value| !value.is_empty())
            {
                return Some(Pin {
                    value: value.to_owned(),
                    line: node.position.line,
                    span: node.span.clone(),
                });
            }
        }
    }
    None
}

/// Returns the text with the pin of another text in place of its own, written as it is written there: quotes and all.
/// The text itself where one of them has no pin. So two texts that differ by their pins alone become equal.
pub fn with_pin_of(text: &str, other: &str, routes: &[PinRoute]) -> String {
    match (find(text, routes), find(other, routes)) {
        (Some(here), Some(there)) => format!(
            "{}{}{}",
            &text[..here.span.start],
            &other[there.span],
            &text[here.span.end..]
        ),
        _ => text.to_owned(),
    }
}

/// The same, where both pins say the same version: only the way it is written is taken over.
pub fn written_as_in(text: &str, other: &str, routes: &[PinRoute]) -> String {
    match (find(text, routes), find(other, routes)) {
        (Some(here), Some(there)) if here.value == there.value => with_pin_of(text, other, routes),
        _ => text.to_owned(),
    }
}

/// Returns a text with the scalars at some routes as in `new`, where that is all that `old` and `new` differ by and the text has them as `old`.
pub fn followed(text: &str, old: &str, new: &str, routes: &[String]) -> Option<String> {
    let (mut followed, mut base) = (text.to_owned(), old.to_owned());
    for route in routes {
        let scalar = |text: &str| scalar_at(text, route);
        let (before, now) = (scalar(old)?, scalar(new)?);
        if before == now {
            continue;
        }
        let here = scalar(&followed)?;
        let route = Route::parse(route).ok()?;
        let replace = |text: &str| yaml::replace_scalar(text, 0, &route, &now).ok();
        if here.trim() != now {
            if here != before {
                return None;
            }
            followed = replace(&followed)?;
        }
        base = replace(&base)?;
    }
    (base == new && old != new).then_some(followed)
}

/// The scalar at a route of the first document.
pub fn scalar_at(text: &str, route: &str) -> Option<String> {
    let stream = yaml::parse(text);
    let root = stream.documents.first()?.root.as_ref()?;
    let node = root.find(&Route::parse(route).ok()?).ok()?;
    node.as_str().map(str::to_owned)
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
    fn a_scalar_follows_where_nothing_else_has_to_change() {
        let routes = ["a.ca".to_owned()];
        let (old, new) = ("a:\n  ca: T2xk\n", "a:\n  ca: TmV3\n");
        let mine = "# mine\na:\n  ca: T2xk # its CA\n  b: 1\n";
        assert_eq!(
            followed(mine, old, new, &routes).as_deref(),
            Some("# mine\na:\n  ca: TmV3 # its CA\n  b: 1\n")
        );
        assert_eq!(followed("a:\n  ca: other\n", old, new, &routes), None);
        assert_eq!(followed(mine, old, "a:\n  ca: TmV3\nc: 1\n", &routes), None);
        assert_eq!(followed(mine, old, old, &routes), None);
    }

    #[test]
    fn the_pin_is_found_by_kind_and_compared_apart() {
        let text = "kind: HelmRepository\n---\nkind: HelmRelease\nspec: {chart: {spec: {version: '0.2.1'}}} # pin\n";
        let pin = find(text, &routes()).expect("has a pin");
        assert_eq!((pin.value.as_str(), pin.line), ("0.2.1", 4));
        let other = text.replace("'0.2.1'", "0.5.0");
        assert_eq!(with_pin_of(text, &other, &routes()), other);
        assert_eq!(with_pin_of("a: 1\n", &other, &routes()), "a: 1\n");
    }
}
