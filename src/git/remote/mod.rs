//! Remotes: what they have, objects brought from there, and references moved there.
//!
//! Owns the exchange of git's protocol; objects and packs are libgit2's. Every push is one with a lease: a reference moves only from where the
//! caller knows it to be. Start from [`Remote`].

pub mod address;
mod channel;
pub mod error;
mod fetch;
mod http;
pub mod login;
mod packets;
mod push;
pub mod pushed;
mod reply;
mod rewritten;
mod shallow;
#[cfg(test)]
mod test_server;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_broken;
#[cfg(test)]
mod tests_fetch;
#[cfg(test)]
mod tests_http;
mod upload;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use git2::{Oid, Repository};

use self::address::Address;
use self::channel::{Channel, Program};
use self::error::{RemoteError, Why};
use self::http::Http;
use self::login::GitLogin;
use self::packets::{Advertisement, Answer};
use self::push::Push;
use self::pushed::Pushed;
use super::target;
use crate::model::env::Env;

/// One reference to move, delete or make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefUpdate {
    /// Its full name: `refs/heads/…`.
    pub name: String,
    /// Where it shall be; nothing deletes it.
    pub new: Option<Oid>,
    /// The lease: where it has to be now; nothing where it must not exist.
    pub expected_old: Option<Oid>,
}

/// What a remote has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Full names of references and where they are.
    pub refs: BTreeMap<String, Oid>,
    /// The full name of the default branch, where the server tells it. It need not exist.
    pub head: Option<String>,
}

/// What a server is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    /// To give.
    Upload,
    /// To take.
    Receive,
}

impl Service {
    fn short(self) -> &'static str {
        match self {
            Self::Upload => "upload-pack",
            Self::Receive => "receive-pack",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Upload => "git-upload-pack",
            Self::Receive => "git-receive-pack",
        }
    }
}

/// A remote repository, and what is needed to reach it.
pub struct Remote<'a> {
    address: Address,
    /// More addresses that get each push.
    others: Vec<Address>,
    /// Where objects are fetched from, where that is another one.
    source: Option<Address>,
    env: &'a Env,
    login: &'a dyn GitLogin,
    /// git's `core.sshCommand`.
    ssh: Option<String>,
    folder: PathBuf,
    options: Vec<String>,
    pause: fn(Duration),
}

enum Connection<'a> {
    Http(Box<Http<'a>>),
    Program(Channel),
}

impl<'a> Remote<'a> {
    /// A remote by its address; a relative path starts at `folder`. `insteadOf` and `core.sshCommand` of the user's git configuration count.
    ///
    /// # Errors
    /// When the address isn't one that is asked.
    pub fn at(
        address: &str,
        folder: &Path,
        env: &'a Env,
        login: &'a dyn GitLogin,
    ) -> Result<Self, RemoteError> {
        let config = target::config(None, env).ok();
        let ssh = config.and_then(|config| config.get_string("core.sshCommand").ok());
        let mut it = Self::as_written(&rewritten(address, env), folder, env, login)?;
        it.ssh = ssh.filter(|command| !command.is_empty());
        Ok(it)
    }

    fn as_written(
        address: &str,
        folder: &Path,
        env: &'a Env,
        login: &'a dyn GitLogin,
    ) -> Result<Self, RemoteError> {
        Ok(Self {
            address: parse(address, folder)?,
            others: Vec::new(),
            source: None,
            env,
            login,
            ssh: None,
            folder: folder.to_owned(),
            options: Vec::new(),
            pause: if cfg!(test) { |_| {} } else { thread::sleep },
        })
    }

    /// A remote of a repository by its name, as git uses it: `url`, `pushurl`, `insteadOf` and `pushInsteadOf` count, and `core.sshCommand`.
    ///
    /// [`Remote::push`] goes to each address for pushing, [`Remote::list`] asks the first of them, [`Remote::fetch`] the first one for fetching.
    ///
    /// # Errors
    /// When there is no such remote, or its address isn't one that is asked.
    pub fn named(
        repository: &Repository,
        name: &str,
        env: &'a Env,
        login: &'a dyn GitLogin,
    ) -> Result<Self, RemoteError> {
        let local = |why: git2::Error| RemoteError {
            aim: "find the remote",
            address: name.to_owned(),
            why: Why::Address(why.message().to_owned()),
        };
        let folder = repository.workdir().unwrap_or_else(|| repository.path());
        let config = target::config(Some(repository), env).map_err(local)?;
        let addresses = rewritten::push_addresses(&config, name).map_err(local)?;
        let Some((first, others)) = addresses.split_first() else {
            return Err(local(git2::Error::from_str("it has no address")));
        };
        let mut it = Self::as_written(first, folder, env, login)?;
        let others = others.iter().map(|other| parse(other, folder));
        it.others = others.collect::<Result<_, _>>()?;
        let source = rewritten::fetch_address(&config, name).map_err(local)?;
        if source != *first {
            it.source = Some(parse(&source, folder)?);
        }
        it.ssh = config.get_string("core.sshCommand").ok();
        it.ssh = it.ssh.filter(|command| !command.is_empty());
        Ok(it)
    }

