//! The keys whose values are secrets.

use super::haproxy;

/// Words whose value is hidden: as a part of a key, in any case.
const KEYS: [&str; 7] = [
    "pwd",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "cookie",
];
/// The same, however its words are put together: `apiKey`, `api_key`, `API-KEY`.
const JOINED: [&str; 10] = [
    "apikey",
    "basicauth",
    "accesskey",
    "privatekey",
    "authorization",
    "credential",
    "encryptionkey",
    "signingkey",
    "masterkey",
    "hmackey",
];
/// Shorter ones, as a word of their own within a key.
const SHORT: [&str; 9] = [
    "pass",
    "pw",
    "psk",
    "sig",
    "signature",
    "jwt",
    "session",
    "sessionid",
    "creds",
];
/// Behind these a value stands after a space.
const OPTIONS: [&str; 5] = [
    "password",
    "passwd",
    "passphrase",
    "authorization",
    "insecure-pw",
];

/// Whether the value of a key is hidden.
pub(super) fn is_secret(key: &str) -> bool {
    let lower = key.to_lowercase();
    // The name of a Secret is none.
    if lower.ends_with("name") || lower.ends_with("namespace") {
        return false;
    }
    let joined = || lower.replace(['_', '-'], "");
    KEYS.iter().any(|word| lower.contains(word))
        || JOINED.iter().any(|word| joined().contains(word))
        || lower.trim_start_matches('_') == "auth"
        || words(key).iter().any(|word| SHORT.contains(&word.as_str()))
}

/// The words of a key: `dbPass`, `db_pass`, `DB-PASS`.
fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in key.chars() {
        let is_split = !c.is_alphanumeric();
        if is_split || was_lower && c.is_uppercase() {
            words.push(String::new());
        }
        if let (false, Some(last)) = (is_split, words.last_mut()) {
            last.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words
}

/// Whether a value may follow behind a space.
pub(super) fn is_option(key: &str, previous: &str) -> bool {
    let is_flag = key.starts_with("--") && is_secret(key);
    let is_auth = key == "auth" && previous == "stats";
    let is_setting = haproxy::sets(previous) && is_secret(key);
    let is_scheme = ["basic", "bearer"].contains(&key);
    OPTIONS.iter().any(|option| key.ends_with(option))
        || is_flag
        || is_auth
        || is_scheme
        || is_setting
}
