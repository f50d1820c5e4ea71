//! Repositories with Secrets, and what their tests start from.

use crate::env::{Run, TestEnv};
use crate::golden;
use crate::pki;

/// Secrets sealed for the tests' controller.
pub const SEALED: [&str; 4] = [
    "--secrets",
    "sealed-secrets",
    "--sealing-certificate",
    "sealing.pem",
];
/// Secrets encrypted by SOPS.
pub const SOPS: [&str; 4] = ["--secrets", "sops", "--age-recipients", golden::AGE_KEY];
/// Certificates from the folder `keys`.
pub const EXTERNAL: [&str; 4] = ["--certificates", "external", "--secret-files", "keys"];

/// A world with a sealing certificate, a `sops`, and certificates in the folder `keys`.
pub fn prepared() -> TestEnv {
    let env = TestEnv::new();
    env.write("sealing.pem", golden::SEALING);
    pki::folder(&env, "keys", &pki::ca("test CA"));
    golden::fake_sops(&env);
    env
}

/// The arguments of `init` into the folder `out`.
pub fn arguments<'a>(layout: &'a [&'a str], more: &[&[&'a str]]) -> Vec<&'a str> {
    let mut all = vec!["init", "out", "--yes", "--chart-version", "0.2.2"];
    all.extend(["--repo-url", golden::REPO_URL]);
    all.extend(layout);
    all.extend(more.iter().copied().flatten());
    all
}

/// A repository under Flux in the folder `out`.
pub fn flux(more: &[&[&str]]) -> TestEnv {
    let env = prepared();
    env.expect(0, &arguments(&["--provider", "flux"], more));
    env
}

/// Runs the program in that repository.
pub fn within(env: &TestEnv, code: i32, more: &[&str]) -> Run {
    env.expect(code, &[&["-C", "out"], more].concat())
}

/// The newest commit of that repository, and what differs from it.
pub fn state(env: &TestEnv) -> String {
    let head = env.git("out", &["rev-parse", "HEAD"]);
    head + &env.git("out", &["status", "--porcelain"])
}
