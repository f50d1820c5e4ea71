//! Which versions a pin has had, as the history of the branch says: the highest of them, and whether it went back from there.

use std::rc::Rc;

use anyhow::Result;
use git2::{ObjectType, Oid, Repository};
use semver::Version;

use super::pin_texts::{Text, Texts, key, version_of};
use crate::git::past::{End, Most, Past, Trail, past};
use crate::model::repo_path::RepoPath;
use crate::pins::Pin;
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

/// The highest version that a pin has had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Highest {
    /// The version.
    pub version: Version,
    /// When it came last, in seconds since 1970.
    pub since: i64,
    /// The commit that took it back, where one did, and when.
    pub taken_back: Option<(Oid, i64)>,
    /// Where what is known ends; further back there may have been a higher one.
    pub end: End,
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
    let read = read_trails(&texts, &trails);
    let of = |pin: &&Pin| {
        let (past, end) = &read[paths.binary_search(&&pin.file).ok()?];
        highest_of(pin, past, *end)
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

/// Reads the texts of files, as far as there is room for them: the newest of every file first.
fn read_trails<'a>(texts: &Texts<'_>, trails: &'a [Trail]) -> Vec<(Vec<Read<'a>>, End)> {
    let mut all: Vec<_> = trails.iter().map(|one| (Vec::new(), one.end)).collect();
    let longest = trails.iter().map(|trail| trail.texts.len()).max();
    for depth in 0..longest.unwrap_or(0) {
        for (trail, (read, end)) in trails.iter().zip(&mut all) {
            let Some(past) = trail.texts.get(depth).filter(|_| read.len() == depth) else {
                continue;
            };
            match past.text.as_ref().map(|(path, id)| texts.of(path, *id)) {
                Some(None) => *end = End::Limit,
                text => read.push((past, text.flatten())),
            }
        }
    }
    all
}

fn highest_of(pin: &Pin, past: &[Read<'_>], end: End) -> Option<Highest> {
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
        end,
        had: versions.into_iter().flatten().cloned().collect(),
    })
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
    use std::cell::Cell;

    use super::super::pin_texts::READING;
    use super::*;
    use crate::pins::look_at_bytes;

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
            end: End::Beginning,
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
        highest_of(&pin, &read_trails(&texts, &[trail])[0].0, End::Beginning)
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
        let trails = [trail];
        let (past, _) = &read_trails(&texts, &trails)[0];
        for pin in pins(&many(count, 0)) {
            let found = highest_of(&pin, past, End::Beginning).unwrap();
            assert_eq!(found.version, version_of(&pin).unwrap());
        }
        read_trails(&texts, &trails);
        assert_eq!(reads.get(), count * 2);
        // Of a text after the first one document is new: all together are less than four whole texts, instead of 80 for each of 40 pins.
        let size = many(count, 0).len();
        let looked_at = most - texts.left.get() - count * 2 * (size / READING);
        assert!(looked_at < size * 4, "{looked_at} of {size}");
    }

    #[test]
    fn without_room_the_newest_texts_of_every_file_count() {
        let versions = ["1.1.0", "1.2.0", "1.3.0"];
        let one = text("web", "1.0.0");
        let read = |id: Oid, left: usize| {
            let text = text("web", versions[at(id)]).into_bytes();
            (text.len() <= left).then_some(text)
        };
        let whole = || trail(versions.iter().map(|_| true));
        let mut other = whole();
        for past in &mut other.texts {
            past.text.as_mut().unwrap().0 = Rc::new(RepoPath::parse("other.yaml").unwrap());
        }
        let trails = [whole(), other];
        let of = |most: usize| -> Vec<(Option<String>, End)> {
            let texts = Texts::new(&read, most);
            let read = read_trails(&texts, &trails);
            let highest = |(past, end): &(Vec<Read<'_>>, End)| {
                let highest = highest_of(&pins(&one)[0], past, *end);
                (highest.map(|one| one.version.to_string()), *end)
            };
            read.iter().map(highest).collect()
        };
        let is = |version: Option<&str>, end: End| (version.map(str::to_owned), end);
        let both = |version: Option<&str>, end: End| vec![is(version, end), is(version, end)];
        assert_eq!(of(one.len() - 1), both(None, End::Limit));
        assert_eq!(of(one.len() * 5), both(Some("1.2.0"), End::Limit));
        assert_eq!(of(one.len() * 9), both(Some("1.3.0"), End::Beginning));
    }
}
