//! What GitHub's answers hold, as far as it is read.

use serde::Deserialize;
use serde_json::Value;

use crate::forge::Request;
use crate::forge::common::{lines, state};

#[derive(Deserialize)]
pub(super) struct Pull {
    pub(super) number: u64,
    pub(super) node_id: String,
    pub(super) html_url: String,
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) labels: Option<Vec<Named>>,
    pub(super) state: String,
    pub(super) merged_at: Option<String>,
    #[serde(default)]
    pub(super) draft: bool,
    pub(super) head: Side,
    pub(super) base: Side,
}

#[derive(Deserialize)]
pub(super) struct Side {
    #[serde(rename = "ref")]
    pub(super) branch: String,
    pub(super) sha: Option<String>,
    /// Nothing where a fork is gone.
    pub(super) repo: Option<Numbered>,
}

#[derive(Deserialize)]
pub(super) struct Numbered {
    pub(super) id: u64,
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
}

/// What has labels.
#[derive(Deserialize)]
pub(super) struct Labelled {
    #[serde(default)]
    pub(super) labels: Option<Vec<Named>>,
}

/// An issue or a milestone.
#[derive(Deserialize)]
pub(super) struct Titled {
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) pull_request: Option<Value>,
    #[serde(default)]
    pub(super) assignees: Vec<User>,
}

#[derive(Deserialize)]
pub(super) struct User {
    pub(super) login: String,
}

/// Which ways of merging a repository allows; whoever may not see it gets none of these.
#[derive(Deserialize)]
pub(super) struct Ways {
    pub(super) allow_merge_commit: Option<bool>,
    pub(super) allow_squash_merge: Option<bool>,
    pub(super) allow_rebase_merge: Option<bool>,
}

impl Ways {
    pub(super) fn method(&self) -> &'static str {
        match (
            self.allow_merge_commit,
            self.allow_squash_merge,
            self.allow_rebase_merge,
        ) {
            (Some(false), Some(true), _) => "SQUASH",
            (Some(false), _, Some(true)) => "REBASE",
            _ => "MERGE",
        }
    }
}

impl Pull {
    fn is_own(&self) -> bool {
        let id = |side: &Side| side.repo.as_ref().map(|repo| repo.id);
        id(&self.head).is_some() && id(&self.head) == id(&self.base)
    }

    pub(super) fn request(self) -> Request {
        let labels = self.labels.unwrap_or_default();
        Request {
            number: self.number,
            url: self.html_url,
            branch: self.head.branch,
            base: self.base.branch,
            head: self.head.sha,
            title: self.title,
            body: lines(self.body),
            labels: labels.into_iter().map(|label| label.name).collect(),
            state: state(&self.state, self.merged_at.is_some()),
            is_draft: self.draft,
        }
    }
}

pub(super) fn own(all: Vec<Pull>) -> Vec<Request> {
    let own = all.into_iter().filter(Pull::is_own);
    own.map(Pull::request).collect()
}
