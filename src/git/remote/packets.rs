//! The lines of git's protocol: advertisements read, commands written, reports read.
//!
//! Sources: git's `gitprotocol-common`, `gitprotocol-pack` and `gitprotocol-capabilities`. Bytes in, bytes out; no connection is made here.

use std::collections::BTreeMap;

use git2::Oid;

use super::error::Why;

/// What a side may say in one packet.
const MOST_IN_A_PACKET: usize = 65_520 - 4;

/// One packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet<'a> {
    /// The end of a list.
    Flush,
    Line(&'a [u8]),
}

/// Takes the first packet off; nothing where more bytes are needed.
///
/// # Errors
/// When it isn't one.
pub(super) fn first(bytes: &[u8]) -> Result<Option<(Packet<'_>, &[u8])>, String> {
    let Some(four) = bytes.get(..4) else {
        return Ok(None);
    };
    let no_packet = || "it isn't that of a Git server".to_owned();
    if !four.iter().all(u8::is_ascii_hexdigit) {
        return Err(no_packet());
    }
    let length = std::str::from_utf8(four)
        .ok()
        .and_then(|four| usize::from_str_radix(four, 16).ok());
    match length.ok_or_else(no_packet)? {
        0 => Ok(Some((Packet::Flush, &bytes[4..]))),
        1..=3 => Err(no_packet()),
        length => Ok(bytes
            .get(4..length)
            .map(|line| (Packet::Line(line), &bytes[length..]))),
    }
}

/// What a server has, and what it can do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Advertisement {
    /// Full names of references, with the peeled ones (`^{}`) left out.
    pub(super) refs: BTreeMap<String, Oid>,
    /// Objects that it has beside these.
    pub(super) others: Vec<Oid>,
    /// Where its own history is cut.
    pub(super) shallow: Vec<Oid>,
    /// The branch that HEAD names, where the server says so.
    pub(super) head: Option<String>,
    capabilities: Vec<String>,
}

impl Advertisement {
    /// Whether the server can do something.
    pub(super) fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|known| known == capability)
    }

    /// Whether it wants to be told how objects are named.
    pub(super) fn has_format(&self) -> bool {
        self.value("object-format").is_some()
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.capabilities
            .iter()
            .find_map(|known| known.strip_prefix(name)?.strip_prefix('='))
    }

    /// Reads an advertisement to its end; nothing where more bytes are needed.
    ///
    /// # Errors
    /// When it isn't one, the server refuses in its own words, or it uses other object names than SHA-1.
    pub(super) fn read(mut bytes: &[u8]) -> Result<Option<Self>, Why> {
        let mut it = Self::default();
        let mut is_first = true;
        loop {
            let Some((packet, rest)) = first(bytes).map_err(Why::Malformed)? else {
                return Ok(None);
            };
            bytes = rest;
            let line = match packet {
                Packet::Flush => break,
                Packet::Line(line) => line.strip_suffix(b"\n").unwrap_or(line),
            };
            if let Some(why) = line.strip_prefix(b"ERR ") {
                return Err(Why::Said(clean(&String::from_utf8_lossy(why))));
            }
            let text = String::from_utf8_lossy(line);
            if is_first && text == "version 1" {
                continue;
            }
            let (text, capabilities) = text.split_once('\0').unwrap_or((&text, ""));
            if is_first {
                is_first = false;
                it.capabilities = capabilities.split(' ').map(str::to_owned).collect();
            }
            it.take(text).map_err(Why::Malformed)?;
        }
        if it
            .value("object-format")
            .is_some_and(|format| format != "sha1")
        {
            return Err(Why::Unable(
                "its objects aren't named by SHA-1, which isn't known here".to_owned(),
            ));
        }
        it.head = it
            .capabilities
            .iter()
            .find_map(|known| known.strip_prefix("symref=HEAD:").map(str::to_owned));
        Ok(Some(it))
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        let bad = "it has a line that isn't a reference";
        if let Some(id) = line.strip_prefix("shallow ") {
            self.shallow.push(Oid::from_str(id).map_err(|_| bad)?);
            return Ok(());
        }
        let (id, name) = line.split_once(' ').ok_or(bad)?;
        let id = Oid::from_str(id).map_err(|_| bad)?;
        if name == ".have" {
            self.others.push(id);
        } else if !name.ends_with("^{}") {
            self.refs.insert(name.to_owned(), id);
        }
        Ok(())
    }
}

