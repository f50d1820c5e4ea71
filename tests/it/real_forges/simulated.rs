//! The contract against the simulator.

use super::Sim;
use crate::forge_contract::hold;
use haptic_scaffold::forge::Kind;

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitlab_holds_the_contract() {
    contract(Kind::Gitlab);
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_github_holds_the_contract() {
    contract(Kind::Github);
}

#[test]
#[ignore = "needs python3 and the simulator"]
fn real_simulated_gitea_holds_the_contract() {
    contract(Kind::Gitea);
}

fn contract(kind: Kind) {
    let Some(sim) = Sim::start(kind) else { return };
    hold(&sim);
    sim.assert_kept();
}
