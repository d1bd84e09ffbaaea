// SPDX-License-Identifier: Apache-2.0
//! The way into a tunnel: there is no header but the outer one.

use crate::spec::IpIp;
use graph::{Build, ThreadIndex, World};
use std::fmt;
use tunnel::{Codec, EncapTrace, End, Inner};
use wire::IpProtocol;

#[derive(Clone, Copy)]
pub struct IpIpCodec;

impl Build for IpIpCodec {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl Codec for IpIpCodec {
    type Spec = IpIp;
    const NAME: &'static str = "ipip-encap";

    #[inline(always)]
    fn fill(&mut self, _: &mut [u8], _: &End, inner: &Inner) -> Option<u8> {
        Some(if inner.version == 6 { IpProtocol::IP6.0 } else { IpProtocol::IP4.0 })
    }

    fn trace(f: &mut fmt::Formatter<'_>, trace: &EncapTrace<Self>) -> fmt::Result {
        let [source, destination] = trace.addresses();
        write!(f, "IPIP: tunnel {} len {} src {source} dst {destination}", trace.instance, trace.len)
    }
}
