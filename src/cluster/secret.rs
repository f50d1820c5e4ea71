//! [`LiveSecret`] and [`NewSecret`]: a Secret as it is in a cluster, and as it is to be.
//!
//! Owns the JSON of both. Values are decoded straight into memory that is wiped, and encoded into one buffer that is
//! wiped and never grows: a buffer that grows leaves its old bytes behind.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretSlice};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::{Value, json};
use zeroize::{Zeroize as _, Zeroizing};

/// kubectl keeps what was last applied there, with the values in it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Lets the controller of Sealed Secrets take over a Secret that it didn't make.
const SEALED_MANAGED: &str = "sealedsecrets.bitnami.com/managed";

/// A Secret that is in the cluster. Its `Debug` shows no value.
#[derive(Debug)]
pub struct LiveSecret {
    /// Its `type`, such as `kubernetes.io/tls`.
    pub kind: String,
    /// The names of its values.
    pub keys: BTreeSet<String>,
    /// Its values by name.
    pub values: BTreeMap<String, SecretSlice<u8>>,
    /// Its annotations, but for kubectl's copy of what was last applied, which repeats the values.
    pub annotations: BTreeMap<String, String>,
    /// The kind of its first owner, such as `SealedSecret` or `Certificate`.
    pub owner: Option<String>,
    /// Whether it is marked as one that a SealedSecret may take over.
    pub is_sealed_managed: bool,
}

impl LiveSecret {
    /// Reads the JSON of a Secret; nothing if it isn't one.
    pub(super) fn parse(json: &[u8]) -> Option<Self> {
        // The error's text may quote a value, so it ends here.
        let wire: Wire = serde_json::from_slice(json).ok()?;
        let mut annotations = wire.metadata.annotations.unwrap_or_default();
        if let Some(mut copy) = annotations.remove(LAST_APPLIED) {
            copy.zeroize();
        }
        let values: BTreeMap<_, _> = wire
            .data
            .unwrap_or_default()
            .into_iter()
            .map(|(key, value)| (key, value.0))
            .collect();
        Some(Self {
            kind: wire.kind,
            keys: values.keys().cloned().collect(),
            values,
            owner: wire
                .metadata
                .owners
                .unwrap_or_default()
                .into_iter()
                .next()
                .map(|owner| owner.kind),
            is_sealed_managed: annotations
                .get(SEALED_MANAGED)
                .is_some_and(|value| value == "true"),
            annotations,
        })
    }
}

/// A Secret that is to be created.
#[derive(Debug, Clone, Copy)]
pub struct NewSecret<'a> {
    /// The namespace that it goes to.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its `type`, such as `kubernetes.io/tls`.
    pub kind: &'a str,
    /// Its values by name; no name twice.
    pub values: &'a [(&'a str, &'a SecretSlice<u8>)],
    /// Its labels.
    pub labels: &'a [(&'a str, &'a str)],
}

impl NewSecret<'_> {
    /// Writes it as JSON.
    pub(super) fn body(&self) -> Zeroizing<Vec<u8>> {
        let labels: serde_json::Map<String, Value> = self
            .labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
            .collect();
        let mut head = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "namespace": self.namespace, "name": self.name, "labels": labels },
            "type": self.kind,
        })
        .to_string();
        head.pop();
        head.push_str(r#","data":{"#);
        let keys: Vec<String> = self
            .values
            .iter()
            .map(|(key, _)| Value::from(*key).to_string())
            .collect();
        // `,KEY:"VALUE"` for each, and `}}`.
        let sizes = keys
            .iter()
            .zip(self.values)
            .map(|(key, (_, value))| key.len() + 4 + value.expose_secret().len().div_ceil(3) * 4);
        let size = head.len() + sizes.sum::<usize>() + 2;

        let mut body = Zeroizing::new(Vec::with_capacity(size));
        body.extend_from_slice(head.as_bytes());
        for (index, (key, (_, value))) in keys.iter().zip(self.values).enumerate() {
            if index > 0 {
                body.push(b',');
            }
            body.extend_from_slice(key.as_bytes());
            body.extend_from_slice(b":\"");
            append_base64(&mut body, value.expose_secret());
            body.push(b'"');
        }
        body.extend_from_slice(b"}}");
        debug_assert!(body.len() <= size, "the buffer never grew");
        body
    }
}

