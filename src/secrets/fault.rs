//! [`Fault`]: why a certificate and its key can't be used, and what to do now.

use std::fmt;

/// Which of the files a fault lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The file with the certificate.
    Certificate,
    /// The file with the key.
    Key,
}

/// Why a certificate and its key can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// DER where PEM is needed.
    Der(Part),
    /// Nothing of the kind in it.
    Nothing(Part),
    /// A block that can't be read.
    Broken(Part, String),
    /// A key in the file of the certificate.
    KeyInCertificate,
    /// The key is encrypted by a passphrase.
    EncryptedKey,
    /// The key belongs to another certificate.
    WrongKey { subject: String },
    /// The time of a certificate is over.
    Expired { subject: String, end: String },
    /// The time of a certificate has not begun.
    NotYet { subject: String, start: String },
    /// The leaf isn't the first.
    Order { first: String, leaf: String },
    /// A certificate that signs nothing before it.
    Stray { subject: String, after: String },
    /// The certificate isn't for the host.
    Host { host: String, names: Vec<String> },
    /// Who signed is neither in the file nor among the CAs.
    NoIntermediate { subject: String, issuer: String },
    /// A CA of the right name whose key didn't sign.
    NotSigned { subject: String, issuer: String },
    /// The chain is refused for another reason.
    Refused(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Der(_) => write!(f, "it is DER, not PEM"),
            Self::Nothing(Part::Certificate) => write!(
                f,
                "there is no certificate in it: a PEM file has a line `-----BEGIN CERTIFICATE-----`"
            ),
            Self::Nothing(Part::Key) => write!(
                f,
                "there is no private key in it: a PEM file has a line such as `-----BEGIN PRIVATE KEY-----`"
            ),
            Self::Broken(_, why) => write!(f, "it can't be read: {why}"),
            Self::KeyInCertificate => {
                write!(f, "there is a private key in it beside the certificate")
            }
            Self::EncryptedKey => write!(
                f,
                "the key is encrypted by a passphrase, and the controller can't type one"
            ),
            Self::WrongKey { subject } => {
                write!(f, "it is not the key of the certificate of `{subject}`")
            }
            Self::Expired { subject, end } => {
                write!(f, "the certificate of `{subject}` expired on {end}")
            }
            Self::NotYet { subject, start } => write!(
                f,
                "the certificate of `{subject}` is not valid before {start}"
            ),
            Self::Order { first, leaf } => write!(
                f,
                "the first certificate in it is that of the CA `{first}`, and the one of `{leaf}` comes after it"
            ),
            Self::Stray { subject, after } => write!(
                f,
                "the certificate of `{subject}` stands after that of `{after}` and did not sign it"
            ),
            Self::Host { host, names } if names.is_empty() => write!(
                f,
                "the certificate has no subjectAltName, and it has to be for the host `{host}`"
            ),
            Self::Host { host, names } => write!(
                f,
                "the certificate is for {}, and it has to be for the host `{host}`",
                names.join(", ")
            ),
            Self::NoIntermediate { subject, issuer } => write!(
                f,
                "the certificate of `{subject}` was signed by `{issuer}`, which is neither in the file nor the CA"
            ),
            Self::NotSigned { subject, issuer } => write!(
                f,
                "the CA `{issuer}` has the name of the one that signed `{subject}`, and its key did not sign it"
            ),
            Self::Refused(why) => write!(f, "the chain up to the CA is refused: {why}"),
        }
    }
}

impl Fault {
    /// Which file it lies in.
    pub fn part(&self) -> Part {
        match self {
            Self::Der(part) | Self::Nothing(part) | Self::Broken(part, _) => *part,
            Self::EncryptedKey | Self::WrongKey { .. } => Part::Key,
            _ => Part::Certificate,
        }
    }

    /// What to do now. `file` is the file of [`Fault::part`].
    pub fn hint(&self, file: &str) -> String {
        match self {
            Self::Der(Part::Certificate) => {
                format!("openssl x509 -inform der -in {file} -out {file}.pem")
            }
            Self::Der(Part::Key) => format!("openssl pkey -inform der -in {file} -out {file}.pem"),
            Self::Nothing(_) | Self::Broken(..) => {
                format!("look at what it is: openssl asn1parse -in {file}")
            }
            Self::KeyInCertificate => {
                "put the key into a file of its own, and leave the certificates alone in this one"
                    .to_owned()
            }
            Self::EncryptedKey => {
                format!("take the passphrase off: openssl pkey -in {file} -out {file}.plain")
            }
            Self::WrongKey { .. } => {
                "take the key that the certificate was requested with, or request a new certificate"
                    .to_owned()
            }
            Self::Expired { .. } => "have it renewed by the CA".to_owned(),
            Self::NotYet { .. } => "look at the clock of this machine, or wait".to_owned(),
            Self::Order { .. } | Self::Stray { .. } => {
                "the leaf comes first, then each certificate that signed the one before it"
                    .to_owned()
            }
            Self::Host { host, .. } => {
                format!("request one with `-addext subjectAltName=DNS:{host}`")
            }
            Self::NoIntermediate { issuer, .. } => format!(
                "append the certificate of `{issuer}` to the file, or give the CA that signed it: `--webhook-ca FILE`"
            ),
            Self::NotSigned { .. } => {
                "the CA was made anew, it seems: give the one that signed, `--webhook-ca FILE`"
                    .to_owned()
            }
            Self::Refused(_) => {
                format!("openssl x509 -noout -text -in {file} shows what is in it")
            }
        }
    }
}
