//! Secrets that stand in Git, opened by the real programs: SOPS and kubeseal.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{at, documents, run};
use crate::env::TestEnv;
use crate::{golden, kit};

const PASSWORD: &str = "tr0ub4dor & 3: \"correct\" #horses";

/// A world whose PATH begins with the kit's programs, with a password and the tests' certificates and keys.
pub fn world() -> Option<TestEnv> {
    let sops = kit::program("sops")?;
    let around = std::env::var_os("PATH").unwrap_or_default();
    let kit = sops.parent().expect("a folder").to_owned();
    let folders = std::iter::once(kit).chain(std::env::split_paths(&around));
    let path = std::env::join_paths(folders).expect("a path");
    let env = TestEnv::new().var("PATH", &path.to_string_lossy());
    golden::keys(&env);
    env.write("password", &format!("{PASSWORD}\n"))
        .mode("password", 0o600);
    Some(env)
}

/// Runs `init` into the folder `out`, with the password and more flags.
fn init(env: &TestEnv, flags: &[&str]) {
    let mut all = vec!["init", "out", "--yes", "--chart-version", "0.2.2"];
    all.extend(["--repo-url", golden::REPO_URL, "--provider", "flux"]);
    all.extend(["--password-file", "password"]);
    all.extend(flags);
    env.expect(0, &all);
}

/// A repository that is encrypted for a new age key in the file `age.key`, with certificates from a folder; gives the public key.
pub fn encrypted(env: &TestEnv, keys: &str, more: &[&str]) -> String {
    let made = env.expect(0, &["secrets", "age-key", "age.key", "--output", "json"]);
    let recipient = at(&made.json(), "/recipient").to_owned();
    let sops = ["--secrets", "sops", "--age-recipients", &recipient];
    let external = ["--certificates", "external", "--secret-files", keys];
    init(env, &[&sops[..], &external, more].concat());
    recipient
}

/// The Secrets of the files that some tool has opened, decoded: by the Secret's name, its values by key.
type Opened = BTreeMap<String, BTreeMap<String, String>>;

fn opened(secrets: &[Value]) -> Opened {
    let values = |secret: &Value| {
        let data = secret["data"].as_object().expect("values").iter();
        let decoded = data.map(|(key, value)| {
            let bytes = STANDARD.decode(value.as_str().expect("text"));
            let bytes = bytes.unwrap_or_else(|why| panic!("{key}: {why}"));
            (key.clone(), String::from_utf8(bytes).expect("text"))
        });
        decoded.collect()
    };
    let name = |secret: &Value| at(secret, "/metadata/name").to_owned();
    secrets.iter().map(|s| (name(s), values(s))).collect()
}

/// What has to be in the Secrets: what the files say.
pub fn wanted(env: &TestEnv, keys: &str) -> Opened {
    let file = |name: &str| env.read(&format!("{keys}/{name}"));
    let secret = |name: &str, values: &[(&str, String)]| {
        let values = values
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()));
        (format!("haptic-gitops-{name}"), values.collect())
    };
    let pair = |name: &str| {
        [
            ("tls.crt", file(&format!("{name}.crt"))),
            ("tls.key", file(&format!("{name}.key"))),
        ]
    };
    let ca = ("ca.crt", file("webhook-ca.crt"));
    let webhook = pair("webhook").into_iter().chain([ca]);
    BTreeMap::from([
        secret(
            "credentials",
            &[
                ("dataplane_username", "admin".to_owned()),
                ("dataplane_password", PASSWORD.to_owned()),
            ],
        ),
        secret("webhook", &webhook.collect::<Vec<_>>()),
        secret("frontend", &pair("frontend")),
    ])
}

/// The files of a folder that end so, by their path in the work folder.
fn files(env: &TestEnv, folder: &str, ending: &str) -> Vec<String> {
    let all = golden::files(&env.path(folder)).into_keys();
    all.filter(|path| path.ends_with(ending))
        .map(|path| format!("{folder}/{path}"))
        .collect()
}

/// Runs sops in a folder, with nothing but the age key added.
fn sops(env: &TestEnv, folder: &str, arguments: &[&str]) -> Result<String, String> {
    let key = format!("SOPS_AGE_KEY_FILE={}", env.path("age.key").display());
    let all = [&["-C", folder, &key, "sops"], arguments].concat();
    run(env, Path::new("env"), &all)
}

