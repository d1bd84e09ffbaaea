// SPDX-License-Identifier: Apache-2.0
//! The state of the packet generator: interfaces, streams, captures.

use crate::capture::{Backlog, Capture, Egress};
use crate::offload::Offloads;
use crate::stream::{Stream, StreamSpec};
use cli::Error;
use graph::{Deleted, Signal, SwIfIndex, World};
use msg::retval;
use net::{Interface, Interfaces};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// State that control, the threads and the writing process share.
pub struct Shared {
    pub backlog: Backlog,
    pub signal: Signal,
    inner: Mutex<Inner>,
}

/// The packet generator of an instance.
pub type Generator = Shared;

#[derive(Default)]
struct Inner {
    /// By name of the interface.
    interfaces: BTreeMap<String, PgInterface>,
    streams: Vec<Arc<Stream>>,
    captures: BTreeMap<SwIfIndex, Capture>,
    egress: BTreeMap<SwIfIndex, Egress>,
}

/// An interface of the packet generator.
#[derive(Clone)]
pub struct PgInterface {
    pub sw_if: SwIfIndex,
    pub mode: Mode,
    pub offloads: Offloads,
    /// It has a capture.
    pub capturing: Arc<AtomicBool>,
    /// Its MAC filter is on: read by the threads that run its streams.
    pub filter: Arc<AtomicBool>,
}

/// The kind of packets of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Ethernet frames.
    Ethernet,
    /// IPv4 packets.
    Ip4,
    /// IPv6 packets.
    Ip6,
}

impl Mode {
    /// Default next node of a stream's packets.
    pub fn node(self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet-input",
            Self::Ip4 => "ip4-input",
            Self::Ip6 => "ip6-input",
        }
    }
}

impl graph::Shared for Shared {
    fn make(world: &World) -> Self {
        let signal = world.processes.signal();
        Self {
            backlog: Backlog::new(world.processes.waker().clone(), world.pool),
            signal,
            inner: Mutex::default(),
        }
    }

    /// An interface's nodes go with it. Another interface gets its index and theirs, which streams
    /// must not name then.
    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        self.forget_interface(sw_if);
        if let Ok(Interface { output, tx, .. }) = world.get::<Interfaces>().get(sw_if) {
            self.forget_streams(|spec| {
                spec.interface == sw_if
                    || spec.tx == Some(sw_if)
                    || [output, tx].contains(&spec.node)
            });
        }
    }
}

impl Shared {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    pub(crate) fn find(&self, world: &World, name: &str) -> Result<PgInterface, Error> {
        // By index: the interface may have got another name since.
        let sw_if = world.get::<Interfaces>().find(name)?;
        let found = self.inner().interfaces.values().find(|i| i.sw_if == sw_if).cloned();
        found.ok_or_else(|| {
            Error::failed(format!("{name} is no packet generator's interface"))
                .retval(retval::INVALID_SW_IF_INDEX)
        })
    }

    /// All `pgN` interfaces with their modes and offloads.
    pub fn interfaces(&self) -> Vec<(SwIfIndex, Mode, Offloads)> {
        self.inner().interfaces.values().map(|i| (i.sw_if, i.mode, i.offloads)).collect()
    }

    /// Offloads of an interface; none of one that is no `pgN`.
    pub fn offloads(&self, sw_if: SwIfIndex) -> Offloads {
        let found = self.inner().interfaces.values().find(|i| i.sw_if == sw_if).map(|i| i.offloads);
        found.unwrap_or_default()
    }

    /// Returns true if an interface takes only frames for its own MAC address and for groups.
    pub fn filters(&self, sw_if: SwIfIndex) -> bool {
        self.inner()
            .interfaces
            .values()
            .any(|i| i.sw_if == sw_if && i.filter.load(Ordering::Relaxed))
    }

