//! Which versions of charts are published: looked up once for each chart and run, or told by a file.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use semver::Version;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::told::Told;
use crate::model::address::shown;
use crate::model::chart::ChartRef;
use crate::model::range::lenient_version;
use crate::registry::{self, ChartSource, Registry, Release};
use crate::world::World;

/// Where published versions are known from.
pub struct Published<'a> {
    registry: Option<&'a dyn Registry>,
    told: Option<Told>,
    known: BTreeMap<String, Result<Vec<Known>, String>>,
    tags: BTreeMap<String, Result<Vec<String>, String>>,
    releases: BTreeMap<(String, String), Result<Release, String>>,
    remarks: Vec<String>,
}

/// A published version, and how its source writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The version.
    pub version: Version,
    /// Its text.
    pub text: String,
    /// When it was published, where the list says so. The lists of OCI registries and of Git never do: [`Published::created`] asks for one version.
    pub created: Option<OffsetDateTime>,
}

/// Reads a published version. A tag of fewer parts moves (`1.25`), or counts something else (`20240105`): no version that can be pinned.
fn known(published: &registry::Published) -> Option<Known> {
    let text = &published.version;
    let core = text.strip_prefix('v').unwrap_or(text);
    let core = core.split(['-', '+']).next().unwrap_or_default();
    let version = lenient_version(text).filter(|_| core.split('.').count() == 3)?;
    Some(Known {
        version,
        text: text.clone(),
        created: published.created.as_deref().and_then(moment),
    })
}

/// Reads a moment as indexes and annotations write it (RFC 3339). Another form is as none: a source isn't refused for it.
fn moment(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok()
}

impl<'a> Published<'a> {
    /// From a file, which answers everything; else from the charts' own sources; from nowhere where neither is given.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn new(file: Option<&Path>, registry: Option<&'a dyn Registry>) -> Result<Self> {
        Ok(Self {
            told: file.map(Told::read).transpose()?,
            registry: registry.filter(|_| file.is_none()),
            known: BTreeMap::new(),
            tags: BTreeMap::new(),
            releases: BTreeMap::new(),
            remarks: Vec::new(),
        })
    }

    /// As flags say: from a file that answers everything, from nowhere, or from the charts' own sources.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn asked(file: Option<&Path>, is_offline: bool, world: &'a World) -> Result<Self> {
        let file = file.map(|file| world.folder.join(file));
        let registry = (!is_offline).then(|| world.registry());
        Self::new(file.as_deref(), registry)
    }

    /// Whether nobody is asked at all.
    pub fn is_nobody(&self) -> bool {
        self.told.is_none() && self.registry.is_none()
    }

    /// The versions of a chart, in no order; or why they aren't known.
    pub fn of(&mut self, chart: &ChartRef) -> Result<&[Known], &str> {
        let address = chart.address();
        if !self.known.contains_key(&address) {
            let found = self.look_up(chart);
            self.remark(chart);
            self.known.insert(address.clone(), found);
        }
        self.known[&address].as_deref().map_err(|why| why.as_str())
    }

    /// The tags of a Git repository that are versions behind a prefix, in no order; or why they aren't known. Their texts have the prefix.
    ///
    /// # Errors
    /// Why the repository couldn't be asked.
    pub fn tags(&mut self, address: &str, prefix: &str) -> Result<Vec<Known>, String> {
        if !self.tags.contains_key(address) {
            let found = self.look_up_tags(address);
            self.tags.insert(address.to_owned(), found);
        }
        let behind = |tag: &String| {
            let version = tag.strip_prefix(prefix)?.to_owned();
            let published = registry::Published {
                version,
                created: None,
            };
            let known = known(&published)?;
            Some(Known {
                text: tag.clone(),
                ..known
            })
        };
        let tags = self.tags[address].as_ref().map_err(Clone::clone)?;
        Ok(tags.iter().filter_map(behind).collect())
    }

    /// When a version was published; nothing where nobody says it. `text` is as [`Self::of`] gave it.
    ///
    /// # Errors
    /// Why the source couldn't be asked.
    pub fn created(
        &mut self,
        chart: &ChartRef,
        text: &str,
    ) -> Result<Option<OffsetDateTime>, String> {
        let listed = self.of(chart)?.iter().find(|known| known.text == text);
        if let Some(created) = listed.and_then(|known| known.created) {
            return Ok(Some(created));
        }
        let release = self.release(chart, text)?;
        Ok(release.created.as_deref().and_then(moment))
    }

    /// The digest of the manifest that a version's tag has now; nothing where the source has no digests. `text` is as [`Self::of`] gave it.
    ///
    /// # Errors
    /// Why the source couldn't be asked.
    pub fn digest(&mut self, chart: &ChartRef, text: &str) -> Result<Option<String>, String> {
        Ok(self.release(chart, text)?.digest)
    }

    /// The archive (`.tgz`) of a version, compared with its digest where one is known; nothing where the versions were only told.
    ///
    /// # Errors
    /// Why the source couldn't be asked, or that it has other bytes than it says.
    pub fn archive(&mut self, chart: &ChartRef, text: &str) -> Result<Option<Vec<u8>>, String> {
        if let Some(told) = &self.told {
            return told.archive(chart, text);
        }
        let archive = self.registry()?.archive(&source(chart)?, text);
        archive.map(Some).map_err(|why| why.to_string())
    }

    /// Charts, repositories and single versions that could not be asked about, with the reason.
    pub fn unknown(&self) -> impl Iterator<Item = (String, &str)> {
        let charts = self.known.iter();
        let charts = charts.map(|(name, found)| (name.clone(), found.as_ref().err()));
        let tags = self.tags.iter();
        let tags = tags.map(|(name, found)| (shown(name), found.as_ref().err()));
        // Where nobody is asked, nobody failed to answer.
        let releases = self.releases.iter().filter(|_| !self.is_nobody());
        let releases = releases
            .map(|((name, version), found)| (format!("{name} {version}"), found.as_ref().err()));
        let all = charts.chain(tags).chain(releases);
        all.filter_map(|(name, why)| Some((name, why?.as_str())))
    }

    /// What is odd about lists that could be read: entries without a version, by chart.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    fn registry(&self) -> Result<&'a dyn Registry, String> {
        self.registry.ok_or_else(|| "nobody was asked".to_owned())
    }

    fn look_up(&self, chart: &ChartRef) -> Result<Vec<Known>, String> {
        let published = match &self.told {
            Some(told) => told.versions(chart)?,
            None => self
                .registry()?
                .versions(&source(chart)?)
                .map_err(|why| why.to_string())?,
        };
        Ok(published.iter().filter_map(known).collect())
    }

    /// Keeps in mind what the source left out of its list.
    fn remark(&mut self, chart: &ChartRef) {
        let left_out = match (self.registry, source(chart)) {
            (Some(registry), Ok(source)) => registry.left_out(&source),
            _ => 0,
        };
        if left_out > 0 {
            let address = chart.address();
            let entries = if left_out == 1 { "entry" } else { "entries" };
            self.remarks.push(format!(
                "{address}: {left_out} {entries} of the index can't be used: no version is written there as a text"
            ));
        }
    }

    fn look_up_tags(&self, address: &str) -> Result<Vec<String>, String> {
        if let Some(told) = &self.told {
            let tags = told.tags(address)?.into_iter();
            return Ok(tags.map(|published| published.version).collect());
        }
        let tags = self.registry()?.git_tags(address);
        tags.map_err(|why| why.to_string())
    }

    fn release(&mut self, chart: &ChartRef, text: &str) -> Result<Release, String> {
        let key = (chart.address(), text.to_owned());
        if let Some(release) = self.releases.get(&key) {
            return release.clone();
        }
        let release = self.look_up_release(chart, text);
        self.releases.insert(key, release.clone());
        release
    }

    fn look_up_release(&self, chart: &ChartRef, text: &str) -> Result<Release, String> {
        if let Some(told) = &self.told {
            return told.release(chart, text);
        }
        let release = self.registry()?.release(&source(chart)?, text);
        release.map_err(|why| why.to_string())
    }
}

