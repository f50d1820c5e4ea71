//! What a recovery does to other releases than the one that it is for.

use serde_json::Value;

use super::units::Unit;
use crate::model::repo_path::RepoPath;
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
    let place = places.find(|place| layers().any(|layer| layer == *place))?;
    Some(place.file.to_string())
}

/// What is said where a unit's pins lie in several folders, which may be several clusters, and no environments tell them apart.
pub(super) fn scattered(unit: &Unit) -> Option<String> {
    if unit.environment.is_some() {
        return None;
    }
    let pins = unit.pins.iter().filter(|pin| pin.effective);
    let mut folders: Vec<Option<RepoPath>> = pins.map(|pin| pin.file.parent()).collect();
    folders.sort();
    folders.dedup();
    if folders.len() < 2 {
        return None;
    }
    let name = |folder: &Option<RepoPath>| match folder {
        Some(folder) => format!("`{folder}`"),
        None => "the top folder".to_owned(),
    };
    let names: Vec<String> = folders.iter().map(name).collect();
    Some(format!(
        "its pins in {} move together; where these are environments, `upgrade.environments` tells them apart, and `--cluster FOLDER` moves one",
        names.join(", ")
    ))
}
