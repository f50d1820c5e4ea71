//! From the command line, files and questions to complete answers, own values and versions.

use std::path::Path;

use anyhow::Result;
use semver::Version;
use serde_json::{Map, Value, json};

use super::{Answered, Init};
use crate::command::{files, values_lines, versions};
use crate::error::Problem;
use crate::haptic;
use crate::layout::answers::Answers;
use crate::layout::context::Versions;
use crate::layout::definition::{ClusterCount, Layout, Provider};
use crate::layout::given::{GivenAnswers, Origin};
use crate::layout::profile;
use crate::layout::question::QuestionKind;
use crate::layout::recorded::{self, Sync, ValuesAs};
use crate::layout::render::outline;
use crate::layout::resolve::{Ask, NobodyToAsk, resolve};
use crate::model::cluster::Cluster;
use crate::model::git_url::GitUrl;
use crate::model::pem;
use crate::ui::prompt::{Terminal, choose_layout};

impl Init<'_> {
    pub(super) fn answer(&mut self) -> Result<Answered> {
        let mut given = self.given()?;
        let asks = self.world.is_terminal && !self.common.yes;
        let layout = self.catalog.layout(&self.layout_name(&mut given, asks)?)?;
        self.read_files(&mut given, &layout)?;
        let world_folder = self.world.folder.clone();
        let read = move |path: &str| pem_file(&world_folder.join(path));
        let mut terminal = Terminal {
            read: &read,
            answered: Vec::new(),
        };
        let mut nobody = NobodyToAsk;
        let ask: &mut dyn Ask = if asks { &mut terminal } else { &mut nobody };
        let mut resolved = resolve(
            &layout,
            &given,
            &self.gathered.found,
            &profile::defaults,
            ask,
        )?;
        let own_values = self.own_values()?;
        keep_values(&mut resolved, own_values.as_ref(), &given);
        let answers = Answers::of(&layout, &resolved, self.gathered.path.clone())?;
        tidy(&mut resolved, &layout, &answers);
        self.check_answers(&layout, &answers)?;
        let chosen = {
            let outlines = outline(self.catalog, &layout, &answers)?;
            let tree = self.gathered.target.tree()?;
            versions::choose(
                &answers,
                &outlines,
                tree.as_ref(),
                self.arguments.questions.chart_version.as_deref(),
                self.world.registry.as_ref(),
                self.ui,
            )?
        };
        self.check_values(&answers, own_values.as_ref(), &chosen.versions)?;
        let command =
            asks.then(|| super::show::equivalent(self.arguments, &layout.name, &terminal.answered));
        Ok(Answered {
            layout,
            answers,
            resolved,
            own_values,
            chosen,
            command,
        })
    }

    /// What was given, the strongest source first: flags and their variables, `--set`, the answers file, what was recorded.
    fn given(&self) -> Result<GivenAnswers> {
        let mut given = GivenAnswers::default();
        for pair in &self.arguments.set {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                Problem::usage(format!("cannot read `--set {pair}`"))
                    .hint("write it as `--set KEY=VALUE`")
            })?;
            given.add(name, json!(value), Origin::Flag);
        }
        for (name, text) in self.arguments.questions.texts() {
            given.add(name, json!(text), Origin::Flag);
        }
        if let Some(file) = &self.arguments.questions.webhook_ca {
            given.add(
                "webhook_ca",
                json!(self.world.folder.join(file).to_string_lossy()),
                Origin::Flag,
            );
        }
        if let Some(file) = &self.arguments.answers {
            let (text, place) = if file.as_os_str() == "-" {
                (files::read_stdin()?, "standard input".to_owned())
            } else {
                (
                    files::read_text(&self.world.folder.join(file))?,
                    file.display().to_string(),
                )
            };
            add_file(
                &mut given,
                recorded::parse_answers(&text, &place)?.to_map(),
                &text,
                &place,
                false,
            );
        }
        if let Some((recorded, text)) = &self.gathered.recorded {
            let answers = recorded.answers.clone().unwrap_or_default();
            add_file(
                &mut given,
                answers.to_map(),
                text,
                &self.gathered.recorded_place,
                true,
            );
        }
        Ok(given)
    }

    fn layout_name(&self, given: &mut GivenAnswers, asks: bool) -> Result<String> {
        let named = match (&self.arguments.layout, &self.arguments.provider) {
            (Some(layout), _) => Some(layout.clone()),
            (None, Some(provider)) if matches!(provider.as_str(), "flux" | "argo") => {
                Some(format!("{provider}-cluster"))
            }
            (None, Some(provider)) => {
                return Err(Problem::usage(format!("there is no provider `{provider}`"))
                    .hint("`--provider flux` or `--provider argo`")
                    .into());
            }
            (None, None) => given.text("layout").map(str::to_owned),
        };
        match named {
            Some(name) => Ok(name),
            None if asks => choose_layout(&self.catalog.names().collect::<Vec<_>>()),
            None => Err(Problem::usage("nothing says which layout")
                .hint("add `--provider flux` or `--provider argo`, or `--layout NAME`")
                .hint("`haptic-scaffold layouts` lists them")
                .into()),
        }
    }

    /// Adds variables for questions without a flag of their own. Answers that name a file become its text.
    fn read_files(&self, given: &mut GivenAnswers, layout: &Layout) -> Result<()> {
        for question in &layout.questions {
            if let Some(value) = self.world.env.get(&question.variable()) {
                given.add_variable(&question.name, json!(value));
            }
        }
        for question in &layout.questions {
            if question.kind() != QuestionKind::File {
                continue;
            }
            let Some(text) = given.text(&question.name).map(str::to_owned) else {
                continue;
            };
            let is_certificate = question.standard;
            let content = match (text.contains('\n'), is_certificate) {
                (true, true) => pem::certificates(&text).map_err(|why| {
                    Problem::invalid(format!("cannot use `{}`: {why}", question.name))
                })?,
                (true, false) => text,
                (false, true) => pem_file(&self.world.folder.join(&text))?,
                (false, false) => files::read_text(&self.world.folder.join(&text))?,
            };
            given.replace(&question.name, json!(content));
        }
        Ok(())
    }

    fn own_values(&self) -> Result<Option<(String, String)>> {
        let Some(file) = &self.arguments.questions.values else {
            return Ok(None);
        };
        // It becomes a file of the repository, and those have Unix line ends.
        let text = files::read_text(&self.world.folder.join(file))?.replace("\r\n", "\n");
        Ok(Some((text, file.display().to_string())))
    }

    fn check_answers(&mut self, layout: &Layout, answers: &Answers) -> Result<()> {
        let needs_url = answers.provider == Provider::Argo || answers.sync == Sync::Own;
        if needs_url && answers.repo_url.is_none() {
            return Err(Problem::usage(format!(
                "layout `{}` needs to know where the controller reads this repository",
                answers.layout
            ))
            .hint("add `--repo-url https://git.example.org/team/gitops.git`, with your own address")
            .hint("or add a remote first: git remote add origin URL")
            .into());
        }
        if answers
            .repo_url
            .as_ref()
            .is_some_and(GitUrl::had_credentials)
        {
            self.ui
                .warn("the repository's address carries credentials; they are left out, and no file has them");
        }
        if answers.provider == Provider::Flux
            && answers.sync == Sync::Bootstrap
            && let Some(elsewhere) = &self.gathered.bootstrap_elsewhere
        {
            return Err(Problem::invalid(format!(
                "flux bootstrap applies `{elsewhere}`, and this layout writes to `{}clusters/NAME`: nothing would apply it",
                answers.prefix()
            ))
            .hint("use `--sync own`, which writes a GitRepository and a root Kustomization of its own")
            .hint("or run flux bootstrap with `--path clusters/NAME`")
            .into());
        }
        let names = haptic::names::Names::of(&answers.release, &answers.namespace);
        if let (true, Some(length)) = (answers.chart.name == haptic::CHART, names.too_long()) {
            return Err(Problem::invalid(format!(
                "release `{}` in namespace `{}` is too long a pair: `{}-{}` has {length} characters, and above {} HAPTIC's hook Jobs lose their names' ends",
                answers.release,
                answers.namespace,
                names.fullname,
                answers.namespace,
                haptic::names::SCOPED_LIMIT
            ))
            .hint("take a shorter `--release` or `--namespace`")
            .into());
        }
        if layout.clusters == ClusterCount::Many && answers.provider == Provider::Argo {
            check_parent_names(answers)?;
        }
        self.warn_of_moves(answers);
        Ok(())
    }

    /// Another release name or namespace is another release for Helm: the old one is uninstalled.
    fn warn_of_moves(&mut self, answers: &Answers) {
        let Some(before) = self
            .gathered
            .recorded
            .as_ref()
            .and_then(|(recorded, _)| recorded.answers.as_ref())
        else {
            return;
        };
        for (name, old, new) in [
            ("release", &before.release, &answers.release),
            ("namespace", &before.namespace, &answers.namespace),
        ] {
            if let Some(old) = old.as_ref().filter(|old| *old != new) {
                self.ui.warn(&format!(
                    "`{name}` changes from `{old}` to `{new}`: in a cluster where it runs, the release is uninstalled and installed anew"
                ));
            }
        }
    }

    /// The team's values hold keys that the version doesn't know any more, or what must not stand in Git.
    fn check_values(
        &mut self,
        answers: &Answers,
        own: Option<&(String, String)>,
        versions: &Versions,
    ) -> Result<()> {
        let Some((text, place)) = own else {
            return Ok(());
        };
        if answers.chart.name != haptic::CHART {
            return Ok(());
        }
        let values: Value = serde_yaml::from_str(text)
            .map_err(|why| Problem::invalid(format!("cannot read `{place}`: {why}")))?;
        for version in versions
            .values()
            .filter_map(|version| Version::parse(version).ok())
        {
            let mut refused = Vec::new();
            for finding in haptic::keys::check_values(&values, &version) {
                let line = values_lines::line_of(text, &finding.route);
                let told = format!("{place}:{line}: `{}`: {}", finding.route, finding.message);
                if finding.refuse {
                    refused.push((told, finding.hint));
                } else {
                    self.ui.warn(&told);
                }
            }
            if !refused.is_empty() {
                let message = refused
                    .iter()
                    .map(|(told, _)| told.as_str())
                    .collect::<Vec<_>>()
                    .join("\n  ");
                let problem = Problem::invalid(format!(
                    "cannot use `{place}` with HAPTIC {version}:\n  {message}"
                ));
                return Err(refused
                    .into_iter()
                    .map(|(_, hint)| hint)
                    .fold(problem, Problem::hint)
                    .into());
            }
        }
        Ok(())
    }
}

