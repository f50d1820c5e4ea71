//! Killed at any point, the target is as before or complete; and a writer that fails leaves it as before.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use haptic_scaffold::git::apply::{Applied, apply};
use haptic_scaffold::git::commit::Commit;
use haptic_scaffold::git::identity::identify;
use haptic_scaffold::git::journal::{Disk, Guard, RealDisk};
use haptic_scaffold::git::target::Target;
use haptic_scaffold::model::env::Env;
use haptic_scaffold::model::repo_path::RepoPath;
use haptic_scaffold::plan::change::{Change, FileChange, Verdict};
use haptic_scaffold::plan::message::Message;

/// Tells the child which step to die at, and where.
const DIE_AT: &str = "HAPTIC_SCAFFOLD_TEST_DIE_AT";
const DIE_IN: &str = "HAPTIC_SCAFFOLD_TEST_DIE_IN";

/// More steps than any of these changes takes.
const MOST_STEPS: usize = 60;

struct Counting<F> {
    left: usize,
    at_end: F,
}

impl<F: FnMut() -> io::Result<()>> Disk for Counting<F> {
    fn step(&mut self, _: &str) -> io::Result<()> {
        if self.left == 0 {
            return (self.at_end)();
        }
        self.left -= 1;
        Ok(())
    }
}

fn file(path: &str, verdict: Verdict, old: Option<&str>, new: Option<&str>) -> FileChange {
    let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
    let path = RepoPath::parse(path).expect("good path");
    FileChange {
        path,
        verdict,
        why: String::new(),
        commit: haptic_scaffold::plan::change::Commit::Yes,
        old: bytes(old),
        new: bytes(new),
    }
}

/// Creates in old and new folders, changes, deletes and keeps.
fn change(is_new: bool) -> Change {
    let mut files = vec![
        file("deep/er/new.yaml", Verdict::Create, None, Some("new: 1\n")),
        file("top.yaml", Verdict::Create, None, Some("top: 1\n")),
    ];
    if !is_new {
        files.push(file(
            "dir/changed.yaml",
            Verdict::Update,
            Some("old: 1\n"),
            Some("new: 2\n"),
        ));
        files.push(file(
            "dir/gone/gone.yaml",
            Verdict::Delete,
            Some("gone: 1\n"),
            None,
        ));
        files.push(file(
            "dir/untracked.yaml",
            Verdict::Same,
            Some("same: 1\n"),
            Some("same: 1\n"),
        ));
    }
    let message = Message {
        subject: "Change".into(),
        body: String::new(),
        trailers: Vec::new(),
    };
    Change {
        key: "test".into(),
        branch: "main".into(),
        base: "main".into(),
        title: String::new(),
        body: String::new(),
        labels: Vec::new(),
        message,
        files,
    }
}

fn run(folder: &Path, is_new: bool, disk: &mut dyn Disk) -> anyhow::Result<Applied> {
    let env = Env::of(&[
        ("GIT_AUTHOR_NAME", "A"),
        ("GIT_AUTHOR_EMAIL", "a@example.org"),
    ]);
    let identity = identify(&git2::Config::new()?, &env, None, 1_700_000_000)?;
    let commit = Commit {
        identity: &identity,
        signing: None,
        env: &env,
    };
    apply(
        &Target::at(folder)?,
        &change(is_new),
        "main",
        Some(&commit),
        disk,
    )
}

/// Not a test of its own: the process that dies. It does nothing unless it is told to.
#[test]
fn child_that_dies() {
    let (Some(step), Some(folder)) = (std::env::var_os(DIE_AT), std::env::var_os(DIE_IN)) else {
        return;
    };
    let left = step.to_string_lossy().parse().expect("a number");
    let folder = PathBuf::from(folder);
    let is_new = folder.file_name().is_some_and(|name| name == "new");
    let mut disk = Counting {
        left,
        at_end: || std::process::abort(),
    };
    run(&folder, is_new, &mut disk).expect("nothing else fails");
}

/// What people see of a repository: files, branch and index.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    files: BTreeMap<String, String>,
    head: Option<String>,
    index: Vec<(String, String)>,
}

fn look(folder: &Path) -> Option<Seen> {
    if !folder.join(".git").exists() {
        return None;
    }
    let repository = git2::Repository::open(folder).expect("opens");
    let index = repository.index().expect("an index");
    let entries = index.iter().map(|entry| {
        (
            String::from_utf8_lossy(&entry.path).into_owned(),
            entry.id.to_string(),
        )
    });
    Some(Seen {
        files: crate::golden::files(folder),
        head: repository
            .refname_to_id("refs/heads/main")
            .ok()
            .map(|id| id.to_string()),
        index: entries.collect(),
    })
}

