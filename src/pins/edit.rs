//! Moves one pin: its bytes are replaced, and the result is looked at again before it counts.

use thiserror::Error;

use super::file::look;
use super::found::Pin;
use crate::model::repo_path::RepoPath;
use crate::yaml::scalar::quote;
use crate::yaml::{self, complaints};

/// Why a pin stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// The place can't be edited.
    #[error("{0}")]
    NotEditable(String),
    /// The text isn't the one that the pin was found in.
    #[error("the file has changed since")]
    Changed,
    /// Its key stands twice, and readers differ in which one counts.
    #[error("its key stands twice in one mapping, and readers differ in which one counts")]
    Twice,
    /// With the new text the file would say something else.
    #[error("with `{0}` there the file would say something else than before")]
    Unproven(String),
}

/// Returns the text of a file with another version at one pin. Every byte outside of it stays, quotes too; a version without quotes gets some where
/// readers would take the new one for a number.
///
/// # Errors
/// When the place can't be edited, or the file would read differently in anything but this version.
pub fn edit(path: &RepoPath, text: &str, pin: &Pin, version: &str) -> Result<String, EditError> {
    if !pin.editable {
        let why = pin.why.clone().unwrap_or_default();
        return Err(EditError::NotEditable(why));
    }
    // No version has these, and what escapes them isn't there as it reads.
    if version.contains(|c: char| c.is_control() || matches!(c, '"' | '\'' | '\\')) {
        return Err(EditError::Unproven(version.to_owned()));
    }
    if is_twice(text, pin) {
        return Err(EditError::Twice);
    }
    let written = text.get(pin.span.clone()).ok_or(EditError::Changed)?;
    let at = written.find(&pin.value).ok_or(EditError::Changed)?;
    let start = pin.span.start + at;
    let (before, after) = (&text[..start], &text[start + pin.value.len()..]);
    let is_plain = written == pin.value && stands_alone(before, after);
    let new = if is_plain {
        quote(version)
    } else {
        version.to_owned()
    };
    let edited = [before, &new, after].concat();
    if is_proven(path, text, &edited, pin, version) {
        Ok(edited)
    } else {
        Err(EditError::Unproven(version.to_owned()))
    }
}

/// Whether the key of a pin stands twice in its mapping. Branches of a template are no YAML as they stand, and not asked.
fn is_twice(text: &str, pin: &Pin) -> bool {
    let stream = yaml::parse(text);
    if !stream.errors.is_empty() || text.contains("{{") {
        return false;
    }
    let told = format!("stands already in line {}", pin.line);
    let complaints = stream
        .documents
        .iter()
        .flat_map(|one| complaints(text, one));
    complaints
        .filter(|complaint| complaint.message.starts_with("key `"))
        .any(|complaint| complaint.position.line == pin.line || complaint.message.ends_with(&told))
}

/// Whether what is between is a scalar of its own, and not a part of one.
fn stands_alone(before: &str, after: &str) -> bool {
    let is_behind = |text: &str| text.ends_with([' ', '\t', '\n', '[', '{', ',']);
    let is_before = |text: &str| text.starts_with([' ', '\t', '\n', '\r', ']', '}', ',']);
    (before.is_empty() || is_behind(before)) && (after.is_empty() || is_before(after))
}

