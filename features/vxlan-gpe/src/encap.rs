// SPDX-License-Identifier: Apache-2.0
//! `vxlan-gpe-encap`: encapsulation, over both IP versions.

use crate::model::Gpe;
use std::fmt;
use tunnel::{Codec, EncapTrace, End, Inner};
use wire::{Header, UdpHeader, VxlanGpe};

/// Offset of the next protocol.
const NEXT: usize = UdpHeader::LEN + 3;

#[derive(Clone, Copy)]
pub enum GpeCodec {}

impl Codec for GpeCodec {
    type Spec = Gpe;
    const NAME: &'static str = "vxlan-gpe-encap";
    const UDP: bool = true;

    #[inline(always)]
    fn fill(own: &mut [u8], end: &End, inner: &Inner, _: usize) -> Option<u8> {
        if !end.frames
            && let Some(next) = own.get_mut(NEXT)
        {
            // A tunnel of layer 3 carries both versions of IP; what is neither has a network
            // service header, whose version is 0 (RFC 8300 2.2).
            *next = match inner.version {
                4 => VxlanGpe::IP4,
                6 => VxlanGpe::IP6,
                _ => VxlanGpe::NSH,
            };
        }
        None
    }

    fn trace(f: &mut fmt::Formatter<'_>, trace: &EncapTrace<Self>) -> fmt::Result {
        write!(f, "VXLAN-GPE encap to vxlan_gpe_tunnel{} vni {}", trace.instance, trace.id)
    }
}
