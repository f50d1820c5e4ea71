//! Certificates of the webhook as teams hand them over: good ones are taken, and each fault is told with its file, its reason and the next step.

use rcgen::KeyPair;

use crate::bad_secrets::{assert_told, ending};
use crate::env::{Run, TestEnv};
use crate::pki::{self, GOOD, Shape, WEBHOOK};
use crate::secret_repo::{EXTERNAL, SEALED, prepared};

/// `init` with sealed Secrets and certificates of the folder `keys`.
fn sealing(env: &TestEnv, code: i32) -> Run {
    ending(env, code, &[&SEALED, &EXTERNAL])
}

/// `init` refuses the webhook's certificate as the folder `keys` has it after `spoil`.
fn refused(spoil: impl FnOnce(&TestEnv, &pki::Authority), words: &[&str]) {
    let env = prepared();
    let ca = pki::ca("test CA");
    pki::folder(&env, "keys", &ca);
    spoil(&env, &ca);
    assert_told(&sealing(&env, 3), words);
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    refused(
        |env, ca| {
            pki::put(
                env,
                "keys/webhook",
                &ca.leaf(&GOOD).pem,
                &ca.leaf(&GOOD).key_pem(),
            );
        },
        &[
            "keys/webhook.key`",
            "is not the key of the certificate of `CN=haptic-webhook",
            "request",
        ],
    );
}

#[test]
fn a_certificate_is_refused_outside_of_its_time() {
    let cases = [
        (
            -9,
            -2,
            &["keys/webhook.crt`", "expired on 20", "renewed by the CA"],
        ),
        (
            2,
            9,
            &[
                "keys/webhook.crt`",
                "is not valid before 20",
                "look at the clock",
            ],
        ),
    ];
    for (from_day, to_day, words) in cases {
        let shape = Shape {
            from_day,
            to_day,
            ..GOOD
        };
        refused(|env, ca| ca.leaf(&shape).put(env, "keys", "webhook"), words);
    }
}

#[test]
fn a_missing_intermediate_is_named() {
    refused(
        |env, ca| {
            ca.intermediate("the one between")
                .leaf(&GOOD)
                .put(env, "keys", "webhook");
        },
        &[
            "keys/webhook.crt`",
            "signed by `CN=the one between`, which is neither in the file nor the CA",
            "append the certificate of `CN=the one between`",
        ],
    );
}

#[test]
fn certificates_in_the_wrong_order_are_refused() {
    let chain = |env: &TestEnv, ca: &pki::Authority, order: [usize; 2]| {
        let between = ca.intermediate("the one between");
        let leaf = between.leaf(&GOOD);
        let parts = [leaf.pem.clone(), between.pem()];
        pki::put(
            env,
            "keys/webhook",
            &(parts[order[0]].clone() + &parts[order[1]]),
            &leaf.key_pem(),
        );
    };
    refused(
        |env, ca| chain(env, ca, [1, 0]),
        &[
            "keys/webhook.crt`",
            "that of the CA `CN=the one between`",
            "the leaf comes first",
        ],
    );
    refused(
        |env, ca| {
            let leaf = ca.leaf(&GOOD);
            let stray = leaf.pem.clone() + &pki::ca("a stranger").pem();
            pki::put(env, "keys/webhook", &stray, &leaf.key_pem());
        },
        &[
            "keys/webhook.crt`",
            "`CN=a stranger` stands after that of `CN=haptic-webhook",
            "did not sign it",
        ],
    );
}

#[test]
fn a_certificate_for_other_hosts_is_refused_with_those_that_it_has() {
    let other = Shape {
        hosts: &["haptic.example.org", "*.example.org"],
        ..GOOD
    };
    refused(
        |env, ca| ca.leaf(&other).put(env, "keys", "webhook"),
        &[
            "keys/webhook.crt`",
            "is for `haptic.example.org`, `*.example.org`, and it has to be for the host `haptic-webhook.haptic.svc`",
            "subjectAltName=DNS:haptic-webhook.haptic.svc",
        ],
    );
    let none = Shape { hosts: &[], ..GOOD };
    refused(
        |env, ca| ca.leaf(&none).put(env, "keys", "webhook"),
        &[
            "keys/webhook.crt`",
            "has no subjectAltName",
            "subjectAltName=DNS:haptic-webhook.haptic.svc",
        ],
    );
}

#[test]
fn wildcards_count_as_tls_clients_count_them() {
    let env = prepared();
    let ca = pki::ca("test CA");
    pki::folder(&env, "keys", &ca);
    let fits = Shape {
        hosts: &["*.haptic.svc"],
        ..GOOD
    };
    ca.leaf(&fits).put(&env, "keys", "webhook");
    sealing(&env, 0);
    // One star stands for one label.
    let wide = Shape {
        hosts: &["*.svc"],
        ..GOOD
    };
    refused(
        |env, ca| ca.leaf(&wide).put(env, "keys", "webhook"),
        &["is for `*.svc`"],
    );
}

#[test]
fn a_ca_of_the_same_name_that_did_not_sign_is_refused() {
    refused(
        |env, _| pki::ca("test CA").leaf(&GOOD).put(env, "keys", "webhook"),
        &[
            "keys/webhook.crt`",
            "`CN=test CA` has the name of the one that signed",
            "its key did not sign it",
            "--webhook-ca FILE",
        ],
    );
}

#[test]
fn a_ca_is_no_leaf_of_another_ca() {
    let shape = Shape {
        is_ca: true,
        ..GOOD
    };
    refused(
        |env, ca| ca.leaf(&shape).put(env, "keys", "webhook"),
        &[
            "keys/webhook.crt`",
            "the chain up to the CA is refused",
            "openssl x509",
        ],
    );
}

