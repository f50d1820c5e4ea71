//! Signed commits, as git is configured to sign them. libgit2 reads none of these settings, so they are read here.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use git2::Config;

use crate::error::Problem;
use crate::model::env::Env;

/// How commits are signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signing {
    /// `gpg.format` openpgp or x509: a program in the manner of gpg, and a key or the committer's own.
    Gpg { program: String, key: String },
    /// `gpg.format` ssh: `ssh-keygen -Y sign` with a key in a file, or one that an agent holds.
    Ssh { program: String, key: SshKey },
}

/// Where the key for an SSH signature is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SshKey {
    /// A file with the private key, or with the public one of a key that the agent holds.
    File(String),
    /// A public key as text, whose private part the agent holds.
    Public(String),
    /// A program that prints the public key (`gpg.ssh.defaultKeyCommand`).
    Command(String),
}

/// Reads whether and how commits are to be signed. Nothing where they are not.
///
/// # Errors
/// When signing is wanted and can't be done as configured.
pub fn configured(config: &Config, committer: &str) -> Result<Option<Signing>> {
    if !config.get_bool("commit.gpgsign").unwrap_or(false) {
        return Ok(None);
    }
    let text = |name: &str| {
        config
            .get_string(name)
            .ok()
            .filter(|value| !value.is_empty())
    };
    let format = text("gpg.format").unwrap_or_else(|| "openpgp".to_owned());
    let key = text("user.signingkey");
    let gpg = |program: String| Signing::Gpg {
        program,
        key: key.clone().unwrap_or_else(|| committer.to_owned()),
    };
    match format.as_str() {
        "openpgp" => Ok(Some(gpg(text("gpg.openpgp.program")
            .or_else(|| text("gpg.program"))
            .unwrap_or_else(|| "gpg".to_owned())))),
        "x509" => Ok(Some(gpg(
            text("gpg.x509.program").unwrap_or_else(|| "gpgsm".to_owned())
        ))),
        "ssh" => {
            let program = text("gpg.ssh.program").unwrap_or_else(|| "ssh-keygen".to_owned());
            let key = ssh_key(config, key)
                .or_else(|| text("gpg.ssh.defaultKeyCommand").map(SshKey::Command));
            let missing = || {
                Problem::failed("git is configured to sign commits by SSH, and no key is named")
                    .hint("set `git config user.signingkey`, or switch off `commit.gpgsign`")
            };
            Ok(Some(Signing::Ssh {
                program,
                key: key.ok_or_else(missing)?,
            }))
        }
        other => Err(Problem::failed(format!(
            "git is configured to sign commits by `{other}`, which is not known here"
        ))
        .hint("set `gpg.format` to openpgp, ssh or x509")
        .into()),
    }
}

fn ssh_key(config: &Config, key: Option<String>) -> Option<SshKey> {
    let key = key?;
    if let Some(literal) = key.strip_prefix("key::") {
        return Some(SshKey::Public(literal.to_owned()));
    }
    if key.starts_with("ssh-") || key.starts_with("ecdsa-") || key.starts_with("sk-") {
        return Some(SshKey::Public(key));
    }
    let path = config
        .get_path("user.signingkey")
        .map_or(key, |path| path.to_string_lossy().into_owned());
    Some(SshKey::File(path))
}

/// Signs the text of a commit.
///
/// # Errors
/// When the program can't be run or refuses; with its own words.
pub fn sign(signing: &Signing, env: &Env, commit: &str) -> Result<String> {
    match signing {
        Signing::Gpg { program, key } => {
            run(program, &["--status-fd=2", "-bsau", key], env, commit)
        }
        Signing::Ssh { program, key } => sign_by_ssh(program, key, env, commit),
    }
    .context("cannot sign the commit, so nothing was written")
}

fn sign_by_ssh(program: &str, key: &SshKey, env: &Env, commit: &str) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let public = match key {
        SshKey::File(path) => {
            return run(
                program,
                &["-Y", "sign", "-n", "git", "-f", path],
                env,
                commit,
            );
        }
        SshKey::Public(text) => text.clone(),
        SshKey::Command(command) => {
            let printed = run("sh", &["-c", command], env, "")?;
            let first = printed.lines().next().unwrap_or_default();
            first.strip_prefix("key::").unwrap_or(first).to_owned()
        }
    };
    let path = folder.path().join("key.pub");
    std::fs::write(&path, format!("{public}\n"))?;
    run(
        program,
        &[
            "-Y",
            "sign",
            "-n",
            "git",
            "-f",
            &path.to_string_lossy(),
            "-U",
        ],
        env,
        commit,
    )
}

fn run(program: &str, arguments: &[&str], env: &Env, input: &str) -> Result<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(env.all())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|why| {
            Problem::failed(format!("cannot run `{program}`: {why}"))
                .hint("install it, or switch off `commit.gpgsign` for this repository")
        })?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends early says why on its own; the broken pipe says nothing.
        let _ = stdin.write_all(input.as_bytes()).is_err();
    }
    let output = child.wait_with_output()?;
    if output.status.success() && (!output.stdout.is_empty()) {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(
        Problem::failed(format!("`{program}` says: {}", said.trim()))
            .hint("the same key has to work for `git commit -S`")
            .into(),
    )
}
