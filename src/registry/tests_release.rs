//! What belongs to one version: digest, time, archive; and what a run keeps for the next one.

use super::cache::Cache;
use super::credentials::Anonymous;
use super::manifest::{CHART_CONFIG, sha256};
use super::tests::{Waits, registry};
use super::{ChartSource, HttpRegistry, Registry as _, Release};
use crate::http::test_server::{Answer, Server};
use crate::model::env::Env;

const LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const MADE: &str = "2026-01-02T03:04:05Z";

fn manifest(config: &str, archive: &str, annotations: &serde_json::Value) -> String {
    let piece = |kind: &str, body: &str| serde_json::json!({"mediaType": kind, "digest": sha256(body.as_bytes()), "size": body.len()});
    serde_json::json!({
        "schemaVersion": 2, "config": piece(CHART_CONFIG, config),
        "layers": [piece("application/vnd.cncf.helm.chart.provenance.v1.prov", "x"), piece(LAYER, archive)],
        "annotations": annotations,
    })
    .to_string()
}

/// A registry with one tag, `1.0.0_b1`; `sent` is what it sends as the archive `tgz`.
fn one_chart(manifest: &str, config: &'static str, sent: &'static str) -> Server {
    let manifest = manifest.to_owned();
    Server::start(move |_, seen| match seen.target.as_str() {
        "/v2/api/manifests/1.0.0_b1" if seen.headers["accept"].contains("image.manifest") => {
            Answer::new(200, manifest.clone())
        }
        blob if blob == format!("/v2/api/blobs/{}", sha256(config.as_bytes())) => {
            Answer::new(200, config)
        }
        blob if blob == format!("/v2/api/blobs/{}", sha256(b"tgz")) => Answer::new(200, sent),
        _ => Answer::new(404, ""),
    })
}

fn source(server: &Server) -> ChartSource {
    ChartSource::new(&server.host, "api").unwrap()
}

#[test]
fn a_tag_says_its_digest_and_when_it_was_made() {
    let annotated = manifest(
        "{}",
        "tgz",
        &serde_json::json!({"org.opencontainers.image.created": MADE}),
    );
    let server = one_chart(&annotated, "{}", "tgz");
    let expected = Release {
        digest: Some(sha256(annotated.as_bytes())),
        created: Some(MADE.to_owned()),
    };
    let (registry, _) = registry();
    assert_eq!(
        registry.release(&source(&server), "1.0.0+b1").unwrap(),
        expected
    );
    assert_eq!(server.seen().len(), 1);
    let config = r#"{"annotations":{"org.opencontainers.image.created":"2026-01-02T03:04:05Z"}}"#;
    let bare = manifest(config, "tgz", &serde_json::Value::Null);
    let server = one_chart(&bare, config, "tgz");
    let release = registry.release(&source(&server), "1.0.0+b1").unwrap();
    assert_eq!(release.created.as_deref(), Some(MADE));
    assert!(registry.release(&source(&server), "1.0.0").is_err());
}

#[test]
fn archives_that_are_not_what_the_manifest_says_are_refused() {
    let text = manifest("{}", "tgz", &serde_json::Value::Null);
    let (registry, _) = registry();
    let ask = |sent| registry.archive(&source(&one_chart(&text, "{}", sent)), "1.0.0+b1");
    assert_eq!(ask("tgz").unwrap(), b"tgz");
    let other = ask("tgx").unwrap_err().to_string();
    assert!(other.contains("its digest is sha256:"), "{other}");
    assert!(
        ask("tgz and more")
            .unwrap_err()
            .to_string()
            .contains("should have 3")
    );
    let image = text.replace(CHART_CONFIG, "application/vnd.oci.image.config.v1+json");
    let error = registry.archive(&source(&one_chart(&image, "{}", "tgz")), "1.0.0+b1");
    assert!(error.unwrap_err().to_string().contains("no Helm chart"));
    let outside = text.replace(&sha256(b"tgz"), "sha256:../../x");
    let error = registry.archive(&source(&one_chart(&outside, "{}", "tgz")), "1.0.0+b1");
    assert!(error.unwrap_err().to_string().contains("another digest"));
}

#[test]
fn a_manifest_with_another_digest_than_it_is_said_to_have_is_refused() {
    let server = Server::start(|_, _| {
        Answer::new(200, "{}").header("Docker-Content-Digest", &sha256(b"other"))
    });
    let error = registry().0.release(&source(&server), "1.0.0").unwrap_err();
    assert!(
        error.to_string().contains("which the registry says it has"),
        "{error}"
    );
}

