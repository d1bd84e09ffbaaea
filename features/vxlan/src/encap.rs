// SPDX-License-Identifier: Apache-2.0
//! `vxlan4-encap`, `vxlan6-encap`: the way into a tunnel. Nothing of the header differs from packet to packet.

use crate::spec::Vxlan;
use graph::{Build, ThreadIndex, World};
use std::fmt;
use tunnel::{Codec, EncapTrace, End, Inner};

#[derive(Clone, Copy)]
pub struct VxlanCodec<const V6: bool>;

impl<const V6: bool> Build for VxlanCodec<V6> {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl<const V6: bool> Codec for VxlanCodec<V6> {
    type Spec = Vxlan;
    const NAME: &'static str = if V6 { "vxlan6-encap" } else { "vxlan4-encap" };
    const UDP: bool = true;

    #[inline(always)]
    fn fill(&mut self, _: &mut [u8], _: &End, _: &Inner) -> Option<u8> {
        None
    }

    fn trace(f: &mut fmt::Formatter<'_>, trace: &EncapTrace<Self>) -> fmt::Result {
        write!(f, "VXLAN encap to vxlan_tunnel{} vni {}", trace.instance, trace.id)
    }
}
