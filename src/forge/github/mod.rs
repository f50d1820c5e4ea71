//! GitHub and GitHub Enterprise Server, by octocrab over the HTTP layer of this folder.
//!
//! octocrab makes requests and reads answers; connections, retries, logins and errors are those of every other forge (`http`). What answers hold is read here
//! leniently, since old servers lack fields that octocrab's own structs want. Sources: docs.github.com/rest (pulls, issues) and the mutation
//! `enablePullRequestAutoMerge` of its GraphQL API: REST has none for it.

mod answers;
mod later;

use std::sync::Arc;

use http_body_util::BodyExt as _;
use octocrab::{AuthState, FromResponse, OctoBody, Octocrab, OctocrabBuilder, Page};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use ureq::http::{Method, Request as HttpRequest, Response, Uri};

use self::answers::{Named, Pull, Titled, Ways, own};
use self::later::has_later;
use crate::forge::common::{encoded, left_open, lines, newest_first, of_repository};
use crate::forge::error::ForgeError;
use crate::forge::http::{Call, Http};
use crate::forge::{Able, Created, Edit, Forge, Issue, Kind, NewRequest, Recent, Request};
use crate::http::url::Url;

/// How often something is tried that GitHub needs a moment for.
const MOST_TRIES: u32 = 4;
const MOST_PAGES: u32 = 200;
const AUTO_MERGE: &str = "mutation($id: ID!, $head: GitObjectID!, $method: PullRequestMergeMethod!) { \
     enablePullRequestAutoMerge(input: {pullRequestId: $id, expectedHeadOid: $head, mergeMethod: $method}) { pullRequest { number } } }";

/// One repository.
pub(super) struct Github {
    runtime: Runtime,
    crab: Octocrab,
    http: Arc<Http>,
    owner: String,
    /// The path of the repository below the API.
    repository: String,
}

impl Github {
    /// # Errors
    /// When the system gives no runtime.
    pub(super) fn new(http: Http, project: &str) -> Result<Self, ForgeError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(|why| http.fault("ask GitHub", why.to_string()))?;
        let http = Arc::new(http);
        let asked = Arc::clone(&http);
        let service = tower::service_fn(move |request: HttpRequest<OctoBody>| {
            let http = Arc::clone(&asked);
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await;
                let body = body.map_err(|why| http.fault("", why.to_string()))?;
                forward(&http, &head.method, &head.uri, &body.to_bytes())
            }
        });
        // octocrab starts a task of its own, so the runtime has to be known here.
        let entered = runtime.enter();
        let builder = OctocrabBuilder::new_empty().with_service(service);
        let Ok(crab) = builder.with_auth(AuthState::None).build();
        drop(entered);
        Ok(Self {
            runtime,
            crab,
            http,
            owner: project.split('/').next().unwrap_or_default().to_owned(),
            repository: format!("/repos/{project}"),
        })
    }

    fn path(&self, rest: &str) -> String {
        format!("{}{rest}", self.repository)
    }

    fn one(&self, number: u64) -> String {
        self.path(&format!("/pulls/{number}"))
    }

    fn issue_path(&self, number: u64, rest: &str) -> String {
        self.path(&format!("/issues/{number}{rest}"))
    }

    /// The error of a forge that came through octocrab.
    fn error(&self, aim: &str, why: octocrab::Error) -> ForgeError {
        let fault = |why: String| self.http.fault(aim, why);
        match why {
            octocrab::Error::Service { source, .. } => match source.downcast::<ForgeError>() {
                Ok(why) => ForgeError {
                    aim: aim.to_owned(),
                    ..*why
                },
                Err(why) => fault(why.to_string()),
            },
            octocrab::Error::Graphql { source, .. } => fault(source.to_string()),
            octocrab::Error::Json { source, .. } => ForgeError {
                may_be_done: true,
                ..fault(format!("the answer can't be read: {source}"))
            },
            octocrab::Error::Serde { source, .. } => ForgeError {
                may_be_done: true,
                ..fault(format!("the answer can't be read: {source}"))
            },
            other => fault(
                other
                    .to_string()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            ),
        }
    }

    fn get<T: FromResponse>(&self, aim: &str, path: &str) -> Result<T, ForgeError> {
        let asked = self.crab.get::<T, _, ()>(path, None);
        self.runtime.block_on(asked).map_err(|why| ForgeError {
            may_be_done: false,
            ..self.error(aim, why)
        })
    }

    fn post<T: FromResponse>(&self, aim: &str, path: &str, body: &Value) -> Result<T, ForgeError> {
        let asked = self.crab.post::<Value, T>(path, Some(body));
        self.runtime
            .block_on(asked)
            .map_err(|why| self.error(aim, why))
    }

    fn patch<T: FromResponse>(&self, aim: &str, path: &str, body: &Value) -> Result<T, ForgeError> {
        let asked = self.crab.patch::<T, _, Value>(path, Some(body));
        self.runtime
            .block_on(asked)
            .map_err(|why| self.error(aim, why))
    }

    fn put<T: FromResponse>(&self, aim: &str, path: &str, body: &Value) -> Result<T, ForgeError> {
        let asked = self.crab.put::<T, _, Value>(path, Some(body));
        self.runtime
            .block_on(asked)
            .map_err(|why| self.error(aim, why))
    }

    /// Reads a list to its end.
    fn pages<T: DeserializeOwned>(&self, aim: &str, path: &str) -> Result<Vec<T>, ForgeError> {
        let mut page: Page<T> = self.get(aim, path)?;
        let mut all = page.take_items();
        for _ in 1..MOST_PAGES {
            let Some(next) = page.next.take() else {
                return Ok(all);
            };
            page = self.get(aim, &next.to_string())?;
            all.extend(page.take_items());
        }
        Err(self
            .http
            .fault(aim, format!("the list has more than {MOST_PAGES} pages")))
    }

    fn list(&self, aim: &str, query: &str) -> Result<Vec<Request>, ForgeError> {
        let path = self.path(&format!("/pulls?{query}&per_page=100"));
        Ok(own(self.pages(aim, &path)?))
    }

    fn pull(&self, aim: &str, number: u64) -> Result<Pull, ForgeError> {
        self.get(aim, &self.one(number))
    }

    /// Opens it. A branch that was pushed a moment ago isn't known everywhere at once.
    fn opened(&self, new: &NewRequest, is_draft: bool) -> Result<Pull, ForgeError> {
        let first = new.first_body.as_ref().filter(|_| has_later(new));
        let body = json!({
            "title": new.title,
            "head": new.branch,
            "base": new.base,
            "body": first.unwrap_or(&new.body),
            "draft": is_draft,
        });
        let aim = format!("open a pull request for `{}`", new.branch);
        let mut tries = 1;
        loop {
            match self.post(&aim, &self.path("/pulls"), &body) {
                Err(why)
                    if why.status == Some(422)
                        && why.why.contains("`head` is invalid")
                        && tries < MOST_TRIES =>
                {
                    self.http.wait(tries);
                    tries += 1;
                }
                other => return other,
            }
        }
    }

    /// Whether there is one for the same branches; a duplicate has the status of every other refusal.
    fn is_there(&self, new: &NewRequest) -> bool {
        let query = format!(
            "state=open&head={}:{}&base={}",
            encoded(&self.owner),
            encoded(&new.branch),
            encoded(&new.base)
        );
        let found = self.list("look for the pull request", &query);
        found.is_ok_and(|found| !found.is_empty())
    }

    fn label(&self, number: u64, labels: &[String]) -> Result<Vec<String>, ForgeError> {
        let path = self.issue_path(number, "/labels");
        let labels: Vec<Named> = self.put("label it", &path, &json!({ "labels": labels }))?;
        Ok(labels.into_iter().map(|label| label.name).collect())
    }
}

