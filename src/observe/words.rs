//! What the sentences of Helm, Flux and Argo CD mean. There is no field that says it, so their constant parts are looked
//! for; what matches none is [`Failure::Other`].

use super::{Failure, JobName};

/// A kind that the cluster doesn't know: client-go, Helm, Argo CD, client-go again (in this order).
const CRD_MISSING: [&str; 4] = [
    "no matches for kind",
    "ensure CRDs are installed first",
    "CRD is installed on the destination cluster",
    "could not find the requested resource",
];

/// Helm refuses to render.
const NOT_RENDERED: [&str; 9] = [
    "requires kubeVersion",
    "which is incompatible with Kubernetes",
    "values don't meet the specifications of the schema",
    "execution error at (",
    "error calling ",
    "parse error at (",
    "YAML parse error on",
    "unable to build kubernetes objects from",
    "error converting YAML to JSON",
];

/// Argo CD couldn't get the manifests, or reach a repository. Only then the next words mean what they seem to: in a failed
/// sync or upgrade they may be of a webhook or of the API server.
const MANIFESTS: [&str; 4] = [
    "Failed to load target state",
    "failed to generate manifest",
    "rpc error: code",
    "not accessible",
];

/// The chart, or the repository with its values, didn't come: Helm, the registry, Argo CD's repo-server.
const PULL: [&str; 18] = [
    "failed to download",
    "failed to fetch",
    "failed to pull",
    "helm pull",
    "error fetching chart",
    "failed to list refs",
    "unable to resolve",
    "cannot get digest for revision",
    "error resolving repo revision",
    "invalid revision",
    "error getting helm repo",
    "no chart version found",
    "not accessible",
    "authentication required",
    "401 Unauthorized",
    "403 Forbidden",
    "404 Not Found",
    "connection refused",
];

/// Something took too long: Helm 3, kstatus in Helm 4 and Flux, Go's contexts.
const TIMEOUT: [&str; 5] = [
    "timed out waiting",
    "timeout waiting for",
    "context deadline exceeded",
    "would exceed context deadline",
    "timed out",
];

/// Helm's hooks that run before a release is changed.
const BEFORE: [&str; 2] = ["pre-install", "pre-upgrade"];

/// The reason of a failure whose words are these.
pub(super) fn failure(message: &str) -> Failure {
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    // A missing kind is told as "unable to build kubernetes objects" too, and a timeout may stand within a pull.
    if has(&CRD_MISSING) {
        Failure::CrdMissing
    } else if has(&NOT_RENDERED) {
        Failure::NotRendered
    } else if has(&MANIFESTS) && has(&PULL) {
        Failure::Pull
    } else if has(&TIMEOUT) {
        Failure::Timeout
    } else {
        Failure::Other
    }
}

/// The hook Jobs that a sentence of Helm calls failed, of hooks that run before anything of the release is changed: with
/// the others the new version runs already. Source: Helm 3 says `pre-upgrade hooks failed: …`, Helm 4 `failed pre-upgrade: …`.
pub(super) fn failed_hooks(message: &str) -> Vec<JobName> {
    let is_before = |start: &str| BEFORE.iter().any(|hook| start.contains(hook));
    let starts = ["Job/", "job "]
        .iter()
        .filter_map(|word| message.find(word));
    match starts.min() {
        Some(start) if is_before(&message[..start]) => failed_jobs(message),
        _ => Vec::new(),
    }
}

