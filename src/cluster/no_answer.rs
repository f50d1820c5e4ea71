//! Why a cluster gave no answer: network, TLS, time, or a login that doesn't work.
//!
//! Owns the translation of the client's errors. Their own texts are not shown as they are: the one of a login program
//! has all that it printed, tokens too.

use std::error::Error;
use std::io;
use std::time::Duration;

use kube::client::AuthError;
use kube::config::{KubeconfigError, LoadDataError};

use super::aim::{Aim, Place};
use crate::error::{ExitStatus, Problem};

/// The request can't even be written.
pub(super) fn unsendable(place: &Place, aim: &Aim) -> Problem {
    Problem::failed(aim.missed(place, "no request can be made of this name"))
}

/// The time is over.
pub(super) fn too_slow(place: &Place, aim: &Aim, limit: Duration) -> Problem {
    let reason = format!("no answer within {} seconds", limit.as_secs());
    unreachable(place, &aim.missed(place, &reason))
}

/// No answer came.
pub(super) fn problem(place: &Place, aim: &Aim, error: &kube::Error) -> Problem {
    let causes = || Chain(Some(error));
    if let Some(why) = causes().find_map(|cause| cause.downcast_ref::<AuthError>()) {
        return login_failed(place, &aim.missed(place, &login_reason(place, why)));
    }
    if let Some(why) = causes().find_map(tls_error) {
        let message = aim.missed(place, &format!("no trusted connection, {why}"));
        return Problem::new(ExitStatus::Remote, message).hint(format!(
            "the kubeconfig's `certificate-authority` has to be the one of this server; \
             try `{} cluster-info`",
            place.kubectl()
        ));
    }
    let io = causes().filter_map(|cause| cause.downcast_ref::<io::Error>());
    let reason = match io.last() {
        Some(why) if why.kind() == io::ErrorKind::ConnectionRefused => {
            "the connection was refused, nothing listens there".to_owned()
        }
        Some(why) if why.kind() == io::ErrorKind::TimedOut => "the connection timed out".to_owned(),
        Some(why) => why.to_string(),
        None => causes()
            .last()
            .map_or_else(String::new, |cause| cause.to_string()),
    };
    unreachable(place, &aim.missed(place, &format!("no answer, {reason}")))
}

/// The kubeconfig names something that can't be used, before anything was asked.
pub(super) fn not_ready(place: &Place, error: &kube::Error) -> Problem {
    let message = |reason: &str| format!("cannot get ready to ask {place}: {reason}");
    match error {
        kube::Error::Auth(why) => login_failed(place, &message(&login_reason(place, why))),
        kube::Error::ProxyProtocolUnsupported { .. }
        | kube::Error::ProxyProtocolDisabled { .. } => {
            Problem::invalid(message("its proxy is of a kind that is not supported"))
                .hint("`http://`, `https://` and `socks5://` are")
        }
        kube::Error::InferKubeconfig(
            KubeconfigError::LoadClientCertificate(LoadDataError::ReadFile(why, path))
            | KubeconfigError::LoadClientKey(LoadDataError::ReadFile(why, path)),
        ) => Problem::invalid(message(&format!(
            "cannot read `{}`, which the kubeconfig names: {why}",
            path.display()
        ))),
        _ => Problem::invalid(message(
            "the certificates or the key of its kubeconfig entry can't be used",
        ))
        .hint(format!("try `{} cluster-info`", place.kubectl())),
    }
}

fn unreachable(place: &Place, message: &str) -> Problem {
    Problem::new(ExitStatus::Remote, message).hint(format!(
        "check the network, the VPN and the proxy variables, and that `--context` is the one that is meant; \
         try `{} cluster-info`",
        place.kubectl()
    ))
}

fn login_failed(place: &Place, message: &str) -> Problem {
    Problem::new(ExitStatus::Remote, message).hint(format!(
        "log in anew, then try `{} auth whoami`",
        place.kubectl()
    ))
}

fn login_reason(place: &Place, error: &AuthError) -> String {
    let program = place.login.as_deref().unwrap_or("of the kubeconfig");
    match error {
        AuthError::AuthExecStart(why) => format!("the login program `{program}` can't run: {why}"),
        AuthError::AuthExecRun { out, .. } => {
            format!("the login program `{program}` failed ({})", out.status)
        }
        AuthError::AuthExecParse(_) | AuthError::ExecPluginFailed => {
            format!("the login program `{program}` printed no login")
        }
        AuthError::ReadTokenFile(why, path) => {
            format!("cannot read the token in `{}`: {why}", path.display())
        }
        _ => "the login of the kubeconfig can't be used".to_owned(),
    }
}

/// TLS reports through I/O errors within I/O errors, and those don't count what they carry among their causes.
fn tls_error<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    cause
        .downcast_ref::<rustls::Error>()
        .or_else(|| tls_error(cause.downcast_ref::<io::Error>()?.get_ref()?))
}

/// An error and its causes, outermost first.
struct Chain<'a>(Option<&'a (dyn Error + 'static)>);

impl<'a> Iterator for Chain<'a> {
    type Item = &'a (dyn Error + 'static);

    fn next(&mut self) -> Option<Self::Item> {
        let current = self.0.take()?;
        self.0 = current.source();
        Some(current)
    }
}
