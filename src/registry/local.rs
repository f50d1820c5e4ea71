//! Charts that lie on this machine: the index of a Helm repository, or the folder of an OCI layout.
//!
//! Owns what they say, in the form in which sources say it. It asks no network: an archive that lies
//! elsewhere is none. Start from [`Local`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use super::{Published, Release, helm_index, manifest, oci_layout};

/// The most that is read of one file, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Charts on this machine, by name.
#[derive(Debug)]
pub struct Local {
    charts: BTreeMap<String, Vec<LocalVersion>>,
}

/// One version.
#[derive(Debug)]
pub(super) struct LocalVersion {
    pub(super) published: Published,
    /// The digest of the manifest that its tag has.
    pub(super) digest: Option<String>,
    pub(super) archive: Option<LocalArchive>,
}

/// Where an archive lies, and its digest where that is known.
#[derive(Debug)]
pub(super) struct LocalArchive {
    pub(super) file: PathBuf,
    pub(super) digest: Option<String>,
}

impl Local {
    /// Reads a folder: an OCI layout, or one that `helm repo index` made.
    ///
    /// # Errors
    ///
    /// A reason with the file that it is about.
    pub fn folder(folder: &Path) -> Result<Self, String> {
        if folder.join("oci-layout").exists() {
            let charts = oci_layout::read(folder)?;
            return Self::of(charts, folder);
        }
        let index = folder.join("index.yaml");
        if index.exists() {
            return Self::index(&index);
        }
        Err(format!(
            "`{}` is a folder without `oci-layout` (an OCI layout) and `index.yaml` (a Helm repository)",
            folder.display()
        ))
    }

    /// Reads the index of a Helm repository.
    ///
    /// # Errors
    ///
    /// A reason with the file that it is about.
    pub fn index(file: &Path) -> Result<Self, String> {
        let shown = file.display();
        let charts = helm_index::read(&read(file)?)
            .map_err(|why| format!("`{shown}` is no index of a Helm repository: {why}"))?;
        let folder = file.parent().unwrap_or_else(|| Path::new("."));
        let version = |entry: helm_index::Entry| {
            Some(LocalVersion {
                published: entry.published()?,
                digest: None,
                archive: beside(folder, &entry),
            })
        };
        let versions = |(name, entries): (String, Option<Vec<helm_index::Entry>>)| {
            let entries = entries.ok_or_else(|| {
                format!("`{shown}` has something else than a list of versions for `{name}`")
            })?;
            Ok((name, entries.into_iter().filter_map(version).collect()))
        };
        let charts: Result<_, String> = charts.into_iter().map(versions).collect();
        Self::of(charts?, file)
    }

    fn of(charts: BTreeMap<String, Vec<LocalVersion>>, place: &Path) -> Result<Self, String> {
        match charts.is_empty() {
            true => Err(format!("`{}` has no chart", place.display())),
            false => Ok(Self { charts }),
        }
    }

    /// The versions of a chart; nothing where it isn't there.
    pub fn versions(&self, chart: &str) -> Option<Vec<Published>> {
        let versions = self.charts.get(chart)?.iter();
        Some(versions.map(|version| version.published.clone()).collect())
    }

    /// What is said about a version; nothing where it isn't there.
    pub fn release(&self, chart: &str, version: &str) -> Option<Release> {
        let found = self.version(chart, version)?;
        Some(Release {
            digest: found.digest.clone(),
            created: found.published.created.clone(),
        })
    }

    /// The archive of a version; nothing where it isn't there.
    ///
    /// # Errors
    ///
    /// A reason with its file, when that can't be read or isn't what its digest says.
    pub fn archive(&self, chart: &str, version: &str) -> Result<Option<Vec<u8>>, String> {
        let found = self.version(chart, version);
        let Some(archive) = found.and_then(|found| found.archive.as_ref()) else {
            return Ok(None);
        };
        let body = read(&archive.file)?;
        if let Some(digest) = &archive.digest {
            let shown = archive.file.display();
            manifest::check(&body, digest).map_err(|why| format!("cannot use `{shown}`: {why}"))?;
        }
        Ok(Some(body))
    }

    fn version(&self, chart: &str, version: &str) -> Option<&LocalVersion> {
        let mut all = self.charts.get(chart)?.iter();
        all.find(|one| one.published.version == version)
    }
}

/// The archive of an entry where it lies beside the index, as `helm repo index` writes it.
fn beside(folder: &Path, entry: &helm_index::Entry) -> Option<LocalArchive> {
    let path = Path::new(entry.urls.0.as_ref()?);
    let is_below = path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let file = folder.join(path);
    (is_below && file.is_file()).then(|| LocalArchive {
        digest: entry.archive_digest(),
        file,
    })
}

/// Reads a file.
///
/// # Errors
///
/// A reason with the file's name.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, String> {
    let refuse = |why: String| format!("cannot read `{}`: {why}", file.display());
    let size = fs::metadata(file).map_err(|why| refuse(why.to_string()))?;
    if size.len() > MOST_BYTES {
        return Err(refuse(format!(
            "it is larger than {} MiB",
            MOST_BYTES >> 20
        )));
    }
    let mut body = Vec::new();
    let open = File::open(file).map_err(|why| refuse(why.to_string()))?;
    let read = open.take(MOST_BYTES).read_to_end(&mut body);
    read.map_err(|why| refuse(why.to_string()))?;
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_has_all_its_charts_and_the_archives_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let good = manifest::hex(b"tgz");
        let index = format!(
            "entries:\n  api:\n  - {{version: 1.0.0, created: '2026-01-02T03:04:05Z', digest: {good}, urls: [api-1.0.0.tgz]}}\n  - {{version: 2.0.0, urls: ['https://h.example.org/api-2.0.0.tgz']}}\n  - {{version: 3.0.0, urls: [../x.tgz]}}\n  - {{version: 4.0.0, digest: {}, urls: [api-1.0.0.tgz]}}\n  -\n  web: [{{version: 0.1.0}}]\n",
            manifest::hex(b"other")
        );
        fs::write(folder.path().join("index.yaml"), index).unwrap();
        fs::write(folder.path().join("api-1.0.0.tgz"), "tgz").unwrap();
        let local = Local::folder(folder.path()).unwrap();
        assert_eq!(local.versions("api").unwrap().len(), 4);
        assert_eq!(local.versions("web").unwrap()[0].version, "0.1.0");
        assert!(local.versions("absent").is_none());
        let release = local.release("api", "1.0.0").unwrap();
        assert_eq!(release.created.as_deref(), Some("2026-01-02T03:04:05Z"));
        assert_eq!(local.archive("api", "1.0.0").unwrap().unwrap(), b"tgz");
        assert_eq!(local.archive("api", "2.0.0").unwrap(), None);
        assert_eq!(local.archive("api", "3.0.0").unwrap(), None);
        assert!(
            local
                .archive("api", "4.0.0")
                .unwrap_err()
                .contains("its digest is")
        );
    }

    #[test]
    fn what_is_none_is_told_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path| Local::folder(path).unwrap_err();
        assert!(refused(folder.path()).contains("is a folder without `oci-layout`"));
        let index = folder.path().join("index.yaml");
        for (text, why) in [
            ("entries: []", "is no index of a Helm repository"),
            ("a: b", "missing field `entries`"),
            ("entries: {}", "has no chart"),
        ] {
            fs::write(&index, text).unwrap();
            let error = refused(folder.path());
            assert!(
                error.contains(why) && error.contains("index.yaml`"),
                "{error}"
            );
        }
    }
}
