//! Which version a pin may get: what is published, as far as the team's decisions allow it.

use semver::Version;
use time::OffsetDateTime;

use super::published::{Known, Published};
use crate::model::chart::ChartRef;
use crate::pins::{Form, Newest, Pin, newest, tag_prefix};
use crate::plan::policy::ChartRule;

/// A source that doesn't list ages is asked for so many, and no further.
const MOST_ASKED: usize = 10;

/// Asks for the newest version of a pin that its rule allows. A version that is too young is passed over, and so is one of unknown age where an age is asked for.
///
/// # Errors
/// Why the chart's source couldn't be asked.
pub fn allowed(
    published: &mut Published<'_>,
    chart: &ChartRef,
    pin: &Pin,
    rule: &mut ChartRule,
    now: i64,
) -> Result<Newest, String> {
    let known = published.of(chart).map_err(str::to_owned)?.to_vec();
    let versions = versions_of(&known);
    // `0d` lifts what all charts have.
    let Some(age) = rule.minimum_age.filter(|age| *age > 0) else {
        return Ok(newest(pin, &versions, &rule.rule));
    };
    let too_young = |created: OffsetDateTime| {
        (now - created.unix_timestamp() < age).then(|| {
            format!(
                "is published since {}, and has to be for {}",
                day(created),
                length(age)
            )
        })
    };
    for one in &known {
        if let Some(why) = one.created.and_then(too_young) {
            rule.rule.young.insert(one.version.clone(), why);
        }
    }
    let mut asked = 0;
    loop {
        let newest = newest(pin, &versions, &rule.rule);
        let Some(version) = newest.version.clone().filter(|_| newest.is_newer) else {
            return Ok(newest);
        };
        let one = known.iter().find(|known| known.version == version);
        let text = one.map_or_else(|| version.to_string(), |known| known.text.clone());
        let why = match published.created(chart, &text)? {
            Some(created) => match too_young(created) {
                Some(why) => why,
                None => return Ok(newest),
            },
            None => format!(
                "has to be published for {}, and its source doesn't say since when it is",
                length(age)
            ),
        };
        rule.rule.young.insert(version, why);
        asked += 1;
        if asked == MOST_ASKED {
            let undated = known.iter().filter(|one| one.created.is_none());
            for one in undated {
                let why = format!(
                    "has to be published for {}, and {MOST_ASKED} newer ones aren't or don't say so",
                    length(age)
                );
                rule.rule.young.entry(one.version.clone()).or_insert(why);
            }
        }
    }
}

/// Asks for the newest tag of a Git repository that the rule of the chart in it allows, and returns its text too.
///
/// # Errors
/// Why the repository couldn't be asked.
pub fn allowed_tag(
    published: &mut Published<'_>,
    address: &str,
    pin: &Pin,
    rule: &ChartRule,
) -> Result<(Newest, Option<String>), String> {
    let Some(prefix) = tag_prefix(&pin.value) else {
        return Ok((newest(pin, &[], &rule.rule), None));
    };
    let known = published.tags(address, prefix)?;
    let behind = Pin {
        value: pin.value[prefix.len()..].to_owned(),
        form: Form::Exact,
        ..pin.clone()
    };
    let mut newest = newest(&behind, &versions_of(&known), &rule.rule);
    let age = rule.minimum_age.filter(|age| *age > 0);
    if let (true, Some(age), Some(version)) = (newest.is_newer, age, &newest.version) {
        newest.why = Some(format!(
            "{version} has to be published for {}, and tags don't say since when they are",
            length(age)
        ));
        newest.is_newer = false;
    }
    let is = |known: &&Known| newest.version.as_ref() == Some(&known.version);
    let text = known.iter().find(is).map(|known| known.text.clone());
    Ok((newest, text))
}

/// The versions without their texts.
pub fn versions_of(known: &[Known]) -> Vec<Version> {
    known.iter().map(|known| known.version.clone()).collect()
}

/// A moment's day, in UTC.
pub fn day(moment: OffsetDateTime) -> String {
    moment.to_offset(time::UtcOffset::UTC).date().to_string()
}

/// Seconds as people say them.
pub fn length(seconds: i64) -> String {
    let (number, unit) = if seconds % 86_400 == 0 {
        (seconds / 86_400, "day")
    } else {
        (seconds / 3_600, "hour")
    };
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural}")
}
