//! What is asked of `git upload-pack`, and how its answer is read.
//!
//! Sources: git's `gitprotocol-pack` ("packfile negotiation") and `upload-pack.c`. One message is enough: wants, what is there already, `done`.
//! The answer is read packet by packet, so that a pack of any size goes through.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};

use git2::Oid;

use super::error::Why;
use super::packets::{Advertisement, clean, lines, write};

/// How git says "all of it" (`INFINITE_DEPTH`).
const WHOLE: u32 = 0x7fff_ffff;

/// What is asked for.
pub(super) struct Ask<'a> {
    /// Ids that the server's references have.
    pub(super) wants: &'a [Oid],
    /// Commits that are here with all that belongs to them.
    pub(super) haves: &'a [Oid],
    /// Where the history here is cut.
    pub(super) shallow: &'a BTreeSet<Oid>,
    /// How many commits of each history; nothing for all.
    pub(super) depth: Option<u32>,
}

impl Ask<'_> {
    /// Whether the server says where the history is cut.
    pub(super) fn deepens(&self) -> bool {
        self.depth.is_some() || !self.shallow.is_empty()
    }

    /// The request.
    ///
    /// # Errors
    /// When the server can't answer it.
    pub(super) fn request(&self, server: &Advertisement) -> Result<Vec<u8>, String> {
        if !server.can("side-band-64k") {
            return Err("it can't send a pack and words apart (`side-band-64k`)".to_owned());
        }
        if self.deepens() && !server.can("shallow") {
            return Err("it can't send a part of a history (`shallow`)".to_owned());
        }
        let mut capabilities = vec!["side-band-64k"];
        capabilities.extend(
            ["ofs-delta", "no-progress"]
                .into_iter()
                .filter(|name| server.can(name)),
        );
        if server.has_format() {
            capabilities.push("object-format=sha1");
        }
        capabilities.push(concat!("agent=haptic-scaffold/", env!("CARGO_PKG_VERSION")));
        let mut behind = format!(" {}", capabilities.join(" "));
        let mut all = Vec::new();
        for id in self.wants {
            write(&mut all, format!("want {id}{behind}\n").as_bytes())?;
            behind.clear();
        }
        for id in self.shallow {
            write(&mut all, format!("shallow {id}\n").as_bytes())?;
        }
        if self.deepens() {
            let depth = self.depth.unwrap_or(WHOLE);
            write(&mut all, format!("deepen {depth}\n").as_bytes())?;
        }
        all.extend(b"0000");
        // No flush behind these: a server that keeps no state would end there.
        for id in self.haves {
            write(&mut all, format!("have {id}\n").as_bytes())?;
        }
        write(&mut all, b"done\n")?;
        Ok(all)
    }
}

/// Where the server cuts the history, and where it doesn't any more.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cuts {
    pub(super) shallow: BTreeSet<Oid>,
    pub(super) unshallow: BTreeSet<Oid>,
}

/// An answer, while it comes.
pub(super) struct Reply<'a> {
    source: &'a mut dyn Read,
    packet: Vec<u8>,
}

impl<'a> Reply<'a> {
    pub(super) fn new(source: &'a mut dyn Read) -> Self {
        Self {
            source,
            packet: Vec::new(),
        }
    }

    /// Reads the next packet; false at a flush.
    fn next(&mut self) -> Result<bool, Why> {
        let mut four = [0; 4];
        self.source.read_exact(&mut four).map_err(|why| cut(&why))?;
        let bad = || Why::Malformed("it isn't that of a Git server".to_owned());
        let is_hex = four.iter().all(u8::is_ascii_hexdigit);
        let length = std::str::from_utf8(&four)
            .ok()
            .and_then(|four| usize::from_str_radix(four, 16).ok());
        let length = length.filter(|_| is_hex).ok_or_else(bad)?;
        self.packet.clear();
        match length {
            0 => Ok(false),
            1..=3 => Err(bad()),
            length => {
                self.packet.resize(length - 4, 0);
                self.source
                    .read_exact(&mut self.packet)
                    .map_err(|why| cut(&why))?;
                match self.packet.strip_prefix(b"ERR ") {
                    Some(why) => Err(Why::Said(clean(&String::from_utf8_lossy(why)))),
                    None => Ok(true),
                }
            }
        }
    }

    /// Reads where the history is cut, which a server says first where it was asked.
    ///
    /// # Errors
    /// When the answer isn't one, or ends early.
    pub(super) fn cuts(&mut self) -> Result<Cuts, Why> {
        let mut cuts = Cuts::default();
        while self.next()? {
            let text = String::from_utf8_lossy(&self.packet);
            let (list, id) = match text.trim_end().split_once(' ') {
                Some(("shallow", id)) => (&mut cuts.shallow, id),
                Some(("unshallow", id)) => (&mut cuts.unshallow, id),
                _ => {
                    return Err(Why::Malformed(
                        "it doesn't say where the history is cut".to_owned(),
                    ));
                }
            };
            let id = Oid::from_str(id).map_err(|why| Why::Malformed(why.message().to_owned()))?;
            list.insert(id);
        }
        Ok(cuts)
    }

