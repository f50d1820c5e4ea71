//! The rules of `docs/architecture.md` that no linter knows: who may know whom, and what pure code must not touch.

use std::path::{Path, PathBuf};

/// A module, and the modules that it must not know.
const DIRECTION: [(&str, &[&str]); 17] = [
    (
        "model",
        &[
            "haptic", "layout", "plan", "command", "git", "registry", "ui", "cli", "world",
        ],
    ),
    (
        "yaml",
        &[
            "haptic", "layout", "plan", "command", "git", "registry", "ui", "cli", "world",
        ],
    ),
    (
        "haptic",
        &[
            "layout", "plan", "command", "git", "registry", "ui", "cli", "world",
        ],
    ),
    (
        "layout",
        &["plan", "command", "git", "registry", "ui", "cli", "world"],
    ),
    (
        "plan",
        &["command", "git", "registry", "ui", "cli", "world"],
    ),
    (
        "pins",
        &[
            "layout", "secrets", "plan", "command", "git", "registry", "cluster", "sops", "ui",
            "cli", "world",
        ],
    ),
    (
        "observe",
        &[
            "yaml", "layout", "secrets", "pins", "plan", "command", "git", "registry", "cluster",
            "forge", "sops", "ui", "cli", "world",
        ],
    ),
    (
        "secrets",
        &[
            "layout", "plan", "command", "git", "registry", "cluster", "sops", "ui", "cli", "world",
        ],
    ),
    (
        "sops",
        &[
            "layout", "plan", "command", "git", "registry", "cluster", "ui", "cli", "world",
        ],
    ),
    (
        "helm",
        &[
            "layout", "secrets", "plan", "command", "git", "registry", "cluster", "ui", "cli",
            "world",
        ],
    ),
    (
        "preflight",
        &[
            "layout", "secrets", "pins", "plan", "command", "git", "registry", "cluster", "ui",
            "cli", "world",
        ],
    ),
    (
        "http",
        &[
            "model", "yaml", "haptic", "layout", "secrets", "pins", "plan", "command", "git",
            "registry", "cluster", "forge", "ui", "cli", "world",
        ],
    ),
    ("git", &["command", "registry", "ui", "cli", "world"]),
    (
        "registry",
        &["layout", "plan", "command", "git", "ui", "cli", "world"],
    ),
    (
        "cluster",
        &[
            "yaml", "haptic", "layout", "plan", "command", "git", "registry", "ui", "cli", "world",
        ],
    ),
    (
        "forge",
        &[
            "yaml", "haptic", "layout", "pins", "plan", "command", "git", "registry", "cluster",
            "ui", "cli", "world",
        ],
    ),
    ("ui", &["command", "git", "registry", "cli", "world"]),
];

/// Pure code: no files, environment, clock, network, processes or printing.
const PURE: [&str; 8] = [
    "model", "yaml", "haptic", "layout", "secrets", "pins", "observe", "plan",
];
const EFFECTS: [&str; 10] = [
    "std::fs",
    "std::env::",
    "std::net",
    "std::process",
    "std::time::",
    "git2::",
    "ureq::",
    "println!",
    "print!(",
    "tokio",
];

/// A file is one noun or one verb.
const MOST_LINES: usize = 480;

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src")
        .join(folder);
    let walk = walkdir::WalkDir::new(root)
        .into_iter()
        .map(|entry| entry.expect("readable"));
    walk.filter(|entry| {
        entry
            .path()
            .extension()
            .is_some_and(|ending| ending == "rs")
    })
    .map(|entry| {
        (
            entry.path().to_owned(),
            std::fs::read_to_string(entry.path()).expect("text"),
        )
    })
    .collect()
}

/// The code without its comments.
fn code(text: &str) -> String {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn modules_know_only_those_below_them() {
    let mut wrong = Vec::new();
    for (module, strangers) in DIRECTION {
        for (path, text) in sources(module) {
            let code = code(&text);
            for stranger in strangers
                .iter()
                .filter(|stranger| code.contains(&format!("crate::{stranger}::")))
            {
                wrong.push(format!("{}: knows `{stranger}`", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pure_modules_touch_nothing_outside() {
    let mut wrong = Vec::new();
    for module in PURE {
        for (path, text) in sources(module) {
            let code = code(&text);
            for effect in EFFECTS.iter().filter(|effect| code.contains(**effect)) {
                wrong.push(format!("{}: {effect}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_says_what_it_owns_and_stays_short() {
    for (path, text) in sources("") {
        assert!(
            text.starts_with("//!"),
            "{}: no module documentation",
            path.display()
        );
        assert!(
            text.lines().count() <= MOST_LINES,
            "{}: {} lines",
            path.display(),
            text.lines().count()
        );
        assert!(
            !text.contains("#[allow("),
            "{}: #[expect] with a reason instead",
            path.display()
        );
    }
}

/// A Rust toolchain, git and a C compiler have to be enough: one TLS stack, and none of the system's.
#[test]
fn nothing_needs_the_systems_openssl() {
    let lock = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock"))
        .expect("text");
    for unwanted in ["openssl-sys", "native-tls", "libssh2-sys"] {
        assert!(
            !lock.contains(&format!("name = \"{unwanted}\"")),
            "{unwanted}"
        );
    }
}
