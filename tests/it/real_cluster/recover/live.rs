//! [`Live`]: what runs in the release's namespace, for a comparison.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::field::{Field, text};

/// The objects of a moment, by name.
#[derive(Debug)]
pub struct Live {
    deployments: BTreeMap<String, Deployment>,
    /// Their uids; those of hooks aren't among them.
    pods: BTreeMap<String, String>,
    /// Identity, version and content, without those that Helm or a hook makes anew each time.
    secrets: BTreeMap<String, [String; 3]>,
}

#[derive(Debug, PartialEq, Eq)]
struct Deployment {
    uid: String,
    generation: i64,
    version: String,
    images: Vec<String>,
}

impl Live {
    pub fn of(field: &Field) -> Self {
        let all = |kind| field.list(kind, "haptic").expect("asks");
        let deployments = all("deployment").iter().map(deployment).collect();
        let pods = all("pod");
        let pods = pods.iter().filter(|pod| owner(pod) != "Job");
        let pods = pods.map(|pod| (name(pod), text(pod, "/metadata/uid").to_owned()));
        let secrets = all("secret");
        let secrets = secrets.iter().filter(|secret| {
            let name = name(secret);
            !name.starts_with("sh.helm.release.") && !name.ends_with("-pre-rollout-values")
        });
        let secrets = secrets.map(|secret| {
            let part = |pointer| text(secret, pointer).to_owned();
            let data = secret["data"].to_string();
            let all = [
                part("/metadata/uid"),
                part("/metadata/resourceVersion"),
                data,
            ];
            (name(secret), all)
        });
        let live = Self {
            deployments,
            pods: pods.collect(),
            secrets: secrets.collect(),
        };
        assert_eq!(live.deployments.len(), 2, "{live:?}");
        assert!(live.pods.len() >= 2 && live.secrets.len() >= 3, "{live:?}");
        live
    }

    /// Nothing is another one, and nothing has changed.
    #[track_caller]
    pub fn is(&self, before: &Self, after: &str) {
        assert_eq!(
            self.deployments, before.deployments,
            "Deployments were touched by {after}"
        );
        self.has_the_same_secrets_and_pods(before);
    }

    #[track_caller]
    pub fn has_the_same_secrets_and_pods(&self, before: &Self) {
        assert_eq!(self.pods, before.pods, "other pods");
        assert!(
            self.secrets == before.secrets,
            "Secrets were touched: {:?} {:?}",
            self.secrets.keys(),
            before.secrets.keys()
        );
    }

    /// The same Deployments with the image of a version, other pods, and the same Secrets.
    #[track_caller]
    pub fn was_rolled_out_since(&self, before: &Self, version: &str) {
        for (name, now) in &self.deployments {
            let then = &before.deployments[name];
            assert_eq!(now.uid, then.uid, "{name} was made anew");
            assert!(now.generation > then.generation, "{name}: {now:?} {then:?}");
            let is_of = |image: &String| image.contains(&format!(":{version}-"));
            assert!(now.images.iter().any(is_of), "{name}: {now:?}");
        }
        let kept = |uid: &&String| before.pods.values().any(|old| old == *uid);
        assert_eq!(self.pods.values().find(kept), None, "a pod is the old one");
        let data = |live: &Self| -> Vec<(String, String)> {
            let secrets = live.secrets.iter();
            secrets
                .map(|(name, [_, _, data])| (name.clone(), data.clone()))
                .collect()
        };
        assert!(data(self) == data(before), "other contents of Secrets");
    }
}

fn deployment(object: &Value) -> (String, Deployment) {
    let containers = object.pointer("/spec/template/spec/containers");
    let containers = containers.and_then(Value::as_array).into_iter().flatten();
    let deployment = Deployment {
        uid: text(object, "/metadata/uid").to_owned(),
        generation: object["metadata"]["generation"]
            .as_i64()
            .unwrap_or_default(),
        version: text(object, "/metadata/resourceVersion").to_owned(),
        images: containers
            .map(|one| text(one, "/image").to_owned())
            .collect(),
    };
    (name(object), deployment)
}

fn name(object: &Value) -> String {
    text(object, "/metadata/name").to_owned()
}

fn owner(object: &Value) -> &str {
    text(object, "/metadata/ownerReferences/0/kind")
}
