// SPDX-License-Identifier: Apache-2.0
//! A client's side of the handshake.

use super::message::SECRET;
use super::{End, Hello, Init, Link, Message, PROGRAM, RingInfo, VERSION};
use crate::io::{Event, Layout, Region, Ring};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// The parameters that a client asks for.
#[derive(Clone, Debug)]
pub struct RequestedParameters {
    /// Number of the interface on the socket.
    pub id: u32,
    /// 0: Ethernet frames, 1: IP packets.
    pub mode: u8,
    /// The secret; zeros for none.
    pub secret: [u8; SECRET],
    /// Rings to the server and from it, and buffers. A server that takes less gets less.
    pub layout: Layout,
    /// Name of the interface.
    pub interface: String,
}

/// The file descriptor that goes with a message.
enum AttachedFd {
    Nothing,
    Region,
    Event(Arc<Event>),
}

/// A client's connection until it is complete.
pub struct Client {
    requested: RequestedParameters,
    /// Messages that are still to be sent, each after the acknowledgement of the last.
    queue: VecDeque<(Message, AttachedFd)>,
    link: Option<Link>,
    /// The program at the other end.
    pub peer: String,
}

/// The next action of a client.
pub enum Step<'a> {
    /// Sends a message.
    Send(Message, Option<BorrowedFd<'a>>),
    /// The connection is complete.
    Connected(Box<Link>),
}

impl Client {
    /// One that waits for the server's first message.
    pub fn new(requested: RequestedParameters) -> Self {
        Self { requested, queue: VecDeque::new(), link: None, peer: String::new() }
    }

    /// Takes the next message.
    ///
    /// # Errors
    /// The connection ends.
    pub fn step(&mut self, message: Message) -> Result<Step<'_>, End> {
        match message {
            Message::Disconnect { text, .. } => Err(End::Peer(text.0)),
            Message::Hello(hello) if self.link.is_none() => {
                self.prepare(&hello)?;
                self.send()
            }
            Message::Ack if !self.queue.is_empty() => self.send(),
            Message::Connected(name) if self.link.is_some() && self.queue.is_empty() => {
                let mut link = self.link.take().ok_or_else(|| End::refuse("unexpected message"))?;
                link.peer_interface = name.0;
                Ok(Step::Connected(Box::new(link)))
            }
            _ => Err(End::refuse("unexpected message")),
        }
    }

    fn send(&mut self) -> Result<Step<'_>, End> {
        let (message, with) =
            self.queue.pop_front().ok_or_else(|| End::refuse("unexpected message"))?;
        let link = self.link.as_ref();
        let fd = match with {
            AttachedFd::Nothing => None,
            AttachedFd::Region => {
                link.and_then(|link| link.regions.first()).map(|region| region.as_fd())
            }
            AttachedFd::Event(event) => {
                let rings = link.into_iter().flat_map(|link| link.s2m.iter().chain(&link.m2s));
                rings
                    .map(|info| &info.event)
                    .find(|e| Arc::ptr_eq(e, &event))
                    .map(|event| event.as_fd())
            }
        };
        Ok(Step::Send(message, fd))
    }

    /// Makes the memory that fits both ends, and the messages that describe it.
    fn prepare(&mut self, hello: &Hello) -> Result<(), End> {
        if !(hello.min_version..=hello.max_version).contains(&VERSION) {
            let text = format!(
                "the server speaks {:#06x} to {:#06x}",
                hello.min_version, hello.max_version
            );
            return Err(End::Silent(text));
        }
        self.peer.clone_from(&hello.name.0);
        let asked = self.requested.layout;
        let layout = Layout {
            s2m: asked.s2m.min(hello.max_s2m.saturating_add(1)),
            m2s: asked.m2s.min(hello.max_m2s.saturating_add(1)),
            log2: asked.log2.min(hello.max_log2),
            ..asked
        };
        let failed = |error: std::io::Error| End::Silent(format!("shared memory: {error}"));
        let len =
            layout.len().ok_or_else(|| End::Silent("rings and buffers exceed 4 GiB".into()))?;
        let memory = Arc::new(Region::create(len).map_err(failed)?);
        let mut rings = Vec::new();
        for number in 0..layout.s2m + layout.m2s {
            let offset = layout.ring(number);
            let ring = Ring::new(memory.clone(), offset, layout.log2);
            let ring = ring.ok_or_else(|| End::Silent("a ring doesn't fit".into()))?;
            ring.init();
            let event = Arc::new(Event::new().map_err(failed)?);
            rings.push(RingInfo {
                ring,
                region: 0,
                offset,
                event,
                own: Some(layout.buffers(number)),
            });
        }
        let m2s = rings.split_off(layout.s2m.into());
        let RequestedParameters { id, mode, secret, .. } = self.requested;
        let init = Init { version: VERSION, id, mode, secret, name: PROGRAM.into() };
        self.queue.push_back((Message::Init(init), AttachedFd::Nothing));
        self.queue
            .push_back((Message::AddRegion { index: 0, size: len as u64 }, AttachedFd::Region));
        for (s2m, rings) in [(true, &rings), (false, &m2s)] {
            for (index, RingInfo { offset, event, .. }) in (0..).zip(rings) {
                let (region, offset, log2) = (0, *offset, layout.log2);
                let message = Message::AddRing { s2m, index, region, offset, log2, private: 0 };
                self.queue.push_back((message, AttachedFd::Event(event.clone())));
            }
        }
        self.queue.push_back((
            Message::Connect(self.requested.interface.as_str().into()),
            AttachedFd::Nothing,
        ));
        let regions = vec![memory].into();
        self.link = Some(Link { regions, s2m: rings, m2s, peer_interface: String::new() });
        Ok(())
    }
}
