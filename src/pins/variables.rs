//! Names at a version's place and what defines them: which definition counts, and which names nothing here defines.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Beside, Definition, GeneratorFact, Of, Scope, Substitution, Use};
use super::found::{Form, Kind, Pin, Source, Unread};
use super::given::Given;
use super::texts::filled;
use super::values;
use crate::model::pattern::fits;
use crate::model::repo_path::RepoPath;

/// What stands at the places that read a name: more than one thing where they differ.
type Uses = BTreeMap<(Scope, String), Vec<Of>>;

/// Names, and where they are read and defined.
#[derive(Debug, Default)]
pub(super) struct Variables {
    uses: Vec<Use>,
    substitutions: Vec<Substitution>,
    generators: Vec<GeneratorFact>,
    definitions: Vec<Definition>,
}

/// What came of the names.
#[derive(Debug, Default)]
pub(super) struct Defined {
    /// Variables of Flux that something defines.
    pub(super) flux: BTreeSet<String>,
    /// Names that nothing here defines.
    pub(super) unread: Vec<Unread>,
    /// Lines of templates whose values are found.
    pub(super) found: BTreeSet<(RepoPath, usize)>,
}

impl Variables {
    /// Adds what a file says.
    pub(super) fn add(
        &mut self,
        uses: Vec<Use>,
        substitutions: Vec<Substitution>,
        generators: Vec<GeneratorFact>,
        definitions: Vec<Definition>,
    ) {
        self.uses.extend(uses);
        self.substitutions.extend(substitutions);
        self.generators.extend(generators);
        self.definitions.extend(definitions);
    }

    /// Makes pins of the definitions of names that a version's place reads.
    pub(super) fn define(self, pins: &mut Vec<Pin>, given: &Given) -> Defined {
        let (by_name, by_path) = self.index();
        let beaten = self.beaten(given);
        let mut defined = Defined::default();
        let mut known: BTreeMap<(RepoPath, usize), usize> = pins
            .iter()
            .enumerate()
            .map(|(index, pin)| ((pin.file.clone(), pin.span.start), index))
            .collect();
        let mut met = BTreeSet::new();
        for (index, definition) in self.definitions.into_iter().enumerate() {
            let Definition {
                scope,
                name,
                mut pin,
                beside,
            } = definition;
            if is_map(&pin) && !beaten.read.contains(&index) {
                continue;
            }
            let mut of: Vec<&Of> = Vec::new();
            let key = (scope, name);
            for key in ways(&key) {
                if let Some(direct) = by_name.get(&key) {
                    of.extend(direct);
                    met.insert(key);
                }
            }
            if let (Scope::File(..) | Scope::Chart(_), Some(readers)) =
                (&key.0, by_path.get(&key.1))
            {
                let of_files = |reader: &&(Scope, Of)| {
                    self.generators
                        .iter()
                        .any(|one| one.reader == reader.0 && fits(&one.glob, pin.file.as_str()))
                };
                for (reader, one) in readers.iter().filter(of_files) {
                    met.insert((reader.clone(), key.1.clone()));
                    if !of.contains(&one) {
                        of.push(one);
                    }
                }
            }
            let (scope, name) = key;
            if of.is_empty() {
                continue;
            }
            let kinds: BTreeSet<Kind> = of.iter().map(|one| one.kind).collect();
            match of.as_slice() {
                [one] => {
                    give(&mut pin, one, &beside, matches!(scope, Scope::File(..)));
                }
                _ => pin.why = Some(format!("`{name}` is read by more than one chart")),
            }
            // What only Git reads may be a branch, which moves by itself.
            if kinds == BTreeSet::from([Kind::Git]) && !values::may_be_pinned(&pin.value) {
                continue;
            }
            pin.form = if of.iter().all(|one| one.is_tag) {
                Form::of_tag(&pin.value)
            } else {
                Form::of(&pin.value, pin.kind)
            };
            if scope == Scope::Flux {
                defined.flux.insert(name);
            }
            if let Some(why) = beaten.by.get(&index) {
                pin.effective = false;
                pin.why = Some(why.clone());
            }
            let place = (pin.file.clone(), pin.span.start);
            match known.get(&place).map(|index| &mut pins[*index]) {
                Some(known) if known.source == Source::Unknown => {
                    if !known.editable {
                        pin.editable = false;
                        pin.why = pin.why.or_else(|| known.why.take());
                    }
                    *known = pin;
                }
                Some(_) => {}
                None => {
                    known.insert(place, pins.len());
                    pins.push(pin);
                }
            }
        }
        defined.unread = undefined(&self.uses, &met);
        let of_charts = self.uses.iter().filter(|used| {
            matches!(used.scope, Scope::Chart(_))
                && met.contains(&(used.scope.clone(), used.name.clone()))
        });
        defined.found = of_charts
            .map(|used| (used.file.clone(), used.line))
            .collect();
        defined
    }

