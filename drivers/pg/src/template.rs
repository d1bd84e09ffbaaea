// SPDX-License-Identifier: Apache-2.0
//! A packet with fields that change from one copy to the next.

use wire::{Header, IpProtocol, Ipv4Header, Ipv6Header, l4};

/// The rule by which a field's value changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Counts from the lowest value up, and starts again.
    Increment,
    /// Draws any value of the range.
    Random,
}

/// A field that changes: the low `width` bytes of a big-endian number at `at`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Offset in the packet.
    pub at: usize,
    /// Bytes, 1 to 16.
    pub width: usize,
    /// Lowest and highest value, both taken.
    pub range: (u128, u128),
    /// Its change from one packet to the next.
    pub step: Step,
}

impl Edit {
    fn value(&self, n: u64, random: u64) -> u128 {
        let (low, high) = self.range;
        let Some(count) = (high - low).checked_add(1) else { return u128::from(n) };
        let n = match self.step {
            Step::Increment => u128::from(n),
            Step::Random if self.width > 8 => {
                u128::from(random) << 64 | u128::from(random.rotate_left(29))
            }
            Step::Random => u128::from(random),
        };
        low + n % count
    }
}

/// The template of a stream's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// The first packet, without what fills it up to the stream's size.
    pub bytes: Vec<u8>,
    /// Fields that change.
    pub edits: Vec<Edit>,
    /// Offset of the IPv4 header, if there is one.
    pub ip4: Option<usize>,
    /// Offset of the IPv6 header, if there is one.
    pub ip6: Option<usize>,
    /// Offset of the UDP, TCP or ICMP header, if there is one.
    pub l4: Option<usize>,
    /// Lengths and checksums that the text gave are kept, even if wrong.
    pub keep: FixedFields,
}

/// Fields that the text sets. The generator doesn't compute them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedFields {
    /// The length field of the IP header.
    pub ip_length: bool,
    /// The checksum of the IPv4 header.
    pub ip_checksum: bool,
    /// The length field of the UDP header.
    pub l4_length: bool,
    /// The checksum of the UDP, TCP or ICMP header.
    pub l4_checksum: bool,
}

impl Template {
    /// Writes packet number `n` with `size` bytes at least to `out`, lengths and checksums as they
    /// have to be.
    pub fn write(&self, n: u64, size: usize, random: &mut impl FnMut() -> u64, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.bytes);
        for i in out.len()..size {
            out.push(i as u8);
        }
        // The last edit runs fastest, as the rightmost digit of a counter; they all run at once in
        // VPP, so they do here.
        for edit in &self.edits {
            let value =
                edit.value(n, if edit.step == Step::Random { random() } else { 0 }).to_be_bytes();
            out[edit.at..edit.at + edit.width].copy_from_slice(&value[16 - edit.width..]);
        }
        self.finish(out);
    }

    fn finish(&self, out: &mut [u8]) {
        let total = out.len();
        let (at, protocol) = match (self.ip4, self.ip6) {
            (Some(at), _) => {
                let Some(ip) = Ipv4Header::view_at_mut(out, at) else { return };
                if !self.keep.ip_length {
                    ip.total_len.set((total - at) as u16);
                }
                let protocol = ip.protocol;
                if !self.keep.ip_checksum {
                    Ipv4Header::set_checksum_at(&mut out[at..]);
                }
                (at, protocol)
            }
            (_, Some(at)) => {
                let Some(ip) = Ipv6Header::view_at_mut(out, at) else { return };
                if !self.keep.ip_length {
                    ip.payload_len.set((total - at - 40) as u16);
                }
                (at, ip.next_header)
            }
            _ => return,
        };
        let Some(l4) = self.l4 else { return };
        if protocol == IpProtocol::UDP
            && !self.keep.l4_length
            && let Some(field) = out.get_mut(l4 + 4..l4 + 6)
        {
            field.copy_from_slice(&((total - l4) as u16).to_be_bytes());
        }
        if !self.keep.l4_checksum {
            // A header cut short by the text has no checksum to finish.
            let _ = l4::finish(&mut out[at..]);
        }
    }
}
