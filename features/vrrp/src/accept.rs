// SPDX-License-Identifier: Apache-2.0
//! `vrrp4-accept-owner-input`, `vrrp6-accept-owner-input`: the owner of the addresses advertises
//! from one of them, which accept mode has made an address of this router, too. So its
//! advertisements are taken here, before the checks of sources and of multicast routes.

use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use ip::Ip;
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;
use wire::{Header, IpHeader, IpProtocol};

pub struct AcceptOwner<F>(PhantomData<F>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("{vrrp4|vrrp6}-input")]
    Input,
    #[next_feature]
    Continue,
    /// packets received
    #[count]
    #[counter("VRRP owner accept packets received")]
    Received,
    /// advertisements taken
    #[count]
    #[counter("VRRP owner accept advertisements processed")]
    Processed,
}

/// True for an advertisement.
#[derive(Clone, Copy)]
pub struct AcceptTrace(bool);

impl Trace for AcceptTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "VRRP advertisement" } else { "not VRRP" })
    }
}

impl<F: Ip> Build for AcceptOwner<F> {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self(PhantomData)
    }
}

impl<F: Ip> Node for AcceptOwner<F> {
    const NAME: &'static str = "{vrrp4|vrrp6}-accept-owner-input";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = AcceptTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let is_vrrp = F::Header::view(b.data()).is_some_and(|ip| {
            let to: IpAddr = ip.dst().into();
            ip.protocol() == IpProtocol::VRRP && to == crate::packet::group(F::IS_V6)
        });
        cx.trace(b, AcceptTrace(is_vrrp));
        cx.count(To::Received, 1);
        if !is_vrrp {
            return To::Continue;
        }
        cx.count(To::Processed, 1);
        To::Input
    }
}
