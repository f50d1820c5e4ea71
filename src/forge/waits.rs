//! How long to wait before a call may be sent again. Pure.

use std::time::Duration;

use ureq::http::{HeaderMap, header};

use super::http::{Call, Reply};
use crate::http;

/// How long to wait before the call may be sent again; nothing where it mustn't be.
pub(super) fn delay(call: &Call<'_>, reply: &Reply, tries: u32) -> Option<Duration> {
    let is_limit = match reply.status {
        429 => true,
        403 => is_limited(&reply.headers),
        _ => false,
    };
    let is_busy = call.repeats && matches!(reply.status, 502..=504);
    if !(is_limit || is_busy) {
        return None;
    }
    let wanted = http::retry_after(&reply.headers).or_else(|| reset(&reply.headers));
    Some(wanted.map_or_else(|| back_off(tries), Duration::from_secs))
}

/// Whether a refusal is one of GitHub's rate limits, which come as 403 too.
pub(super) fn is_limited(headers: &HeaderMap) -> bool {
    http::text(headers, "x-ratelimit-remaining") == Some("0")
        || headers.contains_key(header::RETRY_AFTER)
}

/// The seconds until GitHub's limit begins anew, by the server's clock.
fn reset(headers: &HeaderMap) -> Option<u64> {
    if http::text(headers, "x-ratelimit-remaining") != Some("0") {
        return None;
    }
    let at: i64 = http::text(headers, "x-ratelimit-reset")?.parse().ok()?;
    let now = http::date(headers)?.unix_timestamp();
    Some(at.saturating_sub(now).max(0).unsigned_abs() + 1)
}

pub(super) fn back_off(tries: u32) -> Duration {
    Duration::from_millis(500) * 2_u32.pow(tries.clamp(1, 6) - 1)
}
