//! [`Folder`]: a private folder with the unpacked chart and the values, gone when it is dropped.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;

/// No chart is larger unpacked; an archive that is, is none.
const MOST_BYTES: u64 = 64 << 20;

/// No chart has more files.
const MOST_FILES: usize = 20_000;

/// The folder.
pub(super) struct Folder {
    folder: tempfile::TempDir,
    /// The chart's own folder in it.
    pub(super) chart: PathBuf,
}

impl Folder {
    /// Makes it and writes chart and values into it.
    pub(super) fn new(archive: &[u8], values: &Value) -> Result<Self, String> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("haptic-preflight-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o700));
        }
        let folder = builder.tempdir();
        let folder = folder.map_err(|why| format!("no folder for it: {why}"))?;
        // A path through links is another one in a container.
        let root = fs::canonicalize(folder.path()).map_err(|why| why.to_string())?;
        let name = unpack(archive, &root.join("chart"))?;
        let made = Self {
            folder,
            chart: root.join("chart").join(name),
        };
        // JSON is YAML.
        made.write("values.yaml", values.to_string().as_bytes())?;
        Ok(made)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        let chart = self.chart.parent().and_then(Path::parent);
        chart.unwrap_or(self.folder.path())
    }

    /// Its name, which no other has.
    pub(super) fn name(&self) -> String {
        let name = self.folder.path().file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// The file with the values.
    pub(super) fn values(&self) -> PathBuf {
        self.path().join("values.yaml")
    }

    /// Writes a new file that its owner alone reads.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
        let path = self.path().join(name);
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let written = options.open(&path);
        written
            .and_then(|mut file| file.write_all(bytes))
            .map_err(|why| format!("cannot write `{name}`: {why}"))?;
        Ok(path)
    }
}

/// Unpacks a chart's archive; returns the name of the one folder in it. Links and what leads out of it are refused.
fn unpack(archive: &[u8], into: &Path) -> Result<String, String> {
    let broken = |why: std::io::Error| format!("the chart's archive can't be read: {why}");
    let odd = |path: &Path| format!("the chart's archive has `{}`", path.display());
    let mut tar = tar::Archive::new(GzDecoder::new(archive).take(MOST_BYTES));
    let mut top: Option<String> = None;
    for (count, entry) in tar.entries().map_err(broken)?.enumerate() {
        let mut entry = entry.map_err(broken)?;
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() || kind.is_dir() {
            continue;
        }
        let path = entry.path().map_err(broken)?.into_owned();
        let parts: Vec<&str> = path
            .components()
            .filter(|part| *part != Component::CurDir)
            .map(|part| match part {
                Component::Normal(name) => name.to_str().ok_or_else(|| odd(&path)),
                _ => Err(odd(&path)),
            })
            .collect::<Result<_, _>>()?;
        let first = parts.first().filter(|_| parts.len() > 1 && kind.is_file());
        let first = first.ok_or_else(|| odd(&path))?;
        let is_first = top.get_or_insert_with(|| (*first).to_owned()) == first;
        if !is_first || count >= MOST_FILES {
            return Err(odd(&path));
        }
        let file = parts
            .iter()
            .fold(into.to_owned(), |file, part| file.join(part));
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(broken)?;
        file.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&file, &bytes))
            .map_err(|why| format!("cannot unpack the chart: {why}"))?;
    }
    let top = top.ok_or("the chart's archive is empty")?;
    if into.join(&top).join("Chart.yaml").is_file() {
        Ok(top)
    } else {
        Err("the chart's archive has no Chart.yaml".to_owned())
    }
}
