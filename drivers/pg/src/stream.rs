// SPDX-License-Identifier: Apache-2.0
//! A stream: what is sent, how much of it, how fast, from where.

use crate::offload::StreamOffloads;
use crate::packets::Packets;
use crate::template::Template;
use graph::{NodeIndex, SwIfIndex, ThreadIndex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// The source of a stream's packets.
#[derive(Clone, Debug)]
pub enum Source {
    /// A capture file's packets, one after the other.
    Packets(Arc<Packets>),
    /// Made from a text.
    Template(Arc<Template>),
}

impl Source {
    /// The limit of a new stream. Without one, or with 0, a file is sent once, and packets from a
    /// text without end.
    pub fn limit_of(&self, given: Option<u64>) -> u64 {
        let once = match self {
            Self::Packets(all) => all.len() as u64,
            Self::Template(_) => 0,
        };
        given.filter(|limit| *limit > 0).unwrap_or(once)
    }
}

/// The user's settings of a stream.
#[derive(Clone, Debug)]
pub struct StreamSpec {
    /// Its name.
    pub name: String,
    /// Packets to send; 0 for no end.
    pub limit: u64,
    /// Packets a second; 0 for as many as the graph takes.
    pub rate: f64,
    /// Packets that wait while the graph is behind with a rate, as in a device's ring; packets due
    /// beyond are lost. 0: all wait.
    pub queue: u64,
    /// Packets of a vector at most.
    pub max_frame: usize,
    /// Bytes of a packet: the lowest and the highest; from a text only.
    pub size: (usize, usize),
    /// The interface that the packets come in by.
    pub interface: SwIfIndex,
    /// The node that they go to.
    pub node: NodeIndex,
    /// That node is `ethernet-input`: the `device-input` arc comes first.
    pub from_device: bool,
    /// Packets begin with an IP header; else with an Ethernet header.
    pub ip: bool,
    /// The work that they leave undone.
    pub marks: StreamOffloads,
    /// The interface that they are to leave by, for nodes that ask the packet.
    pub tx: Option<SwIfIndex>,
    /// The thread that makes them.
    pub thread: ThreadIndex,
    /// Source of the packets.
    pub source: Source,
    /// The same in the operator's words: `pcap FILE` or `data { … }`.
    pub words: String,
}

/// A stream, shared between control and the thread that runs it.
#[derive(Debug)]
pub struct Stream {
    /// The user's settings.
    pub spec: StreamSpec,
    /// True while it shall run; the thread clears it when the limit is reached.
    pub enabled: AtomicBool,
    /// Packets sent since it was enabled.
    pub sent: AtomicU64,
    /// Packets that were due and found the queue full.
    pub lost: AtomicU64,
    /// True if the interface's MAC filter is on.
    pub filter: Arc<AtomicBool>,
}
