// SPDX-License-Identifier: Apache-2.0
//! Encapsulation: there is no header but the outer one.

use crate::model::IpIp;
use tunnel::{Codec, End, Inner};
use wire::IpProtocol;

#[derive(Clone, Copy)]
pub enum IpIpCodec {}

impl Codec for IpIpCodec {
    type Spec = IpIp;
    const HOT: bool = true;
    const NAME: &'static str = "ipip-encap";

    #[inline(always)]
    fn fill(_: &mut [u8], _: &End, inner: &Inner, _: usize) -> Option<u8> {
        Some(if inner.version == 6 { IpProtocol::IP6.0 } else { IpProtocol::IP4.0 })
    }
}
