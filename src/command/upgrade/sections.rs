//! The parts of a request's text that the charts themselves have to say: what is new, what their schema refuses, what is rendered otherwise, and what to watch.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use semver::Version;
use serde_json::Value;
use similar::TextDiff;

use crate::command::pins::chart_of;
use crate::command::published::Published;
use crate::haptic;
use crate::helm;
use crate::model::chart::ChartRef;
use crate::model::env::Env;
use crate::model::range::lenient_version;
use crate::model::text::{self, fenced};
use crate::model::tree::Tree;
use crate::plan::bundle::{Bundle, Move};
use crate::plan::chart_files::ChartFiles;
use crate::plan::release_values::{self, ReleaseValues};
use crate::plan::upgrade::{Section, is_haptic};

/// The heading of what people watch.
pub(in crate::command) const WATCH: &str = "What to watch";
/// Of more versions between nobody reads the notes.
const MOST_NOTES: usize = 5;
/// Forges take texts of about 64 KiB at least; the rest of it stands beside.
const MOST_DIFF: usize = 30_000;
/// A line of a chart's changes.
const MOST_LINE: usize = 400;

/// The parts for a bundle. What can't be had is left out, or said where it was to be expected.
pub(in crate::command) fn of(
    published: &mut Published<'_>,
    tree: &dyn Tree,
    env: &Env,
    bundle: &Bundle,
) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut refused = Vec::new();
    let mut seen = BTreeSet::new();
    let has_helm = OnceCell::new();
    // Where nobody is asked, nobody is asked here either.
    let moves = bundle.moves.iter().filter(|_| !published.is_nobody());
    for one in moves.collect::<Vec<_>>() {
        let Some(chart) = chart_of(&one.pin) else {
            continue;
        };
        let Some(new) = text_of(published, &chart, &one.version) else {
            continue;
        };
        let archive = match published.archive(&chart, &new) {
            Ok(Some(archive)) => archive,
            Ok(None) => continue,
            Err(why) => {
                if seen.insert((chart.address(), new.clone())) {
                    let title = format!("{} {new} could not be looked into", one.chart);
                    sections.push(section(title, plain(&why), false));
                }
                continue;
            }
        };
        if seen.insert((chart.address(), new.clone())) {
            sections.extend(notes(published, &chart, one, &new));
        }
        let Ok(Some(release)) = release_values::of(tree, &one.pin) else {
            continue;
        };
        let own = refusals(one, &archive, &release.values);
        let is_refused = !own.is_empty();
        refused.extend(own);
        // What helm refuses is never rendered.
        if !is_refused && *has_helm.get_or_init(|| helm::is_there(env)) {
            let old = text_of(published, &chart, &one.pin.value);
            let old = old.and_then(|old| published.archive(&chart, &old).ok().flatten());
            sections.extend(old.and_then(|old| rendered(env, one, (&old, &archive), &release)));
        }
    }
    if !refused.is_empty() {
        let title = "Values that the new version refuses".to_owned();
        sections.insert(0, section(title, refused.concat(), false));
    }
    sections.extend(watch(&bundle.moves));
    sections
}

fn section(title: String, text: String, is_folded: bool) -> Section {
    Section {
        title,
        text,
        is_folded,
    }
}

/// A version as its source writes it.
fn text_of(published: &mut Published<'_>, chart: &ChartRef, version: &str) -> Option<String> {
    let wanted = version.replace('_', "+");
    let known = published.of(chart).ok()?;
    let is = |text: &str, version: &Version| {
        text == wanted || version.to_string() == wanted.trim_start_matches('v')
    };
    let found = known.iter().find(|known| is(&known.text, &known.version))?;
    Some(found.text.clone())
}

