// SPDX-License-Identifier: Apache-2.0
//! Readers of capture files: the classic format in both byte orders, with microseconds or
//! nanoseconds, and pcapng (the IETF's drafts on PCAP and PCAP Next Generation Capture File
//! Formats). A malformed file is an error that names the packet; nothing of it is trusted.

use std::io::{self, ErrorKind, Read};

/// Longest record or block that is read: more than the longest packet with its options.
const MAX_RECORD: u32 = 16 << 20;
/// Interfaces of one section at most.
const MAX_INTERFACES: usize = 65_536;
const SECOND: i128 = 1_000_000_000;

/// `LINKTYPE_ETHERNET`, and the link types of packets that begin with an IP header: BSD's and
/// OpenBSD's raw IP, `LINKTYPE_RAW`, `LINKTYPE_IPV4`, `LINKTYPE_IPV6`.
const ETHERNET: u32 = 1;
const IP: [u32; 5] = [12, 14, 101, 228, 229];

/// The header that packets begin with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// An Ethernet header.
    Ethernet,
    /// An IP header.
    Ip,
    /// Something that no interface carries: the number of its link type.
    Other(u32),
}

impl From<u32> for Link {
    fn from(link_type: u32) -> Self {
        match link_type {
            ETHERNET => Self::Ethernet,
            link if IP.contains(&link) => Self::Ip,
            link => Self::Other(link),
        }
    }
}

/// A packet of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// Nanoseconds since 1970.
    pub time: u64,
    /// The header that it begins with.
    pub link: Link,
    /// The bytes that are in the file.
    pub bytes: &'a [u8],
}

/// An interface of a section of a pcapng file.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Link,
    snap: u32,
    /// `if_tsresol`: a negative power of 10, or of 2 with bit 7.
    resolution: u8,
    /// `if_tsoffset`, in seconds.
    offset: i64,
}

enum Format {
    Classic { nanos: bool, link: Link },
    Ng { interfaces: Vec<Interface> },
}

/// Reads the packets of a file.
pub struct Reader<R> {
    input: R,
    big_endian: bool,
    format: Format,
    record: Vec<u8>,
    /// Packets so far.
    count: u64,
    /// Time of the last packet.
    time: u64,
}

fn malformed(text: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text.into())
}

/// Fields of a record, in the file's byte order.
struct Fields<'a> {
    rest: &'a [u8],
    big_endian: bool,
}

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    fn u16(&mut self) -> Option<u16> {
        let bytes = self.take()?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn u32(&mut self) -> Option<u32> {
        let bytes = self.take()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(head)
    }
}

/// Blocks of a pcapng file.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
/// The obsolete Packet Block.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// The byte-order magic of a section.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Type and two lengths.
const BLOCK: u32 = 12;

impl<R: Read> Reader<R> {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// The system's; a file that isn't a capture.
    pub fn new(mut input: R) -> io::Result<Self> {
        let mut magic = [0; 4];
        input.read_exact(&mut magic).map_err(|e| named(e, "the file ends within its header"))?;
        let (big_endian, nanos) = match magic {
            [0xa1, 0xb2, 0xc3, 0xd4] => (true, Some(false)),
            [0xd4, 0xc3, 0xb2, 0xa1] => (false, Some(false)),
            [0xa1, 0xb2, 0x3c, 0x4d] => (true, Some(true)),
            [0x4d, 0x3c, 0xb2, 0xa1] => (false, Some(true)),
            // The same in both byte orders.
            [0x0a, 0x0d, 0x0d, 0x0a] => (false, None),
            _ => return Err(malformed("is no capture file: neither pcap nor pcapng")),
        };
        let interfaces = Vec::new();
        let mut reader = Self {
            input,
            big_endian,
            format: Format::Ng { interfaces },
            record: Vec::new(),
            count: 0,
            time: 0,
        };
        match nanos {
            Some(nanos) => reader.classic_header(nanos)?,
            None => reader.section()?,
        }
        Ok(reader)
    }

    /// The link type of the packets, where the header of the file has one.
    pub fn link(&self) -> Option<Link> {
        match &self.format {
            Format::Classic { link, .. } => Some(*link),
            Format::Ng { interfaces } => interfaces.first().map(|interface| interface.link),
        }
    }

    /// Reads `n` bytes. Memory grows with the bytes that are there, not with what a length says.
    fn fill(&mut self, n: u32) -> io::Result<()> {
        self.record.clear();
        let read = (&mut self.input).take(n.into()).read_to_end(&mut self.record)?;
        if read < n as usize {
            let text = format!("the file ends within the record behind packet {}", self.count);
            return Err(malformed(text));
        }
        Ok(())
    }

