//! What is hidden, however it is written, and what has to stay.

use proptest::prelude::*;

use super::redact;

const PEM: &str = "MHcCAQEEIBkg4LVWM9nuwNSk3yByxZpYRTBnVJhMqGeEFF0xRgQHoAoGCCqGSM49";

#[test]
fn what_looks_like_a_secret_is_hidden() {
    for (text, secret) in [
        ("dataplane_password: hunter2x", "hunter2x"),
        ("password=\"hunter2x\" retries=3", "hunter2x"),
        ("{\"password\":\"hunter2x\",\"a\":1}", "hunter2x"),
        ("  user admin insecure-password hunter2x", "hunter2x"),
        ("  user admin password $6$abc$hunter2x", "hunter2x"),
        ("  stats auth admin:hunter2x", "hunter2x"),
        ("Authorization: Bearer hunter2x", "hunter2x"),
        ("authorization: Basic aHVudGVyMg==", "aHVudGVyMg"),
        ("GET https://me:hunter2x@host/path", "hunter2x"),
        ("GET https://me:hun/ter2x@host/path", "ter2x"),
        ("token = hunter2x", "hunter2x"),
        ("got glpat-abcdefghijklmnopqrst", "abcdefgh"),
        ("key Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MDEyMzQ1Njc4OTA=", "Zm9v"),
        (
            "the key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE3KEY is refused.",
            "K7MDENG",
        ),
        (
            "refused: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE3KEY.",
            "K7MDENG",
        ),
        (
            "http-request set-header X-Api-Key hunter2x if a",
            "hunter2x",
        ),
        ("http-request add-header X-Auth-Token hunter2x", "hunter2x"),
        (
            "http-request replace-header X-Api-Key ^.*$ hunter2x if a",
            "hunter2x",
        ),
        ("http-check send hdr X-Api-Key hunter2x", "hunter2x"),
        ("  setenv API_TOKEN hunter2x", "hunter2x"),
        ("acl a req.hdr(X-Api-Key) -m str -i hunter2x", "hunter2x"),
        ("acl a url_param(token) hunter2x", "hunter2x"),
        (
            r#"{"auths":{"r.example":{"auth":"aHVudGVyMng6eA=="}}}"#,
            "aHVu",
        ),
        ("encryption_key: hunter2x", "hunter2x"),
        ("set-var(txn.api_token) str(hunter2x) if a", "hunter2x"),
        ("set-var-fmt(proc.token,ifnotexists) hunter2x", "hunter2x"),
        ("acl a var(txn.api_token) -m str hunter2x", "hunter2x"),
        (r#"tcp-check send "AUTH me hunter2x\r\n""#, "hunter2x"),
        (r"tcp-check send AUTH\ hunter2x\r\n", "hunter2x"),
        (r#"{"name":"DB_PASSWORD","value":"hunter2x"}"#, "hunter2x"),
        ("- name: DB_PASSWORD\n  value: hunter2x", "hunter2x"),
        (
            "\"name\": \"API_TOKEN\",\n\"value\": \"hunter2x\"",
            "hunter2x",
        ),
        ("curl -s -u admin:hunter2x https://h", "hunter2x"),
        ("curl --user=admin:hunter2x https://h", "hunter2x"),
        ("curl -uadmin:hunter2x", "hunter2x"),
        ("curl -su admin:hunter2x https://h", "hunter2x"),
        ("curl -u\"admin:x hunter2x\" https://h", "hunter2x"),
        ("BasicAuth: admin:hunter2x", "hunter2x"),
        ("DATAPLANE_PASS hunter2x", "hunter2x"),
        ("\"password\": [\n\"hunter2x\" ],", "hunter2x"),
        (
            "{\"tokens\": {\n\"a\": [\n\"b\"],\n\"c\": \"hunter2x\"}",
            "hunter2x",
        ),
        ("signingKey=hunter2x", "hunter2x"),
    ] {
        let shown = redact(text);
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn every_key_of_a_line_counts() {
    for text in [
        r#"{"level":"ERROR","msg":"render: failed","user":"x","password":"hunter2x"}"#,
        r#"{"level":"ERROR","cfg":"{\"user\":\"x\",\"password\":\"hunter2x\"}"}"#,
        r#"time=2026-11-02T10:00:00Z level=ERROR msg="x: y" dbPass=hunter2x"#,
        "GET https://h/p?x=1&token=hunter2x&y=2: 403",
        "GET /p?token%3Dhunter2x",
        "db_pass=hunter2x",
        "a pwd=hunter2x",
        "Cookie: session=hunter2x; other=1",
        "< Set-Cookie: id=hunter2x",
        "a request with \"Cookie: id=hunter2x\" came",
        "Password is hunter2x",
        "the token was 'hunter2x'",
        "haptic --token hunter2x run",
        "map[user:x password:hunter2x]",
        "{user: x, password: hunter2x}",
        r#"  http-request set-header Authorization Basic\ hunter2x if a"#,
        r#"{"credentials":{"user":"x","key":"hunter2x"},"a":1}"#,
        "tokens[0]=hunter2x",
        "failed: the AWS key AKIAHUNTER2XABCDEFGH is refused",
        "key=ASIAHUNTER2XABCDEFGH",
        "x 0123456789abcdef0123456789abcdef y",
        "DATA=0123456789abcdef0123456789abcdef",
    ] {
        let shown = redact(text);
        for secret in ["hunter2x", "HUNTER2X", "0123456789abcdef"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
    assert_eq!(
        redact("GET https://h/p?x=1&token=hunter2x&y=2: 403"),
        "GET https://h/p?x=1&token=(hidden)&y=2: 403"
    );
    assert_eq!(
        redact(r#"{"msg":"refused","password":"a\"b, c","code":3}"#),
        r#"{"msg":"refused","password":"(hidden)","code":3}"#
    );
}

#[test]
fn a_value_of_several_words_or_lines_is_hidden_whole() {
    for text in [
        "password: \"correct hunter2 horse\"",
        "password: correct hunter2 horse",
        "x: 1, password: correct hunter2 horse, y: 2",
        "password='correct hunter2 horse' x=1",
        "DB_PASSWORD=correct hunter2 horse",
        r#"user x insecure-password correct\ hunter2\ horse"#,
        "dataplane_password: |\n  correct\n\n  hunter2\nx: 1",
        "  - secret: >-\n      correct\n      horse\n    x: 1",
        "2026-11-02T10:00:00.1Z password: |\n2026-11-02T10:00:00.2Z   hunter2",
        "password:\n  hunter2\nx: 1",
        "password: \"correct\n  hunter2 horse\"",
        "tokens:\n- hunter2\n- horse\nx: 1",
    ] {
        let shown = redact(text);
        for word in ["correct", "hunter2", "horse"] {
            assert!(!shown.contains(word), "{shown}");
        }
        assert_eq!(shown.contains("x: 1"), text.contains("x: 1"), "{shown}");
        assert_eq!(shown.lines().count(), text.lines().count());
    }
}

#[test]
fn what_is_left_open_hides_no_verdict() {
    let verdict = "preflight: validation failed: template does not compile: foo.cfg:3";
    for line in [
        "ts: parsed tokens: [IDENT",
        "unexpected state password=[foo",
        "secret: {don't",
        "\"cookies\": [\n\"a=[x\"\n],",
        "tokens: [\n\"x\",",
    ] {
        let shown = redact(&format!("{line}\n{verdict}\n"));
        assert!(shown.ends_with(verdict), "{shown}");
    }
    let many = format!("\"tokens\": [\n{}{verdict}", "  \"x\",\n".repeat(300));
    assert!(redact(&many).ends_with(verdict));
}

#[test]
fn private_keys_are_hidden_without_their_first_line_too() {
    for (text, wanted) in [
        (
            "a\n-----BEGIN PRIVATE KEY-----\nx",
            "a\n(a private key, hidden)".to_owned(),
        ),
        (
            "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\nafter",
            "(a private key, hidden)\nafter".to_owned(),
        ),
        (
            &format!(
                "said: no\n{PEM}\n{}\nAwEHoUQDQgAEabcdef==\n-----END EC PRIVATE KEY-----\nafter",
                PEM.to_lowercase()
            ),
            "said: no\n(a private key, hidden)\nafter".to_owned(),
        ),
        (
            &format!(
                r#"{{"key":"-----BEGIN PRIVATE KEY-----\n{PEM}\n-----END PRIVATE KEY-----","error":"refused"}}"#
            ),
            r#"{"key":"(a private key, hidden)","error":"refused"}"#.to_owned(),
        ),
    ] {
        assert_eq!(redact(text), wanted);
    }
    let public = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----";
    assert_eq!(redact(public), public);
}

#[test]
fn what_tells_the_fault_stays() {
    for text in [
        "preflight: validation failed: LoadGateFailed: template \"haproxyConfig\" does not compile: line 3",
        "chart version mismatch: this image embeds chart 0.2.1 but the release being installed is chart 0.2.2+f936452fecaa.",
        "secrets \"haptic-gitops-credentials\" not found",
        "secret ns/haptic-gitops-credentials: not found",
        "cannot read the secret of the release: no such file",
        "image sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "r.example.org/haptic@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef: not found",
        "https://h/group/project/-/commit/0123456789abcdef0123456789abcdef01234567",
        "pod haptic-haptic-pre-rollout-abcde failed, exit code 1",
        "deployment haptic-controller-7d9f8b6c5d-x2x4z of 9b2f0c1e-4a57-4c1e-9e57-0c1e4a57b2f0",
        "open /etc/haproxy/ssl/Certificates/Default2/haproxy.pem: permission denied",
        "[ALERT] (8) : config : parsing [/tmp/haproxy.cfg:12] : unknown keyword 'x' in 'frontend' section",
        "{\"level\":\"ERROR\",\"msg\":\"validation failed\",\"template\":\"haproxyConfig\",\"line\":3}",
        "parse error: unexpected token: \"endfor\" at line 7",
        "the password is invalid, the token is missing",
        "secretName: haptic-tls",
        "- name: REPLICAS\n  value: 3",
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n  x: 1\n  value: 3",
        "the unit runs with -u root",
        "curl: (6) could not resolve host: example.org",
        "curl -u admin https://h",
        "undefined variable db_pass used, api_token filter unknown",
        "",
    ] {
        assert_eq!(redact(text), text);
    }
}

/// How programs write a value behind a key.
fn renderings(key: &str, value: &str) -> Vec<String> {
    let quoted = serde_json::to_string(value).unwrap();
    let yaml = serde_yaml::to_string(&serde_json::json!({ "a": 1, key: value })).unwrap();
    let json = serde_json::json!({"level": "x", key: value, "n": [1]}).to_string();
    let inner = serde_json::json!({"msg": json, "n": 1}).to_string();
    vec![
        yaml,
        format!("log:\n  - {key}: |-\n      {value}\n    x: 1"),
        json,
        inner,
        format!("a=1 {key}={quoted} b=2"),
        format!("a: b, {key}: {quoted}, c"),
    ]
}

/// And those that take no spaces.
fn word_renderings(key: &str, value: &str) -> Vec<String> {
    vec![
        format!("a=1 {key}={value} b=2"),
        format!("{key} = {value}"),
        format!("https://h/p?a=1&{key}={value}&b=2"),
        format!("X-{key}: {value}"),
        format!("x {{{key}:{value}}}"),
        format!("  stats auth admin:{value}"),
        format!("  user x insecure-password {value}"),
        format!("  user x password {value} groups a"),
        format!("Authorization: Bearer {value}"),
    ]
}

proptest! {
    #[test]
    fn nothing_makes_it_fail_and_nothing_more_is_hidden_the_second_time(text in "(\\PC|\n){0,80}") {
        let once = redact(&text);
        prop_assert_eq!(redact(&once), once);
    }

    #[test]
    fn what_was_shown_is_shown_again(text in "((password|token|x|auth|basic|a_pass|secret|-----BEGIN PRIVATE KEY-----|-----END PRIVATE KEY-----|\\(hidden\\)|https://|u:p@h)[ :=|>\"'{}\\[,\n\\\\&]{0,3}){0,9}") {
        let once = redact(&text);
        prop_assert_eq!(redact(&once), once);
    }

    #[test]
    fn no_value_behind_a_key_is_left(
        key in "(db_|my-|x)?(password|api_token|secret|dbPass|pwd|client_secret|apikey)",
        value in "Q[a-zA-Z0-9]{6,20}",
        words in "Q[a-z0-9!,;}\"'#&@\\\\]{2,9}( [a-zA-Z0-9,;:}\"']{1,8}){0,2}Q",
    ) {
        for text in renderings(&key, &value).into_iter().chain(word_renderings(&key, &value)) {
            prop_assert!(!redact(&text).contains(&value), "{}", redact(&text));
        }
        for text in renderings(&key, &words) {
            let shown = redact(&text);
            let written = serde_json::to_string(&words).unwrap();
            prop_assert!(!shown.contains(&words) && !shown.contains(written.trim_matches('"')), "{}", shown);
            let first = words.split([' ', '"', '\'', '\\']).next().unwrap();
            prop_assert!(!shown.contains(first), "{}", shown);
        }
    }
}
