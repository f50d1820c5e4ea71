//! Certificates in PEM, as people hand them over: checked, and written in one form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use thiserror::Error;

/// Why a text isn't certificates in PEM.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PemError {
    /// There is a private key in it.
    #[error("there is a private key in it, which must never stand in Git")]
    PrivateKey,
    /// There is no certificate in it.
    #[error("there is no certificate in it: a PEM file has a line `-----BEGIN CERTIFICATE-----`")]
    NoCertificate,
    /// A block can't be read.
    #[error("a certificate in it can't be read: {0}")]
    Broken(String),
}

/// What makes a certificate unfit to be the CA of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CaFault {
    /// It can't be read as X.509.
    #[error("it is no X.509 certificate: {0}")]
    Unreadable(String),
    /// Its time is over.
    #[error("the certificate of `{subject}` expired on {end}")]
    Expired {
        /// Whose it is.
        subject: String,
        /// When it ended.
        end: String,
    },
    /// It may not sign others (RFC 5280, section 4.2.1.9).
    #[error("the certificate of `{subject}` is no CA (basicConstraints CA:FALSE, or none)")]
    NoCa {
        /// Whose it is.
        subject: String,
    },
}

/// Looks at the certificates of a PEM text as those of a CA. `now` is in seconds since 1970.
pub fn ca_faults(text: &str, now: i64) -> Vec<CaFault> {
    let mut faults = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()).flatten() {
        let parsed = match x509_parser::parse_x509_certificate(&certificate) {
            Ok((_, parsed)) => parsed,
            Err(why) => {
                faults.push(CaFault::Unreadable(why.to_string()));
                continue;
            }
        };
        let subject = parsed.subject().to_string();
        let end = parsed.validity().not_after;
        if end.timestamp() < now {
            faults.push(CaFault::Expired {
                subject: subject.clone(),
                end: end.to_string(),
            });
        }
        if !parsed.is_ca() {
            faults.push(CaFault::NoCa { subject });
        }
    }
    faults
}

/// Returns the certificates of a PEM text and nothing else of it: no comments, no bag attributes, lines of 64 characters.
///
/// # Errors
/// When a private key is in it, no certificate is, or a block can't be decoded.
pub fn certificates(text: &str) -> Result<String, PemError> {
    if text.contains("PRIVATE KEY-----") {
        return Err(PemError::PrivateKey);
    }
    let mut certificates = String::new();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        let der = certificate.map_err(|why| PemError::Broken(why.to_string()))?;
        // A certificate is a DER sequence (RFC 5280, section 4.1).
        if der.first() != Some(&0x30) {
            return Err(PemError::Broken("it is no DER sequence".to_owned()));
        }
        certificates.push_str(&encode(&der));
    }
    if certificates.is_empty() {
        Err(PemError::NoCertificate)
    } else {
        Ok(certificates)
    }
}

/// A PEM text as a webhook configuration has it in `caBundle`: base64 once more.
pub fn bundle(pem: &str) -> String {
    STANDARD.encode(pem)
}

/// A certificate as PEM, in lines of 64 characters.
pub fn encode(der: &[u8]) -> String {
    let base64 = STANDARD.encode(der);
    let mut block = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let mut rest = base64.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        block.push_str(line);
        block.push('\n');
        rest = more;
    }
    block.push_str("-----END CERTIFICATE-----\n");
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_is_judged_by_its_time_and_its_right_to_sign() {
        let ca = include_str!("../../tests/golden/webhook-ca.pem");
        assert_eq!(ca_faults(ca, 1_800_000_000), []);
        assert!(matches!(
            ca_faults(ca, 4_000_000_000)[..],
            [CaFault::Expired { .. }]
        ));
        let no_certificate =
            certificates("-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n")
                .expect("PEM");
        assert!(matches!(
            ca_faults(&no_certificate, 0)[..],
            [CaFault::Unreadable(_)]
        ));
    }

    #[test]
    fn certificates_come_out_in_one_form() {
        let wanted = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n";
        let given = format!(
            "Bag Attributes\r\n  friendlyName: ca\r\n{}",
            wanted.replace('\n', "\r\n")
        );
        assert_eq!(certificates(&given).expect("good"), wanted);
    }

    #[test]
    fn keys_other_files_and_broken_blocks_are_refused() {
        assert_eq!(
            certificates("-----BEGIN PRIVATE KEY-----\nMAMCAQE=\n-----END PRIVATE KEY-----\n"),
            Err(PemError::PrivateKey)
        );
        assert_eq!(certificates("\u{30}\u{3}"), Err(PemError::NoCertificate));
        assert!(matches!(
            certificates("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n"),
            Err(PemError::Broken(_))
        ));
    }
}