    /// Takes push options, such as `merge_request.create`.
    #[must_use]
    pub fn with_options(mut self, options: Vec<String>) -> Self {
        self.options = options;
        self
    }

    /// The address without user and password.
    pub fn shown(&self) -> String {
        self.address.shown()
    }

    /// Asks what the remote has.
    ///
    /// # Errors
    /// A [`RemoteError`] when it can't be asked.
    pub fn list(&self) -> Result<Listing, RemoteError> {
        let connected = self.connect(&self.address, Service::Upload);
        let listed = connected.and_then(|mut connection| {
            let server = connection.advertisement()?;
            connection.leave();
            Ok(Listing {
                head: server.head,
                refs: server.refs,
            })
        });
        listed.map_err(|why| failed("list", &self.address, why))
    }

    /// Moves references, each under its lease, and says what became of each.
    ///
    /// The lease is compared with what the server says in the same connection, and its old id is a part of the command, so the server compares it
    /// once more while it has the reference locked: nothing can come in between. After a connection that broke the remote is looked at again, for
    /// a while: what is done counts as done, what isn't is sent once more, and what then isn't there is [`pushed::Outcome::Unknown`].
    ///
    /// A remote with several addresses gets the push at each; [`Pushed::others`] tells of the further ones.
    ///
    /// # Errors
    /// A [`RemoteError`] where certainly nothing moved. A refused reference isn't one: see [`Pushed::check`].
    pub fn push(
        &self,
        repository: &Repository,
        updates: &[RefUpdate],
    ) -> Result<Pushed, RemoteError> {
        let push = |address| {
            let push = Push::new(self, address, repository, updates);
            push.run().map_err(|why| failed("push to", address, why))
        };
        let first = push(&self.address);
        if self.others.is_empty() {
            return first;
        }
        let others: Vec<_> = self.others.iter().map(push).collect();
        let is_nothing = others.iter().all(Result::is_err);
        let told = |pushed: Result<Pushed, RemoteError>| {
            pushed.unwrap_or_else(|why| Pushed::failed(updates, &why))
        };
        let mut pushed = match first {
            Err(why) if is_nothing => return Err(why),
            first => told(first),
        };
        pushed.others = others.into_iter().map(told).collect();
        Ok(pushed)
    }

    fn connect<'c>(
        &'c self,
        address: &'c Address,
        service: Service,
    ) -> Result<Connection<'c>, Why> {
        let program = match address {
            Address::Http(address) => {
                let http = Http::new(address, service, self.env, self.login);
                return Ok(Connection::Http(Box::new(http)));
            }
            Address::Ssh(address) => Program::ssh(
                self.env,
                self.ssh.as_deref(),
                service,
                address,
                &self.folder,
            ),
            Address::Path(path) => Program::local(self.env, service, path, &self.folder),
        };
        program.start().map(Connection::Program)
    }
}

impl Connection<'_> {
    fn advertisement(&mut self) -> Result<Advertisement, Why> {
        match self {
            Self::Http(http) => http.advertisement(),
            Self::Program(channel) => channel.advertisement(),
        }
    }

    fn exchange(&mut self, server: &Advertisement, request: Vec<u8>) -> Result<Answer, Why> {
        match self {
            Self::Http(http) => http.exchange(server, &request),
            Self::Program(channel) => channel.exchange(server, request),
        }
    }

    /// Sends a request and gives the answer, while it comes, to `take`.
    fn fetch(
        &mut self,
        request: &[u8],
        take: &mut dyn FnMut(&mut dyn Read) -> Result<(), Why>,
    ) -> Result<(), Why> {
        match self {
            Self::Http(http) => http.fetch(request, take),
            Self::Program(channel) => channel.fetch(request.to_vec(), take),
        }
    }

    /// HTTP has nothing to end.
    fn leave(&mut self) {
        if let Self::Program(channel) = self {
            channel.leave();
        }
    }
}

/// An address as the user's git configuration rewrites it (`insteadOf`).
pub fn rewritten(address: &str, env: &Env) -> String {
    let config = target::config(None, env).ok();
    let new = config.and_then(|config| rewritten::usual(&config, address).ok());
    new.unwrap_or_else(|| address.to_owned())
}

/// Where a push to a remote of a repository goes: to each of these addresses.
///
/// # Errors
/// When there is no such remote, or the configuration can't be read.
pub fn push_addresses(
    repository: &Repository,
    name: &str,
    env: &Env,
) -> Result<Vec<String>, git2::Error> {
    rewritten::push_addresses(&target::config(Some(repository), env)?, name)
}

fn failed(aim: &'static str, address: &Address, why: Why) -> RemoteError {
    RemoteError {
        aim,
        address: address.shown(),
        why,
    }
}

fn parse(text: &str, folder: &Path) -> Result<Address, RemoteError> {
    Address::parse(text, folder).map_err(|why| RemoteError {
        aim: "ask the remote",
        address: address::harmless(text).to_owned(),
        why,
    })
}
