//! Who commits: flags, then git's environment variables, then git's config, then the tool itself with a notice.

use git2::{Config, Signature, Time};

use crate::error::Problem;
use crate::model::env::Env;

/// The name that commits have where nobody is configured.
pub const FALLBACK: (&str, &str) = ("haptic-scaffold", "haptic-scaffold@localhost");

/// Author and committer of a commit.
pub struct Identity {
    /// Who wrote it.
    pub author: Signature<'static>,
    /// Who committed it.
    pub committer: Signature<'static>,
    /// Whether nobody was configured.
    pub is_fallback: bool,
}

/// Finds author and committer. `now` is in seconds since 1970 and counts where git's environment gives no date.
///
/// # Errors
/// When the flag isn't `NAME <MAIL>`, or a date in the environment can't be read.
pub fn identify(
    config: &Config,
    env: &Env,
    flag: Option<&str>,
    now: i64,
) -> anyhow::Result<Identity> {
    let author_flag = flag.map(parse_person).transpose()?;
    let configured = || {
        Some((
            config.get_string("user.name").ok()?,
            config.get_string("user.email").ok()?,
        ))
    };
    let from_env = |role: &str| {
        Some((
            env.get(&format!("GIT_{role}_NAME"))?,
            env.get(&format!("GIT_{role}_EMAIL"))
                .or_else(|| env.get("EMAIL"))?,
        ))
    };
    let own = |role: &str| configured_for(config, role);
    let fallback = || (FALLBACK.0.to_owned(), FALLBACK.1.to_owned());
    let known = |role: &str| {
        from_env(&role.to_uppercase())
            .or_else(|| own(role))
            .or_else(configured)
    };
    let author = author_flag.clone().or_else(|| known("author"));
    let committer = known("committer").or_else(|| author.clone());
    let is_fallback = author.is_none();
    let sign = |person: Option<(String, String)>, role: &str| {
        let (name, mail) = person.unwrap_or_else(fallback);
        let time = date_of(env, role, now)?;
        Signature::new(&name, &mail, &time).map_err(|why| {
            anyhow::Error::from(Problem::invalid(format!(
                "cannot commit as `{name} <{mail}>`: {}",
                why.message()
            )))
        })
    };
    Ok(Identity {
        author: sign(author, "AUTHOR")?,
        committer: sign(committer, "COMMITTER")?,
        is_fallback,
    })
}

/// git reads `author.name` and `committer.name` before `user.name` (git-config(1)).
fn configured_for(config: &Config, role: &str) -> Option<(String, String)> {
    Some((
        config.get_string(&format!("{role}.name")).ok()?,
        config.get_string(&format!("{role}.email")).ok()?,
    ))
}

fn parse_person(text: &str) -> Result<(String, String), Problem> {
    let person = text
        .strip_suffix('>')
        .and_then(|t| t.split_once('<'))
        .map(|(name, mail)| (name.trim().to_owned(), mail.trim().to_owned()));
    person
        .filter(|(name, mail)| !name.is_empty() && !mail.is_empty())
        .ok_or_else(|| {
            Problem::usage(format!("cannot read `--author {text}`"))
                .hint("write it as `--author 'Name <mail@example.org>'`")
        })
}

/// Dates in git's internal format: `1700000000 +0100`, with or without `@`. Others are git's to read, so they are refused and not guessed.
fn date_of(env: &Env, role: &str, now: i64) -> anyhow::Result<Time> {
    let variable = format!("GIT_{role}_DATE");
    let Some(text) = env.get(&variable) else {
        return Ok(Time::new(now, 0));
    };
    let mut parts = text.trim().trim_start_matches('@').split_whitespace();
    let seconds = parts.next().and_then(|s| s.parse().ok());
    let offset = parts.next().map_or(Some(0), offset_minutes);
    match (seconds, offset) {
        (Some(seconds), Some(offset)) => Ok(Time::new(seconds, offset)),
        _ => Err(Problem::invalid(format!("cannot read {variable}=`{text}`"))
            .hint("give seconds since 1970 and an offset, like `1700000000 +0000`")
            .into()),
    }
}

fn offset_minutes(text: &str) -> Option<i32> {
    let sign = match text.as_bytes().first()? {
        b'-' => -1,
        b'+' => 1,
        _ => return None,
    };
    let digits: i32 = text[1..].parse().ok()?;
    Some(sign * (digits / 100 * 60 + digits % 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identify_with(env: &[(&str, &str)], flag: Option<&str>) -> anyhow::Result<Identity> {
        identify(&Config::new().expect("empty"), &Env::of(env), flag, 7)
    }

    #[test]
    fn the_flag_comes_before_the_environment_and_the_tool_itself_last() {
        let env = [
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@e.org"),
            ("GIT_AUTHOR_DATE", "@1700000000 +0130"),
        ];
        let identity = identify_with(&env, Some("B <b@e.org>")).expect("good");
        assert_eq!(identity.author.name().ok(), Some("B"));
        assert_eq!(
            (
                identity.author.when().seconds(),
                identity.author.when().offset_minutes()
            ),
            (1_700_000_000, 90)
        );
        assert_eq!(
            identify_with(&env, None).expect("good").author.name().ok(),
            Some("A")
        );
        let nobody = identify_with(&[], None).expect("good");
        assert!(nobody.is_fallback);
        assert_eq!(nobody.author.email().ok(), Some(FALLBACK.1));
    }

    #[test]
    fn a_wrong_author_or_date_is_refused() {
        assert!(identify_with(&[], Some("nobody")).is_err());
        assert!(identify_with(&[("GIT_AUTHOR_DATE", "yesterday")], None).is_err());
    }
}
