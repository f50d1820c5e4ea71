//! [`World`]: everything outside of the program, in one place. Only here are real effects made.

use std::path::PathBuf;
use std::sync::Arc;

use crate::model::env::Env;
use crate::registry::{HttpRegistry, Registry};

/// What the program sees of the outside.
#[derive(Clone)]
pub struct World {
    /// The environment.
    pub env: Env,
    /// The folder that the program was started in.
    pub folder: PathBuf,
    /// Seconds since 1970.
    pub now: i64,
    /// Whether questions can be asked: standard input and error are terminals.
    pub is_terminal: bool,
    /// Where chart versions are looked up.
    pub registry: Arc<dyn Registry + Send + Sync>,
}

impl World {
    /// The registry, for one thread.
    pub fn registry(&self) -> &dyn Registry {
        self.registry.as_ref()
    }

    /// The real one.
    pub fn real() -> Self {
        use std::io::IsTerminal as _;
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that reads the environment, the folder and the clock"
        )]
        let (vars, folder, now) = (
            std::env::vars_os()
                .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))),
            std::env::current_dir().unwrap_or_default(),
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(0)),
        );
        let env = Env::new(vars);
        Self {
            folder,
            now,
            is_terminal: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
            registry: Arc::new(HttpRegistry::new(
                concat!("haptic-scaffold/", env!("CARGO_PKG_VERSION")),
                env.clone(),
            )),
            env,
        }
    }
}
