//! Later runs: changed answers, edits in between, other layouts and charts. Nothing is lost, nothing goes back.

use crate::env::{Run, TestEnv};

const URL: &str = "https://git.example.org/team/gitops.git";

/// Where the layout flux-cluster has the release with its pin.
const RELEASE: &str = "out/apps/haptic/release/release.yaml";

fn init(env: &TestEnv, code: i32, flags: &[&str]) -> Run {
    let mut arguments = vec!["init", "out", "--yes"];
    arguments.extend(flags);
    env.expect(code, &arguments)
}

fn all_text(env: &TestEnv) -> String {
    let files = crate::golden::files(&env.path("out"));
    files
        .into_iter()
        .filter(|(path, _)| !path.ends_with(".lock"))
        .map(|(_, text)| text)
        .collect()
}

/// A pin that was moved by hand or by a bot.
fn bump(env: &TestEnv, file: &str, old: &str, new: &str) {
    let text = env.read(file);
    assert!(text.contains(old), "{text}");
    env.write(file, &text.replace(old, new));
    env.git("out", &["commit", "-qam", "bump"]);
}

#[test]
fn a_pin_is_carried_to_wherever_the_answers_put_it() {
    let changes: [(&[&str], &[&str], &str); 4] = [
        (
            &["--layout", "flux-cluster"],
            &["--release", "web"],
            "out/apps/web/release/release.yaml",
        ),
        (
            &["--layout", "flux-cluster"],
            &["--layout", "flux-fleet", "--clusters", "a,b"],
            "out/apps/haptic/b/release/pin.yaml",
        ),
        (
            &["--layout", "flux-fleet", "--clusters", "prod"],
            &["--clusters", "production"],
            "out/apps/haptic/production/release/pin.yaml",
        ),
        (
            &[
                "--layout",
                "argo-fleet",
                "--clusters",
                "a,b",
                "--repo-url",
                URL,
            ],
            &["--clusters", "c,d"],
            "out/clusters/d/haptic.yaml",
        ),
    ];
    for (first, then, file) in changes {
        let env = TestEnv::new();
        init(
            &env,
            0,
            &[
                first,
                &[
                    "--chart-version",
                    "0.9.0",
                    "--chart-repo",
                    "oci://mirror.example.org/charts",
                ],
            ]
            .concat(),
        );
        let run = init(&env, 0, then);
        assert!(
            env.read(file).contains("\"0.9.0\""),
            "{then:?}: {}",
            env.read(file)
        );
        assert!(
            !all_text(&env).contains("0.5.0"),
            "{then:?}: {}",
            run.stderr
        );
        let run = init(&env, 3, &[then, &["--chart-version", "0.8.0"]].concat());
        assert!(run.stderr.contains("never goes back"), "{}", run.stderr);
    }
}

#[test]
fn another_chart_has_its_own_version_and_its_own_answers() {
    let env = TestEnv::new();
    init(&env, 0, &["--provider", "flux", "--chart-version", "0.2.2"]);
    let podinfo = [
        "--chart",
        "podinfo",
        "--chart-repo",
        "oci://ghcr.io/stefanprodan/charts",
        "--chart-version",
        "6.2.0",
    ];
    init(&env, 0, &podinfo);
    let release = env.read(RELEASE);
    assert!(
        release.contains("tag: \"6.2.0\"") && release.contains("kind: OCIRepository"),
        "{release}"
    );
    init(&env, 0, &["--chart", "haptic"]);
    let release = env.read(RELEASE);
    assert!(
        release.contains("version: \"0.5.0\"") && release.contains("kind: HelmRepository"),
        "{release}"
    );
}

#[test]
fn the_teams_values_survive_every_change_of_their_form() {
    let own = "vector:\n  enabled: false # ours\n";
    for layout in ["flux-cluster", "argo-cluster"] {
        let env = TestEnv::new();
        env.write("own.yaml", own);
        init(
            &env,
            0,
            &[
                "--layout",
                layout,
                "--repo-url",
                URL,
                "--values",
                "own.yaml",
                "--inline-values",
            ],
        );
        for form in ["values_as=file", "values_as=inline", "values_as=file"] {
            init(&env, 0, &["--set", form]);
            assert!(
                all_text(&env).contains("enabled: false # ours"),
                "{layout} {form}"
            );
            assert!(
                init(&env, 0, &[]).stdout.contains("nothing to do"),
                "{layout} {form}"
            );
        }
    }
    let env = TestEnv::new();
    init(&env, 0, &["--provider", "flux"]);
    let values = "out/apps/haptic/release/values.yaml";
    env.write(values, &format!("{}{own}", env.read(values)));
    init(&env, 0, &["--style", "guide", "--inline-values"]);
    assert!(env.read(RELEASE).contains("enabled: false # ours"));
    assert!(!env.path(values).exists());
}

