// SPDX-License-Identifier: Apache-2.0
//! The process `punt-socket`: writes packets to clients' sockets, and reads the packets that they
//! send.

use crate::state::{Destination, Key, Matched, Punt, PuntedPacket};
use buffer::{Buffer, Flags, Owned};
use graph::{Process, Sleep, SwIfIndex, ThreadIndex, Wake, World};
use net::{IfKind, Interfaces};
use std::io::{self, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::{Header, IpHeader, Ipv4Header, Ipv6Header, TcpHeader, UdpHeader, UpperLayer};

/// Interface and action, in the host's byte order, in front of every packet (VPP's
/// `punt_packetdesc`).
pub const DESCRIPTOR: usize = 8;
/// Actions of clients.
const LAYER2: u32 = 0;
const IP4_ROUTED: u32 = 1;
const IP6_ROUTED: u32 = 2;

/// Maximum length of a frame in bytes.
const LONGEST: usize = 65_535 + 64;
/// Number of packets read from clients in one turn.
const TURN: usize = 256;
/// Maximum length of a layer-2 header: a mark further in front was set by other code.
const LAYER2_MAX: usize = 64;

/// The socket that clients send to.
struct Server {
    socket: UnixDatagram,
    path: PathBuf,
}

struct PuntSocket {
    punt: Arc<Punt>,
    client: Option<UnixDatagram>,
    server: Option<Server>,
    bytes: Vec<u8>,
}

/// Receives the packets that clients send to a socket bound to `path`. Access rights, and removal
/// of the path, are the caller's.
///
/// # Errors
/// Errors of the operating system.
pub fn serve(world: &World, socket: UnixDatagram, path: &Path) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    let punt = world.get::<Punt>();
    world.processes.watch(&socket, &punt.signal)?;
    *punt.server.lock().expect("no panic inside") = Some(path.to_path_buf());
    *world.get::<Bound>().0.lock().expect("no panic inside") =
        Some(Server { socket, path: path.to_path_buf() });
    punt.signal.raise();
    Ok(())
}

/// A socket handed to the process.
#[derive(Default)]
pub struct Bound(std::sync::Mutex<Option<Server>>);

