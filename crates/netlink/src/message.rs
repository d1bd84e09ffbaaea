// SPDX-License-Identifier: Apache-2.0
//! Netlink messages: a 16-byte header, a fixed part by type, then attributes; everything 4-byte
//! aligned, in host order (RFC 3549 §2).

use std::io;

/// Length of `nlmsghdr`.
const HEADER: usize = 16;

const fn align(len: usize) -> usize {
    (len + 3) & !3
}

/// Attributes under construction: type, length, value, padding.
#[derive(Default)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    /// Attributes that follow `fixed`, as in a message or in a nested one.
    pub fn after(fixed: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend_from_slice(fixed);
        bytes.resize(align(bytes.len()), 0);
        Self(bytes)
    }

    /// Appends an attribute.
    pub fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        let len = (value.len() + 4) as u16;
        self.0.extend_from_slice(&len.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(align(self.0.len()), 0);
        self
    }

    /// Appends an attribute that holds a 32-bit number.
    pub fn number(self, kind: u16, value: u32) -> Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Appends an attribute that holds a name.
    pub fn name(self, kind: u16, value: &str) -> Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// Bytes of the message so far.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The start of a request of type `kind` with `flags`, whose fixed part is `body`: append
/// attributes, then [`finish`] it.
pub fn request(kind: u16, flags: i32, body: &[u8]) -> Attributes {
    let mut bytes = vec![0; HEADER];
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes[6..8].copy_from_slice(&((flags | libc::NLM_F_REQUEST) as u16).to_ne_bytes());
    bytes.extend_from_slice(body);
    Attributes::after(&bytes)
}

/// Completes the header of a [`request`].
pub fn finish(request: Attributes, sequence: u32) -> Vec<u8> {
    let mut bytes = request.0;
    let len = bytes.len() as u32;
    bytes[0..4].copy_from_slice(&len.to_ne_bytes());
    bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
    bytes
}

/// One received message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// `nlmsg_type`.
    pub kind: u16,
    /// `nlmsg_seq`.
    pub sequence: u32,
    /// Everything after the header.
    pub body: &'a [u8],
}

impl Message<'_> {
    /// The result that an NLMSG_ERROR message carries; 0 there is an acknowledgement.
    pub fn error(&self) -> io::Result<()> {
        match i32_at(self.body, 0) {
            Some(0) => Ok(()),
            Some(code) => Err(io::Error::from_raw_os_error(code.saturating_neg())),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// The messages of one datagram; ends at the first that isn't whole.
pub fn messages(mut datagram: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let len = u32_at(datagram, 0)? as usize;
        let (kind, sequence) = (u16_at(datagram, 4)?, u32_at(datagram, 8)?);
        let body = datagram.get(HEADER..len)?;
        datagram = datagram.get(align(len)..).unwrap_or_default();
        Some(Message { kind, sequence, body })
    })
}

/// The attributes (type without flag bits, value) in `bytes`; ends at the first that isn't whole.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    const TYPE: u16 = 0x3fff;
    std::iter::from_fn(move || {
        let (len, kind) = (usize::from(u16_at(bytes, 0)?), u16_at(bytes, 2)?);
        let value = bytes.get(4..len)?;
        bytes = bytes.get(align(len)..).unwrap_or_default();
        Some((kind & TYPE, value))
    })
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The 16-bit number at `at`.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_ne_bytes)
}

/// The 32-bit number at `at`.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_ne_bytes)
}

/// The signed 32-bit number at `at`.
pub fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    array(bytes, at).map(i32::from_ne_bytes)
}

/// A NUL-terminated (or unterminated) name.
pub fn text(value: &[u8]) -> String {
    let end = value.iter().position(|&b| b == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_reads_back() {
        let bytes =
            finish(request(16, libc::NLM_F_ACK, &[1; 16]).name(3, "eth0").number(4, 1500), 7);
        assert_eq!(bytes.len() % 4, 0);
        let all: Vec<_> = messages(&bytes).collect();
        let [message] = all[..] else { panic!("{all:?}") };
        assert_eq!((message.kind, message.sequence), (16, 7));
        let found: Vec<_> = attributes(&message.body[16..]).collect();
        assert_eq!(found, [(3, &b"eth0\0"[..]), (4, &1500u32.to_ne_bytes()[..])]);
        assert_eq!(text(found[0].1), "eth0");
    }

    #[test]
    fn errors_are_the_kernels() {
        let body = (-libc::ENODEV).to_ne_bytes();
        let message = Message { kind: 2, sequence: 0, body: &body };
        assert_eq!(message.error().unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert!(Message { kind: 2, sequence: 0, body: &[0; 4] }.error().is_ok());
        assert!(Message { kind: 2, sequence: 0, body: &[] }.error().is_err());
    }

    proptest! {
        #[test]
        fn garbage_ends(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for message in messages(&bytes) {
                prop_assert!(attributes(message.body).count() <= bytes.len() / 4);
            }
        }
    }
}
