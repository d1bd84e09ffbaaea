// SPDX-License-Identifier: Apache-2.0
//! The flow hash, which selects a path of an ECMP group.

use super::lookup::IpTable;
use super::{Fib, Net, TableIndex};
use cli::{Error, retval};
use graph::{Shared, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use sync::Turn;

/// The fields of a packet that are hashed, as the binary API's bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct FlowHash(u32);

impl FlowHash {
    /// The source address.
    pub const SRC: Self = Self(1);
    /// The destination address.
    pub const DST: Self = Self(2);
    /// The source port.
    pub const SPORT: Self = Self(4);
    /// The destination port.
    pub const DPORT: Self = Self(8);
    /// The protocol.
    pub const PROTO: Self = Self(16);
    /// Source and destination are swapped.
    pub const REVERSE: Self = Self(32);
    /// Both directions of a flow have the same hash.
    pub const SYMMETRIC: Self = Self(64);
    /// The flow label (IPv6).
    pub const LABEL: Self = Self(128);

    /// The bits and their names, in the order of the bits.
    pub const NAMES: [(Self, &'static str); 8] = [
        (Self::SRC, "src"),
        (Self::DST, "dst"),
        (Self::SPORT, "sport"),
        (Self::DPORT, "dport"),
        (Self::PROTO, "proto"),
        (Self::REVERSE, "reverse"),
        (Self::SYMMETRIC, "symmetric"),
        (Self::LABEL, "flowlabel"),
    ];

    /// From the bits of the binary API.
    ///
    /// # Errors
    /// GTP tunnels, which aren't parsed (−9); undefined bits (−7).
    pub fn from_bits(bits: u32) -> Result<Self, Error> {
        match bits {
            0..=0xff => Ok(Self(bits)),
            0x100..=0x1ff => Err(Error::unsupported("GTP tunnels don't choose paths yet")
                .retval(retval::UNIMPLEMENTED)),
            _ => Err(Error::parse(format!("{bits:#x} are no bits of a flow hash"))
                .retval(retval::INVALID_VALUE)),
        }
    }

    /// The bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns true if all bits of `other` are set.
    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The names of the bits that are set.
    pub fn names(self) -> Vec<&'static str> {
        Self::NAMES.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, name)| *name).collect()
    }
}

impl Default for FlowHash {
    /// Addresses, ports, protocol.
    fn default() -> Self {
        Self(0x1f)
    }
}

impl std::ops::BitOr for FlowHash {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// This router's seed of the flow hash, for both protocols. With the same seed, routers in a row
/// select paths alike, so the second gets only flows for which it selects one path (polarization).
#[derive(Default)]
pub struct FlowRouterId(AtomicU32);

impl Shared for FlowRouterId {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl FlowRouterId {
    /// The seed; 0 unless it was set.
    #[inline(always)]
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets it, from the next packet on.
    pub fn set(&self, id: u32) {
        self.0.store(id, Ordering::Relaxed);
    }
}

/// The parameters of the flow hash.
#[derive(Clone, Copy, Default, Debug)]
pub struct Flow {
    /// The fields that are hashed.
    pub fields: FlowHash,
    /// See [`FlowRouterId`].
    pub router_id: u32,
}

impl<F: Net> Fib<F> {
    /// Parameters of the flow hash in a table, for workers.
    #[inline(always)]
    pub fn flow(&self, index: TableIndex, turn: &Turn<'_>) -> Flow {
        let table = self.tables.get(index.0, turn);
        let fields = table
            .map_or_else(FlowHash::default, |table| FlowHash(table.flow.load(Ordering::Relaxed)));
        Flow { fields, router_id: self.router_id.get() }
    }

    /// The fields that a table's flow hash takes in.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn flow_hash(&self, index: TableIndex) -> Result<FlowHash, Error> {
        self.all.inner().table(Self::table_ref(index))?;
        let flow = |table: Option<&Arc<IpTable<F>>>| table.map(|t| t.flow.load(Ordering::Relaxed));
        Ok(self.tables.read(index.0, flow).map_or_else(FlowHash::default, FlowHash))
    }

    /// Sets the fields that a table's flow hash takes in, from the next packet on.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn set_flow_hash(&self, index: TableIndex, flow: FlowHash) -> Result<(), Error> {
        self.all.inner().table(Self::table_ref(index))?;
        self.tables.read(index.0, |table| {
            if let Some(table) = table {
                table.flow.store(flow.0, Ordering::Relaxed);
            }
        });
        Ok(())
    }
}
