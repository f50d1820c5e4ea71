//! The tags of a Git repository that only the user's own `git` can ask: over SSH, of this machine,
//! or with the logins that it keeps.
//!
//! Owns the call and what of git's complaint is shown. Nobody is asked for a password: git and SSH
//! fail instead. Start from [`list`].

use std::time::Duration;

use super::error::{Asked, RegistryError};
use super::git_tags::{AIM, has_password, tag_name};
use super::program::{Call, NoEnd};
use super::shown;
use crate::model::env::Env;

const LIMIT: Duration = Duration::from_secs(60);
const MOST: u64 = 64 << 20;

/// Variables that lead git to another repository, or make it say more than it should.
const DROPPED: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_CONFIG",
    "GIT_PREFIX",
    "GIT_CURL_VERBOSE",
];

/// Whether an address is one of SSH or of this machine: `ssh://…`, `[USER@]HOST:PATH`, `file://…` or a path.
pub(super) fn is_for_git(address: &str) -> bool {
    match address.split_once("://") {
        Some((scheme, _)) => matches!(scheme, "ssh" | "git+ssh" | "ssh+git" | "file"),
        None => {
            let before_path = address.split('/').next().unwrap_or_default();
            // `NAME::…` is a remote helper of git's, which may run anything.
            let is_ssh = before_path.contains(':') && !before_path.contains("::");
            address.starts_with('/') || (is_ssh && !address.starts_with('-'))
        }
    }
}

/// The host of an address; empty for a place on this machine.
pub(super) fn host(address: &str) -> &str {
    let authority = match address.split_once("://") {
        Some((_, rest)) => rest.split('/').next(),
        None if address.starts_with('/') => None,
        None => address.split(':').next(),
    };
    let authority = authority.unwrap_or_default();
    authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host)
}

/// Lists the names of the tags by `git ls-remote`.
///
/// # Errors
///
/// A [`RegistryError`] when git is not there or says why it could not.
pub(super) fn list(env: &Env, address: &str) -> Result<Vec<String>, RegistryError> {
    let refuse = |reason: String| RegistryError::Program {
        asked: Asked {
            aim: AIM.to_owned(),
            url: shown(address),
        },
        reason,
    };
    if has_password(address) {
        return Err(refuse(
            "it carries a password, which every process could read".to_owned(),
        ));
    }
    let env = env
        .all()
        .filter(|(name, _)| !DROPPED.contains(&name.as_str()) && !name.starts_with("GIT_TRACE"));
    let env = Env::new(env.map(|(name, value)| (name.clone(), value.clone())));
    let ssh = format!("{} -oBatchMode=yes -oConnectTimeout=20", ssh_command(&env));
    let arguments = ["ls-remote", "--tags", "--refs", "--", address];
    let call = Call {
        vars: &[
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", ""),
            // The credential manager of Git for Windows opens windows otherwise.
            ("GCM_INTERACTIVE", "never"),
            ("SSH_ASKPASS", ""),
            ("SSH_ASKPASS_REQUIRE", "never"),
            ("GIT_SSH_COMMAND", &ssh),
            ("GIT_ALLOW_PROTOCOL", "ssh:https:http:file"),
            ("LC_ALL", "C"),
        ],
        ..call(&env, &arguments)
    };
    let too_late = |reason: String| RegistryError::Unreachable {
        asked: Asked {
            aim: AIM.to_owned(),
            url: shown(address),
        },
        reason,
    };
    let said = call.run().map_err(|why| match why {
        NoEnd::Missing => refuse(
            "addresses of this kind are asked by the program `git`, which is not installed"
                .to_owned(),
        ),
        NoEnd::TooLong(_) => too_late(format!("`git ls-remote` {why}")),
        other => refuse(format!("`git ls-remote` {other}")),
    })?;
    if !said.is_good {
        let complaint = String::from_utf8_lossy(&said.complaint);
        let reason = format!(
            "`git ls-remote` ended with {}{}",
            said.end,
            told(&complaint)
        );
        return Err(match complaint.contains("timed out") {
            true => too_late(reason),
            false => refuse(reason),
        });
    }
    let output = String::from_utf8_lossy(&said.output);
    Ok(output
        .lines()
        .filter_map(tag_name)
        .map(str::to_owned)
        .collect())
}

fn call<'a>(env: &'a Env, arguments: &'a [&'a str]) -> Call<'a> {
    Call {
        program: "git",
        arguments,
        env,
        vars: &[],
        input: "",
        limit: LIMIT,
        most: MOST,
    }
}

/// The command that git would run for SSH: options are added to it, so it must be known.
fn ssh_command(env: &Env) -> String {
    if let Some(command) = env.get("GIT_SSH_COMMAND") {
        return command;
    }
    let said = call(env, &["config", "--get", "core.sshCommand"]).run();
    let set = said.ok().filter(|said| said.is_good);
    let set = set.map(|said| String::from_utf8_lossy(&said.output).trim().to_owned());
    set.filter(|command| !command.is_empty())
        // `GIT_SSH` is a program and not a command: its path may hold blanks.
        .or_else(|| {
            env.get("GIT_SSH")
                .map(|path| format!("'{}'", path.replace('\'', r"'\''")))
        })
        .unwrap_or_else(|| "ssh".to_owned())
}

/// The last lines of a complaint, without what may be a password in an address.
fn told(complaint: &str) -> String {
    let lines: Vec<&str> = complaint
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = lines[lines.len().saturating_sub(3)..].join(" / ");
    let clean: String = without_users(&last)
        .chars()
        .filter(|c| !c.is_control())
        .take(400)
        .collect();
    match clean.is_empty() {
        true => String::new(),
        false => format!(": {clean}"),
    }
}