/// Sends what octocrab made.
fn forward(
    http: &Http,
    method: &Method,
    uri: &Uri,
    body: &[u8],
) -> Result<Response<OctoBody>, ForgeError> {
    let target = uri.to_string();
    let url = match target.as_str() {
        "/graphql" => graphql(http.api()),
        target if target.starts_with('/') => Some(http.at(target)),
        // The next page of a list. No other server gets the login.
        target => Url::parse(target).filter(|url| url.same_origin(http.api())),
    };
    let url = url.ok_or_else(|| http.fault("", "its next page is said to be at another server"))?;
    let body = match body {
        [] => None,
        body => Some(serde_json::from_slice(body).map_err(|why| http.fault("", why.to_string()))?),
    };
    let reply = http.send(&Call {
        aim: "",
        repeats: *method != Method::POST,
        method: method.clone(),
        url,
        body,
    })?;
    let mut response = Response::new(OctoBody::from(reply.body));
    *response.headers_mut() = reply.headers;
    Ok(response)
}

/// The address of GraphQL: beside the API, or beside its version on an Enterprise Server.
fn graphql(api: &Url) -> Option<Url> {
    let base = api.target().trim_end_matches('/');
    let base = base.strip_suffix("/v3").unwrap_or(base);
    Some(api.with_target(format!("{base}/graphql")))
}

impl Forge for Github {
    fn kind(&self) -> Kind {
        Kind::Github
    }

    fn recent(&self) -> Result<Recent, ForgeError> {
        let path = self.path("/pulls?state=all&sort=updated&direction=desc&per_page=100");
        let mut page: Page<Pull> = self.get("list the pull requests", &path)?;
        Ok(Recent {
            requests: own(page.take_items()),
            is_all: page.next.is_none(),
        })
    }

    fn open(&self) -> Result<Vec<Request>, ForgeError> {
        self.list("list the open pull requests", "state=open")
    }

