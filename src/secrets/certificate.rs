//! Certificates with their keys, as teams hand them over: checked so that a wrong one is found here and not by the API server at night.

use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls_pki_types::pem::{self, PemObject as _};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use secrecy::ExposeSecret as _;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use zeroize::Zeroize as _;

use super::SecretBytes;
pub use super::fault::{Fault, Part};

/// What is public of a certificate, so that it can stand beside the sealed Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFacts {
    /// `sha256:` and the digest of the certificate.
    pub fingerprint: String,
    /// When it ends, RFC 3339 in UTC.
    pub not_after: String,
    /// `sha256:` and the digest of the CA that it was checked against.
    pub ca: Option<String>,
}

/// A certificate with its key.
pub struct KeyPair {
    /// The certificate and its intermediates, PEM, the leaf first.
    pub chain: String,
    /// The key, PEM.
    pub key: SecretBytes,
    /// What is public of the certificate.
    pub facts: CertificateFacts,
}

/// What a certificate has to fulfil.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The host that it has to be for.
    pub host: Option<&'a str>,
    /// The CAs of which one has to have signed it, PEM.
    pub ca: Option<&'a str>,
    /// Seconds since 1970.
    pub now: i64,
}

/// Checks a certificate with its key.
///
/// # Errors
/// When something is wrong with them, the first fault that was found.
pub fn check(certificate: &[u8], key: &SecretBytes, wanted: &Wanted<'_>) -> Result<KeyPair, Fault> {
    let chain = read_chain(certificate)?;
    Ok(KeyPair {
        facts: check_chain(&chain, Some(key), wanted)?,
        chain: chain
            .iter()
            .map(|der| crate::model::pem::encode(der))
            .collect(),
        key: super::credentials::copy(key),
    })
}

/// Checks a certificate without its key.
///
/// # Errors
/// As [`check`].
pub fn check_public(certificate: &[u8], wanted: &Wanted<'_>) -> Result<CertificateFacts, Fault> {
    check_chain(&read_chain(certificate)?, None, wanted)
}

fn check_chain(
    chain: &[CertificateDer<'static>],
    key: Option<&SecretBytes>,
    wanted: &Wanted<'_>,
) -> Result<CertificateFacts, Fault> {
    let parsed = chain.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    check_times(&parsed, wanted.now)?;
    check_order(&parsed)?;
    if let Some(key) = key {
        check_key(&chain[0], &parsed[0], key)?;
    }
    if let Some(host) = wanted.host {
        check_host(&chain[0], &parsed[0], host)?;
    }
    let ca = wanted
        .ca
        .map(|ca| check_signed(chain, &parsed, ca, wanted.now))
        .transpose()?;
    Ok(CertificateFacts {
        fingerprint: fingerprint(&chain[0]),
        not_after: date(first_end(&parsed, ca.as_ref())),
        ca: ca.map(|(digest, _)| digest),
    })
}

/// When the first certificate of a chain ends, the CA that signed included: from then on nobody trusts the leaf.
fn first_end(chain: &[X509Certificate<'_>], ca: Option<&(String, i64)>) -> i64 {
    let ends = chain
        .iter()
        .map(|certificate| certificate.validity().not_after.timestamp());
    ends.chain(ca.map(|(_, end)| *end))
        .min()
        .unwrap_or_default()
}

/// Subject and end of each certificate of a PEM text.
pub fn ends(pem: &str) -> Vec<(String, i64)> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .flatten()
        .filter_map(|der| {
            let parsed = parse(&der).ok()?;
            let end = parsed.validity().not_after.timestamp();
            Some((parsed.subject().to_string(), end))
        })
        .collect()
}

/// The digest of a certificate, as it stands beside sealed Secrets.
pub fn fingerprint(der: &[u8]) -> String {
    format!("sha256:{:x}", Sha256::digest(der))
}

/// The certificates of a PEM text, and their digests.
pub fn fingerprints(pem: &str) -> Vec<String> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .flatten()
        .map(|der| fingerprint(&der))
        .collect()
}

/// Those certificates of a PEM text that have this digest, PEM.
pub fn of_fingerprint(pem: &str, wanted: &str) -> String {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .flatten()
        .filter(|der| fingerprint(der) == wanted)
        .map(|der| crate::model::pem::encode(&der))
        .collect()
}

