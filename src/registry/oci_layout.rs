//! The folder of an OCI layout, as `oras copy --to-oci-layout`, `crane` and `skopeo` write it.
//!
//! Owns the reading of its charts: tags from the annotations of `index.json`, names from each
//! chart's configuration. Images that are no charts are left out; a chart that can't be read is an
//! error, since a list without it would be no list. The form is that of the OCI image specification,
//! `image-layout.md`. Start from [`read`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Published;
use super::local::{self, LocalArchive, LocalVersion};
use super::manifest::{self, Descriptor, Manifest};

const TAG: &str = "org.opencontainers.image.ref.name";

/// What a chart's configuration says: its `Chart.yaml`.
#[derive(Deserialize)]
struct Config {
    name: String,
    version: String,
}

/// Reads the charts by name.
///
/// # Errors
///
/// A reason with the file that it is about.
pub(super) fn read(folder: &Path) -> Result<BTreeMap<String, Vec<LocalVersion>>, String> {
    check_version(&folder.join("oci-layout"))?;
    let file = folder.join("index.json");
    let index = Manifest::read(&local::read(&file)?)
        .map_err(|why| format!("cannot use `{}`: {why}", file.display()))?;
    let mut charts: BTreeMap<String, Vec<LocalVersion>> = BTreeMap::new();
    for tagged in &index.manifests {
        if let Some((name, version)) = version(folder, tagged)? {
            charts.entry(name).or_default().push(version);
        }
    }
    Ok(charts)
}

fn check_version(file: &Path) -> Result<(), String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Layout {
        image_layout_version: String,
    }
    let shown = file.display();
    let layout: Layout = serde_json::from_slice(&local::read(file)?)
        .map_err(|why| format!("`{shown}` is not that of an OCI layout: {why}"))?;
    match layout.image_layout_version.as_str() {
        "1.0.0" => Ok(()),
        other => Err(format!(
            "`{shown}` is of version {other}; 1.0.0 can be read"
        )),
    }
}

/// The chart's name and version that one entry of the index leads to; nothing where it is no chart.
fn version(folder: &Path, tagged: &Descriptor) -> Result<Option<(String, LocalVersion)>, String> {
    let mut of_tag = read_manifest(folder, tagged)?;
    let outer = of_tag.created().map(str::to_owned);
    if of_tag.is_index() {
        let Some(inner) = of_tag.chart_in_index() else {
            return Ok(None);
        };
        of_tag = read_manifest(folder, inner)?;
    }
    let Some(config) = of_tag.config.as_ref().filter(|_| of_tag.is_chart()) else {
        return Ok(None);
    };
    let text = read_blob(folder, config)?;
    let chart: Config = serde_json::from_slice(&text).map_err(|why| {
        let shown = blob(folder, config);
        format!(
            "`{}` is no configuration of a chart: {why}",
            shown.display()
        )
    })?;
    let inner = of_tag.created().map(str::to_owned);
    let created = outer
        .or(inner)
        .or_else(|| manifest::created_in_config(&text));
    let archive = of_tag.chart_layer().map(|layer| LocalArchive {
        file: blob(folder, layer),
        digest: Some(layer.digest.clone()),
    });
    let version = LocalVersion {
        published: Published {
            version: tag(tagged).unwrap_or(chart.version),
            created,
        },
        digest: Some(tagged.digest.clone()),
        archive,
    };
    Ok(Some((chart.name, version)))
}

/// The tag as a version. Some programs write the whole address of the image.
fn tag(of: &Descriptor) -> Option<String> {
    let name = of.annotations.as_ref()?.get(TAG)?;
    let last = name.rsplit('/').next().unwrap_or_default();
    let tag = last.rsplit(':').next().unwrap_or_default();
    Some(tag.replace('_', "+"))
}

fn read_manifest(folder: &Path, of: &Descriptor) -> Result<Manifest, String> {
    Manifest::read(&read_blob(folder, of)?)
        .map_err(|why| format!("cannot use `{}`: {why}", blob(folder, of).display()))
}

fn read_blob(folder: &Path, of: &Descriptor) -> Result<Vec<u8>, String> {
    let file = blob(folder, of);
    let body = local::read(&file)?;
    of.check(&body)
        .map_err(|why| format!("cannot use `{}`: {why}", file.display()))?;
    Ok(body)
}

