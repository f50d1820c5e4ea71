//! What an API server refuses, in words that can't hold a Secret's value.
//!
//! The server's sentences quote what was sent to it (`Invalid value: "…"`), whole objects too, and admission webhooks
//! write what they like. So no sentence is repeated. From a refusal come only: its status and `reason`, the name of the
//! user, quota or webhook where the sentence is one of Kubernetes' own, and for an invalid object the fields with the
//! reason of each. What was wanted is known here anyway.

use kube::core::Status;

use super::aim::{Aim, Place};
use crate::error::{ExitStatus, Problem};

/// An answer that is no success.
pub(super) struct Refused {
    code: u16,
    /// Of a proxy or another kind of server there is none.
    status: Option<Status>,
}

impl Refused {
    /// Takes what an API server says of a failure.
    pub(super) fn parse(code: u16, body: &[u8]) -> Self {
        let status = serde_json::from_slice::<Status>(body)
            .ok()
            .filter(Status::is_failure);
        Self { code, status }
    }

    /// Whether an object of this resource isn't there. A path that the server doesn't know is something else.
    pub(super) fn is_missing(&self, resource: &str) -> bool {
        let status = self.status.as_ref().filter(|_| self.code == 404);
        let details = status.and_then(|status| status.details.as_ref());
        details.is_some_and(|details| details.kind == resource)
    }

    /// Whether there is nothing at a path, whoever says so.
    pub(super) fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// Whether an API server says that what was asked for isn't there.
    pub(super) fn is_gone(&self) -> bool {
        self.code == 404 && self.status.is_some()
    }

    /// Whether the server may not know the kind at all: a path that it doesn't know, or a user without rights on it, which
    /// is looked at first.
    pub(super) fn may_be_unknown(&self) -> bool {
        self.code == 403 || (self.code == 404 && !self.names_a_kind())
    }

    fn names_a_kind(&self) -> bool {
        let details = self
            .status
            .as_ref()
            .and_then(|status| status.details.as_ref());
        details.is_some_and(|details| !details.kind.is_empty())
    }

    /// Whether a list can't be continued any more.
    pub(super) fn is_expired(&self) -> bool {
        self.code == 410
    }

    /// Whether it can't be answered in the state that something is in, such as a log before its program runs.
    pub(super) fn is_not_ready(&self) -> bool {
        self.code == 400
            && self
                .status
                .as_ref()
                .is_some_and(|status| status.reason == "BadRequest")
    }

    /// Whether an object of the same name is there.
    pub(super) fn is_there(&self) -> bool {
        self.code == 409 && self.status.as_ref().is_some_and(Status::is_already_exists)
    }

    fn sentence(&self) -> &str {
        self.status
            .as_ref()
            .map_or("", |status| status.message.as_str())
    }

    fn causes(&self) -> impl Iterator<Item = &kube::core::response::StatusCause> {
        let details = self
            .status
            .as_ref()
            .and_then(|status| status.details.as_ref());
        details.into_iter().flat_map(|details| &details.causes)
    }

    /// ` (Reason)`, if it is a word as Kubernetes has them.
    fn reason(&self) -> String {
        let reason = self
            .status
            .as_ref()
            .map_or("", |status| status.reason.as_str());
        if is_word(reason) {
            format!(" ({reason})")
        } else {
            String::new()
        }
    }
}

/// Says why something was refused, and what to do.
pub(super) fn problem(place: &Place, aim: &Aim, refused: &Refused) -> Problem {
    let remote = |reason: &str| Problem::new(ExitStatus::Remote, aim.missed(place, reason));
    let kubectl = place.kubectl();
    match refused.code {
        401 => remote("it doesn't accept the login of the kubeconfig").hint(format!(
            "log in anew, then try `{kubectl} auth whoami`; `--context` names another context"
        )),
        403 => forbidden(place, aim, refused),
        404 if refused.is_missing("namespaces") => {
            let namespace = aim.namespace.as_deref().unwrap_or_default();
            remote(&format!("there is no namespace `{namespace}`"))
                .hint(format!("{kubectl} create namespace {namespace}"))
        }
        422 => remote(&format!("it finds the object invalid{}", fields(refused)))
            .hint("the cluster's own words are left out, as they may quote a Secret's value"),
        429 | 503 | 504 => remote(&format!(
            "it is busy (status {}{})",
            refused.code,
            refused.reason()
        ))
        .hint("try again later"),
        404 if refused.status.is_none() => {
            remote("what answers there is no Kubernetes API server (status 404)").hint(format!(
                "check the server of the context: `{kubectl} cluster-info`"
            ))
        }
        code => remote(&format!("unexpected status {code}{}", refused.reason())).hint(format!(
            "see whether kubectl gets further: `{kubectl} get --raw /readyz`"
        )),
    }
}

/// Says that an answer with a good status isn't what was asked for.
pub(super) fn unusable(place: &Place, aim: &Aim, wanted: &str) -> Problem {
    let reason = format!("the answer is not {wanted}");
    Problem::new(ExitStatus::Remote, aim.missed(place, &reason)).hint(format!(
        "check the server of the context: `{} cluster-info`",
        place.kubectl()
    ))
}

