//! Faults on the way: waits that are asked for, answers that are cut off, connections that break.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Sim, many, newest, reason};
use crate::lookups::{pins, repo};

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn a_busy_registry_is_waited_for_as_long_as_it_asks_within_bounds() {
    let Some(sim) = Sim::start() else { return };
    sim.publish(&many(150));
    let env = repo(&format!("{}/team", sim.at("oci")), "1.0.0");
    let busy = |seconds: &str, times: u32| {
        let headers = json!({"Retry-After": seconds});
        let fault = json!({"path": "tags/list", "kind": "status", "status": 429, "headers": headers, "times": times});
        sim.tell("faults", &fault);
    };
    busy("2", 1);
    let start = Instant::now();
    assert_eq!(newest(&pins(&env, &[], 0)), "1.149.0");
    assert!(start.elapsed() >= Duration::from_secs(2));
    busy("3600", 1);
    let start = Instant::now();
    let said = pins(&env, &[], 4);
    assert!(
        reason(&said).contains("asks to wait 3600 seconds"),
        "{said}"
    );
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    busy("1", 9);
    let said = pins(&env, &[], 4);
    assert!(
        reason(&said).contains("the server is busy (status 429)"),
        "{said}"
    );
}

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn a_list_that_is_cut_off_is_no_list() {
    let Some(sim) = Sim::start() else { return };
    sim.publish(&many(250));
    let oci = repo(&format!("{}/team", sim.at("oci")), "1.0.0");
    let helm = repo(&format!("{}/stable", sim.at("helm")), "1.0.0");
    // The second page, always; then one time, which the next try mends.
    sim.tell(
        "faults",
        &json!({"path": "tags/list", "skip": 1, "kind": "truncate", "bytes": 300}),
    );
    let said = pins(&oci, &[], 4);
    assert!(reason(&said).contains("cut off"), "{said}");
    sim.tell(
        "faults",
        &json!({"path": "index.yaml", "kind": "truncate", "bytes": 3000}),
    );
    let said = pins(&helm, &[], 4);
    assert!(reason(&said).contains("cut off"), "{said}");
    let clear = format!("{}/_sim/faults", sim.at("control"));
    ureq::delete(&clear).call().expect("clears");
    sim.tell(
        "faults",
        &json!({"path": "tags/list", "skip": 2, "kind": "truncate", "bytes": 300, "times": 1}),
    );
    assert_eq!(newest(&pins(&oci, &[], 0)), "1.249.0");
    for kind in ["reset", "reset_after"] {
        sim.tell(
            "faults",
            &json!({"path": "index.yaml", "kind": kind, "times": 1}),
        );
        assert_eq!(newest(&pins(&helm, &[], 0)), "1.249.0", "{kind}");
    }
    sim.tell("faults", &json!({"path": "tags/list", "kind": "status", "status": 200, "body": "<html>Log in</html>"}));
    let said = pins(&oci, &[], 4);
    assert!(reason(&said).contains("it is no tag list"), "{said}");
}