fn add_file(
    given: &mut GivenAnswers,
    answers: Map<String, Value>,
    text: &str,
    place: &str,
    recorded: bool,
) {
    for (name, value) in answers {
        let line = recorded::line_of_answer(text, &name);
        given.add(
            &name,
            value,
            Origin::File {
                place: place.to_owned(),
                line,
                recorded,
            },
        );
    }
}

/// Helm's longest name of a release, which the parent Application of a cluster has too.
const LONGEST_RELEASE: usize = 53;

fn check_parent_names(answers: &Answers) -> Result<()> {
    let too_long = answers
        .clusters
        .iter()
        .find(|c| answers.release.len() + 1 + c.name.len() > LONGEST_RELEASE);
    match too_long {
        Some(cluster) => Err(Problem::invalid(format!(
            "`{}-{}`, the parent Application's name, is longer than {LONGEST_RELEASE} characters, which is Helm's longest name of a release",
            answers.release, cluster.name
        ))
        .hint("take a shorter `--release` or a shorter name of the cluster")
        .into()),
        None => Ok(()),
    }
}

fn pem_file(path: &Path) -> Result<String> {
    let text = std::fs::read(path)
        .map_err(|why| Problem::invalid(format!("cannot read `{}`: {why}", path.display())))?;
    let text = String::from_utf8_lossy(&text);
    let hint = format!(
        "DER becomes PEM by: openssl x509 -inform der -in {0} -out {0}.pem",
        path.display()
    );
    Ok(pem::certificates(&text).map_err(|why| {
        let problem = Problem::invalid(format!("cannot use `{}`: {why}", path.display()));
        if why == pem::PemError::NoCertificate {
            problem.hint(hint)
        } else {
            problem.hint("give the file with the CA's certificate alone")
        }
    })?)
}

