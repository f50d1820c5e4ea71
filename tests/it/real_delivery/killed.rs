//! A bot that is killed anywhere, and two bots at once: the next run ends in the one right request.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Bot, FILE, Peer as _, each, open, release, wrong};
use crate::real_forges::{Sim, name};

const VERSIONS: &str = "web: [1.0.0, 1.1.0]\n";

/// Numbers that are the same in every run of the test.
struct Seeded(u64);

impl Seeded {
    /// From 0 to below 1.
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).unwrap_or_default()) / f64::from(u32::MAX)
    }
}

/// Each call takes a moment, so that there is as much time between calls as there is in a program that starts.
fn slowly(sim: &Sim) {
    sim.fault(&json!({"service": name(sim.kind), "kind": "delay", "seconds": 0.02}));
}

fn make(sim: &Sim, name: &str) -> String {
    let project = sim.project(name);
    sim.make(&project, &[(FILE, &release("web", "1.0.0"))]);
    project
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_bots_are_killed_anywhere() {
    let mut seeded = Seeded(20_261_130);
    each(|sim| {
        slowly(sim);
        let whole = (0..3).map(|time| {
            let project = make(sim, &format!("whole-{time}"));
            let start = Instant::now();
            Bot::new().round(sim, &project, VERSIONS, &[]);
            start.elapsed()
        });
        let whole = whole.min().expect("some");
        let mut was_cut = 0;
        for point in 0..17 {
            let project = make(sim, &format!("killed-{point}"));
            let bot = Bot::new();
            // Every other one has a request already, which it brings up to date.
            let (versions, version) = match point % 2 {
                0 => (VERSIONS, "1.1.0"),
                _ => ("web: [1.0.0, 1.1.0, 1.2.0]\n", "1.2.0"),
            };
            if point % 2 == 1 {
                bot.round(sim, &project, VERSIONS, &[]);
            }
            let mut child = bot.command(sim, &project, versions, &[]);
            let mut child = child
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .expect("starts");
            let after = whole.mul_f64(seeded.next());
            std::thread::sleep(after);
            child.kill().expect("killed");
            was_cut += u32::from(!child.wait().expect("ends").success());
            // What the server got of a call it still carries out.
            std::thread::sleep(Duration::from_millis(100));
            let (mut run, mut rounds) = (bot.run(sim, &project, versions, &[]), 1);
            while run.code != 0 && rounds < 2 {
                (run, rounds) = (bot.run(sim, &project, versions, &[]), rounds + 1);
            }
            assert_eq!(run.code, 0, "{point} {after:?}: {}", run.stdout);
            assert_eq!(wrong(sim, &project, version), None, "{point} {after:?}");
            let labels = &sim.requests(&project)[0].labels;
            assert_eq!(labels, &["dependencies"], "{point} {after:?}");
        }
        assert!(was_cut >= 11, "{was_cut} were killed while they ran");
    });
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_two_bots_at_once() {
    each(|sim| {
        for time in 0..5 {
            let project = make(sim, &format!("two-{time}"));
            let bots = [Bot::new(), Bot::new()];
            let children: Vec<_> = bots
                .iter()
                .map(|bot| {
                    let mut command = bot.command(sim, &project, VERSIONS, &[]);
                    command.stdout(std::process::Stdio::piped());
                    command.stderr(std::process::Stdio::null());
                    command.spawn().expect("starts")
                })
                .collect();
            let mut well = 0;
            for child in children {
                let done = child.wait_with_output().expect("ends");
                let said = String::from_utf8_lossy(&done.stdout);
                assert!(done.status.success() || said.contains("cannot "), "{said}");
                well += u32::from(done.status.success());
            }
            assert!(well > 0, "neither got through");
            bots[0].round(sim, &project, VERSIONS, &[]);
            assert_eq!(open(sim, &project).len(), 1);
            assert_eq!(wrong(sim, &project, "1.1.0"), None);
        }
    });
}
