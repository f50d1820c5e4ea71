//! [`place`]: which forge a remote is at, the base of its API, and the project's path there.
//!
//! Pure: it reads the remote's address, what was told, and the variables of a CI. Sources: GitLab's predefined variables (`CI_SERVER_URL`, `CI_API_V4_URL`),
//! GitHub's default variables (`GITHUB_SERVER_URL`, `GITHUB_API_URL`), which the actions of Gitea and Forgejo set too, beside `GITEA_ACTIONS` or `FORGEJO_ACTIONS`.
//! A CI's variables count where the remote is of the CI's own server; `CI_PROJECT_PATH` and `GITHUB_REPOSITORY` don't, since the remote says which project is meant.

use super::Kind;
use crate::error::Problem;
use crate::http::url::Url;
use crate::model::env::Env;

/// What a person says of the forge.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told<'a> {
    /// Which forge it is (`--forge`).
    pub kind: Option<Kind>,
    /// The address of the server or of its API (`--forge-url`).
    pub url: Option<&'a str>,
}

/// Where the merge requests of a remote live. All addresses are without a login and without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Which forge it is.
    pub kind: Kind,
    /// The server's address for browsers; empty for `local`.
    pub web: String,
    /// The base of its API; empty for `local`.
    pub api: String,
    /// The project's path, as in `group/sub/project`; empty for `local`.
    pub project: String,
    /// Whether a person said which forge it is.
    pub is_told: bool,
}

/// A remote's address, as far as forges are concerned.
struct Remote {
    /// The web server as the remote tells it: its own origin over HTTP, else HTTPS on the same host.
    origin: Url,
    /// Whether it is reached over HTTP, so that its path begins with that of the server.
    is_http: bool,
    /// Without slashes at its ends and without `.git`.
    path: String,
}

/// A server: its address for browsers, and its API where that is known.
struct Server {
    kind: Kind,
    web: Url,
    api: Option<Url>,
}

const API_ENDS: [(&str, Kind); 5] = [
    ("/api/v4", Kind::Gitlab),
    ("/api/v3", Kind::Github),
    ("/api/graphql", Kind::Github),
    ("/graphql", Kind::Github),
    ("/api/v1", Kind::Gitea),
];

/// Finds the forge of a remote; `local` where none is known.
///
/// # Errors
/// When what was told can't be, or the remote's path is none of a project there.
pub fn place(remote: &str, told: &Told<'_>, env: &Env) -> Result<Place, Problem> {
    let local = Place {
        kind: Kind::Local,
        web: String::new(),
        api: String::new(),
        project: String::new(),
        is_told: told.kind.is_some(),
    };
    if told.kind == Some(Kind::Local) {
        return Ok(local);
    }
    let is_told = told.kind.is_some() || told.url.is_some();
    let Some(remote) = Remote::parse(remote) else {
        return match is_told {
            true => Err(Problem::usage(
                "cannot find the forge of the remote: its address names no server",
            )
            .hint(
                "give a remote by `https://…`, `ssh://…` or `user@host:path`, or `--forge local`",
            )),
            false => Ok(local),
        };
    };
    let server = match told.url {
        Some(url) => Some(Server::told(url, told.kind, env)?),
        None => Server::of_remote(&remote, told.kind, env),
    };
    server.map_or(Ok(local), |server| server.place(&remote, is_told))
}

impl Remote {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some((scheme, rest)) = text.split_once("://") {
            let is_http = match scheme.to_ascii_lowercase().as_str() {
                "http" | "https" => true,
                "ssh" | "git+ssh" | "ssh+git" => false,
                _ => return None,
            };
            let (authority, path) = rest.split_once('/')?;
            let authority = authority.rsplit('@').next().unwrap_or_default();
            let origin = match is_http {
                true => Url::parse(&format!("{scheme}://{authority}/"))?,
                false => Url::parse(&format!("https://{}/", without_port(authority)))?,
            };
            return Some(Self::new(origin, is_http, path));
        }
        let (host, path) = text.split_once(':')?;
        // One letter is a drive of Windows; a slash before the colon is a path.
        if host.contains('/') || host.len() < 2 {
            return None;
        }
        let host = host.rsplit('@').next().unwrap_or_default();
        let origin = Url::parse(&format!("https://{host}/"))?;
        Some(Self::new(origin, false, path))
    }

    fn new(origin: Url, is_http: bool, path: &str) -> Self {
        // Hosts that take SSH at the port of HTTPS.
        let host = match origin.host() {
            "ssh.github.com" if !is_http => Some("github.com"),
            "altssh.gitlab.com" if !is_http => Some("gitlab.com"),
            _ => None,
        };
        let origin = host
            .and_then(|host| Url::parse(&format!("https://{host}/")))
            .unwrap_or(origin);
        let path = path.trim_matches('/');
        Self {
            origin,
            is_http,
            path: path.strip_suffix(".git").unwrap_or(path).to_owned(),
        }
    }

    /// Whether it is of a server: the same origin, or over SSH the same host.
    fn is_of(&self, server: &Url) -> bool {
        match self.is_http {
            true => self.origin.same_origin(server),
            false => self.origin.host() == server.host(),
        }
    }

    /// Its path below a server's.
    fn project(&self, server: &Url) -> String {
        let folder = server.target().trim_matches('/');
        let below = self
            .path
            .strip_prefix(folder)
            .and_then(|rest| rest.strip_prefix('/'))
            .filter(|_| self.is_http && !folder.is_empty() && self.is_of(server));
        below.unwrap_or(&self.path).to_owned()
    }
}

