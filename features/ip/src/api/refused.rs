// SPDX-License-Identifier: Apache-2.0
//! Messages about what isn't built: they are answered by a refusal that says so.

use cli::{Error, Result};
use graph::World;
use msg::{Caller, Message, Messages, retval};
use net::api::{InterfaceIndex, Prefix};

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(|_: &World, _: &Caller<'_, World>, _: IpSourceAndPortRangeCheckAddDel| {
        refuse("checks of ports by source")
    });
    m.call(|_: &World, _: &Caller<'_, World>, _: IpSourceAndPortRangeCheckInterfaceAddDel| {
        refuse("checks of ports by source")
    });
    m.call(|_: &World, _: &Caller<'_, World>, _: IoamEnable| refuse("in-situ OAM"));
    m.call(|_: &World, _: &Caller<'_, World>, _: IoamDisable| refuse("in-situ OAM"));
}

fn refuse(what: &str) -> Result<()> {
    Err(Error::unsupported(format!("{what}: not built")).retval(retval::UNIMPLEMENTED))
}

/// Says which ports a source's packets may come from: refused, it isn't built yet.
#[derive(Message)]
pub struct IpSourceAndPortRangeCheckAddDel {
    /// Add, not remove.
    #[wire(default = "true")]
    pub is_add: bool,
    /// The sources.
    pub prefix: Prefix,
    /// How many ranges there are.
    pub number_of_ranges: u8,
    /// Their first ports.
    pub low_ports: [u16; 32],
    /// Their last ports.
    pub high_ports: [u16; 32],
    /// The table of the check.
    pub vrf_id: u32,
}

/// Says where sources' ports are checked: refused, it isn't built yet.
#[derive(Message)]
pub struct IpSourceAndPortRangeCheckInterfaceAddDel {
    /// Add, not remove.
    #[wire(default = "true")]
    pub is_add: bool,
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The table for TCP that comes in.
    pub tcp_in_vrf_id: u32,
    /// The table for TCP that leaves.
    pub tcp_out_vrf_id: u32,
    /// The table for UDP that comes in.
    pub udp_in_vrf_id: u32,
    /// The table for UDP that leaves.
    pub udp_out_vrf_id: u32,
}

/// Writes into packets how they fare: refused, it isn't built yet.
#[derive(Message)]
pub struct IoamEnable {
    /// Of no meaning.
    pub id: u16,
    /// With sequence numbers.
    pub seqno: bool,
    /// Look at them at the end.
    pub analyse: bool,
    /// With a proof of transit.
    pub pot_enable: bool,
    /// With a trace.
    pub trace_enable: bool,
    /// The number of this router.
    pub node_id: u32,
}

/// Writes nothing into packets: refused, it isn't built yet.
#[derive(Message)]
pub struct IoamDisable {
    /// Of no meaning.
    pub id: u16,
}
