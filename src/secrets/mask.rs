//! [`Mask`]: takes secrets out of what another program says.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret as _;
use zeroize::Zeroizing;

use super::SecretBytes;

/// A piece of this many bytes of a secret gives it away; shorter secrets count as a whole.
const PIECE: usize = 8;

/// Knows some secrets, and hides a text that has a piece of one, also in base64 or hexadecimal.
pub struct Mask {
    secrets: Vec<Zeroizing<Vec<u8>>>,
}

/// What stands for a text that is hidden.
const HIDDEN: &str = "(not shown: a secret stands in it)";

impl Mask {
    /// For these secrets.
    pub fn of<'a>(secrets: impl IntoIterator<Item = &'a SecretBytes>) -> Self {
        let copy = |secret: &SecretBytes| Zeroizing::new(secret.expose_secret().to_vec());
        Self {
            secrets: secrets.into_iter().map(copy).collect(),
        }
    }

    /// Whether a whole secret stands in a text. One of a few characters doesn't count, since names have such words too.
    pub fn is_in(&self, text: &str) -> bool {
        let has = |form: &Zeroizing<Vec<u8>>| {
            form.len() >= PIECE
                && text
                    .as_bytes()
                    .windows(form.len())
                    .any(|at| at == form.as_slice())
        };
        self.secrets
            .iter()
            .any(|secret| forms(secret).iter().any(has))
    }

    /// The text, or what stands for it where it has a piece of a secret. Nothing of it is shown then: who prints one line of a secret prints others too.
    pub fn apply<'a>(&self, text: &'a str) -> &'a str {
        // Lines may be broken anywhere.
        let joined = Zeroizing::new(without_spaces(text.as_bytes()));
        let texts = [text.as_bytes(), joined.as_slice()];
        if texts.iter().any(|text| self.has_piece(text)) {
            HIDDEN
        } else {
            text
        }
    }

    fn has_piece(&self, text: &[u8]) -> bool {
        let pieces: HashSet<&[u8]> = text.windows(PIECE).collect();
        let has = |form: &Zeroizing<Vec<u8>>| {
            let mut windows = form.windows(PIECE);
            match form.len() {
                // A secret of two characters is part of ordinary words; nothing so short is made here.
                0..3 => false,
                3..PIECE => text.windows(form.len()).any(|at| at == form.as_slice()),
                _ => windows.any(|piece| pieces.contains(piece) && !is_public(piece)),
            }
        };
        self.secrets
            .iter()
            .any(|secret| forms(secret).iter().any(has))
    }
}

/// A secret as it is, and what of it stands in an encoding of a text around it: once encoded, as in a manifest, or twice, as in an encoded manifest.
fn forms(secret: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let once: Vec<_> = (0..3).map(|before| in_base64(secret, before)).collect();
    let hexadecimal = |bytes: &[u8]| {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Zeroizing::new(digits.into_bytes())
    };
    let mut forms = vec![
        Zeroizing::new(without_spaces(secret)),
        hexadecimal(secret),
        hexadecimal(&once[0]),
        Zeroizing::new(secret.to_vec()),
    ];
    for form in &once {
        forms.extend((0..3).map(|before| in_base64(form, before)));
    }
    forms.extend(once);
    forms
}

/// The digits of base64 that depend on the secret alone, with so many bytes of another text before it.
fn in_base64(secret: &[u8], before: usize) -> Zeroizing<Vec<u8>> {
    let padded = Zeroizing::new([&[0; 2][..before], secret].concat());
    let encoded = Zeroizing::new(STANDARD.encode(padded.as_slice()));
    let (start, end) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    Zeroizing::new(encoded.as_bytes()[start.min(end)..end].to_vec())
}

fn without_spaces(text: &[u8]) -> Vec<u8> {
    let is_kept = |byte: &&u8| !byte.is_ascii_whitespace();
    text.iter().filter(is_kept).copied().collect()
}

/// What every PEM file has says nothing.
fn is_public(piece: &[u8]) -> bool {
    let frame = b"-----BEGIN ENCRYPTED RSA EC PRIVATE KEY----------END ENCRYPTED RSA EC PRIVATE KEY-----\n-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n";
    let stands_in = |frame: &[u8]| frame.windows(piece.len()).any(|at| at == piece);
    stands_in(frame) || stands_in(&without_spaces(frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_a_piece_of_a_secret_is_hidden() {
        let secret = SecretBytes::from(b"correct horse battery".to_vec());
        let short = SecretBytes::from(b"geheim".to_vec());
        let mask = Mask::of([&secret, &short]);
        let encoded = STANDARD.encode("x: correct horse battery");
        let twice = STANDARD.encode(format!("value: {encoded}"));
        let hexadecimal = "20 68 6f 72 73 65\n20 62 61 74";
        for said in [
            "failed\nvalue: correct horse\n",
            "rse batte",
            "ein geheimnis",
            &encoded[8..20],
            &encoded,
            &twice,
            "cor\nrec\nt h\nors\n",
            hexadecimal,
        ] {
            assert_eq!(mask.apply(said), HIDDEN, "{said}");
        }
        for said in ["failed\nhorse\n", "-----BEGIN PRIVATE KEY-----", ""] {
            assert_eq!(mask.apply(said), said);
        }
    }

    #[test]
    fn the_frame_of_a_key_is_no_secret() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END PRIVATE KEY-----\n";
        let mask = Mask::of([&SecretBytes::from(key.as_bytes().to_vec())]);
        let said = "no -----BEGIN PRIVATE KEY----- here";
        assert_eq!(mask.apply(said), said);
        assert_eq!(mask.apply("MIGHAgEAMB"), HIDDEN);
    }
}