/// What is new in the version, and in those that are passed.
fn notes(
    published: &mut Published<'_>,
    chart: &ChartRef,
    one: &Move,
    new: &str,
) -> Option<Section> {
    let to = lenient_version(new)?;
    let from = one.pin.version();
    let known = published.of(chart).ok()?;
    let mut passed: Vec<(Version, String)> = known
        .iter()
        .filter(|known| known.version.pre.is_empty() || !to.pre.is_empty())
        .filter(|known| from.as_ref().is_some_and(|from| known.version > *from))
        .filter(|known| known.version <= to)
        .map(|known| (known.version.clone(), known.text.clone()))
        .collect();
    passed.sort();
    passed.dedup_by(|one, other| one.0 == other.0);
    if passed.is_empty() {
        passed.push((to, new.to_owned()));
    }
    let mut text = String::new();
    for (_, version) in passed.iter().rev().take(MOST_NOTES) {
        let archive = published.archive(chart, version).ok().flatten();
        let files = archive.and_then(|archive| ChartFiles::unpack(&archive).ok());
        let changes = files.map(|files| files.changes()).unwrap_or_default();
        if !changes.is_empty() {
            text.push_str(&format!("{version}:\n\n"));
        }
        for change in changes {
            let kind = change.kind.map(|kind| format!("{}: ", plain(&kind)));
            let kind = kind.unwrap_or_default();
            text.push_str(&format!("- {kind}{}\n", plain(&change.text)));
        }
        if !text.is_empty() && !text.ends_with("\n\n") {
            text.push('\n');
        }
    }
    let title = format!("What is new in {}", one.chart);
    (!text.is_empty()).then(|| section(title, text, false))
}

/// A chart's words, and no more of them than a line takes.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let words: String = words.join(" ").chars().take(MOST_LINE).collect();
    text::plain(&words)
}

fn refusals(one: &Move, archive: &[u8], values: &Value) -> Vec<String> {
    let place = format!("{}:{}", one.pin.file, one.pin.line);
    let mut refused = match ChartFiles::unpack(archive) {
        Ok(files) => files.refused(values),
        Err(_) => Vec::new(),
    };
    if let (true, Some(version)) = (is_haptic(&one.pin), lenient_version(&one.version)) {
        let findings = haptic::keys::check_values(values, &version);
        let refusing = findings.into_iter().filter(|finding| finding.refuse);
        refused.extend(refusing.map(|f| format!("`{}`: {} ({})", f.route, f.message, f.hint)));
    }
    let line = |why: String| format!("- release of {place}: {}\n", why.replace('<', "&lt;"));
    refused.into_iter().map(line).collect()
}

/// What helm renders otherwise with the new version. Secrets are left out: their values would stand in a request.
fn rendered(
    env: &Env,
    one: &Move,
    (old, new): (&[u8], &[u8]),
    release: &ReleaseValues,
) -> Option<Section> {
    let as_release = helm::Release {
        name: &release.release,
        namespace: &release.namespace,
        values: &release.values,
    };
    let old = without_secrets(&helm::template(env, old, &as_release).ok()?);
    let title = format!(
        "Rendered by helm: {} of {}:{}",
        one.chart, one.pin.file, one.pin.line
    );
    let text = match helm::template(env, new, &as_release) {
        Ok(new) => difference(&old, &without_secrets(&new)),
        Err(why) => format!("helm does not render the new version with these values: {why}"),
    };
    Some(section(title, text, true))
}

fn difference(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let diff = diff.unified_diff().context_radius(3).to_string();
    if diff.is_empty() {
        return "nothing is rendered otherwise".to_owned();
    }
    let Some((end, _)) = diff.char_indices().nth(MOST_DIFF) else {
        return fenced("diff", &diff);
    };
    let left = diff[end..].lines().count();
    let end = diff[..end].rfind('\n').unwrap_or(end);
    format!(
        "{}\n{left} more lines are not shown",
        fenced("diff", &diff[..end])
    )
}

