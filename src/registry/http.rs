//! One GET with all that makes it safe: limits, retries, redirects, and the answers of earlier runs.
//!
//! Owns the connection settings, time-outs, back-off and the rule that an `Authorization` header
//! never leaves its origin. It must not know registries or read bodies. Start from [`Http::get`].

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use ureq::Agent;
use ureq::http::{HeaderName, HeaderValue, Response, header};

use super::cache::{Cache, Head};
use super::error::{Asked, RegistryError};
use super::failure::{Failure, broken_body, no_answer};
use super::manifest;
use super::reply::Reply;
use crate::http::url::Url;
use crate::http::{sensitive, settings};

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
    cache: Cache,
    /// Hosts whose last question failed in all its tries.
    troubled: Mutex<BTreeMap<String, Trouble>>,
}

/// Why a host is asked less, or not at all, in the rest of the run.
#[derive(Debug, Clone)]
enum Trouble {
    /// It gave no answer, and said so at once: asking once more costs nothing.
    Silent,
    /// Waiting for it took long and came to nothing. It is not asked again.
    GivenUp(RegistryError),
}

/// Whether an answer is kept for later runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep<'a> {
    /// Not at all.
    No,
    /// As long as the source says, each time anew, that it is unchanged.
    WhileUnchanged,
    /// For ever, since the digest says what it is; the source isn't asked again.
    Digest(&'a str),
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
    pub(super) keep: Keep<'a>,
}

impl<'a> Ask<'a> {
    /// Makes a question without an authorization whose answer isn't kept.
    pub(super) fn new(aim: &'a str, url: &'a Url, accept: &'static str) -> Self {
        Self {
            aim,
            url,
            accept,
            authorization: None,
            keep: Keep::No,
        }
    }

    /// Returns the first half of an error message.
    pub(super) fn asked(&self) -> Asked {
        Asked {
            aim: self.aim.to_owned(),
            url: self.url.to_string(),
        }
    }
}

/// A form that is sent instead of only asking.
type Form<'a> = Option<&'a SecretString>;

impl Http {
    /// Makes a client with the limits of this module.
    pub(super) fn new(user_agent: &str, cache: Cache) -> Self {
        Self {
            cache,
            ..Self::with_limits(user_agent, Box::new(thread::sleep), MAX_BODY)
        }
    }

    /// Makes a client with its own way to wait and its own limit for bodies.
    pub(super) fn with_limits(user_agent: &str, pause: Pause, max_body: u64) -> Self {
        Self {
            agent: settings(user_agent, WHOLE_TIMEOUT).build().new_agent(),
            pause,
            max_body,
            cache: Cache::none(),
            troubled: Mutex::default(),
        }
    }

    /// Takes the folder that answers are kept in.
    #[cfg(test)]
    pub(super) fn with_cache(self, cache: Cache) -> Self {
        Self { cache, ..self }
    }

