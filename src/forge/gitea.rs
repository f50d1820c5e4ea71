//! Gitea and Forgejo, by version 1 of their API.
//!
//! Sources: Gitea's `routers/api/v1/repo/pull.go` and `templates/swagger`: labels go by id, a draft is a title that begins with `WIP:`, a duplicate is 409, a
//! branch that was pushed a moment ago can be 404, and merging is 405 as long as it is still looked at.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use ureq::http::Method;

use super::common::{
    encoded, left_open, lines, marked, newest_first, of_repository, state, unmarked,
};
use super::error::ForgeError;
use super::http::Http;
use super::{Able, Created, Edit, Forge, Issue, Kind, NewRequest, Recent, Request};

const MARKS: [&str; 2] = ["wip:", "[wip]"];
/// How often something is tried that the server needs a moment for.
const MOST_TRIES: u32 = 4;
/// How many pages of requests are read, of 50 each, to find those of our branches.
const MOST_PAGES: u32 = 10;
/// What labels look like that are made here.
const COLOR: &str = "#ededed";

/// One repository.
pub(super) struct Gitea {
    http: Http,
    owner: String,
    /// The path of the repository below the API.
    repository: String,
}

#[derive(Deserialize)]
struct Pull {
    number: u64,
    html_url: String,
    title: String,
    body: Option<String>,
    labels: Option<Vec<Label>>,
    state: String,
    #[serde(default)]
    merged: bool,
    head: Side,
    base: Side,
}

#[derive(Deserialize)]
struct Side {
    /// The branch, also where it is gone.
    #[serde(default)]
    label: String,
    #[serde(rename = "ref")]
    reference: String,
    sha: Option<String>,
    repo_id: Option<u64>,
}

#[derive(Deserialize)]
struct Label {
    id: u64,
    name: String,
}

/// A milestone or an issue.
#[derive(Deserialize)]
struct Titled {
    #[serde(default)]
    id: u64,
    #[serde(default)]
    number: u64,
    title: String,
    body: Option<String>,
}

#[derive(Deserialize)]
struct Repository {
    default_merge_style: Option<String>,
}

impl Side {
    /// The branch's name; a branch that is gone is shown as `refs/pull/1/head`.
    fn branch(&self) -> String {
        match self.reference.starts_with("refs/pull/") && !self.label.is_empty() {
            true => self.label.rsplit(':').next().unwrap_or_default().to_owned(),
            false => self.reference.clone(),
        }
    }
}

impl Pull {
    fn is_own(&self) -> bool {
        self.head.repo_id == self.base.repo_id
    }

    fn request(self) -> Request {
        let (title, is_draft) = unmarked(&self.title, &MARKS);
        let labels = self.labels.unwrap_or_default();
        Request {
            number: self.number,
            url: self.html_url,
            branch: self.head.branch(),
            base: self.base.branch(),
            head: self.head.sha.filter(|sha| !sha.is_empty()),
            title: title.to_owned(),
            body: lines(self.body),
            labels: labels.into_iter().map(|label| label.name).collect(),
            state: state(&self.state, self.merged),
            is_draft,
        }
    }
}

impl Gitea {
    pub(super) fn new(http: Http, project: &str) -> Self {
        let owner = project.split('/').next().unwrap_or_default().to_owned();
        Self {
            http,
            owner,
            repository: format!("/repos/{project}"),
        }
    }

    fn path(&self, rest: &str) -> String {
        format!("{}{rest}", self.repository)
    }

    fn one(&self, number: u64) -> String {
        self.path(&format!("/pulls/{number}"))
    }

    fn list(&self, aim: &str, query: &str) -> Result<Vec<Request>, ForgeError> {
        let path = self.path(&format!("/pulls?{query}&limit=50"));
        Ok(own(self.http.pages(aim, &path)?))
    }