/// Rendered manifests with nothing of Secrets but that they are there. A document that can't be read may be one.
fn without_secrets(manifests: &str) -> String {
    let mut kept = String::new();
    let mut document = String::new();
    for line in manifests.split_inclusive('\n').chain(["---\n"]) {
        if line.starts_with("---") {
            kept.push_str(&shown_document(&document));
            kept.push_str("---\n");
            document.clear();
        } else {
            document.push_str(line);
        }
    }
    kept
}

fn shown_document(document: &str) -> String {
    match serde_yaml::from_str::<Value>(document) {
        Ok(value) if !has_secret(&value) => document.to_owned(),
        Ok(value) => {
            let name = value.pointer("/metadata/name").and_then(Value::as_str);
            format!("# Secret {}, not shown\n", name.unwrap_or_default())
        }
        Err(_) => "# not shown: it is no YAML\n".to_owned(),
    }
}

/// Whether an object is a Secret, or a list that has one.
fn has_secret(object: &Value) -> bool {
    let items = object.get("items").and_then(Value::as_array);
    let kind = object.get("kind").and_then(Value::as_str);
    matches!(kind, Some("Secret" | "SecretList")) || items.into_iter().flatten().any(has_secret)
}

/// How people see that the new version runs.
fn watch(moves: &[Move]) -> Option<Section> {
    let mut commands = BTreeSet::new();
    for one in moves {
        let object = one.pin.object.as_deref().unwrap_or_default();
        let parts: Vec<&str> = object.split('/').collect();
        let command = match parts.as_slice() {
            ["HelmRelease", namespace, name] => format!(
                "kubectl -n {namespace} wait helmrelease/{name} --for=condition=Ready --timeout=15m"
            ),
            ["Application", _, name] | ["Application", name] => {
                format!("argocd app wait {name} --sync --health --timeout 900")
            }
            _ => continue,
        };
        commands.insert(command);
    }
    let mut text: String = commands
        .iter()
        .map(|command| format!("    {command}\n"))
        .collect();
    if moves.iter().any(|one| is_haptic(&one.pin)) {
        text.push_str("\nA Job judges HAPTIC's configuration before anything is rolled out: where it refuses the version, the old one goes on serving, and a higher version or corrected values are the way on. Never switch hooks off.\n");
    }
    (!text.is_empty()).then(|| section(WATCH.to_owned(), text, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_chart_call_nobody_and_are_no_html() {
        assert_eq!(
            plain("fix #12\nby @somebody <b>now</b> !3"),
            "fix #\u{200b}12 by @\u{200b}somebody &lt;b>now&lt;/b> !\u{200b}3"
        );
    }

    #[test]
    fn secrets_are_not_shown_however_they_are_written() {
        let secret = "apiVersion: v1\nKIND\nmetadata:\n  name: creds\ndata:\n  p: aHVudGVyMg==\n";
        for document in [
            secret.replace("KIND", "kind: Secret"),
            secret.replace("KIND", "kind: \"Secret\" # ours"),
            secret.replace("KIND", "{{ broken: [\nkind: Secret"),
            format!(
                "kind: List\nitems:\n- {}\n",
                secret
                    .replace("KIND", "kind: Secret")
                    .trim_end()
                    .replace('\n', "\n  ")
            ),
        ] {
            let manifests =
                format!("---\n# Source: a\n{document}---\nkind: Service\nmetadata:\n  name: web\n");
            let shown = without_secrets(&manifests);
            assert!(!shown.contains("aHVudGVyMg"), "{shown}");
            assert!(shown.contains("not shown"), "{shown}");
            assert!(shown.contains("name: web"), "{shown}");
        }
    }

    #[test]
    fn a_difference_stays_in_its_block() {
        assert!(fenced("diff", "+ ```\n").starts_with("````diff\n"));
        let long = "x\n".repeat(40_000);
        let shown = difference("", &long);
        assert!(shown.len() < 32_000 && shown.contains("more lines are not shown"));
    }
}
