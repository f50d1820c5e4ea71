//! What was rejected, from files, from what somebody says, or from Git.

use std::path::Path;

use anyhow::Result;
use semver::Version;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::units::{Standing, Unit};
use super::values;
use crate::cli::recover::RecoverArgs;
use crate::command::files;
use crate::command::upgrade::subjects::Subject;
use crate::error::Problem;
use crate::haptic;
use crate::haptic::names::{
    COMPONENT_LABEL, CRD_UPGRADE_COMPONENT, EXPECTED_VERSION_VARIABLE, PRE_ROLLOUT_COMPONENT,
    PRE_ROLLOUT_SUFFIX,
};
use crate::haptic::rejection::{cause, circumstance, installed, tells_failure, without_digest};
use crate::haptic::verdict_words::not_a_verdict;
use crate::model::range::{Range, lenient_version};
use crate::observe::job::{JobPhase, job};
use crate::plan::recover::{Found, Rejection};
use crate::secrets::redact::redact;

/// So many lines of a log stand in a request.
const MOST_LINES: usize = 40;
/// And so many characters of each.
const MOST_LINE: usize = 400;

/// No object has so many brackets one after the other.
const DEEP: usize = 64;

/// A Job's log, from a file.
pub(super) struct Log {
    /// The version that it says was being installed.
    pub(super) version: Option<Version>,
    text: String,
    /// When the Job ended, or the file was written.
    date: Option<String>,
    how: String,
}

impl Log {
    /// The log that is given, if one is.
    ///
    /// # Errors
    /// As [`Self::read`]; where standard input is to be the values as well.
    pub(super) fn of(
        arguments: &RecoverArgs,
        folder: &Path,
        subject: &Subject,
    ) -> Result<Option<Self>> {
        let Some(path) = &arguments.job_log else {
            return Ok(None);
        };
        let values = arguments.values.as_deref();
        if path.as_os_str() == "-" && values.is_some_and(values::is_stdin) {
            return Err(
                Problem::usage("standard input can't be the log and the values at once")
                    .hint("put one of the two into a file")
                    .into(),
            );
        }
        Self::read(path, folder, subject).map(Some)
    }

    /// Reads a log, or a Job as kubectl prints it with its pods.
    ///
    /// # Errors
    /// When it can't be read, says nothing, or says that the Job didn't reject anything; where it is of a Job that judges nothing, and where it is certainly no log.
    fn read(path: &Path, folder: &Path, subject: &Subject) -> Result<Self> {
        let is_stdin = path.as_os_str() == "-";
        let (text, name) = if is_stdin {
            (files::read_stdin_log()?, "standard input".to_owned())
        } else {
            let path = folder.join(path);
            // Where it lies is nobody's business who reads the request.
            let name = path.file_name().unwrap_or_default();
            (files::read_log(&path)?, format!("`{}`", name.display()))
        };
        if text.trim().is_empty() {
            return Err(Problem::invalid(format!("{name} is empty: it says of no rejection"))
                .hint("kubectl logs job/NAME-pre-rollout -n NAMESPACE, while the failed Job is there")
                .into());
        }
        let date = (!is_stdin).then(|| written(&folder.join(path))).flatten();
        if let Some(objects) = objects(&text) {
            let is_haptic = subject
                .what
                .named()
                .is_some_and(|(name, _)| name == haptic::CHART);
            return Self::of_job(&objects, is_haptic, &name, date);
        }
        if let Some(why) = not_a_verdict(&text) {
            return Err(Problem::invalid(format!("the text in {name} is of no rejection: {why}"))
                .hint("kubectl logs job/NAME-pre-rollout -n NAMESPACE, once the Job has run and failed")
                .into());
        }
        Ok(Self {
            version: installed(&text).and_then(|text| lenient_version(&text)),
            how: format!("the log in {name} says that a release was rejected"),
            date,
            text,
        })
    }

