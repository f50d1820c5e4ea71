//! Random manifests with pins at random places: every pin is found, and an edit changes its bytes alone or is refused.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestError, TestRunner};

use super::{Findings, Pin, edit, look};
use crate::model::repo_path::RepoPath;

/// A random value that is no pin: on the line of its key, as a block below it, or with entries of its own.
#[derive(Debug, Clone)]
enum Filler {
    Inline(String),
    Block(String, Vec<String>),
    Map(Vec<Self>),
    List(Vec<Self>, usize),
}

fn filler() -> impl Strategy<Value = Filler> {
    let inline = select(vec![
        "",
        "9.9.9",
        "'it''s'",
        "\"a\\tb\"",
        "&x v1 # c",
        "!!str 10",
        "[a, 'b', {c: d}]",
        "{a: 1, \"version\": 9.9.9, c: }",
        "plain text   # version: 9.9.9",
        "https://a.b/c?d#e",
        "größe 🦀",
        "'{{ .x }}'",
        "\"broken \\\n      over\n\n      lines\"",
        "\n      far below",
    ]);
    let line = select(vec![
        "version: 9.9.9",
        "---",
        "# c",
        "",
        "  tag: 1",
        "ünï: [",
        "chart: x",
    ]);
    let header = select(vec!["|", ">-", "|+", "|- # c", ">"]);
    let leaf = prop_oneof![
        4 => inline.prop_map(|text| Filler::Inline(text.to_owned())),
        1 => (header, prop::collection::vec(line, 1..5)).prop_map(|(header, lines)| {
            let lines = lines.into_iter().map(str::to_owned);
            Filler::Block(header.to_owned(), std::iter::once("first".to_owned()).chain(lines).collect())
        }),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Filler::Map),
            (prop::collection::vec(inner, 1..4), 0..3usize)
                .prop_map(|(items, gap)| Filler::List(items, gap)),
        ]
    })
}

/// Where a version stands.
#[derive(Debug, Clone, Copy)]
enum Place {
    Release,
    FlowRelease,
    Chart,
    OciTag,
    Source,
    Sources,
    Template,
    /// A patch in a literal string.
    Patch,
    /// An operation in a literal string.
    Operation,
    /// The default of a variable.
    Default,
}

/// How a version is written.
#[derive(Debug, Clone, Copy)]
enum Written {
    Plain,
    Single,
    Double,
    Anchored,
    Tagged,
    Below,
    Block,
}

#[derive(Debug, Clone)]
struct Document {
    place: Place,
    written: Written,
    version: String,
    step: usize,
    before: Vec<Filler>,
    after: Vec<Filler>,
}

/// Versions that are versions for every reader.
fn version() -> impl Strategy<Value = String> {
    "v?(0|[1-9][0-9]?)\\.[1-9][0-9]{0,2}\\.(0|[1-9][0-9]?)(-(rc|alpha)\\.[1-9][0-9]?)?"
}

fn document() -> impl Strategy<Value = Document> {
    use Place::{
        Chart, Default, FlowRelease, OciTag, Operation, Patch, Release, Source, Sources, Template,
    };
    use Written::{Anchored, Below, Block, Double, Plain, Single, Tagged};
    let places = vec![
        Release,
        FlowRelease,
        Chart,
        OciTag,
        Source,
        Sources,
        Template,
        Patch,
        Operation,
        Default,
    ];
    let all_written = vec![Plain, Single, Double, Anchored, Tagged, Below, Block];
    let fillers = || prop::collection::vec(filler(), 0..3);
    (
        select(places),
        select(all_written),
        version(),
        1..5usize,
        fillers(),
        fillers(),
    )
        .prop_map(|(place, written, version, step, before, after)| Document {
            place,
            written,
            version,
            step,
            before,
            after,
        })
}

/// Writes YAML line by line; the step of the indentation is the document's.
struct Writer {
    text: String,
    step: usize,
}

