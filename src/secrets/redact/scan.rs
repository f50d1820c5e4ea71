//! Where words, quotes and brackets of a line end.

pub(super) fn end_of(line: &str, from: usize, ends: impl Fn(char) -> bool) -> usize {
    line[from..].find(ends).map_or(line.len(), |at| from + at)
}

pub(super) fn skip_spaces(line: &str, from: usize) -> usize {
    end_of(line, from, |c| !c.is_whitespace())
}

/// A quote with the backslashes before it.
pub(super) fn quote(line: &str, at: usize) -> Option<&str> {
    let end = end_of(line, at, |c| c != '\\');
    let sign = line[end..].chars().next()?;
    matches!(sign, '"' | '\'' | '`').then(|| &line[at..=end])
}

/// Where a quoted text ends that begins behind its quote. In single quotes a backslash is a letter to YAML and none to others: the longer text counts.
pub(super) fn close(line: &str, from: usize, quote: &str) -> Option<usize> {
    let with = close_by(line, from, quote, true);
    if quote != "'" {
        return with;
    }
    let without = close_by(line, from, quote, false);
    match (with, without) {
        (Some(one), Some(other)) => Some(one.max(other)),
        _ => None,
    }
}

pub(super) fn close_by(line: &str, from: usize, quote: &str, escapes: bool) -> Option<usize> {
    let mut at = from;
    while at < line.len() {
        let rest = &line[at..];
        let c = rest.chars().next()?;
        if rest.starts_with(quote) {
            // `''` is a quote within a text of YAML.
            if quote == "'" && rest[1..].starts_with('\'') {
                at += 2;
                continue;
            }
            return Some(at);
        }
        at += c.len_utf8();
        if c != '\\' || !escapes {
            continue;
        }
        if quote.len() == 1 {
            at += line[at..].chars().next().map_or(0, char::len_utf8);
        } else {
            // More backslashes than those of the quote: a quote within the text.
            let more = end_of(line, at, |c| c != '\\');
            let is_inner = line[more..].starts_with(['"', '\'', '`']);
            at = if is_inner { more + 1 } else { more };
        }
    }
    None
}

/// A word, in which a backslash takes what follows along.
pub(super) fn word(line: &str, from: usize, ends: impl Fn(char) -> bool) -> usize {
    let mut at = from;
    while let Some(c) = line[at..].chars().next() {
        if ends(c) {
            break;
        }
        at += c.len_utf8();
        if c == '\\' {
            at += line[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    at
}

pub(super) fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| matches!(c, '"' | '\'' | ',' | ':' | '=' | '`' | '.' | ';' | ')'))
}

pub(super) fn quote_before(before: &str) -> Option<&str> {
    let sign = before.chars().next_back()?;
    if !matches!(sign, '"' | '\'' | '`') {
        return None;
    }
    let inner = before[..before.len() - 1].trim_end_matches('\\');
    Some(&before[inner.len()..])
}

/// The length of what stands between a key and its value.
pub(super) fn sign(text: &str) -> Option<usize> {
    if text.starts_with("::") {
        return None;
    }
    let signs = [":=", "=>", "==", "%3D", "%3d", "%3A", "%3a", ":", "="];
    let found = signs.iter().find(|sign| text.starts_with(*sign));
    found.map(|sign| sign.len())
}

/// The head of a block of YAML, up to the end of the line.
pub(super) fn is_block(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(['|', '>']) else {
        return false;
    };
    let rest = rest.trim_start_matches(|c: char| matches!(c, '+' | '-') || c.is_ascii_digit());
    rest.trim().is_empty() || rest.trim_start().starts_with('#') && rest.starts_with(' ')
}

/// The end of what stands in brackets, else of the line, and how many of them are open then.
pub(super) fn balanced(line: &str, from: usize) -> (usize, usize) {
    let mut depth = 0_usize;
    let mut at = from;
    while let Some(c) = line[at..].chars().next() {
        if let Some(sign) = quote(line, at) {
            match close(line, at + sign.len(), sign) {
                Some(end) => at = end + sign.len(),
                None => break,
            }
            continue;
        }
        at += c.len_utf8();
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return (at, 0);
        }
    }
    (line.len(), depth)
}

/// How many brackets are open after a line, of those that were open before it. What stands in double quotes counts for nothing.
pub(super) fn open_after(line: &str, before: usize) -> usize {
    let (mut open, mut is_quoted, mut is_escaped) = (before, false, false);
    for c in line.chars() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '[' | '{' if !is_quoted => open += 1,
            ']' | '}' if !is_quoted => open = open.saturating_sub(1),
            _ => {}
        }
    }
    open
}

/// The end of a value of several words within a sentence or a list.
pub(super) fn prose(line: &str, from: usize) -> usize {
    let ends = |(at, c): &(usize, char)| {
        let next = line[from + at + c.len_utf8()..].chars().next();
        let is_end = |more: &[char]| next.is_none_or(|c| c.is_whitespace() || more.contains(&c));
        match c {
            ',' | ';' => is_end(&['"', '\'']),
            '}' | ']' => is_end(&[',', ';', '}', ']', ')', '"', '\'']),
            _ => false,
        }
    };
    let found = line[from..].char_indices().find(ends);
    found.map_or(line.len(), |(at, _)| from + at)
}
