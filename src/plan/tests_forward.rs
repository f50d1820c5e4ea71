//! Which version comes after a rejected one.

use proptest::prelude::*;

use super::*;
use crate::pins::Barred;

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

fn all(texts: &str) -> Vec<Version> {
    texts.split_whitespace().map(version).collect()
}

const PUBLISHED: &str = "0.1.0 0.2.0 0.2.1 0.2.2 0.2.3-rc.1 0.3.0 0.3.1 0.7.0 0.9.0 0.10.0";

fn asked(rejected: &str, to: Option<&str>, published: &str) -> Result<Choice, Problem> {
    asked_with(rejected, to, Some(published), &ChartRule::default())
}

fn asked_with(
    rejected: &str,
    to: Option<&str>,
    published: Option<&str>,
    rule: &ChartRule,
) -> Result<Choice, Problem> {
    let rejected = version(rejected);
    let range = to.map(|to| Range::parse(to).unwrap());
    let wish = Wish {
        chart: "haptic",
        to: range.as_ref().zip(to),
        rejected: &rejected,
        highest: None,
        pinned: None,
        is_unfinished: false,
        takes_prereleases: false,
        rule,
    };
    choose(&wish, published.map(all).as_deref())
}

fn chosen(rejected: &str, to: Option<&str>) -> String {
    asked(rejected, to, PUBLISHED).unwrap().version.to_string()
}

fn refused(rejected: &str, to: &str) -> (u8, String) {
    let problem = asked(rejected, Some(to), PUBLISHED).unwrap_err();
    assert!(!problem.hints.is_empty(), "{problem}");
    let all = format!("{problem}\n{}", problem.hints.join("\n"));
    (problem.status.code(), all)
}

#[test]
fn the_newest_in_the_range_that_is_above() {
    assert_eq!(chosen("0.2.0", Some("0.2.x")), "0.2.2");
    assert_eq!(chosen("0.2.1", None), "0.2.2", "the same minor");
    assert_eq!(chosen("0.2.1", Some(">=0.2.0 <0.4")), "0.3.1");
    assert_eq!(chosen("0.2.1", Some("0.3.0")), "0.3.0");
    assert_eq!(chosen("0.2.2", Some("0.2.3-rc.1")), "0.2.3-rc.1");
}

#[test]
fn what_is_not_above_is_refused_with_the_reason() {
    for (to, code, says) in [
        ("0.2.0", 3, "lower than 0.2.1"),
        ("0.2.1", 3, "is what was rejected"),
        ("0.1.x", 3, "lower than 0.2.1"),
        ("<=0.2.1", 4, "nothing in `<=0.2.1`"),
        ("0.2.7", 4, "isn't published"),
        ("0.4.x", 4, "no version of `haptic` is in `0.4.x`"),
        ("0.0.0-main.a1b2c3d", 3, "snapshot"),
    ] {
        let (status, text) = refused("0.2.1", to);
        assert_eq!(status, code, "{to}: {text}");
        assert!(text.contains(says), "{to}: {text}");
    }
}

#[test]
fn nothing_newer_names_the_next_range_and_what_it_brings() {
    let (status, text) = refused("0.2.2", "0.2.x");
    assert_eq!(status, 4);
    assert!(
        text.contains("--to 0.3.x") && text.contains("0.3.1, 0.3.0"),
        "{text}"
    );
    assert!(text.contains("0.3: HTTP/3 is on by default"), "{text}");
    let (_, text) = refused("0.10.0", "0.10.x");
    assert!(text.contains("wait for a release"), "{text}");
}

#[test]
fn what_was_rejected_or_is_ignored_is_passed_over() {
    let rule = ChartRule {
        rejected: vec![(version("0.3.1"), "was rejected on 2026-11-02".to_owned())],
        rule: crate::pins::Rule {
            barred: vec![Barred {
                versions: Range::parse("0.2.2").unwrap(),
                why: "is ignored: too loud".to_owned(),
            }],
            ..Default::default()
        },
        ..ChartRule::default()
    };
    let of = |to| asked_with("0.2.1", Some(to), Some(PUBLISHED), &rule);
    let choice = of("<0.4").unwrap();
    assert_eq!(choice.version, version("0.3.0"));
    assert!(
        choice.why.contains("0.3.1 was rejected on 2026-11-02"),
        "{}",
        choice.why
    );
    let problem = of("0.2.x").unwrap_err();
    assert!(
        problem.message.contains("0.2.2 is ignored: too loud"),
        "{problem}"
    );
    assert_eq!(
        of("0.2.2").unwrap().version,
        version("0.2.2"),
        "named exactly"
    );
    assert_eq!(of("0.3.1").unwrap_err().status, ExitStatus::Invalid);
}