/// The Jobs that a sentence of Helm calls failed: `Job/NS/NAME status: 'Failed'` (Helm 4, kstatus) or
/// `job NAME failed: REASON` (Helm 3).
fn failed_jobs(message: &str) -> Vec<JobName> {
    let mut found: Vec<JobName> = Vec::new();
    let mut add = |namespace: Option<&str>, name: &str| {
        let job = JobName {
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        if is_name(name) && !found.contains(&job) {
            found.push(job);
        }
    };
    for rest in message.split("Job/").skip(1) {
        let Some((path, rest)) = rest.split_once(' ') else {
            continue;
        };
        if let Some((namespace, name)) = path.split_once('/')
            && rest.starts_with("status: 'Failed'")
        {
            add(Some(namespace), name);
        }
    }
    for rest in message.split("job ").skip(1) {
        if let Some((name, rest)) = rest.split_once(' ')
            && rest.starts_with("failed: ")
        {
            add(None, name);
        }
    }
    found
}

/// Whether it is a name as Kubernetes has them.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    !text.is_empty() && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_have_their_meaning() {
        let cases = [
            (
                "Helm upgrade failed for release haptic/haptic with chart haptic@0.6.0: chart requires kubeVersion: >=1.35.0-0 which is incompatible with Kubernetes v1.34.0",
                Failure::NotRendered,
            ),
            (
                "values don't meet the specifications of the schema(s) in the following chart(s):\nhaptic:\n- at '/controller': additional properties 'replicacount' not allowed",
                Failure::NotRendered,
            ),
            (
                "execution error at (haptic/templates/zz-validate.yaml:18:52): credentials.existingSecret and credentials.dataplane.password cannot both be set.",
                Failure::NotRendered,
            ),
            (
                "unable to build kubernetes objects from release manifest: resource mapping not found for name: \"self\" namespace: \"\" from \"\": no matches for kind \"Issuer\" in version \"cert-manager.io/v1\" ensure CRDs are installed first",
                Failure::CrdMissing,
            ),
            (
                "The Kubernetes API could not find cert-manager.io/Issuer for requested resource self. Make sure the \"Issuer\" CRD is installed on the destination cluster.",
                Failure::CrdMissing,
            ),
            (
                "Helm install failed for release haptic/haptic with chart haptic@0.2.2: timeout waiting for: [Certificate/haptic/tls status: 'InProgress']",
                Failure::Timeout,
            ),
            (
                "client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline",
                Failure::Timeout,
            ),
            ("provided port is already allocated", Failure::Other),
            (
                "failed calling webhook \"ingresses.haproxy-haptic.org\": Post \"https://haptic-webhook.haptic.svc:443/validate\": dial tcp 10.0.0.7:443: connect: connection refused",
                Failure::Other,
            ),
            (
                "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = failed to list refs: authentication required: Unauthorized",
                Failure::Pull,
            ),
            (
                "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
                Failure::Timeout,
            ),
        ];
        for (message, wanted) in cases {
            assert_eq!(failure(message), wanted, "{message}");
        }
    }

    #[test]
    fn hooks_that_run_later_are_no_suspicion() {
        for (message, count) in [
            (
                "Helm upgrade failed for release a/b with chart b@1.0.0: pre-upgrade hooks failed: 1 error occurred:\n\t* job x failed: BackoffLimitExceeded\n\n",
                1,
            ),
            (
                "failed pre-install: failed early due to stalled resources: [Job/a/x status: 'Failed']",
                1,
            ),
            (
                "post-upgrade hooks failed: 1 error occurred:\n\t* job x-pre-upgrade failed: BackoffLimitExceeded",
                0,
            ),
            (
                "failed post-install: failed early due to stalled resources: [Job/a/x status: 'Failed']",
                0,
            ),
            (
                "failed early due to stalled resources: [Job/a/x status: 'Failed']",
                0,
            ),
            (
                "Helm test failed for release a/b with chart b@1.0.0: 1 error occurred:\n\t* job x failed: BackoffLimitExceeded",
                0,
            ),
        ] {
            assert_eq!(failed_hooks(message).len(), count, "{message}");
        }
    }

    #[test]
    fn jobs_are_named_by_both_helms() {
        let job = |namespace: Option<&str>, name: &str| JobName {
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        let four = "pre-upgrade hooks failed: failed early due to stalled resources: [Job/haptic/haptic-haptic-pre-rollout status: 'Failed']";
        assert_eq!(
            failed_jobs(four),
            [job(Some("haptic"), "haptic-haptic-pre-rollout")]
        );
        let three = "pre-upgrade hooks failed: 1 error occurred:\n\t* job haptic-haptic-pre-rollout failed: BackoffLimitExceeded\n\n";
        assert_eq!(failed_jobs(three), [job(None, "haptic-haptic-pre-rollout")]);
        let two = "[Job/a/one status: 'Failed', Job/a/two status: 'InProgress', Job/a/one status: 'Failed', Job/a/three status: 'Failed']";
        assert_eq!(
            failed_jobs(two),
            [job(Some("a"), "one"), job(Some("a"), "three")]
        );
        for none in [
            "",
            "Job/",
            "Job/a status: 'Failed'",
            "the job was failed",
            "job ",
        ] {
            assert_eq!(failed_jobs(none), [], "{none}");
        }
    }
}
