//! Rotations: changes of an answer or of a sealed Secret that are no `init`, and go the same way.

use anyhow::Result;

use super::bench::Bench;
use super::{Init, LastRun, catalog, delivery, gathered, recover_first};
use crate::cli::Common;
use crate::cli::init::InitArgs;
use crate::command::files;
use crate::command::gather::{Gathered, Places};
use crate::error::{ExitStatus, Problem};
use crate::git::target::Target;
use crate::git::trees::GitTree;
use crate::layout::render::Rendered;
use crate::model::text::unix_lines;
use crate::model::tree::{Entry, Tree as _};
use crate::plan::change::{Change, FileChange, Verdict};
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
    let folder = files::working_folder(common, world);
    let config = common.config.as_deref().map(|file| world.folder.join(file));
    let places = Places {
        folder: &folder,
        dir: None,
        sub: arguments.path.as_deref(),
        config: config.as_deref(),
        may_follow_bootstrap: false,
        bench: None,
    };
    if !common.dry_run {
        recover_first(&places)?;
    }
    let bench = Bench::of(&arguments.deliver, &places, world)?;
    let (gathered, reached) = gathered(bench.as_ref(), &arguments.deliver, places)?;
    if let (Some(bench), Some(reached)) = (&bench, &reached) {
        bench.check_same(reached)?;
    }
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
        delivery: delivery(bench.as_ref(), reached, &common),
        bench: bench.as_ref(),
    };
    init.refuse_pending()?;
    let answered = init.answer()?;
    let plain = init.plan(&answered)?;
    init.rotation = Some(rotation);
    let answered = init.answer()?;
    let change = init.plan(&answered)?;
    refuse_other_changes(&plain, &change)?;
    init.finish(&answered, &change)
}

/// A file of a change whose text isn't the one of the last commit: what somebody has not committed yet would be lost, or go out with the change.
pub(super) fn dirty<'a>(
    gathered: &Gathered,
    mut files: impl Iterator<Item = &'a FileChange>,
) -> Result<Option<&'a FileChange>> {
    let (Target::Existing(repository), Some(head)) = (&gathered.target, &gathered.head) else {
        return Ok(None);
    };
    let tree = GitTree::of(repository, head.commit)?;
    let is_dirty = |file: &&FileChange| -> Result<bool> {
        let committed = match tree.entry(&file.path)? {
            Some(Entry::File(bytes)) => Some(unix_lines(&bytes)),
            _ => None,
        };
        Ok(file.old.as_deref().map(unix_lines) != committed)
    };
    files
        .find_map(|file| match is_dirty(&file) {
            Ok(false) => None,
            Ok(true) => Some(Ok(file)),
            Err(why) => Some(Err(why)),
        })
        .transpose()
}

impl Init<'_> {
    fn refuse_pending(&self) -> Result<()> {
        if !self.gathered.is_pending {
            return Ok(());
        }
        Err(Problem::new(
            ExitStatus::Conflicts,
            "what an earlier run wrote isn't committed, and a rotation is a commit of its own",
        )
        .hint("commit it, or run `haptic-scaffold init` again, which does")
        .into())
    }
}

/// What a plain `init` would change isn't a rotation's to change; but for a Secret that stands in clear where the rotation seals another value.
fn refuse_other_changes(plain: &Change, rotated: &Change) -> Result<()> {
    let heals = |file: &FileChange| {
        file.verdict == Verdict::Conflict
            && rotated.writes().any(|written| written.path == file.path)
    };
    let mut files = plain
        .writes()
        .chain(plain.conflicts())
        .filter(|file| !heals(file));
    let is_own = |file: &&FileChange| file.path.name().starts_with(".haptic-scaffold");
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