    /// Takes only frames for the interface's own MAC address and for groups, as a device does that
    /// filters, or all.
    ///
    /// # Errors
    /// Another interface, or one without Ethernet.
    pub fn set_filter(&self, world: &World, name: &str, on: bool) -> Result<(), Error> {
        let found = self.find(world, name)?;
        if found.mode != Mode::Ethernet {
            let why = format!("{name} carries no Ethernet frames");
            return Err(Error::unsupported(why).retval(retval::NON_ETHERNET));
        }
        found.filter.store(on, Ordering::Relaxed);
        Ok(())
    }

    /// Puts TCP segments together that an interface sends, or no longer.
    ///
    /// # Errors
    /// Another interface.
    pub fn set_coalescing(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<(), Error> {
        let found = self.find(world, &world.get::<Interfaces>().get(sw_if)?.name)?;
        self.write_out(world.clock.now());
        let mut inner = self.inner();
        let Inner { interfaces, captures, egress, .. } = &mut *inner;
        for interface in interfaces.values_mut().filter(|i| i.sw_if == found.sw_if) {
            interface.offloads.coalesce = on;
        }
        if let Some(egress) = egress.get_mut(&sw_if).filter(|_| !on) {
            egress.flush(None, captures.get_mut(&sw_if));
        }
        Ok(())
    }

    /// Mode of a `pgN` interface.
    ///
    /// # Errors
    /// Another interface.
    pub fn mode(&self, world: &World, name: &str) -> Result<(SwIfIndex, Mode), Error> {
        self.find(world, name).map(|i| (i.sw_if, i.mode))
    }

    /// Adds an interface.
    pub(crate) fn add(&self, name: &str, interface: PgInterface) {
        self.inner().interfaces.insert(name.to_string(), interface);
    }

    /// Forgets an interface that is being deleted, with its capture.
    fn forget_interface(&self, sw_if: SwIfIndex) {
        let mut inner = self.inner();
        inner.interfaces.retain(|_, interface| interface.sw_if != sw_if);
        inner.captures.remove(&sw_if);
        inner.egress.remove(&sw_if);
    }

    /// Ends streams, and forgets them.
    fn forget_streams(&self, gone: impl Fn(&StreamSpec) -> bool) {
        self.inner().streams.retain(|stream| {
            let stays = !gone(&stream.spec);
            if !stays {
                stream.enabled.store(false, Ordering::Release);
            }
            stays
        });
    }

    /// Adds a stream; it doesn't run yet. One of the same name makes room for it, as in VPP.
    pub fn add_stream(&self, spec: StreamSpec) -> Arc<Stream> {
        self.forget_streams(|old| old.name == spec.name);
        let mut inner = self.inner();
        let filter =
            inner.interfaces.values().find(|i| i.sw_if == spec.interface).map(|i| i.filter.clone());
        let stream = Arc::new(Stream {
            spec,
            filter: filter.unwrap_or_default(),
            enabled: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        });
        inner.streams.push(stream.clone());
        stream
    }

    /// A name for a stream that was given none.
    pub fn free_name(&self) -> String {
        let inner = self.inner();
        let mut names = (0..).map(|n| format!("stream{n}"));
        names.find(|name| inner.streams.iter().all(|s| s.spec.name != *name)).unwrap_or_default()
    }

    /// All streams.
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        self.inner().streams.clone()
    }

    pub(crate) fn named(&self, name: Option<&str>) -> Result<Vec<Arc<Stream>>, Error> {
        let all = self.streams();
        let Some(name) = name else { return Ok(all) };
        let found: Vec<_> = all.iter().filter(|s| s.spec.name == name).cloned().collect();
        if found.is_empty() {
            let names = all.iter().map(|s| s.spec.name.clone());
            let error = Error::not_found(format!("no stream is named `{name}'")).near(name, names);
            return Err(error.retval(retval::NO_SUCH_ENTRY));
        }
        Ok(found)
    }

    /// The stream of this name.
    ///
    /// # Errors
    /// A stream that doesn't exist.
    pub fn stream(&self, name: &str) -> Result<Arc<Stream>, Error> {
        Ok(self.named(Some(name))?.remove(0))
    }

