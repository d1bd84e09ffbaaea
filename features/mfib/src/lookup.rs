// SPDX-License-Identifier: Apache-2.0
//! `ip4-mfib-forward-lookup`, `ip6-mfib-forward-lookup`: from sender and group to an entry.

use crate::MfibMeta;
use buffer::{Buffer, FRAME_SIZE, Flags};
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, Trace, Vector, World};
use ip::{Ip, table_of};
use net::{Interfaces, Mfib, TableIndex};
use simd::Isa;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use tables::Leaf;
use wire::describe::describe;
use wire::{Address, Header, IpHeader};

pub struct Lookup<F: Ip> {
    mfib: Arc<Mfib<F>>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("{ip}-mfib-forward-rpf")]
    Rpf,
    /// {ip} multicast without an entry
    #[drop]
    NoEntry,
    /// {ip} length < header length
    #[drop]
    TooShort,
}

#[derive(Clone, Copy)]
pub struct LookupTrace<F> {
    found: Option<MfibMeta>,
    head: Head,
    version: PhantomData<F>,
}

impl<F: Ip> Trace for LookupTrace<F> {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Some(MfibMeta { route, fib }) => write!(f, "fib {fib} entry {route}")?,
            None => f.write_str("no entry")?,
        }
        write!(f, "\n{}", describe(self.head.bytes(), F::LAYER))
    }
}

impl<F: Ip> Build for Lookup<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { mfib: world.get(), interfaces: world.get() }
    }
}

#[inline(always)]
fn sender<F: Ip>(b: &Buffer) -> Option<F::Addr> {
    F::Header::view(b.data()).map(IpHeader::src)
}

impl<F: Ip> Lookup<F> {
    /// Leaves what was found with the packet.
    #[inline(always)]
    fn take<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        leaf: Leaf,
        fib: TableIndex,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        b.flags.remove(Flags::TABLE);
        let Some(source) = sender::<F>(b) else { return To::TooShort };
        let found = self
            .mfib
            .choose(leaf, source, cx.turn)
            .map(|route| MfibMeta { route: route.0, fib: fib.0 });
        if TRACED {
            cx.trace(b, LookupTrace::<F> { found, head: Head::of(b), version: PhantomData });
        }
        let Some(found) = found else { return To::NoEntry };
        b.set_scratch(found);
        To::Rpf
    }

    #[inline(always)]
    fn one<const TRACED: bool>(&self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let fib = table_of::<F>(b, self.interfaces.views(cx.turn));
        let leaf = self.mfib.table(fib, cx.turn).lookup(F::destination(b), cx.turn);
        self.take(b, leaf, fib, cx)
    }
}

impl<F: Ip> Node for Lookup<F> {
    const NAME: &'static str = "{ip}-mfib-forward-lookup";
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    const HOT: bool = true;
    type Next = To;
    type Trace = LookupTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        self.one(b, cx)
    }

    /// All groups are looked up together, so that the loads of the table's cells overlap.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let (n, views) = (v.len(), self.interfaces.views(cx.turn));
        let fib = table_of::<F>(v.get(0), views);
        let (mut keys, mut hops, mut routes) =
            ([F::key(F::Addr::ZERO); FRAME_SIZE], [0; FRAME_SIZE], [0; FRAME_SIZE]);
        let mut differ = false;
        for (key, b) in keys.iter_mut().zip(v.iter()) {
            *key = F::destination(b);
            differ |= table_of::<F>(b, views) != fib;
        }
        if differ {
            for (b, out) in v.packets() {
                out.go(self.one(b, cx));
            }
            return;
        }
        self.mfib.table(fib, cx.turn).leaves::<I>(
            &keys[..n],
            &mut hops[..n],
            &mut routes[..n],
            cx.turn,
        );
        for (((b, out), hop), route) in v.packets().zip(&hops).zip(&routes) {
            out.go(self.take(b, Leaf { hop: *hop, route: *route }, fib, cx));
        }
    }
}
