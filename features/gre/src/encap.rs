// SPDX-License-Identifier: Apache-2.0
//! `gre-encap`, `gre-teb-encap`, `gre-erspan-encap`: the ways into a tunnel.

use crate::spec::Gre;
use graph::{Build, ThreadIndex, World};
use std::fmt;
use std::sync::atomic::Ordering;
use tunnel::{Codec, EncapTrace, End, Inner};
use wire::EtherType;

/// Bytes of the fixed part of the header.
const FIXED: usize = 4;

fn trace<C>(f: &mut fmt::Formatter<'_>, trace: &EncapTrace<C>) -> fmt::Result {
    let [source, destination] = trace.addresses();
    write!(f, "GRE: tunnel {} len {} src {source} dst {destination}", trace.instance, trace.len)
}

/// IP packets.
#[derive(Clone, Copy)]
pub struct GreCodec;

impl Build for GreCodec {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl Codec for GreCodec {
    type Spec = Gre;
    const NAME: &'static str = "gre-encap";

    #[inline(always)]
    fn fill(&mut self, own: &mut [u8], _: &End, inner: &Inner) -> Option<u8> {
        let protocol = if inner.version == 6 { EtherType::IP6 } else { EtherType::IP4 };
        if let Some(to) = own.get_mut(2..FIXED) {
            to.copy_from_slice(&protocol.0.to_be_bytes());
        }
        None
    }

    fn trace(f: &mut fmt::Formatter<'_>, of: &EncapTrace<Self>) -> fmt::Result {
        trace(f, of)
    }
}

/// Ethernet frames.
#[derive(Clone, Copy)]
pub struct TebCodec;

impl Build for TebCodec {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl Codec for TebCodec {
    type Spec = Gre;
    const NAME: &'static str = "gre-teb-encap";

    #[inline(always)]
    fn fill(&mut self, _: &mut [u8], _: &End, _: &Inner) -> Option<u8> {
        None
    }

    fn trace(f: &mut fmt::Formatter<'_>, of: &EncapTrace<Self>) -> fmt::Result {
        trace(f, of)
    }
}

/// Mirrored frames.
#[derive(Clone, Copy)]
pub struct ErspanCodec;

impl Build for ErspanCodec {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

/// Bytes of the header of ERSPAN, behind the sequence number.
const ERSPAN: usize = 8;

impl Codec for ErspanCodec {
    type Spec = Gre;
    const NAME: &'static str = "gre-erspan-encap";

    #[inline(always)]
    fn fill(&mut self, own: &mut [u8], end: &End, _: &Inner) -> Option<u8> {
        // Sessions of two ends count together, on all threads.
        let number = end.sequence.as_ref().map_or(0, |sequence| sequence.fetch_add(1, Ordering::Relaxed));
        if let Some(at) = own.len().checked_sub(ERSPAN + 4)
            && let Some(to) = own[at..].first_chunk_mut()
        {
            *to = number.to_be_bytes();
        }
        None
    }

    fn trace(f: &mut fmt::Formatter<'_>, of: &EncapTrace<Self>) -> fmt::Result {
        trace(f, of)
    }
}
