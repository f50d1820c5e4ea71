//! What the answers of the forges have in common. Pure.

use super::error::ForgeError;
use super::{NewRequest, Request, State};

/// A text with LF as line end: browsers send CRLF.
pub(super) fn lines(text: Option<String>) -> String {
    text.unwrap_or_default().replace("\r\n", "\n")
}

/// A title without what marks a draft, and whether it had that. Marks are in lower case.
pub(super) fn unmarked<'a>(title: &'a str, marks: &[&str]) -> (&'a str, bool) {
    let mut rest = title.trim();
    let mut is_draft = false;
    loop {
        let mark = marks.iter().find(|mark| {
            rest.get(..mark.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(mark))
        });
        let Some(mark) = mark else {
            return (rest, is_draft);
        };
        rest = rest[mark.len()..].trim_start();
        is_draft = true;
    }
}

/// A title that marks a draft, or doesn't.
pub(super) fn marked(title: &str, mark: &str, is_draft: bool) -> String {
    match is_draft {
        true => format!("{mark} {title}"),
        false => title.to_owned(),
    }
}

/// Those wanted that aren't there; forges don't mind the case of names.
pub(super) fn missing<'a>(
    wanted: &'a [String],
    there: &'a [String],
) -> impl Iterator<Item = &'a String> {
    wanted
        .iter()
        .filter(|name| !there.iter().any(|other| other.eq_ignore_ascii_case(name)))
}

/// The error of what comes after the opening: the request is there, so it is looked for before another is opened.
pub(super) fn left_open(why: ForgeError) -> ForgeError {
    ForgeError {
        may_be_done: true,
        ..why
    }
}

/// The newest first, by number.
pub(super) fn newest_first(mut requests: Vec<Request>) -> Vec<Request> {
    requests.sort_by_key(|request| std::cmp::Reverse(request.number));
    requests
}

/// The state of GitHub and Gitea, which call a merged request closed.
pub(super) fn state(state: &str, is_merged: bool) -> State {
    match (is_merged, state) {
        (true, _) => State::Merged,
        (false, "open") => State::Open,
        _ => State::Closed,
    }
}

/// What somebody asked for and only the repository's settings decide, on GitHub and Gitea. That a merged branch goes isn't said: the next run sees to it.
pub(super) fn of_repository(new: &NewRequest) -> impl Iterator<Item = String> {
    let all = [
        ("squash", new.squash.is_some()),
        ("keep the branch", !new.remove_branch),
    ];
    all.into_iter()
        .filter(|(_, is_asked)| *is_asked)
        .map(|(what, _)| {
            format!("{what}: here that is the repository's setting, or chosen when it is merged")
        })
}

/// Writes a text so that it can be one part of a path, or a value in a query.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let codes = text.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    codes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_somebody_asked_for_is_said_to_be_the_repositorys() {
        let usual = NewRequest {
            remove_branch: true,
            ..NewRequest::default()
        };
        assert_eq!(of_repository(&usual).count(), 0);
        let asked = NewRequest {
            squash: Some(true),
            ..NewRequest::default()
        };
        let said: Vec<String> = of_repository(&asked).collect();
        assert!(said[0].starts_with("squash: "), "{said:?}");
        assert!(said[1].starts_with("keep the branch: "), "{said:?}");
        assert_eq!(said.len(), 2);
    }

    #[test]
    fn a_title_is_the_same_with_and_without_its_mark() {
        let marks = ["draft:", "[draft]"];
        let cases = [
            ("Draft: a", ("a", true)),
            ("[DRAFT] draft: a", ("a", true)),
            (" a ", ("a", false)),
            ("Drafty: a", ("Drafty: a", false)),
            ("\u{e4}raft: a", ("\u{e4}raft: a", false)),
        ];
        for (title, expected) in cases {
            assert_eq!(unmarked(title, &marks), expected);
        }
        let title = marked("a", "Draft:", true);
        assert_eq!(unmarked(&title, &marks), ("a", true));
        assert_eq!(lines(Some("a\r\nb\n".to_owned())), "a\nb\n");
    }
}
