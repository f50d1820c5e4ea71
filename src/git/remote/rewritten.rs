//! The address that a push of a named remote goes to, as git's configuration rewrites it.
//!
//! libgit2 does this too, but reads the usual files alone; where the environment names others, those count, as for git itself.

use git2::Config;

/// The address of a remote for pushing. Source: `git-config`, `url.<base>.insteadOf` and `url.<base>.pushInsteadOf`.
///
/// # Errors
/// When there is no such remote, or the configuration can't be read.
pub(super) fn push_address(config: &Config, remote: &str) -> Result<String, git2::Error> {
    let text = |key: &str| config.get_string(&format!("remote.{remote}.{key}"));
    if let Ok(address) = text("pushurl") {
        return rewritten(config, &address, "insteadof").map(|new| new.unwrap_or(address));
    }
    let address = text("url")?;
    if let Some(new) = rewritten(config, &address, "pushinsteadof")? {
        return Ok(new);
    }
    rewritten(config, &address, "insteadof").map(|new| new.unwrap_or(address))
}

/// The longest prefix counts.
fn rewritten(config: &Config, address: &str, kind: &str) -> Result<Option<String>, git2::Error> {
    let mut best: Option<(usize, String)> = None;
    let mut entries = config.entries(Some(&format!(r"^url\..*\.{kind}$")))?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let (Ok(name), Ok(prefix)) = (entry.name(), entry.value()) else {
            continue;
        };
        let base = name
            .strip_prefix("url.")
            .and_then(|name| name.strip_suffix(kind)?.strip_suffix('.'));
        let (Some(base), Some(rest)) = (base, address.strip_prefix(prefix)) else {
            continue;
        };
        if best
            .as_ref()
            .is_none_or(|(length, _)| prefix.len() > *length)
        {
            best = Some((prefix.len(), format!("{base}{rest}")));
        }
    }
    Ok(best.map(|(_, address)| address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_rewritten_as_git_does() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let text = "[remote \"a\"]\n\turl = https://h.example.org/g/r.git\n[remote \"b\"]\n\turl = x\n\tpushurl = https://h.example.org/g/r.git\n[remote \"c\"]\n\turl = gh:r\n\
            [url \"ssh://git@H.example.org/\"]\n\tinsteadOf = https://h.example.org/\n[url \"https://wrong.example.org/\"]\n\tinsteadOf = https://\n\
            [url \"https://pull.example.org/\"]\n\tinsteadOf = gh:\n[url \"git@push.example.org:\"]\n\tpushInsteadOf = gh:\n";
        std::fs::write(&file, text).unwrap();
        let config = Config::open(&file).unwrap();
        let address = |remote| push_address(&config, remote).unwrap();
        assert_eq!(address("a"), "ssh://git@H.example.org/g/r.git");
        assert_eq!(address("b"), "ssh://git@H.example.org/g/r.git");
        assert_eq!(address("c"), "git@push.example.org:r");
        assert!(push_address(&config, "d").is_err());
    }
}
