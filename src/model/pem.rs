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
        certificates.push_str(&block(&STANDARD.encode(&der)));
    }
    if certificates.is_empty() {
        Err(PemError::NoCertificate)
    } else {
        Ok(certificates)
    }
}

fn block(base64: &str) -> String {
    let mut block = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let mut rest = base64;
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
