//! Objects of a remote brought into a repository.
//!
//! Owns what is asked for and what counts as there already. No reference is written here. The order keeps a repository good at every moment: the
//! places where the history is cut are noted first, then the pack comes, then what isn't cut any more is taken out of the note.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::io::Read;

use git2::{Object, ObjectType, Odb, Oid, Repository};

use super::address::Address;
use super::error::{RemoteError, Why};
use super::packets::Advertisement;
use super::shallow::Shallow;
use super::upload::{Ask, Cuts, Reply};
use super::{Connection, Listing, Remote, Service, failed};

/// The most commits that are named as there already.
const MOST_HAVES: usize = 256;
/// How often a pack is asked for where the connection breaks.
const MOST_TRIES: u32 = 2;

impl Remote<'_> {
    /// Brings the objects of references into a repository, and says what the remote has. References are the caller's to write.
    ///
    /// `wanted` gets full names as in [`Listing::refs`], `HEAD` among them. With a `depth` only so many commits of each history come, and the
    /// repository's file `shallow` says so to git. A history that is whole here already isn't cut: there the depth doesn't count. Without a depth
    /// everything comes, also what an earlier fetch left out.
    ///
    /// Where all that is wanted is there already, nothing is asked for beside the list. What is there without a reference that leads to it is
    /// looked at to its last file, since git may have tidied a part of it away.
    ///
    /// libgit2 reads `shallow` once for an opened repository: open it anew after a fetch before its histories are walked.
    ///
    /// # Errors
    /// A [`RemoteError`] when the remote can't be asked, its answer isn't whole, or the repository can't be written. What came until then does no harm.
    pub fn fetch(
        &self,
        repository: &Repository,
        wanted: &dyn Fn(&str) -> bool,
        depth: Option<std::num::NonZeroU32>,
    ) -> Result<Listing, RemoteError> {
        let depth = depth.map(std::num::NonZeroU32::get);
        let address = self.source.as_ref().unwrap_or(&self.address);
        self.try_fetch(address, repository, wanted, depth)
            .map_err(|why| failed("fetch from", address, why))
    }

    fn try_fetch(
        &self,
        address: &Address,
        repository: &Repository,
        wanted: &dyn Fn(&str) -> bool,
        depth: Option<u32>,
    ) -> Result<Listing, Why> {
        let mut tries = 1;
        loop {
            let mut connection = self.connect(address, Service::Upload)?;
            let server = connection.advertisement()?;
            let ids: BTreeSet<Oid> = server
                .refs
                .iter()
                .filter(|(name, _)| wanted(name))
                .map(|(_, id)| *id)
                .collect();
            let here = Here::look(repository, depth)?;
            match here.bring(&mut connection, &server, &ids) {
                Err(Why::NoAnswer(_)) if tries < MOST_TRIES => tries += 1,
                brought => {
                    return brought.map(|()| Listing {
                        head: server.head,
                        refs: server.refs,
                    });
                }
            }
        }
    }
}

/// A repository as it is before something is brought.
struct Here {
    /// Opened anew, and not that of a work tree: libgit2 reads `shallow` once, and beside the work tree.
    repository: Repository,
    shallow: Shallow,
    cut: BTreeSet<Oid>,
    /// Commits of references. What they lead to is there.
    tips: Vec<Oid>,
    depth: Option<u32>,
}

impl Here {
    fn look(repository: &Repository, depth: Option<u32>) -> Result<Self, Why> {
        let repository = Repository::open(repository.commondir()).map_err(|why| local(&why))?;
        let shallow = Shallow::of(&repository);
        let cut = shallow.read()?;
        let mut tips = BTreeSet::new();
        for reference in repository.references().map_err(|why| local(&why))? {
            // One that leads nowhere holds nothing.
            let commit = reference.and_then(|it| it.peel_to_commit());
            tips.extend(commit.map(|commit| commit.id()));
        }
        let is_whole = cut.is_empty() && !tips.is_empty();
        Ok(Self {
            shallow,
            cut,
            tips: tips.into_iter().collect(),
            repository,
            depth: depth.filter(|_| !is_whole),
        })
    }

