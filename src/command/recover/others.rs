//! What a recovery does to other releases than the one that it is for.

use serde_json::Value;

use super::units::Unit;
use crate::plan::corrected::places;

/// A file in which a correction for one unit changes the values of another.
pub(super) fn shared(one: &Unit, other: &Unit, patch: Option<&Value>) -> Option<String> {
    let patch = patch?;
    let mut places = one
        .described
        .iter()
        .flat_map(|described| places(described, patch));
    let layers = || {
        other
            .described
            .iter()
            .flat_map(|described| &described.layers)
    };
    let file = places.find(|place| layers().any(|layer| layer.file == **place))?;
    Some(file.to_string())
}
