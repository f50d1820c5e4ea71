//! Sealed Secrets: values encrypted for the controller of one cluster.
//!
//! The format is that of bitnami-labs/sealed-secrets, `pkg/crypto/crypto.go`: the length of the encrypted session key in two bytes (big endian), the session key by
//! RSA-OAEP (SHA-256) with the label, the value by AES-256-GCM with that key and a nonce of zeros: no session key is used twice.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::rsa::{OAEP_SHA256_MGF1SHA256, OaepPublicEncryptingKey, PublicEncryptingKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use secrecy::ExposeSecret as _;
use thiserror::Error;
use zeroize::Zeroizing;

use super::SecretBytes;
use super::certificate::{date, is_der};

/// Why a certificate can't be sealed for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SealingFault {
    /// It isn't PEM.
    #[error("there is no certificate in it: a PEM file has a line `-----BEGIN CERTIFICATE-----`")]
    NoCertificate,
    /// It is DER.
    #[error("it is DER, not PEM")]
    Der,
    /// It has a private key.
    #[error("there is a private key in it, and who has it can read everything that is sealed")]
    PrivateKey,
    /// It can't be read.
    #[error("the certificate in it can't be read: {0}")]
    Broken(String),
    /// It isn't an RSA key.
    #[error("its key is no RSA key of 2048 bits or more, which Sealed Secrets needs")]
    NoRsa,
    /// Its time is over.
    #[error("it expired on {0}, so the controller has a newer one")]
    Expired(String),
    /// The encryption failed.
    #[error("the value can't be encrypted with it")]
    Failed,
}

/// The certificate of a cluster's sealing controller.
pub struct SealingCertificate {
    key: OaepPublicEncryptingKey,
}

