//! Addresses as files have them: what of one may be shown. Some carry a password or a token, which no output may repeat.

/// A user name without a password is taken for a token from this length on: those of GitHub, GitLab and the like are as long.
const TOKEN_LENGTH: usize = 20;

/// An address as it may be shown: without a user and its password, and without the query, which may hold a token.
///
/// The user name of SSH stays, since it is a part of the place and no secret.
pub fn shown(address: &str) -> String {
    let bare = address.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = bare.split_once("://") else {
        // `u:pw@host/path`, as an address of a registry without a scheme; `git@host:path` has no password.
        return match login(bare) {
            Some((user, place)) if user.contains(':') => place.to_owned(),
            _ => bare.to_owned(),
        };
    };
    match login(rest) {
        Some((user, place)) if scheme.ends_with("ssh") || scheme.starts_with("ssh") => {
            let name = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{name}@{place}")
        }
        Some((_, place)) => format!("{scheme}://{place}"),
        None => bare.to_owned(),
    }
}

/// Whether an address carries a password, or a token instead of one, in its user or its query.
pub fn has_login(address: &str) -> bool {
    let bare = address.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = bare.split_once("://").unwrap_or(("", bare));
    let is_web = scheme.ends_with("http") || scheme.ends_with("https");
    let in_user = login(rest).is_some_and(|(user, _)| {
        user.contains(':') || (is_web && user.chars().count() >= TOKEN_LENGTH)
    });
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase();
        let words = ["token", "secret", "passw", "signature", "key", "auth"];
        words.iter().any(|word| name.contains(word)) || name == "sig"
    };
    let mut names = query
        .split(['&', ';'])
        .filter_map(|part| part.split_once('='));
    in_user || names.any(|(name, _)| is_secret(name))
}

/// User and password before the host, and the place behind them. A password may have `/` in it, which no address should.
fn login(rest: &str) -> Option<(&str, &str)> {
    let authority = rest.split('/').next().unwrap_or_default();
    if let Some((user, _)) = authority.rsplit_once('@') {
        return Some((user, &rest[user.len() + 1..]));
    }
    let (_, port) = authority.split_once(':')?;
    let is_port = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    rest.rsplit_once('@').filter(|_| !is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_login_is_shown_and_the_place_stays() {
        let cases = [
            (
                "https://u:pw@h.example.org/x?token=pw",
                "https://h.example.org/x",
                true,
            ),
            ("https://u:pw@h.example.org", "https://h.example.org", true),
            (
                "https://u:p/pw@h.example.org/x",
                "https://h.example.org/x",
                true,
            ),
            ("https://ghp_0123456789abcdefpw@h/x", "https://h/x", true),
            ("git::https://u:pw@h/x?ref=v1", "git::https://h/x", true),
            ("u:pw@h.example.org/x", "h.example.org/x", true),
            ("ssh://git:pw@h:22/x", "ssh://git@h:22/x", true),
            ("https://h/x?a=1&access_token=pw", "https://h/x", true),
            ("https://h/x?X-Amz-Signature=pw", "https://h/x", true),
            ("https://team@h/x", "https://h/x", false),
            ("ssh://git@h/x", "ssh://git@h/x", false),
            (
                "git@h.example.org:a/b.git",
                "git@h.example.org:a/b.git",
                false,
            ),
            ("oci://h:5000/x@sha256:1", "oci://h:5000/x@sha256:1", false),
            ("h:5000/x@sha256:1", "h:5000/x@sha256:1", false),
            ("https://h/x?ref=v1", "https://h/x", false),
            ("oci://h/x", "oci://h/x", false),
            ("@p", "@p", false),
            ("alias:p", "alias:p", false),
            ("", "", false),
        ];
        for (address, expected, is_login) in cases {
            assert_eq!(shown(address), expected, "{address}");
            assert_eq!(has_login(address), is_login, "{address}");
            assert!(!shown(address).contains("pw"), "{address}");
        }
    }
}
