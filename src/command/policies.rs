//! What was decided about upgrades: each `.haptic-scaffold.yaml` counts for what lies beside and below it.

use std::path::Path;

use anyhow::Result;

use super::files;
use crate::layout::recorded::{self, FILE_NAME};
use crate::model::repo_path::RepoPath;
use crate::plan::policy::Policy;

/// The policies of a repository.
pub struct Policies {
    /// By folder, the deepest first.
    all: Vec<(Option<RepoPath>, Policy)>,
    none: Policy,
}

impl Policies {
    /// Reads them. `config` is `--config`, which counts alone. What any of them says was rejected is rejected everywhere.
    ///
    /// # Errors
    /// When a file has something else than it may have; nothing is offered by half a policy.
    pub fn read(found: &[(RepoPath, String)], config: Option<&Path>) -> Result<Self> {
        let mut all = Vec::new();
        if let Some(config) = config {
            let (text, place) = (files::read_text(config)?, config.display().to_string());
            let recorded = recorded::parse(&text, &place)?;
            all.push((None, Policy::of(&recorded, &place, &text)?));
        } else {
            for (path, text) in found {
                let recorded = recorded::parse(text, path.as_str())?;
                all.push((path.parent(), Policy::of(&recorded, path.as_str(), text)?));
            }
        }
        let mut none = Policy::default();
        for (_, policy) in &all {
            none.reject_as(policy);
        }
        for (_, policy) in &mut all {
            policy.reject_as(&none);
        }
        let depth = |folder: &Option<RepoPath>| folder.as_ref().map_or(0, |f| f.parts().count());
        all.sort_by_key(|(folder, _)| std::cmp::Reverse(depth(folder)));
        // A file that says nothing of upgrades, as a scaffold writes it, takes away nothing of the one above.
        for index in 0..all.len() {
            let (own, above) = all.split_at_mut(index + 1);
            let (folder, policy) = &mut own[index];
            let upper = above.iter().find(|(upper, upper_policy)| {
                upper_policy.says_upgrades()
                    && folder.as_ref().is_some_and(|f| is_above(upper.as_ref(), f))
            });
            if let (false, Some((_, upper))) = (policy.says_upgrades(), upper) {
                policy.inherit(upper);
            }
        }
        Ok(Self { all, none })
    }

    /// What counts for a file.
    pub fn of(&self, file: &RepoPath) -> &Policy {
        let is_above = |folder: &Option<RepoPath>| {
            folder.is_none()
                || file
                    .as_str()
                    .starts_with(&RepoPath::prefix(folder.as_ref()))
        };
        let found = self.all.iter().find(|(folder, _)| is_above(folder));
        found.map_or(&self.none, |(_, policy)| policy)
    }

    /// The names of all environments.
    pub fn environments(&self) -> Vec<&str> {
        let all = self.all.iter().flat_map(|(_, policy)| &policy.environments);
        let mut names: Vec<&str> = all.map(|stage| stage.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn is_above(folder: Option<&RepoPath>, path: &RepoPath) -> bool {
    folder.is_none() || path.as_str().starts_with(&RepoPath::prefix(folder))
}

/// Whether a file is one with a policy.
pub fn is_policy(path: &RepoPath) -> bool {
    path.name() == FILE_NAME
}
