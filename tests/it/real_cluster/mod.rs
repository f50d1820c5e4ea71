//! The written repositories in a real cluster: a real API server, real Flux, real Argo CD, all of them on the loopback address.
//!
//! A [`field::Field`] is one such cluster. No container runs in it, and the chart is a stand-in with the hooks and names of the real one.
//! What a team does by hand is done by the commands of the written README.

use std::path::Path;

use crate::env::TestEnv;
use crate::kit;
use field::Field;

mod argo;
mod by_hand;
mod client;
mod external_secrets;
mod field;
mod flux;
mod played_helm;
mod recover;
mod sealed_secrets;
mod secrets;
mod sops;
mod strict;

/// Writes a repository into the folder `out`, for the served repository `demo`.
fn scaffold(env: &TestEnv, field: &Field, chart_repo: &str, flags: &[&str]) {
    let repo_url = format!("{}/demo.git", field.fact("git"));
    let mut all = vec!["--chart-repo", chart_repo, "--repo-url", &repo_url];
    all.extend(flags);
    scaffolded(env, "0.2.2", &all);
}

/// Writes a repository into the folder `out`, with the chart at a version.
fn scaffolded(env: &TestEnv, version: &str, flags: &[&str]) {
    let mut arguments = vec!["init", "out", "--yes", "--chart-version", version];
    arguments.extend(flags);
    env.expect(0, &arguments);
}

/// The answers of a team that brings these certificates.
const EXTERNAL: [&str; 4] = [
    "--certificates",
    "external",
    "--webhook-ca",
    "webhook-ca.crt",
];

/// Makes the certificates that the README's commands take, each its own CA.
fn certificates(env: &TestEnv) -> Option<()> {
    let openssl = kit::program("openssl")?;
    for (name, host) in [
        ("webhook", "haptic-webhook.haptic.svc"),
        ("frontend", "www.example.org"),
    ] {
        let subject = format!("/CN={host}");
        let alternative = format!("subjectAltName=DNS:{host}");
        let (key, certificate) = (format!("{name}.key"), format!("{name}.crt"));
        let mut arguments = vec!["req", "-x509", "-newkey", "ec", "-nodes", "-days", "30"];
        arguments.extend(["-pkeyopt", "ec_paramgen_curve:prime256v1"]);
        arguments.extend(["-subj", &subject, "-addext", &alternative]);
        arguments.extend(["-keyout", &key, "-out", &certificate]);
        let run = env.program(&openssl.to_string_lossy(), &arguments, "");
        assert_eq!(run.code, 0, "openssl: {}", run.stderr);
    }
    env.write("webhook-ca.crt", &env.read("webhook.crt"));
    Some(())
}

/// The commands of the README's section "Before the first sync": those that start it last, before them those that make the
/// Secrets by hand, where that is so.
fn first_steps<const BLOCKS: usize>(env: &TestEnv) -> [String; BLOCKS] {
    let readme = env.read("out/README.md");
    let section = readme
        .split("\n## ")
        .find(|section| section.starts_with("Before the first sync\n"))
        .expect("the README says what to do first");
    let blocks: Vec<String> = section
        .split("```sh\n")
        .skip(1)
        .map(|block| block.split("```").next().expect("a first part").to_owned())
        .collect();
    blocks
        .try_into()
        .unwrap_or_else(|_| panic!("not {BLOCKS} blocks of commands:\n{section}"))
}

/// The paragraph of some commands that has a word in it.
fn paragraph<'a>(commands: &'a str, word: &str) -> &'a str {
    commands
        .split("\n\n")
        .find(|paragraph| paragraph.contains(word))
        .unwrap_or_else(|| panic!("nothing about {word} in:\n{commands}"))
}

/// Replaces a text of a file that must be there.
fn replace(env: &TestEnv, path: &str, from: &str, to: &str) {
    let text = env.read(path);
    assert!(text.contains(from), "no {from} in {path}:\n{text}");
    env.write(path, &text.replace(from, to));
}

fn golden_folder(case: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(case)
}
