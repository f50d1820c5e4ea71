//! A connection by smart HTTP: one question what the server has, one message with commands and pack.
//!
//! Owns the retries, the redirects, the answer to a 401, and the rule that a login goes to the remote's own origin alone and never in the clear over
//! a network. Source: git's `gitprotocol-http`. TLS and certificates are those of every other request of the program, the proxy is curl's and git's.

use std::io::Read;
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};
use ureq::http::{HeaderValue, Response, header};
use ureq::{Agent, Proxy};
use zeroize::Zeroizing;

use super::Service;
use super::address::{HttpAddress, Origin};
use super::channel::{FETCH_LIMIT, LIST_LIMIT, PUSH_LIMIT};
use super::error::Why;
use super::login::{GitLogin, Login};
use super::packets::{Advertisement, Answer, Packet, first};
use super::reply::{Reply, no_answer};
use crate::http::{sensitive, settings};
use crate::model::env::Env;
use crate::model::proxy::{Rules, is_direct, with_scheme};

const MOST_TRIES: u32 = 3;
const MOST_REDIRECTS: u32 = 5;
const MOST_SECONDS: u64 = 30;
const USER_AGENT: &str = concat!("git/haptic-scaffold-", env!("CARGO_PKG_VERSION"));

/// A connection to one service of one repository.
pub(super) struct Http<'a> {
    agent: Agent,
    env: &'a Env,
    login: &'a dyn GitLogin,
    service: Service,
    /// The remote as it was given: the only origin that gets a login.
    own: &'a HttpAddress,
    /// Where a redirect led.
    base: HttpAddress,
    sent: Option<Login>,
    pause: fn(Duration),
}

impl<'a> Http<'a> {
    pub(super) fn new(
        own: &'a HttpAddress,
        service: Service,
        env: &'a Env,
        login: &'a dyn GitLogin,
    ) -> Self {
        let config = settings(USER_AGENT, PUSH_LIMIT)
            // Each request has its own, since a redirect may lead to a host with another one.
            .proxy(None)
            // A connection that the server has closed meanwhile looks like one that broke while pushing.
            .max_idle_connections(0)
            .build();
        Self {
            agent: config.new_agent(),
            env,
            login,
            service,
            own,
            base: own.clone(),
            sent: None,
            pause: if cfg!(test) { |_| {} } else { thread::sleep },
        }
    }

    /// Asks what the server has.
    ///
    /// # Errors
    /// When no answer comes in a few tries, or not one of a Git server.
    pub(super) fn advertisement(&mut self) -> Result<Advertisement, Why> {
        let mut redirects = 0;
        let mut tries = 1;
        loop {
            let answer = self.call(None).map(|response| self.take(response));
            let answer = answer.and_then(|mut reply| match reply.cut.take() {
                Some(why) if reply.status == 200 => Err(why),
                _ => Ok(reply),
            });
            let reply = match answer {
                Err(why) if why.is_broken() && tries < MOST_TRIES => {
                    (self.pause)(back_off(tries));
                    tries += 1;
                    continue;
                }
                other => other?,
            };
            match reply.status {
                200 => {
                    let read = read(self.service, &reply.body);
                    return read.map_err(|why| self.masked_why(why));
                }
                401 => self.log_in(&reply.words)?,
                301 | 302 | 303 | 307 | 308 if redirects < MOST_REDIRECTS => {
                    redirects += 1;
                    self.follow(&reply)?;
                }
                429 | 502 | 503 | 504 if tries < MOST_TRIES => self.wait(&reply, &mut tries)?,
                _ => return Err(self.refused(&reply)),
            }
        }
    }

    /// Sends commands and reads the whole answer. What may have been carried out isn't sent again here.
    ///
    /// # Errors
    /// [`Why::NoAnswer`] and its like when nobody knows what the server did; any status of 500 and above too.
    pub(super) fn exchange(
        &mut self,
        server: &Advertisement,
        request: &[u8],
    ) -> Result<Answer, Why> {
        let mut tries = 1;
        loop {
            let response = self.call(Some(request))?;
            let reply = self.take(response);
            match reply.status {
                200 => {
                    let cut = reply.cut;
                    let cut =
                        || cut.unwrap_or_else(|| Why::NoAnswer("its report is cut off".to_owned()));
                    let answer = Answer::complete(server, &reply.body, cut);
                    return answer
                        .map(|it| self.mask(it))
                        .map_err(|why| self.masked_why(why));
                }
                // Some servers let everybody look.
                401 => self.log_in(&reply.words)?,
                // It says that it did nothing. One that is overloaded (503) or behind a gateway may have done it all the same.
                429 if tries < MOST_TRIES => self.wait(&reply, &mut tries)?,
                500..=599 => {
                    if let Some(seconds) = reply.wait.filter(|seconds| *seconds <= MOST_SECONDS) {
                        (self.pause)(Duration::from_secs(seconds));
                    }
                    return Err(self.refused(&reply));
                }
                _ => return Err(self.refused(&reply)),
            }
        }
    }

