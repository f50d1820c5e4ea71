//! The repositories of a run, and the folders in which they are worked on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use git2::Repository;
use sha2::{Digest as _, Sha256};

use crate::cli::bot::BotRunArgs;
use crate::cli::deliver::{DeliverArgs, PlaceArgs};
use crate::command::deliver::access::Access;
use crate::command::files;
use crate::error::Problem;
use crate::git::target::{Target, make_bare};
use crate::model::git_url::redact;
use crate::model::usual::usual_of_told;
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

    /// The same for every spelling: two rounds of one repository at the same time would be in each other's way.
    fn identity(&self) -> String {
        let text = match self {
            Self::Clone(folder) => folder.display().to_string(),
            Self::Remote(address) => address.clone(),
        };
        match Path::new(&text).canonicalize() {
            Ok(place) => place.display().to_string(),
            Err(_) => {
                let text = text.trim_end_matches('/');
                text.strip_suffix(".git").unwrap_or(text).to_owned()
            }
        }
    }
}

/// The repositories that were asked for, in their order, each once in whatever spelling.
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
        .map(|one| repo(one, &world.folder))
        .filter(|one| seen.insert(one.identity()))
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

/// One token for repositories on several hosts would be given to all of them: one that is given for the run, and that of a usual variable where a flag says which
/// forge they all are at.
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
    // Whom a token is for doesn't depend on what its file holds.
    let deliver = DeliverArgs {
        place: PlaceArgs {
            token_file: None,
            ..arguments.place.clone()
        },
        ..DeliverArgs::default()
    };
    // What can't be looked at gets no token, and is told in its turn.
    let access = |repo: &Repo| match repo {
        Repo::Remote(address) => {
            Access::of(&deliver.place, address, &world.folder, &world.env).ok()
        }
        Repo::Clone(folder) => {
            Access::of_target(&deliver, &Target::around(folder).ok()?, world).ok()
        }
    };
    let mut hosts = BTreeSet::new();
    let mut variables = BTreeSet::new();
    for access in repos.iter().filter_map(access) {
        let told = access.told().map(|kind| usual_of_told(&world.env, kind));
        let told = told.unwrap_or_default();
        if is_one || !told.is_empty() {
            hosts.extend(access.host(&world.folder));
            variables.extend(told);
        }
    }
    if hosts.len() < 2 {
        return Ok(());
    }
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let problem = Problem::usage(format!(
        "one token would be sent to {} hosts: {}",
        hosts.len(),
        hosts.join(", ")
    ));
    Err(match variables.first().filter(|_| !is_one) {
        None => problem.hint("set `GITLAB_TOKEN`, `GH_TOKEN` or `GITEA_TOKEN`, and `GITLAB_HOST`, `GH_HOST` or `GITEA_SERVER_URL` for the host that it is for, or run once for each host"),
        Some(variable) => problem.hint(format!(
            "it is that of `{variable}`: name the host that it is for by `GITLAB_HOST`, `GH_HOST` or `GITEA_SERVER_URL`, or run once for each host"
        )),
    })
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
            make_bare(&folder)?;
        }
        Ok(Self {
            folder,
            _temporary: temporary,
        })
    }
}
