//! The kubeconfig: which files, which context of them, and what the client needs to know of it.
//!
//! Everything comes from [`Env`]. kube's own way from a kubeconfig to a configuration isn't taken, as it also reads the
//! process's proxy variables, wrongly (see `proxy`), and fails where they have an empty entry.

use std::path::{Path, PathBuf};

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, Cluster, Kubeconfig as Parsed, KubeconfigError};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use super::aim::Place;
use super::ask::CONNECT_LIMIT;
use super::proxy;
use crate::error::Problem;
use crate::model::env::Env;

/// What the files of the kubeconfig say together.
pub(super) struct Kubeconfig {
    files: Vec<PathBuf>,
    parsed: Parsed,
}

impl Kubeconfig {
    /// Reads and merges the files: the first one that says something wins. Files of `KUBECONFIG` that aren't there are
    /// passed over, as kubectl does.
    ///
    /// # Errors
    /// When there is none, or one can't be read.
    pub(super) fn read(env: &Env) -> Result<Self, Problem> {
        let wanted = wanted_files(env);
        let mut files = Vec::new();
        let mut parsed = Parsed::default();
        for file in &wanted {
            let next = match Parsed::read_from(file) {
                Ok(next) => next,
                Err(KubeconfigError::ReadConfig(why, _))
                    if why.kind() == std::io::ErrorKind::NotFound =>
                {
                    continue;
                }
                Err(why) => return Err(unreadable(file, &why)),
            };
            parsed = parsed.merge(next).map_err(|why| unreadable(file, &why))?;
            files.push(file.clone());
        }
        if files.is_empty() {
            return Err(no_kubeconfig(&wanted));
        }
        Ok(Self { files, parsed })
    }

    /// Takes a context, or the current one, and makes the client's configuration of it.
    ///
    /// # Errors
    /// When there is no such context, or what it names is missing or can't be used.
    pub(super) fn choose(
        self,
        context: Option<&str>,
        env: &Env,
    ) -> Result<(kube::Config, Place), Problem> {
        let current = self.parsed.current_context.as_deref();
        let Some(name) = context.or(current.filter(|name| !name.is_empty())) else {
            let message = format!("{} has no current context", self.names());
            return Err(Problem::invalid(message).hint(self.known()));
        };
        let contexts = &self.parsed.contexts;
        let named = contexts.iter().find(|context| context.name == name);
        let Some(context) = named.and_then(|named| named.context.as_ref()) else {
            let message = format!("{} has no context `{name}`", self.names());
            return Err(Problem::invalid(message).hint(self.known()));
        };
        let clusters = &self.parsed.clusters;
        let named = clusters.iter().find(|named| named.name == context.cluster);
        let Some(cluster) = named.and_then(|named| named.cluster.as_ref()) else {
            return Err(Problem::invalid(format!(
                "{} has no cluster `{}`, which the context `{name}` names",
                self.names(),
                context.cluster
            )));
        };
        // kubectl goes on without a login where the user isn't there, and so does this.
        let users = &self.parsed.auth_infos;
        let user = users
            .iter()
            .find(|user| Some(&user.name) == context.user.as_ref())
            .and_then(|user| user.auth_info.clone())
            .unwrap_or_default();
        let place = Place {
            context: name.to_owned(),
            server: without_login(cluster.server.as_deref().unwrap_or_default()),
            login: user.exec.as_ref().and_then(|exec| exec.command.clone()),
        };
        let config = configuration(cluster, user, env).map_err(|reason| {
            Problem::invalid(format!(
                "cannot use the context `{name}` of {}: {reason}",
                self.names()
            ))
        })?;
        Ok((config, place))
    }

    fn names(&self) -> String {
        format!("the kubeconfig {}", quoted(&self.files))
    }

    fn known(&self) -> String {
        let mut names: Vec<String> = self
            .parsed
            .contexts
            .iter()
            .map(|context| format!("`{}`", context.name))
            .collect();
        names.sort();
        if names.is_empty() {
            "it has no contexts at all; `KUBECONFIG` names another file".to_owned()
        } else {
            format!("`--context` takes one of these: {}", names.join(", "))
        }
    }
}

fn wanted_files(env: &Env) -> Vec<PathBuf> {
    let list = env.get("KUBECONFIG").unwrap_or_default();
    let named: Vec<PathBuf> = std::env::split_paths(&list)
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    if !named.is_empty() {
        return named;
    }
    let home = env.get("HOME");
    home.map(|home| Path::new(&home).join(".kube/config"))
        .into_iter()
        .collect()
}

