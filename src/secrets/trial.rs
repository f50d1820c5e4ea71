//! Certificates for trials: a CA that lives for some days, and what it signs. Their names say that they are no good for production.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair as Key, KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

use super::SecretBytes;
use super::certificate::date;

/// The longest trial: what is to live longer comes from a CA.
pub const MOST_DAYS: u16 = 90;

/// In the names of all of them.
pub const MARK: &str = "haptic-scaffold trial, not for production";

/// A certificate with its key.
pub struct Issued {
    /// PEM.
    pub certificate: String,
    /// PEM.
    pub key: SecretBytes,
}

/// A CA and what it signed.
pub struct Trial {
    /// The CA.
    pub ca: Issued,
    /// What it signed, in the order of the hosts.
    pub leaves: Vec<Issued>,
}

/// Makes a CA and one certificate for each list of hosts, valid from a little before `now` (seconds since 1970) for some days.
///
/// # Errors
/// When a host's name can't stand in a certificate.
pub fn make(hosts: &[&[&str]], days: u16, now: i64) -> Result<Trial, rcgen::Error> {
    let start = OffsetDateTime::from_unix_timestamp(now).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let ca_key = Key::generate()?;
    let ca_pem = SecretBytes::from(ca_key.serialize_pem().into_bytes());
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    // Two trials have CAs of two names, so that messages tell them apart.
    name(&mut params, &format!("CA of {} ({MARK})", date(now)));
    time(&mut params, start, days);
    let ca = CertifiedIssuer::self_signed(params, ca_key)?;
    let mut leaves = Vec::new();
    for hosts in hosts {
        let key = Key::generate()?;
        let mut params = CertificateParams::new(
            hosts
                .iter()
                .map(|host| (*host).to_owned())
                .collect::<Vec<_>>(),
        )?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        name(&mut params, MARK);
        time(&mut params, start, days);
        leaves.push(Issued {
            certificate: params.signed_by(&key, &ca)?.pem(),
            key: SecretBytes::from(key.serialize_pem().into_bytes()),
        });
    }
    Ok(Trial {
        ca: Issued {
            certificate: ca.pem(),
            key: ca_pem,
        },
        leaves,
    })
}

fn name(params: &mut CertificateParams, text: &str) {
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, text);
}

/// Clocks differ a little, so it begins an hour early.
fn time(params: &mut CertificateParams, start: OffsetDateTime, days: u16) {
    params.not_before = start - Duration::hours(1);
    params.not_after = start + Duration::days(days.into());
}
