//! What the user has to know when an upgrade crosses a minor version.
//!
//! Owns the sentences, from the project's upgrade notes (0.2 to 0.5) and release notes (0.6 on).
//! It must not judge a version by itself: that is for [`super::versions`].

use semver::{Prerelease, Version};

use super::versions::{is_snapshot, without_build};

/// The notes of one minor version.
struct Minor {
    /// The minor of major version 0.
    minor: u64,
    /// One or more sentences.
    notes: &'static [&'static str],
}

/// The minors, ascending.
const MINORS: &[Minor] = &[
    Minor {
        minor: 2,
        notes: &[
            "0.2: settings at the root of the values moved under `controller.*`, and \
             `controller.defaultSSLCertificate` moved to the root.",
            "0.2: the default IngressClass and GatewayClass are renamed from `haproxy` to `haptic`: \
             set `ingressClass.name` and `gatewayClass.name` to keep existing routes.",
            "0.2: annotations of other vendors are read only when \
             `controller.templateLibraries` enables their library.",
        ],
    },
    Minor {
        minor: 3,
        notes: &[
            "0.3: HTTP/3 is on by default: allow UDP on the HTTPS port, or set \
             `extraContext.http3.enabled: false`.",
            "0.3: the timeouts and `ssl_redirect_default` under `extraContext` are renamed to \
             camelCase, and the old names fail the install.",
            "0.3: basic-auth Secrets accept only bcrypt, SHA-256/SHA-512 crypt and yescrypt hashes, \
             and host alias regexes must match the whole hostname.",
        ],
    },
    Minor {
        minor: 4,
        notes: &[
            "0.4: the chart has a strict `values.schema.json`: an unknown key or a value of the \
             wrong type, ignored before, fails the render.",
            "0.4: `auth-headers-request` no longer forwards header names with `_`, and Gateway \
             routes ignore `timeouts.request`.",
        ],
    },
    Minor {
        minor: 5,
        notes: &[
            "0.5: retained recovery works only after a 0.5 controller deployed a configuration \
             once: repair render errors before upgrading.",
        ],
    },
    Minor {
        minor: 6,
        notes: &[
            "0.6: needs Kubernetes 1.35 or newer, and HAProxy 3.1 is dropped.",
            "0.6: the container images moved from registry.gitlab.com: remove image overrides, and \
             check pull secrets, mirrors and egress rules.",
        ],
    },
    Minor {
        minor: 7,
        notes: &[
            "0.7: annotations with raw HAProxy configuration need an opt-in.",
            "0.7: an upgrade rolls the controller to the new image before it applies new templates.",
        ],
    },
    Minor {
        minor: 8,
        notes: &["0.8: nothing is known here about this version: read its release notes."],
    },
    Minor {
        minor: 9,
        notes: &["0.9: the chart pins image digests: a mirror must keep the image index."],
    },
    Minor {
        minor: 10,
        notes: &[
            "0.10: fixes the pre-rollout hook that failed every sync after a partial apply \
             (0.7 to 0.9).",
        ],
    },
];

/// The sentence for everything after the last row of [`MINORS`].
const BEYOND: &str =
    "after 0.10: nothing is known here about these versions: read their release notes.";

/// The sentence for a change from or to a snapshot.
const SNAPSHOT: &str = "a snapshot has no place in the order of versions: read the upgrade notes \
     of every minor version between.";

/// Returns the sentences of every minor version that an upgrade passes, oldest first.
///
/// A minor is passed when the old version is below its first stable release: the upgrade notes of
/// 0.2 are also for those who run one of its alphas. A downgrade passes none.
pub fn upgrade_notes(from: &Version, to: &Version) -> Vec<&'static str> {
    let (from, to) = (without_build(from), without_build(to));
    if from == to {
        return Vec::new();
    }
    if is_snapshot(&from) || is_snapshot(&to) {
        return vec![SNAPSHOT];
    }
    let mut notes: Vec<&'static str> = MINORS
        .iter()
        .filter(|row| from < Version::new(0, row.minor, 0) && first(row.minor) <= to)
        .flat_map(|row| row.notes.iter().copied())
        .collect();
    let last = MINORS.last().map_or(0, |row| row.minor);
    let beyond = (to.major, to.minor) > (0, last);
    if beyond && from < to && (from.major, from.minor) != (to.major, to.minor) {
        notes.push(BEYOND);
    }
    notes
}

/// Returns the lowest version of a minor, below each of its pre-releases.
fn first(minor: u64) -> Version {
    let pre = Prerelease::new("0").expect("0 is a valid pre-release");
    Version {
        pre,
        ..Version::new(0, minor, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the minors that the notes speak of.
    fn passed(from: &str, to: &str) -> Vec<&'static str> {
        let version = |text| Version::parse(text).unwrap();
        let mut minors: Vec<&str> = upgrade_notes(&version(from), &version(to))
            .iter()
            .map(|note| note.split(':').next().unwrap())
            .collect();
        minors.dedup();
        minors
    }

    #[test]
    fn every_minor_that_is_passed_has_a_note() {
        assert_eq!(passed("0.1.0", "0.5.0"), ["0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(
            passed("0.5.0", "0.10.0"),
            ["0.6", "0.7", "0.8", "0.9", "0.10"]
        );
        assert_eq!(passed("0.4.1", "0.5.0"), ["0.5"]);
    }

    #[test]
    fn alphas_still_have_to_read_the_notes_of_their_minor() {
        assert_eq!(passed("0.2.0-alpha.3", "0.2.2"), ["0.2"]);
        assert_eq!(passed("0.1.0", "0.2.0-alpha.4"), ["0.2"]);
    }

    #[test]
    fn patch_releases_and_downgrades_pass_nothing() {
        assert!(passed("0.2.0", "0.2.2").is_empty());
        assert!(passed("0.5.0", "0.2.2").is_empty());
        assert!(passed("0.2.2", "0.2.2+0123456789ab").is_empty());
        assert!(passed("0.12.0", "0.10.0").is_empty());
        assert!(passed("0.12.0", "0.12.1").is_empty());
    }

    #[test]
    fn unknown_minors_say_so() {
        assert_eq!(passed("0.10.0", "0.11.0"), ["after 0.10"]);
        assert_eq!(passed("0.9.0", "1.0.0"), ["0.10", "after 0.10"]);
    }

    #[test]
    fn snapshots_are_not_ordered() {
        let notes = passed("0.5.0", "0.0.0-main.a1b2c3d");
        assert_eq!(notes, ["a snapshot has no place in the order of versions"]);
    }
}
