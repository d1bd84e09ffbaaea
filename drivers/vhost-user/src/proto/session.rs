// SPDX-License-Identifier: Apache-2.0
//! The state that a front-end's messages set: features, memory, rings.

use super::{End, Features, MAX_PAIRS, Message, Protocol, Reply, Request};
use crate::io::{
    Event, Format, Inflight, InflightInfo, Log, Memory, Position, Queue, QueueConfig, Region,
    RegionInfo, RingAddresses, Start, Vring, inflight_bytes,
};
use mem::Wake;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Rings at most.
const MAX_RINGS: u32 = 2 * MAX_PAIRS as u32;

/// Event by which a guest wakes this end.
#[derive(Clone)]
enum Kick {
    /// Not known: the ring can't start.
    Unset,
    /// Not at all: the ring is polled.
    Polled,
    Event(Arc<Event>),
}

/// Settings of a ring, as far as a front-end has made them.
struct Ring {
    vring: Arc<Vring>,
    size: Option<u16>,
    addresses: Option<RingAddresses>,
    base: Option<u32>,
    kick: Kick,
    call: Option<Arc<Event>>,
    enabled: bool,
    started: bool,
}

/// The result of a message.
#[derive(Default, Debug)]
pub struct Step {
    /// To be sent.
    pub reply: Option<Reply>,
    /// The reply has this descriptor.
    pub fd: Option<OwnedFd>,
    /// Rings were started, stopped, enabled or disabled.
    pub changed: bool,
}

impl Step {
    fn reply(reply: Reply) -> Result<Self, End> {
        Ok(Self { reply: Some(reply), ..Self::default() })
    }
}

const CHANGED: Step = Step { reply: None, fd: None, changed: true };

/// A connection to a front-end.
pub struct Session {
    offered: Features,
    features: Features,
    protocol: Protocol,
    memory: Option<Arc<Memory>>,
    /// Used while the features have LOG_ALL.
    log: Option<Arc<Log>>,
    /// The log of chains in flight.
    inflight: Option<Arc<Inflight>>,
    rings: Vec<Ring>,
    /// Raised when the front-end takes memory away.
    wake: Option<Wake>,
}

impl Session {
    /// A new one, whose guest may use these features. `pairs` of its rings are there from the
    /// start, so that queues of an earlier connection stay where they were placed. `wake` is raised
    /// when the front-end takes memory away that was mapped.
    ///
    /// # Errors
    /// No descriptor is left for the rings.
    pub fn new(offered: Features, pairs: u16, wake: Option<Wake>) -> Result<Self, End> {
        let mut session = Self {
            offered,
            features: Features::default(),
            protocol: Protocol::default(),
            memory: None,
            log: None,
            inflight: None,
            rings: Vec::new(),
            wake,
        };
        if let Some(last) = u32::from(pairs.min(MAX_PAIRS)).checked_sub(1) {
            session.ring(2 * last + 1)?;
        }
        Ok(session)
    }

    /// The features in use.
    pub fn features(&self) -> Features {
        self.features
    }

    /// The features of the protocol in use.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The guest's memory.
    pub fn memory(&self) -> Option<&Arc<Memory>> {
        self.memory.as_ref()
    }

    /// The log of chains in flight.
    pub fn inflight(&self) -> Option<&Arc<Inflight>> {
        self.inflight.as_ref()
    }

    /// Memory that the front-end has taken away, if it has.
    pub fn lost_memory(&self) -> Option<String> {
        if self.inflight.as_ref().is_some_and(|log| log.is_broken()) {
            return Some("inflight log".to_string());
        }
        self.memory.as_ref()?.broken()
    }

    /// The rings: a pair for each queue, first that by which the guest receives.
    pub fn vrings(&self) -> Vec<Arc<Vring>> {
        self.rings.iter().map(|ring| ring.vring.clone()).collect()
    }

    /// Stops all rings: the connection has ended.
    pub fn close(&mut self) {
        self.rings.iter().for_each(|ring| {
            ring.vring.stop();
        });
    }

