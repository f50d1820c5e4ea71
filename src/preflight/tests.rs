//! A stand-in for the program on a PATH of its own: what it is given, and what is made of its end.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Judged, Preflight, Run, Schema, program, run, run_within};
use crate::model::env::Env;

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(home.path("schemas")).unwrap();
        std::fs::create_dir_all(home.path("bin")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        std::fs::canonicalize(self.0.path()).unwrap().join(name)
    }

    /// Puts a program on the PATH. Another process writes it: a program that is open for writing can't be run.
    fn program(&self, name: &str, script: &str) -> &Self {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
            .arg(self.path("bin").join(name))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let text = format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n");
        let mut stdin = shell.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        drop(stdin);
        assert!(shell.wait().unwrap().success());
        self
    }

    fn env(&self, more: &[(&str, &str)]) -> Env {
        let own = [("HOME", self.path("")), ("PATH", self.path("bin"))];
        let own = own.map(|(name, path)| (name.to_owned(), path.display().to_string()));
        let more = more.iter();
        let more = more.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Env::new(own.into_iter().chain(more))
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn judge(&self, env: &Env, image: Option<&str>, schema: Schema) -> Judged {
        let values = json!({"replicas": 2, "password": "s3cret"});
        judge(env, image, &archive(&GOOD), &values, schema)
    }

    fn folder(&self) -> Schema {
        Schema::Folder(self.path("schemas"))
    }
}

fn judge(env: &Env, image: Option<&str>, chart: &[u8], values: &Value, schema: Schema) -> Judged {
    let given = Run {
        chart,
        values,
        release: "edge",
        namespace: "ns",
        version: "0.2.1",
        schema,
    };
    run(env, &program(env).unwrap(), image, &given)
}

const GOOD: [(&str, &str); 2] = [
    ("haptic/Chart.yaml", "name: haptic\n"),
    ("haptic/templates/a.yaml", "a: 1\n"),
];

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gz);
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        // By hand: the writer refuses paths that lead out.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn why(judged: &Judged) -> &str {
    match judged {
        Judged::NotRun { why } => why,
        judged => panic!("{judged:?}"),
    }
}

/// Keeps the arguments, the values and what the modes are.
const KEEP: &str = r#"printf '%s\n' "$@" >"$HOME/args"
env >"$HOME/env"
pwd >"$HOME/folder"
cp "$3" "$HOME/values"
ls -ld "$3" . | cut -c1-10 >"$HOME/modes"
for one; do case $one in --chart=*) find "${one#--chart=}" -type f -exec cat {} + >"$HOME/chart"; esac; done"#;

#[test]
fn the_program_gets_chart_values_and_schemas_and_nothing_stays() {
    let home = Home::new();
    home.program("haptic", KEEP);
    let env = home.env(&[("HAPTIC_SCAFFOLD_TOKEN", "t0k"), ("LANG", "C")]);
    assert_eq!(home.judge(&env, None, home.folder()), Judged::Accepted);
    let folder = home.read("folder").trim().to_owned();
    let schemas = home.path("schemas");
    let wanted = format!(
        "preflight\n-f\n{folder}/values.yaml\n--chart={folder}/chart/haptic\n--namespace=ns\n--release=edge\n--expect-chart-version=0.2.1\n--schema-dir={}\n",
        schemas.display()
    );
    assert_eq!(home.read("args"), wanted);
    let values: Value = serde_yaml::from_str(&home.read("values")).unwrap();
    assert_eq!(values, json!({"replicas": 2, "password": "s3cret"}));
    assert_eq!(home.read("modes"), "drwx------\n-rw-------\n");
    let chart = home.read("chart");
    assert!(chart.contains("name: haptic") && chart.contains("a: 1"));
    assert!(!home.read("env").contains("t0k") && home.read("env").contains("LANG=C"));
    assert!(!Path::new(&folder).exists());
}

#[test]
fn its_end_is_the_verdict() {
    let home = Home::new();
    let env = home.env(&[]);
    home.program(
        "haptic",
        "echo one; echo preflight: validation failed >&2; echo three; exit 3",
    );
    let log = "one\npreflight: validation failed\nthree\n".to_owned();
    assert_eq!(
        home.judge(&env, None, home.folder()),
        Judged::Refused { log }
    );
    home.program("haptic", "kill -9 $$");
    let judged = home.judge(&env, None, home.folder());
    assert_eq!(why(&judged), "`haptic` was ended by a signal");
    home.program(
        "haptic",
        "echo 'Error: unknown command \"preflight\" for \"haptic\"'; exit 1",
    );
    let judged = home.judge(&env, None, home.folder());
    assert!(why(&judged).contains("has no such check"), "{judged:?}");
    home.program(
        "haptic",
        "head -c 3000000 /dev/zero | tr '\\0' 'x'; echo; echo LoadGateFailed; echo end; exit 1",
    );
    let Judged::Refused { log } = home.judge(&env, None, home.folder()) else {
        panic!("refused");
    };
    assert!(log.len() < 300_000 && log.starts_with("[…]x") && log.ends_with("end\n"));
}

