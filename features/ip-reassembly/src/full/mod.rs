// SPDX-License-Identifier: Apache-2.0
//! Full reassembly: fragments wait until the datagram can continue as one packet.

mod datagram;

use crate::fragment::{Fault, Fragment, Fragments, Part};
use crate::state::Kind;
use crate::store::{AT_A_TICK, AT_ONCE, AbandonReason, PendingDatagram, Store, buffers};
use buffer::{Buffer, Field, Owned};
use datagram::{Datagram, Fit, join};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::L4;
use std::fmt;
use wire::UpperLayer;

/// On the feature arc of received unicast packets: the whole continues along the arc.
pub const FEATURE: u8 = 0;
/// For packets to ourselves: the whole goes back to `ip4-local` or `ip6-local`.
pub const LOCAL: u8 = 1;
/// For nodes that send fragments here: the whole goes to `ip4-input` or `ip6-input`.
pub const INPUT: u8 = 2;
/// For features: the whole goes to the node in the fragment's [`CustomNext`].
pub const CUSTOM: u8 = 3;

buffer::scratch! {
    /// For `ip4-full-reassembly-custom` and `ip6-full-reassembly-custom`: next node of the whole.
    pub struct CustomNext {
        /// Index of the node.
        pub node: u32,
    }
}

/// Minimum header length of TCP and UDP, in bytes.
const TCP: usize = 20;
const UDP: usize = 8;

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// Packets on an arc that need no reassembly, or were reassembled.
    #[next_feature]
    Next,
    /// The same elsewhere.
    #[dynamic]
    Node(NodeIndex),
    #[keep]
    Wait,
    /// first fragment without the whole header chain: its sender is told (RFC 7112 5)
    #[next("{ip}-icmp-error", reason)]
    ReassMissingUpper,
    /// fragment whose bytes are there already
    #[drop]
    ReassDuplicateFragment,
    /// datagram with overlapping fragments (RFC 5722), or with two ends
    #[drop]
    ReassOverlappingFragment,
    /// too many datagrams are under way: the oldest is given up
    #[drop]
    ReassLimitReached,
    /// datagram with too many fragments
    #[drop]
    ReassFragmentChainTooLong,
    /// no buffer for a fragment that others have a part of
    #[drop]
    ReassNoBuf,
    /// malformed fragment
    #[drop]
    ReassMalformedPacket,
    /// fault in the router: a datagram under way isn't where it was
    #[drop]
    ReassInternalError,
    /// datagrams that timed out
    #[count]
    ReassTimeout,
    /// fragment without payload, or shorter than it says
    #[drop]
    ReassInvalidFragLen,
    /// packet that is no fragment
    #[drop]
    ReassNoFragHdr,
    /// fragment with a wrong length or offset: its sender is told (RFC 8200 4.5)
    #[next("{ip}-icmp-error", reason)]
    ReassInvalidFragSize,
    /// datagrams reassembled
    #[count]
    ReassSuccess,
    /// fragments that datagrams were made of
    #[count]
    ReassFragmentsReassembled,
    /// fragments received
    #[count]
    ReassFragmentsRcvd,
    /// the first fragment of a datagram that timed out: its sender is told
    #[next("{ip}-icmp-error", reason)]
    ReassTimeExceeded,
    /// fragment of a datagram that was given up
    #[drop]
    ReassGivenUp,
    /// datagram that is longer than a packet may be
    #[drop]
    ReassTooLong,
    /// some fragments met congestion, others were not to know of it (RFC 3168 5.3)
    #[count]
    ReassEcnMismatch,
}

impl AbandonReason for To {
    const GIVEN_UP: Self = Self::ReassGivenUp;
    const LIMIT_REACHED: Self = Self::ReassLimitReached;
    const TIMEOUT: Self = Self::ReassTimeout;
}

/// Trace of a received packet: its fragment, if it is one.
#[derive(Clone, Copy)]
pub struct FragmentTrace(Option<Fragment>);

impl Trace for FragmentTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(fragment) = self.0 else { return f.write_str("not fragmented") };
        let more = if fragment.more { " more" } else { "" };
        write!(
            f,
            "fragment id {:#x} bytes {} to {}{more}",
            fragment.id, fragment.start, fragment.end
        )
    }
}

