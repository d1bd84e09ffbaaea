// SPDX-License-Identifier: Apache-2.0
//! Verification of frames from the router: every byte is as it was sent, and the port is an allowed
//! one.

use crate::cells::{self, Tag};
use crate::plan;
use wire::l4::{self, Verdict};
use wire::offload::{Csum, Offload};
use wire::{IpProtocol, Ipv4Header};

/// The result of verifying a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A packet of ours, or a piece of one, with so many bytes of payload, all as they were sent.
    Good(Tag, usize),
    /// Ours, but with so few bytes that its packet is unknown.
    Short(usize),
    /// An ARP request for this address of the link, or an IPv6 neighbour solicitation (the whole
    /// frame is needed to answer).
    Question,
    /// Not a packet of ours.
    Other,
    /// Ours, and wrong.
    Bad(String),
}

/// The payload of a packet of ours: its piece of it, where that begins, and whether the packet is
/// whole.
struct Piece<'a> {
    bytes: &'a [u8],
    at: usize,
    whole: bool,
}

fn be16(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 2).map_or(0, |b| usize::from(b[0]) << 8 | usize::from(b[1]))
}

/// Looks at a frame that came out of port `port`.
pub fn look(seed: u64, frame: &[u8], offload: Offload, port: usize) -> Seen {
    let packet = frame.get(14..).unwrap_or_default();
    let piece = match be16(frame, 12) {
        0x0806 if be16(packet, 6) == 1 => return Seen::Question,
        0x0800 => ip4(packet),
        0x86dd => ip6(packet),
        _ => return Seen::Other,
    };
    let (piece, packet) = match piece {
        Ok(Some(found)) => found,
        Ok(None) if is_solicitation(packet) => return Seen::Question,
        Ok(None) => return Seen::Other,
        Err(why) => return Seen::Bad(format!("{why}: {}", hex(frame))),
    };
    if piece.whole
        && !matches!(offload.csum, Csum::Partial { .. })
        && !matches!(l4::verify(packet), Ok(Verdict::Valid))
    {
        return Seen::Bad(format!("a wrong transport checksum: {}", hex(frame)));
    }
    match cells::verify(seed, piece.bytes, piece.at) {
        Ok(None) => Seen::Short(piece.bytes.len()),
        Ok(Some(tag)) if tag.outputs >> port & 1 == 0 => {
            Seen::Bad(format!("{tag:?} came out of port {port}: {}", hex(frame)))
        }
        Ok(Some(tag)) => Seen::Good(tag, piece.bytes.len()),
        Err(corrupt) => Seen::Bad(format!(
            "byte {} of a piece at {} of {:?} is wrong: {}",
            corrupt.at,
            piece.at,
            corrupt.claim,
            hex(frame)
        )),
    }
}

type ReadResult<'a> = Result<Option<(Piece<'a>, &'a [u8])>, &'static str>;

fn ip4(packet: &[u8]) -> ReadResult<'_> {
    let Some(fixed) = packet.first_chunk::<20>() else { return Ok(None) };
    let (header, total) = (usize::from(fixed[0] & 15) * 4, be16(fixed, 2));
    let (source, destination) = ([fixed[12], fixed[13]], [fixed[16], fixed[17]]);
    let ours = source == plan::SOURCE4;
    let answer = destination == plan::SOURCE4 && fixed[9] == IpProtocol::ICMP.0;
    if !ours && !answer {
        return Ok(None);
    }
    let (Some(packet), Some(_)) = (packet.get(..total), packet.get(header..total)) else {
        return Err("shorter than its header says");
    };
    if !Ipv4Header::checksum_ok_at(packet) {
        return Err("a wrong header checksum");
    }
    if ours && fixed[8] != plan::TTL - 1 {
        return Err("a wrong TTL");
    }
    let (offset, more) = (be16(packet, 6) & 0x1fff, packet[6] & 0x20 != 0);
    let first = offset == 0;
    Ok(piece(fixed[9], &packet[header..], offset * 8, first && !more, ours)
        .map(|piece| (piece, packet)))
}