    /// Takes another time for a whole question.
    #[cfg(test)]
    pub(super) fn with_timeout(self, whole: Duration) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(whole))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .build();
        Self {
            agent: config.new_agent(),
            ..self
        }
    }

    /// Asks, follows redirects and returns the last answer, whatever its status.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when no complete answer came, the server stayed busy, or a redirect is
    /// not safe.
    pub(super) fn get(&self, ask: &Ask<'_>) -> Result<Reply, RegistryError> {
        let Keep::Digest(digest) = ask.keep else {
            return self.follow(ask);
        };
        if let Some((head, body)) = self.cache.get(digest) {
            return Ok(Reply::kept(ask, &head, body));
        }
        let reply = self.follow(ask)?;
        if reply.status == 200 && manifest::check(&reply.body, digest).is_ok() {
            self.cache.put(digest, &reply.head(), &reply.body);
        }
        Ok(reply)
    }

    /// Sends a form and returns the answer, whatever its status. Redirects are not followed.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when no complete answer came, or the server stayed busy.
    pub(super) fn post_form(
        &self,
        ask: &Ask<'_>,
        form: &SecretString,
    ) -> Result<Reply, RegistryError> {
        self.send_patiently(ask, Some(form))
    }

    fn follow(&self, ask: &Ask<'_>) -> Result<Reply, RegistryError> {
        let mut url = ask.url.clone();
        let mut keep = ask.keep;
        let mut authorization = ask.authorization;
        for _ in 0..=MAX_REDIRECTS {
            let step = Ask {
                url: &url,
                authorization,
                keep,
                ..*ask
            };
            let reply = self.send_patiently(&step, None)?;
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
            // The query of a redirect is a signature for this one time.
            if next.has_query() {
                keep = Keep::No;
            }
            url = next;
        }
        Err(RegistryError::Malformed {
            asked: ask.asked(),
            reason: format!("more than {MAX_REDIRECTS} redirects"),
        })
    }

    /// Tries again what may pass, and only once where the host was silent before. A host that was waited for in vain is not asked
    /// again: a hundred charts of one host must not wait a hundred times.
    fn send_patiently(&self, ask: &Ask<'_>, form: Form<'_>) -> Result<Reply, RegistryError> {
        let host = ask.url.host_and_port();
        let trouble = self.troubled().get(&host).cloned();
        let most = match trouble {
            Some(Trouble::GivenUp(error)) => {
                return Err(error.again("ask again", &ask.url.origin()));
            }
            Some(Trouble::Silent) => 1,
            None => MAX_TRIES,
        };
        let answer = self.send_tries(ask, form, most);
        let trouble = match &answer {
            Err(failure) if failure.in_vain => Some(Trouble::GivenUp(failure.error.clone())),
            Err(failure) if matches!(failure.error, RegistryError::Unreachable { .. }) => {
                Some(Trouble::Silent)
            }
            _ => None,
        };
        match trouble {
            Some(trouble) => self.troubled().insert(host, trouble),
            None => self.troubled().remove(&host),
        };
        answer.map_err(|failure| failure.error)
    }

    fn troubled(&self) -> MutexGuard<'_, BTreeMap<String, Trouble>> {
        self.troubled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send_tries(&self, ask: &Ask<'_>, form: Form<'_>, most: u32) -> Result<Reply, Failure> {
        let mut tries = 1;
        loop {
            let wait = match self.send_once(ask, form) {
                Ok(reply) if !reply.is_busy() => return Ok(reply),
                Ok(reply) => {
                    let wanted = reply.retry_after();
                    if tries == most || wanted.is_some_and(|s| s > MAX_WAIT_SECONDS) {
                        let error = RegistryError::Busy {
                            asked: ask.asked(),
                            status: reply.status,
                            wait_seconds: wanted,
                        };
                        return Err(Failure {
                            error,
                            transient: false,
                            in_vain: true,
                        });
                    }
                    wanted.map_or_else(|| back_off(tries), Duration::from_secs)
                }
                Err(failure) if tries == most || !failure.transient => {
                    return Err(failure);
                }
                Err(_) => back_off(tries),
            };
            (self.pause)(wait);
            tries += 1;
        }
    }

    fn send_once(&self, ask: &Ask<'_>, form: Form<'_>) -> Result<Reply, Failure> {
        let key = format!("{} {}", ask.accept, ask.url.request_text());
        let kept = match ask.keep {
            Keep::WhileUnchanged => self.cache.get(&key),
            Keep::No | Keep::Digest(_) => None,
        };
        let known = kept.as_ref().map(|(head, _)| head);
        let answer = self.call(ask, known, form);
        let mut response = answer.map_err(|error| no_answer(&ask.asked(), &error))?;
        let body = self.read_body(ask, &mut response)?;
        let (head, _) = response.into_parts();
        let status = head.status.as_u16();
        if let (304, Some((head, body))) = (status, kept) {
            return Ok(Reply::kept(ask, &head, body));
        }
        let reply = Reply {
            status,
            url: ask.url.clone(),
            body,
            headers: head.headers,
            asked: ask.asked(),
        };
        if ask.keep == Keep::WhileUnchanged && status == 200 && reply.may_be_kept() {
            self.cache.put(&key, &reply.head(), &reply.body);
        }
        Ok(reply)
    }

    fn call(
        &self,
        ask: &Ask<'_>,
        known: Option<&Head>,
        form: Form<'_>,
    ) -> Result<Response<ureq::Body>, ureq::Error> {
        let is_text = |text: &String| HeaderValue::from_str(text).ok();
        let headers = [
            (header::ACCEPT, HeaderValue::from_str(ask.accept).ok()),
            (header::AUTHORIZATION, ask.authorization.map(sensitive)),
            (
                header::IF_NONE_MATCH,
                known.and_then(|head| head.etag.as_ref().and_then(is_text)),
            ),
            (
                header::IF_MODIFIED_SINCE,
                known.and_then(|head| head.last_modified.as_ref().and_then(is_text)),
            ),
        ];
        let headers: Vec<(HeaderName, HeaderValue)> = headers
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        let address = ask.url.request_text();
        // A proxy elsewhere would look for the loopback host on its own machine.
        let is_here = ask.url.is_loopback();
        if let Some(form) = form {
            let request = with(self.agent.post(address), headers)
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
            let form = form.expose_secret();
            return match is_here {
                true => request.config().proxy(None).build().send(form),
                false => request.send(form),
            };
        }
        let request = with(self.agent.get(address), headers);
        match is_here {
            true => request.config().proxy(None).build().call(),
            false => request.call(),
        }
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

fn with<B>(
    request: ureq::RequestBuilder<B>,
    headers: Vec<(HeaderName, HeaderValue)>,
) -> ureq::RequestBuilder<B> {
    headers.into_iter().fold(request, |request, (name, value)| {
        request.header(name, value)
    })
}

fn back_off(tries: u32) -> Duration {
    Duration::from_millis(500) * 2_u32.pow(tries - 1)
}
