//! Patterns of paths: `*` stands for a part of a name, `?` for a character, `**` for any folders.

/// Whether a path is of a pattern.
pub fn fits(glob: &str, path: &str) -> bool {
    let glob: Vec<&str> = glob.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    all_fit(
        &glob,
        &path,
        |glob| *glob == "**",
        |glob, part| {
            let (glob, part) = (glob.as_bytes(), part.as_bytes());
            all_fit(
                glob,
                part,
                |byte| *byte == b'*',
                |byte, other| *byte == b'?' || byte == other,
            )
        },
    )
}

/// Whether pieces fit a pattern whose stars stand for any number of them. It goes back to the last star alone, so that no pattern takes long.
fn all_fit<T>(
    glob: &[T],
    pieces: &[T],
    is_star: impl Fn(&T) -> bool,
    fits: impl Fn(&T, &T) -> bool,
) -> bool {
    let (mut at, mut piece) = (0, 0);
    let mut star = None;
    while piece < pieces.len() {
        match glob.get(at) {
            Some(one) if is_star(one) => {
                star = Some((at, piece));
                at += 1;
                continue;
            }
            Some(one) if fits(one, &pieces[piece]) => {
                at += 1;
                piece += 1;
                continue;
            }
            _ => {}
        }
        let Some((back, taken)) = star else {
            return false;
        };
        star = Some((back, taken + 1));
        (at, piece) = (back + 1, taken + 1);
    }
    glob[at..].iter().all(is_star)
}

/// Whether a path, or a folder that it lies in, is of a pattern.
pub fn is_below(glob: &str, path: &str) -> bool {
    let glob = glob.trim_end_matches('/').trim_start_matches("./");
    let mut folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    glob.is_empty() || fits(glob, path) || folders.any(|folder| fits(glob, folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_of_generators() {
        for (glob, path, is_in) in [
            ("envs/*/config.yaml", "envs/prod/config.yaml", true),
            ("envs/*/config.yaml", "envs/a/b/config.yaml", false),
            ("envs/**/config.yaml", "envs/a/b/config.yaml", true),
            ("envs/**/config.yaml", "envs/config.yaml", true),
            ("**/*.json", "a/b/c.json", true),
            ("a/?.yaml", "a/b.yaml", true),
            ("a/*.yaml", "a/b.yml", false),
            ("**", "a/b", true),
            ("a/**/b/**/c", "a/x/b/b/y/c", true),
            ("a/**/b/**/c", "a/x/y/c", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xxaxxbxx", false),
            ("a*", "", false),
        ] {
            assert_eq!(fits(glob, path), is_in, "{glob} {path}");
        }
    }

    #[test]
    fn no_pattern_takes_long() {
        let many = "*a".repeat(200);
        assert!(!fits(&many, &"a".repeat(199)));
        assert!(!fits(&format!("{many}b"), &"a".repeat(4000)));
        let deep = "**/a/".repeat(100);
        assert!(!fits(&format!("{deep}b"), &vec!["a"; 1000].join("/")));
    }

    #[test]
    fn a_folder_has_what_lies_below_it() {
        let cases = [
            ("clusters/prod/", "clusters/prod/a/b.yaml", true),
            ("clusters/prod", "clusters/prod2/b.yaml", false),
            ("clusters/prod-*", "clusters/prod-eu/b.yaml", true),
            ("a.yaml", "a.yaml", true),
            ("", "a", true),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(is_below(pattern, path), expected, "{pattern} {path}");
        }
    }
}
