//! Certificates of a test's own: CAs, and what they sign.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

use crate::env::TestEnv;

/// The host of the webhook of the release `haptic` in the namespace `haptic`.
pub const WEBHOOK: &str = "haptic-webhook.haptic.svc";

/// A key by the passphrase `test`; nothing was ever signed with it.
pub const ENCRYPTED_KEY: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhLJ0R1P+z/JAICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEECgcfOiwmPobGUaib+1qCRAEgZD0
Un3Z8DpcPdz/p2T5TcNSgZjJ7aRCsmvpl7KtpTO/8RUl35EfMyaE7Cfgj2tu9s/e
lDEax6xwOSCbbMCFZwp7e4MwihBwG9KfZvfzaWVKAVb+gJP2LMwy07jpiOgBqW7O
9er913RaxOAcZvtu+Em0U142nZLnXBVQCvnU9ckMdywhwAJ2nDkd7GozBP+fAJ8=
-----END ENCRYPTED PRIVATE KEY-----
";

/// A CA, or one that another CA has signed.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key.
pub struct Leaf {
    pub pem: String,
    pub der: Vec<u8>,
    pub key: KeyPair,
}

/// What a certificate says; days are counted from now.
pub struct Shape<'a> {
    pub hosts: &'a [&'a str],
    pub from_day: i64,
    pub to_day: i64,
    pub is_ca: bool,
}

/// A good certificate of the webhook.
pub const GOOD: Shape<'_> = Shape {
    hosts: &[WEBHOOK],
    from_day: -1,
    to_day: 300,
    is_ca: false,
};

pub fn ca(name: &str) -> Authority {
    let key = KeyPair::generate().expect("a key");
    Authority(CertifiedIssuer::self_signed(ca_params(name), key).expect("a CA"))
}

impl Authority {
    /// Another one, signed by this.
    pub fn intermediate(&self, name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::signed_by(ca_params(name), key, &self.0).expect("signs"))
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    pub fn der(&self) -> &[u8] {
        self.0.der()
    }

    pub fn leaf(&self, shape: &Shape<'_>) -> Leaf {
        self.leaf_with(shape, KeyPair::generate().expect("a key"))
    }

    /// A certificate for a key of some kind.
    pub fn leaf_with(&self, shape: &Shape<'_>, key: KeyPair) -> Leaf {
        let made = params(shape).signed_by(&key, &self.0).expect("signs");
        Leaf {
            pem: made.pem(),
            der: made.der().to_vec(),
            key,
        }
    }
}

/// A certificate that nobody else has signed.
pub fn self_signed(shape: &Shape<'_>) -> Leaf {
    self_signed_with(shape, KeyPair::generate().expect("a key"))
}

/// One for a key of some kind.
pub fn self_signed_with(shape: &Shape<'_>, key: KeyPair) -> Leaf {
    let made = params(shape).self_signed(&key).expect("signs");
    Leaf {
        pem: made.pem(),
        der: made.der().to_vec(),
        key,
    }
}

impl Leaf {
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// The chain up to, and without, the CA.
    pub fn chain(&self, between: &[&Authority]) -> String {
        let more = between.iter().map(|authority| authority.pem());
        std::iter::once(self.pem.clone()).chain(more).collect()
    }

    /// Puts it into a folder under the names that `--secret-files` looks for.
    pub fn put(&self, env: &TestEnv, folder: &str, name: &str) {
        put(env, &format!("{folder}/{name}"), &self.pem, &self.key_pem());
    }
}

/// Writes `PLACE.crt` and `PLACE.key`.
pub fn put(env: &TestEnv, place: &str, certificate: &str, key: &str) {
    let file = format!("{place}.key");
    env.write(&format!("{place}.crt"), certificate)
        .write(&file, key)
        .mode(&file, 0o600);
}

/// Makes a folder with a CA, and certificates of the webhook and the front by it.
pub fn folder(env: &TestEnv, folder: &str, ca: &Authority) {
    env.write(&format!("{folder}/webhook-ca.crt"), &ca.pem());
    ca.leaf(&GOOD).put(env, folder, "webhook");
    let front = Shape {
        hosts: &["www.example.org"],
        ..GOOD
    };
    ca.leaf(&front).put(env, folder, "frontend");
}

/// DER in PEM, under a label.
pub fn armored(label: &str, der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> = (0..text.len())
        .step_by(64)
        .map(|at| &text[at..text.len().min(at + 64)])
        .collect();
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        lines.join("\n")
    )
}

fn params(shape: &Shape<'_>) -> CertificateParams {
    let hosts: Vec<String> = shape.hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("hosts");
    params.distinguished_name = named(shape.hosts.first().unwrap_or(&"nobody"));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    if shape.is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    params.not_before = day(shape.from_day);
    params.not_after = day(shape.to_day);
    params
}

fn ca_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.distinguished_name = named(name);
    params.not_before = day(-30);
    params.not_after = day(3000);
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn day(days: i64) -> OffsetDateTime {
    OffsetDateTime::now_utc() + Duration::days(days)
}
