//! [`Lookups`]: what a forge has, asked for once and no more than is needed.

use std::collections::BTreeMap;

use crate::forge::error::ForgeError;
use crate::forge::{Forge, Recent};
use crate::model::request::{Request, State};
use crate::plan::change::Change;

/// A forge, and what it said.
pub struct Lookups {
    /// The forge.
    pub forge: Box<dyn Forge>,
    recent: Recent,
    open: Option<Vec<Request>>,
    of_branch: BTreeMap<String, Vec<Request>>,
    /// The one list for all branches, where the forge can't be asked for those of one.
    history: Option<Option<Recent>>,
    is_cut_told: bool,
}

impl Lookups {
    /// Asks for the requests that were last changed. In most projects these are all that count, and the forge isn't asked again.
    ///
    /// # Errors
    /// When the forge can't be asked.
    pub fn of(forge: Box<dyn Forge>) -> Result<Self, ForgeError> {
        Ok(Self {
            recent: forge.recent()?,
            forge,
            open: None,
            of_branch: BTreeMap::new(),
            history: None,
            is_cut_told: false,
        })
    }

    /// Every open request.
    ///
    /// # Errors
    /// When the forge can't be asked.
    pub fn open(&mut self) -> Result<&[Request], ForgeError> {
        let open = match self.open.take() {
            Some(open) => open,
            None if self.recent.is_all => {
                let all = self.recent.requests.iter();
                all.filter(|one| one.state == State::Open)
                    .cloned()
                    .collect()
            }
            None => self.forge.open()?,
        };
        Ok(self.open.insert(open))
    }

    /// What may be about a change: the open requests of its branch, or those that have ended.
    ///
    /// # Errors
    /// When the forge can't be asked.
    pub fn about(&mut self, change: &Change) -> Result<Vec<Request>, ForgeError> {
        self.of_branch(&change.branch).map(<[Request]>::to_vec)
    }

    /// The open requests of a branch. Where there is none, those that have ended: only then the forge may have to be asked once more.
    ///
    /// # Errors
    /// When the forge can't be asked.
    pub fn of_branch(&mut self, branch: &str) -> Result<&[Request], ForgeError> {
        if !self.of_branch.contains_key(branch) {
            let of = |all: &[Request]| -> Vec<Request> {
                let all = all.iter().filter(|one| one.branch == branch);
                all.cloned().collect()
            };
            let open = of(self.open()?);
            let found = if !open.is_empty() {
                open
            } else if self.recent.is_all {
                of(&self.recent.requests)
            } else if let Some(history) = self.history()? {
                of(&history.requests)
            } else {
                self.forge.of_branch(branch)?
            };
            self.of_branch.insert(branch.to_owned(), found);
        }
        Ok(&self.of_branch[branch])
    }

    fn history(&mut self) -> Result<Option<&Recent>, ForgeError> {
        if self.history.is_none() {
            self.history = Some(self.forge.history()?);
        }
        Ok(self.history.as_ref().and_then(Option::as_ref))
    }

