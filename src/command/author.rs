//! Who commits, and how commits are signed.

use anyhow::Result;

use crate::git::commit::Commit;
use crate::git::identity::{self, Identity};
use crate::git::sign::{self, Signing};
use crate::git::target::Target;
use crate::ui::Ui;
use crate::world::World;

/// Author, committer and signature, as flags, variables and git's configuration say.
pub struct Author {
    identity: Identity,
    signing: Option<Signing>,
    committer: String,
}

impl Author {
    /// Reads them for a repository. `given` is `--author`.
    ///
    /// # Errors
    /// When a name can't be understood, or signing is wanted and can't be done as configured.
    pub fn of(target: &Target, given: Option<&str>, world: &World) -> Result<Self> {
        let config = target.config(&world.env)?;
        let identity = identity::identify(&config, &world.env, given, world.now)?;
        let committer = format!(
            "{} <{}>",
            identity.committer.name().unwrap_or_default(),
            identity.committer.email().unwrap_or_default()
        );
        Ok(Self {
            signing: sign::configured(&config, &committer)?,
            identity,
            committer,
        })
    }

    /// For a commit.
    pub fn commit<'a>(&'a self, world: &'a World) -> Commit<'a> {
        Commit {
            identity: &self.identity,
            signing: self.signing.as_ref(),
            env: &world.env,
        }
    }

    /// Says so where git knew no name.
    pub fn tell(&self, ui: &mut Ui) {
        if self.identity.is_fallback {
            ui.notice(&format!(
                "committed as {}, since git knows no name: git config --global user.name and user.email",
                self.committer
            ));
        }
    }
}
