//! Which versions a pin has had, as the history of the branch says: the highest of them, and whether it went back from there.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use anyhow::Result;
use git2::{ObjectType, Oid, Repository};
use memchr::memmem;
use semver::Version;

use crate::git::past::{Most, Past, Trail, past};
use crate::model::range::lenient_version;
use crate::model::repo_path::RepoPath;
use crate::pins::{Form, Kind, Pin, look_at_bytes, may_have_pins, tag_prefix};
use crate::plan::upgrade::is_haptic;

/// So many commits are looked at: years of a repository that people read.
pub const MOST_COMMITS: usize = 20_000;
/// So much of a history is looked at: years of a repository that people read.
const MOST: Most = Most {
    commits: MOST_COMMITS,
    texts: 500,
};
/// So many bytes of old texts are looked at in one run.
const MOST_BYTES: usize = 48 << 20;
/// What is only read, since it was looked at before, counts so many times less.
const READING: usize = 8;

/// The highest version that a pin has had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Highest {
    /// The version.
    pub version: Version,
    /// When it came last, in seconds since 1970.
    pub since: i64,
    /// The commit that took it back, where one did, and when.
    pub taken_back: Option<(Oid, i64)>,
    /// Whether the history is cut off in a shallow clone, so that there may have been a higher one.
    pub is_cut: bool,
    /// All versions that the pin has had.
    pub had: Vec<Version>,
}

/// Looks through the history of the files of some pins. Nothing for a pin that never had a version, as far as the history goes.
///
/// # Errors
/// When the history can't be read.
pub fn highest(repository: &Repository, tip: Oid, pins: &[&Pin]) -> Result<Vec<Option<Highest>>> {
    let mut paths: Vec<&RepoPath> = pins.iter().map(|pin| &pin.file).collect();
    paths.sort_unstable();
    paths.dedup();
    let odb = repository.odb()?;
    let read = |id: Oid, left: usize| {
        let (size, kind) = odb.read_header(id).ok()?;
        if kind != ObjectType::Blob || size > left {
            return None;
        }
        odb.read(id).ok().map(|object| object.data().to_vec())
    };
    let texts = Texts::new(&read, MOST_BYTES);
    let has_it = |at: usize, path: &RepoPath, id: Oid| {
        let text = texts.of(path, id);
        let mut own = pins.iter().filter(|pin| pin.file == *paths[at]);
        text.is_some_and(|text| own.any(|pin| text.has(pin)))
    };
    let trails = past(repository, tip, &paths, MOST, &has_it)?;
    // Of a file with many pins each old text is looked at once for all of them.
    let read: Vec<Vec<Read<'_>>> = trails
        .iter()
        .map(|trail| read_trail(&texts, trail))
        .collect();
    let of = |pin: &&Pin| {
        let at = paths.binary_search(&&pin.file).ok()?;
        highest_of(pin, &read[at], trails[at].is_cut)
    };
    Ok(pins.iter().map(of).collect())
}

/// The same of pins of HAPTIC that are lower now: by a revert, or by hand. It never goes back, so that is a downgrade in disguise.
///
/// # Errors
/// When the history can't be read.
pub fn went_back(repository: &Repository, tip: Oid, pins: &[&Pin]) -> Result<Vec<Option<Highest>>> {
    let all = highest(repository, tip, pins)?;
    let is_lower = |pin: &Pin, highest: &Highest| {
        let current = version_of(pin).filter(|_| is_haptic(pin));
        current.is_some_and(|current| highest.version.cmp_precedence(&current).is_gt())
    };
    let all = pins.iter().zip(all);
    Ok(all
        .map(|(pin, highest)| highest.filter(|highest| is_lower(pin, highest)))
        .collect())
}

/// What is said of it.
pub fn told(pin: &Pin, highest: &Highest) -> String {
    let Highest {
        version,
        taken_back,
        ..
    } = highest;
    let by = match taken_back {
        Some((commit, _)) => format!(" until {}", &commit.to_string()[..8]),
        None => " in the last commit".to_owned(),
    };
    format!(
        "{}:{}: it had {version}{by}, and HAPTIC never goes back to {}: its CRDs and configuration don't come down again; the way on is forward: where {version} was rejected haptic-scaffold recover --rejected {version}, else haptic-scaffold upgrade haptic --to {version}",
        pin.file, pin.line, pin.value
    )
}

/// A past text, read.
type Read<'a> = (&'a Past, Option<Rc<Text>>);

/// Reads the texts of a file, as far as there is room for them.
fn read_trail<'a>(texts: &Texts<'_>, trail: &'a Trail) -> Vec<Read<'a>> {
    let read = trail.texts.iter().map_while(|past| match &past.text {
        Some((path, id)) => Some((past, Some(texts.of(path, *id)?))),
        None => Some((past, None)),
    });
    read.collect()
}

