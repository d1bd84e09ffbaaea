// SPDX-License-Identifier: Apache-2.0
//! Devices that find the tunnel of a datagram: none of this build.

use super::Datagrams;
use crate::model::Spec;
use crate::state::Tunnels;
use cli::{Error, Matches, Output, Result, retval};
use graph::{SwIfIndex, World};
use net::args::interface;
use net::{Interfaces, IpBinding};
use wire::Ip4;

/// Why a device doesn't find the datagrams of a tunnel, with VPP's value.
pub fn refuse_offload<K: Datagrams>(w: &World, device: SwIfIndex, tunnel: SwIfIndex) -> Error {
    let interfaces = w.get::<Interfaces>();
    let Ok(device) = interfaces.get(device) else {
        return Error::not_found("the device isn't there").retval(retval::NO_SUCH_ENTRY);
    };
    let Some(tunnel) = w.get::<Tunnels<K>>().get(tunnel) else {
        return Error::failed(format!("the interface is no {} tunnel", K::DRIVER))
            .retval(retval::INVALID_SW_IF_INDEX_2);
    };
    let ends = Spec::ends(&tunnel.spec);
    if ends.local.is_ipv6() {
        return Error::unsupported("devices find tunnels of IPv4 only")
            .retval(retval::INVALID_ADDRESS_FAMILY);
    }
    if ends.table_index(w).is_ok_and(|table| table != IpBinding::of(w, device.sw_if).table::<Ip4>())
    {
        return Error::failed("the device has another table than the tunnel")
            .retval(retval::NO_SUCH_FIB);
    }
    Error::unsupported(format!("{} can't find tunnels", device.name)).retval(retval::UNSPECIFIED)
}

/// `set flow-offload KIND`, with the words `<device:interface>` and `<tunnel:interface>`.
///
/// # Errors
/// Always: as [`refuse_offload`], and an interface that isn't there (−2).
pub fn set_offload<K: Datagrams>(w: &World, m: &Matches) -> Result<Output> {
    let find = |word| interface(w, m, word);
    Err(refuse_offload::<K>(w, find("device")?, find("tunnel")?))
}