/// `ip4-full-reassembly-feature` and its kind, by `AT`.
pub struct Full<F: Fragments, const AT: u8> {
    store: Store<F, Datagram>,
    then: Option<NodeIndex>,
    l4: Field<L4>,
}

impl<F: Fragments, const AT: u8> Build for Full<F, AT> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let then = match AT {
            LOCAL => Some("{ip}-local"),
            INPUT => Some("{ip}-input"),
            _ => None,
        };
        Self {
            store: Store::new(world, thread, Kind::Full),
            then: then.and_then(|name| world.node(&graph::filled(name, F::IS_V6))),
            l4: world.field(),
        }
    }
}

impl<F: Fragments, const AT: u8> Full<F, AT> {
    /// Returns the next node of a whole packet.
    #[inline(always)]
    fn onward(&self, b: &Buffer) -> To {
        match AT {
            FEATURE => To::Next,
            CUSTOM => To::Node(NodeIndex(b.scratch::<CustomNext>().node)),
            _ => self.then.map_or(To::ReassInternalError, To::Node),
        }
    }

    /// Gives up datagrams that have waited too long, at most `n`. If the first fragment was
    /// received, the sender gets an error: for IPv4 from the destination host (RFC 792, RFC
    /// 1122 3.3.2), for IPv6 from every node that reassembles (RFC 8200 4.5).
    fn expire(&mut self, n: usize, cx: &mut Cx<'_, false>) {
        for _ in 0..n {
            let Some(at) = self.store.expired(cx.now()) else { break };
            self.store.count(at, To::TIMEOUT, cx);
            if (AT == LOCAL || F::ROUTERS_TELL)
                && let Some(datagram) = self.store.table.get_mut(at)
                && datagram.pieces.first().is_some_and(|p| p.fragment.is_first())
            {
                let mut first = datagram.pieces.remove(0).packet;
                self.store.kept.give(first.segment_count());
                // The destination has not received it, except if that is us.
                first.set_scratch(if AT == LOCAL { F::TIMEOUT } else { F::TIMEOUT.on_the_way() });
                cx.emit(To::ReassTimeExceeded, first);
            }
            self.store.remove(at, cx);
        }
    }

    fn collect(&mut self, fragment: Fragment, mut b: Owned, cx: &mut Cx<'_, false>) {
        let total = usize::from(fragment.at) + fragment.len();
        if b.packet_len() > total {
            // Bytes beyond the fragment are cut off. That takes buffers if segments are shared.
            if !b.trim_packet(total, cx.cache()) {
                return cx.emit(To::ReassNoBuf, b);
            }
        }
        let fib = self.store.placement.fib::<F>(&b, cx.turn);
        let Some(key) = self.store.placement.key::<F>(b.data(), &fragment, fib) else {
            return cx.emit(To::ReassMalformedPacket, b);
        };
        if let Some(thread) = self.store.placement.elsewhere(&key) {
            return cx.handoff(thread, cx.node(), b);
        }
        cx.count(To::ReassFragmentsRcvd, 1);
        self.expire(AT_ONCE, cx);
        let Some(at) = self.store.datagram(key, cx) else {
            return cx.emit(To::ReassLimitReached, b);
        };
        let limit = self.store.limits().fragments();
        let Some(datagram) = self.store.table.get_mut(at) else {
            return cx.emit(To::ReassInternalError, b);
        };
        if datagram.dead {
            return cx.emit(To::ReassGivenUp, b);
        }
        match datagram.judge::<F>(&fragment, &b, limit) {
            Fit::Fits => {}
            Fit::Duplicate => return cx.emit(To::ReassDuplicateFragment, b),
            bad => {
                self.store.give_up(at, cx);
                let too_many = bad == Fit::TooMany;
                let why = if too_many {
                    To::ReassFragmentChainTooLong
                } else {
                    To::ReassOverlappingFragment
                };
                return cx.emit(why, b);
            }
        }
        let b = match b.unshare(cx.cache()) {
            Ok(b) => b,
            Err(b) => return cx.emit(To::ReassNoBuf, b),
        };
        let kept = &mut self.store.kept;
        kept.charge(b.segment_count());
        let complete = datagram.add(fragment, b, |covered| {
            kept.give(covered.segment_count());
            cx.emit(To::ReassDuplicateFragment, covered);
        });
        self.store.set_holding(at);
        if complete {
            return self.complete(at, cx);
        }
        self.store.make_room(cx);
    }

