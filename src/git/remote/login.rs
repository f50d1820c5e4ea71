//! Logins for Git over HTTP: who has one for which host.
//!
//! A token that is given for a run goes to the host of the run's remote alone, one of a forge's usual variable to that forge's host. Nobody is asked at a prompt. Secrets are in no argument,
//! address, log or error; an error names the source. Start from [`GitLogin`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};

use super::address::HttpAddress;
use super::channel::Program;
use crate::error::Problem;
use crate::model::env::Env;
pub use crate::model::usual::Kind;
use crate::model::usual::{Server, usual};

/// How long git's credential helpers may take.
const HELPER_LIMIT: Duration = Duration::from_secs(20);
/// The most that a token's file may hold, in bytes.
const MOST_IN_A_FILE: u64 = 64 << 10;
/// GitLab, Gitea and Forgejo take any user name beside a token.
const ANY_USER: &str = "oauth2";
const GITHUB_USER: &str = "x-access-token";
const JOB_USER: &str = "gitlab-ci-token";

/// A user and a secret.
#[derive(Debug, Clone)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// A password or token.
    pub secret: SecretString,
    /// Where it is from, for messages.
    pub source: String,
}

/// Whoever knows logins.
pub trait GitLogin {
    /// A login that the user gave for this very run. It counts before one in the remote's address, and that one before all others.
    fn told(&self, _url: &str) -> Option<Login> {
        None
    }

    /// The login for the host of an address, which may name a user and holds no password.
    fn basic(&self, url: &str) -> Option<Login>;
}

/// Whom tokens of a run are for.
#[derive(Debug, Clone, Default)]
pub struct Aim {
    /// The addresses whose hosts get a token that is given for the run (`--token-file`, `HAPTIC_SCAFFOLD_TOKEN`), and no other host does: that of the remote, and
    /// that of the forge's server.
    pub addresses: Vec<String>,
    /// Which forge a person said is there, where the host doesn't tell.
    pub told: Option<Kind>,
}

/// The logins of a run, in this order: `--token-file`, `HAPTIC_SCAFFOLD_TOKEN`, (one in the remote's address,) the usual variables of forges,
/// then those of CI jobs, git's credential helpers.
pub struct Logins {
    env: Env,
    aim: Aim,
    file: Option<Login>,
    /// Where git is asked, for the settings of that repository.
    folder: PathBuf,
}

impl Logins {
    /// Takes the environment and reads `--token-file`.
    ///
    /// # Errors
    /// When the file can't be read or holds no token. Nothing of it is repeated.
    pub fn new(
        env: &Env,
        aim: Aim,
        token_file: Option<&Path>,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            env: env.clone(),
            aim,
            file: token_file.map(read).transpose()?,
            folder: folder.to_owned(),
        })
    }

    /// Whether an address is of a host that this run's tokens are for. Others that get the same push are none of the forge's.
    fn is_aim(&self, address: &HttpAddress) -> bool {
        let aims = self.aim.addresses.iter();
        let mut aims = aims.filter_map(|aim| HttpAddress::parse(aim));
        aims.any(|aim| aim.origin == address.origin)
    }

    fn usual(&self, address: &HttpAddress) -> Option<Login> {
        let is_meant = |named: &str| {
            let named = match named.contains("://") {
                true => HttpAddress::parse(named),
                false => HttpAddress::parse(&format!("{}://{named}", address.origin.scheme())),
            };
            named.is_some_and(|named| named.origin == address.origin)
        };
        let server = Server {
            told: self.aim.told.filter(|_| self.is_aim(address)),
            is_meant: &is_meant,
        };
        usual(&self.env, &server).into_iter().find_map(|usual| {
            let secret = self.env.get(usual.variable)?;
            let user = match (usual.kind, usual.is_job) {
                (_, true) => JOB_USER,
                (Kind::Github, _) => GITHUB_USER,
                (Kind::Gitlab | Kind::Gitea, _) => ANY_USER,
            };
            Some(Login {
                user: user.to_owned(),
                secret: SecretString::from(secret.trim().to_owned()),
                source: format!("`{}`", usual.variable),
            })
        })
    }

    /// Asks git's credential helpers alone, for an address without a login.
    pub fn of_helper(&self, url: &str) -> Option<Login> {
        self.helper(&HttpAddress::parse(url)?)
    }

    /// Asks git's credential helpers. No prompt: without an answer git fails.
    fn helper(&self, address: &HttpAddress) -> Option<Login> {
        let path = address.base.splitn(4, '/').nth(3).unwrap_or_default();
        let (scheme, host) = (address.origin.scheme(), address.origin.authority());
        let user = address.user.as_ref();
        let user = user.map_or_else(String::new, |user| format!("username={user}\n"));
        let question = format!("protocol={scheme}\nhost={host}\npath={path}\n{user}\n");
        let program = Program::git(&self.env, &["credential", "fill"], &self.folder);
        let answer = program.output(question.as_bytes(), HELPER_LIMIT)?;
        let text = std::str::from_utf8(&answer).ok()?;
        let value = |name: &str| {
            let found = text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            found.filter(|value| !value.is_empty()).map(str::to_owned)
        };
        Some(Login {
            user: value("username")?,
            secret: SecretString::from(value("password")?),
            source: "git's credential helper".to_owned(),
        })
    }
}

