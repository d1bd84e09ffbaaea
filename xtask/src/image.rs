// SPDX-License-Identifier: Apache-2.0
//! The verb `image`: an OCI image of the package, as one file that Docker and Podman load, with no
//! program of a distribution in it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::builds::target_dir;
use crate::package::{self, PROGRAMS};
use crate::setup;
use crate::sh::{self, Res};

/// Capabilities that the daemon has in a container; capabilities(7).
const RIGHTS: [&str; 3] = ["CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_BPF"];

/// Makes the image; with `try` starts what it holds, with these capabilities alone.
pub fn verb(args: &[&str]) -> Res {
    let try_it = match args {
        [] => false,
        ["--try"] => true,
        other => return Err(format!("image: --try was expected, not `{}'", other.join(" "))),
    };
    let package = package::deb()?;
    let dir = target_dir().join("image");
    if dir.exists() {
        std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    let tree = dir.join("root");
    fill(&package, &tree)?;
    let file = write(&dir, &tree)?;
    if try_it {
        start(&dir)?;
    }
    println!("{}", file.display());
    println!(
        "load it: `docker load -i FILE', `podman load -i FILE'; run it: `--cap-drop all {}'",
        RIGHTS.map(|right| format!("--cap-add {right}")).join(" ")
    );
    Ok(())
}

/// The files of the image: those of the package, and the libraries that its programs load.
fn fill(package: &Path, tree: &Path) -> Res {
    sh::run(sh::cmd("mkdir -p").arg(tree))?;
    sh::run(sh::cmd("dpkg-deb --extract").arg(package).arg(tree))?;
    for name in PROGRAMS {
        let program = tree.join("usr/bin").join(name);
        for library in libraries(&sh::output(sh::cmd("ldd").arg(&program))?) {
            let to = tree.join(library.trim_start_matches('/'));
            if !to.exists() {
                let dir = to.parent().ok_or("a library without a folder")?;
                sh::run(sh::cmd("mkdir -p").arg(dir))?;
                sh::run(sh::cmd("cp --dereference").arg(&library).arg(to))?;
            }
        }
    }
    // To give its sockets to a group, the daemon would need CAP_CHOWN.
    let startup = tree.join("etc/ferrovia/startup.conf");
    let text = sh::read(&startup)?.replace("  gid ferrovia\n", "  # gid ferrovia\n");
    sh::write(&startup, text)?;
    sh::write(tree.join("etc/passwd"), "root:x:0:0:root:/:/usr/bin/ferroctl\n")?;
    sh::write(tree.join("etc/group"), "root:x:0:\nferrovia:x:900:\n")?;
    let folders = ["run/ferrovia", "var/lib/ferrovia", "var/log", "proc", "sys", "dev"];
    for folder in folders {
        sh::run(sh::cmd("mkdir -p").arg(tree.join(folder)))?;
    }
    sh::run(sh::cmd("mkdir -m 1777").arg(tree.join("tmp")))
}

/// Paths in the answer of ldd(1): `NAME => PATH (ADDRESS)`, the loader's without a name.
fn libraries(answer: &str) -> Vec<String> {
    let path = |line: &str| {
        let words = line.split_whitespace();
        words.into_iter().find(|word| word.starts_with('/')).map(String::from)
    };
    answer.lines().filter_map(path).collect()
}

/// Architecture of this machine, by the name that images have.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Writes the layers, their descriptions and the archive of all: image-layout of the OCI image
/// format, version 1.
fn write(dir: &Path, tree: &Path) -> Res<PathBuf> {
    let version = env!("CARGO_PKG_VERSION");
    let layout = dir.join("oci");
    let blobs = layout.join("blobs/sha256");
    sh::run(sh::cmd("mkdir -p").arg(&blobs))?;
    // The same tree makes the same bytes, whenever it is packed.
    let date = sh::output(&mut sh::cmd("git log -1 --format=%cI"))?.trim().to_string();
    let layer = dir.join("layer.tar");
    let reproducible = format!("--sort=name --mtime={date} --owner=0 --group=0 --numeric-owner");
    sh::run(sh::cmd(&format!("tar {reproducible} -C")).arg(tree).arg("-cf").arg(&layer).arg("."))?;
    let inside = digest(&layer)?;
    sh::run(sh::cmd("gzip -n -9").arg(&layer))?;
    let layer = blob(&blobs, &dir.join("layer.tar.gz"))?;
    let text = |value: &Value| -> Res<(String, u64)> {
        let file = dir.join("part.json");
        sh::write(&file, value.to_string())?;
        blob(&blobs, &file)
    };
    let config = text(&json!({
        "created": date,
        "architecture": architecture(),
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/ferrovia"],
            "Cmd": ["-c", "/etc/ferrovia/startup.conf"],
            "Env": ["PATH=/usr/bin"],
            "Volumes": { "/var/lib/ferrovia": {} },
            "StopSignal": "SIGTERM",
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{inside}")] },
    }))?;
    let described = |kind: &str, (digest, size): &(String, u64)| {
        json!({
            "mediaType": format!("application/vnd.oci.image.{kind}"),
            "digest": format!("sha256:{digest}"),
            "size": size,
        })
    };
    let manifest = text(&json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described("config.v1+json", &config),
        "layers": [described("layer.v1.tar+gzip", &layer)],
    }))?;
    let mut entry = described("manifest.v1+json", &manifest);
    entry["annotations"] = json!({
        "org.opencontainers.image.ref.name": version,
        "io.containerd.image.name": format!("docker.io/library/ferrovia:{version}"),
    });
    let index = json!({ "schemaVersion": 2, "manifests": [entry] });
    sh::write(layout.join("index.json"), index.to_string())?;
    sh::write(layout.join("oci-layout"), json!({ "imageLayoutVersion": "1.0.0" }).to_string())?;
    let file = target_dir().join(format!("ferrovia_{version}_{}.oci.tar", architecture()));
    let tar = format!("tar {reproducible} -C");
    let parts = ["oci-layout", "index.json", "blobs"];
    sh::run(sh::cmd(&tar).arg(&layout).arg("-cf").arg(&file).args(parts))?;
    Ok(file)
}

