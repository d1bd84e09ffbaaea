// SPDX-License-Identifier: Apache-2.0
//! Operations on traces, for commands and messages.

use crate::classifier::{Purpose, classifier};
use crate::filter::Expression;
use crate::function::Function;
use cli::Error;
use graph::{NodeIndex, Record, Replies, Shared, SwIfIndex, ThreadIndex, TraceLog, World};
use msg::retval;
use std::sync::{Arc, Mutex};
use sync::Turn;
use wire::describe::Layer;

/// Packets that one `trace add` may request: their records take 5 KiB each.
pub const MAX_PACKETS: u32 = 100_000;

/// Filter of shown traces: those of packets that passed a node, or that didn't.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeFilter {
    /// Passed it, or didn't.
    pub include: bool,
    /// The node.
    pub node: NodeIndex,
    /// So many at most.
    pub count: usize,
}

/// Settings of the filters: packets that are traced, and traces that are shown.
#[derive(Clone, Debug, Default)]
pub struct FilterSettings {
    /// Packets that come in there.
    pub interface: Option<SwIfIndex>,
    /// Packets that an expression describes, if that is the function.
    pub expression: Option<Expression>,
    /// The filter function in force.
    pub function: Function,
    /// Packets that the classifier accepts, if no expression decides.
    pub classified: bool,
    /// Of the traces there are, those to show.
    pub passed: Option<NodeFilter>,
}

/// The filters in force.
pub struct Filters(Mutex<FilterSettings>);

impl Shared for Filters {
    fn make(_: &World) -> Self {
        Self(Mutex::default())
    }
}

impl Filters {
    /// A copy.
    pub fn get(&self) -> FilterSettings {
        self.0.lock().expect("no panic inside").clone()
    }
}

/// The nodes that bring packets in, by name.
pub fn inputs(world: &World) -> Vec<String> {
    world.nodes().iter().filter(|n| n.input).map(|n| n.name.to_string()).collect()
}

/// Layer that packets begin with at a node, by the node's name.
pub fn layer(node: &str) -> Layer {
    match node.split('-').next() {
        Some("ip4") => Layer::Ip4,
        Some("ip6") => Layer::Ip6,
        Some("mpls") => Layer::Mpls,
        Some("arp") => Layer::Arp,
        _ => Layer::Ethernet,
    }
}

/// Traces the next `n` packets that a node gets, or brings in, on each thread; with `filter`, those
/// that the filter function accepts.
///
/// # Errors
/// A node that isn't there (−63), with the inputs; more than [`MAX_PACKETS`] (−7); `filter` without
/// a classifier that could decide (−9).
pub fn add(world: &World, node: &str, n: u32, filter: bool) -> Result<(), Error> {
    let node = check(world, node, n)?;
    set_classified(world, filter)?;
    order(world, node, n);
    Ok(())
}

/// As [`add`], after forgetting all traces if `forget` is set. Their records are freed on the
/// control thread.
///
/// # Errors
/// As [`add`].
pub fn start(
    world: &World,
    node: &str,
    n: u32,
    filter: bool,
    forget: bool,
) -> Result<Replies<Vec<Vec<Record>>>, Error> {
    let node = check(world, node, n)?;
    set_classified(world, filter)?;
    let forgotten = if forget { clear(world) } else { world.query(|_| Vec::new()) };
    order(world, node, n);
    Ok(forgotten)
}

/// The node to trace.
///
/// # Errors
/// A node that isn't there (−63), with the inputs; more than [`MAX_PACKETS`] (−7).
pub fn check(world: &World, name: &str, n: u32) -> Result<NodeIndex, Error> {
    let Some(node) = world.node(name) else {
        let inputs = inputs(world);
        let why = format!("node `{name}' isn't there; inputs are {}", inputs.join(", "));
        return Err(Error::not_found(why).near(name, &inputs).retval(retval::NO_SUCH_NODE));
    };
    if n == 0 || n > MAX_PACKETS {
        let error = format!("{n} packets can't be traced at once: 1 to {MAX_PACKETS}");
        return Err(Error::limit(error).retval(retval::INVALID_VALUE));
    }
    Ok(node)
}

