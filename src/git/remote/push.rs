//! One push: sent, and followed to its end where the answer was lost.
//!
//! Owns what is said of each reference. One that a request named whose answer was lost is never called unchanged: its remote is looked at
//! for a while, since a server may still be at work, and where it doesn't move nobody knows what becomes of it.

use std::time::Duration;

use git2::{Buf, ObjectType, Oid, Repository};

use super::address::Address;
use super::error::Why;
use super::packets::{Advertisement, Answer, Move, commands};
use super::pushed::{Outcome, Pushed, RefStatus};
use super::{Connection, RefUpdate, Remote, Service};

/// How often a push is sent where the connection breaks. Sending it again is safe: it has the old ids in it.
const MOST_SENT: usize = 2;
/// How long is waited before each look, in seconds.
const LOOKS: [u64; 4] = [0, 1, 3, 6];
/// How many looks may fail. Each tries a few times by itself.
const MOST_FAILED: usize = 2;

/// A push to one remote.
pub(super) struct Push<'p> {
    remote: &'p Remote<'p>,
    address: &'p Address,
    repository: &'p Repository,
    updates: &'p [RefUpdate],
    states: Vec<State>,
    words: Vec<String>,
    /// What broke first.
    broken: Option<String>,
}

/// What is known of one reference.
#[derive(Debug, Clone, Default)]
struct State {
    outcome: Option<Outcome>,
    /// A request named it, and its answer was lost.
    was_sent: bool,
}

type Look<'p> = (Connection<'p>, Advertisement);

impl<'p> Push<'p> {
    pub(super) fn new(
        remote: &'p Remote<'p>,
        address: &'p Address,
        repository: &'p Repository,
        updates: &'p [RefUpdate],
    ) -> Self {
        Self {
            remote,
            address,
            repository,
            updates,
            states: vec![State::default(); updates.len()],
            words: Vec::new(),
            broken: None,
        }
    }

    /// Sends it, and finds out what became of it.
    ///
    /// # Errors
    /// Only where certainly nothing moved.
    pub(super) fn run(mut self) -> Result<Pushed, Why> {
        check(self.updates)?;
        let (mut connection, mut server) = self.look()?;
        self.settle(&server);
        for sent in 1..=MOST_SENT {
            if self.is_settled() {
                connection.leave();
                break;
            }
            let why = match self.send(&mut connection, &server) {
                Ok(answer) => {
                    self.report(answer);
                    break;
                }
                Err(why) => why,
            };
            drop(connection);
            let Some(is_slow) = lost(&why) else {
                if self.broken.is_none() {
                    return Err(why);
                }
                break;
            };
            self.broken.get_or_insert(why.to_string());
            self.note_sent();
            match self.watch(&LOOKS) {
                Some(looked) if !is_slow && sent < MOST_SENT => (connection, server) = looked,
                _ => break,
            }
        }
        Ok(self.pushed())
    }

