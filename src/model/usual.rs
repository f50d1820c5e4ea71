//! [`usual`]: the variables that hold a forge's token, and which servers each is for.
//!
//! Owns the one rule that git's logins and the forges' APIs share. A token goes to the forge's public server, to the one that a variable names, and to one of which
//! a person said which forge it is; never because of a host's name alone, which anybody can choose.
//! Sources: `glab`, `gh`, `tea`; GitLab's predefined CI variables; GitHub's default variables, which the actions of Gitea and Forgejo set too.

use super::env::Env;

/// A forge, as far as the names of its variables go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `GITLAB_TOKEN`.
    Gitlab,
    /// `GH_TOKEN`, `GITHUB_TOKEN`.
    Github,
    /// `GITEA_TOKEN`, `FORGEJO_TOKEN`.
    Gitea,
}

/// A variable with a token, and how it is known whom the token is for.
#[derive(Debug, PartialEq, Eq)]
pub struct Usual {
    /// Its name.
    pub variable: &'static str,
    /// The forge that it is for.
    pub kind: Kind,
    /// Whether it is that of a GitLab job, which is for the CI's own server alone.
    pub is_job: bool,
    /// The forge's public server.
    public: &'static str,
    /// Variables by which a person says for which server the forge's program is.
    own: &'static [&'static str],
    /// Variables by which a CI says what its server is.
    ci: &'static [&'static str],
}

const USUAL: [Usual; 6] = [
    Usual {
        variable: "GITLAB_TOKEN",
        kind: Kind::Gitlab,
        is_job: false,
        public: "https://gitlab.com",
        own: &["GITLAB_HOST"],
        ci: &["CI_SERVER_URL"],
    },
    Usual {
        variable: "GH_TOKEN",
        kind: Kind::Github,
        is_job: false,
        public: "https://github.com",
        own: &["GH_HOST"],
        ci: &["GITHUB_SERVER_URL"],
    },
    Usual {
        variable: "GITEA_TOKEN",
        kind: Kind::Gitea,
        is_job: false,
        public: "https://gitea.com",
        own: &["GITEA_SERVER_URL"],
        ci: &[],
    },
    Usual {
        variable: "FORGEJO_TOKEN",
        kind: Kind::Gitea,
        is_job: false,
        public: "https://codeberg.org",
        own: &["FORGEJO_SERVER_URL", "GITEA_SERVER_URL"],
        ci: &[],
    },
    // The CI's own come last: they may do less.
    Usual {
        variable: "GITHUB_TOKEN",
        kind: Kind::Github,
        is_job: false,
        public: "https://github.com",
        own: &["GH_HOST"],
        ci: &["GITHUB_SERVER_URL"],
    },
    Usual {
        variable: "CI_JOB_TOKEN",
        kind: Kind::Gitlab,
        is_job: true,
        public: "",
        own: &[],
        ci: &["CI_SERVER_URL"],
    },
];
/// What actions of Gitea and Forgejo have under GitHub's names.
const OF_ACTIONS: Usual = Usual {
    variable: "GITHUB_TOKEN",
    kind: Kind::Gitea,
    is_job: false,
    public: "",
    own: &[],
    ci: &["GITHUB_SERVER_URL"],
};

/// A server that a token may be for.
pub struct Server<'a> {
    /// Which forge a person said it is.
    pub told: Option<Kind>,
    /// Whether an address, or a host's name with or without a port, means this server.
    pub is_meant: &'a dyn Fn(&str) -> bool,
}

/// The variables whose tokens go to a server, best first: those that are set.
pub fn usual(env: &Env, server: &Server<'_>) -> Vec<&'static Usual> {
    let is_actions = is_gitea_actions(env);
    let named = |names: &[&str]| {
        let mut named = names.iter().filter_map(|name| env.get(name));
        named.any(|named| (server.is_meant)(&named))
    };
    let is_for_it = |usual: &&Usual| {
        let usual: &Usual = usual;
        let is_public = !usual.public.is_empty() && (server.is_meant)(usual.public);
        // In actions of Gitea, GitHub's variables are Gitea's, and so is the token of the job.
        let is_of_gitea = is_actions && usual.kind == Kind::Github;
        if is_of_gitea && usual.variable == OF_ACTIONS.variable {
            return false;
        }
        let is_of_ci = !is_of_gitea && named(usual.ci);
        is_public || is_of_ci || named(usual.own) || is_told(usual, server.told, env)
    };
    let mut all: Vec<&'static Usual> = USUAL.iter().filter(|it| is_for_it(it)).collect();
    if is_actions && named(OF_ACTIONS.ci) {
        all.push(&OF_ACTIONS);
    }
    all.retain(|usual| env.get(usual.variable).is_some());
    all
}

/// The variables that are set, and whose tokens go to any server of which somebody says that it is of a forge.
pub fn usual_of_told(env: &Env, told: Kind) -> Vec<&'static str> {
    let all = USUAL.iter().filter(|usual| is_told(usual, Some(told), env));
    all.map(|usual| usual.variable)
        .filter(|name| env.get(name).is_some())
        .collect()
}

