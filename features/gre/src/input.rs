// SPDX-License-Identifier: Apache-2.0
//! `gre4-input`, `gre6-input`: decapsulation. The number is the IP version of the outer packet.

use crate::model::{ETHERNET, Gre, IP};
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Vector, World};
use ip::Ip;
use simd::Isa;
use std::marker::PhantomData;
use tunnel::{Decap, DecapTrace, Decapsulates, Key, Last, Onto, Outer, Receipt, Receiver};
use wire::checksum::Sum;
use wire::{EtherType, Gre as GreHeader, Header};

pub struct GreInput<F> {
    decap: Decap<Gre>,
    last: Last<To>,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ip4-input")]
    Input4,
    #[next("ip6-input")]
    Input6,
    #[next("ethernet-input")]
    Ethernet,
    /// The first feature of the tunnel's interface.
    #[dynamic]
    Feature(NodeIndex),
    /// GRE input packets decapsulated
    #[count]
    #[counter("GRE input packets decapsulated")]
    Decapsulated,
    /// GRE input packets dropped due to missing tunnel
    #[drop]
    #[counter("GRE input packets dropped due to missing tunnel")]
    NoTunnel,
    /// unknown protocol
    #[drop]
    #[counter("unknown protocol")]
    UnknownProtocol,
    /// unsupported version
    #[drop]
    #[counter("unsupported version")]
    Version,
    /// source route or reserved bits
    #[drop]
    Reserved,
    /// checksum is wrong
    #[drop]
    BadChecksum,
    /// fragmented outer packet
    #[drop]
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

tunnel::from_decap_error!(To, NoTunnel);

/// The fields of a GRE header.
struct Read {
    /// Its bytes, with the optional words.
    len: usize,
    /// The key; 0 without one.
    key: u32,
    /// [`Key::other`].
    other: u32,
    to: To,
    onto: Onto,
    /// It has a checksum or a number, which other packets have not.
    differs: bool,
}

/// Reads the header that begins `at` bytes into the packet.
#[inline(always)]
fn read(b: &mut Buffer, at: usize) -> Result<Read, To> {
    let gre = GreHeader::view_at(b.data(), at).ok_or(To::TooShort)?;
    let flags = gre.flags.get();
    // RFC 2784 2.3.1; version 1 is PPTP's.
    if gre.version() != 0 {
        return Err(To::Version);
    }
    // RFC 2784 2.3: bits 1 to 5 are zero, but for the key and the sequence number (RFC 2890).
    if flags & (GreHeader::ROUTING | 0x0c00) != 0 {
        return Err(To::Reserved);
    }
    let (other, to, onto) = match gre.protocol() {
        EtherType::IP4 => (IP, To::Input4, Onto::Ip4),
        EtherType::IP6 => (IP, To::Input6, Onto::Ip6),
        EtherType::TEB => (ETHERNET, To::Ethernet, Onto::Ethernet),
        _ => return Err(To::UnknownProtocol),
    };
    let len = gre.header_len();
    let mut key = 0;
    if flags & GreHeader::KEY != 0 {
        let behind = if flags & GreHeader::CHECKSUM != 0 { 8 } else { 4 };
        key = u32::from_be_bytes(*b.bytes::<4>(at + behind).ok_or(To::TooShort)?);
        // It is none of a tunnel without a key.
        if key == 0 {
            return Err(To::NoTunnel);
        }
    }
    if b.data().len() < at + len {
        return Err(To::TooShort);
    }
    if flags & GreHeader::CHECKSUM != 0 {
        // The inner packet's own, if a host of ours has left it: the outer one covers it as it will
        // be.
        driver::finish_checksum(b);
        // RFC 2784 2.5: of header and payload.
        let first = std::iter::once(&b.data()[at..]);
        if !Sum::of_parts(first.chain(b.segments().skip(1))).is_valid() {
            return Err(To::BadChecksum);
        }
    }
    let differs = flags & (GreHeader::CHECKSUM | GreHeader::SEQUENCE) != 0;
    Ok(Read { len, key, other, to, onto, differs })
}

impl<F: Ip> Build for GreInput<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { decap: Decap::new(world, thread), last: Last::default(), version: PhantomData }
    }
}

impl<F: Ip> Decapsulates<F> for GreInput<F> {
    const DECAPSULATED: To = To::Decapsulated;

    fn parts(&mut self) -> (&mut Last<To>, &Receiver) {
        (&mut self.last, self.decap.receiver())
    }
}

impl<F: Ip> Node for GreInput<F> {
    const NAME: &'static str = if F::IS_V6 { "gre6-input" } else { "gre4-input" };
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = DecapTrace<Gre>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let turn = cx.turn;
        let Some(outer) = Outer::of::<F>(b) else { return To::TooShort };
        if outer.is_fragment() {
            return To::Fragment;
        }
        let Read { len, key, other, to, onto, differs } = match read(b, outer.upper.offset) {
            Ok(read) => read,
            Err(why) => return why,
        };
        let key = Key { id: key, other, ..outer.key };
        let end = self.decap.find(&key, turn);
        if TRACED {
            cx.trace(b, DecapTrace::<Gre>::of(&outer, b, end));
        }
        let Some(end) = end else { return To::NoTunnel };
        match self.decap.receive(b, end, outer.upper.offset + len, outer.class, turn) {
            Ok(()) => {
                cx.count(To::Decapsulated, 1);
                let to = self.decap.first_feature(b, onto, cx).map_or(to, To::Feature);
                if !differs {
                    let (headers, own) = (outer.upper.offset + len, &[!0; 8][..len.min(8)]);
                    let decided = (Receipt::of(end), end.flags, to);
                    self.last.remember::<F>(b, (headers, own), decided, self.decap.receiver());
                }
                to
            }
            Err(why) => why.into(),
        }
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        tunnel::decapsulate::<F, _>(self, v, cx);
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, cx: &mut Cx<'_, TRACED>) {
        tunnel::end_decapsulation::<F, _, TRACED>(self, cx);
    }
}
