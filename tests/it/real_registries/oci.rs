//! OCI registries as the simulator plays them: pages, logins, tokens, redirects, spellings.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};

use super::{Sim, client, many, newest, oci, reason};
use crate::lookups::{pins, repo};
use haptic_scaffold::registry::Registry as _;

fn auths(host: &str, login: &str) -> String {
    json!({"auths": {host: {"auth": BASE64.encode(login)}}}).to_string()
}

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn o26_the_newest_version_is_found_on_whichever_page() {
    let Some(sim) = Sim::start() else { return };
    sim.publish(&many(250));
    let env = repo(&format!("{}/team", sim.at("oci")), "1.0.0");
    for options in [
        json!({}),
        json!({"link": "absolute"}),
        json!({"link": "relative", "order": "insertion"}),
        json!({"over_cap": "reject"}),
        json!({"over_cap": "quay", "order": "lexical"}),
        json!({"over_cap": "clamp", "page_cap": 7}),
        json!({"page_cap": 100, "default_page": null, "over_cap": "reject"}),
    ] {
        sim.tell("registry", &options);
        assert_eq!(newest(&pins(&env, &[], 0)), "1.249.0", "{options}");
    }
    sim.tell("registry", &json!({"page_cap": 2}));
    let said = pins(&env, &[], 4);
    assert!(reason(&said).contains("more than 100 pages"), "{said}");
    sim.assert_kept();
}

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn o27_a_private_chart_is_read_by_a_token_for_the_login_and_nobody_else_gets_it() {
    let Some(sim) = Sim::start() else { return };
    sim.publish(&many(150));
    sim.tell(
        "users",
        &json!({"registry": true, "username": "puller", "secret": "s3cret-s3cret"}),
    );
    let env = repo(&format!("{}/team", sim.at("oci")), "1.0.0");
    for mode in ["private", "basic"] {
        sim.tell("registry", &json!({"auth": mode, "token_denies": null}));
        let _ = std::fs::remove_file(env.home().join(".docker/config.json")).is_err();
        let said = pins(&env, &[], 4);
        let why = reason(&said);
        assert!(
            why.contains("status 401") && why.contains("/.docker/config.json` (not there)"),
            "{why}"
        );

        env.write(
            "../home/.docker/config.json",
            &auths(sim.host(), "puller:wrong-wrong"),
        );
        let said = pins(&env, &[], 4);
        let why = reason(&said);
        assert!(
            why.contains("was not accepted") && !why.contains("wrong-wrong"),
            "{why}"
        );

        env.write(
            "../home/.docker/config.json",
            &auths(sim.host(), "puller:s3cret-s3cret"),
        );
        assert_eq!(newest(&pins(&env, &[], 0)), "1.149.0", "{mode}");
    }
    let _ = std::fs::remove_file(env.home().join(".docker/config.json")).is_err();
    for status in [401, 403] {
        sim.tell(
            "registry",
            &json!({"auth": "private", "token_denies": status}),
        );
        let said = pins(&env, &[], 4);
        let why = reason(&said);
        assert!(
            why.contains("get a token for `team/web`") && why.contains(&format!("status {status}")),
            "{why}"
        );
    }
    sim.assert_kept();
}

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn unknown_charts_are_told_by_the_status_that_registries_give() {
    let Some(sim) = Sim::start() else { return };
    sim.publish(&many(1));
    let env = repo(&format!("{}/elsewhere", sim.at("oci")), "1.0.0");
    for (status, auth) in [
        (404, "none"),
        (401, "none"),
        (403, "none"),
        (401, "anonymous"),
    ] {
        sim.tell("registry", &json!({"unknown": status, "auth": auth}));
        let said = pins(&env, &[], 4);
        let why = reason(&said);
        assert!(why.contains(&format!("status {status}")), "{why}");
        assert!(why.contains("`elsewhere/web`"), "{why}");
    }
}

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn archives_come_through_a_redirect_that_gets_no_token() {
    let Some(sim) = Sim::start() else { return };
    sim.publish(&json!(["1.0.0"]));
    sim.tell(
        "users",
        &json!({"registry": true, "username": "puller", "secret": "s3cret-s3cret"}),
    );
    sim.tell(
        "registry",
        &json!({"auth": "private", "redirect_blobs": true}),
    );
    let env = repo(&format!("{}/team", sim.at("oci")), "1.0.0");
    env.write(
        "../home/.docker/config.json",
        &auths(sim.host(), "puller:s3cret-s3cret"),
    );
    let client = client(&env);
    let archive = client
        .archive(&oci(sim.host()), "1.0.0")
        .expect("an archive");
    assert_eq!(archive[..2], [0x1f, 0x8b], "gzip");
    sim.assert_kept();
    // Another run has the bytes by their digest.
    let before = sim.requests("blobs").len();
    let again = super::client(&env).archive(&oci(sim.host()), "1.0.0");
    assert_eq!(again.expect("an archive"), archive);
    assert_eq!(sim.requests("blobs").len(), before);
}

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn a_tag_that_moves_is_seen_at_once() {
    let Some(sim) = Sim::start() else { return };
    sim.publish(&json!([{"version": "1.0.0+b1", "created": "2026-01-02T03:04:05Z"}]));
    let env = repo(&format!("{}/team", sim.at("oci")), "1.0.0");
    let first = client(&env)
        .release(&oci(sim.host()), "1.0.0+b1")
        .expect("a release");
    assert_eq!(first.created.as_deref(), Some("2026-01-02T03:04:05Z"));
    sim.publish(&json!([{"version": "1.0.0+b1", "salt": "x", "created": "2026-02-02T03:04:05Z"}]));
    let moved = client(&env)
        .release(&oci(sim.host()), "1.0.0+b1")
        .expect("a release");
    assert_ne!(first.digest, moved.digest);
    assert_eq!(moved.created.as_deref(), Some("2026-02-02T03:04:05Z"));
    let none =
        json!([{"version": "2.0.0", "drop_annotations": ["org.opencontainers.image.created"]}]);
    sim.publish(&none);
    let silent = client(&env)
        .release(&oci(sim.host()), "2.0.0")
        .expect("a release");
    assert_eq!(silent.created, None);
    assert!(
        silent
            .digest
            .is_some_and(|digest| digest.starts_with("sha256:"))
    );
}

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn o17_o21_build_metadata_and_a_leading_v_are_written_as_they_are_published() {
    let Some(sim) = Sim::start() else { return };
    sim.publish(&json!(["11.0.0+up3.0.0", "12.0.1+up3.4.2"]));
    let env = repo(&format!("{}/team", sim.at("oci")), "11.0.0+up3.0.0");
    assert_eq!(newest(&pins(&env, &[], 0)), "12.0.1+up3.4.2");
    let tags = json!({"name": "web", "oci": "v/web", "versions": [{"version": "8.1.0", "tag": "v8.1.0"}, {"version": "8.2.0", "tag": "v8.2.0"}], "extra_tags": ["latest", "sha256-0.sig"]});
    sim.tell("charts", &tags);
    let env = repo(&format!("{}/v", sim.at("oci")), "v8.1.0");
    let done = env
        .expect(0, &["-C", "repo", "upgrade", "--output", "json"])
        .json();
    let branch = done["changes"][0]["branch"].as_str().expect("a branch");
    let text = env.git("repo", &["show", &format!("{branch}:apps/web.yaml")]);
    assert!(text.contains("version: 'v8.2.0'"), "{text}");
}

#[test]
#[ignore = "needs the simulator: cargo test -- --ignored"]
fn o28_o29_the_chart_belongs_to_the_path_and_the_scheme_to_none() {
    let Some(sim) = Sim::start() else { return };
    let chart =
        json!({"name": "web", "oci": "group/project/charts/web", "versions": ["1.0.0", "1.1.0"]});
    sim.tell("charts", &chart);
    for address in [
        format!("oci://{}/group/project/charts", sim.host()),
        format!("oci://{}/group/project/charts/", sim.host()),
    ] {
        let env = repo(&address, "1.0.0");
        assert_eq!(newest(&pins(&env, &[], 0)), "1.1.0", "{address}");
    }
    let asked = sim.requests("tags");
    let path = |request: &Value| request["path"].as_str().map(str::to_owned);
    let is_right = |path: &String| path.starts_with("/v2/group/project/charts/web/tags/list");
    assert!(
        asked.iter().filter_map(path).all(|path| is_right(&path)),
        "{asked:?}"
    );
}
