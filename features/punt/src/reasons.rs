// SPDX-License-Identifier: Apache-2.0
//! Reasons that packets are punted for: their numbers, and the nodes registered for them.

use graph::{NodeIndex, Shared, World};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use sync::{Snapshot, Turn};

/// A reason that packets are punted for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// Its number.
    pub id: u32,
    /// Node and next edge, or the name that VPP clients know it by.
    pub name: String,
    /// Text for operators.
    pub text: &'static str,
}

/// The main thread's state of the reasons.
#[derive(Default)]
struct ReasonState {
    /// Their error indices, in the order of their numbers, which begin at 1.
    errors: Vec<u32>,
    /// Names, by error index.
    names: BTreeMap<u32, &'static str>,
}

/// Numbers of reasons, and the nodes registered for each, as workers read them.
pub(crate) struct Reasons {
    numbers: Mutex<ReasonState>,
    /// Numbers by error index; 0 for none.
    ids: Snapshot<Vec<u32>>,
    clients: Snapshot<BTreeMap<u32, Vec<NodeIndex>>>,
}

impl Shared for Reasons {
    fn make(world: &World) -> Self {
        let (ids, clients) = (Vec::new(), BTreeMap::new());
        Self {
            numbers: Mutex::default(),
            ids: Snapshot::new(world.qsbr.clone(), ids),
            clients: Snapshot::new(world.qsbr.clone(), clients),
        }
    }
}

impl Reasons {
    fn numbers(&self) -> MutexGuard<'_, ReasonState> {
        self.numbers.lock().expect("no panic inside")
    }

    /// Returns the number of a packet's reason, by its error index; 0 if it was punted without one.
    #[inline(always)]
    pub(crate) fn id(&self, error: u32, turn: &Turn<'_>) -> u32 {
        self.ids.get(turn).get(error as usize).copied().unwrap_or(0)
    }

    /// Returns the nodes registered for a reason.
    #[inline(always)]
    pub(crate) fn clients<'a>(&'a self, id: u32, turn: &'a Turn<'_>) -> &'a [NodeIndex] {
        self.clients.get(turn).get(&id).map_or(&[], |nodes| nodes)
    }

    /// Registers a node for packets of a reason, or removes it.
    pub(crate) fn set_client(&self, id: u32, node: NodeIndex, on: bool) {
        self.clients.update(|old| {
            let mut new = old.clone();
            let nodes = new.entry(id).or_default();
            nodes.retain(|other| *other != node);
            if on {
                nodes.push(node);
            }
            if nodes.is_empty() {
                new.remove(&id);
            }
            new
        });
    }

    /// Assigns numbers to the reasons that have none yet; a number never changes.
    fn number(&self, errors: impl Iterator<Item = u32>) {
        let mut numbers = self.numbers();
        let before = numbers.errors.len();
        for error in errors {
            if !numbers.errors.contains(&error) {
                numbers.errors.push(error);
            }
        }
        if numbers.errors.len() == before {
            return;
        }
        let mut ids = vec![0; numbers.errors.iter().max().map_or(0, |last| *last as usize + 1)];
        for (at, error) in numbers.errors.iter().enumerate() {
            ids[*error as usize] = at as u32 + 1;
        }
        self.ids.update(|_| ids.clone());
    }
}

/// Returns all reasons that packets are punted for, in the order of their numbers.
pub fn reasons(world: &World) -> Vec<Reason> {
    let (all, known) = (world.reasons(), world.get::<Reasons>());
    known.number(all.iter().enumerate().filter(|(_, r)| r.punt).map(|(error, _)| error as u32));
    let numbers = known.numbers();
    let none = Reason { id: 0, name: "none".into(), text: "punted by a route, or by its protocol" };
    let named = numbers.errors.iter().enumerate().filter_map(|(at, error)| {
        let reason = all.get(*error as usize)?;
        let name = numbers.names.get(error).map(|name| (*name).to_string());
        let name = name.unwrap_or_else(|| format!("{}:{}", reason.node, reason.reason));
        Some(Reason { id: at as u32 + 1, name, text: reason.text })
    });
    std::iter::once(none).chain(named).collect()
}

/// Sets the name by which clients know the reason of a node's next edge that is marked `#[punt]`.
///
/// # Errors
/// The node has no such edge.
pub fn name_reason(world: &World, node: &str, way: &str, name: &'static str) -> Result<(), String> {
    let all = world.reasons();
    let found = all.iter().position(|r| r.punt && *r.node == *node && r.reason == way);
    let error = found.ok_or_else(|| format!("{node} punts nothing for the reason {way}"))? as u32;
    let known = world.get::<Reasons>();
    known.number(std::iter::once(error));
    known.numbers().names.insert(error, name);
    Ok(())
}

/// Registers a further node for packets of a reason, or removes it. They begin where the punting
/// node saw them begin.
///
/// # Errors
/// A node that doesn't exist.
pub fn set_client(world: &World, id: u32, node: &str, on: bool) -> Result<(), String> {
    let node = world.link("punt-dispatch", node)?;
    world.get::<Reasons>().set_client(id, node, on);
    Ok(())
}
