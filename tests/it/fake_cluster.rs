//! [`FakeCluster`]: the few endpoints of a Kubernetes API server that the program asks, on loopback.
//!
//! It keeps Secrets, namespaces, webhooks and other objects as JSON, answers as a real one does, and can be told to fail.

mod objects;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use self::objects::{Objects, Route};
use crate::env::TestEnv;

/// The login of the kubeconfig.
pub const TOKEN: &str = "a-token-of-the-fake-cluster";
/// Whom the token is for.
pub const USER: &str = "ada@example.org";
/// The one context of the kubeconfig.
pub const CONTEXT: &str = "fake";

/// How a verb on a resource fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The right is missing.
    Forbidden,
    /// The login isn't known.
    Unauthorized,
    /// The object is invalid; the answer quotes what was sent, as real ones do.
    Invalid,
    /// Out of order, with a page that is no Status.
    Broken,
    /// Somebody else has made it in the meantime.
    There,
    /// The connection ends without an answer.
    HangUp,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub verb: String,
    pub resource: String,
    pub path: String,
    /// Without its question mark.
    pub query: String,
    pub body: String,
}

#[derive(Default)]
struct State {
    secrets: BTreeMap<(String, String), Value>,
    namespaces: BTreeSet<String>,
    webhooks: Vec<Value>,
    faults: Vec<(String, String, Fault)>,
    requests: Vec<Request>,
    objects: Objects,
}

/// An API server of a test's own. Its thread ends with the process.
pub struct FakeCluster {
    server: String,
    state: Arc<Mutex<State>>,
}

impl FakeCluster {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(&stream, &shared);
            }
        });
        Self { server, state }.with_namespace("default")
    }

    /// Makes a namespace be there.
    pub fn with_namespace(self, name: &str) -> Self {
        self.state().namespaces.insert(name.to_owned());
        self
    }

    /// Makes a Secret be there, as it would be written in YAML.
    pub fn with_secret(self, namespace: &str, name: &str, secret: Value) -> Self {
        let key = (namespace.to_owned(), name.to_owned());
        self.state().secrets.insert(key, secret);
        self
    }

    /// Makes a ValidatingWebhookConfiguration be there.
    pub fn with_webhooks(self, configuration: Value) -> Self {
        self.state().webhooks.push(configuration);
        self
    }

    /// Takes a right away.
    pub fn forbid(&self, verb: &str, resource: &str) {
        self.fail(verb, resource, Fault::Forbidden);
    }

    /// Makes a verb on a resource fail from now on.
    pub fn fail(&self, verb: &str, resource: &str, fault: Fault) {
        let fault = (verb.to_owned(), resource.to_owned(), fault);
        self.state().faults.push(fault);
    }

    /// Writes a kubeconfig where the home of a test has it.
    pub fn kubeconfig(&self, env: &TestEnv) -> PathBuf {
        let path = env.home().join(".kube/config");
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(&path, self.kubeconfig_text()).expect("writes");
        path
    }

    /// A kubeconfig with one context.
    pub fn kubeconfig_text(&self) -> String {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": CONTEXT,
            "clusters": [{ "name": "c", "cluster": { "server": self.server } }],
            "users": [{ "name": "u", "user": { "token": TOKEN } }],
            "contexts": [{ "name": CONTEXT, "context": { "cluster": "c", "user": "u" } }],
        })
        .to_string()
    }

    /// The Secrets that are there, by namespace and name.
    pub fn secrets(&self) -> BTreeMap<(String, String), Value> {
        self.state().secrets.clone()
    }

    /// The namespaces that are there.
    pub fn namespaces(&self) -> BTreeSet<String> {
        self.state().namespaces.clone()
    }

    /// What was asked, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test thread died with it")
    }
}

/// A status code and a body.
type Answer = (u16, String);

fn serve(mut stream: &TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if !reader.read_line(&mut line).is_ok_and(|length| length > 0) {
            return;
        }
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let header = |name: &str| {
        lines.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    };
    let length = header("content-length").map_or(0, |text| text.parse().expect("a length"));
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let knows_user = header("authorization") == Some(&format!("Bearer {TOKEN}"));
    let body = String::from_utf8(body).expect("text");
    let mut state = state.lock().expect("no test thread died with it");
    let Some((status, answer)) = answer(&mut state, &lines[0], knows_user, &body) else {
        return;
    };
    // The client may have gone already; the test judges by what it got.
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{answer}",
        answer.len()
    )
    .is_err();
}

