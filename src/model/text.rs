//! Line ends: repositories have Unix ones, work trees may have others.

/// The bytes with line ends as in the repository: a checkout with `core.autocrlf` or `eol=crlf` has others.
pub fn unix_lines(bytes: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(bytes.len());
    for (index, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || bytes.get(index + 1) != Some(&b'\n') {
            lines.push(*byte);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pair_is_a_line_end() {
        assert_eq!(unix_lines(b"a\r\nb\rc\n"), b"a\nb\rc\n");
    }
}