    fn of_job(
        objects: &[Value],
        is_haptic: bool,
        name: &str,
        date: Option<String>,
    ) -> Result<Self> {
        let of = |kind: &str| {
            let is = |one: &&Value| one.get("kind").and_then(Value::as_str) == Some(kind);
            objects.iter().filter(is).cloned().collect::<Vec<_>>()
        };
        let jobs = of("Job");
        let Some(first) = jobs.first() else {
            return Err(
                Problem::invalid(format!("{name} has objects of Kubernetes, and no Job"))
                    .hint("kubectl get job NAME-pre-rollout -n NAMESPACE -o yaml prints it")
                    .into(),
            );
        };
        let title = |one: &Value| {
            let name = one.pointer("/metadata/name").and_then(Value::as_str);
            name.unwrap_or_default().to_owned()
        };
        let pods = of("Pod");
        // All Jobs of a namespace are printed as easily as one.
        let mut judges: Vec<&Value> = jobs
            .iter()
            .filter(|one| !is_haptic || judges(one))
            .collect();
        // Of several the one that said no.
        judges.sort_by_key(|one| job(one, &pods).state != JobPhase::Rejected);
        let said_no = judges
            .iter()
            .filter(|one| job(one, &pods).state == JobPhase::Rejected);
        let said_no: Vec<String> = said_no.map(|one| place(one)).collect();
        if said_no.len() > 1 {
            return Err(Problem::invalid(format!(
                "{name} has several Jobs that have failed, and nothing says which of them is meant: {}",
                said_no.join(", ")
            ))
            .hint("give the one that is meant: kubectl get job NAME -n NAMESPACE -o yaml")
            .into());
        }
        let Some(found) = judges.first() else {
            let object = title(first);
            let what = match is_of(CRD_UPGRADE_COMPONENT, first) {
                true => "applies CRDs, and ",
                false => "",
            };
            return Err(Problem::invalid(format!(
                "the Job `{object}` in {name} {what}isn't the one that judges a release"
            ))
            .hint("kubectl get job NAME-pre-rollout -n NAMESPACE -o yaml prints the one that does")
            .hint(format!(
                "where `{object}` failed, mend what its log says; the controller tries again by itself"
            ))
            .into());
        };
        let state = job(found, &pods);
        let object = title(found);
        if let Some(why) = not_a_rejection(&state.state) {
            return Err(Problem::invalid(format!(
                "the Job `{object}` in {name} is no rejection: {why}"
            ))
            .hint(next_step(&state.state))
            .into());
        }
        let says = state.message.unwrap_or_default();
        if let Some(line) = circumstance(&redact(&says)) {
            return Err(Problem::invalid(format!(
                "the Job `{object}` in {name} is no rejection: it came to no verdict: {line}"
            ))
            .hint("mend that, and the controller tries again; if somebody knows that the version is to blame: `--rejected VERSION` without `--job-log`")
            .into());
        }
        let version = state.expected_version.as_deref().map(without_digest);
        Ok(Self {
            version: version.and_then(lenient_version),
            how: format!("the Job `{object}` in {name} failed"),
            date: state.finished.or(date),
            // Its last words may be of something else.
            text: Some(says)
                .filter(|says| tells_failure(says))
                .unwrap_or_default(),
        })
    }

    /// Its digest, where there is a text.
    pub(super) fn digest(&self) -> Option<String> {
        digest(&self.text)
    }

    /// The rejection that it is evidence of.
    pub(super) fn rejection(&self, version: Version) -> Rejection {
        // A line by itself doesn't show what the lines above make of it.
        let shown = redact(&self.text);
        Rejection {
            version,
            cause: cause(&shown),
            date: self.date.clone(),
            evidence: digest_of(&shown),
            found: Found::JobLog,
            how: self.how.clone(),
            log: tail_of(&shown),
        }
    }

    /// Whether it says of a failure at all.
    pub(super) fn tells_failure(&self) -> bool {
        self.text.is_empty() || tells_failure(&self.text)
    }
}