/// One reference that is to move: from where to where; nothing is "not there".
#[derive(Debug, Clone, Copy)]
pub(super) struct Move<'a> {
    pub(super) name: &'a str,
    pub(super) old: Option<Oid>,
    pub(super) new: Option<Oid>,
}

/// Writes the commands of a push, its options, and the pack if there is one.
///
/// # Errors
/// When the server can't report, delete or take options.
pub(super) fn commands(
    server: &Advertisement,
    moves: &[Move<'_>],
    options: &[String],
    pack: &[u8],
) -> Result<Vec<u8>, String> {
    if !server.can("report-status") {
        return Err("it doesn't report what became of a push".to_owned());
    }
    if moves.iter().any(|it| it.new.is_none()) && !server.can("delete-refs") {
        return Err("it doesn't let references be deleted".to_owned());
    }
    if !options.is_empty() && !server.can("push-options") {
        return Err("it takes no push options".to_owned());
    }
    let mut wanted = vec!["report-status"];
    wanted.extend(
        ["side-band-64k", "quiet"]
            .into_iter()
            .filter(|name| server.can(name)),
    );
    if !options.is_empty() {
        wanted.push("push-options");
    }
    if server.has_format() {
        wanted.push("object-format=sha1");
    }
    wanted.push(concat!("agent=haptic-scaffold/", env!("CARGO_PKG_VERSION")));
    let mut all = Vec::new();
    let mut capabilities = format!("\0{}", wanted.join(" "));
    for it in moves {
        let id = |id: Option<Oid>| id.unwrap_or(Oid::ZERO_SHA1);
        let line = format!("{} {} {}{capabilities}", id(it.old), id(it.new), it.name);
        write(&mut all, line.as_bytes())?;
        capabilities.clear();
    }
    all.extend(b"0000");
    if !options.is_empty() {
        for option in options {
            write(&mut all, option.as_bytes())?;
        }
        all.extend(b"0000");
    }
    all.extend(pack);
    Ok(all)
}

/// Writes one packet.
///
/// # Errors
/// When it is too long.
pub(super) fn write(all: &mut Vec<u8>, line: &[u8]) -> Result<(), String> {
    if line.len() > MOST_IN_A_PACKET {
        return Err("a name or option is too long".to_owned());
    }
    all.extend(format!("{:04x}", line.len() + 4).into_bytes());
    all.extend(line);
    Ok(())
}

/// What a server says after a push.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// What it says to people, line by line.
    pub(super) words: Vec<String>,
    /// Nothing where the pack was taken.
    pub(super) unpack: Option<String>,
    /// For each reference nothing, or why not.
    pub(super) refs: BTreeMap<String, Option<String>>,
    /// Whether the report is there to its end.
    pub(super) is_whole: bool,
    /// Whether the server has nothing more to say.
    pub(super) is_ended: bool,
    /// The last words of a server that gave up before its report was whole.
    pub(super) fatal: Option<String>,
}

impl Answer {
    /// The answer, if its report is whole or the server says why there is none; `cut` says why not else.
    ///
    /// # Errors
    /// [`Why::Malformed`] when it isn't one, or the error of `cut`.
    pub(super) fn complete(
        server: &Advertisement,
        bytes: &[u8],
        cut: impl FnOnce() -> Why,
    ) -> Result<Self, Why> {
        let it = Self::read(server, bytes).map_err(Why::Malformed)?;
        match it.is_whole || it.fatal.is_some() {
            true => Ok(it),
            false => Err(cut()),
        }
    }

