//! What every forge has to do, whichever it is: the one suite for request files, the simulator's forges and a real Gitea.

use haptic_scaffold::forge::{Able, Created, Edit, Forge, Kind, NewRequest, Request, State};

/// A project at a forge, and what people do there.
pub trait Stage {
    /// The forge, as the program sees it.
    fn forge(&self) -> Box<dyn Forge>;

    /// Makes a branch with a commit of its own on `main`, and gives the commit.
    fn branch(&self, name: &str) -> String;

    /// A person puts labels on a request, instead of those that it has.
    fn label(&self, number: u64, labels: &[&str]);

    /// A person merges a request, where somebody can.
    fn merge(&self, number: u64) -> bool;

    /// Somebody of the project who can be assigned and asked for a review.
    fn somebody(&self) -> String;

    /// Whether the project has issues.
    fn has_issues(&self) -> bool;
}

/// A request with a text that is hard to keep.
pub fn new(branch: &str) -> NewRequest {
    NewRequest {
        branch: branch.to_owned(),
        base: "main".to_owned(),
        title: format!("Update {branch}: \"x\" & y"),
        body: "<!-- key: a/b -->\n\n- one & *two*\n- `three` %20 \u{e4}\n".to_owned(),
        labels: vec!["chart".to_owned(), "scope::update".to_owned()],
        remove_branch: true,
        ..NewRequest::default()
    }
}

/// Everything, one after the other.
pub fn hold(stage: &dyn Stage) {
    opened_and_found(stage);
    changed(stage);
    closed_and_opened_again(stage);
    people(stage);
    finished(stage);
    drafts(stage);
    merging(stage);
    issues(stage);
}

