//! The program `sops`: encrypts one manifest for age keys. Values go in by its standard input and nowhere else.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::Result;
use secrecy::ExposeSecret as _;

use crate::error::Problem;
use crate::model::env::Env;
use crate::secrets::SecretBytes;
use crate::secrets::manifest::describe;
use crate::secrets::mask::Mask;

/// Variables that the program needs of its environment. `SOPS_*` are not among them: they could add recipients that no file names.
const KEPT: [&str; 4] = ["PATH", "HOME", "TMPDIR", "LANG"];

/// Keys of a manifest whose values are encrypted. The rest stays readable, since kustomize needs names and namespaces.
const ENCRYPTED: &str = "^(data|stringData)$";

/// Encrypts a Secret's manifest. `what` names it in messages, `mask` knows its values.
///
/// # Errors
/// When the program isn't there, fails, or gives something that isn't wholly encrypted. What it says is shown, unless a secret stands in it.
pub fn encrypt(
    env: &Env,
    clear: &SecretBytes,
    recipients: &[&str],
    what: &str,
    mask: &Mask,
) -> Result<String> {
    let kept = KEPT.iter().filter_map(|name| Some((*name, env.get(name)?)));
    let mut child = Command::new("sops")
        .args(["--encrypt", "--config", "/dev/null"])
        .args(["--age", &recipients.join(",")])
        .args(["--encrypted-regex", ENCRYPTED])
        .args(["--input-type", "yaml", "--output-type", "yaml"])
        .arg("/dev/stdin")
        .env_clear()
        .envs(kept)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|why| {
            Problem::failed(format!(
                "cannot encrypt {what}: the program `sops` can't be run: {why}"
            ))
            .hint("install SOPS 3.8 or later (https://getsops.io), so that `sops --version` works")
            .hint("or take `--secrets sealed-secrets`, which needs no program")
        })?;
    let stdin = child.stdin.take();
    // Beside the reading: a program that prints while it reads would wait for us, and we for it.
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that ends early says why on its own; the broken pipe says nothing.
            stdin.map(|mut stdin| stdin.write_all(clear.expose_secret()).is_ok())
        });
        child.wait_with_output()
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Problem::failed(format!(
            "cannot encrypt {what}: `sops` ended with {}: {}",
            output
                .status
                .code()
                .map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}")),
            mask.apply(said.trim())
        ))
        .hint("nothing was written; run the command again when `sops` works: echo 'a: b' | sops --encrypt --age KEY --input-type yaml /dev/stdin")
        .into());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_whole = describe(&text)
        .is_some_and(|described| !described.has_clear_value && !described.keys.is_empty());
    if !is_whole || mask.is_in(&text) {
        return Err(Problem::failed(format!(
            "cannot use what `sops` made of {what}: not every value in it is encrypted, so nothing was written"
        ))
        .hint("look at the program that is called `sops` here: command -v sops; sops --version")
        .into());
    }
    Ok(text)
}
