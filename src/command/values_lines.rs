//! Lines of keys in a values file, for messages about them.

use crate::yaml::{self, Route};

/// The line of the key that a route leads to, or of the nearest one above that is there.
pub fn line_of(text: &str, route: &str) -> usize {
    let stream = yaml::parse(text);
    let root = stream.documents.first().and_then(|d| d.root.as_ref());
    let mut route = Route::parse(route).ok();
    while let (Some(root), Some(here)) = (root, &route) {
        if let Ok(node) = root.find(here) {
            return node.position.line;
        }
        route = here.parent();
    }
    1
}
