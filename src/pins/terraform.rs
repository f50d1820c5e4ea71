//! Releases of Terraform's Helm provider.
//!
//! Source of the syntax: HCL's native syntax specification (comments, quoted templates, heredocs).

use super::file::{About, File};
use super::found::{Kind, Source};
use super::lines::push;
use super::texts::{position, unquoted};

/// Looks at every `helm_release` of a file.
pub(super) fn releases(file: &mut File<'_>) {
    for block in blocks(file.text) {
        release(file, &block);
    }
}

/// An attribute of a block: its name, where its expression begins, and the expression as written.
type Attribute<'a> = (&'a str, usize, &'a str);

fn release(file: &mut File<'_>, block: &[Attribute<'_>]) {
    let of = |key: &str| block.iter().find(|(name, _, _)| *name == key);
    let Some((_, start, written)) = of("version") else {
        return;
    };
    let text = |key: &str| {
        let (_, _, value) = of(key)?;
        let is_literal = value.starts_with('"') && !value.contains("${");
        is_literal.then(|| unquoted(value).to_owned())
    };
    let chart = text("chart");
    // A chart may be named by its whole address.
    let whole = chart
        .as_deref()
        .filter(|chart| chart.starts_with("oci://"))
        .and_then(|chart| chart.rsplit_once('/'))
        .map(|(repo, name)| (repo.to_owned(), name.to_owned()));
    let about = match whole {
        Some((repo, name)) => About {
            chart: Some(name),
            source: Source::Address(repo),
            ..About::default()
        },
        None => About {
            chart,
            source: text("repository").map_or(Source::Unknown, Source::Address),
            ..About::default()
        },
    };
    let is_literal = written.len() > 1
        && written.starts_with('"')
        && written.ends_with('"')
        && written[1..].find(['"', '\\', '\n']) == Some(written.len() - 2)
        && !written.contains("${");
    if is_literal {
        let place = "Terraform helm_release version";
        push(file, *start, written, Kind::Chart, place, &about);
    } else {
        let (line, _) = position(file.text, *start);
        file.unread(line, "the version is an expression of Terraform".to_owned());
    }
}

/// What a scanner is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    /// `{`, `(` or `[`, or a part of a template.
    Bracket,
    /// A quoted text.
    Quotes,
}