/// The facts of the first certificate of a PEM text, where it can be read: of a live Secret, say.
pub fn facts_of(pem: &[u8]) -> Option<CertificateFacts> {
    let der = CertificateDer::pem_slice_iter(pem).next()?.ok()?;
    let (_, parsed) = x509_parser::parse_x509_certificate(&der).ok()?;
    Some(CertificateFacts {
        fingerprint: fingerprint(&der),
        not_after: date(parsed.validity().not_after.timestamp()),
        ca: None,
    })
}

/// Seconds since 1970 as RFC 3339 in UTC.
pub fn date(seconds: i64) -> String {
    OffsetDateTime::from_unix_timestamp(seconds)
        .ok()
        .and_then(|date| date.format(&Rfc3339).ok())
        .unwrap_or_else(|| format!("{seconds} s after 1970"))
}

/// RFC 3339 as seconds since 1970.
pub fn seconds(date: &str) -> Option<i64> {
    OffsetDateTime::parse(date, &Rfc3339)
        .ok()
        .map(OffsetDateTime::unix_timestamp)
}

/// Whether bytes look like a DER sequence (RFC 5280, section 4.1), and not like text.
pub fn is_der(content: &[u8]) -> bool {
    content.first() == Some(&0x30) && std::str::from_utf8(content).is_err()
}

fn read_chain(content: &[u8]) -> Result<Vec<CertificateDer<'static>>, Fault> {
    if find(content, b"PRIVATE KEY-----") {
        return Err(Fault::KeyInCertificate);
    }
    let chain = CertificateDer::pem_slice_iter(content)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|why| Fault::Broken(Part::Certificate, why.to_string()))?;
    if !chain.is_empty() {
        Ok(chain)
    } else if is_der(content) {
        Err(Fault::Der(Part::Certificate))
    } else {
        Err(Fault::Nothing(Part::Certificate))
    }
}

fn find(content: &[u8], part: &[u8]) -> bool {
    content.windows(part.len()).any(|at| at == part)
}

fn parse<'a>(der: &'a CertificateDer<'static>) -> Result<X509Certificate<'a>, Fault> {
    x509_parser::parse_x509_certificate(der)
        .map(|(_, parsed)| parsed)
        .map_err(|why| Fault::Broken(Part::Certificate, why.to_string()))
}

fn check_times(chain: &[X509Certificate<'_>], now: i64) -> Result<(), Fault> {
    for certificate in chain {
        let subject = certificate.subject().to_string();
        let validity = certificate.validity();
        if validity.not_after.timestamp() < now {
            return Err(Fault::Expired {
                subject,
                end: date(validity.not_after.timestamp()),
            });
        }
        if validity.not_before.timestamp() > now {
            return Err(Fault::NotYet {
                subject,
                start: date(validity.not_before.timestamp()),
            });
        }
    }
    Ok(())
}

/// The leaf comes first, then each certificate that signed the one before (RFC 8446, section 4.4.2).
fn check_order(chain: &[X509Certificate<'_>]) -> Result<(), Fault> {
    if chain[0].is_ca()
        && let Some(leaf) = chain.iter().find(|other| !other.is_ca())
    {
        return Err(Fault::Order {
            first: chain[0].subject().to_string(),
            leaf: leaf.subject().to_string(),
        });
    }
    for pair in chain.windows(2) {
        let has_signed = pair[0].issuer() == pair[1].subject()
            && pair[0].verify_signature(Some(pair[1].public_key())).is_ok();
        if !has_signed {
            return Err(Fault::Stray {
                subject: pair[1].subject().to_string(),
                after: pair[0].subject().to_string(),
            });
        }
    }
    Ok(())
}

fn check_key(
    leaf: &CertificateDer<'_>,
    parsed: &X509Certificate<'_>,
    key: &SecretBytes,
) -> Result<(), Fault> {
    let content = key.expose_secret();
    if find(content, b"BEGIN ENCRYPTED PRIVATE KEY") || find(content, b"Proc-Type: 4,ENCRYPTED") {
        return Err(Fault::EncryptedKey);
    }
    let mut private = PrivateKeyDer::from_pem_slice(content).map_err(|why| match why {
        pem::Error::NoItemsFound if is_der(content) => Fault::Der(Part::Key),
        pem::Error::NoItemsFound => Fault::Nothing(Part::Key),
        // What the library quotes is a part of the file, and so of the key.
        _ => Fault::Broken(Part::Key, "it is no private key in PEM".to_owned()),
    })?;
    let signing = any_supported_type(&private);
    private.zeroize();
    let signing = signing.map_err(|_| {
        Fault::Broken(
            Part::Key,
            "it is no RSA, ECDSA or Ed25519 key of a usual size".to_owned(),
        )
    })?;
    let public = signing.public_key().map(|spki| spki.as_ref().to_vec());
    let of_leaf = EndEntityCert::try_from(leaf)
        .map(|leaf| leaf.subject_public_key_info().as_ref().to_vec())
        .ok();
    if public.is_some() && public == of_leaf.or_else(|| Some(parsed.public_key().raw.to_vec())) {
        Ok(())
    } else {
        Err(Fault::WrongKey {
            subject: parsed.subject().to_string(),
        })
    }
}

fn check_host(
    leaf: &CertificateDer<'_>,
    parsed: &X509Certificate<'_>,
    host: &str,
) -> Result<(), Fault> {
    let names: Vec<String> = parsed
        .subject_alternative_name()
        .ok()
        .flatten()
        .map(|extension| &extension.value.general_names)
        .into_iter()
        .flatten()
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(format!("`{name}`")),
            _ => None,
        })
        .collect();
    let is_valid = ServerName::try_from(host).is_ok_and(|server| {
        EndEntityCert::try_from(leaf)
            .is_ok_and(|leaf| leaf.verify_is_valid_for_subject_name(&server).is_ok())
    });
    if is_valid {
        Ok(())
    } else {
        Err(Fault::Host {
            host: host.to_owned(),
            names,
        })
    }
}

