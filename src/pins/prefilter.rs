//! Which files can have a pin at all, told by their name and bytes before anything is parsed.

use memchr::memmem;

/// Endings of files that finders know.
const ENDINGS: [&str; 6] = [".yaml", ".yml", ".json", ".tf", ".gotmpl", ".tpl"];

/// A generator may read a version under any name: files so small, in bytes, are looked at whatever they say. Those of Kubernetes have a word below anyway.
const SMALL: usize = 16 * 1024;

/// A larger file without any of these words has no pin.
const WORDS: [&[u8]; 8] = [
    b"ersion",
    b"repositories",
    b"tag",
    b"Tag",
    b"ref",
    b"Revision",
    b"digest",
    b"renovate:",
];

/// Whether a file of this name may have pins, whatever it says.
pub fn may_name_pins(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.ends_with(ending)) || name == "Kustomization"
}

/// Whether a file of this name and content may have pins.
pub fn may_have_pins(name: &str, content: &[u8]) -> bool {
    // Values of a chart may be versions under any name; kustomizations and helmfiles say what pins of other files depend on.
    let is_values = ["values", "kustomization.", "Kustomization", "helmfile"]
        .iter()
        .any(|start| name.starts_with(start));
    let is_utf16 = content.starts_with(&[0xff, 0xfe]) || content.starts_with(&[0xfe, 0xff]);
    let has_word = || {
        WORDS
            .iter()
            .any(|word| memmem::find(content, word).is_some())
    };
    may_name_pins(name) && (content.len() <= SMALL || is_values || is_utf16 || has_word())
}
