//! From the command line, files and questions to complete answers, own values and versions.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::{Answered, Init, own_values};
use crate::cli::init::OnConflict;
use crate::command::files;
use crate::command::versions::{self, Places, Standing, Wanted};
use crate::error::{ExitStatus, Problem};
use crate::layout::answers::Answers;
use crate::layout::definition::{Layout, Provider};
use crate::layout::given::{GivenAnswers, Origin};
use crate::layout::profile;
use crate::layout::question::QuestionKind;
use crate::layout::recorded::{self, Certificates, RecordedAnswers, SecretsBy};
use crate::layout::render::{Outline, outline};
use crate::layout::resolve::{Ask, NobodyToAsk, resolve};
use crate::model::cluster::Cluster;
use crate::model::pem;
use crate::ui::prompt::{Terminal, choose_layout};

/// Answers that say something about the chart: another chart has its own.
const OF_THE_CHART: [&str; 6] = [
    "chart_repo",
    "chart_source",
    "certificates",
    "webhook_ca",
    "style",
    "values",
];

impl Init<'_> {
    pub(super) fn answer(&mut self) -> Result<Answered> {
        let mut given = self.given()?;
        self.add_rotated(&mut given);
        let asks = self.world.is_terminal && !self.common.yes;
        let layout = self.catalog.layout(&self.layout_name(&mut given, asks)?)?;
        refuse_sops(&layout, &given)?;
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
        let own_values = self.own_values(&given, &resolved)?;
        own_values::keep(&layout, &mut resolved, own_values.as_ref(), &given);
        keep_next_ca(&mut resolved, &given)?;
        let answers = Answers::of(&layout, &resolved, self.gathered.path.clone())?;
        tidy(&mut resolved, &layout, &answers);
        self.check_answers(&layout, &answers)?;
        let outlines = outline(self.catalog, &layout, &answers)?;
        let standing = self.standing(&outlines, &answers)?;
        versions::warn_of_odd(&standing, &self.gathered.lock, &outlines, self.ui);
        let wanted = Wanted {
            flag: self.arguments.questions.chart_version.as_deref(),
            registry: self.world.registry.as_ref(),
        };
        let has_pins = outlines.iter().any(|outline| !outline.rule.pin.is_empty());
        let chosen = versions::choose(&answers, &standing, has_pins, wanted, self.ui)?;
        self.check_values(&answers, own_values.as_ref(), &chosen.versions)?;
        let command = asks.then(|| {
            super::show::equivalent(self.arguments, self.common, &layout, &terminal.answered)
        });
        let (own_values, carried) = match own_values {
            Some(own) => (Some((own.text, own.place)), own.carried),
            None => (None, None),
        };
        Ok(Answered {
            layout,
            answers,
            resolved,
            own_values,
            carried,
            chosen,
            command,
        })
    }

    /// The pins of this layout and of the one before. Those of another chart say nothing about this one.
    fn standing(&self, outlines: &[Outline<'_>], answers: &Answers) -> Result<Vec<Standing>> {
        let tree = self.gathered.target.tree()?;
        let may_restore = self.arguments.on_conflict == OnConflict::Replace;
        let places = Places {
            tree: tree.as_ref(),
            lock: &self.gathered.lock,
            may_restore,
        };
        match &self.last {
            Some(last) if last.answers.chart.name != answers.chart.name => Ok(Vec::new()),
            Some(last) => {
                let mut standing = versions::standing(answers, outlines, places)?;
                for pin in versions::standing(
                    &last.answers,
                    &outline(self.catalog, &last.layout, &last.answers)?,
                    places,
                )? {
                    if !standing.iter().any(|known| known.is_for(&pin)) {
                        standing.push(pin);
                    }
                }
                Ok(standing)
            }
            None => versions::standing(answers, outlines, places),
        }
    }

    /// What was given, the strongest source first: flags and their variables, `--set`, the answers file, what was recorded.
    fn given(&self) -> Result<GivenAnswers> {
        let mut given = GivenAnswers::default();
        for (name, text) in self.arguments.questions.texts() {
            given.add(name, json!(text), Origin::Flag);
        }
        for pair in &self.arguments.set {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                Problem::usage(format!("cannot read `--set {pair}`"))
                    .hint("write it as `--set KEY=VALUE`")
            })?;
            if given.text(name).is_some_and(|known| known != value) {
                return Err(
                    Problem::usage(format!("`{name}` is given twice, and not the same"))
                        .hint("leave out one of them")
                        .into(),
                );
            }
            given.add(name, json!(value), Origin::Flag);
        }
        if let Some(file) = &self.arguments.questions.webhook_ca {
            // A variable may hold the certificate itself, as CI systems have it.
            let text = file.to_string_lossy();
            let is_pem = text.contains("-----BEGIN");
            let answer = if is_pem {
                text.into_owned()
            } else {
                self.world.folder.join(file).to_string_lossy().into_owned()
            };
            given.add("webhook_ca", json!(answer), Origin::Flag);
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
            let mut answers = recorded.answers.clone().unwrap_or_default().to_map();
            if given
                .text("chart")
                .is_some_and(|chart| answers.get("chart").is_some_and(|known| known != chart))
            {
                OF_THE_CHART
                    .iter()
                    .for_each(|name| drop(answers.remove(*name)));
                self.refuse_foreign_values(recorded.answers.as_ref())?;
            }
            add_file(
                &mut given,
                answers,
                text,
                &self.gathered.recorded_place,
                true,
            );
        }
        Ok(given)
    }

    /// What a rotation says goes before everything that was recorded.
    fn add_rotated(&self, given: &mut GivenAnswers) {
        let Some(rotation) = self.rotation else {
            return;
        };
        for (name, text) in [
            ("webhook_ca", &rotation.webhook_ca),
            ("webhook_ca_next", &rotation.webhook_ca_next),
        ] {
            if let Some(text) = text {
                given.add_variable(name, json!(text));
            }
        }
    }

    /// The CA among the files of Secrets, where no other place says it.
    fn add_ca_of_files(&self, given: &mut GivenAnswers) {
        let folder = self.arguments.values.secret_files.as_ref();
        let file = folder.map(|folder| self.world.folder.join(folder).join("webhook-ca.crt"));
        if let Some(file) = file.filter(|file| file.is_file())
            && given.text("certificates") == Some(Certificates::External.as_str())
        {
            given.add("webhook_ca", json!(file.to_string_lossy()), Origin::Flag);
        }
    }

    /// A variable that nothing knows is most likely misspelt, and would be lost in silence.
    fn warn_of_unknown_variables(&mut self, layout: &Layout) {
        let mut known = crate::cli::variables::names();
        known.extend(layout.questions.iter().map(|question| question.variable()));
        let unknown: Vec<String> = self
            .world
            .env
            .all()
            .map(|(name, _)| name)
            .filter(|name| name.starts_with("HAPTIC_SCAFFOLD_") && !known.contains(name))
            .cloned()
            .collect();
        for name in unknown
            .iter()
            .filter(|name| *name != "HAPTIC_SCAFFOLD_TEST_KIT")
        {
            let meant = recorded::nearest(name, known.iter().map(String::as_str));
            let meant = meant
                .map(|meant| format!("; did you mean {meant}?"))
                .unwrap_or_default();
            self.ui
                .warn(&format!("nothing reads the variable {name}{meant}"));
        }
    }

    /// Names of the layouts with their titles.
    fn titles(&self) -> Result<Vec<(String, String)>> {
        let titled = |name: &str| Ok((name.to_owned(), self.catalog.layout(name)?.title));
        self.catalog.names().map(titled).collect()
    }

    /// Values that stand in the answers are those of the old chart.
    fn refuse_foreign_values(&self, recorded: Option<&RecordedAnswers>) -> Result<()> {
        let has_values = recorded.is_some_and(|answers| answers.values.is_some());
        if !has_values
            || self.arguments.questions.values.is_some()
            || self.arguments.on_conflict == OnConflict::Replace
        {
            return Ok(());
        }
        Err(Problem::new(ExitStatus::Conflicts, "`chart` changes, and the values in the answers are those of the old chart, so nothing was written")
            .hint("`--values FILE` gives those of the new one, `--on-conflict replace` drops the old ones")
            .into())
    }

    fn layout_name(&self, given: &mut GivenAnswers, asks: bool) -> Result<String> {
        let named = match (&self.arguments.layout, &self.arguments.provider) {
            (Some(layout), Some(provider))
                if self.catalog.layout(layout)?.provider.as_str() != provider =>
            {
                return Err(Problem::usage(format!(
                    "layout `{layout}` is not for the provider `{provider}`"
                ))
                .hint("leave out `--provider`")
                .into());
            }
            (Some(layout), _) => Some(layout.clone()),
            (None, Some(provider)) if matches!(provider.as_str(), "flux" | "argo") => {
                Some(format!("{provider}-cluster"))
            }
            (None, Some(provider)) => {
                return Err(Problem::usage(format!("there is no provider `{provider}`"))
                    .hint("`--provider flux` or `--provider argo`")
                    .into());
            }
            (None, None) => match (given.text("layout"), given.text("provider")) {
                (Some(layout), _) => Some(layout.to_owned()),
                (None, Some(provider)) => Some(format!("{provider}-cluster")),
                (None, None) => None,
            },
        };
        match named {
            Some(name) => Ok(name),
            None if asks => choose_layout(&self.titles()?),
            None => {
                let mut problem = Problem::usage("nothing says which layout");
                for other in &self.gathered.others {
                    problem = problem.hint(format!(
                        "there is a scaffold in {other}: add `--path {other}`"
                    ));
                }
                Err(problem
                    .hint("add `--provider flux` or `--provider argo`, or `--layout NAME`")
                    .hint("`haptic-scaffold layouts` lists them")
                    .into())
            }
        }
    }

    /// Adds variables for questions without a flag of their own. Answers that name a file become its text.
    fn read_files(&mut self, given: &mut GivenAnswers, layout: &Layout) -> Result<()> {
        self.warn_of_unknown_variables(layout);
        for question in &layout.questions {
            if let Some(value) = self.world.env.get(&question.variable()) {
                given.add_variable(&question.name, json!(value));
            }
        }
        self.add_ca_of_files(given);
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
}

