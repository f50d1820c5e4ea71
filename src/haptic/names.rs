//! Names of the objects that the chart renders, computed as its templates compute them.
//!
//! Owns the naming rules of the chart templates `_naming.tpl`, `_agent-tls.tpl`,
//! `_credentials.tpl` and of the two hook templates. It must not decide what to do with a name:
//! callers refuse or print. Start from [`Names`].

use sha2::{Digest as _, Sha256};

use super::CHART;

/// The label that says what an object of a release is for (the chart's `_helpers.tpl`).
pub const COMPONENT_LABEL: &str = "app.kubernetes.io/component";
/// Its value on the Job that judges a release.
pub const PRE_ROLLOUT_COMPONENT: &str = "pre-rollout-validation";
/// Its value on the Job that applies the CRDs.
pub const CRD_UPGRADE_COMPONENT: &str = "crd-upgrade";

/// The longest `fullname-namespace` that leaves the hook Jobs' names whole.
///
/// `-pre-rollout` and `-crd-upgrade` have 12 characters each and a name is cut at 63. Above this
/// the suffix is cut; from 62 on both Jobs get the same name.
pub const SCOPED_LIMIT: usize = 51;

/// How the Job that judges a release is called behind the release's own name, unless that is too long.
pub const PRE_ROLLOUT_SUFFIX: &str = "-pre-rollout";
/// The variable that tells the pre-rollout Job which chart version is being installed
/// (`pre-rollout-validation-hook.yaml`).
pub const EXPECTED_VERSION_VARIABLE: &str = "HAPTIC_EXPECT_CHART_VERSION";

/// The most characters that the chart gives a name: a DNS label.
const LABEL_LIMIT: usize = 63;

/// The most characters of a CronJob's name (`_agent-tls.tpl`, `haptic.agentTLS.renewalName`).
const CRON_JOB_LIMIT: usize = 52;

/// The most characters of a Secret's name: a DNS subdomain.
const SUBDOMAIN_LIMIT: usize = 253;

/// The names that one Helm release of the chart gives its objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The Helm release name.
    pub release: String,
    /// The namespace of the release.
    pub namespace: String,
    /// The chart's name or `nameOverride`: the label `app.kubernetes.io/name`.
    pub name: String,
    /// The prefix of every namespaced object.
    pub fullname: String,
    /// The prefix of the cluster-scoped objects and of the hook Jobs.
    pub scoped: String,
    /// The Job that validates the release before the rollout.
    pub pre_rollout_job: String,
    /// The Secret that hands the release's values to that Job.
    pub pre_rollout_values_secret: String,
    /// The Job that applies the CRDs.
    pub crd_upgrade_job: String,
    /// The Service in front of the admission webhook.
    pub webhook_service: String,
    /// The DNS name that the webhook's certificate must carry.
    pub webhook_host: String,
    /// The webhook's TLS Secret when `controller.webhook.secretName` is empty (0.2 and later).
    pub webhook_secret: String,
    /// The credential Secret when `credentials.existingSecret` is empty.
    pub credentials_secret: String,
    /// The CronJob that renews the agent certificates.
    pub agent_renewal_cronjob: String,
    /// The hook Job that makes the first agent certificates.
    pub agent_bootstrap_job: String,
    /// The Deployment of the controller.
    pub controller_deployment: String,
    /// The Deployment of the HAProxy pods.
    pub haproxy_deployment: String,
}

/// Names for the Secrets that the user makes, in the guide's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitOpsSecrets {
    /// The Secret for `credentials.existingSecret`.
    pub credentials: String,
    /// The Secret for `controller.webhook.secretName`.
    pub webhook: String,
    /// The Secret for `defaultSSLCertificate.secretName`.
    pub frontend: String,
}

impl Names {
    /// Returns the names of a release that sets neither `nameOverride` nor `fullnameOverride`.
    pub fn of(release: &str, namespace: &str) -> Self {
        Self::with_overrides(release, namespace, None, None)
    }

