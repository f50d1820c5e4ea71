//! [`Cluster`]: the few things that are read from and made in a Kubernetes cluster, by the user's own kubeconfig.
//!
//! Owns the connection, what a Secret looks like on the wire, and the words for what goes wrong. It creates and never
//! overwrites; of other kinds it reads those of [`Resource`] alone, as JSON that others understand. Values of Secrets are kept in memory that is wiped, and stand in no message: of an API server's refusal
//! only names are repeated (see `refusal`), never its sentences, which may quote what was sent.

mod aim;
mod ask;
mod kubeconfig;
mod log;
mod no_answer;
mod proxy;
mod read;
mod refusal;
mod resource;
mod secret;
mod webhook;

use std::fmt;

use anyhow::Result;
use kube::client::ClientBuilder;
use serde_json::json;
use zeroize::Zeroizing;

pub use self::resource::Resource;
pub use self::secret::{LiveSecret, NewSecret};

use self::aim::{Aim, Place, plain_name};
use self::ask::Call;
use self::kubeconfig::Kubeconfig;
use crate::error::Problem;
use crate::model::env::Env;

/// What became of a wish to create something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// It wasn't there and is now.
    Made,
    /// Something of this name was there; it is as it was.
    WasThere,
}

/// A Kubernetes cluster. Every call asks it anew and waits for the answer, for half a minute at most.
pub struct Cluster {
    runtime: tokio::runtime::Runtime,
    client: kube::Client,
    place: Place,
}

impl Cluster {
    /// Reads the kubeconfig as kubectl does (`KUBECONFIG`, else `.kube/config` in the home) and gets ready to ask the
    /// cluster of a context, or of the current one. A login program of the kubeconfig runs here; the cluster itself is
    /// not asked yet.
    ///
    /// # Errors
    /// When there is no kubeconfig, it can't be understood, has no such context, or its login doesn't work.
    pub fn connect(env: &Env, context: Option<&str>) -> Result<Self> {
        let (config, place) = Kubeconfig::read(env)?.choose(context, env)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        // Another part of the program may have chosen it already; it is the only one that is built in.
        let _ = rustls::crypto::aws_lc_rs::default_provider()
            .install_default()
            .is_err();
        // The client starts a task of its own, so the runtime has to be known here.
        let entered = runtime.enter();
        let client = ClientBuilder::try_from(config)
            .map_err(|why| no_answer::not_ready(&place, &why))?
            .build();
        drop(entered);
        Ok(Self {
            runtime,
            client,
            place,
        })
    }

    /// The name of the context that is used.
    pub fn context(&self) -> &str {
        &self.place.context
    }

    /// The API server's address, without a login.
    pub fn server(&self) -> &str {
        &self.place.server
    }

    /// Reads a Secret; nothing if there is none, or its namespace isn't there.
    ///
    /// # Errors
    /// When the cluster doesn't answer, or refuses.
    pub fn secret(&self, namespace: &str, name: &str) -> Result<Option<LiveSecret>> {
        let aim = Aim::in_namespace(
            format!("read the Secret `{namespace}/{name}`"),
            "get",
            "secrets",
            namespace,
        );
        let path = secrets_path(namespace)?;
        let answer = self.ask(&aim, &path, Call::Get(plain_name(name)?))?;
        if answer.is_success() {
            return LiveSecret::parse(&answer.body)
                .map(Some)
                .ok_or_else(|| refusal::unusable(&self.place, &aim, "a Secret").into());
        }
        let refused = answer.refused();
        if refused.is_missing("secrets") {
            return Ok(None);
        }
        Err(refusal::problem(&self.place, &aim, &refused).into())
    }

    /// Creates a Secret where none of its name is.
    ///
    /// # Errors
    /// When the cluster doesn't answer, or refuses; the namespace has to be there.
    pub fn create_secret(&self, new: &NewSecret<'_>) -> Result<Created> {
        let aim = Aim::in_namespace(
            format!("create the Secret `{}/{}`", new.namespace, new.name),
            "create",
            "secrets",
            new.namespace,
        );
        let path = secrets_path(new.namespace)?;
        plain_name(new.name)?;
        self.create(&aim, &path, new.body())
    }

    /// Creates a namespace where none of its name is.
    ///
    /// # Errors
    /// When the cluster doesn't answer, or refuses.
    pub fn create_namespace(&self, name: &str) -> Result<Created> {
        let aim = Aim::everywhere(
            format!("create the namespace `{name}`"),
            "create",
            "namespaces",
            "",
        );
        let body = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": plain_name(name)? },
        });
        let body = Zeroizing::new(body.to_string().into_bytes());
        self.create(&aim, "/api/v1/namespaces", body)
    }

    /// Returns the `caBundle` (PEM) of every validating webhook that calls a Service, in the order of the cluster. It is
    /// empty for a webhook that has none.
    ///
    /// # Errors
    /// When the cluster doesn't answer, or refuses.
    pub fn webhook_bundles(
        &self,
        service_namespace: &str,
        service_name: &str,
    ) -> Result<Vec<Vec<u8>>> {
        let aim = Aim::everywhere(
            "list the validating webhooks".to_owned(),
            "list",
            "validatingwebhookconfigurations",
            "admissionregistration.k8s.io",
        );
        let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
        let answer = self.ask(&aim, path, Call::List)?;
        if !answer.is_success() {
            return Err(refusal::problem(&self.place, &aim, &answer.refused()).into());
        }
        webhook::bundles(&answer.body, service_namespace, service_name)
            .ok_or_else(|| refusal::unusable(&self.place, &aim, "a list of webhooks").into())
    }

    /// Sends a new object; that one of its name is there is an answer, not an error.
    fn create(&self, aim: &Aim, path: &str, body: Zeroizing<Vec<u8>>) -> Result<Created> {
        let answer = self.ask(aim, path, Call::Create(body))?;
        if answer.is_success() {
            return Ok(Created::Made);
        }
        let refused = answer.refused();
        if refused.is_there() {
            return Ok(Created::WasThere);
        }
        Err(refusal::problem(&self.place, aim, &refused).into())
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("context", &self.place.context)
            .field("server", &self.place.server)
            .finish_non_exhaustive()
    }
}

fn secrets_path(namespace: &str) -> Result<String, Problem> {
    let namespace = plain_name(namespace)?;
    Ok(format!("/api/v1/namespaces/{namespace}/secrets"))
}
