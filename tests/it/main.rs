//! The integration tests: one binary, over the real program.
//!
//! Without arguments they are hermetic: no network beyond loopback, no clock, a HOME and git configuration of their own.
//! The ignored ones ask real programs (`kit`): `cargo test -- --ignored`. They say «skipped: no helm» where one isn't there;
//! with `CI` set that is a failure.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::too_many_lines,
    unreachable_pub,
    reason = "tests read the real environment, say what they skip, have long tables, and are one binary"
)]

mod architecture;
mod bad_certificates;
mod bad_secrets;
mod bot;
mod charts;
mod cli;
mod cluster;
mod dashboard;
mod delivery;
mod delivery_safety;
mod docs;
mod env;
mod fake_cluster;
mod forge_contract;
mod forges;
mod git;
mod golden;
mod init_delivery;
mod interrupted;
mod kit;
mod leaks;
mod lookups;
mod observe;
mod pin_history;
mod pins;
mod pins_cases;
mod pki;
mod policy;
mod policy_traps;
mod real_cluster;
mod real_delivery;
mod real_forges;
mod real_programs;
mod real_registries;
mod recover;
mod recover_again;
mod recover_cluster;
mod recover_fleet;
mod recover_input;
mod recover_log;
mod recover_open;
mod recover_stale;
mod recover_values;
mod recovery_page;
mod request;
mod rerun;
mod secret_repo;
mod secrets;
mod secrets_again;
mod secrets_apply;
mod secrets_keys;
mod secrets_list;
mod secrets_live;
mod secrets_rotate;
mod secrets_safety;
mod terminal;
mod upgrade;
