//! Joins patches to the objects that they are for. A patch says which object that is and not of which chart: the object says it.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{KustomizationFact, ObjectFact};
use super::found::{Kind, Pin, Source};
use super::given::Given;
use super::identity::Identity;
use crate::model::repo_path::{RepoPath, resolved};

/// An object that runs a chart, with what it runs as far as this repository says it.
#[derive(Debug)]
pub(super) struct Object {
    file: RepoPath,
    /// As its file says it.
    said: Identity,
    /// As kustomizations give it.
    given: Identity,
    chart: Option<String>,
    address: Option<String>,
}

impl Object {
    /// An object with the address that its chart comes from.
    pub(super) fn of(fact: &ObjectFact, address: Option<String>, given: &Given) -> Self {
        let said = Identity::said(&fact.object);
        Self {
            given: said.clone().given(&fact.file, given),
            file: fact.file.clone(),
            said,
            chart: fact.chart.clone(),
            address,
        }
    }

    /// Whether a patch is for it. kustomize matches the namespace that was there before its own change, too.
    fn fits(&self, patch: &Identity) -> bool {
        self.given.may_be(patch) || !self.said.namespaces.is_empty() && self.said.may_be(patch)
    }

    fn is_surely(&self, patch: &Identity) -> bool {
        let is_in = |one: &Identity| !one.namespaces.is_disjoint(&patch.namespaces);
        is_in(&self.given) || is_in(&self.said)
    }
}

/// Whether a pin says nothing of a chart, and is for one all the same.
pub(super) fn is_patch(pin: &Pin) -> bool {
    pin.kind == Kind::Chart
        && pin.chart.is_none()
        && pin.defines.is_none()
        && pin.source == Source::Unknown
}

/// Gives each patch the chart of its object: one that its own kustomization takes in, else one that those around it do. One that is for no object here changes
/// nothing that is seen.
pub(super) fn join_patches(
    pins: &mut [Pin],
    objects: &[Object],
    kustomizations: &[KustomizationFact],
) {
    let mut reach = Reach::of(kustomizations);
    let mut named: BTreeMap<(&str, &str), Vec<&Object>> = BTreeMap::new();
    for one in objects {
        let key = (one.said.kind.as_str(), one.said.name.as_str());
        named.entry(key).or_default().push(one);
    }
    for pin in pins.iter_mut().filter(|pin| is_patch(pin)) {
        let Some(object) = pin.object.clone() else {
            continue;
        };
        let mut tell = |why: String| {
            pin.why.get_or_insert(why);
        };
        let patch = Identity::said(&object);
        // kustomize reads the name of a target as a regular expression.
        if patch.name.contains(['*', '.', '+', '|', '(', '[']) {
            tell(format!("a patch for every object like `{object}`"));
            continue;
        }
        let alike = named.get(&(patch.kind.as_str(), patch.name.as_str()));
        let alike = alike.into_iter().flatten().copied();
        let fitting: Vec<&Object> = alike.filter(|one| one.fits(&patch)).collect();
        if fitting.is_empty() {
            tell(format!(
                "a patch for `{object}`, which is not in this repository"
            ));
            pin.effective = false;
            continue;
        }
        let Some(near) = reach.nearest(&pin.file, &fitting) else {
            tell(format!(
                "a patch for `{object}`, and its kustomization takes in none that is seen here"
            ));
            continue;
        };
        let sure: Vec<&&Object> = near.iter().filter(|one| one.is_surely(&patch)).collect();
        let chosen = if sure.is_empty() {
            near.iter().collect()
        } else {
            sure
        };
        let of: BTreeSet<_> = chosen
            .iter()
            .map(|one| (&one.chart, &one.address))
            .collect();
        match (of.first(), of.len()) {
            (Some((chart, address)), 1) => {
                pin.chart.clone_from(chart);
                pin.source = (*address).clone().map_or(Source::Unknown, Source::Address);
            }
            _ => tell(format!(
                "a patch for `{object}`, of which there are several"
            )),
        }
    }
}

/// The files that kustomizations take in.
struct Reach<'a> {
    all: &'a [KustomizationFact],
    /// By the folder: files of kustomize alone.
    by_folder: BTreeMap<&'a str, Vec<usize>>,
    /// By the file that says it.
    by_file: BTreeMap<&'a str, Vec<usize>>,
    /// Who takes in a path.
    takers: BTreeMap<String, Vec<usize>>,
    /// What was worked out already.
    known: BTreeMap<(usize, bool), BTreeSet<String>>,
}

