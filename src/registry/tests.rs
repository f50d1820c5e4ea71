//! The look-ups against a loopback server: what is asked, with which headers, and what comes of
//! good, odd and hostile answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::credentials::{Anonymous, Credentials};
use super::http::Http;
use super::{ChartSource, HttpRegistry, Published, Registry as _, RegistryError, newest_stable};
use crate::http::test_server::{Answer, Server};
use crate::model::env::Env;

pub(super) type Waits = Arc<Mutex<Vec<Duration>>>;

pub(super) fn registry() -> (HttpRegistry, Waits) {
    registry_with(Box::new(Anonymous))
}

pub(super) fn registry_with(credentials: Box<dyn Credentials>) -> (HttpRegistry, Waits) {
    let waits = Waits::default();
    let log = Arc::clone(&waits);
    let pause = Box::new(move |wait| log.lock().unwrap().push(wait));
    let http = Http::with_limits("test/1", pause, 200_000);
    (HttpRegistry::with(http, credentials, Env::default()), waits)
}

pub(super) fn ask_oci(server: &Server) -> Result<Vec<Published>, RegistryError> {
    let source = ChartSource::new(&format!("oci://{}/team/charts/", server.host), "api").unwrap();
    registry().0.versions(&source)
}

fn ask_helm(server: &Server) -> Result<Vec<Published>, RegistryError> {
    let source = ChartSource::new(&format!("http://{}/stable/", server.host), "api").unwrap();
    registry().0.versions(&source)
}

pub(super) fn spellings(versions: &[Published]) -> Vec<&str> {
    versions.iter().map(|v| v.version.as_str()).collect()
}

pub(super) fn numbered(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|n| format!("1.{n}.0")).collect()
}

#[test]
fn o26_oci_pages_follow_relative_and_absolute_links() {
    let server = Server::start(|number, seen| match number {
        0 => Answer::tags(&numbered(0..100)).header(
            "Link",
            "</v2/team/charts/api/tags/list?last=1.99.0&n=100>; rel=\"next\"",
        ),
        1 => {
            let host = &seen.headers["host"];
            let next = format!("<http://{host}/v2/team/charts/api/tags/list?last=b>;rel=next");
            Answer::tags(&numbered(100..200)).header("Link", &next)
        }
        _ => Answer::tags(&["2.0.0_b1".to_owned()]),
    });
    let versions = ask_oci(&server).unwrap();
    assert_eq!(versions.len(), 201);
    assert_eq!(newest_stable(&versions).unwrap().version, "2.0.0+b1");
    let path = "/v2/team/charts/api/tags/list";
    assert_eq!(
        server.targets(),
        [
            format!("{path}?n=1000"),
            format!("{path}?last=1.99.0&n=100"),
            format!("{path}?last=b"),
        ]
    );
    assert_eq!(server.seen()[0].headers["user-agent"], "test/1");
}

#[test]
fn endless_pages_are_an_error() {
    let server = Server::start(|number, _| {
        Answer::tags(&[]).header("Link", &format!("</v2/x?p={number}>; rel=\"next\""))
    });
    assert!(
        ask_oci(&server)
            .unwrap_err()
            .to_string()
            .contains("100 pages")
    );
    assert_eq!(server.seen().len(), 100);
    let server = Server::start(|_, _| Answer::tags(&[]).header("Link", "</same>; rel=next"));
    assert!(
        ask_oci(&server)
            .unwrap_err()
            .to_string()
            .contains("the same page")
    );
}

#[test]
fn refused_page_size_is_asked_again_without_one() {
    for status in [400, 413] {
        let server = Server::start(move |_, seen| match seen.target.contains("n=") {
            true => Answer::new(status, "{}"),
            false => Answer::tags(&numbered(1..2)),
        });
        assert_eq!(ask_oci(&server).unwrap().len(), 1);
    }
}

#[test]
fn missing_repository_names_address_cause_and_next_step() {
    let body = r#"{"errors":[{"code":"NAME_UNKNOWN","message":"not\u001b[31m here"}]}"#;
    let server = Server::start(move |_, _| Answer::new(404, body));
    let error = ask_oci(&server).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot list the tags of `team/charts/api` at \
             `http://{}/v2/team/charts/api/tags/list`: not found (status 404) \
             (NAME_UNKNOWN: not[31m here)",
            server.host
        )
    );
    assert!(error.hint().contains("--chart-version"));
    assert_eq!(server.seen().len(), 1, "a 404 is not tried again");
}

#[test]
fn busy_server_is_tried_again_after_the_time_it_names() {
    let server = Server::start(|number, _| match number {
        0 => Answer::new(429, "").header("Retry-After", "7"),
        1 => Answer::new(503, "<html>"),
        _ => Answer::tags(&numbered(1..2)),
    });
    let source = ChartSource::new(&server.host, "api").unwrap();
    let (registry, waits) = registry();
    assert!(registry.versions(&source).is_ok());
    let waited = waits.lock().unwrap().clone();
    assert_eq!(waited, [Duration::from_secs(7), Duration::from_secs(1)]);
}

