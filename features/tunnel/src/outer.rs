// SPDX-License-Identifier: Apache-2.0
//! The path of a tunnel's outer packets, which its MTU may follow.

use crate::model::Spec;
use crate::route::Route;
use crate::state::End;
use cli::{Error, Result, retval};
use graph::World;
use track_mtu::{OuterPath, TrackedMtus};
use wire::IpProtocol;

/// Bytes of the inner Ethernet header.
const ETHERNET: u16 = 14;

/// The path of the outer packets of a tunnel with one other end, if its MTU is to follow it.
pub fn path<S: Spec>(spec: &S, end: &End, route: &Route) -> Option<OuterPath> {
    if !spec.marks().track_mtu {
        return None;
    }
    let ends = spec.ends();
    let port = match (spec.protocol(), &spec.header()[..]) {
        (IpProtocol::UDP, &[_, _, high, low, ..]) => u16::from_be_bytes([high, low]),
        _ => 0,
    };
    Some(OuterPath {
        adj: route.adj,
        table: route.table,
        local: ends.local,
        remote: ends.remote,
        protocol: spec.protocol(),
        port,
        overhead: end.template.bytes().len() as u16 + if end.frames { ETHERNET } else { 0 },
    })
}

/// Checks that the MTU of a tunnel can follow its path, if it is to.
///
/// # Errors
/// Several other ends (−73); the plugin is off (−30).
pub fn check<S: Spec>(world: &World, spec: &S) -> Result<()> {
    if !spec.marks().track_mtu {
        return Ok(());
    }
    if spec.is_multipoint() || spec.group_interface().is_some() {
        let why = "track-mtu: only a tunnel with one other end has one path";
        return Err(Error::unsupported(why).retval(retval::INVALID_ARGUMENT));
    }
    world.get::<TrackedMtus>().check()
}
