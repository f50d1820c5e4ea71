//! The program `haptic preflight`: judges a chart with a release's values before a cluster gets them.
//!
//! It is run where it is at hand: as `haptic`, or in a container of the controller's image. Nothing of it reaches a cluster:
//! it reads types from a folder or from the API server that a kubeconfig names. Start from [`program`] and [`run`].

mod folder;
mod kubeconfig;
mod process;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use self::folder::Folder;
use self::process::{Call, End};
use crate::haptic::verdict_words::has_verdict;
use crate::model::env::Env;

/// The gate's Job in a cluster may take as long (the chart's `activeDeadlineSeconds`).
const LIMIT: Duration = Duration::from_secs(600);

/// Variables that the program needs where it asks no cluster.
const KEPT: [&str; 4] = ["PATH", "HOME", "TMPDIR", "LANG"];

/// Variables by which `docker` and `podman` find what runs containers.
const KEPT_BY_RUNTIMES: [&str; 10] = [
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY",
    "CONTAINER_HOST",
    "CONTAINER_CONNECTION",
    "CONTAINERS_CONF",
    "REGISTRY_AUTH_FILE",
    "XDG_RUNTIME_DIR",
];

/// How the program can be run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preflight {
    /// The program itself.
    Here(PathBuf),
    /// `docker` or `podman`, which run the controller's image.
    Container(PathBuf),
}

/// What is judged.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The chart's archive (`.tgz`).
    pub chart: &'a [u8],
    /// The release's values, as they are given to Helm.
    pub values: &'a Value,
    /// Name of the release.
    pub release: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The chart's version. The program refuses when it belongs to another one.
    pub version: &'a str,
    /// Where the types of resources come from.
    pub schema: Schema,
}

/// Where the types of resources come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schema {
    /// A folder with schemas.
    Folder(PathBuf),
    /// The cluster of a kubeconfig.
    Kubeconfig {
        /// The file; without it the one that `KUBECONFIG` names, or the one of the home folder.
        file: Option<PathBuf>,
        /// The context; without it the file's own.
        context: Option<String>,
    },
}

/// What the program says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// The gate in a cluster would let it pass.
    Accepted,
    /// The gate would refuse it: the program says so in words of its own. Its exit code alone doesn't tell that from a cluster that can't be asked.
    Refused {
        /// What the program printed, the end of it where it is much. Values of the release may stand in it.
        log: String,
    },
    /// Nothing is known: it ended without a verdict.
    NoVerdict {
        /// Its exit code.
        code: i32,
        /// What it printed, the end of it where it is much. Values of the release may stand in it.
        log: String,
    },
    /// Nothing is known: the program was not run, or did not come to an end.
    NotRun {
        /// Why, in one line.
        why: String,
    },
}

