// SPDX-License-Identifier: Apache-2.0
//! The section `linux-cp` of startup.conf.

use startup::section::NUMBER;
use startup::{Section, Word};

/// The reason why numbers of queues are ignored.
const QUEUES: &str = "not needed: a mirror has one queue, which carries what programs send and get";

/// The settings of the section `linux-cp`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Startup {
    /// The namespace of pairs that name none.
    pub default_namespace: Option<String>,
    /// See [`crate::settings::Values`].
    pub sync: bool,
    /// See [`crate::settings::Values`].
    pub auto_subint: bool,
    /// See [`crate::settings::Values`].
    pub del_static: bool,
    /// See [`crate::settings::Values`].
    pub del_dynamic: bool,
}

impl startup::Startup for Startup {
    const SECTIONS: &'static [Section<Self>] = &[Section::new(
        "linux-cp",
        "mirrors of interfaces in the host's kernel",
        &[
            Word::new(
                "default netns",
                |c| &mut c.default_namespace,
                "network namespace of pairs that name none",
            ),
            Word::new(
                "lcp-sync",
                |c| &mut c.sync,
                "state, MTU and addresses of interfaces go to the kernel's",
            ),
            Word::new(
                "lcp-auto-subint",
                |c| &mut c.auto_subint,
                "new sub-interfaces are mirrored too",
            ),
            Word::new(
                "del-static-on-link-down",
                |c| &mut c.del_static,
                "routes of operators over a link that loses its carrier go",
            ),
            Word::new(
                "del-dynamic-on-link-down",
                |c| &mut c.del_dynamic,
                "routes of daemons over a link that loses its carrier go",
            ),
            Word::unused("num-rx-queues", NUMBER, QUEUES),
            Word::unused("num-tx-queues", NUMBER, QUEUES),
        ],
    )];
}