    /// Carries a message out. The descriptors are as many as the message has to have.
    ///
    /// # Errors
    /// The connection ends.
    pub fn step(&mut self, message: &Message, fds: Vec<OwnedFd>) -> Result<Step, End> {
        let step = self.carry_out(message, fds).map_err(|End(text)| {
            // The reason begins with the name of the message.
            End(format!("{}: {text}", message.kind.name()))
        })?;
        if step.reply.is_none()
            && message.needs_reply
            && self.protocol.contains(Protocol::REPLY_ACK)
        {
            return Ok(Step { reply: Some(Reply::Word(0)), ..step });
        }
        Ok(step)
    }

    fn carry_out(&mut self, message: &Message, fds: Vec<OwnedFd>) -> Result<Step, End> {
        let fd = |fds: Vec<OwnedFd>| fds.into_iter().next();
        match &message.request {
            Request::GetFeatures => Step::reply(Reply::Word(self.offered.bits())),
            Request::SetFeatures(bits) => self.set_features(Features::from_bits_retain(*bits)),
            Request::GetProtocolFeatures => Step::reply(Reply::Word(Protocol::OFFERED.bits())),
            Request::SetProtocolFeatures(bits) => {
                if bits & !Protocol::OFFERED.bits() != 0 {
                    let offered = Protocol::OFFERED.bits();
                    return Err(End(format!("{bits:#x}, but {offered:#x} is offered")));
                }
                self.protocol = Protocol::from_bits_retain(*bits);
                Ok(Step::default())
            }
            Request::GetQueueNum => Step::reply(Reply::Word(MAX_PAIRS.into())),
            // These are noted, and their descriptors are closed.
            Request::SetOwner
            | Request::ResetOwner
            | Request::SetLogFd
            | Request::SetVringErr { .. } => Ok(Step::default()),
            Request::SetLogBase { size, offset } => self.set_log(fd(fds), *size, *offset),
            Request::GetInflightFd { queues, queue_size, padded } => {
                self.make_inflight(*queues, *queue_size, *padded)
            }
            Request::SetInflightFd(info) => self.set_inflight(fd(fds), *info),
            Request::SetMemTable(regions) => self.set_memory(regions, fds),
            Request::SetVringNum { index, num } => {
                let ring = self.stopped(*index)?;
                let size = u16::try_from(*num).ok().filter(|size| (1..=32_768).contains(size));
                let size = size.ok_or_else(|| End(format!("{num} descriptors: 1 to 32768")))?;
                ring.size = Some(size);
                self.restart(*index as usize)
            }
            Request::SetVringAddr { index, desc, used, avail } => {
                let addresses = RingAddresses { desc: *desc, driver: *avail, device: *used };
                self.ring(*index)?.addresses = Some(addresses);
                // It may move while it is used, but stays where it was in its round.
                self.restart(*index as usize)
            }
            Request::SetVringBase { index, num } => {
                self.stopped(*index)?.base = Some(*num);
                Ok(Step::default())
            }
            Request::GetVringBase { index } => {
                let num = self.stop(*index)?;
                Ok(Step { reply: Some(Reply::Base { index: *index, num }), ..CHANGED })
            }
            Request::SetVringKick { index, .. } => {
                let kick = match fd(fds) {
                    Some(fd) => Kick::Event(event(fd)?),
                    None => Kick::Polled,
                };
                self.ring(*index)?.kick = kick;
                self.restart(*index as usize)
            }
            Request::SetVringCall { index, .. } => {
                let call = fd(fds).map(event).transpose()?;
                let ring = self.ring(*index)?;
                ring.call.clone_from(&call);
                ring.vring.set_call(call);
                Ok(Step::default())
            }
            Request::SetVringEnable { index, enable } => {
                let ring = self.ring(*index)?;
                ring.enabled = *enable;
                self.enable();
                Ok(CHANGED)
            }
        }
    }

