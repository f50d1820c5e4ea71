//! Patterns of paths: `*` stands for a part of a name, `?` for a character, `**` for any folders.

/// Whether a path is of a pattern.
pub fn fits(glob: &str, path: &str) -> bool {
    let glob: Vec<&str> = glob.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    fits_parts(&glob, &path)
}

fn fits_parts(glob: &[&str], path: &[&str]) -> bool {
    match (glob.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            (0..=path.len()).any(|skipped| fits_parts(rest, &path[skipped..]))
        }
        (Some((glob, globs)), Some((part, parts))) => {
            fits_part(glob.as_bytes(), part.as_bytes()) && fits_parts(globs, parts)
        }
        _ => false,
    }
}

fn fits_part(glob: &[u8], part: &[u8]) -> bool {
    match (glob.split_first(), part.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            (0..=part.len()).any(|skipped| fits_part(rest, &part[skipped..]))
        }
        (Some((b'?', rest)), Some((_, parts))) => fits_part(rest, parts),
        (Some((one, rest)), Some((other, parts))) => one == other && fits_part(rest, parts),
        _ => false,
    }
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
        ] {
            assert_eq!(fits(glob, path), is_in, "{glob} {path}");
        }
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
