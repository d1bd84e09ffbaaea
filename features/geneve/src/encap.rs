// SPDX-License-Identifier: Apache-2.0
//! `geneve4-encap`, `geneve6-encap`: encapsulation. Nothing of the header differs from packet to
//! packet.

use crate::model::Geneve;
use std::fmt;
use tunnel::{Codec, EncapTrace};

#[derive(Clone, Copy)]
pub enum GeneveCodec<const V6: bool> {}

impl<const V6: bool> Codec for GeneveCodec<V6> {
    type Spec = Geneve;
    const NAME: &'static str = if V6 { "geneve6-encap" } else { "geneve4-encap" };
    const UDP: bool = true;

    fn trace(f: &mut fmt::Formatter<'_>, trace: &EncapTrace<Self>) -> fmt::Result {
        write!(f, "GENEVE encap to geneve_tunnel{} vni {}", trace.instance, trace.id)
    }
}