/// Looks for the CA that signed: returns its digest and its end.
fn check_signed(
    chain: &[CertificateDer<'static>],
    parsed: &[X509Certificate<'_>],
    ca: &str,
    now: i64,
) -> Result<(String, i64), Fault> {
    let roots = CertificateDer::pem_slice_iter(ca.as_bytes())
        .flatten()
        .collect::<Vec<_>>();
    // A certificate that is its own CA vouches for itself.
    if let Some(root) = roots.iter().find(|root| **root == chain[0]) {
        return Ok(known(root));
    }
    let names: Vec<String> = roots
        .iter()
        .filter_map(|root| Some(parse(root).ok()?.subject().to_string()))
        .collect();
    let last = parsed.last().unwrap_or(&parsed[0]);
    let issuer = last.issuer().to_string();
    let is_root = roots.iter().any(|root| chain.last() == Some(root));
    if !is_root && !names.contains(&issuer) {
        return Err(Fault::NoIntermediate {
            subject: last.subject().to_string(),
            issuer,
        });
    }
    let leaf = EndEntityCert::try_from(&chain[0]).map_err(|why| Fault::Refused(in_words(&why)))?;
    let time = UnixTime::since_unix_epoch(core::time::Duration::from_secs(
        u64::try_from(now).unwrap_or_default(),
    ));
    let mut refused = None;
    for root in &roots {
        let Ok(anchor) = webpki::anchor_from_trusted_cert(root) else {
            continue;
        };
        let anchors = [anchor];
        let verified = leaf.verify_for_usage(
            webpki::ALL_VERIFICATION_ALGS,
            &anchors,
            &chain[1..],
            time,
            KeyUsage::server_auth(),
            None,
            None,
        );
        match verified {
            Ok(_) => return Ok(known(root)),
            Err(why) => refused = Some(why),
        }
    }
    let subject = last.subject().to_string();
    Err(match refused {
        None | Some(webpki::Error::UnknownIssuer | webpki::Error::InvalidSignatureForPublicKey) => {
            Fault::NotSigned { subject, issuer }
        }
        Some(why) => Fault::Refused(in_words(&why)),
    })
}

/// Digest and end of a CA.
fn known(root: &CertificateDer<'static>) -> (String, i64) {
    let end = parse(root).map_or(i64::MAX, |parsed| parsed.validity().not_after.timestamp());
    (fingerprint(root), end)
}

/// What the library says by the name of its error alone.
fn in_words(why: &webpki::Error) -> String {
    match why {
        webpki::Error::CaUsedAsEndEntity => "the certificate is itself a CA".to_owned(),
        webpki::Error::EndEntityUsedAsCa => "a certificate that is no CA signed another".to_owned(),
        webpki::Error::RequiredEkuNotFoundContext(_) => {
            "it may not be used for servers (extended key usage serverAuth is missing)".to_owned()
        }
        webpki::Error::PathLenConstraintViolated => {
            "the chain is longer than its CA permits".to_owned()
        }
        webpki::Error::NameConstraintViolation => "its CA may not sign for this host".to_owned(),
        other => {
            let text = other.to_string();
            text.split(['(', '{'])
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        }
    }
}
