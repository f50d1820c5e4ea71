//! The facts for `init`: the repository, what an earlier run left there, and what can be guessed from it.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::error::Problem;
use crate::git::target::{Head, Target};
use crate::git::trees::GitTree;
use crate::layout::recorded::{self, Recorded};
use crate::layout::resolve::Found;
use crate::model::git_url::GitUrl;
use crate::model::repo_path::RepoPath;
use crate::model::text::unix_lines;
use crate::model::tree::{self, Entry, Tree};
use crate::plan::lock::{self, Lock};

/// How deep folders are looked at: `kubernetes/clusters/NAME/flux-system`.
const DEPTH: usize = 4;

/// Where the command works and what it was told of places.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The folder that the command works in.
    pub folder: &'a Path,
    /// The argument of `init`.
    pub dir: Option<&'a Path>,
    /// `--path`.
    pub sub: Option<&'a str>,
    /// `--config`.
    pub config: Option<&'a Path>,
    /// Whether the folder of `flux bootstrap` may say where to write.
    pub may_follow_bootstrap: bool,
    /// A bare repository that stands for the one of the folder.
    pub bench: Option<&'a Path>,
}

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
    /// Whether the last commit has nothing of an earlier run.
    pub is_first: bool,
    /// Whether what an earlier run wrote isn't committed.
    pub is_pending: bool,
    /// Folders that other scaffolds of the repository lie in.
    pub others: Vec<String>,
    /// What can be guessed.
    pub found: Found,
    /// Where `flux bootstrap` applies a folder that no layout writes to.
    pub bootstrap_elsewhere: Option<String>,
    /// Things to tell.
    pub notices: Vec<String>,
}

/// Looks at the target.
///
/// # Errors
/// When the target can't be opened or what an earlier run left can't be read.
pub fn gather(places: &Places<'_>) -> Result<Gathered> {
    let target = target(places)?;
    let notices = inside_of_another(&target, places);
    let head = target.head()?;
    let tree = target.tree()?;
    let bootstraps = bootstraps(tree.as_ref())?;
    let path = match places.sub {
        Some("" | ".") => None,
        Some(sub) => Some(
            RepoPath::parse(sub)
                .map_err(|why| Problem::usage(format!("cannot use `--path {sub}`: {why}")))?,
        ),
        None => match above(&target, tree.as_ref(), places)? {
            Some(found) => found,
            None if places.may_follow_bootstrap => bootstraps.first().and_then(|b| b.above.clone()),
            None => None,
        },
    };
    let left = left(tree.as_ref(), path.as_ref(), places.config)?;
    let here = |b: &&Bootstrap| b.above == path && b.cluster.is_some();
    let is_new = left
        .recorded
        .as_ref()
        .is_none_or(|(recorded, _)| recorded.answers.is_none());
    let branch = head.as_ref().and_then(Head::short).unwrap_or("main");
    let prefix = RepoPath::prefix(path.as_ref());
    let readme = RepoPath::parse(&format!("{prefix}README.md"))?;
    let is_foreign = !left.lock.files.contains_key(&readme)
        && tree
            .entry(&tree::resolve(tree.as_ref(), &readme)?)?
            .is_some();
    let found = Found {
        // A remote that came later is no new answer: a second run must change nothing.
        repo_url: target
            .remote_url()
            .filter(|url| is_new && GitUrl::parse(url).is_ok()),
        branch: Some(branch.to_owned()),
        bootstrap: bootstraps.iter().any(|b| here(&b)),
        readme: if is_foreign { "GITOPS.md" } else { "README.md" }.to_owned(),
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
    let lock_path = RepoPath::parse(&format!("{prefix}{}", lock::FILE_NAME))?;
    let committed = committed(&target, head.as_ref(), &lock_path)?.map(|bytes| unix_lines(&bytes));
    let here = match tree.entry(&tree::resolve(tree.as_ref(), &lock_path)?)? {
        Some(Entry::File(bytes)) => Some(unix_lines(&bytes)),
        _ => None,
    };
    let others = if left.recorded.is_none() {
        others(tree.as_ref())?
    } else {
        Vec::new()
    };
    drop(tree);
    Ok(Gathered {
        target,
        head,
        path,
        recorded: left.recorded,
        recorded_place: left.place,
        lock: left.lock,
        is_first: committed.is_none(),
        is_pending: committed != here,
        others,
        found,
        bootstrap_elsewhere,
        notices,
    })
}

/// The target that the places name.
///
/// # Errors
/// When the folder of `-C` isn't there, the target lies in a git directory, or it can't be opened.
pub fn target(places: &Places<'_>) -> Result<Target> {
    if let Some(bench) = places.bench {
        return Target::around(bench);
    }
    if !places.folder.is_dir() {
        return Err(
            Problem::usage(format!("there is no folder `{}`", places.folder.display()))
                .hint("`-C` names a folder that is there")
                .into(),
        );
    }
    let folder = places.folder.join(places.dir.unwrap_or(Path::new("")));
    if folder.components().any(|part| part.as_os_str() == ".git") {
        return Err(Problem::usage(format!(
            "cannot write into `{}`: it lies in a git directory",
            folder.display()
        ))
        .hint("name another folder")
        .into());
    }
    if folder.is_symlink() && !folder.exists() {
        return Err(Problem::invalid(format!(
            "cannot write into `{}`: it is a link to nothing",
            folder.display()
        ))
        .hint("make the folder that it leads to")
        .into());
    }
    if places.dir.is_some() {
        Target::at(&folder)
    } else {
        Target::around(&folder)
    }
}

fn inside_of_another(target: &Target, places: &Places<'_>) -> Vec<String> {
    let (Target::New(place) | Target::Plain(place)) = target else {
        return Vec::new();
    };
    let folder = places.folder.join(places.dir.unwrap_or(Path::new("")));
    let Ok(Target::Existing(around)) = Target::around(existing(&folder)) else {
        return Vec::new();
    };
    let root = around
        .workdir()
        .unwrap_or_else(|| around.path())
        .display()
        .to_string();
    vec![format!(
        "`{}` becomes a repository of its own inside of `{root}`; to write into that one: -C {root} --path SUB",
        place.display()
    )]
}

fn committed(target: &Target, head: Option<&Head>, path: &RepoPath) -> Result<Option<Vec<u8>>> {
    let (Target::Existing(repository), Some(commit)) = (target, head.and_then(|head| head.commit))
    else {
        return Ok(None);
    };
    Ok(match GitTree::of(repository, Some(commit))?.entry(path)? {
        Some(Entry::File(bytes)) => Some(bytes),
        _ => None,
    })
}

/// Folders with a scaffold of their own, for the person who stands above them.
fn others(tree: &dyn Tree) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in folders(tree)? {
        if tree
            .entry(&RepoPath::parse(&format!(
                "{folder}/{}",
                recorded::FILE_NAME
            ))?)?
            .is_some()
        {
            found.push(folder.to_string());
        }
    }
    Ok(found)
}