impl Server {
    /// A server by the address that a person typed, with or without the end of its API.
    fn told(text: &str, kind: Option<Kind>, env: &Env) -> Result<Self, Problem> {
        let unreadable = || {
            Problem::usage("cannot read `--forge-url`: it isn't an address of a web server").hint(
                "write it as in `https://example.org/gitlab`, without a user, password or query",
            )
        };
        let url = Url::parse(text.trim()).filter(|url| !url.has_query());
        let url = url.ok_or_else(unreadable)?;
        let path = url.target().trim_end_matches('/').to_owned();
        let end = API_ENDS.iter().find(|(end, _)| path.ends_with(end));
        let web = match end {
            Some((end, _)) => path.trim_end_matches(end).to_owned(),
            None => path,
        };
        let web = url.with_target(web);
        let (web, is_api_host) = match web.host() {
            "api.github.com" => (Url::parse("https://github.com").unwrap_or(web), true),
            _ => (web, false),
        };
        let ci = Self::of_ci(env).filter(|ci| ci.web.same_origin(&web));
        let kind = kind
            .or(end.map(|(_, kind)| *kind))
            .or(is_api_host.then_some(Kind::Github))
            .or_else(|| ci.as_ref().map(|ci| ci.kind))
            .or_else(|| kind_of(web.host()));
        let kind = kind.ok_or_else(|| {
            Problem::usage(format!("cannot tell which forge `{}` is", shown(&web)))
                .hint("name it: `--forge gitlab`, `--forge github` or `--forge gitea`")
        })?;
        Ok(Self {
            kind,
            web,
            api: None,
        })
    }

    fn of_remote(remote: &Remote, kind: Option<Kind>, env: &Env) -> Option<Self> {
        let ci = Self::of_ci(env).filter(|ci| remote.is_of(&ci.web));
        let ci = ci.filter(|ci| kind.is_none_or(|kind| kind == ci.kind));
        if ci.is_some() {
            return ci;
        }
        let kind = kind.or_else(|| kind_of(remote.origin.host()))?;
        Some(Self {
            kind,
            web: remote.server(kind),
            api: None,
        })
    }

    /// The server that this CI's job is of.
    fn of_ci(env: &Env) -> Option<Self> {
        let url = |name: &str| Url::parse(env.get(name)?.trim_end_matches('/'));
        let is_gitea = env.get("GITEA_ACTIONS").is_some() || env.get("FORGEJO_ACTIONS").is_some();
        let (kind, web, api) = if env.get("GITHUB_ACTIONS").is_some() || is_gitea {
            let kind = if is_gitea { Kind::Gitea } else { Kind::Github };
            (kind, "GITHUB_SERVER_URL", "GITHUB_API_URL")
        } else {
            (Kind::Gitlab, "CI_SERVER_URL", "CI_API_V4_URL")
        };
        Some(Self {
            kind,
            web: url(web)?,
            api: url(api),
        })
    }

    fn place(self, remote: &Remote, is_told: bool) -> Result<Place, Problem> {
        let project = remote.project(&self.web);
        let parts: Vec<&str> = project.split('/').collect();
        let is_project = match self.kind {
            Kind::Gitlab => parts.len() >= 2,
            Kind::Github | Kind::Gitea | Kind::Local => parts.len() == 2,
        };
        let is_plain = |part: &&str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"._-+~".contains(&b))
                && !matches!(*part, "." | "..")
        };
        if !is_project || !parts.iter().all(is_plain) {
            let problem = Problem::usage(format!(
                "cannot find the project of the remote at `{}`: its path `{project}` isn't that of one",
                shown(&self.web)
            ));
            return Err(problem.hint("where the server's address has a path, give it by `--forge-url`; `--forge local` does without a forge"));
        }
        Ok(Place {
            kind: self.kind,
            api: self.api.as_ref().map_or_else(|| self.usual_api(), shown),
            web: shown(&self.web),
            project,
            is_told,
        })
    }

    fn usual_api(&self) -> String {
        let web = shown(&self.web);
        let host = self.web.host();
        match self.kind {
            Kind::Gitlab => format!("{web}/api/v4"),
            Kind::Gitea => format!("{web}/api/v1"),
            // The public server and those of `ghe.com` have a host for it.
            Kind::Github if host == "github.com" || host.ends_with(".ghe.com") => {
                format!("https://api.{host}")
            }
            Kind::Github => format!("{web}/api/v3"),
            Kind::Local => web,
        }
    }
}

impl Remote {
    /// The server's address for browsers. The projects of GitHub and Gitea have two parts, so what stands before them over HTTP is the server's path.
    fn server(&self, kind: Kind) -> Url {
        let parts: Vec<&str> = self.path.split('/').collect();
        let folder = match kind {
            Kind::Github | Kind::Gitea if self.is_http && parts.len() > 2 => {
                format!("/{}", parts[..parts.len() - 2].join("/"))
            }
            _ => "/".to_owned(),
        };
        self.origin.with_target(folder)
    }
}

/// The forge that a host's name tells.
fn kind_of(host: &str) -> Option<Kind> {
    if host == "codeberg.org" {
        return Some(Kind::Gitea);
    }
    if host.ends_with(".ghe.com") {
        return Some(Kind::Github);
    }
    host.split('.').find_map(|label| match label {
        "gitlab" => Some(Kind::Gitlab),
        "github" => Some(Kind::Github),
        "gitea" | "forgejo" => Some(Kind::Gitea),
        _ => None,
    })
}

fn shown(url: &Url) -> String {
    url.to_string().trim_end_matches('/').to_owned()
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    }
}

#[cfg(test)]
#[path = "tests_detect.rs"]
mod tests;
