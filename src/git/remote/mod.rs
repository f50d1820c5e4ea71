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
pub mod pushed;
mod rewritten;
mod shallow;
#[cfg(test)]
mod test_server;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_fetch;
#[cfg(test)]
mod tests_http;
mod upload;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use git2::{Buf, ObjectType, Oid, Repository};

use self::address::Address;
use self::channel::{Channel, Program};
use self::error::{RemoteError, Why};
use self::http::Http;
use self::login::GitLogin;
use self::packets::{Advertisement, Answer, Move, commands};
use self::pushed::{Outcome, Pushed, RefStatus};
use super::target;
use crate::model::env::Env;

/// How often a push is sent where the connection breaks. Sending it again is safe: it has the old ids in it.
const MOST_SENT: usize = 2;

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
    env: &'a Env,
    login: &'a dyn GitLogin,
    /// git's `core.sshCommand`.
    ssh: Option<String>,
    folder: PathBuf,
    options: Vec<String>,
}

enum Connection<'a> {
    Http(Box<Http<'a>>),
    Program(Channel),
}

impl<'a> Remote<'a> {
    /// A remote by its address; a relative path starts at `folder`.
    ///
    /// # Errors
    /// When the address isn't one that is asked.
    pub fn at(
        address: &str,
        folder: &Path,
        env: &'a Env,
        login: &'a dyn GitLogin,
    ) -> Result<Self, RemoteError> {
        let address = Address::parse(address, folder).map_err(|why| RemoteError {
            aim: "ask the remote",
            address: crate::model::git_url::redact(address),
            why,
        })?;
        Ok(Self {
            address,
            env,
            login,
            ssh: None,
            folder: folder.to_owned(),
            options: Vec::new(),
        })
    }

