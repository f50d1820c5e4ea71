//! The tags of a chart in an OCI registry.
//!
//! Owns the tag list with its pages, and the exchange of a 401 for a token. It must not choose
//! among the tags. Start from [`versions`].

use serde::Deserialize;

use super::Published;
use super::challenge::{self, Challenge};
use super::credentials::{self, Credentials};
use super::error::RegistryError;
use super::http::{Ask, Http, Reply};
use super::link;
use super::url::Url;

const MAX_PAGES: usize = 100;
const JSON: &str = "application/json";

/// Lists all tags of a repository; `_` is read as `+`.
///
/// # Errors
///
/// A [`RegistryError`] when a page cannot be read or the list does not end.
pub(super) fn versions(
    http: &Http,
    credentials: &dyn Credentials,
    registry: &Url,
    repository: &str,
) -> Result<Vec<Published>, RegistryError> {
    let mut session = Session {
        http,
        credentials,
        registry,
        repository,
        aim: format!("list the tags of `{repository}`"),
        authorization: None,
    };
    let mut reply = session.first_page()?;
    let mut tags = read_page(&reply)?;
    for _ in 1..MAX_PAGES {
        let Some(next) = next_page(&reply)? else {
            return Ok(tags.iter().map(|tag| published(tag)).collect());
        };
        reply = session.page(&next)?.into_success()?;
        tags.extend(read_page(&reply)?);
    }
    match next_page(&reply)? {
        None => Ok(tags.iter().map(|tag| published(tag)).collect()),
        Some(_) => Err(reply.malformed(format!("the tag list has more than {MAX_PAGES} pages"))),
    }
}

/// The exchange with one registry about one repository.
struct Session<'a> {
    http: &'a Http,
    credentials: &'a dyn Credentials,
    registry: &'a Url,
    repository: &'a str,
    aim: String,
    authorization: Option<String>,
}

impl Session<'_> {
    /// Asks for large pages, and without a size where the registry refuses it.
    ///
    /// Old Distribution answers 400 to a size above its limit, Quay 413.
    fn first_page(&mut self) -> Result<Reply, RegistryError> {
        let path = format!("/v2/{}/tags/list", self.repository);
        let reply = self.page(&self.registry.with_target(format!("{path}?n=1000")))?;
        if !matches!(reply.status, 400 | 413) {
            return reply.into_success();
        }
        self.page(&self.registry.with_target(path))?.into_success()
    }

    /// Asks for one page, with a new authorization if the old one does not do.
    fn page(&mut self, url: &Url) -> Result<Reply, RegistryError> {
        let own = url.same_origin(self.registry);
        let reply = self.ask(url, own)?;
        // A link to another host gets no token, and what that host demands is not answered. The
        // same holds for a challenge that came after a redirect.
        if reply.status != 401 || !own || !reply.url.same_origin(self.registry) {
            return Ok(reply);
        }
        match self.authorize(&reply)? {
            Some(authorization) => self.authorization = Some(authorization),
            None => return Ok(reply),
        }
        self.ask(url, own)
    }

    fn ask(&self, url: &Url, own: bool) -> Result<Reply, RegistryError> {
        self.http.get(&Ask {
            aim: &self.aim,
            url,
            accept: JSON,
            authorization: self.authorization.as_deref().filter(|_| own),
        })
    }

    /// Turns a 401 into an authorization; `None` where no login is known that it asks for.
    fn authorize(&self, refused: &Reply) -> Result<Option<String>, RegistryError> {
        let challenges: Vec<Challenge> = refused
            .headers("www-authenticate")
            .flat_map(challenge::parse)
            .collect();
        if let Some(bearer) = challenges.iter().find(|c| c.is("Bearer")) {
            return self.fetch_token(refused, bearer).map(Some);
        }
        if challenges.iter().any(|c| c.is("Basic")) {
            return Ok(credentials::basic_for(self.credentials, self.registry));
        }
        Ok(None)
    }

    fn fetch_token(&self, refused: &Reply, bearer: &Challenge) -> Result<String, RegistryError> {
        let realm = bearer
            .parameter("realm")
            .ok_or_else(|| refused.malformed("it asks for a token but names no realm"))?;
        let realm = self
            .registry
            .follow(realm)
            .map_err(|reason| refused.unsafe_target(reason))?;
        let login = if credentials::may_receive_login(self.registry, &realm) {
            credentials::basic_for(self.credentials, self.registry)
        } else {
            None
        };
        let reply = self
            .http
            .get(&Ask {
                aim: &format!("get a token for `{}`", self.repository),
                url: &realm.with_target(self.token_target(&realm, bearer)),
                accept: JSON,
                authorization: login.as_deref(),
            })?
            .into_success()?;
        let token = read_token(&reply)?;
        Ok(format!("Bearer {token}"))
    }

    fn token_target(&self, realm: &Url, bearer: &Challenge) -> String {
        let default_scope = format!("repository:{}:pull", self.repository);
        let scopes = bearer.parameter("scope").unwrap_or(&default_scope);
        let service = bearer.parameter("service").map(|name| ("service", name));
        // Several scopes stand in one parameter of the challenge, but token services read one
        // scope from each parameter of the query.
        let scopes = scopes.split_ascii_whitespace().map(|one| ("scope", one));
        let mut target = realm.target().to_owned();
        for (name, value) in service.into_iter().chain(scopes) {
            target.push(if target.contains('?') { '&' } else { '?' });
            target.push_str(name);
            target.push('=');
            target.push_str(&percent_encode(value));
        }
        target
    }
}

fn read_page(reply: &Reply) -> Result<Vec<String>, RegistryError> {
    #[derive(Deserialize)]
    struct TagList {
        // Registries write null for a repository without tags.
        tags: Option<Vec<String>>,
    }
    serde_json::from_slice::<TagList>(&reply.body)
        .map(|list| list.tags.unwrap_or_default())
        .map_err(|error| reply.malformed(format!("it is no tag list: {error}")))
}

fn next_page(reply: &Reply) -> Result<Option<Url>, RegistryError> {
    let Some(reference) = reply.headers("link").find_map(link::next_reference) else {
        return Ok(None);
    };
    let next = reply
        .url
        .follow(reference)
        .map_err(|reason| reply.unsafe_target(reason))?;
    if next == reply.url {
        return Err(reply.malformed("its next page is the same page"));
    }
    Ok(Some(next))
}

fn read_token(reply: &Reply) -> Result<String, RegistryError> {
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
        .ok_or_else(|| reply.malformed("it holds no token"))
}

fn published(tag: &str) -> Published {
    Published {
        version: tag.replace('_', "+"),
        created: None,
    }
}

fn percent_encode(text: &str) -> String {
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
