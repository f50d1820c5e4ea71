//! Manifests of OCI images that are Helm charts.
//!
//! Owns their reading and the comparison of bytes with digests. Pure. Media types and the place of
//! the chart are from helm.sh/docs/topics/registries; the form is that of the OCI image
//! specification. Start from [`Manifest::read`].

use std::collections::BTreeMap;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// What is accepted as a manifest: registries answer 404 to those who name no type that they have.
pub(super) const TYPES: &str = "application/vnd.oci.image.manifest.v1+json, \
    application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, \
    application/vnd.docker.distribution.manifest.list.v2+json";
/// The type of a chart's configuration, which tells a chart from an image.
pub(super) const CHART_CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
/// The types of a chart's archive, the newer one first.
const CHART_LAYERS: [&str; 2] = [
    "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
    "application/tar+gzip",
];
const CREATED: &str = "org.opencontainers.image.created";

/// A manifest or an index of manifests.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Manifest {
    pub(super) config: Option<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default)]
    pub(super) manifests: Vec<Descriptor>,
    annotations: Option<BTreeMap<String, String>>,
}

/// What a manifest says about another piece.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    media_type: String,
    pub(super) digest: String,
    /// In bytes.
    size: u64,
    artifact_type: Option<String>,
    pub(super) annotations: Option<BTreeMap<String, String>>,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// A reason when it is none, or names a digest in another form than `sha256:` and 64 digits:
    /// a digest becomes a part of an address and of a file's name.
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        let manifest: Self = serde_json::from_slice(body)
            .map_err(|error| format!("it is no manifest of an image: {error}"))?;
        let all = manifest.layers.iter().chain(&manifest.manifests);
        for piece in all.chain(&manifest.config) {
            if !is_digest(&piece.digest) {
                return Err("it names a piece by another digest than `sha256:…`".to_owned());
            }
        }
        Ok(manifest)
    }

    /// Whether it leads to manifests and is none itself.
    pub(super) fn is_index(&self) -> bool {
        !self.manifests.is_empty() && self.config.is_none() && self.layers.is_empty()
    }

    /// When it was made, as it says itself.
    pub(super) fn created(&self) -> Option<&str> {
        self.annotations.as_ref()?.get(CREATED).map(String::as_str)
    }

    /// The chart in an index: the one that says to be it, or the only one that is there.
    pub(super) fn chart_in_index(&self) -> Option<&Descriptor> {
        let is_chart = |of: &&Descriptor| of.artifact_type.as_deref() == Some(CHART_CONFIG);
        match self.manifests.as_slice() {
            [one] => Some(one),
            all => all.iter().find(is_chart),
        }
    }

    /// Whether the image is a chart.
    pub(super) fn is_chart(&self) -> bool {
        let config = self.config.as_ref();
        config.is_some_and(|of| of.media_type == CHART_CONFIG)
    }

    /// The layer with the chart's archive, where the image is a chart.
    pub(super) fn chart_layer(&self) -> Option<&Descriptor> {
        if !self.is_chart() {
            return None;
        }
        let of_type = |wanted: &&str| self.layers.iter().find(|l| l.media_type == *wanted);
        CHART_LAYERS.iter().find_map(of_type)
    }
}

impl Descriptor {
    /// Compares bytes with the size and the digest that they have to have.
    ///
    /// # Errors
    ///
    /// A reason when they are others.
    pub(super) fn check(&self, body: &[u8]) -> Result<(), String> {
        if body.len() as u64 != self.size {
            let (is, wanted) = (body.len(), self.size);
            return Err(format!("it has {is} bytes and should have {wanted}"));
        }
        check(body, &self.digest)
    }
}

/// Compares bytes with a digest of the form `sha256:…`.
///
/// # Errors
///
/// A reason when they are others.
pub(super) fn check(body: &[u8], digest: &str) -> Result<(), String> {
    let is = sha256(body);
    if is == digest.to_ascii_lowercase() {
        return Ok(());
    }
    Err(format!("its digest is {is} and should be {digest}"))
}

/// The digest of some bytes, as `sha256:` and 64 digits.
pub(super) fn sha256(body: &[u8]) -> String {
    format!("sha256:{}", hex(body))
}

/// The SHA-256 of some bytes in hexadecimal.
pub(super) fn hex(body: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(body)
        .iter()
        .fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            _ = write!(text, "{byte:02x}");
            text
        })
}

/// Whether a text is a digest of the form `sha256:` and 64 digits.
pub(super) fn is_digest(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").unwrap_or_default();
    digits.len() == 64
        && digits
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// When a chart was made, as its configuration says: an annotation of its `Chart.yaml`, or the
/// field of an image's configuration.
pub(super) fn created_in_config(config: &[u8]) -> Option<String> {
    let config: serde_json::Value = serde_json::from_slice(config).ok()?;
    let annotation = config.get("annotations").and_then(|all| all.get(CREATED));
    let created = annotation.or_else(|| config.get("created"))?;
    created.as_str().map(str::to_owned)
}