    /// Returns the names of a release with the values `nameOverride` and `fullnameOverride`.
    ///
    /// An empty override counts as none, as in the templates.
    pub fn with_overrides(
        release: &str,
        namespace: &str,
        name_override: Option<&str>,
        fullname_override: Option<&str>,
    ) -> Self {
        let chart = name_override
            .filter(|text| !text.is_empty())
            .unwrap_or(CHART);
        let fullname = fullname(release, chart, fullname_override);
        let scoped = cut(&format!("{fullname}-{namespace}"));
        let pre_rollout_job = cut(&format!("{scoped}{PRE_ROLLOUT_SUFFIX}"));
        let webhook_service = cut(&format!("{fullname}-webhook"));
        let agent_renewal_cronjob = suffixed(&fullname, "-agent-renewal", CRON_JOB_LIMIT);
        Self {
            release: release.to_owned(),
            namespace: namespace.to_owned(),
            name: cut(chart),
            pre_rollout_values_secret: format!("{pre_rollout_job}-values"),
            crd_upgrade_job: cut(&format!("{scoped}-crd-upgrade")),
            webhook_host: format!("{webhook_service}.{namespace}.svc"),
            webhook_secret: format!("{fullname}-webhook-tls"),
            credentials_secret: cut(&format!("{fullname}-credentials")),
            agent_bootstrap_job: format!("{agent_renewal_cronjob}-bootstrap"),
            controller_deployment: cut(&format!("{fullname}-controller")),
            haproxy_deployment: cut(&format!("{fullname}-haproxy")),
            fullname,
            scoped,
            pre_rollout_job,
            webhook_service,
            agent_renewal_cronjob,
        }
    }

    /// Returns the length of `fullname-namespace` before it is cut, if it is over [`SCOPED_LIMIT`].
    pub fn too_long(&self) -> Option<usize> {
        let length = self.fullname.len() + 1 + self.namespace.len();
        (length > SCOPED_LIMIT).then_some(length)
    }

    /// Returns the guide's names for the Secrets that the user makes.
    ///
    /// They differ from the chart's own Secrets on purpose: pruning one of those would delete the
    /// user's Secret of the same name (the guide).
    pub fn gitops_secrets(&self) -> GitOpsSecrets {
        let named = |suffix: &str| {
            let text = format!("{}-gitops-{suffix}", self.fullname);
            head(&text, SUBDOMAIN_LIMIT).to_owned()
        };
        GitOpsSecrets {
            credentials: named("credentials"),
            webhook: named("webhook"),
            frontend: named("frontend"),
        }
    }

