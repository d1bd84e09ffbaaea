// SPDX-License-Identifier: Apache-2.0
//! `ip4-not-enabled`, `ip6-not-enabled`: a feature on the arcs of every interface that hasn't got
//! the protocol.

use crate::family::{Ip, IpTrace};
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use std::marker::PhantomData;

pub struct NotEnabled<F>(PhantomData<F>);

#[derive(Next, Clone, Copy)]
pub enum To {
    /// {ip} is not enabled on this interface
    #[drop]
    NotEnabled,
}

impl<F> Build for NotEnabled<F> {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self(PhantomData)
    }
}

impl<F: Ip> Node for NotEnabled<F> {
    const NAME: &'static str = "{ip}-not-enabled";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        To::NotEnabled
    }
}
