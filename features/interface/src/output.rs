// SPDX-License-Identifier: Apache-2.0
//! `NAME-output`: the last stop before the driver.

use buffer::Buffer;
use graph::{ArcIndex, Cx, Next, Node, NodeIndex, SwIfIndex, Trace, Vector, World};
use net::{IfLanes, Interfaces};
use simd::Isa;
use std::fmt;
use std::sync::Arc;
use wire::describe::{Layer, describe};

/// Makes an interface's output node; called by `net` for every new interface.
pub fn make(world: &World, name: &str, sw_if: SwIfIndex, tx: NodeIndex) -> NodeIndex {
    let arc = world.arc("interface-output").expect("this plugin brings the arc");
    let node = world.add_node(name, move |world, thread| Output {
        sw_if: sw_if.0,
        tx,
        arc,
        lanes: IfLanes::new(world, thread),
        interfaces: world.get(),
    });
    let tx_name = world.node_name(tx);
    world.link(name, &tx_name).expect("both are there");
    world.set_arc_end("interface-output", sw_if, tx).expect("this plugin brings the arc");
    node
}

pub struct Output {
    sw_if: u32,
    tx: NodeIndex,
    arc: ArcIndex,
    lanes: IfLanes,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy)]
pub enum OutputTo {
    #[dynamic]
    Node(NodeIndex),
    /// interface is down.
    #[drop]
    InterfaceDown,
}

#[derive(Clone, Copy)]
pub struct OutputTrace {
    sw_if: u32,
    head: graph::Head,
}

impl Trace for OutputTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sw_if_index {}\n{}", self.sw_if, describe(self.head.bytes(), Layer::Ethernet))
    }
}

impl Output {
    #[inline(always)]
    fn is_up<const TRACED: bool>(&self, cx: &Cx<'_, TRACED>) -> bool {
        self.interfaces.views(cx.turn).get(self.sw_if as usize).is_some_and(net::IfView::is_up)
    }
}

impl Node for Output {
    const NAME: &'static str = "interface-output";
    type Next = OutputTo;
    type Trace = OutputTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> OutputTo {
        b.tx_if = self.sw_if;
        if TRACED {
            cx.trace(b, OutputTrace { sw_if: self.sw_if, head: graph::Head::of(b) });
        }
        if !self.is_up(cx) {
            return OutputTo::InterfaceDown;
        }
        self.lanes.tx.add(self.sw_if as usize, 1, b.packet_len() as u64);
        OutputTo::Node(cx.start_arc(self.arc, self.sw_if, b).unwrap_or(self.tx))
    }

    /// One interface, so one look at its state and its features, and one addition to its counters.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, OutputTo>, cx: &mut Cx<'_, false>) {
        if !self.is_up(cx) {
            for i in 0..v.len() {
                v.get_mut(i).tx_if = self.sw_if;
                v.set(i, OutputTo::InterfaceDown);
            }
            return;
        }
        let mut bytes = 0;
        if cx.has_arc(self.arc, self.sw_if) {
            for i in 0..v.len() {
                let b = v.get_mut(i);
                b.tx_if = self.sw_if;
                bytes += b.packet_len() as u64;
                let next = cx.start_arc(self.arc, self.sw_if, b).unwrap_or(self.tx);
                v.set(i, OutputTo::Node(next));
            }
        } else {
            for i in 0..v.len() {
                let b = v.get_mut(i);
                b.tx_if = self.sw_if;
                bytes += b.packet_len() as u64;
            }
            v.set_all(OutputTo::Node(self.tx));
        }
        self.lanes.tx.add(self.sw_if as usize, v.len() as u64, bytes);
    }
}