    /// A remote of a repository by its name, as a push uses it: `pushurl`, `insteadOf` and `pushInsteadOf` count, and `core.sshCommand`.
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
        let address = rewritten::push_address(&config, name).map_err(local)?;
        let mut it = Self::at(&address, folder, env, login)?;
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
        let listed = self.connect(Service::Upload).and_then(|mut connection| {
            let server = connection.advertisement()?;
            connection.leave();
            Ok(Listing {
                head: server.head,
                refs: server.refs,
            })
        });
        listed.map_err(|why| self.failed("list", why))
    }

    /// Moves references, each under its lease, and says what became of each.
    ///
    /// The lease is compared with what the server says in the same connection, and its old id is a part of the command, so the server compares it
    /// once more while it has the reference locked: nothing can come in between. After a connection that broke the remote is looked at again: what
    /// is done counts as done, what isn't is sent once more.
    ///
    /// # Errors
    /// A [`RemoteError`] when it can't be asked, or nobody knows what it did. A refused reference isn't one: see [`Pushed::check`].
    pub fn push(
        &self,
        repository: &Repository,
        updates: &[RefUpdate],
    ) -> Result<Pushed, RemoteError> {
        self.try_push(repository, updates)
            .map_err(|why| self.failed("push to", why))
    }

    fn try_push(&self, repository: &Repository, updates: &[RefUpdate]) -> Result<Pushed, Why> {
        check(updates)?;
        let mut broken: Option<String> = None;
        for sent in 0..=MOST_SENT {
            let looked = self.connect(Service::Receive).and_then(|mut connection| {
                let server = connection.advertisement()?;
                Ok((connection, server))
            });
            let (mut connection, server) = match (looked, &broken) {
                (Ok(looked), _) => looked,
                (Err(_), Some(before)) => return Err(Why::Unknown(before.clone())),
                (Err(why), None) => return Err(why),
            };
            let known: Vec<Option<Outcome>> = updates
                .iter()
                .map(|update| known(update, &server, broken.is_some()))
                .collect();
            let moves: Vec<Move<'_>> = updates
                .iter()
                .zip(&known)
                .filter(|(_, known)| known.is_none())
                .map(|(update, _)| Move {
                    name: &update.name,
                    old: update.expected_old,
                    new: update.new,
                })
                .collect();
            if moves.is_empty() {
                connection.leave();
                return Ok(self.pushed(updates, known, Answer::default()));
            }
            if let (true, Some(before)) = (sent == MOST_SENT, &broken) {
                return Err(Why::NoAnswer(format!("{before}; the remote is unchanged")));
            }
            let pack = pack(repository, &moves, &server)?;
            let request = commands(&server, &moves, &self.options, &pack).map_err(Why::Unable)?;
            match connection.exchange(&server, request) {
                // Refused, perhaps, because what was sent first is being carried out only now.
                Ok(answer) if broken.is_some() && answer.refs.values().any(Option::is_some) => {
                    let looked = self.connect(Service::Receive);
                    let seen = looked.and_then(|mut connection| connection.advertisement());
                    let seen = seen.map_err(|why| Why::Unknown(why.to_string()))?;
                    let late = |update| is_there(update, &seen).then_some(Outcome::Done);
                    let known = updates.iter().zip(known);
                    let known = known.map(|(update, known)| known.or_else(|| late(update)));
                    return Ok(self.pushed(updates, known.collect(), answer));
                }
                Ok(answer) => return Ok(self.pushed(updates, known, answer)),
                Err(Why::NoAnswer(why)) => broken = Some(why),
                Err(why) => return Err(why),
            }
        }
        Err(Why::Unknown(broken.unwrap_or_default()))
    }

    fn pushed(&self, updates: &[RefUpdate], known: Vec<Option<Outcome>>, answer: Answer) -> Pushed {
        let refs = updates.iter().zip(known).map(|(update, known)| {
            let reported = || match (answer.refs.get(&update.name), &answer.unpack) {
                (Some(None), None) => Outcome::Done,
                (Some(Some(why)), _) => Outcome::Refused(why.clone()),
                (_, Some(why)) => Outcome::Refused(format!("the objects weren't taken: {why}")),
                (None, None) => Outcome::Refused("the server says nothing about it".to_owned()),
            };
            RefStatus {
                name: update.name.clone(),
                outcome: known.unwrap_or_else(reported),
            }
        });
        Pushed {
            refs: refs.collect(),
            address: self.shown(),
            words: answer.words,
        }
    }

    fn connect(&self, service: Service) -> Result<Connection<'_>, Why> {
        let program = match &self.address {
            Address::Http(address) => {
                let http = Http::new(address, service, self.login);
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

    fn failed(&self, aim: &'static str, why: Why) -> RemoteError {
        RemoteError {
            aim,
            address: self.shown(),
            why,
        }
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

fn check(updates: &[RefUpdate]) -> Result<(), Why> {
    for (at, update) in updates.iter().enumerate() {
        let name = &update.name;
        // A short name could be a branch or a tag.
        if !name.starts_with("refs/") || !git2::Reference::is_valid_name(name) {
            return Err(Why::Local(format!(
                "`{name}` isn't the full name of a reference"
            )));
        }
        if updates[..at].iter().any(|other| other.name == *name) {
            return Err(Why::Local(format!("`{name}` is to move twice")));
        }
    }
    Ok(())
}

fn is_there(update: &RefUpdate, server: &Advertisement) -> bool {
    server.refs.get(&update.name).copied() == update.new
}

/// What can be said of a reference before anything is sent.
fn known(update: &RefUpdate, server: &Advertisement, was_sent: bool) -> Option<Outcome> {
    let there = server.refs.get(&update.name).copied();
    if there == update.new {
        Some(if was_sent {
            Outcome::Done
        } else {
            Outcome::Unchanged
        })
    } else if there == update.expected_old {
        None
    } else {
        Some(Outcome::LeaseLost(there))
    }
}

/// The objects that the server lacks.
fn pack(
    repository: &Repository,
    moves: &[Move<'_>],
    server: &Advertisement,
) -> Result<Vec<u8>, Why> {
    let local =
        |why: git2::Error| Why::Local(format!("the objects can't be packed: {}", why.message()));
    let wanted: Vec<Oid> = moves.iter().filter_map(|it| it.new).collect();
    // A push that only deletes has no pack at all.
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut builder = repository.packbuilder().map_err(local)?;
    let mut walk = repository.revwalk().map_err(local)?;
    for id in wanted {
        let mut object = repository.find_object(id, None).map_err(local)?;
        while object.kind() == Some(ObjectType::Tag) {
            builder.insert_object(object.id(), None).map_err(local)?;
            let tag = object.peel_to_tag().map_err(local)?;
            object = tag.target().map_err(local)?;
        }
        walk.push(object.id()).map_err(local)?;
    }
    for id in server.refs.values().chain(&server.others) {
        let commit = repository
            .find_object(*id, None)
            .and_then(|it| it.peel_to_commit());
        if let Ok(commit) = commit {
            walk.hide(commit.id()).map_err(local)?;
        }
    }
    builder.insert_walk(&mut walk).map_err(local)?;
    let mut pack = Buf::new();
    builder.write_buf(&mut pack).map_err(local)?;
    Ok(pack.to_vec())
}