    /// Reads as much of an answer as there is. What comes behind a whole report takes nothing from it.
    ///
    /// # Errors
    /// When it isn't one.
    pub(super) fn read(server: &Advertisement, bytes: &[u8]) -> Result<Self, String> {
        let mut it = Self::default();
        if !server.can("side-band-64k") {
            let read = it.report(bytes);
            return if it.is_whole {
                Ok(it)
            } else {
                read.map(|()| it)
            };
        }
        let (mut report, mut words, mut last) = (Vec::new(), Vec::new(), Vec::new());
        let mut rest = bytes;
        let mut read = Ok(());
        loop {
            let packet = match first(rest) {
                Ok(Some((packet, behind))) => {
                    rest = behind;
                    packet
                }
                other => break read = other.map(|_| ()),
            };
            match packet {
                Packet::Flush => break it.is_ended = true,
                Packet::Line([1, data @ ..]) => report.extend(data),
                Packet::Line([2, data @ ..]) => words.extend(data),
                Packet::Line([3, data @ ..]) => last.extend(data),
                Packet::Line(line) => match line.strip_prefix(b"ERR ") {
                    Some(why) => last.extend(why),
                    None => break read = Err("it isn't that of a Git server".to_owned()),
                },
            }
        }
        it.words = lines(&words);
        it.words.extend(lines(&last));
        let read = it.report(&report).and(read);
        if it.is_whole {
            return Ok(it);
        }
        if !last.is_empty() {
            it.fatal = Some(it.words[it.words.len().saturating_sub(5)..].join(" / "));
            return Ok(it);
        }
        read.map(|()| it)
    }

    fn report(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        let mut has_unpack = false;
        while let Some((packet, rest)) = first(bytes)? {
            bytes = rest;
            let Packet::Line(line) = packet else {
                self.is_whole = has_unpack;
                return Ok(());
            };
            let text = String::from_utf8_lossy(line);
            let text = text.trim_end_matches('\n');
            if let Some(how) = text.strip_prefix("unpack ") {
                has_unpack = true;
                self.unpack = Some(clean(how)).filter(|how| how != "ok");
            } else if let Some(name) = text.strip_prefix("ok ") {
                self.refs.insert(name.to_owned(), None);
            } else if let Some(refused) = text.strip_prefix("ng ") {
                let (name, why) = refused.split_once(' ').unwrap_or((refused, "no reason"));
                self.refs.insert(name.to_owned(), Some(clean(why)));
            } else if let Some(why) = text.strip_prefix("ERR ") {
                self.fatal = Some(clean(why));
            }
        }
        Ok(())
    }
}

/// The lines of what a server or program says, without what would move a terminal's cursor, and without the lines that GitLab draws around them.
pub(super) fn lines(bytes: &[u8]) -> Vec<String> {
    const MOST_LINES: usize = 200;
    let text = String::from_utf8_lossy(bytes);
    text.split(['\n', '\r'])
        .map(|line| clean(line).trim_end().to_owned())
        .filter(|line| !line.trim().is_empty() && !is_drawn(line))
        .take(MOST_LINES)
        .collect()
}

/// Source: GitLab's shell and its `Gitlab::GitAccess`, which frame what they say to people.
fn is_drawn(line: &str) -> bool {
    line.len() >= 8 && line.bytes().all(|byte| byte == b'=')
}

