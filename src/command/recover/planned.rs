//! The changes of a recovery: that of the release that failed, and those of others that are to go with it.

use anyhow::Result;

use super::others::{scattered, shared};
use super::report::Recovered;
use super::units::{Chosen, Standing, Unit};
use super::{Facts, Run, choose, known, mend};
use crate::cli::recover::Others;
use crate::error::{Problem, Report};
use crate::plan::bundle;
use crate::plan::change::Change;
use crate::plan::recover::Rejection;
use crate::ui::Ui;

impl Run<'_> {
    /// The changes: that of the unit that failed, and those of others where they are to move.
    pub(super) fn planned(
        &self,
        facts: &Facts<'_>,
        (rejection, chosen): (&Rejection, &Chosen),
        ui: &mut Ui,
    ) -> Result<Recovered> {
        let mut planner = choose::Planner::new(self, facts, rejection)?;
        let how = self.arguments.others;
        let mut first: Vec<usize> = vec![chosen.first];
        if how == Others::Same {
            first.extend(&chosen.others);
        }
        let goal = planner.goal(&first)?;
        let mut recovered = Recovered::new(rejection, &goal, &facts.subject.name);
        let patch = goal.patch.as_ref().map(|(patch, _)| patch);
        let shared = |unit: &Unit| shared(&facts.all[chosen.first], unit, patch);
        let mut following = Vec::new();
        for at in &chosen.others {
            let unit = &facts.all[*at];
            let has = match unit.standing(&rejection.version) {
                Standing::WentBack => "had",
                _ => "has",
            };
            let told = match (how, shared(unit)) {
                (Others::Tell, shared) => {
                    let what = match shared {
                        Some(file) => format!(
                            "; its values change with this one's, since they stand in `{file}` for both, and its version stays"
                        ),
                        None => " and stays".to_owned(),
                    };
                    format!(
                        "{} {has} {} too{what}: `--others same` or `--others follow` moves it",
                        unit.name(),
                        rejection.version
                    )
                }
                (Others::Same, _) => format!("{} moves in the same change", unit.name()),
                (Others::Follow, _) => {
                    let own = planner.goal(&[*at]);
                    let change = own.and_then(|own| planner.change(&[*at], &own, &[]));
                    let change = change.and_then(|change| match change {
                        Some(change) => {
                            self.check_open(facts, &[*at], &change)?;
                            Ok(Some(change))
                        }
                        None => Ok(None),
                    });
                    match change {
                        Ok(Some(change)) => {
                            following.push(change);
                            format!("{} follows in a change of its own", unit.name())
                        }
                        Ok(None) => format!("{} is as it should be already", unit.name()),
                        // One that can't is no reason to leave the one that failed.
                        Err(why) => {
                            let problem = Problem::from(Report::of(&why));
                            recovered.left = recovered.left.or(Some(problem));
                            let why = why.to_string();
                            let line = why.lines().next().unwrap_or_default();
                            format!("{} can't follow: {line}", unit.name())
                        }
                    }
                }
            };
            recovered.others.push((unit.name(), told));
        }
        let rest = facts.all.iter().enumerate();
        for (_, unit) in rest.filter(|(at, _)| !first.contains(at) && !chosen.others.contains(at)) {
            if let Some(file) = shared(unit) {
                let told = format!(
                    "{} gets the corrected values too, since they stand in `{file}` for both",
                    unit.name()
                );
                recovered.others.push((unit.name(), told));
            }
        }
        let mut told: Vec<String> = recovered
            .others
            .iter()
            .map(|(_, told)| told.clone())
            .collect();
        let unit = &facts.all[chosen.first];
        for text in [scattered(unit), mend::doubt(rejection, unit)]
            .into_iter()
            .flatten()
        {
            ui.notice(&text);
            told.push(text);
        }
        let own = planner.change(&first, &goal, &told)?;
        if let Some(own) = &own {
            self.check_open(facts, &first, own)?;
        }
        recovered.changes = own.into_iter().chain(following).collect();
        for remark in planner.remarks() {
            ui.warn(remark);
        }
        for change in &mut recovered.changes {
            if facts.other_base.is_some() {
                bundle::for_base(change, facts.base_name);
            }
            change.label(&facts.policies.requests.labels);
        }
        Ok(recovered)
    }

    /// Whether a change of some units goes with what is open already.
    fn check_open(&self, facts: &Facts<'_>, at: &[usize], change: &Change) -> Result<()> {
        let has_values = self.arguments.values.is_some();
        let units: Vec<&Unit> = at.iter().map(|at| &facts.all[*at]).collect();
        known::takes_nothing_back(facts, units[0], change, has_values)?;
        known::is_alone(facts, &units, change)
    }
}
