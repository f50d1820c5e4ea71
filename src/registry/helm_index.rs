//! The form of a Helm repository's index.
//!
//! Owns the reading of `index.yaml` from bytes, leniently: one bad entry must not hide the rest.
//! Pure. Start from [`read`].

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Published, manifest};

/// Charts by name.
pub(super) type Charts = BTreeMap<String, Vec<Entry>>;

/// Reads the entries of one chart, or of all: an index may hold 15,000 versions of others.
///
/// # Errors
///
/// A reason when it is no index.
pub(super) fn read(body: &[u8], chart: Option<&str>) -> Result<Charts, String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    let seed = IndexSeed { chart };
    // Some repositories write JSON, which is valid YAML but read several times faster as JSON.
    if text.trim_start().starts_with('{') {
        let mut json = serde_json::Deserializer::from_str(text);
        if let Ok(entries) = seed.deserialize(&mut json) {
            return Ok(entries);
        }
    }
    seed.deserialize(serde_yaml::Deserializer::from_str(text))
        .map_err(|error| error.to_string())
}

/// One version in the index; the other fields are not needed.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Entry {
    #[serde(default)]
    pub(super) version: Text,
    #[serde(default)]
    pub(super) created: Text,
    /// SHA-256 of the archive.
    #[serde(default)]
    pub(super) digest: Text,
    #[serde(default)]
    pub(super) urls: First,
}

impl Entry {
    /// The digest of the archive as `sha256:…`, if the entry has one of that form.
    pub(super) fn archive_digest(&self) -> Option<String> {
        let digest = self.digest.0.as_ref()?;
        let digest = match digest.contains(':') {
            true => digest.clone(),
            false => format!("sha256:{digest}"),
        };
        manifest::is_digest(&digest).then_some(digest)
    }

    /// The version, if the entry has one.
    pub(super) fn published(&self) -> Option<Published> {
        let version = self.version.0.clone().filter(|text| !text.is_empty())?;
        Some(Published {
            version,
            created: self.created.0.clone(),
        })
    }
}

/// A text, or nothing where the index holds something else: one bad entry must not hide the rest.
#[derive(Debug, Default)]
pub(super) struct Text(pub(super) Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor { of_list: false })
    }
}

/// The first text of a list, or nothing.
#[derive(Debug, Default)]
pub(super) struct First(pub(super) Option<String>);

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = deserializer.deserialize_any(TextVisitor { of_list: true })?;
        Ok(Self(text.0))
    }
}

struct TextVisitor {
    /// Whether the first text of a list counts.
    of_list: bool,
}

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(Some(text.to_owned())))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Text, E> {
        Ok(Text(None))
    }

    // An unquoted 1.10 has lost its last digit already, so numbers are not turned into texts.
    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Text, A::Error> {
        let first = match self.of_list {
            true => items.next_element::<Text>()?,
            false => None,
        };
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(first.unwrap_or_default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Text, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }
}

/// An entry, or an empty one where the index holds something else.
struct Lenient(Entry);

impl<'de> Deserialize<'de> for Lenient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor).map(Self)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a version of a chart")
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Entry, A::Error> {
        Entry::deserialize(MapAccessDeserializer::new(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Entry, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Entry::default())
    }

    fn visit_unit<E: de::Error>(self) -> Result<Entry, E> {
        Ok(Entry::default())
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Entry, E> {
        Ok(Entry::default())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Entry, E> {
        Ok(Entry::default())
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Entry, E> {
        Ok(Entry::default())
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Entry, E> {
        Ok(Entry::default())
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Entry, E> {
        Ok(Entry::default())
    }
}

/// Reads the index but builds only what belongs to the chart that is wanted.
#[derive(Clone, Copy)]
struct IndexSeed<'a> {
    chart: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for IndexSeed<'_> {
    type Value = Charts;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Charts, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for IndexSeed<'_> {
    type Value = Charts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map with `entries`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Charts, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "entries" {
                found = Some(map.next_value_seed(EntriesSeed { chart: self.chart })?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        found.ok_or_else(|| de::Error::missing_field("entries"))
    }
}

struct EntriesSeed<'a> {
    chart: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for EntriesSeed<'_> {
    type Value = Charts;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Charts, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EntriesSeed<'_> {
    type Value = Charts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map from chart names to lists of versions")
    }

    // An empty repository may write `entries:` without a value.
    fn visit_unit<E: de::Error>(self) -> Result<Charts, E> {
        Ok(Charts::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Charts, A::Error> {
        let mut found = Charts::new();
        while let Some(key) = map.next_key::<String>()? {
            if self.chart.is_none_or(|chart| chart == key) {
                let entries: Option<Vec<Lenient>> = map.next_value()?;
                let entries = entries.unwrap_or_default().into_iter();
                found.insert(key, entries.map(|Lenient(entry)| entry).collect());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}
