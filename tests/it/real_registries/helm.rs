//! Helm repositories as the simulator plays them: unsorted, compressed, large, private.

use std::time::Instant;

use serde_json::json;

use super::{Sim, client, newest, reason};
use crate::lookups::{pins, repo};
use haptic_scaffold::registry::{ChartSource, Registry as _};

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn o25_an_index_may_be_unsorted_compressed_and_have_no_times() {
    let Some(sim) = Sim::start() else { return };
    let versions = json!(["1.0.0", {"version": "3.0.0", "no_created": true, "no_digest": true}, {"version": "2.0.0", "created": "2026-01-02T03:04:05Z"}]);
    sim.publish(&versions);
    sim.tell("registry", &json!({"helm": "stable", "shuffle": true}));
    sim.tell("http", &json!({"gzip": true}));
    let address = format!("{}/stable", sim.at("helm"));
    let env = repo(&address, "1.0.0");
    for _ in 0..2 {
        assert_eq!(newest(&pins(&env, &[], 0)), "3.0.0");
    }
    let answers: Vec<_> = sim
        .requests("index.yaml")
        .iter()
        .map(|r| r["status"].clone())
        .collect();
    assert_eq!(answers, [json!(200), json!(304)]);
    let source = ChartSource::new(&address, "web").expect("an address");
    let client = client(&env);
    let dated = client.release(&source, "2.0.0").expect("a release");
    assert_eq!(
        dated.created.as_deref(),
        Some("2026-01-02T03:04:05.123456789Z")
    );
    assert_eq!(
        client.release(&source, "3.0.0").expect("a release").created,
        None
    );
    for version in ["2.0.0", "3.0.0"] {
        assert_eq!(
            client.archive(&source, version).expect("an archive")[..2],
            [0x1f, 0x8b]
        );
    }
    sim.publish(&json!(["3.1.0"]));
    assert_eq!(
        newest(&pins(&env, &[], 0)),
        "3.1.0",
        "a changed index is read anew"
    );
}

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn archives_that_are_not_those_of_the_index_are_refused() {
    let Some(sim) = Sim::start() else { return };
    sim.publish(&json!([{"version": "1.0.0", "index_digest": "0".repeat(64)}]));
    let env = repo(&format!("{}/stable", sim.at("helm")), "1.0.0");
    let source =
        ChartSource::new(&format!("{}/stable", sim.at("helm")), "web").expect("an address");
    let error = client(&env)
        .archive(&source, "1.0.0")
        .expect_err("a wrong digest");
    assert!(
        error.to_string().contains("should be sha256:0000"),
        "{error}"
    );
}

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn fifteen_thousand_versions_are_read_and_then_only_asked_for() {
    let Some(sim) = Sim::start() else { return };
    sim.publish(&json!(["1.0.0", "1.5.0"]));
    sim.tell(
        "helm-bulk",
        &json!({"helm": "stable", "charts": 150, "versions": 100}),
    );
    let env = repo(&format!("{}/stable", sim.at("helm")), "1.0.0");
    let start = Instant::now();
    for _ in 0..2 {
        assert_eq!(newest(&pins(&env, &[], 0)), "1.5.0");
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    let answers: Vec<_> = sim
        .requests("index.yaml")
        .iter()
        .map(|r| r["status"].clone())
        .collect();
    assert_eq!(answers, [json!(200), json!(304)]);
}

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn a_private_repository_takes_helms_login_and_no_other_host_does() {
    let Some(sim) = Sim::start() else { return };
    sim.publish(
        &json!(["1.0.0", {"version": "1.1.0", "url": format!("{}/none.tgz", sim.at("blobs"))}]),
    );
    sim.tell(
        "users",
        &json!({"registry": true, "username": "puller", "secret": "s3cret-s3cret"}),
    );
    sim.tell("registry", &json!({"helm": "stable", "auth": "private"}));
    let address = format!("{}/stable", sim.at("helm"));
    let env = repo(&address, "1.0.0");
    let said = pins(&env, &[], 4);
    assert!(
        reason(&said).contains("repositories.yaml` (not there)"),
        "{said}"
    );
    let login = format!(
        "repositories:\n- {{name: x, url: '{address}', username: puller, password: s3cret-s3cret}}\n"
    );
    env.write("../home/xdg/helm/repositories.yaml", &login);
    env.write("../home/.config/helm/repositories.yaml", &login);
    assert_eq!(newest(&pins(&env, &[], 0)), "1.1.0");
    let source = ChartSource::new(&address, "web").expect("an address");
    let client = client(&env);
    assert!(client.archive(&source, "1.0.0").is_ok());
    assert!(client.archive(&source, "1.1.0").is_err());
    assert_eq!(sim.requests("none.tgz").len(), 1);
    sim.assert_kept();
}

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn o20_calendar_versions_are_ordered_as_numbers() {
    let Some(sim) = Sim::start() else { return };
    sim.publish(&json!(["2031.04.07", "2031.4.8", "2031.11.0"]));
    let env = repo(&format!("{}/stable", sim.at("helm")), "2031.04.07");
    assert_eq!(newest(&pins(&env, &[], 0)), "2031.11.0");
}
