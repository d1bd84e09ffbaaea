// SPDX-License-Identifier: Apache-2.0
//! `ip4-dvr-reinject`, `ip6-dvr-reinject`: the last output feature of interfaces that DVR routes
//! lead to. Packets of these routes that leave by a layer-2 port are switched; all others go to the
//! output of the interface.

use crate::dpo::Steered;
use buffer::{Buffer, Field};
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use ip::Ip;
use net::{IfFlags, Interfaces};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// `ip4-dvr-reinject` or `ip6-dvr-reinject`.
pub struct Reinject<F> {
    interfaces: Arc<Interfaces>,
    steered: Field<Steered>,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("l2-output")]
    Switched,
    #[next_feature]
    Output,
}

/// The interface, and whether the packet is switched.
#[derive(Clone, Copy)]
pub struct ReinjectTrace {
    tx_if: u32,
    switched: bool,
}

impl Trace for ReinjectTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = if self.switched { "l2-output" } else { "output" };
        write!(f, "tx_sw_if_index {} {to}", self.tx_if)
    }
}

impl<F: Ip> Build for Reinject<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { interfaces: world.get(), steered: world.field(), version: PhantomData }
    }
}

impl<F: Ip> Node for Reinject<F> {
    const NAME: &'static str = "{ip}-dvr-reinject";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = ReinjectTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let steered = b.find_field(self.steered).is_some_and(|steered| steered.on_arc);
        let switched = steered && {
            b.set_field(self.steered, Steered { on_arc: false });
            let view = self.interfaces.views(cx.turn).get(b.tx_if as usize);
            view.is_some_and(|view| view.flags.contains(IfFlags::L2))
        };
        if TRACED {
            cx.trace(b, ReinjectTrace { tx_if: b.tx_if, switched });
        }
        if !switched {
            return To::Output;
        }
        l2::address_frame(b, b.tx_if);
        To::Switched
    }
}
