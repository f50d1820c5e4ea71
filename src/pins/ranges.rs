//! Moves a range to a newer version, and keeps the way it is written.

use semver::Version;

use crate::model::policy::Ranges;
use crate::model::range::{Range, lenient_version};

/// Returns a range that takes a newer version in, written as the old one. Nothing where it has to stay, or is of a form that can't be moved without a guess.
pub fn moved(range: &str, to: &Version, how: Ranges) -> Option<String> {
    let (before, last) = match range.rfind("||") {
        Some(at) => range.split_at(at + 2),
        None => ("", range),
    };
    let new = match how {
        Ranges::Leave => return None,
        Ranges::Replace => alternative(last.trim(), to, false)?,
        Ranges::Widen => {
            let wider = alternative(last.trim(), to, true)?;
            if is_one_bound(last) {
                let or = if before.is_empty() || before.ends_with(" ||") {
                    " || "
                } else {
                    "||"
                };
                format!("{}{or}{wider}", range.trim_end())
            } else {
                format!("{before}{}{wider}", leading_blanks(last))
            }
        }
    };
    let read = Range::parse(&new).ok()?;
    read.matches(to).then_some(new)
}

fn is_one_bound(text: &str) -> bool {
    bounds(text).len() == 1
}

fn leading_blanks(text: &str) -> &str {
    &text[..text.len() - text.trim_start().len()]
}

/// One alternative of a range for another version: one bound (`^1.2`, `~0.2.0-0`, `1.x`), or a lower and an upper one (`>=1.2 <2`).
fn alternative(text: &str, to: &Version, is_lower_kept: bool) -> Option<String> {
    match bounds(text).as_slice() {
        [one] => one_bound(one, to),
        [lower, upper] => {
            let below = upper
                .text
                .strip_prefix('<')
                .filter(|b| !b.starts_with('='))?;
            let from = lower.text.strip_prefix(">=")?;
            let step = step(&version(from)?, &version(below)?)?;
            let next = match step {
                Step::Major => Version::new(to.major + 1, 0, 0),
                Step::Minor => Version::new(to.major, to.minor + 1, 0),
            };
            let lower_text = if is_lower_kept {
                lower.text.to_owned()
            } else {
                format!(">={}", written_as(from, to)?)
            };
            let upper_text = format!("<{}", written_as(below, &next)?);
            Some(format!("{lower_text}{}{upper_text}", upper.gap))
        }
        _ => None,
    }
}

/// How far apart two bounds are.
enum Step {
    Major,
    Minor,
}

fn step(from: &Version, below: &Version) -> Option<Step> {
    if (below.minor, below.patch) == (0, 0) && below.major == from.major + 1 {
        return Some(Step::Major);
    }
    let is_minor = below.patch == 0 && below.major == from.major && below.minor == from.minor + 1;
    is_minor.then_some(Step::Minor)
}

fn version(text: &str) -> Option<Version> {
    lenient_version(text.trim())
}

/// One bound, with what stands between it and the one before.
struct Bound<'a> {
    gap: &'a str,
    text: &'a str,
}

/// The bounds of an alternative: divided by blanks or commas, where an operator may stand apart from its version.
fn bounds(text: &str) -> Vec<Bound<'_>> {
    let is_gap = |c: char| c == ' ' || c == ',';
    let is_operator = |c: char| "<>=~^!".contains(c);
    let mut all = Vec::new();
    let mut end = 0;
    while let Some(start) = text[end..].find(|c| !is_gap(c)).map(|at| end + at) {
        let version = text[start..]
            .find(|c: char| !is_operator(c) && c != ' ')
            .map_or(text.len(), |at| start + at);
        let stop = text[version..]
            .find(is_gap)
            .map_or(text.len(), |at| version + at);
        all.push(Bound {
            gap: &text[end..start],
            text: &text[start..stop],
        });
        end = stop;
    }
    all
}

/// `^1.2`, `~ 0.2.0-0`, `v1.x`, `1.2`: the operator stays, and as many numbers as were written.
fn one_bound(bound: &Bound<'_>, to: &Version) -> Option<String> {
    let at = bound.text.find(|c: char| !"<>=~^! ".contains(c))?;
    let (operator, old) = bound.text.split_at(at);
    if operator.contains(['<', '!']) || operator.trim() == ">" || operator.trim() == ">=" {
        return None;
    }
    Some(format!("{operator}{}", written_as(old, to)?))
}

