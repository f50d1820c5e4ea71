//! [`Bundle`]: what one change of `upgrade` is about, and what its branch is called.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::change::Change;
use super::message::KEY_TRAILER;
use crate::pins::Pin;

/// What the names of branches with offers begin with.
pub const OFFERS: &str = "haptic-scaffold/";

/// What stands before a group's name in a key.
const GROUP: &str = "group:";

/// The key of a change for another branch than the default one, where it is another change.
pub fn key_for_base(key: &str, base: &str) -> String {
    format!("{key} @{}", word(base))
}

/// The branch that a change is for, as its key says it.
pub fn base_word(base: &str) -> String {
    word(base)
}

/// Makes a change one for another branch than the default one: offers for both stand side by side.
pub fn for_base(change: &mut Change, base: &str) {
    change.key = key_for_base(&change.key, base);
    // No other part of a name has an `@`.
    change.branch = format!("{}@{}", change.branch, slug(base));
    for (name, value) in &mut change.message.trailers {
        if name == KEY_TRAILER {
            value.clone_from(&change.key);
        }
    }
}

/// Whether a change with this key is about a chart, by name or address: a chart whose name others have is called by its address.
pub fn is_of_chart(key: &str, chart: &str) -> bool {
    key.split(' ').nth(1).is_some_and(|subject| {
        // Two addresses are two charts.
        let is_named = !(subject.contains('/') && chart.contains('/'));
        subject == word(chart) || is_named && !is_of_group(key) && short(subject) == short(chart)
    })
}

/// Whether a change with this key is about a group of charts.
pub fn is_of_group(key: &str) -> bool {
    let subject = key.split(' ').nth(1);
    subject.is_some_and(|subject| subject.starts_with(GROUP))
}

/// Whether a change with this key is about this group.
pub fn is_of(key: &str, group: &str) -> bool {
    let subject = key
        .split(' ')
        .nth(1)
        .and_then(|one| one.strip_prefix(GROUP));
    subject.is_some_and(|subject| subject == word(group))
}

/// The name of a chart that may be said by its address.
pub fn short(chart: &str) -> &str {
    chart.rsplit(['/', '#']).next().unwrap_or_default()
}

/// One pin and what it gets.
#[derive(Debug, Clone)]
pub struct Move {
    /// The pin.
    pub pin: Pin,
    /// What its version is of.
    pub chart: String,
    /// The new text; a range that takes the new version in already stays.
    pub to: String,
    /// The new version.
    pub version: String,
    /// What is newer still, and why it isn't taken.
    pub note: Option<String>,
}

/// A pin that stays, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// File and line.
    pub place: String,
    /// Why.
    pub why: String,
}

/// What a change is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verb {
    /// A newer version.
    #[default]
    Upgrade,
    /// The way on from a rejected release.
    Recover,
}

impl Verb {
    fn as_str(self) -> &'static str {
        match self {
            Self::Upgrade => "upgrade",
            Self::Recover => "recover",
        }
    }
}

/// Pins that move together: of one chart or group, in one environment where the repository has some.
#[derive(Debug, Clone, Default)]
pub struct Bundle {
    /// What it is for.
    pub verb: Verb,
    /// The chart's name or address, or the group's name.
    pub name: String,
    /// Whether it is of a group.
    pub is_group: bool,
    /// The environment.
    pub environment: Option<String>,
    /// The release, where there are several of the chart in one place.
    pub release: Option<String>,
    /// What moves.
    pub moves: Vec<Move>,
    /// What stays although something is newer.
    pub kept: Vec<Kept>,
    /// What of the group couldn't be asked about.
    pub unknown: BTreeSet<String>,
}

impl Bundle {
    /// What the change is about: never a version.
    pub fn key(&self) -> String {
        let group = if self.is_group { GROUP } else { "" };
        let environment = self.environment.as_ref();
        let environment = environment.map(|name| format!(" {}", word(name)));
        let release = self.release.as_ref();
        let release = release.map(|name| format!(" release:{}", word(name)));
        format!(
            "{} {group}{}{}{}",
            self.verb.as_str(),
            word(&self.name),
            environment.unwrap_or_default(),
            release.unwrap_or_default()
        )
    }

