//! Where versions are known from, through the program: local files and folders, and a loopback server with a login and a cache.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::env::TestEnv;

/// A repository with one release of the chart `web` at a version, from an address.
pub fn repo(address: &str, version: &str) -> TestEnv {
    let env = TestEnv::new();
    pins_of(&env, address, "web", version);
    env
}

/// Writes a repository with one release of a chart at a version, from an address.
pub fn pins_of(env: &TestEnv, address: &str, chart: &str, version: &str) {
    let kind = if address.starts_with("oci://") {
        "type: oci, "
    } else {
        ""
    };
    let text = format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: charts, namespace: flux-system}}\nspec: {{{kind}url: '{address}'}}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {chart}, namespace: flux-system}}\nspec:\n  chart:\n    spec:\n      chart: {chart}\n      version: '{version}'\n      sourceRef: {{kind: HelmRepository, name: charts}}\n"
    );
    std::fs::create_dir(env.path("repo")).expect("a folder");
    env.git("repo", &["init", "-q", "-b", "main"]);
    env.write(&format!("repo/apps/{chart}.yaml"), &text);
    env.git("repo", &["add", "."]);
    env.git("repo", &["commit", "-qm", "Start"]);
}

/// What `pins` says about the only chart.
pub fn pins(env: &TestEnv, more: &[&str], code: i32) -> Value {
    let mut arguments = vec!["-C", "repo", "pins", "--output", "json", "--chart", "web"];
    arguments.extend(more);
    env.expect(code, &arguments).json()
}

fn newest(said: &Value) -> &str {
    said["pins"][0]["newest"].as_str().unwrap_or_default()
}

#[test]
fn an_index_and_a_folder_are_as_good_as_a_file_of_versions() {
    let env = repo("https://charts.example.org/stable", "1.0.0");
    env.write(
        "charts/index.yaml",
        "apiVersion: v1\nentries:\n  web:\n  - {version: 1.2.0, urls: [web-1.2.0.tgz]}\n  - {version: 1.10.0}\n  - {version: ''}\n",
    );
    assert_eq!(
        newest(&pins(&env, &["--versions", "charts/index.yaml"], 0)),
        "1.10.0"
    );
    assert_eq!(newest(&pins(&env, &["--versions", "charts"], 0)), "1.10.0");
    let arguments = [
        "-C",
        "repo",
        "upgrade",
        "--versions",
        "charts",
        "--output",
        "json",
    ];
    let done = env.expect(0, &arguments).json();
    assert_eq!(done["changes"][0]["title"], "Upgrade web to 1.10.0");
}

#[test]
fn what_is_neither_is_told_with_its_file() {
    let env = repo("https://charts.example.org/stable", "1.0.0");
    std::fs::create_dir(env.path("empty")).expect("a folder");
    env.write("broken.yaml", "apiVersion: v1\nentries:\n  web: 7\n");
    env.write("other.yaml", "a: b\n");
    for (path, why) in [
        ("empty", "is a folder without `oci-layout`"),
        (
            "broken.yaml",
            "broken.yaml` has something else than a list of versions for `web`",
        ),
        ("other.yaml", "cannot read `"),
        ("absent", "absent`: "),
    ] {
        let said = pins(&env, &["--versions", path], 3);
        let message = said["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(why), "{path}: {message}");
    }
}

/// A Helm repository that wants a login and has an ETag; it writes down what it was sent.
fn private_repository(seen: Arc<Mutex<Vec<HashMap<String, String>>>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let headers: HashMap<String, String> = lines
                .take_while(|line| !line.is_empty())
                .filter_map(|line| {
                    let (name, value) = line.split_once(": ")?;
                    Some((name.to_ascii_lowercase(), value.to_owned()))
                })
                .collect();
            let body = "entries: {web: [{version: ''}, ~, {version: 1.3.0}]}";
            let answer =
                if headers.get("authorization").map(String::as_str) != Some("Basic dTpnZWhlaW0=") {
                    "401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_owned()
                } else if headers.get("if-none-match").map(String::as_str) == Some("\"7\"") {
                    "304 Not Modified\r\nETag: \"7\"\r\nContent-Length: 0\r\n\r\n".to_owned()
                } else {
                    format!(
                        "200 OK\r\nETag: \"7\"\r\nContent-Length: {}\r\n\r\n{body}",
                        body.len()
                    )
                };
            seen.lock().expect("a log").push(headers);
            let answer = format!(
                "HTTP/1.1 {}",
                answer.replacen("\r\n", "\r\nConnection: close\r\n", 1)
            );
            let _ = (&stream).write_all(answer.as_bytes()).is_err();
        }
    });
    host
}

