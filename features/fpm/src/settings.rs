// SPDX-License-Identifier: Apache-2.0
//! Settings of the listener, of startup.conf and of `fpm enable`.

use crate::address::{PORT, address, socket};
use crate::startup_conf::Startup;
use cli::{Error, Matches, Result, quote};
use graph::World;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Seconds for which routes of a lost peer stay.
const STALE: u32 = 120;
/// Seconds without a stale route set again after which the others go.
const SETTLE: u32 = 30;
/// Routes of a peer at most.
const MOST: u32 = 4_000_000;

/// The address of a listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// The settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    pub listen: Listen,
    /// Network namespace of the listener; `None`: that of the process.
    pub namespace: Option<String>,
    /// Seconds for which routes of a lost peer stay.
    pub stale: u32,
    /// Seconds without a stale route set again, while a peer is connected, after which the others
    /// go.
    pub settle: u32,
    /// Routes at most.
    pub most: u32,
    /// True if routes that are in force are reported to the peer.
    pub answers: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: Listen::Tcp((Ipv4Addr::LOCALHOST, PORT).into()),
            namespace: None,
            stale: STALE,
            settle: SETTLE,
            most: MOST,
            answers: false,
        }
    }
}

impl Settings {
    /// The network namespace in which the peer's interfaces are; `None`: that of the process. A
    /// socket of the file system is reached from all of them: then it is that of mirrors that name
    /// none.
    pub fn peers_namespace(&self, mirrors: linux_cp::Values) -> Option<String> {
        match (&self.namespace, &self.listen) {
            (Some(namespace), _) => Some(namespace.clone()),
            (None, Listen::Tcp(_)) => None,
            (None, Listen::Unix(_)) => mirrors.default_namespace,
        }
    }

    /// Reads the settings of startup.conf; `None` without a section `fpm`.
    pub fn of_startup(world: &World) -> Option<Self> {
        let startup = world.startup::<Startup>();
        let usual = Self::default();
        // startup.conf was checked when it was read.
        let tcp = startup.listen.as_ref().and_then(|text| address(text).ok()).map(Listen::Tcp);
        startup.is_there.then(|| Self {
            listen: startup.socket.map(|path| Listen::Unix(path.0)).or(tcp).unwrap_or(usual.listen),
            namespace: startup.namespace,
            stale: startup.stale.unwrap_or(usual.stale),
            settle: startup.settle.unwrap_or(usual.settle),
            most: startup.most.unwrap_or(usual.most),
            answers: startup.answers,
        })
    }

    /// Reads the settings of the command.
    ///
    /// # Errors
    /// A value that can't be read.
    pub fn of_words(m: &Matches) -> Result<Self> {
        let usual = Self::default();
        let listen = match (m.has("address"), m.has("path")) {
            (true, _) => Listen::Tcp(
                address(m.str("address")).map_err(|why| Error::parse(why).at(m.span("address")))?,
            ),
            (_, true) => Listen::Unix(
                socket(m.str("path")).map_err(|why| Error::parse(why).at(m.span("path")))?,
            ),
            _ => usual.listen,
        };
        Ok(Self {
            listen,
            namespace: m.has("namespace").then(|| m.str("namespace").to_string()),
            stale: m.opt("stale")?.unwrap_or(usual.stale),
            settle: m.opt("settle")?.unwrap_or(usual.settle),
            most: m.opt("most")?.unwrap_or(usual.most),
            answers: m.flag("offload"),
        })
    }

    /// The command that sets them.
    pub fn line(of: Option<&Self>) -> String {
        let Some(Self { listen, namespace, stale, settle, most, answers }) = of else {
            return "fpm disable".into();
        };
        let usual = Self::default();
        let mut line = "fpm enable".to_string();
        if *listen != usual.listen {
            line += &match listen {
                Listen::Tcp(address) => format!(" listen {address}"),
                Listen::Unix(path) => format!(" socket {}", quote(&path.to_string_lossy())),
            };
        }
        if let Some(namespace) = namespace {
            line += &format!(" netns {}", quote(namespace));
        }
        let numbers = [
            ("stale-time", *stale, usual.stale),
            ("settle-time", *settle, usual.settle),
            ("max-routes", *most, usual.most),
        ];
        for (word, n, _) in numbers.into_iter().filter(|(_, n, usual)| n != usual) {
            line += &format!(" {word} {n}");
        }
        if *answers {
            line += " offload";
        }
        line
    }
}
