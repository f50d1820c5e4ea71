//! Every place in a repository where a chart's version stands.
//!
//! [`look`] looks at one file, [`join`] puts files together: sources that references name, variables and what defines them. Pure: texts in, pins out.

mod argo;
mod branches;
mod chart_lock;
mod edit;
mod encoding;
mod facts;
mod file;
mod flux;
mod found;
mod given;
mod helmfile;
mod identity;
mod join;
mod kinds;
mod kustomize;
mod layer;
mod lines;
mod newest;
mod node;
mod others;
mod patched;
mod prefilter;
#[cfg(test)]
mod random;
mod ranges;
mod rule;
mod templates;
mod terraform;
#[cfg(test)]
mod tests;
mod texts;
mod values;
mod variables;

pub use chart_lock::{LockError, follow, locked};
pub use edit::{EditError, edit};
pub use encoding::look_at_bytes;
pub use file::{Findings, look};
pub use found::{Form, Kind, Pin, Source, Unread};
pub use join::{Joined, join};
pub use newest::{Newest, admitted, newest};
pub use prefilter::{may_have_pins, may_name_pins};
pub use ranges::moved;
pub use rule::{Barred, Rule};
pub use values::tag_prefix;
