// SPDX-License-Identifier: Apache-2.0
//! Cross-connects and their paths.

use crate::node::Input;
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World, filled};
use ip::Ip;
use net::{Interfaces, Path, Tracked};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard};

struct CrossConnect {
    paths: Vec<Path>,
    /// The forwarding object of the paths (an adjacency, or a load-balance of several).
    tracked: Tracked,
}

/// Cross-connects of a protocol, by the interface that receives.
pub struct CrossConnects<F: Ip> {
    all: Mutex<BTreeMap<SwIfIndex, CrossConnect>>,
    protocol: PhantomData<F>,
}

impl<F: Ip> Shared for CrossConnects<F> {
    fn make(_: &World) -> Self {
        Self { all: Mutex::default(), protocol: PhantomData }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        let names = |path: &Path| path.sw_if() == Some(sw_if);
        for (from, mut paths) in self.list() {
            if from != sw_if && !paths.iter().any(names) {
                continue;
            }
            paths.retain(|path| !names(path));
            let is_left = from != sw_if && !paths.is_empty();
            let done =
                if is_left { self.update(world, from, paths) } else { self.remove(world, from) };
            if let Err(error) = done {
                log::warn!("a cross-connect keeps a path by an interface that is deleted: {error}");
            }
        }
    }
}

impl<F: Ip> CrossConnects<F> {
    fn all(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, CrossConnect>> {
        self.all.lock().expect("no panic inside")
    }

    /// All interfaces with a cross-connect, and its paths.
    pub fn list(&self) -> Vec<(SwIfIndex, Vec<Path>)> {
        self.all().iter().map(|(sw_if, crossed)| (*sw_if, crossed.paths.clone())).collect()
    }

    /// The tracked adjacency of the paths of an interface's cross-connect.
    pub fn tracked(&self, sw_if: SwIfIndex) -> Option<Tracked> {
        self.all().get(&sw_if).map(|crossed| crossed.tracked)
    }

    /// Sends the packets that an interface receives by these paths. Replaces the paths that it had.
    ///
    /// # Errors
    /// An interface that isn't there (−2); no path (−7); a path that a route couldn't have.
    pub fn update(&self, world: &World, sw_if: SwIfIndex, paths: Vec<Path>) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        if paths.is_empty() {
            return Err(
                Error::usage("a cross-connect needs a path: `via …'").retval(retval::INVALID_VALUE)
            );
        }
        let tracked = Tracked::over(world, F::LINK, &paths)?;
        configure::<F>(world, sw_if, Some(tracked)).inspect_err(|_| tracked.release(world))?;
        let old = self.all().insert(sw_if, CrossConnect { paths, tracked });
        old.iter().for_each(|old| old.tracked.release(world));
        world.note_config_change();
        Ok(())
    }

    /// Lets the packets of an interface be routed again.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or has no cross-connect (−7).
    pub fn delete(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        self.remove(world, sw_if)
    }

    fn remove(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let Some(old) = self.all().remove(&sw_if) else {
            let name = world.get::<Interfaces>().name(sw_if);
            let why = format!("{name} has no cross-connect of {}", F::NAME);
            return Err(Error::not_found(why).retval(retval::INVALID_VALUE));
        };
        let done = configure::<F>(world, sw_if, None);
        old.tracked.release(world);
        world.note_config_change();
        done
    }
}

fn configure<F: Ip>(world: &World, sw_if: SwIfIndex, tracked: Option<Tracked>) -> Result<()> {
    let arc = filled("{ip}-unicast", F::IS_V6);
    world
        .configure_feature::<Input<F>>(&arc, sw_if, tracked.map(|to| to.adj))
        .map_err(Error::failed)
}
