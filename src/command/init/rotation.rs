//! Rotations: changes of an answer or of a sealed Secret that are no `init`, and go the same way.

use anyhow::Result;

use super::{Init, LastRun, catalog, recover_first};
use crate::cli::Common;
use crate::cli::init::InitArgs;
use crate::command::gather::{Places, gather};
use crate::error::Problem;
use crate::layout::render::Rendered;
use crate::plan::change::FileChange;
use crate::plan::purpose::Purpose;
use crate::ui::{Outcome, Ui};
use crate::world::World;

/// A change of answers or Secrets that is no `init`, and goes the same way.
pub(in crate::command) struct Rotation<'a> {
    /// What it is about.
    pub(in crate::command) purpose: Purpose,
    /// The CA to record.
    pub(in crate::command) webhook_ca: Option<String>,
    /// The CA that comes after it.
    pub(in crate::command) webhook_ca_next: Option<String>,
    /// The CA that has to have signed the webhook's certificate, where not every one of the answers will do.
    pub(in crate::command) signed_by: Option<String>,
    /// Whether a file is sealed anew.
    pub(in crate::command) again: &'a dyn Fn(&Rendered) -> bool,
    /// What is left to do then.
    pub(in crate::command) steps: Vec<String>,
}

/// Rotates something in a scaffolded repository: one commit that has this and nothing else. Of the arguments, the folder, the author and the values count.
///
/// # Errors
/// As [`super::run`]; and when the files aren't as the answers say to begin with.
pub(in crate::command) fn rotate(
    arguments: &InitArgs,
    common: &Common,
    world: &World,
    ui: &mut Ui,
    rotation: &Rotation<'_>,
) -> Result<Outcome> {
    let folder = common
        .directory
        .as_deref()
        .map_or_else(|| world.folder.clone(), |dir| world.folder.join(dir));
    let config = common.config.as_deref().map(|file| world.folder.join(file));
    let places = Places {
        folder: &folder,
        dir: None,
        sub: arguments.path.as_deref(),
        config: config.as_deref(),
        may_follow_bootstrap: false,
    };
    if !common.dry_run {
        recover_first(&places)?;
    }
    let gathered = gather(&places)?;
    let catalog = catalog(arguments, &gathered, world)?;
    let common = Common {
        yes: true,
        ..common.clone()
    };
    let mut init = Init {
        arguments,
        common: &common,
        world,
        ui,
        gathered: &gathered,
        catalog: &catalog,
        last: LastRun::of(&gathered, &catalog),
        rotation: None,
        is_init: false,
    };
    init.refuse_other_changes()?;
    init.rotation = Some(rotation);
    let answered = init.answer()?;
    let change = init.plan(&answered)?;
    init.finish(&answered, &change)
}

impl Init<'_> {
    /// What a plain `init` would change isn't a rotation's to change.
    fn refuse_other_changes(&mut self) -> Result<()> {
        let answered = self.answer()?;
        let change = self.plan(&answered)?;
        let is_own = |file: &&FileChange| file.path.name().starts_with(".haptic-scaffold");
        let mut files = change.writes().chain(change.conflicts());
        let Some(first) = files.next() else {
            return Ok(());
        };
        let file = if is_own(&first) {
            files.find(|file| !is_own(file)).unwrap_or(first)
        } else {
            first
        };
        Err(Problem::invalid(format!(
            "`{}` and maybe others aren't as the answers say, and a rotation is a commit of its own",
            file.path
        ))
        .hint("run `haptic-scaffold init` first, and commit what it does")
        .into())
    }
}
