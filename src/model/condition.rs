//! [`Condition`]: what an object of a Kubernetes cluster says of itself, in the form that all of them share.

use serde_json::Value;

/// One entry of `status.conditions`. What is missing is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition<'a> {
    /// What it is about, such as `Ready`.
    pub kind: &'a str,
    /// `True`, `False` or `Unknown`.
    pub status: &'a str,
    /// One word for programs.
    pub reason: &'a str,
    /// A sentence for people.
    pub message: &'a str,
    /// When the status last changed (RFC 3339).
    pub at: Option<&'a str>,
    /// The generation of the object that this is said of.
    pub generation: Option<i64>,
}

impl<'a> Condition<'a> {
    /// All conditions of an object, in its order.
    pub fn all(object: &'a Value) -> impl Iterator<Item = Self> {
        let entries = object["status"]["conditions"].as_array();
        entries.into_iter().flatten().map(Self::of)
    }

    /// The condition of a kind.
    pub fn find(object: &'a Value, kind: &str) -> Option<Self> {
        Self::all(object).find(|condition| condition.kind == kind)
    }

    fn of(entry: &'a Value) -> Self {
        let text = |key: &str| entry[key].as_str().unwrap_or_default();
        Self {
            kind: text("type"),
            status: text("status"),
            reason: text("reason"),
            message: text("message"),
            at: entry["lastTransitionTime"].as_str(),
            generation: entry["observedGeneration"].as_i64(),
        }
    }

    /// Whether it holds.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }

    /// Whether it is known not to hold.
    pub fn is_false(&self) -> bool {
        self.status == "False"
    }
}
