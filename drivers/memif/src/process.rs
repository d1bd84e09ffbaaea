// SPDX-License-Identifier: Apache-2.0
//! `memif-process`: the control protocol. It never waits for a peer: sockets don't block,
//! connections that have not completed their handshake are few at each socket, and are closed after
//! a while.

use crate::control::{Accepted, Conn, Memifs, Side};
use crate::device::MemifDevice;
use crate::io::Role;
use crate::proto::{Channel, Client, End, Hello, Init, Message, Received, Reply, Server, Step};
use graph::{Process, Sleep, Wake, World};
use net::Interfaces;
use std::sync::Arc;

/// A client tries again after so many nanoseconds.
const RETRY: u64 = 3_000_000_000;
/// A handshake takes so many nanoseconds at most.
const PATIENCE: u64 = 5_000_000_000;
/// Unfinished handshakes of one socket.
const UNFINISHED: usize = 16;
/// Messages that are read from one connection in a turn.
const MESSAGES: usize = 64;
/// Connections that are accepted at one socket in a turn.
const ACCEPTS: usize = 16;

pub fn start(world: &World) -> Result<(), String> {
    let memifs = world.get::<Memifs>();
    let signal = memifs.waits.signal.clone();
    memifs.waits.start(world).map_err(|error| format!("memif: {error}"))?;
    world.processes.spawn(Box::new(MemifProcess(memifs)), &signal);
    Ok(())
}

struct MemifProcess(Arc<Memifs>);

impl Process for MemifProcess {
    fn name(&self) -> &'static str {
        "memif-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let memifs = &self.0;
        for token in memifs.waits.ready() {
            match Memifs::socket_of(token) {
                Some(socket) => accept(world, memifs, socket),
                None => serve(world, memifs, token),
            }
        }
        if memifs.waits.have_shrunk() {
            memifs.devices().iter().for_each(|device| lose_memory(world, memifs, device));
        }
        let now = world.clock.now();
        for token in memifs.late(now) {
            if let Some(conn) = memifs.take_conn(token) {
                end(world, memifs, conn, End::refuse("the handshake takes too long"));
            }
        }
        for device in memifs.devices() {
            let due = {
                let state = device.state();
                device.config.role == Role::Client
                    && state.up
                    && state.conn.is_none()
                    && state.retry <= now
            };
            if due {
                connect(memifs, &device, world, now);
            }
        }
        memifs.next(now).map_or(Sleep::Event, Sleep::Until)
    }
}

fn connect(memifs: &Memifs, device: &Arc<MemifDevice>, world: &World, now: u64) {
    device.state().retry = now + RETRY;
    let Some(address) = memifs.address(device.config.socket) else { return };
    // Nobody listens yet: it is tried again.
    let Ok(fd) = address.connect() else { return };
    let client = Client::new(device.wanted(world));
    let conn = Conn {
        channel: Channel::new(fd),
        socket: device.config.socket,
        side: Side::Client(Box::new(client)),
        device: Some(device.clone()),
        peer: String::new(),
        deadline: Some(now + PATIENCE),
    };
    match memifs.add_conn(conn) {
        Ok(token) => device.state().conn = Some(token),
        Err(error) => log::error!(target: "memif", "{address}: {error}"),
    }
}

fn accept(world: &World, memifs: &Memifs, socket: u32) {
    for _ in 0..ACCEPTS {
        let fd = match memifs.accept(socket, world.clock.now()) {
            Accepted::Socket(fd) => fd,
            Accepted::Nothing => return,
        };
        // The newest one has the place: silent clients keep no other out.
        if let Some(conn) =
            memifs.oldest_unfinished(socket, UNFINISHED).and_then(|token| memifs.take_conn(token))
        {
            end(world, memifs, conn, End::refuse("too many unfinished handshakes"));
        }
        let channel = Channel::new(fd);
        if channel.send(&Message::Hello(Hello::ours()), None).is_err() {
            continue;
        }
        let deadline = Some(world.clock.now() + PATIENCE);
        let wake = memifs.waits.wake().map(|event| event as mem::Wake);
        let side = Side::Server(Box::new(Server::new(wake)));
        let conn = Conn { channel, socket, side, device: None, peer: String::new(), deadline };
        if let Err(error) = memifs.add_conn(conn) {
            log::error!(target: "memif", "socket {socket}: {error}");
        }
    }
}

/// Reads what a peer has sent, and answers.
fn serve(world: &World, memifs: &Memifs, token: u64) {
    let Some(mut conn) = memifs.take_conn(token) else { return };
    for _ in 0..MESSAGES {
        let result = match conn.channel.receive() {
            Received::Nothing => break,
            Received::Closed => Err(End::Peer(String::new())),
            Received::Malformed(text) => Err(End::refuse(text)),
            Received::Message(message, fd) => match &conn.side {
                Side::Server(_) => serve_client(world, memifs, token, &mut conn, (message, fd)),
                Side::Client(_) => serve_server(world, &mut conn, message),
                Side::Complete => Err(match message {
                    Message::Disconnect { text, .. } => End::Peer(text.0),
                    _ => End::refuse("unexpected message"),
                }),
            },
        };
        if let Err(why) = result {
            return end(world, memifs, conn, why);
        }
    }
    memifs.put_conn(token, conn);
}

