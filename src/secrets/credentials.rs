//! User and password between HAPTIC's controller and HAProxy.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret as _;
use thiserror::Error;
use zeroize::{Zeroize as _, Zeroizing};

use super::SecretBytes;

/// The user name of HAPTIC's guide, which is also the chart's default.
pub const USER: &str = "admin";

/// As many random bytes as the guide takes (`openssl rand -base64 32`).
const RANDOM_BYTES: usize = 32;

/// Why a text can't be a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PasswordFault {
    /// It has no character.
    #[error("it is empty")]
    Empty,
    /// It has a line break or another control character.
    #[error("it has a line break or another control character in it, and a password is one line")]
    Control,
    /// It isn't UTF-8.
    #[error("it is not UTF-8 text")]
    NotText,
}

/// A password from the system's random source: 32 bytes, as base64.
///
/// # Panics
/// When the system has no randomness, and then nothing may be made.
pub fn random_password() -> SecretBytes {
    let mut random = Zeroizing::new([0_u8; RANDOM_BYTES]);
    aws_lc_rs::rand::fill(random.as_mut_slice()).expect("the system's random source works");
    SecretBytes::from(STANDARD.encode(random.as_slice()).into_bytes())
}

/// The password of a file's content: without the line end that editors put there.
///
/// # Errors
/// When there is none in it, or more than one line.
pub fn given_password(mut content: Vec<u8>) -> Result<SecretBytes, PasswordFault> {
    let password = judge(&content).map(|length| SecretBytes::from(content[..length].to_vec()));
    content.zeroize();
    password
}

fn judge(content: &[u8]) -> Result<usize, PasswordFault> {
    let text = std::str::from_utf8(content).map_err(|_| PasswordFault::NotText)?;
    let line = text.strip_suffix('\n').unwrap_or(text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() {
        Err(PasswordFault::Empty)
    } else if line.chars().any(char::is_control) {
        Err(PasswordFault::Control)
    } else {
        Ok(line.len())
    }
}

/// The same value once more.
pub fn copy(value: &SecretBytes) -> SecretBytes {
    SecretBytes::from(value.expose_secret().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_long_and_never_the_same() {
        let [one, other] = [random_password(), random_password()];
        assert_eq!(one.expose_secret().len(), 44);
        assert_ne!(one.expose_secret(), other.expose_secret());
    }

    #[test]
    fn a_given_password_is_its_line_without_the_line_end() {
        for (content, wanted) in [("a b", "a b"), ("x\n", "x"), ("x\r\n", "x")] {
            let password = given_password(content.into()).expect("good");
            assert_eq!(password.expose_secret(), wanted.as_bytes());
        }
        for (content, fault) in [
            (&b"\n"[..], PasswordFault::Empty),
            (b"a\nb\n", PasswordFault::Control),
            (b"\xff", PasswordFault::NotText),
        ] {
            assert_eq!(given_password(content.into()).err(), Some(fault));
        }
    }
}