/// Deploy tokens have a user of their own, which the address names.
fn named(mut login: Login, address: &HttpAddress) -> Login {
    if let (Some(user), ANY_USER) = (&address.user, login.user.as_str()) {
        login.user.clone_from(user);
    }
    login
}

/// A line feed would end the header and begin another.
fn is_one_line(login: &Login) -> bool {
    !login.secret.expose_secret().chars().any(char::is_control)
}

impl GitLogin for Logins {
    fn told(&self, url: &str) -> Option<Login> {
        let address = HttpAddress::parse(url).filter(|address| self.is_aim(address))?;
        let own = self.env.get("HAPTIC_SCAFFOLD_TOKEN").map(|secret| Login {
            user: ANY_USER.to_owned(),
            secret: SecretString::from(secret.trim().to_owned()),
            source: "`HAPTIC_SCAFFOLD_TOKEN`".to_owned(),
        });
        let told = self.file.clone().or(own);
        told.map(|login| named(login, &address)).filter(is_one_line)
    }

    fn basic(&self, url: &str) -> Option<Login> {
        let address = HttpAddress::parse(url)?;
        let usual = || self.usual(&address).map(|login| named(login, &address));
        self.told(url)
            .or_else(usual)
            .or_else(|| self.helper(&address))
            .filter(is_one_line)
    }
}

