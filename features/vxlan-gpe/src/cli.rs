// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::model::Gpe;
use crate::spec::decap_table;
use cli::{Command, Result};
use graph::{RunningConfig, Script, SwIfIndex, World};
use object::{Arguments, Choice, Members};
use std::fmt::{self, Write};
use tunnel::{Declared, Shown, Tunnels};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create a VXLAN-GPE tunnel: an interface whose packets go to another router in UDP datagrams,
    /// or to a group of routers;
    /// next-…: its payload, IPv4 without
    Gpe::CREATE, cli::join!("(", Gpe::USAGE, tunnel::INSTANCE, "[del])") => tunnel::create::<Gpe>;
    /// VXLAN-GPE tunnels
    "show vxlan-gpe", "[raw]" => tunnel::show::<Gpe>;
    { tunnel::bypass_ip4::<Gpe>(
        "set interface ip vxlan-gpe-bypass",
        "Take datagrams of VXLAN-GPE tunnels out of the received IPv4 packets before these are looked up",
    ) };
    { tunnel::bypass_ip6::<Gpe>(
        "set interface ip6 vxlan-gpe-bypass",
        "Take datagrams of VXLAN-GPE tunnels out of the received IPv6 packets before these are looked up",
    ) };
};

impl Declared for Gpe {
    const CREATE: &'static str = "create vxlan-gpe tunnel";
    const NONE: &'static str = "No vxlan-gpe tunnels configured.";

    fn make(self, world: &World, instance: Option<u32>) -> Result<SwIfIndex> {
        world.get::<Tunnels<Self>>().create_on_port(world, instance, self)
    }

    fn text(&self, shown: &Shown<'_>, text: &mut String) -> fmt::Result {
        let (Self { ends, vni, local_port, remote_port, .. }, i) = (self, shown.instance);
        write!(text, "[{i}] lcl {} rmt {} ", ends.local, ends.remote)?;
        write!(text, "lport {local_port} rport {remote_port} vni {vni} ")?;
        shown.route_text(text)?;
        let table = decap_table(shown.world, shown.sw_if, self.protocol);
        write!(text, "{} decap-vrf-id {table} ", self.protocol.word())?;
        ends.group_text(text)
    }

    fn more(&self, shown: &Shown<'_>, to: &mut Members) {
        to.insert("protocol".into(), self.protocol.name().into());
        // It may have moved since it was made.
        let table = decap_table(shown.world, shown.sw_if, self.protocol);
        to.insert("decap_table".into(), table.into());
    }
}

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "VXLAN-GPE tunnels",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     ip table add 9
     create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.9 vni 13
     create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.9 vni 14 next-ethernet instance 5 encap-vrf-id 7 src_port 4799 dst_port 4798
     create vxlan-gpe tunnel local 2001:db8::1 remote 2001:db8::2 vni 13 next-ip6 hop-limit 9
     create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.10 vni 15 next-ip4 decap-vrf-id 9
     create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.10 vni 16 next-nsh
     create vxlan-gpe tunnel local 192.0.2.1 group 239.1.1.1 pg0 vni 13 next-ethernet
     create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.11 vni 16
     create vxlan-gpe tunnel local 192.0.2.1 remote 192.0.2.11 vni 16 del
     set interface l2 bridge vxlan_gpe_tunnel5 13
     set interface ip address vxlan_gpe_tunnel0 10.0.0.1/24
     set interface ip vxlan-gpe-bypass pg0
     set interface ip6 vxlan-gpe-bypass pg0",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    tunnel::write_config::<Gpe>(world, config);
    tunnel::write_bypass::<Gpe>(world, config);
}