fn no_kubeconfig(wanted: &[PathBuf]) -> Problem {
    let message = if wanted.is_empty() {
        "there is no kubeconfig: neither `KUBECONFIG` nor `HOME` is set".to_owned()
    } else {
        format!("there is no kubeconfig: looked for {}", quoted(wanted))
    };
    Problem::invalid(message)
        .hint("`KUBECONFIG` names the file, and `--context` a context that it has")
}

/// The parser's own words may quote a token, so only the place is told.
fn unreadable(file: &Path, why: &KubeconfigError) -> Problem {
    let reason = match why {
        KubeconfigError::ReadConfig(why, _) => why.to_string(),
        KubeconfigError::Parse(why) => match why.location() {
            Some(at) => format!("what stands in line {} is not understood", at.line()),
            None => "it is not YAML of a kubeconfig".to_owned(),
        },
        _ => "its `kind` or `apiVersion` differs from the other files'".to_owned(),
    };
    let file = file.display();
    Problem::invalid(format!("cannot read the kubeconfig `{file}`: {reason}"))
        .hint(format!("kubectl --kubeconfig {file} config view"))
}

/// What the client needs to know; else the reason why not.
fn configuration(cluster: &Cluster, mut user: AuthInfo, env: &Env) -> Result<kube::Config, String> {
    let server = cluster.server.as_deref().unwrap_or_default();
    if !server.starts_with("https://") && !server.starts_with("http://") {
        return Err("its server is no address that begins with `https://`".to_owned());
    }
    let url = server
        .parse()
        .map_err(|why| format!("its server is no address: {why}"))?;
    let mut config = kube::Config::new(url);
    config.connect_timeout = Some(CONNECT_LIMIT);
    // A repeated `create` would find the object of its own first try.
    config.default_retry = false;
    config.root_cert = authority(cluster)?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.tls_server_name.clone_from(&cluster.tls_server_name);
    let named = cluster.proxy_url.as_deref().filter(|url| !url.is_empty());
    let host = config.cluster_url.host().unwrap_or_default();
    let port = config.cluster_url.port_u16().unwrap_or(443);
    let proxy = match named {
        Some(url) => Some(crate::model::proxy::with_scheme(url)),
        None if server.starts_with("https://") => proxy::for_server(env, host, port),
        None => None,
    };
    // Its address may have a password, so the parser's words are left out.
    config.proxy_url = proxy
        .map(|url| url.parse())
        .transpose()
        .map_err(|_| "the proxy for it is no address".to_owned())?;
    if let Some(exec) = user.exec.as_mut().filter(|exec| exec.provide_cluster_info) {
        exec.cluster = cluster.try_into().ok();
    }
    config.auth_info = user;
    Ok(config)
}

/// The certificates that the server's has to be signed by; none where the system's are meant.
fn authority(cluster: &Cluster) -> Result<Option<Vec<Vec<u8>>>, String> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let pem = if let Some(data) = given(&cluster.certificate_authority_data) {
        STANDARD
            .decode(data)
            .map_err(|_| "its `certificate-authority-data` is no base64".to_owned())?
    } else if let Some(file) = given(&cluster.certificate_authority) {
        std::fs::read(&file).map_err(|why| format!("cannot read `{file}`: {why}"))?
    } else {
        return Ok(None);
    };
    let certificates: Vec<Vec<u8>> = CertificateDer::pem_slice_iter(&pem)
        .filter_map(|certificate| Some(certificate.ok()?.to_vec()))
        .collect();
    if certificates.is_empty() {
        return Err("its certificate authority has no certificate (PEM)".to_owned());
    }
    Ok(Some(certificates))
}

fn without_login(server: &str) -> String {
    match server.split_once("://") {
        Some((scheme, rest)) => {
            let authority = rest.split('/').next().unwrap_or_default();
            match authority.rsplit_once('@') {
                Some((login, _)) => format!("{scheme}://{}", &rest[login.len() + 1..]),
                None => server.to_owned(),
            }
        }
        None => server.to_owned(),
    }
}

fn quoted(files: &[PathBuf]) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|file| format!("`{}`", file.display()))
        .collect();
    names.join(", ")
}
