// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::model::IpIp;
use crate::sixrd;
use cli::{Command, Matches, Output, Result, Writer};
use graph::{RunningConfig, Script, SwIfIndex, World};
use net::Interfaces;
use object::{Arguments, Members};
use serde_json::{Value, json};
use std::fmt::{self, Write};
use tunnel::{Declared, Shown, TunnelEndpoints, Tunnels};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Create an IP in IP tunnel (RFC 2003, 2473): an interface whose packets go to another router
    /// in IP packets; p2mp: `create teib' adds the other ends
    IpIp::CREATE, cli::join!("(", IpIp::USAGE, tunnel::INSTANCE, ")") => tunnel::create::<IpIp>;
    /// Delete a tunnel and its interface
    "delete ipip tunnel",
    "{<interface:interface> | sw_if_index <index:u32>}" => tunnel::delete::<IpIp>;
    /// Tunnels of IP in IP
    "show ipip tunnel", "[<interface:interface>]" => tunnel::show::<IpIp>;
    /// Keys of received packets: addresses and table of each tunnel
    "show ipip tunnel-hash" => show_hash;
    /// Create a 6RD tunnel (RFC 5969): an interface that carries IPv6 to sites whose IPv4 addresses
    /// are embedded in their prefixes
    "create 6rd tunnel", sixrd::CREATE => sixrd::create;
    /// Delete a 6RD tunnel and its interface
    "delete 6rd tunnel", "{<interface:interface> | sw_if_index <index:u32>}" => sixrd::delete;
    /// Tunnels of 6RD
    "show 6rd tunnel" => sixrd::show;
};

impl Declared for IpIp {
    const CREATE: &'static str = "create ipip tunnel";
    const DELETE: Option<&'static str> = Some("delete ipip tunnel");
    const NONE: &'static str = "No IPIP tunnels configured...";

    fn fit(&self, m: &Matches) -> Result<()> {
        tunnel::check_other_end(m.has("destination"), self.multipoint, "p2mp")
    }

    fn make(self, world: &World, instance: Option<u32>) -> Result<SwIfIndex> {
        self.create(world, instance)
    }

    fn text(&self, shown: &Shown<'_>, text: &mut String) -> fmt::Result {
        let (Self { ends, marks, .. }, i) = (self, shown.instance);
        let TunnelEndpoints { local, remote, table, .. } = ends;
        write!(text, "[{i}] instance {i} src {local} dst {remote} table-ID {table} ")?;
        write!(text, "sw-if-idx {} flags [{}] ", shown.sw_if, marks.flags.words().join(" "))?;
        write!(text, "dscp {}", marks.dscp)?;
        text.push_str(if self.multipoint { " multi-point" } else { "" });
        Ok(())
    }

    fn more(&self, _: &Shown<'_>, to: &mut Members) {
        if self.multipoint {
            to.insert("destination".into(), Value::Null);
        }
    }
}

fn show_hash(w: &World, _: &Matches) -> Result<Output> {
    Ok(Output::list(w.get::<Tunnels<IpIp>>().interfaces(), |w: &World, sw_if, out: &mut Writer| {
        let Some(tunnel) = w.get::<Tunnels<IpIp>>().get(sw_if) else { return Ok(()) };
        let TunnelEndpoints { local, remote, table, .. } = tunnel.spec.ends;
        let name = w.get::<Interfaces>().name(sw_if);
        out.value(|| json!({ "interface": name, "source": remote.to_string(), "destination": local.to_string(), "table": table }));
        out.text(|text| writeln!(text, "{name}: src {remote} dst {local} table-ID {table}"));
        Ok(())
    }))
}

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[crate::sixrd::EXAMPLE, Script::here(
    "IP in IP tunnels",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     create ipip tunnel src 192.0.2.1 dst 192.0.2.9
     create ipip tunnel src 192.0.2.1 dst 192.0.2.10 instance 5 outer-table-id 7 encap-copy-df encap-copy-dscp decap-copy-ecn track-mtu
     create ipip tunnel src 2001:db8::1 dst 2001:db8::2 dscp 10 hop-limit 9 encap-copy-flow-label encap-inner-hash
     create ipip tunnel src 192.0.2.1 p2mp instance 9
     create ipip tunnel src 192.0.2.1 dst 192.0.2.11 instance 11
     delete ipip tunnel ipip11
     set interface state ipip0 up
     set interface ip address ipip0 10.0.0.1/24
     set interface ip address ipip9 10.9.0.1/24
     create teib ipip9 peer 10.9.0.2 nh 192.0.2.12
     ip route add 10.8.0.0/16 via 10.9.0.2 ipip9
     ip route add 10.1.0.0/16 via ipip0",
)];

pub fn write_config(world: &World, config: &mut RunningConfig) {
    crate::sixrd::write_config(world, config);
    tunnel::write_config::<IpIp>(world, config);
}