#[test]
fn an_index_leads_to_the_archive_beside_it_or_elsewhere() {
    let elsewhere = Server::start(|_, _| Answer::new(200, "far"));
    let index = format!(
        "entries:\n  api:\n  - {{version: 1.0.0, created: {MADE}, urls: [api-1.0.0.tgz], digest: {}}}\n  - {{version: 2.0.0, urls: ['http://{}/api.tgz']}}\n  - {{version: 3.0.0, urls: [api-1.0.0.tgz], digest: {}}}\n  - {{version: 4.0.0}}\n",
        &sha256(b"near")[7..],
        elsewhere.host,
        &sha256(b"other")[7..],
    );
    let server = Server::start(move |_, seen| match seen.target.as_str() {
        "/stable/index.yaml" => Answer::new(200, index.clone()),
        "/stable/api-1.0.0.tgz" => Answer::new(200, "near"),
        _ => Answer::new(404, ""),
    });
    let source = ChartSource::new(&format!("http://{}/stable", server.host), "api").unwrap();
    let (registry, _) = registry();
    assert_eq!(registry.archive(&source, "1.0.0").unwrap(), b"near");
    assert_eq!(registry.archive(&source, "2.0.0").unwrap(), b"far");
    for (version, why) in [
        ("3.0.0", "its digest is"),
        ("4.0.0", "no address"),
        ("5.0.0", "no version 5.0.0"),
    ] {
        let error = registry.archive(&source, version).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let release = registry.release(&source, "1.0.0").unwrap();
    assert_eq!(
        (release.digest, release.created.as_deref()),
        (None, Some(MADE))
    );
    let indexes = server
        .targets()
        .into_iter()
        .filter(|t| t.ends_with("index.yaml"));
    assert_eq!(indexes.count(), 1, "one index serves the whole run");
}

#[test]
fn an_index_may_lead_to_a_registry() {
    let text = manifest("{}", "tgz", &serde_json::Value::Null);
    let oci = one_chart(&text, "{}", "tgz");
    let index = format!(
        "entries: {{api: [{{version: 1.0.0+b1, urls: ['oci://{}/api:1.0.0_b1']}}, {{version: 2.0.0, urls: ['oci://{}/api']}}]}}",
        oci.host, oci.host
    );
    let server = Server::start(move |_, _| Answer::new(200, index.clone()));
    let source = ChartSource::new(&format!("http://{}", server.host), "api").unwrap();
    let (registry, _) = registry();
    assert_eq!(registry.archive(&source, "1.0.0+b1").unwrap(), b"tgz");
    assert!(registry.archive(&source, "2.0.0").is_err());
}

/// A registry as the next run makes it, with the same cache.
fn next_run(folder: &std::path::Path) -> HttpRegistry {
    let pause = Box::new(|_| {});
    let http = super::http::Http::with_limits("test/1", pause, 200_000);
    let http = http.with_cache(Cache::at(folder.to_owned()));
    HttpRegistry::with(http, Box::new(Anonymous), Env::default())
}

#[test]
fn a_list_that_is_unchanged_is_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, seen| {
        let is_known = seen.headers.get("if-none-match").map(String::as_str) == Some("\"7\"");
        let first = seen.target.contains("n=");
        let answer = match is_known {
            true => Answer::new(304, ""),
            false => Answer::tags(&[if first { "1.0.0" } else { "2.0.0" }.to_owned()]),
        };
        let answer = answer.header("ETag", "\"7\"");
        match first && !is_known {
            true => answer.header("Link", "</v2/api/tags/list?last=1.0.0>; rel=next"),
            false => answer,
        }
    });
    for run in 1..=2 {
        let versions = next_run(folder.path()).versions(&source(&server)).unwrap();
        assert_eq!(
            super::tests::spellings(&versions),
            ["1.0.0", "2.0.0"],
            "run {run}"
        );
    }
    assert!(server.seen()[2].headers.contains_key("if-none-match"));
    assert!(!server.seen()[0].headers.contains_key("if-none-match"));
    assert_eq!(server.seen().len(), 4);
}

#[test]
fn what_a_digest_names_is_fetched_once_and_never_kept_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let text = manifest("{}", "tgz", &serde_json::Value::Null);
    let liar = one_chart(&text, "{}", "bad");
    assert!(
        next_run(folder.path())
            .archive(&source(&liar), "1.0.0+b1")
            .is_err()
    );
    let server = one_chart(&text, "{}", "tgz");
    for _ in 0..2 {
        let archive = next_run(folder.path()).archive(&source(&server), "1.0.0+b1");
        assert_eq!(archive.unwrap(), b"tgz");
    }
    let blobs = server
        .targets()
        .into_iter()
        .filter(|t| t.contains("/blobs/"));
    assert_eq!(blobs.count(), 1);
}

#[test]
fn what_must_not_be_stored_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| {
        let list = Answer::tags(&["1.0.0".to_owned()]).header("ETag", "\"7\"");
        list.header("Cache-Control", "private, No-Store")
    });
    for _ in 0..2 {
        next_run(folder.path()).versions(&source(&server)).unwrap();
    }
    assert!(!server.seen()[1].headers.contains_key("if-none-match"));
}

#[test]
fn git_tags_come_from_smart_http() {
    let line = |text: &str| format!("{:04x}{text}", text.len() + 4);
    let oid = "2".repeat(40);
    let body = [
        line("# service=git-upload-pack\n"),
        "0000".to_owned(),
        line(&format!("{oid} refs/tags/v1.2.3\0x\n")),
        line(&format!("{oid} refs/tags/v1.2.3^{{}}\n")),
        "0000".to_owned(),
    ]
    .concat();
    let server = Server::start(move |_, seen| match seen.target.as_str() {
        "/team/app.git/info/refs?service=git-upload-pack" => Answer::new(200, body.clone()),
        _ => Answer::new(404, ""),
    });
    let (registry, _): (HttpRegistry, Waits) = registry();
    let tags = registry.git_tags(&format!("http://{}/team/app.git/", server.host));
    assert_eq!(tags.unwrap(), ["v1.2.3"]);
    for address in ["http://git.example.org/x", "https://u:pw@git.example.org/x"] {
        let error = registry.git_tags(address).unwrap_err().to_string();
        assert!(!error.contains("pw"), "{error}");
    }
}
