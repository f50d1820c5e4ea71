//! The versions in old texts of files: each text is read once, and each of its documents looked at once.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use git2::Oid;
use memchr::memmem;
use semver::Version;

use crate::model::range::lenient_version;
use crate::model::repo_path::RepoPath;
use crate::pins::{Form, Kind, Pin, look_at_bytes, may_have_pins, tag_prefix};

/// What is only read, since it was looked at before, counts so many times less.
pub(super) const READING: usize = 8;

/// Old texts, each read once, and each of their documents looked at once, however many pins and commits have it.
pub(super) struct Texts<'r> {
    /// Returns a text; nothing where it isn't there, or is longer than so many bytes.
    read: &'r dyn Fn(Oid, usize) -> Option<Vec<u8>>,
    known: RefCell<HashMap<(RepoPath, Oid), Option<Shared>>>,
    documents: RefCell<HashMap<RepoPath, HashMap<Vec<u8>, Shared>>>,
    /// So many bytes may still be looked at.
    pub(super) left: Cell<usize>,
}

impl<'r> Texts<'r> {
    pub(super) fn new(read: &'r dyn Fn(Oid, usize) -> Option<Vec<u8>>, most: usize) -> Self {
        Self {
            read,
            known: RefCell::default(),
            documents: RefCell::default(),
            left: Cell::new(most),
        }
    }

    pub(super) fn of(&self, path: &RepoPath, id: Oid) -> Option<Rc<Text>> {
        // Where a file lies says what it is.
        let key = (path.clone(), id);
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let content = (self.read)(id, self.left.get());
        let text = content.map(|content| Rc::new(self.look(path, &content)));
        self.known.borrow_mut().insert(key, text.clone());
        text
    }

    /// Looks at those documents that no other text has had. A commit seldom changes more than one of them.
    fn look(&self, path: &RepoPath, content: &[u8]) -> Text {
        let mut documents = self.documents.borrow_mut();
        let documents = documents.entry(path.clone()).or_default();
        let mut all = Text::default();
        self.charge(content.len() / READING);
        for document in split(path, content) {
            match documents.get(document) {
                Some(known) => all.add(known),
                None => {
                    self.charge(document.len());
                    let new = Rc::new(Text::of(path, document));
                    all.add(&new);
                    documents.insert(document.to_vec(), new);
                }
            }
        }
        all
    }

    fn charge(&self, bytes: usize) {
        self.left.set(self.left.get().saturating_sub(bytes));
    }
}

/// The documents of a text, where each can be looked at by itself: not those of a template.
fn split<'c>(path: &RepoPath, content: &'c [u8]) -> Vec<&'c [u8]> {
    let is_yaml = path.as_str().ends_with(".yaml") || path.as_str().ends_with(".yml");
    let is_plain = std::str::from_utf8(content).is_ok() && memmem::find(content, b"{{").is_none();
    if !is_yaml || !is_plain {
        return vec![content];
    }
    let mut starts = vec![0];
    starts.extend(memmem::find_iter(content, b"\n---\n").map(|at| at + 1));
    starts.push(content.len());
    starts
        .windows(2)
        .map(|two| &content[two[0]..two[1]])
        .collect()
}

/// The versions in a text, by place and object: of each the chart, where the file alone says it.
#[derive(Default)]
pub(super) struct Text(HashMap<String, Vec<Stands>>);

/// A text that has been looked at.
type Shared = Rc<Text>;
/// A version, and the chart that it is of.
type Stands = (Option<String>, Option<Version>);

impl Text {
    pub(super) fn of(path: &RepoPath, content: &[u8]) -> Self {
        let mut all = Self::default();
        if !may_have_pins(path.name(), content) {
            return all;
        }
        let found = look_at_bytes(path, content);
        let definitions = found.facts.definitions.iter().map(|one| &one.pin);
        for pin in found.pins.iter().chain(definitions) {
            let alike = all.0.entry(key(pin)).or_default();
            alike.push((pin.chart.clone(), version_of(pin)));
        }
        all
    }

    fn add(&mut self, other: &Self) {
        for (key, alike) in &other.0 {
            let all = self.0.entry(key.clone()).or_default();
            all.extend_from_slice(alike);
        }
    }

    /// The versions that are alike with a pin. One file alone doesn't always say the chart.
    fn alike<'a>(
        &'a self,
        key: &str,
        pin: &'a Pin,
    ) -> impl Iterator<Item = Option<&'a Version>> + 'a {
        let all = self.0.get(key).into_iter().flatten();
        all.filter(|(chart, _)| chart.is_none() || *chart == pin.chart)
            .map(|(_, version)| version.as_ref())
    }

    pub(super) fn has(&self, pin: &Pin) -> bool {
        self.alike(&key(pin), pin).next().is_some()
    }

    /// The version of a pin; the lowest where several are alike.
    pub(super) fn says<'a>(&'a self, key: &str, pin: &'a Pin) -> Option<&'a Version> {
        let all: Option<Vec<&Version>> = self.alike(key, pin).collect();
        all?.into_iter()
            .min_by(|one, other| one.cmp_precedence(other))
    }
}

/// What pins of different texts are told apart by.
pub(super) fn key(pin: &Pin) -> String {
    let object = pin.object.as_deref();
    format!("{}\n{}", pin.place, object.unwrap_or_default())
}

/// The version that a pin has, where it has one.
pub(super) fn version_of(pin: &Pin) -> Option<Version> {
    match (pin.kind, pin.form) {
        (Kind::Git, Form::Exact | Form::Ref) => {
            lenient_version(&pin.value[tag_prefix(&pin.value)?.len()..])
        }
        (_, Form::Exact) => pin.version(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file below a folder.
    fn files(folder: &std::path::Path, all: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => files(&path, all),
                false => all.push(path),
            }
        }
    }

    #[test]
    fn documents_by_themselves_say_what_the_whole_file_says() {
        let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pins/demo");
        let mut all = Vec::new();
        files(&top, &mut all);
        let mut parts = 0;
        for file in all {
            let path = RepoPath::parse(file.strip_prefix(&top).unwrap().to_str().unwrap()).unwrap();
            let content = std::fs::read(&file).unwrap();
            let texts = Texts::new(&|_, _| None, usize::MAX);
            let (whole, parted) = (Text::of(&path, &content), texts.look(&path, &content));
            parts += split(&path, &content).len() - 1;
            let has = |text: &Text, key: &String| text.0.get(key).cloned().unwrap_or_default();
            // Where a document is no YAML, those beside it are still read by themselves.
            for key in whole.0.keys() {
                assert_eq!(has(&whole, key), has(&parted, key), "{path}: {key}");
            }
        }
        assert!(parts >= 5, "{parts}");
    }
}
