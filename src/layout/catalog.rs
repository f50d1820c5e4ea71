//! [`Catalog`]: the layouts and templates that there are, embedded ones and a user's own over them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use include_dir::{Dir, include_dir};
use sha2::{Digest as _, Sha256};

use super::definition::Layout;
use super::question::Question;
use crate::error::Problem;

static LAYOUTS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/layouts");
static TEMPLATES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/templates");

/// Texts of a user's own layouts: `NAME/layout.yaml` and `templates/…`, by path below the folder.
pub type OwnFiles = BTreeMap<String, String>;

/// Layouts by name and templates by path.
#[derive(Debug, Clone)]
pub struct Catalog {
    layouts: BTreeMap<String, (String, String)>,
    templates: BTreeMap<String, String>,
    standard: Vec<Question>,
    has_own: bool,
}

impl Catalog {
    /// The embedded layouts alone.
    pub fn embedded() -> Self {
        let mut layouts = BTreeMap::new();
        for folder in LAYOUTS.dirs() {
            let name = folder.path().to_string_lossy().into_owned();
            if let Some(file) = LAYOUTS.get_file(format!("{name}/layout.yaml")) {
                layouts.insert(
                    name.clone(),
                    (format!("layouts/{name}/layout.yaml"), text_of(file)),
                );
            }
        }
        let mut templates = BTreeMap::new();
        collect(&TEMPLATES, &mut templates);
        let questions = LAYOUTS
            .get_file("questions.yaml")
            .map(text_of)
            .unwrap_or_default();
        let mut standard: Vec<Question> =
            serde_yaml::from_str(&questions).expect("the embedded questions are tested");
        for question in &mut standard {
            question.standard = true;
        }
        Self {
            layouts,
            templates,
            standard,
            has_own: false,
        }
    }

    /// The embedded layouts with a user's own added, or put in place of those of the same name. `folder` names them in errors.
    pub fn with_own(own: &OwnFiles, folder: &str) -> Self {
        let mut catalog = Self::embedded();
        catalog.has_own = true;
        for (path, text) in own {
            if let Some(template) = path.strip_prefix("templates/") {
                catalog.templates.insert(template.to_owned(), text.clone());
            } else if let Some(name) = path
                .strip_suffix("/layout.yaml")
                .filter(|name| !name.contains('/'))
            {
                catalog
                    .layouts
                    .insert(name.to_owned(), (format!("{folder}/{path}"), text.clone()));
            }
        }
        catalog
    }

    /// Whether a user's own layouts or templates are among them.
    pub fn has_own(&self) -> bool {
        self.has_own
    }

    /// Names of all layouts, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.layouts.keys().map(String::as_str)
    }

    /// The questions that have flags.
    pub fn standard_questions(&self) -> &[Question] {
        &self.standard
    }

    /// Templates by name, for the engine.
    pub fn templates(&self) -> &BTreeMap<String, String> {
        &self.templates
    }

    /// Reads a layout.
    ///
    /// # Errors
    /// When there is none of this name (with the nearest name), or it isn't valid.
    pub fn layout(&self, name: &str) -> Result<Layout> {
        let Some((place, text)) = self.layouts.get(name) else {
            let known = self.names().collect::<Vec<_>>();
            let nearest = super::recorded::nearest(name, known.iter().copied());
            let mut problem = Problem::invalid(format!("there is no layout `{name}`"));
            if let Some(nearest) = nearest {
                problem = problem.hint(format!("did you mean `{nearest}`?"));
            }
            return Err(problem
                .hint(format!(
                    "layouts: {}; `--layouts DIR` adds your own",
                    known.join(", ")
                ))
                .into());
        };
        Layout::parse(name, text, place, &self.standard)
    }

    /// A digest over the layout's text and the templates that it reaches: the same digest gives the same files for the same answers.
    pub fn digest(&self, layout: &Layout) -> String {
        let mut hash = Sha256::new();
        let text = self
            .layouts
            .get(&layout.name)
            .map(|(_, text)| text.as_str())
            .unwrap_or_default();
        let reached = self.reached(layout);
        let templates = reached
            .iter()
            .filter_map(|name| Some((name.as_str(), self.templates.get(name)?.as_str())));
        for (path, text) in std::iter::once(("", text)).chain(templates) {
            hash.update(path.len().to_le_bytes());
            hash.update(path);
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        }
        format!("sha256:{:x}", hash.finalize())
    }

    /// Names of the templates of a layout's files, of those that they include, and of the values that profiles have.
    fn reached(&self, layout: &Layout) -> BTreeSet<String> {
        let mut waiting: Vec<String> = layout
            .files
            .iter()
            .map(|file| file.template.clone())
            .collect();
        waiting.extend(
            self.templates
                .keys()
                .filter(|name| name.ends_with("/values.yaml"))
                .cloned(),
        );
        let mut reached = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            let text = self
                .templates
                .get(&name)
                .map(String::as_str)
                .unwrap_or_default();
            if reached.insert(name) {
                waiting.extend(
                    text.split("include \"")
                        .skip(1)
                        .filter_map(|rest| rest.split('"').next())
                        .map(str::to_owned),
                );
            }
        }
        reached
    }
}

fn text_of(file: &include_dir::File<'_>) -> String {
    file.contents_utf8()
        .expect("embedded files are UTF-8")
        .to_owned()
}

fn collect(folder: &Dir<'_>, into: &mut BTreeMap<String, String>) {
    for file in folder.files() {
        into.insert(
            file.path().to_string_lossy().replace('\\', "/"),
            text_of(file),
        );
    }
    for inner in folder.dirs() {
        collect(inner, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_layouts_are_those_of_the_documentation_and_valid() {
        let catalog = Catalog::embedded();
        assert_eq!(
            catalog.names().collect::<Vec<_>>(),
            ["argo-cluster", "argo-fleet", "flux-cluster", "flux-fleet"]
        );
        for name in catalog.names() {
            catalog.layout(name).expect("valid");
        }
    }

    #[test]
    fn an_own_layout_takes_the_place_of_the_embedded_one() {
        let text =
            "title: Mine\nabout: Mine\nprovider: flux\nclusters: one\nquestions: []\nfiles: []\n";
        let own = OwnFiles::from([("flux-cluster/layout.yaml".to_owned(), text.to_owned())]);
        assert_eq!(
            Catalog::with_own(&own, "own")
                .layout("flux-cluster")
                .expect("valid")
                .title,
            "Mine"
        );
    }

    #[test]
    fn the_nearest_name_is_offered() {
        let error = Catalog::embedded()
            .layout("flux-cluter")
            .expect_err("no such layout");
        assert!(crate::error::Report::of(&error).hints[0].contains("flux-cluster"));
    }
}
