// SPDX-License-Identifier: Apache-2.0
//! `vxlan4-encap`, `vxlan6-encap`: encapsulation. Nothing of the header differs from packet to
//! packet.

use crate::model::Vxlan;
use std::fmt;
use tunnel::{Codec, EncapTrace};

#[derive(Clone, Copy)]
pub enum VxlanCodec<const V6: bool> {}

impl<const V6: bool> Codec for VxlanCodec<V6> {
    type Spec = Vxlan;
    const HOT: bool = !V6;
    const NAME: &'static str = if V6 { "vxlan6-encap" } else { "vxlan4-encap" };
    const UDP: bool = true;

    fn trace(f: &mut fmt::Formatter<'_>, trace: &EncapTrace<Self>) -> fmt::Result {
        write!(f, "VXLAN encap to vxlan_tunnel{} vni {}", trace.instance, trace.id)
    }
}
