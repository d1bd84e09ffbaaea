// SPDX-License-Identifier: Apache-2.0
//! The interfaces of tunnels, and changes of interfaces that tunnels follow.

use super::{End, Tunnels};
use crate::model::Spec;
use graph::{SwIfIndex, World};
use net::{Column, Device, FloodRole, Interfaces, L2Role};
use std::marker::PhantomData;

/// The driver's side of a tunnel's interface.
pub(super) struct TunnelDevice<S> {
    flood_role: FloodRole,
    switches: bool,
    kind: PhantomData<fn() -> S>,
}

impl<S: Spec> TunnelDevice<S> {
    pub(super) fn of(spec: &S) -> Self {
        Self { flood_role: spec.flood_role(), switches: spec.switches(), kind: PhantomData }
    }
}

impl<S: Spec> Device for TunnelDevice<S> {
    fn driver(&self) -> &'static str {
        S::DRIVER
    }

    fn flood_role(&self) -> FloodRole {
        self.flood_role
    }

    fn carries_frames_in_l2(&self) -> bool {
        self.switches
    }

    fn is_tunnel(&self) -> bool {
        true
    }
}

impl<S: Spec> Tunnels<S> {
    /// Packets of a sub-interface go to the other end of its parent.
    pub(super) fn note_sub_interface(&self, world: &World, sw_if: SwIfIndex) {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        if interface.sub.is_some()
            && self.inner().tunnels.contains_key(&interface.parent)
            && let Some(end) = self.ends.read(interface.parent.0, |end| end.cloned())
        {
            self.ends.set(sw_if.0, end);
        }
    }

    /// A tunnel that switches may carry frames in layer-2 mode only.
    pub(super) fn note_layer2(&self, world: &World, sw_if: SwIfIndex) {
        let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
        let frames = world.get::<Column<L2Role>>().get(sw_if).carries_frames(&interface);
        if self.inner().tunnels.contains_key(&sw_if)
            && let Some(end) = self.ends.read(sw_if.0, |end| end.cloned())
            && end.frames != frames
        {
            self.ends.set(sw_if.0, End { frames, ..end });
        }
    }
}
