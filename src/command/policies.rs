//! What was decided about upgrades: each `.haptic-scaffold.yaml` counts for what lies beside and below it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use super::files;
use super::pins::{chart_of, git_of};
use crate::layout::recorded::{self, FILE_NAME};
use crate::model::policy::RequestPolicy;
use crate::model::repo_path::RepoPath;
use crate::pins::Pin;
use crate::plan::policy::Policy;

/// The policies of a repository.
pub struct Policies {
    /// By folder, the deepest first.
    all: Vec<(Option<RepoPath>, Policy)>,
    none: Policy,
    /// How merge requests are opened and kept, as the file at the top says.
    pub requests: RequestPolicy,
}

impl Policies {
    /// Reads them. `config` is `--config`, which counts alone. What any of them says was rejected is rejected everywhere.
    ///
    /// # Errors
    /// When a file has something else than it may have; nothing is offered by half a policy.
    pub fn read(found: &[(RepoPath, String)], config: Option<&Path>) -> Result<Self> {
        let mut all = Vec::new();
        let mut requests = RequestPolicy::default();
        if let Some(config) = config {
            let (text, place) = (files::read_text(config)?, config.display().to_string());
            let recorded = recorded::parse(&text, &place)?;
            all.push((None, Policy::of(&recorded, &place, &text)?));
            requests = recorded.requests.unwrap_or_default();
        } else {
            for (path, text) in found {
                let recorded = recorded::parse(text, path.as_str())?;
                all.push((path.parent(), Policy::of(&recorded, path.as_str(), text)?));
                if path.parent().is_none() {
                    requests = recorded.requests.unwrap_or_default();
                }
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
        for (index, (folder, policy)) in all.iter_mut().enumerate() {
            policy.order = index;
            if let Some(folder) = folder {
                policy.seen_from(folder);
            }
        }
        // From the top down, so that each has all of those above it.
        for index in (0..all.len()).rev() {
            let (own, above) = all.split_at_mut(index + 1);
            let (folder, policy) = &mut own[index];
            let mut uppers = above
                .iter()
                .filter(|(upper, _)| folder.as_ref().is_some_and(|f| is_above(upper.as_ref(), f)));
            if let Some((_, upper)) = uppers.next() {
                policy.inherit(upper);
            }
        }
        Ok(Self {
            all,
            none,
            requests,
        })
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

    /// What they say about charts and folders that have no pin.
    pub fn unmet(&self, pins: &[Pin]) -> Vec<String> {
        let named = |pin: &Pin| {
            let chart = chart_of(pin).map(|chart| (chart.name.clone(), chart.address()));
            let git = git_of(pin).map(|(name, address)| (name.to_owned(), address.to_owned()));
            let name = pin.chart.clone().map(|name| (name, String::new()));
            chart.or(git).or(name)
        };
        let charts: Vec<(String, String)> = pins.iter().filter_map(named).collect();
        let files: Vec<&RepoPath> = pins.iter().map(|pin| &pin.file).collect();
        let all = self
            .all
            .iter()
            .flat_map(|(_, policy)| policy.unmet(&charts, &files));
        let unique: BTreeSet<String> = all.collect();
        unique.into_iter().collect()
    }

    /// Whether any of some versions was rejected, of whichever chart.
    pub fn have_rejected(&self, versions: &[String]) -> bool {
        versions
            .iter()
            .any(|version| self.none.has_rejected(version))
    }

    /// What was rejected, and why: one line each.
    pub fn rejected(&self) -> Vec<String> {
        let all = self.none.rejected.iter();
        all.map(|(chart, version, why)| format!("{chart} {version}: {why}"))
            .collect()
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