    /// Sends a request and gives the answer, while it comes, to `take`. Nothing changes at the server, so it is asked again where it is busy.
    ///
    /// # Errors
    /// Those of `take`, or when no answer comes.
    pub(super) fn fetch(
        &mut self,
        request: &[u8],
        take: &mut dyn FnMut(&mut dyn Read) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let mut tries = 1;
        loop {
            let response = self.call(Some(request))?;
            if response.status().as_u16() == 200 {
                let body = response.into_body().into_with_config().limit(u64::MAX);
                return take(&mut body.reader()).map_err(|why| self.masked_why(why));
            }
            let reply = self.take(response);
            match reply.status {
                401 => self.log_in(&reply.words)?,
                429 | 502 | 503 | 504 if tries < MOST_TRIES => self.wait(&reply, &mut tries)?,
                _ => return Err(self.refused(&reply)),
            }
        }
    }

    fn call(&self, request: Option<&[u8]>) -> Result<Response<ureq::Body>, Why> {
        let (base, name) = (&self.base.base, self.service.name());
        let authorization = self.sent.as_ref().map(basic);
        let proxy = proxy(self.env, &self.base.origin)?;
        let answer = match request {
            None => {
                let url = format!("{base}/info/refs?service={name}");
                let mut ask = self.agent.get(url);
                if let Some(value) = authorization {
                    ask = ask.header(header::AUTHORIZATION, value);
                }
                let limited = ask.config().timeout_global(Some(LIST_LIMIT));
                limited.proxy(proxy).build().call()
            }
            Some(request) => {
                let mut ask = self
                    .agent
                    .post(format!("{base}/{name}"))
                    .header(
                        header::CONTENT_TYPE,
                        format!("application/x-{name}-request"),
                    )
                    .header(header::ACCEPT, format!("application/x-{name}-result"));
                if let Some(value) = authorization {
                    ask = ask.header(header::AUTHORIZATION, value);
                }
                let limit = match self.service {
                    Service::Upload => FETCH_LIMIT,
                    Service::Receive => PUSH_LIMIT,
                };
                let limited = ask.config().timeout_global(Some(limit));
                limited.proxy(proxy).build().send(request)
            }
        };
        answer.map_err(|why| no_answer(&why))
    }

    fn take(&self, response: Response<ureq::Body>) -> Reply {
        let mut reply = Reply::read(response);
        reply.words = self.masked(&reply.words);
        reply
    }

    /// Finds a login after a 401, once.
    pub(super) fn log_in(&mut self, words: &str) -> Result<(), Why> {
        if let Some(login) = &self.sent {
            return Err(Why::LoginRefused {
                source_name: login.source.clone(),
                words: words.to_owned(),
            });
        }
        if self.base.origin != self.own.origin {
            return Err(Why::LoginElsewhere(self.base.origin.authority()));
        }
        if !self.own.origin.is_private() {
            return Err(Why::PlainLogin);
        }
        let url = self.own.with_user();
        let login = self.login.told(&url).or_else(|| self.of_address());
        let login = login.or_else(|| self.login.basic(&url));
        self.sent = Some(login.ok_or(Why::LoginNeeded)?);
        Ok(())
    }

    fn of_address(&self) -> Option<Login> {
        Some(Login {
            user: self.own.user.clone().unwrap_or_default(),
            secret: self.own.password.clone()?,
            source: "the remote's address".to_owned(),
        })
    }

    /// Follows a redirect of the question, as git does; what is pushed goes to where it led.
    fn follow(&mut self, reply: &Reply) -> Result<(), Why> {
        let refused = |why: &str| Err(Why::Redirect(why.to_owned()));
        let Some(location) = &reply.location else {
            return refused("it doesn't say where to");
        };
        let origin = &self.base.origin;
        let whole = if location.starts_with('/') && !location.starts_with("//") {
            format!("{}://{}{location}", origin.scheme(), origin.authority())
        } else {
            location.clone()
        };
        let end = format!("/info/refs?service={}", self.service.name());
        let next = whole.strip_suffix(&end).and_then(HttpAddress::parse);
        // Somebody else's login in an address isn't ours to use.
        let next = next.filter(|next| next.user.is_none() && next.password.is_none());
        let Some(next) = next else {
            return refused("the new address isn't that of a Git repository");
        };
        if next.origin.is_plain && !origin.is_plain {
            return refused("the new address isn't encrypted");
        }
        if next.origin.is_loopback() && !origin.is_loopback() {
            return refused("the new address is one of this machine");
        }
        if next.origin != self.own.origin {
            self.sent = None;
        }
        self.base = next;
        Ok(())
    }