    /// What stands where a name is read; and by whole paths, for data that generators read.
    fn index(&self) -> (Uses, BTreeMap<String, Vec<(Scope, Of)>>) {
        let mut by_name = Uses::new();
        let mut by_path: BTreeMap<String, Vec<(Scope, Of)>> = BTreeMap::new();
        for used in &self.uses {
            let key = (used.scope.clone(), used.name.clone());
            let known = by_name.entry(key).or_default();
            if !known.contains(&used.of) {
                known.push(used.of.clone());
            }
            if used.scope != Scope::Flux {
                let readers = by_path.entry(used.path.clone()).or_default();
                readers.push((used.scope.clone(), used.of.clone()));
            }
        }
        (by_name, by_path)
    }

    /// Which definitions of Flux's variables are read at all, and which are but never count: a Kustomization's own beat those of objects that it
    /// names, and of those a later one beats an earlier.
    ///
    /// Source: kustomize-controller, `substitute` and `substituteFrom` of `spec.postBuild`.
    fn beaten(&self, given: &Given) -> Beaten {
        let flux = self.uses.iter().filter(|used| used.scope == Scope::Flux);
        let used: BTreeSet<&str> = flux.map(|used| used.name.as_str()).collect();
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, one) in self.definitions.iter().enumerate() {
            if one.scope == Scope::Flux && used.contains(one.name.as_str()) {
                by_name.entry(&one.name).or_default().push(index);
            }
        }
        let mut beaten = Beaten::default();
        let mut wins: BTreeSet<usize> = BTreeSet::new();
        for substitution in &self.substitutions {
            for all in by_name.values() {
                let is_own = |pin: &Pin| {
                    pin.file == substitution.file
                        && pin.object.as_deref() == Some(&substitution.object)
                };
                let of = |wanted: &dyn Fn(&Pin) -> bool| -> Vec<usize> {
                    let all = all.iter().copied();
                    all.filter(|index| wanted(&self.definitions[*index].pin))
                        .collect()
                };
                let mut ranks = vec![of(&is_own)];
                for (kind, name) in substitution.from.iter().rev() {
                    ranks.push(of(&|pin| {
                        names(pin, kind, name) && may_read(given, substitution, pin)
                    }));
                }
                ranks.retain(|rank| !rank.is_empty());
                let Some((best, others)) = ranks.split_first() else {
                    continue;
                };
                beaten.read.extend(ranks.iter().flatten());
                wins.extend(best);
                let winner = &self.definitions[best[0]].pin;
                for index in others.iter().flatten() {
                    beaten
                        .by
                        .insert(*index, why_beaten(winner, &self.definitions[*index]));
                }
            }
        }
        beaten.by.retain(|index, _| !wins.contains(index));
        beaten
    }
}

