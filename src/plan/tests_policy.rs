//! A policy as it is written, and what comes of it.

use super::*;
use crate::error::Report;
use crate::layout::recorded::parse;

fn policy(text: &str) -> Result<Policy> {
    Policy::of(&parse(text, "f.yaml")?, "f.yaml", text)
}

fn rule(policy: &Policy, name: &str) -> ChartRule {
    policy.rule(name, &format!("oci://r.example.org/x/{name}"))
}

#[test]
fn a_chart_has_its_own_rule_and_what_all_have() {
    let policy = policy(
        "upgrade:\n  charts:\n    '*': {minimum_age: 3d, ranges: widen, ignored: ['9.x']}\n    web:\n      range: 1.x\n      ranges: leave\n      group: front\n      ignored: [1.2.3, {versions: '>=1.4 <1.5', reason: broken}]\n",
    )
    .unwrap();
    let web = rule(&policy, "web");
    assert_eq!(web.minimum_age, Some(3 * 86_400));
    assert_eq!(web.group.as_deref(), Some("front"));
    assert_eq!(web.rule.ranges, crate::model::policy::Ranges::Leave);
    let against = |text: &str| web.rule.against(&Version::parse(text).unwrap());
    assert_eq!(against("1.2.3"), Some("is ignored by `f.yaml`"));
    assert_eq!(against("1.4.7"), Some("is ignored: broken"));
    assert_eq!(against("9.1.0"), Some("is ignored by `f.yaml`"));
    assert_eq!(against("1.5.0"), None);
    let other = rule(&policy, "other");
    assert_eq!(other.rule.ranges, crate::model::policy::Ranges::Widen);
    assert!(other.rule.range.is_none());
}

#[test]
fn rejections_are_of_one_chart_and_version() {
    let policy = policy(
        "rejected:\n- {chart: web, version: 0.2.1, reason: timeouts, date: 2026-11-02}\n- {chart: 'oci://r.example.org/x/web', version: 0.2.2}\n",
    )
    .unwrap();
    let web = rule(&policy, "web");
    let why = |text: &str| web.rejection(&Version::parse(text).unwrap());
    assert_eq!(why("0.2.1"), Some("was rejected on 2026-11-02: timeouts"));
    assert_eq!(why("0.2.2"), Some("was rejected"));
    assert_eq!(why("0.2.3"), None);
    assert!(rule(&policy, "other").rejected.is_empty());
}

#[test]
fn environments_are_said_or_those_of_the_clusters() {
    let said = policy(
        "answers: {clusters: [a, b]}\nupgrade:\n  environments:\n  - {name: staging, paths: [envs/staging]}\n  - {name: production, paths: ['envs/prod-*/'], after: 3d}\n  - {name: far, paths: [far.yaml], after: command}\n",
    )
    .unwrap();
    let of = |policy: &Policy, path: &str| policy.environment(&RepoPath::parse(path).unwrap());
    assert_eq!(of(&said, "envs/prod-eu/a.yaml"), Some(1));
    assert_eq!(of(&said, "far.yaml"), Some(2));
    assert_eq!(of(&said, "a/x.yaml"), None);
    assert_eq!(said.environments[1].after, After::Seconds(3 * 86_400));
    assert_eq!(said.environments[2].after, After::Command);
    let stages = policy("answers: {clusters: [dev=staging, two=staging, prod]}\n").unwrap();
    assert_eq!(of(&stages, "apps/x/two/pin.yaml"), Some(0));
    assert_eq!(of(&stages, "clusters/prod/x.yaml"), Some(1));
    assert_eq!(of(&stages, "apps/base/x.yaml"), None);
    assert!(
        policy("answers: {clusters: [one]}\n")
            .unwrap()
            .environments
            .is_empty()
    );
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let cases = [
        (
            "upgrade:\n  charts:\n    web:\n      range: '>>'\n",
            "f.yaml:4: `>>` is no range of versions",
        ),
        (
            "upgrade:\n  charts:\n    web:\n      minimum_age: 3 m\n",
            "f.yaml:4: `3 m` is no length of time",
        ),
        (
            "upgrade:\n  charts:\n    web:\n      minimumAge: 3d\n",
            "f.yaml:4: unknown key `minimumAge`",
        ),
        (
            "upgrade:\n  environments:\n  - {name: a, paths: [x], afer: 3d}\n",
            "f.yaml:3: unknown key `afer`",
        ),
        (
            "rejected:\n- {chart: web, version: latest}\n",
            "f.yaml:1: `latest` is no version",
        ),
    ];
    for (text, message) in cases {
        let error = policy(text).expect_err(text);
        let report = Report::of(&error);
        assert_eq!(report.message, message);
        assert!(!report.hints.is_empty(), "{text}");
    }
}
