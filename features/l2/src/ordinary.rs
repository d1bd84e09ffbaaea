// SPDX-License-Identifier: Apache-2.0
//! Ordinary frames: unicast frames that a super-path may switch in place of the nodes of this
//! plugin: the ports that they come in by, and those that they leave by.

use crate::attach::OutputFeatures;
use crate::bridge::Bridge;
use crate::features::{Features, Step};
use crate::state::{FILTER, Port, Role, generation, is_learned, stamp};
use graph::{Cx, ErrorIndex, NodeIndex, SwIfIndex, World};
use net::{IfFlags, IfView, Interfaces, Outlet};
use sync::Turn;
use tables::mac::{MacEntry, MacView};

/// The path of unicast frames of a port.
#[derive(Clone, Copy, Debug)]
pub enum UnicastPath {
    /// Through the graph.
    Graph,
    /// To this interface.
    Crossed(u32),
    /// By MAC addresses.
    Bridged {
        /// True if sources are looked up.
        learns: bool,
    },
}

impl UnicastPath {
    /// The path of a port's frames: the features that a super-path can replace, or the graph.
    fn of(role: Role, features: Features) -> Self {
        let features = features - Features::QUESTIONS - Features::SPAN;
        match (role, features.next()) {
            (Role::Crossed(peer), Step::Output) => Self::Crossed(peer),
            (Role::Bridged | Role::Bvi, Step::Learn) => {
                match features.behind(Features::LEARN).next() {
                    Step::Fwd => Self::Bridged { learns: true },
                    _ => Self::Graph,
                }
            }
            (Role::Bridged | Role::Bvi, Step::Fwd) => Self::Bridged { learns: false },
            _ => Self::Graph,
        }
    }
}

/// A port that frames come in by and its domain, looked up once for consecutive frames of one port.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Index of the interface.
    pub rx_if: u32,
    /// The path of its unicast frames.
    pub unicast_path: UnicastPath,
    /// True if it has sub-interfaces: tagged frames may be theirs.
    pub has_subs: bool,
    /// True if copies are made of its frames ([`Bridge::mirror_nodes`]).
    pub mirrored: bool,
    /// Index of its domain.
    pub domain: u16,
    shg: u8,
    /// The MAC entry that each source should have.
    mine: MacEntry,
}

impl Origin {
    /// Returns true if the entry of a source needs no update: it equals the frame's, or an operator
    /// made it for this port.
    #[inline(always)]
    pub fn knows(&self, source: MacEntry) -> bool {
        let is_provisioned =
            !is_learned(source) && source.flags & FILTER == 0 && source.port == self.rx_if;
        source.word() == self.mine.word() || is_provisioned
    }

    /// The split-horizon group of its frames in the graph.
    pub(crate) fn group(&self) -> u8 {
        if matches!(self.unicast_path, UnicastPath::Crossed(_)) { 0 } else { self.shg }
    }

    /// Returns true if frames to a station with this entry may go to its port or BVI directly. The
    /// BVI gets no frames of which copies are made.
    #[inline(always)]
    pub fn may_send(&self, entry: MacEntry, target: &Target) -> bool {
        let current = generation((self.mine.generation >> 8) as u8, target.generation);
        entry.port != self.rx_if
            && entry.flags & FILTER == 0
            && !(target.is_bvi & self.mirrored)
            && target.takes(self.domain, self.shg)
            && (!is_learned(entry) || entry.generation == current)
    }
}

/// A port that frames are sent by, or the BVI.
#[derive(Clone, Copy, Default, Debug)]
pub struct Target {
    /// The port's transmit node.
    pub tx: NodeIndex,
    /// True if frames may be sent directly.
    pub is_open: bool,
    /// True for the BVI: it receives frames to its address.
    pub is_bvi: bool,
    /// True if copies are made of its frames ([`Bridge::mirror_nodes`]).
    pub mirrored: bool,
    domain: u16,
    shg: u8,
    generation: u8,
}

impl Outlet for Target {}

impl Target {
    /// Returns true if frames of a domain and a split-horizon group may go there directly.
    #[inline(always)]
    fn takes(&self, domain: u16, shg: u8) -> bool {
        (self.is_open | self.is_bvi) && self.domain == domain && (shg == 0 || shg != self.shg)
    }
}

/// Frames that a super-path has switched.
#[derive(Clone, Copy, Default, Debug)]
pub struct Switched {
    /// In bridge domains.
    pub bridged: u64,
    /// Bridged ones whose source was looked up.
    pub learned: u64,
    /// Bridged ones that the BVI has received.
    pub received: u64,
    /// By cross-connects.
    pub crossed: u64,
}

impl Switched {
    /// Adds frames of a domain, sent by ports and received by the BVI. `learns` if their sources
    /// were looked up.
    #[inline(always)]
    pub fn add_bridged(&mut self, (sent, received): (u64, u64), learns: bool) {
        self.bridged += sent + received;
        self.learned += if learns { sent + received } else { 0 };
        self.received += received;
    }
}

/// Counters of the nodes that such frames don't visit.
pub struct BypassedCounters {
    input: ErrorIndex,
    learn: ErrorIndex,
    fwd: ErrorIndex,
    hits: ErrorIndex,
    output: ErrorIndex,
}

