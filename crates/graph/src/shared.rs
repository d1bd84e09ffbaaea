// SPDX-License-Identifier: Apache-2.0
//! State that a feature's nodes and its control verbs share, and how it lets go of objects that are deleted.

use crate::World;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard};

/// State of a feature that its nodes and its control verbs share. A plugin declares it ([`Plugin::state`](crate::Plugin::state)), and it is
/// made at the start; state that nobody declares is made when first asked for.
pub trait Shared: Send + Sync + Sized + 'static {
    /// Makes it. May call [`World::get`] for other state, which is made first; not in a circle.
    fn make(world: &World) -> Self;

    /// Removes all references to an object that is being deleted and still exists. Called on the control thread, in the reverse of
    /// the order in which states were made: a state forgets the object before the states that it was made from.
    fn forget(&self, _world: &World, _deleted: &Deleted<'_>) {}
}

/// An object that is being deleted. Its kind is a type: [`SwIfIndex`](crate::SwIfIndex) for an interface, others as features define them.
#[derive(Clone, Copy, Debug)]
pub struct Deleted<'a>(&'a dyn Any);

impl<'a> Deleted<'a> {
    /// The object, if it is of this kind.
    pub fn of<T: 'static>(&self) -> Option<&'a T> {
        self.0.downcast_ref()
    }
}

/// A plugin's declaration of shared state.
#[derive(Clone, Copy)]
pub struct StateDef {
    pub(crate) make: fn(&World),
}

impl StateDef {
    /// State of this type.
    pub const fn of<T: Shared>() -> Self {
        Self { make: |world| drop(world.get::<T>()) }
    }

    /// The states that `make` asks for, in this order.
    pub const fn many(make: fn(&World)) -> Self {
        Self { make }
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
    by_type: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    /// In the order in which they were made, with their types' names.
    made: Vec<(&'static str, Arc<dyn AnyShared>)>,
    /// Number of states that were made at the start.
    declared: usize,
}

impl Inner {
    /// Stores a new state and returns it, or the one that another thread stored first.
    fn keep<T: Shared>(&mut self, key: TypeId, new: Arc<T>) -> Arc<dyn Any + Send + Sync> {
        let Entry::Vacant(place) = self.by_type.entry(key) else { return self.by_type[&key].clone() };
        place.insert(new.clone());
        self.made.push((std::any::type_name::<T>(), new.clone()));
        new
    }
}

/// The states of an instance.
#[derive(Default)]
pub(crate) struct States(Mutex<Inner>);

impl States {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no panic inside")
    }

    pub fn get<T: Shared>(&self, world: &World) -> Arc<T> {
        let key = TypeId::of::<T>();
        let found = self.inner().by_type.get(&key).cloned();
        let state = found.unwrap_or_else(|| {
            // Not under the lock: it asks for others.
            let new = Arc::new(T::make(world));
            self.inner().keep(key, new)
        });
        state.downcast().expect("stored under its own type")
    }
}

impl World {
    /// The shared state of this type.
    pub fn get<T: Shared>(&self) -> Arc<T> {
        self.states.get(self)
    }

    /// Tells every state that an object is being deleted ([`Shared::forget`]).
    pub fn forget<T: 'static>(&self, object: &T) {
        let all: Vec<_> = self.states.inner().made.iter().map(|(_, state)| state.clone()).collect();
        for state in all.into_iter().rev() {
            state.forget(self, &Deleted(object));
        }
    }

    /// Makes the states that the plugins declare, in the order of the plugins.
    pub(crate) fn make_states(&self) {
        for def in self.plugins().iter().flat_map(|plugin| plugin.state) {
            (def.make)(self);
        }
        let mut inner = self.states.inner();
        inner.declared = inner.made.len();
    }

    /// Types of states that no plugin declares. They were made after the start, and missed earlier deletions.
    pub fn undeclared_states(&self) -> Vec<&'static str> {
        let inner = self.states.inner();
        inner.made[inner.declared..].iter().map(|(name, _)| *name).collect()
    }
}
