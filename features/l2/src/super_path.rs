// SPDX-License-Identifier: Apache-2.0
//! `l2-super-path`: `ethernet-input`, `l2-input`, `l2-learn`, `l2-fwd`, `l2-output` and the
//! interface's output for ordinary frames, in one node.
//!
//! It is on the arc of received frames of ports (`device-input`, or `tunnel-input-ethernet`) whose
//! received frames pass only learning and forwarding. An ordinary frame is a unicast frame whose
//! source is known at this port, and has been seen in this unit of the clock, and whose destination
//! is known at a port that neither rewrites nor filters frames and has no feature. It goes directly
//! to the driver's transmit node. In a cross-connect all unicast frames are ordinary. Any other
//! frame goes to `ethernet-input` unchanged and uncounted: the graph is complete, and this node
//! gives the same results, sooner. Traced frames take the graph, so a trace shows every step.

mod origin;
mod target;

use crate::attach::OutputFeatures;
use crate::bridge::Bridge;
use crate::input::HEADER;
use crate::state::{Port, Role};
use buffer::{Buffer, Flags};
use graph::{
    ArcIndex, Build, Cx, ErrorIndex, Next, Node, NodeIndex, Prefetch, ThreadIndex, Vector, World,
};
use net::{Exit, IfFlags, IfKind, IfLanes, Interface, Interfaces, SuperPaths, Views};
use origin::{Origin, UnicastPath, unicast_path};
use simd::Isa;
use std::sync::Arc;
use tables::mac::{MacHash, MacKey, MacView};
use target::{Target, Targets};
use wire::EtherType;

/// Frames that are looked up together.
const BLOCK: usize = 64;
/// Equal addresses in a row after which the next frame is expected to have them, too.
const REPEATED: u32 = 3;
/// Packets are prefetched so far ahead.
const AHEAD: usize = 8;
/// The bit of group addresses in the first 8 bytes of a frame, read big-endian.
const GROUP: u64 = 1 << 56;

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// To a driver's transmit node.
    #[dynamic]
    Tx(NodeIndex),
    #[next_feature]
    Aside,
}

pub struct L2SuperPath {
    bridge: Arc<Bridge>,
    interfaces: Arc<Interfaces>,
    lanes: Arc<IfLanes>,
    interface_output: ArcIndex,
    counts: Counts,
    /// Time of the turn in which an address moved.
    moved_at: u64,
    // Kept here to be refilled without being cleared.
    targets: Targets,
    blocks: [Block; 2],
}

/// Counters of the nodes that frames don't visit.
struct Counts {
    input: ErrorIndex,
    learn: ErrorIndex,
    fwd: ErrorIndex,
    hits: ErrorIndex,
    output: ErrorIndex,
}

impl Build for L2SuperPath {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let of = |node, reason| world.reason_index(node, reason).expect("a counter of this plugin");
        let counts = Counts {
            input: of("l2-input", "L2 input packets"),
            learn: of("l2-learn", "L2 learn packets"),
            fwd: of("l2-fwd", "L2 forward packets"),
            hits: of("l2-fwd", "L2 forward hits"),
            output: of("l2-output", "L2 output packets"),
        };
        Self {
            bridge: world.get(),
            interfaces: world.get(),
            lanes: IfLanes::of(world, thread),
            interface_output: world
                .arc("interface-output")
                .expect("the arc comes with the interfaces"),
            counts,
            moved_at: u64::MAX,
            targets: Targets::new(),
            blocks: [Block::new(), Block::new()],
        }
    }
}

/// Destination and source of a frame, each in the upper 48 bits of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Addresses {
    destination: u64,
    source: u64,
}

impl Addresses {
    const NONE: Self = Self { destination: 0, source: 0 };

    /// Of a frame that doesn't need the graph.
    #[inline(always)]
    fn of(b: &Buffer, origin: &Origin) -> Option<Self> {
        let header = b.bytes::<HEADER>(0)?;
        let destination = u64::from_be_bytes(*header.first_chunk()?);
        let source_and_type = u64::from_be_bytes(*header.last_chunk()?);
        let is_ordinary = !b.flags.contains(Flags::TRACED)
            && destination & GROUP == 0
            && !(origin.has_subs && EtherType(source_and_type as u16).is_vlan());
        let address = |word| word & !0xffff;
        is_ordinary
            .then(|| Self { destination: address(destination), source: address(source_and_type) })
    }

