//! [`Access`]: which remote and which forge, and whose logins are used there.

use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::Result;
use git2::Repository;

use super::reach::Reached;
use crate::cli::deliver::{DeliverArgs, ForgeName, PlaceArgs};
use crate::error::Problem;
use crate::forge::detect::{self, Place, Told};
use crate::forge::token::{self, Sources, Token};
use crate::forge::{self, Forge, Kind, Trace};
use crate::git::remote::Remote;
use crate::git::remote::login::{self, Logins};
use crate::git::target::Target;
use crate::model::env::Env;
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
        let login = match place.kind {
            Kind::Gitlab => Some(login::Kind::Gitlab),
            Kind::Github => Some(login::Kind::Github),
            Kind::Gitea => Some(login::Kind::Gitea),
            Kind::Local => None,
        };
        let token_file = arguments.token_file.as_ref().map(|file| folder.join(file));
        Ok(Self {
            logins: Logins::new(
                env,
                login.filter(|_| token::is_usual_for(&place, env)),
                token_file.as_deref(),
                folder,
            )?,
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
        let address = match target {
            Target::Existing(repository) => repository.find_remote(&name).ok(),
            Target::New(_) | Target::Plain(_) => None,
        };
        let address = address.and_then(|remote| remote.url().ok().map(str::to_owned));
        Self::of(
            &arguments.place,
            &address.unwrap_or_default(),
            &world.folder,
            &world.env,
        )
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
        let depth = repository
            .is_shallow()
            .then_some(NonZeroU32::MIN.saturating_add(1));
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
                usual(self.place.kind)
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

fn usual(kind: Kind) -> &'static str {
    match kind {
        Kind::Gitlab => "`GITLAB_TOKEN`",
        Kind::Github => "`GH_TOKEN`",
        Kind::Gitea => "`GITEA_TOKEN` or `FORGEJO_TOKEN`",
        Kind::Local => "nothing",
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;
    use crate::git::remote::login::GitLogin as _;

    #[test]
    fn git_gets_the_token_that_the_api_gets() {
        let folder = tempfile::tempdir().unwrap();
        let found = |address: &str, env: &[(&str, &str)]| {
            let (env, place) = (Env::of(env), PlaceArgs::default());
            let access = Access::of(&place, address, folder.path(), &env).unwrap();
            let api = access.token().unwrap().is_some();
            let git = access.logins.basic(address);
            let git = git.map(|login| login.secret.expose_secret().to_owned());
            (api, git)
        };
        let own = "https://gitlab.example.org/team/repo.git";
        let token = ("GITLAB_TOKEN", "t-usual");
        let both = (true, Some("t-usual".to_owned()));
        assert_eq!(found(own, &[token]), both);
        let here = ("GITLAB_HOST", "gitlab.example.org");
        assert_eq!(found(own, &[token, here]), both);
        assert_eq!(found("https://gitlab.com/team/repo.git", &[token]), both);
        let other = ("GITLAB_HOST", "other.example.org");
        assert_eq!(found(own, &[token, other]), (false, None));
        assert_eq!(found(own, &[("GITEA_TOKEN", "t-other")]), (false, None));
    }
}
