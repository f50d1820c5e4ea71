//! One call to a forge's API, for every forge: the only place that sends something to one.
//!
//! Owns limits, retries, waiting, redirects, pages, and the rule that a login goes to the API's own origin alone. What may be done twice is sent again after a
//! broken connection or a gateway's status; anything else only where the server certainly did nothing: a rate limit, or no connection.
//! Sources: GitLab's, GitHub's and Gitea's REST documentation.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::Agent;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, header};

use super::Kind;
use super::detect::Place;
use super::error::ForgeError;
use super::token::{Token, login};
use super::unanswered::{Broken, broken};
use super::waits::{back_off, delay, is_limited};
use super::words;
use crate::http::url::Url;
use crate::http::{self, link, settings};

const WHOLE_TIMEOUT: Duration = Duration::from_secs(60);
const MOST_TRIES: u32 = 4;
const MOST_SECONDS: u64 = 30;
const MOST_REDIRECTS: u32 = 5;
const MOST_PAGES: u32 = 200;
const MOST_OF_A_BODY: u64 = 32 << 20;
const MOST_OF_AN_ERROR: u64 = 64 << 10;
const USER_AGENT: &str = concat!("haptic-scaffold/", env!("CARGO_PKG_VERSION"));

/// Hears of every call: method, path and status, never a token.
pub type Trace = Arc<dyn Fn(&str) + Send + Sync>;

/// Asks one forge.
pub(super) struct Http {
    kind: Kind,
    /// The project's page, for messages.
    shown: String,
    api: Url,
    agent: Agent,
    /// For what must not be sent twice: a kept connection that the server has closed meanwhile looks like one that broke after it acted.
    fresh: Agent,
    login: Option<(HeaderName, HeaderValue)>,
    token: Option<Token>,
    trace: Trace,
    pause: fn(Duration),
}

/// One call.
pub(super) struct Call<'a> {
    /// The aim for messages, as an infinitive.
    pub(super) aim: &'a str,
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) body: Option<Value>,
    /// Whether doing it twice is like doing it once.
    pub(super) repeats: bool,
}

/// An answer of success.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// Whether the call was more than a question.
    is_change: bool,
    url: Url,
}

impl Http {
    /// Takes the place and the token for it.
    ///
    /// # Errors
    /// When the place has no API, or the token would go over a network in clear.
    pub(super) fn new(
        place: &Place,
        token: Option<Token>,
        trace: Trace,
    ) -> Result<Self, ForgeError> {
        let shown = format!("{}/{}", place.web, place.project);
        let refused = |why: &str| ForgeError {
            aim: "ask the forge".to_owned(),
            address: shown.clone(),
            why: why.to_owned(),
            status: None,
            may_be_done: false,
            hint: Some("give the server's `https://` address by `--forge-url`".to_owned()),
        };
        let api = Url::parse(&place.api).ok_or_else(|| refused("its address can't be read"))?;
        if token.is_some() && !api.is_private_transport() {
            return Err(refused(
                "without TLS everybody on the way could read the token",
            ));
        }
        let client = || settings(USER_AGENT, WHOLE_TIMEOUT);
        Ok(Self {
            kind: place.kind,
            login: token.as_ref().map(|token| login(place.kind, token)),
            agent: client().build().new_agent(),
            fresh: client().max_idle_connections(0).build().new_agent(),
            shown,
            api,
            token,
            trace,
            pause: if cfg!(test) { |_| {} } else { thread::sleep },
        })
    }

    /// The address of a path below the API's base, with its query.
    pub(super) fn at(&self, path: &str) -> Url {
        let base = self.api.target().trim_end_matches('/');
        self.api.with_target(format!("{base}{path}"))
    }

    /// The API's base.
    pub(super) fn api(&self) -> &Url {
        &self.api
    }

    /// Asks for something.
    ///
    /// # Errors
    /// When no answer comes, or one that isn't success.
    pub(super) fn get(&self, aim: &str, path: &str) -> Result<Reply, ForgeError> {
        self.get_at(aim, self.at(path))
    }

    fn get_at(&self, aim: &str, url: Url) -> Result<Reply, ForgeError> {
        self.send(&Call {
            aim,
            method: Method::GET,
            url,
            body: None,
            repeats: true,
        })
    }

    /// Makes something new, which must not be made twice.
    ///
    /// # Errors
    /// When no answer comes, or one that isn't success.
    pub(super) fn post(&self, aim: &str, path: &str, body: Value) -> Result<Reply, ForgeError> {
        self.send(&Call {
            aim,
            method: Method::POST,
            url: self.at(path),
            body: Some(body),
            repeats: false,
        })
    }

    /// Changes something to be as it is told, by `PUT` or `PATCH`.
    ///
    /// # Errors
    /// When no answer comes, or one that isn't success.
    pub(super) fn change(
        &self,
        aim: &str,
        method: Method,
        path: &str,
        body: Value,
    ) -> Result<Reply, ForgeError> {
        self.send(&Call {
            aim,
            method,
            url: self.at(path),
            body: Some(body),
            repeats: true,
        })
    }