/// Looks for the program on the `PATH`: `haptic`, else `docker`, else `podman`.
pub fn program(env: &Env) -> Option<Preflight> {
    let path = env.get("PATH")?;
    // A folder that isn't absolute is another one wherever the command runs.
    let folders: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .collect();
    let find = |name: &str| {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        let mut files = folders.iter().map(|folder| folder.join(&name));
        files.find(|file| is_program(file))
    };
    find("haptic")
        .map(Preflight::Here)
        .or_else(|| find("docker").map(Preflight::Container))
        .or_else(|| find("podman").map(Preflight::Container))
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// Runs the program. `image` is the controller's image of the chart's version, for a container; it has the program and the
/// HAProxy that goes with it.
///
/// Chart and values lie in a folder of their own, which its owner alone reads and which is gone afterwards. A container has
/// no network and can't write there.
pub fn run(env: &Env, preflight: &Preflight, image: Option<&str>, run: &Run<'_>) -> Judged {
    run_within(LIMIT, env, preflight, image, run)
}

fn run_within(
    limit: Duration,
    env: &Env,
    preflight: &Preflight,
    image: Option<&str>,
    run: &Run<'_>,
) -> Judged {
    let judged = match preflight {
        Preflight::Here(program) => here(limit, env, program, run),
        Preflight::Container(program) => match image {
            Some(image) => container(limit, env, program, image, run),
            None => Err("the controller's image isn't known".to_owned()),
        },
    };
    judged.unwrap_or_else(|why| Judged::NotRun { why })
}

fn here(limit: Duration, env: &Env, program: &Path, run: &Run<'_>) -> Result<Judged, String> {
    let folder = Folder::new(run.chart, run.values)?;
    let mut arguments = arguments(run, &folder.values().to_string_lossy(), &folder.chart);
    let vars: Vec<(String, String)> = match &run.schema {
        Schema::Folder(schema) => {
            let schema = absolute(schema)?;
            arguments.push(format!("--schema-dir={}", schema.display()));
            kept(env, &[&KEPT])
        }
        Schema::Kubeconfig { file, context } => {
            let file = kubeconfig::file(env, file.as_deref(), context.as_deref(), &folder)?;
            arguments.push(format!("--kubeconfig={}", file.display()));
            // Programs that a kubeconfig names for logins need the user's settings, but none is for us or for the gate.
            let vars = env.all().filter(|(name, _)| !name.starts_with("HAPTIC_"));
            vars.map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        }
    };
    let call = Call {
        program,
        arguments: &arguments,
        vars: &vars,
        folder: folder.path(),
        limit,
    };
    judged(call.run()?)
}

fn container(
    limit: Duration,
    env: &Env,
    program: &Path,
    image: &str,
    run: &Run<'_>,
) -> Result<Judged, String> {
    let Schema::Folder(schema) = &run.schema else {
        return Err("a container of it has no network, so it can't ask a cluster".to_owned());
    };
    if image.is_empty() || image.starts_with('-') {
        return Err(format!("`{image}` is no image"));
    }
    let schema = absolute(schema)?;
    let folder = Folder::new(run.chart, run.values)?;
    let name = folder.name();
    let inner = folder.chart.strip_prefix(folder.path());
    let inner = inner.map_err(|why| why.to_string())?;
    let mut all: Vec<String> = ["run", "--rm", "--network", "none", "--name"]
        .map(str::to_owned)
        .to_vec();
    all.push(name.clone());
    // The folder is its owner's alone, and stays so: labels of SELinux aren't changed either.
    all.extend(["--security-opt", "label=disable", "--tmpfs", "/tmp"].map(str::to_owned));
    all.extend(as_owner(program, folder.path()));
    for (outer, inner) in [(folder.path(), "/work"), (schema.as_path(), "/schema")] {
        all.push("-v".to_owned());
        all.push(format!("{}:{inner}:ro", outer.display()));
    }
    all.push(image.to_owned());
    all.extend(arguments(
        run,
        "/work/values.yaml",
        &Path::new("/work").join(inner),
    ));
    all.push("--schema-dir=/schema".to_owned());
    let vars = kept(env, &[&KEPT, &KEPT_BY_RUNTIMES]);
    let call = Call {
        program,
        arguments: &all,
        vars: &vars,
        folder: folder.path(),
        limit,
    };
    let end = call.run();
    if end.is_err() {
        // The end of `docker run` isn't the end of what it started.
        let stop = ["rm".to_owned(), "--force".to_owned(), name];
        let stop = Call {
            arguments: &stop,
            limit: Duration::from_secs(20),
            ..call
        };
        let _ = stop.run().is_ok();
    }
    let end = end?;
    // `docker run` and `podman run`: 125 is their own failure, 126 and 127 that the image has no such program.
    match end.code {
        125..=127 => Ok(end.without_verdict()),
        _ => judged(end),
    }
}

fn judged(end: End) -> Result<Judged, String> {
    // A program that doesn't know what it is asked judges nothing.
    let unknown = [
        "Error: unknown command \"preflight\"",
        "Error: unknown flag: --",
        "Error: unknown shorthand flag: ",
    ];
    let mut lines = end.log.lines();
    let what = lines.find(|line| unknown.iter().any(|start| line.starts_with(start)));
    match (end.code, what) {
        (0, _) => Ok(Judged::Accepted),
        (_, Some(what)) => Err(format!("this `haptic` has no such check: {what}")),
        (_, None) if has_verdict(&end.log) => Ok(Judged::Refused { log: end.log }),
        // Whatever else kept it from its end is none of the release's.
        (_, None) => Ok(end.without_verdict()),
    }
}

impl End {
    fn without_verdict(self) -> Judged {
        Judged::NoVerdict {
            code: self.code,
            log: self.log,
        }
    }
}

/// What the check is asked, without the types of resources (HAPTIC's guide, "Validate before deploy").
fn arguments(run: &Run<'_>, values: &str, chart: &Path) -> Vec<String> {
    vec![
        "preflight".to_owned(),
        "-f".to_owned(),
        values.to_owned(),
        format!("--chart={}", chart.display()),
        format!("--namespace={}", run.namespace),
        format!("--release={}", run.release),
        format!("--expect-chart-version={}", run.version),
    ]
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    let found = std::fs::canonicalize(path);
    let found = found.map_err(|why| format!("cannot read `{}`: {why}", path.display()))?;
    if found.is_dir() {
        Ok(found)
    } else {
        Err(format!("`{}` is no folder", path.display()))
    }
}

fn kept(env: &Env, lists: &[&[&str]]) -> Vec<(String, String)> {
    let names = lists.iter().flat_map(|names| names.iter());
    names
        .filter_map(|name| Some(((*name).to_owned(), env.get(name)?)))
        .collect()
}

/// Makes the container's user the one who may read the folder.
#[cfg(unix)]
fn as_owner(program: &Path, folder: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(found) = std::fs::metadata(folder) else {
        return Vec::new();
    };
    let mut flags = Vec::new();
    if program.ends_with("podman") && found.uid() != 0 {
        flags.push("--userns=keep-id".to_owned());
    }
    flags.push(format!("--user={}:{}", found.uid(), found.gid()));
    flags
}

#[cfg(not(unix))]
fn as_owner(_: &Path, _: &Path) -> Vec<String> {
    Vec::new()
}
