//! [`ChartFiles`]: what stands in a chart's archive that an upgrade has to tell.

use std::io::Read as _;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::{Map, Value};

/// No chart is larger unpacked; an archive that is, is none.
const MOST_BYTES: u64 = 64 << 20;

/// The annotation with what changed (Artifact Hub's documentation, "Helm annotations").
const CHANGES: &str = "artifacthub.io/changes";

/// The files of a chart that say what it takes and what is new.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChartFiles {
    chart: String,
    values: String,
    schema: Option<String>,
}

/// One line of a chart's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartChange {
    /// `added`, `changed`, `fixed`, `removed`, `deprecated` or `security`, where it is said.
    pub kind: Option<String>,
    /// What changed.
    pub text: String,
}

impl ChartFiles {
    /// Unpacks an archive (`.tgz`).
    ///
    /// # Errors
    /// When it is none, or has no `Chart.yaml`.
    pub fn unpack(archive: &[u8]) -> Result<Self, String> {
        let broken = |why: std::io::Error| format!("the archive can't be read: {why}");
        let mut tar = tar::Archive::new(GzDecoder::new(archive).take(MOST_BYTES));
        let mut files = Self::default();
        let mut has_chart = false;
        for entry in tar.entries().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            let path = entry.path().map_err(broken)?.to_string_lossy().into_owned();
            // Charts inside of the chart have such files too, deeper down.
            let Some((_, name)) = path.split_once('/') else {
                continue;
            };
            let mut text = || -> Result<String, String> {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(broken)?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            };
            match name {
                "Chart.yaml" => {
                    files.chart = text()?;
                    has_chart = true;
                }
                "values.yaml" => files.values = text()?,
                "values.schema.json" => files.schema = Some(text()?),
                _ => {}
            }
        }
        if has_chart {
            Ok(files)
        } else {
            Err("the archive has no Chart.yaml".to_owned())
        }
    }

    /// What changed in this version, as its annotation says.
    pub fn changes(&self) -> Vec<ChartChange> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Line {
            Text(String),
            Told {
                #[serde(default)]
                kind: Option<String>,
                description: String,
            },
        }
        #[derive(Deserialize)]
        struct Chart {
            #[serde(default)]
            annotations: Map<String, Value>,
        }
        let chart: Option<Chart> = serde_yaml::from_str(&self.chart).ok();
        let annotation = chart
            .as_ref()
            .and_then(|chart| chart.annotations.get(CHANGES)?.as_str());
        let lines: Vec<Line> = annotation
            .and_then(|text| serde_yaml::from_str(text).ok())
            .unwrap_or_default();
        lines
            .into_iter()
            .map(|line| match line {
                Line::Text(text) => ChartChange { kind: None, text },
                Line::Told { kind, description } => ChartChange {
                    kind,
                    text: description,
                },
            })
            .collect()
    }

    /// What the chart's schema refuses of some values, as `route: why`. Helm judges the values with the chart's own below them.
    pub fn refused(&self, values: &Value) -> Vec<String> {
        let schema = self.schema.as_ref();
        let Some(schema) = schema.and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
            return Vec::new();
        };
        let own = serde_yaml::from_str(&self.values).unwrap_or(Value::Null);
        let merged = merged(own, values);
        let Ok(validator) = jsonschema::validator_for(&schema) else {
            return Vec::new();
        };
        validator
            .iter_errors(&merged)
            .map(|error| {
                let route = error.instance_path().to_string();
                let route = route.trim_start_matches('/').replace('/', ".");
                let why = error.masked().to_string();
                if route.is_empty() {
                    why
                } else {
                    format!("`{route}`: {why}")
                }
            })
            .collect()
    }
}

/// Values over a chart's own, as Helm coalesces them: mappings key by key, null takes a key away.
pub fn merged(own: Value, over: &Value) -> Value {
    match (own, over) {
        (Value::Object(mut own), Value::Object(over)) => {
            for (key, value) in over {
                if value.is_null() {
                    own.remove(key);
                } else {
                    let known = own.remove(key).unwrap_or(Value::Null);
                    own.insert(key.clone(), merged(known, value));
                }
            }
            Value::Object(own)
        }
        (own, Value::Null) => own,
        (_, over) => over.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut tar = tar::Builder::new(gz);
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            tar.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn changes_are_texts_or_have_a_kind() {
        let chart = "name: web\nannotations:\n  artifacthub.io/changes: |\n    - plain words\n    - kind: fixed\n      description: a leak\n      links: [{name: x, url: https://x}]\n";
        let files = ChartFiles::unpack(&archive(&[
            ("web/Chart.yaml", chart),
            ("web/charts/in/Chart.yaml", "name: in\n"),
        ]))
        .unwrap();
        let changes = files.changes();
        assert_eq!(changes[0].text, "plain words");
        assert_eq!(
            changes[1],
            ChartChange {
                kind: Some("fixed".to_owned()),
                text: "a leak".to_owned()
            }
        );
    }

    #[test]
    fn values_are_judged_over_the_charts_own_and_never_repeated() {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["port"],
            "properties": {"port": {"type": "integer"}, "old": {"type": "string"}, "deep": {"type": "object", "additionalProperties": false, "properties": {"a": {}}}}});
        let files = ChartFiles::unpack(&archive(&[
            ("web/Chart.yaml", "name: web\n"),
            ("web/values.yaml", "port: 80\n"),
            ("web/values.schema.json", &schema.to_string()),
        ]))
        .unwrap();
        assert!(files.refused(&json!({"old": "x"})).is_empty());
        let refused = files.refused(&json!({"port": "hunter2", "deep": {"b": 1}, "new": 1}));
        assert_eq!(refused.len(), 3, "{refused:?}");
        assert!(refused.iter().any(|why| why.starts_with("`port`")));
        assert!(refused.iter().any(|why| why.contains("'b'")), "{refused:?}");
        assert!(!refused.join("").contains("hunter2"), "{refused:?}");
        assert_eq!(files.refused(&json!({"port": null})).len(), 1);
    }

    #[test]
    fn what_is_no_archive_is_said() {
        assert!(ChartFiles::unpack(b"no archive").is_err());
        assert!(ChartFiles::unpack(&archive(&[("web/README.md", "")])).is_err());
    }
}
