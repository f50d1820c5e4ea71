//! The exchange with one OCI registry about one repository.
//!
//! Owns the answer to a 401: a token for a challenge, or the login itself. Tokens are kept for the
//! run. It must not know what is asked for. Start from [`Session`].

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::challenge::{self, Challenge};
use super::credentials::{self, Credentials};
use super::error::RegistryError;
use super::http::{Ask, Http};
use super::manifest;
use super::reply::Reply;
use crate::http::url::Url;

const JSON: &str = "application/json";

/// What registries gave, for each repository, as long as the program runs.
#[derive(Default)]
pub(super) struct Tokens {
    authorizations: Mutex<HashMap<String, SecretString>>,
    /// The token services that were not trusted with a login that is there.
    withheld: Mutex<HashMap<String, String>>,
    /// The logins that were refused, by a digest of place and login. Some services lock an account after a few.
    refused: Mutex<HashMap<String, RegistryError>>,
}

impl Tokens {
    fn get(&self, key: &str) -> Option<SecretString> {
        locked(&self.authorizations).get(key).cloned()
    }

    fn put(&self, key: &str, authorization: SecretString) {
        locked(&self.authorizations).insert(key.to_owned(), authorization);
    }

    fn withhold(&self, key: &str, service: &str) {
        locked(&self.withheld).insert(key.to_owned(), service.to_owned());
    }

    fn refuse(&self, key: String, error: &RegistryError) {
        locked(&self.refused).insert(key, error.clone());
    }

    /// Refuses a login that was refused before, with the same words.
    fn check(&self, key: &str, place: &Url) -> Result<(), RegistryError> {
        let refused = locked(&self.refused).get(key).cloned();
        refused.map_or(Ok(()), |error| {
            Err(error.again("log in again", &place.origin()))
        })
    }

    fn withheld_from(&self, key: &str) -> Option<String> {
        locked(&self.withheld).get(key).cloned()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The exchange with one registry about one repository.
#[derive(Clone, Copy)]
pub(super) struct Session<'a> {
    pub(super) http: &'a Http,
    pub(super) credentials: &'a dyn Credentials,
    pub(super) tokens: &'a Tokens,
    pub(super) registry: &'a Url,
    pub(super) repository: &'a str,
}

impl Session<'_> {
    /// Makes an address of the repository: `/v2/NAME/` and what follows.
    pub(super) fn url(&self, below: &str) -> Url {
        self.registry
            .with_target(format!("/v2/{}/{below}", self.repository))
    }

    /// Asks, with a new authorization if the old one does not do, and returns the last answer, whatever its status.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] when there is no answer, or the way to an authorization isn't safe.
    pub(super) fn get(&self, ask: &Ask<'_>) -> Result<Reply, RegistryError> {
        let own = ask.url.same_origin(self.registry);
        let key = self.key();
        let known = self.tokens.get(&key);
        let reply = self.ask(ask, known.as_ref().filter(|_| own))?;
        // A link to another host gets no token, and what that host demands is not answered. The
        // same holds for a challenge that came after a redirect.
        if reply.status != 401 || !own || !reply.url.same_origin(self.registry) {
            return Ok(reply);
        }
        let Some(authorization) = self.authorize(&reply)? else {
            return Ok(reply);
        };
        let reply = self.ask(ask, Some(&authorization))?;
        if reply.status != 401 {
            self.tokens.put(&key, authorization);
            return Ok(reply);
        }
        let text = authorization.expose_secret();
        match text.starts_with("Basic ") {
            true => self.judge_login(reply, refusal_key(self.registry, text)),
            false => Ok(reply),
        }
    }

    /// As [`Self::judge`], for an answer to a login: one that is refused is not sent again in this run.
    fn judge_login(&self, reply: Reply, key: String) -> Result<Reply, RegistryError> {
        let is_refused = reply.status == 401;
        self.judge(reply).inspect_err(|error| {
            if is_refused {
                self.tokens.refuse(key, error);
            }
        })
    }

    /// Asks and returns the answer if it is a success.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] as from [`Self::get`], or the one that fits the status.
    pub(super) fn success(&self, ask: &Ask<'_>) -> Result<Reply, RegistryError> {
        self.judge(self.get(ask)?)
    }

    /// Returns the answer if it is a success; a refusal says which logins were looked for.
    ///
    /// # Errors
    ///
    /// The [`RegistryError`] that fits the status.
    pub(super) fn judge(&self, reply: Reply) -> Result<Reply, RegistryError> {
        reply.into_success().map_err(|error| {
            error.with_logins(|| match self.tokens.withheld_from(&self.key()) {
                Some(service) => format!(
                    "a login for it is there and was not sent to `{service}`, which is neither the \
                     registry's host nor its parent domain"
                ),
                None => self.credentials.account_of_registry(&self.place()),
            })
        })
    }

    fn key(&self) -> String {
        format!("{} {}", self.registry, self.repository)
    }

