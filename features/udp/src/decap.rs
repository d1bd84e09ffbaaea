// SPDX-License-Identifier: Apache-2.0
//! `udp-decap-ip4`, `udp-decap-ip6`: the payload of a datagram becomes a packet that is received.

use buffer::{Buffer, Field, FieldValue, Flags};
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use ip::{Ip, IpTrace};
use net::L4;
use std::marker::PhantomData;
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

/// Marks a packet that came out of a datagram here, until it is sent or put into another one.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Decapsulated;

impl FieldValue for Decapsulated {}

pub struct Decap<F> {
    l4: Field<L4>,
    mark: Field<Decapsulated>,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("{ip}-input")]
    Input,
    /// super-packets can't be taken out of datagrams
    #[drop]
    Super,
}

impl<F: Ip> Build for Decap<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { l4: world.field(), mark: world.field(), version: PhantomData }
    }
}

impl<F: Ip> Node for Decap<F> {
    const NAME: &'static str = "udp-decap-{ip}";
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if b.flags.contains(Flags::GSO) {
            return To::Super;
        }
        // These flags describe the datagram, not the packet inside; an unfinished checksum is the
        // datagram's.
        const OF_DATAGRAM: Flags = Flags::L4_CSUM_OK
            .union(Flags::IP4_CSUM_OK)
            .union(Flags::CSUM_PARTIAL)
            .union(Flags::LOCAL)
            .union(Flags::TABLE)
            .union(Flags::L2_BROADCAST)
            .union(Flags::L2_MULTICAST);
        b.flags.remove(OF_DATAGRAM);
        b.clear_field(self.l4);
        b.set_field(self.mark, Decapsulated);
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        To::Input
    }
}
