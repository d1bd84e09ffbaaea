// SPDX-License-Identifier: Apache-2.0
//! The flow hash, which selects a path of an ECMP group.

use super::lookup::IpTable;
use super::{Fib, Net, TableIndex};
use bitflags::bitflags;
use cli::{Error, retval};
use graph::{Shared, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use sync::Turn;

bitflags! {
    /// The fields of a packet that are hashed, as the binary API's bits.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub struct FlowHash: u32 {
        /// The source address.
        const SRC = 1;
        /// The destination address.
        const DST = 2;
        /// The source port.
        const SPORT = 4;
        /// The destination port.
        const DPORT = 8;
        /// The protocol.
        const PROTO = 16;
        /// Source and destination are swapped.
        const REVERSE = 32;
        /// Both directions of a flow have the same hash.
        const SYMMETRIC = 64;
        /// The flow label (IPv6).
        const LABEL = 128;
    }
}

impl FlowHash {
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
    pub fn from_api(bits: u32) -> Result<Self, Error> {
        match bits {
            0..=0xff => Ok(Self::from_bits_retain(bits)),
            0x100..=0x1ff => Err(Error::unsupported("GTP tunnels don't choose paths yet")
                .retval(retval::UNIMPLEMENTED)),
            _ => Err(Error::parse(format!("{bits:#x} are no bits of a flow hash"))
                .retval(retval::INVALID_VALUE)),
        }
    }

    /// The names of the bits that are set.
    pub fn names(self) -> Vec<&'static str> {
        Self::NAMES.iter().filter(|(bit, _)| self.contains(*bit)).map(|(_, name)| *name).collect()
    }
}

impl Default for FlowHash {
    /// Addresses, ports, protocol.
    fn default() -> Self {
        Self::SRC | Self::DST | Self::SPORT | Self::DPORT | Self::PROTO
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
        let fields = table.map_or_else(FlowHash::default, |table| {
            FlowHash::from_bits_retain(table.flow.load(Ordering::Relaxed))
        });
        Flow { fields, router_id: self.router_id.get() }
    }

    /// The fields that a table's flow hash takes in.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn flow_hash(&self, index: TableIndex) -> Result<FlowHash, Error> {
        self.all.inner().table(Self::table_ref(index))?;
        let flow = |table: Option<&Arc<IpTable<F>>>| table.map(|t| t.flow.load(Ordering::Relaxed));
        Ok(self
            .tables
            .read(index.0, flow)
            .map_or_else(FlowHash::default, FlowHash::from_bits_retain))
    }

    /// Sets the fields that a table's flow hash takes in, from the next packet on.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn set_flow_hash(&self, index: TableIndex, flow: FlowHash) -> Result<(), Error> {
        self.all.inner().table(Self::table_ref(index))?;
        self.tables.read(index.0, |table| {
            if let Some(table) = table {
                table.flow.store(flow.bits(), Ordering::Relaxed);
            }
        });
        Ok(())
    }
}