    fn fields(&self) -> Fields<'_> {
        Fields { rest: &self.record, big_endian: self.big_endian }
    }

    fn classic_header(&mut self, nanos: bool) -> io::Result<()> {
        self.fill(20)?;
        let mut fields = self.fields();
        let version = (fields.u16(), fields.u16());
        if version.0 != Some(2) {
            return Err(malformed("its version of the pcap format isn't 2"));
        }
        let link = fields
            .rest
            .get(12..)
            .and_then(|rest| Fields { rest, big_endian: self.big_endian }.u32());
        // The upper bits say how long the FCS is.
        let link = link.map(|link| Link::from(link & 0xffff));
        let link = link.ok_or_else(|| malformed("the file ends within its header"))?;
        self.format = Format::Classic { nanos, link };
        Ok(())
    }

    /// The rest of a section header, whose type was read: it sets the byte order.
    fn section(&mut self) -> io::Result<()> {
        self.fill(8)?;
        let order = self.record.get(4..8).and_then(|order| order.first_chunk()).copied();
        self.big_endian = match order.map(u32::from_be_bytes) {
            Some(BYTE_ORDER) => true,
            Some(order) if order.swap_bytes() == BYTE_ORDER => false,
            _ => return Err(malformed("a section without the byte-order magic of pcapng")),
        };
        let len = self.fields().u32().unwrap_or_default();
        // Behind the magic: version, length of the section, options.
        self.body(len, 8, 12)?;
        if self.fields().u16() != Some(1) {
            return Err(malformed("its version of the pcapng format isn't 1"));
        }
        self.format = Format::Ng { interfaces: Vec::new() };
        Ok(())
    }

    /// Reads the rest of a block of `len` bytes, of which `before` of its body were read, and
    /// checks the length at its end. The rest of the body has `least` bytes or more.
    fn body(&mut self, len: u32, before: u32, least: u32) -> io::Result<()> {
        let head = BLOCK - 4 + before - if before > 0 { 4 } else { 0 };
        if !len.is_multiple_of(4) || len < head + least + 4 || len > MAX_RECORD {
            let text = format!("a block of {len} bytes behind packet {}", self.count);
            return Err(malformed(text));
        }
        self.fill(len - head)?;
        let end = self.record.len() - 4;
        let trailer = self.record.split_off(end);
        let again = Fields { rest: &trailer, big_endian: self.big_endian }.u32();
        if again != Some(len) {
            let text = format!("a block behind packet {} has two lengths", self.count);
            return Err(malformed(text));
        }
        Ok(())
    }

    /// The next packet; `None` at the end of the file.
    ///
    /// # Errors
    /// The system's; a malformed file. Nothing behind an error is read.
    pub fn next_packet(&mut self) -> io::Result<Option<Packet<'_>>> {
        let found = match self.format {
            Format::Classic { nanos, link } => self.classic(nanos, link)?,
            Format::Ng { .. } => self.ng()?,
        };
        let Some((time, link, start, len)) = found else { return Ok(None) };
        self.count += 1;
        self.time = time;
        let bytes = self.record.get(start..start + len).unwrap_or_default();
        Ok(Some(Packet { time, link, bytes }))
    }

    /// The first bytes of a record; false at the end of the file.
    fn start(&mut self, n: u32) -> io::Result<bool> {
        self.record.clear();
        let read = (&mut self.input).take(n.into()).read_to_end(&mut self.record)?;
        if read != 0 && read < n as usize {
            let text = format!("the file ends within the record behind packet {}", self.count);
            return Err(malformed(text));
        }
        Ok(read != 0)
    }

    /// Time, link type, offset and length of the next packet of a classic file.
    fn classic(&mut self, nanos: bool, link: Link) -> io::Result<Found> {
        if !self.start(16)? {
            return Ok(None);
        }
        let mut fields = self.fields();
        let words = (fields.u32(), fields.u32(), fields.u32());
        let (Some(seconds), Some(fraction), Some(len)) = words else { return Ok(None) };
        let scale = if nanos { 1 } else { 1000 };
        let number = self.count + 1;
        let Some(fraction) = fraction.checked_mul(scale).filter(|n| i128::from(*n) < SECOND) else {
            return Err(malformed(format!("packet {number}: a fraction above one second")));
        };
        if len > MAX_RECORD {
            return Err(malformed(format!("packet {number}: a length of {len} bytes")));
        }
        self.fill(len)?;
        let time = u64::from(seconds) * SECOND as u64 + u64::from(fraction);
        Ok(Some((time, link, 0, len as usize)))
    }

    /// The same of a pcapng file.
    fn ng(&mut self) -> io::Result<Found> {
        // Until a packet: other blocks have no packets.
        while self.start(4)? {
            let kind = self.fields().u32().unwrap_or_default();
            if kind == SECTION {
                self.section()?;
                continue;
            }
            self.fill(4)?;
            let len = self.fields().u32().unwrap_or_default();
            self.body(len, 0, 0)?;
            match kind {
                INTERFACE => self.interface()?,
                ENHANCED_PACKET | PACKET | SIMPLE_PACKET => {
                    let found = self.packet(kind);
                    let number = self.count + 1;
                    let text = || format!("packet {number}: a block that contradicts itself");
                    return found.map(Some).ok_or_else(|| malformed(text()));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Reads an interface description from the record.
    fn interface(&mut self) -> io::Result<()> {
        let parse = |mut fields: Fields<'_>| {
            let (link, _, snap) = (fields.u16()?, fields.u16()?, fields.u32()?);
            let mut interface =
                Interface { link: u32::from(link).into(), snap, resolution: 6, offset: 0 };
            while !fields.rest.is_empty() {
                let (code, len) = (fields.u16()?, fields.u16()?);
                let value = fields.bytes(len.into())?;
                // Padding may be missing behind the last option.
                let padding = usize::from(len).next_multiple_of(4) - usize::from(len);
                fields.bytes(padding.min(fields.rest.len()))?;
                match (code, value) {
                    (0, _) => break,
                    (9, [resolution]) => interface.resolution = *resolution,
                    (14, value) => {
                        let bytes = <[u8; 8]>::try_from(value).ok()?;
                        interface.offset = match fields.big_endian {
                            true => i64::from_be_bytes(bytes),
                            false => i64::from_le_bytes(bytes),
                        };
                    }
                    _ => {}
                }
            }
            Some(interface)
        };
        let interface = parse(self.fields()).ok_or_else(|| {
            malformed(format!("an interface behind packet {} is malformed", self.count))
        })?;
        if let Format::Ng { interfaces } = &mut self.format {
            if interfaces.len() >= MAX_INTERFACES {
                return Err(malformed(format!("more than {MAX_INTERFACES} interfaces")));
            }
            interfaces.push(interface);
        }
        Ok(())
    }

    /// The packet in the record, a block of this kind; `None` if the block contradicts itself.
    fn packet(&self, kind: u32) -> Option<(u64, Link, usize, usize)> {
        let Format::Ng { interfaces } = &self.format else { return None };
        let mut fields = self.fields();
        if kind == SIMPLE_PACKET {
            let interface = interfaces.first()?;
            let original = fields.u32()?;
            let snap = if interface.snap == 0 { u32::MAX } else { interface.snap };
            let len = original.min(snap) as usize;
            // It has no time of its own.
            return (len <= fields.rest.len()).then_some((self.time, interface.link, 4, len));
        }
        let number = match kind {
            PACKET => {
                let number = fields.u16()?;
                fields.u16()?;
                usize::from(number)
            }
            _ => fields.u32()? as usize,
        };
        let (high, low, len) = (fields.u32()?, fields.u32()?, fields.u32()? as usize);
        fields.u32()?;
        let interface = interfaces.get(number)?;
        let time = interface.nanoseconds(u64::from(high) << 32 | u64::from(low));
        (len <= fields.rest.len()).then_some((time, interface.link, 20, len))
    }
}

/// Time, link type, offset in the record, length.
type Found = Option<(u64, Link, usize, usize)>;

impl Interface {
    /// A time stamp in nanoseconds since 1970.
    fn nanoseconds(&self, units: u64) -> u64 {
        let units = i128::from(units);
        let exponent = u32::from(self.resolution & 0x7f);
        let time = match (self.resolution & 0x80 != 0, exponent) {
            (true, exponent) => (units * SECOND) >> exponent,
            (false, 0..=9) => units * 10i128.pow(9 - exponent),
            (false, 10..=46) => units / 10i128.pow(exponent - 9),
            // Less than a nanosecond.
            (false, _) => 0,
        };
        let time = time + i128::from(self.offset) * SECOND;
        time.clamp(0, u64::MAX.into()) as u64
    }
}

/// An error with the reason in plain words, if it is an unexpected end.
fn named(error: io::Error, text: &str) -> io::Error {
    if error.kind() == ErrorKind::UnexpectedEof { malformed(text) } else { error }
}
