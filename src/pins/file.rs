//! One file: read once, and looked at by every finder.

use std::ops::Range;

use super::found::{Form, Kind, Pin, Source, Unread};
use super::layer::Layer;
use super::node::Reader;
use super::{argo, flux, kustomize, lines, values};
use crate::model::repo_path::RepoPath;
use crate::yaml::{self, Node};

/// What one file says.
#[derive(Debug, Default)]
pub struct Findings {
    /// Its pins, in the order of the text.
    pub pins: Vec<Pin>,
    /// Its parts that can't be read.
    pub unread: Vec<Unread>,
    /// What other files' pins may depend on.
    pub facts: Facts,
}

/// What pins of other files may depend on.
#[derive(Debug, Default)]
pub struct Facts {
    /// Sources by kind, namespace and name, with their address.
    pub sources: Vec<(String, String, String, String)>,
    /// Files that a kustomization takes in, and the namespace that it gives.
    pub kustomizations: Vec<KustomizationFact>,
    /// Names that stand at a version's place, and are defined elsewhere.
    pub uses: Vec<Use>,
    /// ConfigMaps whose data are variables.
    pub substitutes_from: Vec<String>,
    /// OCIRepositories that are applied as manifests.
    pub manifests: Vec<String>,
    /// OCIRepositories that are charts.
    pub charts: Vec<String>,
    /// Definitions of variables.
    pub definitions: Vec<Definition>,
}

/// A kustomization file.
#[derive(Debug)]
pub struct KustomizationFact {
    /// Its folder; nothing is the repository's top.
    pub folder: Option<RepoPath>,
    /// The namespace that it gives.
    pub namespace: Option<String>,
    /// What it takes in, as written.
    pub resources: Vec<String>,
}

/// A name at a version's place.
#[derive(Debug)]
pub struct Use {
    /// What reads it, and so where it is defined.
    pub scope: Scope,
    /// The name.
    pub name: String,
    /// What the version is of.
    pub of: Of,
}

/// Where a name is defined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Flux's variables, `${name}`: anywhere in the repository.
    Flux,
    /// Parameters of a template, `{{.name}}` or `<< inputs.name >>`: in the same file.
    File(RepoPath),
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
}

/// Where a variable gets its value.
#[derive(Debug)]
pub struct Definition {
    /// Who reads it.
    pub scope: Scope,
    /// Its name.
    pub name: String,
    /// The pin that it is, if a version is used under that name.
    pub pin: Pin,
}

/// A file while it is looked at.
pub(super) struct File<'a> {
    pub(super) path: &'a RepoPath,
    pub(super) text: &'a str,
    pub(super) found: Findings,
}

/// What a pin is of, as its place says.
#[derive(Debug, Clone, Default)]
pub(super) struct About {
    pub(super) object: Option<String>,
    pub(super) chart: Option<String>,
    pub(super) source: Source,
}

impl About {
    /// The chart alone, without the object.
    pub(super) fn of(&self, kind: Kind) -> Of {
        Of {
            kind,
            chart: self.chart.clone(),
            source: self.source.clone(),
        }
    }
}

/// Looks at a file.
pub fn look(path: &RepoPath, text: &str) -> Findings {
    let mut file = File {
        path,
        text,
        found: Findings::default(),
    };
    let name = path.name();
    if name.ends_with(".tf") {
        lines::terraform(&mut file);
    } else if is_template(path, text) {
        lines::templated(&mut file, is_helmfile(path));
    } else {
        file.documents();
    }
    lines::markers(&mut file);
    file.found.pins.sort_by_key(|pin| (pin.line, pin.column));
    file.found.pins.dedup_by(|later, first| {
        let is_same = later.span == first.span && !later.span.is_empty();
        if is_same && (&later.chart, &later.source) != (&first.chart, &first.source) {
            first.editable = false;
            first.why = Some("more than one chart reads this text".to_owned());
        }
        is_same
    });
    file.found
}