/// Whether everything that finders see is as before, but for one version.
fn is_proven(path: &RepoPath, before: &str, after: &str, pin: &Pin, new: &str) -> bool {
    let (before, after) = (look(path, before), look(path, after));
    let says = |pin: &Pin| {
        (
            pin.place.clone(),
            pin.object.clone(),
            pin.chart.clone(),
            pin.kind,
        )
    };
    let fits = |(old, now): (&Pin, &Pin)| {
        let wanted = if old.span == pin.span {
            new
        } else {
            &old.value
        };
        says(old) == says(now) && now.value == wanted
    };
    before.pins.len() == after.pins.len()
        && before.unread.len() == after.unread.len()
        && before.facts.definitions.len() == after.facts.definitions.len()
        && before.pins.iter().zip(&after.pins).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "apps/web.yaml";

    /// An Application around the lines of a source that have `1.2.3` once.
    fn application(source: &str) -> String {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: web}}\nspec:\n  source:\n    repoURL: https://charts.example.org\n    chart: web\n{source}"
        )
    }

    /// A HelmRelease around the lines of a chart that have `1.2.3` once.
    fn release(chart: &str) -> String {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web}}\nspec:\n  chart:\n    spec:\n      chart: web\n{chart}"
        )
    }

    /// Moves the only pin with this version, and compares byte by byte.
    fn moves(text: &str, (old, version, new): (&str, &str, &str)) {
        let path = RepoPath::parse(PATH).unwrap();
        assert_eq!(text.matches(old).count(), 1, "{old} in {text}");
        let found = look(&path, text);
        let pins: Vec<&Pin> = found.pins.iter().filter(|pin| pin.value == old).collect();
        let [pin] = pins.as_slice() else {
            panic!("{:?}\n{:?}\n{text}", found.pins, found.unread);
        };
        let edited = edit(&path, text, pin, version).unwrap_or_else(|why| panic!("{why}\n{text}"));
        assert_eq!(edited, text.replacen(old, new, 1));
    }

    fn digits(text: &str) {
        moves(text, ("1.2.3", "1.2.4", "1.2.4"));
    }

    #[test]
    fn n01_comments_and_odd_indents_stay() {
        digits(&application(
            "\n      # why\n    targetRevision:   1.2.3   # pinned\n       # below\n    path: [ a,b ,  c ]\n# foot\n",
        ));
    }

    #[test]
    fn n02_single_quotes_stay() {
        digits(&application("    targetRevision: '1.2.3'   # c\n"));
        digits(&release("      version: '1.2.3'   # c\n"));
    }

    #[test]
    fn n03_double_quotes_stay() {
        digits(&application("    targetRevision: \"1.2.3\"   # c\n"));
        digits(&release("      version: \"1.2.3\"   # c\n"));
    }

    #[test]
    fn n04_crlf_and_a_byte_order_mark_stay() {
        let text = application("    targetRevision: 1.2.3\n    path: x\n").replace('\n', "\r\n");
        digits(&format!("\u{feff}{text}"));
    }

    #[test]
    fn n05_an_anchor_stays() {
        digits(&application(
            "    targetRevision: &rev 1.2.3\n  copy: *rev\n",
        ));
    }

    #[test]
    fn n06_a_flow_mapping_keeps_its_other_keys() {
        digits(
            "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {chart: foo, targetRevision: 1.2.3, repoURL: 'https://x'}}}\n",
        );
    }

    #[test]
    fn n07_the_second_document_of_three_moves() {
        let other = release("      version: 9.9.9\n");
        digits(&format!(
            "---\n{other}---\n{}---\n{other}...\n",
            release("      version: 1.2.3\n")
        ));
    }

    #[test]
    fn n08_a_list_item_behind_a_block_scalar_with_false_friends() {
        digits(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  sources:\n  - helm:\n      values: |\n        targetRevision: 9.9.9\n        ---\n        # no comment\n\n    chart: a\n  - chart: b\n    targetRevision: 1.2.3\n",
        );
    }

    #[test]
    fn n09_unicode_before_the_value_and_no_final_newline() {
        digits(&application(
            "    größe: '日本 🦀' # ü\n    targetRevision: 1.2.3",
        ));
    }

    #[test]
    fn n10_a_key_that_overrides_a_merged_one_moves_alone() {
        digits(&application(
            "    <<: &b {targetRevision: 9.9.9}\n    targetRevision: 1.2.3\n",
        ));
    }

    #[test]
    fn n11_a_version_that_looks_like_a_number_gets_quotes() {
        let text = release("      version: 1.2.3 # c\n");
        moves(&text, ("1.2.3", "1.10", "\"1.10\""));
        moves(&text.replace("1.2.3", "'1.2.3'"), ("1.2.3", "1.10", "1.10"));
        let in_flow = text.replace("version: 1.2.3 # c", "more: {version: 1.2.3}");
        let in_flow = in_flow.replace("      chart: web\n      more: {", "      {chart: web, ");
        moves(&in_flow, ("1.2.3", "2024", "\"2024\""));
    }

    #[test]
    fn n12_a_tag_stays() {
        digits(&release("      version: !!str 1.2.3 # c\n"));
        digits(&release(
            "      version: !<tag:example.com,2000:v> &v '1.2.3'\n",
        ));
    }

    #[test]
    fn n13_a_wide_gap_behind_a_dash_stays() {
        digits(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  sources:\n  -     chart: a\n        targetRevision: 1.2.3\n  -   chart: b\n",
        );
    }

    #[test]
    fn n14_a_value_on_the_next_line_behind_a_comment() {
        digits(&release(
            "      version:   # c\n        # d\n\n        1.2.3\n      other: 1\n",
        ));
    }

    #[test]
    fn n15_an_explicit_key_stays() {
        digits(&release(
            "      ? version\n      # c\n      : 1.2.3\n      ? other\n      : - x\n",
        ));
    }

    #[test]
    fn n16_an_error_in_a_later_document_does_not_matter() {
        let text = release("      version: 1.2.3\n");
        digits(&format!("{text}---\nbroken: [a, 'b\n  - }}\n"));
        digits(&format!("{text}---\nb: \"x\n---\nc: @\n---\nd: 1\n"));
    }

    #[test]
    fn n17_marker_comments_stay() {
        digits(&release(
            "      # renovate: datasource=helm depName=x\n      version: 1.2.3 # {\"$imagepolicy\": \"a:b\"}\n",
        ));
    }

    #[test]
    fn a_block_of_one_line_moves_and_keeps_its_header() {
        for header in ["|-", ">-", ">2-"] {
            digits(&release(&format!(
                "      version: {header}\n        1.2.3\n      other: 1\n"
            )));
        }
    }

    #[test]
    fn what_is_not_there_as_it_reads_is_refused() {
        let path = RepoPath::parse(PATH).unwrap();
        for version in ["\"1.2\\x2e3\"", "\"1.2\\\n        .3\""] {
            let text = release(&format!("      version: {version}\n"));
            let pin = &look(&path, &text).pins[0];
            assert_eq!(pin.value, "1.2.3");
            let refused = edit(&path, &text, pin, "1.2.4");
            assert!(
                matches!(refused, Err(EditError::NotEditable(_))),
                "{refused:?}"
            );
        }
        let text = release("      version: '1.2.3'\n");
        let pin = &look(&path, &text).pins[0];
        for bad in ["it's", "1.2.4\n      chart: x", "", "${v}"] {
            let refused = edit(&path, &text, pin, bad);
            assert!(
                matches!(refused, Err(EditError::Unproven(_))),
                "{bad}: {refused:?}"
            );
        }
    }

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        let path = RepoPath::parse(PATH).unwrap();
        let text = release("      version: 1.2.3\n      version: 2.0.0\n");
        let pin = &look(&path, &text).pins[0];
        assert_eq!(edit(&path, &text, pin, "1.2.4"), Err(EditError::Twice));
        let other = release("      version: 1.2.3\n  values: {a: 1, b: 2, a: 3}\n");
        let pin = &look(&path, &other).pins[0];
        assert!(edit(&path, &other, pin, "1.2.4").is_ok());
    }

    /// Public report O06: the text form of something else was written over a file.
    #[test]
    fn o06_a_wrong_text_is_not_proven() {
        let path = RepoPath::parse(PATH).unwrap();
        let text = release("      version: 1.2.3\n");
        let pin = &look(&path, &text).pins[0];
        let good = text.replace("1.2.3", "1.2.4");
        assert!(is_proven(&path, &text, &good, pin, "1.2.4"));
        let doubled = format!("{good}---\n{good}");
        let other = good.replace("HelmRelease", "ConfigMap");
        let both = good.replace("chart: web", "chart: shop");
        for wrong in ["", "[object Object]", &doubled, &other, &both, &text] {
            assert!(!is_proven(&path, &text, wrong, pin, "1.2.4"), "{wrong}");
        }
    }
}
