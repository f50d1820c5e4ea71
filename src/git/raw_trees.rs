//! Trees as the bytes that git stores (gitformat-pack: `mode name\0`, then the 20 bytes of the id, again and again), each read once.
//!
//! libgit2 makes an object of every entry, verifies the tree again at each look and, where it writes one, looks every entry up. In a folder of thousands that is
//! most of what a change of one file costs. Here a file's id is found, and exchanged, where it stands.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use git2::{Error, ErrorClass, ErrorCode, ObjectType, Odb, Oid, Repository};

const ID: usize = 20;
const FOLDER: &[u8] = b"40000";

/// One line of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// Its mode, as git writes it: octal, without a leading zero.
    pub(super) mode: &'a [u8],
    /// Its name.
    pub(super) name: &'a [u8],
    /// What it is.
    pub(super) id: Oid,
    /// Where the id's bytes start.
    at: usize,
}

impl Entry<'_> {
    pub(super) fn is_folder(&self) -> bool {
        self.mode == FOLDER
    }
}

/// The entries of a tree, in their order. They end where the bytes aren't those of a tree.
pub(super) struct Entries<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Entries<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let rest = self.bytes.get(self.at..)?;
        let space = memchr::memchr(b' ', rest)?;
        let end = space + memchr::memchr(0, &rest[space..])?;
        let id = Oid::from_bytes(rest.get(end + 1..end + 1 + ID)?).ok()?;
        let at = self.at + end + 1;
        self.at = at + ID;
        Some(Entry {
            mode: &rest[..space],
            name: &rest[space + 1..end],
            id,
            at,
        })
    }
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: Oid,
    pub(super) mode: Vec<u8>,
}

/// The trees of a repository.
pub(super) struct RawTrees<'r> {
    odb: Odb<'r>,
    read: RefCell<HashMap<Oid, Rc<[u8]>>>,
}

impl<'r> RawTrees<'r> {
    pub(super) fn of(repository: &'r Repository) -> Result<Self, Error> {
        Ok(Self {
            odb: repository.odb()?,
            read: RefCell::default(),
        })
    }

    /// The bytes of a tree.
    pub(super) fn bytes(&self, id: Oid) -> Result<Rc<[u8]>, Error> {
        if let Some(known) = self.read.borrow().get(&id) {
            return Ok(Rc::clone(known));
        }
        let object = self.odb.read(id)?;
        if object.kind() != ObjectType::Tree {
            return Err(missing(&format!("{id} is no tree")));
        }
        let bytes: Rc<[u8]> = object.data().into();
        self.read.borrow_mut().insert(id, Rc::clone(&bytes));
        Ok(bytes)
    }

    /// The bytes of a tree that is looked at once: a history has too many to keep.
    pub(super) fn read_once(&self, id: Oid) -> Result<Vec<u8>, Error> {
        let object = self.odb.read(id)?;
        if object.kind() != ObjectType::Tree {
            return Err(missing(&format!("{id} is no tree")));
        }
        Ok(object.data().to_vec())
    }

