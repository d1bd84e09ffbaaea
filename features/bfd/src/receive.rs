// SPDX-License-Identifier: Apache-2.0
//! Received packets: authentication, then the session's state machine (RFC 5880 6.7, 6.8.6).

use crate::auth::Auth;
use crate::packet::Control;
use crate::session::{Refusal, Session};

/// The result of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// The packet has to be answered at once.
    pub answer: bool,
    /// A delayed change of the key is complete.
    pub key_changed: bool,
}

/// The result of the check of a packet against a key.
enum Proof {
    /// The packet is authentic, or needs no proof.
    Good,
    /// The packet isn't authentic.
    Bad,
    /// The digest is right, but the sequence number isn't.
    Sequence,
}

impl Session {
    /// Processes a packet with the bytes `bytes`, which has passed the checks that need no session.
    ///
    /// # Errors
    /// The packet is discarded.
    pub fn receive(
        &mut self,
        packet: &Control,
        bytes: &[u8],
        now: u64,
    ) -> Result<Received, Refusal> {
        let key_changed = self.authenticate(packet, bytes, now)?;
        let answer = self.take(packet, now)?;
        if let Some((_, until)) = self.rx_sequence {
            // 6.8.1: unknown again after twice the detection time without packets.
            let until = until.max(now + 2 * self.detection_time());
            self.rx_sequence = self.rx_sequence.map(|(last, _)| (last, until));
        }
        Ok(Received { answer, key_changed })
    }

    /// Returns true if the packet has completed a delayed change of the key.
    fn authenticate(&mut self, packet: &Control, bytes: &[u8], now: u64) -> Result<bool, Refusal> {
        match self.proof(self.auth, packet, bytes, now) {
            Proof::Good => {
                self.note_sequence(packet, now);
                Ok(false)
            }
            Proof::Sequence => Err(Refusal::Authentication),
            Proof::Bad => {
                let next = self.next_auth.ok_or(Refusal::Authentication)?;
                // The new key has sequence numbers of its own.
                self.rx_sequence = match self.proof_of_next(next, packet, bytes) {
                    true => None,
                    false => return Err(Refusal::Authentication),
                };
                (self.auth, self.next_auth) = (next, None);
                self.note_sequence(packet, now);
                Ok(true)
            }
        }
    }

    fn note_sequence(&mut self, packet: &Control, now: u64) {
        self.rx_sequence = packet.auth.map(|section| (section.sequence, now));
    }

    fn proof_of_next(&self, next: Option<Auth>, packet: &Control, bytes: &[u8]) -> bool {
        match (next, packet.auth) {
            (None, None) => true,
            (Some(auth), Some(section)) => auth.covers(&section, bytes) && auth.verifies(bytes),
            _ => false,
        }
    }

    fn proof(&self, auth: Option<Auth>, packet: &Control, bytes: &[u8], now: u64) -> Proof {
        let (auth, section) = match (auth, packet.auth) {
            (None, None) => return Proof::Good,
            (Some(auth), Some(section)) => (auth, section),
            _ => return Proof::Bad,
        };
        if !auth.covers(&section, bytes) || !auth.verifies(bytes) {
            return Proof::Bad;
        }
        match self.rx_sequence {
            Some((last, until))
                if now <= until && !auth.may_follow(last, section.sequence, packet.detect_mult) =>
            {
                Proof::Sequence
            }
            _ => Proof::Good,
        }
    }
}
