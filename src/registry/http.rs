//! One GET with all that makes it safe: limits, retries, redirects.
//!
//! Owns the connection settings, time-outs, back-off and the rule that an `Authorization` header
//! never leaves its origin. It must not know registries or read bodies. Start from [`Http::get`].

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use ureq::Agent;
use ureq::http::{HeaderMap, Response};
use ureq::tls::{RootCerts, TlsConfig};

use super::error::{Asked, RegistryError};
use super::failure::{Failure, broken_body, no_answer};
use super::url::Url;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const WHOLE_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_BODY: u64 = 64 * 1024 * 1024;
const MAX_ERROR_BODY: u64 = 64 * 1024;
const MAX_TRIES: u32 = 3;
const MAX_REDIRECTS: usize = 5;
const MAX_WAIT_SECONDS: u64 = 30;

/// Waits between two tries; tests put another function here.
pub(super) type Pause = Box<dyn Fn(Duration) + Send + Sync>;

/// Sends requests.
pub(super) struct Http {
    agent: Agent,
    pause: Pause,
    max_body: u64,
}

/// One question to one address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a> {
    /// The aim for messages, as an infinitive.
    pub(super) aim: &'a str,
    pub(super) url: &'a Url,
    pub(super) accept: &'static str,
    /// The whole value of the `Authorization` header.
    pub(super) authorization: Option<&'a str>,
}

impl Ask<'_> {
    /// Returns the first half of an error message.
    pub(super) fn asked(&self) -> Asked {
        Asked {
            aim: self.aim.to_owned(),
            url: self.url.to_string(),
        }
    }
}

/// An answer that was read completely.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// The address that gave the answer, after redirects.
    pub(super) url: Url,
    pub(super) body: Vec<u8>,
    headers: HeaderMap,
    asked: Asked,
}

impl Http {
    /// Makes a client with the limits of this module.
    pub(super) fn new(user_agent: &str) -> Self {
        Self::with_limits(user_agent, Box::new(thread::sleep), MAX_BODY)
    }

    /// Makes a client with its own way to wait and its own limit for bodies.
    pub(super) fn with_limits(user_agent: &str, pause: Pause, max_body: u64) -> Self {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
            .build();
        let config = Agent::config_builder()
            .user_agent(user_agent)
            .tls_config(tls)
            .timeout_resolve(Some(CONNECT_TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(WHOLE_TIMEOUT))
            .http_status_as_error(false)
            // Redirects are followed below, where the rules for them can be seen and tested.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .build();
        Self {
            agent: config.new_agent(),
            pause,
            max_body,
        }
    }

    /// Asks, follows redirects and returns the last answer, whatever its status.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when no complete answer came, the server stayed busy, or a redirect is
    /// not safe.
    pub(super) fn get(&self, ask: &Ask<'_>) -> Result<Reply, RegistryError> {
        let mut url = ask.url.clone();
        let mut authorization = ask.authorization;
        for _ in 0..=MAX_REDIRECTS {
            let reply = self.get_patiently(&Ask {
                url: &url,
                authorization,
                ..*ask
            })?;
            let Some(location) = reply.redirect() else {
                return Ok(reply);
            };
            let next = url
                .follow(location)
                .map_err(|reason| RegistryError::UnsafeTarget {
                    asked: ask.asked(),
                    reason,
                })?;
            if !next.same_origin(ask.url) {
                authorization = None;
            }
            url = next;
        }
        Err(RegistryError::Malformed {
            asked: ask.asked(),
            reason: format!("more than {MAX_REDIRECTS} redirects"),
        })
    }

    fn get_patiently(&self, ask: &Ask<'_>) -> Result<Reply, RegistryError> {
        let mut tries = 1;
        loop {
            let wait = match self.get_once(ask) {
                Ok(reply) if !reply.is_busy() => return Ok(reply),
                Ok(reply) => {
                    let wanted = reply.retry_after();
                    if tries == MAX_TRIES || wanted.is_some_and(|s| s > MAX_WAIT_SECONDS) {
                        return Err(RegistryError::Busy {
                            asked: ask.asked(),
                            status: reply.status,
                            wait_seconds: wanted,
                        });
                    }
                    wanted.map_or_else(|| back_off(tries), Duration::from_secs)
                }
                Err(failure) if tries == MAX_TRIES || !failure.transient => {
                    return Err(failure.error);
                }
                Err(_) => back_off(tries),
            };
            (self.pause)(wait);
            tries += 1;
        }
    }

    fn get_once(&self, ask: &Ask<'_>) -> Result<Reply, Failure> {
        let mut request = self
            .agent
            .get(ask.url.request_text())
            .header("Accept", ask.accept);
        if let Some(authorization) = ask.authorization {
            request = request.header("Authorization", authorization);
        }
        // A proxy elsewhere would look for the loopback host on its own machine.
        let answer = if ask.url.is_loopback() {
            request.config().proxy(None).build().call()
        } else {
            request.call()
        };
        let mut response = answer.map_err(|error| no_answer(&ask.asked(), &error))?;
        let body = self.read_body(ask, &mut response)?;
        let (head, _) = response.into_parts();
        Ok(Reply {
            status: head.status.as_u16(),
            url: ask.url.clone(),
            body,
            headers: head.headers,
            asked: ask.asked(),
        })
    }

    fn read_body(
        &self,
        ask: &Ask<'_>,
        response: &mut Response<ureq::Body>,
    ) -> Result<Vec<u8>, Failure> {
        let is_success = response.status().is_success();
        let limit = if is_success {
            self.max_body
        } else {
            MAX_ERROR_BODY
        };
        match response.body_mut().with_config().limit(limit).read_to_vec() {
            Ok(body) => Ok(body),
            Err(error) if is_success => Err(broken_body(ask.asked(), &error, limit)),
            // The status says enough; its page is only a detail.
            Err(_) => Ok(Vec::new()),
        }
    }
}

impl Reply {
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

    fn redirect(&self) -> Option<&str> {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        self.headers.get("location")?.to_str().ok()
    }

    fn is_busy(&self) -> bool {
        matches!(self.status, 429 | 502 | 503 | 504)
    }

    // The form with a date is left out: it needs a clock, and registries send seconds.
    fn retry_after(&self) -> Option<u64> {
        let value = self.headers.get("retry-after")?.to_str().ok()?;
        value.trim().parse().ok()
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

fn back_off(tries: u32) -> Duration {
    Duration::from_millis(500) * 2_u32.pow(tries - 1)
}