    /// What has to be said, once, where older requests weren't looked at.
    pub fn cut(&mut self) -> Option<String> {
        let history = self.history.as_ref()?.as_ref();
        let cut = history.filter(|history| !history.is_all && !self.is_cut_told)?;
        self.is_cut_told = true;
        Some(format!(
            "only the {} requests that were changed last are looked at; a closed one before them isn't known, so its version is offered again",
            cut.requests.len()
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use secrecy::SecretString;
    use serde_json::{Value, json};

    use super::*;
    use crate::forge::detect::Place;
    use crate::forge::token::Token;
    use crate::forge::{Kind, connect};
    use crate::http::test_server::{Answer, Seen, Server};

    type Asked = Arc<Mutex<Vec<String>>>;

    /// A forge whose list of requests in every state has this many pages, each with one request of the branch `old-PAGE`. One is open, of the branch `open`.
    fn forge(kind: Kind, pages: u32) -> (Box<dyn Forge>, Server, Asked) {
        let asked = Asked::default();
        let shared = Arc::clone(&asked);
        let server = Server::start(move |_, seen: &Seen| {
            let (path, query) = seen.target.split_once('?').unwrap();
            shared.lock().unwrap().push(query.to_owned());
            let page = query.split('&').find_map(|part| part.strip_prefix("page="));
            let page: u32 = page.map_or(1, |page| page.parse().unwrap());
            let open = match kind {
                Kind::Gitlab => "opened",
                _ => "open",
            };
            if query.contains("state=open") {
                return Answer::new(200, json!([one("open", open)]).to_string());
            }
            let list = json!([one(&format!("old-{page}"), "closed")]);
            let answer = Answer::new(200, list.to_string());
            if page == pages || query.contains("source_branch") {
                return answer;
            }
            let next = format!("<{path}?state=all&page={}>; rel=\"next\"", page + 1);
            answer.header("Link", &next)
        });
        let web = format!("http://{}", server.host);
        let place = Place {
            kind,
            api: web.clone(),
            web,
            project: "co/fleet".to_owned(),
            is_told: true,
        };
        let token = Token::new("", SecretString::from("t-geheim"), "`X`");
        let forge = connect(&place, token.as_ref(), Path::new("/"), Arc::new(|_| {}));
        (forge.unwrap(), server, asked)
    }

    /// A request in the words of GitLab and of Gitea.
    fn one(branch: &str, state: &str) -> Value {
        let side = |name: &str| json!({"ref": name, "label": name, "sha": "c", "repo_id": 7});
        json!({"number": 1, "iid": 1, "html_url": "https://h/1", "web_url": "https://h/1", "title": "t",
            "head": side(branch), "base": side("main"), "source_branch": branch, "target_branch": "main",
            "source_project_id": 7, "target_project_id": 7, "state": state})
    }

    #[test]
    fn one_bounded_list_of_gitea_serves_all_branches() {
        for (pages, expected, is_cut) in [(30, 10, true), (9, 9, false)] {
            let (long, _server, asked) = forge(Kind::Gitea, pages);
            let mut lookups = Lookups::of(long).unwrap();
            for at in [1, 5, 9, 20, 1] {
                let found = lookups.of_branch(&format!("old-{at}")).unwrap().len();
                assert_eq!(found, usize::from(at <= expected), "{at} of {pages}");
            }
            // The first page, the open ones, and the list.
            let calls = asked.lock().unwrap().len();
            assert_eq!(calls, 2 + expected, "{pages}");
            assert_eq!(lookups.cut().is_some(), is_cut, "{pages}");
            assert_eq!(lookups.cut(), None, "it is said once");
        }
        // All that there is, is on the first page.
        let (whole, _server, asked) = forge(Kind::Gitea, 1);
        let mut lookups = Lookups::of(whole).unwrap();
        assert_eq!(lookups.of_branch("old-1").unwrap().len(), 1);
        assert_eq!(lookups.of_branch("old-2").unwrap().len(), 0);
        assert_eq!((asked.lock().unwrap().len(), lookups.cut()), (1, None));
    }

    #[test]
    fn a_branch_with_an_open_request_is_not_asked_for_again() {
        let (forge, _server, asked) = forge(Kind::Gitlab, 3);
        let mut lookups = Lookups::of(forge).unwrap();
        let found = lookups.of_branch("open").unwrap();
        assert_eq!((found.len(), found[0].state), (1, State::Open));
        assert_eq!(
            asked.lock().unwrap().len(),
            2,
            "the last ones, the open ones"
        );
        for _ in 0..2 {
            lookups.of_branch("old-1").unwrap();
        }
        assert_eq!(asked.lock().unwrap().len(), 3, "one for a branch without");
        assert_eq!(lookups.cut(), None);
    }
}
