//! One pin bumped in a bare repository: its file read and looked at, its bytes changed, the trees above it, the commit and the branch written.
//! Whole processes, in repositories of 1,000 and of 100,000 files, against git's plumbing doing the same. `docs/bench.md` has the results.
//!
//! `cargo bench --bench bump`; it needs git, and 2 GB in the folder for temporary files.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench says what it measured, and ends where it can't"
)]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use haptic_scaffold::git::branches::{Offered, Rebuild, offer};
use haptic_scaffold::git::commit::Commit;
use haptic_scaffold::git::identity::identify;
use haptic_scaffold::git::trees::GitTree;
use haptic_scaffold::model::env::Env;
use haptic_scaffold::model::repo_path::RepoPath;
use haptic_scaffold::model::tree::{Entry, Tree as _};
use haptic_scaffold::pins::look;
use haptic_scaffold::plan::bundle::{Bundle, Move};
use haptic_scaffold::plan::upgrade::plan;

/// What git does without an index: one tree after the other, from the file's folder up to the top. `$1` repository, `$2` path, `$3` version.
const TREES: &str = r#"
cd "$1"
base=$(git rev-parse HEAD)
path=$2
child=$(git cat-file blob "$base:$path" | sed "s/\"1\.0\.0\"/\"$3\"/" | git hash-object -w --stdin)
while :; do
    name=${path##*/} folder=${path%/*}
    [ "$folder" = "$path" ] && folder=
    child=$(git ls-tree "$base:$folder" | awk -F'\t' -v n="$name" -v c="$child" 'BEGIN{OFS="\t"} $2==n{split($1,a," "); $1=a[1] " " a[2] " " c} {print}' | git mktree)
    [ -z "$folder" ] && break
    path=$folder
done
commit=$(git commit-tree "$child" -p "$base" -m "Bump")
git update-ref refs/heads/bumped "$commit"
"#;

/// What git does with an index of its own.
const INDEX: &str = r#"
cd "$1"
export GIT_INDEX_FILE=$1/bump-index
base=$(git rev-parse HEAD)
git read-tree "$base"
blob=$(git cat-file blob "$base:$2" | sed "s/\"1\.0\.0\"/\"$3\"/" | git hash-object -w --stdin)
git update-index --cacheinfo "100644,$blob,$2"
commit=$(git commit-tree "$(git write-tree)" -p "$base" -m "Bump")
git update-ref refs/heads/bumped "$commit"
rm "$GIT_INDEX_FILE"
"#;

const ROUNDS: usize = 25;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, repository, path, version] = arguments.as_slice()
        && word == "bump"
    {
        return bump(repository, path, version);
    }
    let folder = tempfile::tempdir().unwrap();
    println!(
        "medians of {ROUNDS}, in ms: haptic-scaffold, git's plumbing without an index, and with one"
    );
    for (layout, file) in [
        ("folders", spread as fn(usize) -> String),
        ("one flat folder", flat),
    ] {
        let places = [1_000, 100_000].map(|files| {
            let repository = folder.path().join(format!("{files}-{layout}.git"));
            let middle = make(&repository, files, file);
            (files, repository, middle)
        });
        // What making them left to be written would be measured with the first rounds.
        assert!(Command::new("sync").status().unwrap().success());
        let own = std::env::current_exe().unwrap();
        let scripts = [None, Some(TREES), Some(INDEX)];
        let mut times = [[(); 3]; 2].map(|row| row.map(|()| Vec::new()));
        for (which, script) in scripts.iter().enumerate() {
            // In turns: whatever else the machine does comes to both alike.
            for round in 0..ROUNDS {
                for ((_, repository, middle), times) in places.iter().zip(&mut times) {
                    let version = format!("2.0.{round}");
                    let mut command = match script {
                        None => command(&own, &["bump"], repository, middle, &version),
                        Some(script) => {
                            let sh = Path::new("/bin/sh");
                            command(sh, &["-ec", script, "sh"], repository, middle, &version)
                        }
                    };
                    let start = Instant::now();
                    assert!(command.status().unwrap().success());
                    times[which].push(start.elapsed());
                }
            }
        }
        let medians = times.map(|row| row.map(median));
        for ((files, ..), [bump, trees, index]) in places.iter().zip(&medians) {
            println!("{layout}, {files} files: {bump:.1}, {trees:.1}, {index:.1}");
        }
        println!(
            "{layout}: {:.2} times as long in 100,000 files",
            medians[1][0] / medians[0][0]
        );
    }
}

