//! What an upgrade writes and says about charts, judged and rendered by the real helm.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::charts::{archive, helm_folder};
use crate::env::TestEnv;
use crate::kit;
use crate::lookups::repo;
use crate::request::{body, upgrade, web, with_values};

/// Serves the files of a folder on loopback, and says where.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let path = first.split(' ').nth(1).unwrap_or_default();
            let found = std::fs::read(folder.join(path.trim_start_matches('/')));
            let (status, bytes) = match found {
                Ok(bytes) => ("200 OK", bytes),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                bytes.len()
            );
            let mut stream = &stream;
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(&bytes))
                .is_ok();
        }
    });
    address
}

fn helm(program: &Path, env: &TestEnv, arguments: &[&str]) -> (bool, String) {
    let done = Command::new(program)
        .args(arguments)
        .current_dir(env.path("repo"))
        .env("HELM_CACHE_HOME", env.path("helm/cache"))
        .env("HELM_CONFIG_HOME", env.path("helm/config"))
        .env("HELM_DATA_HOME", env.path("helm/data"))
        .output()
        .expect("helm runs");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    (done.status.success(), said)
}

#[test]
#[ignore = "needs helm: cargo test -- --ignored"]
fn helm_builds_the_dependencies_of_a_lock_that_followed() {
    let Some(program) = kit::program("helm") else {
        return;
    };
    let env = TestEnv::new();
    std::fs::create_dir(env.path("repo")).expect("a folder");
    env.git("repo", &["init", "-q", "-b", "main"]);
    let versions = [web("1.0.0"), web("1.1.0"), web("1.2.0")];
    helm_folder(&env.path("charts"), "web", &versions);
    let address = serve(env.path("charts"));
    let range = "web\n    alias: second\n    version: ^1.0.0\n    tags: [a, \"b & c\"]";
    env.write(
        "repo/Chart.yaml",
        &format!(
            "apiVersion: v2\nname: all\nversion: 0.1.0\ndependencies:\n  - name: web\n    version: 1.0.0\n    repository: {address}\n    condition: web.enabled\n    import-values: [data, {{child: b, parent: a}}]\n  - name: {range}\n    repository: {address}\n"
        ),
    );
    env.write("repo/.gitignore", "charts\n");
    let (is_known, said) = helm(&program, &env, &["repo", "add", "charts", &address]);
    assert!(is_known, "{said}");
    let (is_made, said) = helm(&program, &env, &["dependency", "update", "."]);
    assert!(is_made, "{said}");
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "Start"]);
    let done = upgrade(&env, 0, &["--versions", "charts"]);
    let branch = done["changes"][0]["branch"].as_str().expect("a branch");
    env.git("repo", &["checkout", "-q", branch]);
    assert!(env.read("repo/Chart.lock").contains("version: 1.2.0"));
    std::fs::remove_dir_all(env.path("repo/charts")).expect("is removed");
    let (is_built, said) = helm(&program, &env, &["dependency", "build", "."]);
    assert!(is_built, "{said}");
    assert!(env.path("repo/charts/web-1.2.0.tgz").exists());
    // The judge judges: a lock that didn't follow is refused.
    let stale = env.read("repo/Chart.yaml").replace("1.2.0", "1.1.0");
    env.write("repo/Chart.yaml", &stale);
    let (is_built, said) = helm(&program, &env, &["dependency", "build", "."]);
    assert!(!is_built && said.contains("out of sync"), "{said}");
}

#[test]
#[ignore = "needs helm: cargo test -- --ignored"]
fn helm_renders_the_difference_without_secrets() {
    let Some(program) = kit::program("helm") else {
        return;
    };
    let env = repo("https://charts.example.org/stable", "1.0.0");
    with_values(&env, "{port: 81}");
    helm_folder(&env.path("charts"), "web", &[web("1.0.0"), web("1.2.0")]);
    let folder = program.parent().expect("a folder").to_string_lossy();
    let path = std::env::var("PATH").unwrap_or_default();
    let env = env.var("PATH", &format!("{folder}:{path}"));
    let done = upgrade(&env, 0, &["--versions", "charts"]);
    let text = body(&done);
    assert!(
        text.contains("<details><summary>Rendered by helm: web of apps/web.yaml:13</summary>"),
        "{text}"
    );
    assert!(
        text.contains("-  labels: {version: \"1.0.0\"}\n+  labels: {version: \"1.2.0\"}"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
    // A chart without a schema that refuses by itself, and says the value.
    with_values(&env, "{other: hunter4}");
    let [old, new] = ["1.0.0", "1.3.0"].map(refusing);
    helm_folder(&env.path("charts"), "web", &[old, new]);
    env.git("repo", &["branch", "-qD", "haptic-scaffold/upgrade-web"]);
    let done = upgrade(&env, 0, &["--versions", "charts"]);
    let text = body(&done);
    assert!(
        text.contains("helm does not render the new version with these values"),
        "{text}"
    );
    assert!(!text.contains("hunter4"), "{text}");
}

/// A version that renders nothing, or fails with the value where it is a newer one.
fn refusing(version: &'static str) -> (&'static str, Vec<u8>) {
    let chart = format!("apiVersion: v1\nname: web\nversion: {version}\n");
    let template = match version {
        "1.0.0" => "",
        _ => "{{ fail (printf \"no %v here\" .Values.other) }}\n",
    };
    let files = [
        ("Chart.yaml", chart.as_str()),
        ("templates/all.yaml", template),
    ];
    (version, archive("web", &files))
}
