//! [`find`]: whose token a forge gets.
//!
//! In this order: a token file, `HAPTIC_SCAFFOLD_TOKEN`, a login in the remote's address, the variables that are usual for the forge, the CI's own token, git's
//! credential helpers. A usual variable goes to servers of its forge alone, and where a variable names the server that it is for, to that one. A CI's own token
//! comes late wherever it stands, since it may do less: GitLab's can't open merge requests. No error and no log repeats a token.

use std::fmt;
use std::io::Read as _;
use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};
use ureq::http::{HeaderName, HeaderValue, header};
use zeroize::Zeroizing;

use super::Kind;
use super::detect::Place;
use crate::error::Problem;
use crate::http::sensitive;
use crate::http::url::Url;
use crate::model::env::Env;
use crate::model::usual::{self, Server};

const MOST_IN_A_FILE: u64 = 64 << 10;
/// The user that GitLab puts beside a job's token.
const JOB_USER: &str = "gitlab-ci-token";

/// A token, and where it is from.
#[derive(Clone)]
pub struct Token {
    pub(super) secret: SecretString,
    pub(super) source: String,
    /// Whether it is that of a GitLab job, which is sent in another header.
    pub(super) is_job: bool,
}

impl Token {
    /// Takes a login that was found elsewhere. Nothing is taken that couldn't stand in a header.
    pub fn new(user: &str, secret: SecretString, source: impl Into<String>) -> Option<Self> {
        let text = secret.expose_secret();
        let is_token = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| Self {
            secret,
            source: source.into(),
            is_job: user == JOB_USER,
        })
    }

    /// Whether it is that of a GitLab job, which may push and open nothing.
    pub fn is_job(&self) -> bool {
        self.is_job
    }

    /// Where it is from, for messages.
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token from {}", self.source)
    }
}

/// Where tokens are looked for.
pub struct Sources<'a> {
    /// A file that a person named.
    pub file: Option<&'a Path>,
    /// The environment.
    pub env: &'a Env,
    /// The remote's address as it stands in git's settings; it may hold a login.
    pub remote: &'a str,
    /// Asks git's credential helpers for an address. It is called last.
    pub helper: &'a dyn Fn(&str) -> Option<Token>,
}

/// Finds the token for a place; nothing where there is none.
///
/// # Errors
/// When the token file can't be read, or a token would go over plain HTTP to another machine.
pub fn find(place: &Place, sources: &Sources<'_>) -> Result<Option<Token>, Problem> {
    let (Some(web), Some(api)) = (Url::parse(&place.web), Url::parse(&place.api)) else {
        return Ok(None);
    };
    let file = sources.file.map(read).transpose()?;
    let of_remote = of_remote(sources.remote, &web);
    let (of_remote, job_of_remote) = match of_remote {
        Some(token) if token.is_job => (None, Some(token)),
        other => (other, None),
    };
    let variable = |name: &str| of_variable(sources.env, name, "");
    let token = file
        .or_else(|| variable("HAPTIC_SCAFFOLD_TOKEN"))
        .or(of_remote)
        .or_else(|| usual(place, &web, sources.env, false))
        .or_else(|| usual(place, &web, sources.env, true))
        .or(job_of_remote)
        .or_else(|| (sources.helper)(&format!("{}/{}.git", place.web, place.project)));
    match &token {
        Some(token) if !api.is_private_transport() => Err(plain(token, place)),
        _ => Ok(token),
    }
}

/// The header that a forge takes a token in.
pub(super) fn login(kind: Kind, token: &Token) -> (HeaderName, HeaderValue) {
    let secret = token.secret.expose_secret();
    let value = |before: &str| {
        let text = SecretString::from(format!("{before}{secret}"));
        sensitive(text.expose_secret())
    };
    match kind {
        Kind::Gitlab if token.is_job => (HeaderName::from_static("job-token"), value("")),
        Kind::Gitea => (header::AUTHORIZATION, value("token ")),
        // GitLab takes its own tokens this way too, as well as those of OAuth.
        Kind::Gitlab | Kind::Github | Kind::Local => (header::AUTHORIZATION, value("Bearer ")),
    }
}

fn plain(token: &Token, place: &Place) -> Problem {
    Problem::usage(format!(
        "cannot use the token from {} at `{}`: without TLS everybody on the way could read it",
        token.source, place.api
    ))
    .hint("give the server's `https://` address by `--forge-url`")
}

fn of_variable(env: &Env, name: &str, user: &str) -> Option<Token> {
    let secret = SecretString::from(env.get(name)?.trim().to_owned());
    Token::new(user, secret, format!("`{name}`"))
}

/// What the usual variables have for a place; `is_job` for that of a job, which may do less.
fn usual(place: &Place, web: &Url, env: &Env, is_job: bool) -> Option<Token> {
    let kind = usual_kind(place.kind)?;
    let server = Server {
        told: place.is_told.then_some(kind),
        is_meant: &|named| names(named, web),
    };
    let all = usual::usual(env, &server).into_iter();
    let mut all = all.filter(|usual| usual.kind == kind && usual.is_job == is_job);
    let user = if is_job { JOB_USER } else { "" };
    all.find_map(|usual| of_variable(env, usual.variable, user))
}

/// A forge, as the names of variables have it.
pub fn usual_kind(kind: Kind) -> Option<usual::Kind> {
    match kind {
        Kind::Gitlab => Some(usual::Kind::Gitlab),
        Kind::Github => Some(usual::Kind::Github),
        Kind::Gitea => Some(usual::Kind::Gitea),
        Kind::Local => None,
    }
}

/// Whether an address or the name of a host means the server.
fn names(named: &str, web: &Url) -> bool {
    let named = match named.contains("://") {
        true => Url::parse(named),
        false => web
            .origin()
            .split_once("://")
            .and_then(|(scheme, _)| Url::parse(&format!("{scheme}://{named}"))),
    };
    named.is_some_and(|named| named.same_origin(web))
}

/// The password in the remote's address, if that is one of the forge's own server.
fn of_remote(remote: &str, web: &Url) -> Option<Token> {
    let (scheme, rest) = remote.trim().split_once("://")?;
    let (authority, _) = rest.split_once('/')?;
    let (login, host) = authority.rsplit_once('@')?;
    let (user, password) = login.split_once(':')?;
    let is_its_own = Url::parse(&format!("{scheme}://{host}/"))?.same_origin(web);
    let password = SecretString::from(decoded(password));
    Token::new(user, password, "the remote's address").filter(|_| is_its_own)
}

fn decoded(text: &str) -> String {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after
            .get(..2)
            .and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) if *first == b'%' => {
                plain.push(byte);
                rest = &after[2..];
            }
            _ => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn read(file: &Path) -> Result<Token, Problem> {
    let refused = |why: &str| {
        Problem::invalid(format!(
            "cannot read a token from `{}`: {why}",
            file.display()
        ))
        .hint("the file holds the token alone, on one line")
    };
    let mut text = Zeroizing::new(String::new());
    std::fs::File::open(file)
        .and_then(|open| open.take(MOST_IN_A_FILE).read_to_string(&mut text))
        .map_err(|why| refused(&why.to_string()))?;
    let secret = SecretString::from(text.trim().to_owned());
    Token::new("", secret, format!("`{}`", file.display()))
        .ok_or_else(|| refused("it is empty, or holds more than a token"))
}

#[cfg(test)]
#[path = "tests_token.rs"]
mod tests;