/// The file of a blob. That its digest has 64 digits and nothing else was seen when it was read.
fn blob(folder: &Path, of: &Descriptor) -> PathBuf {
    let digits = of.digest.split(':').next_back().unwrap_or_default();
    folder.join("blobs/sha256").join(digits)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::super::local::Local;
    use super::super::manifest::{CHART_CONFIG, hex, sha256};
    use super::*;

    const LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
    const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

    fn put(folder: &Path, kind: &str, body: &str) -> Value {
        fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
        fs::write(folder.join("blobs/sha256").join(hex(body.as_bytes())), body).unwrap();
        json!({"mediaType": kind, "digest": sha256(body.as_bytes()), "size": body.len()})
    }

    fn image(folder: &Path, config: (&str, &str), archive: &str, tag: Option<&str>) -> Value {
        let manifest = json!({
            "config": put(folder, config.0, config.1), "layers": [put(folder, LAYER, archive)],
            "annotations": {"org.opencontainers.image.created": "2026-01-02T03:04:05Z"},
        });
        let mut of = put(folder, MANIFEST, &manifest.to_string());
        if let Some(tag) = tag {
            of["annotations"] = json!({TAG: tag});
        }
        of
    }

    fn layout(folder: &Path, manifests: &Value) {
        fs::write(
            folder.join("oci-layout"),
            r#"{"imageLayoutVersion":"1.0.0"}"#,
        )
        .unwrap();
        let index = json!({"schemaVersion": 2, "manifests": manifests});
        fs::write(folder.join("index.json"), index.to_string()).unwrap();
    }

    #[test]
    fn charts_are_told_from_images_and_have_tag_digest_and_archive() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path();
        let chart =
            |name: &str, version: &str| json!({"name": name, "version": version}).to_string();
        let first = image(
            folder,
            (CHART_CONFIG, &chart("api", "1.0.0+b1")),
            "one",
            Some("1.0.0_b1"),
        );
        let digest = first["digest"].as_str().unwrap().to_owned();
        let full = image(
            folder,
            (CHART_CONFIG, &chart("api", "2.0.0")),
            "two",
            Some("r.example.org:5000/x/api:2.0.0"),
        );
        let untagged = image(
            folder,
            (CHART_CONFIG, &chart("web", "3.0.0")),
            "three",
            None,
        );
        let other = image(
            folder,
            ("application/vnd.oci.image.config.v1+json", "{}"),
            "four",
            Some("9.0.0"),
        );
        let nested = json!({"manifests": [image(folder, (CHART_CONFIG, &chart("web", "4.0.0")), "five", None)]});
        let nested = put(
            folder,
            "application/vnd.oci.image.index.v1+json",
            &nested.to_string(),
        );
        layout(folder, &json!([first, full, untagged, other, nested]));
        let local = Local::folder(folder).unwrap();
        let versions = |chart| -> Vec<String> {
            let all = local.versions(chart).unwrap().into_iter();
            all.map(|published| published.version).collect()
        };
        assert_eq!(versions("api"), ["1.0.0+b1", "2.0.0"]);
        assert_eq!(versions("web"), ["3.0.0", "4.0.0"]);
        let release = local.release("api", "1.0.0+b1").unwrap();
        assert_eq!(release.digest, Some(digest));
        assert_eq!(release.created.as_deref(), Some("2026-01-02T03:04:05Z"));
        assert_eq!(local.archive("web", "4.0.0").unwrap().unwrap(), b"five");
        fs::write(folder.join("blobs/sha256").join(hex(b"five")), "FIVE").unwrap();
        assert!(
            local
                .archive("web", "4.0.0")
                .unwrap_err()
                .contains("its digest is")
        );
    }

    #[test]
    fn damage_is_told_with_its_file() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path();
        let refused = |why: &str| {
            let error = Local::folder(folder).unwrap_err();
            assert!(error.contains(why), "{error}");
        };
        fs::write(folder.join("oci-layout"), "{}").unwrap();
        refused("oci-layout` is not that of an OCI layout");
        fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"2"}"#).unwrap();
        refused("is of version 2");
        fs::write(
            folder.join("oci-layout"),
            r#"{"imageLayoutVersion":"1.0.0"}"#,
        )
        .unwrap();
        refused("index.json");
        layout(folder, &json!([]));
        refused("has no chart");
        layout(
            folder,
            &json!([{"mediaType": MANIFEST, "digest": "sha256:../../x", "size": 1}]),
        );
        refused("another digest");
        let mut of = image(folder, (CHART_CONFIG, "no json"), "x", Some("1.0.0"));
        layout(folder, &json!([of]));
        refused("is no configuration of a chart");
        of["size"] = json!(3);
        layout(folder, &json!([of]));
        refused("and should have 3");
    }
}