    /// Returns the labels that select the release's objects (`haptic.selectorLabels`).
    ///
    /// The instance is the release's name, not the fullname.
    pub fn labels(&self) -> [(&'static str, &str); 2] {
        [
            ("app.kubernetes.io/name", &self.name),
            ("app.kubernetes.io/instance", &self.release),
        ]
    }
}

/// Returns the chart's `haptic.fullname`.
fn fullname(release: &str, chart: &str, fullname_override: Option<&str>) -> String {
    if let Some(text) = fullname_override.filter(|text| !text.is_empty()) {
        cut(text)
    } else if release.contains(chart) {
        cut(release)
    } else {
        cut(&format!("{release}-{chart}"))
    }
}

/// Returns the template idiom `trunc 63 | trimSuffix "-"`: it removes one trailing dash only.
fn cut(text: &str) -> String {
    trim_dash(head(text, LABEL_LIMIT)).to_owned()
}

/// Returns the chart's `haptic.suffixedName`: a name that is too long gets a hash in its middle.
fn suffixed(name: &str, suffix: &str, limit: usize) -> String {
    let whole = format!("{name}{suffix}");
    if whole.len() <= limit {
        return whole;
    }
    // One dash and ten hexadecimal digits stand between the prefix and the suffix.
    let prefix = trim_dash(head(name, limit - suffix.len() - 11));
    let hash = format!("{:x}", Sha256::digest(name));
    format!("{prefix}-{}{suffix}", head(&hash, 10))
}

/// Returns the first `limit` bytes, or a little less where that would split a character.
fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Returns the text without one trailing dash.
fn trim_dash(text: &str) -> &str {
    text.strip_suffix('-').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_guides_release() {
        let names = Names::of("haptic", "haptic");
        assert_eq!(names.fullname, "haptic");
        assert_eq!(names.scoped, "haptic-haptic");
        assert_eq!(names.pre_rollout_job, "haptic-haptic-pre-rollout");
        assert_eq!(
            names.pre_rollout_values_secret,
            "haptic-haptic-pre-rollout-values"
        );
        assert_eq!(names.crd_upgrade_job, "haptic-haptic-crd-upgrade");
        assert_eq!(names.webhook_service, "haptic-webhook");
        assert_eq!(names.webhook_host, "haptic-webhook.haptic.svc");
        assert_eq!(names.webhook_secret, "haptic-webhook-tls");
        assert_eq!(names.credentials_secret, "haptic-credentials");
        assert_eq!(names.controller_deployment, "haptic-controller");
        assert_eq!(names.haproxy_deployment, "haptic-haproxy");
        assert_eq!(names.agent_renewal_cronjob, "haptic-agent-renewal");
        assert_eq!(names.agent_bootstrap_job, "haptic-agent-renewal-bootstrap");
    }

    #[test]
    fn names_of_a_release_without_the_charts_name() {
        let names = Names::of("edge", "ingress");
        assert_eq!(names.fullname, "edge-haptic");
        assert_eq!(names.pre_rollout_job, "edge-haptic-ingress-pre-rollout");
        assert_eq!(names.crd_upgrade_job, "edge-haptic-ingress-crd-upgrade");
        assert_eq!(names.webhook_host, "edge-haptic-webhook.ingress.svc");
        assert_eq!(names.webhook_secret, "edge-haptic-webhook-tls");
    }

    #[test]
    fn fullname_override_wins() {
        let names = Names::with_overrides("prod", "edge", None, Some("lb"));
        assert_eq!(names.pre_rollout_job, "lb-edge-pre-rollout");
        assert_eq!(names.webhook_host, "lb-webhook.edge.svc");
    }

    #[test]
    fn release_that_contains_the_charts_name_is_the_fullname() {
        let names = Names::of("haptic-team-b", "haptic-team-b");
        assert_eq!(
            names.pre_rollout_job,
            "haptic-team-b-haptic-team-b-pre-rollout"
        );
        assert_eq!(
            names.webhook_host,
            "haptic-team-b-webhook.haptic-team-b.svc"
        );
    }

    #[test]
    fn name_override_replaces_the_charts_name() {
        let names = Names::with_overrides("haptic", "ns", Some("lb"), Some(""));
        assert_eq!(names.fullname, "haptic-lb");
        assert_eq!(
            names.labels(),
            [
                ("app.kubernetes.io/name", "lb"),
                ("app.kubernetes.io/instance", "haptic")
            ]
        );
    }

    #[test]
    fn empty_overrides_count_as_none() {
        let names = Names::with_overrides("edge", "ingress", Some(""), Some(""));
        assert_eq!(names, Names::of("edge", "ingress"));
    }

    #[test]
    fn long_names_make_both_hook_jobs_clash() {
        let names = Names::of(
            "haptic-production-eu-central-1-blue",
            "ingress-production-eu-central-1",
        );
        let clash = "haptic-production-eu-central-1-blue-ingress-production-eu-centr";
        assert_eq!(names.pre_rollout_job, clash);
        assert_eq!(names.crd_upgrade_job, clash);
        assert_eq!(names.too_long(), Some(67));
    }

    #[test]
    fn too_long_begins_above_the_limit() {
        let namespace = "n".repeat(SCOPED_LIMIT - "haptic-".len());
        let fits = Names::of("haptic", &namespace);
        assert_eq!(fits.too_long(), None);
        assert!(fits.pre_rollout_job.ends_with("-pre-rollout"));
        assert_eq!(
            Names::of("haptic", &format!("{namespace}n")).too_long(),
            Some(52)
        );
    }

    #[test]
    fn hook_jobs_differ_up_to_61_characters() {
        let names = |length: usize| Names::of("haptic", &"n".repeat(length - "haptic-".len()));
        assert_ne!(names(61).pre_rollout_job, names(61).crd_upgrade_job);
        assert_eq!(names(62).pre_rollout_job, names(62).crd_upgrade_job);
    }

    #[test]
    fn cut_removes_one_trailing_dash_only() {
        assert_eq!(
            cut(&format!("{}--x", "a".repeat(61))),
            format!("{}-", "a".repeat(61))
        );
        assert_eq!(cut("abc-"), "abc");
        assert_eq!(cut(&"a".repeat(64)), "a".repeat(63));
    }

    #[test]
    fn long_renewal_names_get_a_hash() {
        let fits = Names::of(&format!("haptic-{}", "a".repeat(31)), "ns");
        assert_eq!(fits.agent_renewal_cronjob.len(), CRON_JOB_LIMIT);
        assert!(fits.agent_renewal_cronjob.contains("aa-agent-renewal"));

        let release = format!("haptic-{}", "a".repeat(32));
        let hashed = Names::of(&release, "ns").agent_renewal_cronjob;
        let hash = format!("{:x}", Sha256::digest(&release));
        assert_eq!(
            hashed,
            format!("haptic-{}-{}-agent-renewal", "a".repeat(20), &hash[..10])
        );
        assert_eq!(hashed.len(), CRON_JOB_LIMIT);
    }

    #[test]
    fn gitops_secrets_have_the_guides_names() {
        let secrets = Names::of("haptic", "haptic").gitops_secrets();
        assert_eq!(secrets.credentials, "haptic-gitops-credentials");
        assert_eq!(secrets.webhook, "haptic-gitops-webhook");
        assert_eq!(secrets.frontend, "haptic-gitops-frontend");
    }
}
