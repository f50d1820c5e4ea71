//! The certificate authorities that validating webhooks trust, from the cluster's list of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

#[derive(Deserialize)]
struct List {
    items: Vec<Configuration>,
}

#[derive(Deserialize)]
struct Configuration {
    webhooks: Option<Vec<Webhook>>,
}

#[derive(Deserialize)]
struct Webhook {
    #[serde(rename = "clientConfig")]
    client: Client,
}

#[derive(Deserialize)]
struct Client {
    service: Option<Service>,
    #[serde(rename = "caBundle", default)]
    bundle: String,
}

#[derive(Deserialize)]
struct Service {
    namespace: String,
    name: String,
}

/// Returns the decoded bundle of every webhook of a Service; nothing if the JSON is no such list.
pub(super) fn bundles(json: &[u8], namespace: &str, name: &str) -> Option<Vec<Vec<u8>>> {
    let list: List = serde_json::from_slice(json).ok()?;
    list.items
        .into_iter()
        .flat_map(|configuration| configuration.webhooks.unwrap_or_default())
        .map(|webhook| webhook.client)
        .filter(|client| {
            client
                .service
                .as_ref()
                .is_some_and(|service| service.namespace == namespace && service.name == name)
        })
        .map(|client| STANDARD.decode(client.bundle).ok())
        .collect()
}