#[test]
fn a_wait_may_be_a_date() {
    let server = Server::start(|number, _| match number {
        0 => Answer::new(429, "")
            .header("Date", "Fri, 01 Jan 2027 00:00:00 GMT")
            .header("Retry-After", "Fri, 01 Jan 2027 00:00:09 GMT"),
        1 => Answer::new(429, "").header("Retry-After", "soon"),
        _ => Answer::tags(&numbered(1..2)),
    });
    let (registry, waits) = registry();
    let source = ChartSource::new(&server.host, "api").unwrap();
    assert!(registry.versions(&source).is_ok());
    let waited = waits.lock().unwrap().clone();
    assert_eq!(waited, [Duration::from_secs(9), Duration::from_secs(1)]);
}

#[test]
fn busy_server_is_given_up_after_three_tries_or_for_a_long_wait() {
    let server = Server::start(|_, _| Answer::new(504, ""));
    assert!(matches!(
        ask_oci(&server).unwrap_err(),
        RegistryError::Busy { status: 504, .. }
    ));
    assert_eq!(server.seen().len(), 3);
    let server = Server::start(|_, _| Answer::new(429, "").header("Retry-After", "3600"));
    let error = ask_oci(&server).unwrap_err();
    assert!(
        error.to_string().ends_with("it asks to wait 3600 seconds"),
        "{error}"
    );
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn no_server_is_unreachable_after_three_tries() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    drop(listener);
    let (registry, waits) = registry();
    let error = registry
        .versions(&ChartSource::new(&host, "api").unwrap())
        .unwrap_err();
    assert!(
        matches!(error, RegistryError::Unreachable { .. }),
        "{error}"
    );
    assert_eq!(waits.lock().unwrap().len(), 2);
    let again = registry.versions(&ChartSource::new(&host, "web").unwrap());
    assert!(matches!(again, Err(RegistryError::Unreachable { .. })));
    assert_eq!(
        waits.lock().unwrap().len(),
        2,
        "a silent host is asked once"
    );
}

/// What a second chart of a host gets after the first one was waited for in vain.
fn second(server: &Server, repo: &str) -> (String, usize, usize) {
    let (registry, waits) = registry();
    for chart in ["api", "web"] {
        let source = ChartSource::new(repo, chart).unwrap();
        let error = registry.versions(&source).unwrap_err().to_string();
        if chart == "web" {
            return (error, server.seen().len(), waits.lock().unwrap().len());
        }
    }
    unreachable!("the second chart has an answer")
}

#[test]
fn a_busy_host_is_waited_for_once_in_a_run() {
    for is_helm in [true, false] {
        let server = Server::start(|_, _| Answer::new(429, "").header("Retry-After", "20"));
        let repo = match is_helm {
            true => format!("http://{}/stable", server.host),
            false => format!("oci://{}/team", server.host),
        };
        let (error, asked, waits) = second(&server, &repo);
        assert_eq!((asked, waits), (3, 2), "{error}");
        assert!(error.contains("is busy (status 429)"), "{error}");
    }
}

