//! What a changed answer does to things that run: said before anything is written.

use crate::layout::answers::Answers;
use crate::layout::definition::{ClusterCount, Layout, Provider};
use crate::layout::recorded::{Style, Sync};

/// What the difference between two sets of answers does in the clusters, one sentence each.
pub fn consequences(layout: &Layout, old: &Answers, new: &Answers) -> Vec<String> {
    if old.provider != new.provider {
        return vec![handover(old)];
    }
    let mut told = match new.provider {
        Provider::Flux => flux(old, new),
        Provider::Argo => argo(layout, old, new),
    };
    if old.chart.name != new.chart.name {
        told.push(format!("`chart` changes from {} to {} under the release `{}`: the old chart's objects go with it", old.chart.name, new.chart.name, old.release));
    }
    if old.layout != new.layout {
        told.push(format!("`layout` changes from {} to {}: objects that only the old one has are deleted where it prunes", old.layout, new.layout));
    }
    told
}

fn flux(old: &Answers, new: &Answers) -> Vec<String> {
    let mut told = Vec::new();
    for (name, before, after) in [
        ("release", &old.release, &new.release),
        ("namespace", &old.namespace, &new.namespace),
    ] {
        if before != after {
            told.push(format!("`{name}` changes from `{before}` to `{after}`: where it runs, Flux uninstalls the release and installs it anew"));
        }
    }
    if old.style != new.style && [old.style, new.style].contains(&Style::Guide) {
        told.push("`style` changes storageNamespace, where Helm keeps the release: Flux uninstalls the release and installs it anew".to_owned());
    }
    if old.sync == Sync::Own && new.sync == Sync::Bootstrap {
        told.push(format!(
            "`sync` changes to bootstrap: the Kustomization {}-sync deletes itself and all that it made. First set `prune: false` in every sync.yaml, commit, wait, then change it",
            old.release
        ));
    }
    for cluster in gone(old, new) {
        told.push(format!(
            "cluster `{cluster}` goes: Flux there uninstalls the release. To leave it running, set `prune: false` in its Kustomizations first, commit, and wait"
        ));
    }
    told
}

fn argo(layout: &Layout, old: &Answers, new: &Answers) -> Vec<String> {
    let mut told = Vec::new();
    if old.release != new.release {
        told.push(format!(
            "`release` changes from `{0}` to `{1}`: apply the new root.yaml and delete the Application {0}-root. What the old release made stays in the cluster, owned by nobody, until you delete it",
            old.release, new.release
        ));
    }
    if old.namespace != new.namespace {
        told.push(format!(
            "`namespace` changes from `{}` to `{}`: Argo CD makes the release anew there and leaves the first running in the old namespace until you delete it",
            old.namespace, new.namespace
        ));
    }
    if old.argocd_namespace != new.argocd_namespace {
        told.push("`argocd_namespace` changes: apply the new root.yaml, and delete the old Applications there".to_owned());
    }
    if layout.clusters == ClusterCount::One && old.clusters != new.clusters {
        told.push("`clusters` changes: the Applications deploy to the other cluster from now on. What runs in the old one stays until you delete it".to_owned());
    } else {
        for cluster in gone(old, new) {
            told.push(format!(
                "cluster `{cluster}` goes, and what runs in it stays. To take it away, before this is merged: argocd app delete {0}-{cluster}-release --cascade, then {0}-{cluster}-secrets",
                old.release
            ));
        }
    }
    told
}

fn handover(old: &Answers) -> String {
    match old.provider {
        Provider::Flux => "`provider` changes from flux to argo: Flux's Kustomizations go and take the release with them where they prune. First suspend them, then commit".to_owned(),
        Provider::Argo => format!("`provider` changes from argo to flux: the Applications go on; delete {}-root and the others by hand before Flux takes the release", old.release),
    }
}

/// Clusters that the new answers no longer have.
fn gone<'a>(old: &'a Answers, new: &Answers) -> Vec<&'a str> {
    let names = old.clusters.iter().map(|cluster| cluster.name.as_str());
    names
        .filter(|name| new.clusters.iter().all(|cluster| cluster.name != *name))
        .collect()
}