    /// The branch: two bundles never have the same. Names have no `--` of their own in it.
    pub fn branch(&self) -> String {
        let group = if self.is_group { "group--" } else { "" };
        let environment = self.environment.as_ref();
        let environment = environment.map(|name| format!("--{}", slug(name)));
        let release = self.release.as_ref();
        let release = release.map(|name| format!("--release--{}", slug(name)));
        format!(
            "{OFFERS}{}-{group}{}{}{}",
            self.verb.as_str(),
            slug(&self.name),
            environment.unwrap_or_default(),
            release.unwrap_or_default()
        )
    }

    pub(super) fn title(&self) -> String {
        let mut of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for one in &self.moves {
            let versions = of.entry(&one.chart).or_default();
            if !versions.contains(&one.version.as_str()) {
                versions.push(&one.version);
            }
        }
        let place = self.environment.as_ref().map(|name| format!(" in {name}"));
        let place = place.unwrap_or_default();
        if self.is_group {
            let all: Vec<String> = of
                .iter()
                .map(|(chart, versions)| format!("{chart} {}", versions.join(", ")))
                .collect();
            return format!("Upgrade {} ({}){place}", self.name, all.join("; "));
        }
        let mut versions = of.values().flatten();
        match (versions.next(), versions.next()) {
            (Some(one), None) => format!("Upgrade {} to {one}{place}", self.name),
            _ => format!("Upgrade {}{place}", self.name),
        }
    }
}

/// A name as one word of a key.
fn word(name: &str) -> String {
    if name.contains(char::is_whitespace) {
        format!("{name:?}")
    } else {
        name.to_owned()
    }
}

/// A name or address as a part of a branch's name. Where something of it is lost, a digest tells it from others.
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        let is_kept = c.is_ascii_alphanumeric() || c == '_' || c == '.' && !slug.ends_with('.');
        if is_kept {
            slug.push(c);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_matches(['-', '.']).replace(".lock", "-lock");
    if slug == name {
        return slug;
    }
    let digest = format!("{:x}", Sha256::digest(name));
    let dash = if slug.is_empty() { "" } else { "-" };
    format!("{slug}{dash}{}", &digest[..6])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch(name: &str, is_group: bool, environment: Option<&str>) -> String {
        let bundle = Bundle {
            name: name.to_owned(),
            is_group,
            environment: environment.map(str::to_owned),
            ..Bundle::default()
        };
        bundle.branch()
    }

    #[test]
    fn a_change_is_of_the_chart_that_its_key_names() {
        for (key, chart, is_it) in [
            ("recover haptic", "haptic", true),
            ("upgrade haptic prod", "oci://a.example/charts/haptic", true),
            ("upgrade oci://a.example/web", "web", true),
            ("upgrade oci://a.example/web", "oci://a.example/web", true),
            ("upgrade oci://a.example/web", "oci://b.example/web", false),
            ("upgrade group:web", "web", false),
            ("upgrade web-front", "web", false),
        ] {
            assert_eq!(is_of_chart(key, chart), is_it, "{key}: {chart}");
        }
        assert!(is_of("upgrade group:front prod", "front"));
        assert!(!is_of("upgrade front", "front"));
    }

    #[test]
    fn a_branch_is_named_after_what_it_is_about() {
        assert_eq!(
            branch("haptic", false, None),
            "haptic-scaffold/upgrade-haptic"
        );
        assert_eq!(
            branch("web", false, Some("prod")),
            "haptic-scaffold/upgrade-web--prod"
        );
        assert_eq!(
            branch("front", true, None),
            "haptic-scaffold/upgrade-group--front"
        );
        let of_address = branch("oci://r.example.org:5000/x/haptic", false, None);
        assert!(
            of_address.starts_with("haptic-scaffold/upgrade-oci-r.example.org-5000-x-haptic-"),
            "{of_address}"
        );
    }

    #[test]
    fn no_two_have_the_same_branch_and_git_takes_each() {
        let all = [
            branch("web", false, Some("prod")),
            branch("web-prod", false, None),
            branch("web--prod", false, None),
            branch("web", true, None),
            branch("group-web", false, None),
            branch("group--web", false, None),
            branch("web", false, Some("eu west")),
            branch("web", false, Some("eu-west")),
            branch("web", false, Some("本番")),
            branch("web", false, Some("v1..2")),
            branch("web", false, Some("a.lock")),
            branch("web.", false, None),
        ];
        let unique: BTreeSet<&String> = all.iter().collect();
        assert_eq!(unique.len(), all.len(), "{all:?}");
        for one in &all {
            let is_odd =
                one.contains("..") || one.ends_with(['.', '-', '/']) || one.contains(".lock");
            assert!(!is_odd && one.is_ascii(), "{one}");
        }
    }
}
