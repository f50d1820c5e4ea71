//! [`Range`]: constraints on versions as Helm, Flux and Argo CD read them, which is as Masterminds/semver does.
//!
//! It differs from Cargo's and npm's in pre-releases, partial versions and a few corners; each is in the tests. Source: Masterminds/semver v3.5.0,
//! `constraints.go`, and what source-controller and Argo CD answered.

use std::cmp::Ordering;
use std::fmt;

use semver::{BuildMetadata, Prerelease, Version};
use thiserror::Error;

/// A version without the digest that helm-controller puts behind it. Any other build metadata stays, unless it looks just like one: twelve digits of a time do.
///
/// Source: helm-controller 1.6.3; `+` and twelve hexadecimal digits of the artifact's digest, behind which `.` and a counter may stand.
pub fn without_digest(version: &str) -> &str {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_digest = |text: &str| {
        let (digest, counter) = text.split_once('.').unwrap_or((text, "0"));
        digest.len() == 12
            && digest.bytes().all(is_hex)
            && counter.bytes().all(|byte| byte.is_ascii_digit())
    };
    match version.rsplit_once('+') {
        Some((before, digest)) if is_digest(digest) => before,
        _ => version,
    }
}

/// A text that is no range.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no range of versions")]
pub struct RangeError(pub String);

/// A constraint on versions: alternatives, each a list of bounds that all have to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    text: String,
    alternatives: Vec<Vec<Bound>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterEqual,
    LessEqual,
    Tilde,
    Caret,
}

/// Longer ones first: `>=` begins with `>`.
const OPERATORS: [(&str, Operator); 11] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterEqual),
    ("=>", Operator::GreaterEqual),
    ("<=", Operator::LessEqual),
    ("=<", Operator::LessEqual),
    ("~>", Operator::Tilde),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("=", Operator::Equal),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
];

/// How much of a bound's version is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// Nothing, a wildcard.
    Nothing,
    Major,
    Minor,
    All,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Bound {
    operator: Operator,
    version: Version,
    written: Written,
}

