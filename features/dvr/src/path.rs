// SPDX-License-Identifier: Apache-2.0
//! Interfaces as objects of paths.

use crate::dpo::Dpo;
use crate::reinject::Reinject;
use cli::Error;
use graph::{SwIfIndex, World, name_of};
use ip::Ip;
use net::{Interfaces, Link, ObjectInterface, ObjectType};
use wire::{Ip4, Ip6};

/// The interface that packets of a path leave by.
pub static DVR: ObjectType = ObjectType {
    name: "dvr",
    words: "dvr",
    interface: Some(ObjectInterface::Sends),
    node: |world, link, sw_if| {
        world.get::<Interfaces>().check(SwIfIndex(sw_if))?;
        let name = match link {
            Link::IP4 => name_of::<Dpo<Ip4>>(),
            Link::IP6 => name_of::<Dpo<Ip6>>(),
            _ => return Err(Error::unsupported("packets of such routes are IP")),
        };
        world.node(name).ok_or_else(|| Error::unsupported("the node of such routes isn't there"))
    },
    describe: |world, sw_if| world.get::<Interfaces>().name(SwIfIndex(sw_if)),
    used: |world, link, sw_if, is_used| match link {
        Link::IP4 => reinject::<Ip4>(world, SwIfIndex(sw_if), is_used),
        Link::IP6 => reinject::<Ip6>(world, SwIfIndex(sw_if), is_used),
        _ => {}
    },
    ..ObjectType::PLAIN
};

/// Enables the last feature of packets that leave by an interface, or disables it.
fn reinject<F: Ip>(world: &World, sw_if: SwIfIndex, on: bool) {
    let arc = graph::filled("{ip}-output", F::IS_V6);
    let set = world.set_feature(&arc, name_of::<Reinject<F>>(), sw_if, on);
    // Without room for another chain of features, `Dpo` drops the packets: they have no arc to
    // take.
    if let Err(error) = set {
        log::warn!("packets of DVR routes are dropped: {error}");
    }
}
