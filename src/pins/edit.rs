//! Moves one pin: its bytes are replaced, and the result is looked at again before it counts.

use thiserror::Error;

use super::file::look;
use super::found::Pin;
use crate::model::repo_path::RepoPath;

/// Why a pin stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// The place can't be edited.
    #[error("{0}")]
    NotEditable(String),
    /// The text isn't the one that the pin was found in.
    #[error("the file has changed since")]
    Changed,
    /// With the new text the file would say something else.
    #[error("with `{0}` there the file would say something else than before")]
    Unproven(String),
}

/// Returns the text of a file with another version at one pin. Every byte outside of it stays, quotes too.
///
/// # Errors
/// When the place can't be edited, or the file would read differently in anything but this version.
pub fn edit(path: &RepoPath, text: &str, pin: &Pin, version: &str) -> Result<String, EditError> {
    if !pin.editable {
        let why = pin.why.clone().unwrap_or_default();
        return Err(EditError::NotEditable(why));
    }
    let written = text.get(pin.span.clone()).ok_or(EditError::Changed)?;
    let at = written.find(&pin.value).ok_or(EditError::Changed)?;
    let start = pin.span.start + at;
    let edited = [&text[..start], version, &text[start + pin.value.len()..]].concat();
    if is_proven(path, text, &edited, pin, version) {
        Ok(edited)
    } else {
        Err(EditError::Unproven(version.to_owned()))
    }
}

/// Whether everything that finders see is as before, but for one version.
fn is_proven(path: &RepoPath, before: &str, after: &str, pin: &Pin, new: &str) -> bool {
    let (before, after) = (look(path, before), look(path, after));
    let says = |pin: &Pin| {
        (
            pin.place.clone(),
            pin.object.clone(),
            pin.chart.clone(),
            pin.kind,
        )
    };
    let fits = |(old, now): (&Pin, &Pin)| {
        let wanted = if old.span == pin.span {
            new
        } else {
            &old.value
        };
        says(old) == says(now) && now.value == wanted
    };
    before.pins.len() == after.pins.len()
        && before.unread.len() == after.unread.len()
        && before.facts.definitions.len() == after.facts.definitions.len()
        && before.pins.iter().zip(&after.pins).all(fits)
}
