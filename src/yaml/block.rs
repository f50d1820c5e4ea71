//! Writing text of several lines as a literal block scalar.
//!
//! Owns the header and the indentation of `|` blocks. It refuses what such a
//! block cannot carry or what an editor would break in silence; the caller
//! then falls back to double quotes.

use super::scalar::is_unprintable;

/// Writes a literal block: header, then the lines indented by `indent` spaces.
///
/// Meant to stand behind `key: ` with the body two columns right of the key.
/// The last line has no line break; the caller must write one behind it.
/// `None` if the value is empty, holds a character that needs an escape, has
/// a line of only blanks, or is all line breaks: such a text needs
/// [`quote_always`](super::scalar::quote_always).
pub fn block(value: &str, indent: usize) -> Option<String> {
    let unfit = |char: char| is_unprintable(char) && !matches!(char, '\n' | '\t');
    let blank_line = |line: &str| !line.is_empty() && line.trim().is_empty();
    if indent == 0
        || value.chars().any(unfit)
        || value.trim_matches('\n').is_empty()
        || value.split('\n').any(blank_line)
    {
        return None;
    }
    let mut written = String::from("|");
    if value.trim_start_matches('\n').starts_with([' ', '\t']) {
        // The indicator counts from the key's own column, not from the margin.
        written.push_str(if indent == 1 { "1" } else { "2" });
    }
    let lines = value.strip_suffix('\n');
    match lines {
        None => written.push('-'),
        Some(lines) if lines.ends_with('\n') => written.push('+'),
        Some(_) => {}
    }
    for line in lines.unwrap_or(value).split('\n') {
        written.push('\n');
        if !line.is_empty() {
            written.extend(std::iter::repeat_n(' ', indent));
            written.push_str(line);
        }
    }
    Some(written)
}

#[cfg(test)]
mod tests {
    use super::block;
    use crate::yaml::parse;
    use proptest::prelude::*;

    #[test]
    fn the_header_says_how_the_text_ends() {
        assert_eq!(block("a\nb\n", 2).unwrap(), "|\n  a\n  b");
        assert_eq!(block("a\n\nb", 4).unwrap(), "|-\n    a\n\n    b");
        assert_eq!(block("a\n\n\n", 2).unwrap(), "|+\n  a\n\n");
    }

    #[test]
    fn a_first_line_with_a_blank_gets_an_indicator() {
        assert_eq!(block("  a\nb\n", 2).unwrap(), "|2\n    a\n  b");
        assert_eq!(block("\n a", 2).unwrap(), "|2-\n\n   a");
    }

    #[test]
    fn what_a_block_cannot_carry_is_refused() {
        for value in ["", "\n", "a\r\nb", "a\n  \nb", "a\u{85}b", "a\0"] {
            assert_eq!(block(value, 2), None, "{value:?}");
        }
        assert_eq!(block("a", 0), None);
    }

    proptest! {
        #[test]
        fn any_block_is_read_back(value in "([ \t]?[a-z:#'\"é-]{0,3}[ ]?\n{0,2}){0,5}", deep: bool) {
            let indent = if deep { 4 } else { 2 };
            let Some(written) = block(&value, indent) else { return Ok(()) };
            let text = if deep {
                format!("top:\n  key: {written}\n  next: 1\n")
            } else {
                format!("key: {written}\nnext: 1\n")
            };
            let stream = parse(&text);
            prop_assert!(stream.errors.is_empty(), "{text:?} {:?}", stream.errors);
            let root = stream.documents[0].root.as_ref().unwrap();
            let map = if deep { root.get("top").unwrap() } else { root };
            prop_assert_eq!(map.get("key").unwrap().as_str(), Some(value.as_str()), "{}", text);
            prop_assert_eq!(map.get("next").unwrap().as_str(), Some("1"));

            let other: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
            let map = if deep { &other["top"] } else { &other };
            prop_assert_eq!(map["key"].as_str(), Some(value.as_str()));
        }
    }
}
