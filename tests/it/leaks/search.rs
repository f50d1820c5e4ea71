//! The search for secrets: in texts, in what was printed, and in all that git keeps.

use std::collections::BTreeSet;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{NEXT_PASSWORD, PASSWORD};
use crate::env::{Run, TestEnv};

/// Every form of the tests' secrets that may be found nowhere.
pub struct Secrets {
    forms: BTreeSet<String>,
}

impl Secrets {
    /// Of the passwords, and of the keys in the folder `keys`.
    pub fn of(env: &TestEnv) -> Self {
        let mut forms = BTreeSet::new();
        for password in [PASSWORD, NEXT_PASSWORD] {
            forms.extend(forms_of(password));
        }
        for key in ["webhook", "frontend"] {
            let pem = env.read(&format!("keys/{key}.key"));
            forms.insert(STANDARD.encode(&pem));
            let body: Vec<&str> = pem.lines().filter(|line| !line.contains("---")).collect();
            assert!(body.len() > 2, "{key}.key has a body");
            forms.extend(body.into_iter().flat_map(forms_of));
        }
        Self { forms }
    }

    /// The first one that stands in a text, also over broken lines, or in a text that is packed in a lock.
    fn found_in(&self, text: &str) -> Option<&str> {
        let texts = [text.to_owned(), unpacked(text), without_spaces(text)];
        let is_in = |form: &&String| texts.iter().any(|text| text.contains(form.as_str()));
        self.forms.iter().find(is_in).map(String::as_str)
    }

    pub fn assert_none(&self, place: &str, text: &str) {
        let found = self.found_in(text);
        assert_eq!(found, None, "{place} has a secret:\n{text}");
    }

    pub fn assert_none_printed(&self, place: &str, run: &Run) {
        self.assert_none(&format!("{place}: standard output"), &run.stdout);
        self.assert_none(&format!("{place}: standard error"), &run.stderr);
    }

    /// Looks through what git finds, every object, and every file with those of `.git`.
    pub fn assert_none_in_git(&self, env: &TestEnv, place: &str) {
        let patterns: Vec<&str> = self.forms.iter().map(String::as_str).collect();
        env.write("patterns", &patterns.join("\n"));
        let patterns = env.path("patterns").to_string_lossy().into_owned();
        let arguments = ["-C", "out", "grep", "-qFf", &patterns, "HEAD"];
        let grep = env.program("git", &arguments, "");
        assert_eq!((grep.code, grep.stderr.as_str()), (1, ""), "{place}: grep");
        self.assert_none(&format!("{place}: an object"), &objects(env));
        for entry in walkdir::WalkDir::new(env.path("out")) {
            let entry = entry.expect("readable");
            if entry.file_type().is_file() {
                let bytes = std::fs::read(entry.path()).expect("readable");
                let file = format!("{place}: {}", entry.path().display());
                self.assert_none(&file, &String::from_utf8_lossy(&bytes));
            }
        }
    }
}

/// As it is, in base64, and in base64 of base64, wherever in the encoded text it begins.
fn forms_of(secret: &str) -> BTreeSet<String> {
    let once = encodings(secret);
    let twice: Vec<String> = once.iter().flat_map(|form| encodings(form)).collect();
    let hexadecimal = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let plain = [
        secret.to_owned(),
        without_spaces(secret),
        STANDARD.encode(secret),
        hexadecimal(secret),
        hexadecimal(&once[0]),
    ];
    plain.into_iter().chain(once).chain(twice).collect()
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

/// What of the base64 of a longer text depends on the secret in it alone, for each of the three ways it can lie in it.
fn encodings(secret: &str) -> Vec<String> {
    let encode = |before: usize| {
        let encoded = STANDARD.encode([&b"   "[..before], secret.as_bytes()].concat());
        let end = (before + secret.len()) * 4 / 3;
        encoded[(before * 8).div_ceil(6)..end].to_owned()
    };
    (0..3).map(encode).collect()
}

/// The texts that a lock keeps packed, and nothing of another text.
fn unpacked(text: &str) -> String {
    let mut all = String::new();
    for packed in text.split('"').filter(|part| part.starts_with("eN")) {
        let bytes = STANDARD.decode(packed).unwrap_or_default();
        let mut reader = flate2::read::ZlibDecoder::new(bytes.as_slice());
        let _ = reader.read_to_string(&mut all).is_err();
    }
    all
}

/// The contents of all objects, loose and packed, reachable or not.
fn objects(env: &TestEnv) -> String {
    env.git("out", &["cat-file", "--batch-all-objects", "--batch"])
}

#[test]
fn the_search_finds_what_is_there() {
    let env = TestEnv::new();
    crate::golden::keys(&env);
    let secrets = Secrets::of(&env);
    env.git(".", &["init", "-q", "out"]);
    let texts = [
        PASSWORD.to_owned(),
        format!("a {NEXT_PASSWORD}\n"),
        env.read("keys/webhook.key"),
        STANDARD.encode(format!("ab{PASSWORD}xyz")),
        STANDARD.encode(STANDARD.encode(env.read("keys/frontend.key"))),
    ];
    for text in &texts {
        assert!(secrets.found_in(text).is_some(), "{text}");
        env.write("out/file", text);
        env.git("out", &["add", "file"]);
        env.git("out", &["commit", "-qm", "A secret"]);
        env.git("out", &["commit", "-q", "--amend", "-m", "None"]);
        assert!(secrets.found_in(&objects(&env)).is_some(), "{text}");
    }
    env.git("out", &["gc", "-q"]);
    assert!(secrets.found_in(&objects(&env)).is_some(), "packed");
    let certificate = env.read("keys/webhook.crt");
    assert_eq!(secrets.found_in(&certificate), None);
}

#[test]
fn a_lock_is_looked_into() {
    let env = TestEnv::new();
    crate::golden::keys(&env);
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, PASSWORD.as_bytes()).expect("packs");
    let packed = STANDARD.encode(encoder.finish().expect("packs"));
    let lock = format!("{{\"files\": {{\"a\": {{\"text\": \"{packed}\"}}}}}}");
    assert_eq!(Secrets::of(&env).found_in(&lock), Some(PASSWORD));
}
