//! The facts for `init`: the repository, what an earlier run left there, and what can be guessed from it.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::error::Problem;
use crate::git::target::{Head, Target};
use crate::layout::recorded::{self, Recorded};
use crate::layout::resolve::Found;
use crate::model::git_url::GitUrl;
use crate::model::repo_path::RepoPath;
use crate::model::tree::{self, Tree};
use crate::plan::lock::{self, Lock};

/// How deep `flux bootstrap`'s folder is looked for: `kubernetes/clusters/NAME/flux-system`.
const BOOTSTRAP_DEPTH: usize = 4;

/// What is there.
pub struct Gathered {
    /// What is written into.
    pub target: Target,
    /// Where HEAD is.
    pub head: Option<Head>,
    /// The folder that everything goes below.
    pub path: Option<RepoPath>,
    /// What the team decided, and the text it was read from.
    pub recorded: Option<(Recorded, String)>,
    /// The recorded file, for messages.
    pub recorded_place: String,
    /// What was rendered last.
    pub lock: Lock,
    /// What can be guessed.
    pub found: Found,
    /// Where `flux bootstrap` applies a folder that no layout writes to.
    pub bootstrap_elsewhere: Option<String>,
    /// Things to tell.
    pub notices: Vec<String>,
}

/// Looks at the target. `folder` is where the command works, `dir` the argument of `init`, `sub` the flag `--path`,
/// `config` another place for the recorded answers.
///
/// # Errors
/// When the target can't be opened or what an earlier run left can't be read.
pub fn gather(
    folder: &Path,
    dir: Option<&Path>,
    sub: Option<&str>,
    config: Option<&Path>,
) -> Result<Gathered> {
    let target = match dir {
        Some(dir) => Target::at(&folder.join(dir))?,
        None => Target::around(folder)?,
    };
    let mut notices = Vec::new();
    if let Target::New(place) | Target::Plain(place) = &target
        && let Ok(Target::Existing(around)) =
            Target::around(existing(&folder.join(dir.unwrap_or(Path::new("")))))
    {
        let root = around
            .workdir()
            .unwrap_or_else(|| around.path())
            .display()
            .to_string();
        notices.push(format!(
            "`{}` becomes a repository of its own inside of `{root}`; to write into that one: -C {root} --path SUB",
            place.display()
        ));
    }
    let head = target.head()?;
    let tree = target.tree()?;
    let bootstraps = bootstraps(tree.as_ref())?;
    let path = match sub.filter(|sub| !sub.is_empty() && *sub != ".") {
        Some(sub) => Some(
            RepoPath::parse(sub)
                .map_err(|why| Problem::usage(format!("cannot use `--path {sub}`: {why}")))?,
        ),
        None if sub.is_some() => None,
        None => above(&target, tree.as_ref(), folder, dir)?
            .or_else(|| bootstraps.first().and_then(|b| b.above.clone())),
    };
    let left = left(tree.as_ref(), path.as_ref(), config)?;
    let here = |b: &&Bootstrap| b.above == path && b.cluster.is_some();
    let is_first = left
        .recorded
        .as_ref()
        .is_none_or(|(recorded, _)| recorded.answers.is_none());
    let branch = head.as_ref().and_then(Head::short).unwrap_or("main");
    let found = Found {
        // A remote that came later is no new answer: a second run must change nothing.
        repo_url: target
            .remote_url()
            .filter(|url| is_first && GitUrl::parse(url).is_ok()),
        branch: Some(branch.to_owned()),
        bootstrap: bootstraps.iter().any(|b| here(&b)),
        clusters: bootstraps
            .iter()
            .filter(here)
            .filter_map(|b| b.cluster.clone())
            .collect(),
    };
    let bootstrap_elsewhere = if found.bootstrap {
        None
    } else {
        bootstraps.first().map(|b| b.folder.clone())
    };
    drop(tree);
    Ok(Gathered {
        target,
        head,
        path,
        recorded: left.recorded,
        recorded_place: left.place,
        lock: left.lock,
        found,
        bootstrap_elsewhere,
        notices,
    })
}

/// What an earlier run left.
struct Left {
    recorded: Option<(Recorded, String)>,
    place: String,
    lock: Lock,
}

