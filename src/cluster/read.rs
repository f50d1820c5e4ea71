//! Objects read from the cluster, one or many; nothing is changed. Owns how it is found out that a kind isn't there.
//!
//! A server answers the address of an unknown kind with a 404 without a Status, and, before it looks, with a 403 to a user
//! who has no rights on it. So after either the lists of what is served are asked, which every user may see.

use anyhow::Result;
use kube::api::ListParams;
use serde::Deserialize;
use serde_json::Value;

use super::Cluster;
use super::aim::{Aim, plain_name};
use super::ask::{Answer, Call};
use super::refusal;
use super::resource::{Groups, Resource, Served};
use crate::error::{ExitStatus, Problem};

/// How many objects one answer may have.
const PAGE: u32 = 250;
/// How many objects a list may have in all.
const MOST: usize = 10_000;
/// How often a list is begun anew because its continuation was too old.
const RESTARTS: usize = 2;

/// What `GET` of a list answers.
#[derive(Deserialize)]
struct Page {
    items: Vec<Value>,
    #[serde(default)]
    metadata: PageData,
}

#[derive(Deserialize, Default)]
struct PageData {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

impl Cluster {
    /// Reads an object; nothing if there is none, or no such namespace, or the cluster doesn't have the kind.
    ///
    /// # Errors
    /// When the cluster doesn't answer, or refuses; a missing right is named.
    pub fn object(&self, what: &Resource, namespace: &str, name: &str) -> Result<Option<Value>> {
        let aim = aim(
            what,
            format!("read the {} `{namespace}/{name}`", what.kind()),
            "get",
            Some(plain_name(namespace)?),
        );
        let name = plain_name(name)?;
        let get =
            |version: &str| self.ask(&aim, &what.path(version, Some(namespace)), Call::Get(name));
        let Some(answer) = self.in_a_served_version(what, get)? else {
            return Ok(None);
        };
        if answer.is_success() {
            let object = serde_json::from_slice::<Value>(&answer.body).ok();
            return object
                .filter(|object| object["kind"] == what.kind())
                .map(Some)
                .ok_or_else(|| {
                    refusal::unusable(&self.place, &aim, &format!("a {}", what.kind())).into()
                });
        }
        let refused = answer.refused();
        if refused.is_missing(what.plural()) {
            return Ok(None);
        }
        Err(refusal::problem(&self.place, &aim, &refused).into())
    }

    /// Reads all objects of a namespace, or of the whole cluster, that have these labels (`app=x,tier!=y`). Nothing
    /// where the cluster doesn't have the kind; a namespace that isn't there has no objects. Their `kind` and `apiVersion`
    /// may be missing, as servers leave them out of lists.
    ///
    /// # Errors
    /// When the cluster doesn't answer, or refuses (a missing right is named), or has more than 10000 of them.
    pub fn objects(
        &self,
        what: &Resource,
        namespace: Option<&str>,
        selector: Option<&str>,
    ) -> Result<Option<Vec<Value>>> {
        let namespace = namespace.map(plain_name).transpose()?;
        let place = namespace.map_or_else(String::new, |namespace| format!(" in `{namespace}`"));
        let text = format!("list the objects of kind {}{place}", what.kind());
        let aim = aim(what, text, "list", namespace);
        let mut found: Vec<Value> = Vec::new();
        let mut params = ListParams::default().limit(PAGE);
        params.label_selector = selector.map(str::to_owned);
        let mut restarts = 0;
        loop {
            let list =
                |version: &str| self.ask(&aim, &what.path(version, namespace), Call::Page(&params));
            let Some(answer) = self.in_a_served_version(what, list)? else {
                return Ok(None);
            };
            if !answer.is_success() {
                let refused = answer.refused();
                if refused.is_expired() && params.continue_token.is_some() && restarts < RESTARTS {
                    restarts += 1;
                    params.continue_token = None;
                    found.clear();
                    continue;
                }
                return Err(refusal::problem(&self.place, &aim, &refused).into());
            }
            let page: Page = serde_json::from_slice(&answer.body)
                .map_err(|_| refusal::unusable(&self.place, &aim, "a list"))?;
            found.extend(page.items);
            if found.len() > MOST {
                let reason = format!("there are more than {MOST}");
                return Err(
                    Problem::new(ExitStatus::Remote, aim.missed(&self.place, &reason))
                        .hint("name the namespace")
                        .into(),
                );
            }
            params.continue_token = page.metadata.next.filter(|next| !next.is_empty());
            if params.continue_token.is_none() {
                return Ok(Some(found));
            }
        }
    }

    /// Asks in the version that is known here, and where that isn't served, in one that is. Nothing if none is.
    fn in_a_served_version(
        &self,
        what: &Resource,
        ask: impl Fn(&str) -> Result<Answer>,
    ) -> Result<Option<Answer>> {
        let answer = ask(what.version())?;
        if !what.is_extension() || answer.is_success() || !answer.refused().may_be_unknown() {
            return Ok(Some(answer));
        }
        match self.version_of(what) {
            Ok(Some(version)) if version != what.version() => ask(&version).map(Some),
            Ok(None) => Ok(None),
            // The answer says more than that the lists can't be read.
            Ok(Some(_)) | Err(_) => Ok(Some(answer)),
        }
    }

    /// The version in which the cluster serves a kind, the preferred one if it does.
    fn version_of(&self, what: &Resource) -> Result<Option<String>> {
        // Of `/apis/GROUP` a 404 comes from servers of any sort; this list only an API server has.
        let (aim, answer) = self.listing(what, "/apis")?;
        if !answer.is_success() {
            return Err(refusal::problem(&self.place, &aim, &answer.refused()).into());
        }
        let groups: Groups = serde_json::from_slice(&answer.body)
            .map_err(|_| refusal::unusable(&self.place, &aim, "a list of API groups"))?;
        let Some(group) = groups.find(what.group()) else {
            return Ok(None);
        };
        for version in group.versions() {
            let path = format!("/apis/{}/{version}", what.group());
            let (aim, answer) = self.listing(what, &path)?;
            let refused = answer.refused();
            if !answer.is_success() && refused.is_not_found() {
                continue;
            }
            if !answer.is_success() {
                return Err(refusal::problem(&self.place, &aim, &refused).into());
            }
            let kinds: Served = serde_json::from_slice(&answer.body)
                .map_err(|_| refusal::unusable(&self.place, &aim, "a list of resources"))?;
            if kinds.has(what.plural()) {
                return Ok(Some(version.to_owned()));
            }
        }
        Ok(None)
    }

    /// Asks for a list of what is served.
    fn listing(&self, what: &Resource, path: &str) -> Result<(Aim, Answer)> {
        let aim = Aim {
            text: format!("see whether the cluster has the kind {}", what.kind()),
            verb: "get",
            resource: "",
            group: "",
            path: Some(path.to_owned()),
            namespace: None,
        };
        let answer = self.ask(&aim, path, Call::List)?;
        Ok((aim, answer))
    }
}

fn aim(what: &Resource, text: String, verb: &'static str, namespace: Option<&str>) -> Aim {
    Aim {
        text,
        verb,
        resource: what.plural(),
        group: what.group(),
        path: None,
        namespace: namespace.map(str::to_owned),
    }
}