    /// Reads a list to its end, page by page.
    ///
    /// # Errors
    /// When a page can't be had, or the next one is said to be at another server.
    pub(super) fn pages<T: DeserializeOwned>(
        &self,
        aim: &str,
        path: &str,
    ) -> Result<Vec<T>, ForgeError> {
        match self.first_pages(aim, path, MOST_PAGES)? {
            (all, true) => Ok(all),
            (_, false) => {
                Err(self.fault(aim, format!("the list has more than {MOST_PAGES} pages")))
            }
        }
    }

    /// Reads a list page by page, but no more pages than these; and whether that was all of it.
    ///
    /// # Errors
    /// When a page can't be had, or the next one is said to be at another server.
    pub(super) fn first_pages<T: DeserializeOwned>(
        &self,
        aim: &str,
        path: &str,
        most: u32,
    ) -> Result<(Vec<T>, bool), ForgeError> {
        let mut all = Vec::new();
        let mut url = self.at(path);
        for _ in 0..most {
            let reply = self.get_at(aim, url)?;
            let page: Vec<T> = self.read(aim, &reply)?;
            all.extend(page);
            match self.next(aim, &reply)? {
                Some(next) => url = next,
                None => return Ok((all, true)),
            }
        }
        Ok((all, false))
    }

    /// Where the next page is, if there is one.
    fn next(&self, aim: &str, reply: &Reply) -> Result<Option<Url>, ForgeError> {
        let values = reply.headers.get_all(header::LINK).into_iter();
        let mut references = values.filter_map(|value| link::next_reference(value.to_str().ok()?));
        let Some(reference) = references.next() else {
            return Ok(None);
        };
        let next = reply.url.follow(reference).ok();
        match next.filter(|next| next.same_origin(&self.api)) {
            Some(next) => Ok(Some(next)),
            None => Err(self.fault(aim, "its next page is said to be at another server")),
        }
    }

    /// Reads an answer's JSON.
    ///
    /// # Errors
    /// When it isn't what it should be. What was to be changed is changed all the same.
    pub(super) fn read<T: DeserializeOwned>(
        &self,
        aim: &str,
        reply: &Reply,
    ) -> Result<T, ForgeError> {
        serde_json::from_slice(&reply.body).map_err(|why| {
            let is_page = reply.body.trim_ascii_start().starts_with(b"<");
            ForgeError {
                status: Some(reply.status),
                may_be_done: reply.is_change,
                hint: Some(
                    "is this the address of the forge's API? Tell it by `--forge-url`".to_owned(),
                ),
                ..self.fault(
                    aim,
                    match is_page {
                        true => "the answer is a page for browsers".to_owned(),
                        false => format!(
                            "the answer can't be read: {}",
                            self.masked(&why.to_string())
                        ),
                    },
                )
            }
        })
    }

    /// An error that isn't one of the server's.
    pub(super) fn fault(&self, aim: &str, why: impl Into<String>) -> ForgeError {
        ForgeError {
            aim: aim.to_owned(),
            address: self.shown.clone(),
            why: why.into(),
            status: None,
            may_be_done: false,
            hint: None,
        }
    }

    /// Waits, where a forge needs a moment for what it was just told.
    pub(super) fn wait(&self, tries: u32) {
        (self.pause)(back_off(tries));
    }

    /// Sends a call until there is an answer.
    ///
    /// # Errors
    /// When no answer comes, or one that isn't success.
    pub(super) fn send(&self, call: &Call<'_>) -> Result<Reply, ForgeError> {
        let mut url = call.url.clone();
        let (mut tries, mut redirects) = (1, 0);
        loop {
            let pause = match self.once(call, &url) {
                Ok(reply) if matches!(reply.status, 200..=299) => return Ok(reply),
                Ok(reply) if matches!(reply.status, 301 | 302 | 307 | 308) => {
                    redirects += 1;
                    url = self.moved(call, &reply, redirects)?;
                    continue;
                }
                Ok(reply) => match delay(call, &reply, tries) {
                    Some(seconds) if tries < MOST_TRIES && seconds.as_secs() <= MOST_SECONDS => {
                        seconds
                    }
                    wanted => return Err(self.refused(call, &reply, wanted)),
                },
                Err(broken) => {
                    let may_repeat = call.repeats || broken.is_unsent;
                    if !broken.is_passing || !may_repeat || tries == MOST_TRIES {
                        return Err(self.unanswered(call, &broken));
                    }
                    back_off(tries)
                }
            };
            (self.pause)(pause);
            tries += 1;
        }
    }

    fn once(&self, call: &Call<'_>, url: &Url) -> Result<Reply, Broken> {
        let outcome = self.exchange(call, url);
        let what = match &outcome {
            Ok(reply) => reply.status.to_string(),
            Err(broken) => format!("no answer: {}", broken.why),
        };
        let line = format!("{} {} {what}", call.method, url.target());
        (self.trace)(&self.masked(&line));
        outcome
    }

