//! Logins that people keep for Helm, Docker and Podman.
//!
//! Owns which files are read and how a login is chosen from them: Helm's registry configuration
//! first, then Docker's and Podman's, and for Helm repositories `repositories.yaml` alone. The forms
//! are from docs.docker.com (`config.json`, credential helpers), containers-auth.json(5) and
//! helm.sh/docs. No login is in an argument, an error or a log. Start from [`LoginFiles`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::credentials::{Credentials, Login};
use super::docker_config::{DockerConfig, is_hub};
use super::helm_logins;
use super::program::Call;
use super::secret_file::{self, NotRead};
use crate::model::env::Env;

/// Helpers may ask a server; nobody can answer a question that they ask.
const HELPER_LIMIT: Duration = Duration::from_secs(20);
const HELPER_MOST: u64 = 1 << 20;

/// Reads logins from the files of the user.
pub(super) struct LoginFiles {
    env: Env,
    registries: Mutex<HashMap<String, Found>>,
}

/// A login, if there is one, and where it was looked for.
#[derive(Debug, Clone, Default)]
struct Found {
    login: Option<Login>,
    account: String,
}

impl LoginFiles {
    /// Finds the files by the environment. Nothing is read before a source asks for a login.
    pub(super) fn new(env: Env) -> Self {
        Self {
            env,
            registries: Mutex::default(),
        }
    }

    /// Looks once for each place: a helper may take long.
    fn of_registry(&self, place: &str) -> Found {
        let mut known = self
            .registries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let found = known.entry(place.to_owned());
        found.or_insert_with(|| self.look(place)).clone()
    }

    fn look(&self, place: &str) -> Found {
        let mut looked = Vec::new();
        for file in registry_files(&self.env) {
            let (login, remark) = self.look_in(&file, place);
            let shown = file.display();
            if login.is_some() {
                let account =
                    format!("the login that {remark} `{shown}` has for it was not accepted");
                return Found { login, account };
            }
            looked.push(format!("`{shown}` {remark}"));
        }
        Found {
            login: None,
            account: none_in(host_of(place), &looked),
        }
    }

    /// The login in one file; and a remark about it, or why there is none.
    fn look_in(&self, file: &Path, place: &str) -> (Option<Login>, String) {
        let config = match secret_file::read(file).and_then(|text| DockerConfig::read(&text)) {
            Ok(config) => config,
            Err(why) => return (None, why.to_string()),
        };
        let mut remarks = Vec::new();
        for helper in config.helpers(place) {
            match self.ask_helper(&helper, host_of(place)) {
                Ok(Some(login)) => return (Some(login), format!("`{helper}` of")),
                Ok(None) => remarks.push(format!("`{helper}` has none for it")),
                Err(why) => remarks.push(format!("`{helper}` {why}")),
            }
        }
        match config.login(place) {
            Some(login) => (Some(login), String::new()),
            None if remarks.is_empty() => (None, "(has none for it)".to_owned()),
            None => (None, format!("({})", remarks.join("; "))),
        }
    }

    fn ask_helper(&self, program: &str, host: &str) -> Result<Option<Login>, String> {
        let call = Call {
            program,
            arguments: &["get"],
            env: &self.env,
            vars: &[],
            input: if is_hub(host) {
                "https://index.docker.io/v1/"
            } else {
                host
            },
            limit: HELPER_LIMIT,
            most: HELPER_MOST,
        };
        let said = call.run().map_err(|why| why.to_string())?;
        if !said.is_good {
            // The one sentence that all helpers share for «none»; it is told on standard output.
            let none = b"credentials not found in native keychain";
            let is_none = memchr::memmem::find(&said.output, none).is_some();
            return match is_none {
                true => Ok(None),
                false => Err(format!("failed with {}", said.end)),
            };
        }
        super::docker_config::of_helper(&said.output).map(Some)
    }
}

impl Credentials for LoginFiles {
    fn registry(&self, place: &str) -> Option<Login> {
        self.of_registry(place).login
    }

    fn helm(&self, repository: &str) -> Option<Login> {
        let file = helm_config(&self.env, "HELM_REPOSITORY_CONFIG", "repositories.yaml")?;
        let text = secret_file::read(&file).ok()?;
        helm_logins::login(&text, repository).ok()?
    }

    fn account_of_registry(&self, place: &str) -> String {
        self.of_registry(place).account
    }

    fn account_of_helm(&self, repository: &str) -> String {
        let Some(file) = helm_config(&self.env, "HELM_REPOSITORY_CONFIG", "repositories.yaml")
        else {
            return none_in(repository, &[]);
        };
        let shown = file.display();
        let found = secret_file::read(&file).and_then(|text| helm_logins::login(&text, repository));
        let remark = match found {
            Ok(Some(_)) => {
                return format!("the login that `{shown}` has for it was not accepted");
            }
            Ok(None) => "(has none for it)".to_owned(),
            Err(why) => why.to_string(),
        };
        none_in(repository, &[format!("`{shown}` {remark}")])
    }
}

fn none_in(what: &str, looked: &[String]) -> String {
    match looked {
        [] => {
            format!("no login for `{what}` was looked for, since neither HOME nor a file is known")
        }
        _ => format!("no login for `{what}` is in {}", looked.join(", ")),
    }
}

/// The host and port of a place.
fn host_of(place: &str) -> &str {
    place.split('/').next().unwrap_or_default()
}

/// The files with logins for registries, the most particular one first.
fn registry_files(env: &Env) -> Vec<PathBuf> {
    let set = |name: &str| env.get(name).map(PathBuf::from);
    let home = || set("HOME");
    let docker = set("DOCKER_CONFIG").or_else(|| Some(home()?.join(".docker")));
    let podman = match set("REGISTRY_AUTH_FILE") {
        Some(file) => vec![file],
        None => [set("XDG_RUNTIME_DIR"), config_home(env)]
            .into_iter()
            .flatten()
            .map(|folder| folder.join("containers/auth.json"))
            .collect(),
    };
    let helm = helm_config(env, "HELM_REGISTRY_CONFIG", "registry/config.json");
    let docker = docker.map(|folder| folder.join("config.json"));
    helm.into_iter().chain(docker).chain(podman).collect()
}

fn config_home(env: &Env) -> Option<PathBuf> {
    let set = |name: &str| env.get(name).map(PathBuf::from);
    set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))
}

/// A file of Helm's configuration: by its own variable, else where Helm keeps it.
fn helm_config(env: &Env, variable: &str, name: &str) -> Option<PathBuf> {
    let set = |name: &str| env.get(name).map(PathBuf::from);
    if let Some(file) = set(variable) {
        return Some(file);
    }
    let of_system = || match cfg!(target_os = "macos") && set("XDG_CONFIG_HOME").is_none() {
        true => Some(set("HOME")?.join("Library/Preferences/helm")),
        false => Some(config_home(env)?.join("helm")),
    };
    let folder = set("HELM_CONFIG_HOME").or_else(of_system)?;
    Some(folder.join(name))
}

impl std::fmt::Display for NotRead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("(not there)"),
            Self::Unreadable(why) => write!(f, "(can't be read: {why})"),
            Self::Malformed { line, column } => {
                write!(
                    f,
                    "(can't be read: line {line}, column {column} isn't as it should be)"
                )
            }
        }
    }
}
