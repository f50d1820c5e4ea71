//! Places that are found by their line: text of templates, and markers in comments.

use super::branches::{Branches, Seen};
use super::facts::{ObjectFact, Of, Scope};
use super::file::{About, File};
use super::found::{Kind, Pin, Source};
use super::texts::{unescaped, unquoted};
use super::values::{is_version, may_be_pinned};
use crate::model::repo_path::RepoPath;

/// Why a version in a template isn't read.
pub(super) const MADE: &str =
    "the version is made by a template; it stands where its value is defined";

/// Text of a template: a literal version is a pin where its line and the lines of the same block say what it is of.
pub(super) fn templated(file: &mut File<'_>, is_helmfile: bool) {
    let text = without_comments(file.text);
    let lines: Vec<(usize, &str)> = lines(&text).collect();
    let branches = Branches::of(&text, &lines);
    for (index, (start, line)) in lines.iter().enumerate() {
        let body = line.trim_start().trim_start_matches("- ");
        let Some((key, value)) = body.split_once(':') else {
            continue;
        };
        let is_in_text = file.skipped.iter().any(|text| text.contains(start));
        if is_in_text || !matches!(key, "targetRevision" | "version" | "tag") {
            continue;
        }
        let written = without_properties(value.split(" #").next().unwrap_or_default().trim());
        let said = Said::beside(&lines, &branches, index);
        let about = &said.about;
        let is_pin = match key {
            "targetRevision" => true,
            "version" => said.has_chart,
            _ => said.is_artifact,
        };
        if !is_pin {
            continue;
        }
        if written.contains("{{") {
            if unescaped(unquoted(written)).is_none() {
                file.unread(index + 1, MADE.to_owned());
            }
            remember(file, written, &about.of(Kind::Chart), index + 1);
            continue;
        }
        let kind = if key == "targetRevision" && !said.has_chart {
            Kind::Git
        } else {
            Kind::Chart
        };
        // A branch moves by itself; an alias or the head of a block is no version.
        let is_branch = kind == Kind::Git && !may_be_pinned(unquoted(written));
        if is_branch || written.starts_with(['*', '>', '|', '{', '[']) {
            continue;
        }
        let place = if is_helmfile {
            "helmfile template"
        } else {
            "template"
        };
        let at = start + line.find(written).unwrap_or_default();
        let span = at..at + written.len();
        push(file, at, written, kind, &format!("{place} {key}"), about);
        let varies = said.varies.0 || said.varies.1;
        let mut there = file.found.pins.iter_mut();
        if let Some(pin) = there.find(|pin| varies && pin.span == span) {
            // Read as YAML, the first of all branches is taken for every one.
            let of = about.of(Kind::Chart);
            if said.varies.0 || said.is_unknown {
                pin.chart.clone_from(&of.chart);
            }
            if said.varies.1 || said.is_unknown {
                pin.source = of.source;
            }
            // The same holds for what the object runs.
            if let Some(object) = pin.object.clone() {
                file.found.facts.objects.push(ObjectFact {
                    file: file.path.clone(),
                    object,
                    chart: pin.chart.clone(),
                    source: pin.source.clone(),
                });
            }
            if said.is_unknown {
                pin.why =
                    Some("of which chart it is depends on a condition of the template".to_owned());
            }
        }
    }
}

/// What the lines of the same block say of a version.
struct Said {
    about: About,
    /// Whether there is a chart, known or not.
    has_chart: bool,
    /// Whether the address is one of an OCI artifact.
    is_artifact: bool,
    /// Whether conditions give more than one chart, and more than one address.
    varies: (bool, bool),
    /// Whether a condition decides what the chart is.
    is_unknown: bool,
}