fn highest_of(pin: &Pin, past: &[Read<'_>], is_cut: bool) -> Option<Highest> {
    let key = key(pin);
    let versions: Vec<Option<&Version>> = past
        .iter()
        .map(|(_, text)| text.as_ref()?.says(&key, pin))
        .collect();
    let version = versions
        .iter()
        .flatten()
        .max_by(|one, other| one.cmp_precedence(other))?;
    let is = |one: &Option<&Version>| one.is_some_and(|one| one.cmp_precedence(version).is_eq());
    // The newest first: the first text with it is the last that had it, and the one before that in the list took it back.
    let last = versions.iter().position(is)?;
    let taken_back = last
        .checked_sub(1)
        .map(|at| (past[at].0.commit, past[at].0.time));
    let mut first = last;
    while versions.get(first + 1).is_some_and(is) {
        first += 1;
    }
    Some(Highest {
        version: (*version).clone(),
        since: past[first].0.time,
        taken_back,
        is_cut,
        had: versions.into_iter().flatten().cloned().collect(),
    })
}

/// Old texts, each read once, and each of their documents looked at once, however many pins and commits have it.
struct Texts<'r> {
    /// Returns a text; nothing where it isn't there, or is longer than so many bytes.
    read: &'r dyn Fn(Oid, usize) -> Option<Vec<u8>>,
    known: RefCell<HashMap<(RepoPath, Oid), Option<Shared>>>,
    documents: RefCell<HashMap<RepoPath, HashMap<Vec<u8>, Shared>>>,
    /// So many bytes may still be looked at.
    left: Cell<usize>,
}

impl<'r> Texts<'r> {
    fn new(read: &'r dyn Fn(Oid, usize) -> Option<Vec<u8>>, most: usize) -> Self {
        Self {
            read,
            known: RefCell::default(),
            documents: RefCell::default(),
            left: Cell::new(most),
        }
    }

