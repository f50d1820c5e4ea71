//! One request and its answer. Owns the time limits and the memory that bodies are held in.

use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use kube::api::{GetParams, ListParams, LogParams, PostParams};
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
    /// Those objects, a page of them.
    Page(&'a ListParams),
    /// The log of a pod, of which so many bytes of the end are kept.
    Log(&'a str, &'a LogParams, usize),
    /// This object is to be made.
    Create(Zeroizing<Vec<u8>>),
}

/// An answer of any status. The body may hold a Secret's values and is wiped.
pub(super) struct Answer {
    status: u16,
    pub(super) body: Zeroizing<Vec<u8>>,
    /// Whether only the end of the body was kept.
    pub(super) is_cut: bool,
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
        let kept = match call {
            Call::Log(_, _, kept) => kept,
            _ => usize::MAX,
        };
        let request = match call {
            Call::Get(name) => path
                .get(name, &GetParams::default())
                .map(|request| request.map(Body::from)),
            Call::List => path
                .list(&ListParams::default())
                .map(|request| request.map(Body::from)),
            Call::Page(params) => path.list(params).map(|request| request.map(Body::from)),
            Call::Log(name, params, _) => path
                .logs(name, params)
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
            let (body, is_cut) = read(response.into_body(), kept).await?;
            Ok::<_, kube::Error>(Answer {
                status,
                body,
                is_cut,
            })
        };
        self.runtime
            .block_on(async { tokio::time::timeout(WHOLE_LIMIT, exchange).await })
            .map_err(|_| no_answer::too_slow(&self.place, aim, WHOLE_LIMIT))?
            .map_err(|why| no_answer::problem(&self.place, aim, &why).into())
    }
}

/// A body, or the end of one that is longer than what is kept of it.
async fn read(mut body: Body, kept: usize) -> Result<(Zeroizing<Vec<u8>>, bool), kube::Error> {
    if kept == usize::MAX {
        let bytes = body.collect_bytes().await?;
        return Ok((Zeroizing::new(Vec::from(bytes)), false));
    }
    let mut end = Zeroizing::new(Vec::new());
    let mut is_cut = false;
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            end.extend_from_slice(&data);
        }
        // Twice as much may be held, so that not every part moves all of it.
        if end.len() > kept.saturating_mul(2) {
            is_cut = true;
            keep(&mut end, kept);
        }
    }
    is_cut |= end.len() > kept;
    keep(&mut end, kept);
    Ok((end, is_cut))
}

fn keep(end: &mut Vec<u8>, kept: usize) {
    let rest = end.len().saturating_sub(kept);
    end.drain(..rest);
}

fn named() -> PostParams {
    PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    }
}
