//! The tags of a chart in an OCI registry, and what a tag has.
//!
//! Owns the tag list with its pages, manifests and archives. It must not choose among the tags.
//! Start from [`versions`].

use serde::Deserialize;

use super::error::RegistryError;
use super::http::{Ask, Keep};
use super::manifest::{self, Descriptor, Manifest};
use super::reply::Reply;
use super::session::Session;
use super::{Published, Release};
use crate::http::link;
use crate::http::url::Url;

const MAX_PAGES: usize = 100;
const JSON: &str = "application/json";
const ANYTHING: &str = "*/*";

/// Lists all tags of a repository; `_` is read as `+`.
///
/// # Errors
///
/// A [`RegistryError`] when a page cannot be read or the list does not end.
pub(super) fn versions(session: Session<'_>) -> Result<Vec<Published>, RegistryError> {
    let aim = format!("list the tags of `{}`", session.repository);
    let page = |url: &Url| {
        session.get(&Ask {
            keep: Keep::WhileUnchanged,
            ..Ask::new(&aim, url, JSON)
        })
    };
    let mut reply = first_page(session, &page)?;
    let mut tags = read_page(&reply)?;
    for _ in 1..MAX_PAGES {
        let Some(next) = next_page(&reply)? else {
            return Ok(tags.iter().map(|tag| published(tag)).collect());
        };
        reply = session.judge(page(&next)?)?;
        tags.extend(read_page(&reply)?);
    }
    match next_page(&reply)? {
        None => Ok(tags.iter().map(|tag| published(tag)).collect()),
        Some(_) => Err(reply.malformed(format!("the tag list has more than {MAX_PAGES} pages"))),
    }
}

/// Asks for large pages, and without a size where the registry refuses it.
///
/// Old Distribution answers 400 to a size above its limit, Quay 413.
fn first_page(
    session: Session<'_>,
    page: &dyn Fn(&Url) -> Result<Reply, RegistryError>,
) -> Result<Reply, RegistryError> {
    let reply = page(&session.url("tags/list?n=1000"))?;
    if !matches!(reply.status, 400 | 413) {
        return session.judge(reply);
    }
    session.judge(page(&session.url("tags/list"))?)
}

/// Says what the tag of a version has now.
///
/// # Errors
///
/// A [`RegistryError`] when there is no such tag, or its manifest cannot be read.
pub(super) fn release(session: Session<'_>, version: &str) -> Result<Release, RegistryError> {
    let tagged = fetch_tag(session, version)?;
    if let Some(created) = tagged.manifest.created() {
        return Ok(tagged.release(Some(created.to_owned())));
    }
    let chart = chart_manifest(session, &tagged)?;
    let created = match (chart.created(), &chart.config) {
        (Some(created), _) => Some(created.to_owned()),
        (None, Some(config)) => {
            manifest::created_in_config(&blob(session, "read when it was made", config)?)
        }
        (None, None) => None,
    };
    Ok(tagged.release(created))
}

/// Fetches the chart's archive, checked against the digest of its manifest.
///
/// # Errors
///
/// A [`RegistryError`] when there is no such tag, it is no chart, or the bytes are not those that
/// the manifest names.
pub(super) fn archive(session: Session<'_>, version: &str) -> Result<Vec<u8>, RegistryError> {
    let tagged = fetch_tag(session, version)?;
    let chart = chart_manifest(session, &tagged)?;
    let layer = chart.chart_layer().ok_or_else(|| {
        tagged
            .reply
            .malformed("it is no Helm chart: no layer is one")
    })?;
    blob(
        session,
        &format!("fetch version {version} of the chart"),
        layer,
    )
}

/// A tag's manifest.
struct Tagged {
    manifest: Manifest,
    digest: String,
    reply: Reply,
}

impl Tagged {
    fn release(&self, created: Option<String>) -> Release {
        Release {
            digest: Some(self.digest.clone()),
            created,
        }
    }
}

fn fetch_tag(session: Session<'_>, version: &str) -> Result<Tagged, RegistryError> {
    // Tags cannot hold `+`; Helm writes `_` for it.
    let tag = version.replace('+', "_");
    let aim = format!("read the manifest of the tag `{tag}`");
    let url = session.url(&format!("manifests/{tag}"));
    let reply = session.success(&Ask::new(&aim, &url, manifest::TYPES))?;
    let digest = manifest::sha256(&reply.body);
    let named = reply.headers("docker-content-digest").next();
    if let Some(named) = named.filter(|named| named.starts_with("sha256:") && *named != digest) {
        let why = format!("its digest is {digest} and not {named}, which the registry says it has");
        return Err(reply.malformed(why));
    }
    let manifest = Manifest::read(&reply.body).map_err(|why| reply.malformed(why))?;
    Ok(Tagged {
        manifest,
        digest,
        reply,
    })
}

/// The manifest with the chart's layers: that of the tag, or the one that an index leads to.
fn chart_manifest(session: Session<'_>, tagged: &Tagged) -> Result<Manifest, RegistryError> {
    if !tagged.manifest.is_index() {
        return Ok(tagged.manifest.clone());
    }
    let inner = tagged.manifest.chart_in_index().ok_or_else(|| {
        tagged
            .reply
            .malformed("it is an index of several images, none of which says to be a chart")
    })?;
    let body = by_digest(session, "read the chart's manifest", "manifests", inner)?;
    Manifest::read(&body).map_err(|why| tagged.reply.malformed(why))
}

fn blob(session: Session<'_>, aim: &str, of: &Descriptor) -> Result<Vec<u8>, RegistryError> {
    by_digest(session, aim, "blobs", of)
}

/// Fetches what a descriptor names and compares it with the descriptor.
fn by_digest(
    session: Session<'_>,
    aim: &str,
    folder: &str,
    of: &Descriptor,
) -> Result<Vec<u8>, RegistryError> {
    let url = session.url(&format!("{folder}/{}", of.digest));
    let accept = match folder {
        "manifests" => manifest::TYPES,
        _ => ANYTHING,
    };
    let reply = session.success(&Ask {
        keep: Keep::Digest(&of.digest),
        ..Ask::new(aim, &url, accept)
    })?;
    of.check(&reply.body).map_err(|why| reply.malformed(why))?;
    Ok(reply.body)
}

fn read_page(reply: &Reply) -> Result<Vec<String>, RegistryError> {
    #[derive(Deserialize)]
    struct TagList {
        // Registries write null for a repository without tags.
        tags: Option<Vec<String>>,
    }
    serde_json::from_slice::<TagList>(&reply.body)
        .map(|list| list.tags.unwrap_or_default())
        .map_err(|error| reply.malformed(format!("it is no tag list: {error}")))
}

fn next_page(reply: &Reply) -> Result<Option<Url>, RegistryError> {
    let Some(reference) = reply.headers("link").find_map(link::next_reference) else {
        return Ok(None);
    };
    let next = reply
        .url
        .follow(reference)
        .map_err(|reason| reply.unsafe_target(reason))?;
    if next == reply.url {
        return Err(reply.malformed("its next page is the same page"));
    }
    Ok(Some(next))
}

fn published(tag: &str) -> Published {
    Published {
        version: tag.replace('_', "+"),
        created: None,
    }
}
