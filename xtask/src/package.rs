// SPDX-License-Identifier: Apache-2.0
//! Installation: the files below a prefix, and a package for Debian.

use std::path::{Path, PathBuf};

use crate::builds::target_dir;
use crate::sh::{self, Res, root};
use crate::{setup, verbs};

/// The programs that are installed.
pub const PROGRAMS: [&str; 3] = ["ferrovia", "ferroctl", "ferrotest"];

/// The programs that are built; without cargo those that were built before.
fn programs() -> Res<PathBuf> {
    let built = target_dir().join("release");
    if !sh::have("cargo") && PROGRAMS.iter().all(|name| built.join(name).exists()) {
        return Ok(built);
    }
    verbs::build_release()
}

/// Files that are the same for every kind of installation, below the prefix.
fn files(prefix: &str, etc: &str) -> Res<Vec<(&'static str, String)>> {
    let extra = |name: &str| sh::read(root().join("extras").join(name));
    let unit = extra("systemd/ferrovia.service")?;
    let unit = unit.replace("/usr/local/", &format!("{prefix}/"));
    let unit = unit.replace("/etc/", &format!("{etc}/"));
    Ok(vec![
        ("lib/systemd/system/ferrovia.service", unit),
        ("share/man/man8/ferrovia.8", extra("man/ferrovia.8")?),
        ("share/man/man1/ferroctl.1", extra("man/ferroctl.1")?),
        ("share/bash-completion/completions/ferrovia", extra("completions/ferrovia.bash")?),
        ("share/bash-completion/completions/ferroctl", extra("completions/ferroctl.bash")?),
        ("share/zsh/site-functions/_ferrovia", extra("completions/_ferrovia")?),
        ("share/zsh/site-functions/_ferroctl", extra("completions/_ferroctl")?),
        ("share/fish/vendor_completions.d/ferrovia.fish", extra("completions/ferrovia.fish")?),
        ("share/fish/vendor_completions.d/ferroctl.fish", extra("completions/ferroctl.fish")?),
    ])
}

/// Files that the programs write themselves: ferrotest's manual page and completions, and the files
/// that clients of the binary API read.
fn generated(programs: &Path, share: &Path) -> Res {
    let program = |name: &str| sh::cmd(&programs.join(name).to_string_lossy());
    sh::run(program("ferrotest").arg("extras").arg(share))?;
    sh::run(program("ferrovia").arg("--dump-api").arg(share.join("ferrovia/api")))
}

/// The programs into `PREFIX/bin`, manual pages and completions for shells into `PREFIX/share`,
/// the unit into `PREFIX/lib/systemd/system`, and the files that clients of the binary API read
/// into `PREFIX/share/ferrovia/api`. A first startup.conf goes to `/etc/ferrovia`
/// (`PREFIX/etc/ferrovia` for prefixes of one's own).
pub fn install(prefix: &str) -> Res {
    setup::ensure(&[setup::STRIP])?;
    let built = programs()?;
    let prefix = PathBuf::from(prefix);
    let bin = prefix.join("bin");
    std::fs::create_dir_all(&bin).map_err(|e| format!("{}: {e}", bin.display()))?;
    for name in PROGRAMS {
        install_program(&built.join(name), &bin.join(name))?;
    }
    let etc = match prefix.to_str() {
        Some("/usr" | "/usr/local") => PathBuf::from("/etc"),
        _ => prefix.join("etc"),
    };
    for (to, text) in files(&prefix.to_string_lossy(), &etc.to_string_lossy())? {
        let to = prefix.join(to);
        sh::write(&to, text)?;
        println!("{}", to.display());
    }
    // An operator's own file stays.
    let startup = etc.join("ferrovia/startup.conf");
    if !startup.exists() {
        sh::write(&startup, sh::read(root().join("extras/startup.conf"))?)?;
        println!("{}", startup.display());
    }
    generated(&bin, &prefix.join("share"))
}

/// Copies a program without its debug lines, which go to `.debug/NAME.debug` beside it, where
/// debuggers and traces of panics look for them.
fn install_program(built: &Path, to: &Path) -> Res {
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    let dir = to.with_file_name(".debug");
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    // Beside the installed files and then renamed: a program that runs from there goes on.
    let (lines, fresh) =
        (dir.join(format!("{name}.debug")), to.with_file_name(format!(".{name}.new")));
    let fresh_lines = dir.join(format!(".{name}.new"));
    let objcopy = |options: &[&str], from: &Path, to: &Path| {
        sh::run(sh::cmd("objcopy").args(options).arg(from).arg(to))
    };
    objcopy(&["--only-keep-debug"], built, &fresh_lines)?;
    let rename = |from: &Path, to: &Path| {
        std::fs::rename(from, to).map_err(|e| format!("{}: {e}", to.display()))
    };
    rename(&fresh_lines, &lines)?;
    objcopy(&["--strip-all", &format!("--add-gnu-debuglink={}", lines.display())], built, &fresh)?;
    rename(&fresh, to)?;
    println!("{}", to.display());
    Ok(())
}

