//! GitLab, by version 4 of its API.
//!
//! Sources: docs.gitlab.com/api (merge requests, users, notes, issues, milestones) and GitLab's `lib/api/merge_requests.rb`: a duplicate is 409, a source branch
//! that was pushed a moment ago can be 400, merging is 405 as long as it isn't known what it waits for, and 401 where the token's user may not merge.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use ureq::http::Method;

use super::common::{encoded, lines, marked, missing, newest_first, unmarked};
use super::error::ForgeError;
use super::http::Http;
use super::{Able, Created, Edit, Forge, Issue, Kind, NewRequest, Recent, Request, State};

const MARKS: [&str; 3] = ["draft:", "[draft]", "(draft)"];
/// How often something is tried that GitLab needs a moment for.
const MOST_TRIES: u32 = 4;

/// One project.
pub(super) struct Gitlab {
    http: Http,
    /// The path of the project below the API.
    project: String,
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: u64,
    web_url: String,
    source_branch: String,
    target_branch: String,
    sha: Option<String>,
    title: String,
    description: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    state: String,
    #[serde(default)]
    draft: bool,
    source_project_id: Option<u64>,
    target_project_id: Option<u64>,
    #[serde(default)]
    assignees: Vec<User>,
    #[serde(default)]
    reviewers: Vec<User>,
}

#[derive(Deserialize)]
struct User {
    id: u64,
    username: String,
}

/// A milestone or an issue.
#[derive(Deserialize)]
struct Titled {
    id: u64,
    iid: u64,
    title: String,
    description: Option<String>,
}

impl MergeRequest {
    /// Whether its branch is one of this project; a deleted fork has no id.
    fn is_own(&self) -> bool {
        self.source_project_id.is_some() && self.source_project_id == self.target_project_id
    }

    fn request(self) -> Request {
        let (title, is_marked) = unmarked(&self.title, &MARKS);
        Request {
            number: self.iid,
            url: self.web_url,
            branch: self.source_branch,
            base: self.target_branch,
            head: self.sha,
            title: title.to_owned(),
            body: lines(self.description),
            labels: self.labels,
            state: match self.state.as_str() {
                // `locked` is the moment of merging.
                "opened" | "locked" => State::Open,
                "merged" => State::Merged,
                _ => State::Closed,
            },
            is_draft: self.draft || is_marked,
        }
    }
}

impl Gitlab {
    pub(super) fn new(http: Http, project: &str) -> Self {
        Self {
            http,
            project: format!("/projects/{}", encoded(project)),
        }
    }

    fn path(&self, rest: &str) -> String {
        format!("{}{rest}", self.project)
    }

    fn one(&self, number: u64) -> String {
        self.path(&format!("/merge_requests/{number}"))
    }

    /// Reads a list of requests to its end.
    fn list(&self, aim: &str, query: &str) -> Result<Vec<Request>, ForgeError> {
        let path = self.path(&format!("/merge_requests?{query}&per_page=100"));
        let all: Vec<MergeRequest> = self.http.pages(aim, &path)?;
        Ok(own(all))
    }

    /// The ids of people; those that aren't known are said.
    fn people(&self, role: &str, names: &[String], unable: &mut Vec<String>) -> Vec<u64> {
        let aim = "look a user up";
        let mut ids = Vec::new();
        for name in names {
            let path = format!("/users?username={}", encoded(name));
            let found = self
                .http
                .get(aim, &path)
                .and_then(|reply| self.http.read::<Vec<User>>(aim, &reply));
            let id = found.map(|users| {
                let mut users = users.into_iter();
                users.find(|user| user.username.eq_ignore_ascii_case(name))
            });
            match id {
                Ok(Some(user)) => ids.push(user.id),
                Ok(None) => unable.push(format!("{role} `{name}`: there is no such user")),
                Err(why) => unable.push(format!("{role} `{name}`: {}", why.why)),
            }
        }
        ids
    }

    fn milestone(&self, title: &str) -> Result<u64, String> {
        let aim = "look a milestone up";
        let path = format!(
            "/milestones?state=active&include_ancestors=true&title={}",
            encoded(title)
        );
        let reply = self.http.get(aim, &self.path(&path));
        let found = reply.and_then(|reply| self.http.read::<Vec<Titled>>(aim, &reply));
        let found = found.map_err(|why| format!("milestone `{title}`: {}", why.why))?;
        let mut found = found.into_iter();
        found
            .find(|milestone| milestone.title == title)
            .map(|milestone| milestone.id)
            .ok_or_else(|| format!("milestone `{title}`: there is none that is active"))
    }

