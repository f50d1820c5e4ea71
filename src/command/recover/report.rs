//! What `recover` says about its changes, for people and scripts.

use semver::Version;
use serde_json::{Map, Value, json};

use super::Facts;
use super::choose::Target;
use crate::cli::Common;
use crate::command::deliver::told::Delivered;
use crate::command::shell::quoted;
use crate::command::upgrade::report::{change_json, word};
use crate::error::{ExitStatus, Problem};
use crate::forge::Kind;
use crate::git::branches::Offered;
use crate::plan::change::Change;
use crate::plan::recover::Rejection;
use crate::ui::{Outcome, diff};

/// What is done about a rejection.
pub(super) struct Recovered {
    pub(super) changes: Vec<Change>,
    /// Other units with the rejected version, and what becomes of them.
    pub(super) others: Vec<(String, String)>,
    /// The version that is to be live then.
    pub(super) goal: Option<Version>,
    /// Whether the rejected version is remembered.
    pub(super) is_remembered: bool,
    /// Why one that was to follow can't.
    pub(super) left: Option<Problem>,
    rejection: Value,
    chosen: Value,
    told: String,
    /// What is said where nothing has to change.
    nothing: &'static str,
}

impl Recovered {
    pub(super) fn new(rejection: &Rejection, goal: &Target, chart: &str) -> Self {
        let reason = rejection.reason();
        let reason = reason.map(|reason| format!("  {reason}\n"));
        let mut told = format!(
            "{chart} {} was rejected: {}\n{}",
            rejection.version,
            rejection.how,
            reason.unwrap_or_default()
        );
        if let Some(choice) = &goal.choice {
            told.push_str(&format!("on to {}: {}\n", choice.version, choice.why));
        }
        Self {
            changes: Vec::new(),
            others: Vec::new(),
            goal: goal.choice.as_ref().map(|choice| choice.version.clone()),
            is_remembered: goal.remembers(rejection),
            left: None,
            rejection: rejection_json(rejection, chart),
            chosen: goal_json(goal),
            told,
            nothing: match (&goal.patch, &goal.choice) {
                (Some(_), None) => "nothing to do: the values are so already",
                _ => {
                    "nothing to do: the pins have a higher version already, and the rejection is remembered"
                }
            },
        }
    }
}

/// A run's outcome, and the version that is to be live then.
pub(super) struct Told {
    pub(super) outcome: Outcome,
    pub(super) problem: Option<Problem>,
    pub(super) goal: Option<Version>,
    /// Whether somebody works on its branch, so that what stands there comes instead.
    pub(super) is_left: bool,
}

