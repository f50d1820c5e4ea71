//! Every call of a run that opens a request, with every fault: the next runs end in the one right request.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::{Bot, FILE, Peer, release, wrong};
use crate::env::Run;
use crate::real_forges::{Sim, name};
use haptic_scaffold::forge::Kind;

const VERSIONS: &str = "web: [1.0.0, 1.1.0]\n";

fn faults() -> Vec<(&'static str, Value)> {
    let status =
        |status: u16| json!({"kind": "status", "status": status, "body": {"message": "made up"}});
    let mut limited = status(429);
    limited["headers"] = json!({"Retry-After": "1"});
    let mut done = status(502);
    done["process"] = json!(true);
    vec![
        ("401", status(401)),
        ("403", status(403)),
        ("404", status(404)),
        ("409", status(409)),
        ("422", status(422)),
        ("429", limited),
        ("500", status(500)),
        ("502", status(502)),
        ("502-done", done),
        ("reset", json!({"kind": "reset"})),
        ("reset-done", json!({"kind": "reset_after"})),
        ("truncated", json!({"kind": "truncate"})),
        ("slow", json!({"kind": "delay", "seconds": 1.5})),
    ]
}

/// The calls of a project, without those after which a run has nothing more to do.
pub(super) fn calls(sim: &Sim, project: &str) -> Vec<String> {
    let all = sim.ask(&format!("requests?path={}", pattern(project)));
    let all = all.as_array().expect("a list").iter();
    all.map(|call| {
        let part = |name: &str| match &call[name] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        format!("{} {} {}", part("method"), part("path"), part("status"))
    })
    .collect()
}

/// What the paths of a project's calls have in common. Its name is like no other's beginning.
fn pattern(project: &str) -> String {
    project.rsplit('/').next().unwrap_or_default().to_owned()
}

fn cell(sim: &Sim, (at, fault): (usize, &Value), label: &str) -> Result<(), String> {
    let project = sim.project(&format!("cell-{label}-{at}-x"));
    sim.make(&project, &[(FILE, &release("web", "1.0.0"))]);
    let mut fault = fault.clone();
    fault["path"] = json!(pattern(&project));
    fault["service"] = json!(name(sim.kind));
    fault["skip"] = json!(at);
    fault["times"] = json!(1);
    sim.tell("faults", &fault);
    let bot = Bot::new();
    let (mut told, mut warned) = (String::new(), String::new());
    for round in 1..=3 {
        let run = bot.run(sim, &project, VERSIONS, &[]);
        told.push_str(&format!(
            "\nround {round}: {}\n{}\n{}",
            run.code, run.stdout, run.stderr
        ));
        warned.push_str(&run.stderr);
        let problem = judged(sim, &project, (&run, &warned), round);
        if let Some(problem) = problem {
            let calls = calls(sim, &project).join("\n  ");
            return Err(format!(
                "{label} of call {at}, round {round}: {problem}\n  {calls}{told}"
            ));
        }
    }
    Ok(())
}

/// What is wrong after a round: one that ended well left the right state, one that failed said so, and the last ended well.
fn judged(sim: &Sim, project: &str, (run, warned): (&Run, &str), round: u32) -> Option<String> {
    if run.code == 0 {
        let wrong = wrong(sim, project, "1.1.0");
        let has_labels = || sim.requests(project)[0].labels == ["dependencies"];
        let is_told = warned.contains("labels and milestone: ") || warned.contains("label `");
        return wrong.or_else(|| {
            let is_without = !is_told && !has_labels();
            is_without.then(|| "a label is missing, and nothing says so".to_owned())
        });
    }
    if round == 3 {
        return Some("still failing".to_owned());
    }
    let said = run.json();
    let message = said["repos"][0]["error"]["message"].as_str();
    let says = message.is_some_and(|message| message.contains("cannot "));
    (!says).then(|| format!("it doesn't say what failed: {said}"))
}

fn table(kind: Kind) {
    let Some(sim) = Sim::start(kind) else { return };
    let first = sim.project("first-x");
    sim.make(&first, &[(FILE, &release("web", "1.0.0"))]);
    Bot::new().round(&sim, &first, VERSIONS, &[]);
    let calls = calls(&sim, &first);
    assert!((6..=12).contains(&calls.len()), "{calls:#?}");
    let faults = faults();
    let count = calls.len() * faults.len();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let (at, (label, fault)) =
                        (index / faults.len(), &faults[index % faults.len()]);
                    if let Err(why) = cell(&sim, (at, fault), label) {
                        failed.lock().expect("lock").insert(index, why);
                    }
                }
            });
        }
    });
    sim.assert_kept();
    let failed = failed.into_inner().expect("lock");
    let texts: Vec<String> = failed.into_values().collect();
    assert!(
        texts.is_empty(),
        "{} of {count} cells:\n{}\nof {calls:#?}",
        texts.len(),
        texts.join("\n\n")
    );
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitlab_each_call_with_each_fault() {
    table(Kind::Gitlab);
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_github_each_call_with_each_fault() {
    table(Kind::Github);
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitea_each_call_with_each_fault() {
    table(Kind::Gitea);
}
