//! One request and its answer. Owns the time limits and the memory that bodies are held in.

use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use kube::api::{GetParams, ListParams, PostParams};
use kube::client::Body;
use zeroize::Zeroizing;

use super::aim::Aim;
use super::refusal::Refused;
use super::{Cluster, no_answer};

/// How long a connection may take to stand.
pub(super) const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long a request may take, with its connection and the whole answer.
const WHOLE_LIMIT: Duration = Duration::from_secs(30);
/// The name that the cluster keeps for who set a field.
const FIELD_MANAGER: &str = "haptic-scaffold";

/// What is asked.
pub(super) enum Call<'a> {
    /// One object of this name.
    Get(&'a str),
    /// All objects.
    List,
    /// This object is to be made.
    Create(Zeroizing<Vec<u8>>),
}

/// An answer of any status. The body may hold a Secret's values and is wiped.
pub(super) struct Answer {
    status: u16,
    pub(super) body: Zeroizing<Vec<u8>>,
}

impl Answer {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// What is known of an answer that is no success.
    pub(super) fn refused(&self) -> Refused {
        Refused::parse(self.status, &self.body)
    }
}

impl Cluster {
    /// Sends one request, and waits. It is never sent twice: of a `create` that is repeated after a lost answer nobody
    /// could say whether the object had been there.
    ///
    /// # Errors
    /// When no answer comes; an answer of any status is one.
    pub(super) fn ask(&self, aim: &Aim, path: &str, call: Call<'_>) -> Result<Answer> {
        let path = kube::core::Request::new(path);
        let request = match call {
            Call::Get(name) => path
                .get(name, &GetParams::default())
                .map(|request| request.map(Body::from)),
            Call::List => path
                .list(&ListParams::default())
                .map(|request| request.map(Body::from)),
            // The owner is dropped, and so wiped, when the last part of the client has let go of it. Hyper's and
            // rustls' own buffers, that the bytes pass through, are out of reach.
            Call::Create(body) => path
                .create(&named(), Vec::new())
                .map(|request| request.map(|_| Body::from(Bytes::from_owner(body)))),
        };
        let Ok(request) = request else {
            return Err(no_answer::unsendable(&self.place, aim).into());
        };
        let exchange = async {
            let response = self.client.send(request).await?;
            let status = response.status().as_u16();
            let bytes = response.into_body().collect_bytes().await?;
            let body = Zeroizing::new(Vec::from(bytes));
            Ok::<_, kube::Error>(Answer { status, body })
        };
        self.runtime
            .block_on(async { tokio::time::timeout(WHOLE_LIMIT, exchange).await })
            .map_err(|_| no_answer::too_slow(&self.place, aim, WHOLE_LIMIT))?
            .map_err(|why| no_answer::problem(&self.place, aim, &why).into())
    }
}

fn named() -> PostParams {
    PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    }
}