/// Why nothing comes of a change that people have closed the request of.
pub(super) fn closed(told: &[Delivered<'_>]) -> Option<Problem> {
    let one = told.iter().find(|one| one.is_closed())?;
    let url = one.request.as_ref().and_then(|told| told.url.clone());
    Some(
        Problem::invalid(format!(
            "people closed the request for just this: {}",
            url.unwrap_or_else(|| one.change.branch.clone())
        ))
        .hint("open it again there; or go to another version (`--to VERSION`), or correct values too (`--values FILE`)"),
    )
}

/// What scripts rely on.
pub(super) fn as_json(
    told: &[Delivered<'_>],
    recovered: &Recovered,
    common: &Common,
) -> Map<String, Value> {
    let changes: Vec<Value> = told.iter().map(change_json).collect();
    let others: Vec<Value> = recovered
        .others
        .iter()
        .map(|(name, told)| json!({"name": name, "told": told}))
        .collect();
    Map::from_iter([
        ("changes".to_owned(), json!(changes)),
        ("rejection".to_owned(), recovered.rejection.clone()),
        ("chosen".to_owned(), recovered.chosen.clone()),
        ("others".to_owned(), json!(others)),
        ("watch".to_owned(), Value::Null),
        ("dry_run".to_owned(), json!(common.dry_run)),
    ])
}

/// What people read.
pub(super) fn shown(
    told: &[Delivered<'_>],
    recovered: &Recovered,
    facts: &Facts<'_>,
    common: &Common,
) -> String {
    let mut text = recovered.told.clone();
    for (_, other) in &recovered.others {
        text.push_str(&format!("{other}\n"));
    }
    for one in told {
        let Delivered {
            change,
            offered,
            request,
        } = one;
        text.push_str(&format!(
            "{}: {} ({})\n",
            change.branch,
            change.title,
            word(one)
        ));
        if let Some(request) = request {
            text.push_str(&format!("  {}\n", request.to_text()));
            if request.forge == Kind::Local && !one.is_closed() {
                text.push_str(&format!(
                    "  no forge is known here, so nobody sees it there: the request is a file, and {} is pushed; merge it, or name the forge (`--forge`, `--forge-url`)\n",
                    change.branch
                ));
            }
        }
        let is_elsewhere = matches!(offered, Some(Offered::LeftAlone | Offered::CheckedOut));
        if !is_elsewhere && request.is_none() {
            text.push_str(&format!("\n{}\n", change.body));
        }
        if common.diff && !is_elsewhere {
            text.push_str(&diff::diffs(change));
        }
        let is_made = offered.as_ref().and_then(Offered::commit).is_some();
        if is_made && request.is_none() {
            let git = match &common.directory {
                Some(folder) => format!("git -C {}", quoted(&folder.display().to_string())),
                None => "git".to_owned(),
            };
            text.push_str(&format!(
                "next: {git} show {0}, then on {1}: {git} merge {0}, and push that; `--open` opens a merge request instead\n",
                change.branch, facts.base_name
            ));
        }
    }
    if told.is_empty() {
        text.push_str(&format!("{}\n", recovered.nothing));
    }
    if !told.is_empty() && common.dry_run {
        text.push_str("nothing was written (dry run)\n");
    }
    text
}

/// The outcome where what came after a rejection runs.
pub(super) fn already_live(facts: &Facts<'_>, common: &Common) -> Outcome {
    let mut outcome = nothing(common);
    outcome.text = format!(
        "nothing to do: `{}` runs a version above the one that was rejected, and the rejection is remembered\n",
        facts.subject.name
    );
    outcome
}

/// Says with the outcome of another command what was rejected.
pub(super) fn add_rejection(outcome: &mut Outcome, rejection: &Rejection, chart: &str) {
    let own = [
        ("rejection", rejection_json(rejection, chart)),
        ("chosen", Value::Null),
        ("others", json!([])),
        ("watch", Value::Null),
    ];
    let own = own.map(|(key, value)| (key.to_owned(), value));
    outcome.json.extend(own);
}

/// An outcome without a change.
pub(super) fn nothing(common: &Common) -> Outcome {
    Outcome {
        status: ExitStatus::Done,
        text: String::new(),
        json: Map::from_iter([
            ("changes".to_owned(), json!([])),
            ("rejection".to_owned(), Value::Null),
            ("chosen".to_owned(), Value::Null),
            ("others".to_owned(), json!([])),
            ("watch".to_owned(), Value::Null),
            ("dry_run".to_owned(), json!(common.dry_run)),
        ]),
        problem: None,
        lists: Vec::new(),
    }
}

/// A goal in words that scripts read.
fn goal_json(goal: &Target) -> Value {
    match &goal.choice {
        Some(choice) => json!({
            "version": choice.version.to_string(),
            "why": choice.why,
            "remarks": choice.remarks,
        }),
        None => Value::Null,
    }
}

/// The rejection in words that scripts read.
fn rejection_json(rejection: &Rejection, chart: &str) -> Value {
    json!({
        "chart": chart,
        "version": rejection.version.to_string(),
        "reason": rejection.reason(),
        "date": rejection.date,
        "evidence": rejection.evidence,
        "from": rejection.found.as_str(),
        "how": rejection.how,
        "log": rejection.log,
    })
}