/// Nothing where the connection is to end without an answer.
fn answer(state: &mut State, line: &str, knows_user: bool, body: &str) -> Option<Answer> {
    let mut words = line.split(' ');
    let method = words.next().expect("a method");
    let target = words.next().expect("a target");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (resource, namespace, name) = match *parts.as_slice() {
        ["api", "v1", "namespaces"] => ("namespaces", None, None),
        ["api", "v1", "namespaces", namespace, "secrets"] => ("secrets", Some(namespace), None),
        ["api", "v1", "namespaces", namespace, "secrets", name] => {
            ("secrets", Some(namespace), Some(name))
        }
        [
            "apis",
            "admissionregistration.k8s.io",
            "v1",
            "validatingwebhookconfigurations",
        ] => ("validatingwebhookconfigurations", None, None),
        _ => return read(state, (method, path, query), &parts, knows_user),
    };
    let verb = match (method, name) {
        ("GET", Some(_)) => "get",
        ("GET", None) => "list",
        ("POST", None) => "create",
        _ => "other",
    };
    state.requests.push(Request {
        verb: verb.to_owned(),
        resource: resource.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        body: body.to_owned(),
    });
    if !knows_user {
        return Some(refusal(401, "Unauthorized", "Unauthorized", &json!({})));
    }
    let fault = state
        .faults
        .iter()
        .find(|(v, r, _)| v == verb && r == resource);
    if let Some((_, _, fault)) = fault {
        let group = if resource.starts_with("validating") {
            "admissionregistration.k8s.io"
        } else {
            ""
        };
        return failed(*fault, verb, (group, resource), namespace, body);
    }
    Some(match (verb, resource) {
        ("get", "secrets") => get_secret(state, namespace?, name?),
        ("create", "secrets") => create_secret(state, namespace?, body),
        ("create", "namespaces") => create_namespace(state, body),
        ("list", "validatingwebhookconfigurations") => {
            let items = &state.webhooks;
            (
                200,
                json!({ "kind": "ValidatingWebhookConfigurationList", "items": items }).to_string(),
            )
        }
        _ => refusal(405, "MethodNotAllowed", "not allowed", &json!({})),
    })
}

/// What is read of other objects. As with a real server, rights are looked at before it is known whether there is such a
/// kind, and what is served everybody may see.
fn read(
    state: &mut State,
    (method, path, query): (&str, &str, &str),
    parts: &[&str],
    knows_user: bool,
) -> Option<Answer> {
    let route = Route::of(method, parts);
    state.requests.push(Request {
        verb: route.as_ref().map_or("get", |route| route.verb).to_owned(),
        resource: route
            .as_ref()
            .map_or_else(String::new, |route| route.resource.clone()),
        path: path.to_owned(),
        query: query.to_owned(),
        body: String::new(),
    });
    if !knows_user {
        return Some(refusal(401, "Unauthorized", "Unauthorized", &json!({})));
    }
    if let Some(route) = &route {
        let fault = state
            .faults
            .iter()
            .find(|(verb, resource, _)| verb == route.verb && *resource == route.resource);
        if let Some((_, _, fault)) = fault {
            let resource = (route.group, route.resource.as_str());
            return failed(*fault, route.verb, resource, route.namespace, "");
        }
    }
    let page = (404, "404 page not found\n".to_owned());
    let objects = &mut state.objects;
    Some(
        objects
            .fixed(path)
            .or_else(|| objects.discovery(parts))
            .or_else(|| objects.read(&route?, query))
            .unwrap_or(page),
    )
}

fn failed(
    fault: Fault,
    verb: &str,
    (group, resource): (&str, &str),
    namespace: Option<&str>,
    body: &str,
) -> Option<Answer> {
    let scope = match namespace {
        Some(namespace) => format!("in the namespace \"{namespace}\""),
        None => "at the cluster scope".to_owned(),
    };
    let details = json!({ "group": group, "kind": resource });
    match fault {
        Fault::Forbidden => {
            let message = format!(
                "{resource} is forbidden: User \"{USER}\" cannot {verb} resource \"{resource}\" in API group \"{group}\" {scope}"
            );
            Some(refusal(403, "Forbidden", &message, &details))
        }
        Fault::Unauthorized => Some(refusal(401, "Unauthorized", "Unauthorized", &json!({}))),
        Fault::Invalid => {
            let message = format!("Secret is invalid: data: Invalid value: {body}");
            let cause =
                json!({ "reason": "FieldValueInvalid", "field": "data", "message": message });
            let details = json!({ "kind": resource, "causes": [cause] });
            Some(refusal(422, "Invalid", &message, &details))
        }
        Fault::Broken => Some((500, format!("<html>panic: {body}</html>"))),
        Fault::There => Some(there(resource, "it")),
        Fault::HangUp => None,
    }
}

fn refusal(code: u16, reason: &str, message: &str, details: &Value) -> Answer {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "details": details, "code": code,
    });
    (code, status.to_string())
}

fn get_secret(state: &State, namespace: &str, name: &str) -> Answer {
    match state.secrets.get(&(namespace.to_owned(), name.to_owned())) {
        Some(secret) => (200, secret.to_string()),
        None => not_found("secrets", name),
    }
}

fn create_secret(state: &mut State, namespace: &str, body: &str) -> Answer {
    if !state.namespaces.contains(namespace) {
        return not_found("namespaces", namespace);
    }
    let secret: Value = serde_json::from_str(body).expect("JSON");
    let name = secret["metadata"]["name"].as_str().expect("a name");
    let key = (namespace.to_owned(), name.to_owned());
    if state.secrets.contains_key(&key) {
        return there("secrets", name);
    }
    state.secrets.insert(key, secret.clone());
    (201, secret.to_string())
}

fn create_namespace(state: &mut State, body: &str) -> Answer {
    let namespace: Value = serde_json::from_str(body).expect("JSON");
    let name = namespace["metadata"]["name"].as_str().expect("a name");
    if state.namespaces.insert(name.to_owned()) {
        (201, namespace.to_string())
    } else {
        there("namespaces", name)
    }
}

fn not_found(resource: &str, name: &str) -> Answer {
    let message = format!("{resource} \"{name}\" not found");
    let details = json!({ "name": name, "kind": resource });
    refusal(404, "NotFound", &message, &details)
}

fn there(resource: &str, name: &str) -> Answer {
    let message = format!("{resource} \"{name}\" already exists");
    let details = json!({ "name": name, "kind": resource });
    refusal(409, "AlreadyExists", &message, &details)
}
