//! Who receives tokens and logins: challenges, foreign links, redirects and realms.

use super::credentials::{Credentials, Login};
use super::tests::{ask_oci, numbered, registry, registry_with, spellings};
use super::{ChartSource, Registry as _, RegistryError};
use crate::http::test_server::{Answer, Server};

fn challenge(realm: &str) -> Answer {
    let value = format!(
        "Bearer realm=\"{realm}\",service=\"a, b\",scope=\"repository:team/charts/api:pull,push\""
    );
    Answer::new(401, "{}").header("WWW-Authenticate", &value)
}

/// A registry that wants the token `t0k`; `link` is put on its list.
fn token_registry(link: Option<String>) -> Server {
    Server::start(move |_, seen| {
        if seen.target.starts_with("/token") {
            return Answer::new(200, r#"{"token":"t0k"}"#);
        }
        let is_known = seen.headers.get("authorization").map(String::as_str) == Some("Bearer t0k");
        if !is_known {
            return challenge(&format!("http://{}/token?x=1", seen.headers["host"]));
        }
        let answer = Answer::tags(&numbered(1..2));
        match &link {
            Some(link) => answer.header("Link", link),
            None => answer,
        }
    })
}

#[test]
fn o27_oci_fetches_a_token_for_the_challenge() {
    let server = token_registry(None);
    assert_eq!(spellings(&ask_oci(&server).unwrap()), ["1.1.0"]);
    assert_eq!(
        server.targets()[1],
        "/token?x=1&service=a,%20b&scope=repository:team/charts/api:pull,push"
    );
    assert_eq!(server.seen().len(), 3);
    assert!(!server.seen()[1].headers.contains_key("authorization"));
}

#[test]
fn o26_oci_link_to_another_host_gets_no_token_and_no_second_exchange() {
    let open = Server::start(|_, _| Answer::tags(&numbered(2..3)));
    let server = token_registry(Some(format!("<http://{}/more>; rel=next", open.host)));
    assert_eq!(spellings(&ask_oci(&server).unwrap()), ["1.1.0", "1.2.0"]);
    assert!(!open.seen()[0].headers.contains_key("authorization"));

    let greedy = Server::start(|_, seen| challenge(&format!("http://{}/t", seen.headers["host"])));
    let server = token_registry(Some(format!("<http://{}/more>; rel=next", greedy.host)));
    let error = ask_oci(&server).unwrap_err();
    assert!(matches!(error, RegistryError::Denied { status: 401, .. }));
    assert_eq!(greedy.targets(), ["/more"]);
}

#[test]
fn redirect_to_another_host_loses_the_token() {
    let other = Server::start(|_, _| Answer::tags(&numbered(5..6)));
    let target = format!("http://{}/elsewhere", other.host);
    let server = Server::start(move |_, seen| {
        if seen.target.starts_with("/token") {
            Answer::new(200, r#"{"access_token":"t0k"}"#)
        } else if seen.headers.contains_key("authorization") {
            Answer::new(307, "").header("Location", &target)
        } else {
            challenge(&format!("http://{}/token", seen.headers["host"]))
        }
    });
    assert_eq!(spellings(&ask_oci(&server).unwrap()), ["1.5.0"]);
    assert!(!other.seen()[0].headers.contains_key("authorization"));
}

struct Known;

impl Credentials for Known {
    fn registry(&self, _: &str) -> Option<Login> {
        self.helm("")
    }

    fn helm(&self, _: &str) -> Option<Login> {
        Some(Login::of("user", "pw"))
    }

    fn account_of_registry(&self, place: &str) -> String {
        format!("a login for {place} is in a test")
    }

    fn account_of_helm(&self, repository: &str) -> String {
        self.account_of_registry(repository)
    }
}

#[test]
fn o27_login_goes_to_the_own_realm_only() {
    let stranger = Server::start(|_, _| Answer::new(200, r#"{"token":"t0k"}"#));
    // The same address under another name is another host.
    let realm = format!(
        "http://{}/token",
        stranger.host.replace("127.0.0.1", "localhost")
    );
    let server = Server::start(move |number, _| match number {
        0 => challenge(&realm),
        _ => Answer::tags(&numbered(1..2)),
    });
    let source = ChartSource::new(&server.host, "api").unwrap();
    registry_with(Box::new(Known)).0.versions(&source).unwrap();
    assert!(!stranger.seen()[0].headers.contains_key("authorization"));

    let realm = format!(
        "http://{}/token",
        stranger.host.replace("127.0.0.1", "localhost")
    );
    let closed = Server::start(move |_, _| challenge(&realm));
    let source = ChartSource::new(&closed.host, "api").unwrap();
    let error = registry_with(Box::new(Known))
        .0
        .versions(&source)
        .unwrap_err();
    assert!(
        error.to_string().contains("was not sent to `localhost:"),
        "{error}"
    );

    let own = token_registry(None);
    let source = ChartSource::new(&own.host, "api").unwrap();
    registry_with(Box::new(Known)).0.versions(&source).unwrap();
    assert_eq!(own.seen()[1].headers["authorization"], "Basic dXNlcjpwdw==");

    let basic = Server::start(|_, seen| match seen.headers.get("authorization") {
        Some(_) => Answer::tags(&[]),
        None => Answer::new(401, "").header("WWW-Authenticate", "Basic realm=\"r\""),
    });
    let source = ChartSource::new(&basic.host, "api").unwrap();
    assert!(registry_with(Box::new(Known)).0.versions(&source).is_ok());
    assert!(registry().0.versions(&source).is_err());
}

#[test]
fn realm_and_link_that_are_not_safe_are_refused() {
    for realm in [
        "http://auth.example.org/token",
        "ftp://x/",
        "http://u:p@127.0.0.1/t",
    ] {
        let server = Server::start(move |_, _| challenge(realm));
        let error = ask_oci(&server).unwrap_err();
        assert!(
            matches!(error, RegistryError::UnsafeTarget { .. }),
            "{error}"
        );
        assert!(!error.to_string().contains("u:p"), "{error}");
    }
}

/// How often the login of `Known` came to a server.
fn logins(server: &Server) -> usize {
    let seen = server.seen();
    let is_login = |text: &&String| text.starts_with("Basic ");
    let sent = seen
        .iter()
        .filter_map(|one| one.headers.get("authorization"));
    sent.filter(is_login).count()
}

#[test]
fn a_refused_login_is_sent_once_in_a_run() {
    let basic =
        Server::start(|_, _| Answer::new(401, "").header("WWW-Authenticate", "Basic realm=\"r\""));
    let token = Server::start(|_, seen| match seen.target.starts_with("/token") {
        true => Answer::new(401, "{}"),
        false => challenge(&format!("http://{}/token", seen.headers["host"])),
    });
    let helm = Server::start(|_, _| Answer::new(401, ""));
    for (server, repo) in [
        (&basic, format!("oci://{}/team", basic.host)),
        (&token, format!("oci://{}/team", token.host)),
        (&helm, format!("http://{}/stable", helm.host)),
    ] {
        let (registry, _) = registry_with(Box::new(Known));
        for chart in ["api", "web", "api", "db"] {
            let source = ChartSource::new(&repo, chart).unwrap();
            let error = registry.versions(&source).unwrap_err();
            assert!(matches!(error, RegistryError::Denied { .. }), "{error}");
        }
        assert_eq!(logins(server), 1, "{repo}");
    }
}
