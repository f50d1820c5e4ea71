//! Reads `WWW-Authenticate` headers.
//!
//! Owns the grammar of challenges, with quoted commas, several challenges in one header and
//! unknown schemes. Pure; it must not fetch tokens. Start from [`parse`].

/// One way to log in that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// Tells whether the scheme is the given one, in any case of letters.
    pub(super) fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// Returns the first parameter of the name that is not empty.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find(|(key, value)| key.eq_ignore_ascii_case(name) && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }
}

/// Returns the challenges of one header, leaving out what cannot be read.
pub(super) fn parse(header: &str) -> Vec<Challenge> {
    let mut challenges: Vec<Challenge> = Vec::new();
    let mut rest = skip_separators(header);
    while !rest.is_empty() {
        let (word, after) = take_word(rest);
        if word.is_empty() {
            // Not a token, so drop one sign and look for the next readable place.
            rest = skip_separators(after.get(first_len(after)..).unwrap_or_default());
            continue;
        }
        let (value, after) = match after.trim_start().strip_prefix('=') {
            Some(after) => take_value(after.trim_start()),
            None => (None, after),
        };
        match (value, challenges.last_mut()) {
            (Some(value), Some(challenge)) => challenge.parameters.push((word.to_owned(), value)),
            (Some(_), None) => {}
            (None, _) => challenges.push(Challenge {
                scheme: word.to_owned(),
                parameters: Vec::new(),
            }),
        }
        rest = skip_separators(after);
    }
    challenges
}

fn skip_separators(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', ','])
}

fn first_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

fn take_word(text: &str) -> (&str, &str) {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c);
    text.split_at(text.find(|c| !is_token(c)).unwrap_or(text.len()))
}

/// Takes a quoted or bare value; a quote that does not end reaches to the end of the header.
fn take_value(text: &str) -> (Option<String>, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (Some(text[..end].to_owned()), &text[end..]);
    };
    let mut value = String::new();
    let mut signs = quoted.char_indices();
    while let Some((index, sign)) = signs.next() {
        match sign {
            '"' => return (Some(value), &quoted[index + 1..]),
            '\\' => value.extend(signs.next().map(|(_, escaped)| escaped)),
            _ => value.push(sign),
        }
    }
    (Some(value), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_quotes_belong_to_the_value() {
        let header = "bearer realm=\"https://a/t?x=1,2\" , service = reg, scope=\"a:b:pull,push\"";
        let all = parse(header);
        assert_eq!(all.len(), 1);
        assert!(all[0].is("Bearer"));
        assert_eq!(all[0].parameter("Realm"), Some("https://a/t?x=1,2"));
        assert_eq!(all[0].parameter("service"), Some("reg"));
        assert_eq!(all[0].parameter("scope"), Some("a:b:pull,push"));
        assert_eq!(all[0].parameter("error"), None);
    }

    #[test]
    fn several_challenges_are_kept_apart() {
        let all =
            parse("Negotiate abc==, Basic realm=\"a \\\"b\\\"\", Bearer realm=\"r\",error=\"\"");
        let schemes: Vec<&str> = all.iter().map(|c| c.scheme.as_str()).collect();
        assert_eq!(schemes, ["Negotiate", "Basic", "Bearer"]);
        assert_eq!(all[1].parameter("realm"), Some("a \"b\""));
        assert_eq!(all[2].parameter("realm"), Some("r"));
        assert_eq!(all[2].parameter("error"), None);
    }

    #[test]
    fn broken_headers_end() {
        for header in [
            "",
            ",,,",
            "=",
            "\"",
            "Bearer realm=\"",
            "Bearer realm=\"a\\",
            "(\u{e9}) x=",
            "a=b",
        ] {
            let _ = parse(header);
        }
        assert_eq!(parse("Bearer realm=\"a")[0].parameter("realm"), Some("a"));
    }
}