fn digest(file: &Path) -> Res<String> {
    let line = sh::output(sh::cmd("sha256sum").arg(file))?;
    line.split_whitespace().next().map(String::from).ok_or_else(|| "sha256sum: no sum".into())
}

/// Moves a file to the name that is its sum; gives back the sum and the size in bytes.
fn blob(blobs: &Path, file: &Path) -> Res<(String, u64)> {
    let digest = digest(file)?;
    let size = std::fs::metadata(file).map_err(|e| format!("{}: {e}", file.display()))?.len();
    std::fs::rename(file, blobs.join(&digest)).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok((digest, size))
}

/// Unpacks the image as a program that runs containers does, starts its daemon with the
/// capabilities it may have, and lets its client bring up an interface.
fn start(dir: &Path) -> Res {
    setup::ensure(&[setup::CONTAINER])?;
    let read = |path: PathBuf| -> Res<Value> {
        serde_json::from_str(&sh::read(&path)?).map_err(|e| format!("{}: {e}", path.display()))
    };
    let layout = dir.join("oci");
    let named = |value: &Value| -> Res<PathBuf> {
        let digest = value["digest"].as_str().and_then(|d| d.strip_prefix("sha256:"));
        Ok(layout.join("blobs/sha256").join(digest.ok_or("a part without a digest")?))
    };
    let index = read(layout.join("index.json"))?;
    let manifest = read(named(&index["manifests"][0])?)?;
    let config = read(named(&manifest["config"])?)?;
    let tree = dir.join("run");
    sh::run(sh::cmd("mkdir -p").arg(&tree))?;
    for layer in manifest["layers"].as_array().into_iter().flatten() {
        sh::run(sh::cmd("tar -xzf").arg(named(layer)?).arg("-C").arg(&tree))?;
    }
    let words = |key: &str| -> Vec<String> {
        let all = config["config"][key].as_array().into_iter().flatten();
        all.filter_map(|word| word.as_str().map(String::from)).collect()
    };
    println!("== starting the image's daemon with {} alone", RIGHTS.join(", "));
    let mut daemon = sh::cmd("bwrap --unshare-net --unshare-pid --unshare-ipc --die-with-parent");
    daemon.arg("--bind").arg(&tree).args(["/", "--proc", "/proc", "--dev", "/dev"]);
    daemon.args(["--dev-bind-try", "/dev/net/tun", "/dev/net/tun", "--cap-drop", "ALL"]);
    daemon.args(RIGHTS.into_iter().flat_map(|right| ["--cap-add", right]));
    daemon.args(words("Entrypoint")).args(words("Cmd"));
    let mut daemon = daemon.spawn().map_err(|e| format!("bwrap: {e}"))?;
    let result = try_daemon(&tree);
    let _ = daemon.kill();
    let _ = daemon.wait();
    result
}

fn try_daemon(tree: &Path) -> Res {
    let socket = tree.join("run/ferrovia/cli.sock");
    let client = tree.join("usr/bin/ferroctl");
    let ask = |command: &str| {
        sh::output(sh::cmd(&client.to_string_lossy()).arg("-s").arg(&socket).arg(command))
    };
    let mut answer = Err("the daemon didn't start".to_string());
    for _ in 0..100 {
        answer = ask("create tap id 0 host-if-name try0 host-ip4-addr 192.0.2.2/24");
        if answer.is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    answer?;
    ask("set interface state tap0 up")?;
    ask("set interface ip address tap0 192.0.2.1/24")?;
    let answer = ask("ping 192.0.2.2 repeat 1")?;
    print!("{answer}");
    if answer.contains("1 received") {
        Ok(())
    } else {
        Err("the kernel didn't answer a ping".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_a_program() {
        let answer = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                      \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(
            libraries(answer),
            ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]
        );
        assert!(libraries("\tstatically linked\n").is_empty());
    }
}