    /// The registry and the repository as keys of configuration files have them.
    fn place(&self) -> String {
        format!("{}/{}", self.registry.host_and_port(), self.repository)
    }

    fn ask(
        &self,
        ask: &Ask<'_>,
        authorization: Option<&SecretString>,
    ) -> Result<Reply, RegistryError> {
        self.http.get(&Ask {
            authorization: authorization.map(|text| text.expose_secret()),
            ..*ask
        })
    }

    /// Turns a 401 into an authorization; `None` where no login is known that it asks for.
    fn authorize(&self, refused: &Reply) -> Result<Option<SecretString>, RegistryError> {
        let challenges: Vec<Challenge> = refused
            .headers("www-authenticate")
            .flat_map(challenge::parse)
            .collect();
        if let Some(bearer) = challenges.iter().find(|c| c.is("Bearer")) {
            return self.fetch_token(refused, bearer).map(Some);
        }
        if challenges.iter().any(|c| c.is("Basic")) {
            let login = credentials::for_registry(self.credentials, self.registry, &self.place());
            let basic = login.and_then(|login| login.basic());
            if let Some(text) = &basic {
                let key = refusal_key(self.registry, text.expose_secret());
                self.tokens.check(&key, self.registry)?;
            }
            return Ok(basic);
        }
        Ok(None)
    }

    fn fetch_token(
        &self,
        refused: &Reply,
        bearer: &Challenge,
    ) -> Result<SecretString, RegistryError> {
        let realm = bearer
            .parameter("realm")
            .ok_or_else(|| refused.malformed("it asks for a token but names no realm"))?;
        let realm = self
            .registry
            .follow(realm)
            .map_err(|reason| refused.unsafe_target(reason))?;
        let login = credentials::for_registry(self.credentials, self.registry, &self.place());
        let login = match credentials::may_receive_login(self.registry, &realm) {
            true => login,
            false => {
                if login.is_some() {
                    self.tokens.withhold(&self.key(), &realm.host_and_port());
                }
                None
            }
        };
        let aim = format!("get a token for `{}`", self.repository);
        let query = self.token_query(bearer);
        let form = login.as_ref().and_then(|login| login.refresh(&query));
        let basic = login.as_ref().and_then(credentials::Login::basic);
        let sent = match login.as_ref() {
            Some(credentials::Login::Basic(text) | credentials::Login::Identity(text)) => {
                Some(refusal_key(&realm, text.expose_secret()))
            }
            None => None,
        };
        if let Some(key) = &sent {
            self.tokens.check(key, &realm)?;
        }
        let target = realm.target();
        let joint = if target.contains('?') { '&' } else { '?' };
        let url = match &form {
            Some(_) => realm,
            None => realm.with_target(format!("{target}{joint}{query}")),
        };
        let ask = Ask {
            authorization: basic.as_ref().map(|text| text.expose_secret()),
            ..Ask::new(&aim, &url, JSON)
        };
        let reply = match form {
            Some(form) => self.http.post_form(&ask, &form)?,
            None => self.http.get(&ask)?,
        };
        let reply = match sent {
            Some(key) => self.judge_login(reply, key)?,
            None => self.judge(reply)?,
        };
        Ok(format!("Bearer {}", read_token(&reply)?.expose_secret()).into())
    }

    /// Service and scopes, as the query or the form of a token service has them.
    fn token_query(&self, bearer: &Challenge) -> String {
        let default_scope = format!("repository:{}:pull", self.repository);
        let scopes = bearer.parameter("scope").unwrap_or(&default_scope);
        let service = bearer.parameter("service").map(|name| ("service", name));
        // Several scopes stand in one parameter of the challenge, but token services read one
        // scope from each parameter of the query.
        let scopes = scopes.split_ascii_whitespace().map(|one| ("scope", one));
        let all = service.into_iter().chain(scopes);
        let all = all.map(|(name, value)| format!("{name}={}", percent_encode(value)));
        all.collect::<Vec<_>>().join("&")
    }
}

/// What a refused login is known by: no text of a login stays in memory for it.
fn refusal_key(place: &Url, login: &str) -> String {
    let both = Zeroizing::new(format!("{} {login}", place.origin()));
    manifest::hex(both.as_bytes())
}

fn read_token(reply: &Reply) -> Result<SecretString, RegistryError> {
    #[derive(Deserialize)]
    struct Answer {
        token: Option<String>,
        access_token: Option<String>,
    }
    // The parser's own message is left out: it could repeat a part of the token.
    let answer: Answer = serde_json::from_slice(&reply.body)
        .map_err(|_| reply.malformed("it is no token answer"))?;
    [answer.token, answer.access_token]
        .into_iter()
        .flatten()
        .find(|token| !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic()))
        .map(SecretString::from)
        .ok_or_else(|| reply.malformed("it holds no token"))
}

/// Writes a text so that it can stand in a query or a form.
pub(super) fn percent_encode(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'-' | b'_' | b'.' | b'~' | b':' | b'/' | b',' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            // Writing to a string cannot fail.
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
    out
}