/// A repository with a commit, something staged and something dirty.
fn prepare(folder: &Path) {
    std::fs::create_dir_all(folder.join("dir/gone")).expect("folders");
    let write = |path: &str, text: &str| std::fs::write(folder.join(path), text).expect("writes");
    write("dir/changed.yaml", "old: 1\n");
    write("dir/gone/gone.yaml", "gone: 1\n");
    write("dirty.yaml", "dirty: 1\n");
    let repository = git2::Repository::init_opts(
        folder,
        git2::RepositoryInitOptions::new().initial_head("main"),
    )
    .expect("a repository");
    let mut index = repository.index().expect("an index");
    for path in ["dir/changed.yaml", "dir/gone/gone.yaml", "dirty.yaml"] {
        index.add_path(Path::new(path)).expect("stages");
    }
    let tree = repository
        .find_tree(index.write_tree().expect("a tree"))
        .expect("a tree");
    let person = git2::Signature::new("A", "a@example.org", &git2::Time::new(1_600_000_000, 0))
        .expect("a person");
    repository
        .commit(Some("HEAD"), &person, &person, "first", &tree, &[])
        .expect("commits");
    write("staged.yaml", "staged: 1\n");
    index.add_path(Path::new("staged.yaml")).expect("stages");
    index.write().expect("writes");
    write("dirty.yaml", "dirty: 2\n");
    write("dir/untracked.yaml", "same: 1\n");
}

fn complete(is_new: bool) -> Seen {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join(if is_new { "new" } else { "old" });
    if !is_new {
        prepare(&target);
    }
    run(&target, is_new, &mut RealDisk).expect("applies");
    look(&target).expect("a repository")
}

fn dies(step: usize, target: &Path) -> bool {
    let child = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "interrupted::child_that_dies", "--nocapture"])
        .env(DIE_AT, step.to_string())
        .env(DIE_IN, target)
        .output()
        .expect("runs");
    !child.status.success()
}

#[test]
fn killed_at_any_step_a_new_folder_is_absent_or_complete() {
    let wanted = complete(true);
    let mut steps = 0;
    for step in 0..MOST_STEPS {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("new");
        if !dies(step, &target) {
            break;
        }
        steps += 1;
        let found = look(&target);
        assert!(
            found.is_none() && !target.exists(),
            "step {step}: {found:?}"
        );
        run(&target, true, &mut RealDisk).expect("the next run does it");
        assert_eq!(look(&target).as_ref(), Some(&wanted), "step {step}");
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("reads").count(),
            1,
            "step {step}: something is left beside it"
        );
    }
    assert!((6..MOST_STEPS).contains(&steps), "{steps}");
}

#[test]
fn killed_at_any_step_a_repository_is_put_right_by_the_next_command() {
    let wanted = complete(false);
    let mut steps = 0;
    for step in 0..MOST_STEPS {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("old");
        prepare(&target);
        let before = look(&target).expect("a repository");
        if !dies(step, &target) {
            break;
        }
        steps += 1;
        let repository = git2::Repository::open(&target).expect("opens");
        drop(Guard::take(&repository).expect("puts right"));
        let found = look(&target).expect("a repository");
        assert!(found == before || found == wanted, "step {step}: {found:?}");
        if found == before {
            run(&target, false, &mut RealDisk).expect("the next run does it");
        }
        assert_eq!(look(&target).expect("a repository"), wanted, "step {step}");
    }
    assert!((10..MOST_STEPS).contains(&steps), "{steps}");
}

#[test]
fn a_writer_that_fails_leaves_everything_as_it_was() {
    for is_new in [true, false] {
        let mut failed = 0;
        for step in 0..MOST_STEPS {
            let folder = tempfile::tempdir().expect("a folder");
            let target = folder.path().join(if is_new { "new" } else { "old" });
            if !is_new {
                prepare(&target);
            }
            let before = look(&target);
            let mut disk = Counting {
                left: step,
                at_end: || Err(io::Error::other("no space left")),
            };
            match run(&target, is_new, &mut disk) {
                Ok(_) => break,
                Err(why) => assert!(format!("{why:#}").contains("no space left"), "{why:#}"),
            }
            failed += 1;
            // When the last step fails, which only forgets the journal, the change is complete.
            let found = look(&target);
            assert!(
                found == before || found == Some(complete(is_new)),
                "step {step}: {found:?}"
            );
            assert!(!is_new || !target.exists(), "step {step}");
        }
        assert!(failed > 5, "{failed}");
    }
}

#[test]
fn what_somebody_changed_after_a_crash_is_theirs() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("old");
    prepare(&target);
    // Past the backups, the journal and the first two files.
    assert!(dies(8, &target));
    std::fs::write(target.join("top.yaml"), "mine: 1\n").expect("writes");
    let repository = git2::Repository::open(&target).expect("opens");
    drop(Guard::take(&repository).expect("puts right"));
    assert_eq!(
        std::fs::read_to_string(target.join("top.yaml")).expect("there"),
        "mine: 1\n"
    );
    assert_eq!(
        std::fs::read_to_string(target.join("dir/changed.yaml")).expect("there"),
        "old: 1\n"
    );
}

#[test]
fn a_second_process_is_told_that_it_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("old");
    prepare(&target);
    let repository = git2::Repository::open(&target).expect("opens");
    let guard = Guard::take(&repository).expect("takes");
    let why = run(&target, false, &mut RealDisk).expect_err("held");
    assert!(
        why.to_string().contains("another haptic-scaffold"),
        "{why:#}"
    );
    drop(guard);
    run(&target, false, &mut RealDisk).expect("free again");
}
