//! [`Mask`]: takes secrets out of what another program says.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret as _;
use zeroize::Zeroizing;

use super::SecretBytes;

/// A piece of this many bytes of a secret gives it away; shorter secrets count as a whole.
const PIECE: usize = 8;

/// Knows some secrets, and hides every line that has a piece of one, also in base64.
pub struct Mask {
    secrets: Vec<Zeroizing<Vec<u8>>>,
}

/// What stands for a line that is hidden.
const HIDDEN: &str = "(a line with a secret in it)";

impl Mask {
    /// For these secrets.
    pub fn of<'a>(secrets: impl IntoIterator<Item = &'a SecretBytes>) -> Self {
        let mut all = Vec::new();
        for secret in secrets {
            let value = secret.expose_secret();
            all.push(Zeroizing::new(STANDARD.encode(value).into_bytes()));
            all.push(Zeroizing::new(value.to_vec()));
        }
        Self { secrets: all }
    }

    /// Whether a whole secret stands in a text. One of a few characters doesn't count, since names have such words too.
    pub fn is_in(&self, text: &str) -> bool {
        self.secrets
            .iter()
            .filter(|secret| secret.len() >= PIECE)
            .any(|secret| {
                text.as_bytes()
                    .windows(secret.len())
                    .any(|at| at == secret.as_slice())
            })
    }

    /// The text with every line hidden that has a piece of a secret in it.
    pub fn apply(&self, text: &str) -> String {
        let mut pieces = HashSet::new();
        for secret in &self.secrets {
            let size = PIECE.min(secret.len());
            // A secret of a few characters is part of ordinary words; nothing so short is made here.
            if size >= 3 {
                pieces.extend(secret.windows(size).filter(|piece| !is_public(piece)));
            }
        }
        let has_secret = |line: &str| {
            (3..=PIECE).any(|size| {
                line.as_bytes()
                    .windows(size)
                    .any(|piece| pieces.contains(piece))
            })
        };
        let lines = text
            .lines()
            .map(|line| if has_secret(line) { HIDDEN } else { line });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// What every PEM file has says nothing.
fn is_public(piece: &[u8]) -> bool {
    let frame = "-----BEGIN ENCRYPTED RSA EC PRIVATE KEY----------END ENCRYPTED RSA EC PRIVATE KEY-----\n-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n";
    frame.as_bytes().windows(piece.len()).any(|at| at == piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_piece_of_a_secret_is_hidden() {
        let secret = SecretBytes::from(b"correct horse battery".to_vec());
        let short = SecretBytes::from(b"geheim".to_vec());
        let mask = Mask::of([&secret, &short]);
        let encoded = STANDARD.encode("correct horse battery");
        let said = format!(
            "failed\nvalue: correct horse\n--x={}\nrse batte\nein geheimnis\nhorse\n",
            &encoded[4..]
        );
        let hidden = mask.apply(&said);
        assert_eq!(hidden.matches(HIDDEN).count(), 4, "{hidden}");
        assert!(hidden.starts_with("failed\n") && hidden.ends_with("\nhorse"));
    }
}
