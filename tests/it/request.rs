//! What belongs to a change beside the pin: the digest of a tag, the lock of a chart, and what a request has to say.

use serde_json::Value;

use crate::charts::{archive, helm_folder, oci_folder};
use crate::env::TestEnv;
use crate::lookups::repo;

pub fn upgrade(env: &TestEnv, code: i32, more: &[&str]) -> Value {
    let mut arguments = vec!["-C", "repo", "upgrade", "--output", "json"];
    arguments.extend(more);
    env.expect(code, &arguments).json()
}

pub fn body(done: &Value) -> &str {
    done["changes"][0]["body"].as_str().unwrap_or_default()
}

/// Versions of the chart `web`, of which the last refuses what the first took.
pub fn web(version: &str) -> (&str, Vec<u8>) {
    let notes = match version {
        "1.1.0" => {
            "- kind: added\n      description: a port for metrics\n    - \"asked for by @somebody in #12\""
        }
        _ => "- kind: removed\n      description: <b>the old port</b>",
    };
    let chart = format!(
        "apiVersion: v2\nname: web\nversion: {version}\nannotations:\n  artifacthub.io/changes: |\n    {notes}\n"
    );
    let schema = match version {
        "1.2.0" => {
            r#"{"type": "object", "additionalProperties": false, "properties": {"port": {"type": "integer"}}}"#
        }
        _ => "{}",
    };
    let service = format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{{{ .Release.Name }}}}\n  labels: {{version: \"{version}\"}}\nspec:\n  ports: [{{port: {{{{ .Values.port }}}}}}]\n{{{{ with .Values.other }}}}{{{{ fail (printf \"no %v here\" .) }}}}{{{{ end }}}}\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: creds\nstringData:\n  password: hunter2-{version}\n"
    );
    let files = [
        ("Chart.yaml", chart.as_str()),
        ("values.yaml", "port: 80\n"),
        ("values.schema.json", schema),
        ("templates/all.yaml", service.as_str()),
    ];
    (version, archive("web", &files))
}

pub fn with_values(env: &TestEnv, values: &str) {
    let text = env.read("repo/apps/web.yaml");
    let text = text.split("  values: ").next().unwrap_or_default();
    env.write("repo/apps/web.yaml", &format!("{text}  values: {values}\n"));
    env.git("repo", &["commit", "-qam", "Values"]);
}

#[test]
fn a_request_says_what_is_new_and_which_values_are_refused() {
    let env = repo("https://charts.example.org/stable", "1.0.0");
    with_values(&env, "{port: 81, oldPort: hunter3}");
    let versions = [web("1.0.0"), web("1.1.0"), web("1.2.0")];
    helm_folder(&env.path("charts"), "web", &versions);
    let env = env.var("PATH", "/nonexistent");
    let done = upgrade(&env, 0, &["--versions", "charts"]);
    let expected = "| chart | pin | from | to |
| --- | --- | --- | --- |
| web | apps/web.yaml:13 (HelmRelease spec.chart.spec.version) | 1.0.0 | 1.2.0 |

### Values that the new version refuses

- release of apps/web.yaml:13: Additional properties are not allowed ('oldPort' was unexpected)

### What is new in web

1.2.0:

- removed: &lt;b>the old port&lt;/b>

1.1.0:

- added: a port for metrics
- asked for by @\u{200b}somebody in #\u{200b}12

### What to watch

    kubectl -n flux-system wait helmrelease/web --for=condition=Ready --timeout=15m
";
    assert_eq!(body(&done), expected);
}

#[test]
fn a_broken_archive_is_said_and_the_pin_moves_all_the_same() {
    let env = repo("https://charts.example.org/stable", "1.0.0");
    helm_folder(&env.path("charts"), "web", &[web("1.0.0"), web("1.1.0")]);
    std::fs::write(env.path("charts/web-1.1.0.tgz"), "no archive").expect("writes");
    let done = upgrade(&env, 0, &["--versions", "charts"]);
    assert_eq!(done["changes"][0]["title"], "Upgrade web to 1.1.0");
    assert!(
        body(&done).contains("### web 1.1.0 could not be looked into"),
        "{}",
        body(&done)
    );
}