    fn look(&self) -> Result<Look<'p>, Why> {
        let mut connection = self.remote.connect(self.address, Service::Receive)?;
        let server = connection.advertisement()?;
        Ok((connection, server))
    }

    fn send(&self, connection: &mut Connection<'_>, server: &Advertisement) -> Result<Answer, Why> {
        let open = self.updates.iter().zip(&self.states);
        let moves: Vec<Move<'_>> = open
            .filter(|(_, state)| state.outcome.is_none())
            .map(|(update, _)| Move {
                name: &update.name,
                old: update.expected_old,
                new: update.new,
            })
            .collect();
        let pack = pack(self.repository, &moves, server)?;
        let options = &self.remote.options;
        let request = commands(server, &moves, options, &pack).map_err(Why::Unable)?;
        connection.exchange(server, request)
    }

    fn is_settled(&self) -> bool {
        self.states.iter().all(|state| state.outcome.is_some())
    }

    fn note_sent(&mut self) {
        let open = self.states.iter_mut();
        open.filter(|state| state.outcome.is_none())
            .for_each(|state| state.was_sent = true);
    }

    /// Takes what the server's list tells.
    fn settle(&mut self, server: &Advertisement) {
        for (update, state) in self.updates.iter().zip(&mut self.states) {
            let there = server.refs.get(&update.name).copied();
            if state.outcome.is_some() {
                continue;
            }
            state.outcome = if there == update.new {
                Some(match state.was_sent {
                    true => Outcome::Done,
                    false => Outcome::Unchanged,
                })
            } else if there == update.expected_old {
                None
            } else if state.was_sent {
                Some(Outcome::Unknown(elsewhere(there)))
            } else {
                Some(Outcome::LeaseLost(there))
            };
        }
    }

    /// Looks at the remote until everything is settled, for a while. The last look, where something is open still.
    fn watch(&mut self, looks: &[u64]) -> Option<Look<'p>> {
        let mut failed = 0;
        let mut last = None;
        for seconds in looks {
            if *seconds > 0 {
                (self.remote.pause)(Duration::from_secs(*seconds));
            }
            last = match self.look() {
                Ok((mut connection, server)) => {
                    self.settle(&server);
                    if self.is_settled() {
                        connection.leave();
                        return None;
                    }
                    Some((connection, server))
                }
                Err(_) => {
                    failed += 1;
                    None
                }
            };
            if failed == MOST_FAILED {
                return None;
            }
        }
        last
    }

    /// Takes what the server says of each reference, and looks where it says nothing or contradicts what was sent before.
    fn report(&mut self, answer: Answer) {
        self.words.extend(answer.words);
        let mut refused = vec![None; self.states.len()];
        for (at, (update, state)) in self.updates.iter().zip(&mut self.states).enumerate() {
            if state.outcome.is_some() {
                continue;
            }
            let outcome = match (answer.refs.get(&update.name), &answer.unpack, &answer.fatal) {
                (Some(None), None, _) => Outcome::Done,
                (Some(Some(why)), ..) => Outcome::Refused(why.clone()),
                (_, Some(why), _) => Outcome::Refused(format!("the objects weren't taken: {why}")),
                (None, None, Some(why)) => Outcome::Refused(format!("the server gave up: {why}")),
                (None, None, None) => Outcome::Unknown("the server says nothing about it".into()),
            };
            let is_certain = match &outcome {
                Outcome::Done => true,
                // What was sent first may be carried out only now, and have caused the refusal.
                Outcome::Refused(_) => !state.was_sent && answer.fatal.is_none(),
                _ => false,
            };
            if is_certain {
                state.outcome = Some(outcome);
            } else {
                refused[at] = Some(match outcome {
                    Outcome::Refused(why) if state.was_sent && is_race(&why) => {
                        Outcome::Unknown(format!(
                            "an earlier request may still be at work, and this one is refused: {why}"
                        ))
                    }
                    other => other,
                });
                state.was_sent = true;
            }
        }
        if self.is_settled() {
            return;
        }
        // A server that gave up isn't at work any more.
        self.watch(if self.broken.is_some() {
            &LOOKS
        } else {
            &LOOKS[..2]
        });
        for (state, refused) in self.states.iter_mut().zip(refused) {
            state.outcome = state.outcome.take().or(refused);
        }
    }

    fn pushed(self) -> Pushed {
        let why = self.broken.unwrap_or_default();
        let unknown = || Outcome::Unknown(why.clone());
        let refs = self.updates.iter().zip(self.states);
        let refs = refs.map(|(update, state)| RefStatus {
            name: update.name.clone(),
            outcome: state.outcome.unwrap_or_else(unknown),
        });
        Pushed {
            refs: refs.collect(),
            address: self.address.shown(),
            words: self.words,
            others: Vec::new(),
        }
    }
}

/// Whether the server may have done something all the same, and then whether it takes its time.
fn lost(why: &Why) -> Option<bool> {
    match why {
        Why::NoAnswer(_) | Why::Malformed(_) | Why::Untrusted(_) => Some(false),
        Why::TimeOver(_) | Why::Status { status: 504, .. } => Some(true),
        Why::Status { status, .. } if *status >= 500 => Some(false),
        _ => None,
    }
}

/// Whether a refusal may come from another move of the same reference.
fn is_race(why: &str) -> bool {
    let why = why.to_lowercase();
    [
        "lock",
        "failed to update ref",
        "incorrect old value",
        "fetch first",
    ]
    .iter()
    .any(|part| why.contains(part))
}

fn elsewhere(there: Option<Oid>) -> String {
    let end = "so it was moved before or after by somebody else";
    match there {
        Some(id) => format!("it is at {id:.10} now, {end}"),
        None => format!("it doesn't exist now, {end}"),
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

/// The objects that the server lacks.
pub(super) fn pack(
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