    fn wait(&self, reply: &Reply, tries: &mut u32) -> Result<(), Why> {
        if reply.wait.is_some_and(|seconds| seconds > MOST_SECONDS) {
            return Err(self.refused(reply));
        }
        (self.pause)(
            reply
                .wait
                .map_or_else(|| back_off(*tries), Duration::from_secs),
        );
        *tries += 1;
        Ok(())
    }

    fn refused(&self, reply: &Reply) -> Why {
        let words = reply.words.clone();
        match reply.status {
            403 => Why::Forbidden(words),
            404 => Why::NotFound(words),
            status @ 300..=399 => Why::Redirect(format!("status {status}")),
            status => Why::Status { status, words },
        }
    }

    /// A server may repeat what it was sent.
    fn masked(&self, text: &str) -> String {
        let Some(login) = &self.sent else {
            return text.to_owned();
        };
        let header = encoded(login);
        let text = text.replace(header.as_str(), "***");
        match login.secret.expose_secret() {
            "" => text,
            secret => text.replace(secret, "***"),
        }
    }

    fn masked_why(&self, why: Why) -> Why {
        match why {
            Why::Malformed(said) => Why::Malformed(self.masked(&said)),
            Why::Said(said) => Why::Said(self.masked(&said)),
            other => other,
        }
    }

    fn mask(&self, mut answer: Answer) -> Answer {
        let texts = answer.words.iter_mut();
        let texts = texts.chain(answer.refs.values_mut().flatten());
        let texts = texts.chain(answer.unpack.iter_mut());
        for text in texts.chain(answer.fatal.iter_mut()) {
            *text = self.masked(text);
        }
        answer
    }
}

fn read(service: Service, body: &[u8]) -> Result<Advertisement, Why> {
    let bad = |why: &str| Why::Malformed(why.to_owned());
    let wanted = format!("# service={}", service.name());
    let named = first(body).ok().flatten();
    let is_named = |line: &[u8]| line.strip_suffix(b"\n").unwrap_or(line) == wanted.as_bytes();
    let Some((Packet::Line(line), rest)) = named else {
        return Err(bad("it isn't that of a Git server with smart HTTP"));
    };
    let rest = match first(rest) {
        Ok(Some((Packet::Flush, rest))) if is_named(line) => rest,
        Ok(None) => return Err(Why::NoAnswer("it is cut off".to_owned())),
        // Refusals come without the name of the service.
        _ => body,
    };
    let read = Advertisement::read(rest)?;
    read.ok_or_else(|| Why::NoAnswer("it is cut off".to_owned()))
}

fn encoded(login: &Login) -> Zeroizing<String> {
    let pair = Zeroizing::new(format!("{}:{}", login.user, login.secret.expose_secret()));
    Zeroizing::new(STANDARD.encode(pair.as_bytes()))
}

/// The header's value, which no log of the client shows.
fn basic(login: &Login) -> HeaderValue {
    let text = SecretString::from(format!("Basic {}", encoded(login).as_str()));
    sensitive(text.expose_secret())
}

fn back_off(tries: u32) -> Duration {
    Duration::from_millis(500) * 2_u32.pow(tries - 1)
}

/// The proxy that leads to a host, by curl's rules, as for git itself. Source: `curl`'s manual, "Environment".
pub(super) fn proxy(env: &Env, origin: &Origin) -> Result<Option<Proxy>, Why> {
    let own = match origin.is_plain {
        // The upper case would be a header of a request to a CGI program.
        true => env.get("http_proxy"),
        false => env.get("https_proxy").or_else(|| env.get("HTTPS_PROXY")),
    };
    let any = || env.get("all_proxy").or_else(|| env.get("ALL_PROXY"));
    let Some(named) = own.or_else(any) else {
        return Ok(None);
    };
    let exceptions = env.get("no_proxy").or_else(|| env.get("NO_PROXY"));
    let exceptions = exceptions.unwrap_or_default();
    // A proxy elsewhere would look for the loopback host on its own machine.
    if origin.is_loopback() || is_direct(Rules::Curl, &exceptions, &origin.host, origin.port) {
        return Ok(None);
    }
    let unread = |_| Why::NoAnswer("the proxy's address in the environment can't be read".into());
    Proxy::new(&with_scheme(&named)).map(Some).map_err(unread)
}