#[test]
fn values_in_the_answers_are_checked_and_used_like_those_of_a_file() {
    let env = TestEnv::new();
    for form in ["inline", "file"] {
        env.write("bad.yaml", &format!("values_as: {form}\nvalues: |\n  credentials:\n    dataplane:\n      password: hunter2\n"));
        let run = init(&env, 3, &["--provider", "flux", "--answers", "bad.yaml"]);
        assert!(
            run.stderr.contains("plaintext password") && !run.stderr.contains("hunter2"),
            "{}",
            run.stderr
        );
        assert!(!env.path("out").exists());
    }
    env.write("good.yaml", "values: |\n  vector:\n    enabled: false\n");
    init(&env, 0, &["--provider", "flux", "--answers", "good.yaml"]);
    assert!(
        env.read("out/apps/haptic/release/values.yaml")
            .contains("vector:\n  enabled: false")
    );
}

#[test]
fn values_that_helm_would_read_otherwise_are_refused() {
    let env = TestEnv::new();
    env.write("end.yaml", "a: 1\n...\n")
        .write("list.yaml", "- a\n")
        .write("two.yaml", "a: 1\n---\nb: 1\n");
    init(&env, 3, &["--provider", "flux", "--values", "end.yaml"]);
    init(&env, 3, &["--provider", "flux", "--values", "two.yaml"]);
    let podinfo = [
        "--provider",
        "flux",
        "--chart",
        "podinfo",
        "--chart-repo",
        "oci://h.example.org/x",
        "--chart-version",
        "1.0.0",
    ];
    init(
        &env,
        3,
        &[&podinfo[..], &["--values", "list.yaml"]].concat(),
    );
}

#[test]
fn the_same_values_again_after_an_edit_are_no_conflict() {
    let env = TestEnv::new();
    env.write("own.yaml", "vector:\n  enabled: false\n");
    init(&env, 0, &["--provider", "flux", "--values", "own.yaml"]);
    let values = "out/apps/haptic/release/values.yaml";
    env.write(values, &format!("{}# more\n", env.read(values)));
    env.git("out", &["commit", "-qam", "by hand"]);
    assert!(
        init(&env, 0, &["--values", "own.yaml"])
            .stdout
            .contains("nothing to do")
    );
    assert!(env.read(values).ends_with("# more\n"));
}

#[test]
fn files_that_were_edited_before_their_first_commit_are_committed() {
    let env = TestEnv::new();
    init(&env, 0, &["--provider", "flux", "--no-commit"]);
    let values = "out/apps/haptic/release/values.yaml";
    env.write(values, &format!("{}# edited\n", env.read(values)));
    init(&env, 0, &[]);
    assert_eq!(env.git("out", &["status", "--porcelain"]), "");
    assert!(
        env.git("out", &["show", "HEAD:apps/haptic/release/values.yaml"])
            .ends_with("# edited\n")
    );
    assert!(
        env.git("out", &["log", "--format=%s"])
            .starts_with("Scaffold ")
    );
}

#[test]
fn a_tracked_file_with_edits_that_are_not_committed_is_not_committed_for_them() {
    let env = TestEnv::new();
    init(&env, 0, &["--provider", "flux"]);
    let values = "out/apps/haptic/release/values.yaml";
    env.write(values, &format!("{}# not yet\n", env.read(values)));
    init(&env, 0, &["--repo-url", URL]);
    assert_eq!(
        env.git("out", &["status", "--porcelain"]),
        " M apps/haptic/release/values.yaml\n"
    );
    std::fs::remove_file(env.path(values)).expect("removes");
    init(&env, 0, &["--branch", "trunk"]);
    assert!(
        env.git("out", &["ls-files"])
            .contains("apps/haptic/release/values.yaml")
    );
}

