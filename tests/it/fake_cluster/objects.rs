//! The part of the fake API server that reads are tried on: objects of any kind, lists in pages, logs, and what is served.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::{Answer, FakeCluster, not_found, refusal};

/// What every Kubernetes has, as `GROUP/VERSION/PLURAL`.
const BUILT_IN: [&str; 3] = ["v1/pods", "batch/v1/jobs", "apps/v1/deployments"];

/// `GROUP/VERSION/PLURAL`, namespace, name.
type Key = (String, String, String);

#[derive(Default)]
pub(super) struct Objects {
    /// What each read of an object finds, one after the other; the last stays.
    states: BTreeMap<Key, VecDeque<Value>>,
    /// By namespace, pod and container.
    logs: BTreeMap<Key, VecDeque<String>>,
    kinds: BTreeSet<String>,
    /// Answers that stand for whatever else a path has.
    fixed: BTreeMap<String, VecDeque<(u16, String)>>,
    /// How many continuations of lists are still refused as too old.
    expiries: usize,
}

impl FakeCluster {
    /// Makes an object be there, as one of `GROUP/VERSION/PLURAL` (`batch/v1/jobs`, `v1/pods`). Each read, of itself or in a
    /// list, finds the next state; the last one stays. The kind is served from now on.
    pub fn put(&self, api: &str, states: impl IntoIterator<Item = Value>) {
        let states: VecDeque<Value> = states.into_iter().collect();
        let text = |key: &str| {
            let text = states[0]["metadata"][key].as_str();
            text.expect("a name and a namespace").to_owned()
        };
        let key = (api.to_owned(), text("namespace"), text("name"));
        let objects = &mut self.state().objects;
        objects.kinds.insert(api.to_owned());
        objects.states.insert(key, states);
    }

    /// Takes an object away.
    pub fn remove(&self, api: &str, namespace: &str, name: &str) {
        let key = (api.to_owned(), namespace.to_owned(), name.to_owned());
        self.state().objects.states.remove(&key);
    }

    /// Serves a kind that has no object yet.
    pub fn serve_kind(&self, api: &str) {
        self.state().objects.kinds.insert(api.to_owned());
    }

    /// Gives a container a log. Each read finds the next; the last one stays.
    pub fn put_log(&self, namespace: &str, pod: &str, container: &str, logs: &[&str]) {
        let key = (namespace.to_owned(), pod.to_owned(), container.to_owned());
        let logs = logs.iter().map(|log| (*log).to_owned()).collect();
        self.state().objects.logs.insert(key, logs);
    }

    /// Answers a path (without its query) with these statuses and bodies, one after the other; the last one stays.
    pub fn answer_path(&self, path: &str, answers: &[(u16, &str)]) {
        let answers = answers
            .iter()
            .map(|(status, body)| (*status, (*body).to_owned()));
        let answers = answers.collect();
        self.state().objects.fixed.insert(path.to_owned(), answers);
    }

    /// Refuses so many continuations of lists as too old.
    pub fn expire_continuations(&self, times: usize) {
        self.state().objects.expiries = times;
    }
}

/// A path that may be one of objects.
pub(super) struct Route<'a> {
    pub(super) verb: &'static str,
    /// As rights have it: `jobs`, `pods/log`.
    pub(super) resource: String,
    pub(super) group: &'a str,
    pub(super) namespace: Option<&'a str>,
    api: String,
    name: Option<&'a str>,
    is_log: bool,
}

impl<'a> Route<'a> {
    /// Takes a path apart; nothing if it is none of objects, or not read.
    pub(super) fn of(method: &str, parts: &[&'a str]) -> Option<Self> {
        let (group, version, rest) = match parts {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, plural, name, is_log) = match rest {
            ["namespaces", namespace, plural] => (Some(*namespace), *plural, None, false),
            ["namespaces", namespace, plural, name] => {
                (Some(*namespace), *plural, Some(*name), false)
            }
            ["namespaces", namespace, "pods", name, "log"] => {
                (Some(*namespace), "pods", Some(*name), true)
            }
            [plural] => (None, *plural, None, false),
            _ => return None,
        };
        let root = if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        };
        (method == "GET").then(|| Self {
            verb: if name.is_some() { "get" } else { "list" },
            resource: format!("{plural}{}", if is_log { "/log" } else { "" }),
            api: format!("{root}/{plural}"),
            group,
            namespace,
            name,
            is_log,
        })
    }
}

impl Objects {
    pub(super) fn fixed(&mut self, path: &str) -> Option<Answer> {
        self.fixed.get_mut(path).map(next)
    }

    fn kinds(&self) -> impl Iterator<Item = &str> {
        self.kinds.iter().map(String::as_str).chain(BUILT_IN)
    }