    fn of(&self, path: &RepoPath, id: Oid) -> Option<Rc<Text>> {
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
struct Text(HashMap<String, Vec<Stands>>);

/// A text that has been looked at.
type Shared = Rc<Text>;
/// A version, and the chart that it is of.
type Stands = (Option<String>, Option<Version>);

impl Text {
    fn of(path: &RepoPath, content: &[u8]) -> Self {
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

    fn has(&self, pin: &Pin) -> bool {
        self.alike(&key(pin), pin).next().is_some()
    }

    /// The version of a pin; the lowest where several are alike.
    fn says<'a>(&'a self, key: &str, pin: &'a Pin) -> Option<&'a Version> {
        let all: Option<Vec<&Version>> = self.alike(key, pin).collect();
        all?.into_iter()
            .min_by(|one, other| one.cmp_precedence(other))
    }
}

/// What pins of different texts are told apart by.
fn key(pin: &Pin) -> String {
    let object = pin.object.as_deref();
    format!("{}\n{}", pin.place, object.unwrap_or_default())
}

/// The version that a pin has, where it has one.
pub fn version_of(pin: &Pin) -> Option<Version> {
    match (pin.kind, pin.form) {
        (Kind::Git, Form::Exact | Form::Ref) => {
            lenient_version(&pin.value[tag_prefix(&pin.value)?.len()..])
        }
        (_, Form::Exact) => pin.version(),
        _ => None,
    }
}

/// The lowest version of some pins; nothing where one has none.
pub fn lowest(pins: &[&Pin], version: impl Fn(&Pin) -> Option<Version>) -> Option<Version> {
    let versions: Option<Vec<Version>> = pins.iter().map(|pin| version(pin)).collect();
    versions?.into_iter().reduce(lower)
}

/// The lower of two versions.
pub fn lower(one: Version, other: Version) -> Version {
    if other.cmp_precedence(&one).is_lt() {
        other
    } else {
        one
    }
}

/// The version that a pin had in an older text of its file; the lowest where several pins there are alike.
pub fn said(pin: &Pin, content: &[u8]) -> Option<Version> {
    let text = Text::of(&pin.file, content);
    text.says(&key(pin), pin).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "web.yaml";

    fn text(name: &str, version: &str) -> String {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}}}\nspec: {{chart: {{spec: {{chart: web, version: {version}}}}}}}\n"
        )
    }

    fn id(at: usize) -> Oid {
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&at.to_be_bytes());
        Oid::from_bytes(&bytes).unwrap()
    }

    /// The trail of a file through some texts, the newest first, whose ids are their places.
    fn trail(is_there: impl Iterator<Item = bool>) -> Trail {
        let path = Rc::new(RepoPath::parse(PATH).unwrap());
        let past = |(at, is_there): (usize, bool)| Past {
            commit: id(at),
            time: 100_000 - i64::try_from(at).unwrap(),
            text: is_there.then(|| (Rc::clone(&path), id(at))),
        };
        Trail {
            texts: is_there.enumerate().map(past).collect(),
            is_cut: false,
        }
    }

    fn at(oid: Oid) -> usize {
        usize::from_be_bytes(oid.as_bytes()[..8].try_into().unwrap())
    }

    fn pins(text: &str) -> Vec<Pin> {
        let path = RepoPath::parse(PATH).unwrap();
        look_at_bytes(&path, text.as_bytes()).pins
    }

    /// The newest first.
    fn highest(versions: &[Option<&str>]) -> Option<Highest> {
        let read = |id: Oid, _: usize| Some(text("web", versions[at(id)]?).into_bytes());
        let texts = Texts::new(&read, usize::MAX);
        let trail = trail(versions.iter().map(Option::is_some));
        let pin = pins(&text("web", "1.0.0")).remove(0);
        highest_of(&pin, &read_trail(&texts, &trail), false)
    }

    #[test]
    fn the_highest_counts_wherever_it_was() {
        let found = highest(&[Some("1.0.0"), Some("1.2.0"), Some("1.1.0")]).unwrap();
        assert_eq!(found.version, Version::new(1, 2, 0));
        assert_eq!(found.since, 99_999);
        assert_eq!(found.taken_back.map(|(_, time)| time), Some(100_000));
        let found = highest(&[Some("1.2.0"), Some("1.1.0")]).unwrap();
        assert_eq!((found.taken_back, found.since), (None, 100_000));
        let found = highest(&[None, Some("1.1.0")]).unwrap();
        assert_eq!(found.taken_back.map(|(_, time)| time), Some(100_000));
        assert_eq!(highest(&[None]), None);
    }

    #[test]
    fn a_text_that_changes_around_it_is_no_new_version() {
        let found = highest(&[Some("1.2.0"), Some("1.2.0"), Some("1.1.0")]).unwrap();
        assert_eq!(found.since, 99_999);
    }

    /// A file with many pins, of which each text moves one: the first one last.
    fn many(count: usize, text_at: usize) -> String {
        let version = |pin: usize| format!("1.{}.0", (count * 2 - text_at + pin) / count);
        let all: Vec<String> = (0..count)
            .map(|pin| text(&format!("web{pin}"), &version(pin)))
            .collect();
        all.join("---\n")
    }

    #[test]
    fn what_a_text_has_is_looked_at_once_for_all_pins_and_all_texts() {
        let count = 40;
        let reads = Cell::new(0);
        let read = |id: Oid, _: usize| {
            reads.set(reads.get() + 1);
            Some(many(count, at(id)).into_bytes())
        };
        let most = 1 << 30;
        let texts = Texts::new(&read, most);
        let trail = trail((0..count * 2).map(|_| true));
        let past = read_trail(&texts, &trail);
        for pin in pins(&many(count, 0)) {
            let found = highest_of(&pin, &past, false).unwrap();
            assert_eq!(found.version, version_of(&pin).unwrap());
        }
        read_trail(&texts, &trail);
        assert_eq!(reads.get(), count * 2);
        // Of a text after the first one document is new: all together are less than four whole texts, instead of 80 for each of 40 pins.
        let size = many(count, 0).len();
        let looked_at = most - texts.left.get() - count * 2 * (size / READING);
        assert!(looked_at < size * 4, "{looked_at} of {size}");
    }

    #[test]
    fn without_room_the_newest_texts_count() {
        let versions = ["1.1.0", "1.2.0", "1.3.0"];
        let one = text("web", "1.0.0");
        let read = |id: Oid, left: usize| {
            let text = text("web", versions[at(id)]).into_bytes();
            (text.len() <= left).then_some(text)
        };
        let trail = trail(versions.iter().map(|_| true));
        let of = |most: usize| {
            let texts = Texts::new(&read, most);
            let highest = highest_of(&pins(&one)[0], &read_trail(&texts, &trail), false);
            highest.map(|one| one.version.to_string())
        };
        assert_eq!(of(one.len() - 1), None);
        assert_eq!(
            of(one.len() * 2 + 2 * (one.len() / READING)).as_deref(),
            Some("1.2.0")
        );
        assert_eq!(of(one.len() * 9).as_deref(), Some("1.3.0"));
    }

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
            let (whole, split) = (Text::of(&path, &content), texts.look(&path, &content));
            parts += super::split(&path, &content).len() - 1;
            let has = |text: &Text, key: &String| text.0.get(key).cloned().unwrap_or_default();
            // Where a document is no YAML, those beside it are still read by themselves.
            for key in whole.0.keys() {
                assert_eq!(has(&whole, key), has(&split, key), "{path}: {key}");
            }
        }
        assert!(parts >= 5, "{parts}");
    }
}
