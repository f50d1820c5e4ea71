//! The values keys that the chart moved, renamed or removed, as two tables.
//!
//! Owns data only; [`super::keys`] looks the keys up in a document. The schema accepts any value
//! for most of these keys, and the chart's templates fail the render later, so a schema validator
//! alone doesn't find them.

/// One key that the chart no longer reads where it used to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// The old route, dots between the keys; `*` stands for any one key.
    pub route: &'static str,
    /// The route to use instead, or a phrase that says what to do where there is none.
    pub to: &'static str,
}

impl Moved {
    /// Returns whether [`Moved::to`] is a route rather than a phrase.
    pub(super) fn has_new_route(&self) -> bool {
        !self.to.contains(' ')
    }
}

/// Builds a row.
const fn moved(route: &'static str, to: &'static str) -> Moved {
    Moved { route, to }
}

/// Every node of the chart's `values.schema.json` (0.4.1) that accepts anything and says in its
/// description that the key moved or is removed. The changelog of 0.3 and 0.4 names none of them,
/// so all belong to the step from 0.1 to 0.2.
const MOVED_IN_0_2: &[Moved] = &[
    moved("autoscaling", "controller.autoscaling"),
    moved(
        "cache.varnish.hashBalanceFactor",
        "cache.haproxy.hashBalanceFactor",
    ),
    moved(
        "controller.apiGateway",
        "controller.config.templatingSettings.extraContext.apiGateway",
    ),
    moved("controller.cache", "cache"),
    moved(
        "controller.config.controller.healthzPort",
        "controller.ports.healthz",
    ),
    moved(
        "controller.config.controller.metricsPort",
        "controller.ports.metrics",
    ),
    moved(
        "controller.config.dataplane.port",
        "haproxy.ports.dataplane",
    ),
    moved(
        "controller.config.includeMigrationCoverage",
        "remove it: migration coverage is no longer a CRD field",
    ),
    moved(
        "controller.config.migrationCoverage",
        "remove it: migration coverage is no longer a CRD field",
    ),
    moved(
        "controller.config.routing",
        "controller.config.templatingSettings.extraContext.routing",
    ),
    moved(
        "controller.config.templatingSettings.extraContext.prometheusExporter.excludeMetrics.*.pattern",
        "list the `families` instead: HAProxy filters by exact name",
    ),
    moved(
        "controller.config.templatingSettings.extraContext.tls.defaultCertificate",
        "defaultSSLCertificate",
    ),
    moved("controller.crdName", "controller.configName"),
    moved("controller.debugPort", "controller.ports.healthz"),
    moved("controller.defaultSSLCertificate", "defaultSSLCertificate"),
    moved("controller.rateLimit", "rateLimit"),
    moved(
        "controller.statusPatches",
        "controller.config.templatingSettings.extraContext.statusPatches",
    ),
    moved("deploymentAnnotations", "controller.deploymentAnnotations"),
    moved("extraEnv", "controller.extraEnv"),
    moved("extraVolumeMounts", "controller.extraVolumeMounts"),
    moved("extraVolumes", "controller.extraVolumes"),
    moved("haproxy.dataplane", "haproxy.agent"),
    moved(
        "haproxy.dataplaneBin",
        "remove it: the agent runs from `controller.image`",
    ),
    moved("haproxy.enterprise.version", "haproxyVersion"),
    moved("image", "controller.image"),
    moved("initContainers", "controller.initContainers"),
    moved("lifecycle", "controller.lifecycle"),
    moved("livenessProbe", "controller.livenessProbe"),
    moved("minReadySeconds", "controller.minReadySeconds"),
    moved("monitoring", "controller.monitoring"),
    moved("networkPolicy", "controller.networkPolicy"),
    moved("podDisruptionBudget", "controller.podDisruptionBudget"),
    moved(
        "rateLimit.shared.managedStore.maxmemory",
        "rateLimit.shared.managedStore.maxMemory",
    ),
    moved(
        "rateLimit.shared.managedStore.maxmemoryPolicy",
        "rateLimit.shared.managedStore.maxMemoryPolicy",
    ),
    moved("rbac", "controller.rbac"),
    moved("readinessProbe", "controller.readinessProbe"),
    moved("replicaCount", "controller.replicaCount"),
    moved("resources", "controller.resources"),
    moved("revisionHistoryLimit", "controller.revisionHistoryLimit"),
    moved("securityContext", "controller.securityContext"),
    moved("service", "controller.service"),
    moved("serviceAccount", "controller.serviceAccount"),
    moved("sidecars", "controller.sidecars"),
    moved("spoaHub.monitoring", "haproxy.monitoring"),
    moved(
        "spoaHub.plugins.otel",
        "remove it: the bundled hub image no longer ships the otel plugin",
    ),
    moved("startupProbe", "controller.startupProbe"),
    moved("updateStrategy", "controller.updateStrategy"),
    moved(
        "vector.excludeMaintServerMetrics",
        "controller.config.templatingSettings.extraContext.prometheusExporter.excludeMaintServers",
    ),
    moved(
        "vector.excludeMetrics",
        "controller.config.templatingSettings.extraContext.prometheusExporter.excludeMetrics",
    ),
    moved("vector.podMonitor", "haproxy.monitoring.podMonitor"),
    moved("webhook", "controller.webhook"),
];