#[test]
fn keys_that_nobody_can_use_are_refused() {
    let broken = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0IHdvcmRz\n-----END PRIVATE KEY-----\n";
    let cases = [
        (
            pki::ENCRYPTED_KEY,
            "encrypted by a passphrase",
            "openssl pkey -in",
        ),
        ("", "there is no private key in it", "openssl asn1parse"),
        (broken, "no RSA, ECDSA or Ed25519 key", "openssl asn1parse"),
        (
            "-----BEGIN PRIVATE KEY-----\n!secret words!\n-----END PRIVATE KEY-----\n",
            "no private key in PEM",
            "openssl asn1parse",
        ),
    ];
    for (key, why, next) in cases {
        refused(
            |env, ca| pki::put(env, "keys/webhook", &ca.leaf(&GOOD).pem, key),
            &["keys/webhook.key`", why, next],
        );
    }
    let env = prepared();
    env.write("keys/webhook.key", broken)
        .mode("keys/webhook.key", 0o600);
    let told = sealing(&env, 3).stderr;
    assert!(
        !told.contains("c2Vj") && !told.contains("secret words"),
        "{told}"
    );
}

#[test]
fn der_is_refused_with_the_line_that_makes_pem_of_it() {
    let bytes = |env: &TestEnv, file: &str, der: &[u8]| {
        std::fs::write(env.path(file), der).expect("writes");
    };
    refused(
        |env, ca| bytes(env, "keys/webhook.crt", &ca.leaf(&GOOD).der),
        &[
            "keys/webhook.crt`",
            "DER, not PEM",
            "openssl x509 -inform der -in",
        ],
    );
    refused(
        |env, ca| {
            let leaf = ca.leaf(&GOOD);
            leaf.put(env, "keys", "webhook");
            bytes(env, "keys/webhook.key", leaf.key.serialized_der());
        },
        &[
            "keys/webhook.key`",
            "DER, not PEM",
            "openssl pkey -inform der -in",
        ],
    );
    refused(
        |env, ca| bytes(env, "keys/webhook-ca.crt", ca.der()),
        &[
            "keys/webhook-ca.crt`",
            "there is no certificate in it",
            "openssl x509 -inform der -in",
        ],
    );
}

#[test]
fn a_key_among_the_certificates_is_refused() {
    refused(
        |env, ca| {
            let leaf = ca.leaf(&GOOD);
            pki::put(
                env,
                "keys/webhook",
                &(leaf.key_pem() + &leaf.pem),
                &leaf.key_pem(),
            );
        },
        &[
            "keys/webhook.crt`",
            "a private key in it",
            "a file of its own",
        ],
    );
}

#[test]
fn good_certificates_of_every_make_are_taken() {
    use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256};
    let key = |kind| KeyPair::generate_for(kind).expect("a key");
    let env = prepared();
    let ca = pki::ca("test CA");
    env.write("keys/webhook-ca.crt", &ca.pem());
    let taken = |certificate: &str, key: &str| {
        pki::put(&env, "keys/webhook", certificate, key);
        let _ = std::fs::remove_dir_all(env.path("out")).is_err();
        sealing(&env, 0);
    };
    for kind in [
        &PKCS_RSA_SHA256,
        &PKCS_ECDSA_P256_SHA256,
        &PKCS_ECDSA_P384_SHA384,
        &PKCS_ED25519,
    ] {
        let leaf = ca.leaf_with(&GOOD, key(kind));
        taken(&leaf.pem, &leaf.key_pem());
    }
    // PKCS#8 has the older forms in its last field (RFC 5958, section 2).
    for (kind, label) in [
        (&PKCS_RSA_SHA256, "RSA PRIVATE KEY"),
        (&PKCS_ECDSA_P256_SHA256, "EC PRIVATE KEY"),
        (&PKCS_ECDSA_P384_SHA384, "EC PRIVATE KEY"),
    ] {
        let leaf = ca.leaf_with(&GOOD, key(kind));
        taken(
            &leaf.pem,
            &pki::armored(label, older_form(leaf.key.serialized_der())),
        );
    }
    let between = ca.intermediate("the one between");
    let leaf = between.leaf(&GOOD);
    taken(&leaf.chain(&[&between]), &leaf.key_pem());
    taken(&leaf.chain(&[&between, &ca]), &leaf.key_pem());
}

#[test]
fn a_certificate_may_be_its_own_ca() {
    for is_ca in [true, false] {
        let env = prepared();
        let own = pki::self_signed(&Shape { is_ca, ..GOOD });
        own.put(&env, "keys", "webhook");
        env.write("keys/webhook-ca.crt", &own.pem);
        sealing(&env, 0);
    }
}

#[test]
fn a_certificate_of_the_front_may_be_for_any_host() {
    let env = prepared();
    let other = Shape {
        hosts: &["else.example.org", WEBHOOK],
        ..GOOD
    };
    pki::self_signed(&other).put(&env, "keys", "frontend");
    sealing(&env, 0);
}

/// The content of the octet string in a PKCS#8 key.
fn older_form(pkcs8: &[u8]) -> &[u8] {
    let (_, whole, _) = element(pkcs8);
    let (_, _, after_version) = element(whole);
    let (_, _, after_algorithm) = element(after_version);
    let (tag, key, _) = element(after_algorithm);
    assert_eq!(tag, 4, "an octet string");
    key
}

/// The tag and content of a DER element, and what comes after it.
fn element(der: &[u8]) -> (u8, &[u8], &[u8]) {
    let (tag, first) = (der[0], usize::from(der[1]));
    let (start, length) = if first < 0x80 {
        (2, first)
    } else {
        let end = 2 + (first & 0x7f);
        let length = der[2..end]
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        (end, length)
    };
    (tag, &der[start..start + length], &der[start + length..])
}
