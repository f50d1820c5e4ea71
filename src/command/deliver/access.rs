//! [`Access`]: which remote and which forge, and whose logins are used there.

use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::Result;
use git2::Repository;

use super::reach::{OWN_DEPTH, Reached};
use crate::cli::deliver::{DeliverArgs, ForgeName, PlaceArgs};
use crate::error::Problem;
use crate::forge::detect::{self, Place, Told};
use crate::forge::token::{self, Sources, Token};
use crate::forge::{self, Forge, Kind, Trace};
use crate::git::remote::address::Address;
use crate::git::remote::login::{Aim, Logins};
use crate::git::remote::{self, Remote};
use crate::git::target::Target;
use crate::model::env::Env;
use crate::model::usual;
use crate::world::World;

/// Everything that is known before a remote is asked.
pub struct Access {
    /// Where merge requests live.
    pub place: Place,
    token_file: Option<PathBuf>,
    /// The remote's address as people wrote it.
    address: String,
    logins: Logins,
    env: Env,
}

impl Access {
    /// Finds out about an address. `folder` is where a relative one starts, and where git's credential helpers are asked.
    ///
    /// # Errors
    /// When the forge can't be told from what is given, or the token's file can't be read.
    pub fn of(
        arguments: &PlaceArgs,
        address: &str,
        folder: &std::path::Path,
        env: &Env,
    ) -> Result<Self> {
        let told = Told {
            kind: arguments.forge.map(kind),
            url: arguments.forge_url.as_deref(),
        };
        let place = detect::place(address, &told, env)?;
        let token_file = arguments.token_file.as_ref().map(|file| folder.join(file));
        // What is given for this run is for this remote and its forge: a further address for pushing may be anybody's.
        let aim = Aim {
            addresses: vec![
                address.to_owned(),
                remote::rewritten(address, env),
                place.web.clone(),
            ],
            told: token::usual_kind(place.kind).filter(|_| place.is_told),
        };
        Ok(Self {
            logins: Logins::new(env, aim, token_file.as_deref(), folder)?,
            place,
            token_file,
            address: address.to_owned(),
            env: env.clone(),
        })
    }

    /// That of a repository's remote, as flags name it.
    ///
    /// # Errors
    /// When there is no such remote; else as [`Access::of`].
    pub fn of_target(arguments: &DeliverArgs, target: &Target, world: &World) -> Result<Self> {
        let name = remote_name(arguments, target)?;
        let (fetched, pushed) = match target {
            Target::Existing(repository) => (
                repository.find_remote(&name).ok(),
                remote::push_addresses(repository, &name, &world.env).unwrap_or_default(),
            ),
            Target::New(_) | Target::Plain(_) => (None, Vec::new()),
        };
        let fetched = fetched.and_then(|remote| remote.url().ok().map(str::to_owned));
        let of = |address: &str| Self::of(&arguments.place, address, &world.folder, &world.env);
        let first = pushed.first().map(String::as_str);
        let access = of(fetched.as_deref().or(first).unwrap_or_default())?;
        // A clone of a mirror, or of a path here, may be pushed to a forge.
        match first {
            Some(first) if access.place.kind == Kind::Local && !access.place.is_told => of(first),
            _ => Ok(access),
        }
    }

    /// Which forge a person said it is.
    pub fn told(&self) -> Option<usual::Kind> {
        token::usual_kind(self.place.kind).filter(|_| self.place.is_told)
    }

    /// The host that tokens of the run are for, with the port of an address of HTTP; nothing for a path.
    pub fn host(&self, folder: &std::path::Path) -> Option<String> {
        let written = match self.place.web.as_str() {
            "" => self.address.as_str(),
            web => web,
        };
        Address::parse(written, folder).ok()?.host()
    }

    /// Looks at a repository's remote.
    ///
    /// # Errors
    /// When it can't be asked, or has no branch to build on.
    pub fn reach(&self, arguments: &DeliverArgs, target: &Target) -> Result<Reached<'_>> {
        let Target::Existing(repository) = target else {
            return Err(no_remote(target).into());
        };
        // What is cut off stays so, but for our own branches.
        let depth = repository.is_shallow().then_some(OWN_DEPTH);
        self.reach_into(arguments, target, repository, depth)
    }

    /// Looks at the remote of one repository from another, where what comes is worked on.
    ///
    /// # Errors
    /// As [`Access::reach`].
    pub fn reach_into(
        &self,
        arguments: &DeliverArgs,
        target: &Target,
        bench: &Repository,
        depth: Option<NonZeroU32>,
    ) -> Result<Reached<'_>> {
        let name = remote_name(arguments, target)?;
        let Target::Existing(repository) = target else {
            return Err(no_remote(target).into());
        };
        let remote = self.named(repository, &name)?;
        let base = arguments.place.base.as_deref();
        let head = target.head()?;
        Reached::look(bench, (&name, remote), (base, head.as_ref()), depth)
    }

    /// The remote of a repository by its name.
    ///
    /// # Errors
    /// When it isn't one that can be asked.
    pub fn named(&self, repository: &Repository, name: &str) -> Result<Remote<'_>> {
        let remote = Remote::named(repository, name, &self.env, &self.logins);
        Ok(remote.map_err(|why| why.problem())?)
    }

    /// The remote by its address.
    ///
    /// # Errors
    /// When it isn't one that can be asked.
    pub fn at(&self, folder: &std::path::Path) -> Result<Remote<'_>> {
        let remote = Remote::at(&self.address, folder, &self.env, &self.logins);
        Ok(remote.map_err(|why| why.problem())?)
    }

    /// The token for the forge's API.
    ///
    /// # Errors
    /// When it would be readable on the way.
    pub fn token(&self) -> Result<Option<Token>> {
        let helper = |address: &str| {
            let login = self.logins.of_helper(address)?;
            Token::new(&login.user, login.secret, login.source)
        };
        let sources = Sources {
            file: self.token_file.as_deref(),
            env: &self.env,
            remote: &self.address,
            helper: &helper,
        };
        Ok(token::find(&self.place, &sources)?)
    }

    /// Whether requests can only be opened by options of a push: GitLab's API takes neither nobody's word nor a job's token.
    ///
    /// # Errors
    /// As [`Self::token`].
    pub fn is_by_options(&self) -> Result<bool> {
        let token = self.token()?;
        let may_ask = token.is_some_and(|token| !token.is_job());
        Ok(self.place.kind == Kind::Gitlab && !may_ask)
    }

    /// The forge. `git_folder` is where request files lie where there is no server.
    ///
    /// # Errors
    /// When no token is known, or it can't be used.
    pub fn forge(&self, git_folder: &std::path::Path, trace: Trace) -> Result<Box<dyn Forge>> {
        let token = self.token()?;
        if token.is_none() && self.place.kind != Kind::Local {
            return Err(Problem::usage(format!(
                "cannot open merge requests at `{}`: there is no token for it",
                self.place.web
            ))
            .hint(format!(
                "set `HAPTIC_SCAFFOLD_TOKEN` or {}, or give `--token-file FILE`",
                variable(self.place.kind)
            ))
            .into());
        }
        let requests = git_folder.join("haptic-scaffold/requests");
        let forge = forge::connect(&self.place, token.as_ref(), &requests, trace);
        Ok(forge.map_err(|why| why.problem())?)
    }
}

