//! A version that a cluster refused, written into `.haptic-scaffold.yaml` without losing a comment.

use anyhow::Result;

use super::answers_file::HEADER;
use crate::error::Problem;
use crate::layout::recorded::{self, FILE_NAME};
use crate::model::policy::Rejected;
use crate::model::range::lenient_version;
use crate::yaml::Route;
use crate::yaml::patch::{self, PatchError};

/// Adds a rejection to the text of the file, or makes a new one. A version of a chart that is recorded already leaves the
/// text as it is, whatever is said of it there.
///
/// # Errors
/// When the text isn't good, or can't hold the entry without a change of something else.
pub fn record(old: Option<&str>, rejected: &Rejected) -> Result<String> {
    let old = old.unwrap_or(HEADER);
    let known = recorded::parse(old, FILE_NAME)?.rejected;
    if known.iter().any(|one| is_same(one, rejected)) {
        return Ok(old.to_owned());
    }
    let item = serde_json::to_value(rejected)?;
    let text = patch::append(old, 0, &Route::root().key("rejected"), &item)
        .map_err(|why| problem(&why))?;
    let mut wanted = known;
    wanted.push(rejected.clone());
    if recorded::parse(&text, FILE_NAME)?.rejected == wanted {
        return Ok(text);
    }
    let reason = "the entry isn't read back".to_owned();
    Err(problem(&PatchError::Unproven { reason }))
}

fn problem(why: &PatchError) -> anyhow::Error {
    let problem = Problem::invalid(format!(
        "cannot record the rejected version in `{FILE_NAME}`: {why}"
    ));
    let problem = match why.hint() {
        Some(hint) => problem.hint(hint),
        None => problem,
    };
    problem
        .hint("write `rejected:` as a list with one entry on each line, or add the entry by hand")
        .into()
}

/// Whether two entries are of one version of one chart, said in the same way: a name isn't taken for an address, which may be
/// where the chart was published before. Versions are compared as SemVer does, for which build metadata is nothing.
fn is_same(a: &Rejected, b: &Rejected) -> bool {
    let is_version = match (lenient_version(&a.version), lenient_version(&b.version)) {
        (Some(a), Some(b)) => a.cmp_precedence(&b).is_eq(),
        _ => a.version == b.version,
    };
    is_version && a.chart == b.chart
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Report;

    fn rejected(chart: &str, version: &str) -> Rejected {
        Rejected {
            chart: chart.to_owned(),
            version: version.to_owned(),
            reason: Some("a template doesn't compile: line 3".to_owned()),
            date: Some("2026-11-02".to_owned()),
            evidence: Some("sha256:0123abcd".to_owned()),
        }
    }

    fn written(old: Option<&str>) -> String {
        record(old, &rejected("haptic", "0.2.1")).expect("writes")
    }

    const LINES: &str = "- chart: haptic\n  version: 0.2.1\n  reason: \"a template doesn't compile: line 3\"\n  date: \"2026-11-02\"\n  evidence: sha256:0123abcd\n";

    /// The lines of the entry, further to the right.
    fn lines(indent: usize) -> String {
        let pad = " ".repeat(indent);
        LINES.lines().map(|line| format!("{pad}{line}\n")).collect()
    }

    #[test]
    fn a_new_file_begins_with_what_it_is() {
        assert_eq!(written(None), format!("{HEADER}rejected:\n{}", lines(2)));
    }

    #[test]
    fn the_entry_goes_where_the_list_is() {
        let one = "chart: other\n    version: 1.0.0 # c";
        let table = [
            ("", format!("rejected:\n{}", lines(2))),
            ("# only\n", format!("# only\nrejected:\n{}", lines(2))),
            (
                "answers:\n  layout: x # c\n  clusters: [a]\n# end\n",
                format!("answers:\n  layout: x # c\n  clusters: [a]\nrejected:\n{}# end\n", lines(2)),
            ),
            (
                "rejected: [] # none yet\nlayouts: mine\n",
                format!("rejected: # none yet\n{}layouts: mine\n", lines(2)),
            ),
            (
                &format!("rejected:\n  # first\n  - {one}\n\nlayouts: mine\n"),
                format!("rejected:\n  # first\n  - {one}\n{}\nlayouts: mine\n", lines(2)),
            ),
            (
                "rejected:\n- chart: other\n  version: 1.0.0\nlayouts: mine\n",
                format!("rejected:\n- chart: other\n  version: 1.0.0\n{}layouts: mine\n", lines(0)),
            ),
            (
                "rejected: [{chart: other, version: 1.0.0}] # c\n",
                "rejected: [{chart: other, version: 1.0.0}, {chart: haptic, version: 0.2.1, reason: \"a template doesn't compile: line 3\", date: \"2026-11-02\", evidence: sha256:0123abcd}] # c\n".to_owned(),
            ),
            (
                "{\"layouts\": \"mine\"}\n",
                "{\"layouts\": \"mine\", \"rejected\": [{\"chart\": \"haptic\", \"version\": \"0.2.1\", \"reason\": \"a template doesn't compile: line 3\", \"date\": \"2026-11-02\", \"evidence\": \"sha256:0123abcd\"}]}\n".to_owned(),
            ),
        ];
        for (old, new) in table {
            assert_eq!(written(Some(old)), new);
            assert_eq!(written(Some(&new)), new);
            let crlf = |text: &str| text.replace('\n', "\r\n");
            if old.contains('\n') {
                assert_eq!(written(Some(&crlf(old))), crlf(&new));
            }
        }
        assert_eq!(
            written(Some("layouts: mine")),
            format!("layouts: mine\nrejected:\n{}", lines(2)).trim_end()
        );
    }

    #[test]
    fn what_reads_as_something_else_is_quoted() {
        let mut one = rejected("haptic", "1.10");
        one.reason = Some("first\nsecond: x\n".to_owned());
        one.date = None;
        let text = record(Some("# c\n"), &one).expect("writes");
        assert_eq!(
            text,
            "# c\nrejected:\n  - chart: haptic\n    version: \"1.10\"\n    reason: |\n      first\n      second: x\n    evidence: sha256:0123abcd\n"
        );
    }

    #[test]
    fn a_version_is_recorded_once() {
        let old = "rejected:\n  - {chart: oci://r.example/charts/haptic, version: v0.2.1+build}\n";
        let same = rejected("oci://r.example/charts/haptic", "0.2.1");
        assert_eq!(record(Some(old), &same).expect("reads"), old);
        for (chart, version) in [
            ("haptic", "0.2.1"),
            ("haptic", "0.2.2"),
            ("haptic", "0.2.1-rc.1"),
            ("other", "0.2.1"),
            ("oci://other.example/haptic", "0.2.1"),
        ] {
            let text = record(Some(old), &rejected(chart, version)).expect("writes");
            assert!(text.starts_with(old) && text.len() > old.len(), "{text}");
        }
    }

    #[test]
    fn a_file_that_cannot_hold_it_is_left_alone() {
        for (old, what) in [
            (
                "rejected: &x\n- {chart: a, version: 1.0.0}\nlayouts: *x\n",
                "",
            ),
            ("rejected: !t []\n", "has a tag"),
            ("rejected: [\n", "line"),
            ("a: 1\n", "unknown key"),
        ] {
            let error = record(Some(old), &rejected("haptic", "0.2.1")).expect_err("refused");
            assert!(Report::of(&error).message.contains(what), "{old} {error}");
        }
    }
}