    fn exchange(&self, call: &Call<'_>, url: &Url) -> Result<Reply, Broken> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(url.request_text())
            .header(header::ACCEPT, accept(self.kind));
        if let Some((name, value)) = &self.login {
            request = request.header(name, value);
        }
        if call.body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = call.body.as_ref().map(Value::to_string).unwrap_or_default();
        let agent = match call.repeats {
            true => &self.agent,
            false => &self.fresh,
        };
        let answer = match call.body.is_some() {
            true => run(agent, request.body(body), url),
            false => run(agent, request.body(()), url),
        };
        let is_change = call.method != Method::GET;
        take(answer.map_err(|why| broken(&why))?, url, is_change)
    }

    /// Where a moved project is. Questions follow there with the login if it is the same server; what changes something doesn't.
    fn moved(&self, call: &Call<'_>, reply: &Reply, redirects: u32) -> Result<Url, ForgeError> {
        let location = http::text(&reply.headers, header::LOCATION.as_str());
        let next = location.and_then(|location| reply.url.follow(location).ok());
        let refused = |why: String| {
            ForgeError {
            status: Some(reply.status),
            hint: Some(
                "the project may have moved: give the remote its new address by `git remote set-url`"
                    .to_owned(),
            ),
            ..self.fault(call.aim, self.masked(&why))
        }
        };
        let Some(next) = next else {
            return Err(refused(
                "it is somewhere else, and where isn't said in a way that is safe to follow"
                    .to_owned(),
            ));
        };
        if !next.same_origin(&self.api) {
            return Err(refused(format!(
                "it is said to be at another server, `{}`",
                next.origin()
            )));
        }
        if call.method != Method::GET {
            return Err(refused(format!("it is now at `{next}`")));
        }
        if redirects > MOST_REDIRECTS {
            return Err(refused(format!(
                "it was sent on more than {MOST_REDIRECTS} times"
            )));
        }
        Ok(next)
    }

    fn refused(&self, call: &Call<'_>, reply: &Reply, wait: Option<Duration>) -> ForgeError {
        let said = self.masked(&words::said(&reply.body));
        let status = reply.status;
        let mut why = match said.is_empty() {
            true => format!("status {status}"),
            false => format!("{said} (status {status})"),
        };
        if let Some(wait) = wait.filter(|_| matches!(status, 403 | 429)) {
            why.push_str(&format!("; it asks to wait {} s", wait.as_secs()));
        }
        let is_limit = status == 403 && is_limited(&reply.headers);
        let known = if is_limit { 429 } else { status };
        ForgeError {
            status: Some(status),
            may_be_done: call.method != Method::GET && matches!(status, 500..=599),
            hint: words::hint(self.kind, known, self.token.as_ref()),
            ..self.fault(call.aim, why)
        }
    }

    fn unanswered(&self, call: &Call<'_>, broken: &Broken) -> ForgeError {
        ForgeError {
            may_be_done: call.method != Method::GET && !broken.is_unsent,
            hint: broken.hint.map(str::to_owned),
            ..self.fault(call.aim, self.masked(&broken.why))
        }
    }

    /// A server may repeat what it was sent.
    fn masked(&self, text: &str) -> String {
        match &self.token {
            Some(token) => text.replace(token.secret.expose_secret(), "***"),
            None => text.to_owned(),
        }
    }
}

fn accept(kind: Kind) -> &'static str {
    match kind {
        Kind::Github => "application/vnd.github+json",
        Kind::Gitlab | Kind::Gitea | Kind::Local => "application/json",
    }
}

fn run<B: ureq::AsSendBody>(
    agent: &Agent,
    request: Result<Request<B>, ureq::http::Error>,
    url: &Url,
) -> Result<Response<ureq::Body>, ureq::Error> {
    let request = request.map_err(ureq::Error::from)?;
    // A proxy elsewhere would look for the loopback host on its own machine.
    if url.is_loopback() {
        let request = agent.configure_request(request).proxy(None).build();
        return agent.run(request);
    }
    agent.run(request)
}

fn take(mut response: Response<ureq::Body>, url: &Url, is_change: bool) -> Result<Reply, Broken> {
    let status = response.status();
    let limit = match status.is_success() {
        true => MOST_OF_A_BODY,
        false => MOST_OF_AN_ERROR,
    };
    let body = match response.body_mut().with_config().limit(limit).read_to_vec() {
        Ok(body) => body,
        Err(why) if status.is_success() => {
            let is_too_long = matches!(why, ureq::Error::BodyExceedsLimit(_));
            return Err(Broken {
                why: match is_too_long {
                    true => "the answer is too long".to_owned(),
                    false => "the answer is cut off or damaged".to_owned(),
                },
                hint: None,
                is_unsent: false,
                is_passing: !is_too_long,
            });
        }
        // The status says enough; its words are only a detail.
        Err(_) => Vec::new(),
    };
    Ok(Reply {
        status: status.as_u16(),
        headers: response.headers().clone(),
        body,
        is_change,
        url: url.clone(),
    })
}

#[cfg(test)]
#[path = "tests_http.rs"]
mod tests;