/// The folders of a repository, down to a depth.
fn folders(tree: &dyn Tree) -> Result<Vec<RepoPath>> {
    let mut all = Vec::new();
    let mut waiting: Vec<(Option<RepoPath>, usize)> = vec![(None, 0)];
    while let Some((folder, depth)) = waiting.pop() {
        let prefix = RepoPath::prefix(folder.as_ref());
        for name in tree
            .folders(folder.as_ref())?
            .into_iter()
            .filter(|name| !name.starts_with('.'))
        {
            let Ok(inner) = RepoPath::parse(&format!("{prefix}{name}")) else {
                continue;
            };
            all.push(inner.clone());
            if depth + 1 < DEPTH {
                waiting.push((Some(inner), depth + 1));
            }
        }
    }
    all.sort();
    Ok(all)
}

/// What an earlier run left.
struct Left {
    recorded: Option<(Recorded, String)>,
    place: String,
    lock: Lock,
}

fn left(tree: &dyn Tree, path: Option<&RepoPath>, config: Option<&Path>) -> Result<Left> {
    let prefix = RepoPath::prefix(path);
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
        .map(|text| Lock::parse(&text, lock_path.as_str()))
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

/// The folder with `.haptic-scaffold.yaml`, from where the command works up to the repository's root. `Some(None)` is the root.
fn above(
    target: &Target,
    tree: &dyn Tree,
    places: &Places<'_>,
) -> Result<Option<Option<RepoPath>>> {
    let start = places.folder.join(places.dir.unwrap_or(Path::new("")));
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let below = match target {
        Target::Existing(repository) => repository.workdir().map(canonical).and_then(|root| {
            canonical(&start)
                .strip_prefix(&root)
                .map(PathBuf::from)
                .ok()
        }),
        Target::New(_) | Target::Plain(_) => None,
    };
    let mut at = below.and_then(|below| RepoPath::parse(&below.to_string_lossy()).ok());
    loop {
        let prefix = RepoPath::prefix(at.as_ref());
        if tree
            .entry(&RepoPath::parse(&format!(
                "{prefix}{}",
                recorded::FILE_NAME
            ))?)?
            .is_some()
        {
            return Ok(Some(at));
        }
        match at {
            Some(folder) => at = folder.parent(),
            None => return Ok(None),
        }
    }
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
    for folder in folders(tree)?
        .into_iter()
        .filter(|folder| folder.name() == "flux-system")
    {
        if tree
            .entry(&RepoPath::parse(&format!("{folder}/gotk-sync.yaml"))?)?
            .is_some()
        {
            found.push(bootstrap(folder.parent().as_ref()));
        }
    }
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