    fn body(&self, new: &NewRequest, unable: &mut Vec<String>) -> Value {
        let (labels, odd): (Vec<&String>, Vec<&String>) =
            new.labels.iter().partition(|label| !label.contains(','));
        let labels: Vec<&str> = labels.into_iter().map(String::as_str).collect();
        unable.extend(odd.into_iter().map(|label| comma(label)));
        let mut body = json!({
            "source_branch": new.branch,
            "target_branch": new.base,
            "title": marked(&new.title, "Draft:", new.is_draft),
            "description": new.body,
            "remove_source_branch": new.remove_branch,
        });
        let mut put = |name: &str, value: Value| {
            if let Value::Object(fields) = &mut body {
                fields.insert(name.to_owned(), value);
            }
        };
        if !labels.is_empty() {
            put("labels", json!(labels.join(",")));
        }
        for (role, field, names) in [
            ("assignee", "assignee_ids", &new.assignees),
            ("reviewer", "reviewer_ids", &new.reviewers),
        ] {
            let ids = self.people(role, names, unable);
            if !ids.is_empty() {
                put(field, json!(ids));
            }
        }
        if let Some(squash) = new.squash {
            put("squash", json!(squash));
        }
        match new.milestone.as_deref().map(|title| self.milestone(title)) {
            Some(Ok(id)) => put("milestone_id", json!(id)),
            Some(Err(why)) => unable.push(why),
            None => {}
        }
        body
    }

    fn put(&self, aim: &str, number: u64, body: &Value) -> Result<Request, ForgeError> {
        let path = self.one(number);
        let mut tries = 1;
        loop {
            let done = self.http.change(aim, Method::PUT, &path, body.clone());
            match done {
                // Somebody else's change holds a lock on it for a moment.
                Err(why) if why.status == Some(409) && tries < MOST_TRIES => {
                    self.http.wait(tries);
                    tries += 1;
                }
                done => {
                    let request: MergeRequest = self.http.read(aim, &done?)?;
                    return Ok(request.request());
                }
            }
        }
    }
}

/// The API reads a comma as the end of a label.
fn comma(label: &str) -> String {
    format!("label `{label}`: GitLab's labels can't have a comma")
}

fn own(all: Vec<MergeRequest>) -> Vec<Request> {
    let own = all.into_iter().filter(MergeRequest::is_own);
    own.map(MergeRequest::request).collect()
}

/// What of a new request GitLab left out without a word: labels that the user may not make, more people than the plan allows.
fn left_out(new: &NewRequest, made: &MergeRequest, unable: &mut Vec<String>) {
    let names = |users: &[User]| users.iter().map(|user| user.username.clone()).collect();
    for (role, wanted, there) in [
        ("label", &new.labels, made.labels.clone()),
        ("assignee", &new.assignees, names(&made.assignees)),
        ("reviewer", &new.reviewers, names(&made.reviewers)),
    ] {
        for name in missing(wanted, &there) {
            let start = format!("{role} `{name}`: ");
            if !unable.iter().any(|said| said.starts_with(&start)) {
                unable.push(format!("{start}GitLab left it out"));
            }
        }
    }
}

impl Forge for Gitlab {
    fn kind(&self) -> Kind {
        Kind::Gitlab
    }

    fn recent(&self) -> Result<Recent, ForgeError> {
        let aim = "list the merge requests";
        let path = "/merge_requests?state=all&order_by=updated_at&sort=desc&per_page=100";
        let (all, is_all) = self.http.first_pages(aim, &self.path(path), 1)?;
        Ok(Recent {
            requests: own(all),
            is_all,
        })
    }

    fn open(&self) -> Result<Vec<Request>, ForgeError> {
        self.list("list the open merge requests", "state=opened")
    }

    fn of_branch(&self, branch: &str) -> Result<Vec<Request>, ForgeError> {
        let query = format!("state=all&source_branch={}", encoded(branch));
        let found = self.list("list the merge requests of a branch", &query)?;
        Ok(newest_first(found))
    }

    fn create(&self, new: &NewRequest) -> Result<Created, ForgeError> {
        let aim = &format!("open a merge request for `{}`", new.branch);
        let mut unable = Vec::new();
        let body = self.body(new, &mut unable);
        let mut tries = 1;
        let reply = loop {
            let why = match self
                .http
                .post(aim, &self.path("/merge_requests"), body.clone())
            {
                Ok(reply) => break reply,
                Err(why) => why,
            };
            // What was pushed a moment ago isn't known everywhere at once.
            let is_late = why.status == Some(400) && why.why.contains("`source_branch`");
            if !is_late || tries == MOST_TRIES {
                let is_there = why.status == Some(409);
                return Err(ForgeError {
                    may_be_done: why.may_be_done || is_there,
                    ..why
                });
            }
            self.http.wait(tries);
            tries += 1;
        };
        let made: MergeRequest = self.http.read(aim, &reply)?;
        left_out(new, &made, &mut unable);
        Ok(Created {
            request: made.request(),
            unable,
        })
    }

