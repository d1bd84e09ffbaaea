// SPDX-License-Identifier: Apache-2.0
//! Which interfaces are mirrored, and to which ones.

use crate::device::{SpanInput, SpanOutput};
use crate::mirror::{Level, Targets};
use cli::{Error, Result, retval};
use graph::{Deleted, Node, Shared, SwIfIndex, World};
use l2::{Bridge, Mirrored};
use net::{IfEvent, IfKind, Interfaces};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// Which frames of the source are copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Directions {
    /// Received ones.
    pub rx: bool,
    /// Sent ones.
    pub tx: bool,
}

impl Directions {
    /// No frame.
    pub const NONE: Self = Self { rx: false, tx: false };

    /// The word in commands, and in what they show.
    pub const fn word(self) -> &'static str {
        match self {
            Self { rx: false, tx: false } => "none",
            Self { rx: true, tx: false } => "rx",
            Self { rx: false, tx: true } => "tx",
            Self { rx: true, tx: true } => "both",
        }
    }
}

/// A source and a destination, with the directions by [`Level`].
pub type Mirror = ((SwIfIndex, SwIfIndex), [Directions; 2]);

/// All mirrors.
pub struct Span {
    /// By source and destination. A mirror has directions at one level at least.
    mirrors: Mutex<BTreeMap<(SwIfIndex, SwIfIndex), [Directions; 2]>>,
    targets: Arc<Targets>,
}

impl Shared for Span {
    fn make(world: &World) -> Self {
        Self { mirrors: Mutex::default(), targets: world.get() }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        let mut sources = BTreeSet::new();
        self.mirrors().retain(|(from, to), _| {
            if *to == sw_if {
                sources.insert(*from);
            }
            *from != sw_if && *to != sw_if
        });
        self.targets.clear(sw_if);
        for (source, level) in
            sources.into_iter().flat_map(|source| Level::ALL.map(|level| (source, level)))
        {
            // It worked when the mirror was made.
            let _ = self.publish(world, level, source);
        }
    }
}

impl Span {
    fn mirrors(&self) -> MutexGuard<'_, BTreeMap<(SwIfIndex, SwIfIndex), [Directions; 2]>> {
        self.mirrors.lock().expect("no panic inside")
    }

    /// All mirrors, by source and destination.
    pub fn list(&self) -> Vec<Mirror> {
        self.mirrors().iter().map(|(ends, directions)| (*ends, *directions)).collect()
    }

    /// Copies frames of a source to a destination; replaces the directions that the two had at this
    /// level. No direction ends it.
    ///
    /// # Errors
    /// A source (−2) or destination (−10) that isn't there; one that carries no Ethernet frames,
    /// the same interface twice, or a sub-interface as source at device level (−71).
    pub fn set(
        &self,
        world: &World,
        level: Level,
        (from, to): (SwIfIndex, SwIfIndex),
        directions: Directions,
    ) -> Result<()> {
        if directions != Directions::NONE {
            check(world, level, from, to)?;
        }
        {
            let mut mirrors = self.mirrors();
            let mirror = mirrors.entry((from, to)).or_default();
            mirror[level as usize] = directions;
            if *mirror == [Directions::NONE; 2] {
                mirrors.remove(&(from, to));
            }
        }
        self.publish(world, level, from)?;
        world.note_config_change();
        Ok(())
    }

    /// Ends all copies of frames of a source at this level.
    ///
    /// # Errors
    /// None that a configuration can bring about.
    pub fn clear(&self, world: &World, level: Level, from: SwIfIndex) -> Result<()> {
        self.mirrors().retain(|(source, _), mirror| {
            if *source == from {
                mirror[level as usize] = Directions::NONE;
            }
            *mirror != [Directions::NONE; 2]
        });
        self.publish(world, level, from)?;
        world.note_config_change();
        Ok(())
    }

    /// The destinations of a source in each direction.
    fn destinations(&self, level: Level, from: SwIfIndex) -> [Vec<u32>; 2] {
        let mirrors = self.mirrors();
        let own = mirrors.range((from, SwIfIndex(0))..=(from, SwIfIndex(u32::MAX)));
        let own = own.map(|((_, to), mirror)| (to.0, mirror[level as usize]));
        [
            own.clone().filter(|(_, directions)| directions.rx).map(|(to, _)| to).collect(),
            own.filter(|(_, directions)| directions.tx).map(|(to, _)| to).collect(),
        ]
    }

    /// Publishes the destinations of a source to workers, and leads its frames to the nodes, or
    /// past them.
    fn publish(&self, world: &World, level: Level, from: SwIfIndex) -> Result<()> {
        let [rx, tx] = self.destinations(level, from);
        match level {
            Level::L2 => {
                let mirrored = Mirrored { received: !rx.is_empty(), sent: !tx.is_empty() };
                self.targets.set(level, false, from, rx);
                self.targets.set(level, true, from, tx);
                world.get::<Bridge>().set_mirrored(world, from, mirrored);
            }
            Level::Device => {
                enable(world, "device-input", SpanInput::NAME, from, !rx.is_empty())?;
                self.targets.set(level, false, from, rx);
                // Frames of sub-interfaces leave by the sub-interfaces' outputs.
                for sw_if in [from].into_iter().chain(world.get::<Interfaces>().subs(from)) {
                    self.publish_output(world, sw_if, tx.clone())?;
                }
            }
        }
        Ok(())
    }

    /// Publishes the destinations of what leaves a device by the output of this interface.
    fn publish_output(&self, world: &World, sw_if: SwIfIndex, targets: Vec<u32>) -> Result<()> {
        enable(world, "interface-output", SpanOutput::NAME, sw_if, !targets.is_empty())?;
        self.targets.set(Level::Device, true, sw_if, targets);
        Ok(())
    }

    /// Mirrors what a new sub-interface sends, if that of its device is mirrored.
    fn follow(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        if interface.sub.is_none() {
            return Ok(());
        }
        let [_, tx] = self.destinations(Level::Device, interface.parent);
        if tx.is_empty() { Ok(()) } else { self.publish_output(world, sw_if, tx) }
    }
}