    /// What stands at a path below a tree, or nothing.
    pub(super) fn find(&self, tree: Oid, path: &str) -> Result<Option<Found>, Error> {
        let mut folder = tree;
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            let bytes = self.bytes(folder)?;
            let Some(entry) = Entries::of(&bytes).find(|entry| entry.name == part.as_bytes())
            else {
                return Ok(None);
            };
            match (parts.peek(), entry.is_folder()) {
                (None, _) => {
                    return Ok(Some(Found {
                        id: entry.id,
                        mode: entry.mode.to_vec(),
                    }));
                }
                (Some(_), true) => folder = entry.id,
                (Some(_), false) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Writes a tree that has other ids for some of its files, and all else as it was. Every path has to be there, and no folder.
    pub(super) fn exchange(&self, tree: Oid, ids: &[(&str, Oid)]) -> Result<Oid, Error> {
        let mut bytes = self.bytes(tree)?.to_vec();
        let mut below: BTreeMap<&[u8], Vec<(&str, Oid)>> = BTreeMap::new();
        let mut own: HashMap<&[u8], Oid> = HashMap::new();
        for (path, id) in ids {
            match path.split_once('/') {
                Some((folder, rest)) => {
                    below
                        .entry(folder.as_bytes())
                        .or_default()
                        .push((rest, *id));
                }
                None => {
                    own.insert(path.as_bytes(), *id);
                }
            }
        }
        for (folder, ids) in below {
            let before = self.bytes(tree)?;
            let entry = Entries::of(&before).find(|entry| entry.name == folder);
            let entry = entry.ok_or_else(|| missing("a folder on the way"))?;
            own.insert(folder, self.exchange(entry.id, &ids)?);
        }
        let before = self.bytes(tree)?;
        for entry in Entries::of(&before) {
            if let Some(id) = own.remove(entry.name) {
                bytes[entry.at..entry.at + ID].copy_from_slice(id.as_bytes());
            }
        }
        if own.is_empty() {
            self.odb.write(ObjectType::Tree, &bytes)
        } else {
            Err(missing("a file that was there"))
        }
    }
}

fn missing(what: &str) -> Error {
    Error::new(ErrorCode::NotFound, ErrorClass::Tree, what)
}

#[cfg(test)]
mod tests {
    use git2::FileMode;
    use git2::build::TreeUpdateBuilder;
    use proptest::prelude::*;

    use super::*;

    fn blob(repository: &Repository, text: &str) -> Oid {
        repository.blob(text.as_bytes()).unwrap()
    }

    fn tree(repository: &Repository, base: Option<Oid>, files: &[(&str, Oid)]) -> Oid {
        let mut update = TreeUpdateBuilder::new();
        for (path, id) in files {
            update.upsert(*path, *id, FileMode::Blob);
        }
        let empty = || repository.treebuilder(None).unwrap().write().unwrap();
        let base = repository.find_tree(base.unwrap_or_else(empty)).unwrap();
        update.create_updated(repository, &base).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
        #[test]
        fn exchanging_ids_writes_the_tree_that_libgit2_writes(
            names in proptest::collection::btree_set("[a-c](/[a-c. 0-]{1,3}[x-z]){0,3}", 1..12),
            chosen in proptest::collection::vec(any::<bool>(), 12),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let repository = Repository::init_bare(folder.path()).unwrap();
            // A name that is also a folder on the way to another can't be a file.
            let names: Vec<&str> = names
                .iter()
                .map(String::as_str)
                .filter(|name| !names.iter().any(|other| other.starts_with(&format!("{name}/"))))
                .collect();
            let (one, other) = (blob(&repository, "1"), blob(&repository, "2"));
            let files: Vec<(&str, Oid)> = names.iter().map(|name| (*name, one)).collect();
            let base = tree(&repository, None, &files);
            let moved: Vec<(&str, Oid)> = names
                .iter()
                .zip(&chosen)
                .filter(|(_, chosen)| **chosen)
                .map(|(name, _)| (*name, other))
                .collect();
            let trees = RawTrees::of(&repository).unwrap();
            let made = trees.exchange(base, &moved).unwrap();
            prop_assert_eq!(made, tree(&repository, Some(base), &moved));
            for (name, id) in &files {
                let wanted = moved.iter().find(|(moved, _)| moved == name).map_or(*id, |(_, id)| *id);
                let found = trees.find(made, name).unwrap().unwrap();
                prop_assert_eq!(found, Found { id: wanted, mode: b"100644".to_vec() });
            }
        }
    }

    #[test]
    fn what_is_not_there_is_not_found_and_not_exchanged() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        let one = blob(&repository, "1");
        let base = tree(&repository, None, &[("a/b", one), ("c", one)]);
        let trees = RawTrees::of(&repository).unwrap();
        for path in ["b", "a/c", "c/d", "a/b/c", "", "/", "a/"] {
            assert_eq!(trees.find(base, path).unwrap(), None, "{path}");
            let made = trees.exchange(base, &[(path, one)]);
            assert!(made.is_err(), "{path}");
        }
        assert!(trees.find(base, "a").unwrap().unwrap().mode == FOLDER);
        assert!(trees.find(one, "a").is_err());
    }
}