    /// Reads the pack to its end. False where it has no objects; nothing is written then.
    ///
    /// # Errors
    /// When the answer isn't one, ends early, or the pack can't be taken.
    pub(super) fn pack(&mut self, pack: &mut dyn Write) -> Result<bool, Why> {
        // `PACK`, version, number of objects.
        let mut head = Vec::with_capacity(12);
        let mut words = Vec::new();
        let mut has_objects = false;
        while self.next()? {
            match self.packet.as_slice() {
                [1, data @ ..] => {
                    let missing = 12_usize.saturating_sub(head.len()).min(data.len());
                    let (first, rest) = data.split_at(missing);
                    head.extend(first);
                    if head.len() < 12 {
                        continue;
                    }
                    if missing > 0 {
                        has_objects = head[8..] != [0; 4];
                        take(pack, &head, has_objects)?;
                    }
                    take(pack, rest, has_objects)?;
                }
                [2, ..] => {}
                [3, data @ ..] => {
                    words.extend(lines(data));
                    return Err(Why::Said(words.join(" / ")));
                }
                line if line.starts_with(b"ACK ") || line.starts_with(b"NAK") => {}
                _ => return Err(Why::Malformed("it isn't that of a Git server".to_owned())),
            }
        }
        if head.len() < 12 {
            return Err(Why::Malformed("it has no pack".to_owned()));
        }
        Ok(has_objects)
    }
}

fn take(pack: &mut dyn Write, bytes: &[u8], has_objects: bool) -> Result<(), Why> {
    if bytes.is_empty() || !has_objects {
        return Ok(());
    }
    pack.write_all(bytes).map_err(|why| {
        Why::Local(format!(
            "the pack can't be read, or not be written here: {why}"
        ))
    })
}

fn cut(why: &std::io::Error) -> Why {
    Why::NoAnswer(match why.kind() {
        ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
        _ => format!("it is cut off ({why})"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(lines: &[&[u8]]) -> Vec<u8> {
        let mut all = Vec::new();
        for line in lines {
            match line {
                [] => all.extend(b"0000"),
                line => write(&mut all, line).unwrap(),
            }
        }
        all
    }

    fn pack(bytes: &[u8]) -> (Result<bool, Why>, Vec<u8>) {
        let (mut source, mut taken) = (bytes, Vec::new());
        let read = Reply::new(&mut source).pack(&mut taken);
        (read, taken)
    }

    #[test]
    fn a_pack_is_taken_in_pieces_and_only_to_its_end() {
        let all = packets(&[
            b"NAK\n",
            b"\x02words",
            b"\x01PACK\0\0",
            b"\x01\0\x02\0\0\0\x01rest",
            b"\x01more",
            b"",
        ]);
        let (read, taken) = pack(&all);
        assert_eq!(read, Ok(true));
        assert_eq!(taken, b"PACK\0\0\0\x02\0\0\0\x01restmore");
        for end in 0..all.len() {
            let read = pack(&all[..end]).0;
            assert!(matches!(read, Err(Why::NoAnswer(_))), "{end}: {read:?}");
        }
        let nothing = packets(&[b"NAK\n", b"\x01PACK\0\0\0\x02\0\0\0\0sum", b""]);
        assert_eq!(pack(&nothing), (Ok(false), Vec::new()));
        assert!(matches!(pack(b"<htm").0, Err(Why::Malformed(_))));
        assert!(matches!(pack(b"0000").0, Err(Why::Malformed(_))));
    }

    #[test]
    fn the_last_words_of_a_server_are_kept() {
        let said = packets(&[b"NAK\n", b"\x03no \x1b[31mmemory\n"]);
        assert_eq!(pack(&said).0, Err(Why::Said("no memory".to_owned())));
        let said = packets(&[b"ERR upload-pack: not our ref"]);
        let why = Why::Said("upload-pack: not our ref".to_owned());
        assert_eq!(pack(&said).0, Err(why));
    }

    #[test]
    fn cuts_end_at_their_flush() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let lines = [format!("shallow {one}\n"), format!("unshallow {two}")];
        let all = packets(&[lines[0].as_bytes(), lines[1].as_bytes(), b"", b"NAK\n"]);
        let mut source = all.as_slice();
        let cuts = Reply::new(&mut source).cuts().unwrap();
        assert!(cuts.shallow.contains(&Oid::from_str(&one).unwrap()));
        assert!(cuts.unshallow.contains(&Oid::from_str(&two).unwrap()));
        assert_eq!(source, b"0008NAK\n");
        let mut source = b"0008NAK\n0000".as_slice();
        assert!(Reply::new(&mut source).cuts().is_err());
    }
}
