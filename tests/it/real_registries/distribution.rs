//! The registry of CNCF Distribution, filled by helm with versions of HAPTIC's double.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{client, newest, reason};
use crate::env::TestEnv;
use crate::kit;
use crate::lookups::pins_of;
use haptic_scaffold::registry::{ChartSource, Registry as _};

/// The user and the password that [`HTPASSWD`] is of.
pub const LOGIN: (&str, &str) = ("bot", "secret");
const HTPASSWD: &str = "bot:$2b$04$9cn43EU3CeSUFWB7QGlvxetuhN2TSAV.IqmE7kKIPEkCW0YMt4GRi\n";

/// A registry over a folder. It ends with the test.
pub struct Distribution {
    child: Child,
    pub host: String,
}

impl Distribution {
    /// `folder` keeps what is pushed; `wants_login` is Basic.
    pub fn start(program: &Path, folder: &Path, wants_login: bool) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let host = format!("127.0.0.1:{port}");
        std::fs::write(folder.join("htpasswd"), HTPASSWD).expect("writes");
        let shown = folder.display();
        let auth = format!("auth: {{htpasswd: {{realm: test, path: {shown}/htpasswd}}}}\n");
        let config = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {shown}/data}}, delete: {{enabled: true}}}}\nhttp: {{addr: '{host}'}}\n{}",
            if wants_login { &auth } else { "" }
        );
        std::fs::write(folder.join("config.yml"), config).expect("writes");
        let child = Command::new(program)
            .args(["serve", &format!("{shown}/config.yml")])
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let start = Instant::now();
        while std::net::TcpStream::connect(&host).is_err() {
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "the registry doesn't start"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        Self { child, host }
    }
}

impl Drop for Distribution {
    fn drop(&mut self) {
        let _ = self.child.kill().is_err();
        let _ = self.child.wait().is_err();
    }
}

/// The versions of the double, pushed to a registry. Gives the folder with the archives.
fn push(env: &TestEnv, host: &str) -> Option<PathBuf> {
    let (python, make) = (kit::program("python3")?, kit::file("double/make.py")?);
    let helm = kit::program("helm")?;
    let out = env.path("charts");
    let folder = helm.parent().expect("a folder").display().to_string();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let mut child = env
        .command(&python.display().to_string())
        .arg(make)
        .arg(&out)
        .args(["--push", &format!("oci://{host}/charts")])
        .env("PATH", path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let stdout = child.stdout.take().expect("a pipe");
    let said: Vec<String> = BufReader::new(stdout)
        .lines()
        .map_while(Result::ok)
        .collect();
    assert!(child.wait().expect("ends").success(), "{said:?}");
    Some(out)
}

/// Has helm remember the login of a registry.
pub fn logged_in(env: &TestEnv, helm: &Path, host: &str) {
    let (user, password) = LOGIN;
    let mut login = vec!["registry", "login", "--plain-http", host];
    login.extend(["--username", user, "--password-stdin"]);
    let run = env.program(&helm.display().to_string(), &login, password);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

/// Gives one manifest many tags.
fn tag(host: &str, from: &str, tags: impl Iterator<Item = String>) {
    const TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
    let address = |tag: &str| format!("http://{host}/v2/charts/haptic/manifests/{tag}");
    let mut manifest = ureq::get(&address(from))
        .header("Accept", TYPE)
        .call()
        .expect("a manifest");
    let manifest = manifest.body_mut().read_to_vec().expect("bytes");
    for tag in tags {
        let put = ureq::put(&address(&tag)).header("Content-Type", TYPE);
        put.send(manifest.as_slice())
            .unwrap_or_else(|why| panic!("{tag}: {why}"));
    }
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn what_helm_pushed_is_found_with_digest_time_and_archive() {
    let (Some(registry), Some(crane)) = (kit::program("registry"), kit::program("crane")) else {
        return;
    };
    let env = TestEnv::new();
    let storage = env.path("registry");
    std::fs::create_dir(&storage).expect("a folder");
    let open = Distribution::start(&registry, &storage, false);
    let Some(charts) = push(&env, &open.host) else {
        return;
    };
    let source =
        ChartSource::new(&format!("oci://{}/charts", open.host), "haptic").expect("an address");
    let client = client(&env);
    let versions = client.versions(&source).expect("a list");
    assert_eq!(versions.len(), 13, "{versions:?}");
    let crane = |arguments: &[&str]| {
        let run = env.program(&crane.display().to_string(), arguments, "");
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
        run.stdout
    };
    let reference = format!("{}/charts/haptic:0.2.2", open.host);
    let release = client.release(&source, "0.2.2").expect("a release");
    assert_eq!(
        release.digest.as_deref(),
        Some(crane(&["digest", &reference]).trim())
    );
    assert!(release.created.is_some(), "helm writes the time");
    let archive = std::fs::read(charts.join("haptic-0.2.2.tgz")).expect("an archive");
    assert_eq!(
        client.archive(&source, "0.2.2").expect("an archive"),
        archive
    );

    // What the same tag has as a layout.
    let layout = env.path("layout").display().to_string();
    crane(&[
        "pull",
        "--format",
        "oci",
        "--annotate-ref",
        &reference,
        &layout,
    ]);
    pins_of(
        &env,
        &format!("oci://{}/charts", open.host),
        "haptic",
        "0.2.1",
    );
    let said = haptic(&env, &["--versions", "layout"], 0);
    assert_eq!(newest(&said), "0.2.2");
    let Some(oras) = kit::program("oras") else {
        return;
    };
    let target = format!("{}:0.2.2", env.path("oras").display());
    let run = env.program(
        &oras.display().to_string(),
        &[
            "copy",
            "--from-plain-http",
            "--to-oci-layout",
            &reference,
            &target,
        ],
        "",
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(newest(&haptic(&env, &["--versions", "oras"], 0)), "0.2.2");
    assert_eq!(newest(&haptic(&env, &["--versions", "charts"], 0)), "0.2.2");
}

fn haptic(env: &TestEnv, more: &[&str], code: i32) -> serde_json::Value {
    let mut arguments = vec![
        "-C", "repo", "pins", "--output", "json", "--chart", "haptic",
    ];
    arguments.extend(more);
    env.expect(code, &arguments).json()
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn many_tags_come_in_pages_and_helms_login_is_used() {
    let (Some(registry), Some(helm)) = (kit::program("registry"), kit::program("helm")) else {
        return;
    };
    let env = TestEnv::new();
    let storage = env.path("registry");
    std::fs::create_dir(&storage).expect("a folder");
    let open = Distribution::start(&registry, &storage, false);
    let Some(_) = push(&env, &open.host) else {
        return;
    };
    tag(&open.host, "0.2.2", (3..1200).map(|n| format!("0.2.{n}")));
    pins_of(
        &env,
        &format!("oci://{}/charts", open.host),
        "haptic",
        "0.2.1",
    );
    assert_eq!(newest(&haptic(&env, &[], 0)), "0.2.1199");
    drop(open);

    let private = Distribution::start(&registry, &storage, true);
    std::fs::remove_dir_all(env.path("repo")).expect("goes");
    pins_of(
        &env,
        &format!("oci://{}/charts", private.host),
        "haptic",
        "0.2.1",
    );
    let said = haptic(&env, &[], 4);
    let why = reason(&said);
    assert!(
        why.contains("status 401") && why.contains("helm/registry/config.json` (not there)"),
        "{why}"
    );
    logged_in(&env, &helm, &private.host);
    assert_eq!(newest(&haptic(&env, &[], 0)), "0.2.1199");
}