    /// The requests that were last changed, up to a bound: no repository is too big.
    fn last_changed(&self, pages: u32) -> Result<Recent, ForgeError> {
        let aim = "list the pull requests";
        let path = self.path("/pulls?state=all&sort=recentupdate&limit=50");
        let (all, is_all) = self.http.first_pages(aim, &path, pages)?;
        Ok(Recent {
            requests: own(all),
            is_all,
        })
    }

    fn pull(&self, aim: &str, number: u64) -> Result<Pull, ForgeError> {
        let reply = self.http.get(aim, &self.one(number))?;
        self.http.read(aim, &reply)
    }

    /// The ids of labels, which are made where they aren't there. Those that can't be are said.
    fn labels(&self, names: &[String], unable: &mut Vec<String>) -> Result<Vec<u64>, ForgeError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let aim = "look the labels up";
        let mut known: Vec<Label> = self.http.pages(aim, &self.path("/labels?limit=50"))?;
        let is_known = |known: &[Label], name: &str| known.iter().any(|label| label.name == name);
        if names.iter().any(|name| !is_known(&known, name)) {
            // An owner that isn't an organisation has none.
            let path = format!("/orgs/{}/labels?limit=50", encoded(&self.owner));
            known.extend(self.http.pages::<Label>(aim, &path).unwrap_or_default());
        }
        let mut ids = Vec::new();
        for name in names {
            if let Some(label) = known.iter().find(|label| label.name == *name) {
                ids.push(label.id);
                continue;
            }
            let aim = "make a label";
            let body = json!({ "name": name, "color": COLOR });
            let reply = self.http.post(aim, &self.path("/labels"), body);
            match reply.and_then(|reply| self.http.read::<Label>(aim, &reply)) {
                Ok(label) => ids.push(label.id),
                // Not a "no": it may be there by now, and a request without it would look as if people had taken it away.
                Err(why) if why.may_be_done || matches!(why.status, None | Some(429)) => {
                    let now: Vec<Label> = self.http.pages(aim, &self.path("/labels?limit=50"))?;
                    let made = now.iter().find(|label| label.name == *name);
                    ids.push(made.ok_or(why)?.id);
                }
                Err(why) => unable.push(format!("label `{name}`: {}", why.why)),
            }
        }
        Ok(ids)
    }

    fn milestone(&self, title: &str) -> Result<u64, String> {
        let aim = "look a milestone up";
        let path = self.path(&format!(
            "/milestones?state=open&limit=50&name={}",
            encoded(title)
        ));
        let found = self.http.pages::<Titled>(aim, &path);
        let found = found.map_err(|why| format!("milestone `{title}`: {}", why.why))?;
        let mut found = found.into_iter();
        found
            .find(|milestone| milestone.title == title)
            .map(|milestone| milestone.id)
            .ok_or_else(|| format!("milestone `{title}`: there is none that is open"))
    }

    /// People, one by one: an unknown name would spoil all of a call.
    fn people(&self, number: u64, new: &NewRequest, unable: &mut Vec<String>) {
        let mut assigned: Vec<&String> = Vec::new();
        for name in &new.assignees {
            assigned.push(name);
            let body = json!({ "assignees": assigned });
            let done = self
                .http
                .change("assign somebody", Method::PATCH, &self.one(number), body);
            if let Err(why) = done {
                assigned.pop();
                unable.push(format!("assignee `{name}`: {}", why.why));
            }
        }
        let path = format!("{}/requested_reviewers", self.one(number));
        for name in &new.reviewers {
            let body = json!({ "reviewers": [name] });
            if let Err(why) = self.http.post("ask for a review", &path, body) {
                unable.push(format!("reviewer `{name}`: {}", why.why));
            }
        }
    }

    /// Opens it without people; a branch that was pushed a moment ago isn't known everywhere at once.
    fn opened(&self, new: &NewRequest, body: &Value) -> Result<Pull, ForgeError> {
        let aim = &format!("open a pull request for `{}`", new.branch);
        let mut tries = 1;
        loop {
            match self.http.post(aim, &self.path("/pulls"), body.clone()) {
                Ok(reply) => return self.http.read(aim, &reply),
                Err(why) if why.status == Some(404) && tries < MOST_TRIES => {
                    // That of a repository that isn't there, or hidden, is the same status.
                    self.http.get(aim, &self.repository)?;
                    self.http.wait(tries);
                    tries += 1;
                }
                Err(why) => {
                    let is_there = why.status == Some(409);
                    return Err(ForgeError {
                        may_be_done: why.may_be_done || is_there,
                        ..why
                    });
                }
            }
        }
    }

    fn patch(&self, aim: &str, number: u64, body: Value) -> Result<Request, ForgeError> {
        let reply = self
            .http
            .change(aim, Method::PATCH, &self.one(number), body)?;
        let pull: Pull = self.http.read(aim, &reply)?;
        Ok(pull.request())
    }

    /// How the repository merges where nobody says it.
    fn style(&self, aim: &str) -> Result<String, ForgeError> {
        let reply = self.http.get(aim, &self.repository)?;
        let repository: Repository = self.http.read(aim, &reply)?;
        let style = repository.default_merge_style;
        Ok(style.unwrap_or_else(|| "merge".to_owned()))
    }
}