fn ip6(packet: &[u8]) -> ReadResult<'_> {
    let Some(fixed) = packet.first_chunk::<40>() else { return Ok(None) };
    let total = 40 + be16(fixed, 4);
    let ours = fixed[8..14] == plan::SOURCE6;
    if !ours && fixed[24..30] != plan::SOURCE6 {
        return Ok(None);
    }
    let Some(packet) = packet.get(..total) else { return Err("shorter than its header says") };
    if ours && fixed[7] != plan::TTL - 1 {
        return Err("a wrong hop limit");
    }
    let (mut next, mut at, mut offset, mut whole) = (fixed[6], 40, 0, true);
    loop {
        match next {
            0 | 43 | 60 => {
                let Some(&[following, words]) = packet.get(at..at + 2) else {
                    return Err("a cut extension header");
                };
                (next, at) = (following, at + 8 + usize::from(words) * 8);
            }
            44 => {
                let field = be16(packet, at + 2);
                (offset, whole) = (field & 0xfff8, field & 0xfff9 == 0);
                let Some(&following) = packet.get(at) else { return Err("a cut fragment header") };
                (next, at) = (following, at + 8);
                if offset > 0 {
                    break;
                }
            }
            _ => break,
        }
    }
    if !ours && next != IpProtocol::ICMP6.0 {
        return Ok(None);
    }
    let Some(upper) = packet.get(at..) else { return Err("headers longer than the packet") };
    Ok(piece(next, upper, offset, whole, ours).map(|piece| (piece, packet)))
}

/// The piece of the payload in what follows the IP header of a packet of ours.
fn piece(protocol: u8, upper: &[u8], offset: usize, whole: bool, ours: bool) -> Option<Piece<'_>> {
    if offset > 0 {
        // Upper headers of 8 bytes: nothing else is sent in fragments.
        return Some(Piece { bytes: upper, at: offset - 8, whole: false });
    }
    match IpProtocol(protocol) {
        IpProtocol::UDP => Some(Piece { bytes: upper.get(8..)?, at: 0, whole }),
        IpProtocol::TCP => {
            let sequence = u32::from_be_bytes(*upper.get(4..8)?.first_chunk()?);
            let header = usize::from(upper.get(12)? >> 4) * 4;
            Some(Piece {
                bytes: upper.get(header..)?,
                at: sequence.wrapping_sub(1) as usize,
                whole,
            })
        }
        // Echo replies; errors are not verified.
        IpProtocol::ICMP if !ours && upper.first() == Some(&0) => {
            Some(Piece { bytes: upper.get(8..)?, at: 0, whole })
        }
        IpProtocol::ICMP6 if !ours && upper.first() == Some(&129) => {
            Some(Piece { bytes: upper.get(8..)?, at: 0, whole })
        }
        _ => None,
    }
}

fn is_solicitation(packet: &[u8]) -> bool {
    packet.get(6) == Some(&58) && packet.get(40) == Some(&135)
}

/// The first bytes of a frame, for people.
fn hex(frame: &[u8]) -> String {
    let head: String = frame.iter().take(96).map(|b| format!("{b:02x}")).collect();
    format!("{} bytes {head}", frame.len())
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::traffic::{self, Kind};
    use testkit::Rng;

    /// A frame as a router would send it on.
    fn routed(mut frame: Vec<u8>) -> Vec<u8> {
        match frame[12..14] {
            [0x08, 0] => {
                frame[22] -= 1;
                Ipv4Header::set_checksum_at(&mut frame[14..]);
            }
            _ => frame[21] -= 1,
        }
        frame
    }

    #[suite::test]
    fn good_frames_are_good_and_changed_ones_are_not() {
        let (mut rng, mut number) = (Rng::new(3), 0);
        for kind in Kind::ALL.into_iter().filter(|kind| !kind.is_echo()) {
            for from in 0..plan::PORTS {
                let mut bytes = 0;
                let Some(packet) = traffic::good(kind, 9, from, &mut number, &mut rng) else {
                    continue;
                };
                let port = packet.outputs.trailing_zeros() as usize;
                for (offload, frame) in packet.frames {
                    let frame = routed(frame);
                    let n = match look(9, &frame, offload, port) {
                        Seen::Good(tag, n) => {
                            assert_eq!(tag.kind, kind as u8);
                            n
                        }
                        Seen::Short(n) => {
                            bytes += n;
                            continue;
                        }
                        other => panic!("{kind:?}: {other:?}"),
                    };
                    bytes += n;
                    assert!(
                        matches!(look(9, &frame, offload, 7), Seen::Bad(_)),
                        "{kind:?} at the wrong port"
                    );
                    let mut changed = frame.clone();
                    let last = changed.len() - 1;
                    changed[last] ^= 1;
                    assert!(
                        matches!(look(9, &changed, offload, port), Seen::Bad(_)),
                        "{kind:?} changed"
                    );
                }
                assert_eq!(bytes, packet.bytes, "{kind:?}");
            }
        }
    }
}
