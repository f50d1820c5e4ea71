//! What a pull request gets after it was opened: the call that opens one takes no labels, people or milestone.

use serde_json::{Value, json};

use super::Github;
use super::answers::{Labelled, Titled};
use crate::forge::NewRequest;
use crate::forge::common::missing;
use crate::forge::error::ForgeError;

/// Whether there is anything of that kind.
pub(super) fn has_later(new: &NewRequest) -> bool {
    let lists = [&new.labels, &new.assignees, &new.reviewers];
    new.milestone.is_some() || lists.iter().any(|list| !list.is_empty())
}

impl Github {
    /// Gives it; says which labels it has now, and what couldn't be done. The labels come with the text and in one call, so that whoever reads the text knows whether they were given.
    ///
    /// # Errors
    /// When the text can't be written, or nobody knows whether it was.
    pub(super) fn given(
        &self,
        number: u64,
        new: &NewRequest,
    ) -> Result<(Vec<String>, Vec<String>), ForgeError> {
        let (mut there, mut unable) = (Vec::new(), Vec::new());
        self.people(number, new, &mut unable);
        let aim = format!("change the pull request #{number}");
        let mut body = json!({ "labels": new.labels, "body": new.body });
        match new.milestone.as_deref().map(|title| self.milestone(title)) {
            Some(Ok(number)) => body["milestone"] = json!(number),
            Some(Err(why)) => unable.push(why),
            None => {}
        }
        match self.patch::<Labelled>(&aim, &self.issue_path(number, ""), &body) {
            // Whoever may not give labels is told so by their absence.
            Ok(now) => {
                there.extend(now.labels.into_iter().flatten().map(|label| label.name));
                let left_out = missing(&new.labels, &there);
                unable.extend(left_out.map(|name| format!("label `{name}`: GitHub left it out")));
            }
            Err(why) if matches!(why.status, Some(400..=428 | 430..=499)) => {
                unable.push(format!("labels and milestone: {}", why.why));
                self.patch::<Value>(&aim, &self.one(number), &json!({ "body": new.body }))?;
            }
            Err(why) => return Err(why),
        }
        Ok((there, unable))
    }

    fn people(&self, number: u64, new: &NewRequest, unable: &mut Vec<String>) {
        if !new.assignees.is_empty() {
            let path = self.issue_path(number, "/assignees");
            let body = json!({ "assignees": new.assignees });
            match self.post::<Titled>("assign somebody", &path, &body) {
                // GitHub leaves out whom it can't assign, without a word.
                Ok(issue) => {
                    let there = issue.assignees.into_iter().map(|user| user.login);
                    let there: Vec<String> = there.collect();
                    let missing = missing(&new.assignees, &there);
                    unable.extend(
                        missing.map(|name| format!("assignee `{name}`: GitHub left it out")),
                    );
                }
                Err(why) => unable.push(format!("assignees: {}", why.why)),
            }
        }
        // One by one: an unknown name would spoil all of a call.
        let path = format!("{}/requested_reviewers", self.one(number));
        for name in &new.reviewers {
            let body = json!({ "reviewers": [name] });
            if let Err(why) = self.post::<Value>("ask for a review", &path, &body) {
                unable.push(format!("reviewer `{name}`: {}", why.why));
            }
        }
    }

    /// The number of a milestone.
    fn milestone(&self, title: &str) -> Result<u64, String> {
        let named = |why: ForgeError| format!("milestone `{title}`: {}", why.why);
        let path = self.path("/milestones?state=open&per_page=100");
        let found: Vec<Titled> = self.pages("look a milestone up", &path).map_err(named)?;
        let mut found = found.into_iter();
        found
            .find(|milestone| milestone.title == title)
            .map(|milestone| milestone.number)
            .ok_or_else(|| format!("milestone `{title}`: there is none that is open"))
    }
}
