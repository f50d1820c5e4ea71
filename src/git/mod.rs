//! Git, the effect: repositories opened and made, trees read, changes written and committed.
//!
//! Everything that touches a repository goes through here. What to write is decided elsewhere, as a [`crate::plan::change::Change`].

pub mod apply;
pub mod branches;
pub mod commit;
mod differences;
pub mod history;
pub mod identity;
pub mod journal;
mod moves;
pub mod old_offers;
pub mod past;
mod raw_trees;
pub mod recoveries;
pub mod remote;
pub mod sign;
pub mod target;
pub mod trees;
mod walk;
mod wanted;

use crate::error::Problem;

/// Has libgit2 read objects as git does: what is stored is checked by its compression's checksum, and hashed again only by `git fsck`. Of all that reading a
/// large folder or thousands of files takes, the hashes were the largest part.
pub fn set_up() {
    git2::opts::strict_hash_verification(false);
}

/// Says what git was doing, in the form of every other error.
pub(crate) fn said(doing: &str, why: &git2::Error) -> anyhow::Error {
    Problem::failed(format!("cannot {doing}: {}", why.message())).into()
}
