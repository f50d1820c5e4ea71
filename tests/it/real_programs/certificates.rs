//! Certificates, out of Git again, judged by OpenSSL.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::secrets::{decrypted, encrypted, openssl, wanted, world};
use super::{at, documents};
use crate::env::TestEnv;

const HOST: &str = "haptic-webhook.haptic.svc";

/// Makes a root CA, an intermediate one and certificates for the webhook and the front, in the folder `chain`.
fn chain(env: &TestEnv) {
    env.write("chain/ca.ext", "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n");
    let leaf = |host| {
        format!(
            "subjectAltName=DNS:{host}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\nauthorityKeyIdentifier=keyid\n"
        )
    };
    env.write("chain/webhook.ext", &leaf(HOST));
    env.write("chain/frontend.ext", &leaf("www.example.org"));
    let new = "-newkey rsa:2048 -nodes -keyout chain";
    let root = format!(
        "req -x509 {new}/root.key -out chain/webhook-ca.crt -days 30 -subj /CN=root -addext keyUsage=critical,keyCertSign"
    );
    openssl(env, &root).expect("a root");
    for (name, ext, by) in [
        (
            "middle",
            "ca",
            "-CA chain/webhook-ca.crt -CAkey chain/root.key",
        ),
        (
            "webhook",
            "webhook",
            "-CA chain/middle.crt -CAkey chain/middle.key",
        ),
        (
            "frontend",
            "frontend",
            "-CA chain/middle.crt -CAkey chain/middle.key",
        ),
    ] {
        let request = format!("req -new {new}/{name}.key -out chain/{name}.csr -subj /CN={name}");
        openssl(env, &request).expect("a request");
        let sign = format!(
            "x509 -req -in chain/{name}.csr -out chain/{name}.crt {by} -CAcreateserial -days 20 -extfile chain/{ext}.ext"
        );
        openssl(env, &sign).expect("a certificate");
    }
    for name in ["webhook", "frontend"] {
        let both = env.read(&format!("chain/{name}.crt")) + &env.read("chain/middle.crt");
        env.write(&format!("chain/{name}.crt"), &both);
        env.mode(&format!("chain/{name}.key"), 0o600);
    }
}

/// Whether openssl takes a file's first certificate for a host, by a CA and what else is in the file.
fn verifies(env: &TestEnv, ca: &str, file: &str, host: &str) -> Result<String, String> {
    let strict = "verify -x509_strict -purpose sslserver -no-CApath -no-CAstore";
    let by = format!("-CAfile {ca} -untrusted {file} -verify_hostname {host}");
    openssl(env, &format!("{strict} {by} {file}"))
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn openssl_verifies_the_chains_that_we_make_and_that_we_take() {
    let Some(env) = world() else { return };
    env.expect(0, &["secrets", "trial-certificates", "trial"]);
    chain(&env);
    encrypted(&env, "chain", &[]);
    let secrets = decrypted(&env, "out");
    assert_eq!(secrets, wanted(&env, "chain"));
    let values = &secrets["haptic-gitops-webhook"];
    env.write("taken.crt", &values["tls.crt"]);
    env.write("taken-ca.crt", &values["ca.crt"]);
    for (ca, file) in [
        ("trial/webhook-ca.crt", "trial/webhook.crt"),
        ("taken-ca.crt", "taken.crt"),
    ] {
        assert_eq!(verifies(&env, ca, file, HOST), Ok(format!("{file}: OK\n")));
        let why = verifies(&env, ca, file, "haptic-webhook.other.svc").expect_err("another host");
        assert!(why.contains("hostname mismatch"), "{why}");
        verifies(&env, "keys/webhook-ca.crt", file, HOST).expect_err("another CA");
    }
    let front = verifies(
        &env,
        "trial/webhook-ca.crt",
        "trial/frontend.crt",
        "a.localdev.me",
    );
    assert!(front.is_ok(), "{front:?}");
}

/// A server of TLS that ends with the test.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(env: &TestEnv) -> Self {
        let mut command = env.command("openssl");
        command.args(["s_server", "-accept", "127.0.0.1:0", "-www"]);
        command.args([
            "-cert",
            "tls.crt",
            "-cert_chain",
            "tls.crt",
            "-key",
            "tls.key",
        ]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("openssl runs");
        let output = child.stdout.take().expect("a pipe");
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.strip_prefix("ACCEPT ")?.to_owned()));
        let address = address.expect("the server says where it listens");
        Self { child, address }
    }

    /// Shakes hands as the API server does: with the webhook's host name, trusting the CA in a file alone.
    fn shake_hands(&self, env: &TestEnv, ca: &str, host: &str) -> Result<String, String> {
        let trust = format!("-CAfile {ca} -no-CApath -no-CAstore -x509_strict");
        let verify = format!("-verify_return_error -verify_hostname {host} -servername {host}");
        openssl(
            env,
            &format!("s_client -connect {} {trust} {verify}", self.address),
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill().is_err();
        let _ = self.child.wait().is_err();
    }
}

/// The certificates that are taken (with an intermediate) and those that are made for a trial, each out of Git again.
#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn the_webhooks_certificate_is_trusted_by_the_ca_bundle_of_the_values() {
    for keys in ["trial", "chain"] {
        let Some(env) = world() else { return };
        env.expect(0, &["secrets", "trial-certificates", "trial"]);
        chain(&env);
        encrypted(&env, keys, &[]);
        let secret = &decrypted(&env, "out")["haptic-gitops-webhook"];
        for key in ["tls.crt", "tls.key"] {
            env.write(key, &secret[key]);
        }
        let values = documents(&env.read("out/apps/haptic/release/values.yaml")).remove(0);
        let bundle = at(&values, "/controller/webhook/caBundle");
        let bundle = STANDARD.decode(bundle).expect("base64");
        env.write("bundle.pem", &String::from_utf8(bundle).expect("PEM"));
        let server = Server::start(&env);
        let shaken = server.shake_hands(&env, "bundle.pem", HOST);
        let shaken = shaken.unwrap_or_else(|why| panic!("{keys}: {why}"));
        assert!(shaken.contains("Verification: OK"), "{keys}: {shaken}");
        assert!(
            shaken.contains(&format!("Verified peername: {HOST}")),
            "{keys}: {shaken}"
        );
        for (ca, host, says) in [
            ("bundle.pem", "haptic-webhook.other.svc", "ostname mismatch"),
            ("keys/webhook-ca.crt", HOST, "unable to get"),
        ] {
            let why = server.shake_hands(&env, ca, host).expect_err("not trusted");
            assert!(why.contains(says), "{keys}: {why}");
        }
    }
}