pub fn open(stage: &dyn Stage, new: &NewRequest) -> Created {
    stage.branch(&new.branch);
    stage.forge().create(new).expect("opened")
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

fn find(requests: &[Request], number: u64) -> &Request {
    requests
        .iter()
        .find(|request| request.number == number)
        .unwrap_or_else(|| panic!("{number} is not among {requests:?}"))
}

fn opened_and_found(stage: &dyn Stage) {
    let forge = stage.forge();
    let new = new("haptic/first");
    let head = stage.branch(&new.branch);
    let made = forge.create(&new).expect("opened");
    assert_eq!(made.unable, Vec::<String>::new());
    let made = made.request;
    assert_eq!(
        (made.branch.as_str(), made.base.as_str()),
        ("haptic/first", "main")
    );
    assert_eq!((&made.title, &made.body), (&new.title, &new.body));
    assert_eq!(sorted(made.labels.clone()), new.labels);
    assert_eq!((made.state, made.is_draft), (State::Open, false));
    assert!(made.url.contains(&made.number.to_string()), "{}", made.url);
    assert!(!made.url.contains("/api/"), "{}", made.url);
    if forge.kind() != Kind::Local {
        assert_eq!(made.head.as_deref(), Some(head.as_str()));
    }

    let recent = forge.recent().expect("a list");
    assert!(recent.is_all);
    let of_branch = forge.of_branch("haptic/first").expect("a list");
    for found in [&recent.requests, &forge.open().expect("a list"), &of_branch] {
        assert_eq!(find(found, made.number), &made);
    }
    assert_eq!(of_branch.len(), 1);
    assert_eq!(forge.of_branch("haptic/firs").expect("a list"), []);

    // A second one for the same branches is there already.
    let why = forge.create(&new).expect_err("there is one");
    assert!(why.may_be_done, "{why}");
    assert_eq!(forge.of_branch("haptic/first").expect("a list").len(), 1);
}

fn changed(stage: &dyn Stage) {
    let forge = stage.forge();
    let made = open(stage, &new("haptic/second")).request;
    stage.branch("other-base");
    let edit = |edit: Edit| forge.edit(made.number, &edit).expect("changed");
    let now = edit(Edit {
        title: Some("Another".to_owned()),
        ..Edit::default()
    });
    assert_eq!((now.title.as_str(), &now.body), ("Another", &made.body));
    // Labels that people changed stay where nobody asks for others.
    stage.label(made.number, &["chart", "by hand"]);
    let now = edit(Edit {
        body: Some("Only\n\ntext".to_owned()),
        base: Some("other-base".to_owned()),
        ..Edit::default()
    });
    assert_eq!(
        (now.body.as_str(), now.base.as_str()),
        ("Only\n\ntext", "other-base")
    );
    assert_eq!(sorted(now.labels.clone()), ["by hand", "chart"]);
    let now = edit(Edit {
        labels: Some(vec!["by hand".to_owned(), "new one".to_owned()]),
        ..Edit::default()
    });
    assert_eq!(sorted(now.labels.clone()), ["by hand", "new one"]);
    assert_eq!(edit(Edit::default()), now);
    forge.comment(made.number, "A word & more").expect("said");
    // What changed last comes first.
    let recent = forge.recent().expect("a list");
    assert!(recent.requests.len() >= 2);
    let all = edit(Edit {
        labels: Some(Vec::new()),
        ..Edit::default()
    });
    assert_eq!(all.labels, Vec::<String>::new());
}

fn closed_and_opened_again(stage: &dyn Stage) {
    let forge = stage.forge();
    let new = new("haptic/third");
    let made = open(stage, &new).request;
    forge.close(made.number).expect("closed");
    let open = forge.open().expect("a list");
    assert!(open.iter().all(|request| request.number != made.number));
    let recent = forge.recent().expect("a list").requests;
    assert_eq!(find(&recent, made.number).state, State::Closed);
    assert_eq!(recent[0].number, made.number);
    // A closed one isn't in the way of a new one, and the newest comes first.
    let again = forge.create(&new).expect("opened").request;
    assert!(again.number > made.number);
    let of_branch = forge.of_branch("haptic/third").expect("a list");
    let numbers: Vec<u64> = of_branch.iter().map(|request| request.number).collect();
    assert_eq!(numbers, [again.number, made.number]);
    if stage.merge(again.number) {
        let merged = forge.of_branch("haptic/third").expect("a list");
        assert_eq!(merged[0].state, State::Merged);
        assert_eq!(
            (merged[0].branch.as_str(), merged[0].base.as_str()),
            ("haptic/third", "main")
        );
    }
}

fn people(stage: &dyn Stage) {
    let new = NewRequest {
        assignees: vec![stage.somebody(), "nobody-of-this-name".to_owned()],
        reviewers: vec![stage.somebody(), "nobody-else".to_owned()],
        milestone: Some("none of this name".to_owned()),
        ..new("haptic/people")
    };
    let made = open(stage, &new);
    assert_eq!(made.request.state, State::Open);
    if stage.forge().kind() == Kind::Local {
        assert_eq!(made.unable, Vec::<String>::new());
        return;
    }
    let of = |start: &str| {
        let said = made.unable.iter();
        said.filter(|said| said.starts_with(start)).count()
    };
    assert_eq!(
        of("assignee `nobody-of-this-name`: "),
        1,
        "{:?}",
        made.unable
    );
    assert_eq!(of("reviewer `nobody-else`: "), 1, "{:?}", made.unable);
    assert_eq!(
        of("milestone `none of this name`: "),
        1,
        "{:?}",
        made.unable
    );
    assert_eq!(made.unable.len(), 3, "{:?}", made.unable);
}

/// Where labels and people come after the opening, the last text does too: whoever reads it knows whether they came.
fn finished(stage: &dyn Stage) {
    let forge = stage.forge();
    let new = NewRequest {
        first_body: Some("Not yet all".to_owned()),
        assignees: vec![stage.somebody()],
        ..new("haptic/finished")
    };
    let made = open(stage, &new);
    assert_eq!(made.unable, Vec::<String>::new());
    let there = || forge.of_branch(&new.branch).expect("a list").remove(0);
    for request in [made.request.clone(), there()] {
        assert_eq!(request.body.trim_end(), new.body.trim_end());
        assert_eq!(sorted(request.labels), sorted(new.labels.clone()));
    }
    let again = NewRequest {
        body: "All of it".to_owned(),
        labels: vec!["chart".to_owned()],
        ..new.clone()
    };
    let unable = forge.finish(made.request.number, &again).expect("done");
    assert_eq!(unable, Vec::<String>::new());
    assert_eq!(there().body.trim_end(), "All of it");
    assert_eq!(there().labels, ["chart"]);
}

fn drafts(stage: &dyn Stage) {
    let forge = stage.forge();
    let new = NewRequest {
        is_draft: true,
        ..new("haptic/draft")
    };
    let made = open(stage, &new).request;
    assert!(made.is_draft);
    assert_eq!(made.title, new.title);
    let edit = Edit {
        title: Some("Another".to_owned()),
        ..Edit::default()
    };
    let now = forge.edit(made.number, &edit).expect("changed");
    assert_eq!((now.title.as_str(), now.is_draft), ("Another", true));
}

fn merging(stage: &dyn Stage) {
    let forge = stage.forge();
    let made = open(stage, &new("haptic/merge")).request;
    let wrong = "0".repeat(40);
    let able = forge
        .merge_when_ready(made.number, &wrong)
        .expect("an answer");
    assert!(matches!(able, Able::Unable(_)), "{able:?}");
    let now = forge.of_branch("haptic/merge").expect("a list");
    assert_eq!(now[0].state, State::Open);
}

fn issues(stage: &dyn Stage) {
    let forge = stage.forge();
    let title = "What is open & waits";
    assert_eq!(forge.issue(title).expect("an answer"), None);
    let made = forge.put_issue(None, title, "one\n").expect("an answer");
    if !stage.has_issues() {
        assert!(matches!(made, Able::Unable(_)), "{made:?}");
        return;
    }
    assert_eq!(made, Able::Done);
    let issue = forge.issue(title).expect("an answer").expect("an issue");
    assert_eq!(issue.body, "one\n");
    let done = forge.put_issue(Some(issue.number), title, "two\n");
    assert_eq!(done.expect("an answer"), Able::Done);
    let again = forge.issue(title).expect("an answer").expect("an issue");
    assert_eq!((again.number, again.body.as_str()), (issue.number, "two\n"));
    assert_eq!(forge.issue("What is open").expect("an answer"), None);
}
