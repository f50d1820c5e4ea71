//! [`Resource`]: the kinds of objects that are read, a closed list without Secrets, and how a server says that it has one.

use serde::Deserialize;

/// A kind of objects that lie in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    kind: &'static str,
    plural: &'static str,
    group: &'static str,
    version: &'static str,
}

impl Resource {
    /// Flux: a Helm release.
    pub const HELM_RELEASE: Self = Self::of(
        "HelmRelease",
        "helmreleases",
        "helm.toolkit.fluxcd.io",
        "v2",
    );
    /// Flux: a chart in an OCI registry. The version that a `chartRef` leads to stands here.
    pub const OCI_REPOSITORY: Self = Self::of(
        "OCIRepository",
        "ocirepositories",
        "source.toolkit.fluxcd.io",
        "v1",
    );
    /// Flux: a chart of a Helm repository, made by helm-controller for `spec.chart` of a HelmRelease.
    pub const HELM_CHART: Self =
        Self::of("HelmChart", "helmcharts", "source.toolkit.fluxcd.io", "v1");
    /// Argo CD.
    pub const APPLICATION: Self =
        Self::of("Application", "applications", "argoproj.io", "v1alpha1");
    /// A Job.
    pub const JOB: Self = Self::of("Job", "jobs", "batch", "v1");
    /// A pod.
    pub const POD: Self = Self::of("Pod", "pods", "", "v1");
    /// A Deployment.
    pub const DEPLOYMENT: Self = Self::of("Deployment", "deployments", "apps", "v1");
    /// HAPTIC: the configuration. Its API's version is looked up where this one isn't served.
    pub const TEMPLATE_CONFIG: Self = Self::of(
        "HAProxyTemplateConfig",
        "haproxytemplateconfigs",
        "haproxy-haptic.org",
        "v1alpha1",
    );
    /// HAPTIC: what became of the configuration.
    pub const HAPROXY_CFG: Self = Self::of(
        "HAProxyCfg",
        "haproxycfgs",
        "haproxy-haptic.org",
        "v1alpha1",
    );

    const fn of(
        kind: &'static str,
        plural: &'static str,
        group: &'static str,
        version: &'static str,
    ) -> Self {
        Self {
            kind,
            plural,
            group,
            version,
        }
    }

    /// The kind, such as `HelmRelease`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The resource of rights and of addresses, such as `helmreleases`.
    pub fn plural(&self) -> &'static str {
        self.plural
    }

    /// The API group; empty for the core.
    pub fn group(&self) -> &'static str {
        self.group
    }

    /// The version of the API that is asked first.
    pub(super) fn version(&self) -> &'static str {
        self.version
    }

    /// Whether the server may lack it: an extension, and no part of every Kubernetes.
    pub(super) fn is_extension(&self) -> bool {
        self.group.contains('.')
    }

    /// The path of its objects in a version of its API: of one namespace, or of all.
    pub(super) fn path(&self, version: &str, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{}/{version}", self.group)
        };
        match namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{}", self.plural),
            None => format!("{root}/{}", self.plural),
        }
    }
}

/// What `/apis` answers.
#[derive(Deserialize)]
pub(super) struct Groups {
    groups: Vec<Group>,
}

impl Groups {
    /// A group by its name.
    pub(super) fn find(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }
}

/// One API group.
#[derive(Deserialize)]
pub(super) struct Group {
    name: String,
    versions: Vec<GroupVersion>,
    #[serde(rename = "preferredVersion")]
    preferred: Option<GroupVersion>,
}

#[derive(Deserialize)]
struct GroupVersion {
    version: String,
}

impl Group {
    /// The versions that are served, the one that the server prefers first.
    pub(super) fn versions(&self) -> Vec<&str> {
        let preferred = self.preferred.iter().map(|entry| entry.version.as_str());
        let mut versions: Vec<&str> = preferred.collect();
        for entry in &self.versions {
            if !versions.contains(&entry.version.as_str()) {
                versions.push(&entry.version);
            }
        }
        // They become a part of a path.
        versions.retain(|version| {
            !version.is_empty()
                && version
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        });
        versions
    }
}

/// What `/apis/GROUP/VERSION` answers.
#[derive(Deserialize)]
pub(super) struct Served {
    resources: Vec<Name>,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

impl Served {
    /// Whether a resource is among what is served.
    pub(super) fn has(&self, plural: &str) -> bool {
        self.resources
            .iter()
            .any(|resource| resource.name == plural)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_are_those_of_the_api() {
        let path = |resource: Resource, namespace| resource.path(resource.version(), namespace);
        assert_eq!(
            path(Resource::POD, Some("haptic")),
            "/api/v1/namespaces/haptic/pods"
        );
        assert_eq!(
            path(Resource::HELM_RELEASE, None),
            "/apis/helm.toolkit.fluxcd.io/v2/helmreleases"
        );
        assert!(!Resource::JOB.is_extension() && Resource::HAPROXY_CFG.is_extension());
    }

    #[test]
    fn the_preferred_version_comes_first_and_none_changes_a_path() {
        let group: Group = serde_json::from_value(json!({
            "name": "x",
            "versions": [{ "version": "v2" }, { "version": "v2beta2" }, { "version": "../x" }, { "version": "" }],
            "preferredVersion": { "version": "v2beta2" },
        }))
        .expect("is one");
        assert_eq!(group.versions(), ["v2beta2", "v2"]);
    }
}