impl Said {
    fn beside(lines: &[(usize, &str)], branches: &Branches, index: usize) -> Self {
        let block = block(lines, index);
        let all = |name: &str, wanted: Seen| -> Vec<String> {
            let here = block
                .iter()
                .filter(|other| branches.seen(index, **other) == wanted);
            here.filter_map(|other| {
                let body = lines[*other].1.trim_start().trim_start_matches("- ");
                let value = body.strip_prefix(name)?.strip_prefix(':')?;
                Some(unquoted(value.trim()).to_owned())
            })
            .collect()
        };
        // What some branch says otherwise isn't known.
        let of = |name: &str| {
            let sure = all(name, Seen::Always).into_iter().next();
            let is_open = all(name, Seen::Sometimes)
                .iter()
                .any(|one| Some(one) != sure.as_ref());
            sure.filter(|_| !is_open)
        };
        let is_open = |name: &str| of(name).is_none() && !all(name, Seen::Sometimes).is_empty();
        let is_unknown = is_open("chart") || is_open("repoURL") || is_open("url");
        let varies = |name: &str| {
            let mut other = [Seen::Sometimes, Seen::Never].into_iter();
            other.any(|seen| !all(name, seen).is_empty())
        };
        let varies = (varies("chart"), varies("repoURL") || varies("url"));
        let has_chart = of("chart").is_some() || is_open("chart");
        let chart = of("chart").filter(|_| !is_unknown);
        // Argo CD has no scheme where a chart comes from a registry.
        let with_scheme = |repo: String| {
            if chart.is_some() && !repo.contains("://") {
                format!("oci://{repo}")
            } else {
                repo
            }
        };
        let about = About {
            object: None,
            chart: chart
                .as_ref()
                .and_then(|chart| chart.rsplit('/').next())
                .map(str::to_owned),
            source: of("repoURL")
                .map(with_scheme)
                .or_else(|| of("url"))
                .filter(|_| !is_unknown)
                .map_or(Source::Unknown, Source::Address),
            is_tag: lines[index]
                .1
                .trim_start()
                .trim_start_matches("- ")
                .starts_with("tag:"),
        };
        Self {
            is_artifact: of("url").is_some_and(|url| url.starts_with("oci://")),
            about,
            has_chart,
            varies,
            is_unknown,
        }
    }
}

/// The text with the comments of templates blanked, byte for byte.
fn without_comments(text: &str) -> String {
    let mut blank = text.to_owned();
    let mut from = 0;
    while let Some(start) = blank[from..]
        .find("{{/*")
        .or_else(|| blank[from..].find("{{- /*"))
    {
        let start = from + start;
        let Some(end) = blank[start..].find("}}").map(|end| start + end + 2) else {
            break;
        };
        let spaces: String = blank[start..end]
            .bytes()
            .map(|byte| if byte == b'\n' { '\n' } else { ' ' })
            .collect();
        blank.replace_range(start..end, &spaces);
        from = end;
    }
    blank
}

/// What `{{ .Values.a.b }}` reads, also by a variable of a `range` over values.
pub(super) fn remember(file: &mut File<'_>, written: &str, of: &Of, line: usize) {
    let inner = written
        .split("{{")
        .nth(1)
        .and_then(|rest| rest.split("}}").next());
    let route = inner.and_then(|inner| {
        let direct = inner
            .split(".Values.")
            .nth(1)
            .map(|rest| word(rest).to_owned());
        direct.or_else(|| ranged(file.text, word(inner)))
    });
    let Some(route) = route else {
        return;
    };
    // The chart's folder is above its `templates`; other templates have their values beside them.
    let parts: Vec<&str> = file.path.parts().collect();
    let above = parts.iter().position(|part| *part == "templates");
    let folder = above.map_or_else(
        || file.path.parent(),
        |above| RepoPath::parse(&parts[..above].join("/")).ok(),
    );
    file.uses(Scope::Chart(folder), &route, of.clone(), line);
}

/// The first word of an action, without what pipes it on.
fn word(inner: &str) -> &str {
    let inner = inner.trim_matches(|c: char| c == '-' || c.is_whitespace());
    inner.split([' ', '|', ')']).next().unwrap_or_default()
}

/// What `$app.version` reads where `range $name, $app := .Values.apps` gives it: `apps.*.version`.
fn ranged(text: &str, path: &str) -> Option<String> {
    let (variable, rest) = path.split_once('.')?;
    let given = format!("{variable} := .Values.");
    let at = text.find(&given).filter(|_| variable.starts_with('$'))?;
    let head = &text[..at];
    let is_range = head[head.rfind("{{")?..].contains("range ");
    let list = word(text[at + given.len()..].split("}}").next()?);
    is_range.then(|| format!("{list}.*.{rest}"))
}

/// The lines around one that belong to the same block, by their index: as deep as it, next to it.
fn block(lines: &[(usize, &str)], index: usize) -> Vec<usize> {
    let depth = |line: &str| {
        let body = line.trim_start();
        let dash = if body.starts_with("- ") { 2 } else { 0 };
        line.len() - body.len() + dash
    };
    let here = depth(lines[index].1);
    let near = |at: &usize| {
        let text = lines[*at].1.trim();
        text.is_empty() || depth(lines[*at].1) >= here || text.starts_with("{{")
    };
    let is_first = |line: &str| line.trim_start().starts_with("- ") && depth(line) == here;
    let mut block = Vec::new();
    for at in (0..=index).rev().take_while(near) {
        block.push(at);
        if is_first(lines[at].1) {
            break;
        }
    }
    for at in (index + 1..lines.len()).take_while(near) {
        if is_first(lines[at].1) {
            break;
        }
        block.push(at);
    }
    block.retain(|at| depth(lines[*at].1) == here);
    block
}

