//! The parts of a request's text that the charts themselves have to say.

use crate::command::published::Published;
use crate::model::tree::Tree;
use crate::plan::upgrade::{Bundle, Section};

/// The parts for a bundle.
pub(super) fn of(
    _published: &mut Published<'_>,
    _tree: &dyn Tree,
    _bundle: &Bundle,
) -> Vec<Section> {
    Vec::new()
}
