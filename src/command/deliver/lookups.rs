//! [`Lookups`]: what a forge has, asked for once and no more than is needed.

use std::collections::BTreeMap;

use crate::forge::error::ForgeError;
use crate::forge::{Forge, Recent};
use crate::model::request::{Request, State};
use crate::plan::change::Change;

/// A forge, and what it said.
pub struct Lookups {
    /// The forge.
    pub forge: Box<dyn Forge>,
    recent: Recent,
    open: Option<Vec<Request>>,
    of_branch: BTreeMap<String, Vec<Request>>,
}

impl Lookups {
    /// Asks for the requests that were last changed. In most projects these are all that count, and the forge isn't asked again.
    ///
    /// # Errors
    /// When the forge can't be asked.
    pub fn of(forge: Box<dyn Forge>) -> Result<Self, ForgeError> {
        Ok(Self {
            recent: forge.recent()?,
            forge,
            open: None,
            of_branch: BTreeMap::new(),
        })
    }

    /// Every open request.
    ///
    /// # Errors
    /// When the forge can't be asked.
    pub fn open(&mut self) -> Result<&[Request], ForgeError> {
        let open = match self.open.take() {
            Some(open) => open,
            None if self.recent.is_all => {
                let all = self.recent.requests.iter();
                all.filter(|one| one.state == State::Open)
                    .cloned()
                    .collect()
            }
            None => self.forge.open()?,
        };
        Ok(self.open.insert(open))
    }

    /// What may be about a change: the open requests of its branch, or those that have ended.
    ///
    /// # Errors
    /// When the forge can't be asked.
    pub fn about(&mut self, change: &Change) -> Result<Vec<Request>, ForgeError> {
        let open = self.open()?.iter();
        let open: Vec<Request> = open
            .filter(|one| one.branch == change.branch)
            .cloned()
            .collect();
        if open.is_empty() {
            self.of_branch(&change.branch).map(<[Request]>::to_vec)
        } else {
            Ok(open)
        }
    }

    /// The requests of a branch in every state.
    ///
    /// # Errors
    /// When the forge can't be asked.
    pub fn of_branch(&mut self, branch: &str) -> Result<&[Request], ForgeError> {
        if !self.of_branch.contains_key(branch) {
            let found = if self.recent.is_all {
                let all = self.recent.requests.iter();
                all.filter(|one| one.branch == branch).cloned().collect()
            } else {
                self.forge.of_branch(branch)?
            };
            self.of_branch.insert(branch.to_owned(), found);
        }
        Ok(&self.of_branch[branch])
    }
}
