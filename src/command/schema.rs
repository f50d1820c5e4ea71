//! `schema`: the JSON Schema of `.haptic-scaffold.yaml`.

use serde_json::Map;

use crate::error::ExitStatus;
use crate::layout::recorded;
use crate::ui::Outcome;

/// Prints the schema.
pub fn run() -> Outcome {
    let schema = recorded::schema();
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    Outcome {
        status: ExitStatus::Done,
        text,
        json: Map::from_iter([("json_schema".to_owned(), schema)]),
        problem: None,
        lists: Vec::new(),
    }
}
