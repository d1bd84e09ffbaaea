// SPDX-License-Identifier: Apache-2.0
//! The path of a tunnel's outer packets, which its MTU may follow.

use crate::end::End;
use crate::follow::{OuterPath, OuterPaths};
use crate::identifier::Identifier;
use crate::model::Spec;
use crate::route::Route;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use wire::{EtherType, IpProtocol};

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
        identifier: identifier(spec.protocol(), &spec.header()),
        overhead: end.template.bytes().len() as u16 + if end.frames { ETHERNET } else { 0 },
    })
}

/// The headers that a tunnel sends have changed.
pub fn changed<S: Spec>(world: &World, sw_if: SwIfIndex, spec: &S) {
    if let Ok(follower) = world.get::<OuterPaths>().follower()
        && spec.marks().track_mtu
    {
        follower.set_identifier(sw_if, identifier(spec.protocol(), &spec.header()));
    }
}

/// The parts of a tunnel's header that no packet changes and that name the tunnel.
fn identifier(protocol: IpProtocol, header: &[u8]) -> Identifier {
    let none = Identifier::default();
    match protocol {
        // The VNI or TEID stands in bytes 4 to 7 of the header behind UDP's (RFC 7348 5, RFC 8926
        // 3.4, TS 29.281 5.1).
        IpProtocol::UDP => none.with(header, 12..16),
        // RFC 2784 2.1, RFC 2890 2: flags, protocol and key. Where packets of both IP versions are
        // inside, the packet decides about the protocol.
        IpProtocol::GRE => {
            let is_ip = header.get(2..4) == Some(&EtherType::IP4.0.to_be_bytes());
            let has_key = header.first().is_some_and(|flags| flags & 0x20 != 0);
            let named = none.with(header, 0..if is_ip { 2 } else { 4 });
            if has_key { named.with(header, 4..8) } else { named }
        }
        // RFC 3931 4.1.1.1: session and cookie.
        IpProtocol::L2TP => none.with(header, 0..12),
        _ => none,
    }
}

/// Checks that the MTU of a tunnel can follow its path, if it is to.
///
/// # Errors
/// Several other ends (−73); the plugin is off (−30).
pub fn check<S: Spec>(world: &World, spec: &S) -> Result<()> {
    if !spec.marks().track_mtu {
        return Ok(());
    }
    if spec.is_multipoint() || spec.ends().group_interface.is_some() {
        let why = "track-mtu: only a tunnel with one other end has one path";
        return Err(Error::unsupported(why).retval(retval::INVALID_ARGUMENT));
    }
    world.get::<OuterPaths>().follower().map(drop)
}
