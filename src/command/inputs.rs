//! Values of Secrets as people hand them over: files outside of the repository, standard input, or a random password.

use std::cell::OnceCell;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use secrecy::ExposeSecret as _;
use zeroize::Zeroizing;

use super::shell::quoted;
use crate::cli::secrets::SecretArgs;
use crate::error::Problem;
use crate::haptic::gitops::NeededSecret;
use crate::haptic::names::Names;
use crate::layout::answers::Answers;
use crate::secrets::certificate::{self, Part, Wanted};
use crate::secrets::credentials::{USER, copy, given_password, random_password};
use crate::secrets::{Material, SecretBytes};

/// What some editors put before a text.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// No key or password is longer.
const MOST_BYTES: u64 = 1 << 20;

/// Where values come from.
pub struct Inputs<'a> {
    /// What the command line says.
    pub arguments: &'a SecretArgs,
    /// The folder that the program was started in.
    pub folder: &'a Path,
    /// The repository's work tree: no key may lie in it.
    pub repository: Option<&'a Path>,
    /// The only CA that the webhook's certificate may come from, PEM; those of the answers where none is named.
    pub next_ca: Option<&'a str>,
    /// Seconds since 1970.
    pub now: i64,
    /// The password of standard input, which can be read only once.
    pub typed: OnceCell<SecretBytes>,
}

