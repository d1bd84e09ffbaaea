// SPDX-License-Identifier: Apache-2.0
//! A server's side of the handshake.

use super::{End, Init, Link, MAX_LOG2, MAX_REGION, MAX_RING, Message, RingInfo, VERSION};
use crate::io::{Event, Region, Ring};
use mem::Wake;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Bytes of all regions of a connection at most, as many as one of our clients can have: a page of
/// a peer's file that is read first by this process is charged to this process.
const MAX_MEMORY: u64 = 4 << 30;

/// The answer to a message.
pub enum Reply {
    /// [`Message::Ack`].
    Ack,
    /// The connection is complete: [`Message::Connected`].
    Connected(Box<Link>),
}

/// A connection that a listener has accepted.
#[derive(Default)]
pub struct Server {
    init: bool,
    memory: u64,
    regions: Vec<Arc<Region>>,
    s2m: Vec<RingInfo>,
    m2s: Vec<RingInfo>,
    complete: bool,
    /// Raised when the client takes memory away.
    wake: Option<Wake>,
}

impl Server {
    /// A new one. `wake` is raised when the client takes memory away that was mapped.
    pub fn new(wake: Option<Wake>) -> Self {
        Self { wake, ..Self::default() }
    }

    /// Takes the next message. `accept` says whether there is such an interface, or why not.
    ///
    /// # Errors
    /// The connection ends.
    pub fn step(
        &mut self,
        message: Message,
        fd: Option<OwnedFd>,
        accept: impl FnOnce(&Init) -> Result<(), String>,
    ) -> Result<Reply, End> {
        match message {
            Message::Disconnect { text, .. } => return Err(End::Peer(text.0)),
            _ if self.complete => return Err(End::refuse("unexpected message: connected already")),
            Message::Init(init) if !self.init => {
                if init.version != VERSION {
                    return Err(End::Silent(format!("version {:#06x} isn't 2.0", init.version)));
                }
                accept(&init).map_err(End::Refuse)?;
                self.init = true;
            }
            Message::AddRegion { index, size } if self.init => self.add_region(index, size, fd)?,
            Message::AddRing { .. } if self.init => self.add_ring(&message, fd)?,
            Message::Connect(name) if self.init => return self.connect(name.0),
            _ => return Err(End::refuse("unexpected message")),
        }
        Ok(Reply::Ack)
    }

    fn add_region(&mut self, index: u16, size: u64, fd: Option<OwnedFd>) -> Result<(), End> {
        if usize::from(index) != self.regions.len() || index > MAX_REGION {
            return Err(End::refuse("invalid region index"));
        }
        let fd = fd.ok_or_else(|| End::refuse("missing memory region fd"))?;
        self.memory = self.memory.saturating_add(size);
        if self.memory > MAX_MEMORY {
            return Err(End::refuse("regions are longer than 4 GiB"));
        }
        let region = Region::open(fd, size, self.wake.clone());
        let region = region.map_err(|error| End::Refuse(error.to_string()))?;
        self.regions.push(Arc::new(region));
        Ok(())
    }

    fn add_ring(&mut self, message: &Message, fd: Option<OwnedFd>) -> Result<(), End> {
        let Message::AddRing { s2m, index, region, offset, log2, private } = *message else {
            return Err(End::refuse("unexpected message"));
        };
        let rings = if s2m { &mut self.s2m } else { &mut self.m2s };
        if usize::from(index) != rings.len() || index > MAX_RING {
            return Err(End::refuse("invalid ring index"));
        }
        if log2 > MAX_LOG2 {
            return Err(End::refuse("ring is larger than 2^14"));
        }
        if private != 0 {
            return Err(End::refuse("private headers of descriptors aren't supported"));
        }
        let fd = fd.ok_or_else(|| End::refuse("missing interrupt fd"))?;
        let memory = self
            .regions
            .get(usize::from(region))
            .ok_or_else(|| End::refuse("invalid region of ring"))?;
        let ring = Ring::new(memory.clone(), offset, log2)
            .ok_or_else(|| End::refuse("ring outside of its region"))?;
        let event = Arc::new(Event::open(fd).map_err(|error| End::Refuse(error.to_string()))?);
        rings.push(RingInfo { ring, region, offset, event, own: None });
        Ok(())
    }

    fn connect(&mut self, peer_interface: String) -> Result<Reply, End> {
        if !self.s2m.iter().chain(&self.m2s).all(|info| info.ring.is_marked()) {
            return Err(End::refuse("wrong cookie of a ring"));
        }
        self.complete = true;
        let (s2m, m2s) = (std::mem::take(&mut self.s2m), std::mem::take(&mut self.m2s));
        let regions = std::mem::take(&mut self.regions).into();
        Ok(Reply::Connected(Box::new(Link { regions, s2m, m2s, peer_interface })))
    }
}