const OCI: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: web, namespace: flux-system}\nspec:\n  url: oci://r.example.org/charts/web\n  ref:\n    tag: 1.0.0 # ours\n    digest: sha256:OLD\n";

#[test]
fn a_tag_and_its_digest_move_together() {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("repo")).expect("a folder");
    env.git("repo", &["init", "-q", "-b", "main"]);
    let digests = oci_folder(&env.path("layout"), "web", &[web("1.0.0"), web("1.1.0")]);
    let old = OCI.replace("sha256:OLD", &digests[0]);
    env.write("repo/web.yaml", &old);
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "Start"]);
    let done = upgrade(&env, 0, &["--versions", "layout"]);
    assert_eq!(done["changes"][0]["title"], "Upgrade web to 1.1.0");
    let new = env.git("repo", &["show", "haptic-scaffold/upgrade-web:web.yaml"]);
    let expected = old
        .replace("1.0.0", "1.1.0")
        .replace(&digests[0], &digests[1]);
    assert_eq!(new, expected);
    env.write("versions.yaml", "web: [1.1.0]\n");
    env.git("repo", &["branch", "-D", "haptic-scaffold/upgrade-web"]);
    let done = upgrade(&env, 0, &["--versions", "versions.yaml"]);
    assert_eq!(done["changes"], serde_json::json!([]));
    assert!(
        done["not_moved"][0]["why"]
            .as_str()
            .is_some_and(|why| why.contains("can't be had")),
        "{done}"
    );
}

const UMBRELLA: &str = "apiVersion: v2\nname: all\nversion: 0.1.0\ndependencies:\n  - name: web\n    version: '1.0.0' # exact\n    repository: http://127.0.0.1:18099\n    condition: \"web.enabled && <x>\"\n    tags: [a]\n    alias: front\n    import-values:\n      - data\n      - child: default.data\n        parent: mine\n";

/// `digest` is that of Helm, over both lists.
fn lock(digest: &str) -> String {
    format!(
        "dependencies:\n- name: web\n  repository: http://127.0.0.1:18099\n  version: 1.0.0\ndigest: {digest}\ngenerated: \"2026-01-01T00:00:00Z\"\n"
    )
}

#[test]
fn a_dependency_moves_with_its_lock_or_not_at_all() {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("repo")).expect("a folder");
    env.git("repo", &["init", "-q", "-b", "main"]);
    env.write("repo/Chart.yaml", UMBRELLA);
    // Made by `helm dependency update`.
    let fitting = lock("sha256:e1af699b510f39d0eb826782e202f50c54bd25b36f94fc9783cc5c6f023fc4cb");
    env.write("repo/Chart.lock", &fitting);
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "Start"]);
    env.write("versions.yaml", "web: [1.0.0, 1.1.0]\n");
    let done = upgrade(&env, 0, &["--versions", "versions.yaml"]);
    let show = |file: &str| {
        env.git(
            "repo",
            &["show", &format!("haptic-scaffold/upgrade-web:{file}")],
        )
    };
    assert_eq!(
        show("Chart.yaml"),
        UMBRELLA.replace("'1.0.0'", "'1.1.0'"),
        "{done}"
    );
    let new = show("Chart.lock");
    assert!(new.contains("  version: 1.1.0\ndigest: sha256:"), "{new}");
    assert!(
        !new.contains("sha256:e1af699b510f39d0eb826782e202f50c54bd25b36f94fc9783cc5c6f023fc4cb"),
        "{new}"
    );
    // A vendored archive would have to change too.
    env.write("repo/charts/web-1.0.0.tgz", "x");
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "Vendored"]);
    let done = upgrade(&env, 0, &["--versions", "versions.yaml"]);
    assert!(
        done["not_moved"][0]["why"]
            .as_str()
            .is_some_and(|why| why.contains("charts/web-1.0.0.tgz")),
        "{done}"
    );
    env.git("repo", &["rm", "-q", "charts/web-1.0.0.tgz"]);
    env.write("repo/Chart.lock", &lock("sha256:0000"));
    env.git("repo", &["commit", "-qam", "Stale"]);
    let done = upgrade(&env, 0, &["--versions", "versions.yaml"]);
    assert!(
        done["not_moved"][0]["why"]
            .as_str()
            .is_some_and(|why| why.contains("helm dependency update")),
        "{done}"
    );
}