#[test]
fn a_bumped_pin_is_no_edit_that_stands_in_the_way() {
    let env = TestEnv::new();
    init(
        &env,
        0,
        &[
            "--layout",
            "flux-fleet",
            "--clusters",
            "a,b",
            "--chart-version",
            "0.2.1",
        ],
    );
    bump(
        &env,
        "out/apps/haptic/b/release/pin.yaml",
        "\"0.2.1\"",
        "0.2.2",
    );
    init(&env, 0, &["--clusters", "a"]);
    assert!(!env.path("out/apps/haptic/b").exists());
    bump(
        &env,
        "out/apps/haptic/a/release/pin.yaml",
        "\"0.2.1\"",
        "0.2.2",
    );
    init(&env, 0, &["--clusters", "a=test"]);
    let pin = env.read("out/apps/haptic/a/release/pin.yaml");
    assert!(
        pin.contains("version: 0.2.2\n") && pin.contains("stage test"),
        "{pin}"
    );
}

#[test]
fn a_cluster_that_comes_back_finds_its_values() {
    let env = TestEnv::new();
    init(&env, 0, &["--layout", "flux-fleet", "--clusters", "a,b"]);
    let values = "out/apps/haptic/b/release/values.yaml";
    env.write(values, "haproxy:\n  replicaCount: 5\n");
    env.git("out", &["commit", "-qam", "by hand"]);
    let run = init(&env, 11, &["--clusters", "a"]);
    assert!(
        run.stdout
            .contains("conflict apps/haptic/b/release/values.yaml"),
        "{}",
        run.stdout
    );
    init(&env, 0, &["--clusters", "a", "--on-conflict", "keep"]);
    init(&env, 0, &["--clusters", "a,b"]);
    assert!(env.read(values).contains("replicaCount: 5"));
}

