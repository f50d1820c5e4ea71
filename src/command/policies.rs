//! What was decided about upgrades: each `.haptic-scaffold.yaml` counts for what lies beside and below it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use git2::{Oid, Repository};
use semver::Version;

use super::files;
use super::pins::{chart_of, git_of};
use crate::git::old_offers::OldOffer;
use crate::git::recoveries::recoveries;
use crate::git::trees::GitTree;
use crate::layout::recorded::{self, FILE_NAME};
use crate::model::policy::RequestPolicy;
use crate::model::range::lenient_version;
use crate::model::repo_path::RepoPath;
use crate::model::tree::read_text;
use crate::pins::Pin;
use crate::plan::bundle;
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
            // Another file may say how versions are chosen, but never that one which was rejected is good again.
            for (path, text) in found {
                if let Some(policy) = lenient(text, path.as_str()) {
                    all[0].1.reject_as(&policy);
                }
            }
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

    /// Takes over what recoveries that aren't merged into a base yet say was rejected: nobody offers it meanwhile. They are returned.
    ///
    /// # Errors
    /// When the branches can't be read.
    pub fn with_recoveries(&mut self, repository: &Repository, base: Oid) -> Result<Vec<OldOffer>> {
        let all = recoveries(repository, base)?;
        for recovery in &all {
            let tree = GitTree::of(repository, Some(recovery.tip))?;
            for path in &recovery.paths {
                // People may have put anything there.
                let Ok(path) = RepoPath::parse(path) else {
                    continue;
                };
                if is_policy(&path)
                    && let Ok(Some(text)) = read_text(&tree, &path)
                {
                    self.also_rejected(&text, path.as_str());
                }
            }
        }
        Ok(all)
    }

    /// A file that can't be read says nothing: its request says what is wrong with it.
    fn also_rejected(&mut self, text: &str, place: &str) {
        let Some(other) = lenient(text, place) else {
            return;
        };
        self.none.reject_as(&other);
        for (_, policy) in &mut self.all {
            policy.reject_as(&other);
        }
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

    /// Whether any of the versions that a change offers was rejected. Its key says which chart they are of.
    pub fn have_rejected(&self, key: &str, versions: &[String]) -> bool {
        let mut rejected = self.none.rejected.iter();
        rejected.any(|(chart, version, _)| self.offers(key, versions, (chart, version)))
    }

    /// Whether a change with a key offers a version of a chart, by its name or address: also as one of a group.
    pub fn offers(&self, key: &str, versions: &[String], of: (&str, &Version)) -> bool {
        let is_it = |group: &str| bundle::is_of(key, group);
        let is_about = match bundle::is_of_group(key) {
            true => self
                .all
                .iter()
                .any(|(_, one)| one.is_in_group(of.0, &is_it)),
            false => bundle::is_of_chart(key, of.0),
        };
        let mut versions = versions.iter().filter_map(|text| lenient_version(text));
        is_about && versions.any(|version| version.cmp_precedence(of.1).is_eq())
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

/// A policy that may be wrong, where another one counts.
fn lenient(text: &str, place: &str) -> Option<Policy> {
    let recorded = recorded::parse(text, place).ok()?;
    Policy::of(&recorded, place, text).ok()
}

fn is_above(folder: Option<&RepoPath>, path: &RepoPath) -> bool {
    folder.is_none() || path.as_str().starts_with(&RepoPath::prefix(folder))
}

/// Whether a file is one with a policy.
pub fn is_policy(path: &RepoPath) -> bool {
    path.name() == FILE_NAME
}
