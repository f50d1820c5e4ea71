//! Files that people name on the command line, read with errors that say which and what to do.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use walkdir::WalkDir;

use crate::cli::Common;
use crate::error::Problem;
use crate::layout::catalog::{Catalog, OwnFiles};
use crate::model::repo_path::RepoPath;
use crate::model::text::without_colours;
use crate::model::tree::{self, Tree};
use crate::world::World;

/// No file that a person gives by hand is larger.
const MOST_BYTES: u64 = 4 << 20;

/// Reads a file as text.
///
/// # Errors
/// When it isn't there, can't be read, is too large or isn't UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    let shown = path.display();
    let meta = std::fs::metadata(path)
        .map_err(|why| Problem::invalid(format!("cannot read `{shown}`: {why}")))?;
    if meta.len() > MOST_BYTES {
        return Err(Problem::invalid(format!(
            "cannot read `{shown}`: it is larger than {} MiB",
            MOST_BYTES >> 20
        ))
        .into());
    }
    let bytes = std::fs::read(path)
        .map_err(|why| Problem::invalid(format!("cannot read `{shown}`: {why}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Problem::invalid(format!("cannot read `{shown}`: it is not UTF-8 text")))?;
    Ok(text
        .strip_prefix('\u{feff}')
        .map(str::to_owned)
        .unwrap_or(text))
}

/// Reads standard input as text.
///
/// # Errors
/// When it can't be read or isn't UTF-8.
pub fn read_stdin() -> Result<String> {
    let mut text = String::new();
    std::io::stdin()
        .take(MOST_BYTES + 1)
        .read_to_string(&mut text)
        .context("cannot read standard input")?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Problem::invalid(format!(
            "standard input is longer than {} MiB",
            MOST_BYTES >> 20
        ))
        .into());
    }
    Ok(text)
}

/// Reads the end of a log from a file: what is more than 4 MiB before it is left out, from the beginning of a line on, and what is no UTF-8 is replaced. UTF-16 is read where
/// the file begins with its mark, as PowerShell writes it; zero bytes are left out.
///
/// # Errors
/// When it isn't there or can't be read.
pub fn read_log(path: &Path) -> Result<String> {
    let shown = path.display();
    let file = std::fs::File::open(path);
    let file = file.map_err(|why| Problem::invalid(format!("cannot read `{shown}`: {why}")))?;
    let text = end_of(file);
    Ok(text.map_err(|why| Problem::invalid(format!("cannot read `{shown}`: {why}")))?)
}

/// Reads the end of a log from standard input, as [`read_log`] does.
///
/// # Errors
/// When it can't be read.
pub fn read_stdin_log() -> Result<String> {
    end_of(std::io::stdin()).context("cannot read standard input")
}

