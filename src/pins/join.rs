//! Puts the findings of all files together: addresses of sources, namespaces that kustomizations give, variables and their definitions.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{
    AliasFact, ArtifactFact, Facts, KustomizationFact, ObjectFact, PatchFact, SourceFact,
};
use super::file::Findings;
use super::found::{Kind, Pin, Source, Unread};
use super::given::{Given, targets};
use super::identity::Identity;
use super::lines::MADE;
use super::patched::{Object, is_patch, join_patches};
use super::templates::is_made;
use super::variables::Variables;
use crate::model::address::{has_login, shown};
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
    let mut variables = Variables::default();
    let mut joined = Joined::default();
    for findings in files {
        facts.add(findings.facts, &mut variables);
        joined.pins.extend(findings.pins);
        joined.unread.extend(findings.unread);
    }
    let given = Given::of(&facts.kustomizations);
    let defined = variables.define(&mut joined.pins, &given);
    // What a template makes is read where its value is found.
    joined.unread.retain(|unread| {
        unread.why != MADE || !defined.found.contains(&(unread.file.clone(), unread.line))
    });
    joined.unread.extend(defined.unread);
    let sources = facts.sources(&given);
    let targets = targets(&facts.patches);
    for pin in &mut joined.pins {
        sources.resolve(pin, &given);
        facts.resolve_alias(pin);
        facts.judge_artifact(pin, &given);
        judge_default(pin, &defined.flux);
        // Operations in a file of their own say nothing of what they are for.
        let target = targets.get(pin.file.as_str()).and_then(BTreeSet::first);
        if pin.object.is_none() && pin.chart.is_none() {
            pin.object = target.map(|target| (*target).to_owned());
        }
    }
    name_git_charts(&mut joined.pins, &facts.objects, &given);
    // Most repositories have no patch that needs to know what all objects run.
    if joined.pins.iter().any(is_patch) {
        let objects = sources.objects(&facts.objects, &given);
        join_patches(&mut joined.pins, &objects, &facts.kustomizations);
    }
    joined
        .pins
        .sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    joined
        .unread
        .sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    joined
}

/// What all files say that pins of others depend on.
#[derive(Default)]
struct All {
    sources: Vec<SourceFact>,
    aliases: Vec<AliasFact>,
    kustomizations: Vec<KustomizationFact>,
    patches: Vec<PatchFact>,
    manifests: Vec<ArtifactFact>,
    charts: Vec<ArtifactFact>,
    objects: Vec<ObjectFact>,
}

impl All {
    /// Adds what a file says.
    fn add(&mut self, facts: Facts, variables: &mut Variables) {
        self.sources.extend(facts.sources);
        self.aliases.extend(facts.aliases);
        self.kustomizations.extend(facts.kustomizations);
        self.patches.extend(facts.patches);
        self.manifests.extend(facts.manifests);
        self.charts.extend(facts.charts);
        self.objects.extend(facts.objects);
        variables.add(
            facts.uses,
            facts.substitutions,
            facts.generators,
            facts.definitions,
        );
    }

    fn sources(&self, given: &Given) -> Sources {
        let mut sources = Sources::default();
        for fact in &self.sources {
            let mut namespaces = given.namespaces(&fact.file, fact.namespace.as_deref());
            if namespaces.is_empty() {
                namespaces.insert(String::new());
            }
            for namespace in namespaces {
                let key = (fact.kind.clone(), namespace, fact.name.clone());
                let known = sources.addresses.entry(key).or_default();
                known.insert(fact.address.clone());
            }
        }
        sources
    }

    /// Gives a release the address of the repository that it names: one of its own file, else of any helmfile.
    fn resolve_alias(&self, pin: &mut Pin) {
        let Source::Alias(alias) = &pin.source else {
            return;
        };
        let named = || self.aliases.iter().filter(|known| known.name == *alias);
        let own = named().find(|known| known.file == pin.file);
        let all: BTreeSet<&String> = named().map(|known| &known.address).collect();
        let address = match (own, all.len()) {
            (Some(own), _) => &own.address,
            (None, 1) => all.into_iter().next().unwrap_or(alias),
            _ => return,
        };
        pin.source = Source::Address(address.clone());
    }

    /// An OCIRepository that a Kustomization applies is no chart.
    fn judge_artifact(&self, pin: &mut Pin, given: &Given) {
        let object = pin.object.as_deref().unwrap_or_default();
        if !object.starts_with("OCIRepository/") {
            return;
        }
        let own = Identity::said(object).given(&pin.file, given);
        let names = |all: &[ArtifactFact]| {
            let mut alike = all.iter().filter(|one| one.name == own.name);
            alike.any(|one| one.identity(given).may_be(&own))
        };
        if names(&self.manifests) && !names(&self.charts) {
            pin.kind = Kind::Other;
        }
    }
}

/// Addresses by kind, namespace and name. Two clusters may have sources of one name with different addresses.
#[derive(Default)]
struct Sources {
    addresses: BTreeMap<(String, String, String), BTreeSet<String>>,
}

