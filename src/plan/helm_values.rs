//! What Helm takes a file of values for: it reads YAML 1.1, where `no` is false and `0644` is 420. Keys stay as they are written: a key `y` is `true` to Helm,
//! and something else to those who write manifests.
//!
//! Source: helm 3.22 (`helm template` with such values) and the resolver of go-yaml v2 that it has.

use std::borrow::Cow;

use serde_yaml::{Number, Value};

use crate::yaml::{Kind, Node, Style, parse};

/// Merge keys in what is merged in are followed so far.
const MOST_ROUNDS: usize = 32;

/// Reads a file of values with one document, merge keys followed.
///
/// # Errors
/// When it can't be read.
pub fn read(text: &str) -> Result<Value, serde_yaml::Error> {
    let mut value: Value = serde_yaml::from_str(&for_all(text))?;
    for _ in 0..MOST_ROUNDS {
        if !has(&value, &|one| one.get("<<").is_some()) {
            break;
        }
        value.apply_merge()?;
    }
    Ok(value)
}

/// Reads what a release has: of a key that stands twice the last one counts, as it does for Helm. Nothing where it can't be read.
pub fn read_as_it_is(text: &str) -> Option<serde_json::Value> {
    match read(text) {
        Ok(value) => serde_json::to_value(value).ok(),
        Err(_) if text.contains("<<:") => None,
        Err(_) => serde_yaml::from_str(&for_all(text)).ok(),
    }
}

/// Whether a value or any in it is so.
pub fn has(value: &Value, is: &dyn Fn(&Value) -> bool) -> bool {
    is(value)
        || match value {
            Value::Sequence(items) => items.iter().any(|one| has(one, is)),
            Value::Mapping(map) => map.iter().any(|(_, one)| has(one, is)),
            Value::Tagged(tagged) => has(&tagged.value, is),
            _ => false,
        }
}

/// The text with what only YAML 1.1 knows written so that every reader takes it for the same. Lines stay lines.
fn for_all(text: &str) -> Cow<'_, str> {
    let stream = parse(text);
    let mut found = Vec::new();
    let mut left: Vec<&Node> = stream.roots().collect();
    while let Some(node) = left.pop() {
        match &node.kind {
            Kind::Mapping(entries) => left.extend(entries.iter().map(|(_, value)| value)),
            Kind::Sequence(items) => left.extend(items),
            Kind::Scalar(scalar) if scalar.style == Style::Plain && node.tag.is_none() => {
                let other = meant(&scalar.value).filter(|other| *other != scalar.value);
                found.extend(other.map(|other| (node.span.clone(), other)));
            }
            Kind::Scalar(_) | Kind::Alias(_) => {}
        }
    }
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_unstable_by_key(|(span, _)| span.start);
    let mut whole = String::with_capacity(text.len());
    let mut at = 0;
    for (span, other) in found {
        whole.push_str(&text[at..span.start]);
        whole.push_str(&other);
        at = span.end;
    }
    whole.push_str(&text[at..]);
    Cow::Owned(whole)
}

/// What a plain scalar is, where it is a boolean or number, as every reader takes it.
fn meant(text: &str) -> Option<String> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Some("true".to_owned()),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Some("false".to_owned()),
        _ => {}
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) {
        return None;
    }
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.strip_prefix(['+', '-']) {
        Some(digits) => (&plain[..1], digits),
        None => ("", plain.as_str()),
    };
    if let Some(number) = integer(digits) {
        return Some(format!("{}{number}", sign.trim_start_matches('+')));
    }
    if !is_float(digits) {
        return None;
    }
    let number: f64 = plain.parse().ok()?;
    number.is_finite().then(|| Number::from(number).to_string())
}

/// An integer by its prefix, as Go's `strconv.ParseInt` reads it with base 0.
fn integer(digits: &str) -> Option<u64> {
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // Rust takes a sign here, Go doesn't.
    let is_digit = |sign: char| sign.is_digit(base);
    (digits.chars().all(is_digit)).then(|| u64::from_str_radix(digits, base).ok())?
}

/// `1`, `1.`, `.5`, `1.5e+3`.
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_some = !whole.is_empty() || !part.is_empty();
    has_some
        && are_digits(whole)
        && are_digits(part)
        && !exponent.is_empty()
        && are_digits(exponent)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn json_of(text: &str) -> Json {
        serde_json::to_value(read(text).unwrap()).unwrap()
    }

    #[test]
    fn values_are_what_helm_takes_them_for() {
        for (written, is) in [
            ("y", json!(true)),
            ("No", json!(false)),
            ("yEs", json!("yEs")),
            ("on", json!(true)),
            ("OFF", json!(false)),
            ("true", json!(true)),
            ("\"no\"", json!("no")),
            ("'0644'", json!("0644")),
            ("!!str no", json!("no")),
            ("0644", json!(420)),
            ("010", json!(8)),
            ("0_7", json!(7)),
            ("-0644", json!(-420)),
            ("08", json!(8.0)),
            ("0o17", json!(15)),
            ("0o8", json!("0o8")),
            ("0b101", json!(5)),
            ("-0b11", json!(-3)),
            ("1_000", json!(1000)),
            ("1_0.5", json!(10.5)),
            ("0x1F", json!(31)),
            ("0X1F", json!(31)),
            ("1e3", json!(1000.0)),
            ("+12", json!(12)),
            (".5", json!(0.5)),
            ("1.", json!(1.0)),
            ("1:30", json!("1:30")),
            ("190:20:30", json!("190:20:30")),
            ("2026-01-01", json!("2026-01-01")),
            ("=", json!("=")),
            ("_1", json!("_1")),
            ("~", json!(null)),
            ("", json!(null)),
            ("0.2.1", json!("0.2.1")),
            ("10.0.0.0/8", json!("10.0.0.0/8")),
            ("-", json!(null)),
            ("1m", json!("1m")),
        ] {
            let text = match written {
                "-" => "a:\n".to_owned(),
                written => format!("a: {written} # why\n"),
            };
            assert_eq!(json_of(&text), json!({ "a": is }), "{written}");
        }
        assert_eq!(
            json_of("on: [no, {off: 0644}]\n"),
            json!({"on": [false, {"off": 420}]})
        );
        assert_eq!(json_of("a: |\n  no\n"), json!({"a": "no\n"}));
    }

    #[test]
    fn what_is_merged_in_is_a_part_of_it() {
        let text = "base: &a {x: no, w: 2}\nmore: &b {<<: *a, z: 3}\nown: {<<: [*b], w: 9}\n";
        let wanted = json!({"base": {"x": false, "w": 2}, "more": {"x": false, "w": 2, "z": 3}, "own": {"x": false, "w": 9, "z": 3}});
        assert_eq!(json_of(text), wanted);
        assert!(read("<<: 1").is_err());
    }
}
