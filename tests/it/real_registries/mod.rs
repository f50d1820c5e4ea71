//! Look-ups against servers that are not ours: the simulator of registries with its faults, the registry of CNCF Distribution,
//! charts pushed by helm, layouts written by crane and oras, and Git over smart HTTP.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::kit;
use haptic_scaffold::model::env::Env;
use haptic_scaffold::registry::{ChartSource, HttpRegistry};

pub mod distribution;
mod faults;
mod git_servers;
mod helm;
mod oci;
mod pushes;

/// The simulator, with registries alone. It ends with the test.
struct Sim {
    child: Child,
    said: Value,
}

impl Sim {
    fn start() -> Option<Self> {
        let (python, program) = (kit::program("python3")?, kit::file("sim/forge_sim.py")?);
        let mut child = Command::new(python)
            .arg(program)
            .args(["--kind", "charts", "--max-seconds", "600"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("reads");
        let said = serde_json::from_str(&line).expect("one line of JSON");
        Some(Self { child, said })
    }

    fn at(&self, name: &str) -> &str {
        self.said[name].as_str().unwrap_or_default()
    }

    /// The host and port of the registry.
    fn host(&self) -> &str {
        self.at("oci").trim_start_matches("oci://")
    }

    fn tell(&self, path: &str, what: &Value) -> &Self {
        let address = format!("{}/_sim/{path}", self.at("control"));
        ureq::post(&address)
            .send(what.to_string())
            .unwrap_or_else(|why| panic!("{path}: {why}"));
        self
    }

    fn ask(&self, path: &str) -> Value {
        let address = format!("{}/_sim/{path}", self.at("control"));
        let mut answer = ureq::get(&address).call().expect("answers");
        let text = answer.body_mut().read_to_string().expect("text");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Publishes versions of the chart `web` in the registry (`team/web`) and in the Helm repository `stable`.
    fn publish(&self, versions: &Value) -> &Self {
        let chart =
            json!({"name": "web", "oci": "team/web", "helm": "stable", "versions": versions});
        self.tell("charts", &chart)
    }

    /// No login and no token reached a place that it isn't for, and the simulator had no fault of its own.
    fn assert_kept(&self) {
        for path in ["leaks", "errors"] {
            let said = self.ask(path);
            let list = said.as_array().or_else(|| said[path].as_array());
            assert_eq!(list.map(Vec::len), Some(0), "{path}: {said}");
        }
    }

    /// The requests to a path since the start.
    fn requests(&self, part: &str) -> Vec<Value> {
        let said = self.ask(&format!("requests?since=0&path={part}"));
        let list = said.as_array().or_else(|| said["requests"].as_array());
        list.cloned().unwrap_or_else(|| panic!("no list: {said}"))
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let _ = self.child.kill().is_err();
        let _ = self.child.wait().is_err();
    }
}

/// A library client in the world of a test.
fn client(env: &TestEnv) -> HttpRegistry {
    let home = env.home().to_string_lossy().into_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    HttpRegistry::new("test/1", Env::of(&[("HOME", &home), ("PATH", &path)]))
}

fn oci(host: &str) -> ChartSource {
    ChartSource::new(&format!("oci://{host}/team"), "web").expect("an address")
}

/// Versions `1.0.0` to `1.N.0` as the simulator takes them.
fn many(count: usize) -> Value {
    (0..count).map(|n| format!("1.{n}.0")).collect()
}

/// The newest version that `pins` tells.
fn newest(said: &Value) -> &str {
    said["pins"][0]["newest"].as_str().unwrap_or_default()
}

/// The reason that `pins` gives for knowing nothing; it knows nothing then.
fn reason(said: &Value) -> &str {
    assert!(said["pins"][0]["newest"].is_null(), "{said}");
    said["error"]["message"].as_str().unwrap_or_default()
}