/// A text without control characters and colours, and not too long.
pub(super) fn clean(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            // `ESC [ … letter` is a colour or a move of the cursor.
            if letters.next() == Some('[') {
                let _ = letters.by_ref().find(char::is_ascii_alphabetic);
            }
        } else if !letter.is_control() || letter == '\t' {
            plain.push(letter);
        }
    }
    plain.chars().take(1000).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(line: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        write(&mut all, line).unwrap();
        all
    }

    fn advertised(capabilities: &str) -> Advertisement {
        let line = format!("{} capabilities^{{}}\0{capabilities}", Oid::ZERO_SHA1);
        let all = [packet(line.as_bytes()), b"0000".to_vec()].concat();
        Advertisement::read(&all).unwrap().unwrap()
    }

    #[test]
    fn advertisements_are_read_to_their_end_only() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let all = [
            packet(format!("{one} HEAD\0report-status symref=HEAD:refs/heads/master\n").as_bytes()),
            packet(format!("{one} refs/heads/master\n").as_bytes()),
            packet(format!("{two} refs/tags/v1\n").as_bytes()),
            packet(format!("{one} refs/tags/v1^{{}}\n").as_bytes()),
            packet(format!("{two} .have\n").as_bytes()),
            b"0000".to_vec(),
        ]
        .concat();
        let it = Advertisement::read(&all).unwrap().unwrap();
        assert_eq!(it.head.as_deref(), Some("refs/heads/master"));
        let names: Vec<&str> = it.refs.keys().map(String::as_str).collect();
        assert_eq!(names, ["HEAD", "refs/heads/master", "refs/tags/v1"]);
        assert_eq!(it.others.len(), 1);
        for cut in 0..all.len() {
            assert_eq!(Advertisement::read(&all[..cut]), Ok(None), "{cut}");
        }
        assert!(advertised("delete-refs").refs.is_empty());
        for bad in ["<html>", "0003", "+004"] {
            assert!(Advertisement::read(bad.as_bytes()).is_err(), "{bad}");
        }
        let refusal = packet(b"ERR no\x1b[31m access");
        assert_eq!(
            Advertisement::read(&refusal),
            Err(Why::Said("no access".to_owned()))
        );
    }

    #[test]
    fn a_report_is_whole_at_its_flush() {
        let report = [
            packet(b"unpack ok\n"),
            packet(b"ok refs/heads/a\n"),
            packet(b"ng refs/heads/b needs ticket\n"),
            b"0000".to_vec(),
        ]
        .concat();
        let said = packet(b"\x02needs\x1b[1m ticket ABC\nsee https://h/1\r\n");
        // A server may cut the report wherever it wants.
        let (left, right) = report.split_at(9);
        let all = [
            packet(&[b"\x01", left].concat()),
            said,
            packet(&[b"\x01", right].concat()),
            b"0000".to_vec(),
        ]
        .concat();
        let server = advertised("report-status side-band-64k");
        let answer = Answer::read(&server, &all).unwrap();
        assert_eq!(answer.words, ["needs ticket ABC", "see https://h/1"]);
        assert_eq!(answer.refs["refs/heads/a"], None);
        assert_eq!(answer.refs["refs/heads/b"].as_deref(), Some("needs ticket"));
        assert!(answer.is_whole);
        for cut in 0..all.len() - 4 {
            assert!(
                !Answer::read(&server, &all[..cut]).unwrap().is_whole,
                "{cut}"
            );
        }
        let plain = Answer::read(&advertised("report-status"), &report).unwrap();
        assert_eq!(plain.refs, answer.refs);
        assert!(plain.is_whole);
    }

    #[test]
    fn nothing_is_asked_that_the_server_cannot() {
        let gone = Move {
            name: "refs/heads/a",
            old: Some(Oid::ZERO_SHA1),
            new: None,
        };
        let ask = |can: &str, options: &[String]| commands(&advertised(can), &[gone], options, b"");
        assert!(ask("delete-refs", &[]).is_err());
        assert!(ask("report-status", &[]).is_err());
        assert!(ask("report-status delete-refs", &["ci.skip".to_owned()]).is_err());
        let all = ask(
            "report-status delete-refs push-options",
            &["ci.skip".to_owned()],
        )
        .unwrap();
        let text = String::from_utf8_lossy(&all).into_owned();
        assert!(text.ends_with("0000000bci.skip0000"), "{text}");
        assert!(
            text.contains("\0report-status push-options agent="),
            "{text}"
        );
    }
}
