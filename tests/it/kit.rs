//! The test kit: real programs that lie beside the checkout, or where `HAPTIC_SCAFFOLD_TEST_KIT` says.

use std::path::{Path, PathBuf};

/// The folder of the kit.
pub fn folder() -> PathBuf {
    match std::env::var_os("HAPTIC_SCAFFOLD_TEST_KIT") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
    }
}

/// Finds a program of the kit's caches or of the PATH. Where it isn't there the test says so and ends; with `CI` set it fails.
pub fn program(name: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let folder = |variable: &str, below: &str| {
        std::env::var_os(variable)
            .map(PathBuf::from)
            .or_else(|| Some(cache.as_ref()?.join(below)))
    };
    let mut folders: Vec<PathBuf> = [
        folder("PEERS_BIN", "haptic-peers/bin"),
        folder("FIELD_BIN", "haptic-field/bin"),
    ]
    .into_iter()
    .flatten()
    .collect();
    folders.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let found = folders
        .into_iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file());
    if found.is_none() {
        missing(name);
    }
    found
}

/// A file or folder of the kit.
pub fn file(path: &str) -> Option<PathBuf> {
    let found = folder().join(path);
    if found.exists() {
        return Some(found);
    }
    missing(path);
    None
}

#[expect(clippy::print_stderr, reason = "what is skipped must be seen")]
fn missing(name: &str) {
    assert!(
        std::env::var_os("CI").is_none(),
        "no {name}: in CI nothing may be skipped"
    );
    eprintln!("skipped: no {name}");
}
