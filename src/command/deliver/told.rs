//! What became of a change beyond its commit, for people and scripts.

use serde_json::{Value, json};

use crate::forge::Kind;
use crate::git::branches::Offered;
use crate::model::request::Request;
use crate::plan::change::Change;

/// What became of a merge request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is new.
    Created,
    /// It brings something else now.
    Updated,
    /// It is as it should be.
    Same,
    /// It was there, or its branch was, and nothing said that it is ours.
    Adopted,
    /// Somebody works on its branch, or nobody can ask whether it is there.
    LeftAlone,
    /// People closed it: nothing is done.
    Closed,
    /// The remote or the forge refused, or couldn't be asked.
    Refused,
}

impl Verdict {
    /// The word in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Same => "same",
            Self::Adopted => "adopted",
            Self::LeftAlone => "left-alone",
            Self::Closed => "closed",
            Self::Refused => "refused",
        }
    }
}

/// What became of a merge request, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The forge.
    pub forge: Kind,
    /// Its number, where it has one.
    pub number: Option<u64>,
    /// Its page.
    pub url: Option<String>,
    /// What became of it.
    pub verdict: Verdict,
    /// Why, where that isn't plain.
    pub why: Option<String>,
}

impl Told {
    /// About a request, or about none.
    pub fn of(forge: Kind, request: Option<&Request>, verdict: Verdict) -> Self {
        Self {
            forge,
            number: request.map(|request| request.number),
            url: request.map(|request| request.url.clone()),
            verdict,
            why: None,
        }
    }

    /// With the reason.
    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    /// The form that scripts rely on.
    pub fn to_json(&self) -> Value {
        json!({
            "forge": self.forge.as_str(),
            "number": self.number,
            "url": self.url,
            "verdict": self.verdict.as_str(),
            "why": self.why,
        })
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let mut text = format!("merge request {}", self.verdict.as_str());
        if let Some(url) = &self.url {
            text.push_str(&format!(": {url}"));
        }
        if let Some(why) = &self.why {
            text.push_str(&format!(" ({why})"));
        }
        text
    }
}

/// A change, its commit, and its merge request.
pub struct Delivered<'c> {
    /// The change.
    pub change: &'c Change,
    /// Its commit; nothing where none was made.
    pub offered: Option<Offered>,
    /// Its request; nothing where none was asked for.
    pub request: Option<Told>,
}

impl Delivered<'_> {
    /// Whether people said no to it.
    pub fn is_closed(&self) -> bool {
        let told = self.request.as_ref();
        told.is_some_and(|told| told.verdict == Verdict::Closed)
    }
}