impl<'a> Reach<'a> {
    fn of(all: &'a [KustomizationFact]) -> Self {
        let mut reach = Self {
            all,
            by_folder: BTreeMap::new(),
            by_file: BTreeMap::new(),
            takers: BTreeMap::new(),
            known: BTreeMap::new(),
        };
        for (index, one) in all.iter().enumerate() {
            let file = one.file.as_str();
            reach.by_file.entry(file).or_default().push(index);
            if !one.is_object {
                let folder = one.folder.as_ref().map_or("", RepoPath::as_str);
                reach.by_folder.entry(folder).or_default().push(index);
            }
            for resource in &one.resources {
                if let Some(path) = resolved(one.folder.as_ref(), resource) {
                    reach.takers.entry(path).or_default().push(index);
                }
            }
        }
        reach
    }

    /// Of objects those that the patch's kustomization takes in, else those that what it applies or what takes it in does. All where no kustomization is
    /// known to have the patch, none where none takes any in.
    fn nearest<'b>(&mut self, file: &RepoPath, fitting: &[&'b Object]) -> Option<Vec<&'b Object>> {
        let mut owners = self.by_file.get(file.as_str()).cloned().unwrap_or_default();
        if owners.is_empty() {
            owners = self.takers.get(file.as_str()).cloned().unwrap_or_default();
        }
        if owners.is_empty() {
            return Some(fitting.to_vec());
        }
        let mut seen: BTreeSet<usize> = owners.iter().copied().collect();
        while !owners.is_empty() {
            for through_objects in [false, true] {
                let mut near = Vec::new();
                for owner in &owners {
                    let taken = self.taken(*owner, through_objects);
                    near.extend(
                        fitting
                            .iter()
                            .copied()
                            .filter(|one| is_in(&one.file, taken)),
                    );
                }
                if !near.is_empty() {
                    return Some(near);
                }
            }
            // A component changes what those take in that name it.
            owners = owners
                .iter()
                .filter_map(|owner| self.all[*owner].folder.as_ref())
                .filter_map(|folder| self.takers.get(folder.as_str()))
                .flatten()
                .copied()
                .filter(|taker| seen.insert(*taker))
                .collect();
        }
        None
    }

    /// The files and folders that a kustomization takes in, through those that it names; also what objects of Flux in those files apply.
    fn taken(&mut self, from: usize, through_objects: bool) -> &BTreeSet<String> {
        if !self.known.contains_key(&(from, through_objects)) {
            let taken = self.walk(from, through_objects);
            self.known.insert((from, through_objects), taken);
        }
        &self.known[&(from, through_objects)]
    }

    fn walk(&self, from: usize, through_objects: bool) -> BTreeSet<String> {
        let mut taken = BTreeSet::new();
        let mut open = vec![from];
        let mut seen = BTreeSet::from([from]);
        while let Some(index) = open.pop() {
            let one = &self.all[index];
            for resource in &one.resources {
                let Some(path) = resolved(one.folder.as_ref(), resource) else {
                    continue;
                };
                let inner = self.by_folder.get(path.as_str());
                let applied = through_objects.then(|| self.objects_in(&path)).into_iter();
                let inner = inner.into_iter().flatten().copied();
                let next = inner
                    .chain(applied.flatten())
                    .filter(|one| seen.insert(*one));
                open.extend(next.collect::<Vec<_>>());
                if !self.by_folder.contains_key(path.as_str()) {
                    taken.insert(path);
                }
            }
        }
        taken
    }

    /// Objects of Flux in a file, or anywhere below a folder.
    fn objects_in(&self, path: &str) -> Vec<usize> {
        let below = self
            .by_file
            .range(path..)
            .take_while(|(file, _)| file.starts_with(path));
        let in_it = below.filter(|(file, _)| is_below(file, path));
        let all = in_it.flat_map(|(_, all)| all.iter().copied());
        all.filter(|index| self.all[*index].is_object).collect()
    }
}

/// Whether a file is one of some paths, or in a folder that is.
fn is_in(file: &RepoPath, taken: &BTreeSet<String>) -> bool {
    let mut path = file.as_str();
    loop {
        if taken.contains(path) {
            return true;
        }
        match path.rsplit_once('/') {
            Some((folder, _)) => path = folder,
            None => return taken.contains(""),
        }
    }
}

fn is_below(file: &str, path: &str) -> bool {
    let rest = file.strip_prefix(path);
    path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
