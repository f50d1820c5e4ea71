//! The end of a container's log. Owns how much of it is read and kept.

use anyhow::Result;
use kube::api::LogParams;

use super::Cluster;
use super::aim::{Aim, plain_name};
use super::ask::Call;
use super::refusal;

/// How many bytes of a log's end are kept.
const KEPT: usize = 256 * 1024;
/// How many bytes the server is asked for at most. It counts from the first of the wanted lines.
const ASKED: i64 = 8 * 1024 * 1024;

impl Cluster {
    /// Reads the last lines of a container's log, of those the last 256 KiB, from the beginning of a line. The pod's only
    /// container is meant where none is named. Nothing if the pod or its log isn't there (any more), or its program hasn't
    /// begun. What programs print may hold anything.
    ///
    /// # Errors
    /// When the cluster doesn't answer, or refuses; a missing right is named.
    pub fn log(
        &self,
        namespace: &str,
        pod: &str,
        container: Option<&str>,
        tail_lines: u32,
    ) -> Result<Option<String>> {
        let aim = Aim::in_namespace(
            format!("read the log of the pod `{namespace}/{pod}`"),
            "get",
            "pods/log",
            plain_name(namespace)?,
        );
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        let params = LogParams {
            container: container.map(plain_name).transpose()?.map(str::to_owned),
            tail_lines: Some(i64::from(tail_lines)),
            limit_bytes: Some(ASKED),
            ..LogParams::default()
        };
        let answer = self.ask(&aim, &path, Call::Log(plain_name(pod)?, &params, KEPT))?;
        if answer.is_success() {
            return Ok(Some(tail(&answer.body, answer.is_cut)));
        }
        let refused = answer.refused();
        if refused.is_gone() || refused.is_not_ready() {
            return Ok(None);
        }
        Err(refusal::problem(&self.place, &aim, &refused).into())
    }
}

/// As text, without the rest of a line whose beginning was cut off, unless that is all there is.
fn tail(bytes: &[u8], is_cut: bool) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.split_once('\n') {
        Some((_, rest)) if is_cut && !rest.is_empty() => rest.to_owned(),
        _ => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_log_begins_with_a_whole_line() {
        assert_eq!(tail(b"one\ntwo\n", false), "one\ntwo\n");
        assert_eq!(tail(b"ne\ntwo\n", true), "two\n");
        assert_eq!(tail(b"ne\n", true), "ne\n");
        assert_eq!(tail(b"\xff", true), "\u{fffd}");
    }
}
