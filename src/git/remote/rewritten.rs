//! The addresses of a named remote, as git's configuration rewrites them.
//!
//! libgit2 does this too, but reads the usual files alone; where the environment names others, those count, as for git itself.

use git2::Config;

/// The addresses of a remote for pushing: each `pushurl`, or else each `url`. Source: git's `remote.c`, and `git-config` of
/// `url.<base>.insteadOf` and `url.<base>.pushInsteadOf`.
///
/// # Errors
/// When there is no such remote, or the configuration can't be read.
pub(super) fn push_addresses(config: &Config, remote: &str) -> Result<Vec<String>, git2::Error> {
    let own = all(config, remote, "pushurl")?;
    if !own.is_empty() {
        return own.iter().map(|address| usual(config, address)).collect();
    }
    let addresses = all(config, remote, "url")?;
    let mut for_push = Vec::new();
    for address in &addresses {
        for_push.extend(rewritten(config, address, "pushinsteadof")?);
    }
    // Where one has an address for pushing of its own, those without one aren't pushed to.
    match (for_push.is_empty(), addresses.is_empty()) {
        (_, true) => Err(unknown(remote)),
        (true, false) => addresses.iter().map(|it| usual(config, it)).collect(),
        (false, false) => Ok(for_push),
    }
}

/// The address of a remote for fetching: its first `url`.
///
/// # Errors
/// As [`push_addresses`].
pub(super) fn fetch_address(config: &Config, remote: &str) -> Result<String, git2::Error> {
    let addresses = all(config, remote, "url")?;
    // A remote with a `pushurl` alone is fetched from there.
    let pushed = all(config, remote, "pushurl")?;
    let address = addresses.first().or(pushed.first());
    usual(config, address.ok_or_else(|| unknown(remote))?)
}

/// The values of a key in their order; an empty one takes back those before it.
fn all(config: &Config, remote: &str, key: &str) -> Result<Vec<String>, git2::Error> {
    let mut found = Vec::new();
    let entries = config.multivar(&format!("remote.{remote}.{key}"), None)?;
    entries.for_each(|entry| match entry.value() {
        Ok("") => found.clear(),
        Ok(value) => found.push(value.to_owned()),
        Err(_) => {}
    })?;
    Ok(found)
}

/// An address as it is used for fetching.
///
/// # Errors
/// When the configuration can't be read.
pub(super) fn usual(config: &Config, address: &str) -> Result<String, git2::Error> {
    let new = rewritten(config, address, "insteadof")?;
    Ok(new.unwrap_or_else(|| address.to_owned()))
}

fn unknown(remote: &str) -> git2::Error {
    git2::Error::from_str(&format!("there is no address for `{remote}`"))
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
            [remote \"e\"]\n\turl = x\n\tpushurl = one\n\tpushurl =\n\tpushurl = two\n\tpushurl = three\n[remote \"f\"]\n\turl = one\n\turl = two\n\
            [url \"ssh://git@H.example.org/\"]\n\tinsteadOf = https://h.example.org/\n[url \"https://wrong.example.org/\"]\n\tinsteadOf = https://\n\
            [url \"https://pull.example.org/\"]\n\tinsteadOf = gh:\n[url \"git@push.example.org:\"]\n\tpushInsteadOf = gh:\n";
        std::fs::write(&file, text).unwrap();
        let config = Config::open(&file).unwrap();
        let pushed = |remote| push_addresses(&config, remote).unwrap();
        let fetched = |remote| fetch_address(&config, remote).unwrap();
        assert_eq!(pushed("a"), ["ssh://git@H.example.org/g/r.git"]);
        assert_eq!(pushed("b"), ["ssh://git@H.example.org/g/r.git"]);
        assert_eq!(pushed("c"), ["git@push.example.org:r"]);
        assert_eq!(pushed("e"), ["two", "three"]);
        assert_eq!(pushed("f"), ["one", "two"]);
        assert_eq!(fetched("a"), "ssh://git@H.example.org/g/r.git");
        assert_eq!(fetched("b"), "x");
        assert_eq!(fetched("c"), "https://pull.example.org/r");
        assert_eq!(fetched("f"), "one");
        assert!(push_addresses(&config, "d").is_err() && fetch_address(&config, "d").is_err());
    }
}