/// Gives a definition what the version is of. Parameters of an element are filled in from the same element.
fn give(pin: &mut Pin, one: &Of, beside: &Beside, is_element: bool) {
    pin.kind = one.kind;
    // Where a template makes the name, what stands beside the version says it.
    let guess = pin.chart.take().filter(|_| one.kind == Kind::Chart);
    pin.chart = match one.made_chart.as_ref().filter(|_| is_element) {
        Some(text) => filled(text, beside),
        None => one.chart.clone().or(guess),
    };
    // Argo CD has no scheme where a chart comes from a registry.
    let made = one.made_address.as_ref().filter(|_| is_element);
    let address = made.map(|text| {
        let whole = filled(text, beside)?;
        let rest = whole
            .strip_prefix("oci://")
            .filter(|rest| rest.contains("://"));
        Some(rest.map_or(whole.clone(), str::to_owned))
    });
    pin.source = match address {
        Some(address) => address.map_or(Source::Unknown, Source::Address),
        None => one.source.clone(),
    };
}

#[derive(Debug, Default)]
struct Beaten {
    /// Definitions that a Kustomization reads.
    read: BTreeSet<usize>,
    /// Definitions that never count, and why.
    by: BTreeMap<usize, String>,
}

fn why_beaten(winner: &Pin, definition: &Definition) -> String {
    let object = winner.object.as_deref().unwrap_or_default();
    let how = if object.starts_with("Kustomization/") {
        "`substitute` beats `substituteFrom`"
    } else {
        "it comes later in `substituteFrom`"
    };
    format!("{object} defines `{}` too, and {how}", definition.name)
}

/// The names that a definition is read under: its own, and in a chart's values with `*` for a part that a `range` goes over.
fn ways(key: &(Scope, String)) -> Vec<(Scope, String)> {
    let mut ways = vec![key.clone()];
    if let (Scope::Chart(_), parts) = (&key.0, key.1.split('.').collect::<Vec<_>>()) {
        for at in 1..parts.len().saturating_sub(1) {
            let mut starred = parts.clone();
            starred[at] = "*";
            let name = starred.join(".");
            if name != key.1 {
                ways.push((key.0.clone(), name));
            }
        }
    }
    ways
}

/// Whether a pin is in a ConfigMap or Secret, which counts only where a Kustomization names it.
fn is_map(pin: &Pin) -> bool {
    let object = pin.object.as_deref().unwrap_or_default();
    object.starts_with("ConfigMap/") || object.starts_with("Secret/")
}

fn names(pin: &Pin, kind: &str, name: &str) -> bool {
    let object = pin.object.as_deref().unwrap_or_default();
    let own = object.split_once('/');
    own.is_some_and(|(own, rest)| own == kind && rest.rsplit('/').next() == Some(name))
}

/// A Kustomization reads objects of its own namespace, as far as both are known.
fn may_read(given: &Given, substitution: &Substitution, pin: &Pin) -> bool {
    let of = |file: &RepoPath, object: &str| {
        let parts: Vec<&str> = object.split('/').collect();
        let own = (parts.len() == 3).then(|| parts[1]);
        given.namespaces(file, own)
    };
    let reader = of(&substitution.file, &substitution.object);
    let read = of(&pin.file, pin.object.as_deref().unwrap_or_default());
    reader.is_empty() || read.is_empty() || !reader.is_disjoint(&read)
}

/// Names at a version's place that no version in this repository is under.
fn undefined(uses: &[Use], met: &BTreeSet<(Scope, String)>) -> Vec<Unread> {
    let is_met = |used: &Use| {
        let by = |name: &str| met.contains(&(used.scope.clone(), name.to_owned()));
        used.has_default || by(&used.name) || by(&used.path)
    };
    let told = uses.iter().filter(|used| !is_met(used));
    told.filter_map(|used| {
        let why = match used.scope {
            Scope::Flux => format!(
                "the version is the variable `{}`, and no version under that name is in this repository",
                used.name
            ),
            Scope::File(..) => format!(
                "the version is the parameter `{}`, and no version under that name is where this file takes parameters from",
                used.path
            ),
            // The template's own line says so.
            Scope::Chart(_) => return None,
        };
        Some(Unread {
            file: used.file.clone(),
            line: used.line,
            why,
        })
    })
    .collect()
}
