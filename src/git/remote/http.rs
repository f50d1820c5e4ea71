//! A connection by smart HTTP: one question what the server has, one message with commands and pack.
//!
//! Owns the retries, the redirects, the answer to a 401, and the rule that a login goes to the remote's own origin alone and never in the clear over
//! a network. Source: git's `gitprotocol-http`. TLS, proxy and certificates are those of every other request of the program.

use std::io::Read;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::crypto::aws_lc_rs;
use secrecy::{ExposeSecret as _, SecretString};
use ureq::Agent;
use ureq::http::{HeaderValue, Response, header};
use ureq::tls::{RootCerts, TlsConfig};
use zeroize::Zeroizing;

use super::Service;
use super::address::HttpAddress;
use super::channel::{FETCH_LIMIT, LIST_LIMIT, MOST, PUSH_LIMIT};
use super::error::Why;
use super::login::{GitLogin, Login};
use super::packets::{Advertisement, Answer, Packet, first, lines};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const MOST_TRIES: u32 = 3;
const MOST_REDIRECTS: u32 = 5;
const MOST_SECONDS: u64 = 30;
const MOST_OF_AN_ERROR: u64 = 64 << 10;
const USER_AGENT: &str = concat!("git/haptic-scaffold-", env!("CARGO_PKG_VERSION"));