fn own(all: Vec<Pull>) -> Vec<Request> {
    let own = all.into_iter().filter(Pull::is_own);
    own.map(Pull::request).collect()
}

impl Forge for Gitea {
    fn kind(&self) -> Kind {
        Kind::Gitea
    }

    fn recent(&self) -> Result<Recent, ForgeError> {
        self.last_changed(1)
    }

    fn open(&self) -> Result<Vec<Request>, ForgeError> {
        self.list("list the open pull requests", "state=open")
    }

    fn of_branch(&self, branch: &str) -> Result<Vec<Request>, ForgeError> {
        // The API has no filter for it.
        let mut found = self.last_changed(MOST_PAGES)?.requests;
        found.retain(|request| request.branch == branch);
        Ok(newest_first(found))
    }

    fn history(&self) -> Result<Option<Recent>, ForgeError> {
        self.last_changed(MOST_PAGES).map(Some)
    }

    fn create(&self, new: &NewRequest) -> Result<Created, ForgeError> {
        let mut unable = Vec::new();
        let labels = self.labels(&new.labels, &mut unable)?;
        let has_people = !new.assignees.is_empty() || !new.reviewers.is_empty();
        let first = new.first_body.as_ref().filter(|_| has_people);
        let mut body = json!({
            "head": new.branch,
            "base": new.base,
            "title": marked(&new.title, "WIP:", new.is_draft),
            "body": first.unwrap_or(&new.body),
            "labels": labels,
        });
        match new.milestone.as_deref().map(|title| self.milestone(title)) {
            Some(Ok(id)) => body["milestone"] = json!(id),
            Some(Err(why)) => unable.push(why),
            None => {}
        }
        let mut request = self.opened(new, &body)?.request();
        self.people(request.number, new, &mut unable);
        if first.is_some() {
            let aim = format!("change the pull request #{}", request.number);
            let done = self.patch(&aim, request.number, json!({ "body": new.body }));
            request = done.map_err(left_open)?;
        }
        unable.extend(of_repository(new));
        Ok(Created { request, unable })
    }

    fn finish(&self, number: u64, new: &NewRequest) -> Result<Vec<String>, ForgeError> {
        let mut unable = Vec::new();
        let labels = self.labels(&new.labels, &mut unable)?;
        self.people(number, new, &mut unable);
        let aim = format!("change the pull request #{number}");
        let body = json!({ "body": new.body, "labels": labels });
        self.patch(&aim, number, body)?;
        Ok(unable)
    }

