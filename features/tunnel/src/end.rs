// SPDX-License-Identifier: Apache-2.0
//! The ends of tunnels as workers read them.

use crate::header::Template;
use crate::key::bits;
use crate::model::{Spec, TunnelEndpoints};
use crate::route::Route;
use crate::{Flags, Key};
use graph::{NodeIndex, SwIfIndex, World};
use net::IfKind;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// One end of a tunnel as workers read it.
#[derive(Clone, Debug)]
pub struct End {
    /// The key of received packets.
    pub key: Key,
    /// The interface.
    pub sw_if: u32,
    /// The number in its name.
    pub instance: u32,
    /// Fields that are copied between inner and outer headers.
    pub flags: Flags,
    /// Its packets are Ethernet frames.
    pub frames: bool,
    /// The outer packets are of IPv6.
    pub outer_v6: bool,
    /// The address here, as in [`Key`].
    pub local: u128,
    /// [`Spec::next`].
    pub next: Option<NodeIndex>,
    /// The route to the other end. None for a multipoint interface, whose packets name their ends
    /// themselves.
    pub route: Option<Route>,
    /// The number of the next outer packet, where they are numbered.
    pub sequence: Option<Arc<AtomicU32>>,
    /// The headers in front.
    pub template: Template,
}

impl End {
    /// The end of an interface whose packets get their headers elsewhere, for packets that it
    /// receives.
    pub fn receiving(sw_if: SwIfIndex, instance: u32) -> Self {
        Self {
            key: Key::default(),
            sw_if: sw_if.0,
            instance,
            flags: Flags::default(),
            frames: false,
            outer_v6: false,
            local: 0,
            next: None,
            route: None,
            sequence: None,
            template: Template::NONE,
        }
    }

    /// The end of an interface, or of a peer of a multipoint interface.
    pub(crate) fn new<S: Spec>(
        world: &World,
        (sw_if, instance): (SwIfIndex, u32),
        spec: &S,
        ends: &TunnelEndpoints,
        key: Key,
        route: Option<Route>,
    ) -> Self {
        Self {
            key,
            sw_if: sw_if.0,
            instance,
            flags: spec.marks().flags,
            frames: spec.carries() == IfKind::Ethernet,
            outer_v6: ends.local.is_ipv6(),
            local: bits(ends.local),
            next: spec.next(world),
            sequence: None,
            template: route.map_or(Template::NONE, |_| template(spec, ends)),
            route,
        }
    }
}

/// The headers that a tunnel sends.
pub fn template<S: Spec>(spec: &S, ends: &TunnelEndpoints) -> Template {
    Template::new(ends, &spec.marks(), spec.protocol(), spec.hop_limits(), &spec.header())
}
