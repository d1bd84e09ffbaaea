// SPDX-License-Identifier: Apache-2.0
//! `ipip4-input`, `ipip6-input`: the way out of a tunnel. The number is the IP version of the outer packet.

use crate::spec::IpIp;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use ip::Ip;
use net::IpMeta;
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;
use tunnel::{Decap, Key, Refused};
use wire::{Header, IpHeader, IpProtocol, UpperLayer};

pub struct IpIpInput<F> {
    decap: Decap<IpIp>,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ip4-input")]
    Input4,
    #[next("ip6-input")]
    Input6,
    /// packets decapsulated
    #[count]
    #[counter("packets decapsulated")]
    Decapsulated,
    /// bad protocol
    #[drop]
    #[counter("bad protocol")]
    BadProtocol,
    /// no tunnel
    #[drop]
    #[counter("no tunnel")]
    NoTunnel,
    /// fragmented outer packet
    #[drop]
    #[counter("fragmented outer packet")]
    Fragment,
    /// tunnel is down
    #[drop]
    Down,
    /// packet shorter than its headers
    #[drop]
    TooShort,
    /// super-packets can't be taken out of tunnels
    #[drop]
    Super,
}

impl From<Refused> for To {
    fn from(why: Refused) -> Self {
        match why {
            Refused::Down => Self::Down,
            Refused::Super => Self::Super,
            Refused::TooShort => Self::TooShort,
        }
    }
}

/// The outer addresses, and the tunnel.
#[derive(Clone, Copy)]
pub struct InputTrace {
    instance: Option<u32>,
    len: usize,
    source: IpAddr,
    destination: IpAddr,
}

impl Trace for InputTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instance, len, source, destination } = self;
        match instance {
            Some(instance) => write!(f, "IPIP: tunnel {instance}")?,
            None => f.write_str("IPIP: no tunnel")?,
        }
        write!(f, " len {len} src {source} dst {destination}")
    }
}

impl<F: Ip> Build for IpIpInput<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { decap: Decap::new(world, thread), version: PhantomData }
    }
}

impl<F: Ip> Node for IpIpInput<F> {
    const NAME: &'static str = if F::IS_V6 { "ipip6-input" } else { "ipip4-input" };
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = InputTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let turn = cx.turn;
        let Some(ip) = F::Header::view(b.data()).copied() else { return To::TooShort };
        let Ok(upper) = UpperLayer::of::<F>(b.data()) else { return To::TooShort };
        if upper.fragment_offset != 0 || upper.more_fragments {
            return To::Fragment;
        }
        let to = match upper.protocol {
            IpProtocol::IP4 => To::Input4,
            IpProtocol::IP6 => To::Input6,
            _ => return To::BadProtocol,
        };
        let table = b.scratch::<IpMeta>().fib;
        let key = Key::of(ip.dst().into(), ip.src().into(), table);
        let end = self.decap.find(&key, turn);
        if TRACED {
            let (instance, len) = (end.map(|end| end.instance), b.packet_len());
            cx.trace(b, InputTrace { instance, len, source: ip.src().into(), destination: ip.dst().into() });
        }
        let Some(end) = end else { return To::NoTunnel };
        match self.decap.receive(b, end, upper.offset, ip.traffic_class(), turn) {
            Ok(()) => {
                cx.count(To::Decapsulated, 1);
                to
            }
            Err(why) => why.into(),
        }
    }
}