fn remote_name(arguments: &DeliverArgs, target: &Target) -> Result<String, Problem> {
    let given = arguments.remote.clone();
    given
        .or_else(|| target.remote_name())
        .ok_or_else(|| no_remote(target))
}

fn no_remote(target: &Target) -> Problem {
    Problem::usage(format!(
        "cannot push: `{}` has no remote that is called `origin`, and not exactly one of another name",
        target.place().display()
    ))
    .hint("git remote add origin ADDRESS, or `--remote NAME`")
}

fn kind(name: ForgeName) -> Kind {
    match name {
        ForgeName::Gitlab => Kind::Gitlab,
        ForgeName::Github => Kind::Github,
        ForgeName::Gitea => Kind::Gitea,
        ForgeName::Local => Kind::Local,
    }
}

fn variable(kind: Kind) -> &'static str {
    match kind {
        Kind::Gitlab => "`GITLAB_TOKEN`",
        Kind::Github => "`GH_TOKEN`",
        Kind::Gitea => "`GITEA_TOKEN` or `FORGEJO_TOKEN`",
        Kind::Local => "nothing",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use secrecy::ExposeSecret as _;

    use super::*;
    use crate::git::remote::login::GitLogin as _;
    use crate::registry::HttpRegistry;

    #[test]
    fn git_gets_the_token_that_the_api_gets() {
        let folder = tempfile::tempdir().unwrap();
        let found = |address: &str, forge: Option<ForgeName>, env: &[(&str, &str)]| {
            let env = Env::of(env);
            let place = PlaceArgs {
                forge,
                ..PlaceArgs::default()
            };
            let access = Access::of(&place, address, folder.path(), &env).unwrap();
            let api = access.token().unwrap().is_some();
            let git = access.logins.basic(address);
            let git = git.map(|login| login.secret.expose_secret().to_owned());
            (api, git)
        };
        let own = "https://gitlab.example.org/team/repo.git";
        let token = ("GITLAB_TOKEN", "t-usual");
        let lab = Some(ForgeName::Gitlab);
        let (both, none) = ((true, Some("t-usual".to_owned())), (false, None));
        // Anybody can have a host of that name.
        assert_eq!(found(own, None, &[token]), none);
        assert_eq!(found(own, lab, &[token]), both);
        let here = ("GITLAB_HOST", "gitlab.example.org");
        assert_eq!(found(own, None, &[token, here]), both);
        let public = "https://gitlab.com/team/repo.git";
        assert_eq!(found(public, None, &[token]), both);
        let other = ("GITLAB_HOST", "other.example.org");
        assert_eq!(found(own, None, &[token, other]), none);
        assert_eq!(found(own, lab, &[token, other]), none);
        assert_eq!(found(own, lab, &[("GITEA_TOKEN", "t-other")]), none);
    }

    #[test]
    fn tokens_are_for_the_host_whose_forge_was_found() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init(folder.path()).unwrap();
        let own = "https://git.example.org/team/repo.git";
        let mirror = "https://mirror.example.net/team/repo.git";
        repository.remote("up", own).unwrap();
        for address in [own, mirror] {
            let mut config = repository.config().unwrap();
            config
                .set_multivar("remote.up.pushurl", "^$", address)
                .unwrap();
        }
        let target = Target::Existing(repository);
        for variable in ["HAPTIC_SCAFFOLD_TOKEN", "GITLAB_TOKEN"] {
            let env = Env::of(&[(variable, "geheim")]);
            let world = World {
                registry: Arc::new(HttpRegistry::new("test", env.clone())),
                env,
                folder: folder.path().to_owned(),
                now: 0,
                is_terminal: false,
            };
            let arguments = DeliverArgs {
                place: PlaceArgs {
                    forge: Some(ForgeName::Gitlab),
                    ..PlaceArgs::default()
                },
                ..DeliverArgs::default()
            };
            let access = Access::of_target(&arguments, &target, &world).unwrap();
            assert!(access.logins.basic(own).is_some(), "{variable}");
            assert!(access.logins.basic(mirror).is_none(), "{variable}");
            assert_eq!(
                access.host(folder.path()).as_deref(),
                Some("git.example.org")
            );
        }
    }
}
