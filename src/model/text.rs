//! Line ends: repositories have Unix ones, work trees may have others. And how a text from elsewhere is shown on a terminal.

use std::borrow::Cow;

/// The bytes with line ends as in the repository: a checkout with `core.autocrlf` or `eol=crlf` has others.
pub fn unix_lines(bytes: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(bytes.len());
    for (index, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || bytes.get(index + 1) != Some(&b'\n') {
            lines.push(*byte);
        }
    }
    lines
}

/// A text without what colours it in a terminal (`ESC [ … m` and its like).
pub fn without_colours(text: &str) -> Cow<'_, str> {
    const ESCAPE: &str = "\u{1b}[";
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(ESCAPE);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // Digits and signs, and the letter that says what they do.
        let end = part.find(|c: char| !(' '..='?').contains(&c));
        let end = end.filter(|end| part[*end..].starts_with(|c: char| ('@'..='~').contains(&c)));
        plain.push_str(end.map_or(part, |end| &part[end + 1..]));
    }
    Cow::Owned(plain.replace('\u{1b}', ""))
}

/// A text from elsewhere as a part of one line: what would move the cursor, clear the screen, end the line or turn the direction
/// of writing is escaped.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape(text, is_odd)
}

/// A text of several lines that may hold texts from elsewhere: line ends and tabs stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    let odd = |c| is_odd(c) && !matches!(c, '\n' | '\t');
    if text.contains("\r\n") {
        let shown: Vec<Cow<'_, str>> = text.split("\r\n").map(|part| escape(part, odd)).collect();
        return Cow::Owned(shown.join("\r\n"));
    }
    escape(text, odd)
}

/// A text from elsewhere as it may stand in a request or an issue: on one line, without names that call people, references to other requests, and HTML.
pub fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut plain = words.join(" ");
    for (sign, instead) in [
        ("<", "&lt;"),
        ("@", "@\u{200b}"),
        ("#", "#\u{200b}"),
        ("!", "!\u{200b}"),
    ] {
        plain = plain.replace(sign, instead);
    }
    plain
}

/// A text as a block of code of a request, which it can't end by itself.
pub fn fenced(language: &str, text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

/// Control characters, line ends of Unicode, and marks of direction.
fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape(text: &str, is_odd: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_odd) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_odd(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_and_the_words_stay() {
        for (text, plain) in [
            ("a b", "a b"),
            ("\u{1b}[1;31merror\u{1b}[0m: x", "error: x"),
            ("\u{1b}[38;5;9mé\u{1b}[K", "é"),
            ("\u{1b}[", ""),
            ("\u{1b}[1", "1"),
            ("\u{1b}[1é", "1é"),
            ("\u{1b}\u{1b}[m[m", "[m"),
        ] {
            assert_eq!(without_colours(text), plain);
        }
    }

    #[test]
    fn nothing_of_a_text_works_on_a_terminal() {
        let text = "foo\u{1b}[2Jx\nfake.yaml:1:1: foo\t\u{202e}\u{9b}2J\r";
        assert_eq!(
            one_line(text),
            r"foo\u{1b}[2Jx\u{a}fake.yaml:1:1: foo\u{9}\u{202e}\u{9b}2J\u{d}"
        );
        assert_eq!(lines("a\r\n\tb\u{7}\rc\n"), "a\r\n\tb\\u{7}\\u{d}c\n");
        assert!(matches!(one_line("größer – ✓"), Cow::Borrowed(_)));
    }

    #[test]
    fn only_the_pair_is_a_line_end() {
        assert_eq!(unix_lines(b"a\r\nb\rc\n"), b"a\nb\rc\n");
    }
}