impl Inputs<'_> {
    /// Whether files for certificates were named.
    pub fn has_files(&self) -> bool {
        self.arguments.secret_files.is_some()
    }

    /// The values of a Secret for a cluster, checked.
    ///
    /// # Errors
    /// When a file is missing, readable by others, lies in the repository, or has something wrong in it.
    pub fn material(
        &self,
        needed: &NeededSecret,
        answers: &Answers,
        cluster: &str,
    ) -> Result<Material> {
        if needed.short == "credentials" {
            return self.credentials(cluster);
        }
        let names = Names::of(&answers.release, &answers.namespace);
        let is_webhook = needed.short == "webhook";
        let cas = answers.webhook_cas();
        let wanted = Wanted {
            host: is_webhook.then_some(names.webhook_host.as_str()),
            ca: self.next_ca.or(cas.as_deref()).filter(|_| is_webhook),
            now: self.now,
        };
        let of_answers = Wanted {
            ca: cas.as_deref(),
            ..wanted
        };
        let certificate = self.file(needed, &format!("{}.crt", needed.short), cluster)?;
        let key = self.file(needed, &format!("{}.key", needed.short), cluster)?;
        let content = read(&certificate)?;
        let secret = read_private(&key)?;
        let pair = certificate::check(&content, &secret, &wanted).map_err(|fault| {
            let file = match fault.part() {
                Part::Certificate => &certificate,
                Part::Key => &key,
            };
            let shown = file.display().to_string();
            let is_old = is_webhook && self.next_ca.is_some();
            if is_old && certificate::check(&content, &secret, &of_answers).is_ok() {
                return Problem::invalid(format!(
                    "cannot use `{shown}` for {}: it is of the old CA, and this step needs one of the new CA",
                    needed.what
                ))
                .hint("have the new CA sign one, and name its folder: `--secret-files DIR`");
            }
            Problem::invalid(format!("cannot use `{shown}` for {}: {fault}", needed.what))
                .hint(fault.hint(&quoted(&shown)))
        })?;
        let mut values = vec![
            ("tls.crt", SecretBytes::from(pair.chain.into_bytes())),
            ("tls.key", pair.key),
        ];
        if let (true, Some(cas), Some(signed)) =
            (needed.keys.contains(&"ca.crt"), &cas, &pair.facts.ca)
        {
            let ca = certificate::of_fingerprint(cas, signed);
            values.push(("ca.crt", SecretBytes::from(ca.into_bytes())));
        }
        Ok(Material {
            values,
            facts: Some(pair.facts),
        })
    }

    fn credentials(&self, cluster: &str) -> Result<Material> {
        let place = match &self.arguments.password_file {
            Some(file) if file.as_os_str() == "-" => None,
            Some(file) => Some(self.outside(&self.folder.join(file))?),
            None => {
                let Some(file) = self.find("password", cluster)? else {
                    return Ok(credentials(random_password()));
                };
                Some(file)
            }
        };
        let (content, shown) = match &place {
            Some(file) => (read_private(file)?, file.display().to_string()),
            None => (self.typed()?, "standard input".to_owned()),
        };
        let password = given_password(content.expose_secret().to_vec()).map_err(|why| {
            Problem::invalid(format!("cannot take the password from {shown}: {why}"))
                .hint("the file has the password and nothing else, on one line")
                .hint("or leave it out, and a random one is made")
        })?;
        Ok(credentials(password))
    }

    /// What stands on standard input, for every cluster the same.
    fn typed(&self) -> Result<SecretBytes> {
        if self.typed.get().is_none() {
            let read = read_stdin()?;
            let _ = self.typed.set(read).is_err();
        }
        Ok(self
            .typed
            .get()
            .map(copy)
            .unwrap_or_else(|| SecretBytes::from(Vec::new())))
    }

    /// The file of a value, which has to be there.
    fn file(&self, needed: &NeededSecret, name: &str, cluster: &str) -> Result<PathBuf> {
        if let Some(found) = self.find(name, cluster)? {
            return Ok(found);
        }
        let problem = match &self.arguments.secret_files {
            None => Problem::invalid(format!(
                "nothing says where {} comes from, which the Secret `{}` needs",
                needed.what, needed.name
            ))
            .hint(format!(
                "add `--secret-files DIR`, a folder outside of the repository with {0}.crt and {0}.key",
                needed.short
            )),
            Some(folder) => Problem::invalid(format!(
                "there is no `{name}` in `{}`, which the Secret `{}` needs for {}",
                folder.display(),
                needed.name,
                needed.what
            ))
            .hint(format!("put it there as `{name}`, PEM")),
        };
        Err(problem
            .hint("for a trial: haptic-scaffold secrets trial-certificates DIR")
            .hint("or let cert-manager make certificates: `--certificates cert-manager`")
            .into())
    }

    /// A file of the folder, of the cluster's own folder in it first.
    ///
    /// # Errors
    /// When the folder isn't there, or lies in the repository.
    pub fn find(&self, name: &str, cluster: &str) -> Result<Option<PathBuf>> {
        let Some(folder) = &self.arguments.secret_files else {
            return Ok(None);
        };
        let folder = self.folder.join(folder);
        if !folder.is_dir() {
            return Err(
                Problem::invalid(format!("there is no folder `{}`", folder.display()))
                    .hint("`--secret-files DIR` names a folder that is there")
                    .into(),
            );
        }
        let found = [folder.join(cluster).join(name), folder.join(name)]
            .into_iter()
            .find(|path| path.is_file());
        found.map(|path| self.outside(&path)).transpose()
    }

    /// A place outside of every repository, and of the one that is written too: one `git add` and a key is in Git.
    fn outside(&self, path: &Path) -> Result<PathBuf> {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_here = self.repository.is_some_and(|root| {
            real.starts_with(root.canonicalize().unwrap_or_else(|_| root.to_owned()))
        });
        if is_here || repository_around(&real).is_some() {
            return Err(Problem::invalid(format!(
                "`{}` lies in a repository, where one `git add` puts keys into Git",
                path.display()
            ))
            .hint("move it to a folder outside of every repository")
            .into());
        }
        Ok(path.to_owned())
    }
}

fn credentials(password: SecretBytes) -> Material {
    Material {
        values: vec![
            (
                "dataplane_username",
                SecretBytes::from(USER.as_bytes().to_vec()),
            ),
            ("dataplane_password", password),
        ],
        facts: None,
    }
}

/// Reads a file that is public.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let problem =
        |why: std::io::Error| Problem::invalid(format!("cannot read `{}`: {why}", path.display()));
    let size = std::fs::metadata(path).map_err(problem)?.len();
    if size > MOST_BYTES {
        return Err(Problem::invalid(format!(
            "cannot read `{}`: it is larger than {} MiB",
            path.display(),
            MOST_BYTES >> 20
        ))
        .into());
    }
    let mut content = std::fs::read(path).map_err(problem)?;
    // Editors put it there, and it is no part of what was meant.
    if content.starts_with(BOM) {
        content.drain(..BOM.len());
    }
    Ok(content)
}

