//! Whether the release that a recovery makes would be judged well: by the chart's schema, and by HAPTIC's own preflight where it is at hand.

use anyhow::Result;
use serde_json::Value;

use super::Run;
use super::evidence::tail;
use crate::command::published::Published;
use crate::command::upgrade::subjects::Subject;
use crate::error::Problem;
use crate::haptic;
use crate::model::range::lenient_version;
use crate::model::text::one_line;
use crate::plan::chart_files::ChartFiles;
use crate::plan::release_values::Described;
use crate::plan::upgrade::Section;
use crate::preflight::{self, Judged, Preflight, Schema};
use crate::secrets::redact::redact;

/// The most characters of a line that is repeated.
const MOST_LINE: usize = 240;

/// What is judged.
pub(super) struct Gate<'g, 'a> {
    pub(super) run: &'g Run<'a>,
    pub(super) subject: &'g Subject,
    pub(super) described: &'g Described,
    /// The values of the release as they will be; nothing where they aren't known.
    pub(super) values: Option<&'g Value>,
    /// The version that the release will have.
    pub(super) version: Option<&'g str>,
    /// Whether the release changes at all.
    pub(super) is_changed: bool,
    /// Whether values are corrected.
    pub(super) is_corrected: bool,
}

impl Gate<'_, '_> {
    /// Judges it as far as it can be. What comes back is said in the request.
    ///
    /// # Errors
    /// When it would be refused; nothing is written then.
    pub(super) fn judge(&self, published: &mut Published<'_>) -> Result<Option<Section>> {
        if !self.is_changed {
            return Ok(None);
        }
        let (Some(values), Some(version)) = (self.values, self.version) else {
            let why = "not all values of the release stand in this repository";
            let asked = self.not_judged(why)?;
            return Ok(asked.or(self.is_corrected.then(|| Section {
                title: "Not judged before".to_owned(),
                text: format!("The corrected values were compared with nothing: {why}.\n"),
                is_folded: false,
            })));
        };
        let folder = self.run.arguments.schema_dir.as_ref();
        let folder = folder.map(|folder| self.run.world.folder.join(folder));
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let why = format!("there is no folder `{}`", folder.display());
            return self.not_judged(&why);
        }
        let archive = self.archive(published, version);
        self.by_schema(archive.as_deref(), values, version)?;
        match &archive {
            Some(archive) => self.by_preflight(archive, values, version),
            None if self.is_corrected => Ok(Some(Section {
                title: "Not judged before".to_owned(),
                text: format!(
                    "The chart of {version} couldn't be had here, so nobody has compared the corrected values with its schema.\n"
                ),
                is_folded: false,
            })),
            None => self.not_judged(&format!("the chart of {version} can't be had here")),
        }
    }

    /// By what the chart says of its values.
    fn by_schema(&self, archive: Option<&[u8]>, values: &Value, version: &str) -> Result<()> {
        let mut refused = Vec::new();
        if let Some(files) = archive.and_then(|archive| ChartFiles::unpack(archive).ok()) {
            refused.extend(files.refused(values));
        }
        if let (true, Some(version)) = (self.is_haptic(), lenient_version(version)) {
            let findings = haptic::keys::check_values(values, &version);
            let refusing = findings.into_iter().filter(|finding| finding.refuse);
            refused.extend(refusing.map(|f| format!("`{}`: {} ({})", f.route, f.message, f.hint)));
        }
        if !refused.is_empty() {
            refused.dedup();
            return Err(Problem::invalid(format!(
                "{} {version} would refuse the values of the release:\n  {}",
                self.subject.name,
                refused.join("\n  ")
            ))
            .hint("correct them in the same change: `--values FILE` with the keys that are named, `null` for one that is to go")
            .into());
        }
        Ok(())
    }

    fn is_haptic(&self) -> bool {
        let named = self.subject.what.named();
        named.is_some_and(|(name, _)| name == haptic::CHART)
    }

    /// By HAPTIC's own program, where it is at hand and types of resources are known to it.
    fn by_preflight(
        &self,
        archive: &[u8],
        values: &Value,
        version: &str,
    ) -> Result<Option<Section>> {
        let (world, arguments) = (self.run.world, self.run.arguments);
        let schema = match (&arguments.schema_dir, &arguments.context) {
            (Some(folder), _) => Schema::Folder(world.folder.join(folder)),
            (None, Some(context)) => Schema::Kubeconfig {
                file: None,
                context: Some(context.clone()),
            },
            (None, None) => return Ok(None),
        };
        let (true, Some(program)) = (self.is_haptic(), preflight::program(&world.env)) else {
            return self.not_judged("no program `haptic`, and no container runtime, is at hand");
        };
        let judged = preflight::run(
            &world.env,
            &program,
            image(values, version).as_deref(),
            &preflight::Run {
                chart: archive,
                values,
                release: &self.described.release,
                namespace: &self.described.namespace,
                version,
                schema,
            },
        );
        match judged {
            Judged::Accepted => Ok(Some(Section {
                title: "Judged before".to_owned(),
                text: format!("HAPTIC's own preflight accepts {version} with these values.\n"),
                is_folded: false,
            })),
            Judged::Refused { log } => Err(Problem::invalid(format!(
                "HAPTIC's own preflight refuses {version} with these values, so no request is opened:\n{}",
                tail(&log).unwrap_or_default()
            ))
            .hint("choose another version with `--to`, or correct the values in the same change: `--values FILE`")
            .into()),
            Judged::NoVerdict { code, log } => {
                let why = match last_line(&redact(&log)) {
                    Some(line) => format!("it ended with {code} and without a verdict: {line}"),
                    None => format!("it ended with {code} and said nothing"),
                };
                self.without_verdict(&program, &why)
            }
            Judged::NotRun { why } => self.without_verdict(&program, &redact(&why)),
        }
    }

    fn without_verdict(&self, program: &Preflight, why: &str) -> Result<Option<Section>> {
        let asked = self.not_judged(why)?;
        // A container asks no cluster, and nobody expects it to.
        let is_here = matches!(program, Preflight::Here(_));
        Ok(asked.or(is_here.then(|| Section {
            title: "Not judged before".to_owned(),
            text: format!(
                "HAPTIC's own preflight came to no verdict: {}\n",
                one_line(why)
            ),
            is_folded: false,
        })))
    }

    /// Who asked for a verdict by `--schema-dir` waits for one; else the cluster gives it.
    fn not_judged(&self, why: &str) -> Result<Option<Section>> {
        if self.run.arguments.schema_dir.is_none() {
            return Ok(None);
        }
        Err(Problem::invalid(format!(
            "`--schema-dir` asks for preflight's verdict, and it can't be had: {why}"
        ))
        .hint("leave `--schema-dir` out: the cluster judges the release when it comes")
        .into())
    }

    fn archive(&self, published: &mut Published<'_>, version: &str) -> Option<Vec<u8>> {
        let chart = self.subject.what.chart()?;
        let known = published.of(chart).ok()?;
        let wanted = lenient_version(version)?;
        let is = |one: &&crate::command::published::Known| one.version == wanted;
        let text = known.iter().find(is)?.text.clone();
        published.archive(chart, &text).ok().flatten()
    }
}

/// The last line that says anything, of a text that may be shown.
fn last_line(shown: &str) -> Option<String> {
    let mut lines = shown.lines().map(str::trim);
    let line = lines.rfind(|line| line.chars().any(char::is_alphanumeric))?;
    let line: String = line.chars().take(MOST_LINE).collect();
    Some(one_line(&line).into_owned())
}

/// The image in which the program of a version lies.
///
/// Source: the chart's `_image.tpl` and values, 0.2 to 0.5. Where images of later versions lie isn't documented.
fn image(values: &Value, version: &str) -> Option<String> {
    let text = |pointer: &str| values.pointer(pointer).and_then(Value::as_str);
    let is_known = lenient_version(version).is_some_and(|one| one.major == 0 && one.minor < 6);
    let default = is_known.then_some(haptic::IMAGE);
    let repository = text("/controller/image/repository").or(default)?;
    let series = text("/haproxyVersion").unwrap_or(haptic::HAPROXY_SERIES);
    Some(format!("{repository}:{version}-haproxy{series}"))
}
