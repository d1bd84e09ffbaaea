// SPDX-License-Identifier: Apache-2.0
//! Packets of sessions in the fast path, many at a time. All others go to the node: those that
//! begin a session, that don't fit theirs, fragments, errors of ICMP, and sessions that have to be
//! judged again.

use crate::flows::{Flows, ThreadSessions};
use crate::judge::{Judge, Judged};
use crate::node::Firewall;
use crate::packet::{Packet, read, segment};
use crate::rules::{Compiled, NO_ZONE};
use crate::session::Key;
use crate::settings::Settings;
use crate::tcp::Outcome;
use buffer::{Field, Flags};
use graph::{Build, ChainStep, Cx, ErrorIndex, ThreadIndex, World, filled};
use ip::Ip;
use net::{L4, PacketColumns, Stage};
use wire::Address;

/// Packets in columns at most.
const BLOCK: usize = 64;
/// No session.
const NONE: u32 = u32::MAX;

/// The stage of the node for packets that leave.
pub struct Established<F: Judged> {
    judge: Judge<F>,
    l4: Field<L4>,
    session: ErrorIndex,
    block: Block<F>,
}

/// Packets that were read, each with the side of its source.
struct Block<F: Judged>([(Packet<F::Addr>, u8); BLOCK]);

impl<F: Judged + Ip> Build for Established<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let node = filled(<Firewall<F, false> as graph::Node>::NAME, F::IS_V6);
        Self {
            judge: Judge::new(world, thread),
            l4: world.field(),
            session: world.reason_index(&node, "session").expect("a counter of this plugin"),
            block: Block([(Packet::NOTHING, 0); BLOCK]),
        }
    }
}

impl<F: Judged + Ip> Stage<F> for Established<F> {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, F>,
        _: ChainStep<'_>,
        cx: &Cx<'_, false>,
    ) -> u64 {
        let Self { judge, block, .. } = self;
        let generation = judge.rules.0.get(cx.turn);
        let zones = [generation.zone(packets.rx_if), generation.zone(packets.sw_if)];
        let [from, to] = zones;
        let (there, back) = (generation.policy(zones), generation.policy([to, from]));
        if from == NO_ZONE || to == NO_ZONE || from == to && there.is_none() {
            return packets.mask(|packets, i| !packets.buffer(i).flags.contains(Flags::LOCAL));
        }
        let sessions = judge.sessions.of(judge.thread, cx.turn);
        let Some(mut sessions) = sessions.filter(|_| there.is_some() || back.is_some()) else {
            return 0;
        };
        let loose = |policy: Option<&Compiled>| policy.is_some_and(|policy| policy.loose);
        let of = Pair {
            zones,
            loose: [loose(there), loose(back)],
            generation: generation.number,
            l4: self.l4,
        };
        let passing = block.established(packets, (&mut sessions, &judge.settings), of, cx);
        cx.count_for(self.session, passing.count_ones().into());
        passing
    }
}

/// Facts that are the same for all packets from one interface to another.
#[derive(Clone, Copy)]
struct Pair {
    zones: [u16; 2],
    /// The policies of these zones are loose: there, and back.
    loose: [bool; 2],
    generation: u32,
    l4: Field<L4>,
}

/// A mark of sessions of which packets go to the node in the turn of this time.
fn mark(now: u64) -> u32 {
    now as u32 | 1
}

impl<F: Judged> Block<F> {
    /// Judges packets by their sessions; a mask of those that pass.
    #[inline(always)]
    fn established(
        &mut self,
        packets: &mut PacketColumns<'_, F>,
        (sessions, settings): (&mut ThreadSessions, &Settings),
        of: Pair,
        cx: &Cx<'_, false>,
    ) -> u64 {
        let (mut keys, mut found) = ([Key::NOTHING; BLOCK], [NONE; BLOCK]);
        let n = BLOCK - packets.which.leading_zeros() as usize;
        let known = packets.mask(|packets, i| {
            if packets.buffer(i).flags.contains(Flags::LOCAL) {
                return false;
            }
            let Ok(packet) = read::<F>(packets.packet(i), None) else { return false };
            let Some((key, side)) = Key::of(&packet, of.zones) else { return false };
            let at = i % BLOCK;
            (keys[at], self.0[at]) = (key, (packet, side as u8));
            !packet.more
        });
        let flows = sessions.of::<F>();
        flows.find_many(&keys[..n], &mut found[..n]);
        let now = (cx.now(), settings);
        packets.mask(|packets, i| {
            let at = i % BLOCK;
            if known >> i & 1 == 0 {
                let l4 = packets.buffer(i).find_field(of.l4);
                let key = Judge::<F>::key_of(packets.packet(i), l4, of.zones);
                let session = key.and_then(|key| flows.find(&key));
                set_aside(flows, session.unwrap_or(NONE), cx.now());
                return false;
            }
            let passes = self.passes(flows, (found[at], packets, i), of, now);
            if !passes {
                set_aside(flows, found[at], cx.now());
            }
            passes
        })
    }

    /// Judges a packet by its session. A flow has its session on the thread that owns it: it isn't
    /// found on others.
    #[inline(always)]
    fn passes(
        &self,
        flows: &mut Flows<F::Addr>,
        (at, packets, i): (u32, &mut PacketColumns<'_, F>, usize),
        of: Pair,
        (now, settings): (u64, &Settings),
    ) -> bool {
        let Some(session) = flows.get(at) else { return false };
        if session.generation != of.generation
            || session.aside == mark(now)
            || flows.is_over(at, now)
        {
            return false;
        }
        let (packet, side) = (&self.0[i % BLOCK].0, usize::from(self.0[i % BLOCK].1));
        let loose = of.loose[usize::from(session.first.zones != of.zones)];
        let Some(session) = flows.get_mut(at) else { return false };
        if session.is_tcp {
            let Some(segment) = segment(packet, packets.packet(i)) else { return false };
            if session.tcp.segment(side, &segment, loose) != Outcome::Pass {
                return false;
            }
        }
        flows.note(at, (side, packet.length), packet.protocol().0, (now, settings));
        true
    }
}

/// Sends all further packets of a session to the node in this turn, as one that goes there: the
/// packets of a flow stay in order.
#[cold]
fn set_aside<A: Address>(flows: &mut Flows<A>, at: u32, now: u64) {
    if let Some(session) = flows.get_mut(at) {
        session.aside = mark(now);
    }
}