/// A person's word which forge it is counts, unless a variable of theirs says for which server the token is.
fn is_told(usual: &Usual, told: Option<Kind>, env: &Env) -> bool {
    let is_of_gitea = is_gitea_actions(env) && usual.variable == OF_ACTIONS.variable;
    let is_named = usual.own.iter().any(|name| env.get(name).is_some());
    told == Some(usual.kind) && !usual.is_job && !is_named && !is_of_gitea
}

fn is_gitea_actions(env: &Env) -> bool {
    env.get("GITEA_ACTIONS").is_some() || env.get("FORGEJO_ACTIONS").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: [(&str, &str); 6] = [
        ("GITLAB_TOKEN", "x"),
        ("GH_TOKEN", "x"),
        ("GITEA_TOKEN", "x"),
        ("FORGEJO_TOKEN", "x"),
        ("GITHUB_TOKEN", "x"),
        ("CI_JOB_TOKEN", "x"),
    ];

    fn of(host: &str, told: Option<Kind>, more: &[(&str, &str)]) -> Vec<&'static str> {
        let is_meant = |named: &str| named.trim_start_matches("https://") == host;
        let server = Server {
            told,
            is_meant: &is_meant,
        };
        let env = Env::of(&[&TOKENS, more].concat());
        let all = usual(&env, &server).into_iter();
        all.map(|usual| usual.variable).collect()
    }

    #[test]
    fn a_hosts_name_alone_gets_no_token() {
        assert_eq!(of("gitlab.com", None, &[]), ["GITLAB_TOKEN"]);
        assert_eq!(of("github.com", None, &[]), ["GH_TOKEN", "GITHUB_TOKEN"]);
        assert_eq!(of("gitea.com", None, &[]), ["GITEA_TOKEN"]);
        assert_eq!(of("codeberg.org", None, &[]), ["FORGEJO_TOKEN"]);
        for host in [
            "gitlab.evil.example",
            "github.evil.example",
            "gitea.evil.example",
        ] {
            assert!(of(host, None, &[]).is_empty(), "{host}");
        }
        let named = [("GITLAB_HOST", "gitlab.example.org")];
        assert_eq!(of("gitlab.example.org", None, &named), ["GITLAB_TOKEN"]);
        let ci = [("CI_SERVER_URL", "https://h.example.org")];
        let both = ["GITLAB_TOKEN", "CI_JOB_TOKEN"];
        assert_eq!(of("h.example.org", None, &ci), both);
    }

    #[test]
    fn a_persons_word_counts_unless_a_variable_of_theirs_says_another() {
        let lab = Some(Kind::Gitlab);
        assert_eq!(of("h.example.org", lab, &[]), ["GITLAB_TOKEN"]);
        let named = [("GITLAB_HOST", "other.example.org")];
        assert!(of("h.example.org", lab, &named).is_empty());
        // What a CI says about itself takes nothing back.
        let ci = [("CI_SERVER_URL", "https://other.example.org")];
        assert_eq!(of("h.example.org", lab, &ci), ["GITLAB_TOKEN"]);
        let env = |more: &[(&str, &str)]| Env::of(&[&TOKENS, more].concat());
        assert_eq!(usual_of_told(&env(&[]), Kind::Gitlab), ["GITLAB_TOKEN"]);
        assert!(usual_of_told(&env(&named), Kind::Gitlab).is_empty());
        assert!(usual_of_told(&Env::of(&[]), Kind::Gitlab).is_empty());
    }

    #[test]
    fn in_actions_of_gitea_the_variables_of_github_are_gitea_s() {
        let actions = [
            ("GITEA_ACTIONS", "true"),
            ("GITHUB_SERVER_URL", "https://git.example.org"),
        ];
        assert_eq!(of("git.example.org", None, &actions), ["GITHUB_TOKEN"]);
        assert_eq!(of("github.com", None, &actions), ["GH_TOKEN"]);
        let hub = Some(Kind::Github);
        assert_eq!(of("ghe.example.org", hub, &actions), ["GH_TOKEN"]);
    }
}
