//! Which version a release that was rejected goes on to: a higher one, always.
//!
//! HAPTIC's CRDs and configuration API don't come back down, so nothing here ever answers with a version that isn't above what was rejected and what
//! is pinned, or that is below anything that the release has had. Pure: what is published and what was decided comes in.

use semver::Version;

use crate::error::{ExitStatus, Problem};
use crate::haptic;
use crate::haptic::notes::upgrade_notes;
use crate::haptic::rejection::GETS_PAST;
use crate::model::range::Range;
use crate::plan::policy::ChartRule;

/// What is wanted, and what is there.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// The chart's name.
    pub chart: &'a str,
    /// What `--to` says, and how it is written; without it, the minor that was rejected.
    pub to: Option<(&'a Range, &'a str)>,
    /// The version that was rejected.
    pub rejected: &'a Version,
    /// The highest version that the pins have had.
    pub highest: Option<&'a Version>,
    /// The lowest version that they have.
    pub pinned: Option<&'a Version>,
    /// Whether preflight refused it since an earlier apply was left half-way ([`haptic::rejection::Cause::UnfinishedApply`]).
    pub is_unfinished: bool,
    /// Whether the pins have a pre-release: then others count.
    pub takes_prereleases: bool,
    /// What was decided about the chart.
    pub rule: &'a ChartRule,
}

/// What was chosen, and what there is to say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The version.
    pub version: Version,
    /// Why this one, as a clause.
    pub why: String,
    /// What is known of it, a sentence each.
    pub remarks: Vec<String>,
}

impl Wish<'_> {
    /// The version that the new one mustn't be below.
    pub fn floor(&self) -> &Version {
        let highest = self.highest.filter(|highest| *highest > self.rejected);
        highest.unwrap_or(self.rejected)
    }

    /// Whether it goes on. What the pins have had and don't have any more may come back, where it wasn't rejected: somebody took a good version back.
    fn is_above(&self, version: &Version) -> bool {
        let is_over = |other: &Version| version.cmp_precedence(other).is_gt();
        is_over(self.rejected)
            && self.pinned.is_none_or(is_over)
            && version.cmp_precedence(self.floor()).is_ge()
    }

    fn is_back(&self, version: &Version) -> bool {
        version.cmp_precedence(self.floor()).is_eq()
    }

    /// Why a version isn't had although it is high enough. What somebody names exactly may be ignored or young, but never rejected.
    fn against(&self, version: &Version, is_exact: bool) -> Option<String> {
        if let Some(why) = self.rule.rejection(version) {
            return Some(format!("{version} {why}"));
        }
        if haptic::versions::is_snapshot(version) && !is_exact {
            return Some(format!(
                "{version} is a snapshot, which has no place in the order"
            ));
        }
        if is_exact {
            return None;
        }
        if self.is_unfinished && version < &GETS_PAST {
            return Some(format!(
                "{version} is refused for the same: an earlier apply was left half-way, and only {GETS_PAST} and later get past that"
            ));
        }
        let barred = self
            .rule
            .rule
            .barred
            .iter()
            .find(|barred| barred.has(version));
        barred.map(|barred| format!("{version} {}", barred.why))
    }
}

/// Chooses among the published versions; of those that nobody was asked about, the one that was named.
///
/// # Errors
/// When what is wanted is not above what was rejected (exit code 3), isn't published, or nothing higher is in the range (4); with the next step.
pub fn choose(wish: &Wish<'_>, published: Option<&[Version]>) -> Result<Choice, Problem> {
    let own;
    let (range, written) = match wish.to {
        Some((range, written)) => (range, written),
        None => {
            own = minor_of(wish.floor());
            (&own.0, own.1.as_str())
        }
    };
    match (range.exact(), published) {
        (Some(exact), _) => named(wish, exact, published),
        (None, None) => Err(Problem::usage(format!(
            "`{written}` is a range, and nobody is asked which versions there are"
        ))
        .hint("name one version with `--to`, or say what is published: `--versions FILE`")),
        (None, Some(published)) => newest(wish, (range, written), published),
    }
}

/// The range that is meant where none is given: the minor of what was rejected.
fn minor_of(version: &Version) -> (Range, String) {
    let text = format!("{}.{}.x", version.major, version.minor);
    let range = Range::parse(&text).unwrap_or_else(|_| Range::only(version));
    (range, text)
}

