//! What controllers and Jobs say of a release: objects of a cluster in, [`State`] and [`job::JobState`] out.
//!
//! Owns the reading of Flux's HelmRelease ([`flux`]), Argo CD's Application ([`argo`]) and of hook Jobs ([`job`]), down
//! to which field says what. It asks no cluster and decides nothing: whether a version was rejected is the Job's word,
//! and a failed hook in a [`State`] is only the suspicion. An object that lacks fields reads as one that says nothing.

pub mod argo;
pub mod flux;
pub mod job;
mod words;

pub use crate::model::range::without_digest;

/// What a GitOps controller says of one release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The version that the phase and the message are about, without a digest (see [`without_digest`]). Nothing where none was tried, or where what is told failed
    /// before a version was tried (a chart that can't be had, say): an older attempt isn't meant then.
    pub attempted: Option<String>,
    /// What tells that attempt from another one of the same version: a digest of its values, or the commits that it was made from.
    pub attempt: Option<String>,
    /// The version in the live spec, as written: maybe a range, or a branch. Nothing where the spec has none (a
    /// `chartRef`: the version stands in another object).
    pub wanted: Option<String>,
    /// How far it is.
    pub phase: Phase,
    /// The controller's own words for it; may be empty. They are not ours, and have any length and characters.
    pub message: String,
    /// When it came to this (RFC 3339): the condition's transition, or the end of the operation, else its start.
    pub at: Option<String>,
    /// Whether this is said of the live spec. If not, the controller hasn't come to it yet.
    pub is_current: bool,
    /// The hook Jobs that are said to have failed, of hooks that run before anything changes. While a retry runs, those of the attempt before.
    pub jobs: Vec<JobName>,
    /// The version that runs, as far as the controller knows: the last one that was installed whole.
    pub live: Option<String>,
    /// Whether nothing goes on before somebody says so: Flux's `suspend`, or an Application without automated sync.
    pub is_suspended: bool,
}

/// How far a release is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The live spec is installed, and what it made is healthy. `State::live` says which version that is.
    Live,
    /// Not done: being worked on, waiting, or not begun.
    Progressing {
        /// How often it was tried again already.
        retries: u64,
    },
    /// A hook failed that runs before anything changes: the suspicion of a rejection. The Job decides.
    HookFailed,
    /// Failed otherwise. No rejection.
    Failed(Failure),
}

/// Why a release failed without such a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The chart didn't render, before any hook: `kubeVersion`, the values' schema, a template.
    NotRendered,
    /// The chart or its source can't be had: registry, login, missing version.
    Pull,
    /// A kind isn't known to the cluster.
    CrdMissing,
    /// Something didn't get ready in time.
    Timeout,
    /// Something else; the message says it.
    Other,
}

/// A Job that a controller names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobName {
    /// Its namespace, where it is said.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}
