// SPDX-License-Identifier: Apache-2.0
//! `ip4-mfib-forward-lookup`, `ip6-mfib-forward-lookup`: packets to a group.

use crate::family::{Ip, IpTrace};
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use std::marker::PhantomData;
use wire::{Header, IpHeader};

pub struct Forward<F>(PhantomData<F>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("{ip}-local")]
    Local,
    /// {ip} multicast is not forwarded
    #[drop]
    NotForwarded,
}

impl<F> Build for Forward<F> {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self(PhantomData)
    }
}

impl<F: Ip> Node for Forward<F> {
    const NAME: &'static str = "{ip}-mfib-forward-lookup";
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        match F::Header::view(b.data()) {
            Some(ip) if F::is_for_us(ip.dst()) => To::Local,
            _ => To::NotForwarded,
        }
    }
}