/// The median, in milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

fn command(
    program: &Path,
    first: &[&str],
    repository: &Path,
    file: &str,
    version: &str,
) -> Command {
    let mut command = Command::new(program);
    command.args(first).arg(repository).args([file, version]);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "A");
        command.env(format!("GIT_{role}_EMAIL"), "a@example.org");
    }
    command.stdout(Stdio::null());
    command
}

/// What `upgrade` does for a chart whose pin it has found, in a process of its own.
fn bump(repository: &str, path: &str, version: &str) {
    haptic_scaffold::git::set_up();
    let repository = git2::Repository::open_bare(repository).unwrap();
    let base = repository.head().unwrap().target().unwrap();
    let tree = GitTree::of(&repository, Some(base)).unwrap();
    let path = RepoPath::parse(path).unwrap();
    let Some(Entry::File(bytes)) = tree.entry(&path).unwrap() else {
        panic!("no file {path}");
    };
    let pins = look(&path, std::str::from_utf8(&bytes).unwrap()).pins;
    let [pin] = pins.as_slice() else {
        panic!("one pin in {path}");
    };
    let bundle = Bundle {
        name: "app".to_owned(),
        moves: vec![Move {
            pin: pin.clone(),
            chart: "app".to_owned(),
            to: version.to_owned(),
            version: version.to_owned(),
            note: None,
        }],
        ..Bundle::default()
    };
    let change = plan(&tree, &bundle, &[], "main").unwrap();
    let env = Env::of(&[]);
    let config = repository.config().unwrap();
    let commit = Commit {
        identity: &identify(&config, &env, Some("A <a@example.org>"), 0).unwrap(),
        signing: None,
        env: &env,
    };
    let offered = offer(&repository, &change, (base, Rebuild::OnConflict), &commit).unwrap();
    assert!(matches!(offered, Offered::Created(_) | Offered::Updated(_)));
}

/// As fleets have them: twenty applications in a team's folder, ten teams to a cluster.
fn spread(index: usize) -> String {
    let (cluster, team) = (index / 200, index / 20 % 10);
    format!("clusters/cluster-{cluster:03}/team-{team}/app-{index:05}/release.yaml")
}

fn flat(index: usize) -> String {
    format!("releases/app-{index:05}.yaml")
}

/// Makes a bare repository in one pack, and returns the path of the file in its middle.
fn make(place: &Path, files: usize, file: fn(usize) -> String) -> String {
    git(&["init", "-q", "--bare", "-b", "main"], place, &[]);
    let mut stream =
        "commit refs/heads/main\ncommitter A <a@example.org> 0 +0000\ndata 1\nx".to_owned();
    for index in 0..files {
        let text = format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: app-{index:05}\n  namespace: apps\nspec:\n  chart:\n    spec:\n      chart: app-{index:05}\n      version: \"1.0.0\"\n      sourceRef: {{kind: HelmRepository, name: apps}}\n"
        );
        let path = file(index);
        stream.push_str(&format!(
            "\nM 100644 inline {path}\ndata {}\n{text}",
            text.len()
        ));
    }
    stream.push('\n');
    git(&["fast-import", "--quiet"], place, stream.as_bytes());
    file(files / 2)
}

fn git(arguments: &[&str], place: &Path, input: &[u8]) {
    let mut command = Command::new("git");
    if arguments[0] == "init" {
        command.args(arguments).arg(place);
    } else {
        command.args(arguments).current_dir(place);
    }
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    assert!(child.wait().unwrap().success());
}