#[test]
fn images_and_git_move_only_when_they_are_named_with_a_version() {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("repo")).expect("a folder");
    env.git("repo", &["init", "-q", "-b", "main"]);
    env.write("repo/kustomization.yaml", "images:\n- {name: r.example.org/web, newTag: 1.0.0}\nresources:\n- https://git.example.org/x//base?ref=v1.2.3\n");
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "Start"]);
    env.write("versions.yaml", "{}\n");
    let none = upgrade(&env, 0, &["--versions", "versions.yaml"]);
    assert_eq!(none["changes"], serde_json::json!([]));
    upgrade(&env, 2, &["r.example.org/web"]);
    for (name, to, expected) in [
        ("r.example.org/web", "1.1.0-rc1", "newTag: 1.1.0-rc1"),
        (
            "https://git.example.org/x//base",
            "v1.3.0",
            "base?ref=v1.3.0",
        ),
    ] {
        let done = upgrade(&env, 0, &[name, "--to", to, "--offline"]);
        let branch = done["changes"][0]["branch"].as_str().expect("a branch");
        let text = env.git("repo", &["show", &format!("{branch}:kustomization.yaml")]);
        assert!(text.contains(expected), "{text}");
    }
}

/// Must-show: in a bare clone, with dirt in a work tree elsewhere; signed, and sound.
#[test]
fn a_bare_clone_gets_a_signed_commit_and_nothing_else_changes() {
    let env = repo("oci://registry.example.org/charts", "1.0.0");
    if env.command("ssh-keygen").arg("-?").output().is_err() {
        return eprintln!("skipped: no ssh-keygen");
    }
    env.git("repo", &["config", "core.autocrlf", "false"]);
    env.git("", &["clone", "-q", "--bare", "repo", "bare.git"]);
    env.git(
        "",
        &[
            "--git-dir",
            "bare.git",
            "worktree",
            "add",
            "-q",
            "--detach",
            "elsewhere",
        ],
    );
    env.write("elsewhere/apps/web.yaml", "dirty\n");
    env.write("elsewhere/staged", "x\n");
    env.git("elsewhere", &["add", "staged"]);
    let before = (
        env.git("elsewhere", &["status", "--porcelain"]),
        env.git("elsewhere", &["ls-files", "--stage"]),
    );
    let key = env.home().join("key").to_string_lossy().into_owned();
    let made = env.program(
        "ssh-keygen",
        &["-q", "-t", "ed25519", "-N", "", "-f", &key],
        "",
    );
    assert_eq!(made.code, 0, "{}", made.stderr);
    let public = std::fs::read_to_string(format!("{key}.pub")).expect("a public key");
    let allowed = env.home().join("allowed");
    std::fs::write(&allowed, format!("team@example.org {public}")).expect("writes");
    let config = format!(
        "[commit]\n\tgpgsign = true\n[gpg]\n\tformat = ssh\n[gpg \"ssh\"]\n\tallowedSignersFile = {}\n[user]\n\tsigningkey = {key}\n\tname = Team\n\temail = team@example.org\n",
        allowed.display()
    );
    std::fs::write(env.home().join(".gitconfig"), config).expect("writes");
    env.write("versions.yaml", "web: [1.1.0]\n");
    let done = env
        .expect(
            0,
            &[
                "-C",
                "bare.git",
                "upgrade",
                "--versions",
                "versions.yaml",
                "--output",
                "json",
            ],
        )
        .json();
    let branch = done["changes"][0]["branch"].as_str().expect("a branch");
    env.git("bare.git", &["verify-commit", branch]);
    env.git("bare.git", &["fsck", "--strict"]);
    let after = (
        env.git("elsewhere", &["status", "--porcelain"]),
        env.git("elsewhere", &["ls-files", "--stage"]),
    );
    assert_eq!(before, after);
    assert_eq!(env.read("elsewhere/apps/web.yaml"), "dirty\n");
    let shown = env.git("bare.git", &["show", &format!("{branch}:apps/web.yaml")]);
    assert!(shown.contains("version: '1.1.0'"), "{shown}");
}
