//! The files whose history is looked for, by folder: two trees are compared only where they differ.

use std::collections::BTreeMap;

use git2::Oid;

use super::raw_trees::{Entries, RawTrees};

/// Files that are looked for, by the folders that they lie in.
#[derive(Default)]
pub(super) struct Wanted {
    files: Vec<(Vec<u8>, usize)>,
    folders: BTreeMap<Vec<u8>, Self>,
}

impl Wanted {
    pub(super) fn add(&mut self, path: &str, at: usize) {
        match path.split_once('/') {
            Some((folder, rest)) => {
                let below = self.folders.entry(folder.as_bytes().to_vec()).or_default();
                below.add(rest, at);
            }
            None => self.files.push((path.as_bytes().to_vec(), at)),
        }
    }

    pub(super) fn remove(&mut self, path: &str, at: usize) {
        match path.split_once('/') {
            Some((folder, rest)) => {
                if let Some(below) = self.folders.get_mut(folder.as_bytes()) {
                    below.remove(rest, at);
                    if below.is_empty() {
                        self.folders.remove(folder.as_bytes());
                    }
                }
            }
            None => self
                .files
                .retain(|(name, own)| (name.as_slice(), *own) != (path.as_bytes(), at)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty()
    }

    /// Hands over each file that has another id in the second tree, with that.
    pub(super) fn compare(
        &self,
        trees: &RawTrees<'_>,
        one: Option<Oid>,
        other: Option<Oid>,
        take: &mut dyn FnMut(usize, Option<Oid>),
    ) -> Result<(), git2::Error> {
        if one == other {
            return Ok(());
        }
        let (one, other) = (self.here(trees, one)?, self.here(trees, other)?);
        for (name, at) in &self.files {
            let id = |found: &BTreeMap<Vec<u8>, (Oid, bool)>| {
                let found = found.get(name).filter(|(_, is_folder)| !is_folder);
                found.map(|(id, _)| *id)
            };
            if id(&one) != id(&other) {
                take(*at, id(&other));
            }
        }
        for (name, below) in &self.folders {
            let id = |found: &BTreeMap<Vec<u8>, (Oid, bool)>| {
                let found = found.get(name).filter(|(_, is_folder)| *is_folder);
                found.map(|(id, _)| *id)
            };
            below.compare(trees, id(&one), id(&other), take)?;
        }
        Ok(())
    }

    /// What a tree has of what is looked for, and whether it is a folder.
    fn here(
        &self,
        trees: &RawTrees<'_>,
        tree: Option<Oid>,
    ) -> Result<BTreeMap<Vec<u8>, (Oid, bool)>, git2::Error> {
        let Some(tree) = tree else {
            return Ok(BTreeMap::new());
        };
        let bytes = trees.read_once(tree)?;
        let is_wanted = |name: &[u8]| {
            self.folders.contains_key(name) || self.files.iter().any(|(file, _)| file == name)
        };
        Ok(Entries::of(&bytes)
            .filter(|entry| is_wanted(entry.name))
            .map(|entry| (entry.name.to_vec(), (entry.id, entry.is_folder())))
            .collect())
    }
}
