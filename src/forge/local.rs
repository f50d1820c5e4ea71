//! No forge: each request is a readable file in the repository's git folder.
//!
//! A file is a head between two lines `---`, one `name: value` a line with the value as JSON, an empty line, and the text to the letter. Files are written whole
//! beside their place and moved there, so that none is ever half of one; the number of a new one is taken by making its file, so that two runs never share one.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::error::ForgeError;
use super::record::Record;
use super::{Able, Created, Edit, Forge, Issue, Kind, NewRequest, Recent, Request, State};

/// How often a number is tried that another run took meanwhile.
const MOST_TRIES: u32 = 100;

/// A folder with requests.
pub struct Local {
    folder: PathBuf,
}

impl Local {
    /// Takes the folder of the request files, as in `.git/haptic-scaffold/requests`. It is made when the first request is.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    fn fault(&self, aim: &str, why: impl Into<String>) -> ForgeError {
        ForgeError {
            aim: aim.to_owned(),
            address: self.folder.display().to_string(),
            why: why.into(),
            status: None,
            may_be_done: false,
            hint: None,
        }
    }

    /// All files, by number.
    fn records(&self, aim: &str) -> Result<Vec<(u64, Record)>, ForgeError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(|why| self.fault(aim, why.to_string()))?,
        };
        let mut records = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|why| self.fault(aim, why.to_string()))?;
            // Anything else in the folder is somebody's.
            if let Some(number) = number(&entry.path()) {
                records.push((number, self.record(aim, number)?));
            }
        }
        records.sort_by_key(|(number, _)| *number);
        Ok(records)
    }

    fn file(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number}.md"))
    }

    fn record(&self, aim: &str, number: u64) -> Result<Record, ForgeError> {
        let file = self.file(number);
        let text = fs::read_to_string(&file)
            .map_err(|why| self.fault(aim, format!("`{number}.md`: {why}")))?;
        Record::parse(&text).map_err(|why| ForgeError {
            hint: Some(format!("put `{}` right, or remove it", file.display())),
            ..self.fault(aim, format!("`{number}.md`: {why}"))
        })
    }

    fn request(&self, number: u64, record: &Record) -> Request {
        Request {
            number,
            url: self.file(number).display().to_string(),
            branch: record.text("branch"),
            base: record.text("base"),
            head: None,
            title: record.text("title"),
            body: record.body.clone(),
            labels: record.texts("labels"),
            state: match record.text("state").as_str() {
                "open" => State::Open,
                "merged" => State::Merged,
                _ => State::Closed,
            },
            is_draft: record.get("draft") == Some(&json!(true)),
        }
    }

    /// The requests, those changed last first.
    fn requests(&self, aim: &str) -> Result<Vec<Request>, ForgeError> {
        let mut records = self.records(aim)?;
        records.retain(|(_, record)| !record.is_issue());
        records.sort_by_key(|(number, record)| std::cmp::Reverse((record.changed(), *number)));
        let requests = records.iter();
        Ok(requests
            .map(|(number, record)| self.request(*number, record))
            .collect())
    }

    /// Writes a file whole; a new one only where no other run took its number.
    fn write(
        &self,
        aim: &str,
        number: u64,
        record: &Record,
        is_new: bool,
    ) -> Result<bool, ForgeError> {
        let fault = |why: std::io::Error| self.fault(aim, why.to_string());
        fs::create_dir_all(&self.folder).map_err(fault)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder).map_err(fault)?;
        file.write_all(record.to_string().as_bytes())
            .and_then(|()| file.as_file().sync_all())
            .map_err(fault)?;
        let place = self.file(number);
        let done = match is_new {
            true => file.persist_noclobber(place),
            false => file.persist(place),
        };
        match done {
            Ok(_) => Ok(true),
            Err(why) if is_new && why.error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(why) => Err(fault(why.error)),
        }
    }

    /// Takes the next number for a new file.
    fn add(&self, aim: &str, mut record: Record) -> Result<(u64, Record), ForgeError> {
        for _ in 0..MOST_TRIES {
            let records = self.records(aim)?;
            let number = records.last().map_or(0, |(number, _)| *number) + 1;
            record.set("changed", json!(latest(&records) + 1));
            if self.write(aim, number, &record, true)? {
                return Ok((number, record));
            }
        }
        Err(self.fault(aim, "other runs take every number"))
    }

    fn alter(
        &self,
        aim: &str,
        number: u64,
        change: impl FnOnce(&mut Record),
    ) -> Result<Record, ForgeError> {
        let records = self.records(aim)?;
        let mut record = self.record(aim, number)?;
        change(&mut record);
        record.set("changed", json!(latest(&records) + 1));
        self.write(aim, number, &record, false)?;
        Ok(record)
    }
}