impl Writer {
    fn line(&mut self, depth: usize, line: &str) {
        self.text.push_str(&" ".repeat(depth * self.step));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn fill(&mut self, depth: usize, name: &str, fillers: &[Filler]) {
        for (at, one) in fillers.iter().enumerate() {
            self.text.push_str(&" ".repeat(depth * self.step));
            self.text.push_str(&format!("{name}{at}:"));
            self.value(one, depth * self.step);
        }
    }

    /// A value behind its indicator; the rest of the line is its own.
    fn value(&mut self, filler: &Filler, indent: usize) {
        let margin = " ".repeat(indent);
        match filler {
            Filler::Inline(text) => {
                let text = text.replace("\n      ", &format!("\n{margin}      "));
                let gap = if text.is_empty() { "" } else { " " };
                self.text.push_str(&format!("{gap}{text}\n"));
            }
            Filler::Block(header, lines) => {
                self.text.push_str(&format!(" {header}\n"));
                for line in lines {
                    let margin = if line.is_empty() { "" } else { &margin };
                    let inner = if line.is_empty() { "" } else { "  " };
                    self.text.push_str(&format!("{margin}{inner}{line}\n"));
                }
            }
            Filler::Map(entries) => {
                self.text.push_str("  # map\n");
                for (at, entry) in entries.iter().enumerate() {
                    self.text
                        .push_str(&format!("{margin}  # c\n{margin}  k{at}:"));
                    self.value(entry, indent + 2);
                }
            }
            Filler::List(items, gap) => {
                self.text.push('\n');
                for item in items {
                    self.text
                        .push_str(&format!("{margin}{}-", " ".repeat(*gap)));
                    self.value(item, indent + gap + 2);
                }
            }
        }
    }

    /// A key with the version, as it is written.
    fn version(&mut self, depth: usize, key: &str, written: Written, version: &str) {
        let deep = " ".repeat((depth + 1) * self.step);
        let value = match written {
            Written::Plain => format!("{version}   # pinned"),
            Written::Single => format!("'{version}'"),
            Written::Double => format!("  \"{version}\" # c"),
            Written::Anchored => format!("&v {version}"),
            Written::Tagged => format!("!!str '{version}'"),
            Written::Below => format!("  # below\n\n{deep}{version}"),
            Written::Block => format!(">-\n{deep}{version}"),
        };
        self.line(depth, &format!("{key}: {value}"));
    }
}

impl Document {
    fn head(&self, api: &str, kind: &str) -> Writer {
        let mut writer = Writer {
            text: String::new(),
            step: self.step,
        };
        writer.line(0, &format!("apiVersion: {api} # head"));
        writer.line(0, &format!("kind: {kind}"));
        writer.line(0, "metadata:");
        writer.line(1, "name: web");
        writer.line(0, "spec:");
        writer.fill(1, "before", &self.before);
        writer
    }

    fn text(&self) -> String {
        let (api, kind, keys, last) = match self.place {
            Place::Release | Place::FlowRelease | Place::Default => {
                (HELM, "HelmRelease", &["chart:", "spec:"][..], "version")
            }
            Place::Chart => (SOURCE, "HelmChart", &[][..], "version"),
            Place::OciTag => (SOURCE, "OCIRepository", &["ref:"][..], "tag"),
            Place::Source => (ARGO, "Application", &["source:"][..], "targetRevision"),
            Place::Sources => (ARGO, "Application", &[][..], "targetRevision"),
            Place::Template => {
                let keys = &["template:", "spec:", "source:"][..];
                (ARGO, "ApplicationSet", keys, "targetRevision")
            }
            Place::Patch | Place::Operation => (KUSTOMIZE, "Kustomization", &[][..], ""),
        };
        let mut writer = self.head(api, kind);
        match self.place {
            Place::FlowRelease => self.flow(&mut writer),
            Place::Patch | Place::Operation => self.patch(&mut writer),
            _ => self.keys(&mut writer, keys, last),
        }
        writer.fill(1, "after", &self.after);
        writer.text
    }

    fn keys(&self, writer: &mut Writer, keys: &[&str], last: &str) {
        let mut depth = 1;
        if matches!(self.place, Place::Sources) {
            writer.line(1, "sources:");
            writer.line(
                1,
                "- {repoURL: 'https://g.example.org/x.git', targetRevision: main}",
            );
            writer.line(1, "-");
            depth = 2;
        }
        for key in keys {
            writer.line(depth, key);
            depth += 1;
        }
        writer.fill(depth, "a", &self.before);
        let version = match self.place {
            Place::Default => format!("${{v:={}}}", self.version),
            _ => self.version.clone(),
        };
        writer.version(depth, last, self.written, &version);
        writer.fill(depth, "z", &self.after);
    }

    fn flow(&self, writer: &mut Writer) {
        let quote = match self.written {
            Written::Single => "'",
            Written::Double => "\"",
            _ => "",
        };
        let version = format!("{quote}{}{quote}", self.version);
        writer.line(
            1,
            &format!("chart: {{spec: {{ chart: web,version: {version}, x: [a,b]}}  }}"),
        );
    }