impl SealingCertificate {
    /// Reads a PEM text. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// When it is no certificate, has no RSA key, or has expired: the controller keeps old keys, but a certificate that old was not fetched from it.
    pub fn parse(content: &[u8], now: i64) -> Result<Self, SealingFault> {
        let text = String::from_utf8_lossy(content);
        if text.contains("PRIVATE KEY-----") {
            return Err(SealingFault::PrivateKey);
        }
        let none = || {
            if is_der(content) {
                SealingFault::Der
            } else {
                SealingFault::NoCertificate
            }
        };
        let der = CertificateDer::pem_slice_iter(text.as_bytes())
            .next()
            .ok_or_else(none)?
            .map_err(|why| SealingFault::Broken(why.to_string()))?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&der)
            .map_err(|why| SealingFault::Broken(why.to_string()))?;
        let end = parsed.validity().not_after.timestamp();
        if end < now {
            return Err(SealingFault::Expired(date(end)));
        }
        let key = PublicEncryptingKey::from_der(parsed.public_key().raw)
            .map_err(|_| SealingFault::NoRsa)?;
        let key = OaepPublicEncryptingKey::new(key).map_err(|_| SealingFault::NoRsa)?;
        Ok(Self { key })
    }

    /// Encrypts a value for one Secret (the scope `strict`): under another name or in another namespace nothing opens it.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn seal(
        &self,
        namespace: &str,
        name: &str,
        value: &SecretBytes,
    ) -> Result<String, SealingFault> {
        let label = format!("{namespace}/{name}");
        let mut session = Zeroizing::new([0_u8; 32]);
        aws_lc_rs::rand::fill(session.as_mut_slice()).map_err(|_| SealingFault::Failed)?;
        let mut wrapped = vec![0_u8; self.key.ciphertext_size()];
        let wrapped = self
            .key
            .encrypt(
                &OAEP_SHA256_MGF1SHA256,
                session.as_slice(),
                &mut wrapped,
                Some(label.as_bytes()),
            )
            .map_err(|_| SealingFault::Failed)?;
        let key = UnboundKey::new(&AES_256_GCM, session.as_slice())
            .map(LessSafeKey::new)
            .map_err(|_| SealingFault::Failed)?;
        let mut text = Zeroizing::new(value.expose_secret().to_vec());
        // The tag is kept apart: growing the vector would leave a copy of the value behind.
        let tag = key
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key([0; NONCE_LEN]),
                Aad::empty(),
                text.as_mut_slice(),
            )
            .map_err(|_| SealingFault::Failed)?;
        let length = u16::try_from(wrapped.len()).map_err(|_| SealingFault::Failed)?;
        let sealed = [
            &length.to_be_bytes()[..],
            wrapped,
            text.as_slice(),
            tag.as_ref(),
        ]
        .concat();
        Ok(STANDARD.encode(sealed))
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer as _;
    use aws_lc_rs::rsa::{KeySize, OaepPrivateDecryptingKey, PrivateDecryptingKey};

    use super::*;

    /// A controller's key and certificate.
    fn controller(days: i64) -> (OaepPrivateDecryptingKey, String) {
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).expect("a key");
        let pkcs8: aws_lc_rs::encoding::Pkcs8V1Der<'_> = key.as_der().expect("DER");
        let pkcs8 = rustls_pki_types::PrivatePkcs8KeyDer::from(pkcs8.as_ref().to_vec());
        let pair = rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8, &rcgen::PKCS_RSA_SHA256)
            .expect("a pair");
        let mut params = rcgen::CertificateParams::default();
        let start = time::OffsetDateTime::UNIX_EPOCH;
        params.not_before = start;
        params.not_after = start + time::Duration::days(days);
        let certificate = params.self_signed(&pair).expect("a certificate").pem();
        let key = OaepPrivateDecryptingKey::new(key).expect("OAEP");
        (key, certificate)
    }

    fn open(key: &OaepPrivateDecryptingKey, sealed: &str, label: &str) -> Option<Vec<u8>> {
        let sealed = STANDARD.decode(sealed).expect("base64");
        let length = usize::from(u16::from_be_bytes([sealed[0], sealed[1]]));
        let (wrapped, text) = sealed[2..].split_at(length);
        let mut session = vec![0; key.min_output_size()];
        let session = key
            .decrypt(
                &OAEP_SHA256_MGF1SHA256,
                wrapped,
                &mut session,
                Some(label.as_bytes()),
            )
            .ok()?;
        let cipher = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, session).expect("a key"));
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key([0; NONCE_LEN]);
        cipher
            .open_in_place(nonce, Aad::empty(), &mut text)
            .ok()
            .map(|clear| clear.to_vec())
    }

    #[test]
    fn what_is_sealed_opens_under_its_name_alone() {
        let (key, certificate) = controller(365);
        let certificate = SealingCertificate::parse(certificate.as_bytes(), 0).expect("good");
        let value = SecretBytes::from(b"a value\n".to_vec());
        let [one, other] = [(); 2].map(|()| certificate.seal("ns", "a", &value).expect("seals"));
        assert_ne!(one, other);
        assert_eq!(open(&key, &one, "ns/a").as_deref(), Some(&b"a value\n"[..]));
        assert_eq!(open(&key, &one, "ns/b"), None);
    }

    #[test]
    fn what_can_not_be_sealed_for_is_named() {
        let (_, expired) = controller(1);
        let ec = rcgen::generate_simple_self_signed(vec!["a".into()]).expect("a certificate");
        for (content, fault) in [
            (
                expired.as_bytes(),
                SealingFault::Expired("1970-01-02T00:00:00Z".into()),
            ),
            (ec.cert.pem().as_bytes(), SealingFault::NoRsa),
            (
                ec.signing_key.serialize_pem().as_bytes(),
                SealingFault::PrivateKey,
            ),
            (ec.cert.der().as_ref(), SealingFault::Der),
            (b"", SealingFault::NoCertificate),
        ] {
            assert_eq!(
                SealingCertificate::parse(content, 1_000_000).err(),
                Some(fault)
            );
        }
    }
}
