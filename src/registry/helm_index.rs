//! The form of a Helm repository's index.
//!
//! Owns the reading of `index.yaml` from bytes, leniently: one bad entry must not hide the rest.
//! Pure. Start from [`read`].

use std::fmt;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Published;

/// Reads the entries of one chart; `None` if the index does not hold it.
///
/// # Errors
///
/// A reason when it is no index.
pub(super) fn read(body: &[u8], chart: &str) -> Result<Option<Vec<Entry>>, String> {
    let whole = |entries: Option<Vec<Option<Entry>>>| {
        entries.map(|entries| entries.into_iter().flatten().collect())
    };
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    let seed = IndexSeed { chart };
    // Some repositories write JSON, which is valid YAML but read several times faster as JSON.
    if text.trim_start().starts_with('{') {
        let mut json = serde_json::Deserializer::from_str(text);
        if let Ok(entries) = seed.deserialize(&mut json) {
            return Ok(whole(entries));
        }
    }
    seed.deserialize(serde_yaml::Deserializer::from_str(text))
        .map(whole)
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

/// Reads the index but builds only what belongs to one chart: an index may hold 15,000 versions.
#[derive(Clone, Copy)]
struct IndexSeed<'a> {
    chart: &'a str,
}

impl<'de> DeserializeSeed<'de> for IndexSeed<'_> {
    type Value = Option<Vec<Option<Entry>>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for IndexSeed<'_> {
    type Value = Option<Vec<Option<Entry>>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map with `entries`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
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
    chart: &'a str,
}

impl<'de> DeserializeSeed<'de> for EntriesSeed<'_> {
    type Value = Option<Vec<Option<Entry>>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EntriesSeed<'_> {
    type Value = Option<Vec<Option<Entry>>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map from chart names to lists of versions")
    }

    // An empty repository may write `entries:` without a value.
    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == self.chart {
                let entries: Option<Vec<Option<Entry>>> = map.next_value()?;
                found = Some(entries.unwrap_or_default());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}
