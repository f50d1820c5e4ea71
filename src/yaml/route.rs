//! Routes: the way from the top of a document to one node, as a value.
//!
//! Owns the written form `spec.sources.0.targetRevision`. A route knows no
//! document; [`Node::find`](super::Node::find) walks it.

use std::fmt;
use std::str::FromStr;

/// One step of a [`Route`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Into a mapping, by the text of the key.
    Key(String),
    /// Into a sequence, from 0. In a mapping it is the key with these digits.
    Index(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::Key(key) => {
                for char in key.chars() {
                    if matches!(char, '.' | '\\') {
                        f.write_str("\\")?;
                    }
                    write!(f, "{char}")?;
                }
                Ok(())
            }
        }
    }
}

/// The way to a node. The empty route is the top node.
///
/// Written with dots: `spec.sources.0.targetRevision`. A backslash takes the
/// next character as it is: `metadata.annotations.a\.b/c`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route(Vec<Step>);

impl Route {
    /// The top node.
    pub fn root() -> Self {
        Self::default()
    }

    /// Reads the written form. Empty text is the top node.
    pub fn parse(text: &str) -> Result<Self, RouteError> {
        if text.is_empty() {
            return Ok(Self::root());
        }
        let mut steps = Vec::new();
        let (mut step, mut escaped) = (String::new(), false);
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                '\\' => {
                    step.push(chars.next().ok_or(RouteError::TrailingBackslash)?);
                    escaped = true;
                }
                '.' => {
                    steps.push(read_step(std::mem::take(&mut step), escaped)?);
                    escaped = false;
                }
                _ => step.push(char),
            }
        }
        steps.push(read_step(step, escaped)?);
        Ok(Self(steps))
    }

    /// The steps from the top.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether this is the top node.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns this route with one more step.
    #[must_use]
    pub fn step(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Returns this route with a key behind it.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.step(Step::Key(key.into()))
    }

    /// Returns this route with an index behind it.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.step(Step::Index(index))
    }

    /// Returns the route without its last step; `None` for the top node.
    pub fn parent(&self) -> Option<Self> {
        let (_, steps) = self.0.split_last()?;
        Some(Self(steps.to_vec()))
    }
}

/// Digits without a leading zero are an index, so that every text of a key
/// comes back as it was. An escaped step is a key in any case.
fn read_step(step: String, escaped: bool) -> Result<Step, RouteError> {
    if step.is_empty() {
        return Err(RouteError::EmptyStep);
    }
    let digits = step.bytes().all(|byte| byte.is_ascii_digit());
    match step.parse() {
        Ok(index) if digits && !escaped && (step == "0" || !step.starts_with('0')) => {
            Ok(Step::Index(index))
        }
        Ok(_) | Err(_) => Ok(Step::Key(step)),
    }
}

impl From<Vec<Step>> for Route {
    fn from(steps: Vec<Step>) -> Self {
        Self(steps)
    }
}

impl FromStr for Route {
    type Err = RouteError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            write!(f, "{step}")?;
        }
        Ok(())
    }
}

/// Why a text is no route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteError {
    /// Two dots in a row, or a dot at one end.
    EmptyStep,
    /// Nothing behind the last backslash.
    TrailingBackslash,
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyStep => "a step of the route is empty",
            Self::TrailingBackslash => "the route ends with a backslash",
        })
    }
}

impl std::error::Error for RouteError {}

#[cfg(test)]
mod tests {
    use super::{Route, RouteError, Step};
    use proptest::prelude::*;

    #[test]
    fn dots_separate_and_digits_are_an_index() {
        let route: Route = "spec.sources.0.007.x".parse().unwrap();
        let expected = Route::root()
            .key("spec")
            .key("sources")
            .index(0)
            .key("007")
            .key("x");
        assert_eq!(route, expected);
        assert_eq!(route.to_string(), "spec.sources.0.007.x");
        assert_eq!(Route::parse("").unwrap(), Route::root());
    }

    #[test]
    fn a_backslash_keeps_a_dot_in_the_key() {
        let route = Route::parse(r"metadata.annotations.a\.b/c\\d").unwrap();
        assert_eq!(route.steps()[2], Step::Key("a.b/c\\d".into()));
        assert_eq!(route.parent().unwrap().to_string(), "metadata.annotations");
    }

    #[test]
    fn an_escaped_digit_is_a_key_and_a_huge_number_too() {
        assert_eq!(
            Route::parse(r"\1").unwrap().steps(),
            [Step::Key("1".into())]
        );
        let huge = "9".repeat(40);
        assert_eq!(Route::parse(&huge).unwrap().steps(), [Step::Key(huge)]);
    }

    #[test]
    fn empty_steps_and_a_last_backslash_are_refused() {
        for text in [".", "a.", ".a", "a..b"] {
            assert_eq!(Route::parse(text), Err(RouteError::EmptyStep), "{text}");
        }
        assert_eq!(Route::parse("a\\"), Err(RouteError::TrailingBackslash));
    }

    proptest! {
        #[test]
        fn every_written_route_is_read_back(keys in prop::collection::vec(".+", 1..5)) {
            let route = keys.iter().fold(Route::root(), |route, key| match key.parse() {
                Ok(index) if key == &format!("{index}") => route.index(index),
                _ => route.key(key.as_str()),
            });
            prop_assert_eq!(Route::parse(&route.to_string()).unwrap(), route);
        }
    }
}
