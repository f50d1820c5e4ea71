//! The team's own values: given by file, by answers, or taken over when the form of the values changes.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::Init;
use crate::command::files;
use crate::layout::answers::Answers;
use crate::layout::definition::Layout;
use crate::layout::given::{Given, GivenAnswers, Origin};
use crate::layout::recorded::ValuesAs;
use crate::layout::render::{outline, render};
use crate::model::repo_path::RepoPath;
use crate::model::tree;

/// The team's own values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnText {
    /// The text, with Unix line ends.
    pub(super) text: String,
    /// Where it is from, for messages.
    pub(super) place: String,
    /// The file of the repository whose text it is: that one goes.
    pub(super) carried: Option<RepoPath>,
}

impl Init<'_> {
    /// Finds the team's own values, the strongest source first.
    pub(super) fn own_values(
        &self,
        given: &GivenAnswers,
        resolved: &Map<String, Value>,
    ) -> Result<Option<OwnText>> {
        if let Some(file) = &self.arguments.questions.values {
            let text = files::read_text(&self.world.folder.join(file))?.replace("\r\n", "\n");
            return Ok(Some(OwnText {
                text,
                place: file.display().to_string(),
                carried: None,
            }));
        }
        let form = resolved
            .get("values_as")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let answered = given
            .get("values")
            .and_then(|given| Some((given.value.as_str()?, &given.origin)));
        let is_inline = form == ValuesAs::Inline.as_str();
        match (answered, &self.last) {
            (
                Some((
                    text,
                    Origin::File {
                        place,
                        recorded: false,
                        ..
                    },
                )),
                _,
            ) => Ok(Some(own(text, &format!("`values` in {place}")))),
            (Some((text, origin)), _) if is_inline => Ok(Some(own(text, &place_of(origin)))),
            // What stood in the manifest becomes the file.
            (Some((text, origin)), Some(last)) if last.answers.values_as == ValuesAs::Inline => {
                Ok(Some(own(text, &place_of(origin))))
            }
            (None, Some(last)) if is_inline && last.answers.values_as == ValuesAs::File => {
                self.carried(&last.layout, &last.answers)
            }
            _ => Ok(None),
        }
    }

    /// The values file of the last run, where it says more than the answers alone.
    fn carried(&self, layout: &Layout, before: &Answers) -> Result<Option<OwnText>> {
        let outlines = outline(self.catalog, layout, before)?;
        let Some(file) = outlines.iter().find(|outline| outline.rule.values) else {
            return Ok(None);
        };
        let Some(text) = tree::read_text(self.gathered.target.tree()?.as_ref(), &file.path)? else {
            return Ok(None);
        };
        let text = text.replace("\r\n", "\n");
        let versions = before
            .clusters
            .iter()
            .map(|cluster| (cluster.name.clone(), String::new()))
            .collect();
        let starter = render(self.catalog, layout, before, &versions, None)?
            .files
            .into_iter()
            .find(|f| f.path == file.path);
        let Some(starter) = starter else {
            return Ok(None);
        };
        if starter.text == text {
            return Ok(None);
        }
        // The line that says whose file it is says nothing inside of a manifest.
        let header = starter.text.lines().next().unwrap_or_default();
        let text = text
            .strip_prefix(&format!("{header}\n"))
            .unwrap_or(&text)
            .to_owned();
        Ok(Some(OwnText {
            text,
            place: file.path.to_string(),
            carried: Some(file.path.clone()),
        }))
    }
}

fn own(text: &str, place: &str) -> OwnText {
    OwnText {
        text: text.to_owned(),
        place: place.to_owned(),
        carried: None,
    }
}

fn place_of(origin: &Origin) -> String {
    match origin {
        Origin::File { place, .. } => format!("`values` in {place}"),
        Origin::Flag => "the answer `values`".to_owned(),
    }
}

/// The team's values are an answer where they stand in the manifest alone, since rendering needs them again.
pub(super) fn keep(
    layout: &Layout,
    resolved: &mut Map<String, Value>,
    own: Option<&OwnText>,
    given: &GivenAnswers,
) {
    let is_inline =
        resolved.get("values_as").and_then(Value::as_str) == Some(ValuesAs::Inline.as_str());
    let has_file = layout
        .files
        .iter()
        .any(|file| file.values && file.when.as_deref() == Some("values_as == \"inline\""));
    let recorded = || given.get("values").map(|Given { value, .. }| value.clone());
    if let (true, false, Some(values)) = (
        is_inline,
        has_file,
        own.map(|own| json!(own.text)).or_else(recorded),
    ) {
        resolved.insert("values".into(), values);
    }
}
