//! Takes out of a text what looks like a secret, where nobody knows which secrets there are: a log that goes into a merge request.
//!
//! It hides too much rather than too little. What is known to be secret is for [`super::mask`]. Keys and their values are found
//! in `pairs.rs` (by what `scan.rs` reads of a line), those of HAProxy's configuration in `haproxy.rs`, what is a secret by its own form in `material.rs`.

use crate::model::text::without_colours;

mod curl;
mod haproxy;
mod keys;
mod material;
mod pairs;
mod scan;
#[cfg(test)]
mod tests;

/// What stands for a secret.
const HIDDEN: &str = "(hidden)";
/// And for the lines of a private key.
const HIDDEN_KEY: &str = "(a private key, hidden)";
/// So many lines are hidden for a bracket that isn't closed.
const MOST_LINES: usize = 100;
/// What was hidden may make something else look like a secret. Once or twice is what it takes.
const MOST_ROUNDS: usize = 16;

/// The text with what looks like a secret hidden. Lines stay lines, but for those of a private key, which become one, and empty ones at
/// the end are left out. What it gave once it gives again.
pub fn redact(text: &str) -> String {
    // In the midst of a key colours would hide it.
    let mut shown = once(&without_colours(text));
    for _ in 0..MOST_ROUNDS {
        let again = once(&shown);
        if again == shown {
            break;
        }
        shown = again;
    }
    shown
}

fn once(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_in_key = false;
    let mut block: Option<Block> = None;
    let mut named = pairs::Named::default();
    for line in text.trim_end_matches(['\n', '\r']).split('\n') {
        let line = line.trim_end_matches('\r');
        if is_in_key {
            let last = line.rfind("-----END ").unwrap_or_default();
            is_in_key = !ends_key(line) || line[last..].contains("-----BEGIN ");
            continue;
        }
        if ends_key(line) && !line.contains("-----BEGIN ") {
            // The first lines of this key were cut off.
            while lines.last().is_some_and(|line| is_key_body(line)) {
                lines.pop();
            }
            lines.push(HIDDEN_KEY.to_owned());
            continue;
        }
        let (line, is_open) = without_keys(line);
        is_in_key = is_open;
        if block.as_mut().is_some_and(|block| block.has(&line)) {
            lines.push(hidden_line(&line));
            continue;
        }
        let line = curl::hide(&material::without_logins(&line));
        named.next_line();
        let (line, opens) = pairs::hide(&material::hide(&line), start(&line), &mut named);
        block = opens.map(|open| Block::of(&line, open));
        lines.push(line);
    }
    lines.join("\n")
}

/// The lines that belong to a key: those up to the bracket that closes its value, and those that are indented more than its own.
struct Block {
    indent: usize,
    open: usize,
    /// So many lines of it were hidden for their brackets.
    lines: usize,
}

impl Block {
    fn of(line: &str, open: usize) -> Self {
        let own = &line[start(line)..];
        // A key of a list's item stands behind the dash.
        let key = own.find(|c: char| !c.is_whitespace() && c != '-');
        Self {
            indent: key.unwrap_or_default(),
            open,
            lines: 0,
        }
    }

    fn has(&mut self, line: &str) -> bool {
        if self.open > 0 && self.lines < MOST_LINES {
            let own = line[start(line)..].trim_start();
            let belongs = own.starts_with(['"', '\'', '[', ']', '{', '}', '-']);
            if belongs || indent(&line[start(line)..]) > self.indent {
                self.lines += 1;
                self.open = scan::open_after(own, self.open);
                return true;
            }
            self.open = 0;
        }
        let own = &line[start(line)..];
        let (depth, own) = (indent(own), own.trim_start());
        // A list may stand as deep as the key that it belongs to.
        let is_list = depth == self.indent && own.starts_with("- ");
        own.is_empty() || depth > self.indent || is_list
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Where a line begins behind the time that `kubectl logs --timestamps` writes.
fn start(line: &str) -> usize {
    let digits = |text: &str| text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = line.get(..4).is_some_and(digits) && line.get(4..5) == Some("-");
    match line.find(' ') {
        Some(at) if is_time && line[..at].contains('T') && line[..at].contains(':') => at + 1,
        _ => 0,
    }
}

/// A line of which nothing is shown but where it stands.
fn hidden_line(line: &str) -> String {
    let start = start(line);
    let own = &line[start..];
    if own.trim().is_empty() {
        return line.to_owned();
    }
    format!("{}{}{HIDDEN}", &line[..start], &own[..indent(own)])
}

fn ends_key(line: &str) -> bool {
    line.contains("-----END ") && line.contains("PRIVATE KEY")
}

/// Keys that stand in one line (with `\n` as the end of its lines); whether another begins in it and goes on.
fn without_keys(line: &str) -> (String, bool) {
    let mut shown = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("-----BEGIN ") {
        let head = &rest[at..];
        let kind = head["-----BEGIN ".len()..].find("-----");
        let is_private = kind.is_none_or(|end| head[..11 + end].contains("PRIVATE KEY"));
        if !is_private || !head.contains("PRIVATE KEY") {
            shown.push_str(&rest[..at + 11]);
            rest = &rest[at + 11..];
            continue;
        }
        shown.push_str(&rest[..at]);
        shown.push_str(HIDDEN_KEY);
        let Some(end) = head.find("-----END ") else {
            return (shown, true);
        };
        let tail = &head[end + 9..];
        rest = tail.find("-----").map_or("", |end| &tail[end + 5..]);
    }
    shown.push_str(rest);
    (shown, false)
}

/// A line between the first and the last one of a key.
fn is_key_body(line: &str) -> bool {
    let line = line[start(line)..].trim();
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    line == HIDDEN
        || line == HIDDEN_KEY
        || (16..=76).contains(&line.len()) && line.chars().all(is_base64)
        || line.starts_with("DEK-Info:")
        || line.starts_with("Proc-Type:")
}