    fn bring(
        &self,
        connection: &mut Connection<'_>,
        server: &Advertisement,
        ids: &BTreeSet<Oid>,
    ) -> Result<(), Why> {
        let (there, wants): (Vec<Oid>, Vec<Oid>) = ids
            .iter()
            .partition(|id| self.has(**id, &self.cut).unwrap_or(false));
        if wants.is_empty() {
            connection.leave();
            return Ok(());
        }
        let haves = self.haves(&there).map_err(|why| local(&why))?;
        let ask = Ask {
            wants: &wants,
            haves: &haves,
            shallow: &self.cut,
            depth: self.depth,
        };
        let request = ask.request(server).map_err(Why::Unable)?;
        let mut noted = BTreeSet::new();
        let received = connection.fetch(&request, &mut |source| {
            self.receive(source, &ask, server, &mut noted)
        });
        let checked = received.and_then(|()| self.check(&wants));
        if checked.is_err() {
            self.forget(&noted)?;
        }
        checked
    }

    /// Commits that need not be sent, newest first.
    fn haves(&self, there: &[Oid]) -> Result<Vec<Oid>, git2::Error> {
        let mut walk = self.repository.revwalk()?;
        walk.set_sorting(git2::Sort::TIME)?;
        for id in self.tips.iter().chain(there) {
            // A tag of a file has no history.
            if let Ok(commit) = self.commit(*id) {
                walk.push(commit)?;
            }
        }
        walk.take(MOST_HAVES).collect()
    }

    fn receive(
        &self,
        source: &mut dyn Read,
        ask: &Ask<'_>,
        server: &Advertisement,
        noted: &mut BTreeSet<Oid>,
    ) -> Result<(), Why> {
        let mut reply = Reply::new(source);
        let mut cuts = match ask.deepens() {
            true => reply.cuts()?,
            false => Cuts::default(),
        };
        // A remote that is cut itself has no more to give.
        cuts.shallow.extend(&server.shallow);
        if !cuts.shallow.is_empty() {
            cuts.shallow = &cuts.shallow - &self.joined().map_err(|why| local(&why))?;
        }
        *noted = &cuts.shallow - &self.cut;
        self.shallow.change(noted, &BTreeSet::new())?;
        let odb = self.repository.odb().map_err(|why| local(&why))?;
        let mut pack = odb.packwriter().map_err(|why| local(&why))?;
        if reply.pack(&mut pack)? {
            pack.commit()
                .map_err(|why| Why::Malformed(format!("its pack: {}", why.message())))?;
        }
        odb.refresh().map_err(|why| local(&why))?;
        let gone: BTreeSet<Oid> = noted
            .iter()
            .filter(|id| !odb.exists(**id))
            .copied()
            .collect();
        self.shallow
            .change(&BTreeSet::new(), &(&cuts.unshallow | &gone))
    }

    /// Whether what was asked for is there now, as far as it was asked for.
    fn check(&self, wants: &[Oid]) -> Result<(), Why> {
        let repository = Repository::open(self.repository.path()).map_err(|why| local(&why))?;
        let now = Self {
            shallow: Shallow::of(&repository),
            cut: self.shallow.read()?,
            tips: self.tips.clone(),
            repository,
            // How deep it goes is the remote's to say: it may be cut itself.
            depth: Some(1),
        };
        let is_there = |id: &Oid| now.has(*id, &now.cut).unwrap_or(false);
        match wants.iter().find(|id| !is_there(id)) {
            None => Ok(()),
            Some(id) => Err(Why::Malformed(format!(
                "objects are missing that belong to {id:.10}"
            ))),
        }
    }

