// SPDX-License-Identifier: Apache-2.0
//! Frames of FPM in a stream of bytes: version 1, type 1 (netlink), a length of 16 bits in network
//! order that includes these 4 bytes, then netlink messages.

use std::fmt;
use std::io;

/// Bytes of a frame's header.
pub const HEADER: usize = 4;
const VERSION: u8 = 1;
const NETLINK: u8 = 1;
/// Bytes that are read ahead: more than the longest frame, 65,535.
const BUFFER: usize = 256 << 10;

/// Reason why a stream can't be read on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadFrame {
    /// Another version of FPM.
    Version(u8),
    /// Another type of messages.
    Type(u8),
    /// A length below that of the header.
    Length(u16),
    /// A message in the frame that is shorter than its header, or ends behind the frame.
    Message,
    /// The connection ended within a frame.
    Cut,
}

impl fmt::Display for BadFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(n) => write!(f, "expected FPM of version 1, not {n}"),
            Self::Type(n) => write!(
                f,
                "expected netlink messages (type 1), not type {n}; zebra sends them with \
                 `-M dplane_fpm_nl'"
            ),
            Self::Length(n) => write!(f, "expected a frame of 4 bytes or more, not {n}"),
            Self::Message => write!(f, "a netlink message is longer than its frame"),
            Self::Cut => write!(f, "the connection ended within a frame"),
        }
    }
}

/// Bytes that have come, and how many of them were taken.
pub struct Frames {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self { bytes: vec![0; BUFFER], from: 0, to: 0 }
    }
}

impl Frames {
    /// Reads once into the free part. Returns the number of bytes, 0 at the end of the stream.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn fill(&mut self, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
        // Frames are taken until the rest is less than one, so there is always room.
        self.bytes.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        let n = read(&mut self.bytes[self.to..])?;
        self.to += n;
        Ok(n)
    }

    /// The messages of the next frame; `None` if it isn't whole yet.
    ///
    /// # Errors
    /// Bytes that are no frame: nothing behind them can be read.
    pub fn take(&mut self) -> Result<Option<&[u8]>, BadFrame> {
        let rest = &self.bytes[self.from..self.to];
        let &[version, kind, high, low, ..] = rest else { return Ok(None) };
        let len = u16::from_be_bytes([high, low]);
        match (version, kind) {
            (VERSION, NETLINK) if usize::from(len) >= HEADER => {}
            (VERSION, NETLINK) => return Err(BadFrame::Length(len)),
            (VERSION, kind) => return Err(BadFrame::Type(kind)),
            (version, _) => return Err(BadFrame::Version(version)),
        }
        let len = usize::from(len);
        if rest.len() < len {
            return Ok(None);
        }
        let at = self.from + HEADER..self.from + len;
        self.from += len;
        Ok(Some(&self.bytes[at]))
    }

    /// Returns true if there are bytes of a frame that isn't whole.
    pub fn is_cut(&self) -> bool {
        self.from < self.to
    }
}

/// Appends a frame with one netlink message.
pub fn write(out: &mut Vec<u8>, message: &[u8]) {
    // A message that came in a frame fits one.
    let len = u16::try_from(HEADER + message.len()).unwrap_or(u16::MAX);
    out.extend([VERSION, NETLINK]);
    out.extend(len.to_be_bytes());
    out.extend(message);
}
