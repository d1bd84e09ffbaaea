// SPDX-License-Identifier: Apache-2.0
//! Events of interfaces.

use graph::SwIfIndex;
use std::any::{TypeId, type_name};
use std::fmt;

/// A change of an interface, reported to subscribers afterwards, on the control thread: to failover
/// subscribers first, then in the order of subscription. State that refers to an interface isn't
/// removed by this, but by [`Shared::forget`](graph::Shared::forget).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfEvent {
    /// A new interface.
    Added(SwIfIndex),
    /// An interface is about to go; it is still there, with all that refers to it.
    Deleting(SwIfIndex),
    /// Admin state, up or down.
    Admin(SwIfIndex, bool),
    /// Link state, up or down.
    Link(SwIfIndex, bool),
    /// The MAC address has changed.
    Mac(SwIfIndex),
    /// An MTU has changed.
    Mtu(SwIfIndex),
    /// Its frames leave by another link than before: stations learn its addresses anew if they are
    /// announced.
    Moved(SwIfIndex),
    /// The name has changed.
    Name(SwIfIndex),
    /// An address was added or removed: the interface, and whether it is an IPv6 one.
    Address(SwIfIndex, bool),
    /// IP was enabled (by an address, or without one) or disabled: the interface, whether it is
    /// IPv6, and on or off.
    Ip(SwIfIndex, bool, bool),
    /// Moved to another table: the interface, and whether it is the IPv6 one.
    Table(SwIfIndex, bool),
    /// The value of a column has changed.
    Changed(SwIfIndex, ColumnId),
}

/// The column of a property ([`Property`](crate::Property)), in events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ColumnId {
    of: TypeId,
    name: &'static str,
}

impl ColumnId {
    /// The column of this type.
    pub fn of<T: 'static>() -> Self {
        Self { of: TypeId::of::<T>(), name: type_name::<T>() }
    }

    /// Returns true for the column of this type.
    pub fn is<T: 'static>(self) -> bool {
        self.of == TypeId::of::<T>()
    }
}

impl fmt::Debug for ColumnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
