// SPDX-License-Identifier: Apache-2.0
//! The configuration of a kind: each change is published, and follows interfaces and tables.

use crate::exposed::Exposed;
use crate::held::{Held, let_go};
use cli::Result;
use graph::{Deleted, SwIfIndex, World};
use net::{Addresses, DeletedTable, IfEvent, Net, Source, Sources};
use std::sync::{Mutex, MutexGuard};
use wire::Ip4;

/// Declares the configuration of a kind with this state, which publishes that one.
#[macro_export]
macro_rules! control {
    ($name:ident, $state:ty, $published:ty) => {
        /// The configuration.
        pub struct $name($crate::configuration::Configuration<$state>);

        impl ::std::ops::Deref for $name {
            type Target = $crate::configuration::Configuration<$state>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl ::graph::Shared for $name {
            fn make(world: &::graph::World) -> Self {
                let _ = world.get::<$published>();
                let configuration = $crate::configuration::Configuration::new(world);
                world.get::<::net::Interfaces>().subscribe(|world, event| {
                    world.get::<Self>().notice(world, event);
                });
                Self(configuration)
            }

            fn forget(&self, world: &::graph::World, deleted: &::graph::Deleted<'_>) {
                self.0.forget(world, deleted);
            }
        }
    };
}

/// The state of a configuration.
pub trait Configured: Default + Send + 'static {
    /// Name and rank of the routes to addresses that the world knows, and of the tables that are
    /// held.
    const SOURCE: (&'static str, u8);
    /// The protocol of users.
    type Users: Net;

    /// Refuses what needs the kind while it is disabled.
    ///
    /// # Errors
    /// The kind is disabled.
    fn check(&self) -> Result<()>;

    /// Publishes the settings. Then ends the sessions that the change has made invalid: before, new
    /// ones could still be made.
    fn publish(&mut self, world: &World);

    /// The addresses that the world knows.
    fn exposed(&mut self) -> &mut Exposed;

    /// The tables that are held.
    fn held(&mut self) -> &mut Held;

    /// Follows an interface to its present addresses.
    fn follow(&mut self, world: &World, sw_if: SwIfIndex);

    /// Forgets an interface that is being deleted.
    fn forget_interface(&mut self, world: &World, sw_if: SwIfIndex);

    /// Ends the sessions of a table that is being deleted, which has this index.
    fn forget_table(world: &World, fib: u32);
}

/// The source of the routes and tables of a kind.
pub fn source<S: Configured>(world: &World) -> Source {
    world.get::<Sources>().add(S::SOURCE.0, S::SOURCE.1).unwrap_or(Source::Plugin)
}

/// A configuration.
pub struct Configuration<S>(Mutex<S>);

impl<S: Configured> Configuration<S> {
    /// One without content.
    pub fn new(world: &World) -> Self {
        // Made first, so that they are still there when interfaces are forgotten.
        let _ = (world.get::<Addresses<Ip4>>(), world.get::<Addresses<S::Users>>());
        let _ = world.get::<ip_reassembly::Users>();
        let _ = source::<S>(world);
        Self(Mutex::default())
    }

    fn state(&self) -> MutexGuard<'_, S> {
        self.0.lock().expect("no panic inside")
    }

    /// Reads the state.
    pub fn read<R>(&self, f: impl FnOnce(&S) -> R) -> R {
        f(&self.state())
    }

    /// Refuses what needs the kind while it is disabled.
    ///
    /// # Errors
    /// The kind is disabled.
    pub fn check(&self) -> Result<()> {
        self.read(S::check)
    }

    /// Changes parts of the state that aren't settings: publishes nothing.
    pub fn edit<R>(&self, f: impl FnOnce(&mut S) -> R) -> R {
        f(&mut self.state())
    }

    /// Changes the state, and publishes it.
    pub fn change<R>(&self, world: &World, f: impl FnOnce(&mut S) -> R) -> R {
        let mut state = self.state();
        let result = f(&mut state);
        Self::finish(world, state);
        result
    }

    /// As [`Self::change`], refused while the kind is disabled.
    ///
    /// # Errors
    /// The kind is disabled; those of `f`.
    pub fn enabled<R>(&self, world: &World, f: impl FnOnce(&mut S) -> Result<R>) -> Result<R> {
        let mut state = self.state();
        state.check()?;
        let result = f(&mut state);
        Self::finish(world, state);
        world.note_config_change();
        result
    }

    /// Publishes a state that has changed, and lets tables go.
    fn finish(world: &World, mut state: MutexGuard<'_, S>) {
        state.publish(world);
        let released = state.held().take_released();
        drop(state);
        let_go::<S::Users>(world, released, source::<S>(world));
    }

    /// Follows addresses and tables of interfaces.
    pub fn notice(&self, world: &World, event: IfEvent) {
        match event {
            IfEvent::Address(sw_if, false) => {
                self.change(world, |state| state.follow(world, sw_if));
            }
            IfEvent::Table(sw_if, false) => {
                let of = (world, source::<S>(world));
                self.change(world, |state| state.exposed().move_routes(of, sw_if));
            }
            _ => {}
        }
    }

    /// Forgets an interface or a table.
    pub fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.change(world, |state| state.forget_interface(world, *sw_if));
        }
        if let Some(table) = deleted.of::<DeletedTable<S::Users>>() {
            S::forget_table(world, table.index.0);
            self.change(world, |_| {});
        }
    }
}