#[test]
fn a_private_repository_is_read_with_the_login_and_what_is_kept_has_none() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let host = private_repository(Arc::clone(&seen));
    let address = format!("http://{host}/stable");
    let env = repo(&address, "1.0.0");
    let refused = pins(&env, &[], 4);
    let why = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("helm/repositories.yaml` (not there)"), "{why}");

    let logins =
        format!("repositories:\n- {{name: x, url: '{address}', username: u, password: geheim}}\n");
    env.write("../home/xdg/helm/repositories.yaml", &logins);
    for _ in 0..2 {
        assert_eq!(newest(&pins(&env, &[], 0)), "1.3.0");
    }
    let told = env.expect(0, &["-C", "repo", "pins"]).stderr;
    assert!(
        told.contains("/stable#web: 2 entries of the index can't be used"),
        "{told}"
    );
    let seen = seen.lock().expect("a log");
    let asked_again: Vec<bool> = seen
        .iter()
        .map(|one| one.contains_key("if-none-match"))
        .collect();
    assert_eq!(asked_again, [false, false, true, true]);

    let folder = env.home().join(".cache/haptic-scaffold/lookups");
    let kept: Vec<_> = std::fs::read_dir(folder)
        .expect("a cache")
        .flatten()
        .collect();
    assert_eq!(kept.len(), 1);
    let text = std::fs::read_to_string(kept[0].path()).expect("text");
    assert!(text.contains("1.3.0"), "{text}");
    assert!(
        !text.contains("geheim") && !text.contains("dTpnZWhlaW0="),
        "{text}"
    );
}

#[test]
fn a_cache_that_cannot_be_written_or_read_is_no_failure() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let host = private_repository(Arc::clone(&seen));
    let address = format!("http://{host}/stable");
    let env = repo(&address, "1.0.0");
    let logins =
        format!("repositories:\n- {{name: x, url: '{address}', username: u, password: geheim}}\n");
    env.write("../home/xdg/helm/repositories.yaml", &logins);
    env.write("../home/.cache/haptic-scaffold/lookups", "a file");
    assert_eq!(newest(&pins(&env, &[], 0)), "1.3.0");
    std::fs::remove_file(env.home().join(".cache/haptic-scaffold/lookups")).expect("goes");
    assert_eq!(newest(&pins(&env, &[], 0)), "1.3.0");
    let folder = env.home().join(".cache/haptic-scaffold/lookups");
    for kept in std::fs::read_dir(folder).expect("a cache").flatten() {
        std::fs::write(kept.path(), "damaged").expect("writes");
    }
    assert_eq!(newest(&pins(&env, &[], 0)), "1.3.0");
    assert!(
        seen.lock()
            .expect("a log")
            .iter()
            .all(|one| !one.contains_key("if-none-match"))
    );
}

#[test]
fn runs_beside_each_other_share_a_cache() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let host = private_repository(Arc::clone(&seen));
    let address = format!("http://{host}/stable");
    let env = repo(&address, "1.0.0");
    let logins =
        format!("repositories:\n- {{name: x, url: '{address}', username: u, password: geheim}}\n");
    env.write("../home/xdg/helm/repositories.yaml", &logins);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| assert_eq!(newest(&pins(&env, &[], 0)), "1.3.0"));
        }
    });
    let folder = env.home().join(".cache/haptic-scaffold/lookups");
    assert_eq!(
        std::fs::read_dir(folder).expect("a cache").count(),
        1,
        "nothing is left beside"
    );
    assert_eq!(newest(&pins(&env, &[], 0)), "1.3.0");
    let last = seen
        .lock()
        .expect("a log")
        .last()
        .cloned()
        .expect("a request");
    assert!(last.contains_key("if-none-match"));
}

/// A server that has an index and the tags of charts, and refuses everything else.
fn half_open() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            let _ = lines.take_while(|line| !line.is_empty()).count();
            let answer = if first.contains("tags/list") {
                let body = r#"{"name": "x", "tags": ["1.0.0", "1.1.0"]}"#;
                format!("200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            } else {
                "403 Forbidden\r\nContent-Length: 0\r\n\r\n".to_owned()
            };
            let answer = format!(
                "HTTP/1.1 {}",
                answer.replacen("\r\n", "\r\nConnection: close\r\n", 1)
            );
            let _ = (&stream).write_all(answer.as_bytes()).is_err();
        }
    });
    host
}

#[test]
fn a_source_that_refuses_is_told_once_with_all_its_charts() {
    let env = repo(&format!("http://{}/stable", half_open()), "1.0.0");
    let release = env.read("repo/apps/web.yaml");
    let (_, release) = release.split_once("---\n").expect("two documents");
    for chart in ["api", "db"] {
        let text = release.replace("web", chart);
        env.write(&format!("repo/apps/{chart}.yaml"), &text);
    }
    let run = env.expect(4, &["-C", "repo", "pins"]);
    let both = format!("{}{}", run.stdout, run.stderr);
    assert_eq!(
        both.matches("access refused with status 403").count(),
        1,
        "{both}"
    );
    for chart in ["#api, ", "#db, ", "#web: "] {
        assert!(run.stderr.contains(chart), "{both}");
    }
    let said = env
        .expect(4, &["-C", "repo", "pins", "--output", "json"])
        .json();
    for pin in said["pins"].as_array().expect("pins") {
        let why = pin["newest_why"].as_str().unwrap_or_default();
        assert!(why.contains("cannot read the index"), "{said:#}");
    }
}

#[test]
fn a_version_whose_time_is_refused_ends_the_run_with_4() {
    let env = repo(&format!("oci://{}/team", half_open()), "1.0.0");
    env.write(
        "config.yaml",
        "upgrade: {charts: {'*': {minimum_age: 3d}}}\n",
    );
    for command in ["pins", "upgrade"] {
        let run = env.expect(4, &["-C", "repo", "--config", "config.yaml", command]);
        assert!(
            run.stderr
                .contains("/team/web 1.1.0: cannot read the manifest"),
            "{}",
            run.stderr
        );
    }
}
