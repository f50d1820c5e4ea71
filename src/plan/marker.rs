//! [`Marker`]: what a merge request says about itself, hidden in its text. A forge is the only place that keeps it.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::change::Change;
use super::message::{DIGEST_TRAILER, VERSION_TRAILER};

const START: &str = "<!-- haptic-scaffold ";
const END: &str = " -->";
/// The most characters that GitHub takes in a text (65,536), less what a marker needs. GitLab takes a million.
const MOST_TEXT: usize = 60_000;
/// The most characters that GitLab and Gitea take in a title (255; GitHub takes 256), less what marks a draft.
const MOST_TITLE: usize = 240;

/// What a request is about, and what it was like when it was last written: what is another since, people have changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The key of the change.
    pub key: String,
    /// The versions that it offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// The digest of what it changes.
    pub content: String,
    /// A digest of its title.
    pub title: String,
    /// A digest of its text.
    pub text: String,
    /// The labels that it was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Whether we closed it: that is nobody's "no".
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    /// Whether it still lacks what a forge takes only after the opening: the run that opened it was ended there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// The commit for which the forge was told to merge it by itself: it isn't told twice, since people may have said otherwise meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merges: Option<String>,
}

impl Marker {
    /// That of a change.
    pub fn of(change: &Change) -> Self {
        let named = |name: &str| {
            let trailers = change.message.trailers.iter();
            let named = trailers.filter(|(known, _)| known == name);
            named.map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        Self {
            key: change.key.clone(),
            versions: named(VERSION_TRAILER),
            content: named(DIGEST_TRAILER).pop().unwrap_or_default(),
            title: digest(&title_of(change)),
            text: digest(&text_of(change)),
            labels: change.labels.clone(),
            withdrawn: false,
            unfinished: false,
            merges: None,
        }
    }

    /// The same for as long as the request lacks labels and people.
    #[must_use]
    pub fn unfinished(self) -> Self {
        Self {
            labels: Vec::new(),
            unfinished: true,
            ..self
        }
    }

    /// Splits a request's text into what people read and the marker, if it has one.
    pub fn split(body: &str) -> (String, Option<Self>) {
        // The last that can be read: people may write anything behind it.
        let mut before = body;
        while let Some(start) = before.rfind(START) {
            let rest = &body[start + START.len()..];
            let read = rest.find(END).and_then(|end| {
                let marker = serde_json::from_str(&rest[..end]).ok()?;
                Some((marker, rest[end + END.len()..].trim_start_matches('\n')))
            });
            if let Some((marker, behind)) = read {
                let text = format!("{}{behind}", &body[..start]);
                return (text.trim_end().to_owned(), Some(marker));
            }
            before = &body[..start];
        }
        (body.to_owned(), None)
    }

    /// A text with the marker behind it.
    pub fn behind(&self, text: &str) -> String {
        // `--` ends a comment, and a key may hold it.
        let json = serde_json::to_string(self).unwrap_or_default();
        let json = json.replace('<', "\\u003c").replace('>', "\\u003e");
        format!("{}\n\n{START}{json}{END}\n", text.trim_end())
    }
}

/// A change's title as a forge takes it: one that is longer ends behind a word.
pub fn title_of(change: &Change) -> String {
    let title = change.title.trim();
    if title.chars().count() <= MOST_TITLE {
        return title.to_owned();
    }
    let kept: String = title.chars().take(MOST_TITLE - 1).collect();
    let end = title[kept.len()..].starts_with(char::is_whitespace);
    // A word that is longer than half a title is cut all the same.
    let word = kept.rfind(char::is_whitespace);
    let word = word.filter(|at| !end && *at > kept.len() / 2);
    let kept = kept[..word.unwrap_or(kept.len())].trim_end_matches([' ', ',', ':', ';']);
    format!("{kept}…")
}

/// A change's text as a forge takes it.
pub fn text_of(change: &Change) -> String {
    let text = without_commands(change.body.trim_end());
    let text = text.as_str();
    match text.char_indices().nth(MOST_TEXT) {
        None => text.to_owned(),
        Some((end, _)) => {
            let kept = &text[..end];
            let fences = kept.lines().filter(|line| line.starts_with("```")).count();
            let folds = kept
                .matches("<details>")
                .count()
                .saturating_sub(kept.matches("</details>").count());
            format!(
                "{kept}{}{}\n\nThe text is longer than a forge takes: `haptic-scaffold upgrade --dry-run` shows all of it.",
                "\n```\n".repeat(fences % 2),
                "\n\n</details>\n".repeat(folds)
            )
        }
    }
}

/// GitLab carries out lines that begin with `/` and a word, and what a chart says of itself stands in the text. Not in code, where a line is no command and a
/// backslash would be seen. Source: docs.gitlab.com/user/project/quick_actions.
fn without_commands(text: &str) -> String {
    let mut fence = None;
    let lines = text.split('\n').map(|line| {
        let start = line.trim_start();
        let marks = ["```", "~~~"].into_iter().find(|it| start.starts_with(it));
        fence = match (fence, marks) {
            (None, marks) => marks,
            (open, marks) if open == marks => None,
            (open, _) => open,
        };
        match (fence, line.starts_with('/')) {
            (None, true) => format!("\\{line}"),
            _ => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A digest that doesn't tell line ends and outer spaces apart, which forges change.
pub fn digest(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
    let hash = Sha256::digest(lines.join("\n"));
    format!("{hash:x}")[..16].to_owned()
}
