//! Puts the findings of all files together: addresses of sources, namespaces that kustomizations give, variables and their definitions.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{Definition, Facts, Findings, Of, Scope};
use super::found::{Kind, Pin, Source, Unread};
use crate::model::repo_path::RepoPath;

/// Every pin of a repository, by file and place.
#[derive(Debug, Default)]
pub struct Joined {
    /// The pins.
    pub pins: Vec<Pin>,
    /// What can't be read.
    pub unread: Vec<Unread>,
}

/// Puts files together.
pub fn join(files: Vec<Findings>) -> Joined {
    let mut facts = All::default();
    let mut joined = Joined::default();
    let mut definitions = Vec::new();
    for findings in files {
        definitions.extend(facts.add(findings.facts));
        joined.pins.extend(findings.pins);
        joined.unread.extend(findings.unread);
    }
    let defined = facts.define(&mut joined.pins, definitions);
    for pin in &mut joined.pins {
        facts.resolve(pin);
        facts.judge_artifact(pin);
        judge_default(pin, &defined);
    }
    join_patches(&mut joined.pins);
    joined
        .pins
        .sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    joined
        .unread
        .sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    joined
}

/// By kind, namespace and name. Two clusters may have sources of one name with different addresses.
type Sources = BTreeMap<(String, String, String), BTreeSet<String>>;

/// What all files say that pins of others depend on.
#[derive(Default)]
struct All {
    sources: Sources,
    /// What stands at the places that read a name: more than one thing where they differ.
    uses: BTreeMap<(Scope, String), Vec<Of>>,
    /// The namespace that a kustomization gives to a file.
    given: BTreeMap<String, String>,
    substitutes_from: BTreeSet<String>,
    manifests: BTreeSet<String>,
    charts: BTreeSet<String>,
}

impl All {
    /// Adds what a file says, and returns the names that it defines.
    fn add(&mut self, facts: Facts) -> Vec<Definition> {
        for (kind, namespace, name, address) in facts.sources {
            let known = self.sources.entry((kind, namespace, name)).or_default();
            known.insert(address);
        }
        for kustomization in facts.kustomizations {
            let Some(namespace) = kustomization.namespace else {
                continue;
            };
            let prefix = RepoPath::prefix(kustomization.folder.as_ref());
            for resource in kustomization.resources {
                let resource = resource.trim_start_matches("./");
                self.given
                    .insert(format!("{prefix}{resource}"), namespace.clone());
            }
        }
        for used in facts.uses {
            let known = self.uses.entry((used.scope, used.name)).or_default();
            if !known.contains(&used.of) {
                known.push(used.of);
            }
        }
        self.substitutes_from.extend(facts.substitutes_from);
        self.manifests.extend(facts.manifests);
        self.charts.extend(facts.charts);
        facts.definitions
    }

    /// Adds the definitions of names that a version's place reads. Returns the variables of Flux among them.
    fn define(&self, pins: &mut Vec<Pin>, definitions: Vec<Definition>) -> BTreeSet<String> {
        let mut defined = BTreeSet::new();
        let mut known: BTreeMap<(RepoPath, usize), usize> = pins
            .iter()
            .enumerate()
            .map(|(index, pin)| ((pin.file.clone(), pin.span.start), index))
            .collect();
        for Definition {
            scope,
            name,
            mut pin,
        } in definitions
        {
            let object = pin.object.as_deref().unwrap_or_default();
            let map = object.strip_prefix("ConfigMap/").map(name_of);
            if map.is_some_and(|map| !self.substitutes_from.contains(map)) {
                continue;
            }
            let Some(of) = self.uses.get(&(scope.clone(), name.clone())) else {
                continue;
            };
            match of.as_slice() {
                [one] => {
                    pin.kind = one.kind;
                    pin.chart.clone_from(&one.chart);
                    pin.source.clone_from(&one.source);
                }
                _ => pin.why = Some(format!("`{name}` is read by more than one chart")),
            }
            if scope == Scope::Flux {
                defined.insert(name);
            }
            let place = (pin.file.clone(), pin.span.start);
            match known.get(&place).map(|index| &mut pins[*index]) {
                Some(known) if known.source == Source::Unknown => *known = pin,
                Some(_) => {}
                None => {
                    known.insert(place, pins.len());
                    pins.push(pin);
                }
            }
        }
        defined
    }