fn is_helmfile(path: &RepoPath) -> bool {
    path.name().starts_with("helmfile") || path.parts().any(|part| part == "helmfile.d")
}

/// Text of Helm or Go templates is no YAML, whatever it looks like. ApplicationSets have such braces in strings, which is YAML.
fn is_template(path: &RepoPath, text: &str) -> bool {
    let in_chart = path.parts().any(|part| part == "templates");
    let is_named = path.name().ends_with(".gotmpl") || path.name().ends_with(".tpl");
    is_named || (in_chart && text.contains("{{")) || text.starts_with("{{")
}

impl File<'_> {
    fn documents(&mut self) {
        let stream = yaml::parse(self.text);
        for error in &stream.errors {
            self.found.unread.push(Unread {
                file: self.path.clone(),
                line: error.position.line,
                why: format!("not YAML: {}", error.message),
            });
        }
        // What can't be read as YAML may still have unambiguous lines.
        if stream
            .documents
            .iter()
            .all(|document| document.root.is_none())
            && !stream.errors.is_empty()
        {
            lines::templated(self, is_helmfile(self.path));
        }
        let layer = Layer::file(self.text);
        for root in stream.roots() {
            let before = self.found.pins.len();
            self.document(&layer, root);
            // The MAC of SOPS covers values in clear too.
            if root.get("sops").is_some_and(Node::is_mapping) {
                for pin in &mut self.found.pins[before..] {
                    pin.editable = false;
                    pin.why =
                        Some("the file is encrypted by SOPS: `sops edit` changes it".to_owned());
                }
            }
        }
    }

    /// Looks at a document by what it is.
    pub(super) fn document(&mut self, layer: &Layer<'_>, root: &Node) {
        let reader = Reader { root };
        self.object(layer, reader, root);
    }

    /// Looks at an object, at the top or in a list.
    pub(super) fn object(&mut self, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
        let name = self.path.name().to_owned();
        let version = reader.text(node, &["apiVersion"]).unwrap_or_default();
        let kind = reader.text(node, &["kind"]).unwrap_or_default();
        let group = version.split('/').next().unwrap_or_default();
        if kind == "List" || kind.ends_with("List") && reader.get(node, "items").is_some() {
            for item in reader.items(node, &["items"]) {
                self.object(layer, reader, item);
            }
            return;
        }
        match group {
            "helm.toolkit.fluxcd.io"
            | "source.toolkit.fluxcd.io"
            | "kustomize.toolkit.fluxcd.io"
            | "fluxcd.controlplane.io" => flux::object(self, layer, reader, node, kind),
            "argoproj.io" => argo::object(self, layer, reader, node, kind),
            "kargo.akuity.io" => argo::warehouse(self, layer, reader, node),
            _ if kustomize::is_kustomization(&name, group, kind) => {
                kustomize::file(self, layer, reader, node);
            }
            _ if kind == "HelmChartInflationGenerator" => {
                kustomize::chart(
                    self,
                    layer,
                    reader,
                    node,
                    "HelmChartInflationGenerator version",
                );
            }
            _ if kind == "ConfigMap" => flux::config_map(self, layer, reader, node),
            _ if !kind.is_empty() && !version.is_empty() => {}
            _ if name == "Chart.yaml" => values::chart(self, layer, reader, node),
            _ if is_helmfile(self.path) => values::helmfile(self, layer, reader, node),
            _ if name.starts_with(".argocd-source") => argo::overrides(self, layer, reader, node),
            _ => values::data(self, layer, reader, node),
        }
    }

    /// Adds a pin where a node has a version.
    pub(super) fn pin(
        &mut self,
        layer: &Layer<'_>,
        node: &Node,
        kind: Kind,
        place: &str,
        about: &About,
    ) {
        let Some(value) = node.as_str().filter(|value| !value.trim().is_empty()) else {
            return;
        };
        let Some(mut pin) = self.pin_of(layer, node, kind, place, about) else {
            return;
        };
        if let Some((name, default)) = variable(value) {
            self.found.facts.uses.push(Use {
                scope: Scope::Flux,
                name: name.to_owned(),
                of: about.of(kind),
            });
            let Some(default) = default.filter(|default| !default.is_empty()) else {
                return;
            };
            let inside = self.text[pin.span.clone()].find(default);
            match inside.filter(|_| pin.editable) {
                Some(inside) => {
                    let raw = &self.text[pin.span.clone()];
                    pin.column += raw[..inside].chars().count();
                    pin.span = pin.span.start + inside..pin.span.start + inside + default.len();
                }
                None => pin.editable = false,
            }
            pin.value = default.to_owned();
            pin.form = Form::of(default, kind);
            pin.default_of = Some(name.to_owned());
        } else if let Some(name) = templated(value) {
            self.found.facts.uses.push(Use {
                scope: Scope::File(self.path.clone()),
                name,
                of: about.of(kind),
            });
            return;
        }
        self.found.pins.push(pin);
    }

    /// Remembers a definition of a name.
    pub(super) fn define(&mut self, scope: Scope, name: &str, mut pin: Pin) {
        pin.defines = Some(name.to_owned());
        self.found.facts.definitions.push(Definition {
            scope,
            name: name.to_owned(),
            pin,
        });
    }

    /// A pin of the text of a node, whatever it says.
    pub(super) fn pin_of(
        &self,
        layer: &Layer<'_>,
        node: &Node,
        kind: Kind,
        place: &str,
        about: &About,
    ) -> Option<Pin> {
        let value = node.as_str()?;
        let span = layer.span(node);
        let editable = span.is_some();
        let at = layer.offset(node.span.start).unwrap_or(layer.start());
        let span = span.unwrap_or(at..at);
        let mut pin = self.pin_at(span, value, kind, place, about);
        if !editable {
            pin.editable = false;
            pin.why = Some("its text stands inside of a string that has escapes".to_owned());
        }
        Some(pin)
    }

    /// A pin of some bytes of the file.
    pub(super) fn pin_at(
        &self,
        span: Range<usize>,
        value: &str,
        kind: Kind,
        place: &str,
        about: &About,
    ) -> Pin {
        let (line, column) = position(self.text, span.start);
        Pin {
            file: self.path.clone(),
            line,
            column,
            span,
            place: place.to_owned(),
            kind,
            object: about.object.clone(),
            chart: about.chart.clone(),
            source: about.source.clone(),
            value: value.to_owned(),
            form: Form::of(value, kind),
            default_of: None,
            defines: None,
            effective: true,
            editable: true,
            why: None,
        }
    }
}

/// Line and column of a byte, both from 1, the column in characters.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at];
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    (line, text[start..at].chars().count() + 1)
}

/// The name and the default of `${name}`, `${name:=default}` or `${name:-default}`, where it is the whole text.
fn variable(value: &str) -> Option<(&str, Option<&str>)> {
    let inner = value.strip_prefix("${")?.strip_suffix('}')?;
    let end = inner
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(inner.len());
    let default = inner[end..]
        .strip_prefix(":=")
        .or_else(|| inner[end..].strip_prefix(":-"))
        .or_else(|| inner[end..].strip_prefix('='));
    Some((&inner[..end], default))
}

/// The last word of `{{ .a.version }}`, `{{version}}` or `<< inputs.version | quote >>`.
fn templated(value: &str) -> Option<String> {
    let inner = value
        .strip_prefix("{{")
        .and_then(|rest| rest.strip_suffix("}}"))
        .or_else(|| {
            value
                .strip_prefix("<<")
                .and_then(|rest| rest.strip_suffix(">>"))
        })?;
    let path = inner.trim_matches(|c: char| c == '-' || c.is_whitespace());
    let path = path.split(['|', ' ']).next().unwrap_or_default();
    Some(path.rsplit('.').next().unwrap_or_default().to_owned())
}