/// The keys that chart template `_controller.tpl` calls "renamed in 0.3.0"; upgrade notes 0.3.
const RENAMED_IN_0_3: &[Moved] = &[
    moved(
        "controller.config.templatingSettings.extraContext.timeout_connect",
        "controller.config.templatingSettings.extraContext.timeoutConnect",
    ),
    moved(
        "controller.config.templatingSettings.extraContext.timeout_client",
        "controller.config.templatingSettings.extraContext.timeoutClient",
    ),
    moved(
        "controller.config.templatingSettings.extraContext.timeout_server",
        "controller.config.templatingSettings.extraContext.timeoutServer",
    ),
    moved(
        "controller.config.templatingSettings.extraContext.timeout_http_request",
        "controller.config.templatingSettings.extraContext.timeoutHttpRequest",
    ),
    moved(
        "controller.config.templatingSettings.extraContext.timeout_http_keep_alive",
        "controller.config.templatingSettings.extraContext.timeoutHttpKeepAlive",
    ),
    moved(
        "controller.config.templatingSettings.extraContext.ssl_redirect_default",
        "controller.config.templatingSettings.extraContext.sslRedirectDefault",
    ),
    moved(
        "controller.config.templatingSettings.extraContext.hapticHstsMaxAge",
        "controller.config.templatingSettings.extraContext.tls.hsts.maxAge",
    ),
];

/// Returns the keys that moved or went away with 0.2.
pub fn moved_in_0_2() -> &'static [Moved] {
    MOVED_IN_0_2
}

/// Returns the keys under `extraContext` that were renamed with 0.3.
pub fn renamed_in_0_3() -> &'static [Moved] {
    RENAMED_IN_0_3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_every_moved_key_once() {
        assert_eq!(MOVED_IN_0_2.len(), 51);
        assert!(MOVED_IN_0_2.is_sorted_by(|left, right| left.route < right.route));
    }

    #[test]
    fn workload_settings_moved_under_the_controller() {
        let to = |route| {
            MOVED_IN_0_2
                .iter()
                .find(|row| row.route == route)
                .map(|row| row.to)
        };
        assert_eq!(to("webhook"), Some("controller.webhook"));
        assert_eq!(to("controller.crdName"), Some("controller.configName"));
        assert_eq!(
            to("controller.defaultSSLCertificate"),
            Some("defaultSSLCertificate")
        );
        assert_eq!(to("controller.debugPort"), Some("controller.ports.healthz"));
    }
}
