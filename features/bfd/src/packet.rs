// SPDX-License-Identifier: Apache-2.0
//! Control packets (RFC 5880 4).

use std::fmt;

/// UDP port of control packets over one hop (RFC 5881 4).
pub const CONTROL_PORT: u16 = 3784;
/// UDP port of control packets over several hops (RFC 5883 5).
pub const MULTIHOP_PORT: u16 = 4784;
/// UDP port of echo packets (RFC 5881 4).
pub const ECHO_PORT: u16 = 3785;
/// The first source port (RFC 5881 4); a session's is this and its index, modulo [`PORTS`].
pub const FIRST_PORT: u16 = 49152;
/// Number of source ports.
pub const PORTS: u32 = 1 << 14;

/// Bytes of a packet without authentication.
pub const LEN: usize = 24;
/// Bytes of an authentication section with a SHA-1 digest (4.4).
pub const AUTH_LEN: usize = 28;
/// Bytes of the longest packet that is sent.
pub const MAX_LEN: usize = LEN + AUTH_LEN;

/// State of a session, with the numbers of the protocol and of the API (4.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum State {
    /// Held down by an operator.
    AdminDown = 0,
    /// Down, or just made.
    #[default]
    Down = 1,
    /// The peer is heard; it may not hear us.
    Init = 2,
    /// Both ends hear each other.
    Up = 3,
}

impl State {
    const fn of(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::AdminDown,
            1 => Self::Down,
            2 => Self::Init,
            _ => Self::Up,
        }
    }

    /// The name, as commands print it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AdminDown => "AdminDown",
            Self::Down => "Down",
            Self::Init => "Init",
            Self::Up => "Up",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Diagnostic code: the reason of the last change to a lower state (4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Diag(pub u8);

impl Diag {
    /// None.
    pub const NONE: Self = Self(0);
    /// The peer was silent for the detection time.
    pub const EXPIRED: Self = Self(1);
    /// Echo packets didn't come back.
    pub const ECHO_FAILED: Self = Self(2);
    /// The peer reported that the session is down.
    pub const NEIGHBOR_DOWN: Self = Self(3);
    /// An operator holds the session down.
    pub const ADMIN_DOWN: Self = Self(7);

    /// The text of the RFC.
    pub const fn text(self) -> &'static str {
        match self.0 {
            0 => "No Diagnostic",
            1 => "Control Detection Time Expired",
            2 => "Echo Function Failed",
            3 => "Neighbor Signaled Session Down",
            4 => "Forwarding Plane Reset",
            5 => "Path Down",
            6 => "Concatenated Path Down",
            7 => "Administratively Down",
            8 => "Reverse Concatenated Path Down",
            _ => "Reserved",
        }
    }
}

impl fmt::Display for Diag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

/// The authentication section of a received packet, before its digest is verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    /// Type of authentication.
    pub kind: u8,
    /// Length of the section in bytes, as it claims.
    pub len: u8,
    /// Number of the key.
    pub key_id: u8,
    /// Sequence number.
    pub sequence: u32,
}

/// The fields of a packet. Intervals are in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Control {
    /// Diagnostic code.
    pub diag: Diag,
    /// State of the sender's session.
    pub state: State,
    /// The sender requests an answer (P).
    pub poll: bool,
    /// The packet answers one with `poll` (F).
    pub r#final: bool,
    /// The sender's control plane is independent of its forwarding (C).
    pub independent: bool,
    /// The sender wants no periodic packets (D).
    pub demand: bool,
    /// Detection time multiplier.
    pub detect_mult: u8,
    /// The sender's discriminator.
    pub my_disc: u32,
    /// The receiver's discriminator; 0 if the sender doesn't know it.
    pub your_disc: u32,
    /// Interval of the sender's packets, unless the receiver receives more slowly.
    pub desired_min_tx: u32,
    /// Least interval at which the sender can receive; 0 asks for silence.
    pub required_min_rx: u32,
    /// Least interval at which the sender can send echo packets back; 0 if it can't.
    pub required_min_echo_rx: u32,
    /// The authentication section.
    pub auth: Option<Section>,
}

/// The reason why a packet is no valid control packet, in the order of the checks (6.8.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketError {
    /// The version isn't 1.
    Version,
    /// Too short, or shorter than it claims.
    Length,
    /// The detection time multiplier is 0.
    DetectMult,
    /// The multipoint bit is set.
    Multipoint,
    /// The sender's discriminator is 0.
    MyDisc,
    /// The receiver's discriminator is 0 in a state that implies that the sender knows it.
    YourDisc,
}

impl PacketError {
    /// The fault in words, for traces.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Version => "version isn't 1",
            Self::Length => "wrong length",
            Self::DetectMult => "detection time multiplier is 0",
            Self::Multipoint => "multipoint bit is set",
            Self::MyDisc => "sender's discriminator is 0",
            Self::YourDisc => "receiver's discriminator is 0",
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_be_bytes(*word))
}

