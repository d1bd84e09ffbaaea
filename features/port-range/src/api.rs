// SPDX-License-Identifier: Apache-2.0
//! The messages of the module `ip` about ports by source.

use crate::control::{self, Range};
use cli::{Error, Result};
use graph::World;
use msg::{Messages, Module, retval};
use net::api::{InterfaceIndex, Prefix, given};
use wire::Ip4;

/// This feature's part of the module.
pub static API: Module<World> = Module::core("ip", messages);

fn messages(m: &mut Messages<World>) {
    m.call(allow);
    m.call(set);
}

msg::messages! {
    /// Says which ports the hosts of a network may send to.
    IpSourceAndPortRangeCheckAddDel,
    /// Says by which tables ports are checked where; all bits set stand for none.
    IpSourceAndPortRangeCheckInterfaceAddDel,
}

fn allow(w: &World, r: IpSourceAndPortRangeCheckAddDel) -> Result<()> {
    let network = r.prefix.of::<Ip4>()?;
    let network = network.ok_or_else(|| Error::unsupported("ports of IPv6 by source: not built"));
    let network = network.map_err(|e| e.retval(retval::UNIMPLEMENTED))?;
    let n = usize::from(r.number_of_ranges);
    if n > r.low_ports.len() {
        return Err(Error::limit(format!("{n} ranges in a message that has room for 32"))
            .retval(retval::EXCEEDED_NUMBER_OF_RANGES_CAPACITY));
    }
    let ports = r.low_ports.into_iter().zip(r.high_ports).take(n);
    let ranges = ports.map(|(first, last)| Range::new(first, last)).collect::<Result<Vec<_>>>()?;
    match control::allow(w, r.vrf_id, network, &ranges, r.is_add) {
        // Taking back what isn't there is no error for VPP's clients.
        Err(e) if e.is(retval::NO_SUCH_ENTRY) => Ok(()),
        done => done,
    }
}

fn set(w: &World, r: IpSourceAndPortRangeCheckInterfaceAddDel) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    let vrfs = [r.tcp_out_vrf_id, r.udp_out_vrf_id, r.tcp_in_vrf_id, r.udp_in_vrf_id];
    control::set(w, sw_if, vrfs.map(given), r.is_add)
}