impl Range {
    /// Reads a range.
    ///
    /// # Errors
    /// When Masterminds/semver would not read it.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        let wrong = || RangeError(text.to_owned());
        let alternatives = text
            .split("||")
            .map(|part| bounds(part).ok_or_else(wrong))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            text: text.to_owned(),
            alternatives,
        })
    }

    /// One version and no other.
    pub fn only(version: &Version) -> Self {
        Self {
            text: version.to_string(),
            alternatives: vec![vec![Bound {
                operator: Operator::Equal,
                version: version.clone(),
                written: Written::All,
            }]],
        }
    }

    /// Whether a version is in it. A pre-release is only where a bound of the same alternative has one.
    pub fn matches(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|bounds| {
            let has_pre = bounds.iter().any(|bound| !bound.version.pre.is_empty());
            (version.pre.is_empty() || has_pre) && bounds.iter().all(|bound| bound.holds(version))
        })
    }

    /// Whether it is one exact version, as `1.2.3` or `=1.2.3`, and nothing else.
    pub fn exact(&self) -> Option<&Version> {
        match self.alternatives.as_slice() {
            [bounds] => match bounds.as_slice() {
                [bound] if bound.operator == Operator::Equal && bound.written == Written::All => {
                    Some(&bound.version)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The newest of some versions that is in it.
    pub fn newest<'a>(&self, versions: impl Iterator<Item = &'a Version>) -> Option<&'a Version> {
        versions
            .filter(|version| self.matches(version))
            .max_by(|a, b| a.cmp_precedence(b))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Bound {
    fn holds(&self, version: &Version) -> bool {
        let bound = &self.version;
        let order = version.cmp_precedence(bound);
        let (major, minor) = (
            version.major.cmp(&bound.major),
            version.minor.cmp(&bound.minor),
        );
        match self.operator {
            Operator::Equal if self.written == Written::All => order == Ordering::Equal,
            Operator::Equal | Operator::Tilde => self.holds_tilde(version),
            Operator::NotEqual => self.holds_not_equal(version),
            Operator::Less => order == Ordering::Less,
            Operator::GreaterEqual => order != Ordering::Less,
            // A partial bound means its whole range: `>1.2` begins at 1.3, `<=2` ends before 3.
            Operator::Greater => match self.written {
                Written::All => order == Ordering::Greater,
                Written::Minor => major.then(minor) == Ordering::Greater,
                Written::Major | Written::Nothing => major == Ordering::Greater,
            },
            Operator::LessEqual => match self.written {
                Written::All => order != Ordering::Greater,
                Written::Major => major != Ordering::Greater,
                Written::Minor | Written::Nothing => major.then(minor) != Ordering::Greater,
            },
            Operator::Caret => order != Ordering::Less && self.holds_caret(version),
        }
    }

    fn holds_tilde(&self, version: &Version) -> bool {
        let bound = &self.version;
        let is_zero = (bound.major, bound.minor, bound.patch) == (0, 0, 0);
        if version.cmp_precedence(bound) == Ordering::Less {
            return false;
        }
        // `~0.0.0` takes everything, since that is what a wildcard becomes.
        if is_zero && matches!(self.written, Written::All | Written::Nothing) {
            return true;
        }
        version.major == bound.major
            && (version.minor == bound.minor || self.written == Written::Major)
    }

    fn holds_not_equal(&self, version: &Version) -> bool {
        let bound = &self.version;
        match self.written {
            Written::All | Written::Nothing => version.cmp_precedence(bound) != Ordering::Equal,
            Written::Major => version.major != bound.major,
            Written::Minor if (version.major, version.minor) != (bound.major, bound.minor) => true,
            Written::Minor => {
                (!version.pre.is_empty() || !bound.pre.is_empty()) && version.pre != bound.pre
            }
        }
    }

    /// Of what isn't lower than the bound.
    fn holds_caret(&self, version: &Version) -> bool {
        let bound = &self.version;
        if bound.major > 0 || self.written == Written::Major {
            return version.major == bound.major;
        }
        if version.major > 0 {
            return false;
        }
        if bound.minor > 0 || self.written == Written::Minor {
            return version.minor == bound.minor;
        }
        version.minor == 0 && version.patch == bound.patch
    }
}

/// The bounds of one alternative, split at spaces and commas; `a - b` is `>=a, <=b`.
fn bounds(text: &str) -> Option<Vec<Bound>> {
    let mut bounds = Vec::new();
    let mut rest = text.trim();
    loop {
        let (bound, after) = first_bound(rest)?;
        let spaced = after.len() - after.trim_start().len() > 0;
        let trimmed = after.trim_start();
        if let Some(upper) = trimmed.strip_prefix('-').filter(|_| spaced)
            && upper.starts_with(char::is_whitespace)
            && bound.operator == Operator::Equal
        {
            let (upper, after) = first_bound(upper.trim_start())?;
            if upper.operator != Operator::Equal {
                return None;
            }
            bounds.push(Bound {
                operator: Operator::GreaterEqual,
                ..bound
            });
            bounds.push(Bound {
                operator: Operator::LessEqual,
                ..upper
            });
            rest = after;
        } else {
            bounds.push(bound);
            rest = after;
        }
        let next = rest.trim_start();
        if next.is_empty() {
            return Some(bounds);
        }
        let separated = rest.len() != next.len();
        rest = match next.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if separated => next,
            None => return None,
        };
    }
}

/// The first bound of a text, and what comes after it.
fn first_bound(text: &str) -> Option<(Bound, &str)> {
    let (operator, rest) = OPERATORS
        .iter()
        .find_map(|(sign, operator)| Some((*operator, text.strip_prefix(sign)?)))
        .unwrap_or((Operator::Equal, text));
    let rest = rest.trim_start();
    let end = rest
        .find(|c: char| c.is_whitespace() || c == ',')
        .unwrap_or(rest.len());
    let (version, written) = partial(&rest[..end])?;
    let bound = Bound {
        operator,
        version,
        written,
    };
    Some((bound, &rest[end..]))
}

/// A version of which a part may be missing or a wildcard; what comes after a wildcard is ignored.
fn partial(text: &str) -> Option<(Version, Written)> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (
            text,
            BuildMetadata::new(build).ok().filter(|b| !b.is_empty())?,
        ),
        None => (text, BuildMetadata::EMPTY),
    };
    let (numbers, pre) = match text.split_once('-') {
        Some((numbers, pre)) => (
            numbers,
            Prerelease::new(pre).ok().filter(|pre| !pre.is_empty())?,
        ),
        None => (text, Prerelease::EMPTY),
    };
    let parts: Vec<&str> = numbers.split('.').collect();
    if parts.len() > 3 || !parts.iter().all(|part| is_wild(part) || is_number(part)) {
        return None;
    }
    let known: Vec<u64> = parts
        .iter()
        .take_while(|part| !is_wild(part))
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let number = |index: usize| known.get(index).copied().unwrap_or_default();
    let written = match known.len() {
        0 => Written::Nothing,
        1 => Written::Major,
        2 => Written::Minor,
        _ => Written::All,
    };
    let version = Version {
        major: number(0),
        minor: number(1),
        patch: number(2),
        pre,
        build,
    };
    Some((version, written))
}

