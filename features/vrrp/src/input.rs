// SPDX-License-Identifier: Apache-2.0
//! `vrrp4-input`, `vrrp6-input`: check advertisements (RFC 9568 7.1) and pass them to control.

use crate::control::Vrrp;
use crate::counters;
use crate::packet::{self, Advertisement, Fault};
use crate::table::WAITING;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use ip::Ip;
use stats::Lane;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

pub struct VrrpInput<F> {
    vrrp: Arc<Vrrp>,
    /// The counters of faults, in the order of [`counters::FAULTS`].
    faults: [Lane; 6],
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The advertisement waits in the virtual router's queue.
    #[free]
    Noted,
    /// advertisements that control reads
    #[count]
    #[counter("VRRP packets processed")]
    Processed,
    /// TTL or hop limit is not 255: the advertisement was forwarded
    #[drop]
    #[counter("VRRP advertisement TTL is not 255")]
    Ttl,
    /// version is not 3
    #[drop]
    #[counter("VRRP version is not 3")]
    Version,
    /// message isn't as long as its addresses need
    #[drop]
    #[counter("VRRP packet has wrong size")]
    Size,
    /// checksum is wrong
    #[drop]
    #[counter("VRRP checksum is invalid")]
    Checksum,
    /// message is no advertisement
    #[drop]
    Type,
    /// interface has no virtual router of this number
    #[drop]
    #[counter("VRRP message does not match known VRs")]
    UnknownRouter,
    /// number of addresses differs from the virtual router's
    #[drop]
    #[counter("VR addrs do not match configuration")]
    Addresses,
    /// control is too far behind to take note
    #[drop]
    Busy,
}

impl To {
    /// The index of its counter in [`counters::FAULTS`].
    const fn fault(self) -> Option<usize> {
        match self {
            Self::Checksum => Some(0),
            Self::Version => Some(1),
            Self::UnknownRouter => Some(2),
            Self::Ttl => Some(3),
            Self::Addresses => Some(4),
            Self::Size => Some(5),
            Self::Noted | Self::Processed | Self::Type | Self::Busy => None,
        }
    }
}

/// The advertisement, or its fault.
#[derive(Clone, Copy)]
pub struct VrrpTrace(Result<Advertisement, Fault>);

impl Trace for VrrpTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(Advertisement { id, priority, count, interval, from, .. }) => write!(
                f,
                "VRRP advertisement of {from}: VR ID {id} priority {priority} interval {interval} \
                 addresses {count}"
            ),
            Err(fault) => write!(f, "bad VRRP packet: {fault:?}"),
        }
    }
}

impl<F: Ip> Build for VrrpInput<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            vrrp: world.get(),
            faults: counters::FAULTS.map(|name| counters::fault(world, name).lane(thread.at())),
            version: PhantomData,
        }
    }
}

impl<F: Ip> VrrpInput<F> {
    #[inline(always)]
    fn classify<const TRACED: bool>(
        &self,
        b: &Buffer,
        read: Result<Advertisement, Fault>,
        cx: &Cx<'_, TRACED>,
    ) -> To {
        let advertisement = match read {
            Ok(advertisement) => advertisement,
            Err(Fault::Ttl) => return To::Ttl,
            Err(Fault::Version) => return To::Version,
            Err(Fault::Size) => return To::Size,
            Err(Fault::Checksum) => return To::Checksum,
            Err(Fault::Kind) => return To::Type,
        };
        let link = self.vrrp.link(b.rx_if, cx.turn);
        let router = link.and_then(|link| link.router(F::IS_V6, advertisement.id));
        let Some(router) = router else { return To::UnknownRouter };
        if router.count != advertisement.count {
            return To::Addresses;
        }
        // A full queue is looked at first, since posting to it would wake control each time.
        if router.received.len() >= WAITING || router.received.post(advertisement).is_err() {
            return To::Busy;
        }
        self.vrrp.notify();
        To::Noted
    }
}

impl<F: Ip> Node for VrrpInput<F> {
    const NAME: &'static str = "{vrrp4|vrrp6}-input";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = VrrpTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        // A message of several buffers would be longer than any that is sent.
        let read = packet::read::<F>(b.data());
        if TRACED {
            cx.trace(b, VrrpTrace(read));
        }
        let to = self.classify(b, read, cx);
        if to == To::Noted {
            cx.count(To::Processed, 1);
        }
        if let Some(lane) = to.fault().and_then(|at| self.faults.get(at)) {
            lane.add(counters::CELL, 1);
        }
        to
    }
}
