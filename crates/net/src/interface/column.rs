// SPDX-License-Identifier: Apache-2.0
//! Columns: properties of interfaces beyond those that each of them has.
//!
//! A feature implements [`Property`] for its type, lists [`Column`] of it in the state of its
//! plugin, and asks for the column with [`World::get`]. This crate doesn't change for it.

use super::{Interface, Interfaces};
use crate::event::{ColumnId, IfEvent};
use crate::view::{IfFlags, IfView};
use cli::Error;
use graph::{Shared, SwIfIndex, World};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The type of a column: a property that an interface may have. An interface has the default until
/// another value is set, and again after it was deleted.
pub trait Property: Clone + Default + Send + Sync + 'static {
    /// True if workers read a flag of its own: [`Column::flag`].
    const HAS_FLAG: bool = false;

    /// Writes the part that workers read into the view of an interface for which a value was set.
    /// `flag` is the column's own flag, if it has one. No two columns write the same part.
    fn show(&self, _interface: &Interface, _flag: IfFlags, _view: &mut IfView) {}
}

/// The part of a column that doesn't depend on its type.
pub(super) trait AnyColumn: Send + Sync {
    /// Writes the part of an interface's view that depends on the column.
    fn show(&self, interface: &Interface, view: &mut IfView);
    /// Gives an interface the default.
    fn clear(&self, sw_if: SwIfIndex);
}

struct Values<T> {
    flag: IfFlags,
    set: Mutex<HashMap<SwIfIndex, T>>,
}

impl<T: Property> Values<T> {
    fn set(&self) -> MutexGuard<'_, HashMap<SwIfIndex, T>> {
        self.set.lock().expect("no panic inside")
    }
}

impl<T: Property> AnyColumn for Values<T> {
    fn show(&self, interface: &Interface, view: &mut IfView) {
        if let Some(value) = self.set().get(&interface.sw_if) {
            value.show(interface, self.flag, view);
        }
    }

    fn clear(&self, sw_if: SwIfIndex) {
        self.set().remove(&sw_if);
    }
}

/// A property of all interfaces.
pub struct Column<T> {
    pub(super) interfaces: Arc<Interfaces>,
    values: Arc<Values<T>>,
}

impl<T: Property> Shared for Column<T> {
    fn make(world: &World) -> Self {
        let interfaces: Arc<Interfaces> = world.get();
        let flag = if T::HAS_FLAG { interfaces.reserve_flag() } else { IfFlags::default() };
        let values = Arc::new(Values { flag, set: Mutex::default() });
        interfaces.inner().columns.push(values.clone());
        Self { interfaces, values }
    }
}

impl<T: Property> Column<T> {
    /// The value of an interface: the default if none was set.
    pub fn get(&self, sw_if: SwIfIndex) -> T {
        self.values.set().get(&sw_if).cloned().unwrap_or_default()
    }

    /// The flag of its own that workers read in [`IfView::flags`]; empty if the property has none.
    pub fn flag(&self) -> IfFlags {
        self.values.flag
    }

    /// Sets the value of an interface, publishes the part that workers read, and notifies the
    /// subscribers ([`IfEvent::Changed`]).
    ///
    /// # Errors
    /// One that isn't there (−2).
    pub fn set(&self, world: &World, sw_if: SwIfIndex, value: T) -> Result<(), Error> {
        self.interfaces.check(sw_if)?;
        self.values.set().insert(sw_if, value);
        self.interfaces.changed(world, sw_if, ColumnId::of::<T>());
        Ok(())
    }

    /// As [`Self::set`], with a function that changes the value.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn update(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        change: impl FnOnce(&mut T),
    ) -> Result<(), Error> {
        let mut value = self.get(sw_if);
        change(&mut value);
        self.set(world, sw_if, value)
    }
}

impl Interfaces {
    /// Takes a flag of the view for a column.
    ///
    /// # Panics
    /// If all are taken.
    fn reserve_flag(&self) -> IfFlags {
        let mut inner = self.inner();
        let flag = IfFlags::free(inner.flags);
        inner.flags += 1;
        flag.expect("a flag of the view is left for each column that has one")
    }

    /// Publishes a change of a column.
    fn changed(&self, world: &World, sw_if: SwIfIndex, column: ColumnId) {
        self.publish(&self.inner(), sw_if);
        self.notify(world, IfEvent::Changed(sw_if, column));
    }

    /// Gives a deleted interface the default in all columns, for the next one with its index.
    pub(super) fn clear_columns(&self, sw_if: SwIfIndex) {
        let columns = self.inner().columns.clone();
        columns.iter().for_each(|column| column.clear(sw_if));
    }
}
