//! The manifests of Secrets: in clear for the encrypting program's input alone, and sealed as they stand in Git.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret as _;
use serde_json::Value;
use zeroize::Zeroizing;

use super::certificate::CertificateFacts;
use super::sealed::{SealingCertificate, SealingFault};
use super::{Material, SecretBytes};
use crate::haptic::gitops::NeededSecret;
use crate::yaml::scalar::quote;

/// Annotation: the digest of the certificate that is sealed in it.
const CERTIFICATE: &str = "haptic-scaffold/certificate";
/// Annotation: when that certificate ends.
const NOT_AFTER: &str = "haptic-scaffold/not-after";
/// Annotation: the digest of the CA that it was checked against.
const CA: &str = "haptic-scaffold/ca";

/// The Secret in clear: for the standard input of `sops`, and for nothing else.
///
/// The values are base64 under `data`: where something applies the encrypted file as it stands, the API server refuses it, while under `stringData` the
/// ciphertext would become the password.
pub fn clear(needed: &NeededSecret, namespace: &str, material: &Material) -> SecretBytes {
    let mut text = Zeroizing::new(head("v1", "Secret", needed, namespace, material));
    text.push_str(&format!("type: {}\ndata:\n", needed.kind));
    let encoded: Vec<(&str, Zeroizing<String>)> = material
        .values
        .iter()
        .map(|(key, value)| (*key, Zeroizing::new(STANDARD.encode(value.expose_secret()))))
        .collect();
    // Of the right size from the start: a vector that grows leaves copies behind.
    let size = encoded
        .iter()
        .map(|(key, value)| key.len() + value.len() + 8)
        .sum::<usize>();
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() + size));
    bytes.extend_from_slice(text.as_bytes());
    for (key, value) in &encoded {
        for part in ["  ", key, ": ", value, "\n"] {
            bytes.extend_from_slice(part.as_bytes());
        }
    }
    SecretBytes::from(bytes.to_vec())
}

/// The SealedSecret.
///
/// # Errors
/// When a value can't be encrypted.
pub fn sealed(
    needed: &NeededSecret,
    namespace: &str,
    material: &Material,
    certificate: &SealingCertificate,
) -> Result<String, SealingFault> {
    let mut text = format!(
        "# The Secret {}, which only the Sealed Secrets controller of its cluster can open: {}.\n# The name and the namespace are part of the sealing.\n",
        needed.name, needed.what
    );
    text.push_str(&head(
        "bitnami.com/v1alpha1",
        "SealedSecret",
        needed,
        namespace,
        material,
    ));
    text.push_str("spec:\n  encryptedData:\n");
    for (key, value) in &material.values {
        let sealed = certificate.seal(namespace, &needed.name, value)?;
        text.push_str(&format!("    {key}: {sealed}\n"));
    }
    text.push_str(&format!(
        "  template:\n    metadata:\n      name: {}\n      namespace: {}\n    type: {}\n",
        quote(&needed.name),
        quote(namespace),
        needed.kind
    ));
    Ok(text)
}

/// The lines that every one of them begins with. Names are DNS labels, which are safe as plain scalars but for a few that a quote keeps so.
fn head(
    version: &str,
    kind: &str,
    needed: &NeededSecret,
    namespace: &str,
    material: &Material,
) -> String {
    let mut text = format!(
        "apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: {}\n  namespace: {}\n",
        quote(&needed.name),
        quote(namespace)
    );
    if let Some(facts) = &material.facts {
        text.push_str("  annotations:\n");
        let ca = facts.ca.as_deref().map(|ca| (CA, ca));
        for (key, value) in [
            (CERTIFICATE, facts.fingerprint.as_str()),
            (NOT_AFTER, facts.not_after.as_str()),
        ]
        .into_iter()
        .chain(ca)
        {
            text.push_str(&format!("    {key}: \"{value}\"\n"));
        }
    }
    text
}

/// What a sealed or encrypted file says of itself, without being opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// `Secret` (by SOPS) or `SealedSecret`.
    pub kind: String,
    /// The Secret's name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its type.
    pub secret_type: String,
    /// Its keys.
    pub keys: Vec<String>,
    /// What is public of its certificate.
    pub facts: Option<CertificateFacts>,
    /// The public age keys that it is encrypted for (SOPS).
    pub recipients: Vec<String>,
    /// Whether a value stands in it that isn't encrypted.
    pub has_clear_value: bool,
}

/// A SealedSecret may carry values in clear beside the sealed ones.
fn has_template_value(value: &Value) -> bool {
    ["data", "stringData"].iter().any(|key| {
        let values = value.pointer(&format!("/spec/template/{key}"));
        values
            .and_then(Value::as_object)
            .is_some_and(|values| !values.is_empty())
    })
}

/// Reads a sealed or encrypted file; nothing where it is neither.
pub fn describe(text: &str) -> Option<Described> {
    let value: Value = serde_yaml::from_str(text).ok()?;
    let at = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    let kind = at("/kind")?.to_owned();
    let is_sealed = kind == "SealedSecret";
    if !is_sealed && (kind != "Secret" || value.get("sops").is_none()) {
        return None;
    }
    let data = value.pointer(if is_sealed {
        "/spec/encryptedData"
    } else {
        "/data"
    });
    let secret_type = at(if is_sealed {
        "/spec/template/type"
    } else {
        "/type"
    });
    let annotation = |key: &str| {
        let annotations = value.pointer("/metadata/annotations")?;
        annotations.get(key)?.as_str().map(str::to_owned)
    };
    let entries = data.and_then(Value::as_object);
    let is_clear =
        |value: &Value| !is_sealed && value.as_str().is_none_or(|v| !v.starts_with("ENC["));
    Some(Described {
        name: at("/metadata/name").unwrap_or_default().to_owned(),
        namespace: at("/metadata/namespace").unwrap_or_default().to_owned(),
        secret_type: secret_type.unwrap_or("Opaque").to_owned(),
        keys: entries
            .map(|data| data.keys().cloned().collect())
            .unwrap_or_default(),
        facts: annotation(CERTIFICATE).map(|fingerprint| CertificateFacts {
            fingerprint,
            not_after: annotation(NOT_AFTER).unwrap_or_default(),
            ca: annotation(CA),
        }),
        recipients: value
            .pointer("/sops/age")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|key| key.get("recipient")?.as_str().map(str::to_owned))
            .collect(),
        has_clear_value: has_template_value(&value)
            || entries.is_some_and(|data| data.values().any(is_clear))
            || value.get("stringData").is_some(),
        kind,
    })
}