impl graph::Shared for Bound {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

pub fn start(world: &World) {
    let punt: Arc<Punt> = world.get();
    let signal = punt.signal.clone();
    let process = PuntSocket { punt, client: None, server: None, bytes: Vec::new() };
    world.processes.spawn(Box::new(process), &signal);
}

fn one_more(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Process for PuntSocket {
    fn name(&self) -> &'static str {
        "punt-socket"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        if let Some(server) = world.get::<Bound>().0.lock().expect("no panic inside").take() {
            self.server = Some(server);
        }
        let punt = self.punt.clone();
        punt.drain(|parcel| self.deliver(world, parcel));
        if self.receive(world) == TURN {
            // The rest in a further turn.
            punt.signal.raise();
        }
        Sleep::Event
    }
}

impl PuntSocket {
    /// Writes a packet to its client.
    fn deliver(&mut self, world: &World, parcel: PuntedPacket) {
        let Some(path) = self.client_of(&parcel) else {
            return one_more(&self.punt.counts.refused);
        };
        let mut b = parcel.packet;
        // No code behind the socket finishes a checksum that a sender left to hardware.
        ip::finish_checksum(&mut b);
        if has_layer2(world, &b) {
            let len = b.l2_len();
            // A received packet is behind its layer-2 header.
            let back = len <= LAYER2_MAX && b.rewind(len);
            debug_assert!(back || len > LAYER2_MAX);
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(&b.rx_if.to_ne_bytes());
        self.bytes.extend_from_slice(&LAYER2.to_ne_bytes());
        self.bytes.extend(b.segments().flatten());
        match self.send(&path) {
            Ok(_) => one_more(&self.punt.counts.sent),
            Err(e) => {
                one_more(&self.punt.counts.refused);
                log::debug!(target: "punt", "{}: {e}", path.display());
            }
        }
    }

    fn send(&mut self, path: &Path) -> io::Result<usize> {
        let socket = match self.client.take() {
            Some(socket) => socket,
            None => {
                let socket = UnixDatagram::unbound()?;
                socket.set_nonblocking(true)?;
                socket
            }
        };
        self.client.insert(socket).send_to(&self.bytes, path)
    }

    /// Returns the socket of the client registered for a packet.
    fn client_of(&self, parcel: &PuntedPacket) -> Option<PathBuf> {
        let v6 = parcel.v6;
        let data = parcel.packet.data();
        let upper = UpperLayer::find(data).ok();
        let udp = || UdpHeader::view_at(data, upper?.offset).map(|udp| udp.dst_port.get());
        let tcp = || TcpHeader::view_at(data, upper?.offset).map(|tcp| tcp.dst_port.get());
        let keys = match parcel.matched {
            Matched::Udp => [Key::Udp { v6, port: udp() }, Key::Udp { v6, port: None }],
            Matched::Tcp => [Key::Tcp { v6, port: tcp() }, Key::Tcp { v6, port: None }],
            Matched::Protocol => [Key::Protocol { v6, protocol: upper?.protocol.0 }; 2],
            Matched::Reason(id) => [Key::Reason(id); 2],
        };
        let registrations = self.punt.registrations();
        keys.iter().find_map(|key| match registrations.get(key) {
            Some(Destination::Socket(path)) => Some(path.clone()),
            _ => None,
        })
    }

    /// Reads packets from clients; returns their number.
    fn receive(&mut self, world: &World) -> usize {
        let Some(server) = &self.server else { return 0 };
        let mut bytes = vec![0; LONGEST + DESCRIPTOR];
        for n in 0..TURN {
            match server.socket.recv(&mut bytes) {
                Ok(len) => match inject(world, &bytes[..len]) {
                    Some(()) => one_more(&self.punt.counts.received),
                    None => one_more(&self.punt.counts.malformed),
                },
                Err(e) if e.kind() == ErrorKind::WouldBlock => return n,
                Err(e) => {
                    log::warn!(target: "punt", "{}: {e}", server.path.display());
                    return n;
                }
            }
        }
        TURN
    }
}

/// Returns true if the packet was received with a layer-2 header.
fn has_layer2(world: &World, b: &Buffer) -> bool {
    let ethernet =
        |sw_if| world.get::<Interfaces>().get(sw_if).is_ok_and(|i| i.kind == IfKind::Ethernet);
    !b.flags.contains(Flags::LOCAL) && ethernet(SwIfIndex(b.rx_if))
}

/// Injects a client's packet into the graph; `None` if it is malformed.
fn inject(world: &World, bytes: &[u8]) -> Option<()> {
    let (head, packet) = bytes.split_first_chunk::<DESCRIPTOR>()?;
    let word = |at: usize| head[at..].first_chunk().map(|w| u32::from_ne_bytes(*w));
    let (sw_if, action) = (word(0)?, word(4)?);
    let interface = world.get::<Interfaces>().get(SwIfIndex(sw_if)).ok()?;
    let (node, len) = match action {
        LAYER2 if !packet.is_empty() => (interface.output, packet.len()),
        IP4_ROUTED => {
            let ip =
                Ipv4Header::view(packet).filter(|ip| ip.version() == 4 && ip.header_len() >= 20)?;
            (world.node("ip4-lookup")?, whole(ip.header_len(), ip.packet_len(), packet)?)
        }
        IP6_ROUTED => {
            let ip = Ipv6Header::view(packet).filter(|ip| ip.version() == 6)?;
            (world.node("ip6-lookup")?, whole(ip.header_len(), ip.packet_len(), packet)?)
        }
        _ => return None,
    };
    let (packet, routed) = (packet[..len].to_vec(), action != LAYER2);
    world.on_thread(ThreadIndex(0), move |rt| {
        // Without a buffer the packet is lost; the pool counts it.
        let Some(mut b) = rt.cache().alloc() else { return };
        if !b.append_bytes(&packet, rt.cache()) {
            return rt.cache().free(b);
        }
        address(&mut b, sw_if, routed);
        rt.inject(node, b);
    });
    Some(())
}

fn address(b: &mut Owned, sw_if: u32, routed: bool) {
    b.flags.insert(Flags::LOCAL);
    if routed {
        b.rx_if = sw_if;
    } else {
        (b.rx_if, b.tx_if) = (0, sw_if);
    }
}

/// Returns the length of a packet, if all of it is there.
fn whole(header: usize, total: usize, packet: &[u8]) -> Option<usize> {
    (header <= total && total <= packet.len()).then_some(total)
}