fn send(conn: &Conn, message: &Message) -> Result<(), End> {
    conn.channel.send(message, None).map_err(|error| End::Silent(error.to_string()))
}

type ReceivedMessage = (Message, Option<std::os::fd::OwnedFd>);

fn serve_client(
    world: &World,
    memifs: &Memifs,
    token: u64,
    conn: &mut Conn,
    got: ReceivedMessage,
) -> Result<(), End> {
    let Side::Server(server) = &mut conn.side else { return Ok(()) };
    let (socket, device, peer) = (conn.socket, &mut conn.device, &mut conn.peer);
    let answer = server.step(got.0, got.1, |init| {
        peer.clone_from(&init.name.0);
        *device = Some(admit(memifs, socket, init, token)?);
        Ok(())
    })?;
    match answer {
        Reply::Ack => send(conn, &Message::Ack),
        Reply::Connected(link) => {
            let Some(device) = conn.device.clone() else {
                return Err(End::refuse("unexpected message"));
            };
            let name =
                device.sw_if.get().map_or_else(String::new, |i| world.get::<Interfaces>().name(*i));
            // Packets pass before the client may send the first.
            complete(world, conn, &device, *link)?;
            send(conn, &Message::Connected(name.as_str().into()))
        }
    }
}

fn serve_server(world: &World, conn: &mut Conn, message: Message) -> Result<(), End> {
    let Side::Client(client) = &mut conn.side else { return Ok(()) };
    match client.step(message)? {
        Step::Send(message, fd) => {
            let sent =
                conn.channel.send(&message, fd).map_err(|error| End::Silent(error.to_string()));
            conn.peer.clone_from(&client.peer);
            sent
        }
        Step::Connected(link) => {
            let Some(device) = conn.device.clone() else {
                return Err(End::refuse("unexpected message"));
            };
            complete(world, conn, &device, *link)
        }
    }
}

fn complete(
    world: &World,
    conn: &mut Conn,
    device: &MemifDevice,
    link: crate::proto::Link,
) -> Result<(), End> {
    device.state().remote_name.clone_from(&conn.peer);
    (conn.side, conn.deadline) = (Side::Complete, None);
    device.connected(world, link).map_err(|error| End::refuse(error.to_string()))
}

/// Ends the connection of a peer that has made a file shorter which is mapped here. Zeros took the
/// place of its packets, maybe of its rings: nothing can go on.
fn lose_memory(world: &World, memifs: &Memifs, device: &MemifDevice) {
    let Some((token, region)) = device.lost_memory() else { return };
    let Some(conn) = memifs.take_conn(token) else { return };
    // A full tmpfs, or no huge page, is the other cause. A message has room for 95 bytes.
    let reason =
        format!("memory region {region} is gone: its file has shrunk, or no memory is left for it");
    log::warn!(target: "memif", "socket {}: {}: {reason}", conn.socket, conn.peer);
    device.state().memory_lost += 1;
    end(world, memifs, conn, End::Refuse(reason));
}

/// Finds the interface that a client wants.
fn admit(
    memifs: &Memifs,
    socket: u32,
    init: &Init,
    token: u64,
) -> Result<Arc<MemifDevice>, String> {
    let device = memifs.server(socket, init.id).ok_or("unmatched interface id")?;
    let mut state = device.state();
    if state.conn.is_some() {
        return Err("already connected".into());
    }
    if init.mode != device.config.mode.number() {
        return Err("mode mismatch".into());
    }
    let secret = device.config.secret_bytes();
    if secret[0] != 0 {
        if init.secret[0] == 0 {
            return Err("secret required".into());
        }
        // Behind the zero byte there may be anything.
        let theirs = init.secret.iter().scan(true, |text, byte| {
            *text &= *byte != 0;
            Some(if *text { *byte } else { 0 })
        });
        if theirs.zip(secret).fold(0, |all, (a, b)| all | (a ^ b)) != 0 {
            return Err("incorrect secret".into());
        }
    }
    state.conn = Some(token);
    drop(state);
    Ok(device)
}

/// Ends a connection, and notes why.
fn end(world: &World, memifs: &Memifs, conn: Conn, why: End) {
    let Conn { channel, device, peer, socket, .. } = conn;
    if let End::Refuse(text) = &why {
        // A peer that is gone needs no reason.
        let _ = channel.send(&Message::Disconnect { code: 0, text: text.as_str().into() }, None);
    }
    let Some(device) = device else {
        if let End::Refuse(text) | End::Silent(text) = why {
            log::info!(target: "memif", "socket {socket}: {peer} refused: {text}");
        }
        return;
    };
    {
        let mut state = device.state();
        match why {
            End::Refuse(text) | End::Silent(text) => state.local_reason = text,
            End::Peer(text) => state.remote_reason = text,
        }
        state.retry = world.clock.now() + RETRY;
    }
    device.disconnected(world);
    drop(channel);
    memifs.waits.signal.raise();
}
