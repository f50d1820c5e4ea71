//! The versions of a chart in the index of a Helm repository.
//!
//! Owns the reading of `index.yaml`. It must not choose among the versions. Start from
//! [`versions`].

use std::fmt;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Published;
use super::credentials::{self, Credentials};
use super::error::RegistryError;
use super::http::{Ask, Http};
use super::url::Url;

/// Lists the versions of a chart, without entries that have no version.
///
/// # Errors
///
/// A [`RegistryError`] when the index cannot be read or does not hold the chart.
pub(super) fn versions(
    http: &Http,
    credentials: &dyn Credentials,
    index: &Url,
    chart: &str,
) -> Result<Vec<Published>, RegistryError> {
    let authorization = credentials::basic_for(credentials, index);
    let ask = Ask {
        aim: &format!("look `{chart}` up in the index"),
        url: index,
        accept: "application/yaml, text/yaml, application/x-yaml, */*;q=0.5",
        authorization: authorization.as_deref(),
    };
    let reply = http.get(&ask)?.into_success()?;
    let entries = read_index(&reply.body, chart)
        .map_err(|reason| reply.malformed(format!("it is no chart index: {reason}")))?;
    let chart = chart.to_owned();
    let entries = entries.ok_or_else(|| RegistryError::NoSuchChart {
        asked: ask.asked(),
        chart,
    })?;
    Ok(entries.into_iter().flatten().filter_map(usable).collect())
}

fn usable(entry: Entry) -> Option<Published> {
    let version = entry.version.0.filter(|version| !version.is_empty())?;
    Some(Published {
        version,
        created: entry.created.0,
    })
}

/// Reads the entries of one chart; `None` if the index does not hold it.
fn read_index(body: &[u8], chart: &str) -> Result<Option<Vec<Option<Entry>>>, String> {
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
struct Entry {
    #[serde(default)]
    version: Text,
    #[serde(default)]
    created: Text,
}

/// A text, or nothing where the index holds something else: one bad entry must not hide the rest.
#[derive(Debug, Default)]
struct Text(Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

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
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text(None))
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
