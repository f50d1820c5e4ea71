//! How HAProxy's configuration names headers, cookies, parameters and variables beside their values.
//!
//! Source: HAProxy's configuration manual, "http-request", "http-check send", "setenv" and the sample fetches.

use super::scan::{end_of, skip_spaces, word};

/// Behind these stand a name and its value.
const SETTERS: [&str; 5] = ["set-header", "add-header", "hdr", "setenv", "presetenv"];
/// Behind these a name, the expression that is replaced, and the value.
const REPLACERS: [&str; 2] = ["replace-header", "replace-value"];
/// These read or set what the name in the brackets behind them has.
const FETCHES: [&str; 5] = ["hdr", "cook", "urlp", "url_param", "var"];
/// Where a value ends: at its condition.
const ENDS: [&str; 3] = ["if ", "unless ", "}"];

/// Whether a word is followed by a name and its value.
pub(super) fn sets(word: &str) -> bool {
    SETTERS.contains(&word)
}

/// The value that belongs to a name at a place of a line, behind a word: `req.hdr(X-Api-Key) -m str x`, `replace-header X-Api-Key ^.*$ x`.
pub(super) fn value(line: &str, name: (usize, usize), previous: &str) -> Option<(usize, usize)> {
    let (before, after) = (&line[..name.0], &line[name.1..]);
    let is_fetch = FETCHES.iter().any(|fetch| previous.contains(fetch));
    let is_read = is_fetch && before.ends_with('(') && after.starts_with([')', ',']);
    if !is_read && !REPLACERS.contains(&previous) {
        return None;
    }
    let mut start = skip_spaces(line, end_of(line, name.1, char::is_whitespace));
    while let Some(length) = flag(&line[start..]) {
        start = skip_spaces(line, start + length);
    }
    let rest = &line[start..];
    if rest.is_empty() || ENDS.iter().any(|end| rest.starts_with(end)) {
        return None;
    }
    let ends = ENDS.iter().filter_map(|end| rest.find(&format!(" {end}")));
    Some((start, start + ends.min().unwrap_or(rest.len())))
}

/// What a check sends behind the word of a protocol that a secret follows: `tcp-check send "AUTH user x\r\n"`, `tcp-check send AUTH\ x`.
pub(super) fn sent(line: &str, name: (usize, usize)) -> Option<(usize, usize)> {
    let is_escaped = line[name.1..].starts_with('\\');
    let start = skip_spaces(line, name.1 + usize::from(is_escaped));
    let sign = line[..name.0].chars().next_back();
    let end = match sign.filter(|sign| matches!(sign, '"' | '\'')) {
        Some(sign) => end_of(line, start, |c| c == sign),
        None => word(line, start, char::is_whitespace),
    };
    (start > name.1 && end > start).then_some((start, end))
}

/// The length of a flag that says how a value is compared, with its own word where it has one.
fn flag(text: &str) -> Option<usize> {
    let end = end_of(text, 0, char::is_whitespace);
    match &text[..end] {
        "-m" | "-f" | "-M" => {
            let start = skip_spaces(text, end);
            Some(end_of(text, start, char::is_whitespace))
        }
        "-i" | "-n" | "-u" | "--" => Some(end),
        _ => None,
    }
}
