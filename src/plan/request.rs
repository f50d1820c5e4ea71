//! What becomes of a change's merge request, decided from what the forge has: nothing here asks anybody.

use std::collections::BTreeSet;

use super::change::Change;
use super::marker::{Marker, digest, text_of, title_of};
use crate::model::request::{Edit, Request, State};

/// What is to be done about a change's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<'r> {
    /// People closed the one with these versions: that is a "no".
    Closed(&'r Request),
    /// People have aimed this one, which is ours, at another base.
    Elsewhere(&'r Request),
    /// There is none that is open.
    Open,
    /// This one is about the change.
    Keep {
        /// The request.
        request: &'r Request,
        /// What of it becomes another.
        edit: Option<Edit>,
        /// Whether it lacked what says that it is ours.
        is_adopted: bool,
    },
}

/// Decides about a change's request. Requests of other branches or for other bases aren't about it, whatever their texts say: people copy texts.
///
/// An open one counts before a closed one; of two open ones, which no forge lets happen, the older.
pub fn step<'r>(change: &Change, requests: &'r [Request]) -> Step<'r> {
    let is_about = |one: &&Request| one.branch == change.branch && one.base == change.base;
    let own = || requests.iter().filter(is_about);
    let open = own().filter(|request| request.state == State::Open);
    if let Some(request) = open.min_by_key(|request| request.number) {
        return Step::Keep {
            request,
            edit: edited(request, change),
            is_adopted: Marker::split(&request.body).1.is_none(),
        };
    }
    let wanted = Marker::of(change);
    let is_elsewhere = |one: &&Request| {
        let marker = Marker::split(&one.body).1;
        one.state == State::Open
            && one.branch == change.branch
            && marker.is_some_and(|marker| marker.key == change.key)
    };
    if let Some(request) = requests.iter().find(is_elsewhere) {
        return Step::Elsewhere(request);
    }
    let is_refused = |request: &&Request| {
        let marker = Marker::split(&request.body).1;
        marker.is_some_and(|marker| !marker.withdrawn && is_same_offer(&marker, &wanted))
    };
    let mut closed = own().filter(|request| request.state == State::Closed);
    closed.find(is_refused).map_or(Step::Open, Step::Closed)
}

/// A request that offers the same versions is the same, however its base has moved since. Where there are no versions its content says it, and so it does of a
/// recovery: one with corrected values is another.
fn is_same_offer(one: &Marker, other: &Marker) -> bool {
    let versions = |marker: &Marker| marker.versions.iter().cloned().collect::<BTreeSet<_>>();
    if other.versions.is_empty() || other.key.starts_with("recover ") {
        one.content == other.content
    } else {
        versions(one) == versions(other)
    }
}

/// What of a request has to become another for it to bring a change. Title, text and labels that people changed stay as people left them.
pub fn edited(request: &Request, change: &Change) -> Option<Edit> {
    let (text, marker) = Marker::split(&request.body);
    let wanted = Marker {
        merges: marker.as_ref().and_then(|marker| marker.merges.clone()),
        ..Marker::of(change)
    };
    let is_own_title = marker
        .as_ref()
        .is_some_and(|marker| marker.title == digest(&request.title));
    let is_own_text = marker
        .as_ref()
        .is_some_and(|marker| marker.text == digest(&text));
    // A recovery that brings the same keeps the evidence that it was opened with: a Job that is tried again has another date and log.
    let is_same_recovery = change.key.starts_with("recover ")
        && marker.as_ref().is_some_and(|marker| {
            marker.content == wanted.content
                && marker.versions == wanted.versions
                && !marker.unfinished
        });
    if is_same_recovery && is_own_text {
        let edit = Edit {
            labels: labels(request, marker.as_ref(), change),
            ..Edit::default()
        };
        return (edit != Edit::default()).then_some(edit);
    }
    let body = if is_own_text { text_of(change) } else { text };
    let is_same_body = marker.as_ref() == Some(&wanted);
    let edit = Edit {
        title: (is_own_title && digest(&request.title) != wanted.title).then(|| title_of(change)),
        body: (!is_same_body).then(|| wanted.behind(&body)),
        labels: labels(request, marker.as_ref(), change),
        base: None,
    };
    (edit != Edit::default()).then_some(edit)
}

