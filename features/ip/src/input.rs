// SPDX-License-Identifier: Apache-2.0
//! `ip4-input`, `ip4-input-no-checksum`, `ip6-input`: is this a packet that a router may handle?

use crate::family::{Class, InputEdges, Ip, IpTrace, arc};
use crate::headers::{BLOCK, Headers};
use buffer::{Buffer, Cache};
use graph::{ArcIndex, Build, Cx, Node, NodeIndex, ThreadIndex, Vector, World};
use net::IfCounters;
use simd::Isa;
use stats::Lane;

/// With `VERIFY`, the header's checksum is verified, if there is one.
pub struct Input<F: Ip, const VERIFY: bool> {
    arcs: Arcs,
    received: Lane,
    /// Kept here only so that it needn't be cleared for each vector.
    headers: Headers<F>,
}

#[derive(Clone, Copy)]
struct Arcs {
    unicast: ArcIndex,
    multicast: ArcIndex,
    /// As VPP: packets to groups of the reserved scope 0 are taken.
    any_scope: bool,
}

impl<F: Ip, const VERIFY: bool> Build for Input<F, VERIFY> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let counters = world.get::<IfCounters>();
        let received = if F::IS_V6 { &counters.ip6 } else { &counters.ip4 };
        Self {
            arcs: Arcs {
                unicast: arc::<F>(world, "{ip}-unicast"),
                multicast: arc::<F>(world, "{ip}-multicast"),
                any_scope: world.compat_vpp(),
            },
            headers: Headers::default(),
            received: received.lane(thread.at()),
        }
    }
}

/// Classifies a packet whose header isn't a usual one, and returns its next node.
#[cold]
#[inline(never)]
fn unusual<F: Ip, const VERIFY: bool, const TRACED: bool>(
    b: &mut Buffer,
    arcs: Arcs,
    cx: &mut Cx<'_, TRACED>,
) -> F::Input {
    match F::check(b, VERIFY, arcs.any_scope, cx.cache()) {
        Err(why) => why,
        Ok(Class::Options) => F::Input::OPTIONS,
        Ok(class) => {
            let to_group = class == Class::Multicast;
            let otherwise = if to_group { F::Input::MULTICAST } else { F::Input::LOOKUP };
            enter(b, to_group, arcs.unicast, arcs.multicast, cx)
                .map_or(otherwise, F::Input::feature)
        }
    }
}

/// Starts the arc of the packet's interface; `None` if no feature is enabled there.
#[inline(always)]
pub fn enter<const TRACED: bool>(
    b: &mut Buffer,
    to_group: bool,
    unicast: ArcIndex,
    multicast: ArcIndex,
    cx: &Cx<'_, TRACED>,
) -> Option<NodeIndex> {
    cx.start_arc(if to_group { multicast } else { unicast }, b.rx_if, b)
}

/// Cuts off the padding behind the packet. Returns false if that takes buffers, and there are none.
#[inline(always)]
fn trim<const TRACED: bool>(b: &mut Buffer, total: usize, cx: &mut Cx<'_, TRACED>) -> bool {
    if b.is_chained() {
        return trim_chain(b, total, cx.cache());
    }
    b.truncate(total);
    true
}

#[cold]
#[inline(never)]
fn trim_chain(b: &mut Buffer, total: usize, cache: &mut Cache) -> bool {
    b.trim_packet(total, cache)
}

impl<F: Ip, const VERIFY: bool> Node for Input<F, VERIFY> {
    const NAME: &'static str = if VERIFY { "{ip}-input" } else { "{ip}-input-no-checksum" };
    const V6: Option<bool> = Some(F::IS_V6);
    const HOT: bool = true;
    type Next = F::Input;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> F::Input {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        self.received.add(b.rx_if as usize, 1);
        let Some(total) = F::usual::<VERIFY>(b) else {
            return unusual::<F, VERIFY, TRACED>(b, self.arcs, cx);
        };
        if !trim(b, total, cx) {
            return F::Input::NO_BUFFER;
        }
        cx.start_arc(self.arcs.unicast, b.rx_if, b).map_or(F::Input::LOOKUP, F::Input::feature)
    }

    /// Headers are judged in blocks, all packets of a block in one go: what looks like many
    /// conditions for a packet is a few instructions for sixteen. A packet that isn't usual is
    /// looked at once more, alone.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, F::Input>, cx: &mut Cx<'_, false>) {
        let n = v.len();
        let rx_if = v.get(0).rx_if;
        let mut differ = 0;
        let headers = &mut self.headers;
        v.set_all(F::Input::LOOKUP);
        for from in (0..n).step_by(BLOCK) {
            let len = (n - from).min(BLOCK);
            headers.gather(v.range_mut_ahead(from, from + len), |b| differ |= b.rx_if ^ rx_if);
            let found = headers.judge::<VERIFY, false>(len);
            if found.padded {
                for (i, (b, out)) in v.range_packets(from, from + len).enumerate() {
                    if !headers.is_wrong(i)
                        && headers.is_padded(i)
                        && !trim(b, headers.total(i), cx)
                    {
                        out.go(F::Input::NO_BUFFER);
                    }
                }
            }
            if found.wrong {
                for i in (0..len).filter(|i| headers.is_wrong(*i)) {
                    let to = unusual::<F, VERIFY, false>(v.get_mut(from + i), self.arcs, cx);
                    v.set(from + i, to);
                }
            }
        }
        if differ == 0 {
            self.received.add(rx_if as usize, n as u64);
            if !cx.has_arc(self.arcs.unicast, rx_if) {
                return;
            }
        } else {
            for b in v.iter() {
                self.received.add(b.rx_if as usize, 1);
            }
        }
        // Packets from interfaces with features start the arc here; packets handled by `unusual`
        // have already, if they may.
        for i in 0..n {
            if v.is(i, F::Input::LOOKUP) {
                let b = v.get_mut(i);
                let to = cx.start_arc(self.arcs.unicast, b.rx_if, b);
                v.set(i, to.map_or(F::Input::LOOKUP, F::Input::feature));
            }
        }
    }
}
