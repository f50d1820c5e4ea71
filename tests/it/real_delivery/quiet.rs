//! How often a forge is asked, and that no token is told to anybody else.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Bot, FILE, Peer, each, open, release};
use crate::real_delivery::faults::calls;
use crate::real_forges::gitea::Gitea;

const V1: &str = "web: [1.0.0, 1.1.0]\n";
const V2: &str = "web: [1.0.0, 1.1.0, 1.2.0]\n";

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_forges_are_asked_seldom() {
    each(|sim| {
        let project = sim.project("counted");
        sim.make(&project, &[(FILE, &release("web", "1.0.0"))]);
        let bot = Bot::new();
        let mut seen = 0;
        let mut counted = |versions, verdict: &str| {
            let said = bot.round(sim, &project, versions, &[]);
            assert_eq!(said.concat(), verdict);
            let calls = calls(sim, &project).split_off(seen);
            seen += calls.len();
            let asked = calls.iter().filter(|call| call.contains(" /api/"));
            (asked.count(), calls)
        };
        let (asked, calls) = counted("web: [1.0.0]\n", "");
        assert!(asked <= 4 && calls.len() <= 8, "nothing newer: {calls:#?}");
        let (asked, calls) = counted(V1, "created");
        assert!(asked <= 8, "one opened: {calls:#?}");
        let (asked, calls) = counted(V1, "same");
        assert!(asked <= 4 && calls.len() <= 8, "nothing to do: {calls:#?}");
        let pushes = calls.iter().filter(|call| call.contains("receive-pack"));
        assert_eq!(pushes.count(), 0, "{calls:#?}");
        let (asked, calls) = counted(V2, "updated");
        assert!(asked <= 8, "one brought up to date: {calls:#?}");
    });
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_ten_charts_come_by_one_push() {
    each(|sim| {
        let project = sim.project("ten");
        let charts: Vec<String> = (0..10).map(|count| format!("chart{count}")).collect();
        let files: Vec<(String, String)> = charts
            .iter()
            .map(|chart| (format!("apps/{chart}.yaml"), release(chart, "1.0.0")))
            .collect();
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        sim.make(&project, &files);
        let versions: Vec<String> = charts
            .iter()
            .map(|chart| format!("{chart}: [1.0.0, 1.1.0]\n"))
            .collect();
        let bot = Bot::new();
        let made = bot.round(sim, &project, &versions.concat(), &[]);
        assert_eq!(made, ["created"; 10]);
        assert_eq!(open(sim, &project).len(), 10);
        let calls = calls(sim, &project);
        let of = |what: &str| calls.iter().filter(|call| call.contains(what)).count();
        let packs = (of("/git-upload-pack "), of("/git-receive-pack "));
        assert_eq!(packs, (1, 1), "O39: {calls:#?}");
    });
}

/// Command lines of all processes, as often as they can be read.
fn command_lines(until: &AtomicBool) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    while !until.load(Ordering::Relaxed) {
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            seen.insert(String::from_utf8_lossy(&line).replace('\0', " "));
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    seen
}

/// Goes through a life with all words on, and looks for the token in what anybody can see.
fn tells_no_token(peer: &dyn Peer) {
    let project = peer.project("quiet");
    peer.make(&project, &[(FILE, &release("web", "1.0.0"))]);
    let bot = Bot::new();
    let is_done = AtomicBool::new(false);
    let mut said = String::new();
    let lines = std::thread::scope(|scope| {
        let lines = scope.spawn(|| command_lines(&is_done));
        let mut round = |versions: &str, more: &[&str]| {
            let run = bot.run(peer, &project, versions, more);
            said.push_str(&format!("{}\n{}\n", run.stdout, run.stderr));
        };
        round(V1, &["-vv"]);
        round(V1, &["-vv", "--dry-run", "--diff"]);
        round(V2, &["-vv", "--cache", "cache"]);
        let group = "upgrade:\n  charts:\n    web: {group: front}\n";
        peer.commit(&project, "main", ".haptic-scaffold.yaml", group);
        round(V2, &["-vv", "--cache", "cache"]);
        round(V2, &["-vv", "--base", "none"]);
        is_done.store(true, Ordering::Relaxed);
        lines.join().expect("ends")
    });
    assert!(said.contains("GET /"), "calls are told: {said}");
    let is_seen = lines.iter().any(|line| line.contains(" bot run "));
    assert!(is_seen, "the program was seen");
    let secret = peer.secret();
    assert!(!said.contains(&secret), "{said}");
    assert!(!lines.iter().any(|line| line.contains(&secret)));
    let requests = format!("{:?}", peer.requests(&project));
    assert!(requests.contains("Superseded by"), "{requests}");
    assert!(!requests.contains(&secret), "{requests}");
    let history = peer.history(&project);
    assert!(history.contains("Upgrade front"), "{history}");
    assert!(!history.contains(&secret));
    let kept = std::process::Command::new("grep")
        .args(["-r", "-l", "-F", &secret])
        .args([bot.env.work(), bot.env.home()])
        .output()
        .expect("grep");
    let kept = String::from_utf8_lossy(&kept.stdout).into_owned();
    assert_eq!(kept, "", "nothing is kept on disk");
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_forges_see_no_token_elsewhere() {
    each(|sim| tells_no_token(sim));
}

#[test]
#[ignore = "needs python3 and gitea"]
fn real_gitea_sees_no_token_elsewhere() {
    let Some(gitea) = Gitea::start() else { return };
    tells_no_token(&gitea);
}