    /// The keys of both in a domain.
    #[inline(always)]
    fn keys(self, domain: u16) -> (MacKey, MacKey) {
        (MacKey::of_word(self.destination, domain), MacKey::of_word(self.source, domain))
    }
}

/// Frames of one port whose addresses are looked up together.
struct Block {
    len: usize,
    at: [u8; BLOCK],
    destinations: [(MacKey, MacHash); BLOCK],
    sources: [(MacKey, MacHash); BLOCK],
    /// The addresses of the last frame, if those in front of it have them, too. The block ends with
    /// it, since the frames behind need no lookup.
    repeated: Option<Addresses>,
}

impl Block {
    const fn new() -> Self {
        let none = (MacKey::new([0; 6], 0), MacHash::NONE);
        Self {
            len: 0,
            at: [0; BLOCK],
            destinations: [none; BLOCK],
            sources: [none; BLOCK],
            repeated: None,
        }
    }

    #[inline(always)]
    fn clear(&mut self) {
        (self.len, self.repeated) = (0, None);
    }

    /// Gathers consecutive frames of a port from offset `from` of the vector on, and prefetches the
    /// cache lines that their lookups read. Returns the offset behind the last one.
    #[inline(always)]
    fn gather(
        &mut self,
        v: &mut Vector<'_, To>,
        from: usize,
        origin: &Origin,
        macs: MacView<'_>,
    ) -> usize {
        let (to, mut n, mut seen) = ((from + BLOCK).min(v.len()), 0, 0);
        let UnicastPath::Bridged { learns } = origin.unicast_path else { return to };
        let (mut last, mut equal) = (Addresses::NONE, 0);
        for b in v.range_mut_ahead(from, to) {
            if b.rx_if != origin.rx_if {
                break;
            }
            seen += 1;
            let Some(found) = Addresses::of(b, origin) else { continue };
            let ((destination, source), i) = (found.keys(origin.domain), n % BLOCK);
            self.at[i] = (from + seen - 1) as u8;
            self.destinations[i] = (destination, macs.prefetch(destination));
            if learns {
                self.sources[i] = (source, macs.prefetch(source));
            }
            n += 1;
            equal = if found == last { equal + 1 } else { 0 };
            last = found;
            if equal == REPEATED {
                self.repeated = Some(found);
                break;
            }
        }
        self.len = n;
        from + seen
    }
}

/// Tables and state that sending reads.
struct SendContext<'a, 't, const TRACED: bool> {
    bridge: &'a Bridge,
    views: Views<'t>,
    interface_output: ArcIndex,
    cx: &'a Cx<'t, TRACED>,
}

impl<const TRACED: bool> SendContext<'_, '_, TRACED> {
    /// Looks up an interface that frames are to leave by.
    fn target(&self, tx_if: u32) -> Target {
        let (turn, view) = (self.cx.turn, self.views.get(tx_if as usize).unwrap_or_default());
        let port = self.bridge.ports.get(tx_if, turn);
        let port = port.filter(|port| {
            matches!(port.role, Role::Bridged | Role::Crossed(_))
                && port.rewrites.is_none()
                && port.filter.is_none()
                && self.bridge.next_attached(port, OutputFeatures::default()).is_none()
                && view.is_up()
                && !view.flags.contains(IfFlags::SUB)
                && !view.flags.contains(IfFlags::IP_MODE)
                && !self.cx.has_arc(self.interface_output, tx_if)
        });
        Target::new(view.tx, port)
    }

    /// Like `target`, looked up once for a vector.
    #[inline(always)]
    fn exit<'e>(
        &self,
        tx_if: u32,
        targets: &'e mut Targets,
        lanes: &IfLanes,
    ) -> Option<&'e mut Exit<Target>> {
        targets.find(tx_if, tx_if.into(), lanes, || Some(self.target(tx_if)))
    }
}

