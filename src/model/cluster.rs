//! [`Cluster`]: one target of a fleet, and the stage at which a version reaches it.

use serde::Serialize;

/// A cluster's name is a folder, part of object names and a label: a DNS label (RFC 1123) holds for all three.
pub const NAME_PATTERN: &str = "^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$";

/// A cluster. The order of a list of clusters is the order in which versions are promoted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// The stage: clusters of one stage get a version together. Its own name where none is given.
    pub stage: String,
}

impl Cluster {
    /// Reads `name` or `name=stage`.
    ///
    /// # Errors
    /// When a name is not a DNS label of at most 40 characters; the text says so.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, stage) = text.split_once('=').unwrap_or((text, text));
        for part in [name, stage] {
            if !is_label(part) {
                return Err(format!(
                    "`{part}` is not a name for a cluster or stage: lower-case letters, digits and `-`, at most 40, a letter or digit at both ends"
                ));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            stage: stage.to_owned(),
        })
    }

    /// Writes it as [`Cluster::parse`] reads it.
    pub fn to_text(&self) -> String {
        if self.name == self.stage {
            self.name.clone()
        } else {
            format!("{}={}", self.name, self.stage)
        }
    }
}

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=40).contains(&text.len())
        && text.chars().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Returns the stages in their order, each once.
pub fn stages(clusters: &[Cluster]) -> Vec<&str> {
    let mut stages: Vec<&str> = Vec::new();
    for cluster in clusters {
        if !stages.contains(&cluster.stage.as_str()) {
            stages.push(&cluster.stage);
        }
    }
    stages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_groups_clusters() {
        let clusters: Vec<Cluster> = ["test", "eu=production", "us=production"]
            .iter()
            .map(|t| Cluster::parse(t).expect("good"))
            .collect();
        assert_eq!(stages(&clusters), ["test", "production"]);
        assert_eq!(clusters[1].to_text(), "eu=production");
    }

    #[test]
    fn names_that_no_object_can_have_are_refused() {
        for bad in [
            "",
            "A",
            "a_b",
            "-a",
            "a-",
            "a/b",
            "..",
            "a=",
            &"x".repeat(41),
        ] {
            assert!(Cluster::parse(bad).is_err(), "{bad}");
        }
    }
}
