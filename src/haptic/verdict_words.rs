//! Words by which a text is known for a verdict of HAPTIC's preflight, or for something that is certainly none.
//!
//! A log has many words of failures in it, and most of them are of no verdict: a test that counts none, a registry that isn't
//! reached, `kubectl` that has no log to give.

use super::rejection::{GUARD, UNFINISHED};

/// What preflight and HAProxy say when they refuse something, each by itself.
const VERDICTS: [&str; 4] = [
    "validation failed",
    "loadgatefailed",
    "does not compile",
    "configuration is invalid",
];
/// How HAProxy marks why it refuses a configuration.
const ALERT: &str = "[alert]";
/// What is judged; with one of [`REFUSALS`] it is a verdict.
const JUDGED: [&str; 5] = ["preflight", "validat", "render", "compil", "chart version"];
const REFUSALS: [&str; 6] = [
    "failed", "invalid", "refused", "rejected", "mismatch", "error",
];
/// What keeps preflight from judging anything. A line with any of it is no verdict.
const CIRCUMSTANCES: [&str; 35] = [
    "dial tcp",
    "connection refused",
    "connection reset",
    "no such host",
    "i/o timeout",
    "tls handshake",
    "x509",
    "forbidden",
    "unauthorized",
    "executable file not found",
    "command not found",
    "no such file",
    "permission denied",
    "no space left",
    "unknown flag",
    "unknown shorthand flag",
    "unknown command",
    "required flag",
    "kubeconfig",
    "context deadline exceeded",
    "deadlineexceeded",
    "imagepull",
    "failing to pull image",
    "oomkilled",
    "error from server",
    "couldn't get current server",
    "signal: killed",
    "signal: terminated",
    "client.timeout",
    "request canceled",
    "context canceled",
    "time allotted",
    "internal error occurred",
    "etcdserver",
    "exec format error",
];
/// How a line is marked that tells of no failure.
const QUIET: [&str; 6] = [
    "level=info",
    "level=debug",
    "\"level\":\"info\"",
    "\"level\":\"debug\"",
    "[info]",
    "[debug]",
];
/// What preflight says where it refuses nothing: of the whole release, and not of one check of many.
const ACCEPTED: [&str; 7] = [
    "preflight passed",
    "preflight succeeded",
    "preflight accepted",
    "preflight: passed",
    "preflight: succeeded",
    "preflight: accepted",
    "release accepted",
];
/// What may keep preflight from judging anything, unless the line is a verdict by itself.
const LATE: &str = "timed out";
/// Words of which a failure's log has some.
const FAILURES: [&str; 7] = [
    "failed", "error", "invalid", "refused", "rejected", "cannot", "not ",
];
/// How a failure is said not to be.
const NONE: [&str; 23] = [
    "failed: 0",
    "failed=0",
    "errors: 0",
    "errors=0",
    "error: none",
    "error=\"\"",
    "error=nil",
    "\"error\":null",
    "\"errors\":0",
    "0 failed",
    "0 failures",
    "0 errors",
    "0 error",
    "0 invalid",
    "0 rejected",
    "zero errors",
    "no errors",
    "no error",
    "no failures",
    "none failed",
    "without errors",
    "without error",
    "without failures",
];

/// What is certainly no log of a verdict, and why it isn't.
const OTHERS: [(&str, &str); 7] = [
    ("error from server", "it is kubectl's own error, and no log"),
    (
        "unable to connect to the server",
        "it is kubectl's own error, and no log",
    ),
    (
        "imagepullbackoff",
        "the Job's image couldn't be had, so nothing was judged",
    ),
    (
        "errimagepull",
        "the Job's image couldn't be had, so nothing was judged",
    ),
    (
        "failing to pull image",
        "the Job's image couldn't be had, so nothing was judged",
    ),
    (
        "deadlineexceeded",
        "the Job's time was up before it came to a verdict",
    ),
    (
        "oomkilled",
        "the Job ran out of memory before it came to a verdict",
    ),
];

/// Whether a text has a verdict of preflight in it: the last word of it counts.
pub fn has_verdict(log: &str) -> bool {
    let mut lines = log.lines().rev().filter(|line| !line.trim().is_empty());
    let last = lines.find(|line| is_verdict(line) || is_accepted(line));
    log.contains(GUARD) || log.contains(UNFINISHED) || last.is_some_and(is_verdict)
}

/// Whether a line says that preflight refuses nothing.
fn is_accepted(line: &str) -> bool {
    let lower = line.to_lowercase();
    ACCEPTED.iter().any(|word| lower.contains(word)) && !is_verdict(line) && !tells(line)
}

/// Whether a line is a verdict.
pub(super) fn is_verdict(line: &str) -> bool {
    let line = without_none(line);
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    // HAProxy refuses a file that isn't there in the same words as a shell.
    line.contains(ALERT)
        || !has(&CIRCUMSTANCES)
            && !has(&QUIET)
            && (has(&VERDICTS) || has(&JUDGED) && has(&REFUSALS) && !line.contains(LATE))
}

/// Whether a line says how many errors HAProxy found, and not which.
pub(super) fn is_summary(line: &str) -> bool {
    let lower = line.to_lowercase();
    lower.contains(ALERT) && lower.contains("found in configuration")
}

/// Whether a line says what kept preflight from judging.
pub(super) fn is_circumstance(line: &str) -> bool {
    let lower = line.to_lowercase();
    CIRCUMSTANCES.iter().any(|word| lower.contains(word)) || lower.contains(LATE)
}

/// Whether a line speaks of a failure.
pub(super) fn tells(line: &str) -> bool {
    let line = without_none(line);
    FAILURES.iter().any(|word| line.contains(word))
}

