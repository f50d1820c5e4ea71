//! The program `helm`: renders a chart's archive with values, without a cluster and without the network.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::child;
use crate::model::env::Env;

/// Variables that the program needs of its environment. `HELM_*` are not among them: plugins and repositories of the user have no say here.
const KEPT: [&str; 3] = ["PATH", "TMPDIR", "LANG"];

/// A chart that takes longer is not rendered.
const LIMIT: Duration = Duration::from_secs(60);

/// No rendered chart is larger.
const MOST_BYTES: u64 = 64 << 20;

/// What a release is rendered as.
#[derive(Debug, Clone, Copy)]
pub struct Release<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its values.
    pub values: &'a Value,
}

/// Whether the program is there.
pub fn is_there(env: &Env) -> bool {
    let mut command = Command::new("helm");
    let kept = KEPT.iter().filter_map(|name| Some((*name, env.get(name)?)));
    command.arg("version").env_clear().envs(kept);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    command
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Renders an archive (`.tgz`) as `helm template` does.
///
/// The chart's schema isn't looked at: it may name files of this machine and addresses of others, which helm would read.
///
/// # Errors
/// That it can't be rendered. What `helm` says isn't repeated: a chart may put any value of the release into it.
pub fn template(env: &Env, archive: &[u8], release: &Release<'_>) -> Result<String, String> {
    let home = tempfile::tempdir().map_err(|why| format!("no folder for it: {why}"))?;
    let write = |name: &str, bytes: &[u8]| {
        let path = home.path().join(name);
        std::fs::write(&path, bytes).map_err(|why| format!("cannot write `{name}`: {why}"))?;
        Ok::<_, String>(path)
    };
    let chart = write("chart.tgz", archive)?;
    let values = write("values.json", release.values.to_string().as_bytes())?;
    let mut command = Command::new("helm");
    let kept = KEPT.iter().filter_map(|name| Some((*name, env.get(name)?)));
    command
        .args(["template", "--include-crds", "--skip-schema-validation"])
        .arg(format!("--namespace={}", release.namespace))
        .arg("--values")
        .arg(&values)
        // What follows is never read as a flag.
        .arg("--")
        .arg(release.name)
        .arg(&chart)
        .env_clear()
        .envs(kept)
        .envs(own_homes(home.path()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let child = command.spawn().map_err(|why| why.to_string())?;
    let (is_done, out) = output(child)?;
    if is_done {
        Ok(out)
    } else {
        Err("`helm template` by hand says why".to_owned())
    }
}

/// Folders of its own, so that nothing of the user's is read or written.
fn own_homes(home: &Path) -> impl Iterator<Item = (&'static str, std::path::PathBuf)> {
    let home = home.to_owned();
    [
        "HOME",
        "HELM_CACHE_HOME",
        "HELM_CONFIG_HOME",
        "HELM_DATA_HOME",
    ]
    .into_iter()
    .map(move |name| (name, home.join("home")))
}

/// Waits for the end, and for no longer than [`LIMIT`].
fn output(mut child: Child) -> Result<(bool, String), String> {
    let out = child.stdout.take();
    std::thread::scope(|scope| {
        // Beside the waiting, since the program waits where a pipe is full.
        let texts = scope.spawn(move || out.map(text).unwrap_or_default());
        let status = child::ended(&mut child, Instant::now() + LIMIT);
        let text = texts.join().unwrap_or_default();
        match status.map_err(|why| why.to_string())? {
            Some(status) => Ok((status.success(), text)),
            None => Err(format!("`helm` took more than {} seconds", LIMIT.as_secs())),
        }
    })
}

fn text(pipe: impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    let _ = pipe.take(MOST_BYTES).read_to_end(&mut bytes).is_ok();
    String::from_utf8_lossy(&bytes).into_owned()
}