pub fn decrypted(env: &TestEnv, folder: &str) -> Opened {
    let files = files(env, folder, ".sops.yaml");
    let files = files.iter().filter(|file| !file.ends_with("/.sops.yaml"));
    let open = |file: &String| {
        let yaml = sops(env, ".", &["-d", file]).unwrap_or_else(|why| panic!("{file}: {why}"));
        documents(&yaml).remove(0)
    };
    opened(&files.map(open).collect::<Vec<_>>())
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn sops_gives_the_values_back_in_a_clone_with_the_age_key_alone() {
    let (Some(env), Some(keygen)) = (world(), kit::program("age-keygen")) else {
        return;
    };
    let recipient = encrypted(&env, "keys", &[]);
    let public = run(&env, &keygen, &["-y", "age.key"]);
    assert_eq!(public.as_deref(), Ok(format!("{recipient}\n").as_str()));
    assert_eq!(decrypted(&env, "out"), wanted(&env, "keys"));
    env.git(".", &["clone", "-q", "out", "elsewhere/clone"]);
    std::fs::rename(env.path("out"), env.path("gone")).expect("renames");
    assert_eq!(decrypted(&env, "elsewhere/clone"), wanted(&env, "keys"));
    env.write("age.key", "");
    let file = "elsewhere/clone/apps/haptic/secrets/webhook.sops.yaml";
    let why = sops(&env, ".", &["-d", file]).expect_err("no key");
    assert!(why.contains("exit code 128"), "{why}");
}

/// kustomize-controller decrypts what kustomize has built, and looks at no MAC.
#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn what_kustomize_builds_of_encrypted_secrets_can_still_be_opened() {
    let (Some(env), Some(kustomize)) = (world(), kit::program("kustomize")) else {
        return;
    };
    encrypted(&env, "keys", &[]);
    let built = run(&env, &kustomize, &["build", "out/apps/haptic/secrets"]).expect("builds");
    let secrets = documents(&built)
        .into_iter()
        .filter(|o| o["kind"] == "Secret");
    let open = |secret: Value| {
        env.write("built.yaml", &serde_yaml::to_string(&secret).expect("YAML"));
        let yaml = sops(&env, ".", &["-d", "--ignore-mac", "built.yaml"]).expect("opens");
        documents(&yaml).remove(0)
    };
    let secrets: Vec<Value> = secrets.map(open).collect();
    assert_eq!(opened(&secrets), wanted(&env, "keys"));
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn the_key_of_one_cluster_opens_nothing_of_another() {
    let Some(env) = world() else { return };
    let recipients = ["staging", "production"].map(|cluster| {
        let file = format!("{cluster}.key");
        let made = env.expect(0, &["secrets", "age-key", &file, "--output", "json"]);
        format!("{cluster}={}", at(&made.json(), "/recipient"))
    });
    let recipients = recipients.join(",");
    let mut arguments = vec!["init", "out", "--yes", "--layout", "flux-fleet"];
    arguments.extend([
        "--clusters",
        "staging,production",
        "--chart-version",
        "0.2.2",
    ]);
    arguments.extend(["--repo-url", golden::REPO_URL, "--secrets", "sops"]);
    arguments.extend(["--age-recipients", &recipients]);
    env.expect(0, &arguments);
    for (own, other) in [("staging", "production"), ("production", "staging")] {
        env.write("age.key", &env.read(&format!("{own}.key")));
        let file = |cluster: &str| format!("apps/haptic/{cluster}/secrets/credentials.sops.yaml");
        sops(&env, "out", &["-d", &file(own)]).expect("its own");
        sops(&env, "out", &["updatekeys", "--yes", &file(own)]).expect("a rule of its own");
        let why = sops(&env, "out", &["-d", &file(other)]).expect_err("another's");
        assert!(why.contains("data key"), "{why}");
    }
    assert_eq!(env.git("out", &["status", "--porcelain"]), "");
}

/// `updatekeys` and `encrypt` look for a rule in `.sops.yaml` as people's programs do.
#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn the_rules_are_found_for_our_files_and_for_new_ones() {
    for (more, top) in [(&[][..], "."), (&["--path", "platform/lb"], "platform/lb")] {
        let Some(env) = world() else { return };
        let recipient = encrypted(&env, "keys", more);
        env.git(".", &["clone", "-q", "out", "clone"]);
        let [from_top, from_below] = [
            (format!("clone/{top}"), ""),
            (format!("clone/{top}/apps"), "apps/"),
        ];
        for (folder, cut) in [&from_top, &from_below] {
            for name in ["credentials", "webhook", "frontend"] {
                let file = format!("apps/haptic/secrets/{name}.sops.yaml");
                let file = file.strip_prefix(cut).expect("below");
                let updated = sops(&env, folder, &["updatekeys", "--yes", file]);
                assert!(updated.is_ok(), "{folder}, {file}: {updated:?}");
            }
        }
        assert_eq!(env.git("clone", &["status", "--porcelain"]), "");
        let (folder, _) = &from_top;
        let new = "apps/haptic/secrets/own.sops.yaml";
        let path = format!("{folder}/{new}");
        env.write(
            &path,
            "kind: Secret\nmetadata: {name: own}\ndata: {a: Yg==}\n",
        );
        sops(&env, folder, &["encrypt", "--in-place", new]).expect("a rule");
        let own = documents(&env.read(&path)).remove(0);
        assert_eq!(at(&own, "/sops/age/0/recipient"), recipient);
        assert_eq!(at(&own, "/metadata/name"), "own");
        assert!(at(&own, "/data/a").starts_with("ENC["), "{own}");
        let other = "apps/haptic/release/values.yaml";
        let why = sops(&env, folder, &["encrypt", other]).expect_err("no rule");
        assert!(why.contains("no matching creation rules"), "{why}");
    }
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn sops_refuses_a_secret_with_another_name_namespace_or_type() {
    let Some(env) = world() else { return };
    encrypted(&env, "keys", &[]);
    let file = "out/apps/haptic/secrets/credentials.sops.yaml";
    let good = env.read(file);
    for (old, new) in [
        ("name: haptic-gitops-credentials", "name: other"),
        ("namespace: haptic", "namespace: other"),
        ("type: Opaque", "type: kubernetes.io/basic-auth"),
    ] {
        assert_eq!(
            good.matches(&format!("{old}\n")).count(),
            1,
            "{old}\n{good}"
        );
        env.write(file, &good.replace(old, new));
        let why = sops(&env, ".", &["-d", file]).expect_err("renamed");
        assert!(why.contains("MAC mismatch"), "{old}: {why}");
    }
    env.write(file, &good);
    sops(&env, ".", &["-d", file]).expect("as it was");
}

/// A certificate of a sealing controller and its key, as the controller makes them.
fn sealing(env: &TestEnv) {
    let request = "req -x509 -newkey rsa:4096 -nodes -keyout sealing.key -out sealing.pem -days 30 -subj /O=sealed-secret/CN=sealed-secret";
    openssl(env, request).expect("a key");
}

/// Runs openssl with arguments that have no spaces in them.
pub fn openssl(env: &TestEnv, arguments: &str) -> Result<String, String> {
    let arguments: Vec<&str> = arguments.split(' ').collect();
    run(env, Path::new("openssl"), &arguments)
}

fn unsealed(env: &TestEnv, manifest: &str) -> Result<Value, String> {
    let arguments = ["--recovery-unseal", "--recovery-private-key", "sealing.key"];
    let run = env.program("kubeseal", &arguments, manifest);
    if run.code == 0 {
        Ok(run.json())
    } else {
        Err(run.stderr)
    }
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn kubeseal_opens_what_we_seal_under_its_own_name_alone() {
    let (Some(env), Some(_)) = (world(), kit::program("kubeseal")) else {
        return;
    };
    sealing(&env);
    let sealed = [
        "--secrets",
        "sealed-secrets",
        "--sealing-certificate",
        "sealing.pem",
    ];
    let external = ["--certificates", "external", "--secret-files", "keys"];
    init(&env, &[sealed, external].concat());
    let mut secrets = Vec::new();
    for file in files(&env, "out", ".sealed.yaml") {
        let manifest = env.read(&file);
        let secret = unsealed(&env, &manifest).unwrap_or_else(|why| panic!("{file}: {why}"));
        let name = at(&secret, "/metadata/name");
        let is_tls = name != "haptic-gitops-credentials";
        let kind = if is_tls {
            "kubernetes.io/tls"
        } else {
            "Opaque"
        };
        assert_eq!(at(&secret, "/type"), kind, "{file}");
        assert_eq!(at(&secret, "/metadata/namespace"), "haptic", "{file}");
        let owner = &secret["metadata"]["ownerReferences"][0];
        assert_eq!(owner["kind"], "SealedSecret", "{file}");
        for (old, new) in [
            (format!("name: {name}\n"), "name: other\n"),
            ("namespace: haptic\n".to_owned(), "namespace: other\n"),
        ] {
            assert!(manifest.contains(&old), "{manifest}");
            let why = unsealed(&env, &manifest.replace(&old, new)).expect_err("renamed");
            assert!(why.contains("no key could decrypt"), "{file}: {why}");
        }
        secrets.push(secret);
    }
    assert_eq!(opened(&secrets), wanted(&env, "keys"));
}
