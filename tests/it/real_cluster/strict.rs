//! Every object of every golden folder before a real API server that knows the CRDs of Flux, Argo CD and External Secrets.

use std::collections::BTreeMap;
use std::path::Path;

use super::field::Field;
use super::golden_folder;
use crate::real_programs::PASSWORD;
use crate::{golden, kit};

/// What a server that takes nothing unknown is asked: whether it would apply this.
const DRY_RUN: [&str; 6] = [
    "apply",
    "--server-side",
    "--dry-run=server",
    "--validate=strict",
    "--filename",
    "-",
];

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn every_golden_object_passes_strict_validation() {
    let Some(helm) = kit::program("helm") else {
        return;
    };
    let Some(password) = kit::program(PASSWORD) else {
        return;
    };
    let password = password.to_string_lossy();
    let crds = ["crds/flux", "crds/argocd", "crds/others", &password];
    let Some(field) = Field::up(&[], &crds) else {
        return;
    };
    for namespace in ["flux-system", "argocd", "haptic", "podinfo"] {
        field
            .kubectl(&["create", "namespace", namespace])
            .expect("a namespace");
    }
    for case in golden::cases() {
        let objects = objects(&field, &helm.to_string_lossy(), &case.name);
        let wanted = objects.lines().filter(|line| is_kind(line)).count();
        assert!(wanted >= 5, "{}: too few objects", case.name);
        let said = match field.kubectl_with(&DRY_RUN, &objects) {
            Ok(said) => said,
            Err(why) => panic!("{}: {why}", case.name),
        };
        let applied = said.matches("(server dry run)").count();
        assert_eq!(applied, wanted, "{}: {said}", case.name);
    }
    for (case, path) in [
        ("flux-cluster-external", "clusters/production/sync.yaml"),
        ("argo-cluster-external", "argocd/bootstrap/root.yaml"),
        (
            "flux-cluster-external-secrets",
            "apps/haptic/secrets/external-secrets.yaml",
        ),
    ] {
        let text = std::fs::read_to_string(golden_folder(case).join(path)).expect("reads");
        let invented = text.replace("\nspec:\n", "\nspec:\n  invented: true\n");
        let why = field
            .kubectl_with(&DRY_RUN, &invented)
            .expect_err("an unknown field is refused");
        assert!(why.contains("field not declared in schema"), "{why}");
    }
}

/// What the controllers would apply of a golden folder, as one YAML text: files as they are, kustomize folders built, Helm charts
/// rendered once for each file of a cluster. Bases are in their overlays.
fn objects(field: &Field, helm: &str, case: &str) -> String {
    let root = golden_folder(case);
    let files = golden::files(&root);
    let mut parts = Vec::new();
    for (path, text) in &files {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let below = root.join(folder).to_string_lossy().into_owned();
        if name == "kustomization.yaml" && !path.contains("/base/") {
            parts.push(field.kubectl(&["kustomize", &below]).expect("builds"));
        } else if name == "Chart.yaml" {
            parts.extend(rendered(helm, &root, folder, &files));
        } else if name.ends_with(".yaml")
            && text.lines().any(is_kind)
            && !files.contains_key(&format!("{folder}/kustomization.yaml"))
            && !folder.ends_with("/templates")
        {
            parts.push(text.clone());
        }
    }
    // What SOPS encrypted never reaches the API server as it stands: Flux decrypts it first.
    let all = parts.join("\n---\n");
    let sent: Vec<&str> = all
        .split("\n---\n")
        .filter(|document| !document.contains("\nsops:\n"))
        .collect();
    sent.join("\n---\n")
}

/// The chart of one cluster's Applications, for each file of a cluster: those below `clusters` that are no objects and no values.
fn rendered(helm: &str, root: &Path, chart: &str, files: &BTreeMap<String, String>) -> Vec<String> {
    let clusters = files.iter().filter(|(path, text)| {
        format!("/{path}").contains("/clusters/")
            && !path.ends_with("values.yaml")
            && !text.lines().any(is_kind)
    });
    let rendered: Vec<String> = clusters
        .map(|(path, _)| {
            let done = std::process::Command::new(helm)
                .current_dir(root)
                .args(["template", "applications", chart, "--values", path])
                .output()
                .expect("helm runs");
            let why = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{path}: {why}");
            String::from_utf8_lossy(&done.stdout).into_owned()
        })
        .collect();
    assert!(!rendered.is_empty(), "{chart}: no cluster");
    rendered
}

fn is_kind(line: &str) -> bool {
    line.starts_with("kind:")
}
