//! Everything that is true of the HAPTIC Helm chart and of no other chart.
//!
//! Owns the names of the chart's objects ([`names`]), the versions that are known and what each
//! asks of its user ([`versions`]), and the values keys that moved between versions ([`keys`]).
//! All of it is data and pure functions: nothing here reads a file, the environment or the clock,
//! and nothing prints. Knowledge of Argo CD, Flux or a forge doesn't belong here.
//!
//! A fact cites where it comes from: the chart's templates and schema, its release notes, its
//! upgrade notes, or the guide "Install and operate HAPTIC with GitOps".

pub mod convergence;
pub mod gitops;
mod hazards;
pub mod keys;
mod moved;
pub mod names;
pub mod notes;
pub mod rejection;
mod releases;
pub mod verdict_words;
pub mod versions;

/// The chart's name (`Chart.yaml`).
pub const CHART: &str = "haptic";

/// The OCI address below which the chart lies, without the chart's name.
///
/// The guide and the upgrade notes document it for 0.2 to 0.5. The release notes of 0.6.0 say that
/// the project moved to GitHub; the chart's address from then on isn't documented.
pub const CHART_REPO: &str = "oci://registry.gitlab.com/haproxy-haptic/haptic/charts";

/// Where the controller's images of 0.2 to 0.5 lie; a tag is `<version>-haproxy<series>` (`values.yaml`, `_image.tpl`).
pub const IMAGE: &str = "registry.gitlab.com/haproxy-haptic/haptic";
/// The HAProxy series that the chart takes where the values name none (`values.yaml`, 0.2 to 0.5).
pub const HAPROXY_SERIES: &str = "3.4";
/// The Helm release name that the guide uses.
pub const RELEASE: &str = "haptic";

/// The namespace that the guide uses.
pub const NAMESPACE: &str = "haptic";
