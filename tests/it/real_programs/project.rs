//! The AppProjects of Argo CD against what the chart renders: no kind too few, none too many.

use std::collections::BTreeSet;

use serde_json::Value;

use super::chart::{Charts, inputs};
use super::{Golden, applied, assert_none, at, documents, group, list};
use crate::env::TestEnv;
use crate::kit;

/// (group, kind)
type Kinds = BTreeSet<(String, String)>;

const GATEWAY_API: [&str; 4] = [
    "--api-versions",
    "gateway.networking.k8s.io/v1",
    "--api-versions",
    "gateway.networking.k8s.io/v1/GatewayClass",
];

/// Kinds without a namespace of all renderings. The chart writes a namespace wherever one belongs.
fn rendered(charts: &Charts) -> Option<Kinds> {
    let mut kinds = Kinds::new();
    for (of, places) in inputs(&charts.env)? {
        for version in ["0.2.2", "0.5.0"] {
            for apis in [&GATEWAY_API[..], &[]] {
                let mut more = vec!["--include-crds"];
                more.extend(apis);
                let yaml = charts.render(version, &of, &more);
                let objects = documents(&yaml.unwrap_or_else(|why| panic!("{places}: {why}")));
                let cluster = objects
                    .iter()
                    .filter(|object| object.pointer("/metadata/namespace").is_none());
                kinds.extend(cluster.map(kind_of));
            }
        }
    }
    Some(kinds)
}

/// The AppProjects of a golden folder that its Applications name, each with those: (project, Applications).
fn projects(env: &TestEnv, golden: &Golden) -> Vec<(Value, Vec<(String, Value)>)> {
    let objects = golden.objects();
    let all = objects
        .into_iter()
        .filter(|(_, object)| object["kind"] == "AppProject");
    let applications = applied::applications(env, golden);
    all.map(|(_, project)| {
        let of = applications.iter().filter(|(_, application)| {
            application["spec"]["project"] == project["metadata"]["name"]
        });
        let of = of.cloned().collect();
        (project, of)
    })
    .collect()
}

fn whitelist(project: &Value) -> Kinds {
    entries(list(project, "/spec/clusterResourceWhitelist"))
}

fn entries(whitelist: &[Value]) -> Kinds {
    let text = |entry: &Value, key| at(entry, key).to_owned();
    let kinds = whitelist
        .iter()
        .map(|entry| (text(entry, "/group"), text(entry, "/kind")));
    kinds.collect()
}

fn kind_of(object: &Value) -> (String, String) {
    (group(object).to_owned(), at(object, "/kind").to_owned())
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn the_project_permits_exactly_the_kinds_that_the_chart_renders() {
    let Some(charts) = Charts::new() else { return };
    let Some(mut rendered) = rendered(&charts) else {
        return;
    };
    assert_eq!(rendered.len(), 6, "{rendered:?}");
    // Not the chart's, but of the Application with the Secrets, in the same project.
    rendered.insert((String::new(), "Namespace".to_owned()));
    let mut checked = 0;
    let mut wrong = Vec::new();
    for golden in Golden::all() {
        // The guide has the project default, and another chart any kinds.
        if golden.is_flux() || !golden.is_haptic() || golden.answer("style") == "guide" {
            continue;
        }
        for (project, applications) in projects(&charts.env, &golden) {
            let has_chart = |(_, application): &(String, Value)| {
                let sources = applied::sources(application);
                sources.iter().any(|source| source["chart"].is_string())
            };
            let wanted = if applications.iter().any(has_chart) {
                checked += 1;
                &rendered
            } else {
                &Kinds::new()
            };
            if whitelist(&project) != *wanted {
                let name = at(&project, "/metadata/name");
                wrong.push(format!(
                    "{}: {name}: {:?}",
                    golden.name,
                    whitelist(&project)
                ));
            }
        }
    }
    assert!(checked >= 8, "{checked} projects");
    assert_none(&wrong);
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn the_project_permits_exactly_the_sources_and_destinations_of_its_applications() {
    if kit::program("helm").is_none() {
        return;
    }
    let env = TestEnv::new();
    let mut wrong = Vec::new();
    for golden in Golden::all().iter().filter(|golden| !golden.is_flux()) {
        for (project, applications) in projects(&env, golden) {
            let name = format!("{}: {}", golden.name, at(&project, "/metadata/name"));
            let sources = applications.iter().flat_map(|(_, a)| applied::sources(a));
            let sources: Vec<&Value> = sources.map(|source| &source["repoURL"]).collect();
            wrong.extend(differing(
                &name,
                list(&project, "/spec/sourceRepos"),
                &sources,
            ));
            let destinations = applications.iter().map(|(_, a)| &a["spec"]["destination"]);
            let destinations: Vec<&Value> = destinations.collect();
            wrong.extend(differing(
                &name,
                list(&project, "/spec/destinations"),
                &destinations,
            ));
        }
    }
    assert_none(&wrong);
}

fn differing(name: &str, permitted: &[Value], used: &[&Value]) -> Vec<String> {
    let forbidden = used.iter().filter(|value| !permitted.contains(value));
    let mut wrong: Vec<String> = forbidden.map(|v| format!("{name} forbids {v}")).collect();
    let idle = permitted.iter().filter(|value| !used.contains(value));
    wrong.extend(idle.map(|value| format!("{name} permits {value} for nothing")));
    wrong
}

/// The root's project names kinds with a namespace too: those that lie where its Applications look.
#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn the_roots_project_permits_exactly_the_kinds_in_its_folders() {
    if kit::program("helm").is_none() {
        return;
    }
    let env = TestEnv::new();
    let mut wrong = Vec::new();
    for golden in Golden::all().iter().filter(|golden| !golden.is_flux()) {
        for (project, applications) in projects(&env, golden) {
            let permitted = project.pointer("/spec/namespaceResourceWhitelist");
            let Some(permitted) = permitted.and_then(Value::as_array) else {
                continue;
            };
            let found = applications.iter().flat_map(|(_, application)| {
                let folder = format!("{}/", at(application, "/spec/source/path"));
                let files = golden.objects().into_iter();
                let below = files.filter(move |(path, _)| path.starts_with(&folder));
                // The repository's own chart has no files of objects, but renders Applications.
                let chart = application.pointer("/spec/source/helm");
                let made = chart.map(|_| applied::rendered(&env, golden, application));
                below
                    .map(|(_, object)| object)
                    .chain(made.into_iter().flatten())
            });
            let permits: Kinds = entries(permitted);
            let found: Kinds = found.map(|object| kind_of(&object)).collect();
            if permits != found {
                wrong.push(format!("{}: {permits:?}, not {found:?}", golden.name));
            }
        }
    }
    assert_none(&wrong);
}
