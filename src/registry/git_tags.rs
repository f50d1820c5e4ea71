//! The tags of a Git repository.
//!
//! Owns the question to a server of smart HTTP and the reading of its answer, as git's
//! `gitprotocol-http` and `gitprotocol-pack` describe them. It fetches no objects. Start from
//! [`list`].

use super::error::{Asked, RegistryError};
use super::http::{Ask, Http};
use super::shown;
use crate::http::url::Url;

/// What is wanted, for messages.
pub(super) const AIM: &str = "list the tags of the Git repository";
const TYPE: &str = "application/x-git-upload-pack-advertisement, */*;q=0.5";

/// Lists the names of the tags, in the order of the repository.
///
/// # Errors
///
/// A [`RegistryError`] when the repository cannot be asked, or its address is not one that is.
pub(super) fn list(http: &Http, address: &str) -> Result<Vec<String>, RegistryError> {
    let refuse = |reason: &str| RegistryError::UnsafeAddress {
        asked: Asked {
            aim: AIM.to_owned(),
            url: shown(address),
        },
        reason: reason.to_owned(),
    };
    let url = Url::parse(without_user(address).trim_end_matches('/'))
        .ok_or_else(|| refuse("it is no https or SSH address, or carries a password"))?;
    if !url.is_private_transport() {
        return Err(refuse("it is not encrypted"));
    }
    let target = format!("{}/info/refs?service=git-upload-pack", url.target());
    let url = url.with_target(target);
    let reply = http.get(&Ask::new(AIM, &url, TYPE))?.into_success()?;
    tags(&reply.body).map_err(|why| reply.malformed(why))
}

/// An address without a user who has no password in it: servers want both or none.
fn without_user(address: &str) -> String {
    let plain = || {
        let (scheme, rest) = address.split_once("://")?;
        let (user, place) = rest.split_once('@')?;
        let is_user = !user.contains([':', '/']);
        is_user.then(|| format!("{scheme}://{place}"))
    };
    plain().unwrap_or_else(|| address.to_owned())
}

/// Whether an address carries a password, which would stand in the arguments of a program.
pub(super) fn has_password(address: &str) -> bool {
    let rest = address.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    authority
        .rsplit_once('@')
        .is_some_and(|(user, _)| user.contains(':'))
}

/// Reads an advertisement of references: lines with their length before them.
fn tags(body: &[u8]) -> Result<Vec<String>, String> {
    let mut lines = packets(body)?.into_iter();
    match lines.next() {
        Some(Packet::Line(b"# service=git-upload-pack")) => {}
        _ => return Err("it is not that of a Git server with smart HTTP".to_owned()),
    }
    let mut tags = Vec::new();
    // A flush stands after the name of the service, and at the end.
    let mut flushes = 0;
    for packet in lines {
        let line = match packet {
            Packet::Line(line) => line,
            Packet::Flush => {
                flushes += 1;
                continue;
            }
        };
        if let Some(why) = line.strip_prefix(b"ERR ") {
            let why = String::from_utf8_lossy(why);
            return Err(why.chars().filter(|c| !c.is_control()).take(200).collect());
        }
        // Behind a zero byte the first reference has what the server can do.
        let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = std::str::from_utf8(line).ok().and_then(tag_name);
        tags.extend(name.map(str::to_owned));
    }
    match flushes {
        2 => Ok(tags),
        _ => Err("it is cut off".to_owned()),
    }
}

/// The tag that a line names; a peeled one (`^{}`) stands beside the tag itself.
pub(super) fn tag_name(line: &str) -> Option<&str> {
    let (_, name) = line.split_once([' ', '\t'])?;
    let name = name.strip_prefix("refs/tags/")?;
    (!name.ends_with("^{}")).then_some(name)
}

enum Packet<'a> {
    Flush,
    Line(&'a [u8]),
}

fn packets(mut rest: &[u8]) -> Result<Vec<Packet<'_>>, String> {
    let mut packets = Vec::new();
    while !rest.is_empty() {
        let length = rest
            .get(..4)
            .and_then(|four| std::str::from_utf8(four).ok());
        let length = length.and_then(|four| usize::from_str_radix(four, 16).ok());
        let length = length.ok_or("it is not that of a Git server with smart HTTP")?;
        if length == 0 {
            packets.push(Packet::Flush);
            rest = &rest[4..];
            continue;
        }
        let line = rest.get(4..length).ok_or("it is cut off")?;
        packets.push(Packet::Line(line.strip_suffix(b"\n").unwrap_or(line)));
        rest = &rest[length..];
    }
    Ok(packets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        format!("{:04x}{text}", text.len() + 4)
    }

    #[test]
    fn tags_are_read_without_branches_and_peeled_ones() {
        let oid = "1".repeat(40);
        let body = [
            line("# service=git-upload-pack\n"),
            "0000".to_owned(),
            line(&format!(
                "{oid} HEAD\0multi_ack symref=HEAD:refs/heads/main\n"
            )),
            line(&format!("{oid} refs/heads/main\n")),
            line(&format!("{oid} refs/tags/v1.0.0\n")),
            line(&format!("{oid} refs/tags/v1.1.0\n")),
            line(&format!("{oid} refs/tags/v1.1.0^{{}}\n")),
            "0000".to_owned(),
        ]
        .concat();
        assert_eq!(tags(body.as_bytes()).unwrap(), ["v1.0.0", "v1.1.0"]);
        for cut in [body.len() - 1, body.len() - 4, body.len() - 10, 40, 3] {
            assert!(tags(&body.as_bytes()[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn users_go_and_passwords_are_seen() {
        assert_eq!(
            without_user("https://org@h.example.org/a"),
            "https://h.example.org/a"
        );
        assert_eq!(
            without_user("https://h.example.org/@a"),
            "https://h.example.org/@a"
        );
        assert!(has_password("ssh://u:pw@h.example.org/a"));
        assert!(!has_password("ssh://git@h.example.org:22/a") && !has_password("git@h:a@b:c"));
    }

    #[test]
    fn empty_repositories_have_no_tags_and_errors_are_told() {
        let head = [line("# service=git-upload-pack\n"), "0000".to_owned()].concat();
        let zero = "0".repeat(40);
        let empty = line(&format!("{zero} capabilities^{{}}\0multi_ack\n"));
        let body = format!("{head}{empty}0000");
        assert_eq!(tags(body.as_bytes()), Ok(Vec::new()));
        let body = format!("{head}{}", line("ERR no\u{1b} access"));
        assert_eq!(tags(body.as_bytes()), Err("no access".to_owned()));
        for body in ["<html>", "", "0000", "zzzz", "+004", "0001"] {
            assert!(tags(body.as_bytes()).is_err(), "{body}");
        }
    }
}
