//! What is a secret by its own form: keys of clouds, tokens, hashes of passwords, long random words, logins in addresses.

use super::HIDDEN;

/// A word of so many characters that mixes letters and digits is a key or a hash of one; digests say what they are.
const LONG: usize = 32;
/// How tokens begin.
const TOKENS: [&str; 10] = [
    "glpat-",
    "gldt-",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "eyJ",
    "xox",
    "AGE-SECRET-KEY-",
];
/// How hashes of passwords begin, as crypt(3) writes them.
const CRYPT: [&str; 8] = [
    "$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$argon2",
];

/// A line without them.
pub(super) fn hide(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut at = 0;
    let mut is_in_address = false;
    while let Some(c) = line[at..].chars().next() {
        let rest = &line[at..];
        is_in_address &= !(c.is_whitespace() || matches!(c, '"' | '?'));
        if c == '(' && rest.starts_with(HIDDEN) {
            shown.push_str(HIDDEN);
            at += HIDDEN.len();
        } else if c == '$' && CRYPT.iter().any(|start| rest.starts_with(start)) {
            let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '`');
            shown.push_str(HIDDEN);
            at += rest.find(ends).unwrap_or(rest.len());
        } else if is_plain(c) {
            let end = rest.find(|c| !is_plain(c)).unwrap_or(rest.len());
            is_in_address |= line[..at].ends_with(':') && rest.starts_with("//");
            let run = Run {
                is_in_address,
                before: &line[..at],
                text: &rest[..end],
                after: &rest[end..],
            };
            match run.token() {
                // The other parts of a token stand behind a full stop.
                Some(start) => {
                    shown.push_str(&run.text[..start]);
                    shown.push_str(HIDDEN);
                    let goes_on = |c: char| is_plain(c) || c == '.';
                    at += rest.find(|c| !goes_on(c)).unwrap_or(rest.len());
                }
                None => {
                    shown.push_str(&run.shown());
                    at += end;
                }
            }
        } else {
            shown.push(c);
            at += c.len_utf8();
        }
    }
    shown
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '_' | '-')
}

/// A part of a line of which keys are made.
struct Run<'l> {
    /// Whether an address began before it, or begins with it.
    is_in_address: bool,
    before: &'l str,
    text: &'l str,
    after: &'l str,
}

impl Run<'_> {
    /// Where a token begins in it.
    fn token(&self) -> Option<usize> {
        let text = self.text;
        let parts = std::iter::once(0).chain(text.match_indices(['=', '/']).map(|(at, _)| at + 1));
        let mut parts = parts.filter(|at| {
            let part = &text[*at..];
            let goes_on = if self.after.starts_with('.') { 16 } else { 0 };
            TOKENS.iter().any(|start| part.starts_with(start)) && part.len() + goes_on > 16
        });
        parts.next()
    }

    fn shown(&self) -> String {
        let is_digest = ["sha256:", "sha512:"]
            .iter()
            .any(|kind| self.before.ends_with(kind));
        if is_digest {
            return self.text.to_owned();
        }
        // A full stop may end a sentence too.
        let goes_on = self.after.strip_prefix('.');
        let is_path = self.is_in_address
            || self.text.starts_with('/')
            || self.before.ends_with(['.', '~', '$', '}'])
            || goes_on.is_some_and(|after| after.starts_with(is_plain));
        // base64 has slashes too, so only what is a path otherwise is split at them.
        let ends: &[char] = if is_path { &['/', '='] } else { &['='] };
        if !is_path && is_random(self.text) {
            return HIDDEN.to_owned();
        }
        let mut shown = String::new();
        for part in self.text.split_inclusive(ends) {
            let word = part.trim_end_matches(ends);
            let is_commit = self.is_in_address && word.len() == 40 && is_hex(word);
            if is_key(word) && !is_commit {
                shown.push_str(HIDDEN);
                shown.push_str(&part[word.len()..]);
            } else {
                shown.push_str(part);
            }
        }
        shown
    }
}

fn is_key(word: &str) -> bool {
    let is_upper = |text: &str| {
        let is = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        text.bytes().all(is)
    };
    let is_cloud = (word.starts_with("AKIA") || word.starts_with("ASIA"))
        && word.len() >= 16
        && is_upper(word);
    // Names of objects end with a hash: `edge-0123…`.
    let hex = word.rsplit(['-', '_', '+']).next().unwrap_or_default();
    is_cloud || hex.len() >= LONG && is_hex(hex) || is_random(word)
}

fn is_hex(word: &str) -> bool {
    let is = |byte: u8| byte.is_ascii_hexdigit();
    let has = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    word.bytes().all(is) && !(has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase))
}

fn is_random(word: &str) -> bool {
    let has = |is: fn(&char) -> bool| word.chars().any(|c| is(&c));
    word.len() >= LONG
        && has(char::is_ascii_digit)
        && has(char::is_ascii_uppercase)
        && has(char::is_ascii_lowercase)
}

/// A line without user and password of addresses.
pub(super) fn without_logins(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown.push_str(before);
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
        let whole = after.find(ends).unwrap_or(after.len());
        let host = after[..whole].find(['/', '?', '#']).unwrap_or(whole);
        // A password may have signs that end a host.
        let port = after[..host].split_once(':').map(|(_, port)| port);
        let is_port = port.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
        let end = if is_port { host } else { whole };
        match after[..end].rfind('@') {
            Some(sign) => {
                shown.push_str(HIDDEN);
                rest = &after[sign..];
            }
            None => rest = after,
        }
    }
    shown.push_str(rest);
    shown
}
