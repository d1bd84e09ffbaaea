// SPDX-License-Identifier: Apache-2.0
//! `NAME-output`: the last stop before the driver.

use crate::sub_output::SubOutput;
use crate::trace::OutputTrace;
use buffer::Buffer;
use cli::Error;
use graph::{ArcIndex, Build, Cx, Next, Node, NodeIndex, ThreadIndex, Vector, World};
use net::{IfFlags, IfLanes, Interfaces, NewOutput, is_group};
use simd::Isa;
use std::sync::Arc;

/// Makes an interface's output node; called by `net` for every new interface.
pub fn make(world: &World, new: &NewOutput<'_>) -> Result<NodeIndex, Error> {
    let arc = world.arc("interface-output").expect("this plugin brings the arc");
    let &NewOutput { name, sw_if, tx, shared, .. } = new;
    if shared {
        let name = TunnelOutput::NAME;
        let ready = world.link(name, &world.node_name(tx));
        let ready = ready.and_then(|_| world.set_arc_end("interface-output", sw_if, tx));
        ready.map_err(|why| Error::limit(why).retval(msg::retval::LIMIT_EXCEEDED))?;
        return world
            .node(name)
            .ok_or_else(|| Error::unsupported(format!("there is no node {name}")));
    }
    let node = match new.sub.clone() {
        None => world.add_node(name, move |world, thread| Output {
            sw_if: sw_if.0,
            tx,
            arc,
            lanes: IfLanes::of(world, thread),
            interfaces: world.get(),
        }),
        Some(of) => world.add_node(name, move |world, thread| {
            SubOutput::new(world, thread, (sw_if, tx, arc), &of)
        }),
    }?;
    let tx_name = world.node_name(tx);
    let ready =
        world.link(name, &tx_name).and_then(|_| world.set_arc_end("interface-output", sw_if, tx));
    ready.map_err(|why| {
        world.remove_node(node);
        Error::limit(why).retval(msg::retval::LIMIT_EXCEEDED)
    })?;
    Ok(node)
}

/// The output node of interfaces that share theirs, as tunnels do.
pub struct TunnelOutput {
    arc: ArcIndex,
    lanes: Arc<IfLanes>,
    interfaces: Arc<Interfaces>,
}

impl Build for TunnelOutput {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let arc = world.arc("interface-output").expect("this plugin brings the arc");
        Self { arc, lanes: IfLanes::of(world, thread), interfaces: world.get() }
    }
}

impl Node for TunnelOutput {
    const NAME: &'static str = "tunnel-output";
    const HOT: bool = true;
    type Next = OutputTo;
    type Trace = OutputTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> OutputTo {
        let sw_if = b.tx_if;
        if TRACED {
            cx.trace(b, OutputTrace::new(sw_if, b));
        }
        let view = self.interfaces.views(cx.turn).get(sw_if as usize).filter(|view| view.is_up());
        let Some(view) = view else { return OutputTo::InterfaceDown };
        if view.flags.contains(IfFlags::IP_MODE) {
            self.lanes.tx.unicast(sw_if as usize, 1, b.packet_len() as u64);
        } else {
            self.lanes.tx.frame(sw_if as usize, b);
        }
        OutputTo::Node(cx.start_arc(self.arc, sw_if, b).unwrap_or(view.tx))
    }
}

pub struct Output {
    sw_if: u32,
    tx: NodeIndex,
    arc: ArcIndex,
    lanes: Arc<IfLanes>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy)]
pub enum OutputTo {
    #[dynamic]
    Node(NodeIndex),
    /// interface is down.
    #[drop]
    #[counter("interface is down")]
    InterfaceDown,
}

impl Output {
    #[inline(always)]
    fn flags<const TRACED: bool>(&self, cx: &Cx<'_, TRACED>) -> Option<IfFlags> {
        let view = self.interfaces.views(cx.turn).get(self.sw_if as usize)?;
        view.is_up().then_some(view.flags)
    }
}

impl Node for Output {
    const NAME: &'static str = "interface-output";
    const HOT: bool = true;
    type Next = OutputTo;
    type Trace = OutputTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> OutputTo {
        b.tx_if = self.sw_if;
        if TRACED {
            cx.trace(b, OutputTrace::new(self.sw_if, b));
        }
        let Some(flags) = self.flags(cx) else { return OutputTo::InterfaceDown };
        if flags.contains(IfFlags::IP_MODE) {
            self.lanes.tx.unicast(self.sw_if as usize, 1, b.packet_len() as u64);
        } else {
            self.lanes.tx.frame(self.sw_if as usize, b);
        }
        OutputTo::Node(cx.start_arc(self.arc, self.sw_if, b).unwrap_or(self.tx))
    }

    /// One interface, so one look at its state and its features, and one addition to its counters.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, OutputTo>, cx: &mut Cx<'_, false>) {
        let Some(flags) = self.flags(cx) else {
            for i in 0..v.len() {
                v.get_mut(i).tx_if = self.sw_if;
                v.set(i, OutputTo::InterfaceDown);
            }
            return;
        };
        let (mut bytes, mut groups) = (0, false);
        if cx.has_arc(self.arc, self.sw_if) {
            for i in 0..v.len() {
                let b = v.get_mut(i);
                b.tx_if = self.sw_if;
                bytes += b.packet_len() as u64;
                groups |= is_group(b);
                let next = cx.start_arc(self.arc, self.sw_if, b).unwrap_or(self.tx);
                v.set(i, OutputTo::Node(next));
            }
        } else {
            for i in 0..v.len() {
                let b = v.get_mut(i);
                b.tx_if = self.sw_if;
                bytes += b.packet_len() as u64;
                groups |= is_group(b);
            }
            v.set_all(OutputTo::Node(self.tx));
        }
        let (at, packets) = (self.sw_if as usize, v.len() as u64);
        if groups && !flags.contains(IfFlags::IP_MODE) {
            let v = &*v;
            self.lanes.tx.groups(at, (packets, bytes), (0..v.len()).map(|i| v.get(i)));
        } else {
            self.lanes.tx.unicast(at, packets, bytes);
        }
    }
}