#[test]
fn a_host_that_hangs_is_waited_for_once_in_a_run() {
    let server = Server::start(|_, _| {
        std::thread::sleep(Duration::from_secs(3600));
        Answer::new(200, "")
    });
    let (mut registry, _) = registry();
    registry.http = registry.http.with_timeout(Duration::from_millis(300));
    let ask = |repo: &str, chart: &str| {
        let source = ChartSource::new(repo, chart).unwrap();
        registry.versions(&source).unwrap_err().to_string()
    };
    let repo = format!("oci://{}/team", server.host);
    assert!(ask(&repo, "api").contains("cannot list the tags of `team/api`"));
    let again = format!(
        "cannot ask again at `http://{}`: no answer, the time is over",
        server.host
    );
    assert_eq!(ask(&repo, "web"), again);
    assert_eq!(ask(&format!("http://{}/stable", server.host), "web"), again);
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_refused_or_broken_index_is_fetched_once_in_a_run() {
    for (status, body) in [
        (401, ""),
        (403, ""),
        (404, ""),
        (200, "entries: []"),
        (200, "<html>"),
    ] {
        let server = Server::start(move |_, _| Answer::new(status, body));
        let (registry, _) = registry();
        let errors = ["api", "web", "db"].map(|chart| {
            let repo = format!("http://{}/stable/", server.host);
            let source = ChartSource::new(&repo, chart).unwrap();
            registry.versions(&source).unwrap_err().to_string()
        });
        assert_eq!(server.seen().len(), 1, "{status} {body}");
        assert!(
            errors[0].starts_with("cannot read the index at"),
            "{errors:?}"
        );
        assert_eq!((&errors[0], &errors[0]), (&errors[1], &errors[2]));
    }
}

#[test]
fn cut_off_large_or_foreign_bodies_are_errors() {
    let cut = Server::start(|_, _| Answer::new(200, r#"{"tags":["1.0.0"]}"#).announced_length(99));
    let error = ask_oci(&cut).unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
    let cut = Server::start(|_, _| Answer::new(200, INDEX).announced_length(INDEX.len() + 1));
    assert!(ask_helm(&cut).unwrap_err().to_string().contains("cut off"));
    let large = Server::start(|_, _| Answer::new(200, vec![b' '; 200_001]));
    assert!(matches!(
        ask_helm(&large).unwrap_err(),
        RegistryError::TooLarge { .. }
    ));
    let page = Server::start(|_, _| Answer::new(200, "<html><body>Log in</body></html>"));
    assert!(matches!(
        ask_oci(&page).unwrap_err(),
        RegistryError::Malformed { .. }
    ));
    assert!(matches!(
        ask_helm(&page).unwrap_err(),
        RegistryError::Malformed { .. }
    ));
    let zip = Server::start(|_, _| Answer::new(200, "no gzip").header("Content-Encoding", "gzip"));
    assert!(matches!(
        ask_helm(&zip).unwrap_err(),
        RegistryError::Malformed { .. }
    ));
}

const INDEX: &str = "\
apiVersion: v1
entries:
  other:
  - nonsense
  odd: 7
  api:
  - {version: 1.0.0, created: 2026-01-02T03:04:05Z, urls: [a.tgz]}
  - version: \"\"
  -
  - {version: 1.10, name: api}
  - {created: 2026-01-02T03:04:05Z}
  - {version: 3.0.0, created: [odd]}
  - nonsense
  - [odd]
  - {version: 4.0.0-rc.1}
  - {version: 2.0.0}
generated: 2026-01-02T03:04:05Z
";

#[test]
fn o24_o25_helm_index_may_be_unsorted_and_hold_bad_entries() {
    let server = Server::start(|_, _| Answer::new(200, INDEX));
    let source = ChartSource::new(&format!("http://{}/stable/", server.host), "api").unwrap();
    let (registry, _) = registry();
    let versions = registry.versions(&source).unwrap();
    assert_eq!(registry.left_out(&source), 6);
    assert_eq!(
        spellings(&versions),
        ["1.0.0", "3.0.0", "4.0.0-rc.1", "2.0.0"]
    );
    assert_eq!(versions[0].created.as_deref(), Some("2026-01-02T03:04:05Z"));
    assert_eq!(newest_stable(&versions).unwrap().version, "3.0.0");
    assert_eq!(server.targets(), ["/stable/index.yaml"]);
}

#[test]
fn helm_index_may_be_json_and_may_lack_the_chart() {
    let json = r#"{"entries":{"api":[{"version":"1.2.0","created":null}]}}"#;
    let server = Server::start(move |_, _| Answer::new(200, json));
    assert_eq!(spellings(&ask_helm(&server).unwrap()), ["1.2.0"]);
    for index in [
        "entries: {}",
        "entries:",
        "entries: {web: [{version: 1.0.0}]}",
    ] {
        let server = Server::start(move |_, _| Answer::new(200, index));
        assert!(matches!(
            ask_helm(&server).unwrap_err(),
            RegistryError::NoSuchChart { .. }
        ));
    }
}

/// Guards the features of the HTTP client: without its certificate verifier it would panic here.
#[test]
fn https_without_a_tls_answer_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let source = ChartSource::new(&format!("https://{host}/stable"), "api").unwrap();
    let error = registry().0.versions(&source).unwrap_err();
    assert!(
        matches!(error, RegistryError::Unreachable { .. }),
        "{error}"
    );
}

#[test]
fn a_host_that_git_waits_for_in_vain_is_asked_once_in_a_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let git = home.path().join("git");
    let script = "#!/bin/sh\ncase \"$1\" in config) exit 1;; esac\necho \"$@\" >>\"$HOME/asked\"\necho 'ssh: connect to host h.example.org port 22: Connection timed out' >&2\nexit 128\n";
    std::fs::write(&git, script).unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    let place = home.path().display().to_string();
    let path = format!("{place}:/usr/bin:/bin");
    let (mut registry, _) = registry();
    registry.env = Env::of(&[("HOME", &place), ("PATH", &path)]);
    let asked = || {
        std::fs::read_to_string(home.path().join("asked"))
            .unwrap()
            .lines()
            .count()
    };
    let first = registry
        .git_tags("git@h.example.org:team/a.git")
        .unwrap_err();
    assert!(
        matches!(first, RegistryError::Unreachable { .. }),
        "{first}"
    );
    for address in [
        "git@h.example.org:team/b.git",
        "ssh://git@h.example.org/team/c.git",
    ] {
        let error = registry.git_tags(address).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot ask again at `h.example.org`"),
            "{error}"
        );
    }
    assert_eq!(asked(), 1);
    assert!(registry.git_tags("git@other.example.org:a.git").is_err());
    assert_eq!(asked(), 2);
}