#[test]
fn what_keeps_it_from_judging_is_no_verdict() {
    let home = Home::new();
    let env = home.env(&[]);
    for line in [
        "preflight: failed to list CRDs: dial tcp 127.0.0.1:6443: connect: connection refused",
        "preflight: error: crds is forbidden: User x cannot list",
        "preflight failed: exec: haproxy: executable file not found in $PATH",
        "Error: required flag(s) --schema-dir not set",
        "panic: out of luck",
    ] {
        home.program("haptic", &format!("echo '{line}'; exit 1"));
        let judged = home.judge(&env, None, home.folder());
        let log = format!("{line}\n");
        assert_eq!(judged, Judged::NoVerdict { code: 1, log });
    }
    home.program("haptic", "exit 2");
    let judged = home.judge(&env, None, home.folder());
    let log = String::new();
    assert_eq!(judged, Judged::NoVerdict { code: 2, log });
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let home = Home::new();
    let values = json!({});
    let chart = archive(&GOOD);
    let given = Run {
        chart: &chart,
        values: &values,
        release: "r",
        namespace: "n",
        version: "1.0.0",
        schema: home.folder(),
    };
    for script in ["sleep 30", "sleep 30 &"] {
        home.program("haptic", script);
        let env = home.env(&[]);
        let start = Instant::now();
        let limit = Duration::from_millis(400);
        let judged = run_within(limit, &env, &program(&env).unwrap(), None, &given);
        assert_eq!(why(&judged), "`haptic` took longer than 0 seconds");
        assert!(start.elapsed() < Duration::from_secs(20));
    }
    home.program("haptic", "exit 0");
    let absent = Preflight::Here(home.path("bin/none"));
    let judged = run_within(
        Duration::from_secs(9),
        &home.env(&[]),
        &absent,
        None,
        &given,
    );
    assert!(
        why(&judged).starts_with("`none` can't be run"),
        "{judged:?}"
    );
}

#[test]
fn the_program_comes_before_what_runs_containers() {
    let home = Home::new();
    let env = home.env(&[]);
    assert_eq!(program(&env), None);
    for (name, is_here) in [("podman", false), ("docker", false), ("haptic", true)] {
        home.program(name, "exit 0");
        let path = home.path("bin").join(name);
        let wanted = if is_here {
            Preflight::Here(path)
        } else {
            Preflight::Container(path)
        };
        assert_eq!(program(&env), Some(wanted));
    }
    let path = home.path("bin/haptic");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(program(&env), Some(Preflight::Container(_))));
    assert_eq!(program(&Env::of(&[("PATH", "bin:.")])), None);
}

#[test]
fn a_container_gets_the_folder_and_no_network() {
    let home = Home::new();
    home.program(
        "docker",
        r#"printf '%s\n' "$@" >"$HOME/args"
env >"$HOME/env"
ls "$(sed -n 's|:/work:ro||p' "$HOME/args")" >"$HOME/work""#,
    );
    let env = home.env(&[("DOCKER_HOST", "tcp://d"), ("GITLAB_TOKEN", "t0k")]);
    let image = Some("r.example/haptic:0.2.1");
    assert_eq!(home.judge(&env, image, home.folder()), Judged::Accepted);
    let args = home.read("args");
    let schemas = format!("{}:/schema:ro\n", home.path("schemas").display());
    assert!(args.starts_with("run\n--rm\n--network\nnone\n--name\nhaptic-preflight-"));
    assert!(
        args.contains(&schemas) && args.contains("\n--user="),
        "{args}"
    );
    assert!(args.ends_with("r.example/haptic:0.2.1\npreflight\n-f\n/work/values.yaml\n--chart=/work/chart/haptic\n--namespace=ns\n--release=edge\n--expect-chart-version=0.2.1\n--schema-dir=/schema\n"), "{args}");
    assert_eq!(home.read("work"), "chart\nvalues.yaml\n");
    let seen = home.read("env");
    assert!(seen.contains("DOCKER_HOST=tcp://d") && !seen.contains("t0k"));
}

