// SPDX-License-Identifier: Apache-2.0
//! `nat66-in2out` and `nat66-out2in`, and their stages.

use crate::mapping::{Mapping, Nat, Settings};
use crate::packet::{Field, change, change_quoted, is_error, quoted};
use buffer::{Buffer, Flags};
use graph::{Build, ChainStep, Cx, ErrorIndex, Next, Node, ThreadIndex, Trace, World};
use ip::table_of;
use nat::egress::{Egress, Routes};
use net::{Interfaces, IpMeta, PacketColumns, Stage};
use stats::CombinedLane;
use std::fmt;
use std::marker::PhantomData;
use std::net::Ipv6Addr;
use std::sync::Arc;
use sync::Turn;
use wire::icmp::code6;
use wire::{Header, Icmp6Type, Ip6, IpHeader, Ipv6Header, UpperLayer};

/// The node of packets from inside.
pub const IN2OUT: &str = "nat66-in2out";
/// The node of packets from outside.
pub const OUT2IN: &str = "nat66-out2in";
/// Packets and bytes of mappings, by their numbers.
pub const COUNTERS: &str = "/nat66/static-mappings";

/// The direction of a node, as a type.
pub trait Way: Send + 'static {
    /// The address that is changed.
    const FIELD: Field;
    /// The node's name.
    const NAME: &'static str;
}

/// From inside.
pub struct In2Out;
/// From outside.
pub struct Out2In;

impl Way for In2Out {
    const FIELD: Field = Field::Source;
    const NAME: &'static str = IN2OUT;
}

impl Way for Out2In {
    const FIELD: Field = Field::Destination;
    const NAME: &'static str = OUT2IN;
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next_feature]
    Next,
    /// no mapping has the address: the packet goes on as it is
    #[count]
    #[counter("no translation")]
    NoTranslation,
    /// headers that contradict each other, or end too early
    #[drop]
    #[counter("unknown")]
    Unknown,
    #[next("ip6-icmp-error", reason)]
    #[counter("time_exceeded")]
    /// hop limit expired in front of the translation
    Expired,
}

/// The outcome for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was translated by the mapping with this number.
    Translated(u32),
    /// Only the packet that it quotes was.
    Quotation,
    /// No mapping has its address.
    Unmapped,
    /// It isn't for the world.
    Passed,
    /// Its hops are used up.
    Expired,
    /// Its headers are broken.
    Broken,
}

/// The record of a packet.
#[derive(Clone, Copy)]
pub struct NatTrace {
    field: Field,
    sw_if: u32,
    outcome: Outcome,
    new: Option<Ipv6Addr>,
}

impl Trace for NatTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.field == Field::Source { "IN2OUT" } else { "OUT2IN" };
        write!(f, "NAT66-{direction}: sw_if_index {}, ", self.sw_if)?;
        match (self.outcome, self.new) {
            (Outcome::Translated(at), Some(new)) => write!(f, "mapping {at}: {new}"),
            (Outcome::Translated(at), None) => write!(f, "mapping {at}"),
            (Outcome::Quotation, _) => f.write_str("quoted packet translated"),
            (Outcome::Unmapped, _) => f.write_str("no translation"),
            (Outcome::Passed, _) => f.write_str("not for the world"),
            (Outcome::Expired, _) => f.write_str("hop limit expired"),
            (Outcome::Broken, _) => f.write_str("unknown"),
        }
    }
}

/// The state of a thread's nodes.
struct Engine {
    nat: Arc<Nat>,
    routes: Routes<Ip6>,
    interfaces: Arc<Interfaces>,
    counters: CombinedLane,
}

