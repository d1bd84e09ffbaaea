// SPDX-License-Identifier: Apache-2.0
//! `gre-encap`, `gre-teb-encap`, `gre-erspan-encap`: encapsulation of IP packets, of frames, of
//! mirrored frames.

use crate::model::Gre;
use std::sync::atomic::Ordering;
use tunnel::{Codec, End, Inner};
use wire::EtherType;

/// Bytes of the fixed part of the header.
const FIXED: usize = 4;
/// Bytes of the header of ERSPAN, behind the sequence number.
const ERSPAN: usize = 8;

/// IP packets.
#[derive(Clone, Copy)]
pub enum GreCodec {}

impl Codec for GreCodec {
    type Spec = Gre;
    const HOT: bool = true;
    const NAME: &'static str = "gre-encap";

    #[inline(always)]
    fn fill(own: &mut [u8], _: &End, inner: &Inner, _: usize) -> Option<u8> {
        let protocol = if inner.version == 6 { EtherType::IP6 } else { EtherType::IP4 };
        if let Some(to) = own.get_mut(2..FIXED) {
            to.copy_from_slice(&protocol.0.to_be_bytes());
        }
        None
    }
}

/// Ethernet frames.
#[derive(Clone, Copy)]
pub enum TebCodec {}

impl Codec for TebCodec {
    type Spec = Gre;
    const NAME: &'static str = "gre-teb-encap";
}

/// Mirrored frames.
#[derive(Clone, Copy)]
pub enum ErspanCodec {}

impl Codec for ErspanCodec {
    type Spec = Gre;
    const NAME: &'static str = "gre-erspan-encap";

    #[inline(always)]
    fn fill(own: &mut [u8], end: &End, _: &Inner, _: usize) -> Option<u8> {
        // Sessions of two ends count together, on all threads.
        let number =
            end.sequence.as_ref().map_or(0, |sequence| sequence.fetch_add(1, Ordering::Relaxed));
        if let Some(at) = own.len().checked_sub(ERSPAN + 4)
            && let Some(to) = own[at..].first_chunk_mut()
        {
            *to = number.to_be_bytes();
        }
        None
    }
}
