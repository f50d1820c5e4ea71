//! Puts the findings of all files together: addresses of sources, namespaces that kustomizations give, variables and their definitions.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{Definition, Findings, Of, Scope};
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
    let mut sources = BTreeMap::new();
    let mut uses: BTreeMap<(Scope, String), Of> = BTreeMap::new();
    let mut given = BTreeMap::new();
    let mut joined = Joined::default();
    let mut definitions = Vec::new();
    for findings in files {
        let facts = findings.facts;
        for (kind, namespace, name, address) in facts.sources {
            sources.insert((kind, namespace, name), address);
        }
        for kustomization in facts.kustomizations {
            let Some(namespace) = kustomization.namespace else {
                continue;
            };
            let prefix = kustomization
                .folder
                .as_ref()
                .map(|folder| format!("{folder}/"))
                .unwrap_or_default();
            for resource in kustomization.resources {
                let resource = resource.trim_start_matches("./");
                given.insert(format!("{prefix}{resource}"), namespace.clone());
            }
        }
        for used in facts.uses {
            uses.entry((used.scope, used.name)).or_insert(used.of);
        }
        definitions.extend(facts.definitions);
        joined.pins.extend(findings.pins);
        joined.unread.extend(findings.unread);
    }
    let mut defined = BTreeSet::new();
    let mut known: BTreeMap<(RepoPath, usize), usize> = joined
        .pins
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
        let Some(of) = uses.get(&(scope.clone(), name.clone())) else {
            continue;
        };
        pin.chart.clone_from(&of.chart);
        pin.source.clone_from(&of.source);
        if scope == Scope::Flux {
            defined.insert(name);
        }
        let place = (pin.file.clone(), pin.span.start);
        match known.get(&place).map(|index| &mut joined.pins[*index]) {
            Some(known) if known.source == Source::Unknown => {
                (known.chart, known.source) = (pin.chart, pin.source);
            }
            Some(_) => {}
            None => {
                known.insert(place, joined.pins.len());
                joined.pins.push(pin);
            }
        }
    }
    for pin in &mut joined.pins {
        resolve(pin, &sources, given.get(pin.file.as_str()));
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

/// By kind, namespace and name.
type Sources = BTreeMap<(String, String, String), String>;

/// Gives a pin the address of the source that it refers to.
fn resolve(pin: &mut Pin, sources: &Sources, given: Option<&String>) {
    let Source::Reference {
        kind,
        namespace,
        name,
    } = &pin.source
    else {
        return;
    };
    let key = |namespace: &str| (kind.clone(), namespace.to_owned(), name.clone());
    let own = namespace.as_ref().or(given).cloned().unwrap_or_default();
    let found = sources.get(&key(&own)).or_else(|| sources.get(&key("")));
    // One of that name and kind in the whole repository is the one that is meant.
    let alone = || {
        let mut same = sources
            .iter()
            .filter(|((known, _, of), _)| known == kind && of == name)
            .map(|(_, address)| address);
        let first = same.next()?;
        same.all(|other| other == first).then_some(first)
    };
    let found = found.or_else(|| if namespace.is_none() { alone() } else { None });
    if let Some(address) = found.filter(|address| !address.is_empty()).cloned() {
        pin.source = Source::Address(address);
    } else if pin.why.is_none() {
        pin.why = Some(format!("the {kind} `{name}` is not in this repository"));
    }
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
    let mut objects: BTreeMap<String, (String, Source)> = BTreeMap::new();
    for pin in pins.iter() {
        if let (Some(object), Some(chart)) = (&pin.object, &pin.chart)
            && pin.kind == Kind::Chart
        {
            objects
                .entry(short(object))
                .or_insert_with(|| (chart.clone(), pin.source.clone()));
        }
    }
    for pin in pins
        .iter_mut()
        .filter(|pin| pin.kind == Kind::Chart && pin.chart.is_none())
    {
        let Some(object) = &pin.object else {
            continue;
        };
        match objects.get(&short(object)) {
            Some((chart, source)) => {
                pin.chart = Some(chart.clone());
                pin.source = source.clone();
            }
            None if pin.why.is_none() => {
                pin.effective = false;
                pin.why = Some(format!(
                    "a patch for `{object}`, which is not in this repository"
                ));
            }
            None => {}
        }
    }
}

/// Kind and name: a patch may leave out the namespace, and a kustomization may give it.
fn short(object: &str) -> String {
    let kind = object.split('/').next().unwrap_or_default();
    let name = object.rsplit('/').next().unwrap_or_default();
    format!("{kind}/{name}")
}
