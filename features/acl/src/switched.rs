// SPDX-License-Identifier: Apache-2.0
//! Switched frames: the ACLs of their packets, and the whitelist of other frames' EtherTypes.

use crate::list::Direction;
use buffer::Buffer;
use cli::{Error, Result};
use graph::{Build, Cx, Next, Node, Shared, SwIfIndex, ThreadIndex, World};
use net::Interfaces;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use sync::Slots;
use wire::{EtherType, Ethernet};

/// Lets packets of switched frames of an interface visit the nodes, or no longer.
pub fn enable(world: &World, sw_if: SwIfIndex, direction: Direction, on: bool) -> Result<()> {
    let features = match direction {
        Direction::Input => {
            [("l2-input-ip4", "acl-plugin-in-ip4-l2"), ("l2-input-ip6", "acl-plugin-in-ip6-l2")]
        }
        Direction::Output => {
            [("l2-output-ip4", "acl-plugin-out-ip4-l2"), ("l2-output-ip6", "acl-plugin-out-ip6-l2")]
        }
    };
    for (arc, node) in features {
        world.set_feature(arc, node, sw_if, on).map_err(Error::unsupported)?;
    }
    Ok(())
}

/// EtherTypes of frames without IP that pass, by [`Direction`]; where there are none, all pass.
pub type Whitelist = [Vec<u16>; 2];

/// The whitelists of interfaces.
pub struct Whitelists {
    published: Slots<Whitelist>,
    control: Mutex<BTreeMap<SwIfIndex, Whitelist>>,
}

impl Shared for Whitelists {
    fn make(world: &World) -> Self {
        Self { published: Slots::new(world.qsbr.clone()), control: Mutex::default() }
    }
}

impl Whitelists {
    /// The whitelists of all interfaces that have one.
    pub fn list(&self) -> Vec<(SwIfIndex, Whitelist)> {
        let all = self.control.lock().expect("no panic inside");
        all.iter().map(|(sw_if, whitelist)| (*sw_if, whitelist.clone())).collect()
    }

    /// The whitelist of an interface.
    pub fn get(&self, sw_if: SwIfIndex) -> Whitelist {
        let all = self.control.lock().expect("no panic inside");
        all.get(&sw_if).cloned().unwrap_or_default()
    }

    /// Replaces the whitelist of an interface.
    ///
    /// # Errors
    /// An interface that isn't there (−2).
    pub fn set(&self, world: &World, sw_if: SwIfIndex, mut whitelist: Whitelist) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        for types in &mut whitelist {
            let mut seen = std::collections::BTreeSet::new();
            types.retain(|kind| seen.insert(*kind));
        }
        self.published.set(sw_if.0, whitelist.clone());
        for (direction, arc, node) in [
            (Direction::Input, "l2-input-nonip", "acl-plugin-in-nonip-l2"),
            (Direction::Output, "l2-output-nonip", "acl-plugin-out-nonip-l2"),
        ] {
            let on = !whitelist[direction as usize].is_empty();
            world.set_feature(arc, node, sw_if, on).map_err(Error::unsupported)?;
        }
        let mut all = self.control.lock().expect("no panic inside");
        if whitelist == Whitelist::default() {
            all.remove(&sw_if);
            self.published.clear(sw_if.0);
        } else {
            all.insert(sw_if, whitelist);
        }
        Ok(())
    }
}

/// Forgets the whitelist of an interface that is being deleted.
pub fn forget(world: &World, sw_if: SwIfIndex) {
    let whitelists = world.get::<Whitelists>();
    whitelists.control.lock().expect("no panic inside").remove(&sw_if);
    whitelists.published.clear(sw_if.0);
}

/// `acl-plugin-in-nonip-l2`.
pub struct NonIp<const TX: bool>(Arc<Whitelists>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum InTo {
    #[next_feature]
    Next,
    /// dropped inbound non-whitelisted non-ip packets
    #[drop]
    #[counter("dropped inbound non-whitelisted non-ip packets")]
    Denied,
    /// permitted inbound whitelisted non-ip packets
    #[count]
    #[counter("permitted inbound whitelisted non-ip packets")]
    Permitted,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutTo {
    #[next_feature]
    Next,
    /// dropped outbound non-whitelisted non-ip packets
    #[drop]
    #[counter("dropped outbound non-whitelisted non-ip packets")]
    Denied,
    /// permitted outbound whitelisted non-ip packets
    #[count]
    #[counter("permitted outbound whitelisted non-ip packets")]
    Permitted,
}

impl<const TX: bool> Build for NonIp<TX> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl<const TX: bool> NonIp<TX> {
    /// True if a frame may pass.
    fn passes<const TRACED: bool>(&self, b: &Buffer, cx: &Cx<'_, TRACED>) -> bool {
        let sw_if = if TX { b.tx_if } else { b.rx_if };
        let Some(whitelist) = self.0.published.get(sw_if, cx.turn) else { return true };
        let types = &whitelist[usize::from(TX)];
        let kind = Ethernet::l3_at(b.data()).map(|(_, EtherType(kind))| kind);
        types.is_empty() || kind.is_some_and(|kind| types.contains(&kind))
    }
}

impl Node for NonIp<false> {
    const NAME: &'static str = "acl-plugin-in-nonip-l2";
    type Next = InTo;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> InTo {
        if !self.passes(b, cx) {
            return InTo::Denied;
        }
        cx.count(InTo::Permitted, 1);
        InTo::Next
    }
}

impl Node for NonIp<true> {
    const NAME: &'static str = "acl-plugin-out-nonip-l2";
    type Next = OutTo;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> OutTo {
        if !self.passes(b, cx) {
            return OutTo::Denied;
        }
        cx.count(OutTo::Permitted, 1);
        OutTo::Next
    }
}
