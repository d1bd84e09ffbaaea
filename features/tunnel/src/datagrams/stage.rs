// SPDX-License-Identifier: Apache-2.0
//! The stage of `ip4-KIND-bypass` and `ip6-KIND-bypass`: datagrams of tunnels lose their headers at
//! once, and visit neither that node nor the one that takes headers off.

use super::bypass::{Bypass, find};
use super::{Datagrams, Input, Onto, Outcome};
use buffer::{Buffer, Flags};
use graph::{Build, ChainStep, Cx, ErrorIndex, NodeIndex, StageDef, ThreadIndex, World, filled};
use ip::Ip;
use net::{AdjIndex, IP_IN_STAGE, IpMeta, PacketColumns, Stage};
use wire::l4::{self, Verdict};
use wire::{Header, UdpHeader};

/// Takes the headers off datagrams of a kind of tunnels.
pub struct BypassStage<K: Datagrams, F> {
    input: Input<K, F>,
    /// The node that does that otherwise, and its counter of good packets.
    node: NodeIndex,
    decapsulated: ErrorIndex,
    ethernet: NodeIndex,
    ip4: NodeIndex,
    ip6: NodeIndex,
}

/// The stage of a bypass, for a plugin's list.
pub const fn bypass_stage<K: Datagrams, F: Ip>() -> StageDef {
    net::stage::<F, Bypass<K, F>, BypassStage<K, F>>()
}

impl<K: Datagrams, F: Ip> Build for BypassStage<K, F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let input = filled(K::INPUT, F::IS_V6);
        let node = |name: &str| world.node(name).expect("a node of the daemon");
        Self {
            input: Input::build(world, thread),
            node: node(&input),
            decapsulated: world
                .reason_index(&input, "good packets decapsulated")
                .expect("a counter of the node"),
            ethernet: node("ethernet-input"),
            ip4: node("ip4-input"),
            ip6: node("ip6-input"),
        }
    }
}

impl<K: Datagrams, F: Ip> BypassStage<K, F> {
    /// Takes the headers off a datagram whose UDP header begins at an offset, and returns its next
    /// node; `opened` counts it, unless it is like the one before (`again`). A packet that isn't
    /// taken goes to the node for it, as the bypass sends it there.
    #[inline(always)]
    fn open(
        &mut self,
        b: &mut Buffer,
        (again, at, table): (bool, usize, u32),
        opened: &mut u64,
        cx: &Cx<'_, false>,
    ) -> NodeIndex {
        if again && let Some(to) = self.input.last.take(b, self.input.decap.receiver()) {
            return self.node_of(to);
        }
        b.mark_l3();
        b.set_scratch(IpMeta::of(AdjIndex::RECEIVE, table));
        if let Ok((_, to)) = self.input.open::<true>(b, at, table, &mut (None, 0), cx) {
            *opened += 1;
            return self.node_of(to);
        }
        let pulled = b.pull(at + UdpHeader::LEN);
        debug_assert!(pulled, "the headers were read");
        self.node
    }

    #[inline(always)]
    fn node_of(&self, to: K::To) -> NodeIndex {
        match to.onto() {
            Some(Onto::Ethernet) => self.ethernet,
            Some(Onto::Ip4) => self.ip4,
            Some(Onto::Ip6) => self.ip6,
            Some(Onto::Node(node)) => node,
            _ => self.node,
        }
    }
}

/// True if the checksum of a datagram is right, or nobody has to look at it.
#[inline(always)]
fn is_intact<F: Ip>(flags: Flags, packet: &[u8], at: usize) -> bool {
    flags.intersects(Flags::L4_CSUM_OK | Flags::CSUM_PARTIAL)
        || at == F::HEADER_LEN && l4::has_no_checksum(packet, at)
        || matches!(l4::verify(packet), Ok(Verdict::Valid | Verdict::Absent))
}

impl<K: Datagrams, F: Ip> Stage<F> for BypassStage<K, F> {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, F>,
        _: ChainStep<'_>,
        cx: &Cx<'_, false>,
    ) -> u64 {
        let (table, mut opened) = (packets.table.0, 0);
        self.input.last.begin();
        let passing = packets.mask(|packets, i| {
            let b = &*packets.buffer(i);
            let Some(packet) = b.data().get(IP_IN_STAGE..) else { return false };
            let again = self.input.last.is_again::<F>(b, (IP_IN_STAGE, packet.len()));
            let at = if again {
                F::HEADER_LEN
            } else {
                match find::<K, F>(&self.input.decap, packet, table, cx.turn) {
                    Some(at) => at,
                    None => return true,
                }
            };
            if is_intact::<F>(b.flags, packet, at) {
                packets.send(i, |b| self.open(b, (again, at, table), &mut opened, cx));
            }
            false
        });
        let again = self.input.last.end(self.input.decap.receiver());
        cx.count_for(self.decapsulated, opened + again);
        passing
    }
}