/// A missing right, or one of the other things that Kubernetes answers with the same status.
fn forbidden(place: &Place, aim: &Aim, refused: &Refused) -> Problem {
    let remote = |reason: &str| Problem::new(ExitStatus::Remote, aim.missed(place, reason));
    let sentence = refused.sentence();
    if refused
        .causes()
        .any(|cause| cause.reason == "NamespaceTerminating")
    {
        return remote("the namespace is being deleted").hint("wait until it is gone");
    }
    if let Some(webhook) = name_between(sentence, "admission webhook \"", "\" denied") {
        return remote(&format!("the admission webhook `{webhook}` denied it"))
            .hint("its reason is left out, as it may quote a Secret's value; ask who runs it");
    }
    if let Some(quota) = name_between(sentence, "exceeded quota: ", ",") {
        let namespace = aim.namespace.as_deref().unwrap_or_default();
        return remote(&format!("the quota `{quota}` is used up")).hint(format!(
            "{} describe resourcequota {quota} --namespace {namespace}",
            place.kubectl()
        ));
    }
    let who = match name_between(sentence, "User \"", "\" cannot ") {
        Some(user) => format!("the user `{user}`"),
        None => "the user of the kubeconfig".to_owned(),
    };
    if let Some(path) = &aim.path {
        return remote(&format!("{who} lacks the right {}", aim.right()))
            .hint(format!("{} {}", place.kubectl(), aim.can_i()))
            .hint(format!(
                "a ClusterRole with the verb `{}` on the path `{path}`, bound to that user, gives the right",
                aim.verb
            ));
    }
    let role = if aim.namespace.is_some() {
        "Role"
    } else {
        "ClusterRole"
    };
    remote(&format!("{who} lacks the right {}", aim.right()))
        .hint(format!("{} {}", place.kubectl(), aim.can_i()))
        .hint(format!(
            "a {role} with the verb `{}` on `{}`{}, bound to that user, gives the right",
            aim.verb,
            aim.resource,
            aim.of_group()
        ))
}

/// The fields of an invalid object, without what stands in them.
fn fields(refused: &Refused) -> String {
    let fields: Vec<String> = refused
        .causes()
        .filter(|cause| is_name(&cause.field) && is_word(&cause.reason))
        .map(|cause| format!("`{}` ({})", cause.field, cause.reason))
        .collect();
    if fields.is_empty() {
        String::new()
    } else {
        format!(": {}", fields.join(", "))
    }
}

fn name_between<'a>(sentence: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = sentence.split_once(before)?;
    let (name, _) = rest.split_once(after)?;
    is_name(name).then_some(name)
}

/// Users, quotas, webhooks and fields: one word, such as `system:serviceaccount:ci:runner` or `data[tls.crt]`.
fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.:@/[]+=".contains(c);
    !text.is_empty() && text.len() <= 253 && text.chars().all(is_part)
}

/// Reasons: letters alone.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.chars().all(|c| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(code: u16, status: &serde_json::Value) -> Problem {
        let place = Place {
            context: "prod".to_owned(),
            server: "https://api.example.org".to_owned(),
            login: None,
        };
        let aim = Aim::in_namespace(
            "create the Secret `haptic/tls`".to_owned(),
            "create",
            "secrets",
            "haptic",
        );
        let refused = Refused::parse(code, status.to_string().as_bytes());
        problem(&place, &aim, &refused)
    }

    fn status(reason: &str, message: &str, details: &serde_json::Value) -> serde_json::Value {
        json!({ "status": "Failure", "reason": reason, "message": message, "details": details })
    }

    #[test]
    fn an_invalid_object_is_told_by_its_fields_alone() {
        let value = r#"Secret "tls" is invalid: data[tls.crt]: Invalid value: "hunter2": no"#;
        let details = json!({ "causes": [
            { "reason": "FieldValueInvalid", "field": "data[tls.crt]", "message": value },
            { "reason": "hunter2 is bad", "field": "hunter2", "message": value },
        ] });
        let problem = told(422, &status("Invalid", value, &details));
        assert!(!format!("{problem:?}").contains("hunter2"), "{problem:?}");
        assert!(
            problem
                .message
                .ends_with("invalid: `data[tls.crt]` (FieldValueInvalid)")
        );
    }

    #[test]
    fn a_denial_is_not_taken_for_a_missing_right() {
        let cases = [
            (
                r#"admission webhook "policy.example.org" denied the request: hunter2"#,
                "the admission webhook `policy.example.org` denied it",
            ),
            (
                r#"secrets "tls" is forbidden: exceeded quota: small, requested: secrets=1"#,
                "the quota `small` is used up",
            ),
            (
                r#"secrets is forbidden: User "system:serviceaccount:ci:runner" cannot create resource "secrets""#,
                "the user `system:serviceaccount:ci:runner` lacks the right `create` on `secrets` in the namespace `haptic`",
            ),
            (
                "hunter2",
                "the user of the kubeconfig lacks the right `create` on `secrets` in the namespace `haptic`",
            ),
        ];
        for (message, end) in cases {
            let problem = told(403, &status("Forbidden", message, &json!({})));
            assert!(problem.message.ends_with(end), "{problem:?}");
            assert!(!format!("{problem:?}").contains("hunter2"));
        }
        let details = json!({ "causes": [{ "reason": "NamespaceTerminating" }] });
        let problem = told(403, &status("Forbidden", "", &details));
        assert!(problem.message.ends_with("is being deleted"));
    }

    #[test]
    fn a_page_of_another_server_is_no_answer_about_an_object() {
        let refused = Refused::parse(404, b"<html>hunter2</html>");
        assert!(!refused.is_missing("secrets"));
        let problem = told(404, &json!("hunter2"));
        assert!(problem.message.contains("no Kubernetes API server"));
        assert!(!format!("{problem:?}").contains("hunter2"));
    }
}