    /// Takes back a note of what then didn't come.
    fn forget(&self, noted: &BTreeSet<Oid>) -> Result<(), Why> {
        let odb = self.repository.odb().map_err(|why| local(&why))?;
        let mut gone = noted.clone();
        gone.retain(|id| !odb.exists(*id));
        self.shallow.change(&BTreeSet::new(), &gone)
    }

    /// The commit that an object is or leads to.
    fn commit(&self, id: Oid) -> Result<Oid, git2::Error> {
        let object = self.repository.find_object(id, None)?;
        Ok(object.peel(ObjectType::Commit)?.id())
    }

    /// The commits that references lead to and that have their parents here. A place without a cut stays so.
    fn joined(&self) -> Result<BTreeSet<Oid>, git2::Error> {
        let mut walk = self.repository.revwalk()?;
        for tip in &self.tips {
            walk.push(*tip)?;
        }
        walk.filter(|id| !matches!(id, Ok(id) if self.cut.contains(id)))
            .collect()
    }

    /// Whether an object is here, with its history as deep as it is wanted, and every file of it.
    fn has(&self, id: Oid, cut: &BTreeSet<Oid>) -> Result<bool, git2::Error> {
        let mut object = self.repository.find_object(id, None)?;
        while object.kind() == Some(ObjectType::Tag) {
            object = object.peel_to_tag()?.target()?;
        }
        let odb = self.repository.odb()?;
        let mut seen = HashSet::new();
        if object.kind() != Some(ObjectType::Commit) {
            return self.is_complete(&odb, &object, &mut seen);
        }
        let mut walk = self.repository.revwalk()?;
        walk.push(object.id())?;
        for tip in &self.tips {
            walk.hide(*tip)?;
        }
        for commit in walk {
            let tree = self.repository.find_commit(commit?)?.tree()?.into_object();
            if !self.is_complete(&odb, &tree, &mut seen)? {
                return Ok(false);
            }
        }
        is_deep(&odb, object.id(), cut, self.depth)
    }

    fn is_complete(
        &self,
        odb: &Odb<'_>,
        object: &Object<'_>,
        seen: &mut HashSet<Oid>,
    ) -> Result<bool, git2::Error> {
        let Some(tree) = object.as_tree() else {
            return Ok(true);
        };
        for entry in tree {
            if !seen.insert(entry.id()) {
                continue;
            }
            let is_there = match entry.kind() {
                // A submodule's commit is another repository's.
                Some(ObjectType::Commit) => true,
                Some(ObjectType::Tree) => {
                    let inner = entry.to_object(&self.repository)?;
                    self.is_complete(odb, &inner, seen)?
                }
                _ => odb.exists(entry.id()),
            };
            if !is_there {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether a history isn't cut before so many commits.
fn is_deep(
    odb: &Odb<'_>,
    tip: Oid,
    cut: &BTreeSet<Oid>,
    depth: Option<u32>,
) -> Result<bool, git2::Error> {
    if cut.is_empty() {
        return Ok(true);
    }
    let mut seen = HashSet::from([tip]);
    let mut next = VecDeque::from([(tip, 1)]);
    while let Some((id, level)) = next.pop_front() {
        if depth.is_some_and(|depth| level >= depth) {
            continue;
        }
        let parents = parents(odb, id)?;
        if cut.contains(&id) && !parents.is_empty() {
            return Ok(false);
        }
        for parent in parents.into_iter().filter(|parent| seen.insert(*parent)) {
            next.push_back((parent, level + 1));
        }
    }
    Ok(true)
}

/// The parents that a commit names, whether the history is cut there or not.
fn parents(odb: &Odb<'_>, commit: Oid) -> Result<Vec<Oid>, git2::Error> {
    let object = odb.read(commit)?;
    String::from_utf8_lossy(object.data())
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("parent "))
        .map(Oid::from_str)
        .collect()
}

fn local(why: &git2::Error) -> Why {
    Why::Local(format!("the repository here: {}", why.message()))
}