    fn set_features(&mut self, features: Features) -> Result<Step, End> {
        if features.bits() & !self.offered.bits() != 0 {
            return Err(End(format!("{features}, but {} is offered", self.offered)));
        }
        let change = features.bits() ^ self.features.bits();
        if change & !Features::LOG_ALL.bits() != 0 && self.rings.iter().any(|ring| ring.started) {
            return Err(End::new("features change while rings are used"));
        }
        self.features = features;
        self.enable();
        if change & Features::LOG_ALL.bits() != 0 {
            self.use_log()?;
        }
        Ok(CHANGED)
    }

    /// The log is mapped while its front-end waits for the reply.
    fn set_log(&mut self, fd: Option<OwnedFd>, size: u64, offset: u64) -> Result<Step, End> {
        if !self.protocol.contains(Protocol::LOG_SHMFD) {
            return Err(End::new("VHOST_USER_PROTOCOL_F_LOG_SHMFD isn't agreed on"));
        }
        let fd = fd.ok_or_else(|| End::new("no descriptor"))?;
        let log = Log::open(fd, size, offset, self.wake.clone());
        self.log = Some(Arc::new(log.map_err(|e| End(e.to_string()))?));
        self.use_log()?;
        Ok(Step { reply: Some(Reply::Word(0)), ..CHANGED })
    }

    fn format(&self) -> Format {
        let is_packed = self.features.contains(Features::RING_PACKED);
        if is_packed { Format::Packed } else { Format::Split }
    }

    /// Checks numbers of a log of chains in flight; returns the bytes that it needs.
    fn inflight_bytes(&self, queues: u16, queue_size: u16) -> Result<u64, End> {
        if !self.protocol.contains(Protocol::INFLIGHT_SHMFD) {
            return Err(End::new("VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD isn't agreed on"));
        }
        if queues == 0 || u32::from(queues) > MAX_RINGS {
            return Err(End(format!("{queues} rings: 1 to {MAX_RINGS}")));
        }
        if queue_size == 0 || queue_size > 32_768 {
            return Err(End(format!("{queue_size} descriptors: 1 to 32768")));
        }
        Ok(inflight_bytes(self.format(), queues, queue_size))
    }

    /// The file of an empty log. The front-end keeps it; this end takes one into use when it comes
    /// back.
    fn make_inflight(&self, queues: u16, queue_size: u16, padded: bool) -> Result<Step, End> {
        let size = self.inflight_bytes(queues, queue_size)?;
        let fd = Inflight::make(size).map_err(|e| End(e.to_string()))?;
        let info = InflightInfo { size, offset: 0, queues, queue_size };
        Ok(Step { reply: Some(Reply::Inflight { info, padded }), fd: Some(fd), changed: false })
    }

    fn set_inflight(&mut self, fd: Option<OwnedFd>, info: InflightInfo) -> Result<Step, End> {
        let need = self.inflight_bytes(info.queues, info.queue_size)?;
        if info.size < need {
            return Err(End(format!("the inflight log has {} bytes, it needs {need}", info.size)));
        }
        if !info.offset.is_multiple_of(8) {
            let offset = info.offset;
            return Err(End(format!("the offset of the inflight log, {offset}, isn't aligned")));
        }
        if self.rings.iter().any(|ring| ring.started) {
            return Err(End::new("the inflight log changes while rings are used"));
        }
        let fd = fd.ok_or_else(|| End::new("no descriptor"))?;
        let log = Inflight::open(fd, info, self.wake.clone());
        self.inflight = Some(log.map_err(|e| End(e.to_string()))?);
        Ok(Step::default())
    }

    /// Takes rings and log into use together: from here on, all that is written is noted.
    fn use_log(&mut self) -> Result<(), End> {
        let log = self.log.clone().filter(|_| self.features.contains(Features::LOG_ALL));
        if let Some(memory) = &self.memory {
            self.memory = Some(memory.with_log(log).map_err(End::new)?);
        }
        (0..self.rings.len()).try_for_each(|index| self.restart(index).map(|_| ()))
    }