#[test]
fn the_highest_that_a_pin_had_counts_too() {
    let (rejected, highest) = (version("0.2.1"), version("0.2.2"));
    let mut rule = ChartRule::default();
    let going = |pinned: &str, published: &str, rule: &ChartRule| {
        let pinned = version(pinned);
        let wish = Wish {
            chart: "haptic",
            to: None,
            rejected: &rejected,
            highest: Some(&highest),
            pinned: Some(&pinned),
            is_unfinished: false,
            takes_prereleases: false,
            rule,
        };
        choose(&wish, Some(&all(published)))
    };
    // It was taken back, and nothing is wrong with it.
    let back = going("0.2.1", "0.2.1 0.2.2", &rule).unwrap();
    assert_eq!(back.version, highest);
    assert!(back.why.contains("isn't below 0.2.2"), "{}", back.why);
    assert!(back.remarks[0].contains("taken back"), "{:?}", back.remarks);
    assert_eq!(
        going("0.2.1", "0.2.2 0.2.3", &rule).unwrap().version,
        version("0.2.3")
    );
    // It is there still, or was rejected too.
    let nothing = going("0.2.2", "0.2.1 0.2.2", &rule).unwrap_err();
    assert_eq!(nothing.status, ExitStatus::Remote);
    rule.rejected
        .push((highest.clone(), "was rejected".to_owned()));
    let nothing = going("0.2.1", "0.2.1 0.2.2", &rule).unwrap_err();
    assert_eq!(nothing.status, ExitStatus::Remote);
    // Never below it.
    assert!(going("0.2.0", "0.2.1 0.2.2-rc.1", &rule).is_err());
}

#[test]
fn where_nobody_is_asked_one_version_has_to_be_named() {
    let rule = ChartRule::default();
    assert_eq!(
        asked_with("0.2.1", Some("0.2.2"), None, &rule)
            .unwrap()
            .version,
        version("0.2.2")
    );
    for to in [None, Some("0.2.x")] {
        assert_eq!(
            asked_with("0.2.1", to, None, &rule).unwrap_err().status,
            ExitStatus::Usage
        );
    }
    assert_eq!(
        asked_with("0.2.1", Some("0.2.0"), None, &rule)
            .unwrap_err()
            .status,
        ExitStatus::Invalid
    );
}

#[test]
fn what_was_left_half_way_goes_on_where_that_is_got_past() {
    let rejected = version("0.7.0");
    let unfinished = |to: &str| {
        let range = Range::parse(to).unwrap();
        let wish = Wish {
            chart: "haptic",
            to: Some((&range, to)),
            rejected: &rejected,
            highest: None,
            pinned: None,
            is_unfinished: true,
            takes_prereleases: false,
            rule: &ChartRule::default(),
        };
        choose(&wish, Some(&all(PUBLISHED)))
    };
    let none = unfinished(">=0.7.0 <0.10.0").unwrap_err();
    assert_eq!(none.status.code(), 4);
    let said = format!("{none} {}", none.hints.join(" "));
    assert!(
        said.contains("0.9.0 is refused for the same") && said.contains("0.10"),
        "{said}"
    );
    let version = |to: &str| unfinished(to).unwrap().version.to_string();
    assert_eq!(version(">=0.7.0"), "0.10.0");
    // Who names one knows better.
    assert_eq!(version("0.9.0"), "0.9.0");
}

#[test]
fn what_is_known_of_a_version_is_said() {
    let remarks = |rejected, to| {
        asked(rejected, Some(to), PUBLISHED)
            .unwrap()
            .remarks
            .join("\n")
    };
    assert!(remarks("0.2.0", "0.2.1").contains("LoadGateFailed"));
    assert!(!remarks("0.2.0", "0.2.2").contains("LoadGateFailed"));
    assert!(remarks("0.7.0", "0.9.0").contains("finish the current apply"));
    assert!(!remarks("0.9.0", "0.10.0").contains("may say"));
    assert!(remarks("0.2.2", "0.3.0").contains("HTTP/3"));
}

proptest! {
    #[test]
    fn no_choice_is_ever_lower_or_rejected(
        published in proptest::collection::vec("0\\.[0-4]\\.[0-4](-rc\\.[12])?", 0..12),
        rejected in "0\\.[0-4]\\.[0-4]",
        to in proptest::option::of("(0\\.[0-4]\\.x|>=0\\.[0-3]\\.0|0\\.[0-4]\\.[0-4]|\\*)"),
        other in "0\\.[0-4]\\.[0-4]",
    ) {
        let rule = ChartRule { rejected: vec![(version(&other), "was rejected".to_owned())], ..ChartRule::default() };
        let published = published.join(" ");
        match asked_with(&rejected, to.as_deref(), Some(&published), &rule) {
            Ok(choice) => {
                prop_assert!(choice.version > version(&rejected));
                prop_assert!(choice.version != version(&other));
                prop_assert!(all(&published).contains(&choice.version));
            }
            Err(problem) => {
                prop_assert!(matches!(problem.status.code(), 3 | 4));
                prop_assert!(!problem.hints.is_empty());
            }
        }
    }
}
