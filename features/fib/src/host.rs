// SPDX-License-Identifier: Apache-2.0
//! Routes to hosts.

use graph::World;
use net::{IfKind, Interfaces, Net, Path, PathKind};
use wire::Prefix;

/// The paths of a route as they are followed: where a route to one host names only an interface,
/// the host itself is the neighbour there, as in VPP.
pub fn paths_to<F: Net>(world: &World, prefix: Prefix<F::Addr>, paths: &[Path]) -> Vec<Path> {
    let interfaces = world.get::<Interfaces>();
    let of = |path: &Path| match path.kind {
        PathKind::Attached { sw_if, address }
            if prefix.len() == F::BITS
                && address.is_unspecified()
                && interfaces.get(sw_if).is_ok_and(|of| of.kind == IfKind::Ethernet) =>
        {
            let nexthop = prefix.addr().into();
            Path { kind: PathKind::Neighbor { sw_if, nexthop }, ..*path }
        }
        _ => *path,
    };
    paths.iter().map(of).collect()
}