/// Whether a line says that there was no failure.
pub(super) fn is_success(line: &str) -> bool {
    let lower = line.to_lowercase();
    FAILURES.iter().any(|word| lower.contains(word)) && !tells(line)
}

/// Why a text is certainly not the log of a Job that refused something, whatever somebody says of it.
pub fn not_a_verdict(log: &str) -> Option<&'static str> {
    if has_verdict(log) {
        return None;
    }
    let lower = log.to_lowercase();
    if let Some((_, why)) = OTHERS.iter().find(|(word, _)| lower.contains(word)) {
        return Some(why);
    }
    let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    // kubectl writes it in small letters, HAPTIC's own program doesn't.
    if lines.clone().next().is_some() && lines.all(|line| line.starts_with("error: ")) {
        return Some("it is kubectl's own error, and no log");
    }
    let mut lines = log.lines().rev();
    // What is said behind it may take it back.
    if lines
        .find(|line| is_accepted(line) || tells(line))
        .is_some_and(is_accepted)
    {
        return Some("it says that the release was accepted");
    }
    let is_good = log.lines().any(is_success) && !log.lines().any(tells);
    is_good.then_some("it says that nothing failed")
}

/// A line in small letters, without what says that there was no failure.
fn without_none(line: &str) -> String {
    let mut line = line.to_lowercase();
    if !FAILURES.iter().any(|word| line.contains(word)) {
        return line;
    }
    for phrase in NONE {
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '.');
        let (mut kept, mut from) = (String::new(), 0);
        for (at, _) in line.match_indices(phrase) {
            let end = at + phrase.len();
            let before = line[..at].chars().next_back();
            let after = line[end..].chars().next().filter(|c| *c != '.');
            if !is_part(before) && !is_part(after) {
                kept.push_str(&line[from..at]);
                from = end;
            }
        }
        if from > 0 {
            kept.push_str(&line[from..]);
            line = kept;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{has_verdict, not_a_verdict};

    #[test]
    fn a_verdict_is_known_by_its_words() {
        for log in [
            "x\npreflight: chart version mismatch: this image embeds chart 0.2.1 but the release being installed is chart 0.2.2.",
            "x: finish the current apply before upgrading",
            "preflight: validation failed: x",
            "LoadGateFailed",
            "template \"a\" does not compile: line 3",
            "[ALERT] (8) : config : parsing [/tmp/haproxy.cfg:12] : unknown keyword 'x'",
            "{\"level\":\"ERROR\",\"msg\":\"preflight refused the release\"}",
            "error: the configuration is invalid: `x` is no duration",
            "10 failed: validation failed",
            "844 validation tests passed, 10 failed",
            "preflight passed\npreflight: validation failed",
            "level=ERROR msg=\"preflight refused the release\"",
            "preflight: not accepted: validation failed",
            "preflight: validation failed: x\npreflight: 12 schemas passed",
            "[pod/h-preflight-x/preflight] validation failed: x\n[pod/h-preflight-x/preflight] 843 tests passed",
            "Error: preflight: validation failed: test \"a\": rendering timed out after 5s",
        ] {
            assert!(has_verdict(log), "{log}");
            assert_eq!(not_a_verdict(log), None, "{log}");
        }
    }

    #[test]
    fn what_is_certainly_something_else_is_known_too() {
        for (log, why) in [
            (
                "Error from server (BadRequest): container \"preflight\" in pod \"x\" is waiting to start: trying and failing to pull image",
                "kubectl's own",
            ),
            (
                "Error from server (NotFound): jobs.batch \"x\" not found",
                "kubectl's own",
            ),
            (
                "error: timed out waiting for the condition\n",
                "kubectl's own",
            ),
            ("Warning  Failed  ImagePullBackOff", "image"),
            ("reason: DeadlineExceeded", "time"),
            ("last state: OOMKilled, exit code 137", "memory"),
            ("844 validation tests passed, 0 failed\n", "nothing failed"),
            (
                "loading\nrendered with no error\ndone without errors\n",
                "nothing failed",
            ),
            ("preflight: errors=0 failed=0", "nothing failed"),
            (
                "level=INFO msg=\"validation test passed\" test=rejects-invalid-timeout\npreflight succeeded\n",
                "accepted",
            ),
            (
                "failed to render: x: retrying\nlevel=INFO msg=\"preflight passed\"",
                "accepted",
            ),
            (
                "level=info msg=\"loading validation error pages\"\npreflight: release accepted",
                "accepted",
            ),
        ] {
            assert!(!has_verdict(log), "{log}");
            assert!(not_a_verdict(log).unwrap().contains(why), "{log}");
        }
    }

    #[test]
    fn what_keeps_preflight_from_judging_is_no_verdict() {
        for log in [
            "preflight: failed to list CRDs: Get \"https://h:6443/\": dial tcp 127.0.0.1:6443: connect: connection refused",
            "preflight: error: customresourcedefinitions is forbidden: User \"x\" cannot list",
            "preflight failed: exec: \"haproxy\": executable file not found in $PATH",
            "Error: unknown flag: --schema-dir in preflight",
            "Error: preflight: validation tests: signal: killed",
            "preflight: error reading CRDs: etcdserver: request timed out",
            "preflight: failed: net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
            "preflight: error: the server was unable to return a response in the time allotted",
            "preflight failed: Internal error occurred: failed calling webhook",
            "something went wrong",
            "preflight: schema check passed\nError: template \"x\" refused by HAProxy",
            "preflight passed\nError: cannot go on",
            "it is not known",
        ] {
            assert!(!has_verdict(log), "{log}");
            assert_eq!(not_a_verdict(log), None, "{log}");
        }
    }
}
