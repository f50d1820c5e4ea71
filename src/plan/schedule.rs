//! [`Schedule`]: when requests are opened and changed.

use anyhow::Result;

use crate::error::Problem;

const DAY: i64 = 24 * 60;
const WEEK: i64 = 7 * DAY;
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Windows of a week; without any it is always open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    windows: Vec<Window>,
}

/// One window: days on which it starts, and minutes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Window {
    days: [bool; 7],
    /// Minutes of the day at which it starts.
    from: i64,
    /// How many minutes it lasts; over midnight where it ends before it starts.
    lasts: i64,
    /// Minutes that the clock there is ahead of UTC.
    ahead: i64,
}

impl Schedule {
    /// Reads windows as `.haptic-scaffold.yaml` writes them: `[DAYS] [HH:MM-HH:MM] [+HH:MM]`.
    ///
    /// # Errors
    /// When a text is no window.
    pub fn parse(texts: &[String]) -> Result<Self> {
        let windows = texts.iter().map(|text| {
            window(text).ok_or_else(|| {
                Problem::invalid(format!("`requests.schedule` has `{text}`, which is no window"))
                    .hint("write days, hours or both: `mon-fri 07:00-18:00`, `sat,sun`, `22:00-04:00 +02:00`")
                    .into()
            })
        });
        Ok(Self {
            windows: windows.collect::<Result<_>>()?,
        })
    }

    /// Whether it is open at a time (seconds since 1970).
    pub fn is_open(&self, now: i64) -> bool {
        let is_in = |window: &Window| {
            // 1 January 1970 was a Thursday.
            let minute = (now.div_euclid(60) + window.ahead + 3 * DAY).rem_euclid(WEEK);
            let starts = window.days.iter().zip(0..).filter(|(is_on, _)| **is_on);
            let mut starts = starts.map(|(_, day)| day * DAY + window.from);
            starts.any(|start| (minute - start).rem_euclid(WEEK) < window.lasts)
        };
        self.windows.is_empty() || self.windows.iter().any(is_in)
    }
}

fn window(text: &str) -> Option<Window> {
    let mut it = Window {
        days: [true; 7],
        from: 0,
        lasts: DAY,
        ahead: 0,
    };
    let parts: Vec<&str> = text.split_whitespace().collect();
    let mut parts = parts.as_slice();
    if let [first, rest @ ..] = parts
        && let Some(days) = days(first)
    {
        it.days = days;
        parts = rest;
    }
    if let [first, rest @ ..] = parts
        && let Some((from, to)) = first.split_once('-')
        && first.contains(':')
        && !first.starts_with('-')
    {
        it.from = minutes(from)?;
        let to = minutes(to)?;
        it.lasts = if to > it.from {
            to - it.from
        } else {
            DAY - it.from + to
        };
        parts = rest;
    }
    if let [first, rest @ ..] = parts {
        it.ahead = match (first.strip_prefix('+'), first.strip_prefix('-')) {
            (Some(ahead), _) => minutes(ahead)?,
            (_, Some(behind)) => -minutes(behind)?,
            (None, None) if first.eq_ignore_ascii_case("utc") => 0,
            (None, None) => return None,
        };
        parts = rest;
    }
    (parts.is_empty() && !text.trim().is_empty()).then_some(it)
}

fn days(text: &str) -> Option<[bool; 7]> {
    let day = |name: &str| DAYS.iter().position(|day| day.eq_ignore_ascii_case(name));
    let mut days = [false; 7];
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (day(from)?, day(to)?);
        let count = (to + 7 - from) % 7;
        (0..=count).for_each(|step| days[(from + step) % 7] = true);
    }
    Some(days)
}

fn minutes(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let is_time =
        (0..24).contains(&hours) && (0..60).contains(&minutes) || (hours, minutes) == (24, 0);
    is_time.then_some(hours * 60 + minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Monday, 30 November 2026, 00:00 UTC.
    const MONDAY: i64 = 1_795_996_800;

    fn is_open(text: &str, day: i64, hour: i64) -> bool {
        let schedule = Schedule::parse(&[text.to_owned()]).unwrap();
        schedule.is_open(MONDAY + day * 86_400 + hour * 3_600)
    }

    #[test]
    fn windows_are_open_on_their_days_and_hours() {
        let cases = [
            ("mon-fri 07:00-18:00", 0, 7, true),
            ("mon-fri 07:00-18:00", 0, 18, false),
            ("mon-fri 07:00-18:00", 4, 12, true),
            ("mon-fri 07:00-18:00", 5, 12, false),
            ("sat,sun", 5, 0, true),
            ("sat,sun", 6, 23, true),
            ("sat,sun", 0, 0, false),
            ("fri-mon", 2, 1, false),
            ("fri-mon", 6, 1, true),
            ("22:00-04:00", 3, 23, true),
            ("22:00-04:00", 3, 3, true),
            ("22:00-04:00", 3, 4, false),
            ("sun 22:00-04:00", 0, 3, true),
            ("sun 22:00-04:00", 6, 3, false),
            ("mon 00:00-02:00 +02:00", -1, 22, true),
            ("mon 00:00-02:00 +02:00", 0, 0, false),
            ("mon 20:00-24:00 -03:00", 1, 2, true),
            ("Mon UTC", 0, 12, true),
        ];
        for (text, day, hour, wanted) in cases {
            assert_eq!(
                is_open(text, day, hour),
                wanted,
                "{text}: day {day}, {hour}:00"
            );
        }
        assert!(Schedule::parse(&[]).unwrap().is_open(MONDAY));
    }

    #[test]
    fn what_is_no_window_is_refused() {
        for text in [
            "",
            "workdays",
            "mon-",
            "7-18",
            "25:00-26:00",
            "mon 07:00",
            "mon 07:00-08:00 Berlin",
            "mon 1:00-2:00 +1",
        ] {
            assert!(Schedule::parse(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
