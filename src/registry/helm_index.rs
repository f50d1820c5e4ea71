//! The form of a Helm repository's index.
//!
//! Owns the reading of `index.yaml` from bytes, leniently: one bad entry must not hide the rest.
//! Pure. Start from [`read`].

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Published, manifest};

/// Charts by name; nothing where the index has something else than a list for one.
pub(super) type Charts = BTreeMap<String, Option<Vec<Entry>>>;

/// Reads the entries of all charts. An index may hold 15,000 versions, so of each only what is needed is built.
///
/// # Errors
///
/// A reason when it is no index.
pub(super) fn read(body: &[u8]) -> Result<Charts, String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    // Some repositories write JSON, which is valid YAML but read several times faster as JSON.
    if text.trim_start().starts_with('{') {
        let mut json = serde_json::Deserializer::from_str(text);
        if let Ok(Index(charts)) = Index::deserialize(&mut json) {
            return Ok(charts);
        }
    }
    Index::deserialize(serde_yaml::Deserializer::from_str(text))
        .map(|Index(charts)| charts)
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

/// Something of the index, or nothing where that is of another kind: one bad piece must not hide the rest.
struct Lenient<T>(Option<T>);

impl<'de, T: Piece<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = LenientVisitor(PhantomData);
        deserializer.deserialize_any(visitor).map(Self)
    }
}

/// What can be read of a map or of a list.
trait Piece<'de>: Sized {
    fn of_map<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Option<Self>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    /// What stands for a place without a value.
    fn of_nothing() -> Option<Self> {
        None
    }
}

impl<'de> Piece<'de> for Entry {
    fn of_map<A: MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        Self::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }
}

impl<'de> Piece<'de> for Vec<Entry> {
    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Option<Self>, A::Error> {
        let mut entries = Self::new();
        while let Some(Lenient(entry)) = list.next_element()? {
            entries.push(entry.unwrap_or_default());
        }
        Ok(Some(entries))
    }

    fn of_nothing() -> Option<Self> {
        Some(Self::new())
    }
}

struct LenientVisitor<T>(PhantomData<T>);

impl<'de, T: Piece<'de>> Visitor<'de> for LenientVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of versions of a chart")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::of_map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        T::of_list(list)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(T::of_nothing())
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// The whole index.
struct Index(Charts);

impl<'de> Deserialize<'de> for Index {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Whole {
            // An empty repository may write `entries:` without a value; without the key it is no index.
            #[serde(deserialize_with = "Option::deserialize")]
            entries: Option<BTreeMap<String, Lenient<Vec<Entry>>>>,
        }
        let entries = Whole::deserialize(deserializer)?
            .entries
            .unwrap_or_default();
        let entries = entries.into_iter();
        Ok(Self(
            entries.map(|(name, Lenient(list))| (name, list)).collect(),
        ))
    }
}
