//! Charts made by tests: archives, folders of a Helm repository, OCI layouts.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// An archive as `helm package` makes it.
pub fn archive(name: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gz);
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        let path = format!("{name}/{path}");
        tar.append_data(&mut header, path, text.as_bytes())
            .expect("appends");
    }
    let gz = tar.into_inner().expect("ends");
    gz.finish().expect("ends")
}

fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// A folder as `helm repo index` makes it, with one chart.
pub fn helm_folder(folder: &Path, name: &str, versions: &[(&str, Vec<u8>)]) {
    std::fs::create_dir_all(folder).expect("a folder");
    let mut entries = Vec::new();
    for (version, archive) in versions {
        let file = format!("{name}-{version}.tgz");
        std::fs::write(folder.join(&file), archive).expect("writes");
        entries.push(
            json!({"name": name, "version": version, "urls": [file], "digest": digest(archive)}),
        );
    }
    let index = json!({"apiVersion": "v1", "entries": {name: entries}});
    std::fs::write(folder.join("index.yaml"), index.to_string()).expect("writes");
}

/// A folder with an OCI layout, with one chart. Returns the digests of the manifests, in order.
pub fn oci_folder(folder: &Path, name: &str, versions: &[(&str, Vec<u8>)]) -> Vec<String> {
    dated_oci_folder(folder, name, versions, &|_| None)
}

/// The same, where some versions say when they were made.
pub fn dated_oci_folder(
    folder: &Path,
    name: &str,
    versions: &[(&str, Vec<u8>)],
    created: &dyn Fn(&str) -> Option<&'static str>,
) -> Vec<String> {
    let blobs = folder.join("blobs/sha256");
    std::fs::create_dir_all(&blobs).expect("a folder");
    let blob = |bytes: &[u8], media: &str| -> Value {
        let digest = digest(bytes);
        std::fs::write(blobs.join(&digest), bytes).expect("writes");
        json!({"mediaType": media, "digest": format!("sha256:{digest}"), "size": bytes.len()})
    };
    let mut index = Vec::new();
    let mut digests = Vec::new();
    for (version, archive) in versions {
        let config = json!({"name": name, "version": version, "apiVersion": "v2"}).to_string();
        let config = blob(
            config.as_bytes(),
            "application/vnd.cncf.helm.config.v1+json",
        );
        let layer = blob(
            archive,
            "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
        );
        let media = "application/vnd.oci.image.manifest.v1+json";
        let mut manifest =
            json!({"schemaVersion": 2, "mediaType": media, "config": config, "layers": [layer]});
        if let Some(created) = created(version) {
            manifest["annotations"] = json!({"org.opencontainers.image.created": created});
        }
        let mut entry = blob(manifest.to_string().as_bytes(), media);
        digests.push(entry["digest"].as_str().unwrap_or_default().to_owned());
        entry["annotations"] =
            json!({"org.opencontainers.image.ref.name": version.replace('+', "_")});
        index.push(entry);
    }
    let index = json!({"schemaVersion": 2, "manifests": index});
    std::fs::write(folder.join("index.json"), index.to_string()).expect("writes");
    std::fs::write(
        folder.join("oci-layout"),
        r#"{"imageLayoutVersion": "1.0.0"}"#,
    )
    .expect("writes");
    digests
}