fn order(world: &World, node: NodeIndex, n: u32) {
    let is_input = world.node_info(node).is_some_and(|node| node.input);
    let order = if is_input { TraceLog::order } else { TraceLog::order_inside };
    for thread in (0..world.threads()).map(|t| ThreadIndex(t as u16)) {
        let room = TraceLog::room(n);
        world.on_thread(thread, move |rt| order(rt.trace(), node, n, room, thread.0));
    }
}

/// Clears all traces, and the requests for them. Their records are freed on the control thread.
pub fn clear(world: &World) -> Replies<Vec<Vec<Record>>> {
    world.query(|rt| rt.trace().take())
}

/// Traces only packets that come in by this interface, or by any.
///
/// # Errors
/// None: it takes what it gets.
pub fn set_interface(world: &World, interface: Option<SwIfIndex>) -> Result<(), Error> {
    change(world, |wanted| wanted.interface = interface)
}

/// Chooses what decides which packets are traced.
///
/// # Errors
/// None: it takes what it gets.
pub fn set_function(world: &World, function: Function) -> Result<(), Error> {
    change(world, |wanted| wanted.function = function)
}

/// Traces only packets that this expression describes, or all: from now on it decides.
///
/// # Errors
/// An expression that can't be compiled.
pub fn set_expression(world: &World, expression: Option<Expression>) -> Result<(), Error> {
    change(world, |wanted| {
        if expression.is_some() {
            wanted.function = Function::Bpf;
        }
        wanted.expression = expression;
    })
}

/// Lets the classifier decide which packets are traced, or not. If an expression decides, that goes
/// on.
fn set_classified(world: &World, on: bool) -> Result<(), Error> {
    let FilterSettings { function, classified, .. } = world.get::<Filters>().get();
    let on = on && function == Function::Traced;
    if on == classified { Ok(()) } else { change(world, |wanted| wanted.classified = on) }
}

/// Shows only some of the traces, or all.
///
/// # Errors
/// None: it takes what it gets.
pub fn set_passed(world: &World, passed: Option<NodeFilter>) -> Result<(), Error> {
    change(world, |wanted| wanted.passed = passed)
}

/// Removes all filters.
///
/// # Errors
/// None.
pub fn clear_filters(world: &World) -> Result<(), Error> {
    change(world, |wanted| *wanted = FilterSettings::default())
}

fn change(world: &World, f: impl FnOnce(&mut FilterSettings)) -> Result<(), Error> {
    let filters = world.get::<Filters>();
    let mut wanted = filters.get();
    f(&mut wanted);
    apply(world, &wanted)?;
    *filters.0.lock().expect("no panic inside") = wanted;
    Ok(())
}

/// Gives every thread its filter.
fn apply(world: &World, wanted: &FilterSettings) -> Result<(), Error> {
    let ip: Arc<[bool]> =
        world.node_names().iter().map(|name| layer(name) != Layer::Ethernet).collect();
    let classified = wanted.classified && wanted.function == Function::Traced;
    let classifier = classified.then(|| classifier(world)).transpose()?;
    let mut filters = Vec::new();
    for _ in 0..world.threads() {
        let decides = wanted.expression.as_ref().filter(|_| wanted.function == Function::Bpf);
        let program = decides.map(Expression::compile).transpose()?;
        let (interface, ip, classifier) = (wanted.interface, ip.clone(), classifier.clone());
        let any = program.is_some() || interface.is_some() || classifier.is_some();
        let filter: Option<graph::Filter> = any.then(|| {
            Box::new(move |b: &buffer::Buffer, to: NodeIndex, turn: &Turn<'_>| {
                interface.is_none_or(|i| i.0 == b.rx_if)
                    && program
                        .as_ref()
                        .is_none_or(|p| p.matches(b.data(), ip.get(to.at()).is_some_and(|ip| *ip)))
                    && classifier.as_ref().is_none_or(|c| c.accepts(Purpose::Trace, b, turn))
            }) as graph::Filter
        });
        filters.push(filter);
    }
    for (thread, filter) in filters.into_iter().enumerate() {
        world.on_thread(ThreadIndex(thread as u16), move |rt| rt.trace().set_filter(filter));
    }
    Ok(())
}