    /// `/apis` and `/apis/GROUP/VERSION`.
    pub(super) fn discovery(&self, parts: &[&str]) -> Option<Answer> {
        match parts {
            ["apis"] => {
                let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
                for api in self.kinds() {
                    if let [group, version, _] = *api.split('/').collect::<Vec<_>>() {
                        groups.entry(group).or_default().insert(version);
                    }
                }
                let groups: Vec<Value> = groups
                    .iter()
                    .map(|(name, versions)| {
                        let entry = |version: &&str| json!({ "groupVersion": format!("{name}/{version}"), "version": version });
                        let versions: Vec<Value> = versions.iter().map(entry).collect();
                        json!({ "name": name, "versions": versions, "preferredVersion": versions.last() })
                    })
                    .collect();
                Some((
                    200,
                    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
                        .to_string(),
                ))
            }
            ["apis", group, version] => {
                let start = format!("{group}/{version}/");
                let resources: Vec<Value> = self
                    .kinds()
                    .filter_map(|api| api.strip_prefix(&start))
                    .map(|plural| json!({ "name": plural, "namespaced": true }))
                    .collect();
                (!resources.is_empty()).then(|| {
                    (
                        200,
                        json!({ "kind": "APIResourceList", "resources": resources }).to_string(),
                    )
                })
            }
            _ => None,
        }
    }

    /// Nothing where the kind isn't served.
    pub(super) fn read(&mut self, route: &Route<'_>, query: &str) -> Option<Answer> {
        if !self.kinds().any(|api| api == route.api) {
            return None;
        }
        let (Some(namespace), Some(name)) = (route.namespace, route.name) else {
            return Some(self.list(route, query));
        };
        if route.is_log {
            return Some(self.log(namespace, name, query));
        }
        let key = (route.api.clone(), namespace.to_owned(), name.to_owned());
        Some(match self.states.get_mut(&key) {
            Some(states) => (200, next(states).to_string()),
            None => not_found(&route.resource, name),
        })
    }

    fn list(&mut self, route: &Route<'_>, query: &str) -> Answer {
        let start: usize =
            parameter(query, "continue").map_or(0, |text| text.parse().expect("a number"));
        if start > 0 && self.expiries > 0 {
            self.expiries -= 1;
            return refusal(
                410,
                "Expired",
                "The provided continue parameter is too old",
                &json!({}),
            );
        }
        let selector = parameter(query, "labelSelector").unwrap_or_default();
        let limit =
            parameter(query, "limit").map_or(usize::MAX, |text| text.parse().expect("a number"));
        let mut items: Vec<Value> = self
            .states
            .iter_mut()
            .filter(|((api, namespace, _), _)| {
                *api == route.api && route.namespace.is_none_or(|wanted| wanted == namespace)
            })
            .map(|(_, states)| next(states))
            .filter(|object| has_labels(object, &selector))
            .collect();
        let more = items.len() > start.saturating_add(limit);
        items = items.into_iter().skip(start).take(limit).collect();
        // Real lists leave them out.
        for item in &mut items {
            let item = item.as_object_mut().expect("a map");
            item.remove("kind");
            item.remove("apiVersion");
        }
        let token = if more {
            (start + limit).to_string()
        } else {
            String::new()
        };
        (
            200,
            json!({ "kind": "List", "metadata": { "continue": token }, "items": items })
                .to_string(),
        )
    }

    fn log(&mut self, namespace: &str, pod: &str, query: &str) -> Answer {
        let wanted = parameter(query, "container");
        let found = self.logs.iter_mut().find(|((place, name, container), _)| {
            place == namespace
                && name == pod
                && wanted.as_ref().is_none_or(|wanted| wanted == container)
        });
        let Some((_, logs)) = found else {
            return not_found("pods", pod);
        };
        let log = next(logs);
        let lines: Vec<&str> = log.split_inclusive('\n').collect();
        let tail = parameter(query, "tailLines")
            .map_or(lines.len(), |text| text.parse().expect("a number"));
        (200, lines[lines.len().saturating_sub(tail)..].concat())
    }
}

/// The next of a queue whose last one stays.
fn next<T: Clone>(queue: &mut VecDeque<T>) -> T {
    if queue.len() > 1 {
        queue.pop_front().expect("there are two")
    } else {
        queue.front().expect("never empty").clone()
    }
}

/// `a=b,c=d`; no other operators.
fn has_labels(object: &Value, selector: &str) -> bool {
    let mut pairs = selector.split(',').filter(|pair| !pair.is_empty());
    pairs.all(|pair| {
        let (key, value) = pair.split_once('=').expect("key=value");
        object["metadata"]["labels"][key] == value
    })
}

fn parameter(query: &str, name: &str) -> Option<String> {
    let pair = query
        .split('&')
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    Some(
        pair.replace("%2F", "/")
            .replace("%3D", "=")
            .replace("%2C", ","),
    )
}
