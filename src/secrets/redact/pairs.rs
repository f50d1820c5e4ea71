//! Keys and their values, wherever they stand in a line: JSON, YAML, logfmt, queries, headers, HAProxy's options, sentences.

use super::HIDDEN;
use super::haproxy;
use super::keys::{is_option, is_secret};
use super::scan::{
    balanced, bare, close, end_of, is_block, prose, quote, quote_before, sign, skip_spaces, word,
};

/// Words of sentences about secrets: no values.
const SENTENCE: [&str; 40] = [
    "not",
    "no",
    "is",
    "was",
    "are",
    "has",
    "must",
    "cannot",
    "can't",
    "for",
    "of",
    "in",
    "from",
    "to",
    "and",
    "or",
    "with",
    "on",
    "at",
    "by",
    "invalid",
    "wrong",
    "missing",
    "required",
    "empty",
    "expired",
    "too",
    "incorrect",
    "already",
    "unknown",
    "malformed",
    "failed",
    "failure",
    "error",
    "denied",
    "authentication",
    "auth",
    "file",
    "a",
    "the",
];
/// What is said of a secret behind its name and a colon.
const SAID: [&str; 12] = [
    "not found",
    "no such ",
    "permission denied",
    "already exists",
    "forbidden",
    "unauthorized",
    "is required",
    "invalid value",
    "must ",
    "cannot ",
    "failed ",
    "context deadline",
];
const SCHEMES: [&str; 4] = ["basic", "bearer", "digest", "negotiate"];

/// The part of a line that is a value.
struct Value {
    start: usize,
    end: usize,
    /// Whether it may go on in the lines below that are indented more, and how many brackets are open for it to be closed first.
    opens: Option<usize>,
}

/// Whether a `name` was a secret's, so that the `value` beside it or below it is one: a variable of a container.
#[derive(Default)]
pub(super) struct Named {
    is_secret: bool,
    lines: usize,
}

impl Named {
    /// A line begins. A name counts for its own line and the two below it.
    pub(super) fn next_line(&mut self) {
        self.lines += 1;
        self.is_secret &= self.lines <= 2;
    }

    fn note(&mut self, previous: &str, word: &str) {
        if previous.eq_ignore_ascii_case("name") {
            self.is_secret = is_secret(word);
            self.lines = 0;
        }
    }
}

/// Hides the values of a line whose own text begins at a place; whether the last one may go on below, and with how many open brackets.
pub(super) fn hide(line: &str, begin: usize, named: &mut Named) -> (String, Option<usize>) {
    let mut shown = String::with_capacity(line.len());
    let mut at = 0;
    let mut opens = None;
    let mut previous = "";
    let is_check = line.contains("tcp-check");
    while let Some(c) = line[at..].chars().next() {
        if c == '(' && line[at..].starts_with(HIDDEN) {
            shown.push_str(HIDDEN);
            at += HIDDEN.len();
            continue;
        }
        if !is_key_sign(c) {
            shown.push(c);
            at += c.len_utf8();
            continue;
        }
        let end = end_of(line, at, |c| !is_key_sign(c));
        named.note(previous, &line[at..end]);
        let is_value = line[at..end].eq_ignore_ascii_case("value");
        let key = Key {
            line,
            begin,
            start: at,
            end,
            previous,
            is_check,
            is_secret: is_value && named.is_secret || is_secret(&line[at..end]),
        };
        let value = key.value();
        previous = &line[at..end];
        match value {
            Some(value) => {
                shown.push_str(&line[at..value.start]);
                if value.start < value.end {
                    shown.push_str(HIDDEN);
                }
                at = value.end;
                opens = value.opens;
            }
            None => {
                shown.push_str(&line[at..end]);
                at = end;
            }
        }
    }
    (shown, opens)
}

fn is_key_sign(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$')
}

/// A word that may be a key.
struct Key<'l> {
    line: &'l str,
    begin: usize,
    start: usize,
    end: usize,
    previous: &'l str,
    is_secret: bool,
    /// Whether the line is of a check that HAProxy makes.
    is_check: bool,
}