fn is_wild(part: &str) -> bool {
    matches!(part, "x" | "X" | "*")
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads a version as registries have them: with or without `v`, and with missing parts as zeros.
pub fn lenient_version(text: &str) -> Option<Version> {
    let (version, written) = partial(text.trim())?;
    (written != Written::Nothing && !text.contains(['x', 'X', '*']) || written == Written::All)
        .then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANDIDATES: &str = "0.0.3 0.1.9 0.2.0-alpha.1 0.2.0-alpha.3 0.2.0-alpha.10 0.2.0-beta.1 0.2.0-rc.1 0.2.0 0.2.1-alpha.1 0.2.1 0.2.9 0.3.0-alpha.1 0.3.0 1.0.0-rc.1 1.0.0 1.2.0 1.2.3 1.2.3+build.7 1.3.0 2.0.0-alpha.1 2.0.0 2.1.0 3.0.0 11.0.0 11.2.0 12.0.0";

    fn chosen(range: &str) -> String {
        let range = Range::parse(range).unwrap_or_else(|why| panic!("{why}"));
        let all = CANDIDATES.split(' ');
        let matching = all.filter(|text| range.matches(&Version::parse(text).expect("good")));
        matching.collect::<Vec<_>>().join(" ")
    }

    fn releases() -> String {
        let all = CANDIDATES.split(' ').filter(|text| !text.contains('-'));
        all.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_line_of_the_table_holds() {
        let minor = "0.2.0 0.2.1 0.2.9";
        let with_pre = "0.2.0-alpha.1 0.2.0-alpha.3 0.2.0-alpha.10 0.2.0-beta.1 0.2.0-rc.1 0.2.0 0.2.1-alpha.1 0.2.1 0.2.9";
        let from_alpha =
            "0.2.0-alpha.3 0.2.0-alpha.10 0.2.0-beta.1 0.2.0-rc.1 0.2.0 0.2.1-alpha.1 0.2.1 0.2.9";
        let one = "1.0.0 1.2.0 1.2.3 1.2.3+build.7 1.3.0";
        let one_two = "1.2.0 1.2.3 1.2.3+build.7";
        let to_two =
            "0.0.3 0.1.9 0.2.0 0.2.1 0.2.9 0.3.0 1.0.0 1.2.0 1.2.3 1.2.3+build.7 1.3.0 2.0.0 2.1.0";
        let to_one = "0.0.3 0.1.9 0.2.0 0.2.1 0.2.9 0.3.0 1.0.0 1.2.0 1.2.3 1.2.3+build.7 1.3.0";
        let zero = "0.0.3 0.1.9 0.2.0 0.2.1 0.2.9 0.3.0";
        let from_two = "2.0.0 2.1.0 3.0.0 11.0.0 11.2.0 12.0.0";
        let releases = releases();
        let without = |prefix: &str| {
            let all = releases.split(' ').filter(|text| !text.starts_with(prefix));
            all.collect::<Vec<_>>().join(" ")
        };
        let tables: Vec<(&str, String)> = [
            (&["*", "x", "*.2.3", "~0.0.0"][..], releases.clone()),
            (&["*-0", ">=0.0.0-0"], CANDIDATES.to_owned()),
            (
                &["0.2.x", "0.2", "=0.2", "~0.2", "~0.2.0", "^0.2.0"],
                minor.to_owned(),
            ),
            (
                &["0.2.x-0", "~0.2.0-0", "^0.2.0-0", ">=0.2.0-0 <0.3.0-0"],
                with_pre.to_owned(),
            ),
            (&[">=0.2.0-0 <0.3.0"], format!("{with_pre} 0.3.0-alpha.1")),
            (
                &[">=0.2.0 <0.3.0-0"],
                "0.2.0 0.2.1-alpha.1 0.2.1 0.2.9".to_owned(),
            ),
            (&["~0.2.0-alpha.3", "^0.2.0-alpha.3"], from_alpha.to_owned()),
            (
                &[
                    "0.2.0-alpha.3",
                    "=0.2.0-alpha.3",
                    "^0.2.0-alpha.3 <0.2.0-alpha.10",
                ],
                "0.2.0-alpha.3".to_owned(),
            ),
            (
                &[">=0.2.0-alpha.3 <0.2.0"],
                "0.2.0-alpha.3 0.2.0-alpha.10 0.2.0-beta.1 0.2.0-rc.1".to_owned(),
            ),
            (&["^0"], zero.to_owned()),
            (&["^0.0", "^0.0.3"], "0.0.3".to_owned()),
            (&["1", "1.x", "~1", "^1"], one.to_owned()),
            (&["~1.x-0"], format!("1.0.0-rc.1 {one}")),
            (
                &["1.2", "1.2.*", "~1.2", "~>1.2", "v1.2", " 1.2", "01.2"],
                one_two.to_owned(),
            ),
            (&["^1.2"], format!("{one_two} 1.3.0")),
            (&[">11"], "12.0.0".to_owned()),
            (&[">1.2.x"], format!("1.3.0 {from_two}")),
            (&["<=2", "<=2.x"], to_two.to_owned()),
            (&["=<1"], to_one.to_owned()),
            (&["!=1.x"], without("1.")),
            (&["!=1.2"], without("1.2.")),
            (&["1.2 - 2"], format!("{one_two} 1.3.0 2.0.0 2.1.0")),
            (&["0.2.0-0.3.0"], String::new()),
            (&["^0.2.0-0 || ^1"], format!("{with_pre} {one}")),
            (&["1.2.3+build.7"], "1.2.3 1.2.3+build.7".to_owned()),
            (&[">=1.2.3, <1.3.0"], "1.2.3 1.2.3+build.7".to_owned()),
        ]
        .into_iter()
        .flat_map(|(ranges, wanted)| ranges.iter().map(move |range| (*range, wanted.clone())))
        .collect();
        for (range, wanted) in tables {
            assert_eq!(chosen(range), wanted, "{range}");
        }
    }

    #[test]
    fn what_the_library_does_not_read_is_no_range() {
        for text in [
            "latest",
            "V1.2.3",
            "1.2.3.4",
            ">=1.2.3-",
            "1.2.3-01",
            ">=1.2.3 || ",
            "",
            "1.2 -",
            "1.2.3+",
        ] {
            assert!(Range::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn exact_versions_are_told_from_ranges() {
        let exact = |text: &str| Range::parse(text).expect("good").exact().is_some();
        assert!(exact("1.2.3") && exact("=1.2.3") && exact("v1.2.3-rc.1"));
        assert!(!exact("1.2") && !exact(">=1.2.3") && !exact("1.2.3 || 1.2.4"));
        assert_eq!(
            lenient_version("v1.2").map(|v| v.to_string()).as_deref(),
            Some("1.2.0")
        );
        assert_eq!(lenient_version("1.x"), None);
    }
}
