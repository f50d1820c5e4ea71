//! Two clusters: what becomes of the other one.

use haptic_scaffold::forge::Kind;
use serde_json::{Value, json};

use super::{Life, POLICY, Source, is_as_kept, verdicts};
use crate::fake_cluster::CONTEXT;
use crate::real_forges::text;

const STAGING: &str = "haptic-scaffold/upgrade-haptic--staging";
const PRODUCTION: &str = "haptic-scaffold/upgrade-haptic--production";
const RECOVER_STAGING: &str = "haptic-scaffold/recover-haptic--staging";
const RECOVER_PRODUCTION: &str = "haptic-scaffold/recover-haptic--production";

impl Life {
    /// The file with the version of a cluster.
    fn pin_of(&self, cluster: &str) -> String {
        if self.is_flux() {
            format!("apps/haptic/{cluster}/release/pin.yaml")
        } else {
            format!("clusters/{cluster}/haptic.yaml")
        }
    }

    #[track_caller]
    fn have(&self, branch: &str, staging: &str, production: &str) {
        for (cluster, version) in [("staging", staging), ("production", production)] {
            let text = self.file(branch, &self.pin_of(cluster));
            let is_it = text.contains(&format!("\"{version}\""));
            assert!(is_it, "{branch}, {cluster}: {text}");
        }
    }

    /// A recovery by what somebody says.
    #[track_caller]
    fn recover_by_hand(&self, more: &[&str]) -> Value {
        let all = ["recover", "--rejected", "0.2.1", "--to", "0.2.x"];
        self.deliver(0, &[&all[..], more].concat()).json()
    }
}

fn branches(said: &Value) -> Vec<String> {
    let changes = said["changes"].as_array().into_iter().flatten();
    changes.map(|change| text(&change["branch"])).collect()
}

fn paths(change: &Value) -> Vec<String> {
    let files = change["files"].as_array().into_iter().flatten();
    files.map(|file| text(&file["path"])).collect()
}

/// The version is rejected in staging while it is offered to production.
fn staging_rejects(kind: Kind, layout: &str) {
    let Some(life) = Life::start(kind, layout, Source::Oci) else {
        return;
    };
    assert_eq!(life.upgrade(), ["created"]);
    life.merge(STAGING);
    assert_eq!(life.upgrade(), ["created"]);
    let offered = life.open(PRODUCTION);
    assert!(offered.title.contains("0.2.1"), "{offered:#?}");
    life.cluster_rejects_in("staging");
    life.publish(&["0.2.2"]);
    let said = life.recover(&["--to", "0.2.x", "--cluster", "staging"]);
    assert_eq!(verdicts(&said), ["created"]);
    assert_eq!(branches(&said), [RECOVER_STAGING]);
    assert_eq!(said["others"], json!([]));
    is_as_kept(layout, &said["changes"][0]);
    let mut all = life.all().into_iter();
    let closed = all.find(|one| one.number == offered.number);
    let closed = closed.expect("is there");
    assert_eq!(closed.state, "closed");
    let says = |note: &String| note.contains("rejected");
    assert!(closed.notes.iter().any(says), "{closed:#?}");
    assert_eq!(life.branches(), [RECOVER_STAGING]);
    life.have(RECOVER_STAGING, "0.2.2", "0.2.0");

    assert_eq!(life.upgrade(), [""; 0]);
    life.merge(RECOVER_STAGING);
    assert_eq!(life.upgrade(), ["created"]);
    life.have(PRODUCTION, "0.2.2", "0.2.2");
    life.merge(PRODUCTION);
    life.publish(&["0.2.1", "0.2.3"]);
    assert_eq!(life.upgrade(), ["created"]);
    life.have(STAGING, "0.2.3", "0.2.2");
    let production = life.past(&life.pin_of("production"));
    assert_eq!(production, ["0.2.0", "0.2.2"]);
    life.sim.assert_kept();
}