/// Markers in comments: `# renovate: …` above a version, and `{"$imagepolicy": …}` behind one.
pub(super) fn markers(file: &mut File<'_>) {
    if memchr::memmem::find(file.text.as_bytes(), b"renovate:").is_none()
        && memchr::memmem::find(file.text.as_bytes(), b"$imagepolicy").is_none()
    {
        return;
    }
    let lines: Vec<(usize, &str)> = lines(file.text).collect();
    for (index, (start, line)) in lines.iter().enumerate() {
        if line.contains("{\"$imagepolicy\"") {
            let place = "$imagepolicy marker";
            value_of(file, (*start, line), Kind::Image, place, &About::default());
            let on_line = *start..start + line.len();
            for pin in &mut file.found.pins {
                if on_line.contains(&pin.span.start) && pin.why.is_none() {
                    pin.why = Some(
                        "Flux's image automation writes this line: a version set by hand is taken back"
                            .to_owned(),
                    );
                }
            }
        }
        let Some(marker) = line.trim_start().strip_prefix('#') else {
            continue;
        };
        let Some(marker) = marker.trim_start().strip_prefix("renovate:") else {
            continue;
        };
        let of = |key: &str| {
            let word = marker
                .split_whitespace()
                .find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            word.map(str::to_owned)
        };
        let datasource = of("datasource").unwrap_or_default();
        let name = of("packageName").or_else(|| of("depName"));
        // A chart in a registry is named by its whole address there.
        let by_name = name
            .as_deref()
            .filter(|_| datasource == "docker")
            .and_then(|name| name.rsplit_once('/'))
            .filter(|(repo, _)| repo.contains('.'))
            .map(|(repo, _)| format!("oci://{repo}"));
        let kind = match datasource.as_str() {
            "helm" => Kind::Chart,
            "docker" if name.as_deref().is_some_and(is_chart_path) => Kind::Chart,
            "docker" => Kind::Image,
            "git-tags" | "github-tags" | "github-releases" | "gitlab-tags" => Kind::Git,
            _ => Kind::Other,
        };
        let about = About {
            chart: name
                .as_deref()
                .and_then(|name| name.rsplit('/').next().map(str::to_owned)),
            source: of("registryUrl")
                .or(by_name)
                .map_or(Source::Unknown, Source::Address),
            ..About::default()
        };
        if let Some((start, line)) = lines.get(index + 1) {
            value_of(file, (*start, line), kind, "renovate marker", &about);
        }
    }
}

/// Whether a path in a registry is one where charts lie: by a part before the name, as in `charts/web`. `chartdb/chartdb` is an image.
fn is_chart_path(name: &str) -> bool {
    let before = name.rsplit('/').skip(1);
    let is_of_charts = |part: &str| matches!(part, "chart" | "charts" | "helm" | "helm-charts");
    before.into_iter().any(is_of_charts)
}

/// The version in a line of the form `key: value` or `key = value`.
fn value_of(
    file: &mut File<'_>,
    (start, line): (usize, &str),
    kind: Kind,
    place: &str,
    about: &About,
) {
    let Some(at) = line.find([':', '=']) else {
        return;
    };
    let rest = &line[at + 1..];
    let written = rest.split(" #").next().unwrap_or_default().trim();
    let start = start + at + 1 + rest.find(written).unwrap_or_default();
    if is_version(unquoted(written)) {
        push(file, start, written, kind, place, about);
        return;
    }
    // `registry.example.org/web:1.2.3`
    let image = unquoted(written);
    let after = image.rfind('/').map_or(0, |at| at + 1);
    let Some((name, tag)) = image[after..].split_once(':') else {
        return;
    };
    if kind == Kind::Image && is_version(tag) {
        let about = About {
            chart: Some(name.to_owned()),
            ..about.clone()
        };
        let at = start + written.rfind(tag).unwrap_or_default();
        push(file, at, tag, kind, place, &about);
    }
}

/// What is written behind an anchor and a tag.
fn without_properties(written: &str) -> &str {
    let mut rest = written;
    while rest.starts_with(['&', '!']) {
        rest = rest.split_once(' ').map_or("", |(_, rest)| rest).trim();
    }
    rest
}

/// Adds a pin, unless one is there.
pub(super) fn push(
    file: &mut File<'_>,
    at: usize,
    written: &str,
    kind: Kind,
    place: &str,
    about: &About,
) {
    let value = unquoted(written);
    if value.is_empty() {
        return;
    }
    let span = at..at + written.len();
    let overlaps = |pin: &Pin| pin.span.start < span.end && span.start < pin.span.end;
    if !file.found.pins.iter().any(overlaps) {
        let pin = file.pin_at(span, value, kind, place, about);
        file.found.pins.push(pin);
    }
}

/// Lines with the byte where each begins.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let at = start;
        start += line.len();
        (at, line.trim_end_matches(['\n', '\r']))
    })
}
