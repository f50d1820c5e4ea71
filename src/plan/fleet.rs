//! The releases of an Argo CD fleet: their Applications are made by a chart of the repository, so that no manifest says what belongs to a cluster's pin. The
//! recorded answers do.

use anyhow::Result;

use super::chart_files::merged;
use super::release_values::{Controller, Described, Form, Layer, Owner, values_of};
use crate::layout::recorded::{self, FILE_NAME, RecordedAnswers, ValuesAs};
use crate::model::repo_path::RepoPath;
use crate::model::tree::{Tree, read_text};
use crate::pins::Pin;
use crate::yaml::Route;

/// The layout that this is about.
const LAYOUT: &str = "argo-fleet";

/// The release of a cluster's pin. Nothing where the repository follows another layout.
///
/// # Errors
/// When the repository can't be read.
pub(super) fn describe(tree: &dyn Tree, pin: &Pin) -> Result<Option<Described>> {
    // `clusters/NAME/RELEASE.yaml`, below the folder of the scaffold.
    let parts: Vec<&str> = pin.file.parts().collect();
    let [top @ .., "clusters", cluster, file] = parts.as_slice() else {
        return Ok(None);
    };
    let folder: String = top.iter().map(|part| format!("{part}/")).collect();
    let Some(answers) = answers(tree, &folder)? else {
        return Ok(None);
    };
    let release = answers.release.clone().or(answers.chart.clone());
    let (Some(release), Some(LAYOUT)) = (release, answers.layout.as_deref()) else {
        return Ok(None);
    };
    if *file != format!("{release}.yaml") {
        return Ok(None);
    }
    let is_inline = answers.values_as == Some(ValuesAs::Inline);
    let shared = match is_inline {
        true => format!("{folder}argocd/release/values.yaml"),
        false => format!("{folder}apps/{release}/values.yaml"),
    };
    let own = format!("{folder}clusters/{cluster}/{release}-values.yaml");
    let mut layers = Vec::new();
    let mut values = Some(serde_json::json!({}));
    for path in [shared, own] {
        let file = RepoPath::parse(&path)?;
        let part = read_text(tree, &file)?.and_then(|text| values_of(&text));
        let part = part.and_then(|part| match is_inline {
            true => part.get("values").cloned(),
            false => Some(part),
        });
        values = values.zip(part).map(|(values, part)| merged(values, &part));
        let route = match is_inline {
            true => Route::root().key("values"),
            false => Route::root(),
        };
        layers.push(Layer {
            file,
            document: 0,
            route,
        });
    }
    let namespace = answers.namespace.unwrap_or_else(|| release.clone());
    Ok(Some(Described {
        owner: Owner {
            controller: Controller::Argo,
            namespace: answers
                .argocd_namespace
                .unwrap_or_else(|| "argocd".to_owned()),
            name: format!("{release}-{cluster}-release"),
        },
        release,
        namespace,
        source: Form::Other,
        layers,
        overrides: Vec::new(),
        patched_in: None,
        values,
        pin: pin.clone(),
    }))
}

/// The answers of the scaffold in a folder. A file that can't be read is for `Policies` to complain about.
fn answers(tree: &dyn Tree, folder: &str) -> Result<Option<RecordedAnswers>> {
    let path = RepoPath::parse(&format!("{folder}{FILE_NAME}"))?;
    let Some(text) = read_text(tree, &path)? else {
        return Ok(None);
    };
    let recorded = recorded::parse(&text, path.as_str()).ok();
    Ok(recorded.and_then(|recorded| recorded.answers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tree::{Entry, MapTree};
    use crate::pins::look;
    use serde_json::json;

    const PIN: &str = "cluster: eu\nchartVersion: \"0.2.1\"\n";

    fn described(answers: &str, more: &[(&str, &str)], pin_file: &str) -> Option<Described> {
        let path = |path: &str| RepoPath::parse(path).unwrap();
        let mut files = vec![(pin_file, PIN), (".haptic-scaffold.yaml", answers)];
        files.extend(more);
        let entry =
            |(name, text): (&str, &str)| (path(name), Entry::File(text.as_bytes().to_vec()));
        let tree = MapTree(files.into_iter().map(entry).collect());
        // Which of the file's values is the pin doesn't matter here.
        let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: x}\nspec: {chart: {spec: {chart: haptic, version: 0.2.1}}}\n";
        let mut pin = look(&path(pin_file), release).pins.remove(0);
        pin.object = None;
        describe(&tree, &pin).unwrap()
    }

    const ANSWERS: &str = "answers: {layout: argo-fleet, chart: haptic, release: edge, namespace: lb, values_as: file}\n";

    #[test]
    fn a_clusters_release_has_the_shared_values_and_its_own() {
        let files = [
            ("apps/edge/values.yaml", "a: 1\nb: 1\n"),
            ("clusters/eu/edge-values.yaml", "b: 2\n"),
        ];
        let found = described(ANSWERS, &files, "clusters/eu/edge.yaml").unwrap();
        assert_eq!(found.owner.name, "edge-eu-release");
        assert_eq!(found.owner.namespace, "argocd");
        assert_eq!(
            (found.release.as_str(), found.namespace.as_str()),
            ("edge", "lb")
        );
        assert_eq!(found.values, Some(json!({"a": 1, "b": 2})));
        let files: Vec<String> = found
            .layers
            .iter()
            .map(|one| one.file.to_string())
            .collect();
        assert_eq!(
            files,
            ["apps/edge/values.yaml", "clusters/eu/edge-values.yaml"]
        );
    }

    #[test]
    fn inline_values_stand_below_a_key() {
        let files = [
            ("argocd/release/values.yaml", "values: {a: 1}\n"),
            ("clusters/eu/edge-values.yaml", "values: {b: 2}\n"),
        ];
        let answers = ANSWERS.replace("values_as: file", "values_as: inline, argocd_namespace: cd");
        let found = described(&answers, &files, "clusters/eu/edge.yaml").unwrap();
        assert_eq!(found.values, Some(json!({"a": 1, "b": 2})));
        assert_eq!(found.owner.namespace, "cd");
        let routes: Vec<String> = found
            .layers
            .iter()
            .map(|one| one.route.to_string())
            .collect();
        assert_eq!(routes, ["values", "values"]);
    }

    #[test]
    fn what_the_layout_does_not_say_is_nothing() {
        for (answers, file) in [
            (
                ANSWERS.replace("argo-fleet", "argo-cluster").as_str(),
                "clusters/eu/edge.yaml",
            ),
            (ANSWERS, "clusters/eu/other.yaml"),
            (ANSWERS, "apps/edge.yaml"),
            ("layouts: mine\n", "clusters/eu/edge.yaml"),
        ] {
            assert_eq!(described(answers, &[], file), None, "{answers} {file}");
        }
        // Files that aren't there leave the values unknown.
        let found = described(ANSWERS, &[], "clusters/eu/edge.yaml").unwrap();
        assert_eq!((found.values, found.layers.len()), (None, 2));
    }
}
