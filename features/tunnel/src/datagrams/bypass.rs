// SPDX-License-Identifier: Apache-2.0
//! `ip4-KIND-bypass`, `ip6-KIND-bypass`: datagrams of tunnels go from the arc of received packets
//! straight to decapsulation.

use super::Datagrams;
use super::input::key_of;
use crate::decap::Decap;
use buffer::{Buffer, Flags};
use cli::{Error, Result};
use graph::{
    Build, Cx, Deleted, Feature, Next, Node, NodeIndex, Shared, SwIfIndex, ThreadIndex, World,
    filled, rank,
};
use ip::{Ip, IpTrace};
use net::{AdjIndex, Interfaces, IpMeta};
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};
use wire::l4::{self, Verdict};
use wire::{Address, Header, IpHeader, IpProtocol, UdpHeader, UpperLayer};

/// A [`Bypass`] on its arc, for a plugin's list.
pub const fn bypass_feature(arc: &'static str, node: &'static str) -> Feature {
    Feature { arc, node, before: &[rank::BYPASS], after: &[rank::END] }
}

/// Takes datagrams of a kind of tunnels out of received packets.
pub struct Bypass<K: Datagrams, F> {
    decap: Decap<K>,
    interfaces: Arc<Interfaces>,
    input: NodeIndex,
    version: PhantomData<fn() -> F>,
}

/// Where packets go.
#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The node that takes the headers off.
    #[dynamic]
    Input(NodeIndex),
    #[next_feature]
    Next,
    /// UDP checksum of a tunnel's datagram is wrong
    #[drop]
    BadChecksum,
    /// UDP length of a tunnel's datagram is wrong
    #[drop]
    BadLength,
}

impl<K: Datagrams, F: Ip> Build for Bypass<K, F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            decap: Decap::new(world, thread),
            interfaces: world.get(),
            input: world.node(&filled(K::INPUT, F::IS_V6)).expect("of the same plugin"),
            version: PhantomData,
        }
    }
}

/// Where the UDP header of a datagram for one of the tunnels begins. The packet begins with its IP
/// header, and is looked up in the table with this index.
#[inline(always)]
pub fn find<K: Datagrams, F: Ip>(
    decap: &Decap<K>,
    packet: &[u8],
    table: u32,
    turn: &sync::Turn<'_>,
) -> Option<usize> {
    if F::Header::view(packet)?.dst().multicast() {
        return None;
    }
    let upper = UpperLayer::of::<F>(packet).ok()?;
    // Fragments are put together first, and a packet on a source route isn't at its destination.
    if upper.protocol != IpProtocol::UDP
        || upper.fragment_offset != 0
        || upper.more_fragments
        || upper.routed
    {
        return None;
    }
    let (key, _) = key_of::<K, F>(packet, upper.offset, table)?;
    decap.find(&key, turn).map(|_| upper.offset)
}

impl<K: Datagrams, F: Ip> Node for Bypass<K, F> {
    const NAME: &'static str = K::BYPASS;
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        let table = ip::table_of::<F>(b, self.interfaces.views(cx.turn)).0;
        let Some(at) = find::<K, F>(&self.decap, b.data(), table, cx.turn) else {
            return To::Next;
        };
        // RFC 7348 5, RFC 8926 3.3, RFC 6935: tunnels may go without.
        if !b.flags.intersects(Flags::L4_CSUM_OK | Flags::CSUM_PARTIAL)
            && !ip::lacks_checksum::<F>(b, IpProtocol::UDP, at)
        {
            match l4::verify_parts(b.data(), b.segments().skip(1)) {
                Ok(Verdict::Valid | Verdict::Absent) => {}
                Ok(Verdict::Invalid) => return To::BadChecksum,
                Err(_) => return To::BadLength,
            }
        }
        b.mark_l3();
        if !b.pull(at + UdpHeader::LEN) {
            return To::BadLength;
        }
        b.set_scratch(IpMeta::of(AdjIndex::RECEIVE, table));
        To::Input(self.input)
    }
}

/// The interfaces that have the bypass of a kind, and whether for IPv6.
pub struct BypassInterfaces<K>(Mutex<BTreeSet<(SwIfIndex, bool)>>, PhantomData<fn() -> K>);

impl<K: Datagrams> Shared for BypassInterfaces<K> {
    fn make(world: &World) -> Self {
        for is_v6 in [false, true] {
            // There are no such nodes if startup.conf switches the kind off.
            _ = world.link(&filled(K::BYPASS, is_v6), &filled(K::INPUT, is_v6));
        }
        Self(Mutex::default(), PhantomData)
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.0.lock().expect("no panic inside").retain(|(of, _)| of != sw_if);
        }
    }
}

impl<K: Datagrams> BypassInterfaces<K> {
    /// Takes datagrams of tunnels out of what an interface receives, or no longer.
    ///
    /// # Errors
    /// An interface that isn't there (−2).
    pub fn set(&self, world: &World, sw_if: SwIfIndex, is_v6: bool, on: bool) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        let (arc, node) = (filled("{ip}-unicast", is_v6), filled(K::BYPASS, is_v6));
        world.set_feature(&arc, &node, sw_if, on).map_err(Error::failed)?;
        let mut all = self.0.lock().expect("no panic inside");
        _ = if on { all.insert((sw_if, is_v6)) } else { all.remove(&(sw_if, is_v6)) };
        world.note_config_change();
        Ok(())
    }

    /// The interfaces that have it, and whether for IPv6.
    pub fn list(&self) -> Vec<(SwIfIndex, bool)> {
        self.0.lock().expect("no panic inside").iter().copied().collect()
    }
}
