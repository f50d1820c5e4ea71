//! The one kubeconfig file for the program, which has a flag for the file and none for a context.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::folder::Folder;
use crate::model::env::Env;

/// The file to give to the program: the user's own, or for another context a copy in the private folder.
pub(super) fn file(
    env: &Env,
    given: Option<&Path>,
    context: Option<&str>,
    folder: &Folder,
) -> Result<PathBuf, String> {
    let file = match given {
        Some(file) => file.to_owned(),
        None => usual(env)?,
    };
    // Not the system's words for the path alone: what is in the file is secret, its name isn't.
    let unread = |why: &str| format!("cannot read the kubeconfig `{}`: {why}", file.display());
    let file = std::fs::canonicalize(&file).map_err(|why| unread(&why.to_string()))?;
    let Some(context) = context else {
        return Ok(file);
    };
    let text = std::fs::read_to_string(&file).map_err(|why| unread(&why.to_string()))?;
    let config: Option<Value> = serde_yaml::from_str(&text).ok();
    let mut config = config.ok_or_else(|| unread("it is no YAML"))?;
    let contexts = config["contexts"].as_array();
    if !contexts.is_some_and(|all| all.iter().any(|one| one["name"] == context)) {
        return Err(unread(&format!("it has no context `{context}`")));
    }
    if config["current-context"] == context {
        return Ok(file);
    }
    config["current-context"] = context.into();
    let home = file.parent().unwrap_or(Path::new("/"));
    for cluster in config["clusters"].as_array_mut().into_iter().flatten() {
        make_absolute(cluster.get_mut("cluster"), &["certificate-authority"], home);
    }
    for user in config["users"].as_array_mut().into_iter().flatten() {
        let keys = ["client-certificate", "client-key", "tokenFile"];
        make_absolute(user.get_mut("user"), &keys, home);
        let program = user.get_mut("user").and_then(|user| user.get_mut("exec"));
        // A name without a folder is looked for on the PATH.
        let program = program.filter(|exec| {
            let command = exec["command"].as_str();
            command.is_some_and(|command| command.contains('/'))
        });
        make_absolute(program, &["command"], home);
    }
    folder.write("kubeconfig", config.to_string().as_bytes())
}

/// The file that `kubectl` would take, if it is one.
fn usual(env: &Env) -> Result<PathBuf, String> {
    let list = env.get("KUBECONFIG").unwrap_or_default();
    let mut named = std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty());
    match (named.next(), named.next(), env.get("HOME")) {
        (Some(file), None, _) => Ok(file),
        (Some(_), Some(_), _) => Err("`KUBECONFIG` names more than one file".to_owned()),
        (None, _, Some(home)) => Ok(Path::new(&home).join(".kube/config")),
        (None, _, None) => Err("there is no kubeconfig".to_owned()),
    }
}

/// Paths in a kubeconfig count from its own folder.
fn make_absolute(map: Option<&mut Value>, keys: &[&str], home: &Path) {
    let Some(map) = map else {
        return;
    };
    for key in keys {
        let Some(value) = map.get_mut(*key) else {
            continue;
        };
        let path = value.as_str().filter(|path| !path.is_empty());
        if let Some(path) = path {
            *value = home.join(path).to_string_lossy().into_owned().into();
        }
    }
}
