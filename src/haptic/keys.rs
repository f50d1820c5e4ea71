//! Checks of a values document against one chart version.
//!
//! Owns the findings and the keys that depend on the version; what no version should be given is
//! in `hazards.rs`. It must not read the document: callers hand it over parsed. It doesn't
//! replace the chart's own schema, which catches misspelt keys from 0.4 on. Start from
//! [`check_values`].

use std::cmp::Ordering;

use semver::{Prerelease, Version};
use serde_json::Value;

use super::hazards::hazards;
pub use super::moved::{Moved, moved_in_0_2, renamed_in_0_3};
use super::versions::is_snapshot;

/// One key that is wrong for the version or for a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFinding {
    /// The key's route, dots between the keys.
    pub route: String,
    /// What is wrong with it; doesn't repeat the route.
    pub message: String,
    /// What to do instead.
    pub hint: String,
    /// Whether the values must not be used; otherwise it is a warning.
    pub refuse: bool,
}

/// Must be a boolean from 0.3 on (chart template `_controller.tpl`).
const SSL_REDIRECT: &str = "controller.config.templatingSettings.extraContext.sslRedirectDefault";

/// Returns what is wrong with the values for this version of the chart.
///
/// A snapshot of the main branch is treated as 0.5.0.
pub fn check_values(values: &Value, version: &Version) -> Vec<KeyFinding> {
    let mut findings = Vec::new();
    if at_least(version, 2) {
        findings.extend(moved_keys(values, moved_in_0_2(), "0.2.0"));
    } else {
        findings.extend(keys_of_0_2(values));
    }
    if at_least(version, 3) {
        findings.extend(moved_keys(values, renamed_in_0_3(), "0.3.0"));
        findings.extend(ssl_redirect(values));
    } else {
        findings.extend(names_of_0_3(values));
    }
    findings.extend(hazards(values));
    findings
}

/// Returns the old keys that are there although the version refuses them.
///
/// A key without a value counts too: the templates ask whether the key exists.
fn moved_keys(values: &Value, table: &[Moved], since: &str) -> Vec<KeyFinding> {
    let finding = |moved: &Moved, route: String| {
        let message = format!("the chart refuses this key since {since}");
        if moved.has_new_route() {
            refusal(&route, message, &format!("use `{}`", moved.to))
        } else {
            refusal(&route, message, moved.to)
        }
    };
    table
        .iter()
        .flat_map(|moved| {
            let found = find(values, moved.route).into_iter();
            found.map(move |(route, _)| finding(moved, route))
        })
        .collect()
}

/// Returns the keys of 0.2 that are there although the version is older (upgrade notes 0.2).
fn keys_of_0_2(values: &Value) -> Vec<KeyFinding> {
    let table = [
        ("defaultSSLCertificate", "controller.defaultSSLCertificate"),
        ("controller.webhook", "webhook"),
    ];
    table
        .into_iter()
        .filter(|(route, _)| lookup(values, route).is_some())
        .map(|(route, before)| {
            let message = "not read before 0.2.0".to_owned();
            refusal(route, message, &format!("use `{before}`, or a newer chart"))
        })
        .collect()
}

/// Returns the names of 0.3 that are there although the version is older.
fn names_of_0_3(values: &Value) -> Vec<KeyFinding> {
    renamed_in_0_3()
        .iter()
        // 0.2 reads this key too, for the global HSTS header.
        .filter(|moved| !moved.to.ends_with(".tls.hsts.maxAge"))
        .filter(|moved| lookup(values, moved.to).is_some())
        .map(|moved| {
            let message = "not read before 0.3.0".to_owned();
            warning(
                moved.to,
                message,
                &format!("use `{}`, or a newer chart", moved.route),
            )
        })
        .collect()
}

/// Returns a finding for a redirect switch that isn't a boolean: it would never turn it on.
fn ssl_redirect(values: &Value) -> Option<KeyFinding> {
    let value = lookup(values, SSL_REDIRECT)?;
    (!value.is_boolean()).then(|| {
        refusal(
            SSL_REDIRECT,
            "must be a boolean".to_owned(),
            "write `true` or `false`, unquoted",
        )
    })
}

/// Returns whether the version is of this minor of major 0, an alpha of it included, or later.
fn at_least(version: &Version, minor: u64) -> bool {
    if is_snapshot(version) {
        return minor <= 5;
    }
    let pre = Prerelease::new("0").expect("0 is a valid pre-release");
    let first = Version {
        pre,
        ..Version::new(0, minor, 0)
    };
    version.cmp_precedence(&first) != Ordering::Less
}

/// Returns the value at a route without wildcards.
pub(super) fn lookup<'a>(values: &'a Value, route: &str) -> Option<&'a Value> {
    route.split('.').try_fold(values, |node, key| node.get(key))
}

/// Returns whether the value at the route is something other than null or an empty string.
pub(super) fn is_set(values: &Value, route: &str) -> bool {
    lookup(values, route).is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
}

/// Returns every value that a route matches, with the real route: `*` matches any one key.
fn find<'a>(values: &'a Value, route: &str) -> Vec<(String, &'a Value)> {
    let mut found = vec![(String::new(), values)];
    for key in route.split('.') {
        found = found
            .into_iter()
            .flat_map(|(route, node)| {
                children(node, key).map(move |(name, child)| {
                    let dot = if route.is_empty() { "" } else { "." };
                    (format!("{route}{dot}{name}"), child)
                })
            })
            .collect();
    }
    found
}

