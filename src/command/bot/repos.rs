//! The repositories of a run, and the folders in which they are worked on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use git2::Repository;
use sha2::{Digest as _, Sha256};

use crate::cli::bot::BotRunArgs;
use crate::command::files;
use crate::error::Problem;
use crate::git::remote::address::Address;
use crate::git::target::Target;
use crate::model::git_url::redact;
use crate::world::World;

/// A repository of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Repo {
    /// One that lies here and has a remote.
    Clone(PathBuf),
    /// One that is fetched: an address, or a folder that has no remote.
    Remote(String),
}

impl Repo {
    /// What it is called: never with a login.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Clone(folder) => folder.display().to_string(),
            Self::Remote(address) => redact(address),
        }
    }
}

/// The repositories that were asked for, in their order, each once.
///
/// # Errors
/// When the list can't be read, or has none.
pub(super) fn asked(arguments: &BotRunArgs, world: &World) -> Result<Vec<Repo>> {
    let listed = match &arguments.repos {
        Some(file) if file.as_os_str() == "-" => Some(files::read_stdin()?),
        Some(file) => Some(files::read_text(&world.folder.join(file))?),
        None => None,
    };
    let lines = listed.as_deref().unwrap_or_default().lines();
    let lines = lines.map(|line| line.split(" #").next().unwrap_or_default().trim());
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let all = arguments
        .repositories
        .iter()
        .map(String::as_str)
        .chain(lines);
    let mut seen = BTreeSet::new();
    let all: Vec<Repo> = all
        .filter(|one| seen.insert(*one))
        .map(|one| repo(one, &world.folder))
        .collect();
    if all.is_empty() {
        return Err(Problem::usage("there is no repository in the list")
            .hint("one address or folder on each line; `#` begins a comment")
            .into());
    }
    Ok(all)
}

fn repo(text: &str, folder: &Path) -> Repo {
    let place = folder.join(text);
    if text.contains("://") || !place.is_dir() {
        return Repo::Remote(text.to_owned());
    }
    let opened = Repository::discover(&place);
    let has_remote =
        opened.is_ok_and(|repository| repository.remotes().is_ok_and(|all| !all.is_empty()));
    match has_remote {
        true => Repo::Clone(place),
        false => Repo::Remote(place.display().to_string()),
    }
}

/// One token for repositories on several hosts would be given to all of them.
///
/// # Errors
/// When that was asked for.
pub(super) fn check_token(
    repos: &[Repo],
    arguments: &BotRunArgs,
    world: &World,
) -> Result<(), Problem> {
    let is_one =
        arguments.place.token_file.is_some() || world.env.get("HAPTIC_SCAFFOLD_TOKEN").is_some();
    let host = |repo: &Repo| match repo {
        Repo::Remote(address) => Address::parse(address, &world.folder).ok()?.host(),
        Repo::Clone(folder) => {
            let target = Target::around(folder).ok()?;
            Address::parse(&target.remote_url()?, folder).ok()?.host()
        }
    };
    let hosts: BTreeSet<String> = repos.iter().filter_map(host).collect();
    if !is_one || hosts.len() < 2 {
        return Ok(());
    }
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    Err(Problem::usage(format!(
        "one token would be sent to {} hosts: {}",
        hosts.len(),
        hosts.join(", ")
    ))
    .hint("set `GITLAB_TOKEN`, `GH_TOKEN` or `GITEA_TOKEN`, which go to their own forge alone, or run once for each host"))
}

/// A bare repository for what is fetched; it goes with the value unless it is kept.
pub(super) struct Workshop {
    pub(super) folder: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl Workshop {
    /// Makes it, or takes the one of the last run.
    ///
    /// # Errors
    /// When the folder can't be made.
    pub(super) fn of(address: &str, cache: Option<&Path>) -> Result<Self> {
        let (folder, temporary) = match cache {
            Some(cache) => {
                let hash = Sha256::digest(redact(address));
                let name = redact(address);
                let name = name.trim_end_matches('/').trim_end_matches(".git");
                let name = name.rsplit(['/', ':']).next().unwrap_or_default();
                (cache.join(format!("{name}-{hash:.16x}.git")), None)
            }
            None => {
                let temporary =
                    tempfile::tempdir().context("cannot make a folder for the repository")?;
                (temporary.path().join("repository.git"), Some(temporary))
            }
        };
        if Repository::open_bare(&folder).is_err() {
            let made = Repository::init_bare(&folder);
            made.map_err(|why| {
                Problem::failed(format!(
                    "cannot make `{}`: {}",
                    folder.display(),
                    why.message()
                ))
            })?;
        }
        Ok(Self {
            folder,
            _temporary: temporary,
        })
    }
}
