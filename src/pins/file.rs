//! One file: read once, and looked at by every finder.

use std::cell::Cell;
use std::ops::Range;

use super::facts::{Beside, Definition, Facts, ObjectFact, Of, Scope, Use};
use super::found::{Form, Kind, Pin, Source, Unread};
use super::kinds::{group_of, is_helmfile, is_template, known_parts, texts_of_lines};
use super::layer::Layer;
use super::node::{MOST_VISITS, Reader};
use super::templates::{self, HOLE, is_made};
use super::texts::{Variable, parameter, position, unescaped, unquoted, variables};
use super::{argo, flux, helmfile, kustomize, lines, others, terraform, values};
use crate::model::repo_path::RepoPath;
use crate::yaml::{Node, Stream};

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

/// A file while it is looked at.
pub(super) struct File<'a> {
    pub(super) path: &'a RepoPath,
    pub(super) text: &'a str,
    pub(super) found: Findings,
    /// Strings over several lines of a template, which are no lines of it.
    pub(super) skipped: Vec<Range<usize>>,
    visits: &'a Cell<usize>,
    /// Objects with parameters of their own so far, and which of them is looked at.
    scopes: (usize, usize),
}

/// What a pin is of, as its place says.
#[derive(Debug, Clone, Default)]
pub(super) struct About {
    pub(super) object: Option<String>,
    pub(super) chart: Option<String>,
    pub(super) source: Source,
    /// Whether the place takes one tag and no range.
    pub(super) is_tag: bool,
}

impl About {
    /// How a version is written at this place.
    fn form(&self, value: &str, kind: Kind) -> Form {
        if self.is_tag {
            Form::of_tag(value)
        } else {
            Form::of(value, kind)
        }
    }

    /// The chart alone, without the object.
    pub(super) fn of(&self, kind: Kind) -> Of {
        Of {
            kind,
            chart: self.chart.clone().filter(|chart| !is_made(chart)),
            source: self.source.if_known(),
            is_tag: self.is_tag,
            made_chart: self.chart.as_deref().and_then(made),
            made_address: match &self.source {
                Source::Address(address) => made(address),
                _ => None,
            },
        }
    }
}

/// A text that parameters make a part of.
fn made(text: &str) -> Option<String> {
    let is_filled = !text.contains(HOLE) && parameter(text).is_some();
    is_filled.then(|| text.to_owned())
}

