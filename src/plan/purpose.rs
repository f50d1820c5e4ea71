//! What a change of a scaffolded repository is about: its key, and the message of its commit.

use super::change::{FileChange, Verdict};
use super::message::{DIGEST_TRAILER, KEY_TRAILER, Message, VERSION_TRAILER, digest};
use super::scaffold::Facts;

/// What the change is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Purpose {
    /// The files are as the answers say.
    #[default]
    Scaffold,
    /// A Secret or a certificate becomes another one.
    Rotate {
        /// What, for the key: `webhook-ca 1`.
        what: String,
        /// The subject of the commit.
        subject: String,
        /// Its text.
        body: String,
    },
}

/// Two scaffolds of one repository are two subjects.
pub(super) fn key(facts: &Facts<'_>) -> String {
    let verb = match facts.purpose {
        Purpose::Scaffold => "init".to_owned(),
        Purpose::Rotate { what, .. } => format!("rotate {what}"),
    };
    match facts.prefix.trim_end_matches('/') {
        "" => format!("{verb} {}", facts.release),
        folder => format!("{verb} {} {folder}", facts.release),
    }
}

pub(super) fn message(facts: &Facts<'_>, files: &[FileChange]) -> Message {
    let verb = if facts.is_first {
        "Scaffold"
    } else {
        "Re-render"
    };
    let mut trailers = vec![(KEY_TRAILER.to_owned(), key(facts))];
    trailers.extend(
        facts
            .versions
            .iter()
            .map(|version| (VERSION_TRAILER.to_owned(), version.clone())),
    );
    trailers.push((
        DIGEST_TRAILER.to_owned(),
        digest(
            files
                .iter()
                .filter(|f| f.verdict.writes() || f.verdict == Verdict::Same),
        ),
    ));
    let (subject, body) = match facts.purpose {
        Purpose::Scaffold => (
            format!("{verb} the config repository of {}", facts.release),
            format!(
                "Layout {} for the chart {}.",
                facts.layout.layout, facts.chart
            ),
        ),
        Purpose::Rotate { subject, body, .. } => (subject.clone(), body.clone()),
    };
    Message {
        subject,
        body,
        trailers,
    }
}
