// SPDX-License-Identifier: Apache-2.0
//! Paths of sockets and other files.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::config::Config;
use startup::value::{Listen, SocketPath};

/// VPP's runtime directory, served as well with `vpp-paths` in the configuration.
const VPP: &str = "/run/vpp";

/// The paths that a configuration results in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The runtime directory.
    pub runtime_dir: PathBuf,
    /// Addresses on which the CLI listens; paths are absolute.
    pub cli: Vec<Listen>,
    /// Sockets on which the binary API listens.
    pub api: Vec<PathBuf>,
    /// Sockets at which the stats segment is handed out.
    pub stats: Vec<PathBuf>,
    /// Addresses at which metrics are served; paths are absolute.
    pub metrics: Vec<Listen>,
    /// Socket to which clients send packets that answer punted ones.
    pub punt: PathBuf,
    /// File in which configurations are saved, absolute; none if this user has no state directory.
    pub saved: Option<PathBuf>,
    /// True if the runtime directory is the default: its content isn't trusted.
    default: bool,
}

impl Paths {
    /// Returns the paths for `config`, for the user who runs this process.
    pub fn new(config: &Config) -> Paths {
        let uid = rustix::process::geteuid().as_raw();
        let own = std::env::var_os("XDG_RUNTIME_DIR")
            .map(PathBuf::from)
            .filter(|d| d.is_absolute() && d.is_dir());
        let default = || default_dir(uid, own);
        let runtime_dir = config.unix.runtime_dir.clone().unwrap_or_else(default);
        let in_dir = |path: &Path| runtime_dir.join(path);
        let vpp = config.unix.vpp_paths;

        let absolute = |listen: &Listen| match listen {
            Listen::Unix(path) => Listen::Unix(in_dir(path)),
            tcp => tcp.clone(),
        };
        let mut cli: Vec<Listen> = config.unix.cli_listen.iter().map(absolute).collect();
        if cli.is_empty() {
            cli.push(Listen::Unix(in_dir(Path::new("cli.sock"))));
        }
        let socket = |given: &Option<SocketPath>, default: &str| {
            let mut paths = vec![in_dir(given.as_ref().map_or(Path::new(default), |s| &s.0))];
            paths.extend(vpp.then(|| Path::new(VPP).join(default)));
            paths.dedup();
            paths
        };
        let api = socket(&config.socksvr.socket_name, "api.sock");
        let stats = socket(&config.statseg.socket_name, "stats.sock");
        let mut metrics = Vec::new();
        if config.prometheus.on() {
            let own =
                config.prometheus.socket_name.as_ref().map_or(Path::new("metrics.sock"), |s| &s.0);
            metrics.push(Listen::Unix(in_dir(own)));
            metrics.extend(config.prometheus.listen.iter().map(absolute));
        }
        let punt = in_dir(
            config
                .startup::<punt::Startup>()
                .socket
                .as_ref()
                .map_or(Path::new("punt.sock"), |s| &s.0),
        );
        if vpp {
            cli.push(Listen::Unix(Path::new(VPP).join("cli.sock")));
        }
        cli.dedup();
        // The process may change its directory yet.
        let given = config
            .saved
            .file
            .as_ref()
            .map(|file| std::path::absolute(file).unwrap_or(file.clone()));
        let saved = given.or_else(|| {
            state_dir(uid, |name| std::env::var_os(name)).map(|dir| dir.join("config"))
        });
        Paths {
            default: config.unix.runtime_dir.is_none(),
            runtime_dir,
            cli,
            api,
            stats,
            metrics,
            punt,
            saved,
        }
    }

    /// Makes missing directories, also the sockets' ones. New directories get the group `gid`.
    pub fn create(&self, gid: Option<u32>) -> io::Result<()> {
        create(&self.runtime_dir, gid, self.default)?;
        let named = self.cli.iter().chain(&self.metrics).filter_map(|listen| match listen {
            Listen::Unix(path) => Some(path),
            Listen::Tcp(..) => None,
        });
        let mut dirs = named
            .chain(&self.api)
            .chain(&self.stats)
            .chain([&self.punt])
            .filter_map(|socket| socket.parent());
        dirs.try_for_each(|dir| create(dir, gid, false))
    }
}

