//! Request files: the forge where none is known.

use std::path::PathBuf;

use crate::forge_contract::{Stage, hold, new, open};
use haptic_scaffold::forge::local::Local;
use haptic_scaffold::forge::{Edit, Forge, State};

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn make() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder }
    }

    fn requests(&self) -> PathBuf {
        self.folder.path().join("haptic-scaffold/requests")
    }
}

impl Stage for Files {
    fn forge(&self) -> Box<dyn Forge> {
        Box::new(Local::new(&self.requests()))
    }

    fn branch(&self, _: &str) -> String {
        String::new()
    }

    fn label(&self, number: u64, labels: &[&str]) {
        let file = self.requests().join(format!("{number}.md"));
        let text = std::fs::read_to_string(&file).expect("text");
        let old = text.lines().find(|line| line.starts_with("labels: "));
        let new = format!("labels: {}", serde_json::json!(labels));
        let text = text.replace(old.expect("a line"), &new);
        std::fs::write(file, text).expect("written");
    }

    fn merge(&self, number: u64) -> bool {
        let file = self.requests().join(format!("{number}.md"));
        let text = std::fs::read_to_string(&file).expect("text");
        let text = text.replacen("state: \"open\"", "state: \"merged\"", 1);
        std::fs::write(file, text).expect("written");
        true
    }

    fn somebody(&self) -> String {
        "alice".to_owned()
    }

    fn has_issues(&self) -> bool {
        true
    }
}

#[test]
fn request_files_hold_the_contract() {
    hold(&Files::make());
}

#[test]
fn a_request_file_can_be_read_by_people() {
    let files = Files::make();
    let made = open(&files, &new("haptic/x"));
    let text = std::fs::read_to_string(&made.request.url).expect("text");
    assert!(
        text.starts_with("---\nstate: \"open\"\ntitle: \"Update haptic/x: "),
        "{text}"
    );
    assert!(
        text.ends_with("---\n\n<!-- key: a/b -->\n\n- one & *two*\n- `three` %20 \u{e4}\n"),
        "{text}"
    );
}

#[test]
fn two_runs_at_once_never_share_a_number() {
    let files = Files::make();
    let make = |run: usize| {
        let forge = Local::new(&files.requests());
        for count in 0..10 {
            let made = forge.create(&new(&format!("haptic/{run}-{count}")));
            made.expect("opened");
        }
    };
    std::thread::scope(|scope| {
        for run in 0..4 {
            scope.spawn(move || make(run));
        }
    });
    let all = files.forge().open().expect("a list");
    assert_eq!(all.len(), 40);
    let mut numbers: Vec<u64> = all.iter().map(|request| request.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<u64>>());
    let left = std::fs::read_dir(files.requests())
        .expect("a folder")
        .count();
    assert_eq!(left, 40);
}

#[test]
fn what_people_did_to_a_file_counts_or_is_named() {
    let files = Files::make();
    let forge = files.forge();
    let made = open(&files, &new("haptic/x")).request;
    // Somebody's own file is no request.
    std::fs::write(files.requests().join("notes.md"), "mine").expect("written");
    std::fs::write(files.requests().join("01.md"), "mine").expect("written");
    assert_eq!(forge.open().expect("a list").len(), 1);
    // An editor that writes CRLF does no harm.
    let text = std::fs::read_to_string(&made.url).expect("text");
    std::fs::write(&made.url, text.replace('\n', "\r\n")).expect("written");
    assert_eq!(forge.open().expect("a list"), std::slice::from_ref(&made));
    std::fs::write(&made.url, "broken").expect("written");
    let why = forge.recent().expect_err("broken");
    assert!(why.to_string().contains("`1.md`"), "{why}");
    assert!(why.hint.is_some());
    std::fs::remove_file(&made.url).expect("removed");
    let why = forge.edit(made.number, &Edit::default()).expect_err("gone");
    assert!(why.to_string().contains("`1.md`"), "{why}");
    let files = Files::make();
    let forge = files.forge();
    assert!(forge.recent().expect("a list").requests.is_empty());
    assert!(!files.requests().exists());
    let made = open(&files, &new("haptic/x")).request;
    forge.comment(made.number, "a\nb").expect("said");
    forge.close(made.number).expect("closed");
    assert_eq!(
        forge.recent().expect("a list").requests[0].state,
        State::Closed
    );
}