    /// Stops a stream, or all.
    ///
    /// # Errors
    /// A stream that doesn't exist.
    pub fn disable(&self, name: Option<&str>) -> Result<(), Error> {
        for stream in self.named(name)? {
            stream.enabled.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Forgets a stream, or all.
    ///
    /// # Errors
    /// A stream that doesn't exist.
    pub fn delete(&self, name: Option<&str>) -> Result<(), Error> {
        for stream in self.named(name)? {
            stream.enabled.store(false, Ordering::Release);
            self.inner().streams.retain(|s| !Arc::ptr_eq(s, &stream));
        }
        Ok(())
    }

    /// Writes what an interface sends to a file.
    ///
    /// # Errors
    /// A file that exists or can't be made; a capture that runs already.
    pub fn capture(
        &self,
        world: &World,
        interface: &str,
        path: &Path,
        count: Option<u64>,
    ) -> Result<(), Error> {
        let interface = self.find(world, interface)?;
        self.write_out(world.clock.now());
        let mut inner = self.inner();
        if inner.captures.get(&interface.sw_if).is_some_and(|c| !c.is_done()) {
            return Err(Error::failed("a capture is running there: disable it first")
                .retval(retval::CANNOT_CREATE_PCAP_FILE));
        }
        let capture =
            Capture::new(path, count, interface.mode != Mode::Ethernet, interface.capturing)
                .map_err(|e| e.retval(retval::CANNOT_CREATE_PCAP_FILE))?;
        inner.captures.insert(interface.sw_if, capture);
        self.signal.raise();
        Ok(())
    }

    /// Ends an interface's capture, if it has one; what was sent so far is in the file.
    ///
    /// # Errors
    /// A capture that failed: why.
    pub fn end_capture(&self, world: &World, interface: &str) -> Result<(), Error> {
        let found = self.find(world, interface)?;
        self.write_out(world.clock.now());
        let capture = self.inner().captures.remove(&found.sw_if);
        let failure = capture.as_ref().and_then(Capture::failure);
        failure.map_or(Ok(()), |why| Err(Error::failed(why)))
    }

    /// Writes packets that were sent to the capture files.
    pub fn write_out(&self, now: u64) {
        self.drain(now, Some(now));
    }

    /// The same, also packets that are held to be coalesced with later ones.
    pub(crate) fn flush(&self, now: u64) {
        self.drain(now, None);
    }

    fn drain(&self, now: u64, due: Option<u64>) {
        let mut inner = self.inner();
        let Inner { interfaces, captures, egress, .. } = &mut *inner;
        while let Some((sw_if, buffer)) = self.backlog.take() {
            if let Some(i) = interfaces.values().find(|i| i.sw_if == sw_if) {
                let egress = egress.entry(sw_if).or_default();
                egress.send(
                    buffer,
                    i.mode != Mode::Ethernet,
                    i.offloads,
                    now,
                    captures.get_mut(&sw_if),
                );
            }
        }
        for (sw_if, egress) in egress {
            egress.flush(due, captures.get_mut(sw_if));
        }
        captures.values_mut().for_each(Capture::flush);
    }

    /// Interface, file, packets written, failure of each capture.
    pub fn captures(&self) -> Vec<(SwIfIndex, String, u64, Option<String>)> {
        let inner = self.inner();
        let row = |(i, c): (&SwIfIndex, &Capture)| {
            (*i, c.path.display().to_string(), c.written, c.failure().map(String::from))
        };
        inner.captures.iter().map(row).collect()
    }

    /// Threads on which no stream runs any more.
    pub(crate) fn idle_threads(&self, world: &World) -> Vec<graph::ThreadIndex> {
        let running: Vec<_> = self
            .streams()
            .iter()
            .filter(|s| s.enabled.load(Ordering::Acquire))
            .map(|s| s.spec.thread)
            .collect();
        (0..world.threads() as u16)
            .map(graph::ThreadIndex)
            .filter(|t| !running.contains(t))
            .collect()
    }
}