/// A connection to one service of one repository.
pub(super) struct Http<'a> {
    agent: Agent,
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
    pub(super) fn new(own: &'a HttpAddress, service: Service, login: &'a dyn GitLogin) -> Self {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
            .build();
        let config = Agent::config_builder()
            .user_agent(USER_AGENT)
            .tls_config(tls)
            .timeout_resolve(Some(CONNECT_LIMIT))
            .timeout_connect(Some(CONNECT_LIMIT))
            .http_status_as_error(false)
            // Redirects are followed below, where the rules for them can be seen and tested.
            .max_redirects(0)
            .max_redirects_will_error(false)
            // A connection that the server has closed meanwhile looks like one that broke while pushing.
            .max_idle_connections(0)
            .build();
        Self {
            agent: config.new_agent(),
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
            let answer = self.call(None).and_then(|response| self.take(response));
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
    /// [`Why::NoAnswer`] when nobody knows what the server did.
    pub(super) fn exchange(
        &mut self,
        server: &Advertisement,
        request: &[u8],
    ) -> Result<Answer, Why> {
        let mut tries = 1;
        loop {
            let response = self.call(Some(request))?;
            let reply = self.take(response)?;
            match reply.status {
                200 => {
                    let mut answer = Answer::read(server, &reply.body).map_err(Why::Malformed)?;
                    if !answer.is_whole {
                        return Err(Why::NoAnswer("its report is cut off".to_owned()));
                    }
                    self.mask(&mut answer);
                    return Ok(answer);
                }
                // Some servers let everybody look.
                401 => self.log_in(&reply.words)?,
                429 | 503 if tries < MOST_TRIES => self.wait(&reply, &mut tries)?,
                500..=599 => {
                    return Err(Why::NoAnswer(format!("status {}", reply.status)));
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
            let reply = self.take(response)?;
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
        // A proxy elsewhere would look for the loopback host on its own machine.
        let is_here = self.base.origin.is_loopback();
        let answer = match request {
            None => {
                let url = format!("{base}/info/refs?service={name}");
                let mut ask = self.agent.get(url);
                if let Some(value) = authorization {
                    ask = ask.header(header::AUTHORIZATION, value);
                }
                let limited = ask.config().timeout_global(Some(LIST_LIMIT));
                match is_here {
                    true => limited.proxy(None).build().call(),
                    false => limited.build().call(),
                }
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
                match is_here {
                    true => limited.proxy(None).build().send(request),
                    false => limited.build().send(request),
                }
            }
        };
        answer.map_err(|why| no_answer(&why))
    }

    fn take(&self, mut response: Response<ureq::Body>) -> Result<Reply, Why> {
        let status = response.status().as_u16();
        let text = |name| {
            let value = response.headers().get(name);
            value
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned)
        };
        let (location, kind) = (text(header::LOCATION), text(header::CONTENT_TYPE));
        let wait = text(header::RETRY_AFTER).and_then(|value| value.parse().ok());
        let limit = if status == 200 {
            MOST as u64
        } else {
            MOST_OF_AN_ERROR
        };
        let body = match response.body_mut().with_config().limit(limit).read_to_vec() {
            Ok(body) => body,
            Err(ureq::Error::BodyExceedsLimit(_)) if status == 200 => {
                return Err(Why::Malformed("it is too long".to_owned()));
            }
            Err(why) if status == 200 => return Err(cut_off(&why)),
            // The status says enough; its page is only a detail.
            Err(_) => Vec::new(),
        };
        // A page is for browsers.
        let is_text = kind.is_some_and(|kind| kind.starts_with("text/plain"));
        let words = if is_text && status != 200 {
            lines(&body)
        } else {
            Vec::new()
        };
        let words = words.into_iter().take(3).collect::<Vec<_>>().join(" / ");
        Ok(Reply {
            status,
            location,
            wait,
            words: self.masked(&words),
            body,
        })
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
        let login = self
            .login
            .basic(&self.own.with_user())
            .or_else(|| self.of_address());
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

    fn mask(&self, answer: &mut Answer) {
        let texts = answer.words.iter_mut();
        let texts = texts.chain(answer.refs.values_mut().flatten());
        for text in texts.chain(answer.unpack.iter_mut()) {
            *text = self.masked(text);
        }
    }
}

struct Reply {
    status: u16,
    location: Option<String>,
    /// Seconds that the server asks to wait.
    wait: Option<u64>,
    /// What it says to people.
    words: String,
    body: Vec<u8>,
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
    let read = Advertisement::read(rest).map_err(Why::Malformed)?;
    read.ok_or_else(|| Why::NoAnswer("it is cut off".to_owned()))
}

fn encoded(login: &Login) -> Zeroizing<String> {
    let pair = Zeroizing::new(format!("{}:{}", login.user, login.secret.expose_secret()));
    Zeroizing::new(STANDARD.encode(pair.as_bytes()))
}

/// The header's value, which no log of the client shows.
fn basic(login: &Login) -> HeaderValue {
    let text = SecretString::from(format!("Basic {}", encoded(login).as_str()));
    let value = HeaderValue::from_str(text.expose_secret());
    let mut value = value.unwrap_or_else(|_| HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}

fn back_off(tries: u32) -> Duration {
    Duration::from_millis(500) * 2_u32.pow(tries - 1)
}

/// No message repeats a header or a proxy's address.
fn no_answer(why: &ureq::Error) -> Why {
    use ureq::Error;
    let broken = |why: &str| Why::NoAnswer(why.to_owned());
    match why {
        // TLS reports through I/O errors of this kind while it shakes hands.
        Error::Io(why) if why.kind() == std::io::ErrorKind::InvalidData => {
            Why::Untrusted(why.to_string())
        }
        Error::Rustls(why) => Why::Untrusted(why.to_string()),
        Error::Tls(why) => Why::Untrusted((*why).to_owned()),
        Error::Io(why) => Why::NoAnswer(why.to_string()),
        Error::HostNotFound => broken("the host name is unknown"),
        Error::ConnectionFailed => broken("the connection failed"),
        Error::Timeout(_) => broken("the time is over"),
        Error::ConnectProxyFailed(_) | Error::InvalidProxyUrl => {
            broken("the proxy did not connect")
        }
        other => Why::NoAnswer(other.to_string()),
    }
}

fn cut_off(why: &ureq::Error) -> Why {
    Why::NoAnswer(format!("it is cut off ({why})"))
}
