//! Secret values and what becomes of them: credentials, key pairs, and manifests that may stand in Git.
//!
//! Bytes in, bytes out: no file, no process, no network; the only effect is the system's random source. Values live in
//! [`secrecy::SecretSlice`], which is wiped when it goes and can't be printed.

pub mod certificate;
pub mod clear;
pub mod credentials;
mod fault;
pub mod manifest;
pub mod mask;
pub mod redact;
pub mod sealed;
pub mod trial;

/// A secret value: wiped when it goes, without `Display`.
pub type SecretBytes = secrecy::SecretSlice<u8>;

use crate::secrets::certificate::CertificateFacts;

/// The values of one Kubernetes Secret, and what is public of them.
pub struct Material {
    /// By key.
    pub values: Vec<(&'static str, SecretBytes)>,
    /// Of the certificate, where it has one.
    pub facts: Option<CertificateFacts>,
}

impl Material {
    /// The values that nobody may see: a user's name and certificates are no secrets.
    pub fn hidden(&self) -> impl Iterator<Item = &SecretBytes> {
        let is_hidden = |key: &str| matches!(key, "dataplane_password" | "tls.key");
        self.values
            .iter()
            .filter(move |(key, _)| is_hidden(key))
            .map(|(_, value)| value)
    }
}
