//! Proof that a new text is the old one with the planned scalars replaced.
//!
//! Owns the comparison of two texts: node by node, comment by comment, and
//! byte by byte between the replaced scalars. It trusts nothing the editor
//! did; it looks only at the texts and at what was planned.

use std::ops::Range;

use super::edit::{Edit, EditError, Target, locate};
use super::node::{Document, Kind, Node};
use super::parse::{Stream, parse};

/// Checks that `new` is `old` with exactly these scalars replaced: every other
/// node, comment and byte is the same.
pub fn prove(old: &str, new: &str, edits: &[Edit<'_>]) -> Result<(), EditError> {
    let stream = parse(old);
    let targets = locate(&stream, edits)?;
    prove_streams((old, &stream), (new, &parse(new)), &targets)
}

/// A replaced scalar: its bytes in the old and in the new text.
type Replaced = (Range<usize>, Range<usize>);

/// As [`prove`], for texts already read. `targets` are in the order of the text.
pub(super) fn prove_streams(
    old: (&str, &Stream),
    new: (&str, &Stream),
    targets: &[Target<'_>],
) -> Result<(), EditError> {
    compare(old, new, targets).map_err(|reason| EditError::Unproven { reason })
}

fn compare(
    (old_text, old): (&str, &Stream),
    (new_text, new): (&str, &Stream),
    targets: &[Target<'_>],
) -> Result<(), String> {
    let mut proof = Proof {
        targets,
        replaced: Vec::new(),
    };
    let errors = |stream: &Stream| -> Vec<(usize, String)> {
        let errors = stream.errors.iter();
        errors.map(|e| (e.document, e.message.clone())).collect()
    };
    if old.documents.len() != new.documents.len() || errors(old) != errors(new) {
        return Err("the text no longer holds the same documents".to_owned());
    }
    for (old, new) in old.documents.iter().zip(&new.documents) {
        proof.document(old, new)?;
    }
    if proof.replaced.len() != targets.len() {
        return Err("not every planned scalar was found".to_owned());
    }
    same_bytes_between(old_text, new_text, &proof.replaced)
}

struct Proof<'a> {
    targets: &'a [Target<'a>],
    replaced: Vec<Replaced>,
}

impl Proof<'_> {
    fn document(&mut self, old: &Document, new: &Document) -> Result<(), String> {
        let comments = |document: &Document| -> Vec<String> {
            let comments = document.comments.iter();
            comments.map(|comment| comment.text.clone()).collect()
        };
        if (old.index, old.explicit) != (new.index, new.explicit) {
            return Err("the text no longer holds the same documents".to_owned());
        }
        if comments(old) != comments(new) {
            return Err(format!("the comments of document {} changed", old.index));
        }
        match (&old.root, &new.root) {
            (None, None) => Ok(()),
            (Some(old), Some(new)) => self.node(old, new),
            _ => Err(format!("document {} changed", old.index)),
        }
    }

    /// Recurses as deep as the tree, whose depth the parser limits.
    fn node(&mut self, old: &Node, new: &Node) -> Result<(), String> {
        let changed = || {
            Err(format!(
                "{} in line {} changed",
                old.kind.name(),
                old.position.line
            ))
        };
        if (&old.tag, &old.anchor, old.flow) != (&new.tag, &new.anchor, new.flow) {
            return changed();
        }
        match (&old.kind, &new.kind) {
            (Kind::Scalar(before), Kind::Scalar(after)) => {
                // Targets are visited in their order, so the next one is the only candidate.
                let next = self.targets.get(self.replaced.len());
                match next.filter(|target| std::ptr::eq(target.node, old)) {
                    Some(target) if target.value != after.value || new.is_null() => changed(),
                    Some(_) => {
                        self.replaced.push((old.span.clone(), new.span.clone()));
                        Ok(())
                    }
                    None if before != after => changed(),
                    None => Ok(()),
                }
            }
            (Kind::Alias(before), Kind::Alias(after)) if before.name == after.name => Ok(()),
            (Kind::Sequence(before), Kind::Sequence(after)) if before.len() == after.len() => {
                let mut pairs = before.iter().zip(after);
                pairs.try_for_each(|(old, new)| self.node(old, new))
            }
            (Kind::Mapping(before), Kind::Mapping(after)) if before.len() == after.len() => {
                before.iter().zip(after).try_for_each(|(old, new)| {
                    self.node(&old.0, &new.0)?;
                    self.node(&old.1, &new.1)
                })
            }
            _ => changed(),
        }
    }
}

/// Checks the bytes before, between and behind the replaced scalars. Only
/// before a value that was absent, one blank may be new.
fn same_bytes_between(old: &str, new: &str, replaced: &[Replaced]) -> Result<(), String> {
    let (mut old_at, mut new_at) = (0, 0);
    for (old_span, new_span) in replaced {
        let before = old.get(old_at..old_span.start);
        let after = new.get(new_at..new_span.start);
        let blank = old_span.is_empty()
            && before.is_some()
            && before == after.and_then(|gap| gap.strip_suffix(' '));
        if before.is_none() || (before != after && !blank) {
            return Err("bytes outside the replaced scalar changed".to_owned());
        }
        (old_at, new_at) = (old_span.end, new_span.end);
    }
    if old.get(old_at..) == new.get(new_at..) {
        Ok(())
    } else {
        Err("bytes outside the replaced scalar changed".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::prove;
    use crate::yaml::{Edit, EditError, Route};

    const OLD: &str = "# top\na: 1.2.3 # c\nb: &x [y, 'z']\nc: *x\ne:\n---\nd: 1\n";

    fn check(new: &str) -> Result<(), EditError> {
        let route: Route = "a".parse().unwrap();
        let edit = Edit {
            document: 0,
            route: &route,
            value: "1.2.4",
        };
        prove(OLD, new, &[edit])
    }

    #[test]
    fn the_planned_change_is_proven() {
        assert_eq!(check(&OLD.replace("1.2.3", "1.2.4")), Ok(()));
        assert_eq!(check(&OLD.replace("1.2.3", "\"1.2.4\"")), Ok(()));
    }

    #[test]
    fn every_other_change_is_not() {
        let good = OLD.replace("1.2.3", "1.2.4");
        let wrong = [
            String::new(),
            OLD.to_owned(),
            good.repeat(2),
            good.replace("1.2.4", "1.2.5"),
            good.replace("# c", "# d"),
            good.replace(" # c", ""),
            good.replace(" # c", "  # c"),
            good.replace("'z'", "\"z\""),
            good.replace("'z'", "z"),
            good.replace("&x", "&y").replace("*x", "*y"),
            good.replace("*x", "[y, 'z']"),
            good.replace("[y, 'z']", "\n- y\n- 'z'"),
            good.replace("e:", "e: ~"),
            good.replace("e:\n", ""),
            good.replace("d: 1\n", "d: 1"),
            good.replace("d: 1", "d: !t 1"),
            good.replace("---\n", "---\n---\n"),
            good.replace("---\nd: 1\n", ""),
            good.replace('\n', "\r\n"),
            good.replace("d: 1", "d: ["),
            format!("\u{feff}{good}"),
        ];
        for new in wrong {
            assert!(
                matches!(check(&new), Err(EditError::Unproven { .. })),
                "{new}"
            );
        }
    }
}