    fn edit(&self, number: u64, edit: &Edit) -> Result<Request, ForgeError> {
        let aim = format!("change the merge request !{number}");
        let mut body = Map::new();
        if let Some(title) = &edit.title {
            // A draft stays one: its mark stands in the title.
            let reply = self.http.get(&aim, &self.one(number))?;
            let now: MergeRequest = self.http.read(&aim, &reply)?;
            let title = marked(title, "Draft:", now.request().is_draft);
            body.insert("title".to_owned(), json!(title));
        }
        let mut labels = edit.labels.iter().flatten();
        if let Some(odd) = labels.find(|label| label.contains(',')) {
            return Err(self.http.fault(&aim, comma(odd)));
        }
        let labels = edit.labels.as_ref().map(|labels| labels.join(","));
        for (name, value) in [
            ("description", &edit.body),
            ("labels", &labels),
            ("target_branch", &edit.base),
        ] {
            if let Some(value) = value {
                body.insert(name.to_owned(), json!(value));
            }
        }
        if body.is_empty() {
            let reply = self.http.get(&aim, &self.one(number))?;
            let now: MergeRequest = self.http.read(&aim, &reply)?;
            return Ok(now.request());
        }
        self.put(&aim, number, &Value::Object(body))
    }

    fn comment(&self, number: u64, text: &str) -> Result<(), ForgeError> {
        let aim = format!("comment on the merge request !{number}");
        let path = format!("{}/notes", self.one(number));
        self.http.post(&aim, &path, json!({ "body": text }))?;
        Ok(())
    }

    fn close(&self, number: u64) -> Result<(), ForgeError> {
        let aim = format!("close the merge request !{number}");
        self.put(&aim, number, &json!({ "state_event": "close" }))?;
        Ok(())
    }

    fn merge_when_ready(&self, number: u64, head: &str) -> Result<Able, ForgeError> {
        let aim = format!("have the merge request !{number} merged");
        let path = format!("{}/merge", self.one(number));
        // Servers before 17.11 know the second name alone.
        let body = json!({ "sha": head, "auto_merge": true, "merge_when_pipeline_succeeds": true });
        let mut tries = 1;
        loop {
            let Err(why) = self.http.change(&aim, Method::PUT, &path, body.clone()) else {
                return Ok(Able::Done);
            };
            let unable = match why.status {
                // For a moment after a push there is no pipeline yet that it could wait for.
                Some(405) if tries < MOST_TRIES => {
                    self.http.wait(tries);
                    tries += 1;
                    continue;
                }
                Some(405) => {
                    "there is nothing that it waits for, or it is a draft, closed, or in conflict"
                }
                Some(401) => "the token's user may not merge into this branch",
                Some(409) => "it brings another commit by now",
                Some(406 | 422) => "it is in conflict with its base",
                _ => return Err(why),
            };
            return Ok(Able::Unable(format!("{unable}: {}", why.why)));
        }
    }

    fn issue(&self, title: &str) -> Result<Option<Issue>, ForgeError> {
        let aim = "look for an issue";
        let query = encoded(title);
        let path = format!("/issues?state=opened&in=title&search={query}&per_page=100");
        let found = self.http.pages::<Titled>(aim, &self.path(&path));
        let found = match found {
            // A project without issues; whoever can't see the project has heard so before.
            Err(why) if matches!(why.status, Some(403 | 404)) => return Ok(None),
            other => other?,
        };
        let found = found.into_iter().filter(|issue| issue.title == title);
        let oldest = found.min_by_key(|issue| issue.iid);
        Ok(oldest.map(|issue| Issue {
            number: issue.iid,
            body: lines(issue.description),
        }))
    }

    fn put_issue(&self, known: Option<u64>, title: &str, body: &str) -> Result<Able, ForgeError> {
        let aim = "write an issue";
        let done = match known {
            Some(number) => {
                let path = self.path(&format!("/issues/{number}"));
                let text = json!({ "description": body });
                self.http.change(aim, Method::PUT, &path, text)
            }
            None => {
                let text = json!({ "title": title, "description": body });
                self.http.post(aim, &self.path("/issues"), text)
            }
        };
        match done {
            Ok(_) => Ok(Able::Done),
            Err(why) if matches!(why.status, Some(403 | 404)) => Ok(Able::Unable(format!(
                "the project has no issues, or the token may not write them: {}",
                why.why
            ))),
            Err(why) => Err(why),
        }
    }
}
