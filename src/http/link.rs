//! Reads `Link` headers.
//!
//! Owns the grammar of RFC 8288 as far as paging needs it. Pure; it must not resolve references.

/// Returns the reference with the relation `next`, if the header has one.
pub(crate) fn next_reference(header: &str) -> Option<&str> {
    let mut rest = header;
    while let Some(start) = rest.find('<') {
        let inside = &rest[start + 1..];
        let end = inside.find('>')?;
        let (reference, after) = (&inside[..end], &inside[end + 1..]);
        let (parameters, tail) = split_outside_quotes(after, ',');
        if is_next(parameters) {
            return Some(reference.trim());
        }
        rest = tail;
    }
    None
}

fn is_next(parameters: &str) -> bool {
    let mut rest = parameters;
    while !rest.is_empty() {
        let (parameter, tail) = split_outside_quotes(rest, ';');
        if let Some((name, value)) = parameter.split_once('=')
            && name.trim().eq_ignore_ascii_case("rel")
        {
            // A link may have several relations in one value.
            let value = value.trim().trim_matches('"');
            return value
                .split_ascii_whitespace()
                .any(|relation| relation.eq_ignore_ascii_case("next"));
        }
        rest = tail;
    }
    false
}

/// Splits at the first `at` that is not within quotes; the second half is empty without one.
fn split_outside_quotes(text: &str, at: char) -> (&str, &str) {
    let mut quoted = false;
    let mut escaped = false;
    for (index, sign) in text.char_indices() {
        match sign {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if sign == at && !quoted => {
                return (&text[..index], &text[index + sign.len_utf8()..]);
            }
            _ => {}
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::next_reference;

    #[test]
    fn next_is_found_among_other_links_and_parameters() {
        let cases = [
            ("</a?n=1>; rel=\"next\"", Some("/a?n=1")),
            ("<https://h/a>;rel=next", Some("https://h/a")),
            (
                "</p>; rel=prev, </n,x>; title=\"a, b; rel=next\"; REL=\"up Next\"",
                Some("/n,x"),
            ),
            ("</a>; title=\"x\\\"; rel=next\"; rel=prev", None),
            ("</a>; rel=nextish", None),
            ("</a>", None),
            ("</a; rel=next", None),
            ("", None),
        ];
        for (header, expected) in cases {
            assert_eq!(next_reference(header), expected, "{header}");
        }
    }
}
