//! The pure heart: facts in, a [`change::Change`] out.
//!
//! Planners read a repository through [`crate::model::tree::Tree`] and return values that can be shown, compared and applied.
//! Nothing here touches a file, git, the environment, the clock, the network or a terminal.

pub mod answers_file;
mod argo_values;
pub mod bundle;
pub mod change;
pub mod chart_files;
pub mod corrected;
mod fleet;
mod flux_values;
pub mod forward;
pub mod helm_values;
mod kustomized;
pub mod lock;
pub mod marker;
pub mod message;
pub mod pin;
pub mod policy;
pub mod purpose;
pub mod reconcile;
pub mod recover;
pub mod rejections;
pub mod release_values;
pub mod request;
pub mod scaffold;
pub mod schedule;
mod sealed;
pub mod upgrade;