/// The team's values are an answer where they stand in the manifest, since rendering needs them again.
fn keep_values(
    resolved: &mut Map<String, Value>,
    own: Option<&(String, String)>,
    given: &GivenAnswers,
) {
    let is_inline =
        resolved.get("values_as").and_then(Value::as_str) == Some(ValuesAs::Inline.as_str());
    let text = own
        .map(|(text, _)| text.clone())
        .or_else(|| given.text("values").map(str::to_owned));
    if let (true, Some(text)) = (is_inline, text) {
        resolved.insert("values".into(), json!(text));
    }
}

/// Records answers in the order of the questions, the layout first, in the form that is written: no credentials in an address.
fn tidy(resolved: &mut Map<String, Value>, layout: &Layout, answers: &Answers) {
    let mut tidy = Map::new();
    tidy.insert("layout".into(), json!(layout.name));
    for (name, value) in resolved.iter() {
        let value = match (name.as_str(), &answers.repo_url) {
            ("repo_url", Some(url)) => json!(url.as_str()),
            ("clusters", _) => json!(
                answers
                    .clusters
                    .iter()
                    .map(Cluster::to_text)
                    .collect::<Vec<_>>()
            ),
            _ => value.clone(),
        };
        let is_empty = value.as_str() == Some("");
        if !is_empty || answers.own.contains_key(name) {
            tidy.insert(name.clone(), value);
        }
    }
    *resolved = tidy;
}