/// Encodes in place: the ready-made ways to a string leave copies.
fn append_base64(body: &mut Vec<u8>, value: &[u8]) {
    let start = body.len();
    body.resize(start + value.len().div_ceil(3) * 4, 0);
    let written = STANDARD
        .encode_slice(value, &mut body[start..])
        .expect("the room was measured");
    body.truncate(start + written);
}

#[derive(serde::Deserialize)]
struct Wire {
    metadata: Metadata,
    #[serde(rename = "type", default)]
    kind: String,
    data: Option<BTreeMap<String, Decoded>>,
}

#[derive(serde::Deserialize)]
struct Metadata {
    annotations: Option<BTreeMap<String, String>>,
    #[serde(rename = "ownerReferences")]
    owners: Option<Vec<Owner>>,
}

#[derive(serde::Deserialize)]
struct Owner {
    kind: String,
}

/// A value, decoded from base64.
struct Decoded(SecretSlice<u8>);

impl<'de> Deserialize<'de> for Decoded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Base64)
    }
}

struct Base64;

impl Visitor<'_> for Base64 {
    type Value = Decoded;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("base64")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Decoded, E> {
        let mut room = Zeroizing::new(vec![0; base64::decoded_len_estimate(text.len())]);
        let length = STANDARD
            .decode_slice(text, &mut room)
            .map_err(|_| E::custom("no base64"))?;
        // A copy of the exact size: a box made from a longer vector may move, and leave its bytes behind.
        Ok(Decoded(SecretSlice::new(Box::from(&room[..length]))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let values: Vec<SecretSlice<u8>> = [b"".as_slice(), b"a", b"\x00\xff?>", b"four"]
            .into_iter()
            .map(|bytes| SecretSlice::from(bytes.to_vec()))
            .collect();
        let names = ["empty", "a\"quote", "bytes", "tls.key"];
        let pairs: Vec<(&str, &SecretSlice<u8>)> = names.into_iter().zip(&values).collect();
        let new = NewSecret {
            namespace: "haptic",
            name: "credentials",
            kind: "Opaque",
            values: &pairs,
            labels: &[("app", "haptic")],
        };
        let body = new.body();
        let live = LiveSecret::parse(&body).expect("a Secret");
        assert_eq!(live.kind, "Opaque");
        assert_eq!(live.keys, names.map(str::to_owned).into());
        for (name, value) in &pairs {
            assert_eq!(live.values[*name].expose_secret(), value.expose_secret());
        }
        let json: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(json["metadata"]["labels"], json!({ "app": "haptic" }));
        assert!(!format!("{live:?}{new:?}").contains("four"));
    }

    #[test]
    fn kubectls_copy_of_the_values_is_left_out() {
        let json = json!({
            "metadata": {
                "annotations": { LAST_APPLIED: "aGlkZGVu", SEALED_MANAGED: "true", "note": "kept" },
                "ownerReferences": [{ "kind": "SealedSecret" }, { "kind": "Other" }],
            },
            "type": "Opaque",
            "data": null,
        });
        let live = LiveSecret::parse(json.to_string().as_bytes()).expect("a Secret");
        assert!(!format!("{live:?}").contains("aGlkZGVu"));
        assert_eq!(live.annotations["note"], "kept");
        assert_eq!(live.owner.as_deref(), Some("SealedSecret"));
        assert!(live.is_sealed_managed && live.keys.is_empty());
    }

    #[test]
    fn what_is_no_secret_is_none() {
        for json in [
            r#"{"data":{"a":"b"}}"#,
            r#"{"metadata":{},"data":{"a":"!"}}"#,
            "",
        ] {
            assert!(LiveSecret::parse(json.as_bytes()).is_none(), "{json}");
        }
    }
}
