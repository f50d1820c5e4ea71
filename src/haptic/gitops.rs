//! What a GitOps repository has to provide for HAPTIC: Secrets that exist before the release, and permissions.
//!
//! Source: the project's guide "Install and operate HAPTIC with GitOps" and the chart's templates.

use super::names::Names;

/// A Secret that the release needs before its hooks run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededSecret {
    /// What it holds, in a word: its key in a store.
    pub short: &'static str,
    /// Its name.
    pub name: String,
    /// Its `type`.
    pub kind: &'static str,
    /// The keys that it must have.
    pub keys: &'static [&'static str],
    /// What it is, for people.
    pub what: String,
    /// The `kubectl` command that makes it by hand. Values come from files and pipes, never from the command line.
    pub command: String,
}

/// Cluster-scoped kinds that the chart renders, as (group, kind): what an AppProject must allow.
pub const CLUSTER_KINDS: [(&str, &str); 6] = [
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("networking.k8s.io", "IngressClass"),
    ("gateway.networking.k8s.io", "GatewayClass"),
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
    ),
];

/// The Secrets for a release: credentials always, certificates where they don't come from cert-manager.
pub fn needed_secrets(names: &Names, external_certificates: bool) -> Vec<NeededSecret> {
    let gitops = names.gitops_secrets();
    let namespace = &names.namespace;
    let mut needed = vec![NeededSecret {
        short: "credentials",
        command: format!(
            "openssl rand -base64 32 | tr -d '\\n' |\n  kubectl create secret generic {} --namespace {namespace} \\\n    --from-literal=dataplane_username=admin --from-file=dataplane_password=/dev/stdin",
            gitops.credentials
        ),
        name: gitops.credentials,
        kind: "Opaque",
        keys: &["dataplane_username", "dataplane_password"],
        what: "user and password between the controller and HAProxy".to_owned(),
    }];
    if external_certificates {
        needed.push(NeededSecret {
            short: "webhook",
            command: format!(
                "kubectl create secret generic {} --namespace {namespace} --type kubernetes.io/tls \\\n  --from-file=tls.crt=webhook.crt --from-file=tls.key=webhook.key --from-file=ca.crt=webhook-ca.crt",
                gitops.webhook
            ),
            name: gitops.webhook,
            kind: "kubernetes.io/tls",
            keys: &["tls.crt", "tls.key", "ca.crt"],
            what: format!("the certificate of the webhook, for the host {}", names.webhook_host),
        });
        needed.push(NeededSecret {
            short: "frontend",
            command: format!(
                "kubectl create secret tls {} --namespace {namespace} --cert=frontend.crt --key=frontend.key",
                gitops.frontend
            ),
            name: gitops.frontend,
            kind: "kubernetes.io/tls",
            keys: &["tls.crt", "tls.key"],
            what: "the certificate that is served where no other fits".to_owned(),
        });
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_needed_only_where_they_are_external() {
        let names = Names::of("haptic", "haptic");
        let list = |external| {
            needed_secrets(&names, external)
                .into_iter()
                .map(|s| s.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(list(false), ["haptic-gitops-credentials"]);
        assert_eq!(
            list(true),
            [
                "haptic-gitops-credentials",
                "haptic-gitops-webhook",
                "haptic-gitops-frontend"
            ]
        );
    }
}