/// Reads a file that nobody else may read.
fn read_private(path: &Path) -> Result<SecretBytes> {
    refuse_readable(path)?;
    let content = Zeroizing::new(read(path)?);
    Ok(SecretBytes::from(content.to_vec()))
}

#[cfg(unix)]
fn refuse_readable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(meta) = std::fs::metadata(path) else {
        return Ok(());
    };
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(Problem::invalid(format!(
        "cannot take a secret from `{}`: its mode {mode:04o} lets others read it",
        path.display()
    ))
    .hint(format!("chmod 600 {}", quoted(&path.display().to_string())))
    .into())
}

#[cfg(not(unix))]
fn refuse_readable(_: &Path) -> Result<()> {
    Ok(())
}

fn read_stdin() -> Result<SecretBytes> {
    let mut content = Zeroizing::new(Vec::with_capacity(4096));
    std::io::stdin()
        .take(MOST_BYTES + 1)
        .read_to_end(&mut content)
        .context("cannot read standard input")?;
    if content.len() as u64 > MOST_BYTES {
        return Err(
            Problem::invalid("standard input is longer than 1 MiB, which no password is").into(),
        );
    }
    Ok(SecretBytes::from(content.to_vec()))
}

/// Writes a new file that its owner alone can read, outside of every repository.
///
/// # Errors
/// When the file is there, lies in a repository, or the file system keeps no permissions; then nothing is left.
pub fn write_private(path: &Path, content: &SecretBytes) -> Result<()> {
    write_new(path, content.expose_secret(), true)
}

/// Writes a new file, readable by others or not.
///
/// # Errors
/// As [`write_private`].
pub fn write_new(path: &Path, content: &[u8], private: bool) -> Result<()> {
    use std::io::Write as _;
    refuse_repository(path)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(if private { 0o600 } else { 0o644 });
    }
    let shown = path.display();
    let mut file = options.open(path).map_err(|why| match why.kind() {
        std::io::ErrorKind::AlreadyExists => Problem::invalid(format!(
            "`{shown}` is there already, and a key is never overwritten"
        ))
        .hint("name another file, or take that one away yourself"),
        _ => Problem::invalid(format!("cannot write `{shown}`: {why}")),
    })?;
    let written = check_mode(&file, private)
        .and_then(|()| Ok(file.write_all(content).and_then(|()| file.sync_all())?))
        .with_context(|| format!("cannot write `{shown}`"));
    if written.is_err() {
        let _ = std::fs::remove_file(path).is_err();
    }
    written
}

/// A file system without permissions, or a mask of the directory, would leave the key readable.
#[cfg(unix)]
fn check_mode(file: &std::fs::File, private: bool) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    if private && mode & 0o077 != 0 {
        return Err(Problem::invalid(format!(
            "its mode would be {mode:04o}, so others could read the key"
        ))
        .hint("choose a folder on a file system that keeps permissions")
        .into());
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &std::fs::File, _: bool) -> Result<()> {
    Ok(())
}

/// Keys are made outside of every repository, whichever it is.
pub fn refuse_repository(path: &Path) -> Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let parent = parent.canonicalize().map_err(|why| {
        Problem::invalid(format!("cannot write `{}`: {why}", path.display()))
            .hint("name a file in a folder that is there")
    })?;
    if let Some(root) = repository_around(&parent) {
        return Err(Problem::invalid(format!(
            "`{}` lies in the repository `{}`, where one `git add` puts a key into Git",
            path.display(),
            root.display()
        ))
        .hint("name a file outside of every repository")
        .into());
    }
    Ok(())
}

/// The repository that a place lies in, with a work tree or bare.
fn repository_around(path: &Path) -> Option<&Path> {
    let is_bare = |folder: &Path| {
        folder.join("HEAD").is_file()
            && folder.join("objects").is_dir()
            && folder.join("refs").is_dir()
    };
    path.ancestors()
        .find(|folder| folder.join(".git").exists() || is_bare(folder))
}