    fn of_branch(&self, branch: &str) -> Result<Vec<Request>, ForgeError> {
        let head = format!("{}:{}", encoded(&self.owner), encoded(branch));
        let aim = "list the pull requests of a branch";
        let found = self.list(aim, &format!("state=all&head={head}"))?;
        Ok(newest_first(found))
    }

    fn create(&self, new: &NewRequest) -> Result<Created, ForgeError> {
        let mut unable = Vec::new();
        let pull = match self.opened(new, new.is_draft) {
            Err(why) if why.status == Some(422) => {
                let is_there = self.is_there(new);
                // Private repositories of some plans have no drafts.
                let again = (new.is_draft && !is_there).then(|| self.opened(new, false));
                match again {
                    Some(Ok(pull)) => {
                        unable.push(format!("draft: {}", why.why));
                        pull
                    }
                    _ => {
                        return Err(ForgeError {
                            may_be_done: why.may_be_done || is_there,
                            ..why
                        });
                    }
                }
            }
            other => other?,
        };
        let mut request = pull.request();
        if has_later(new) {
            let given = self.given(request.number, new).map_err(left_open)?;
            request.labels = given.0;
            request.body.clone_from(&new.body);
            unable.extend(given.1);
        }
        unable.extend(of_repository(new));
        Ok(Created { request, unable })
    }

    fn finish(&self, number: u64, new: &NewRequest) -> Result<Vec<String>, ForgeError> {
        self.given(number, new).map(|(_, unable)| unable)
    }

    fn edit(&self, number: u64, edit: &Edit) -> Result<Request, ForgeError> {
        let aim = format!("change the pull request #{number}");
        if let Some(labels) = &edit.labels {
            self.label(number, labels).map_err(|why| ForgeError {
                aim: aim.clone(),
                ..why
            })?;
        }
        let mut body = Map::new();
        for (name, value) in [
            ("title", &edit.title),
            ("body", &edit.body),
            ("base", &edit.base),
        ] {
            if let Some(value) = value {
                body.insert(name.to_owned(), json!(value));
            }
        }
        let pull: Pull = match body.is_empty() {
            true => self.pull(&aim, number)?,
            false => self.patch(&aim, &self.one(number), &Value::Object(body))?,
        };
        Ok(pull.request())
    }

    fn comment(&self, number: u64, text: &str) -> Result<(), ForgeError> {
        let aim = format!("comment on the pull request #{number}");
        let path = self.issue_path(number, "/comments");
        self.post::<Value>(&aim, &path, &json!({ "body": text }))?;
        Ok(())
    }

    fn close(&self, number: u64) -> Result<(), ForgeError> {
        let aim = format!("close the pull request #{number}");
        let body = json!({ "state": "closed" });
        self.patch::<Value>(&aim, &self.one(number), &body)?;
        Ok(())
    }

    fn merge_when_ready(&self, number: u64, head: &str) -> Result<Able, ForgeError> {
        let aim = format!("have the pull request #{number} merged");
        let pull = self.pull(&aim, number)?;
        if pull.head.sha.as_deref() != Some(head) {
            return Ok(Able::Unable("it brings another commit by now".to_owned()));
        }
        let ways: Ways = self.get(&aim, &self.repository)?;
        let asked = json!({
            "query": AUTO_MERGE,
            "variables": { "id": pull.node_id, "head": head, "method": ways.method() },
        });
        let asked = self.crab.graphql::<Value>(&asked);
        match self.runtime.block_on(asked) {
            Ok(_) => Ok(Able::Done),
            Err(why @ octocrab::Error::Graphql { .. }) => {
                Ok(Able::Unable(self.error(&aim, why).why))
            }
            Err(why) => Err(self.error(&aim, why)),
        }
    }

    fn issue(&self, title: &str) -> Result<Option<Issue>, ForgeError> {
        let path = self.path("/issues?state=open&per_page=100");
        let found = match self.pages::<Titled>("look for an issue", &path) {
            // A repository without issues; whoever can't see it has heard so before.
            Err(why) if matches!(why.status, Some(403 | 404 | 410)) => return Ok(None),
            other => other?,
        };
        let found = found.into_iter();
        let found = found.filter(|issue| issue.pull_request.is_none() && issue.title == title);
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
                let path = self.issue_path(number, "");
                self.patch::<Value>(aim, &path, &json!({ "body": body }))
            }
            None => {
                let text = json!({ "title": title, "body": body });
                self.post::<Value>(aim, &self.path("/issues"), &text)
            }
        };
        match done {
            Ok(_) => Ok(Able::Done),
            Err(why) if matches!(why.status, Some(403 | 404 | 410)) => Ok(Able::Unable(format!(
                "the repository has no issues, or the token may not write them: {}",
                why.why
            ))),
            Err(why) => Err(why),
        }
    }
}
