// SPDX-License-Identifier: Apache-2.0
//! Fields of the packet's metadata that plugins reserve.

use crate::World;
use buffer::{Field, FieldValue, Pool};

/// A plugin's declaration that its nodes keep values of a type with packets.
#[derive(Clone, Copy)]
pub struct FieldDef {
    pub(crate) reserve: fn(&Pool, &'static str) -> Result<(), String>,
}

impl FieldDef {
    /// Values of this type. Plugins that declare the same type share its field.
    pub const fn of<T: FieldValue>() -> Self {
        Self { reserve: Pool::reserve_field::<T> }
    }
}

impl World {
    /// The field for values of this type, which a plugin has to declare
    /// ([`Plugin::fields`](crate::Plugin::fields)).
    ///
    /// # Panics
    /// If none does.
    pub fn field<T: FieldValue>(&self) -> Field<T> {
        let name = std::any::type_name::<T>();
        self.pool.field().unwrap_or_else(|| panic!("no plugin declares a field for {name}"))
    }

    /// Reserves the fields that the plugins declare, in the order of the plugins.
    ///
    /// # Errors
    /// The plugin that finds too few bytes left, and which plugin has how many.
    pub(crate) fn reserve_fields(&self) -> Result<(), String> {
        for plugin in self.plugins() {
            for def in plugin.fields {
                (def.reserve)(self.pool, plugin.name)
                    .map_err(|e| format!("plugin {}: {e}", plugin.name))?;
            }
        }
        Ok(())
    }
}