impl L2SuperPath {
    /// Sends the frames of a block. Returns their number, and true if an address has moved to the
    /// port: then the graph has to learn that before frames to the address are forwarded.
    #[inline(always)]
    fn send(
        block: &Block,
        origin: &Origin,
        macs: MacView<'_>,
        targets: &mut Targets,
        v: &mut Vector<'_, To>,
        context: &SendContext<'_, '_, false>,
        lanes: &IfLanes,
    ) -> (u64, bool) {
        let UnicastPath::Bridged { learns } = origin.unicast_path else { return (0, false) };
        let mut sent = 0;
        for i in 0..block.len.min(BLOCK) {
            if learns {
                let (key, place) = block.sources[i];
                let Some(source) = macs.find_at(key, place) else { continue };
                if !origin.knows(source.entry) {
                    if source.entry.port != origin.rx_if {
                        return (sent, true);
                    }
                    continue;
                }
            }
            let (key, place) = block.destinations[i];
            let Some(found) = macs.find_at(key, place) else { continue };
            let entry = found.entry;
            let exit = context.exit(entry.port, targets, lanes);
            let Some(exit) = exit.filter(|exit| origin.may_send(entry, &exit.to)) else { continue };
            let at = usize::from(block.at[i]);
            let b = v.get_mut(at);
            b.mark_l2();
            b.tx_if = entry.port;
            exit.count(b.packet_len() as u32);
            v.set(at, To::Tx(exit.to.tx));
            sent += 1;
        }
        (sent, false)
    }

    /// Sends a frame of a small vector.
    #[inline(always)]
    fn one<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &Cx<'_, TRACED>) -> Option<To> {
        let Self { bridge, interfaces, lanes, interface_output, counts, .. } = self;
        let context = SendContext {
            bridge,
            views: interfaces.views(cx.turn),
            interface_output: *interface_output,
            cx,
        };
        let origin = Origin::new(b.rx_if, (bridge, interfaces), cx.now(), cx.turn);
        let (destination, source) = Addresses::of(b, &origin)?.keys(origin.domain);
        let (tx_if, tx, tally) = match origin.unicast_path {
            UnicastPath::Graph => return None,
            UnicastPath::Crossed(peer) => {
                let target = Some(context.target(peer)).filter(Target::is_open)?;
                (peer, target.tx, (0, 0, 1))
            }
            UnicastPath::Bridged { learns } => {
                let macs = bridge.view(cx.turn);
                if learns {
                    let source = macs.find(source)?.entry;
                    if !origin.knows(source) {
                        if source.port != origin.rx_if {
                            self.moved_at = cx.now();
                        }
                        return None;
                    }
                }
                let entry = macs.find(destination)?.entry;
                let target = Some(context.target(entry.port))
                    .filter(|target| origin.may_send(entry, target))?;
                (entry.port, target.tx, (1, learns.into(), 0))
            }
        };
        lanes.tx.unicast(tx_if as usize, 1, b.packet_len() as u64);
        counts.add(tally, cx);
        b.mark_l2();
        b.tx_if = tx_if;
        Some(To::Tx(tx))
    }

    /// Sends consecutive frames of a port to another one, from offset `from` of the vector on; with
    /// `only`, as long as they have these addresses. Without an exit they are left to the graph.
    /// Returns the offset behind the last one, and the number of frames sent.
    #[inline(always)]
    fn send_on(
        origin: &Origin,
        from: usize,
        only: Option<Addresses>,
        (tx_if, exit): (u32, Option<&mut Exit<Target>>),
        v: &mut Vector<'_, To>,
    ) -> (usize, u64) {
        let (mut behind, mut sent, mut bytes) = (from, 0, 0);
        let tx = exit.as_ref().map(|exit| exit.to.tx);
        for i in from..v.len() {
            v.prefetch(i + AHEAD);
            let b = v.get_mut(i);
            let found = Addresses::of(b, origin);
            if b.rx_if != origin.rx_if || only.is_some() && found != only {
                break;
            }
            behind += 1;
            let (Some(tx), Some(_)) = (tx, found) else { continue };
            b.mark_l2();
            b.tx_if = tx_if;
            bytes += b.packet_len() as u32;
            v.set(i, To::Tx(tx));
            sent += 1;
        }
        if let Some(exit) = exit {
            exit.count_all(sent, bytes);
        }
        (behind, sent.into())
    }

    /// As [`Self::send_on`], for frames behind a block that has been sent: those with the addresses
    /// of its last frame go where that went.
    #[inline(always)]
    fn follow(
        block: &Block,
        origin: &Origin,
        from: usize,
        targets: &mut Targets,
        v: &mut Vector<'_, To>,
        context: &SendContext<'_, '_, false>,
        lanes: &IfLanes,
    ) -> (usize, u64) {
        let last = usize::from(block.at[block.len.saturating_sub(1) % BLOCK]);
        let tx_if = v.get(last).tx_if;
        let was_sent = !v.is(last, To::Aside);
        let exit = if was_sent { context.exit(tx_if, targets, lanes) } else { None };
        Self::send_on(origin, from, block.repeated, (tx_if, exit), v)
    }
}

