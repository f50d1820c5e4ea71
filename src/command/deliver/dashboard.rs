//! The dashboard: one issue that lists what is open, what waits, what was rejected and what isn't known.

use super::told::{Delivered, Verdict};
use super::{Delivery, Opening};
use crate::error::Problem;
use crate::forge::Able;
use crate::model::request::Request;
use crate::model::text::plain;
use crate::plan::bundle::{Kept, OFFERS};
use crate::plan::marker::Marker;
use crate::ui::Ui;

/// The issue's title, by which it is found.
const TITLE: &str = "haptic-scaffold: upgrades of this repository";
/// What tells our issue from one that somebody gave the same title.
const MARK: &str = "<!-- haptic-scaffold dashboard -->";

/// What a run over all of a repository found out.
pub struct Listed<'a> {
    /// What was offered.
    pub delivered: &'a [Delivered<'a>],
    /// What stays, and why.
    pub kept: &'a [Kept],
    /// What was rejected, and why.
    pub rejected: &'a [String],
    /// What couldn't be asked about, and why.
    pub unknown: &'a [String],
}

impl Delivery<'_> {
    /// Brings the issue up to date, where the policy wants one.
    ///
    /// # Errors
    /// When the forge refuses.
    pub fn dashboard(&mut self, listed: &Listed<'_>, ui: &mut Ui) -> Result<(), Problem> {
        let Opening::Forge(lookups) = &mut self.opening else {
            return Ok(());
        };
        if !self.policy.dashboard || self.is_dry {
            return Ok(());
        }
        // What waits may have a request that was opened before.
        let is_waiting = |one: &&Request| {
            let mut delivered = listed.delivered.iter();
            one.branch.starts_with(OFFERS)
                && Marker::split(&one.body)
                    .1
                    .is_some_and(|marker| !marker.withdrawn)
                && !delivered.any(|other| other.change.branch == one.branch)
        };
        let open = lookups.open().map_err(|why| why.problem())?.iter();
        let waiting = open.filter(is_waiting);
        let waiting = waiting.map(|one| format!("{} ({})", one.title, one.url));
        let waiting: Vec<String> = waiting.collect();
        let forge = lookups.forge.as_ref();
        let known = forge.issue(TITLE).map_err(|why| why.problem())?;
        let body = body(listed, &waiting);
        if let Some(known) = &known {
            if !known.body.contains(MARK) {
                ui.warn(&format!(
                    "#{}: it has the title of the dashboard and isn't ours, so it is left alone",
                    known.number
                ));
                return Ok(());
            }
            if known.body.trim() == body.trim() {
                return Ok(());
            }
        }
        let number = known.map(|known| known.number);
        match forge
            .put_issue(number, TITLE, &body)
            .map_err(|why| why.problem())?
        {
            Able::Done => Ok(()),
            Able::Unable(why) => {
                ui.warn(&format!("`requests.dashboard`: {why}"));
                Ok(())
            }
        }
    }
}

/// The text: the same facts make the same text, so that nothing is written where nothing is new.
fn body(listed: &Listed<'_>, waiting: &[String]) -> String {
    let mut text = format!("{MARK}\n");
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("\n### {title}\n\n"));
            lines
                .iter()
                .for_each(|line| text.push_str(&format!("- {}\n", plain(line))));
        }
    };
    let of = |is_closed: bool| {
        let all = listed.delivered.iter();
        let all = all.filter(move |one| one.is_closed() == is_closed);
        all.map(line).collect::<Vec<_>>()
    };
    section("Open", [of(false), waiting.to_vec()].concat());
    section("Closed by people", of(true));
    let kept = listed.kept.iter();
    section(
        "Not moved",
        kept.map(|kept| format!("{}: {}", kept.place, kept.why))
            .collect(),
    );
    section("Rejected", listed.rejected.to_vec());
    section("Not known", listed.unknown.to_vec());
    if text.len() == MARK.len() + 1 {
        text.push_str("\nEverything is up to date.\n");
    }
    text
}

fn line(one: &Delivered<'_>) -> String {
    let request = one.request.as_ref();
    let page = request.and_then(|told| told.url.as_ref());
    let page = page.map(|url| format!(" ({url})")).unwrap_or_default();
    let is_told = |verdict| matches!(verdict, Verdict::LeftAlone | Verdict::Refused);
    let why = request
        .filter(|told| is_told(told.verdict))
        .and_then(|told| told.why.as_ref());
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    format!("{}{page}{why}", one.change.title)
}
