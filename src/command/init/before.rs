//! What a rendering needs to know of what is there: sealed Secrets, and what the answers of the last run said.

use anyhow::Result;

use super::{Answered, Init, LastRun};
use crate::cli::init::OnConflict as Flag;
use crate::command::gather::Gathered;
use crate::command::inputs::Inputs;
use crate::command::sealing::{Sealed, Sealer};
use crate::layout::answers::Answers;
use crate::layout::definition::Owner;
use crate::layout::profile::Profile;
use crate::layout::render::{Rendered, Rendering, render};
use crate::plan::scaffold::Before;

impl Init<'_> {
    /// Seals the Secrets that stand in Git and aren't there yet.
    pub(super) fn seal(&mut self, answers: &Answers, files: &[Rendered]) -> Result<Sealed> {
        let here = self.bench.map_or(self.gathered, |bench| &bench.here);
        let place = here.target.place();
        let inputs = Inputs {
            arguments: &self.arguments.values,
            folder: &self.world.folder,
            repository: Some(place),
            next_ca: self
                .rotation
                .and_then(|rotation| rotation.signed_by.as_deref()),
            now: self.world.now,
            typed: std::cell::OnceCell::new(),
        };
        let sealer = Sealer {
            answers,
            needed: &Profile::of(answers).secrets,
            inputs: &inputs,
            world: self.world,
            before: self.last.as_ref().map(|last| &last.answers),
            dry_run: self.common.dry_run,
            replaces: self.arguments.on_conflict == Flag::Replace,
            compares: self.is_init,
        };
        let again = |file: &Rendered| self.rotation.is_some_and(|rotation| (rotation.again)(file));
        let offered = self.offered_files(files)?;
        let tree = self.gathered.target.tree()?;
        let open: Vec<Rendered> = files
            .iter()
            .filter(|file| !offered.contains_key(&file.path))
            .cloned()
            .collect();
        let mut sealed = sealer.seal(&open, tree.as_ref(), &again, self.ui)?;
        sealed.extend(offered);
        Ok(sealed)
    }

    /// The repository that the person is in.
    pub(super) fn here(&self) -> &Gathered {
        self.bench.map_or(self.gathered, |bench| &bench.here)
    }

    /// What the answers of the last run said about files that are still there.
    pub(super) fn before(&self, answered: &Answered, now: &Rendering) -> Result<Before> {
        let Some(LastRun {
            layout, answers, ..
        }) = self
            .last
            .as_ref()
            .filter(|last| last.resolved != answered.resolved)
        else {
            return Ok(Before::default());
        };
        let version_of = |name: &String| {
            answered
                .chosen
                .versions
                .get(name)
                .cloned()
                .unwrap_or_default()
        };
        let versions = answers
            .clusters
            .iter()
            .map(|c| (c.name.clone(), version_of(&c.name)))
            .collect();
        let Ok(old) = render(self.catalog, layout, answers, &versions, None) else {
            return Ok(Before::default());
        };
        let pins = old
            .files
            .iter()
            .map(|file| (file.path.clone(), file.pins.clone()))
            .collect();
        let is_changed = |old: &Rendered| {
            now.files
                .iter()
                .any(|f| f.path == old.path && f.text != old.text)
        };
        let starters = old
            .files
            .into_iter()
            .filter(|f| f.owner == Owner::User && is_changed(f))
            .map(|f| (f.path, f.text))
            .collect();
        Ok(Before {
            starters,
            pins,
            carried: answered.carried.clone(),
        })
    }
}