fn read(file: &Path) -> anyhow::Result<Login> {
    use std::io::Read as _;
    let mut text = zeroize::Zeroizing::new(String::new());
    let read = std::fs::File::open(file)
        .and_then(|open| open.take(MOST_IN_A_FILE).read_to_string(&mut text));
    let refused = |why: &str| {
        Problem::invalid(format!(
            "cannot read a token from `{}`: {why}",
            file.display()
        ))
        .hint("the file holds the token alone, on one line")
    };
    read.map_err(|why| refused(&why.to_string()))?;
    let token = text.trim();
    if token.is_empty() || token.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(refused("it is empty, or holds more than a token").into());
    }
    Ok(Login {
        user: ANY_USER.to_owned(),
        secret: SecretString::from(token.to_owned()),
        source: format!("`{}`", file.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aim(told: Option<Kind>, url: &str) -> Aim {
        Aim {
            addresses: vec![url.to_owned()],
            told,
        }
    }

    fn source(env: &[(&str, &str)], told: Option<Kind>, url: &str) -> Option<String> {
        let logins = Logins::new(&Env::of(env), aim(told, url), None, Path::new("/")).unwrap();
        logins.basic(url).map(|login| login.source)
    }

    #[test]
    fn a_token_goes_to_the_host_that_it_is_for() {
        let all = [
            ("GITLAB_TOKEN", "x"),
            ("GITHUB_TOKEN", "x"),
            ("CI_JOB_TOKEN", "x"),
            ("CI_SERVER_URL", "https://git.example.org:8443"),
            ("PATH", "/nowhere"),
        ];
        let of = |url| source(&all, None, url);
        assert_eq!(
            of("https://gitlab.com/a").as_deref(),
            Some("`GITLAB_TOKEN`")
        );
        assert_eq!(
            of("https://git.example.org:8443/a").as_deref(),
            Some("`GITLAB_TOKEN`")
        );
        assert_eq!(
            of("https://github.com/a").as_deref(),
            Some("`GITHUB_TOKEN`")
        );
        for other in [
            "https://git.example.org/a",
            "https://gitlab.com.evil.example/a",
            "https://evil.example/gitlab.com",
            "https://gitlab.evil.example/a",
            "http://gitlab.com/a",
            "https://codeberg.org/a",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        // A job's token is for the CI's own host whatever is told.
        let job = [("CI_JOB_TOKEN", "x"), ("PATH", "/nowhere")];
        assert_eq!(
            source(&job, Some(Kind::Gitlab), "https://h.example.org/a"),
            None
        );
        let told = [("GITEA_TOKEN", "x"), ("PATH", "/nowhere")];
        assert!(source(&told, Some(Kind::Gitea), "https://h.example.org/a").is_some());
    }

    #[test]
    fn another_address_of_the_same_push_gets_nothing_that_is_given_for_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "geheim\n").unwrap();
        let own = "https://gitlab.example.org/a.git";
        let others = [
            "https://mirror.example.org/a.git",
            "https://gitlab.example.org:8443/a.git",
            "http://gitlab.example.org/a.git",
        ];
        let variables = [("HAPTIC_SCAFFOLD_TOKEN", "x"), ("GITLAB_TOKEN", "x")];
        for (variables, file) in [
            (&variables[..1], None),
            (&variables[1..], None),
            (&[], Some(file.as_path())),
        ] {
            let env = Env::of(&[variables, &[("PATH", "/nowhere")]].concat());
            let aim = aim(Some(Kind::Gitlab), own);
            let logins = Logins::new(&env, aim, file, Path::new("/")).unwrap();
            assert!(logins.basic(own).is_some(), "{variables:?}");
            for other in others {
                assert!(logins.told(other).is_none(), "{other} {variables:?}");
                assert!(logins.basic(other).is_none(), "{other} {variables:?}");
            }
        }
    }

    #[test]
    fn the_user_of_an_address_counts_where_the_token_takes_any() {
        let user = |variable: &str, url: &str| {
            let env = Env::of(&[(variable, "x"), ("CI_SERVER_URL", "https://h.example.org")]);
            let logins = Logins::new(&env, aim(None, url), None, Path::new("/")).unwrap();
            logins.basic(url).unwrap().user
        };
        let named = "https://deploy-7@h.example.org/a";
        assert_eq!(user("HAPTIC_SCAFFOLD_TOKEN", named), "deploy-7");
        assert_eq!(user("GITLAB_TOKEN", "https://h.example.org/a"), "oauth2");
        assert_eq!(user("CI_JOB_TOKEN", named), "gitlab-ci-token");
    }

    #[test]
    fn a_file_counts_before_variables_and_is_never_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "geheim\n").unwrap();
        let env = Env::of(&[("HAPTIC_SCAFFOLD_TOKEN", "other")]);
        let own = || aim(None, "https://h.example.org/a");
        let logins = Logins::new(&env, own(), Some(&file), Path::new("/")).unwrap();
        let login = logins.basic("https://h.example.org/a").unwrap();
        assert_eq!(login.secret.expose_secret(), "geheim");
        assert!(!format!("{login:?}").contains("geheim"));
        std::fs::write(&file, "geheim und mehr").unwrap();
        let refused = Logins::new(&env, own(), Some(&file), Path::new("/"))
            .err()
            .unwrap();
        assert!(!format!("{refused:?}").contains("geheim"));
        std::fs::write(&file, " \n").unwrap();
        assert!(Logins::new(&env, own(), Some(&file), Path::new("/")).is_err());
    }

    #[test]
    fn helpers_of_git_are_asked_without_a_prompt() {
        let home = tempfile::tempdir().unwrap();
        let config = "[credential \"https://h.example.org\"]\n\thelper = \"!f() { cat >$HOME/asked; echo username=bot; echo password=geheim; }; f\"\n[core]\n\taskPass = \"touch $HOME/prompted; true\"\n";
        std::fs::write(home.path().join(".gitconfig"), config).unwrap();
        let home_text = home.path().display().to_string();
        let env = Env::of(&[
            ("HOME", &home_text),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ]);
        let logins = Logins::new(&env, Aim::default(), None, home.path()).unwrap();
        let login = logins.basic("https://h.example.org/a.git").unwrap();
        assert_eq!(
            (login.user.as_str(), login.secret.expose_secret()),
            ("bot", "geheim")
        );
        let own = Env::new(
            env.all()
                .map(|(name, value)| (name.clone(), value.clone()))
                .chain([("HAPTIC_SCAFFOLD_TOKEN".to_owned(), "other".to_owned())]),
        );
        let aim = aim(None, "https://h.example.org/a.git");
        let own = Logins::new(&own, aim, None, home.path()).unwrap();
        let login = own.of_helper("https://h.example.org/a.git").unwrap();
        assert_eq!(login.secret.expose_secret(), "geheim");
        let asked = || std::fs::read_to_string(home.path().join("asked")).unwrap();
        assert!(asked().contains("host=h.example.org\n"), "{}", asked());
        assert!(logins.basic("https://me@h.example.org/a.git").is_some());
        assert!(asked().contains("username=me\n"), "{}", asked());
        assert!(logins.basic("https://other.example.org/a.git").is_none());
        assert!(!home.path().join("prompted").exists());
    }
}
