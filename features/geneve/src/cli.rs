// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::spec::Geneve;
use cli::{Command, Result};
use graph::{RunningConfig, Script, SwIfIndex, World};
use object::Arguments;
use std::fmt::{self, Write};
use tunnel::{Declared, Shown, Tunnels};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create a GENEVE tunnel (RFC 8926): an interface whose frames go to another router in UDP
    /// datagrams, or to a group of routers; l3-mode: its MAC address follows from its number
    Geneve::CREATE,
    cli::join!("(", Geneve::USAGE, tunnel::INSTANCE, "[del])") => tunnel::create::<Geneve>;
    /// GENEVE tunnels
    "show geneve tunnel", "[raw]" => tunnel::show::<Geneve>;
    { tunnel::bypass_ip4::<Geneve>(
        "set interface ip geneve-bypass",
        "Take datagrams of GENEVE tunnels out of the received IPv4 packets before these are looked up",
    ) };
    { tunnel::bypass_ip6::<Geneve>(
        "set interface ip6 geneve-bypass",
        "Take datagrams of GENEVE tunnels out of the received IPv6 packets before these are looked up",
    ) };
};

impl Declared for Geneve {
    const CREATE: &'static str = "create geneve tunnel";
    const NONE: &'static str = "No geneve tunnels configured...";

    fn make(self, world: &World, instance: Option<u32>) -> Result<SwIfIndex> {
        world.get::<Tunnels<Self>>().create_on_port(world, instance, self)
    }

    fn text(&self, shown: &Shown<'_>, text: &mut String) -> fmt::Result {
        let Self { ends, vni, layer3, next, .. } = self;
        write!(text, "[{}] lcl {} rmt {} vni {vni} ", shown.instance, ends.local, ends.remote)?;
        shown.route_text(text)?;
        next.text(text)?;
        write!(text, "l3-mode {} ", u8::from(*layer3))?;
        ends.group_text(text)
    }
}

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "GENEVE tunnels",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     create geneve tunnel local 192.0.2.1 remote 192.0.2.9 vni 13
     create geneve tunnel local 192.0.2.1 remote 192.0.2.9 vni 14 instance 5 encap-vrf-id 7 encap-copy-ecn dscp 8
     create geneve tunnel local 2001:db8::1 remote 2001:db8::2 vni 13 l3-mode
     create geneve tunnel local 192.0.2.1 group 239.1.1.1 pg0 vni 13
     create geneve tunnel local 192.0.2.1 group 239.1.1.1 pg0 vni 14 decap-next drop
     create geneve tunnel local 192.0.2.1 remote 192.0.2.10 vni 15 decap-next node ethernet-input
     create geneve tunnel local 192.0.2.1 remote 192.0.2.11 vni 16
     create geneve tunnel local 192.0.2.1 remote 192.0.2.11 vni 16 del
     set interface l2 bridge geneve_tunnel0 13
     set interface l2 bridge geneve_tunnel2 13
     set interface ip geneve-bypass pg0
     set interface ip6 geneve-bypass pg0",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    tunnel::write_config::<Geneve>(world, config);
    tunnel::write_bypass::<Geneve>(world, config);
}