/// Looks at a file.
pub fn look(path: &RepoPath, text: &str) -> Findings {
    let visits = Cell::new(MOST_VISITS);
    let mut file = File {
        path,
        text,
        found: Findings::default(),
        skipped: Vec::new(),
        visits: &visits,
        scopes: (0, 0),
    };
    let name = path.name();
    if name.ends_with(".tf") {
        terraform::releases(&mut file);
    } else if is_template(path, text) {
        file.template();
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

impl<'f> File<'f> {
    fn documents(&mut self) {
        let (layer, stream, has_holes) = templates::read(Layer::file(self.text));
        for error in &stream.errors {
            self.unread(error.position.line, format!("not YAML: {}", error.message));
        }
        self.roots(&layer, &stream);
        // What can't be read as YAML may still have unambiguous lines.
        if has_holes || !stream.errors.is_empty() {
            lines::templated(self, is_helmfile(self.path));
        }
    }

    /// Looks at a template as the YAML around its braces, and at its lines: those of another branch of an `if` are seen so.
    fn template(&mut self) {
        if !self.path.name().ends_with(".tpl") {
            match templates::without_braces(&Layer::file(self.text)) {
                Some((layer, stream)) if stream.errors.is_empty() => {
                    stream
                        .roots()
                        .for_each(|root| texts_of_lines(&layer, root, &mut self.skipped));
                    self.roots(&layer, &stream);
                }
                Some((_, stream)) if is_helmfile(self.path) => {
                    for error in &stream.errors {
                        let why = format!(
                            "a template that is no YAML without its braces, so only plain lines were looked at: {}",
                            error.message
                        );
                        self.unread(error.position.line, why);
                    }
                }
                Some(_) => {}
                None => self.documents(),
            }
        }
        lines::templated(self, is_helmfile(self.path));
    }

    /// Notes a line that can't be read, once.
    pub(super) fn unread(&mut self, line: usize, why: String) {
        let is_known = |known: &Unread| known.line == line && known.why == why;
        if !self.found.unread.iter().any(is_known) {
            self.found.unread.push(Unread {
                file: self.path.clone(),
                line,
                why,
            });
        }
    }

    fn roots(&mut self, layer: &Layer<'_>, stream: &Stream) {
        for root in stream.roots() {
            let before = (self.found.pins.len(), self.found.facts.definitions.len());
            self.document(layer, root);
            // The MAC of SOPS covers values in clear too.
            if root.get("sops").is_some_and(Node::is_mapping) {
                let pins = self.found.pins[before.0..].iter_mut();
                let definitions = self.found.facts.definitions[before.1..].iter_mut();
                for pin in pins.chain(definitions.map(|one| &mut one.pin)) {
                    pin.editable = false;
                    pin.why =
                        Some("the file is encrypted by SOPS: `sops edit` changes it".to_owned());
                }
            }
        }
    }

    /// Looks at a document by what it is.
    pub(super) fn document(&mut self, layer: &Layer<'_>, root: &Node) {
        let was_left = self.visits.get() > 0;
        self.object(layer, self.reader(root), root);
        if was_left && self.visits.get() == 0 {
            let at = layer.offset(root.span.start).unwrap_or(layer.start());
            let why = "its aliases and merge keys lead to more than can be followed";
            self.unread(position(self.text, at).0, why.to_owned());
        }
    }

    /// Reads a document of the file, or of a string in it.
    pub(super) fn reader<'a>(&self, root: &'a Node) -> Reader<'a>
    where
        'f: 'a,
    {
        Reader {
            root,
            visits: self.visits,
        }
    }

    /// Looks at an object, at the top or in a list.
    pub(super) fn object(&mut self, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
        let name = self.path.name().to_owned();
        let version = reader.text(node, &["apiVersion"]).unwrap_or_default();
        let kind = reader.text(node, &["kind"]).unwrap_or_default();
        // Patches with a target may leave out the group.
        let group = match version.split('/').next().unwrap_or_default() {
            "" => group_of(kind),
            group => group,
        };
        if kind == "List" || kind.ends_with("List") && reader.get(node, "items").is_some() {
            for item in reader.items(node, &["items"]) {
                self.object(layer, reader, item);
            }
            return;
        }
        // What such an object has inside may read its parameters.
        let is_scope = matches!(kind, "ApplicationSet" | "ResourceSet") && self.scopes.1 == 0;
        if is_scope {
            self.scopes.0 += 1;
            self.scopes.1 = self.scopes.0;
        }
        match group {
            "helm.toolkit.fluxcd.io"
            | "source.toolkit.fluxcd.io"
            | "kustomize.toolkit.fluxcd.io"
            | "fluxcd.controlplane.io" => flux::object(self, layer, reader, node, kind),
            "argoproj.io" => argo::object(self, layer, reader, node, kind),
            "helm.cattle.io" if kind == "HelmChart" => others::chart(self, layer, reader, node),
            "helm.crossplane.io" | "addons.cluster.x-k8s.io" | "config.projectsveltos.io" => {
                others::other(self, layer, reader, node, kind);
            }
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
            _ if kind == "ConfigMap" => {
                flux::variables(self, layer, reader, node, ("ConfigMap", "data"));
            }
            _ if kind == "Secret" => {
                flux::variables(self, layer, reader, node, ("Secret", "stringData"));
            }
            _ if !kind.is_empty() && !version.is_empty() => {}
            _ if matches!(name.as_str(), "Chart.yaml" | "requirements.yaml") => {
                values::chart(self, layer, reader, node);
            }
            _ if name == "fleet.yaml" => others::fleet(self, layer, reader, node),
            _ if is_helmfile(self.path) => helmfile::releases(self, layer, reader, node),
            _ if name.starts_with(".argocd-source") => argo::overrides(self, layer, reader, node),
            // A helmfile may be called anything where another names it.
            _ => {
                if helmfile::is_one(reader, node) {
                    helmfile::releases(self, layer, reader, node);
                }
                values::data(self, layer, reader, node);
            }
        }
        if is_scope {
            self.scopes.1 = 0;
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
        let Some(mut pin) = self.pin_of(layer, node, kind, place, about) else {
            return;
        };
        if pin.value.trim().is_empty() {
            return;
        }
        let whole = pin.value.clone();
        let value = whole.as_str();
        if value.contains(HOLE) {
            self.hole(layer, node, pin.line, &about.of(kind));
            return;
        }
        let variables = variables(value);
        if variables.is_empty() {
            match parameter(value) {
                Some(path) => self.parameter(path, about.of(kind), pin.line),
                None => self.found.pins.push(pin),
            }
            return;
        }
        for Variable { name, default } in &variables {
            self.uses(Scope::Flux, name, about.of(kind), pin.line);
            if let Some(used) = self.found.facts.uses.last_mut() {
                used.has_default = default.is_some();
            }
        }
        let [Variable { name, default }] = variables.as_slice() else {
            self.unread(
                pin.line,
                format!("`{value}` is made of more than one variable"),
            );
            return;
        };
        let Some(default) = default else {
            return;
        };
        let raw = &self.text[pin.span.clone()];
        match raw.find(value).filter(|_| pin.editable) {
            Some(inside) => {
                let start = inside + default.start;
                pin.column += raw[..start].chars().count();
                pin.span = pin.span.start + start..pin.span.start + start + default.len();
            }
            None => pin.editable = false,
        }
        pin.value = value[default.clone()].to_owned();
        pin.form = about.form(&pin.value, kind);
        pin.default_of = Some((*name).to_owned());
        self.found.pins.push(pin);
    }

    /// A version that a template makes: it stands where its value is defined.
    fn hole(&mut self, layer: &Layer<'_>, node: &Node, line: usize, of: &Of) {
        let said = unquoted(layer.said(node.span.clone()).trim());
        let escaped = unescaped(said);
        if let Some(path) = escaped.as_deref().and_then(parameter) {
            self.parameter(path, of.clone(), line);
        } else if layer.is_file() {
            self.unread(line, lines::MADE.to_owned());
            lines::remember(self, said, of, line);
        } else if let Some(path) = parameter(said) {
            let path = path.to_owned();
            self.parameter(&path, of.clone(), line);
        }
    }

    /// Where parameters that are read here are defined.
    pub(super) fn scope(&self) -> Scope {
        Scope::File(self.path.clone(), self.scopes.1)
    }

    /// Remembers that a parameter of a template stands at a version's place.
    fn parameter(&mut self, path: &str, of: Of, line: usize) {
        let name = path.rsplit('.').next().unwrap_or_default().to_owned();
        self.uses(self.scope(), &name, of, line);
        if let Some(used) = self.found.facts.uses.last_mut() {
            used.path = path.to_owned();
        }
    }

    /// Remembers that a name stands at a version's place.
    pub(super) fn uses(&mut self, scope: Scope, name: &str, mut of: Of, line: usize) {
        let is_whole = matches!(scope, Scope::Chart(_));
        if is_whole {
            // Values of a chart say themselves what stands beside them.
            (of.made_chart, of.made_address) = (None, None);
        }
        self.found.facts.uses.push(Use {
            scope,
            name: name.to_owned(),
            path: if is_whole {
                name.to_owned()
            } else {
                String::new()
            },
            of,
            has_default: false,
            file: self.path.clone(),
            line,
        });
    }

    /// Remembers an object that says what it runs. Patches don't.
    pub(super) fn runs(&mut self, about: &About) {
        let says = about.chart.is_some() || about.source != Source::Unknown;
        if let Some(object) = about.object.as_ref().filter(|_| says) {
            self.found.facts.objects.push(ObjectFact {
                file: self.path.clone(),
                object: object.clone(),
                chart: about.chart.clone().filter(|chart| !is_made(chart)),
                source: about.source.if_known(),
            });
        }
    }

    /// Remembers a definition of a name.
    pub(super) fn define(&mut self, scope: Scope, name: &str, mut pin: Pin, beside: &Beside) {
        pin.defines = Some(name.to_owned());
        self.found.facts.definitions.push(Definition {
            scope,
            name: name.to_owned(),
            pin,
            beside: Beside::clone(beside),
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
        let scalar = node.as_scalar()?;
        // Lines of a template are blank here, and a block takes in those behind it.
        let value = if scalar.style.is_block() {
            scalar.value.trim_end()
        } else {
            scalar.value.as_str()
        };
        // With escapes the bytes aren't there as they read.
        let span = layer
            .span(node)
            .filter(|span| value.contains(HOLE) || self.text[span.clone()].contains(value));
        let editable = span.is_some();
        let at = layer.offset(node.span.start).unwrap_or(layer.start());
        let span = span.unwrap_or(at..at);
        let mut pin = self.pin_at(span, value, kind, place, about);
        if !editable {
            pin.editable = false;
            pin.why = Some(
                "it is written over several lines, with escapes, or in a string that has some"
                    .to_owned(),
            );
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
            object: about.object.as_deref().and_then(known_parts),
            chart: about.chart.clone().filter(|chart| !is_made(chart)),
            source: about.source.if_known(),
            value: value.to_owned(),
            form: about.form(value, kind),
            default_of: None,
            defines: None,
            effective: true,
            editable: true,
            why: None,
        }
    }
}
