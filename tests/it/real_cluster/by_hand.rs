//! Secrets that `secrets apply` makes in a cluster, by the rights of whoever runs it, before Flux or Argo CD need them.

use serde_json::{Value, json};

use super::field::{Field, text, within};
use super::secrets::{self, NEEDED, TRIAL, context};
use super::{argo, first_steps, flux, scaffold};
use crate::env::TestEnv;

/// What somebody needs who makes Secrets in a namespace that is there.
const ROLE: [&str; 7] = [
    "create",
    "role",
    "secrets",
    "--namespace=haptic",
    "--verb=get",
    "--verb=create",
    "--resource=secrets",
];

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn flux_installs_the_release_when_secrets_were_applied_by_one_who_may() {
    let Some(field) = flux::raised(&["flux", "kwok"]) else {
        return;
    };
    let env = secrets::world(&field);
    let mut flags = vec!["--layout", "flux-cluster", "--sync", "own"];
    flags.extend(TRIAL);
    scaffold(&env, &field, field.fact("charts"), &flags);

    let env = env.var("KUBECONFIG", "runner.kubeconfig");
    runner(&field, &env);
    let said = apply(&field, &env, 4).stderr;
    for wanted in [
        "the user `system:serviceaccount:default:runner` lacks the right `get` on `secrets` in the namespace `haptic`",
        "a Role with the verb `get` on `secrets`, bound to that user, gives the right",
    ] {
        assert!(said.contains(wanted), "{said}");
    }
    let namespace = field.get("namespace", "", "haptic").expect("asks");
    assert!(namespace.is_null(), "{namespace}");

    let kubectl = |arguments: &[&str]| field.kubectl(arguments).expect("succeeds");
    kubectl(&["create", "namespace", "haptic"]);
    let mut role = ROLE.to_vec();
    role.retain(|part| *part != "--verb=create");
    kubectl(&role);
    let mut binding = vec!["create", "rolebinding", "secrets", "--namespace=haptic"];
    binding.extend(["--role=secrets", "--serviceaccount=default:runner"]);
    kubectl(&binding);
    within(10, "reading is allowed", || may(&field, "get"));
    let said = apply(&field, &env, 4).stderr;
    let wanted = "lacks the right `create` on `secrets` in the namespace `haptic`";
    assert!(said.contains(wanted), "{said}");
    assert_eq!(
        field.list("secret", "haptic").expect("asks"),
        Vec::<Value>::new()
    );

    kubectl(&["delete", "role", "secrets", "--namespace=haptic"]);
    kubectl(&ROLE);
    within(10, "creating is allowed", || may(&field, "create"));
    let said = apply(&field, &env, 0).stdout;
    assert_eq!(said.matches(": created").count(), 3, "{said}");
    let before = versions(&field);
    let said = apply(&field, &env, 0).stdout;
    assert_eq!(said.matches(": is there already").count(), 3, "{said}");
    assert_eq!(versions(&field), before, "a second run changes something");

    let env = env.var("KUBECONFIG", field.fact("kubeconfig"));
    secrets::complete(&env, &field, "keys");
    field.publish(&env.path("out"));
    let [_, start] = first_steps(&env);
    field.shell(&env.path("out"), &start);
    flux::comes_after_secrets(&field);
    assert_eq!(versions(&field), before, "Flux changes something");
}

/// Writes a kubeconfig of a ServiceAccount that has no rights.
fn runner(field: &Field, env: &TestEnv) {
    let account = ["create", "serviceaccount", "runner", "--namespace=default"];
    field.kubectl(&account).expect("an account");
    let token = field.kubectl(&["create", "token", "runner", "--namespace=default"]);
    let view = ["config", "view", "--raw", "--output", "json"];
    let text = field.kubectl(&view).expect("a kubeconfig");
    let mut config: Value = serde_json::from_str(&text).expect("JSON");
    config["users"][0]["user"] = json!({"token": token.expect("a token").trim()});
    env.write("runner.kubeconfig", &config.to_string());
    env.mode("runner.kubeconfig", 0o600);
}

/// Whether the API server has noticed that somebody has this right.
fn may(field: &Field, verb: &str) -> Result<(), String> {
    let mut ask = vec!["auth", "can-i", verb, "secrets", "--namespace=haptic"];
    ask.push("--as=system:serviceaccount:default:runner");
    field.kubectl(&ask).map(drop)
}

fn apply(field: &Field, env: &TestEnv, code: i32) -> crate::env::Run {
    let context = context(field);
    let mut arguments = vec!["-C", "out", "secrets", "apply", "--context", &context];
    arguments.extend(["--secret-files", "keys"]);
    env.expect(code, &arguments)
}

/// The objects as they are: another version is another object.
fn versions(field: &Field) -> Vec<String> {
    let version = |(name, _, _): (&str, _, _)| {
        let secret = field.get("secret", "haptic", name).expect("asks");
        let version = text(&secret, "/metadata/resourceVersion");
        assert!(!version.is_empty(), "no {name}");
        version.to_owned()
    };
    NEEDED.map(version).to_vec()
}

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn argo_cd_brings_up_the_release_when_secrets_were_applied_before() {
    let Some((field, registry)) = argo::raised(&["argocd", "kwok"]) else {
        return;
    };
    let env = secrets::world(&field);
    let mut flags = vec!["--layout", "argo-cluster"];
    flags.extend(TRIAL);
    scaffold(&env, &field, &registry, &flags);
    let said = apply(&field, &env, 0);
    assert_eq!(
        said.stdout.matches(": created").count(),
        3,
        "{}",
        said.stdout
    );
    assert!(
        said.stderr.contains("the namespace haptic was created"),
        "{}",
        said.stderr
    );
    let before = versions(&field);
    let [_, start] = first_steps(&env);
    argo::begun(&field, &env, &start);
    argo::synced(
        &field,
        &["haptic-root", "haptic-secrets", "haptic"],
        "0.2.2",
    );
    assert_eq!(versions(&field), before, "Argo CD changes something");
    secrets::complete(&env, &field, "keys");
}