fn number(file: &Path) -> Option<u64> {
    let name = file.file_name()?.to_str()?.strip_suffix(".md")?;
    name.parse()
        .ok()
        .filter(|number: &u64| number.to_string() == name)
}

fn latest(records: &[(u64, Record)]) -> u64 {
    let changed = records.iter().map(|(_, record)| record.changed());
    changed.max().unwrap_or(0)
}

impl Forge for Local {
    fn kind(&self) -> Kind {
        Kind::Local
    }

    fn recent(&self) -> Result<Recent, ForgeError> {
        Ok(Recent {
            requests: self.requests("list the requests")?,
            is_all: true,
        })
    }

    fn open(&self) -> Result<Vec<Request>, ForgeError> {
        let mut open = self.requests("list the open requests")?;
        open.retain(|request| request.state == State::Open);
        Ok(open)
    }

    fn of_branch(&self, branch: &str) -> Result<Vec<Request>, ForgeError> {
        let mut found = self.requests("list the requests of a branch")?;
        found.retain(|request| request.branch == branch);
        Ok(super::common::newest_first(found))
    }

    fn create(&self, new: &NewRequest) -> Result<Created, ForgeError> {
        let aim = &format!("open a request for `{}`", new.branch);
        let open = self.open()?;
        let mut there = open.iter();
        if let Some(there) =
            there.find(|there| there.branch == new.branch && there.base == new.base)
        {
            return Err(ForgeError {
                may_be_done: true,
                ..self.fault(
                    aim,
                    format!("there is one for this branch: {}", there.number),
                )
            });
        }
        let mut record = Record::new(&new.body);
        for (name, value) in [
            ("state", json!("open")),
            ("title", json!(new.title)),
            ("branch", json!(new.branch)),
            ("base", json!(new.base)),
            ("labels", json!(new.labels)),
            ("draft", json!(new.is_draft)),
            ("assignees", json!(new.assignees)),
            ("reviewers", json!(new.reviewers)),
            ("milestone", json!(new.milestone)),
            ("squash", json!(new.squash)),
            ("remove-branch", json!(new.remove_branch)),
        ] {
            record.set(name, value);
        }
        let (number, record) = self.add(aim, record)?;
        Ok(Created {
            request: self.request(number, &record),
            unable: Vec::new(),
        })
    }

    fn edit(&self, number: u64, edit: &Edit) -> Result<Request, ForgeError> {
        let aim = format!("change request {number}");
        let record = self.alter(&aim, number, |record| {
            for (name, value) in [
                ("title", edit.title.as_ref().map(|title| json!(title))),
                ("labels", edit.labels.as_ref().map(|labels| json!(labels))),
                ("base", edit.base.as_ref().map(|base| json!(base))),
            ] {
                if let Some(value) = value {
                    record.set(name, value);
                }
            }
            if let Some(body) = &edit.body {
                record.body.clone_from(body);
            }
        })?;
        Ok(self.request(number, &record))
    }

    fn comment(&self, number: u64, text: &str) -> Result<(), ForgeError> {
        let aim = format!("comment on request {number}");
        self.alter(&aim, number, |record| {
            let mut comments = record.texts("comments");
            comments.push(text.to_owned());
            record.set("comments", json!(comments));
        })?;
        Ok(())
    }

    fn close(&self, number: u64) -> Result<(), ForgeError> {
        let aim = format!("close request {number}");
        self.alter(&aim, number, |record| {
            record.set("state", Value::from("closed"));
        })?;
        Ok(())
    }

    fn merge_when_ready(&self, _: u64, _: &str) -> Result<Able, ForgeError> {
        Ok(Able::Unable(
            "no forge is known, and nothing else merges a local branch by itself".to_owned(),
        ))
    }

    fn issue(&self, title: &str) -> Result<Option<Issue>, ForgeError> {
        let records = self.records("look for an issue")?;
        let mut found = records.into_iter().filter(|(_, record)| {
            record.is_issue() && record.text("state") == "open" && record.text("title") == title
        });
        Ok(found.next().map(|(number, record)| Issue {
            number,
            body: record.body,
        }))
    }

    fn put_issue(&self, known: Option<u64>, title: &str, body: &str) -> Result<Able, ForgeError> {
        let aim = "write an issue";
        match known {
            Some(number) => {
                self.alter(aim, number, |record| body.clone_into(&mut record.body))?;
            }
            None => {
                let mut record = Record::new(body);
                record.set("issue", json!(true));
                record.set("state", json!("open"));
                record.set("title", json!(title));
                self.add(aim, record)?;
            }
        }
        Ok(Able::Done)
    }
}