#[test]
fn answers_that_take_running_things_away_say_so() {
    let table: [(&[&str], &[&str], &str); 6] = [
        (
            &["--provider", "flux"],
            &["--release", "web"],
            "uninstalls the release",
        ),
        (
            &["--provider", "flux", "--repo-url", URL],
            &["--sync", "bootstrap"],
            "deletes itself",
        ),
        (
            &["--provider", "flux"],
            &["--style", "guide"],
            "storageNamespace",
        ),
        (
            &["--provider", "flux"],
            &["--provider", "argo", "--repo-url", URL],
            "suspend",
        ),
        (
            &["--layout", "flux-fleet", "--clusters", "a,b"],
            &["--clusters", "a"],
            "cluster `b` goes",
        ),
        (
            &["--provider", "argo", "--repo-url", URL],
            &["--namespace", "web"],
            "leaves the first running",
        ),
    ];
    for (first, then, words) in table {
        let env = TestEnv::new();
        init(&env, 0, first);
        let run = init(&env, 0, then);
        assert!(
            run.stderr.contains("warning:") && run.stderr.contains(words),
            "{then:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn the_executable_bit_stays() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::new();
    init(&env, 0, &["--provider", "flux"]);
    std::fs::set_permissions(
        env.path("out/README.md"),
        std::fs::Permissions::from_mode(0o755),
    )
    .expect("sets");
    env.git("out", &["commit", "-qam", "executable"]);
    init(&env, 0, &["--repo-url", URL]);
    assert_eq!(env.git("out", &["status", "--porcelain"]), "");
    assert!(
        env.git("out", &["ls-tree", "HEAD", "README.md"])
            .starts_with("100755")
    );
}

#[test]
fn the_root_of_a_repository_is_found_beside_a_bootstrap_folder_below() {
    let env = TestEnv::new();
    env.write(
        "out/infra/clusters/prod/flux-system/gotk-sync.yaml",
        "# as flux bootstrap makes it\n",
    );
    env.git("out", &["init", "-q", "-b", "main"]);
    init(&env, 0, &["--provider", "argo", "--repo-url", URL]);
    assert!(env.path("out/.haptic-scaffold.yaml").exists());
    assert!(init(&env, 0, &[]).stdout.contains("nothing to do"));
    assert!(
        init(&env, 0, &["--layout", "argo-cluster"])
            .stdout
            .contains("nothing to do")
    );
}

#[test]
fn a_kustomization_in_the_bootstrap_folder_is_a_next_step() {
    let env = TestEnv::new();
    let cluster = "out/clusters/production";
    env.write(
        &format!("{cluster}/flux-system/gotk-sync.yaml"),
        "# as flux bootstrap makes it\n",
    );
    env.write(
        &format!("{cluster}/kustomization.yaml"),
        "resources: [flux-system]\n",
    );
    env.git("out", &["init", "-q", "-b", "main"]);
    let run = init(&env, 0, &["--provider", "flux"]);
    assert!(
        run.stdout.contains(
            "add `- haptic.yaml` to the resources of clusters/production/kustomization.yaml"
        ),
        "{}",
        run.stdout
    );
}

#[test]
fn names_that_would_meet_are_refused() {
    let env = TestEnv::new();
    for clusters in ["root,b", "a,a-secrets", "a,b-release,b", &"x".repeat(40)] {
        let release = "haptic-long-name-x";
        init(
            &env,
            3,
            &[
                "--layout",
                "argo-fleet",
                "--repo-url",
                URL,
                "--release",
                release,
                "--clusters",
                clusters,
            ],
        );
    }
    init(
        &env,
        3,
        &["--layout", "flux-fleet", "--clusters", "a=s,b=p,c=s"],
    );
}

#[test]
fn a_cluster_by_name_is_where_the_release_goes() {
    let env = TestEnv::new();
    init(
        &env,
        0,
        &[
            "--provider",
            "argo",
            "--repo-url",
            URL,
            "--clusters",
            "edge",
        ],
    );
    for file in ["haptic", "haptic-secrets", "project"] {
        let text = env.read(&format!("out/argocd/apps/{file}.yaml"));
        assert!(
            text.contains("name: edge") && !text.contains("kubernetes.default.svc"),
            "{text}"
        );
    }
}

#[test]
fn layouts_of_ones_own_are_not_forgotten() {
    let env = TestEnv::new();
    env.write("own/templates/common/namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: [= namespace | yaml =]\n  labels: {team: ours}\n");
    init(&env, 0, &["--provider", "flux", "--layouts", "own"]);
    assert!(
        env.read("out/apps/haptic/secrets/namespace.yaml")
            .contains("team: ours")
    );
    let run = init(&env, 2, &[]);
    assert!(run.stderr.contains("--layouts DIR"), "{}", run.stderr);
    std::fs::rename(env.path("own"), env.path("out/own")).expect("moves");
    let recorded = env.read("out/.haptic-scaffold.yaml");
    env.write(
        "out/.haptic-scaffold.yaml",
        &format!("layouts: own\n{recorded}"),
    );
    env.git("out", &["add", "."]);
    env.git("out", &["commit", "-qm", "with our layouts"]);
    assert!(init(&env, 0, &[]).stdout.contains("nothing to do"));
    env.git(".", &["clone", "-q", "--bare", "out", "bare.git"]);
    assert!(
        env.expect(0, &["init", "bare.git", "--yes"])
            .stdout
            .contains("nothing to do")
    );
}

#[test]
fn several_at_once_make_one_repository() {
    let env = TestEnv::new();
    let start = || {
        let mut command = env.command(env!("CARGO_BIN_EXE_haptic-scaffold"));
        command
            .args(["init", "out", "--provider", "flux", "--yes"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        command.spawn().expect("starts")
    };
    let mut running: Vec<_> = (0..4).map(|_| start()).collect();
    let ends: Vec<bool> = running
        .iter_mut()
        .map(|child| child.wait().expect("ends").success())
        .collect();
    assert!(ends.contains(&true), "{ends:?}");
    assert_eq!(env.git("out", &["rev-list", "--count", "HEAD"]).trim(), "1");
    let left = std::fs::read_dir(env.work()).expect("reads").count();
    assert_eq!(left, 1, "drafts are left");
}

#[test]
fn next_steps_can_be_typed() {
    let env = TestEnv::new();
    let run = env.expect(
        0,
        &[
            "init",
            "my repo",
            "--provider",
            "flux",
            "--repo-url",
            URL,
            "--yes",
        ],
    );
    assert!(
        run.stdout
            .contains("git -C 'my repo' remote add origin https://git.example.org/team/gitops.git"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .contains("kubectl apply -f 'my repo/clusters/production/sync.yaml'"),
        "{}",
        run.stdout
    );
    env.git(".", &["init", "-q", "-b", "main", "up"]);
    env.git("up", &["remote", "add", "upstream", URL]);
    let run = env.expect(0, &["init", "up", "--provider", "flux", "--yes"]);
    assert!(
        run.stdout.contains("push -u upstream main"),
        "{}",
        run.stdout
    );
}

#[test]
fn odd_targets_are_refused_with_a_reason() {
    let env = TestEnv::new();
    std::os::unix::fs::symlink("nowhere", env.path("dangling")).expect("links");
    env.git(".", &["init", "-q", "-b", "main", "repo"]);
    let flux = ["--provider", "flux", "--yes"];
    let table: [(i32, &[&str], &str); 4] = [
        (3, &["init", "dangling"], "link to nothing"),
        (2, &["init", "repo/.git/foo"], "git directory"),
        (2, &["-C", "absent", "init"], "there is no folder"),
        (3, &["init", "x", "--branch", "a..b"], "branch"),
    ];
    for (code, arguments, words) in table {
        let run = env.expect(code, &[arguments, &flux].concat());
        assert!(
            run.stderr.contains(words) && run.stderr.contains("hint:"),
            "{arguments:?}: {}",
            run.stderr
        );
    }
    assert!(!env.path("absent").exists());
    env.write("repo/.git/index.lock", "");
    let run = env.expect(1, &[&["init", "repo"][..], &flux].concat());
    assert!(
        run.stderr.contains("index.lock") && run.stderr.contains("hint:"),
        "{}",
        run.stderr
    );
}

/// Changes the recorded answers by hand, as the file invites people to.
fn edit_answers(env: &TestEnv, old: &str, new: &str) {
    let text = env.read("out/.haptic-scaffold.yaml");
    assert!(text.contains(old), "{text}");
    env.write("out/.haptic-scaffold.yaml", &text.replace(old, new));
}

#[test]
fn answers_edited_by_hand_lose_no_more_than_those_of_flags() {
    let table = [
        ("layout: flux-cluster", "layout: flux-fleet", "layout"),
        ("release: haptic", "release: edge", "uninstalls the release"),
        (
            "namespace: haptic",
            "namespace: edge",
            "uninstalls the release",
        ),
    ];
    for (old, new, words) in table {
        let env = TestEnv::new();
        init(&env, 0, &["--provider", "flux", "--chart-version", "0.2.2"]);
        edit_answers(&env, old, new);
        let run = init(&env, 0, &[]);
        assert!(run.stderr.contains(words), "{new}: {}", run.stderr);
        assert!(
            all_text(&env).contains("0.2.2") && !all_text(&env).contains("0.5.0"),
            "{new}"
        );
    }
}

#[test]
fn an_edit_that_is_not_committed_stays_so() {
    for stage in [false, true] {
        let env = TestEnv::new();
        init(&env, 0, &["--provider", "flux", "--chart-version", "0.2.1"]);
        let release = RELEASE;
        env.write(
            release,
            &env.read(release).replace("\"0.2.1\"", "\"0.2.2\""),
        );
        if stage {
            env.git("out", &["add", "."]);
        }
        let before = env.git("out", &["status", "--porcelain"]);
        assert!(
            init(&env, 0, &["--dry-run"])
                .stdout
                .contains("nothing to do")
        );
        assert!(init(&env, 0, &[]).stdout.contains("nothing to do"));
        assert_eq!(env.git("out", &["status", "--porcelain"]), before);
    }
}

#[test]
fn a_file_taken_out_of_git_on_purpose_stays_out() {
    let env = TestEnv::new();
    init(&env, 0, &["--provider", "flux"]);
    env.git("out", &["rm", "-q", "--cached", "README.md"]);
    env.git("out", &["commit", "-qm", "without a page"]);
    assert!(init(&env, 0, &[]).stdout.contains("nothing to do"));
    assert_eq!(env.git("out", &["status", "--porcelain"]), "?? README.md\n");
}

#[test]
fn what_was_kept_is_told_and_can_be_replaced() {
    let env = TestEnv::new();
    init(&env, 0, &["--provider", "flux"]);
    let release = RELEASE;
    env.write(
        release,
        &env.read(release).replace("timeout: 15m", "timeout: 30m"),
    );
    env.git("out", &["commit", "-qam", "by hand"]);
    init(&env, 11, &["--namespace", "edge"]);
    init(&env, 0, &["--namespace", "edge", "--on-conflict", "keep"]);
    let run = init(&env, 0, &[]);
    assert!(
        run.stdout
            .contains("1 file was kept and differs from the answers"),
        "{}",
        run.stdout
    );
    init(&env, 0, &["--on-conflict", "replace"]);
    assert!(env.read(release).contains("targetNamespace: edge"));
    assert!(init(&env, 0, &[]).stdout.contains("as the answers say"));

    let env = TestEnv::new();
    env.write("out/clusters/production/haptic.yaml", "# somebody else's\n");
    init(&env, 0, &["--provider", "flux", "--on-conflict", "keep"]);
    init(&env, 0, &["--on-conflict", "replace"]);
    assert!(
        env.read("out/clusters/production/haptic.yaml")
            .contains("dependsOn")
    );
}

#[test]
fn a_leftover_that_was_kept_is_no_conflict_again() {
    let env = TestEnv::new();
    init(&env, 0, &["--layout", "flux-fleet", "--clusters", "a,b"]);
    let values = "out/apps/haptic/b/release/values.yaml";
    env.write(values, "vector: {enabled: false}\n");
    env.git("out", &["commit", "-qam", "by hand"]);
    init(&env, 0, &["--clusters", "a", "--on-conflict", "keep"]);
    assert!(init(&env, 0, &[]).stdout.contains("nothing to do"));
    assert!(env.path(values).exists());
}

#[test]
fn a_leftover_behind_a_link_is_left() {
    let env = TestEnv::new();
    init(&env, 0, &["--provider", "flux"]);
    std::fs::create_dir(env.path("out/shared")).expect("a folder");
    env.git(
        "out",
        &["mv", "apps/haptic/release/values.yaml", "shared/v.yaml"],
    );
    std::os::unix::fs::symlink(
        "../../../shared/v.yaml",
        env.path("out/apps/haptic/release/values.yaml"),
    )
    .expect("links");
    env.git("out", &["add", "."]);
    env.git("out", &["commit", "-qm", "shared"]);
    init(&env, 0, &["--inline-values"]);
    assert!(env.path("out/shared/v.yaml").exists());
}

#[test]
fn a_staged_text_that_stands_nowhere_else_stops_the_run() {
    let env = TestEnv::new();
    init(&env, 0, &["--provider", "flux"]);
    let release = RELEASE;
    let text = env.read(release);
    env.write(release, &format!("{text}# staged\n"));
    env.git("out", &["add", "."]);
    env.write(release, &text);
    let run = init(&env, 11, &["--namespace", "edge"]);
    assert!(
        run.stderr.contains("git restore --staged"),
        "{}",
        run.stderr
    );
    assert!(env.git("out", &["diff", "--cached"]).contains("+# staged"));
    assert_eq!(env.read(release), text);
}

#[test]
fn a_lost_pin_is_no_reason_to_guess_a_version() {
    let env = TestEnv::new();
    init(&env, 0, &["--provider", "flux", "--chart-version", "0.2.2"]);
    bump(&env, RELEASE, "      version: \"0.2.2\"\n", "");
    let run = init(&env, 3, &[]);
    assert!(run.stderr.contains("it was 0.2.2"), "{}", run.stderr);
    init(&env, 0, &["--on-conflict", "replace"]);
    assert!(env.read(RELEASE).contains("version: \"0.2.2\""));
}

#[test]
fn odd_pins_are_told() {
    let env = TestEnv::new();
    init(&env, 0, &["--provider", "flux", "--chart-version", "0.2.2"]);
    bump(&env, RELEASE, "\"0.2.2\"", "\"0.2.1\"");
    assert!(
        init(&env, 0, &[])
            .stderr
            .contains("was lowered from 0.2.2 to 0.2.1")
    );
    bump(&env, RELEASE, "\"0.2.1\"", "\">=0.2\"");
    assert!(init(&env, 0, &[]).stderr.contains("not one exact version"));
}

#[test]
fn a_new_cluster_runs_what_the_last_one_that_stays_runs() {
    let env = TestEnv::new();
    init(
        &env,
        0,
        &[
            "--layout",
            "flux-fleet",
            "--clusters",
            "staging,prod,dr",
            "--chart-version",
            "0.2.2",
        ],
    );
    bump(
        &env,
        "out/apps/haptic/staging/release/pin.yaml",
        "\"0.2.2\"",
        "\"0.5.0\"",
    );
    let run = init(&env, 0, &["--clusters", "stage,prod,dr,dr2"]);
    for cluster in ["dr2", "dr"] {
        assert!(
            env.read(&format!("out/apps/haptic/{cluster}/release/pin.yaml"))
                .contains("0.2.2"),
            "{cluster}"
        );
    }
    assert!(
        run.stdout.contains("in dr2: flux bootstrap") && !run.stdout.contains("in dr: "),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("in the clusters stage, dr2"),
        "{}",
        run.stdout
    );
}

#[test]
fn another_chart_does_not_drop_values_in_silence() {
    let env = TestEnv::new();
    env.write("own.yaml", "vector: {enabled: false}\n");
    init(
        &env,
        0,
        &[
            "--provider",
            "flux",
            "--inline-values",
            "--values",
            "own.yaml",
        ],
    );
    let podinfo = [
        "--chart",
        "podinfo",
        "--chart-repo",
        "oci://h.example.org/x",
        "--chart-version",
        "1.0.0",
    ];
    init(&env, 11, &podinfo);
    let run = init(
        &env,
        0,
        &[&podinfo[..], &["--on-conflict", "replace"]].concat(),
    );
    assert!(run.stderr.contains("`chart` changes"), "{}", run.stderr);
}

#[test]
fn a_layout_of_ones_own_gets_no_steps_of_another() {
    let env = TestEnv::new();
    let layout = "title: A\nabout: A\nprovider: flux\nclusters: one\nquestions: [{name: chart}, {name: chart_repo}, {name: release}, {name: namespace}, {name: clusters, default: [one]}]\n";
    let files = "files: [{path: a.yaml, what: a, template: a.yaml, objects: [ConfigMap]}]\n";
    env.write("own/a/layout.yaml", &format!("{layout}{files}"));
    env.write(
        "own/templates/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [= release | yaml =]\n",
    );
    let run = init(&env, 0, &["--layout", "a", "--layouts", "own"]);
    assert!(
        !run.stdout.contains("bootstrap") && !run.stdout.contains("Secrets"),
        "{}",
        run.stdout
    );
    assert!(
        !run.stderr.contains("0.5.0") && !run.stdout.contains("0.5.0"),
        "{}",
        run.stderr
    );
}

#[test]
fn hints_say_where_the_scaffold_is_and_what_was_misspelt() {
    let env = TestEnv::new().var("HAPTIC_SCAFFOLD_NAMESPCE", "x");
    env.git(".", &["init", "-q", "-b", "main", "out"]);
    let run = env.expect(
        0,
        &[
            "-C",
            "out",
            "init",
            "--path",
            "platform/haptic",
            "--provider",
            "flux",
            "--yes",
        ],
    );
    assert!(
        run.stderr
            .contains("did you mean HAPTIC_SCAFFOLD_NAMESPACE?"),
        "{}",
        run.stderr
    );
    let run = init(&env, 2, &[]);
    assert!(
        run.stderr.contains("--path platform/haptic"),
        "{}",
        run.stderr
    );
    env.write(
        "out/platform/haptic/own/mine/layout.yaml",
        "title: Ours\nabout: A\nprovider: flux\nclusters: one\nquestions: []\nfiles: []\n",
    );
    let recorded = env.read("out/platform/haptic/.haptic-scaffold.yaml");
    env.write(
        "out/platform/haptic/.haptic-scaffold.yaml",
        &format!("layouts: own\n{recorded}"),
    );
    assert!(
        env.expect(0, &["-C", "out/platform/haptic", "layouts"])
            .stdout
            .contains("Ours")
    );
}

#[test]
fn a_comment_behind_a_list_of_answers_stays() {
    let env = TestEnv::new();
    init(&env, 0, &["--layout", "flux-fleet", "--clusters", "a,b"]);
    edit_answers(
        &env,
        "clusters: [a, b]",
        "clusters: [a, b] # agreed with operations",
    );
    init(&env, 0, &["--clusters", "a,b,c"]);
    assert!(
        env.read("out/.haptic-scaffold.yaml")
            .contains("clusters: [a, b, c] # agreed with operations")
    );
}