fn named(
    wish: &Wish<'_>,
    exact: &Version,
    published: Option<&[Version]>,
) -> Result<Choice, Problem> {
    if haptic::versions::is_snapshot(exact) {
        return Err(Problem::invalid(format!(
            "{exact} is a snapshot, and whether that is higher than {} can't be said",
            wish.floor()
        ))
        .hint("name a release that is higher with `--to`; a snapshot is pinned by hand"));
    }
    if !wish.is_above(exact) {
        return Err(not_forward(wish, exact));
    }
    if let Some(why) = wish.against(exact, true) {
        return Err(
            Problem::invalid(format!("cannot go to that version: {why}"))
                .hint("name a higher one with `--to`"),
        );
    }
    let same = |version: &&Version| version.cmp_precedence(exact).is_eq();
    let version = match published {
        None => exact,
        // Of versions that differ in metadata alone the very one is meant.
        Some(all) => match all
            .iter()
            .find(|one| *one == exact)
            .or(all.iter().find(same))
        {
            Some(version) => version,
            None => return Err(unpublished(wish, exact, all)),
        },
    };
    Ok(choice(wish, version, "`--to` names it".to_owned()))
}

fn newest(
    wish: &Wish<'_>,
    (range, written): (&Range, &str),
    published: &[Version],
) -> Result<Choice, Problem> {
    let is_wanted = |version: &&Version| {
        let is_release = Version::new(version.major, version.minor, version.patch);
        let is_in = range.matches(version)
            || wish.takes_prereleases && !version.pre.is_empty() && range.matches(&is_release);
        is_in && wish.is_above(version)
    };
    let mut above: Vec<&Version> = published.iter().filter(is_wanted).collect();
    above.sort_by(|one, other| other.cmp_precedence(one));
    let mut passed = Vec::new();
    for version in above {
        match wish.against(version, false) {
            None => {
                let how = match wish.is_back(version) {
                    true => "isn't below",
                    false => "is above",
                };
                let floor = wish.floor();
                let mut why = format!("the newest in `{written}` that {how} {floor}");
                if !passed.is_empty() {
                    why.push_str(&format!("; passed over: {}", passed.join(", ")));
                }
                return Ok(choice(wish, version, why));
            }
            Some(why) => passed.push(why),
        }
    }
    Err(nothing(wish, (range, written), published, &passed))
}

fn choice(wish: &Wish<'_>, version: &Version, why: String) -> Choice {
    let mut remarks = remarks(wish, version);
    if wish.is_back(version) {
        remarks.push(format!(
            "{version} was pinned here before and was taken back; nothing says that it was rejected"
        ));
    }
    Choice {
        version: version.clone(),
        why,
        remarks,
    }
}

/// What is known of the version, and of the way to it.
fn remarks(wish: &Wish<'_>, version: &Version) -> Vec<String> {
    if wish.chart != haptic::CHART {
        return Vec::new();
    }
    let judged = haptic::versions::judge(version, false);
    let warns = judged
        .into_iter()
        .filter(|remark| remark.severity == haptic::versions::Severity::Warn);
    let mut remarks: Vec<String> = warns
        .map(|remark| format!("{version}: {}", remark.text))
        .collect();
    let is_of = |version: &Version, from: u64, to: u64| {
        version.major == 0 && (from..=to).contains(&version.minor)
    };
    if is_of(wish.rejected, 7, 9) && version < &GETS_PAST {
        let said = remarks
            .iter()
            .any(|text| text.contains("finish the current apply"));
        if !said {
            remarks.push(format!("{version}: where {} was applied in part, the pre-rollout Job may say `finish the current apply before upgrading`: only {GETS_PAST} and later get past that", wish.rejected));
        }
    }
    for note in upgrade_notes(wish.rejected, version) {
        remarks.push(note.to_owned());
    }
    remarks
}

/// Why a version that isn't above is refused.
fn not_forward(wish: &Wish<'_>, version: &Version) -> Problem {
    let Wish { chart, .. } = wish;
    let floor = wish.floor();
    let is_same = version.cmp_precedence(wish.rejected).is_eq();
    let message = if is_same {
        format!("{version} of `{chart}` is what was rejected: it would be rejected again")
    } else if version.cmp_precedence(floor).is_eq() {
        format!("{version} of `{chart}` is pinned already, and a pin only ever goes on")
    } else {
        format!(
            "{version} of `{chart}` is lower than {floor}, which was tried already: {}",
            why_never_down(chart)
        )
    };
    let hint = if is_same {
        "name a higher version with `--to`, or correct the values it was rejected with: `--values FILE`".to_owned()
    } else {
        format!("name a version above {floor} with `--to`, or correct the values: `--values FILE`")
    };
    Problem::invalid(message).hint(hint)
}