    /// Gives a pin the address of the source that it refers to.
    fn resolve(&self, pin: &mut Pin) {
        let Source::Reference {
            kind,
            namespace,
            own,
            name,
        } = &pin.source
        else {
            return;
        };
        if matches!(kind.as_str(), "GitRepository" | "Bucket") {
            pin.effective = false;
            pin.why = Some(format!(
                "the chart comes from a {kind}, and then Flux reads no version here"
            ));
            pin.source = Source::Unknown;
            return;
        }
        let own = namespace
            .as_ref()
            .or(own.as_ref())
            .or_else(|| self.given.get(pin.file.as_str()));
        let key = |namespace: &str| (kind.clone(), namespace.to_owned(), name.clone());
        let exact = own.and_then(|own| self.sources.get(&key(own)));
        let unnamed = || self.sources.get(&key(""));
        // Without a namespace anywhere, whatever has that name and kind is meant.
        let alike = || -> BTreeSet<String> {
            self.sources
                .iter()
                .filter(|((known, _, of), _)| own.is_none() && known == kind && of == name)
                .flat_map(|(_, addresses)| addresses.clone())
                .collect()
        };
        let found = exact.or_else(unnamed).cloned().unwrap_or_else(alike);
        let mut addresses = found.iter().filter(|address| !address.is_empty());
        match (addresses.next().cloned(), addresses.next()) {
            (Some(address), None) => pin.source = Source::Address(address),
            (Some(_), Some(_)) => {
                pin.why = Some(format!(
                    "{kind}s called `{name}` have different addresses in this repository"
                ));
                pin.source = Source::Unknown;
            }
            (None, _) if pin.why.is_none() => {
                pin.why = Some(format!("the {kind} `{name}` is not in this repository"));
            }
            (None, _) => {}
        }
    }

    /// An OCIRepository that a Kustomization applies is no chart.
    fn judge_artifact(&self, pin: &mut Pin) {
        let object = pin.object.as_deref().unwrap_or_default();
        let Some(name) = object.strip_prefix("OCIRepository/").map(name_of) else {
            return;
        };
        if self.manifests.contains(name) && !self.charts.contains(name) {
            pin.kind = Kind::Other;
        }
    }
}

/// The name of `namespace/name` or `name`.
fn name_of(object: &str) -> &str {
    object.rsplit('/').next().unwrap_or(object)
}

/// A default counts only where nothing defines its variable.
fn judge_default(pin: &mut Pin, defined: &BTreeSet<String>) {
    let Some(name) = &pin.default_of else {
        return;
    };
    if defined.contains(name) {
        pin.effective = false;
        pin.why = Some(format!(
            "the default of `{name}`, which is defined elsewhere in this repository"
        ));
    }
}

/// A patch says which object it is for and not of which chart: the object says that. One that is for no object here changes nothing that is seen.
fn join_patches(pins: &mut [Pin]) {
    let mut objects: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for pin in pins.iter() {
        if let (Some(object), Some(chart), Source::Address(address)) =
            (&pin.object, &pin.chart, &pin.source)
            && pin.kind == Kind::Chart
        {
            let of = (chart.clone(), address.clone());
            objects.entry(object.clone()).or_default().insert(of);
        }
    }
    let is_patch = |pin: &&mut Pin| {
        pin.kind == Kind::Chart && pin.chart.is_none() && pin.defines.is_none() && pin.why.is_none()
    };
    for pin in pins.iter_mut().filter(is_patch) {
        let Some(object) = pin.object.clone() else {
            continue;
        };
        // kustomize reads the name of a target as a regular expression.
        if name_of(&object).contains(['*', '.', '+', '|', '(', '[']) {
            pin.why = Some(format!("a patch for every object like `{object}`"));
            continue;
        }
        let of: BTreeSet<&(String, String)> = match objects.get(&object) {
            Some(of) => of.iter().collect(),
            None => objects
                .iter()
                .filter(|(known, _)| may_be_same(known, &object))
                .flat_map(|(_, of)| of)
                .collect(),
        };
        match of.iter().collect::<Vec<_>>().as_slice() {
            [(chart, address)] => {
                pin.chart = Some(chart.clone());
                pin.source = Source::Address(address.clone());
            }
            [] => {
                pin.effective = false;
                pin.why = Some(format!(
                    "a patch for `{object}`, which is not in this repository"
                ));
            }
            _ => {
                pin.why = Some(format!(
                    "a patch for `{object}`, of which there are several"
                ));
            }
        }
    }
}

/// Whether two objects of one kind and name may be one: a patch may leave out the namespace, and a kustomization may give it.
fn may_be_same(one: &str, other: &str) -> bool {
    let parts = |object: &str| -> (String, Option<String>, String) {
        let all: Vec<&str> = object.split('/').collect();
        match all.as_slice() {
            [kind, namespace, name] => (
                (*kind).to_owned(),
                Some((*namespace).to_owned()),
                (*name).to_owned(),
            ),
            _ => (
                all.first().copied().unwrap_or_default().to_owned(),
                None,
                name_of(object).to_owned(),
            ),
        }
    };
    let (one, other) = (parts(one), parts(other));
    one.0 == other.0 && one.2 == other.2 && (one.1.is_none() || other.1.is_none())
}
