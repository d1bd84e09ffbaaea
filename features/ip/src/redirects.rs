// SPDX-License-Identifier: Apache-2.0
//! Interfaces on which hosts are sent ICMP redirects.

use net::{IfFlags, IfView, Interface, Property};
use std::marker::PhantomData;
use wire::Family;

/// True if hosts on the interface are sent ICMP redirects of this protocol.
#[derive(Clone, Copy, Default)]
pub struct Redirects<F> {
    /// True if they are.
    pub on: bool,
    version: PhantomData<F>,
}

impl<F> Redirects<F> {
    /// Turned on or off.
    pub const fn new(on: bool) -> Self {
        Self { on, version: PhantomData }
    }
}

impl<F: Family> Property for Redirects<F> {
    const HAS_FLAG: bool = true;

    fn show(&self, _: &Interface, flag: IfFlags, view: &mut IfView) {
        view.flags.set(flag, self.on);
    }
}
