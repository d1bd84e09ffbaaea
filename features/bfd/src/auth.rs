// SPDX-License-Identifier: Apache-2.0
//! Authentication with SHA-1 (RFC 5880 4.4, 6.7.4).

use crate::packet::{AUTH_LEN, MAX_LEN, Section};
use crate::sha1::sha1;
use cli::{Error, Result};
use msg::retval;

/// Bytes of a key, and of a digest.
pub const KEY_LEN: usize = 20;
/// Offset of the digest in a packet.
const DIGEST: usize = MAX_LEN - KEY_LEN;

/// Type of authentication, with its number of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum AuthType {
    /// The sequence number may stay the same for several packets.
    Keyed = 4,
    /// The sequence number grows with each packet.
    Meticulous = 5,
}

impl AuthType {
    /// The type of a number of the protocol.
    ///
    /// # Errors
    /// A type that isn't implemented (−104).
    pub fn of(number: u8) -> Result<Self> {
        match number {
            4 => Ok(Self::Keyed),
            5 => Ok(Self::Meticulous),
            _ => {
                let why = format!(
                    "no authentication type {number}: 4 is keyed-sha1, 5 is meticulous-keyed-sha1"
                );
                Err(Error::unsupported(why).retval(retval::BFD_NOT_SUPPORTED))
            }
        }
    }

    /// The word of commands.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Keyed => "keyed-sha1",
            Self::Meticulous => "meticulous-keyed-sha1",
        }
    }
}

/// A key as a session uses it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Auth {
    /// Type of authentication.
    pub kind: AuthType,
    /// Number of the key in packets.
    pub key_id: u8,
    /// The secret, with zeros behind it.
    pub secret: [u8; KEY_LEN],
}

/// Doesn't print the secret.
impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.word(), self.key_id)
    }
}

impl Auth {
    /// The section of a packet with this sequence number.
    pub const fn section(&self, sequence: u32) -> Section {
        Section { kind: self.kind as u8, len: AUTH_LEN as u8, key_id: self.key_id, sequence }
    }

    /// Puts the digest into a packet: it covers the packet with the secret in the place of the
    /// digest.
    pub fn sign(&self, packet: &mut [u8; MAX_LEN]) {
        packet[DIGEST..].copy_from_slice(&self.secret);
        let digest = sha1(packet);
        packet[DIGEST..].copy_from_slice(&digest);
    }

    /// Returns true if the section is one of this key: all checks but those of sequence number and
    /// digest.
    pub fn covers(&self, section: &Section, packet: &[u8]) -> bool {
        let Section { kind, len, key_id, .. } = *section;
        kind == self.kind as u8
            && key_id == self.key_id
            && usize::from(len) == AUTH_LEN
            && packet.len() == MAX_LEN
    }

    /// Returns true if the digest of a packet is right. The time that this takes doesn't depend on
    /// the digest's bytes.
    pub fn verifies(&self, packet: &[u8]) -> bool {
        let Some(packet) = packet.first_chunk::<MAX_LEN>() else { return false };
        let mut signed = *packet;
        self.sign(&mut signed);
        signed[DIGEST..].iter().zip(&packet[DIGEST..]).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }

    /// Returns true if a packet with the sequence number `new` may follow one with `last`: the
    /// number lies in a window of three times the multiplier (6.7.4).
    pub const fn may_follow(&self, last: u32, new: u32, detect_mult: u8) -> bool {
        let ahead = new.wrapping_sub(last);
        let least = match self.kind {
            AuthType::Keyed => 0,
            AuthType::Meticulous => 1,
        };
        least <= ahead && ahead <= 3 * detect_mult as u32
    }
}
