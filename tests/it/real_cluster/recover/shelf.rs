//! [`Shelf`]: where versions of the chart are published, one after the other, as people do it.

use super::super::field::{Field, built};
use crate::env::TestEnv;
use crate::kit;
use crate::real_registries::distribution::{Distribution, logged_in};

/// Which one.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    Http,
    Oci,
    Login,
}

/// A source of the chart.
pub enum Shelf<'a> {
    /// The Helm repository of the cluster, with the arguments that its index is built with.
    Http(&'a Field, Vec<String>),
    /// The registry of the cluster.
    Oci(&'a Field),
    /// A registry that wants a login; its folder, and helm's file of logins.
    Login {
        registry: Distribution,
        _folder: tempfile::TempDir,
        logins: String,
    },
}

impl<'a> Shelf<'a> {
    /// For a registry with a login, helm has that login in the world of the test.
    pub fn at(place: Place, field: &'a Field, env: &TestEnv) -> Option<Self> {
        match place {
            Place::Http => Some(Self::Http(field, Vec::new())),
            Place::Oci => Some(Self::Oci(field)),
            Place::Login => Self::login(env),
        }
    }

    fn login(env: &TestEnv) -> Option<Self> {
        let (program, helm) = (kit::program("registry")?, kit::program("helm")?);
        let folder = tempfile::tempdir().expect("a folder");
        let registry = Distribution::start(&program, folder.path(), true);
        logged_in(env, &helm, &registry.host);
        let logins = env.home().join("xdg/helm/registry/config.json");
        assert!(logins.is_file(), "no {}", logins.display());
        Some(Self::Login {
            registry,
            _folder: folder,
            logins: logins.to_string_lossy().into_owned(),
        })
    }

    /// The host of a registry, and whether it wants a login. `None` for a Helm repository.
    pub fn registry(&self) -> Option<(&str, bool)> {
        match self {
            Self::Http(..) => None,
            Self::Oci(field) => Some((field.fact("registry"), false)),
            Self::Login { registry, .. } => Some((&registry.host, true)),
        }
    }

    /// The address without the chart's name.
    pub fn address(&self) -> String {
        match self.registry() {
            Some((host, _)) => format!("oci://{host}/charts"),
            None => match self {
                Self::Http(field, _) => field.fact("charts").to_owned(),
                _ => unreachable!("a registry has a host"),
            },
        }
    }

    /// Publishes a version; its pre-rollout Job finds the reason wrong, where there is one.
    pub fn publish(&mut self, version: &str, rejected: Option<&str>) {
        let mut new = vec!["--version".to_owned(), version.to_owned()];
        new.extend(
            rejected
                .into_iter()
                .flat_map(|reason| ["--reject".to_owned(), format!("{version}={reason}")]),
        );
        let address = self.address();
        let done = match self {
            // An index is written whole.
            Self::Http(field, all) => {
                all.extend(new);
                let mut arguments: Vec<&str> = all.iter().map(String::as_str).collect();
                arguments.extend(["--sha", ""]);
                field.charts(&arguments)
            }
            // A registry keeps what it has.
            Self::Oci(_) => pushed(&address, &[], &new),
            Self::Login { logins, .. } => {
                pushed(&address, &[("HELM_REGISTRY_CONFIG", logins)], &new)
            }
        };
        done.expect("a part of the kit that was there before");
    }
}

fn pushed(address: &str, variables: &[(&str, &str)], new: &[String]) -> Option<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut arguments = vec!["--sha", "", "--push", address];
    arguments.extend(new.iter().map(String::as_str));
    built(folder.path(), variables, &arguments)
}