/// A Job with its namespace.
fn place(job: &Value) -> String {
    let said = |key: &str| {
        job.pointer(&format!("/metadata/{key}"))
            .and_then(Value::as_str)
    };
    let name = said("name").unwrap_or_default();
    match said("namespace") {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

/// Whether a Job is this part of the chart, by its label.
pub(super) fn is_of(component: &str, job: &Value) -> bool {
    let labels = job.pointer("/metadata/labels");
    let label = labels.and_then(|labels| labels.get(COMPONENT_LABEL));
    label.and_then(Value::as_str) == Some(component)
}

/// Whether a Job is the one by which HAPTIC judges a release. Its name may be cut, so its label and the variable count too.
fn judges(job: &Value) -> bool {
    let name = job.pointer("/metadata/name").and_then(Value::as_str);
    let containers = job.pointer("/spec/template/spec/containers");
    let containers = containers.and_then(Value::as_array).into_iter().flatten();
    let mut variables = containers
        .filter_map(|one| one.get("env").and_then(Value::as_array))
        .flatten()
        .filter_map(|one| one.get("name").and_then(Value::as_str));
    is_of(PRE_ROLLOUT_COMPONENT, job)
        || name.is_some_and(|name| name.ends_with(PRE_ROLLOUT_SUFFIX))
        || variables.any(|name| name == EXPECTED_VERSION_VARIABLE)
}

/// The objects of a file, where it is one of Kubernetes. What can't be one isn't read as one: a log may be long, and anything.
fn objects(text: &str) -> Option<Vec<Value>> {
    use serde::Deserialize as _;
    let start = text.trim_start();
    let all: Vec<Value> = if start.starts_with('{') {
        let all = serde_json::Deserializer::from_str(text).into_iter();
        all.collect::<Result<_, _>>().ok()?
    } else {
        let is_yaml = ["apiVersion:", "kind:", "---", "#"]
            .iter()
            .any(|word| start.starts_with(word));
        let has_kind = text.lines().any(|line| line.starts_with("kind:"));
        let is_deep = ["[", "{"]
            .iter()
            .any(|sign| text.contains(&sign.repeat(DEEP)));
        if !is_yaml || !has_kind || is_deep {
            return None;
        }
        let all = serde_yaml::Deserializer::from_str(text).map(Value::deserialize);
        all.collect::<Result<_, _>>().ok()?
    };
    let items = |one: Value| match one.get("items").and_then(Value::as_array) {
        Some(items) => items.clone(),
        None => vec![one],
    };
    let all: Vec<Value> = all
        .into_iter()
        .filter(|one| !one.is_null())
        .flat_map(items)
        .collect();
    let is_object = |one: &Value| one.get("kind").is_some() && one.get("apiVersion").is_some();
    (!all.is_empty() && all.iter().all(is_object)).then_some(all)
}

/// When a file was written.
fn written(path: &Path) -> Option<String> {
    let time = std::fs::metadata(path).ok()?.modified().ok()?;
    let seconds = time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    moment(i64::try_from(seconds).ok()?)
}

/// A moment as it is recorded.
pub(super) fn moment(seconds: i64) -> Option<String> {
    let moment = OffsetDateTime::from_unix_timestamp(seconds).ok()?;
    moment.format(&Rfc3339).ok()
}

/// The digest of what was said, as it may be shown; nothing of nothing. With the text beside it, a digest of what is hidden there would let a weak
/// password be guessed.
pub(super) fn digest(text: &str) -> Option<String> {
    digest_of(&redact(text))
}

/// As [`digest`], of a text that may be shown as it is.
pub(super) fn digest_of(shown: &str) -> Option<String> {
    (!shown.is_empty()).then(|| format!("sha256:{:x}", Sha256::digest(shown.trim_end())))
}

/// The end of a log, as it may be shown.
pub(super) fn tail(text: &str) -> Option<String> {
    tail_of(&redact(text))
}

/// As [`tail`], of a text that may be shown as it is.
pub(super) fn tail_of(shown: &str) -> Option<String> {
    let lines: Vec<&str> = shown.lines().collect();
    let end = lines.len().saturating_sub(MOST_LINES);
    let cut = |line: &&str| {
        let plain: String = line.chars().take(MOST_LINE).collect();
        crate::model::text::one_line(&plain).into_owned()
    };
    let kept: Vec<String> = lines[end..].iter().map(cut).collect();
    let kept = kept.join("\n").trim_matches('\n').to_owned();
    (!kept.is_empty()).then_some(kept)
}

/// Why a Job in this state rejected nothing.
pub(super) fn not_a_rejection(state: &JobPhase) -> Option<String> {
    Some(match state {
        JobPhase::Rejected => return None,
        JobPhase::Succeeded => "it has succeeded".to_owned(),
        JobPhase::Running => "it is still running, or is tried again".to_owned(),
        JobPhase::OutOfMemory => "it ran out of memory before it came to a verdict".to_owned(),
        JobPhase::TimedOut { waiting } => match waiting {
            Some(waiting) => format!("its time was up before it ran: {waiting}"),
            None => "its time was up before it came to a verdict".to_owned(),
        },
        JobPhase::NotStarted { waiting } => match waiting {
            Some(waiting) => format!("it has never run: {waiting}"),
            None => "it has never run".to_owned(),
        },
        JobPhase::Unknown(why) => why.clone(),
    })
}

/// What to do about such a Job.
pub(super) fn next_step(state: &JobPhase) -> &'static str {
    match state {
        JobPhase::OutOfMemory => {
            "raise `preRolloutValidation.resources.limits.memory` in the values: haptic-scaffold recover --rejected VERSION --values FILE"
        }
        JobPhase::TimedOut { .. } | JobPhase::NotStarted { .. } => {
            "see why its pod doesn't run: kubectl describe pod -l job-name=NAME -n NAMESPACE; the controller tries again once that is mended"
        }
        JobPhase::Running => {
            "wait until it has ended (kubectl get job NAME -n NAMESPACE --watch), and ask again"
        }
        JobPhase::Rejected | JobPhase::Succeeded | JobPhase::Unknown(_) => {
            "if somebody knows better: `--rejected VERSION`"
        }
    }
}

/// The version that `--rejected` names.
pub(super) fn given(text: &str) -> Result<Version, Problem> {
    let plain = without_digest(text.trim());
    let range = Range::parse(plain).ok();
    let exact = range.and_then(|range| range.exact().cloned());
    exact.ok_or_else(|| {
        Problem::usage(format!(
            "`--rejected {text}` is not one version, and only one was rejected"
        ))
        .hint("name it whole: --rejected 0.2.1")
    })
}

/// What somebody says was rejected.
pub(super) fn said(version: Version, units: &[Unit]) -> Rejection {
    Rejection {
        date: since(&version, units),
        version,
        cause: None,
        evidence: None,
        found: Found::Flag,
        how: "it was said by hand (`--rejected`)".to_owned(),
        log: None,
    }
}

/// When a version came to the pins: the date of a rejection that has no evidence of its own.
pub(super) fn since(version: &Version, units: &[Unit]) -> Option<String> {
    let has = |unit: &&Unit| {
        let highest = unit.highest();
        highest.is_some_and(|one| one.version.cmp_precedence(version).is_eq())
    };
    let highest = units.iter().find(has)?.highest()?;
    moment(highest.since)
}

/// What Git says was tried last: the highest version that a pin has had.
pub(super) fn proposed(units: &[Unit]) -> Option<Rejection> {
    let all = units.iter().filter_map(Unit::highest);
    let highest = all.max_by(|one, other| one.version.cmp_precedence(&other.version))?;
    let went_back = units
        .iter()
        .any(|unit| unit.standing(&highest.version) == Standing::WentBack);
    let mut how = "it is the highest version that the pin has had on this branch".to_owned();
    if let Some(far) = highest.end.told() {
        how.push_str(&format!(", {far}"));
    }
    if went_back {
        how.push_str(", and it was taken back");
    }
    Some(Rejection {
        version: highest.version.clone(),
        cause: None,
        date: moment(highest.since),
        evidence: None,
        found: Found::Git,
        how,
        log: None,
    })
}
