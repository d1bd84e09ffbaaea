// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `lldp`.

use crate::port::{Lldp, Port};
use crate::tlv::Id;
use cli::{Error, Result};
use graph::World;
use msg::{Messages, Module, retval};
use net::api::{InterfaceIndex, Ip4Address, Ip6Address};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The module.
pub static API: Module<World> = Module::plugin("lldp", messages);

fn messages(m: &mut Messages<World>) {
    m.call(config);
    m.call(set_interface);
    m.stream(dump);
}

msg::messages! {
    /// Sets the system's data that neighbours receive.
    LldpConfig,
    /// Begins or ends to speak and to listen on an interface.
    SwInterfaceSetLldp,
    /// The kind of a neighbour's chassis ID (IEEE 802.1AB, table 8-2).
    ChassisIdSubtype,
    /// The kind of a neighbour's port ID (table 8-3).
    PortIdSubtype,
    /// Asks for all ports.
    LldpDump,
    /// A port and its neighbour.
    LldpDetails,
}

fn config(w: &World, r: LldpConfig) -> Result<()> {
    let given = |n: u32| Some(n).filter(|n| *n != 0);
    let name = Some(r.system_name.as_str()).filter(|name| !name.is_empty());
    w.get::<Lldp>().set(w, name, given(r.tx_hold), given(r.tx_interval))
}

fn set_interface(w: &World, r: SwInterfaceSetLldp) -> Result<()> {
    let (lldp, sw_if) = (w.get::<Lldp>(), r.sw_if_index.existing(w)?);
    if !r.enable {
        return lldp.disable(w, sw_if);
    }
    let end = r.mgmt_oid.iter().position(|byte| *byte == 0).unwrap_or(r.mgmt_oid.len());
    let ip4 = Some(Ipv4Addr::from(r.mgmt_ip4.0)).filter(|ip| !ip.is_unspecified());
    let ip6 = Some(Ipv6Addr::from(r.mgmt_ip6.0)).filter(|ip| !ip.is_unspecified());
    let object = std::str::from_utf8(&r.mgmt_oid[..end]).map_err(|_| {
        Error::unsupported("an object identifier that isn't text is not implemented")
            .retval(retval::UNIMPLEMENTED)
    })?;
    lldp.enable(
        w,
        sw_if,
        Port { description: r.port_desc, management: (ip4, ip6), object: object.into() },
    )
}

fn chassis_kind(kind: u8) -> ChassisIdSubtype {
    use ChassisIdSubtype::*;
    let all = [Reserved, ChassisComp, IntfAlias, PortComp, MacAddr, NetAddr, IntfName, Local];
    all.get(usize::from(kind)).copied().unwrap_or(Reserved)
}

fn port_kind(kind: u8) -> PortIdSubtype {
    use PortIdSubtype::*;
    let all = [Reserved, IntfAlias, PortComp, MacAddr, NetAddr, IntfName, AgentCircuitId, Local];
    all.get(usize::from(kind)).copied().unwrap_or(Reserved)
}

/// First bytes of an ID, and their number.
fn name(id: Option<&Id>) -> ([u8; 64], u8) {
    let mut bytes = [0; 64];
    let name = id.map_or(&[][..], Id::bytes);
    let len = name.len().min(bytes.len());
    bytes[..len].copy_from_slice(&name[..len]);
    (bytes, len as u8)
}

fn dump(w: &World, _: LldpDump) -> Result<Vec<LldpDetails>> {
    let seconds = |time: Option<u64>| time.map_or(0.0, |time| time as f64 / 1e9);
    let details = |(sw_if, status): (graph::SwIfIndex, crate::port::Status)| {
        let neighbor = status.neighbor.as_ref();
        let (chassis_id, chassis_id_len) = name(neighbor.map(|n| &n.chassis));
        let (port_id, port_id_len) = name(neighbor.map(|n| &n.port));
        LldpDetails {
            sw_if_index: sw_if.into(),
            last_heard: seconds(neighbor.map(|n| n.heard)),
            last_sent: seconds(status.sent),
            chassis_id,
            chassis_id_len,
            port_id,
            port_id_len,
            ttl: neighbor.map_or(0, |n| n.ttl),
            port_id_subtype: port_kind(neighbor.map_or(0, |n| n.port.kind)),
            chassis_id_subtype: chassis_kind(neighbor.map_or(0, |n| n.chassis.kind)),
        }
    };
    Ok(w.get::<Lldp>().status().into_iter().map(details).collect())
}