/// Both have the rejected version.
fn both_have_it(kind: Kind, layout: &str) {
    let Some(life) = Life::start(kind, layout, Source::Helm) else {
        return;
    };
    for branch in [STAGING, PRODUCTION] {
        assert_eq!(life.upgrade(), ["created"]);
        life.merge(branch);
    }
    life.have("main", "0.2.1", "0.2.1");
    life.publish(&["0.2.2"]);

    let before = life.branches();
    let told = life.recover_by_hand(&["--dry-run"]);
    assert_eq!(branches(&told), [RECOVER_STAGING]);
    assert_eq!(
        paths(&told["changes"][0]),
        [POLICY.to_owned(), life.pin_of("staging")]
    );
    let other = text(&told["others"][0]["told"]);
    assert!(
        other.contains("production") && other.contains("--others"),
        "{other}"
    );
    assert!(text(&told["changes"][0]["body"]).contains(&other), "{told}");

    let chosen = life.recover_by_hand(&["--dry-run", "--cluster", "production"]);
    assert_eq!(branches(&chosen), [RECOVER_PRODUCTION]);
    assert_eq!(
        paths(&chosen["changes"][0]),
        [POLICY.to_owned(), life.pin_of("production")]
    );
    let other = text(&chosen["others"][0]["told"]);
    assert!(other.contains("staging"), "{other}");

    let same = life.recover_by_hand(&["--dry-run", "--others", "same"]);
    assert_eq!(branches(&same).len(), 1, "{same}");
    let mut wanted = vec![
        POLICY.to_owned(),
        life.pin_of("production"),
        life.pin_of("staging"),
    ];
    wanted.sort();
    assert_eq!(paths(&same["changes"][0]), wanted);
    assert_eq!(life.branches(), before, "a dry run pushes nothing");

    let follow = life.recover_by_hand(&["--others", "follow"]);
    assert_eq!(branches(&follow), [RECOVER_STAGING, RECOVER_PRODUCTION]);
    assert_eq!(verdicts(&follow), ["created", "created"]);
    let again = life.recover_by_hand(&["--others", "follow"]);
    assert_eq!(verdicts(&again), ["same", "same"]);
    life.have(RECOVER_STAGING, "0.2.2", "0.2.1");
    life.have(RECOVER_PRODUCTION, "0.2.1", "0.2.2");
    assert_eq!(life.upgrade(), [""; 0]);
    life.merge(RECOVER_STAGING);
    assert_eq!(life.upgrade(), [""; 0]);
    life.merge(RECOVER_PRODUCTION);
    life.have("main", "0.2.2", "0.2.2");
    assert_eq!(life.upgrade(), [""; 0]);
    assert_eq!(life.branches(), [""; 0]);
    life.sim.assert_kept();
}

/// The cluster says which of both it is.
fn the_cluster_says_which(kind: Kind, layout: &str) {
    let Some(life) = Life::start(kind, layout, Source::Helm) else {
        return;
    };
    for branch in [STAGING, PRODUCTION] {
        assert_eq!(life.upgrade(), ["created"]);
        life.merge(branch);
    }
    life.publish(&["0.2.2"]);
    life.cluster_rejects("0.2.1");
    let all = ["recover", "--context", CONTEXT];
    if life.is_flux() {
        // Both have a HelmRelease of that name.
        let open = life.deliver(2, &all);
        assert!(open.stdout.contains("--cluster"), "{}", open.stdout);
    }
    let place = ["--cluster", "production"];
    let said = life.recover(&[&place[..], &["--dry-run"]].concat());
    assert_eq!(branches(&said), [RECOVER_PRODUCTION]);
    let other = text(&said["others"][0]["told"]);
    assert!(other.contains("staging"), "{other}");
    let said = life.recover(&[&place[..], &["--others", "follow", "--dry-run"]].concat());
    assert_eq!(branches(&said), [RECOVER_PRODUCTION, RECOVER_STAGING]);
    let said = life.recover(&[&place[..], &["--others", "same"]].concat());
    assert_eq!(branches(&said), [RECOVER_PRODUCTION]);
    life.have(RECOVER_PRODUCTION, "0.2.2", "0.2.2");
    life.merge(RECOVER_PRODUCTION);
    life.cluster_goes_live("0.2.2");
    let follow = ["recover", "--watch", "--context", CONTEXT];
    let open = life.run(2, &follow);
    assert!(open.stdout.contains("--cluster"), "{}", open.stdout);
    let live = life.run(0, &[&follow[..], &place].concat()).json();
    assert_eq!(live["watch"]["outcome"], "live", "{live}");
    life.sim.assert_kept();
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitlab_flux_fleet_recovers_in_staging() {
    staging_rejects(Kind::Gitlab, "flux-fleet");
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_github_argo_fleet_recovers_in_staging() {
    staging_rejects(Kind::Github, "argo-fleet");
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitea_flux_fleet_recovers_in_both() {
    both_have_it(Kind::Gitea, "flux-fleet");
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitlab_argo_fleet_recovers_in_both() {
    both_have_it(Kind::Gitlab, "argo-fleet");
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitlab_flux_fleet_is_told_apart() {
    the_cluster_says_which(Kind::Gitlab, "flux-fleet");
}