fn why_never_down(chart: &str) -> &'static str {
    if chart == haptic::CHART {
        "CRDs and configuration API of HAPTIC don't come back down, also where a release failed half-way"
    } else {
        "what its hooks and CRDs have changed doesn't come back down"
    }
}

fn unpublished(wish: &Wish<'_>, version: &Version, published: &[Version]) -> Problem {
    let mut problem = Problem::new(
        ExitStatus::Remote,
        format!("{version} of `{}` isn't published", wish.chart),
    );
    let above = higher(wish, published);
    problem = match above.as_slice() {
        [] => problem.hint(format!(
            "nothing above {} is published yet: wait for a release, or correct the values: `--values FILE`",
            wish.floor()
        )),
        above => problem.hint(format!(
            "published above {}: {}; name one of them with `--to`",
            wish.floor(),
            listed(above)
        )),
    };
    problem.hint("a version of a minute ago may be kept back by a cache: try again")
}

/// Why nothing of a range is had.
fn nothing(
    wish: &Wish<'_>,
    (range, written): (&Range, &str),
    published: &[Version],
    passed: &[String],
) -> Problem {
    let floor = wish.floor();
    let chart = wish.chart;
    let is_in = |version: &&Version| range.matches(version);
    let has_any = published.iter().any(|version| is_in(&version));
    // What lies wholly below was asked for in error; what reaches up is only empty so far.
    if has_any && !range.matches(floor) && newest_below(range, published, floor) {
        let newest = range.newest(published.iter()).unwrap_or(floor);
        return not_forward(wish, newest)
            .hint(format!("`--to {written}` has nothing above {floor}"));
    }
    let mut message = if has_any {
        format!("nothing in `{written}` of `{chart}` is above {floor}")
    } else {
        format!("no version of `{chart}` is in `{written}`")
    };
    if !passed.is_empty() {
        message.push_str(&format!(" and free: {}", passed.join(", ")));
    }
    let mut problem = Problem::new(ExitStatus::Remote, message);
    let above = higher(wish, published);
    match above.last() {
        // The nearest minor above, and what it brings.
        Some(next) => {
            let (_, text) = minor_of(next);
            let in_it: Vec<&Version> = above
                .iter()
                .copied()
                .filter(|one| (one.major, one.minor) == (next.major, next.minor))
                .collect();
            problem = problem.hint(format!(
                "the next higher range is `{text}` ({}): --to {text}",
                listed(&in_it)
            ));
            if chart == haptic::CHART
                && let Some(newest) = in_it.first()
            {
                for note in upgrade_notes(wish.rejected, newest) {
                    problem = problem.hint(format!("what it brings: {note}"));
                }
            }
        }
        None => {
            problem = problem.hint(format!(
                "nothing above {floor} is published: wait for a release, or correct the values (`--values FILE`); the cluster goes on serving the old configuration meanwhile"
            ));
        }
    }
    problem.hint("corrected values need no other version: `--values FILE`")
}

fn newest_below(range: &Range, published: &[Version], floor: &Version) -> bool {
    range
        .newest(published.iter())
        .is_some_and(|newest| newest.cmp_precedence(floor).is_lt())
}

/// What is published above and free, the highest first.
fn higher<'v>(wish: &Wish<'_>, published: &'v [Version]) -> Vec<&'v Version> {
    let is_release = |version: &&Version| version.pre.is_empty() || wish.takes_prereleases;
    let mut above: Vec<&Version> = published
        .iter()
        .filter(is_release)
        .filter(|version| wish.is_above(version) && wish.against(version, false).is_none())
        .collect();
    above.sort_by(|one, other| other.cmp_precedence(one));
    above
}

/// A few versions as a list.
fn listed(versions: &[&Version]) -> String {
    const MOST: usize = 6;
    let shown: Vec<String> = versions
        .iter()
        .take(MOST)
        .map(ToString::to_string)
        .collect();
    let more = if versions.len() > MOST { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
#[path = "tests_forward.rs"]
mod tests;