impl Counts {
    /// Counts frames: bridged ones, those of them whose source was looked up, and cross-connected
    /// ones.
    #[inline(always)]
    fn add<const TRACED: bool>(
        &self,
        (bridged, learned, crossed): (u64, u64, u64),
        cx: &Cx<'_, TRACED>,
    ) {
        let counts = [
            (self.input, bridged + crossed),
            (self.learn, learned),
            (self.fwd, bridged),
            (self.hits, bridged),
            (self.output, bridged + crossed),
        ];
        for (reason, n) in counts {
            cx.count_for(reason, n);
        }
    }
}

impl Node for L2SuperPath {
    const NAME: &'static str = "l2-super-path";
    const PREFETCH: Prefetch = Prefetch::Packet;
    const HOT: bool = true;
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        // Frames behind a move in the same vector are forwarded after the graph has learned the
        // move.
        if TRACED || cx.traces_inside() || self.moved_at == cx.now() {
            return To::Aside;
        }
        self.one(b, cx).unwrap_or(To::Aside)
    }

    /// Block by block: the lookups of a block begin when those of the block before are done, with
    /// their data prefetched.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        v.set_all(To::Aside);
        if cx.traces_inside() {
            return;
        }
        let Self { bridge, interfaces, lanes, interface_output, counts, targets, blocks, .. } =
            self;
        let [now, next] = blocks;
        let (mut now, mut next) = (now, next);
        let cx = &*cx;
        let macs = bridge.view(cx.turn);
        let context = SendContext {
            bridge,
            views: interfaces.views(cx.turn),
            interface_output: *interface_output,
            cx,
        };
        let look = |rx_if| Origin::new(rx_if, (bridge, interfaces), cx.now(), cx.turn);
        let n = v.len();
        let mut origin = look(v.get(0).rx_if);
        let mut last = origin;
        let (mut bridged, mut learned, mut crossed) = (0, 0, 0);
        let (mut from, mut more) = (0, true);
        now.clear();
        while more {
            more = from < n;
            next.clear();
            // Frames behind equal ones wait until these are sent.
            if more && now.repeated.is_none() {
                let rx_if = v.get(from).rx_if;
                if rx_if != origin.rx_if {
                    origin = look(rx_if);
                }
                from = match origin.unicast_path {
                    UnicastPath::Crossed(peer) => {
                        let exit = context.exit(peer, targets, lanes);
                        let to = (peer, exit.filter(|exit| exit.to.is_open()));
                        let (behind, sent) = Self::send_on(&origin, from, None, to, v);
                        crossed += sent;
                        behind
                    }
                    UnicastPath::Bridged { .. } => next.gather(v, from, &origin, macs),
                    UnicastPath::Graph => from + 1,
                };
            }
            let (mut sent, has_moved) = Self::send(now, &last, macs, targets, v, &context, lanes);
            if now.repeated.is_some() && !has_moved {
                let (behind, more) = Self::follow(now, &last, from, targets, v, &context, lanes);
                from = behind;
                sent += more;
            }
            bridged += sent;
            if let UnicastPath::Bridged { learns: true } = last.unicast_path {
                learned += sent;
            }
            if has_moved {
                break;
            }
            last = origin;
            std::mem::swap(&mut now, &mut next);
        }
        targets.settle(lanes);
        counts.add((bridged, learned, crossed), cx);
    }
}

/// Enables the node on a port whose received frames don't need the graph.
///
/// # Errors
/// None that a configuration can bring about.
pub fn apply(world: &World, interface: &Interface) -> Result<(), String> {
    let bridge = world.get::<Bridge>();
    let is_open = |port: &Port| !matches!(unicast_path(port), UnicastPath::Graph);
    let is_open = bridge.ports.read(interface.sw_if.0, |port| port.is_some_and(is_open));
    let is_device = interface.kind == IfKind::Ethernet && interface.sub.is_none();
    SuperPaths::enable(world, L2SuperPath::NAME, interface, is_open && is_device)
}
