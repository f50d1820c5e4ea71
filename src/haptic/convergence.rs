//! Whether the pods of a release run what was installed: Deployments, and what HAPTIC says of its configuration.
//!
//! "A successful Helm command alone doesn't prove traffic has converged" (the guide). Source of the conditions: the notes
//! of 0.2 and 0.3, `Validated` of HAProxyTemplateConfig, `ConfigValidated` and `ConfigPinned` of HAProxyCfg. It judges
//! objects that others have read.

use serde_json::Value;

use crate::model::condition::Condition;

/// The condition of a HAProxyTemplateConfig that must not be false.
const VALIDATED: &str = "Validated";

/// Says in words what isn't as it has to be after an upgrade, an entry for each object and cause. Conditions that aren't
/// there are no fault: older versions have fewer.
pub fn unconverged(deployments: &[Value], configs: &[Value], cfgs: &[Value]) -> Vec<String> {
    let rollouts = deployments.iter().filter_map(|deployment| {
        let reason = not_rolled_out(deployment)?;
        Some(format!(
            "{} is not rolled out: {reason}",
            named("Deployment", deployment)
        ))
    });
    let validated = configs.iter().flat_map(|config| {
        let conditions = Condition::all(config).filter(|condition| condition.kind == VALIDATED);
        false_ones(conditions, named("HAProxyTemplateConfig", config))
    });
    let pinned = cfgs
        .iter()
        .flat_map(|cfg| false_ones(Condition::all(cfg), named("HAProxyCfg", cfg)));
    rollouts.chain(validated).chain(pinned).collect()
}

fn named(kind: &str, object: &Value) -> String {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    format!("the {kind} `{}/{}`", text("namespace"), text("name"))
}

fn false_ones<'a>(
    conditions: impl Iterator<Item = Condition<'a>>,
    owner: String,
) -> impl Iterator<Item = String> {
    conditions
        .filter(Condition::is_false)
        .map(move |condition| {
            let words: Vec<&str> = [condition.reason, condition.message]
                .into_iter()
                .filter(|word| !word.is_empty())
                .collect();
            let why = if words.is_empty() {
                String::new()
            } else {
                format!(" ({})", words.join(": "))
            };
            format!("{owner} has the condition {} = False{why}", condition.kind)
        })
}

/// The rule of `kubectl rollout status`.
fn not_rolled_out(deployment: &Value) -> Option<String> {
    let status = &deployment["status"];
    let count = |key: &str| status[key].as_u64().unwrap_or_default();
    let wanted = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
    let (all, new, ready) = (
        count("replicas"),
        count("updatedReplicas"),
        count("availableReplicas"),
    );
    let generation = deployment["metadata"]["generation"].as_i64();
    let observed = status["observedGeneration"].as_i64();
    if generation.is_some_and(|generation| observed.is_none_or(|observed| observed < generation)) {
        return Some("its newest spec has not been looked at yet".to_owned());
    }
    let stuck = Condition::find(deployment, "Progressing").filter(Condition::is_false);
    if let Some(stuck) = stuck {
        return Some(format!("{}: {}", stuck.reason, stuck.message));
    }
    if deployment["spec"]["paused"].as_bool() == Some(true) && new < wanted {
        return Some("it is paused".to_owned());
    }
    if new < wanted {
        return Some(format!("{new} of {wanted} pods are new"));
    }
    if all > new {
        return Some(format!("{} old pods are left", all - new));
    }
    (ready < new).then(|| format!("{ready} of {new} new pods are ready"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment(spec: &Value, status: &Value) -> Value {
        json!({ "metadata": { "name": "haptic-controller", "namespace": "haptic", "generation": 3 }, "spec": spec, "status": status })
    }

    #[test]
    fn a_rollout_is_done_when_only_new_pods_are_there_and_ready() {
        let cases = [
            (
                json!({ "observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2 }),
                None,
            ),
            (
                json!({ "observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2 }),
                Some("its newest spec has not been looked at yet"),
            ),
            (
                json!({ "observedGeneration": 3, "replicas": 3, "updatedReplicas": 1, "availableReplicas": 2 }),
                Some("1 of 2 pods are new"),
            ),
            (
                json!({ "observedGeneration": 3, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 3 }),
                Some("1 old pods are left"),
            ),
            (
                json!({ "observedGeneration": 3, "replicas": 2, "updatedReplicas": 2 }),
                Some("0 of 2 new pods are ready"),
            ),
            (
                json!({}),
                Some("its newest spec has not been looked at yet"),
            ),
            (
                json!({ "observedGeneration": 3, "conditions": [{ "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "has timed out progressing." }] }),
                Some("ProgressDeadlineExceeded: has timed out progressing."),
            ),
        ];
        for (status, reason) in cases {
            let wanted = reason.map(|reason| {
                format!("the Deployment `haptic/haptic-controller` is not rolled out: {reason}")
            });
            let deployment = deployment(&json!({ "replicas": 2 }), &status);
            let told = unconverged(std::slice::from_ref(&deployment), &[], &[]);
            assert_eq!(told, Vec::from_iter(wanted), "{status}");
        }
        let none = deployment(
            &json!({ "replicas": 0 }),
            &json!({ "observedGeneration": 3 }),
        );
        assert!(unconverged(&[none], &[], &[]).is_empty());
    }

    #[test]
    fn a_false_condition_is_told_and_a_missing_one_is_fine() {
        let object = |name: &str, conditions: &Value| json!({ "metadata": { "name": name, "namespace": "haptic" }, "status": { "conditions": conditions } });
        let config = object(
            "haptic-config",
            &json!([
                { "type": "Validated", "status": "False", "reason": "LoadGateFailed", "message": "timeout is no duration" },
                { "type": "Other", "status": "False" },
            ]),
        );
        let cfg = object(
            "haptic-config-haproxycfg",
            &json!([
                { "type": "ConfigValidated", "status": "True" },
                { "type": "ConfigPinned", "status": "False" },
                { "type": "New", "status": "Unknown" },
            ]),
        );
        assert_eq!(
            unconverged(&[], &[config], &[cfg]),
            [
                "the HAProxyTemplateConfig `haptic/haptic-config` has the condition Validated = False (LoadGateFailed: timeout is no duration)",
                "the HAProxyCfg `haptic/haptic-config-haproxycfg` has the condition ConfigPinned = False",
            ]
        );
        let bare = json!({ "metadata": { "name": "haptic-config", "namespace": "haptic" } });
        assert!(
            unconverged(
                &[],
                std::slice::from_ref(&bare),
                std::slice::from_ref(&bare)
            )
            .is_empty()
        );
    }
}
