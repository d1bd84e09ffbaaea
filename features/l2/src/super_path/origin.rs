// SPDX-License-Identifier: Apache-2.0
//! Where frames come from: a port, and the path that its unicast frames take.

use super::target::Target;
use crate::bridge::Bridge;
use crate::features::{Features, Step};
use crate::state::{FILTER, Port, Role, generation, is_learned, stamp};
use net::{IfFlags, Interfaces};
use sync::Turn;
use tables::mac::MacEntry;

/// The path of unicast frames of a port.
#[derive(Clone, Copy)]
pub enum UnicastPath {
    /// Through the graph.
    Graph,
    /// To this interface.
    Crossed(u32),
    /// By MAC addresses. Sources are looked up if `learns` is true.
    Bridged { learns: bool },
}

/// A port and its domain, looked up once for consecutive frames of one port.
#[derive(Clone, Copy)]
pub struct Origin {
    pub rx_if: u32,
    pub unicast_path: UnicastPath,
    /// True if it has sub-interfaces: tagged frames may be theirs.
    pub has_subs: bool,
    pub domain: u16,
    pub shg: u8,
    /// The MAC entry that each source should have.
    pub mine: MacEntry,
}

/// Returns the path of a port's frames: the features that this node can replace, or the graph.
pub fn unicast_path(port: &Port) -> UnicastPath {
    let features = port.features - Features::QUESTIONS;
    match (port.role, features.next()) {
        (Role::Crossed(peer), Step::Output) => UnicastPath::Crossed(peer),
        (Role::Bridged, Step::Learn) => match features.behind(Features::LEARN).next() {
            Step::Fwd => UnicastPath::Bridged { learns: true },
            _ => UnicastPath::Graph,
        },
        (Role::Bridged, Step::Fwd) => UnicastPath::Bridged { learns: false },
        _ => UnicastPath::Graph,
    }
}

impl Origin {
    #[inline(always)]
    pub fn new(
        rx_if: u32,
        (bridge, interfaces): (&Bridge, &Interfaces),
        now: u64,
        turn: &Turn<'_>,
    ) -> Self {
        let view = interfaces.views(turn).get(rx_if as usize).unwrap_or_default();
        let is_switched = view.flags.contains(IfFlags::ADMIN) && view.flags.contains(IfFlags::L2);
        let port =
            bridge.ports.get(rx_if, turn).filter(|port| is_switched && port.role != Role::Left);
        let domain = port.and_then(|port| bridge.domains.get(port.domain.into(), turn));
        let mut origin = Self {
            rx_if,
            unicast_path: UnicastPath::Graph,
            has_subs: interfaces.has_subs(rx_if, turn),
            domain: 0,
            shg: 0,
            mine: MacEntry::default(),
        };
        let Some(port) = port else { return origin };
        (origin.domain, origin.shg) = (port.domain, port.shg);
        origin.unicast_path = match (port.role, domain) {
            (Role::Bridged, Some(domain)) => {
                let generation = generation(domain.generation, port.generation);
                origin.mine = MacEntry { port: rx_if, flags: 0, generation, stamp: stamp(now) };
                // Features that don't depend on the domain stay.
                let switched = Features::SWITCHED - domain.features;
                unicast_path(&Port { features: port.features - switched, ..*port })
            }
            _ => unicast_path(port),
        };
        origin
    }

    /// Returns true if the entry of a source needs no update: it equals the frame's, or an operator
    /// made it for this port.
    #[inline(always)]
    pub fn knows(&self, source: MacEntry) -> bool {
        let is_provisioned =
            !is_learned(source) && source.flags & FILTER == 0 && source.port == self.rx_if;
        source.word() == self.mine.word() || is_provisioned
    }

    /// Returns true if frames to a station with this entry may be sent directly by its port.
    #[inline(always)]
    pub fn may_send(&self, entry: MacEntry, target: &Target) -> bool {
        let current = generation((self.mine.generation >> 8) as u8, target.generation);
        entry.port != self.rx_if
            && entry.flags & FILTER == 0
            && target.takes(self.domain, self.shg)
            && (!is_learned(entry) || entry.generation == current)
    }
}
