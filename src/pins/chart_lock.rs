//! `Chart.lock` follows `Chart.yaml`: the version in it, and the digest over both that `helm dependency build` checks.
//!
//! Source: Helm 3 and 4, `internal/resolver` (`HashReq`): SHA-256 over the JSON of the two lists of dependencies, as Go writes it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::yaml::{self, Edit, Route};

/// Why the lock can't follow.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LockError {
    /// One of the files isn't what Helm reads.
    #[error("{file} can't be read: {why}")]
    Unread {
        /// Which.
        file: &'static str,
        /// Why.
        why: String,
    },
    /// The lock belongs to another `Chart.yaml`.
    #[error(
        "Chart.lock does not belong to this Chart.yaml, by its digest: `helm dependency update` makes them fit"
    )]
    Stale,
    /// The edited text would say something else.
    #[error("Chart.lock can't be edited where it stands: {0}")]
    Edit(String),
}

/// A dependency as Helm hashes it: the names and the order of the fields count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Dependency {
    #[serde(default)]
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    version: String,
    #[serde(default)]
    repository: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    condition: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    enabled: bool,
    #[serde(
        default,
        rename = "import-values",
        skip_serializing_if = "Vec::is_empty"
    )]
    import_values: Vec<Value>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    alias: String,
}

#[derive(Deserialize)]
struct Chart {
    #[serde(default)]
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Lock {
    #[serde(default)]
    dependencies: Vec<Dependency>,
    digest: String,
}

/// The version that the lock has for the dependency whose version stands at some bytes of `Chart.yaml`.
pub fn locked(chart: &str, lock: &str, at: usize) -> Option<String> {
    let index = index_of(chart, at)?;
    let lock: Lock = serde_yaml::from_str(lock).ok()?;
    Some(lock.dependencies.get(index)?.version.clone())
}

/// Returns `Chart.lock` for a changed `Chart.yaml`. `moves` are the places of versions in the old `Chart.yaml` (bytes) with the versions that are locked now. The time in it
/// stays: nothing reads it, and the same change gives the same bytes.
///
/// # Errors
/// When the lock isn't that of the old `Chart.yaml`, or can't be edited.
pub fn follow(
    old_chart: &str,
    new_chart: &str,
    lock: &str,
    moves: &[(usize, String)],
) -> Result<String, LockError> {
    let unread = |file| {
        move |why: serde_yaml::Error| LockError::Unread {
            file,
            why: why.to_string(),
        }
    };
    let old: Chart = serde_yaml::from_str(old_chart).map_err(unread("Chart.yaml"))?;
    let new: Chart = serde_yaml::from_str(new_chart).map_err(unread("Chart.yaml"))?;
    let known: Lock = serde_yaml::from_str(lock).map_err(unread("Chart.lock"))?;
    if digest(&old.dependencies, &known.dependencies) != known.digest {
        return Err(LockError::Stale);
    }
    let mut wanted = known.dependencies.clone();
    let mut edits = Vec::new();
    for (at, version) in moves {
        let index = index_of(old_chart, *at).filter(|index| *index < wanted.len());
        let index = index.ok_or(LockError::Stale)?;
        wanted[index].version.clone_from(version);
        edits.push((
            Route::root()
                .key("dependencies")
                .index(index)
                .key("version"),
            version.clone(),
        ));
    }
    let digest = digest(&new.dependencies, &wanted);
    edits.push((Route::root().key("digest"), digest.clone()));
    let edits: Vec<Edit<'_>> = edits
        .iter()
        .map(|(route, value)| Edit {
            document: 0,
            route,
            value,
        })
        .collect();
    let text =
        yaml::replace_scalars(lock, &edits).map_err(|why| LockError::Edit(why.to_string()))?;
    let read: Lock = serde_yaml::from_str(&text).map_err(unread("Chart.lock"))?;
    if read.dependencies == wanted && read.digest == digest {
        Ok(text)
    } else {
        Err(LockError::Edit("it would read otherwise".to_owned()))
    }
}

/// Which dependency's version stands at a byte.
fn index_of(chart: &str, at: usize) -> Option<usize> {
    let stream = yaml::parse(chart);
    let root = stream.documents.first()?.root.as_ref()?;
    root.get("dependencies")?.items().position(|dependency| {
        dependency
            .get("version")
            .is_some_and(|version| version.span.contains(&at))
    })
}

fn digest(chart: &[Dependency], lock: &[Dependency]) -> String {
    let json = serde_json::to_string(&[chart, lock]).unwrap_or_default();
    // Go escapes what HTML would read, and the two line separators of Unicode.
    let json = json
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    format!("sha256:{:x}", Sha256::digest(json))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHART: &str = "apiVersion: v2\nname: a\nversion: 0.1.0\ndependencies:\n  - name: web # ours\n    version: '1.0.0'\n    repository: oci://r.example.org/charts\n    condition: web.enabled\n  - {name: api, version: '>=1.2 <2', repository: https://c.example.org}\n";

    fn lock() -> String {
        let chart: Chart = serde_yaml::from_str(CHART).unwrap();
        let mut locked = chart.dependencies.clone();
        locked[0].condition.clear();
        locked[1].version = "1.3.0".to_owned();
        let digest = digest(&chart.dependencies, &locked);
        format!(
            "dependencies:\n- name: web\n  repository: oci://r.example.org/charts\n  version: 1.0.0\n- name: api\n  repository: https://c.example.org\n  version: 1.3.0\ndigest: {digest}\ngenerated: \"2026-01-01T00:00:00Z\"\n"
        )
    }

    #[test]
    fn version_and_digest_follow_and_the_rest_stays() {
        let at = CHART.find("'1.0.0'").unwrap();
        let new = CHART.replace("'1.0.0'", "'1.1.0'");
        let lock = lock();
        assert_eq!(locked(CHART, &lock, at).as_deref(), Some("1.0.0"));
        let followed = follow(CHART, &new, &lock, &[(at, "1.1.0".to_owned())]).unwrap();
        let kept: Vec<&str> = followed
            .lines()
            .filter(|line| !line.starts_with("digest"))
            .collect();
        let expected = lock.replace("version: 1.0.0", "version: 1.1.0");
        let expected: Vec<&str> = expected
            .lines()
            .filter(|line| !line.starts_with("digest"))
            .collect();
        assert_eq!(kept, expected);
        // It belongs to the new Chart.yaml, so it can follow again.
        let newer = new.replace("'1.1.0'", "'1.2.0'");
        assert!(follow(&new, &newer, &followed, &[(at, "1.2.0".to_owned())]).is_ok());
    }

    #[test]
    fn a_lock_of_another_chart_is_refused() {
        let at = CHART.find("'1.0.0'").unwrap();
        let other = CHART.replace("web.enabled", "other.enabled");
        let refused = follow(&other, &other, &lock(), &[(at, "1.1.0".to_owned())]);
        assert_eq!(refused, Err(LockError::Stale));
        let refused = follow(CHART, CHART, "dependencies: 1\n", &[]);
        assert!(matches!(refused, Err(LockError::Unread { .. })));
    }
}