impl BypassedCounters {
    /// Finds them, if the nodes are there.
    pub fn of(world: &World) -> Option<Self> {
        Some(Self {
            input: world.reason_index("l2-input", "L2 input packets")?,
            learn: world.reason_index("l2-learn", "L2 learn packets")?,
            fwd: world.reason_index("l2-fwd", "L2 forward packets")?,
            hits: world.reason_index("l2-fwd", "L2 forward hits")?,
            output: world.reason_index("l2-output", "L2 output packets")?,
        })
    }
}

impl Bridge {
    /// The MAC addresses, for the lookups of a worker's turn.
    #[inline(always)]
    pub fn view<'t>(&'t self, turn: &'t Turn<'_>) -> MacView<'t> {
        self.macs.view(turn)
    }

    /// Looks up the port that frames come in by, or the BVI, whose packets come from routes.
    #[inline(always)]
    pub fn origin(&self, rx_if: u32, interfaces: &Interfaces, now: u64, turn: &Turn<'_>) -> Origin {
        let view = interfaces.views(turn).get(rx_if as usize).unwrap_or_default();
        let is_switched = view.flags.contains(IfFlags::ADMIN)
            && view.flags.intersects(IfFlags::L2.union(IfFlags::BVI));
        let port =
            self.ports.get(rx_if, turn).filter(|port| is_switched && port.role != Role::Left);
        let domain = port.and_then(|port| self.domains.get(port.domain.into(), turn));
        let mut origin = Origin {
            rx_if,
            unicast_path: UnicastPath::Graph,
            has_subs: interfaces.has_subs(rx_if, turn),
            mirrored: port.is_some_and(|port| port.features.contains(Features::SPAN)),
            domain: 0,
            shg: 0,
            mine: MacEntry::default(),
        };
        let Some(port) = port else { return origin };
        // The group of the BVI doesn't matter to unicast frames.
        let is_bvi = port.role == Role::Bvi;
        (origin.domain, origin.shg) = (port.domain, if is_bvi { 0 } else { port.shg });
        let mut features = port.features;
        if let (Role::Bridged | Role::Bvi, Some(domain)) = (port.role, domain) {
            let generation = generation(domain.generation, port.generation);
            origin.mine = MacEntry { port: rx_if, flags: 0, generation, stamp: stamp(now) };
            // Features that don't depend on the domain stay.
            features -= Features::SWITCHED - domain.features;
        }
        origin.unicast_path = UnicastPath::of(port.role, features);
        origin
    }

    /// Looks up a port that frames are to leave by, without features of `interface-output`, or the
    /// BVI: a closed one if frames to it need the graph.
    pub fn target(&self, tx_if: u32, view: IfView, turn: &Turn<'_>) -> Target {
        let Some(&port) = self.ports.get(tx_if, turn) else { return Target::default() };
        let Port { domain, shg, generation, .. } = port;
        let (first, [_, mirror]) =
            (self.next_attached(&port, OutputFeatures::default()), self.mirror_nodes());
        let mirrored = first.is_some() && first == mirror;
        let (is_open, is_bvi) = (true, false);
        let target = Target { tx: view.tx, is_open, is_bvi, mirrored, domain, shg, generation };
        match port.role {
            Role::Bvi if view.flags.contains(IfFlags::ADMIN) => {
                Target { is_open: false, is_bvi: true, shg: 0, ..target }
            }
            Role::Bridged | Role::Crossed(_)
                if port.rewrites.is_none()
                    && port.filter.is_none()
                    && (first.is_none() || mirrored)
                    && view.is_up()
                    && !view.flags.intersects(IfFlags::SUB.union(IfFlags::IP_MODE)) =>
            {
                target
            }
            _ => Target::default(),
        }
    }

    /// The nodes that copy received and sent frames of mirrored ports.
    #[inline(always)]
    pub fn mirror_nodes(&self) -> [Option<NodeIndex>; 2] {
        let (input, output) = (Features::SPAN.bits(), OutputFeatures::SPAN.bits());
        [
            self.attached.input[input.ilog2() as usize].get().copied(),
            self.attached.output[output.ilog2() as usize].get().copied(),
        ]
    }

    /// Counts frames as the nodes count them that these frames don't visit.
    #[inline(always)]
    pub fn count_switched<const TRACED: bool>(
        &self,
        Switched { bridged, learned, received, crossed }: Switched,
        cx: &Cx<'_, TRACED>,
    ) {
        let Some(counters) = &self.bypassed else { return };
        cx.count_for(counters.input, bridged + crossed);
        cx.count_for(counters.learn, learned);
        cx.count_for(counters.fwd, bridged);
        cx.count_for(counters.hits, bridged);
        cx.count_for(counters.output, bridged - received + crossed);
    }

    /// Control: returns true if a port's received frames don't need the graph.
    pub fn is_ordinary(&self, sw_if: SwIfIndex) -> bool {
        let path = |port: &Port| UnicastPath::of(port.role, port.features);
        self.ports.read(sw_if.0, |port| {
            port.filter(|port| port.role != Role::Bvi)
                .is_some_and(|port| !matches!(path(port), UnicastPath::Graph))
        })
    }
}
