// SPDX-License-Identifier: Apache-2.0
//! The section `fpm` of startup.conf: if it is there, FPM is enabled.

use crate::address::{address, socket};
use startup::value::SocketPath;
use startup::{Section, Word};

/// The settings of the section `fpm`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Startup {
    /// True if the section is there.
    pub is_there: bool,
    /// See [`crate::settings::Settings`].
    pub listen: Option<String>,
    /// See [`crate::settings::Settings`].
    pub socket: Option<SocketPath>,
    /// See [`crate::settings::Settings`].
    pub namespace: Option<String>,
    /// See [`crate::settings::Settings`].
    pub stale: Option<u32>,
    /// See [`crate::settings::Settings`].
    pub settle: Option<u32>,
    /// See [`crate::settings::Settings`].
    pub most: Option<u32>,
    /// See [`crate::settings::Settings`].
    pub answers: bool,
}

impl startup::Startup for Startup {
    const SECTIONS: &'static [Section<Self>] = &[Section::new(
        "fpm",
        "routes that FRR's zebra sends by FPM; with the section, even an empty one, it is enabled",
        &[
            Word::new(
                "listen",
                |c: &mut Self| &mut c.listen,
                "address and port of the listener, 127.0.0.1:2620 unless set",
            )
            .check(|c: &Self| c.listen.as_deref().map_or(Ok(()), |text| address(text).map(drop))),
            Word::new(
                "socket",
                |c: &mut Self| &mut c.socket,
                "path of a Unix socket to listen at instead",
            )
            .check(|c: &Self| {
                let path = c.socket.as_ref().map(|path| path.0.to_string_lossy());
                path.map_or(Ok(()), |path| socket(path.as_ref()).map(drop))
            }),
            Word::new("netns", |c| &mut c.namespace, "network namespace of the listener"),
            Word::new(
                "stale-time",
                |c| &mut c.stale,
                "seconds for which routes of a lost peer stay, 120 unless set",
            ),
            Word::new(
                "settle-time",
                |c| &mut c.settle,
                "seconds without a stale route set again after which the others go, 30 unless set",
            ),
            Word::new("max-routes", |c| &mut c.most, "routes of a peer, 4,000,000 unless set"),
            Word::new(
                "offload",
                |c| &mut c.answers,
                "tell the peer which routes are in force (FRR from 8.5 on)",
            ),
        ],
    )
    .present(|c| &mut c.is_there)];
}
