//! Writing one scalar so that every reader gives back that very string.
//!
//! Owns the rules of quoting. Kubernetes tools read YAML 1.1 in part, others
//! 1.2, so a value stands plain only where both agree that it is this text.
//! Being too careful costs two quotes; being too bold turns `1.10` into `1.1`.

use std::fmt::Write as _;

pub use super::block::block;

/// Words that some reader takes for a boolean, null, merge or default value.
const WORDS: [&str; 12] = [
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "=", "<<",
];

/// Characters that start something else than a plain scalar.
const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`";

/// Whether a value may stand plain: as a value in a block or flow mapping, as
/// an item or as a key, and be read back as this very string by readers of
/// YAML 1.1 and 1.2 alike. False in every doubtful case.
pub fn is_plain_safe(value: &str) -> bool {
    let Some(first) = value.chars().next() else {
        return false;
    };
    !INDICATORS.contains(first)
        && !value.starts_with("...")
        && value.trim() == value
        && !value.ends_with(':')
        && ![": ", " #"].iter().any(|mark| value.contains(mark))
        && !value.chars().any(is_unfit_for_plain)
        && is_only_text(value)
}

/// Whether a plain scalar that was read is text for readers of YAML 1.1 and 1.2
/// alike, and no number, word or date for any.
pub(super) fn is_only_text(value: &str) -> bool {
    !value.is_empty()
        && !WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
        && !is_number(value)
        && !is_sexagesimal(value)
        && !is_date(value)
}

/// Writes a value: plain where that is safe, else in double quotes.
///
/// As a key it must stay below 1024 characters, the limit of YAML for a key
/// without `?`.
pub fn quote(value: &str) -> String {
    if is_plain_safe(value) {
        value.to_owned()
    } else {
        quote_always(value)
    }
}

/// Writes a value in double quotes, on one line, with the escapes of JSON.
/// Printable characters outside ASCII are kept.
pub fn quote_always(value: &str) -> String {
    let mut quoted = String::with_capacity(value.len() + 2);
    quoted.push('"');
    for char in value.chars() {
        match char {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            char if is_unprintable(char) => {
                write!(quoted, "\\u{:04x}", u32::from(char)).expect("a string takes every write");
            }
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

/// Writes a value in single quotes; `None` if it holds a character that only
/// an escape can carry.
pub(super) fn quote_single(value: &str) -> Option<String> {
    (!value.chars().any(is_unprintable)).then(|| format!("'{}'", value.replace('\'', "''")))
}

/// Whether a character must be escaped: control characters, the line breaks
/// that only YAML 1.1 knows, and what cannot be seen or turns the text around.
/// All of them are in the basic plane, so four hexadecimal digits are enough.
pub(super) fn is_unprintable(char: char) -> bool {
    matches!(char,
        '\0'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{fffe}'..='\u{ffff}')
}

/// The marks that end a plain scalar in flow style. For go-yaml `?` is one of
/// them, wherever it stands.
fn is_unfit_for_plain(char: char) -> bool {
    is_unprintable(char) || matches!(char, ',' | '?' | '[' | ']' | '{' | '}') || is_odd_blank(char)
}

/// Blanks outside ASCII: a reader may strip them, a person takes them for a space.
fn is_odd_blank(char: char) -> bool {
    char != ' ' && char.is_whitespace()
}

fn digits_and_underscores(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
}

/// Integers and floats of both versions: `010`, `0o7`, `0x1f`, `1_000`, `1.5e3`, `.inf` …
fn is_number(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let bare = lower.strip_prefix(['+', '-']).unwrap_or(&lower);
    if matches!(bare, ".inf" | ".nan") {
        return true;
    }
    let radixes = [
        ("0x", "0123456789abcdef_"),
        ("0o", "01234567_"),
        ("0b", "01_"),
    ];
    for (prefix, digits) in radixes {
        if let Some(rest) = bare.strip_prefix(prefix) {
            return !rest.is_empty() && rest.chars().all(|char| digits.contains(char));
        }
    }
    is_decimal(bare)
}

/// Digits, at most one dot, and perhaps an exponent.
fn is_decimal(bare: &str) -> bool {
    let (mantissa, exponent) = match bare.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (bare, None),
    };
    let whole = mantissa.replacen('.', "", 1);
    digits_and_underscores(&whole)
        && exponent.is_none_or(|exponent| {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'_')
        })
}

/// Numbers to the base of sixty, as YAML 1.1 reads `12:30:45` and `1:30.5`.
fn is_sexagesimal(value: &str) -> bool {
    let bare = value.strip_prefix(['+', '-']).unwrap_or(value);
    let Some((head, last)) = bare.rsplit_once(':') else {
        return false;
    };
    head.split(':').all(digits_and_underscores)
        && digits_and_underscores(&last.replacen('.', "", 1))
}

/// Dates and times: `2026-01-01`, `2026-1-1T12:00:00Z`, `2026-01-01 12:00:00 +1`.
fn is_date(value: &str) -> bool {
    let number = |text: &str, range: std::ops::RangeInclusive<usize>| {
        range.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let date = value.split(['T', 't', ' ']).next().unwrap_or(value);
    let parts: Vec<&str> = date.split('-').collect();
    matches!(parts[..], [year, month, day]
        if number(year, 4..=4) && number(month, 1..=2) && number(day, 1..=2))
}

#[cfg(test)]
mod tests {
    use super::{is_plain_safe, quote, quote_always, quote_single};
    use crate::yaml::parse;
    use proptest::prelude::*;

    /// Strings that at least one YAML reader takes for something else.
    const AWKWARD: [&str; 87] = [
        "",
        " ",
        "y",
        "Y",
        "n",
        "N",
        "yes",
        "YES",
        "no",
        "No",
        "on",
        "ON",
        "off",
        "Off",
        "true",
        "True",
        "false",
        "FALSE",
        "null",
        "Null",
        "~",
        "=",
        "<<",
        "1",
        "0",
        "-1",
        "+1",
        "0123",
        "08",
        "0644",
        "0o7",
        "0x1F",
        "0b11",
        "1_000",
        "_1_",
        "1e3",
        "1E+3",
        "12e4567",
        "1.10",
        "1.",
        ".5",
        "-.5",
        "+1.5",
        "1_0.5",
        ".inf",
        "-.INF",
        "+.inf",
        ".NaN",
        "12:30:45",
        "1:30",
        "-1:30",
        "12:30.5",
        "2026-01-01",
        "2026-1-1",
        "2026-01-01T12:00:00Z",
        "2026-01-01 12:00:00",
        "a: b",
        "a:",
        "a #b",
        "#a",
        "- a",
        "-",
        "--- a",
        "---",
        "...",
        "? a",
        "?",
        ": a",
        "[a",
        "{a}",
        "a, b",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "'a'",
        "\"a\"",
        "%a",
        "@a",
        "`a`",
        " a",
        "a ",
        "a\tb",
        "a\nb",
        "a\u{85}b",
        "\u{feff}a",
    ];

    #[test]
    fn awkward_strings_are_quoted() {
        for value in AWKWARD {
            // `_1_` is no number to anybody, but looks like one.
            if value == "_1_" {
                continue;
            }
            assert!(!is_plain_safe(value), "{value:?}");
            assert_eq!(quote(value), quote_always(value));
        }
    }

    #[test]
    fn ordinary_strings_stay_plain() {
        for value in [
            "1.2.3",
            "v1.2.3",
            "1.2.3-rc.1",
            "1.2.3+build.5",
            "~1.2",
            "^1.2.3",
            "=1.2.3",
            "10.0.0.1:5000",
            "2026.01.05",
            "2026-01-01-alpine",
            "https://example.com/a/b=c#d",
            "./path",
            "registry.example.com:5000/a/b@sha256:0123abcd",
            "a-b_c/d",
            "hello world",
            "it's",
            "nope",
            "yes please",
            "1.2.x",
            "0xyz",
            "1e3x",
            "größe",
            "日本",
        ] {
            assert!(is_plain_safe(value), "{value:?}");
            assert_eq!(quote(value), value);
        }
    }

    #[test]
    fn escapes_are_those_of_json() {
        assert_eq!(
            quote_always("a\"\\\n\r\t\u{8}\u{c}\u{1}\u{85}\u{2028}é𝄞"),
            r#""a\"\\\n\r\t\b\f\u0001\u0085\u2028é𝄞""#
        );
    }

    #[test]
    fn single_quotes_double_themselves_and_refuse_control_characters() {
        assert_eq!(quote_single("it's \\n").unwrap(), "'it''s \\n'");
        assert_eq!(quote_single("a\tb"), None);
    }

    fn check(value: &str) -> Result<(), TestCaseError> {
        let written = quote(value);
        let text = format!(
            "value: {written}\n{written} : key\nflow: {{a: {written}, {written}: [{written}]}}\n"
        );
        let stream = parse(&text);
        prop_assert!(stream.errors.is_empty(), "{text:?} {:?}", stream.errors);
        let root = stream.documents[0].root.as_ref().unwrap();
        prop_assert_eq!(root.get("value").unwrap().as_str(), Some(value));
        let flow = root.get("flow").unwrap();
        prop_assert_eq!(flow.get("a").unwrap().as_str(), Some(value));
        let (key, list) = flow.entries().nth(1).unwrap();
        prop_assert_eq!(key.as_str(), Some(value));
        prop_assert_eq!(list.at(0).unwrap().as_str(), Some(value));

        let other: serde_yaml::Value =
            serde_yaml::from_str(&format!("value: {written}\nk: {{{written}: {written}}}\n"))
                .map_err(|error| TestCaseError::fail(format!("{written:?} {error}")))?;
        let string = serde_yaml::Value::String(value.to_owned());
        prop_assert_eq!(&other["value"], &string);
        let (key, inner) = other["k"].as_mapping().unwrap().iter().next().unwrap();
        prop_assert_eq!((key, inner), (&string, &string));
        let block: serde_yaml::Mapping = serde_yaml::from_str(&format!("{written}: 1\n"))
            .map_err(|error| TestCaseError::fail(format!("{written:?} {error}")))?;
        prop_assert_eq!(block.keys().next(), Some(&string));
        Ok(())
    }

    #[test]
    fn awkward_strings_are_read_back() {
        for value in AWKWARD {
            check(value).unwrap();
        }
    }

    proptest! {
        #[test]
        fn any_string_is_read_back(value in any::<String>()) {
            check(&value)?;
        }

        #[test]
        fn any_string_of_awkward_characters_is_read_back(
            value in "[-?:,\\[\\]{}#&*!|>'\"%@` a0-2.eE_~=<+\\\\\t\r\n\u{85}\u{a0}\u{2028}\u{feff}é]{0,12}"
        ) {
            check(&value)?;
        }

        #[test]
        fn any_string_is_read_back_from_single_quotes(value in any::<String>()) {
            if let Some(written) = quote_single(&value) {
                let read: String = serde_yaml::from_str(&written).unwrap();
                prop_assert_eq!(read, value);
            }
        }
    }
}