    /// Joins the datagram, whose fragments are complete, and sends it on.
    fn complete(&mut self, at: u32, cx: &mut Cx<'_, false>) {
        let Some(datagram) = self.store.table.get_mut(at) else { return };
        let Some(ce) = datagram.congestion() else {
            return self.store.end(at, To::ReassEcnMismatch, cx);
        };
        let n = datagram.pieces.len();
        self.store.kept.give(buffers(&datagram.pieces));
        let joined = join::<F>(&mut datagram.pieces, ce, cx.cache());
        self.store.forget(at);
        match joined {
            Ok(mut b) => {
                // The upper-layer fields of a fragment don't apply to the whole packet.
                b.clear_field(self.l4);
                cx.count(To::ReassFragmentsReassembled, n as u64);
                cx.count(To::ReassSuccess, 1);
                cx.emit(self.onward(&b), b);
            }
            Err(Some(b)) => {
                // The other fragments are part of it by now.
                cx.count(To::ReassFragmentsReassembled, n as u64);
                cx.emit(To::ReassTooLong, b);
            }
            Err(None) => {}
        }
    }

    /// Returns the datagrams under way here.
    pub fn list(&self, now: u64) -> Vec<PendingDatagram> {
        self.store.list(now)
    }
}

/// Returns true if a first fragment of IPv6 has all headers including the upper layer's (RFC 7112).
fn has_upper(packet: &[u8]) -> bool {
    let Ok(upper) = UpperLayer::find6(packet) else { return false };
    let least = match upper.protocol {
        wire::IpProtocol::TCP => TCP,
        wire::IpProtocol::UDP | wire::IpProtocol::ICMP6 => UDP,
        _ => 0,
    };
    !upper.protocol.is_ip6_extension() && upper.payload_len() >= least
}

impl<F: Fragments, const AT: u8> Node for Full<F, AT> {
    const NAME: &'static str = match AT {
        FEATURE => "{ip}-full-reassembly-feature",
        LOCAL => "{ip}-local-full-reassembly",
        INPUT => "{ip}-full-reassembly",
        _ => "{ip}-full-reassembly-custom",
    };
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = FragmentTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let part = F::part(b.data(), b.packet_len());
        if TRACED {
            let fragment = match part {
                Ok(Part::Fragment(fragment) | Part::Atomic(fragment)) => Some(fragment),
                _ => None,
            };
            cx.trace(b, FragmentTrace(fragment));
        }
        match part {
            Ok(Part::Whole) if AT == LOCAL => To::ReassNoFragHdr,
            Ok(Part::Whole) => self.onward(b),
            Ok(Part::Atomic(fragment)) => {
                if F::finish(b, &fragment, fragment.len(), false) {
                    self.onward(b)
                } else {
                    To::ReassMalformedPacket
                }
            }
            Ok(Part::Fragment(fragment)) => {
                if F::IS_V6 && fragment.is_first() && !has_upper(b.data()) {
                    b.set_scratch(crate::fragment::INCOMPLETE_CHAIN);
                    return To::ReassMissingUpper;
                }
                To::Wait
            }
            Err(fault) => refuse::<F>(b, fault),
        }
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        match F::part(b.data(), b.packet_len()) {
            Ok(Part::Fragment(fragment)) => self.collect(fragment, b, cx),
            _ => cx.emit(To::ReassMalformedPacket, b),
        }
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        self.expire(AT_A_TICK, cx);
    }
}

/// Returns the next node of a faulty fragment, and stores the ICMP error for its sender, if any.
#[cold]
fn refuse<F: Fragments>(b: &mut Buffer, fault: Fault) -> To {
    match F::complaint(fault) {
        Some(error) => {
            b.set_scratch(error);
            To::ReassInvalidFragSize
        }
        None if F::IS_V6 => To::ReassInvalidFragLen,
        None => To::ReassMalformedPacket,
    }
}
