// SPDX-License-Identifier: Apache-2.0
//! State that a feature's nodes and its control verbs share, and how it lets go of objects that are
//! deleted.

use crate::{Plugin, World};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard};

/// State of a feature that its nodes and its control verbs share. A plugin declares it
/// ([`Plugin::state`](crate::Plugin::state)). It is made at the start or, if its plugin is switched
/// off, when another plugin first asks for it.
pub trait Shared: Send + Sync + Sized + 'static {
    /// Makes it. May call [`World::get`] for other state, which is made first; not in a circle.
    fn make(world: &World) -> Self;

    /// Removes all references to an object that is being deleted and still exists. Called on the
    /// control thread, in the reverse of the order in which states were made: a state forgets
    /// the object before the states that it was made from.
    fn forget(&self, _world: &World, _deleted: &Deleted<'_>) {}
}

/// An object that is being deleted. Its kind is a type: [`SwIfIndex`](crate::SwIfIndex) for an
/// interface, others as features define them.
#[derive(Clone, Copy, Debug)]
pub struct Deleted<'a>(&'a dyn Any);

impl<'a> Deleted<'a> {
    /// The object, if it is of this kind.
    pub fn of<T: 'static>(&self) -> Option<&'a T> {
        self.0.downcast_ref()
    }
}

/// A plugin's declaration of shared state.
///
/// Only the crate that declares a state compiles [`Shared::make`] and the code that it calls. For
/// the tables of routes that is a lot of code, and all crates that ask for a table ([`World::get`])
/// would otherwise compile a copy of it.
#[derive(Clone, Copy)]
pub struct StateDef(Def);

type Make = fn(&World) -> Arc<dyn AnyShared>;

#[derive(Clone, Copy)]
enum Def {
    One { key: fn() -> TypeId, make: Make },
    Group(&'static [StateDef]),
}

impl StateDef {
    /// State of this type.
    pub const fn of<T: Shared>() -> Self {
        let make = |world: &World| Arc::new(T::make(world)) as Arc<dyn AnyShared>;
        Self(Def::One { key: TypeId::of::<T>, make })
    }

    /// States that belong together, in the order in which they are to be made.
    pub const fn group(states: &'static [Self]) -> Self {
        Self(Def::Group(states))
    }
}

/// The part of [`Shared`] that doesn't depend on the state's type.
trait AnyShared: Any + Send + Sync {
    fn forget(&self, world: &World, deleted: &Deleted<'_>);
}

impl<T: Shared> AnyShared for T {
    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        Shared::forget(self, world, deleted);
    }
}

#[derive(Default)]
struct Inner {
    /// Makes a state that a plugin declares, by the state's type.
    makers: HashMap<TypeId, Make>,
    by_type: HashMap<TypeId, Arc<dyn AnyShared>>,
    /// In the order in which they were made.
    made: Vec<Arc<dyn AnyShared>>,
}

impl Inner {
    /// Notes how these states are made; returns their types in the order of the list.
    fn declare(&mut self, states: &[StateDef]) -> Vec<TypeId> {
        let mut keys = Vec::new();
        for state in states {
            match state.0 {
                Def::Group(states) => keys.extend(self.declare(states)),
                Def::One { key, make } => {
                    self.makers.insert(key(), make);
                    keys.push(key());
                }
            }
        }
        keys
    }

    /// Stores a new state and returns it, or the one that another thread stored first.
    fn keep(&mut self, key: TypeId, new: Arc<dyn AnyShared>) -> Arc<dyn AnyShared> {
        match self.by_type.entry(key) {
            Entry::Occupied(first) => first.get().clone(),
            Entry::Vacant(place) => {
                self.made.push(new.clone());
                place.insert(new).clone()
            }
        }
    }
}

/// The states of an instance.
#[derive(Default)]
pub(crate) struct States(Mutex<Inner>);

impl States {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no panic inside")
    }

    /// The state of a type, made now if it isn't there. The type's name is for the panic.
    fn get(&self, key: TypeId, name: &str, world: &World) -> Arc<dyn AnyShared> {
        let make = {
            let inner = self.inner();
            if let Some(found) = inner.by_type.get(&key) {
                return found.clone();
            }
            inner.makers.get(&key).copied()
        };
        let Some(make) = make else {
            panic!("no plugin declares the state {name}: list it in `Plugin::state`")
        };
        // Not under the lock: it asks for others.
        let new = make(world);
        self.inner().keep(key, new)
    }
}

impl World {
    /// The shared state of this type.
    ///
    /// # Panics
    /// If no plugin of the program declares it; `cargo xtask sources` finds such types.
    pub fn get<T: Shared>(&self) -> Arc<T> {
        let state = self.states.get(TypeId::of::<T>(), std::any::type_name::<T>(), self);
        (state as Arc<dyn Any + Send + Sync>).downcast().expect("stored under its own type")
    }

    /// Declares state beyond that of the plugins, for tests and their tools. What asks for it while
    /// nodes are made is too early.
    pub fn declare<T: Shared>(&self) {
        self.states.inner().declare(&[StateDef::of::<T>()]);
    }

    /// Notifies every state that an object is being deleted ([`Shared::forget`]).
    pub fn forget<T: 'static>(&self, object: &T) {
        let all = self.states.inner().made.clone();
        for state in all.into_iter().rev() {
            state.forget(self, &Deleted(object));
        }
    }

    /// Makes the states that the plugins declare, in the order of the plugins. Those of plugins
    /// that are `off` are made when they are asked for.
    pub(crate) fn make_states(&self, off: &[&Plugin]) {
        let declare = |plugin: &&Plugin| self.states.inner().declare(plugin.state);
        off.iter().for_each(|plugin| drop(declare(plugin)));
        let keys: Vec<_> = self.plugins().iter().flat_map(declare).collect();
        for key in keys {
            self.states.get(key, "", self);
        }
    }
}
