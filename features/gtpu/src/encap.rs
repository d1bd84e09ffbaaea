// SPDX-License-Identifier: Apache-2.0
//! `gtpu4-encap`, `gtpu6-encap`: encapsulation.

use crate::model::Gtpu as Tunnel;
use std::fmt;
use tunnel::{Codec, EncapTrace, End, Inner};
use wire::{Gtpu, Header, UdpHeader};

#[derive(Clone, Copy)]
pub enum GtpuCodec<const V6: bool> {}

impl<const V6: bool> Codec for GtpuCodec<V6> {
    type Spec = Tunnel;
    const NAME: &'static str = if V6 { "gtpu6-encap" } else { "gtpu4-encap" };
    const UDP: bool = true;

    #[inline(always)]
    fn fill(own: &mut [u8], _: &End, _: &Inner, len: usize) -> Option<u8> {
        // TS 29.281 5.1: what is behind the mandatory part, optional parts included.
        let len = own.len() + len - UdpHeader::LEN - size_of::<Gtpu>();
        if let Some(to) = own.get_mut(UdpHeader::LEN + 2..UdpHeader::LEN + 4) {
            to.copy_from_slice(&(len as u16).to_be_bytes());
        }
        None
    }

    fn trace(f: &mut fmt::Formatter<'_>, trace: &EncapTrace<Self>) -> fmt::Result {
        write!(f, "GTPU encap to gtpu_tunnel{} teid {}", trace.instance, trace.id)
    }
}