/// Returns the children of a map that have this key, or all of them for `*`.
fn children<'a>(node: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let map = node.as_object().into_iter().flatten();
    map.filter(move |(name, _)| key == "*" || *name == key)
}

/// Builds a finding that forbids the values.
pub(super) fn refusal(route: &str, message: String, hint: &str) -> KeyFinding {
    KeyFinding {
        route: route.to_owned(),
        message,
        hint: hint.to_owned(),
        refuse: true,
    }
}

/// Builds a finding that warns.
pub(super) fn warning(route: &str, message: String, hint: &str) -> KeyFinding {
    KeyFinding {
        refuse: false,
        ..refusal(route, message, hint)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns route and severity of each finding.
    fn check(version: &str, values: &Value) -> Vec<(String, bool)> {
        check_values(values, &Version::parse(version).unwrap())
            .into_iter()
            .map(|finding| (finding.route, finding.refuse))
            .collect()
    }

    fn one(route: &str, refuse: bool) -> Vec<(String, bool)> {
        vec![(route.to_owned(), refuse)]
    }

    /// Returns a document with a value at the route.
    fn nested(route: &str, value: Value) -> Value {
        route
            .rsplit('.')
            .fold(value, |inner, key| json!({ key: inner }))
    }

    #[test]
    fn values_of_the_guide_pass() {
        let values = json!({
            "credentials": {"existingSecret": "haptic-gitops-credentials"},
            "controller": {"webhook": {
                "secretName": "haptic-gitops-webhook",
                "caBundle": "QQ==",
                "certManager": {"enabled": false},
            }},
            "defaultSSLCertificate": {
                "secretName": "haptic-gitops-frontend",
                "certManager": {"enabled": false},
            },
        });
        for version in ["0.2.0", "0.5.0", "0.10.0", "0.0.0-main.a1b2c3d"] {
            assert!(check(version, &values).is_empty(), "{version}");
        }
    }

    #[test]
    fn every_moved_key_is_refused_from_0_2_on() {
        for moved in moved_in_0_2() {
            let route = moved.route.replace('*', "debug");
            let values = nested(&route, json!({}));
            for version in ["0.2.0-alpha.4", "0.2.0", "0.9.0", "0.0.0-main.a1b2c3d"] {
                let findings = check(version, &values);
                assert_eq!(findings, one(&route, true), "{version}");
            }
            assert!(check("0.1.0", &values).is_empty(), "{route}");
        }
    }

    #[test]
    fn moved_key_without_a_value_is_refused_too() {
        assert_eq!(
            check("0.5.0", &json!({"webhook": null})),
            one("webhook", true)
        );
    }

    #[test]
    fn moved_key_names_its_replacement() {
        let version = Version::new(0, 5, 0);
        let findings = check_values(&json!({"webhook": {}}), &version);
        assert_eq!(
            findings[0].message,
            "the chart refuses this key since 0.2.0"
        );
        assert_eq!(findings[0].hint, "use `controller.webhook`");
        let findings = check_values(&json!({"haproxy": {"dataplaneBin": "x"}}), &version);
        assert_eq!(
            findings[0].hint,
            "remove it: the agent runs from `controller.image`"
        );
    }

    #[test]
    fn keys_of_0_2_are_refused_before_it() {
        for route in ["defaultSSLCertificate", "controller.webhook"] {
            let values = nested(route, json!({"secretName": "x"}));
            assert_eq!(check("0.1.0", &values), one(route, true));
            assert!(check("0.2.0", &values).is_empty());
        }
    }

    #[test]
    fn renamed_keys_follow_the_version() {
        for moved in renamed_in_0_3() {
            let before = nested(moved.route, json!("5000"));
            assert!(check("0.2.2", &before).is_empty());
            for version in ["0.3.0-alpha.1", "0.3.0", "0.0.0-main.a1b2c3d"] {
                assert_eq!(check(version, &before), one(moved.route, true));
            }
            let after = nested(moved.to, json!(true));
            assert!(check("0.3.0", &after).is_empty());
            let expected = if moved.to.ends_with("maxAge") {
                Vec::new()
            } else {
                one(moved.to, false)
            };
            assert_eq!(check("0.2.2", &after), expected);
        }
    }

    #[test]
    fn quoted_ssl_redirect_is_refused() {
        let values = nested(SSL_REDIRECT, json!("true"));
        assert_eq!(check("0.3.0", &values), one(SSL_REDIRECT, true));
    }

    #[test]
    fn hazards_are_found_in_every_version() {
        let route = "credentials.dataplane.password";
        let values = nested(route, json!("hunter2"));
        for version in ["0.1.0", "0.5.0", "0.10.0", "0.0.0-main.a1b2c3d"] {
            assert_eq!(check(version, &values), one(route, true), "{version}");
        }
    }

    #[test]
    fn values_that_are_no_map_have_no_findings() {
        assert!(check("0.5.0", &Value::Null).is_empty());
        assert!(check("0.5.0", &json!(["webhook"])).is_empty());
    }
}