    /// Without the feature by which rings are enabled, all of them are.
    fn enable(&self) {
        let all = !self.features.contains(Features::PROTOCOL_FEATURES);
        self.rings.iter().for_each(|ring| ring.vring.enable(all || ring.enabled));
    }

    fn set_memory(&mut self, regions: &[RegionInfo], fds: Vec<OwnedFd>) -> Result<Step, End> {
        let mapped = regions.iter().zip(fds);
        let mapped = mapped.map(|(info, fd)| Region::open(fd, *info, self.wake.clone()));
        let mapped = mapped.collect::<Result<Vec<_>, _>>().map_err(|e| End(e.to_string()))?;
        self.memory = Some(Memory::new(mapped).map_err(End::new)?);
        self.use_log()?;
        Ok(CHANGED)
    }

    /// The ring of this index, made if it is the first time that one hears of it.
    fn ring(&mut self, index: u32) -> Result<&mut Ring, End> {
        if index >= MAX_RINGS {
            return Err(End(format!("ring {index}: there are {MAX_RINGS} at most")));
        }
        let all = !self.features.contains(Features::PROTOCOL_FEATURES);
        while self.rings.len() <= index as usize {
            let vring = Vring::new().map_err(|e| End(e.to_string()))?;
            vring.enable(all);
            self.rings.push(Ring {
                vring,
                size: None,
                addresses: None,
                base: None,
                kick: Kick::Unset,
                call: None,
                enabled: false,
                started: false,
            });
        }
        Ok(&mut self.rings[index as usize])
    }

    fn stopped(&mut self, index: u32) -> Result<&mut Ring, End> {
        let ring = self.ring(index)?;
        if ring.started { Err(End::new("the ring is used")) } else { Ok(ring) }
    }

    /// Stops a ring; returns its base.
    fn stop(&mut self, index: u32) -> Result<u32, End> {
        let packed = self.features.contains(Features::RING_PACKED);
        let ring = self.ring(index)?;
        ring.vring.finish();
        if let Some(Position { next, done }) = ring.vring.stop() {
            // Of a packed ring, the upper half is where chains are given back.
            let done = if packed { u32::from(done) << 16 } else { 0 };
            ring.base = Some(u32::from(next) | done);
        }
        (ring.started, ring.kick) = (false, Kick::Unset);
        Ok(ring.base.unwrap_or(0))
    }

    /// Starts a ring if all is known of it, or starts it anew with what has changed.
    fn restart(&mut self, index: usize) -> Result<Step, End> {
        let (features, format) = (self.features, self.format());
        let (Some(memory), Some(ring)) = (&self.memory, self.rings.get_mut(index)) else {
            return Ok(Step::default());
        };
        let (Some(size), Some(addresses)) = (ring.size, ring.addresses) else {
            return Ok(Step::default());
        };
        let kick = match &ring.kick {
            Kick::Unset => return Ok(Step::default()),
            Kick::Polled => None,
            Kick::Event(event) => Some(event.clone()),
        };
        let config = QueueConfig {
            format,
            size,
            addresses,
            event_idx: features.contains(Features::EVENT_IDX),
            indirect: features.contains(Features::INDIRECT_DESC),
            mergeable: features.contains(Features::MRG_RXBUF),
            header: features.header(),
            offloads: features.has_guest_work(),
            ecn: features.contains(Features::GUEST_ECN),
        };
        let log = self.inflight.as_ref();
        let log = log.map(|log| log.ring(index, format, size)).transpose().map_err(End)?;
        // Chains are used in order, so both positions are the same at the start.
        let base = ring.base.map(|base| Position { next: base as u16, done: base as u16 });
        let make = |live| {
            let mut queue = Queue::new(memory.clone(), config, Start { live, log, base })?;
            queue.set_kick(kick);
            queue.set_call(ring.call.clone());
            Ok(queue)
        };
        ring.vring.start(make).map_err(End)?;
        ring.started = true;
        Ok(CHANGED)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}

fn event(fd: OwnedFd) -> Result<Arc<Event>, End> {
    Event::open(fd).map(Arc::new).map_err(|e| End(e.to_string()))
}
