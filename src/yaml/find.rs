//! Walking a route from a node.
//!
//! Owns the rules of the walk: aliases and merge keys are never followed,
//! because a change behind them would reach other places, and a key that
//! stands twice is never chosen between.

use super::{FindError, Kind, Node, Route, Step};

impl Node {
    /// Walks a route from this node. The end may be any kind of node, an alias
    /// too; an alias or a merge key on the way is an error.
    pub fn find(&self, route: &Route) -> Result<&Self, FindError> {
        let mut node = self;
        let mut at = Route::root();
        for step in route.steps() {
            node = node.step(step, &at)?;
            at = at.step(step.clone());
        }
        Ok(node)
    }

    /// Walks a route that must end at a scalar.
    pub fn find_scalar(&self, route: &Route) -> Result<&Self, FindError> {
        let node = self.find(route)?;
        match &node.kind {
            Kind::Scalar(_) => Ok(node),
            Kind::Alias(_) => Err(node.alias_error(route)),
            Kind::Mapping(_) | Kind::Sequence(_) => Err(FindError::NotScalar {
                at: route.clone(),
                found: node.kind.name(),
                position: node.position,
            }),
        }
    }

    fn step(&self, step: &Step, at: &Route) -> Result<&Self, FindError> {
        match (&self.kind, step) {
            (Kind::Mapping(entries), Step::Key(key)) => self.value_of(entries, key, at),
            (Kind::Mapping(entries), Step::Index(index)) => {
                self.value_of(entries, &index.to_string(), at)
            }
            (Kind::Sequence(items), Step::Index(index)) => {
                items.get(*index).ok_or(FindError::NoSuchIndex {
                    index: *index,
                    length: items.len(),
                    at: at.clone(),
                    position: self.position,
                })
            }
            (Kind::Sequence(_), Step::Key(_)) => Err(FindError::NotAnIndex {
                step: step.clone(),
                at: at.clone(),
                position: self.position,
            }),
            (Kind::Alias(_), _) => Err(self.alias_error(at)),
            (Kind::Scalar(_), _) => Err(FindError::NotAMapping {
                step: step.clone(),
                at: at.clone(),
                found: self.kind.name(),
                position: self.position,
            }),
        }
    }

    fn value_of<'a>(
        &self,
        entries: &'a [(Self, Self)],
        key: &str,
        at: &Route,
    ) -> Result<&'a Self, FindError> {
        let mut same = entries
            .iter()
            .filter(|(name, _)| name.as_str() == Some(key));
        match (same.next(), same.next()) {
            (Some((first, _)), Some((second, _))) => Err(FindError::DuplicateKey {
                key: key.to_owned(),
                at: at.clone(),
                first: first.position,
                second: second.position,
            }),
            (Some((name, value)), None) if !name.is_merge_key() => Ok(value),
            _ => match entries.iter().find(|(name, _)| name.is_merge_key()) {
                Some((merge, _)) => Err(FindError::ThroughMerge {
                    key: key.to_owned(),
                    at: at.clone(),
                    position: merge.position,
                }),
                None => Err(FindError::NoSuchKey {
                    key: key.to_owned(),
                    at: at.clone(),
                    position: self.position,
                }),
            },
        }
    }

    fn alias_error(&self, at: &Route) -> FindError {
        let (anchor, anchor_position) = match &self.kind {
            Kind::Alias(alias) => (alias.name.clone(), alias.target),
            Kind::Scalar(_) | Kind::Mapping(_) | Kind::Sequence(_) => (String::new(), None),
        };
        FindError::IsAlias {
            anchor,
            anchor_position,
            at: at.clone(),
            position: self.position,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::yaml::{Route, parse};

    const TEXT: &str = "\
base: &base {image: x}
list:
- name: a
  0: zero
- *base
merged:
  <<: *base
  own: 1
twice: {a: 1, 'a': 2}
";

    fn find(route: &str) -> String {
        let stream = parse(TEXT);
        let root = stream.documents[0].root.as_ref().unwrap();
        match root.find_scalar(&Route::parse(route).unwrap()) {
            Ok(node) => node.as_str().unwrap().to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_route_is_walked_by_key_and_index() {
        assert_eq!(find("base.image"), "x");
        assert_eq!(find("list.0.name"), "a");
        assert_eq!(find("list.0.0"), "zero");
        assert_eq!(find("merged.own"), "1");
    }

    #[test]
    fn each_way_to_fail_names_the_place() {
        let table = [
            ("nope", "no key `nope` in the document, line 1"),
            ("list.0.nope", "no key `nope` in `list.0`, line 3"),
            ("list.7", "no item 7 in `list`, line 3: it has 2"),
            (
                "list.x",
                "`x` is no index, but `list`, line 3, is a sequence",
            ),
            (
                "base.image.y",
                "no `y` in `base.image`, line 1: it is a scalar",
            ),
            ("list.1", "line 5: `list.1` is an alias of `&base` (line 1)"),
            (
                "list.1.image",
                "line 5: `list.1` is an alias of `&base` (line 1)",
            ),
            (
                "merged.image",
                "`image` in `merged` can only come from the merge key `<<` in line 7",
            ),
            (
                "merged.<<",
                "`<<` in `merged` can only come from the merge key `<<` in line 7",
            ),
            (
                "twice.a",
                "key `a` stands twice in `twice`, in line 9 and line 9",
            ),
            ("base", "`base`, line 1, is a mapping, not a scalar"),
        ];
        for (route, message) in table {
            assert_eq!(find(route), message, "{route}");
        }
    }

    #[test]
    fn hints_point_to_the_place_to_change() {
        let stream = parse(TEXT);
        let root = stream.documents[0].root.as_ref().unwrap();
        let hint = |route: &str| {
            root.find_scalar(&Route::parse(route).unwrap())
                .unwrap_err()
                .hint()
        };
        assert_eq!(
            hint("list.1").unwrap(),
            "change the value at `&base`, line 1"
        );
        assert!(hint("merged.image").unwrap().contains("line 7"));
        assert!(hint("nope").is_none());
    }
}
