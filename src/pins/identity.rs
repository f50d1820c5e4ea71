//! [`Identity`]: which object of the cluster a text means, with the namespaces that it may be in.

use std::collections::BTreeSet;

use super::given::Given;
use crate::model::repo_path::RepoPath;

/// An object by kind and name, and its namespaces as far as they are known: more than one where several overlays take its file in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) namespaces: BTreeSet<String>,
}

impl Identity {
    /// The object that `Kind/namespace/name` or `Kind/name` names, as a file says it.
    pub(super) fn said(object: &str) -> Self {
        let (kind, rest) = object.split_once('/').unwrap_or((object, ""));
        let (namespace, name) = match rest.rsplit_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, rest),
        };
        Self {
            kind: kind.to_owned(),
            name: name.to_owned(),
            namespaces: namespace.map(str::to_owned).into_iter().collect(),
        }
    }

    /// The same object in the namespaces that kustomizations give to its file.
    pub(super) fn given(mut self, file: &RepoPath, given: &Given) -> Self {
        let own = self.namespaces.pop_first();
        self.namespaces = given.namespaces(file, own.as_deref());
        self
    }

    /// Whether both may be one object: an unknown namespace may be any.
    pub(super) fn may_be(&self, other: &Self) -> bool {
        let is_near = || {
            self.namespaces.is_empty()
                || other.namespaces.is_empty()
                || !self.namespaces.is_disjoint(&other.namespaces)
        };
        self.kind == other.kind && self.name == other.name && is_near()
    }
}