/// Takes everything between `://` and `@` out of a text.
fn without_users(text: &str) -> String {
    let mut parts = text.split("://");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c == '/' || c == '\'' || c.is_whitespace());
        let (authority, rest) = part.split_at(end.unwrap_or(part.len()));
        let host = authority.rsplit('@').next().unwrap_or_default();
        clean.push_str("://");
        clean.push_str(host);
        clean.push_str(rest);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_ssh_and_of_this_machine_are_for_git() {
        for address in [
            "ssh://git@h.example.org/a.git",
            "git@h.example.org:a/b.git",
            "h.example.org:a",
            "file:///srv/a.git",
            "/srv/a.git",
        ] {
            assert!(is_for_git(address), "{address}");
        }
        for address in [
            "https://h.example.org/a.git",
            "http://127.0.0.1/a",
            "git://h.example.org/a",
            "ext::sh -c x",
            "--upload-pack=x:y",
            "a/b:c",
            "a",
        ] {
            assert!(!is_for_git(address), "{address}");
        }
    }

    /// The environment of the test process, with a home of its own.
    fn env(home: &std::path::Path) -> Env {
        let home = home.display().to_string();
        Env::of(&[("HOME", &home), ("PATH", "/usr/local/bin:/usr/bin:/bin")])
    }

    /// A repository with two tags, one of them with a text of its own.
    fn filled(path: &std::path::Path) {
        let repo = git2::Repository::init_bare(path).unwrap();
        let who = git2::Signature::new("A", "a@example.org", &git2::Time::new(0, 0)).unwrap();
        let tree = repo.treebuilder(None).unwrap().write().unwrap();
        let tree = repo.find_tree(tree).unwrap();
        let commit = repo
            .commit(Some("HEAD"), &who, &who, "x", &tree, &[])
            .unwrap();
        let commit = repo.find_object(commit, None).unwrap();
        repo.tag_lightweight("v1.0.0", &commit, false).unwrap();
        repo.tag("v1.1.0", &commit, &who, "signed", false).unwrap();
    }

    #[test]
    fn a_repository_of_this_machine_is_listed_by_git() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a b.git");
        filled(&path);
        let path = path.display().to_string();
        for address in [path.clone(), format!("file://{path}")] {
            assert_eq!(
                list(&env(home.path()), &address).unwrap(),
                ["v1.0.0", "v1.1.0"]
            );
        }
        let secret = list(&env(home.path()), "ssh://u:geheim@h.example.org/a").unwrap_err();
        assert!(
            secret.to_string().contains("carries a password"),
            "{secret}"
        );
        assert!(!secret.to_string().contains("geheim"), "{secret}");
        let absent = list(&env(home.path()), &format!("{path}/x")).unwrap_err();
        assert!(
            absent
                .to_string()
                .contains("`git ls-remote` ended with exit code 128: "),
            "{absent}"
        );
    }

    #[test]
    fn ssh_is_run_without_questions_and_git_may_be_absent() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let bare = home.path().join("a.git");
        filled(&bare);
        let script = home.path().join("my ssh");
        // Does what SSH asks the other machine for, on this one.
        let text = "#!/bin/sh\necho \"$@\" >>\"$HOME/asked\"\nfor last; do :; done\nexec sh -c \"$last\"\n";
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = home.path().display().to_string();
        let env = |ssh: &str| {
            let script = script.display().to_string();
            let script = if ssh == "GIT_SSH" {
                script
            } else {
                format!("'{script}'")
            };
            let path = "/usr/local/bin:/usr/bin:/bin".to_owned();
            let all = [
                ("HOME", home.path().display().to_string()),
                ("PATH", path),
                (ssh, script),
            ];
            Env::new(all.map(|(name, value)| (name.to_owned(), value)))
        };
        let address = format!("git@h.example.org:{}", bare.display());
        let config = home.path().join(".gitconfig");
        std::fs::write(
            config,
            format!("[core]\n\tsshCommand = '{}'\n", script.display()),
        )
        .unwrap();
        // The last one counts for nothing, so git's configuration does.
        for ssh in ["GIT_SSH", "GIT_SSH_COMMAND", "NO_SSH"] {
            assert_eq!(
                list(&env(ssh), &address).unwrap(),
                ["v1.0.0", "v1.1.0"],
                "{ssh}"
            );
        }
        let asked = std::fs::read_to_string(home.path().join("asked")).unwrap();
        let calls: Vec<&str> = asked
            .lines()
            .filter(|line| line.contains("git-upload-pack"))
            .collect();
        assert!(
            !calls.is_empty() && calls.iter().all(|call| call.contains("-oBatchMode=yes")),
            "{asked}"
        );

        let nothing = Env::of(&[("HOME", &path), ("PATH", &path)]);
        let error = list(&nothing, "git@h.example.org:a/b.git").unwrap_err();
        assert!(
            error.to_string().contains("`git`, which is not installed"),
            "{error}"
        );
    }

    #[test]
    fn complaints_show_no_login() {
        let said = "x\nremote: no\nfatal: Authentication failed for 'https://u:geheim@h.example.org/a/': no https://t0k@h";
        let told = told(said);
        assert!(told.contains("'https://h.example.org/a/'"), "{told}");
        assert!(!told.contains("geheim") && !told.contains("t0k"), "{told}");
        assert!(super::told("").is_empty());
    }
}
