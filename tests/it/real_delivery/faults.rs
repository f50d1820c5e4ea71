//! Every call of a run that opens, updates or replaces a request, with every fault: the next runs end in the one right request.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::{Bot, FILE, Peer as _, open, release, wrong};
use crate::env::Run;
use crate::real_forges::{Sim, name};
use haptic_scaffold::forge::Kind;

const V1: &str = "web: [1.0.0, 1.1.0]\n";
const V2: &str = "web: [1.0.0, 1.1.0, 1.2.0]\n";

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

/// A run that has something to do.
struct Scene {
    name: &'static str,
    /// What was before it.
    before: fn(&Sim, &str, &Bot),
    versions: &'static str,
    /// What is wrong after it.
    wrong: fn(&Sim, &str) -> Option<String>,
    /// Faults beside those that all scenes have.
    has_all: bool,
}

const SCENES: [Scene; 4] = [
    Scene {
        name: "opens",
        before: |_, _, _| {},
        versions: V1,
        wrong: |sim, project| wrong(sim, project, "1.1.0"),
        has_all: true,
    },
    Scene {
        name: "updates",
        before: |sim, project, bot| drop(bot.round(sim, project, V1, &[])),
        versions: V2,
        wrong: |sim, project| wrong(sim, project, "1.2.0"),
        has_all: false,
    },
    Scene {
        name: "replaces",
        before: |sim, project, bot| {
            bot.round(sim, project, V1, &[]);
            let group = "upgrade:\n  charts:\n    web: {group: front}\n";
            sim.commit(project, "main", ".haptic-scaffold.yaml", group);
        },
        versions: V1,
        wrong: not_replaced,
        has_all: false,
    },
    Scene {
        name: "merges",
        before: |sim, project, _| {
            sim.wait_for_checks(project);
            let policy = "requests: {auto_merge: true}\n";
            sim.commit(project, "main", ".haptic-scaffold.yaml", policy);
        },
        versions: V1,
        wrong: |sim, project| wrong(sim, project, "1.1.0"),
        has_all: false,
    },
];

/// Faults of every scene.
const OFTEN: [&str; 6] = ["403", "500", "502-done", "reset", "reset-done", "truncated"];

/// The old request is closed with a note that names the new one, and its branch is gone.
fn not_replaced(sim: &Sim, project: &str) -> Option<String> {
    let all = sim.requests(project);
    let refs = sim.refs(project);
    let heads: Vec<&String> = refs.keys().filter(|name| name.contains("heads/")).collect();
    let is_right = match all.as_slice() {
        [old, new] => {
            let named = format!("/{}.", new.number);
            let says = |note: &String| note.contains("Superseded by") && note.contains(&named);
            (old.state.as_str(), new.state.as_str()) == ("closed", "open")
                && old.notes.iter().any(says)
                && new.branch == "haptic-scaffold/upgrade-group--front"
                && heads.len() == 2
                && !heads.iter().any(|name| name.ends_with("upgrade-web"))
        }
        _ => false,
    };
    (!is_right).then(|| format!("{heads:?} {all:#?}"))
}

fn cell(sim: &Sim, scene: &Scene, (at, fault): (usize, &Value), label: &str) -> Result<(), String> {
    let project = sim.project(&format!("{}-{label}-{at}-x", scene.name));
    sim.make(&project, &[(FILE, &release("web", "1.0.0"))]);
    let bot = Bot::new();
    (scene.before)(sim, &project, &bot);
    let first = calls(sim, &project).len();
    let mut fault = fault.clone();
    fault["path"] = json!(pattern(&project));
    fault["service"] = json!(name(sim.kind));
    fault["skip"] = json!(at);
    fault["times"] = json!(1);
    sim.tell("faults", &fault);
    let (mut told, mut warned) = (String::new(), String::new());
    for round in 1..=3 {
        let run = bot.run(sim, &project, scene.versions, &[]);
        told.push_str(&format!(
            "\nround {round}: {}\n{}\n{}",
            run.code, run.stdout, run.stderr
        ));
        warned.push_str(&run.stderr);
        let problem = judged(sim, scene, &project, (&run, &warned));
        let problem = problem.or_else(|| {
            let is_late = scene.name == "merges" && run.code == 0 && !merges(sim, &project);
            let is_told = round < 3 && run.stdout.contains("isn't merged by itself");
            if is_late && !is_told {
                return Some("it isn't merged by itself".to_owned());
            }
            let is_over = run.code != 0 && round == 3;
            is_over.then(|| "still failing".to_owned())
        });
        if let Some(problem) = problem {
            let calls = calls(sim, &project).split_off(first).join("\n  ");
            return Err(format!(
                "{}: {label} of call {at}, round {round}: {problem}\n  {calls}{told}",
                scene.name
            ));
        }
    }
    Ok(())
}

/// Whether the only request is merged as soon as its checks pass.
fn merges(sim: &Sim, project: &str) -> bool {
    let all = sim.ask(&format!("mrs?forge={}&project={project}", name(sim.kind)));
    all[0]["auto_merge"] == true
}

/// What is wrong after a round: one that ended well left the right state, and one that failed said what failed.
fn judged(sim: &Sim, scene: &Scene, project: &str, (run, warned): (&Run, &str)) -> Option<String> {
    if run.code == 0 {
        let has_labels = || {
            let mut open = open(sim, project).into_iter();
            open.all(|one| one.labels == ["dependencies"])
        };
        let is_told = warned.contains("labels and milestone: ") || warned.contains("label `");
        return (scene.wrong)(sim, project).or_else(|| {
            let is_without = !is_told && !has_labels();
            is_without.then(|| "a label is missing, and nothing says so".to_owned())
        });
    }
    let said = run.json();
    let message = said["repos"][0]["error"]["message"].as_str();
    let says = message.is_some_and(|message| message.contains("cannot "));
    (!says).then(|| format!("it doesn't say what failed: {said}"))
}

/// The calls of a scene that nothing disturbs.
fn undisturbed(sim: &Sim, scene: &Scene) -> usize {
    let project = sim.project(&format!("first-{}-x", scene.name));
    sim.make(&project, &[(FILE, &release("web", "1.0.0"))]);
    let bot = Bot::new();
    (scene.before)(sim, &project, &bot);
    let before = calls(sim, &project).len();
    bot.round(sim, &project, scene.versions, &[]);
    assert_eq!((scene.wrong)(sim, &project), None);
    let calls = calls(sim, &project).split_off(before);
    assert!((6..=20).contains(&calls.len()), "{calls:#?}");
    calls.len()
}

fn table(kind: Kind) {
    let Some(sim) = Sim::start(kind) else { return };
    let faults = faults();
    let mut cells = Vec::new();
    for scene in &SCENES {
        for at in 0..undisturbed(&sim, scene) {
            let chosen = faults
                .iter()
                .filter(|(label, _)| scene.has_all || OFTEN.contains(label));
            cells.extend(chosen.map(|fault| (scene, at, fault)));
        }
    }
    let next = Mutex::new(cells.iter().enumerate());
    let failed = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let taken = next.lock().expect("lock").next();
                    let Some((index, (scene, at, (label, fault)))) = taken else {
                        return;
                    };
                    if let Err(why) = cell(&sim, scene, (*at, fault), label) {
                        failed.lock().expect("lock").insert(index, why);
                    }
                }
            });
        }
    });
    sim.assert_kept();
    let failed = failed.into_inner().expect("lock");
    let texts: Vec<String> = failed.into_values().collect();
    let (few, many) = (texts.len(), cells.len());
    assert!(few == 0, "{few} of {many} cells:\n{}", texts.join("\n\n"));
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