/// A version with the `v`, the wildcards and as many numbers as another text has. A pre-release stays where it only opens a range (`-0`).
fn written_as(old: &str, to: &Version) -> Option<String> {
    let bare = old.strip_prefix(['v', 'V']).unwrap_or(old);
    let v = &old[..old.len() - bare.len()];
    let core_end = bare.find(['-', '+']).unwrap_or(bare.len());
    let (core, rest) = bare.split_at(core_end);
    let numbers = [to.major, to.minor, to.patch];
    let parts: Vec<String> = core
        .split('.')
        .zip(numbers)
        .map(|(part, number)| match part {
            "x" | "X" | "*" => part.to_owned(),
            _ => number.to_string(),
        })
        .collect();
    if core.split('.').count() > numbers.len() || parts.first().is_none_or(|p| p == "*" || p == "x")
    {
        return None;
    }
    let is_whole =
        parts.len() == numbers.len() && parts.iter().all(|part| part.parse::<u64>().is_ok());
    let pre = match rest {
        "-0" => "-0".to_owned(),
        _ if is_whole && !to.pre.is_empty() => format!("-{}", to.pre),
        _ => String::new(),
    };
    Some(format!("{v}{}{pre}", parts.join(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str) -> Version {
        Version::parse(text).expect("a version")
    }

    #[test]
    fn a_replaced_range_is_written_as_before() {
        let cases = [
            ("^1.2.3", "2.0.1", Some("^2.0.1")),
            ("^1.2", "2.3.4", Some("^2.3")),
            ("^1", "2.3.4", Some("^2")),
            ("~0.2", "0.3.1", Some("~0.3")),
            ("~0.2.0-0", "0.3.1", Some("~0.3.1-0")),
            ("~ 0.2", "0.3.1", Some("~ 0.3")),
            ("0.2.x", "0.3.1", Some("0.3.x")),
            ("1.x.x", "2.0.0", Some("2.x.x")),
            ("v1.*", "2.0.0", Some("v2.*")),
            ("1.2", "1.3.0", Some("1.3")),
            ("=1.2", "1.3.0", Some("=1.3")),
            (">=1.2.0 <2.0.0", "2.3.0", Some(">=2.3.0 <3.0.0")),
            (">=1.2, <2", "2.3.0", Some(">=2.3, <3")),
            (">=0.2.0-0 <0.3.0-0", "0.4.1", Some(">=0.4.1-0 <0.5.0-0")),
            ("^1 || ^2", "3.0.1", Some("^3")),
            (">4.0.0 <4.2.3", "5.0.0", None),
            (">=1", "0.9.0", None),
            ("*", "2.0.0", None),
            ("<2", "2.0.0", None),
            ("!=1.x", "1.0.0", None),
            ("1.2 - 2", "3.0.0", None),
        ];
        for (range, version, expected) in cases {
            assert_eq!(
                moved(range, &to(version), Ranges::Replace).as_deref(),
                expected,
                "{range}"
            );
        }
    }

    #[test]
    fn a_widened_range_keeps_what_it_had() {
        let cases = [
            ("^1.2.3", "2.0.1", Some("^1.2.3 || ^2.0.1")),
            ("^1||^2", "3.0.1", Some("^1||^2||^3")),
            ("^1 || ^2", "3.0.1", Some("^1 || ^2 || ^3")),
            ("0.2.x", "0.3.1", Some("0.2.x || 0.3.x")),
            (">=1.2.0 <2.0.0", "2.3.0", Some(">=1.2.0 <3.0.0")),
            ("*", "2.0.0", None),
        ];
        for (range, version, expected) in cases {
            assert_eq!(
                moved(range, &to(version), Ranges::Widen).as_deref(),
                expected,
                "{range}"
            );
        }
    }

    #[test]
    fn what_is_left_is_left() {
        assert_eq!(moved("^1", &to("2.0.0"), Ranges::Leave), None);
    }
}
