//! Files whose bytes are not UTF-8: read as far as they go, told, and never edited.

use super::file::{Findings, look};
use super::found::Unread;
use crate::model::repo_path::RepoPath;

/// Looks at a file by its bytes. Kubernetes' readers take UTF-16 behind its mark, and so do we; of other bytes the readable ones.
pub fn look_at_bytes(path: &RepoPath, bytes: &[u8]) -> Findings {
    let (text, line, why) = match std::str::from_utf8(bytes) {
        Ok(text) => return look(path, text),
        Err(error) => match utf16(bytes) {
            Some(text) => (text, 1, "the file is UTF-16, and only UTF-8 is edited"),
            None => {
                let good = &bytes[..error.valid_up_to()];
                (
                    String::from_utf8_lossy(bytes).into_owned(),
                    memchr::memchr_iter(b'\n', good).count() + 1,
                    "the file is not UTF-8 from here on, so nothing in it is edited",
                )
            }
        },
    };
    let mut found = look(path, &text);
    let definitions = found.facts.definitions.iter_mut();
    for pin in found
        .pins
        .iter_mut()
        .chain(definitions.map(|one| &mut one.pin))
    {
        pin.editable = false;
        pin.why = Some(why.to_owned());
    }
    found.unread.push(Unread {
        file: path.clone(),
        line,
        why: why.to_owned(),
    });
    found
}

/// The text behind a mark of UTF-16.
fn utf16(bytes: &[u8]) -> Option<String> {
    let read: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units: Vec<u16> = bytes[2..]
        .chunks_exact(2)
        .map(|pair| read([pair[0], pair[1]]))
        .collect();
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: &str = "# größe\napiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {source: {chart: a, targetRevision: 1.0.0}}\n";

    fn of(bytes: &[u8]) -> (usize, bool, Vec<usize>) {
        let found = look_at_bytes(&RepoPath::parse("a.yaml").unwrap(), bytes);
        let [pin] = found.pins.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!((pin.value.as_str(), pin.column), ("1.0.0", 43));
        let unread = found.unread.iter().map(|unread| unread.line).collect();
        (pin.line, pin.editable, unread)
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_told() {
        assert_eq!(of(APP.as_bytes()), (4, true, vec![]));
        let little: Vec<u8> = APP.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = APP.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(
            of(&[&[0xff, 0xfe][..], &little].concat()),
            (4, false, vec![1])
        );
        assert_eq!(of(&[&[0xfe, 0xff][..], &big].concat()), (4, false, vec![1]));
        let latin: Vec<u8> = APP
            .chars()
            .map(|c| u8::try_from(u32::from(c)).unwrap())
            .collect();
        assert_eq!(of(&latin), (4, false, vec![1]));
    }
}
