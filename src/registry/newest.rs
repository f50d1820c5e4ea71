//! Which of the published versions is the newest stable one.
//!
//! Owns the order of versions for that question. Pure. It must not match ranges.

use std::cmp::Reverse;

use semver::Version;

use super::Published;

/// Returns the newest stable version, in the spelling of the source.
///
/// The order is that of Semantic Versioning, never that of the text or of the source. Versions
/// with a pre-release part are ignored, so `0.0.0-*` snapshots are too; so is what cannot be read
/// as a version. As Helm does, a leading `v`, missing parts (`1.2`) and padded numbers
/// (`2031.04.07`) are tolerated.
///
/// Versions that differ in build metadata only are ordered by it: identifier by identifier,
/// numbers by value and below words, more identifiers above fewer, none lowest (`+up3.4.10` is
/// above `+up3.4.2`). Of two spellings of one version the shorter one is taken (`1.0.0`, not
/// `v1.0.0`), then the one that is last as text.
#[must_use]
pub fn newest_stable(versions: &[Published]) -> Option<&Published> {
    versions
        .iter()
        .filter_map(|published| Some((read(&published.version)?, published)))
        .filter(|(version, _)| version.pre.is_empty())
        .max_by(|(a, left), (b, right)| {
            let spelling = |text: &str| (Reverse(text.len()), text.to_owned());
            a.cmp(b)
                .then_with(|| spelling(&left.version).cmp(&spelling(&right.version)))
        })
        .map(|(_, published)| published)
}

/// Reads a version leniently.
fn read(text: &str) -> Option<Version> {
    let bare = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let end = bare.find(['-', '+']).unwrap_or(bare.len());
    let (core, suffix) = bare.split_at(end);
    let mut numbers = [0_u64; 3];
    let mut parts = core.split('.');
    for (at, slot) in numbers.iter_mut().enumerate() {
        match parts.next() {
            Some(part) if part.bytes().all(|b| b.is_ascii_digit()) => *slot = part.parse().ok()?,
            Some(_) => return None,
            None if at == 0 => return None,
            None => {}
        }
    }
    if parts.next().is_some() {
        return None;
    }
    let [major, minor, patch] = numbers;
    Version::parse(&format!("{major}.{minor}.{patch}{suffix}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(texts: &[&str]) -> Option<String> {
        let published = |text: &&str| Published {
            version: (*text).to_owned(),
            created: None,
        };
        let versions: Vec<Published> = texts.iter().map(published).collect();
        newest_stable(&versions).map(|newest| newest.version.clone())
    }

    #[test]
    fn newest_is_chosen_by_version_order() {
        let cases: [(&[&str], Option<&str>); 12] = [
            (&["0.19.0", "0.101.0", "0.20.0"], Some("0.101.0")),
            (&["1.0.0", "3.0.0", "2.0.0"], Some("3.0.0")),
            // A suffix makes a pre-release, whatever it means to the project.
            (&["2.7.0-r4", "2.8.0-r1", "2.8.1-rc.1"], None),
            (&["5.4.1", "5.4.1-pr6.1", "5.4.2-pr7.1"], Some("5.4.1")),
            (&["0.0.0-20310101", "0.0.0-latest", "0.1.0"], Some("0.1.0")),
            (&["v8.1.0", "v8.2.0"], Some("v8.2.0")),
            (&["v1.0.0", "1.0.0"], Some("1.0.0")),
            (&["1.0.0", "v1.0.0"], Some("1.0.0")),
            (&["2031.04.07", "2031.4.8", "2031.11.0"], Some("2031.11.0")),
            (
                &["12.0.1+up3.4.2", "12.0.1+up3.4.10", "11.0.0+up9"],
                Some("12.0.1+up3.4.10"),
            ),
            (
                &[
                    "latest",
                    "sha256-ab.sig",
                    "1.2",
                    "1.1.9",
                    "1.2.3.4",
                    "x1.9.0",
                ],
                Some("1.2"),
            ),
            (
                &["", "v", "+1", "99999999999999999999.0.0", ".1.0", "1..0"],
                None,
            ),
        ];
        for (texts, expected) in cases {
            assert_eq!(newest(texts).as_deref(), expected, "{texts:?}");
            let reversed: Vec<&str> = texts.iter().rev().copied().collect();
            assert_eq!(newest(&reversed).as_deref(), expected, "{reversed:?}");
        }
    }
}
