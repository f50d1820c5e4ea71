//! [`push_options`]: a merge request of GitLab's that a push opens, without a token for the API.
//!
//! Pure. Source: docs.gitlab.com/topics/git/commit, «Push options for merge requests». The server acts on them once it took the push; that it refused to is only
//! a warning among its words.

use super::NewRequest;

/// The most that one option can hold: a packet of git's protocol less its head, in bytes.
const MOST: usize = 65_000;

/// Push options, and what of the request they can't say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushOptions {
    /// The options, in the order they are sent.
    pub options: Vec<String>,
    /// What they can't do, each with the reason.
    pub unable: Vec<String>,
}

/// Writes a request as push options.
pub fn push_options(new: &NewRequest) -> PushOptions {
    let mut options = vec!["merge_request.create".to_owned()];
    let mut unable = Vec::new();
    let mut put = |name: &str, what: &str, value: &str| {
        let option = format!("merge_request.{name}={value}");
        if option.len() > MOST {
            unable.push(format!("{what}: it is too long for a push option"));
        } else if value.contains(|c: char| c.is_control()) {
            unable.push(format!("{what}: a push option has one line"));
        } else {
            options.push(option);
        }
    };
    put("target", "the base", &new.base);
    if !new.title.is_empty() {
        put("title", "the title", &new.title);
    }
    if !new.body.is_empty() {
        // GitLab reads these two characters as the end of a line.
        let body = new.body.replace("\r\n", "\n").replace('\n', "\\n");
        put("description", "the text", &body.replace('\t', "    "));
    }
    for label in &new.labels {
        put("label", &format!("label `{label}`"), label);
    }
    for name in &new.assignees {
        put("assign", &format!("assignee `{name}`"), name);
    }
    if let Some(title) = &new.milestone {
        put("milestone", &format!("milestone `{title}`"), title);
    }
    for (name, is_wanted) in [
        ("draft", new.is_draft),
        ("remove_source_branch", new.remove_branch),
        ("squash", new.squash == Some(true)),
    ] {
        if is_wanted {
            options.push(format!("merge_request.{name}"));
        }
    }
    let reviewers = new.reviewers.iter();
    unable
        .extend(reviewers.map(|name| format!("reviewer `{name}`: no push option can ask for one")));
    if new.squash == Some(false) {
        unable.push("no squash: a push option can only ask for it".to_owned());
    }
    PushOptions { options, unable }
}

/// The options for a branch that was there already: the request is opened where there is none. GitLab would write title, text and labels over those that people
/// changed, so they aren't sent.
pub fn push_options_again(new: &NewRequest) -> PushOptions {
    push_options(&NewRequest {
        branch: new.branch.clone(),
        base: new.base.clone(),
        ..NewRequest::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_written_as_gitlab_reads_it() {
        let new = NewRequest {
            branch: "haptic/x".to_owned(),
            base: "main".to_owned(),
            title: "Update x".to_owned(),
            first_body: None,
            body: "One\r\n\n- two\tthree\n".to_owned(),
            labels: vec!["a".to_owned(), "b::c".to_owned()],
            assignees: vec!["bob".to_owned()],
            reviewers: vec!["alice".to_owned()],
            milestone: Some("1.2".to_owned()),
            is_draft: true,
            squash: Some(true),
            remove_branch: true,
        };
        let again = push_options_again(&new);
        assert_eq!(
            again.options,
            ["merge_request.create", "merge_request.target=main"]
        );
        assert_eq!(again.unable, Vec::<String>::new());
        let written = push_options(&new);
        let expected = [
            "merge_request.create",
            "merge_request.target=main",
            "merge_request.title=Update x",
            "merge_request.description=One\\n\\n- two    three\\n",
            "merge_request.label=a",
            "merge_request.label=b::c",
            "merge_request.assign=bob",
            "merge_request.milestone=1.2",
            "merge_request.draft",
            "merge_request.remove_source_branch",
            "merge_request.squash",
        ];
        assert_eq!(written.options, expected);
        assert_eq!(
            written.unable,
            ["reviewer `alice`: no push option can ask for one"]
        );
    }

    #[test]
    fn what_no_option_can_say_is_said() {
        let new = NewRequest {
            base: "main".to_owned(),
            title: "a\nb".to_owned(),
            body: "x".repeat(MOST),
            squash: Some(false),
            ..NewRequest::default()
        };
        let written = push_options(&new);
        assert_eq!(
            written.options,
            ["merge_request.create", "merge_request.target=main"]
        );
        assert_eq!(written.unable.len(), 3, "{:?}", written.unable);
    }
}