/// Argo CD has no decryption of its own, and applies what stands in Git as it stands.
fn refuse_sops(layout: &Layout, given: &GivenAnswers) -> Result<()> {
    if layout.provider != Provider::Argo || given.text("secrets") != Some(SecretsBy::Sops.as_str())
    {
        return Ok(());
    }
    Err(Problem::invalid("cannot use `secrets: sops` under Argo CD: it decrypts nothing, and would apply the ciphertext as if it were the password")
        .hint("`--secrets sealed-secrets` keeps Secrets in Git and has a controller in the cluster open them")
        .hint("`--secrets external-secrets` or `--secrets manual` keep them out of Git")
        .into())
}

/// The next CA is no question: `secrets rotate webhook-ca` alone sets it, and takes it away with an empty one.
fn keep_next_ca(resolved: &mut Map<String, Value>, given: &GivenAnswers) -> Result<()> {
    let next = given
        .text("webhook_ca_next")
        .filter(|next| !next.is_empty());
    if let (Some(next), true) = (next, resolved.contains_key("webhook_ca")) {
        let next = pem::certificates(next)
            .map_err(|why| Problem::invalid(format!("cannot use `webhook_ca_next`: {why}")))?;
        resolved.insert("webhook_ca_next".into(), json!(next));
    }
    Ok(())
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

fn pem_file(path: &Path) -> Result<String> {
    let text = std::fs::read(path)
        .map_err(|why| Problem::invalid(format!("cannot read `{}`: {why}", path.display())))?;
    let text = String::from_utf8_lossy(&text);
    let text = text.trim_start_matches('\u{feff}');
    let hint = format!(
        "DER becomes PEM by: openssl x509 -inform der -in {0} -out {0}.pem",
        path.display()
    );
    Ok(pem::certificates(text).map_err(|why| {
        let problem = Problem::invalid(format!("cannot use `{}`: {why}", path.display()));
        if why == pem::PemError::NoCertificate {
            problem.hint(hint)
        } else {
            problem.hint("give the file with the CA's certificate alone")
        }
    })?)
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
