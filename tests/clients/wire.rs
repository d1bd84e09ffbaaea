// SPDX-License-Identifier: Apache-2.0
//! The binary API's transport by hand, so that it can be spoken wrongly; and a client that behaves, who has to be served all
//! the while.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use fixture::PATIENCE;

/// A number that every client knows.
pub const PING: u16 = 23;

/// A message with its header.
pub fn frame(id: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = header(body.len() as u32 + 2).to_vec();
    bytes.extend(id.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// The header of a message of so many bytes.
pub fn header(length: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// The greeting of a client.
pub fn hello(name: &str) -> Vec<u8> {
    let mut body = vec![0; 4 + 64];
    body[4..4 + name.len()].copy_from_slice(name.as_bytes());
    frame(15, &body)
}

/// A connection.
pub struct Wire {
    pub stream: UnixStream,
    /// What the server calls it.
    pub index: u32,
    /// Numbers by name, without the CRC.
    pub table: BTreeMap<String, u16>,
}

impl Wire {
    /// A connection that has greeted.
    #[track_caller]
    pub fn new(path: &Path, name: &str) -> Wire {
        let stream = UnixStream::connect(path).expect("the daemon listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut wire = Wire { stream, index: 0, table: BTreeMap::new() };
        wire.send(&hello(name));
        let (id, reply) = wire.receive().expect("a reply to the greeting");
        assert_eq!(id, 16);
        wire.index = u32::from_be_bytes(reply[12..16].try_into().expect("four bytes"));
        for entry in reply[18..].chunks_exact(66) {
            let name = String::from_utf8_lossy(&entry[2..]);
            let name = name.trim_end_matches('\0');
            let (name, _) = name.rsplit_once('_').expect("name_crc");
            wire.table.insert(name.into(), u16::from_be_bytes([entry[0], entry[1]]));
        }
        wire
    }

    #[track_caller]
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the daemon reads");
    }

    /// The next message: its number and what follows; `None` when the connection has ended.
    pub fn receive(&mut self) -> Option<(u16, Vec<u8>)> {
        let mut header = [0; 16];
        self.stream.read_exact(&mut header).ok()?;
        let length = u32::from_be_bytes(header[8..12].try_into().expect("four bytes"));
        let mut body = vec![0; length as usize];
        self.stream.read_exact(&mut body).ok()?;
        let id = u16::from_be_bytes([body[0], body[1]]);
        Some((id, body.split_off(2)))
    }

    /// A request of this client by its name.
    #[track_caller]
    pub fn request(&self, name: &str, context: u32, body: &[u8]) -> Vec<u8> {
        let id = *self.table.get(name).unwrap_or_else(|| panic!("{name} isn't served"));
        let head = [self.index.to_be_bytes(), context.to_be_bytes()].concat();
        frame(id, &[&head, body].concat())
    }

    /// Sends a ping and reads until its reply; the messages that came before it.
    pub fn ping(&mut self, context: u32) -> Option<usize> {
        let request = self.request("control_ping", context, &[]);
        self.stream.write_all(&request).ok()?;
        let mut others = 0;
        loop {
            let (id, body) = self.receive()?;
            if id == PING + 1 && body[..4] == context.to_be_bytes() {
                return Some(others);
            }
            others += 1;
        }
    }
}

/// A client that behaves, on a thread of its own.
pub struct Witness {
    end: Arc<AtomicBool>,
    served: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

impl Witness {
    pub fn start(path: PathBuf) -> Witness {
        let (end, served) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (over, count) = (Arc::clone(&end), Arc::clone(&served));
        let mut wire = Wire::new(&path, "witness");
        let thread = std::thread::spawn(move || {
            for context in 1.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                match wire.ping(context) {
                    Some(0) => drop(count.fetch_add(1, Ordering::Relaxed)),
                    Some(n) => return Err(format!("{n} messages that weren't asked for")),
                    None => return Err(format!("ping {context} wasn't answered")),
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Ok(())
        });
        Witness { end, served, thread: Some(thread) }
    }

    /// Pings answered so far.
    pub fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// It was served to the end.
    #[track_caller]
    pub fn finish(mut self) {
        self.end.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it runs");
        thread.join().expect("no panic").unwrap_or_else(|e| panic!("the client that behaves: {e}"));
    }
}
