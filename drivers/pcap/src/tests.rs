// SPDX-License-Identifier: Apache-2.0
//! Tests.

mod files;
mod made;
mod replays;

use crate::format::{Link, Reader};

/// Words and bytes of a file, in either byte order.
#[derive(Clone, Default)]
pub struct FileBytes {
    pub bytes: Vec<u8>,
    pub big_endian: bool,
}

impl FileBytes {
    pub fn u16s(&mut self, all: &[u16]) -> &mut Self {
        for n in all {
            self.bytes.extend(if self.big_endian { n.to_be_bytes() } else { n.to_le_bytes() });
        }
        self
    }

    pub fn u32s(&mut self, all: &[u32]) -> &mut Self {
        for n in all {
            self.bytes.extend(if self.big_endian { n.to_be_bytes() } else { n.to_le_bytes() });
        }
        self
    }

    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    /// A classic file's header; `magic` says the unit of fractions.
    pub fn classic(big_endian: bool, magic: u32, link: u32) -> Self {
        let mut file = Self { bytes: Vec::new(), big_endian };
        file.u32s(&[magic]).u16s(&[2, 4]).u32s(&[0, 0, 262_144, link]);
        file
    }

    /// A block of pcapng; its body is filled up.
    pub fn block(&mut self, kind: u32, body: &FileBytes) -> &mut Self {
        let mut body = body.bytes.clone();
        body.resize(body.len().next_multiple_of(4), 0);
        let len = body.len() as u32 + 12;
        self.u32s(&[kind, len]).raw(&body).u32s(&[len])
    }

    /// A body in the byte order of this file.
    pub fn body(&self) -> Self {
        Self { bytes: Vec::new(), big_endian: self.big_endian }
    }

    /// A section, in this byte order.
    pub fn section(&mut self, big_endian: bool) -> &mut Self {
        self.big_endian = big_endian;
        let mut body = self.body();
        body.u32s(&[0x1a2b_3c4d]).u16s(&[1, 0]).u32s(&[u32::MAX, u32::MAX]);
        self.block(0x0a0d_0d0a, &body)
    }

    /// An interface with options.
    pub fn interface(&mut self, link: u16, snap: u32, options: &[(u16, &[u8])]) -> &mut Self {
        let mut body = self.body();
        body.u16s(&[link, 0]).u32s(&[snap]);
        for (code, value) in options {
            body.u16s(&[*code, value.len() as u16]).raw(value);
            body.bytes.resize(body.bytes.len().next_multiple_of(4), 0);
        }
        self.block(1, &body)
    }

    /// An enhanced packet of an interface.
    pub fn enhanced(&mut self, interface: u32, time: u64, packet: &[u8]) -> &mut Self {
        let mut body = self.body();
        let len = packet.len() as u32;
        body.u32s(&[interface, (time >> 32) as u32, time as u32, len, len]).raw(packet);
        self.block(6, &body)
    }
}

/// Magic numbers of classic files.
pub const MICROS: u32 = 0xa1b2_c3d4;
pub const NANOS: u32 = 0xa1b2_3c4d;

type Packets = Vec<(u64, Link, Vec<u8>)>;

/// The packets of a file, and its error.
pub fn packets(bytes: &[u8]) -> (Packets, Option<String>) {
    let mut packets = Packets::new();
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (packets, Some(error.to_string())),
    };
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => packets.push((packet.time, packet.link, packet.bytes.to_vec())),
            Ok(None) => return (packets, None),
            Err(error) => return (packets, Some(error.to_string())),
        }
    }
}

/// A frame whose bytes are its own.
pub fn frame(n: usize, len: usize) -> Vec<u8> {
    let head = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5];
    let number = (n as u32).to_be_bytes();
    let body = (0..len.max(18) - 18)
        .map(|i| (i as u8).wrapping_mul(7) ^ (i >> 8) as u8 ^ (n as u8).wrapping_mul(11));
    head.into_iter().chain(number).chain(body).collect()
}
