//! Logins that `curl` is given: `-u user:x`, `-suuser:x`, `--user=user:x`.

use super::HIDDEN;
use super::scan::{end_of, skip_spaces};

const LONG: [&str; 2] = ["--user", "--proxy-user"];

/// The line without them.
pub(super) fn hide(line: &str) -> String {
    let Some(begin) = line.find("curl") else {
        return line.to_owned();
    };
    let mut shown = line[..begin].to_owned();
    let mut at = begin;
    while at < line.len() {
        let start = skip_spaces(line, at);
        let end = end_of(line, start, char::is_whitespace);
        shown.push_str(&line[at..start]);
        let value = login(line, (start, end)).filter(|(from, to)| from < to);
        let (from, to) = value.unwrap_or((end, end));
        shown.push_str(&line[start..from]);
        if from < to {
            shown.push_str(HIDDEN);
        }
        at = to;
    }
    shown
}

/// Where the login of an option stands, behind it or in it.
fn login(line: &str, (start, end): (usize, usize)) -> Option<(usize, usize)> {
    let word = &line[start..end];
    let long = LONG.iter().find(|long| word.starts_with(**long));
    let behind = match long {
        Some(long) => match &word[long.len()..] {
            "" => end,
            rest if rest.starts_with('=') => start + long.len() + 1,
            _ => return None,
        },
        None => {
            let flags = word
                .strip_prefix('-')
                .filter(|flags| !flags.starts_with('-'))?;
            let before = flags
                .find(['u', 'U'])
                .filter(|at| flags[..*at].bytes().all(|sign| sign.is_ascii_alphabetic()))?;
            start + 1 + before + 1
        }
    };
    let from = skip_spaces(line, behind);
    let sign = line[from..].chars().next()?;
    Some(match sign {
        '"' | '\'' => (from + 1, end_of(line, from + 1, |c| c == sign)),
        _ => (from, end_of(line, from, char::is_whitespace)),
    })
    .filter(|(from, to)| line[*from..*to].contains(':'))
}