fn source(chart: &ChartRef) -> Result<ChartSource, String> {
    ChartSource::new(&chart.repo_url(), &chart.name).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::registry::RegistryError;

    /// A source that counts what it is asked.
    #[derive(Default)]
    struct Counted(RefCell<Vec<String>>);

    impl Registry for Counted {
        fn versions(&self, _: &ChartSource) -> Result<Vec<registry::Published>, RegistryError> {
            self.0.borrow_mut().push("versions".to_owned());
            let dated = |version: &str, created: Option<&str>| registry::Published {
                version: version.to_owned(),
                created: created.map(str::to_owned),
            };
            Ok(vec![
                dated("1.0.0", Some("2026-01-02T03:04:05.123Z")),
                dated("1.1.0", Some("yesterday")),
                dated("latest", None),
                dated("1.2", None),
            ])
        }

        fn release(&self, _: &ChartSource, version: &str) -> Result<Release, RegistryError> {
            self.0.borrow_mut().push(format!("release {version}"));
            Ok(Release {
                digest: Some("sha256:1".to_owned()),
                created: Some("2026-02-02T00:00:00+01:00".to_owned()),
            })
        }

        fn archive(&self, _: &ChartSource, _: &str) -> Result<Vec<u8>, RegistryError> {
            Ok(b"tgz".to_vec())
        }

        fn git_tags(&self, _: &str) -> Result<Vec<String>, RegistryError> {
            self.0.borrow_mut().push("tags".to_owned());
            Ok(["v1.2.3", "nightly"].map(str::to_owned).to_vec())
        }

        fn file(&self, _: &str, _: &str) -> Result<Vec<u8>, RegistryError> {
            Ok(Vec::new())
        }
    }

    fn chart() -> ChartRef {
        ChartRef::new("oci://r.example.org/x", "api").unwrap()
    }

    fn seconds(created: Option<OffsetDateTime>) -> Option<i64> {
        created.map(OffsetDateTime::unix_timestamp)
    }

    #[test]
    fn each_question_is_asked_once_and_only_where_the_list_says_nothing() {
        let source = Counted::default();
        let mut published = Published::new(None, Some(&source)).unwrap();
        let texts = |known: &[Known]| known.iter().map(|k| k.text.clone()).collect::<Vec<_>>();
        assert_eq!(
            published.of(&chart()).map(texts).unwrap(),
            ["1.0.0", "1.1.0"]
        );
        for _ in 0..2 {
            let listed = published.created(&chart(), "1.0.0").unwrap();
            assert_eq!(seconds(listed), Some(1_767_323_045));
            let asked = published.created(&chart(), "1.1.0").unwrap();
            assert_eq!(seconds(asked), Some(1_769_986_800));
            let digest = published.digest(&chart(), "1.1.0").unwrap();
            assert_eq!(digest.as_deref(), Some("sha256:1"));
            assert_eq!(
                published
                    .tags("https://g.example.org/a", "")
                    .map(|known| texts(&known))
                    .unwrap(),
                ["v1.2.3"]
            );
        }
        let archive = published.archive(&chart(), "1.1.0").unwrap();
        assert_eq!(archive.as_deref(), Some(b"tgz".as_slice()));
        assert_eq!(*source.0.borrow(), ["versions", "release 1.1.0", "tags"]);
        assert_eq!(published.unknown().count(), 0);
    }

    #[test]
    fn a_file_answers_everything_and_its_times_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("versions.yaml");
        let write = |text: &str| std::fs::write(&file, text).unwrap();
        write(
            "api: [1.0.0, {version: 1.1.0, created: 2026-02-02T00:00:00Z}]\nhttps://g.example.org/a: [v2.0.0]\nentries: [0.1.0]\n",
        );
        let source = Counted::default();
        let mut told = Published::new(Some(&file), Some(&source)).unwrap();
        assert_eq!(
            seconds(told.created(&chart(), "1.1.0").unwrap()),
            Some(1_769_990_400)
        );
        assert_eq!(told.created(&chart(), "1.0.0").unwrap(), None);
        assert_eq!(told.digest(&chart(), "1.1.0").unwrap(), None);
        assert_eq!(told.archive(&chart(), "1.1.0").unwrap(), None);
        assert_eq!(told.tags("https://g.example.org/a", "").unwrap().len(), 1);
        assert!(told.tags("https://g.example.org/b", "").is_err());
        assert_eq!(told.unknown().count(), 1);
        assert!(source.0.borrow().is_empty(), "nobody is asked");

        write("api: [{version: 1.1.0, created: 02.02.2026}]\n");
        let error = Published::new(Some(&file), None).err().unwrap().to_string();
        assert!(
            error.contains("of `api` version 1.1.0 has a time that is none: `02.02.2026`"),
            "{error}"
        );
    }

    /// A source with a list, and nothing more.
    struct Closed;

    impl Registry for Closed {
        fn versions(&self, _: &ChartSource) -> Result<Vec<registry::Published>, RegistryError> {
            let version = "1.0.0".to_owned();
            let created = None;
            Ok(vec![registry::Published { version, created }])
        }

        fn release(&self, _: &ChartSource, _: &str) -> Result<Release, RegistryError> {
            Err(RegistryError::Denied {
                asked: registry::Asked {
                    aim: "read the manifest".to_owned(),
                    url: "https://r.example.org".to_owned(),
                },
                status: 403,
                detail: None,
                logins: None,
            })
        }

        fn archive(&self, _: &ChartSource, _: &str) -> Result<Vec<u8>, RegistryError> {
            Ok(Vec::new())
        }

        fn git_tags(&self, _: &str) -> Result<Vec<String>, RegistryError> {
            Ok(Vec::new())
        }

        fn file(&self, _: &str, _: &str) -> Result<Vec<u8>, RegistryError> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn a_version_that_is_refused_is_unknown() {
        let mut published = Published::new(None, Some(&Closed)).unwrap();
        assert!(published.created(&chart(), "1.0.0").is_err());
        assert!(published.digest(&chart(), "1.0.0").is_err());
        let unknown: Vec<(String, &str)> = published.unknown().collect();
        assert_eq!(
            unknown,
            [(
                "oci://r.example.org/x/api 1.0.0".to_owned(),
                "cannot read the manifest at `https://r.example.org`: access refused with status 403"
            )]
        );
    }

    #[test]
    fn nobody_is_asked_offline() {
        let mut nobody = Published::new(None, None).unwrap();
        assert!(nobody.is_nobody());
        assert_eq!(
            nobody.digest(&chart(), "1.0.0"),
            Err("nobody was asked".to_owned())
        );
        assert_eq!(
            nobody.archive(&chart(), "1.0.0"),
            Err("nobody was asked".to_owned())
        );
        assert_eq!(nobody.unknown().count(), 0);
        assert!(nobody.tags("https://g.example.org/a", "").is_err());
    }
}
