// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::model::Vxlan;
use cli::{Command, Result};
use graph::{RunningConfig, Script, SwIfIndex, World};
use object::Arguments;
use std::fmt::{self, Write};
use tunnel::{Declared, Shown, Tunnels};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create a VXLAN tunnel (RFC 7348): an interface whose frames go to another router in UDP
    /// datagrams, or to a group of routers
    Vxlan::CREATE,
    cli::join!("(", Vxlan::USAGE, tunnel::INSTANCE, "[del])") => tunnel::create::<Vxlan>;
    /// VXLAN tunnels
    "show vxlan tunnel", "[raw]" => tunnel::show::<Vxlan>;
    { tunnel::bypass_ip4::<Vxlan>(
        "set interface ip vxlan-bypass",
        "Take datagrams of VXLAN tunnels out of the received IPv4 packets before these are looked up",
    ) };
    { tunnel::bypass_ip6::<Vxlan>(
        "set interface ip6 vxlan-bypass",
        "Take datagrams of VXLAN tunnels out of the received IPv6 packets before these are looked up",
    ) };
    /// Let a device find the tunnel of received datagrams: no device of this build can
    "set flow-offload vxlan",
    "{hw <device:interface>} {rx <tunnel:interface>} [del]" => tunnel::set_offload::<Vxlan>;
};

impl Declared for Vxlan {
    const CREATE: &'static str = "create vxlan tunnel";
    const NONE: &'static str = "No vxlan tunnels configured...";

    fn make(self, world: &World, instance: Option<u32>) -> Result<SwIfIndex> {
        world.get::<Tunnels<Self>>().create_on_port(world, instance, self)
    }

    fn text(&self, shown: &Shown<'_>, text: &mut String) -> fmt::Result {
        let (Self { ends, vni, source_port, destination_port, .. }, i) = (self, shown.instance);
        write!(text, "[{i}] instance {i} src {} dst {} ", ends.local, ends.remote)?;
        write!(text, "src_port {source_port} dst_port {destination_port} vni {vni} ")?;
        shown.route_text(text)?;
        self.next.text(text)?;
        if self.layer3 {
            text.push_str("l3 ");
        }
        ends.group_text(text)
    }
}

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "VXLAN tunnels",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.9 vni 13
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.9 vni 14 instance 5 encap-vrf-id 7 src_port 4800 dst_port 4801
     create vxlan tunnel src 2001:db8::1 dst 2001:db8::2 vni 13 l3
     create vxlan tunnel src 192.0.2.1 group 239.1.1.1 pg0 vni 13
     create vxlan tunnel src 192.0.2.1 group 239.1.1.1 pg0 vni 14 decap-next drop
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.10 vni 15 decap-next node ethernet-input
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.11 vni 16
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.11 vni 16 del
     create vxlan tunnel src 192.0.2.1 dst 192.0.2.11 vni 17 encap-copy-dscp hop-limit 9
     set interface l2 bridge vxlan_tunnel0 13
     set interface l2 bridge vxlan_tunnel2 13
     set interface ip vxlan-bypass pg0
     set interface ip6 vxlan-bypass pg0",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    tunnel::write_config::<Vxlan>(world, config);
    tunnel::write_bypass::<Vxlan>(world, config);
}