impl Key<'_> {
    fn value(&self) -> Option<Value> {
        let line = self.line;
        let own = self.text().to_lowercase();
        // A variable of a shell.
        let is_upper = !self.text().contains(|c: char| c.is_lowercase());
        let is_option =
            is_option(&own, self.previous) || is_upper && self.is_secret && own.contains('_');
        if !self.is_secret && !is_option {
            return None;
        }
        let name = (self.start, self.end);
        let sent =
            || haproxy::sent(line, name).filter(|_| self.is_check && self.previous == "send");
        if let Some((start, end)) = haproxy::value(line, name, self.previous).or_else(sent) {
            return Some(Value {
                start,
                end,
                opens: None,
            });
        }
        let mut at = self.end;
        if line[at..].starts_with('[') {
            at = end_of(line, at, |c| c == ']');
            at += line[at..].len().min(1);
        }
        let closing = quote(line, at).map_or(0, str::len);
        at += closing;
        let sign_at = skip_spaces(line, at);
        match sign(&line[sign_at..]) {
            Some(length) if self.is_secret => {
                let is_unexpected = self.previous.eq_ignore_ascii_case("unexpected");
                if is_unexpected && own.contains("token") {
                    return None;
                }
                self.behind_sign(sign_at + length, closing > 0)
            }
            Some(_) => None,
            None if closing == 0 && sign_at > at => self.behind_space(sign_at, is_option),
            None => None,
        }
    }

    fn text(&self) -> &str {
        &self.line[self.start..self.end]
    }

    /// Whether it is the first thing in its line, as a key of YAML or of a list of variables is.
    fn is_first(&self) -> bool {
        let before = self.line.get(self.begin..self.start).unwrap_or_default();
        let is_mark = |c: char| c.is_whitespace() || matches!(c, '-' | '+' | '#' | '"' | '\'');
        before.chars().all(is_mark) || before.trim() == "export"
    }

    /// `password: x`, `password=x`, `"password":"x"`.
    fn behind_sign(&self, from: usize, is_quoted: bool) -> Option<Value> {
        let line = self.line;
        let start = skip_spaces(line, from);
        let (is_spaced, is_first) = (start > from, self.is_first());
        let is_colon = line[..from].ends_with(':');
        let value = |end: usize, opens: Option<usize>| Some(Value { start, end, opens });
        let to = |end: usize, opens: bool| value(end, opens.then_some(0));
        let rest = &line[start..];
        if rest.is_empty() {
            return to(start, is_first);
        }
        let before = quote_before(&line[..self.start]);
        if let (Some(sign), false) = (before, is_quoted) {
            // "Authorization: Bearer x": the quotes are around both.
            let end = close(line, start, sign).unwrap_or(line.len());
            return to(end, is_first && end == line.len());
        }
        if let Some(sign) = quote(line, start) {
            return self.in_quotes(start, sign, is_first);
        }
        if is_block(rest) {
            return to(start, true);
        }
        if rest.starts_with(['{', '[']) {
            let (end, open) = balanced(line, start);
            // A sentence may leave one open.
            let goes_on = line.trim_end().ends_with(['[', '{', ',']);
            let open = if goes_on { open } else { 0 };
            return value(end, (is_first || open > 0).then_some(open));
        }
        if is_quoted && !is_first {
            return to(
                end_of(line, start, |c| {
                    c.is_whitespace() || matches!(c, ',' | '}' | ']')
                }),
                false,
            );
        }
        if is_spaced && is_first {
            return to(line.len(), is_colon);
        }
        if is_spaced {
            if SAID.iter().any(|said| rest.starts_with(said)) {
                return None;
            }
            return to(prose(line, start), false);
        }
        let mut end = self.one_word(start);
        if is_first && !is_colon {
            end = self.more_words(end);
        }
        let kept = line[start..end].trim_end_matches(['"', '\'', '}', ']', ',', ';']);
        to(start + kept.len(), false)
    }

    fn in_quotes(&self, start: usize, sign: &str, is_first: bool) -> Option<Value> {
        let line = self.line;
        let inner = start + sign.len();
        let Some(end) = close(line, inner, sign) else {
            return Some(Value {
                start: inner,
                end: line.len(),
                opens: is_first.then_some(0),
            });
        };
        let after = end + sign.len();
        let ends = |c: char| {
            c.is_whitespace()
                || matches!(
                    c,
                    ',' | ';' | '}' | ']' | ')' | '&' | '"' | '\'' | '`' | '\\' | '#' | '.' | ':'
                )
        };
        if line[after..].chars().next().is_none_or(ends) {
            return Some(Value {
                start: inner,
                end,
                opens: None,
            });
        }
        // The value goes on behind the quotes, as a shell takes it.
        let end = word(line, after, char::is_whitespace);
        Some(Value {
            start,
            end,
            opens: None,
        })
    }

    /// Where a variable's value ends: at the next one, since `env` prints values without quotes.
    fn more_words(&self, from: usize) -> usize {
        let mut end = from;
        loop {
            let next = skip_spaces(self.line, end);
            let after = word(self.line, next, char::is_whitespace);
            if next == after || self.line[next..after].contains('=') {
                return end;
            }
            end = after;
        }
    }

    /// A value without quotes, and what belongs to it.
    fn one_word(&self, start: usize) -> usize {
        let line = self.line;
        let is_query = self.line[..self.start].ends_with(['?', '&']);
        let ends = |c: char| c.is_whitespace() || is_query && matches!(c, '&' | '#' | '"' | '\'');
        let end = word(line, start, ends);
        let is_scheme = SCHEMES.contains(&bare(&line[start..end]).to_lowercase().as_str());
        if !is_scheme {
            return end;
        }
        let next = skip_spaces(line, end);
        word(line, next, char::is_whitespace)
    }

    /// `insecure-password x`, `stats auth user:x`, `Bearer x`, `--token x`, `the password is x`.
    fn behind_space(&self, from: usize, is_option: bool) -> Option<Value> {
        let line = self.line;
        if from == line.len() || self.text().ends_with(['.', ',']) {
            return None;
        }
        let first = word(line, from, char::is_whitespace);
        let is_verb = ["is", "was"].contains(&line[from..first].to_lowercase().as_str());
        let start = match (is_verb, is_option) {
            (true, _) => skip_spaces(line, first),
            (false, true) => from,
            (false, false) => return None,
        };
        if start == line.len() {
            return None;
        }
        if let Some(sign) = quote(line, start) {
            return self.in_quotes(start, sign, false);
        }
        let said = bare(&line[start..word(line, start, char::is_whitespace)]).to_lowercase();
        if SENTENCE.contains(&said.as_str()) || said.is_empty() {
            return None;
        }
        let end = self.one_word(start);
        Some(Value {
            start,
            end,
            opens: None,
        })
    }
}
