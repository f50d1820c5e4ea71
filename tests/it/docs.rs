//! The documentation: every command in it is run, every flag in it is there, and every flag that is there is used by a test.

use std::collections::BTreeSet;
use std::path::Path;

use crate::env::TestEnv;

const PAGES: [&str; 11] = [
    "README.md",
    "docs/architecture.md",
    "docs/layouts.md",
    "docs/secrets.md",
    "docs/pins.md",
    "docs/upgrades.md",
    "docs/recovery.md",
    "docs/delivery.md",
    "docs/json.md",
    "docs/limits.md",
    "docs/bench.md",
];

/// Flags of other programs that the pages mention.
const FOREIGN: [&str; 9] = [
    "--bench",
    "--fetch-cert",
    "--release",
    "--ignored",
    "--locked",
    "--feature-gates",
    "--no-verify",
    "--warmup",
    "--unshallow",
];

fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name))
        .unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// The texts of fenced blocks of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    text.split(&fence)
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next())
        .collect()
}

/// Commands of a page: the lines of its shell blocks, and what stands between backticks.
fn commands(text: &str) -> Vec<String> {
    let lines = blocks(text, "sh").into_iter().flat_map(str::lines);
    let inline = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| !code.contains('\n'));
    lines
        .chain(inline)
        .filter_map(|line| {
            let line = line.trim();
            let rest = line
                .strip_prefix("haptic-scaffold ")
                .or_else(|| line.strip_prefix("cargo run --release -- "))?;
            // `haptic-scaffold <mail>` is a name and no command.
            (!rest.starts_with('<')).then(|| rest.replace("DIR", "my-layouts"))
        })
        .collect()
}

fn prepare(env: &TestEnv) {
    let layouts = page("docs/layouts.md");
    env.write("my-layouts/team/layout.yaml", blocks(&layouts, "yaml")[0]);
    env.write(
        "my-layouts/templates/team/release.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [= name | yaml =]\n",
    );
    crate::golden::given(env);
    env.write("versions.yaml", "haptic: [0.2.1, 0.2.2]\nweb: [1.1.0]\n");
    crate::delivery::pair(env, "fleet", &["web"]);
    env.write("webhook-ca.crt", crate::golden::CA);
    env.write("values.yaml", "replicaCount: 2\n");
    std::fs::create_dir(env.path("monorepo")).expect("a folder");
    env.git("monorepo", &["init", "-q", "-b", "main"]);
}

#[test]
fn every_command_of_the_pages_works() {
    let mut count = 0;
    for name in PAGES {
        let env = TestEnv::new();
        prepare(&env);
        for command in commands(&page(name)) {
            let arguments: Vec<&str> = command.split_whitespace().collect();
            // A folder that an earlier page's command made is taken again: that is a second run.
            env.expect(0, &arguments);
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn the_policy_of_the_page_is_read() {
    let env = TestEnv::new();
    for name in ["docs/upgrades.md", "docs/delivery.md"] {
        let page = page(name);
        env.write("repo/.haptic-scaffold.yaml", blocks(&page, "yaml")[0]);
        env.expect(0, &["-C", "repo", "pins", "--offline"]);
    }
}

/// What a CI would run: the lines of the jobs on the page, with the variables that it has.
#[test]
fn the_jobs_of_the_page_are_understood() {
    let delivery = page("docs/delivery.md");
    let env = TestEnv::new();
    let mut count = 0;
    for line in blocks(&delivery, "yaml").into_iter().flat_map(str::lines) {
        let Some((_, command)) = line.split_once("haptic-scaffold bot run ") else {
            continue;
        };
        let command = command
            .replace("$CI_PROJECT_URL", "https://gitlab.example.org/team/repo")
            .replace(
                "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY",
                "https://git.example.org/a/b",
            )
            .replace("$CI_DEFAULT_BRANCH", "main")
            .replace('"', "");
        let mut arguments = vec!["bot", "run"];
        arguments.extend(command.split_whitespace());
        // Two kinds of token at once are refused before anything is asked.
        arguments.extend(["https://other.example.org/a/b.git", "--token-file", "token"]);
        let run = env.expect(2, &arguments);
        assert!(run.stderr.contains("2 hosts"), "{command}: {}", run.stderr);
        count += 1;
    }
    assert_eq!(count, 3);
}

fn flags_of(text: &str) -> BTreeSet<String> {
    let mut flags = BTreeSet::new();
    for (at, _) in text.match_indices("--") {
        let before = text[..at].chars().next_back();
        let name: String = text[at + 2..]
            .chars()
            .take_while(|c| c.is_ascii_lowercase() || *c == '-')
            .collect();
        if before.is_none_or(|c| matches!(c, ' ' | '`' | '\n' | '(' | '['))
            && !name.is_empty()
            && !name.starts_with('-')
        {
            flags.insert(format!("--{}", name.trim_end_matches('-')));
        }
    }
    flags
}

fn known_flags(env: &TestEnv) -> BTreeSet<String> {
    let pages = [
        &["init", "--help"][..],
        &["layouts", "--help"],
        &["layouts", "show", "--help"],
        &["layouts", "check", "--help"],
        &["schema", "--help"],
        &["pins", "--help"],
        &["upgrade", "--help"],
        &["recover", "--help"],
        &["bot", "run", "--help"],
        &["secrets", "list", "--help"],
        &["secrets", "apply", "--help"],
        &["secrets", "script", "--help"],
        &["secrets", "rotate", "--help"],
        &["secrets", "age-key", "--help"],
        &["secrets", "trial-certificates", "--help"],
    ];
    pages
        .into_iter()
        .flat_map(|arguments| flags_of(&env.expect(0, arguments).stdout))
        .collect()
}

#[test]
fn every_flag_of_the_pages_is_there() {
    let env = TestEnv::new();
    let known = known_flags(&env);
    for name in PAGES {
        for flag in flags_of(&page(name)) {
            assert!(
                known.contains(&flag) || FOREIGN.contains(&flag.as_str()),
                "{name}: {flag}"
            );
        }
    }
}

#[test]
fn every_flag_is_used_by_a_test() {
    let env = TestEnv::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let walk = walkdir::WalkDir::new(folder)
        .into_iter()
        .map(|entry| entry.expect("readable"));
    let tests: String = walk
        .filter(|entry| {
            entry
                .path()
                .extension()
                .is_some_and(|ending| ending == "rs")
        })
        .map(|entry| std::fs::read_to_string(entry.path()).expect("text"))
        .collect();
    for flag in known_flags(&env) {
        assert!(
            tests.contains(&format!("\"{flag}\"")),
            "no test uses {flag}"
        );
    }
}

#[test]
fn help_says_what_each_command_does() {
    let env = TestEnv::new();
    let help = env.expect(0, &["--help"]).stdout;
    for command in [
        "init", "layouts", "schema", "pins", "upgrade", "recover", "bot", "secrets",
    ] {
        assert!(help.contains(&format!("  {command}")), "{help}");
    }
    assert!(
        env.expect(0, &["--version"])
            .stdout
            .starts_with("haptic-scaffold ")
    );
    let run = env.expect(2, &["init", "--nonsense", "--output", "json"]);
    assert_eq!(run.json()["error"]["code"], 2);
}
