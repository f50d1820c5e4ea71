//! A forge's own words, flattened to one line, and what to do about the usual refusals. Pure.
//!
//! What is decided rests on statuses and on the kind of the token; words are only shown.

use serde_json::Value;

use super::Kind;
use super::token::Token;

/// The most that is shown of an answer, in characters.
const MOST: usize = 300;

/// The words of an error's body: the messages of GitLab, GitHub and Gitea, or a plain text's first line. A page for browsers has none.
pub(super) fn said(body: &[u8]) -> String {
    let mut parts = Vec::new();
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => of_value(&value, &mut parts),
        Err(_) => parts.extend(plain(body)),
    }
    parts.dedup();
    let line = parts.join("; ");
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars()
        .filter(|c| !c.is_control())
        .take(MOST)
        .collect()
}

fn plain(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    (!first.starts_with('<')).then(|| first.to_owned())
}

fn of_value(value: &Value, parts: &mut Vec<String>) {
    let Value::Object(fields) = value else {
        return flat("", value, parts);
    };
    for name in ["message", "error", "error_description", "errors"] {
        match fields.get(name) {
            // GitHub's list of errors: a message, or what is wrong with which field.
            Some(Value::Array(errors)) if name == "errors" => {
                parts.extend(errors.iter().filter_map(of_error));
            }
            Some(value) => flat("", value, parts),
            None => {}
        }
    }
}

fn of_error(error: &Value) -> Option<String> {
    let text = |name: &str| error.get(name).and_then(Value::as_str);
    match (text("message"), text("field"), text("code")) {
        (Some(message), ..) => Some(message.to_owned()),
        (None, Some(field), Some(code)) => Some(format!("`{field}` is {code}")),
        (None, None, Some(code)) => Some(code.to_owned()),
        _ => error.as_str().map(str::to_owned),
    }
}

/// GitLab's messages are a text, a list, or lists by field.
fn flat(field: &str, value: &Value, parts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.is_empty() => {}
        Value::String(text) if field.is_empty() => parts.push(text.clone()),
        Value::String(text) => parts.push(format!("`{field}` {text}")),
        Value::Array(values) => values.iter().for_each(|value| flat(field, value, parts)),
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(name, value)| flat(name, value, parts));
        }
        _ => {}
    }
}

/// What to do now about a status.
pub(super) fn hint(kind: Kind, status: u16, token: Option<&Token>) -> Option<String> {
    let is_job = token.is_some_and(|token| token.is_job);
    let source = token.map_or("", Token::source);
    let needs = needs(kind);
    Some(match status {
        401 | 403 | 404 if is_job => {
            "a CI job token can't use merge requests: put a project access token with the scope `api` and the role Developer into \
             `HAPTIC_SCAFFOLD_TOKEN`, as a masked variable"
                .to_owned()
        }
        401 | 403 | 404 if token.is_none() => format!(
            "no token was found: put one {needs} into `HAPTIC_SCAFFOLD_TOKEN`, or a file, `--token-file`"
        ),
        401 => format!("the token from {source} is wrong, revoked or expired: make a new one {needs}"),
        403 if source == "`GITHUB_TOKEN`" => {
            "the job needs `permissions: {contents: write, pull-requests: write}`, and the repository or organisation has to allow Actions to create pull requests; \
             or put a token of your own into `HAPTIC_SCAFFOLD_TOKEN`"
                .to_owned()
        }
        403 => format!(
            "the token from {source} may not do this: it has to be one {needs}; or the project is archived, or has merge requests switched off"
        ),
        404 => format!(
            "it isn't there, or the token from {source} can't see it: look at the remote's path, and at the token, which has to be one {needs}"
        ),
        429 => "the server's rate limit is reached: run again later".to_owned(),
        500..=599 => "the server has trouble: run again later; what is done isn't done twice".to_owned(),
        _ => return None,
    })
}

fn needs(kind: Kind) -> &'static str {
    match kind {
        Kind::Gitlab => "with the scope `api` and the role Developer in the project",
        Kind::Github => {
            "with `Contents` and `Pull requests` to read and write (classic: the scope `repo`)"
        }
        Kind::Gitea => "with the scopes `write:repository` and `write:issue`",
        Kind::Local => "of the forge",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::SecretString;

    #[test]
    fn each_forges_words_become_one_line() {
        let cases = [
            (r#"{"message":"401 Unauthorized"}"#, "401 Unauthorized"),
            (
                r#"{"message":{"source_branch":["does not exist"],"title":["is too long"]}}"#,
                "`source_branch` does not exist; `title` is too long",
            ),
            (
                r#"{"message":["Another open merge request already exists: !1"]}"#,
                "Another open merge request already exists: !1",
            ),
            (
                r#"{"error":"invalid_token","error_description":"Token is expired."}"#,
                "invalid_token; Token is expired.",
            ),
            (
                r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","field":"head","code":"invalid"},{"message":"No commits"}]}"#,
                "Validation Failed; `head` is invalid; No commits",
            ),
            (
                r#"{"errors":["a","b"],"message":"not found","url":"x"}"#,
                "not found; a; b",
            ),
            (r#"{"message":""}"#, ""),
            ("Retry later\nmore", "Retry later"),
            ("<html><body>502</body></html>", ""),
            ("\u{1b}[31mred", "[31mred"),
            ("", ""),
        ];
        for (body, expected) in cases {
            assert_eq!(said(body.as_bytes()), expected, "{body}");
        }
        assert_eq!(said("x".repeat(5000).as_bytes()).len(), MOST);
    }

    #[test]
    fn a_hint_names_the_source_and_what_a_token_needs() {
        let token = |user: &str| Token::new(user, SecretString::from("t"), "`X`");
        let of =
            |status, token: Option<&Token>| hint(Kind::Gitlab, status, token).unwrap_or_default();
        let own = token("");
        assert!(of(401, own.as_ref()).contains("`X` is wrong, revoked or expired"));
        assert!(of(403, own.as_ref()).contains("scope `api`"));
        assert!(of(404, own.as_ref()).contains("can't see it"));
        for status in [401, 403, 404] {
            assert!(of(status, token("gitlab-ci-token").as_ref()).contains("job token"));
            assert!(of(status, None).contains("no token was found"));
        }
        assert_eq!(of(422, own.as_ref()), "");
        let actions = Token::new("", SecretString::from("t"), "`GITHUB_TOKEN`");
        let said = hint(Kind::Github, 403, actions.as_ref()).unwrap_or_default();
        assert!(said.contains("pull-requests: write"), "{said}");
    }
}