/// Directory of persistent state of a user's programs (XDG Base Directory Specification).
fn state_dir(uid: u32, var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if uid == 0 {
        return Some("/var/lib/ferrovia".into());
    }
    let dir = |name| var(name).map(PathBuf::from).filter(|d| d.is_absolute());
    let state =
        dir("XDG_STATE_HOME").or_else(|| dir("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("ferrovia"))
}

fn default_dir(uid: u32, own: Option<PathBuf>) -> PathBuf {
    match own {
        _ if uid == 0 => "/run/ferrovia".into(),
        Some(dir) => dir.join("ferrovia"),
        None => format!("/tmp/ferrovia-{uid}").into(),
    }
}

/// Makes a directory, or takes one that is there; with `wary` only if it is surely ours.
fn create(dir: &Path, gid: Option<u32>, wary: bool) -> io::Result<()> {
    let named =
        |e: io::Error| io::Error::new(e.kind(), format!("directory {}: {e}", dir.display()));
    if let Some(parent) = dir.parent() {
        std::fs::create_dir_all(parent).map_err(named)?;
    }
    let mode = if wary { 0o700 } else { 0o755 };
    let made = std::fs::DirBuilder::new().mode(mode).create(dir);
    match made {
        Ok(()) => std::os::unix::fs::chown(dir, None, gid).map_err(named),
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(named(e)),
        Err(_) => {
            // Below /tmp, an existing directory may be another user's trap.
            let found =
                if wary { dir.symlink_metadata() } else { dir.metadata() }.map_err(named)?;
            if !found.is_dir() {
                return Err(named(io::Error::new(
                    io::ErrorKind::NotADirectory,
                    "is not a directory",
                )));
            }
            if wary && found.uid() != rustix::process::geteuid().as_raw() {
                return Err(named(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    "belongs to somebody else",
                )));
            }
            Ok(())
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use startup::Source;

    #[suite::test]
    fn the_default_directory_depends_on_the_user() {
        let own = || Some(PathBuf::from("/run/user/1000"));
        assert_eq!(default_dir(0, own()), Path::new("/run/ferrovia"));
        assert_eq!(default_dir(1000, own()), Path::new("/run/user/1000/ferrovia"));
        assert_eq!(default_dir(1000, None), Path::new("/tmp/ferrovia-1000"));
    }

    #[suite::test]
    fn what_is_saved_lasts() {
        let home = |name: &str| (name == "HOME").then(|| "/home/me".into());
        let both = |name: &str| Some(if name == "HOME" { "/home/me" } else { "/state" }.into());
        assert_eq!(state_dir(0, both), Some("/var/lib/ferrovia".into()));
        assert_eq!(state_dir(1, both), Some("/state/ferrovia".into()));
        assert_eq!(state_dir(1, home), Some("/home/me/.local/state/ferrovia".into()));
        assert_eq!(state_dir(1, |_| None), None);
    }

    #[suite::test]
    fn names_lie_in_the_runtime_directory_unless_they_are_absolute() {
        let text = "unix { runtime-dir /r cli-listen c cli-listen :50 vpp-paths } statseg { socket-name /s } socksvr { default }";
        let paths = Paths::new(&Config::parse(&Source::file("f", text)).unwrap());
        let unix = |p: &str| Listen::Unix(p.into());
        assert_eq!(
            paths.cli,
            [unix("/r/c"), Listen::Tcp("localhost".into(), 50), unix("/run/vpp/cli.sock")]
        );
        assert_eq!(paths.api, [Path::new("/r/api.sock"), Path::new("/run/vpp/api.sock")]);
        assert_eq!(paths.stats, [Path::new("/s"), Path::new("/run/vpp/stats.sock")]);
        assert_eq!(paths.metrics, [], "nobody asked for them");
        let metrics = |text| Paths::new(&Config::parse(&Source::file("f", text)).unwrap()).metrics;
        let own = "unix { runtime-dir /r } prometheus { listen :9482 }";
        assert_eq!(metrics(own), [unix("/r/metrics.sock"), Listen::Tcp("localhost".into(), 9482)]);
        assert_eq!(
            metrics("unix { runtime-dir /r } prometheus { socket-name m default }"),
            [unix("/r/m")]
        );
    }

    #[suite::test]
    fn a_link_is_no_default_directory() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/etc", &link).unwrap();
        assert!(create(&link, None, true).unwrap_err().to_string().contains("not a directory"));
        create(&link, None, false).unwrap();
        let own = dir.path().join("a/b");
        create(&own, None, true).unwrap();
        create(&own, None, true).unwrap();
        assert_eq!(own.metadata().unwrap().mode() & 0o777, 0o700);
    }
}
