//! What a changed answer does to things that run: said before anything is written.

use crate::layout::answers::Answers;
use crate::layout::definition::Provider;
use crate::layout::recorded::{Style, Sync};

/// What the difference between two sets of answers does in the clusters, one sentence each.
pub fn consequences(old: &Answers, new: &Answers) -> Vec<String> {
    let mut told = Vec::new();
    if old.provider != new.provider {
        told.push(handover(old));
        return told;
    }
    let flux = new.provider == Provider::Flux;
    for (name, before, after) in [
        ("release", &old.release, &new.release),
        ("namespace", &old.namespace, &new.namespace),
    ] {
        if before != after {
            told.push(moved(flux, name, before, after));
        }
    }
    if flux && old.style != new.style && [old.style, new.style].contains(&Style::Guide) {
        told.push("`style` changes storageNamespace, where Helm keeps the release: Flux uninstalls the release and installs it anew".to_owned());
    }
    if old.sync == Sync::Own && new.sync == Sync::Bootstrap {
        told.push(format!(
            "`sync` changes to bootstrap: the Kustomization {}-sync deletes itself and all that it made. First set `prune: false` in every sync.yaml, commit, wait, then change it",
            old.release
        ));
    }
    if old.layout != new.layout {
        told.push(format!("`layout` changes from {} to {}: objects that only the old one has are deleted where it prunes", old.layout, new.layout));
    }
    for cluster in old
        .clusters
        .iter()
        .filter(|old| new.clusters.iter().all(|new| new.name != old.name))
    {
        told.push(gone(flux, old, &cluster.name));
    }
    told
}

fn moved(flux: bool, name: &str, before: &str, after: &str) -> String {
    if flux {
        format!(
            "`{name}` changes from `{before}` to `{after}`: where it runs, Flux uninstalls the release and installs it anew"
        )
    } else {
        format!(
            "`{name}` changes from `{before}` to `{after}`: Argo CD makes a second release and leaves the first running; delete the old Applications by hand when the new one serves"
        )
    }
}

fn handover(old: &Answers) -> String {
    match old.provider {
        Provider::Flux => "`provider` changes from flux to argo: Flux's Kustomizations go and take the release with them where they prune. First suspend them, then commit".to_owned(),
        Provider::Argo => format!("`provider` changes from argo to flux: the Applications go on; delete {}-root and the others by hand before Flux takes the release", old.release),
    }
}

fn gone(flux: bool, old: &Answers, cluster: &str) -> String {
    if flux {
        format!(
            "cluster `{cluster}` goes: Flux there uninstalls the release. To leave it running, set `prune: false` in its Kustomizations first, commit, and wait"
        )
    } else {
        format!(
            "cluster `{cluster}` goes: its Applications and what they run stay until you delete them: kubectl delete application --namespace {} {1}-{cluster}-release {1}-{cluster}-secrets",
            old.argocd_namespace, old.release
        )
    }
}