/// All labels, where one of ours comes or goes since they were last given: those that people took away or added stay so.
fn labels(request: &Request, marker: Option<&Marker>, change: &Change) -> Option<Vec<String>> {
    let given = marker.map_or(&[][..], |marker| &marker.labels);
    let is_new = |label: &&String| !given.contains(label) && !request.labels.contains(label);
    let is_old = |label: &String| given.contains(label) && !change.labels.contains(label);
    let stays = request.labels.iter().filter(|label| !is_old(label));
    let added = change.labels.iter().filter(is_new);
    let all: Vec<String> = stays.chain(added).cloned().collect();
    (all != request.labels).then_some(all)
}

/// The text of a request that we close, so that it is known for nobody's "no".
pub fn withdrawn(request: &Request) -> Option<String> {
    let (text, marker) = Marker::split(&request.body);
    let marker = marker.filter(|marker| !marker.withdrawn)?;
    let marker = Marker {
        withdrawn: true,
        ..marker
    };
    Some(marker.behind(&text))
}

/// The text of a request that says for which commit the forge was told to merge it.
pub fn merging(body: &str, commit: &str) -> Option<String> {
    let (text, marker) = Marker::split(body);
    let marker = Marker {
        merges: Some(commit.to_owned()),
        ..marker?
    };
    Some(marker.behind(&text))
}