    fn edit(&self, number: u64, edit: &Edit) -> Result<Request, ForgeError> {
        let aim = format!("change the pull request #{number}");
        let mut body = Map::new();
        let mut unable = Vec::new();
        if let Some(title) = &edit.title {
            // A draft stays one: its mark stands in the title.
            let is_draft = self.pull(&aim, number)?.request().is_draft;
            let title = marked(title, "WIP:", is_draft);
            body.insert("title".to_owned(), json!(title));
        }
        if let Some(labels) = &edit.labels {
            let ids = self.labels(labels, &mut unable)?;
            body.insert("labels".to_owned(), json!(ids));
        }
        if let Some(why) = unable.into_iter().next() {
            return Err(self.http.fault(&aim, why));
        }
        for (name, value) in [("body", &edit.body), ("base", &edit.base)] {
            if let Some(value) = value {
                body.insert(name.to_owned(), json!(value));
            }
        }
        match body.is_empty() {
            true => Ok(self.pull(&aim, number)?.request()),
            false => self.patch(&aim, number, Value::Object(body)),
        }
    }

    fn comment(&self, number: u64, text: &str) -> Result<(), ForgeError> {
        let aim = format!("comment on the pull request #{number}");
        let path = self.path(&format!("/issues/{number}/comments"));
        self.http.post(&aim, &path, json!({ "body": text }))?;
        Ok(())
    }

    fn close(&self, number: u64) -> Result<(), ForgeError> {
        let aim = format!("close the pull request #{number}");
        self.patch(&aim, number, json!({ "state": "closed" }))?;
        Ok(())
    }

    fn merge_when_ready(&self, number: u64, head: &str) -> Result<Able, ForgeError> {
        let aim = format!("have the pull request #{number} merged");
        // Where it waits, the server doesn't compare the commit.
        let now = self.pull(&aim, number)?.request();
        if now.head.as_deref() != Some(head) {
            return Ok(Able::Unable("it brings another commit by now".to_owned()));
        }
        let body = json!({
            "Do": self.style(&aim)?,
            "head_commit_id": head,
            "merge_when_checks_succeed": true,
        });
        let path = format!("{}/merge", self.one(number));
        let mut tries = 1;
        loop {
            let Err(why) = self.http.post(&aim, &path, body.clone()) else {
                return Ok(Able::Done);
            };
            match why.status {
                // For a moment after a change it is still looked at.
                Some(405) if tries < MOST_TRIES => {
                    self.http.wait(tries);
                    tries += 1;
                }
                Some(409) if why.why.contains("already scheduled") => return Ok(Able::Done),
                Some(403 | 405 | 409) => return Ok(Able::Unable(why.why)),
                _ => return Err(why),
            }
        }
    }

    fn issue(&self, title: &str) -> Result<Option<Issue>, ForgeError> {
        let aim = "look for an issue";
        let query = encoded(title);
        let path = self.path(&format!(
            "/issues?type=issues&state=open&q={query}&limit=50"
        ));
        let found = match self.http.pages::<Titled>(aim, &path) {
            // A repository without issues; whoever can't see it has heard so before.
            Err(why) if matches!(why.status, Some(403 | 404)) => return Ok(None),
            other => other?,
        };
        let found = found.into_iter().filter(|issue| issue.title == title);
        let oldest = found.min_by_key(|issue| issue.number);
        Ok(oldest.map(|issue| Issue {
            number: issue.number,
            body: lines(issue.body),
        }))
    }

    fn put_issue(&self, known: Option<u64>, title: &str, body: &str) -> Result<Able, ForgeError> {
        let aim = "write an issue";
        let done = match known {
            Some(number) => {
                let path = self.path(&format!("/issues/{number}"));
                let text = json!({ "body": body });
                self.http.change(aim, Method::PATCH, &path, text)
            }
            None => {
                let text = json!({ "title": title, "body": body });
                self.http.post(aim, &self.path("/issues"), text)
            }
        };
        match done {
            Ok(_) => Ok(Able::Done),
            Err(why) if matches!(why.status, Some(403..=405 | 410)) => Ok(Able::Unable(format!(
                "the repository has no issues, or the token may not write them: {}",
                why.why
            ))),
            Err(why) => Err(why),
        }
    }
}