/// Fields of the package; version, architecture and size are filled in.
const CONTROL: &str = "\
Package: ferrovia
Version: VERSION
Architecture: ARCHITECTURE
Installed-Size: SIZE
Maintainer: Ferrovia
Depends: libc6, libgcc-s1
Recommends: iproute2
Section: net
Priority: optional
Description: vector packet processor, a router and switch in user space
 Routes, switches, tunnels and filters packets along a graph of nodes. Keeps
 the commands, startup.conf, binary API and statistics of FD.io VPP.
";

/// After the files are there: the group that may use the sockets; the unit is restarted in one step
/// if it runs, and loads the configuration that was saved.
const POSTINST: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = configure ]; then
    getent group ferrovia >/dev/null || groupadd --system ferrovia
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
        if [ -n \"$2\" ]; then
            systemctl try-restart ferrovia.service
        fi
    fi
fi
";

/// Before the files go: the unit ends, except for an upgrade.
const PRERM: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now ferrovia.service
fi
";

/// After the files have gone: saved configurations and the group go with a purge only.
const POSTRM: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = purge ]; then
    rm -rf /var/lib/ferrovia /etc/ferrovia
    if getent group ferrovia >/dev/null; then groupdel ferrovia; fi
fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
";

/// The verb `deb`: a package of what is built, in `target/`. Gives back its path.
pub fn deb() -> Res<PathBuf> {
    setup::ensure(&[setup::STRIP])?;
    let built = programs()?;
    let tree = target_dir().join("deb");
    if tree.exists() {
        std::fs::remove_dir_all(&tree).map_err(|e| format!("{}: {e}", tree.display()))?;
    }
    let usr = tree.join("usr");
    let bin = usr.join("bin");
    std::fs::create_dir_all(&bin).map_err(|e| format!("{}: {e}", bin.display()))?;
    for name in PROGRAMS {
        let to = bin.join(name);
        sh::run(sh::cmd("objcopy --strip-all").arg(built.join(name)).arg(to))?;
    }
    for (to, text) in files("/usr", "/etc")? {
        sh::write(usr.join(to), text)?;
    }
    generated(&bin, &usr.join("share"))?;
    let doc = usr.join("share/doc/ferrovia");
    for name in ["README.md", "CHANGELOG.md"] {
        sh::write(doc.join(name), sh::read(root().join(name))?)?;
    }
    sh::write(doc.join("copyright"), sh::read(root().join("LICENSE"))?)?;
    for entry in std::fs::read_dir(root().join("examples")).map_err(|e| e.to_string())?.flatten() {
        if entry.path().extension().is_some_and(|e| e == "conf") {
            sh::write(doc.join("examples").join(entry.file_name()), sh::read(entry.path())?)?;
        }
    }
    // The package brings the group.
    let startup = sh::read(root().join("extras/startup.conf"))?;
    let startup = startup.replace("  # gid ferrovia\n", "  gid ferrovia\n");
    sh::write(tree.join("etc/ferrovia/startup.conf"), startup)?;

    let output = |line: &str| sh::output(&mut sh::cmd(line)).map(|text| text.trim().to_string());
    let architecture = output("dpkg --print-architecture")?;
    let size = output(&format!("du -sk {}", tree.display()))?;
    let size = size.split_whitespace().next().unwrap_or("0");
    let version = env!("CARGO_PKG_VERSION");
    let control = CONTROL
        .replace("VERSION", version)
        .replace("ARCHITECTURE", &architecture)
        .replace("SIZE", size);
    let debian = tree.join("DEBIAN");
    sh::write(debian.join("control"), control)?;
    sh::write(debian.join("conffiles"), "/etc/ferrovia/startup.conf\n")?;
    for (name, text) in [("postinst", POSTINST), ("prerm", PRERM), ("postrm", POSTRM)] {
        sh::write(debian.join(name), text)?;
        sh::run(sh::cmd("chmod 755").arg(debian.join(name)))?;
    }
    let file = target_dir().join(format!("ferrovia_{version}_{architecture}.deb"));
    // Readable files whatever the builder's umask is.
    sh::run(sh::cmd("chmod -R u=rwX,go=rX").arg(&tree))?;
    sh::run(sh::cmd("dpkg-deb --root-owner-group --build").arg(&tree).arg(&file))?;
    println!("{}", file.display());
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_the_package_names_its_paths() {
        let files = files("/usr", "/etc").unwrap();
        let unit = &files.iter().find(|(to, _)| to.ends_with(".service")).unwrap().1;
        assert!(
            unit.contains("ExecStart=/usr/bin/ferrovia -c /etc/ferrovia/startup.conf"),
            "{unit}"
        );
        assert!(!unit.contains("/usr/local"), "{unit}");
        assert!(
            sh::read(root().join("extras/startup.conf")).unwrap().contains("  # gid ferrovia\n")
        );
    }
}
