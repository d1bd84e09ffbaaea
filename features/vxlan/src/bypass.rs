// SPDX-License-Identifier: Apache-2.0
//! `ip4-vxlan-bypass`, `ip6-vxlan-bypass`: datagrams of tunnels go from the arc of received packets
//! straight to decapsulation.

use crate::input::key_of;
use crate::spec::Vxlan;
use buffer::{Buffer, Flags};
use cli::{Error, Result};
use graph::{Build, Cx, Deleted, Next, Node, Shared, SwIfIndex, ThreadIndex, World, filled};
use ip::{Ip, IpTrace};
use net::{AdjIndex, Interfaces, IpMeta};
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};
use tunnel::{Decap, Key};
use wire::l4::{self, Verdict};
use wire::{Address, Header, IpHeader, IpProtocol, UdpHeader, UpperLayer};

pub struct Bypass<F> {
    decap: Decap<Vxlan>,
    interfaces: Arc<Interfaces>,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("vxlan4-input")]
    Input4,
    #[next("vxlan6-input")]
    Input6,
    #[next_feature]
    Next,
    /// UDP checksum of a tunnel's datagram is wrong
    #[drop]
    BadChecksum,
    /// UDP length of a tunnel's datagram is wrong
    #[drop]
    BadLength,
}

impl<F: Ip> Build for Bypass<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { decap: Decap::new(world, thread), interfaces: world.get(), version: PhantomData }
    }
}

impl<F: Ip> Bypass<F> {
    /// Where the UDP header of a datagram for one of the tunnels begins, and the index of its
    /// table.
    #[inline(always)]
    fn find(&self, b: &Buffer, turn: &sync::Turn<'_>) -> Option<(usize, u32)> {
        let ip = F::Header::view(b.data())?;
        if ip.dst().multicast() {
            return None;
        }
        let upper = UpperLayer::of::<F>(b.data()).ok()?;
        // Fragments are put together first, and a packet on a source route isn't at its
        // destination.
        if upper.protocol != IpProtocol::UDP
            || upper.fragment_offset != 0
            || upper.more_fragments
            || upper.routed
        {
            return None;
        }
        let table = ip::table_of::<F>(b, self.interfaces.views(turn)).0;
        let (key, _): (Key, _) = key_of::<F>(b, upper.offset, table)?;
        self.decap.find(&key, turn).map(|_| (upper.offset, table))
    }
}

impl<F: Ip> Node for Bypass<F> {
    const NAME: &'static str = if F::IS_V6 { "ip6-vxlan-bypass" } else { "ip4-vxlan-bypass" };
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        let Some((at, table)) = self.find(b, cx.turn) else { return To::Next };
        if !b.flags.any(Flags::L4_CSUM_OK.with(Flags::CSUM_PARTIAL)) {
            match l4::verify_parts(b.data(), b.segments().skip(1)) {
                Ok(Verdict::Valid) => {}
                // RFC 7348 5, RFC 6935: VXLAN may go without.
                Ok(Verdict::Absent) => {}
                Ok(Verdict::Invalid) => return To::BadChecksum,
                Err(_) => return To::BadLength,
            }
        }
        b.mark_l3();
        if !b.pull(at + UdpHeader::LEN) {
            return To::BadLength;
        }
        b.set_scratch(IpMeta::of(AdjIndex::RECEIVE, table));
        if F::IS_V6 { To::Input6 } else { To::Input4 }
    }
}

/// The interfaces that have it, and whether for IPv6.
#[derive(Default)]
pub struct BypassInterfaces(Mutex<BTreeSet<(SwIfIndex, bool)>>);

impl Shared for BypassInterfaces {
    fn make(_: &World) -> Self {
        Self::default()
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.0.lock().expect("no panic inside").retain(|(of, _)| of != sw_if);
        }
    }
}

impl BypassInterfaces {
    /// Takes datagrams of tunnels out of what an interface receives, or no longer.
    ///
    /// # Errors
    /// An interface that isn't there (−2).
    pub fn set(&self, world: &World, sw_if: SwIfIndex, is_v6: bool, on: bool) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        let (arc, node) = (filled("{ip}-unicast", is_v6), filled("{ip}-vxlan-bypass", is_v6));
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