#[test]
fn a_container_that_does_not_run_judges_nothing() {
    let home = Home::new();
    home.program(
        "docker",
        "echo \"$1\" >>\"$HOME/calls\"; echo no daemon; exit 125",
    );
    let env = home.env(&[]);
    let image = Some("r.example/haptic:0.2.1");
    let judged = home.judge(&env, image, home.folder());
    let log = "no daemon\n".to_owned();
    assert_eq!(judged, Judged::NoVerdict { code: 125, log });
    let judged = home.judge(&env, None, home.folder());
    assert_eq!(why(&judged), "the controller's image isn't known");
    let judged = home.judge(&env, Some("--privileged"), home.folder());
    assert_eq!(why(&judged), "`--privileged` is no image");
    let cluster = Schema::Kubeconfig {
        file: None,
        context: None,
    };
    let judged = home.judge(&env, image, cluster);
    assert!(why(&judged).contains("no network"), "{judged:?}");
    home.program("docker", "echo \"$1\" >>\"$HOME/calls\"; kill -9 $$");
    let judged = home.judge(&env, image, home.folder());
    assert_eq!(why(&judged), "`docker` was ended by a signal");
    assert_eq!(home.read("calls"), "run\nrun\nrm\n");
}

#[test]
fn the_kubeconfig_is_the_users_own_or_has_another_context() {
    let home = Home::new();
    home.program(
        "haptic",
        r#"for one; do case $one in --kubeconfig=*) echo "$one" >"$HOME/file"; cat "${one#--kubeconfig=}" >"$HOME/config"; esac; done; env >"$HOME/env""#,
    );
    let text = "current-context: a\ncontexts: [{name: a}, {name: b}]\nclusters: [{name: c, cluster: {certificate-authority: ca.crt, server: https://x}}]\nusers: [{name: u, user: {client-key: /k, exec: {command: ./login}}}, odd]\n";
    std::fs::create_dir_all(home.path(".kube")).unwrap();
    let file = home.path(".kube/config");
    std::fs::write(&file, text).unwrap();
    let env = home.env(&[("AWS_PROFILE", "p"), ("HAPTIC_SCAFFOLD_TOKEN", "t0k")]);
    let of = |file: Option<&Path>, context: Option<&str>| Schema::Kubeconfig {
        file: file.map(Path::to_owned),
        context: context.map(str::to_owned),
    };
    for schema in [of(None, None), of(Some(&file), Some("a"))] {
        assert_eq!(home.judge(&env, None, schema), Judged::Accepted);
        assert_eq!(
            home.read("file"),
            format!("--kubeconfig={}\n", file.display())
        );
    }
    assert!(home.read("env").contains("AWS_PROFILE=p") && !home.read("env").contains("t0k"));
    assert_eq!(
        home.judge(&env, None, of(None, Some("b"))),
        Judged::Accepted
    );
    let config: Value = serde_json::from_str(&home.read("config")).unwrap();
    assert_eq!(config["current-context"], "b");
    let ca = &config["clusters"][0]["cluster"]["certificate-authority"];
    assert_eq!(ca.as_str(), home.path(".kube/ca.crt").to_str());
    let user = &config["users"][0]["user"];
    assert_eq!(user["client-key"], "/k");
    assert!(
        user["exec"]["command"]
            .as_str()
            .unwrap()
            .ends_with("/login")
    );
    for (schema, what) in [
        (of(None, Some("z")), "it has no context `z`"),
        (
            of(Some(&home.path("none")), None),
            "cannot read the kubeconfig",
        ),
    ] {
        let judged = home.judge(&env, None, schema);
        assert!(why(&judged).contains(what), "{judged:?}");
    }
}

#[test]
fn an_odd_archive_is_not_unpacked() {
    let home = Home::new();
    home.program("haptic", "exit 0");
    let env = home.env(&[]);
    for (chart, what) in [
        (b"no archive".to_vec(), "can't be read"),
        (archive(&[]), "is empty"),
        (archive(&[("haptic/values.yaml", "")]), "no Chart.yaml"),
        (archive(&[("Chart.yaml", "")]), "has `Chart.yaml`"),
        (
            archive(&[("a/../../Chart.yaml", "")]),
            "has `a/../../Chart.yaml`",
        ),
        (archive(&[("/a/Chart.yaml", "")]), "has `/a/Chart.yaml`"),
        (
            archive(&[("a/Chart.yaml", ""), ("b/Chart.yaml", "")]),
            "has `b/Chart.yaml`",
        ),
    ] {
        let judged = judge(&env, None, &chart, &json!({}), home.folder());
        assert!(why(&judged).contains(what), "{judged:?}");
    }
    let judged = judge(
        &env,
        None,
        &archive(&GOOD),
        &json!({}),
        Schema::Folder(home.path("none")),
    );
    assert!(why(&judged).starts_with("cannot read"), "{judged:?}");
}
