// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::model::{Gre, Payload};
use cli::{Command, Matches, Result};
use graph::{RunningConfig, Script, SwIfIndex, World};
use object::{Arguments, Members};
use serde_json::Value;
use std::fmt::{self, Write};
use tunnel::{Declared, Shown};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create a GRE tunnel (RFC 2784): an interface whose packets go to another router behind a GRE
    /// header; teb, erspan: Ethernet frames; multipoint: `create teib' adds the other ends
    Gre::CREATE, cli::join!("(", Gre::USAGE, tunnel::INSTANCE, "[del])") => tunnel::create::<Gre>;
    /// GRE tunnels
    "show gre tunnel", "[<interface:interface>]" => tunnel::show::<Gre>;
};

impl Gre {
    fn mode(&self) -> &'static str {
        if self.multipoint { "multi-point" } else { "point-to-point" }
    }
}

impl Declared for Gre {
    const CREATE: &'static str = "create gre tunnel";
    const NONE: &'static str = "No GRE tunnels configured...";

    fn fit(&self, m: &Matches) -> Result<()> {
        tunnel::check_other_end(m.has("destination"), self.multipoint, "multipoint")
    }

    fn make(self, world: &World, instance: Option<u32>) -> Result<SwIfIndex> {
        self.create(world, instance)
    }

    fn text(&self, shown: &Shown<'_>, text: &mut String) -> fmt::Result {
        let (Self { ends, payload, key, .. }, i) = (self, shown.instance);
        write!(text, "[{i}] instance {i} src {} dst {} ", ends.local, ends.remote)?;
        write!(text, "fib-idx {} sw-if-idx {} ", ends.shown_table(shown.world), shown.sw_if)?;
        write!(text, "payload {} {}", payload.name(), self.mode())?;
        if *key != 0 {
            write!(text, " key {key}")?;
        }
        if let Payload::Erspan { session } = payload {
            write!(text, " session {session}")?;
        }
        match shown.route.filter(|_| *payload != Payload::Ip) {
            Some(route) => write!(text, " l2-adj-idx {}", route.adj),
            None => Ok(()),
        }
    }

    fn more(&self, _: &Shown<'_>, to: &mut Members) {
        if self.multipoint {
            to.insert("destination".into(), Value::Null);
        }
        if self.key == 0 {
            to.insert("key".into(), Value::Null);
        }
        to.insert("mode".into(), self.mode().into());
        to.shift_remove("multipoint");
    }
}

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "GRE tunnels",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     create gre tunnel src 192.0.2.1 dst 192.0.2.9
     create gre tunnel src 192.0.2.1 dst 192.0.2.9 key 5 instance 5 outer-fib-id 7 encap-copy-dscp dscp 10
     create gre tunnel src 2001:db8::1 dst 2001:db8::2 teb
     create gre tunnel src 192.0.2.1 dst 192.0.2.9 erspan 100
     create gre tunnel src 192.0.2.1 multipoint instance 9
     create gre tunnel src 192.0.2.1 dst 192.0.2.11 instance 11
     create gre tunnel src 192.0.2.1 dst 192.0.2.11 del
     set interface state gre0 up
     set interface ip address gre0 10.0.0.1/24
     set interface ip address gre9 10.9.0.1/24
     create teib gre9 peer 10.9.0.2 nh 192.0.2.12
     set interface l2 bridge gre1 13
     ip route add 10.1.0.0/16 via gre0",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    tunnel::write_config::<Gre>(world, config);
}
