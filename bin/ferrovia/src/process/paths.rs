// SPDX-License-Identifier: Apache-2.0
//! Where sockets are put.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::config::values::{Listen, SocketPath};

/// VPP's runtime directory, served as well when the configuration says `vpp-paths`.
const VPP: &str = "/run/vpp";

/// The paths that a configuration results in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The runtime directory.
    pub runtime_dir: PathBuf,
    /// Where the CLI listens; paths are absolute.
    pub cli: Vec<Listen>,
    /// Where the binary API listens.
    pub api: Vec<PathBuf>,
    /// Where the stats segment is handed out.
    pub stats: Vec<PathBuf>,
    /// VPP's own directory has to be there too.
    vpp: bool,
}

impl Paths {
    /// The paths for `config`, for the user who runs this process.
    pub fn new(config: &Config) -> Paths {
        let uid = rustix::process::geteuid().as_raw();
        let own =
            std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|d| d.is_absolute() && d.is_dir());
        let default = || default_dir(uid, own);
        let runtime_dir = config.unix.runtime_dir.clone().unwrap_or_else(default);
        let in_dir = |path: &Path| runtime_dir.join(path);
        let vpp = config.unix.vpp_paths;

        let mut cli: Vec<Listen> = config.unix.cli_listen.clone();
        if cli.is_empty() {
            cli.push(Listen::Unix("cli.sock".into()));
        }
        for listen in &mut cli {
            if let Listen::Unix(path) = listen {
                *path = in_dir(path);
            }
        }
        let socket = |given: &Option<SocketPath>, default: &str| {
            let mut paths = vec![in_dir(given.as_ref().map_or(Path::new(default), |s| &s.0))];
            paths.extend(vpp.then(|| Path::new(VPP).join(default)));
            paths.dedup();
            paths
        };
        let api = socket(&config.socksvr.socket_name, "api.sock");
        let stats = socket(&config.statseg.socket_name, "stats.sock");
        if vpp {
            cli.push(Listen::Unix(Path::new(VPP).join("cli.sock")));
        }
        cli.dedup();
        Paths { runtime_dir, cli, api, stats, vpp }
    }

    /// Makes the directories that are missing. `gid` gets those that were made.
    pub fn create(&self, gid: Option<u32>) -> io::Result<()> {
        create(&self.runtime_dir, gid)?;
        if self.vpp { create(Path::new(VPP), gid) } else { Ok(()) }
    }
}

fn default_dir(uid: u32, own: Option<PathBuf>) -> PathBuf {
    match own {
        _ if uid == 0 => "/run/ferrovia".into(),
        Some(dir) => dir.join("ferrovia"),
        None => format!("/tmp/ferrovia-{uid}").into(),
    }
}

fn create(dir: &Path, gid: Option<u32>) -> io::Result<()> {
    let named = |e: io::Error| io::Error::new(e.kind(), format!("runtime directory {}: {e}", dir.display()));
    if let Some(parent) = dir.parent() {
        std::fs::create_dir_all(parent).map_err(named)?;
    }
    // In a directory that everybody can write to, what is already there may be a trap.
    let shared = dir.parent().and_then(|p| p.metadata().ok()).is_some_and(|m| m.mode() & 0o1002 == 0o1002);
    let mode = if shared { 0o700 } else { 0o755 };
    match std::fs::DirBuilder::new().mode(mode).create(dir) {
        Ok(()) => std::os::unix::fs::chown(dir, None, gid).map_err(named),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let found = if shared { dir.symlink_metadata() } else { dir.metadata() }.map_err(named)?;
            let owner = found.uid() == rustix::process::geteuid().as_raw() || found.uid() == 0;
            match (found.is_dir(), shared && !owner) {
                (true, false) => Ok(()),
                (false, _) => Err(named(io::Error::new(io::ErrorKind::NotADirectory, "is not a directory"))),
                (_, true) => {
                    Err(named(io::Error::new(io::ErrorKind::PermissionDenied, "belongs to somebody else")))
                }
            }
        }
        Err(e) => Err(named(e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::text::Source;

    #[test]
    fn the_default_directory_depends_on_the_user() {
        let own = || Some(PathBuf::from("/run/user/1000"));
        assert_eq!(default_dir(0, own()), Path::new("/run/ferrovia"));
        assert_eq!(default_dir(1000, own()), Path::new("/run/user/1000/ferrovia"));
        assert_eq!(default_dir(1000, None), Path::new("/tmp/ferrovia-1000"));
    }

    #[test]
    fn names_lie_in_the_runtime_directory_unless_they_are_absolute() {
        let text = "unix { runtime-dir /r cli-listen c cli-listen :50 vpp-paths } statseg { socket-name /s } socksvr { default }";
        let paths = Paths::new(&Config::parse(&Source::file("f", text)).unwrap());
        let unix = |p: &str| Listen::Unix(p.into());
        assert_eq!(paths.cli, [unix("/r/c"), Listen::Tcp("localhost".into(), 50), unix("/run/vpp/cli.sock")]);
        assert_eq!(paths.api, [Path::new("/r/api.sock"), Path::new("/run/vpp/api.sock")]);
        assert_eq!(paths.stats, [Path::new("/s"), Path::new("/run/vpp/stats.sock")]);
    }

    #[test]
    fn a_link_in_a_shared_directory_is_no_runtime_directory() {
        let dir = tempfile::tempdir().unwrap();
        let shared = dir.path().join("tmp");
        std::fs::DirBuilder::new().mode(0o1777).create(&shared).unwrap();
        std::fs::set_permissions(&shared, std::os::unix::fs::PermissionsExt::from_mode(0o1777)).unwrap();
        std::os::unix::fs::symlink("/etc", shared.join("link")).unwrap();
        assert!(create(&shared.join("link"), None).unwrap_err().to_string().contains("not a directory"));
        create(&shared.join("own"), None).unwrap();
        create(&shared.join("own"), None).unwrap();
        assert_eq!(shared.join("own").metadata().unwrap().mode() & 0o777, 0o700);
    }
}