impl Sources {
    /// Gives a pin the address of the source that it refers to.
    fn resolve(&self, pin: &mut Pin, given: &Given) {
        match self.address(&pin.file, &pin.source, given) {
            Ok(Some(address)) if is_made(&address) => {
                let login = match has_login(&address) {
                    true => ", and carries a login that everybody has who reads the repository",
                    false => "",
                };
                let why = format!(
                    "the address `{}` is made of variables{login}",
                    shown(&address)
                );
                pin.why.get_or_insert(why);
                pin.source = Source::Unknown;
            }
            Ok(Some(address)) => pin.source = Source::Address(address),
            Ok(None) => {}
            Err(NoAddress::Unread(why)) => {
                pin.effective = false;
                pin.why = Some(why);
                pin.source = Source::Unknown;
            }
            Err(NoAddress::Several(why)) => {
                pin.why = Some(why);
                pin.source = Source::Unknown;
            }
            Err(NoAddress::Missing(why)) => pin.why = pin.why.take().or(Some(why)),
        }
    }

    /// What the objects run, as far as this repository says it.
    fn objects(&self, facts: &[ObjectFact], given: &Given) -> Vec<Object> {
        let of = |fact: &ObjectFact| {
            let address = self.address(&fact.file, &fact.source, given);
            Object::of(fact, address.unwrap_or_default(), given)
        };
        facts.iter().map(of).collect()
    }

    /// The address that a source in a file leads to; nothing where none can be said.
    fn address(
        &self,
        file: &RepoPath,
        source: &Source,
        given: &Given,
    ) -> Result<Option<String>, NoAddress> {
        let (kind, namespace, own, name) = match source {
            Source::Reference {
                kind,
                namespace,
                own,
                name,
            } => (kind, namespace, own, name),
            Source::Address(address) => return Ok(Some(address.clone())),
            Source::Unknown | Source::Alias(_) => return Ok(None),
        };
        if matches!(kind.as_str(), "GitRepository" | "Bucket") {
            return Err(NoAddress::Unread(format!(
                "the chart comes from a {kind}, and then Flux reads no version here"
            )));
        }
        // A kustomization changes the namespaces of objects, and none within them.
        let wanted = match namespace {
            Some(said) => BTreeSet::from([said.clone()]),
            None => given.namespaces(file, own.as_deref()),
        };
        let of = |namespace: &str| {
            let key = (kind.clone(), namespace.to_owned(), name.clone());
            self.addresses.get(&key).into_iter().flatten().cloned()
        };
        let mut found: BTreeSet<String> = wanted.iter().flat_map(|one| of(one)).collect();
        if found.is_empty() {
            found.extend(of(""));
        }
        // Without a namespace anywhere, whatever has that name and kind is meant.
        if found.is_empty() && wanted.is_empty() {
            let alike = self
                .addresses
                .iter()
                .filter(|((known, _, of), _)| known == kind && of == name);
            found.extend(alike.flat_map(|(_, addresses)| addresses.clone()));
        }
        let mut addresses = found.iter().filter(|address| !address.is_empty());
        match (addresses.next().cloned(), addresses.next()) {
            (Some(address), None) => Ok(Some(address)),
            (Some(_), Some(_)) => Err(NoAddress::Several(format!(
                "{kind}s called `{name}` have different addresses in this repository"
            ))),
            (None, _) => Err(NoAddress::Missing(format!(
                "the {kind} `{name}` is not in this repository"
            ))),
        }
    }
}

/// Why a source leads to no address.
enum NoAddress {
    /// The version isn't read there.
    Unread(String),
    /// There are several.
    Several(String),
    /// There is none.
    Missing(String),
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

/// A Git repository that releases take one chart from is versioned as that chart.
fn name_git_charts(pins: &mut [Pin], objects: &[ObjectFact], given: &Given) {
    let mut charts: BTreeMap<Identity, BTreeSet<&str>> = BTreeMap::new();
    for fact in objects {
        let (
            Some(chart),
            Source::Reference {
                kind,
                namespace,
                own,
                name,
            },
        ) = (&fact.chart, &fact.source)
        else {
            continue;
        };
        if kind == "GitRepository" {
            let source = Identity {
                kind: kind.clone(),
                name: name.clone(),
                namespaces: match namespace {
                    Some(said) => BTreeSet::from([said.clone()]),
                    None => given.namespaces(&fact.file, own.as_deref()),
                },
            };
            let name = chart.trim_end_matches('/').rsplit('/').next();
            charts.entry(source).or_default().extend(name);
        }
    }
    let is_source = |pin: &&mut Pin| pin.kind == Kind::Git && pin.chart.is_none();
    for pin in pins.iter_mut().filter(is_source) {
        let Some(object) = &pin.object else {
            continue;
        };
        let own = Identity::said(object).given(&pin.file, given);
        let same = charts.iter().filter(|(known, _)| known.may_be(&own));
        let names: BTreeSet<&str> = same.flat_map(|(_, names)| names.iter().copied()).collect();
        if let (Some(name), 1) = (names.first(), names.len()) {
            pin.chart = Some((*name).to_owned());
        }
    }
}