/// A scanner of HCL that knows how deep it is.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
    stack: Vec<In>,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Goes one step: over a comment, a heredoc, or a byte.
    fn step(&mut self) {
        let bytes = self.text.as_bytes();
        let rest = &bytes[self.at..];
        if self.stack.last() == Some(&In::Quotes) {
            match rest {
                [b'\\', _, ..] => self.at += 2,
                // `$${` is an escape.
                [b'$', b'$', b'{', ..] | [b'%', b'%', b'{', ..] => self.at += 3,
                [b'$', b'{', ..] | [b'%', b'{', ..] => {
                    self.stack.push(In::Bracket);
                    self.at += 2;
                }
                [b'"', ..] | [b'\n', ..] => {
                    self.stack.pop();
                    self.at += 1;
                }
                _ => self.at += 1,
            }
            return;
        }
        match rest {
            [b'#', ..] | [b'/', b'/', ..] => self.skip_to(b"\n", false),
            [b'/', b'*', ..] => {
                self.at += 2;
                self.skip_to(b"*/", true);
            }
            [b'<', b'<', ..] => self.heredoc(),
            [b'"', ..] => {
                self.stack.push(In::Quotes);
                self.at += 1;
            }
            [b'{' | b'(' | b'[', ..] => {
                self.stack.push(In::Bracket);
                self.at += 1;
            }
            [b'}' | b')' | b']', ..] => {
                self.stack.pop();
                self.at += 1;
            }
            _ => self.at += 1,
        }
    }

    fn skip_to(&mut self, end: &[u8], is_inside: bool) {
        let found = memchr::memmem::find(&self.text.as_bytes()[self.at..], end);
        self.at = found.map_or(self.text.len(), |at| {
            self.at + at + if is_inside { end.len() } else { 0 }
        });
    }

    /// `<<EOF` or `<<-EOF` up to the line that has the word alone.
    fn heredoc(&mut self) {
        let rest = &self.text[self.at + 2..];
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        let length = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(length);
        let is_word = word.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && behind
                .strip_prefix('\r')
                .unwrap_or(behind)
                .starts_with('\n');
        self.at += 2;
        if !is_word {
            return;
        }
        self.skip_to(b"\n", true);
        while self.at < self.text.len() {
            let line = self.rest().split_inclusive('\n').next().unwrap_or_default();
            let length = line.len();
            if line.trim() == word {
                // What stands behind the word, as the end of its line, is left.
                self.at += line.trim_end().len();
                return;
            }
            self.at += length;
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

/// The attributes of each `helm_release` at the top of a file, those of inner blocks and expressions apart.
fn blocks(text: &str) -> Vec<Vec<Attribute<'_>>> {
    let mut found: Vec<Vec<Attribute<'_>>> = Vec::new();
    let mut scanner = Scanner {
        text,
        at: 0,
        stack: Vec::new(),
    };
    let (mut is_open, mut is_start) = (false, true);
    // The attribute whose expression is being read.
    let mut open: Option<(&str, usize)> = None;
    while scanner.at < text.len() {
        let (at, depth) = (scanner.at, scanner.stack.len());
        if depth == 0 && is_start {
            is_open = is_release(&text[at..]);
            if is_open {
                found.push(Vec::new());
            }
        }
        if depth == 1
            && is_open
            && is_start
            && let Some((name, start)) = attribute(text, at)
        {
            open = Some((name, start));
            scanner.at = start;
            is_start = false;
            continue;
        }
        let before = text.as_bytes()[at];
        scanner.step();
        let after = scanner.stack.len();
        let is_comment = matches!(before, b'#') || before == b'/' && scanner.at > at + 1;
        let ends = depth == 1 && (after == 0 || before == b'\n' || is_comment);
        if let Some((name, start)) = open.filter(|_| ends)
            && let Some(block) = found.last_mut()
        {
            block.push((name, start, text[start..at].trim_end()));
            open = None;
        }
        is_start = match before {
            b'\n' => true,
            b' ' | b'\t' | b'\r' => is_start,
            b'{' => after == 1,
            b'/' => is_start && is_comment,
            _ => false,
        };
    }
    found
}

/// Whether a text begins with the head of a `helm_release`.
fn is_release(text: &str) -> bool {
    let rest = text.strip_prefix("resource").map(str::trim_start);
    rest.is_some_and(|rest| rest.starts_with("\"helm_release\""))
}

/// The name of an attribute that begins here, and where its expression does.
fn attribute(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = &text[at..];
    let length = rest.find(|c: char| !is_of_name(c))?;
    let name = rest.get(..length).filter(|name| !name.is_empty())?;
    let behind = rest[length..].trim_start_matches([' ', '\t']);
    let value = behind
        .strip_prefix('=')
        .filter(|value| !value.starts_with('='))?;
    let value = value.trim_start_matches([' ', '\t']);
    Some((name, text.len() - value.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(text: &str) -> Vec<Option<&str>> {
        let of = |block: &Vec<Attribute<'_>>| {
            let found = block.iter().find(|(name, _, _)| *name == "version");
            found.map(|(_, start, _)| *start)
        };
        let all = blocks(text);
        let starts: Vec<_> = all.iter().map(of).collect();
        let line = |start: Option<usize>| start.and_then(|start| text[start..].lines().next());
        starts.into_iter().map(line).collect()
    }

    #[test]
    fn only_attributes_of_the_block_itself_count() {
        let text = "resource \"helm_release\" \"x\" {\n  values = [yamlencode({\n    image = { repository = \"no\" }\n    version = \"1.0.0\"\n  })]\n  set {\n    version = \"2.0.0\"\n  }\n}\n";
        assert_eq!(versions(text), [None]);
        let text = text.replace("  set {", "  version = \"3.0.0\" # why\n  set {");
        assert_eq!(versions(&text), [Some("\"3.0.0\" # why")]);
        assert_eq!(blocks(&text)[0][1].2, "\"3.0.0\"");
    }

    #[test]
    fn comments_and_heredocs_are_no_blocks() {
        let text = "/*\nresource \"helm_release\" \"old\" {\n  version = \"1.0.0\"\n}\n*/\n# resource \"helm_release\" \"x\" {\nresource \"helm_release\" \"x\" {\n  // version = \"4.0.0\"\n  values = [<<EOF\n{\n  version = 3.3.3\n}\nEOF\n  , <<-EOT\n  }\n  EOT\n  ]\n  /* a */ version = \"1.0.0\" /* b */\n}\nresource \"helm_release\" \"y\" { version = \"2.0.0\" }\n";
        assert_eq!(
            versions(text),
            [Some("\"1.0.0\" /* b */"), Some("\"2.0.0\" }")]
        );
        let all = blocks(text);
        assert_eq!(all[0].last().map(|one| one.2), Some("\"1.0.0\""));
        assert_eq!(all[1][0].2, "\"2.0.0\"");
    }

    #[test]
    fn texts_with_braces_in_them_close_nothing() {
        let text = "resource \"helm_release\" \"x\" {\n  a = \"}\\\"}\"\n  b = \"${var.x[\"}\"]} $${\"\n  version = \"1.0.0\"\n}\n";
        assert_eq!(versions(text), [Some("\"1.0.0\"")]);
        for piece in ["\"${", "{", "<<", "<<A\n", "/*", "\\", "}", "é"] {
            blocks(&format!(
                "resource \"helm_release\" \"x\" {{\n{}",
                piece.repeat(50_000)
            ));
        }
    }
}
