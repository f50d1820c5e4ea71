//! [`Shared`]: one look-up for each question of a run, however many repositories ask it, and from however many threads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{ChartSource, Published, Registry, RegistryError, Release};

type Answers<T> = Mutex<HashMap<String, Arc<OnceLock<Result<T, RegistryError>>>>>;

/// Keeps what a registry answered. Who asks while another waits for the same answer waits for that one.
pub struct Shared {
    inner: Arc<dyn Registry + Send + Sync>,
    versions: Answers<Vec<Published>>,
    releases: Answers<Release>,
    archives: Answers<Vec<u8>>,
    tags: Answers<Vec<String>>,
}

impl Shared {
    /// Before a registry.
    pub fn before(inner: Arc<dyn Registry + Send + Sync>) -> Self {
        Self {
            inner,
            versions: Answers::default(),
            releases: Answers::default(),
            archives: Answers::default(),
            tags: Answers::default(),
        }
    }
}

fn once<T: Clone>(
    answers: &Answers<T>,
    key: String,
    ask: impl FnOnce() -> Result<T, RegistryError>,
) -> Result<T, RegistryError> {
    let cell = {
        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(answers.entry(key).or_default())
    };
    cell.get_or_init(ask).clone()
}

impl Registry for Shared {
    fn versions(&self, source: &ChartSource) -> Result<Vec<Published>, RegistryError> {
        once(&self.versions, source.to_string(), || {
            self.inner.versions(source)
        })
    }

    fn left_out(&self, source: &ChartSource) -> usize {
        self.inner.left_out(source)
    }

    fn release(&self, source: &ChartSource, version: &str) -> Result<Release, RegistryError> {
        let key = format!("{source} {version}");
        once(&self.releases, key, || self.inner.release(source, version))
    }

    fn archive(&self, source: &ChartSource, version: &str) -> Result<Vec<u8>, RegistryError> {
        let key = format!("{source} {version}");
        once(&self.archives, key, || self.inner.archive(source, version))
    }

    fn git_tags(&self, address: &str) -> Result<Vec<String>, RegistryError> {
        once(&self.tags, address.to_owned(), || {
            self.inner.git_tags(address)
        })
    }

    fn file(&self, aim: &str, address: &str) -> Result<Vec<u8>, RegistryError> {
        self.inner.file(aim, address)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Slow(AtomicUsize);

    impl Registry for Slow {
        fn versions(&self, _: &ChartSource) -> Result<Vec<Published>, RegistryError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(20));
            Ok(Vec::new())
        }

        fn release(&self, _: &ChartSource, _: &str) -> Result<Release, RegistryError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Release {
                digest: None,
                created: None,
            })
        }

        fn archive(&self, _: &ChartSource, _: &str) -> Result<Vec<u8>, RegistryError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Vec::new())
        }

        fn git_tags(&self, _: &str) -> Result<Vec<String>, RegistryError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Vec::new())
        }

        fn file(&self, _: &str, _: &str) -> Result<Vec<u8>, RegistryError> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn many_threads_ask_once() {
        let slow = Arc::new(Slow::default());
        let shared = Shared::before(Arc::clone(&slow) as Arc<dyn Registry + Send + Sync>);
        let source = ChartSource::new("oci://r.example.org/x", "api").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    shared.versions(&source).unwrap();
                    shared.release(&source, "1.0.0").unwrap();
                    shared.archive(&source, "1.0.0").unwrap();
                    shared.git_tags("https://g.example.org/a").unwrap();
                });
            }
        });
        assert_eq!(slow.0.load(Ordering::Relaxed), 4);
        shared.release(&source, "1.0.1").unwrap();
        assert_eq!(slow.0.load(Ordering::Relaxed), 5);
    }
}