fn left(tree: &dyn Tree, path: Option<&RepoPath>, config: Option<&Path>) -> Result<Left> {
    let prefix = path.map(|path| format!("{path}/")).unwrap_or_default();
    let recorded_path = RepoPath::parse(&format!("{prefix}{}", recorded::FILE_NAME))?;
    let (place, text) = match config {
        Some(config) => (
            config.display().to_string(),
            Some(super::files::read_text(config)?),
        ),
        None => (
            recorded_path.to_string(),
            tree::read_text(tree, &recorded_path)?,
        ),
    };
    let recorded = text
        .map(|text| recorded::parse(&text, &place).map(|recorded| (recorded, text)))
        .transpose()?;
    let lock_path = RepoPath::parse(&format!("{prefix}{}", lock::FILE_NAME))?;
    let lock = tree::read_text(tree, &lock_path)?
        .map(|text| Lock::parse(&text))
        .transpose()?;
    Ok(Left {
        recorded,
        place,
        lock: lock.unwrap_or_default(),
    })
}

/// The nearest folder that is there.
fn existing(path: &Path) -> &Path {
    path.ancestors()
        .skip(1)
        .find(|folder| folder.is_dir())
        .unwrap_or(path)
}

/// The folder with `.haptic-scaffold.yaml`, from where the command works up to the repository's root.
fn above(
    target: &Target,
    tree: &dyn Tree,
    folder: &Path,
    dir: Option<&Path>,
) -> Result<Option<RepoPath>> {
    let Target::Existing(repository) = target else {
        return Ok(None);
    };
    let start = folder.join(dir.unwrap_or(Path::new("")));
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(root) = repository.workdir().map(canonical) else {
        return Ok(None);
    };
    let Ok(below) = canonical(&start).strip_prefix(&root).map(PathBuf::from) else {
        return Ok(None);
    };
    let mut at = RepoPath::parse(&below.to_string_lossy()).ok();
    while let Some(folder) = at {
        if tree
            .entry(&RepoPath::parse(&format!(
                "{folder}/{}",
                recorded::FILE_NAME
            ))?)?
            .is_some()
        {
            return Ok(Some(folder));
        }
        at = folder.parent();
    }
    Ok(None)
}

/// A folder that `flux bootstrap` has written.
struct Bootstrap {
    /// The folder that it applies.
    folder: String,
    /// The cluster's name, where the folder is `clusters/NAME`.
    cluster: Option<String>,
    /// What is above `clusters/`.
    above: Option<RepoPath>,
}

fn bootstraps(tree: &dyn Tree) -> Result<Vec<Bootstrap>> {
    let mut found = Vec::new();
    let mut waiting: Vec<(Option<RepoPath>, usize)> = vec![(None, 0)];
    while let Some((folder, depth)) = waiting.pop() {
        let prefix = folder
            .as_ref()
            .map(|folder| format!("{folder}/"))
            .unwrap_or_default();
        for name in tree.folders(folder.as_ref())?.into_iter().rev() {
            let Ok(inner) = RepoPath::parse(&format!("{prefix}{name}")) else {
                continue;
            };
            if name == "flux-system"
                && tree
                    .entry(&RepoPath::parse(&format!("{inner}/gotk-sync.yaml"))?)?
                    .is_some()
            {
                found.push(bootstrap(folder.as_ref()));
            } else if depth + 1 < BOOTSTRAP_DEPTH && !name.starts_with('.') {
                waiting.push((Some(inner), depth + 1));
            }
        }
    }
    found.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(found)
}

fn bootstrap(folder: Option<&RepoPath>) -> Bootstrap {
    let parent = folder.and_then(RepoPath::parent);
    let is_cluster = parent
        .as_ref()
        .is_some_and(|parent| parent.name() == "clusters");
    Bootstrap {
        folder: folder.map_or_else(|| ".".to_owned(), RepoPath::to_string),
        cluster: folder
            .filter(|_| is_cluster)
            .map(|folder| folder.name().to_owned()),
        above: parent
            .filter(|_| is_cluster)
            .and_then(|parent| parent.parent()),
    }
}
