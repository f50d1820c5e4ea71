//! An answer that was read completely: its status, and what its head says.
//!
//! Owns which error fits a status, and what a head asks for: to wait, to go elsewhere, to be kept.
//! Start from [`Reply`].

use ureq::http::{HeaderMap, HeaderValue, header};

use super::cache::Head;
use super::error::{Asked, RegistryError};
use super::http::Ask;
use crate::http::url::Url;

/// An answer that was read completely.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// The address that gave the answer, after redirects.
    pub(super) url: Url,
    pub(super) body: Vec<u8>,
    pub(super) headers: HeaderMap,
    pub(super) asked: Asked,
}

impl Reply {
    /// An answer of an earlier run that still holds.
    pub(super) fn kept(ask: &Ask<'_>, head: &Head, body: Vec<u8>) -> Self {
        let links = head.links.iter();
        let links = links.filter_map(|link| HeaderValue::from_str(link).ok());
        Self {
            status: 200,
            url: ask.url.clone(),
            body,
            headers: links.map(|link| (header::LINK, link)).collect(),
            asked: ask.asked(),
        }
    }

    /// What of the head is kept.
    pub(super) fn head(&self) -> Head {
        let first = |name| self.headers(name).next().map(str::to_owned);
        Head {
            etag: first("etag"),
            last_modified: first("last-modified"),
            links: self.headers("link").map(str::to_owned).collect(),
        }
    }

    /// Whether it can be asked for again by a validator, and nobody forbids to keep it.
    pub(super) fn may_be_kept(&self) -> bool {
        let forbids = |line: &str| line.to_ascii_lowercase().contains("no-store");
        self.head().has_validator() && !self.headers("cache-control").any(forbids)
    }

    /// Returns the values of a header, as far as they are text.
    pub(super) fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let values = self.headers.get_all(name).into_iter();
        values.filter_map(|value| value.to_str().ok())
    }

    /// Returns the reply if its status is 200.
    ///
    /// # Errors
    ///
    /// The [`RegistryError`] that fits the status.
    pub(super) fn into_success(self) -> Result<Self, RegistryError> {
        let (status, asked) = (self.status, self.asked.clone());
        let detail = self.detail();
        match status {
            200 => Ok(self),
            401 | 403 => Err(RegistryError::Denied {
                asked,
                status,
                detail,
                logins: None,
            }),
            404 => Err(RegistryError::NotFound { asked, detail }),
            _ => Err(RegistryError::Status {
                asked,
                status,
                detail,
            }),
        }
    }

    /// Makes the error for an answer that is not what it should be.
    pub(super) fn malformed(&self, reason: impl Into<String>) -> RegistryError {
        RegistryError::Malformed {
            asked: self.asked.clone(),
            reason: reason.into(),
        }
    }

    /// Makes the error for an answer that leads to an unsafe address.
    pub(super) fn unsafe_target(&self, reason: String) -> RegistryError {
        RegistryError::UnsafeTarget {
            asked: self.asked.clone(),
            reason,
        }
    }

    /// The address that the answer sends on to, if it does.
    pub(super) fn redirect(&self) -> Option<&str> {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        self.headers.get("location")?.to_str().ok()
    }

    /// Whether another try may help.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.status, 429 | 502 | 503 | 504)
    }

    /// The seconds that the server asks to wait.
    pub(super) fn retry_after(&self) -> Option<u64> {
        crate::http::retry_after(&self.headers)
    }

    /// Returns the first error of an OCI error body, cleaned for a terminal.
    fn detail(&self) -> Option<String> {
        let body: serde_json::Value = serde_json::from_slice(&self.body).ok()?;
        let error = body.get("errors")?.get(0)?;
        let text = |key| error.get(key).and_then(serde_json::Value::as_str);
        let words: Vec<&str> = [text("code"), text("message")]
            .into_iter()
            .flatten()
            .collect();
        let line: String = words
            .join(": ")
            .chars()
            .filter(|c| !c.is_control())
            .take(200)
            .collect();
        (!line.is_empty()).then_some(line)
    }
}
