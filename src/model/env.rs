//! [`Env`]: the environment variables, as a value.

use std::collections::BTreeMap;

/// The environment variables.
#[derive(Debug, Clone, Default)]
pub struct Env(BTreeMap<String, String>);

impl Env {
    /// Takes variables as they are.
    pub fn new(vars: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(vars.into_iter().collect())
    }

    /// Makes an environment of a few variables.
    pub fn of(pairs: &[(&str, &str)]) -> Self {
        Self::new(
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        )
    }

    /// Returns a variable that isn't empty.
    pub fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).filter(|value| !value.is_empty()).cloned()
    }

    /// All variables, for child processes.
    pub fn all(&self) -> impl Iterator<Item = (&String, &String)> {
        self.0.iter()
    }
}