impl Engine {
    fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            nat: world.get(),
            routes: Routes::new(world),
            interfaces: world.get(),
            counters: world.stats.combined(COUNTERS).lane(thread.at()),
        }
    }

    /// The mapping of an address of packets of a table.
    #[inline(always)]
    fn mapping<'t>(
        &'t self,
        field: Field,
        addr: Ipv6Addr,
        fib: u32,
        turn: &'t Turn<'_>,
    ) -> Option<(u32, &'t Mapping)> {
        match field {
            Field::Source => self.nat.by_local(addr, fib, turn),
            Field::Destination => self.nat.by_external(addr, turn),
        }
    }

    /// True if packets to an address leave by an interface to the world, by the table that they
    /// came in by, or else by the world's.
    #[inline(always)]
    fn leads_outside(&self, to: Ipv6Addr, fib: u32, settings: &Settings, turn: &Turn<'_>) -> bool {
        let mut egress = self.routes.egress(fib, to, turn);
        if egress == Egress::None && settings.table != fib {
            egress = self.routes.egress(settings.table, to, turn);
        }
        matches!(egress, Egress::By(sw_if) if settings.is_outside(sw_if))
    }

    /// Decides what is changed of the packet at `bytes[0]`, which came in by a table, or why
    /// nothing is.
    #[inline(always)]
    fn decide(
        &self,
        bytes: &[u8],
        (field, fib): (Field, u32),
        turn: &Turn<'_>,
    ) -> Result<Change, Outcome> {
        let settings = self.nat.settings(turn);
        let ip = Ipv6Header::view(bytes).ok_or(Outcome::Broken)?;
        let bytes = bytes.get(..ip.packet_len()).unwrap_or(bytes);
        let (addr, to, hops) = (field.of(ip), Field::Destination.of(ip), ip.hop_limit);
        let upper = UpperLayer::find6(bytes).map_err(|_| Outcome::Broken)?;
        let found = self.mapping(field, addr, fib, turn);
        let quotation = if is_error(bytes, &upper) {
            let inner = quoted(bytes, &upper, field.other());
            inner.and_then(|addr| self.mapping(field, addr, fib, turn))
        } else {
            None
        };
        let Some((_, first)) = found.or(quotation) else { return Err(Outcome::Unmapped) };
        if field == Field::Source && !self.leads_outside(to, fib, settings, turn) {
            return Err(Outcome::Passed);
        }
        if hops <= 1 {
            return Err(Outcome::Expired);
        }
        let new = |mapping: &Mapping| match field {
            Field::Source => mapping.external,
            Field::Destination => mapping.local,
        };
        Ok(Change {
            upper,
            mapping: found.map(|(at, mapping)| (at, new(mapping))),
            quotation: quotation.map(|(_, mapping)| new(mapping)),
            fib: if field == Field::Destination { first.fib } else { settings.table },
        })
    }

    /// Changes the packet at `bytes[0]`, of a length in all.
    #[inline(always)]
    fn apply(
        &self,
        bytes: &mut [u8],
        (change_to, field): (&Change, Field),
        (len, partial): (usize, bool),
    ) -> Outcome {
        // Bytes behind the packet's end aren't part of it.
        let end = change_to.upper.end.min(bytes.len());
        let Some(bytes) = bytes.get_mut(..end) else { return Outcome::Broken };
        if let Some((_, new)) = change_to.mapping
            && !change(bytes, &change_to.upper, partial, (field, new))
        {
            return Outcome::Broken;
        }
        if let Some(new) = change_to.quotation {
            change_quoted(bytes, &change_to.upper, (field.other(), new));
        }
        let Some((at, _)) = change_to.mapping else { return Outcome::Quotation };
        self.counters.add(at as usize, 1, len as u64);
        Outcome::Translated(at)
    }

    #[inline(always)]
    fn translate(&self, b: &mut Buffer, field: Field, turn: &Turn<'_>) -> Outcome {
        let fib = table_of::<Ip6>(b, self.interfaces.views(turn)).0;
        let change = match self.decide(b.data(), (field, fib), turn) {
            Ok(change) => change,
            Err(outcome) => return outcome,
        };
        let partial = b.flags.contains(Flags::CSUM_PARTIAL)
            && usize::from(b.offload.csum_start) == change.upper.offset;
        let len = b.packet_len();
        let outcome = self.apply(b.data_mut(), (&change, field), (len, partial));
        if change.fib != fib && outcome != Outcome::Broken {
            b.tx_if = change.fib;
            b.flags.insert(Flags::TABLE);
        }
        outcome
    }
}

/// The changes of a packet.
struct Change {
    upper: UpperLayer,
    /// Number of the mapping, and the address that the packet gets.
    mapping: Option<(u32, Ipv6Addr)>,
    /// The address that the packet gets that it quotes.
    quotation: Option<Ipv6Addr>,
    /// Index of the table that it is looked up in.
    fib: u32,
}

/// A node.
pub struct Translate<W> {
    engine: Engine,
    way: PhantomData<fn() -> W>,
}

impl<W: Way> Build for Translate<W> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { engine: Engine::new(world, thread), way: PhantomData }
    }
}

impl<W: Way> Node for Translate<W> {
    const NAME: &'static str = W::NAME;
    type Next = To;
    type Trace = NatTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let outcome = self.engine.translate(b, W::FIELD, cx.turn);
        if TRACED {
            let new = Ipv6Header::view(b.data()).map(|ip| W::FIELD.of(ip));
            cx.trace(b, NatTrace { field: W::FIELD, sw_if: b.rx_if, outcome, new });
        }
        match outcome {
            Outcome::Translated(_) | Outcome::Quotation | Outcome::Passed => To::Next,
            Outcome::Unmapped => {
                cx.count(To::NoTranslation, 1);
                To::Next
            }
            Outcome::Expired => {
                let kind = Icmp6Type::TIME_EXCEEDED.0;
                b.set_scratch(IpMeta::error(kind, code6::HOP_LIMIT_IN_TRANSIT, 0));
                To::Expired
            }
            Outcome::Broken => To::Unknown,
        }
    }
}

/// The stage of a node: packets that stay in their table, but for errors, needn't visit it.
pub struct Fast<W> {
    engine: Engine,
    unmapped: ErrorIndex,
    way: PhantomData<fn() -> W>,
}

impl<W: Way> Build for Fast<W> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let unmapped = world.reason_index(W::NAME, "no translation");
        Self {
            engine: Engine::new(world, thread),
            unmapped: unmapped.expect("a counter of the node"),
            way: PhantomData,
        }
    }
}

impl<W: Way> Stage<Ip6> for Fast<W> {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, Ip6>,
        _: ChainStep<'_>,
        cx: &Cx<'_, false>,
    ) -> u64 {
        let (fib, mut unmapped) = (packets.table.0, 0);
        let passed = packets.mask(|packets, i| {
            if packets.buffer(i).flags.intersects(Flags::TABLE | Flags::CSUM_PARTIAL) {
                return false;
            }
            match self.engine.decide(packets.packet(i), (W::FIELD, fib), cx.turn) {
                Ok(change) => {
                    let len = packets.lengths.get(i).map_or(0, |len| *len as usize);
                    let is_plain = change.quotation.is_none() && change.fib == fib;
                    let to = (&change, W::FIELD);
                    // A packet that can't be changed is as it was.
                    is_plain
                        && self.engine.apply(packets.packet_mut(i), to, (len, false))
                            != Outcome::Broken
                }
                Err(Outcome::Unmapped) => {
                    unmapped += 1;
                    true
                }
                Err(outcome) => outcome == Outcome::Passed,
            }
        });
        cx.count_for(self.unmapped, unmapped);
        passed
    }
}
