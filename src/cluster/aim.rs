//! [`Aim`] and [`Place`]: what was wanted of which cluster, the first half of every message.

use std::fmt;

use crate::error::Problem;

/// Which cluster is asked, in the user's words.
pub(super) struct Place {
    /// The context of the kubeconfig.
    pub(super) context: String,
    /// The API server's address without user and password.
    pub(super) server: String,
    /// The program that the kubeconfig names for logging in.
    pub(super) login: Option<String>,
}

impl Place {
    /// The start of a kubectl command for the same cluster.
    pub(super) fn kubectl(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
        if self.context.chars().all(is_plain) {
            format!("kubectl --context {}", self.context)
        } else {
            format!(
                "kubectl --context '{}'",
                self.context.replace('\'', r"'\''")
            )
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the cluster of context `{}` ({})",
            self.context, self.server
        )
    }
}

/// What is wanted: in words, and as the right that it takes.
pub(super) struct Aim {
    /// As an infinitive, such as ``create the namespace `haptic` ``.
    pub(super) text: String,
    /// The verb of Kubernetes' rights.
    pub(super) verb: &'static str,
    /// The resource, in the plural.
    pub(super) resource: &'static str,
    /// Its API group; empty for the core.
    pub(super) group: &'static str,
    /// The path that the right is on, where it is on none of a resource.
    pub(super) path: Option<String>,
    /// The namespace; none for what is of the whole cluster.
    pub(super) namespace: Option<String>,
}

impl Aim {
    /// Wants something of the core in a namespace.
    pub(super) fn in_namespace(
        text: String,
        verb: &'static str,
        resource: &'static str,
        namespace: &str,
    ) -> Self {
        Self {
            text,
            verb,
            resource,
            group: "",
            path: None,
            namespace: Some(namespace.to_owned()),
        }
    }

    /// Wants something that is of the whole cluster.
    pub(super) fn everywhere(
        text: String,
        verb: &'static str,
        resource: &'static str,
        group: &'static str,
    ) -> Self {
        Self {
            text,
            verb,
            resource,
            group,
            path: None,
            namespace: None,
        }
    }

    /// The message that names this aim, the place and a reason.
    pub(super) fn missed(&self, place: &Place, reason: &str) -> String {
        format!("cannot {} in {place}: {reason}", self.text)
    }

    /// The right that it takes, in words.
    pub(super) fn right(&self) -> String {
        if let Some(path) = &self.path {
            return format!("`{}` on the path `{path}`", self.verb);
        }
        let group = self.of_group();
        let scope = match &self.namespace {
            Some(namespace) => format!("in the namespace `{namespace}`"),
            None => "in the whole cluster".to_owned(),
        };
        format!("`{}` on `{}`{group} {scope}", self.verb, self.resource)
    }

    /// ` of the group …`, if it isn't the core.
    pub(super) fn of_group(&self) -> String {
        if self.group.is_empty() {
            String::new()
        } else {
            format!(" of the group `{}`", self.group)
        }
    }

    /// The rest of a kubectl command that asks for this right.
    pub(super) fn can_i(&self) -> String {
        if let Some(path) = &self.path {
            return format!("auth can-i {} {path}", self.verb);
        }
        let dot = if self.group.is_empty() { "" } else { "." };
        let namespace = match &self.namespace {
            Some(namespace) => format!(" --namespace {namespace}"),
            None => String::new(),
        };
        // After a slash kubectl takes a name.
        let (resource, part) = match self.resource.split_once('/') {
            Some((resource, part)) => (resource, format!(" --subresource={part}")),
            None => (self.resource, String::new()),
        };
        format!(
            "auth can-i {} {resource}{dot}{}{part}{namespace}",
            self.verb, self.group
        )
    }
}

/// Refuses a name that would change the path of the request that it becomes a part of.
pub(super) fn plain_name(name: &str) -> Result<&str, Problem> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let is_name =
        name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_plain);
    if is_name {
        Ok(name)
    } else {
        Err(
            Problem::invalid(format!("not a name that Kubernetes takes: `{name}`"))
                .hint("lower-case letters, digits, `-` and `.`, a letter or digit first"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_changes_the_path() {
        assert_eq!(
            plain_name("haptic-tls.v1").expect("is one"),
            "haptic-tls.v1"
        );
        for name in ["", "..", ".", "a/b", "a?x=1", "a#b", "A", "a b", "ä"] {
            assert!(plain_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_context_is_one_word_for_the_shell() {
        let place = |context: &str| Place {
            context: context.to_owned(),
            server: String::new(),
            login: None,
        };
        let arn = "arn:aws:eks:eu-central-1:1:cluster/x";
        assert_eq!(place(arn).kubectl(), format!("kubectl --context {arn}"));
        assert_eq!(place("it's").kubectl(), r"kubectl --context 'it'\''s'");
    }
}