fn end_of(mut from: impl std::io::Read) -> std::io::Result<String> {
    let most = usize::try_from(MOST_BYTES).unwrap_or(usize::MAX);
    let (mut bytes, mut is_cut) = (Vec::new(), false);
    let mut unit: Option<fn([u8; 2]) -> u16> = None;
    let mut part = vec![0; 1 << 16];
    loop {
        let count = match from.read(&mut part) {
            Ok(count) => count,
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        bytes.extend_from_slice(&part[..count]);
        if !is_cut && unit.is_none() {
            unit = match bytes.get(..2) {
                Some([0xff, 0xfe]) => Some(u16::from_le_bytes),
                Some([0xfe, 0xff]) => Some(u16::from_be_bytes),
                _ => None,
            };
        }
        if bytes.len() > 2 * most || count == 0 && bytes.len() > most {
            // Both bytes of a unit go, or none.
            bytes.drain(..(bytes.len() - most).next_multiple_of(2));
            is_cut = true;
        }
        if count == 0 {
            break;
        }
    }
    let text = match unit {
        Some(unit) => {
            let units = bytes.chunks_exact(2).map(|two| unit([two[0], two[1]]));
            String::from_utf16_lossy(&units.collect::<Vec<_>>())
        }
        None => String::from_utf8_lossy(&bytes).into_owned(),
    };
    let text = without_colours(&text).replace('\0', "");
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let whole = text.find('\n').filter(|_| is_cut).map_or(0, |at| at + 1);
    Ok(text[whole..].to_owned())
}

/// The layouts: embedded ones, with those of a folder over them.
///
/// # Errors
/// When the folder can't be read.
pub fn catalog(own: Option<&Path>) -> Result<Catalog> {
    match own {
        Some(folder) => Ok(Catalog::with_own(
            &own_files(folder)?,
            &folder.display().to_string(),
        )),
        None => Ok(Catalog::embedded()),
    }
}

/// The layouts: embedded ones, with those of a folder of the repository over them.
///
/// # Errors
/// When the folder can't be read.
pub fn catalog_of(tree: &dyn Tree, folder: &RepoPath) -> Result<Catalog> {
    let mut files = OwnFiles::new();
    for path in tree.files(Some(folder))? {
        let below = path
            .as_str()
            .strip_prefix(&format!("{folder}/"))
            .unwrap_or_default()
            .to_owned();
        if let (true, Some(text)) = (is_part(&below), tree::read_text(tree, &path)?) {
            files.insert(below, text);
        }
    }
    if files.is_empty() {
        Err(no_layouts(&folder.to_string()))
    } else {
        Ok(Catalog::with_own(&files, folder.as_str()))
    }
}

fn is_part(name: &str) -> bool {
    name.starts_with("templates/") || name.ends_with("/layout.yaml")
}

fn no_layouts(folder: &str) -> anyhow::Error {
    Problem::invalid(format!("there is no layout in `{folder}`"))
        .hint("a folder of layouts has NAME/layout.yaml, and templates/ beside them")
        .into()
}

/// The texts of a folder with layouts and templates.
///
/// # Errors
/// When the folder or a file in it can't be read, or there is neither a layout nor a template in it.
pub fn own_files(folder: &Path) -> Result<OwnFiles> {
    let mut files = OwnFiles::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|why| {
            Problem::invalid(format!(
                "cannot read the layouts in `{}`: {why}",
                folder.display()
            ))
        })?;
        let Ok(below) = entry.path().strip_prefix(folder) else {
            continue;
        };
        let name = below.to_string_lossy().replace('\\', "/");
        if entry.file_type().is_file() && is_part(&name) {
            files.insert(name, read_text(entry.path())?);
        }
    }
    if files.is_empty() {
        return Err(no_layouts(&folder.display().to_string()));
    }
    Ok(files)
}

/// The folder that a command works in: that of `-C`, else the one that the program was started in.
pub fn working_folder(common: &Common, world: &World) -> PathBuf {
    match &common.directory {
        Some(folder) => world.folder.join(folder),
        None => world.folder.clone(),
    }
}

/// A path as the person means it: relative to the folder that the program was started in.
pub fn from(folder: &Path, path: &Path) -> PathBuf {
    folder.join(path)
}

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, end_of};

    #[test]
    fn of_a_long_log_the_end_is_read() {
        let mut log = b"secret: |\n".to_vec();
        let most = usize::try_from(MOST_BYTES).unwrap();
        for _ in 0..(5 * most / 2 / 16) {
            log.extend_from_slice(b"0123456789abcde\n");
        }
        log.extend_from_slice(b"\xff the end\n");
        let text = end_of(log.as_slice()).unwrap();
        assert!(text.ends_with("0123456789abcde\n\u{fffd} the end\n"));
        assert!(text.starts_with("0123456789abcde\n") && text.len() <= most + 2);
        assert_eq!(end_of("\u{feff}a\nb".as_bytes()).unwrap(), "a\nb");
    }

    #[test]
    fn what_powershell_writes_is_read() {
        let said = "\u{feff}password: hunter2\nübel\n";
        let little: Vec<u8> = said.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = said.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [&little, &big] {
            assert_eq!(end_of(bytes.as_slice()).unwrap(), said[3..]);
        }
        // Without its mark, as far as it is ASCII.
        assert_eq!(&end_of(&little[2..]).unwrap()[..17], "password: hunter2");
        // A long one is cut between two units.
        let mut long = little.clone();
        for _ in 0..(3 << 20) {
            long.extend_from_slice(&little[2..4]);
        }
        long.extend_from_slice(
            &"\n"
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<u8>>(),
        );
        long.extend_from_slice(&little[2..]);
        // Half a unit is none.
        long.push(0);
        let text = end_of(long.as_slice()).unwrap();
        assert!(
            text.ends_with("password: hunter2\nübel\n"),
            "{}",
            text.len()
        );
    }
}
