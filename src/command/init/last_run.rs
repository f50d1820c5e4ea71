//! What the last run left: its layouts, its answers.

use anyhow::Result;
use serde_json::{Map, Value};

use crate::cli::init::InitArgs;
use crate::command::files;
use crate::command::gather::Gathered;
use crate::error::Problem;
use crate::layout::answers::Answers;
use crate::layout::catalog::Catalog;
use crate::layout::definition::Layout;
use crate::model::repo_path::RepoPath;
use crate::world::World;

/// The layouts: embedded ones, with those of `--layouts` or of the recorded folder over them.
pub(in crate::command) fn catalog(
    arguments: &InitArgs,
    gathered: &Gathered,
    world: &World,
) -> Result<Catalog> {
    let recorded = gathered
        .recorded
        .as_ref()
        .and_then(|(recorded, _)| recorded.layouts.as_deref());
    match (&arguments.layouts, recorded) {
        (Some(dir), _) => files::catalog(Some(&world.folder.join(dir))),
        (None, Some(dir)) => {
            let prefix = RepoPath::prefix(gathered.path.as_ref());
            let folder = RepoPath::parse(&format!("{prefix}{dir}"))
                .map_err(|why| Problem::invalid(format!("{}: cannot use `layouts`: {why}", gathered.recorded_place)))?;
            files::catalog_of(gathered.target.tree()?.as_ref(), &folder)
        }
        (None, None) if gathered.lock.own_layouts => Err(Problem::usage("the files were rendered with layouts of your own, and nothing says where they are")
            .hint("add `--layouts DIR`, or put them into the repository and record `layouts: FOLDER` in .haptic-scaffold.yaml")
            .into()),
        (None, None) => Ok(Catalog::embedded()),
    }
}

/// The layout and the answers of the last run.
pub(in crate::command) struct LastRun {
    /// The layout.
    pub(in crate::command) layout: Layout,
    /// The answers.
    pub(in crate::command) answers: Answers,
    /// The answers as they were written.
    pub(super) resolved: Map<String, Value>,
}

impl LastRun {
    /// What the lock says, where it can still be understood. The answers in `.haptic-scaffold.yaml` may have been edited since, and count only
    /// where the lock has none.
    pub(in crate::command) fn of(gathered: &Gathered, catalog: &Catalog) -> Option<Self> {
        let recorded = || Some(gathered.recorded.as_ref()?.0.answers.as_ref()?.to_map());
        let locked = Some(&gathered.lock.answers)
            .filter(|answers| !answers.is_empty())
            .cloned();
        let resolved = locked.or_else(recorded)?;
        let layout = catalog.layout(resolved.get("layout")?.as_str()?).ok()?;
        let answers = Answers::of(&layout, &resolved, gathered.path.clone()).ok()?;
        Some(Self {
            layout,
            answers,
            resolved,
        })
    }
}