/// Enables or disables a node on an arc of an interface. Setting it again would override an
/// operator's setting.
fn enable(world: &World, arc: &str, node: &str, sw_if: SwIfIndex, on: bool) -> Result<()> {
    let is_set = world.is_feature_set(arc, node, sw_if).map_err(Error::failed)?;
    if is_set == on {
        Ok(())
    } else {
        world.set_feature(arc, node, sw_if, on).map_err(Error::failed)
    }
}

/// Checks that frames of one interface can be copied to another.
fn check(world: &World, level: Level, from: SwIfIndex, to: SwIfIndex) -> Result<()> {
    let refused = |why: String| Err(Error::unsupported(why).retval(retval::INVALID_INTERFACE));
    let interfaces = world.get::<Interfaces>();
    let source = interfaces.get(from)?;
    let destination = interfaces.get(to).map_err(|e| e.retval(retval::INVALID_SW_IF_INDEX_2))?;
    if from == to {
        return refused(format!("{} can't be mirrored to itself", source.name));
    }
    let is_source = level == Level::Device && source.kind == IfKind::Ethernet
        || level != Level::Device && source.can_switch();
    for (interface, is_able) in [(&source, is_source), (&destination, destination.can_switch())] {
        if !is_able {
            return refused(format!("{} carries no Ethernet frames", interface.name));
        }
    }
    if level == Level::Device && source.sub.is_some() {
        return refused(format!(
            "{} is a sub-interface: its frames are mirrored with those of its device, or at layer 2",
            source.name
        ));
    }
    Ok(())
}

/// Attaches to layer-2 switching, and follows sub-interfaces: a new one is mirrored as its device
/// is.
///
/// # Errors
/// Layer-2 switching that isn't there.
pub fn start(world: &Arc<World>) -> Result<(), String> {
    l2::register_mirror(world, "span-l2-input", "span-l2-output")?;
    let span: Arc<Span> = world.get();
    world.get::<Interfaces>().subscribe(move |world, event| {
        if let IfEvent::Added(sw_if) = event
            && let Err(error) = span.follow(world, sw_if)
        {
            let name = world.get::<Interfaces>().name(sw_if);
            log::warn!("{name}: frames that it sends aren't mirrored: {error}");
        }
    });
    Ok(())
}