    /// A string that is YAML itself.
    fn patch(&self, writer: &mut Writer) {
        let text = match self.place {
            Place::Patch => {
                let place = Place::Release;
                let inner = self.clone();
                Self { place, ..inner }.text()
            }
            _ => format!(
                "- op: replace\n  path: /spec/chart/spec/version\n  value: '{}'\n",
                self.version
            ),
        };
        writer.line(1, "patches:");
        writer.line(1, "- target: {kind: HelmRelease, name: web}");
        writer.line(1, "  patch: |");
        let margin = " ".repeat(self.step + 4);
        for line in text.lines() {
            let margin = if line.is_empty() { "" } else { &margin };
            writer.text.push_str(&format!("{margin}{line}\n"));
        }
    }
}

const HELM: &str = "helm.toolkit.fluxcd.io/v2";
const SOURCE: &str = "source.toolkit.fluxcd.io/v1";
const KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io/v1";
const ARGO: &str = "argoproj.io/v1alpha1";

/// A file: its documents, and how its lines begin and end.
#[derive(Debug, Clone)]
struct Manifest {
    documents: Vec<Document>,
    crlf: bool,
    mark: bool,
    open_end: bool,
    /// Whether it is a template of a chart.
    braces: bool,
}

fn file() -> impl Strategy<Value = Manifest> {
    let documents = prop::collection::vec(document(), 1..4);
    let flags = any::<[bool; 4]>();
    (documents, flags).prop_map(|(documents, [crlf, mark, open_end, braces])| Manifest {
        documents,
        crlf,
        mark,
        open_end,
        braces,
    })
}

impl Manifest {
    fn text(&self) -> String {
        let texts: Vec<String> = self.documents.iter().map(Document::text).collect();
        let mut text = texts.join("--- # next\n");
        if self.braces {
            text = text.replace(
                "name: web\n",
                "name: {{ .Release.Name }}-web # {{/* }} */}}\n",
            );
            text = text.replace("spec:\n", "spec:\n{{- if and .Values.a (eq .b `}}`) }}\n");
            text.push_str("{{- end }}\n");
        }
        if self.open_end {
            text.truncate(text.trim_end().len());
        }
        if self.crlf {
            text = text.replace('\n', "\r\n");
        }
        if self.mark {
            text.insert(0, '\u{feff}');
        }
        text
    }
}

fn values(found: &Findings) -> Vec<&str> {
    found.pins.iter().map(|pin| pin.value.as_str()).collect()
}

/// Edits a pin, and says whether that was done and right, or refused.
fn check(
    path: &RepoPath,
    text: &str,
    (pin, at): (&Pin, usize),
    new: &str,
) -> Result<bool, TestCaseError> {
    let Ok(edited) = edit(path, text, pin, new) else {
        return Ok(false);
    };
    let (head, tail) = (&text[..pin.span.start], &text[pin.span.end..]);
    prop_assert!(
        edited.starts_with(head) && edited.ends_with(tail),
        "{edited}"
    );
    let middle = &edited[head.len()..edited.len() - tail.len()];
    let old = &text[pin.span.clone()];
    let quoted = format!("\"{new}\"");
    prop_assert!(
        middle == old.replace(&pin.value, new) || middle == quoted,
        "{middle}"
    );
    let (before, after) = (look(path, text), look(path, &edited));
    let mut wanted = values(&before);
    wanted[at] = new;
    prop_assert_eq!(values(&after), wanted, "{}", edited);
    prop_assert_eq!(before.unread.len(), after.unread.len());
    for (before, after) in before.pins.iter().zip(&after.pins) {
        prop_assert_eq!(
            (
                &before.place,
                &before.object,
                &before.chart,
                before.line,
                before.effective
            ),
            (
                &after.place,
                &after.object,
                &after.chart,
                after.line,
                after.effective
            )
        );
    }
    Ok(true)
}

fn run(news: impl Strategy<Value = String>) -> (usize, usize) {
    let plain = RepoPath::parse("apps/web.yaml").unwrap();
    let template = RepoPath::parse("chart/templates/web.yaml").unwrap();
    let (tried, done) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(Config::with_cases(400));
    let result = runner.run(&(file(), news, any::<Index>()), |(file, new, pick)| {
        let text = file.text();
        let path = if file.braces { &template } else { &plain };
        let found = look(path, &text);
        prop_assert!(found.unread.is_empty(), "{:?}\n{}", found.unread, text);
        let wanted: Vec<&str> = file
            .documents
            .iter()
            .map(|one| one.version.as_str())
            .collect();
        prop_assert_eq!(values(&found), wanted, "{}", text);
        let at = pick.index(found.pins.len());
        let is_done = check(path, &text, (&found.pins[at], at), &new)?;
        tried.set(tried.get() + 1);
        done.set(done.get() + usize::from(is_done));
        Ok(())
    });
    if let Err(TestError::Fail(why, (file, new, _))) = &result {
        panic!("{why}\nnew: {new}\n{}", file.text());
    }
    result.unwrap();
    (tried.get(), done.get())
}

#[test]
fn a_random_version_at_a_random_place_moves_alone() {
    let (tried, done) = run(version());
    assert!(
        tried >= 400 && done == tried,
        "{done} of {tried} were edited"
    );
}

#[test]
fn whatever_is_written_is_read_again_or_refused() {
    let odd = prop_oneof![
        2 => select(vec!["1.10", "1e3", ">=1.0.0 <2.0.0", "1.x", "^1.2 || ~3", "sha256:00", "1.0.0+b.1", "2024.01.02", "1_0", "true"])
            .prop_map(str::to_owned),
        1 => "[ -~é]{0,8}",
        1 => "1\\.0\\.0[\n\r#:' \"{},\\[$]{1,3}",
    ];
    let (tried, done) = run(odd);
    assert!(
        done * 2 > tried && done < tried,
        "{done} of {tried} were edited"
    );
}
