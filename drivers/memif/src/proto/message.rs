// SPDX-License-Identifier: Apache-2.0
//! Messages and their bytes.

use super::{MAX_LOG2, MAX_REGION, MAX_RING, PROGRAM, VERSION};
use std::fmt;

/// Bytes of each message.
pub const LEN: usize = 128;
/// Bytes of a secret, the zero byte at its end included.
pub const SECRET: usize = 24;
/// Bytes of a name.
const NAME: usize = 32;
/// Bytes of the text of a disconnect.
const TEXT: usize = 96;

/// Text of a peer, without what terminals would obey.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Name(pub String);

impl Name {
    fn read(bytes: &[u8]) -> Self {
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let printable = |c: char| if c.is_control() { '?' } else { c };
        Self(String::from_utf8_lossy(text).chars().map(printable).collect())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(text.to_string())
    }
}

/// The first message of a server: what it takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hello {
    /// Name of the program.
    pub name: Name,
    /// The lowest version.
    pub min_version: u16,
    /// The highest version.
    pub max_version: u16,
    /// The highest index of a region.
    pub max_region: u16,
    /// The highest index of a ring from server to client.
    pub max_m2s: u16,
    /// The highest index of a ring from client to server.
    pub max_s2m: u16,
    /// The largest ring.
    pub max_log2: u8,
}

impl Hello {
    /// That of a server of this program.
    pub fn ours() -> Self {
        Self {
            name: PROGRAM.into(),
            min_version: VERSION,
            max_version: VERSION,
            max_region: MAX_REGION,
            max_m2s: MAX_RING,
            max_s2m: MAX_RING,
            max_log2: MAX_LOG2,
        }
    }
}

/// The first message of a client: what it wants to be connected to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Init {
    /// The version.
    pub version: u16,
    /// Number of the interface on this socket.
    pub id: u32,
    /// 0: Ethernet frames, 1: IP packets.
    pub mode: u8,
    /// The secret.
    pub secret: [u8; SECRET],
    /// Name of the program.
    pub name: Name,
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// The last message was carried out.
    Ack,
    /// See [`Hello`].
    Hello(Hello),
    /// See [`Init`].
    Init(Init),
    /// Memory, whose descriptor comes with the message.
    AddRegion {
        /// Its index.
        index: u16,
        /// Its bytes.
        size: u64,
    },
    /// A ring, whose event descriptor comes with the message.
    AddRing {
        /// From client to server.
        s2m: bool,
        /// Its index in this direction.
        index: u16,
        /// The region that it lies in.
        region: u16,
        /// Where it begins there.
        offset: u32,
        /// Its size.
        log2: u8,
        /// Bytes between the descriptors, of which this program knows none.
        private: u16,
    },
    /// The client has sent all; the name of its interface.
    Connect(Name),
    /// The server has taken all; the name of its interface.
    Connected(Name),
    /// The connection ends.
    Disconnect {
        /// A number, 0.
        code: u32,
        /// Why.
        text: Name,
    },
}

fn put(bytes: &mut [u8; LEN], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Writes text with a zero byte at its end.
fn put_text(bytes: &mut [u8; LEN], at: usize, room: usize, text: &Name) {
    let mut len = text.0.len().min(room - 1);
    while !text.0.is_char_boundary(len) {
        len -= 1;
    }
    put(bytes, at, &text.0.as_bytes()[..len]);
}

fn array<const N: usize>(bytes: &[u8; LEN], at: usize) -> [u8; N] {
    std::array::from_fn(|n| bytes[at + n])
}

fn u16_at(bytes: &[u8; LEN], at: usize) -> u16 {
    u16::from_ne_bytes(array(bytes, at))
}

fn u32_at(bytes: &[u8; LEN], at: usize) -> u32 {
    u32::from_ne_bytes(array(bytes, at))
}

impl Message {
    /// Its bytes.
    pub fn encode(&self) -> [u8; LEN] {
        let mut b = [0; LEN];
        let kind: u16 = match self {
            Self::Ack => 1,
            Self::Hello(h) => {
                put_text(&mut b, 2, NAME, &h.name);
                let words = [h.min_version, h.max_version, h.max_region, h.max_m2s, h.max_s2m];
                for (n, word) in words.iter().enumerate() {
                    put(&mut b, 34 + 2 * n, &word.to_ne_bytes());
                }
                b[44] = h.max_log2;
                2
            }
            Self::Init(i) => {
                put(&mut b, 2, &i.version.to_ne_bytes());
                put(&mut b, 4, &i.id.to_ne_bytes());
                b[8] = i.mode;
                put(&mut b, 9, &i.secret);
                put_text(&mut b, 33, NAME, &i.name);
                3
            }
            Self::AddRegion { index, size } => {
                put(&mut b, 2, &index.to_ne_bytes());
                put(&mut b, 4, &size.to_ne_bytes());
                4
            }
            Self::AddRing { s2m, index, region, offset, log2, private } => {
                put(&mut b, 2, &u16::from(*s2m).to_ne_bytes());
                put(&mut b, 4, &index.to_ne_bytes());
                put(&mut b, 6, &region.to_ne_bytes());
                put(&mut b, 8, &offset.to_ne_bytes());
                b[12] = *log2;
                put(&mut b, 13, &private.to_ne_bytes());
                5
            }
            Self::Connect(name) => {
                put_text(&mut b, 2, NAME, name);
                6
            }
            Self::Connected(name) => {
                put_text(&mut b, 2, NAME, name);
                7
            }
            Self::Disconnect { code, text } => {
                put(&mut b, 2, &code.to_ne_bytes());
                put_text(&mut b, 6, TEXT, text);
                8
            }
        };
        put(&mut b, 0, &kind.to_ne_bytes());
        b
    }

    /// Reads a message. `None` for a type that isn't known.
    pub fn parse(b: &[u8; LEN]) -> Option<Self> {
        Some(match u16_at(b, 0) {
            1 => Self::Ack,
            2 => Self::Hello(Hello {
                name: Name::read(&b[2..2 + NAME]),
                min_version: u16_at(b, 34),
                max_version: u16_at(b, 36),
                max_region: u16_at(b, 38),
                max_m2s: u16_at(b, 40),
                max_s2m: u16_at(b, 42),
                max_log2: b[44],
            }),
            3 => Self::Init(Init {
                version: u16_at(b, 2),
                id: u32_at(b, 4),
                mode: b[8],
                secret: array(b, 9),
                name: Name::read(&b[33..33 + NAME]),
            }),
            4 => Self::AddRegion { index: u16_at(b, 2), size: u64::from_ne_bytes(array(b, 4)) },
            5 => Self::AddRing {
                s2m: u16_at(b, 2) & 1 != 0,
                index: u16_at(b, 4),
                region: u16_at(b, 6),
                offset: u32_at(b, 8),
                log2: b[12],
                private: u16_at(b, 13),
            },
            6 => Self::Connect(Name::read(&b[2..2 + NAME])),
            7 => Self::Connected(Name::read(&b[2..2 + NAME])),
            8 => Self::Disconnect { code: u32_at(b, 2), text: Name::read(&b[6..6 + TEXT]) },
            _ => return None,
        })
    }
}
