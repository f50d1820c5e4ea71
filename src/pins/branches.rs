//! [`Branches`]: which lines of a template are there together.

use super::templates::actions;

/// Whether a line is there where another is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Wherever the other is.
    Always,
    /// It depends on a condition.
    Sometimes,
    /// Nowhere: it is in another branch of the same condition.
    Never,
}

/// Conditions nest no deeper where people write them; deeper ones are taken for unknown.
const DEEPEST: usize = 64;

/// The branches of the conditions of a text, and the one that each line is in.
#[derive(Debug)]
pub(super) struct Branches {
    /// The branch around it, and the condition that it is of. The first is the text itself.
    all: Vec<(usize, usize)>,
    by_line: Vec<usize>,
}

impl Branches {
    /// Reads the actions of a text. Lines have the byte where they begin.
    pub(super) fn of(text: &str, lines: &[(usize, &str)]) -> Self {
        let mut branches = Self {
            all: vec![(0, 0)],
            by_line: Vec::with_capacity(lines.len()),
        };
        let mut here = 0;
        let mut actions = actions(text).into_iter().peekable();
        for (start, _) in lines {
            while let Some(action) = actions.next_if(|action| action.start < *start) {
                let inner = text[action]
                    .trim_start_matches(['{', '<', '-'])
                    .trim_start();
                let word = inner.split(|c: char| !c.is_alphanumeric()).next();
                let (around, condition) = branches.all[here];
                match word.unwrap_or_default() {
                    "if" | "range" | "with" | "block" | "define" => {
                        let condition = branches.all.len();
                        here = branches.open(here, condition);
                    }
                    "else" if here > 0 => here = branches.open(around, condition),
                    "end" => here = around,
                    _ => {}
                }
            }
            branches.by_line.push(here);
        }
        branches
    }

    fn open(&mut self, around: usize, condition: usize) -> usize {
        self.all.push((around, condition));
        self.all.len() - 1
    }

    /// The branches around a line, the innermost first.
    fn around(&self, line: usize) -> impl Iterator<Item = usize> {
        let first = self.by_line[line];
        let outer = move |branch: &usize| (*branch > 0).then(|| self.all[*branch].0);
        std::iter::successors(Some(first), outer).take(DEEPEST)
    }

    /// Whether another line is there where a line is.
    pub(super) fn seen(&self, line: usize, other: usize) -> Seen {
        let (own, branch) = (self.by_line[line], self.by_line[other]);
        if own == branch || self.around(line).any(|one| one == branch) {
            return Seen::Always;
        }
        let differs = |one: usize| {
            let is_other = |mine: usize| {
                mine != one && mine > 0 && one > 0 && self.all[mine].1 == self.all[one].1
            };
            self.around(line).any(is_other)
        };
        if self.around(other).any(differs) {
            Seen::Never
        } else {
            Seen::Sometimes
        }
    }
}
