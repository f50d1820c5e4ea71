//! [`Facts`]: what a file says that pins of other files may depend on. Data only; [`super::join`] draws the conclusions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::found::{Kind, Pin, Source};
use super::given::Given;
use super::identity::Identity;
use crate::model::repo_path::RepoPath;

/// What pins of other files may depend on.
#[derive(Debug, Default)]
pub struct Facts {
    /// Sources of Flux.
    pub sources: Vec<SourceFact>,
    /// Objects that run a chart, whether they say a version or not.
    pub objects: Vec<ObjectFact>,
    /// Repositories of a helmfile.
    pub aliases: Vec<AliasFact>,
    /// Files that a kustomization takes in, and the namespace that it gives.
    pub kustomizations: Vec<KustomizationFact>,
    /// Patches in files of their own that have a target.
    pub patches: Vec<PatchFact>,
    /// Names that stand at a version's place, and are defined elsewhere.
    pub uses: Vec<Use>,
    /// Where Flux takes variables from.
    pub substitutions: Vec<Substitution>,
    /// Files that a generator reads parameters from.
    pub generators: Vec<GeneratorFact>,
    /// OCIRepositories that are applied as manifests.
    pub manifests: Vec<ArtifactFact>,
    /// OCIRepositories that are charts.
    pub charts: Vec<ArtifactFact>,
    /// Definitions of variables.
    pub definitions: Vec<Definition>,
}

/// A source of Flux.
#[derive(Debug)]
pub struct SourceFact {
    /// The file that has it.
    pub file: RepoPath,
    /// Its kind.
    pub kind: String,
    /// Its namespace, as the file says it.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Where it points; a patch has none.
    pub address: String,
}

/// An object that runs a chart.
#[derive(Debug)]
pub struct ObjectFact {
    /// The file that has it.
    pub file: RepoPath,
    /// `Kind/namespace/name`.
    pub object: String,
    /// The chart; nothing where it is a folder in Git.
    pub chart: Option<String>,
    /// Where the chart comes from.
    pub source: Source,
}

/// An OCIRepository that an object refers to.
#[derive(Debug)]
pub struct ArtifactFact {
    /// The file of the object that refers.
    pub file: RepoPath,
    /// The namespace of the OCIRepository, as the reference says it.
    pub namespace: Option<String>,
    /// The namespace of the object that refers, as its file says it.
    pub own: Option<String>,
    /// The name of the OCIRepository.
    pub name: String,
}

impl ArtifactFact {
    /// The OCIRepository, in the namespace of what refers to it where the reference says none.
    pub(super) fn identity(&self, given: &Given) -> Identity {
        Identity {
            kind: "OCIRepository".to_owned(),
            name: self.name.clone(),
            namespaces: match &self.namespace {
                Some(said) => BTreeSet::from([said.clone()]),
                None => given.namespaces(&self.file, self.own.as_deref()),
            },
        }
    }
}

/// A repository of a helmfile.
#[derive(Debug)]
pub struct AliasFact {
    /// The file that has it.
    pub file: RepoPath,
    /// What releases call it.
    pub name: String,
    /// Where it points.
    pub address: String,
}

/// A kustomization file, or an object of Flux that applies a folder.
#[derive(Debug)]
pub struct KustomizationFact {
    /// The file that says it.
    pub file: RepoPath,
    /// Whether it is an object that applies a folder from outside, and no file of kustomize.
    pub is_object: bool,
    /// Its folder; nothing is the repository's top.
    pub folder: Option<RepoPath>,
    /// The namespace that it gives.
    pub namespace: Option<String>,
    /// What it takes in, as written.
    pub resources: Vec<String>,
}

/// A patch in a file of its own.
#[derive(Debug)]
pub struct PatchFact {
    /// The folder of the kustomization; nothing is the repository's top.
    pub folder: Option<RepoPath>,
    /// The patch's file, as written.
    pub path: String,
    /// What it is for: `Kind/namespace/name`.
    pub target: String,
}

/// Where a Kustomization of Flux takes variables from.
#[derive(Debug)]
pub struct Substitution {
    /// The file that has it.
    pub file: RepoPath,
    /// `Kustomization/namespace/name`.
    pub object: String,
    /// Names that it gives itself.
    pub inline: Vec<String>,
    /// Objects by kind and name; a later one wins.
    pub from: Vec<(String, String)>,
}

/// Files of the repository whose data are read by names elsewhere: what a generator goes over, or values of a chart that lies here.
#[derive(Debug)]
pub struct GeneratorFact {
    /// Where the names stand.
    pub reader: Scope,
    /// Which files it reads: a path with `*` and `**`.
    pub glob: String,
}

/// A name at a version's place.
#[derive(Debug)]
pub struct Use {
    /// What reads it, and so where it is defined.
    pub scope: Scope,
    /// The name.
    pub name: String,
    /// The whole way to it, as in `haptic.version`, where it is a parameter.
    pub path: String,
    /// What the version is of.
    pub of: Of,
    /// Whether it has a default where it stands.
    pub has_default: bool,
    /// The file that has the name.
    pub file: RepoPath,
    /// Its line there, from 1.
    pub line: usize,
}

/// Where a name is defined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Flux's variables, `${name}`: anywhere in the repository.
    Flux,
    /// Parameters of a template, `{{.name}}` or `<< inputs.name >>`: in the same object of the same file, which its number there tells from others. A file of data has
    /// no such object, and 0.
    File(RepoPath, usize),
    /// Values of a chart, `{{ .Values.name }}`: in a values file of the chart's folder.
    Chart(Option<RepoPath>),
}

/// What a version is of.
#[derive(Debug, Clone, PartialEq)]
pub struct Of {
    /// Of what kind it is.
    pub kind: Kind,
    /// The chart.
    pub chart: Option<String>,
    /// Where it comes from.
    pub source: Source,
    /// Whether the place takes one tag and no range.
    pub is_tag: bool,
    /// The chart's name with parameters in it, where they make it.
    pub made_chart: Option<String>,
    /// The address with parameters in it, where they make it.
    pub made_address: Option<String>,
}

/// Texts by their names: whole ways, as in `haptic.name`.
pub(super) type Beside = Arc<BTreeMap<String, String>>;

/// Where a variable gets its value.
#[derive(Debug)]
pub struct Definition {
    /// Who reads it.
    pub scope: Scope,
    /// Its name.
    pub name: String,
    /// The pin that it is, if a version is used under that name.
    pub pin: Pin,
    /// What the same element of a generator, or the same file of data, says by other names.
    pub beside: Beside,
}