impl Control {
    /// Reads the payload of a datagram, which may be longer than the packet. Returns the packet and
    /// its bytes.
    ///
    /// # Errors
    /// A packet that fails a check of 6.8.6 which needs no session.
    pub fn read(payload: &[u8]) -> Result<(Self, &[u8]), PacketError> {
        let Some(first) = payload.first() else { return Err(PacketError::Length) };
        if first >> 5 != 1 {
            return Err(PacketError::Version);
        }
        let Some(head) = payload.first_chunk::<LEN>() else { return Err(PacketError::Length) };
        let (flags, len) = (head[1], usize::from(head[3]));
        let authenticated = flags & 4 != 0;
        let Some(bytes) = payload.get(..len) else { return Err(PacketError::Length) };
        // With the A bit, a section has at least its type and its length (4.1).
        if len < if authenticated { LEN + 2 } else { LEN } {
            return Err(PacketError::Length);
        }
        let this = Self {
            diag: Diag(head[0] & 0x1f),
            state: State::of(flags >> 6),
            poll: flags & 0x20 != 0,
            r#final: flags & 0x10 != 0,
            independent: flags & 8 != 0,
            demand: flags & 2 != 0,
            detect_mult: head[2],
            my_disc: u32_at(head, 4),
            your_disc: u32_at(head, 8),
            desired_min_tx: u32_at(head, 12),
            required_min_rx: u32_at(head, 16),
            required_min_echo_rx: u32_at(head, 20),
            auth: authenticated.then(|| Section::read(&bytes[LEN..])),
        };
        match this {
            Self { detect_mult: 0, .. } => Err(PacketError::DetectMult),
            _ if flags & 1 != 0 => Err(PacketError::Multipoint),
            Self { my_disc: 0, .. } => Err(PacketError::MyDisc),
            Self { your_disc: 0, state: State::Init | State::Up, .. } => Err(PacketError::YourDisc),
            _ => Ok((this, bytes)),
        }
    }

    /// Writes the packet; the digest of an authentication section is zero. Returns its length.
    pub fn write(&self, to: &mut [u8; MAX_LEN]) -> usize {
        let len = if self.auth.is_some() { MAX_LEN } else { LEN };
        let bit = |on: bool, mask: u8| if on { mask } else { 0 };
        to[0] = 1 << 5 | self.diag.0 & 0x1f;
        to[1] = (self.state as u8) << 6
            | bit(self.poll, 0x20)
            | bit(self.r#final, 0x10)
            | bit(self.independent, 8)
            | bit(self.auth.is_some(), 4)
            | bit(self.demand, 2);
        to[2] = self.detect_mult;
        to[3] = len as u8;
        let words = [
            self.my_disc,
            self.your_disc,
            self.desired_min_tx,
            self.required_min_rx,
            self.required_min_echo_rx,
        ];
        for (to, word) in to[4..LEN].as_chunks_mut().0.iter_mut().zip(words) {
            *to = word.to_be_bytes();
        }
        if let Some(section) = self.auth {
            to[LEN..].fill(0);
            to[LEN..LEN + 4].copy_from_slice(&[section.kind, AUTH_LEN as u8, section.key_id, 0]);
            to[LEN + 4..LEN + 8].copy_from_slice(&section.sequence.to_be_bytes());
        }
        len
    }
}

impl Section {
    /// Reads a section of at least 2 bytes. Absent fields are 0; `Auth::covers` refuses such a
    /// section.
    fn read(bytes: &[u8]) -> Self {
        let sequence = if bytes.len() >= 8 { u32_at(bytes, 4) } else { 0 };
        let key_id = bytes.get(2).copied().unwrap_or(0);
        Self { kind: bytes[0], len: bytes[1], key_id, sequence }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "BFD v1, diag={}({}), state={}({})",
            self.diag.0, self.diag, self.state as u8, self.state
        )?;
        let flags = [
            (self.poll, 'P'),
            (self.r#final, 'F'),
            (self.independent, 'C'),
            (self.auth.is_some(), 'A'),
            (self.demand, 'D'),
        ];
        let flags: String = flags.iter().filter_map(|(on, flag)| on.then_some(*flag)).collect();
        let len = if self.auth.is_some() { MAX_LEN } else { LEN };
        writeln!(f, ", flags=({flags}), detect_mult={}, length={len}", self.detect_mult)?;
        writeln!(f, "my discriminator: {}, your discriminator: {}", self.my_disc, self.your_disc)?;
        writeln!(f, "desired min tx interval: {}", self.desired_min_tx)?;
        writeln!(f, "required min rx interval: {}", self.required_min_rx)?;
        write!(f, "required min echo rx interval: {}", self.required_min_echo_rx)?;
        if let Some(auth) = self.auth {
            let Section { kind, key_id, sequence, .. } = auth;
            write!(f, "\nauthentication type {kind}, key id {key_id}, sequence number {sequence}")?;
        }
        Ok(())
    }
}