/// Whether the forge still has to be told to merge a request, which brings this commit.
pub fn is_to_merge(body: &str, commit: &str) -> bool {
    let marker = Marker::split(body).1;
    marker.and_then(|marker| marker.merges).as_deref() != Some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::message::{DIGEST_TRAILER, Message, VERSION_TRAILER};

    fn change(version: &str) -> Change {
        Change {
            key: "upgrade a--b".to_owned(),
            branch: "haptic-scaffold/upgrade-a--b".to_owned(),
            base: "main".to_owned(),
            title: format!("Upgrade a to {version}"),
            body: format!("| a | {version} |\n\nTo know: <b>\n"),
            labels: vec!["dependencies".to_owned()],
            message: Message {
                subject: String::new(),
                body: String::new(),
                trailers: vec![
                    (VERSION_TRAILER.to_owned(), version.to_owned()),
                    (DIGEST_TRAILER.to_owned(), format!("sha256:{version}")),
                ],
            },
            files: Vec::new(),
        }
    }

    fn request(number: u64, change: &Change, state: State) -> Request {
        Request {
            number,
            url: String::new(),
            branch: change.branch.clone(),
            base: "main".to_owned(),
            head: None,
            title: change.title.clone(),
            body: Marker::of(change).behind(&text_of(change)),
            labels: change.labels.clone(),
            state,
            is_draft: false,
        }
    }

    fn kept<'r>(change: &Change, requests: &'r [Request]) -> (&'r Request, Option<Edit>, bool) {
        match step(change, requests) {
            Step::Keep {
                request,
                edit,
                is_adopted,
            } => (request, edit, is_adopted),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_marker_is_read_back_from_what_forges_make_of_a_text() {
        let change = change("1.0.0");
        let marker = Marker::of(&change);
        let body = marker.behind(&text_of(&change));
        assert!(!body[..body.len() - 5].contains("-->"), "{body}");
        for body in [
            body.clone(),
            body.trim().to_owned(),
            body.replace('\n', "\r\n").replace("\r\n", "\n"),
            format!("{body}\nA note behind it."),
            format!("{body}\n<!-- haptic-scaffold isn't mine -->"),
        ] {
            let (text, found) = Marker::split(&body);
            assert_eq!(found.as_ref(), Some(&marker));
            assert!(!text.contains("haptic-scaffold {"), "{text}");
        }
        assert_eq!(Marker::split("<!-- haptic-scaffold {} -->").1, None);
        assert_eq!(Marker::split("<!-- haptic-scaffold {").1, None);
    }

    #[test]
    fn the_same_is_left_and_a_newer_version_comes_into_the_same_request() {
        let (old, new) = (change("1.0.0"), change("1.1.0"));
        let open = [request(7, &old, State::Open)];
        assert_eq!(kept(&old, &open).1, None);
        let (request, edit, is_adopted) = kept(&new, &open);
        let edit = edit.unwrap();
        assert_eq!((request.number, is_adopted), (7, false));
        assert_eq!(edit.title.as_deref(), Some("Upgrade a to 1.1.0"));
        assert!(edit.body.unwrap().contains("| a | 1.1.0 |"));
        assert_eq!(edit.labels, None);
    }

    #[test]
    fn what_people_changed_stays() {
        let (old, new) = (change("1.0.0"), change("1.1.0"));
        let mut open = request(7, &old, State::Open);
        open.title = "Not before Monday".to_owned();
        open.body = open.body.replace("To know", "Ask the team. To know");
        open.labels = vec!["stop".to_owned()];
        for change in [&old, &new] {
            let requests = [open.clone()];
            let edit = kept(change, &requests).1;
            let Some(edit) = edit else {
                continue;
            };
            assert_eq!((edit.title, edit.labels), (None, None));
            let body = edit.body.unwrap();
            assert!(body.contains("Ask the team. To know"), "{body}");
            open.body = body;
            let requests = [open.clone()];
            assert_eq!(kept(change, &requests).1, None, "and once is enough");
        }
        let mut other = new;
        other.labels = vec!["recovery".to_owned()];
        let requests = [open];
        let labels = kept(&other, &requests).1.unwrap().labels.unwrap();
        assert_eq!(labels, ["stop", "recovery"]);
    }

    #[test]
    fn a_forge_is_told_once_for_each_commit_to_merge() {
        let (old, new) = (change("1.0.0"), change("1.1.0"));
        let mut open = request(7, &old, State::Open);
        assert!(is_to_merge(&open.body, "a"));
        open.body = merging(&open.body, "a").unwrap();
        assert!(!is_to_merge(&open.body, "a") && is_to_merge(&open.body, "b"));
        let requests = [open];
        assert_eq!(kept(&old, &requests).1, None, "that alone changes nothing");
        let body = kept(&new, &requests).1.unwrap().body.unwrap();
        assert!(!is_to_merge(&body, "a") && is_to_merge(&body, "b"));
        assert_eq!(merging("By hand", "a"), None);
    }

    #[test]
    fn what_a_chart_says_is_no_command_of_gitlab() {
        let mut change = change("1.0.0");
        change.body =
            "/close\nand /merge\n/assign @you\n```yaml\n/etc\n~~~\n/usr\n```\n/label ~x\n"
                .to_owned();
        let text =
            "\\/close\nand /merge\n\\/assign @you\n```yaml\n/etc\n~~~\n/usr\n```\n\\/label ~x";
        assert_eq!(text_of(&change), text);
        let open = [request(7, &change, State::Open)];
        assert_eq!(kept(&change, &open).1, None, "once is enough");
    }

    #[test]
    fn one_that_was_left_half_made_gets_its_labels() {
        let change = change("1.0.0");
        let mut half = request(7, &change, State::Open);
        half.labels.clear();
        half.body = Marker::of(&change).unfinished().behind(&text_of(&change));
        let requests = [half];
        let edit = kept(&change, &requests).1.unwrap();
        assert_eq!(edit.labels.unwrap(), ["dependencies"]);
        assert_eq!(
            edit.body.unwrap(),
            Marker::of(&change).behind(&text_of(&change))
        );
    }

    #[test]
    fn a_closed_one_is_a_no_to_its_version_alone_and_only_where_people_closed_it() {
        let (old, new) = (change("1.0.0"), change("1.1.0"));
        let closed = request(3, &old, State::Closed);
        let requests = [closed.clone(), request(2, &new, State::Merged)];
        assert_eq!(step(&old, &requests), Step::Closed(&closed));
        assert_eq!(step(&new, &requests), Step::Open);
        let ours = Request {
            body: withdrawn(&closed).unwrap(),
            ..closed.clone()
        };
        assert_eq!(withdrawn(&ours), None);
        let requests = [ours];
        assert_eq!(step(&old, &requests), Step::Open);
        let requests = [closed, request(9, &old, State::Open)];
        assert_eq!(kept(&old, &requests).0.number, 9);
    }

    #[test]
    fn one_without_a_marker_is_adopted_by_its_branch_and_its_text_stays() {
        let change = change("1.0.0");
        let mut by_hand = request(5, &change, State::Open);
        by_hand.body = "Please have a look".to_owned();
        by_hand.title = "By hand".to_owned();
        by_hand.labels.clear();
        let mut elsewhere = by_hand.clone();
        elsewhere.branch = "another".to_owned();
        let requests = [elsewhere];
        assert_eq!(step(&change, &requests), Step::Open);
        let requests = [by_hand];
        let (_, edit, is_adopted) = kept(&change, &requests);
        let edit = edit.unwrap();
        assert!(is_adopted && edit.title.is_none());
        assert!(edit.body.unwrap().starts_with("Please have a look\n"));
        assert_eq!(edit.labels.unwrap(), ["dependencies"]);
    }

    #[test]
    fn a_copied_text_makes_no_request_ours() {
        let change = change("1.0.0");
        let mut copied = request(4, &change, State::Open);
        copied.branch = "somebodys".to_owned();
        let mut elsewhere = request(5, &change, State::Open);
        elsewhere.base = "test".to_owned();
        let requests = [copied, elsewhere];
        assert_eq!(step(&change, &requests), Step::Elsewhere(&requests[1]));
        let mut theirs = requests[1].clone();
        theirs.body = "Please have a look".to_owned();
        let requests = [requests[0].clone(), theirs];
        assert_eq!(step(&change, &requests), Step::Open);
    }

    #[test]
    fn a_title_that_no_forge_takes_is_cut_behind_a_word_and_stays_ours() {
        let mut long = change("1.0.0");
        assert_eq!(title_of(&long), long.title);
        let charts: Vec<String> = (0..60).map(|at| format!("chärt-{at}")).collect();
        long.title = format!("Upgrade {}", charts.join(", "));
        let title = title_of(&long);
        let kept = title.strip_suffix('…').unwrap();
        assert!((200..=240).contains(&title.chars().count()), "{title}");
        let whole = long.title.strip_prefix(kept).unwrap();
        assert!(whole.starts_with(", chärt-"), "{title}");
        let mut open = request(7, &long, State::Open);
        open.title = title;
        let requests = [open.clone()];
        assert_eq!(kept_edit(&long, &requests), None);
        // Its end is beyond what is shown: nothing is edited for it, and what people wrote stays.
        let newer = change("1.1.0");
        let edit = kept_edit(&newer, &requests).unwrap();
        assert_eq!(edit.title, Some(newer.title.clone()));
        long.title = "x".repeat(300);
        assert_eq!(title_of(&long).chars().count(), 240);
        long.title = "x".repeat(240);
        assert_eq!(title_of(&long), long.title);
    }

    fn kept_edit(change: &Change, requests: &[Request]) -> Option<Edit> {
        kept(change, requests).1
    }

    #[test]
    fn a_text_that_no_forge_takes_is_cut() {
        let mut long = change("1.0.0");
        long.body = format!("<details>\n\n```diff\n{}", "ä".repeat(70_000));
        let text = text_of(&long);
        let (_, end) = text.split_once("ä\n").unwrap();
        assert!(
            end.starts_with("```\n\n\n</details>\n\n\nThe text is longer"),
            "{end}"
        );
        assert!(text.chars().count() < 61_000);
    }
}
