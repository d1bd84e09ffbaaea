// SPDX-License-Identifier: Apache-2.0
//! Creation and deletion of pipes.

use crate::node::{Peers, PipeTx};
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World};
use net::{Device, IfKind, Interfaces, NewInterface};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use wire::MacAddr;

/// Numbers of pipes are below this.
pub const MAX_PIPES: u32 = 16_384;

/// The MTU of a pipe's ends.
pub const MTU: u16 = 9000;

/// A pipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pipe {
    /// Its number.
    pub instance: u32,
    /// The interface that stands for both ends.
    pub parent: SwIfIndex,
    /// The two ends.
    pub ends: [SwIfIndex; 2],
}

impl Pipe {
    fn has(&self, sw_if: SwIfIndex) -> bool {
        self.parent == sw_if || self.ends.contains(&sw_if)
    }
}

/// The driver's name of all three interfaces.
pub const DRIVER: &str = "pipe";

/// The name of a pipe.
pub fn name(instance: u32) -> String {
    format!("pipe{instance}")
}

/// `pipeN`.
#[derive(Default)]
struct Parent {
    /// Known once the ends are there.
    ends: OnceLock<[SwIfIndex; 2]>,
}

impl Device for Parent {
    fn driver(&self) -> &'static str {
        DRIVER
    }

    fn set_admin(&self, world: &World, _: SwIfIndex, up: bool) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        let ends = self.ends.get().into_iter().flatten();
        // While a pipe is deleted, its ends may go first.
        let mut there = ends.filter(|end| interfaces.check(**end).is_ok());
        there.try_for_each(|end| interfaces.set_admin(world, *end, up))
    }
}

/// `pipeN.0` or `pipeN.1`.
struct End;

impl Device for End {
    fn driver(&self) -> &'static str {
        DRIVER
    }
}

/// The MAC address of an end: not zero, which is nobody's, and different for each end.
fn mac(instance: u32, end: u32) -> MacAddr {
    let [_, _, high, low] = (2 * instance + end + 1).to_be_bytes();
    MacAddr([0, 0, 0, 0, high, low])
}

/// All pipes.
pub struct Pipes {
    peers: Arc<Peers>,
    all: Mutex<BTreeMap<u32, Option<Pipe>>>,
}

impl Shared for Pipes {
    fn make(world: &World) -> Self {
        Self { peers: world.get(), all: Mutex::default() }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        let pipe = self.list().into_iter().find(|pipe| pipe.has(sw_if));
        if let Some(pipe) = pipe {
            self.take(pipe.instance);
            delete_interfaces(world, pipe, Some(sw_if));
        }
    }
}

impl Pipes {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u32, Option<Pipe>>> {
        self.all.lock().expect("no panic inside")
    }

    /// All pipes, by number.
    pub fn list(&self) -> Vec<Pipe> {
        self.all().values().copied().flatten().collect()
    }

    /// Makes a pipe; without a number, it gets the first that is free. It starts admin down.
    ///
    /// # Errors
    /// A number that is taken or not below [`MAX_PIPES`] (−31); more interfaces than there is room
    /// for.
    pub fn create(&self, world: &World, instance: Option<u32>) -> Result<Pipe> {
        let instance = self.reserve(instance)?;
        let made = make(world, instance).inspect_err(|_| self.take(instance));
        let pipe = made?;
        self.peers.connect(pipe.ends);
        self.all().insert(instance, Some(pipe));
        world.note_config_change();
        Ok(pipe)
    }

    /// Takes a number.
    fn reserve(&self, instance: Option<u32>) -> Result<u32> {
        let mut all = self.all();
        let error = match instance {
            Some(instance) if instance >= MAX_PIPES => {
                format!("the number of a pipe is below {MAX_PIPES}, not {instance}")
            }
            Some(instance) if all.contains_key(&instance) => {
                format!("there is a {} already", name(instance))
            }
            Some(instance) => {
                all.insert(instance, None);
                return Ok(instance);
            }
            None => match (0..MAX_PIPES).find(|instance| !all.contains_key(instance)) {
                Some(free) => {
                    all.insert(free, None);
                    return Ok(free);
                }
                None => format!("there are {MAX_PIPES} pipes, and no more is possible"),
            },
        };
        Err(Error::parse(error).retval(retval::INVALID_REGISTRATION))
    }

    /// Deletes a pipe with its ends.
    ///
    /// # Errors
    /// An interface that isn't there or doesn't stand for a pipe (−2).
    pub fn delete(&self, world: &World, parent: SwIfIndex) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        interfaces.check(parent)?;
        let pipe = self.list().into_iter().find(|pipe| pipe.parent == parent);
        let Some(pipe) = pipe else {
            let why =
                format!("{} is no pipe: expected a name such as pipe0", interfaces.name(parent));
            return Err(Error::failed(why).retval(retval::INVALID_SW_IF_INDEX));
        };
        interfaces.delete(world, pipe.parent)
    }

    /// Gives a number back, and ends the connection.
    fn take(&self, instance: u32) {
        if let Some(Some(pipe)) = self.all().remove(&instance) {
            self.peers.disconnect(pipe.ends);
        }
    }
}

/// Makes the three interfaces of a pipe, or none.
fn make(world: &World, instance: u32) -> Result<Pipe> {
    let interfaces = world.get::<Interfaces>();
    let device = Arc::new(Parent::default());
    let parent = NewInterface {
        name: name(instance),
        // It has neither addresses nor sub-interfaces: the ends have them.
        kind: IfKind::Local,
        device: device.clone(),
        mac: MacAddr::ZERO,
        mtu: MTU,
        link_up: true,
    };
    let parent = interfaces.create(world, parent, |world, _, sw_if| PipeTx::new(world, sw_if))?;
    let end = |end: u32| {
        let new = NewInterface {
            name: format!("{}.{end}", name(instance)),
            kind: IfKind::Ethernet,
            device: Arc::new(End),
            mac: mac(instance, end),
            mtu: MTU,
            link_up: true,
        };
        let tx = |world: &World, _, sw_if| PipeTx::new(world, sw_if);
        interfaces.create_above(world, new, Some(parent), tx)
    };
    let first = end(0).inspect_err(|_| delete(world, parent))?;
    let second = end(1).inspect_err(|_| {
        delete(world, first);
        delete(world, parent);
    })?;
    let ends = [first, second];
    _ = device.ends.set(ends);
    Ok(Pipe { instance, parent, ends })
}

fn delete(world: &World, sw_if: SwIfIndex) {
    if let Err(error) = world.get::<Interfaces>().delete(world, sw_if) {
        log::warn!("an interface of a pipe stays: {error}");
    }
}

/// Deletes the interfaces of a pipe, except one that is being deleted.
fn delete_interfaces(world: &World, pipe: Pipe, but: Option<SwIfIndex>) {
    let all = pipe.ends.into_iter().chain([pipe.parent]);
    let there = all.filter(|sw_if| Some(*sw_if) != but);
    there.for_each(|sw_if| delete(world, sw_if));
}
