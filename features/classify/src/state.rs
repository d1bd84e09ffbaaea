// SPDX-License-Identifier: Apache-2.0
//! The state of the classifier: the part that workers read, and control's part.

use crate::exact::Exact;
use crate::hook::Links;
use crate::table::{Session, Table};
use graph::{Deleted, Shared, Signal, SwIfIndex, World};
use net::TableIndex;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::Slots;

/// Received or sent packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// Received ones.
    Input,
    /// Sent ones.
    Output,
}

impl Direction {
    /// The word in commands.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

/// Packets that an ACL is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Layer {
    /// IPv4 packets.
    Ip4,
    /// IPv6 packets.
    Ip6,
    /// Switched frames.
    L2,
    /// Punted IPv4 packets.
    Ip4Punt,
    /// Punted IPv6 packets.
    Ip6Punt,
}

impl Layer {
    /// All of them, in the order of requests.
    pub const ALL: [Self; 5] = [Self::Ip4, Self::Ip6, Self::L2, Self::Ip4Punt, Self::Ip6Punt];

    /// The word in commands.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ip4 => "ip4-table",
            Self::Ip6 => "ip6-table",
            Self::L2 => "l2-table",
            Self::Ip4Punt => "ip4-punt-table",
            Self::Ip6Punt => "ip6-punt-table",
        }
    }
}

/// The purpose of a packet filter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FilterOf {
    /// Traces.
    Trace,
    /// Captures; captures of an interface may have a filter of their own.
    Capture(Option<SwIfIndex>),
}

/// Tables for switched frames by payload: IPv4, IPv6, anything else.
pub type L2Tables = [Option<u32>; 3];

/// A table of routes, and the address there whose packets are classified.
pub type Routed = Option<(TableIndex, IpAddr)>;

/// Control's state of a table.
pub struct TableState {
    /// As workers read it.
    pub table: Table,
    /// Requested number of buckets, a power of 2: the table grows beyond it.
    pub buckets: u32,
    /// True if the table was made for a filter of traces or captures; it is deleted with that
    /// filter.
    pub of_filter: bool,
}

/// A table of routes that sessions need.
pub struct ReferencedTable {
    /// The slot of [`Classifier::vrfs`] with its index.
    pub slot: u32,
    /// Its index.
    pub index: TableIndex,
    /// Number of sessions.
    pub sessions: usize,
}

/// State that only control reads and writes.
#[derive(Default)]
pub struct Control {
    /// Tables by index.
    pub tables: BTreeMap<u32, TableState>,
    /// Tables of ACLs.
    pub acls: BTreeMap<(Direction, SwIfIndex, Layer), u32>,
    /// Tables for switched frames.
    pub l2: BTreeMap<(Direction, SwIfIndex), L2Tables>,
    /// Tables for packets to an interface's first address, and the route there; by interface and
    /// whether it is of IPv6.
    pub routed: BTreeMap<(SwIfIndex, bool), (u32, Routed)>,
    /// First tables of filters.
    pub filters: BTreeMap<FilterOf, u32>,
    /// Tables of routes that sessions need, by family and id.
    pub fibs: BTreeMap<(bool, u32), ReferencedTable>,
    /// Sessions of tables that other features have made and rely on, by table.
    pub held: BTreeMap<u32, usize>,
    /// Slots of [`Classifier::vrfs`] that were used and are free.
    pub free_vrfs: Vec<u32>,
    /// Sessions of deleted tables that aren't removed yet, with the index of the next one.
    pub remains: Vec<(Arc<Exact<Session>>, u32)>,
}

/// The classifier of an instance.
pub struct Classifier {
    /// Tables by index.
    pub tables: Slots<Table>,
    /// Tables of layer-2 ACLs by interface, for received and for sent frames.
    pub l2_acl: [Slots<u32>; 2],
    /// Tables of layer-2 classification.
    pub l2_classify: [Slots<L2Tables>; 2],
    /// First tables of filters of captures, by interface; 0 for any.
    pub capture_filters: Slots<u32>,
    /// First table of the filter of traces, in slot 0.
    pub trace_filter: Slots<u32>,
    /// Tables of routes that sessions need, by [`ReferencedTable::slot`].
    pub vrfs: Slots<TableIndex>,
    /// Nodes that sessions lead to by index.
    pub links: Links,
    /// Sessions of all tables.
    pub total: Arc<AtomicUsize>,
    /// Wakes [`Sweeper`](crate::sweep::Sweeper).
    pub signal: Signal,
    control: Mutex<Control>,
}

impl Shared for Classifier {
    fn make(world: &World) -> Self {
        let qsbr = || world.qsbr.clone();
        Self {
            tables: Slots::new(qsbr()),
            l2_acl: [Slots::new(qsbr()), Slots::new(qsbr())],
            l2_classify: [Slots::new(qsbr()), Slots::new(qsbr())],
            capture_filters: Slots::new(qsbr()),
            trace_filter: Slots::new(qsbr()),
            vrfs: Slots::new(qsbr()),
            links: Links::new(world),
            total: Arc::default(),
            signal: world.processes.signal(),
            control: Mutex::default(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.forget_interface(world, *sw_if);
        }
    }
}

impl Classifier {
    pub(crate) fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("no panic inside")
    }
}
