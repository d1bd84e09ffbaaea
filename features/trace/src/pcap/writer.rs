// SPDX-License-Identifier: Apache-2.0
//! The pcapng file: interfaces by name, packets with direction and, if they were dropped, the reason.

use super::chunk::{Direction, Header};
use graph::{Reason, SwIfIndex};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// Time stamps are in nanoseconds: `if_tsresol`, a power of ten.
const NANOSECONDS: u8 = 9;

pub struct Writer {
    file: PcapNgWriter<BufWriter<File>>,
    /// Interface blocks by interface, and by whether its packets begin with an IP header.
    blocks: HashMap<(SwIfIndex, bool), u32>,
    snap: u32,
    /// Time of day at zero of the instance's clock.
    epoch: Duration,
    pub written: u64,
}

fn failed(e: pcap_file::PcapError) -> io::Error {
    match e {
        pcap_file::PcapError::IoError(e) => e,
        e => io::Error::other(e),
    }
}

impl Writer {
    /// Begins a file; `snap` is how much of a packet is kept.
    ///
    /// # Errors
    /// A file that exists already; the system's.
    pub fn create(path: &Path, snap: usize, epoch: Duration) -> io::Result<Self> {
        // Never through a link or over another's file: /tmp is everybody's.
        let file = BufWriter::new(File::create_new(path)?);
        let section = SectionHeaderBlock {
            endianness: Endianness::native(),
            major_version: 1,
            minor_version: 0,
            section_length: -1,
            options: vec![SectionHeaderOption::UserApplication(
                concat!("Ferrovia ", env!("CARGO_PKG_VERSION")).into(),
            )],
        };
        let file = PcapNgWriter::with_section_header(file, section).map_err(failed)?;
        Ok(Self { file, blocks: HashMap::new(), snap: snap as u32, epoch, written: 0 })
    }

    /// Appends a packet.
    ///
    /// # Errors
    /// The system's.
    pub fn write(
        &mut self,
        header: &Header,
        bytes: &[u8],
        name: impl FnOnce(SwIfIndex) -> String,
        reasons: &[Reason],
    ) -> io::Result<()> {
        let interface_id = self.interface(header, name)?;
        // epb_flags, bits 0 and 1: 1 inbound, 2 outbound.
        let direction = if header.direction == Direction::Tx { 2 } else { 1 };
        let mut options = vec![EnhancedPacketOption::Flags(direction)];
        if header.direction == Direction::Drop {
            let reason = reasons.get(header.error as usize).filter(|_| header.error != 0);
            let why = reason.map_or("no reason".to_string(), |r| format!("{}: {}", r.node, r.text));
            options.push(EnhancedPacketOption::Comment(format!("dropped: {why}").into()));
        }
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: self.epoch + Duration::from_nanos(header.time),
            original_len: header.length,
            data: bytes.into(),
            options,
        };
        self.file.write_pcapng_block(block).map_err(failed)?;
        self.written += 1;
        Ok(())
    }

    /// The number of the packet's interface in the file; the first packet of an interface describes it.
    fn interface(&mut self, header: &Header, name: impl FnOnce(SwIfIndex) -> String) -> io::Result<u32> {
        let key = (header.interface, header.ip);
        if let Some(id) = self.blocks.get(&key) {
            return Ok(*id);
        }
        let block = InterfaceDescriptionBlock {
            linktype: if header.ip { DataLink::RAW } else { DataLink::ETHERNET },
            snaplen: self.snap,
            options: vec![
                InterfaceDescriptionOption::IfName(name(header.interface).into()),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        self.file.write_pcapng_block(block).map_err(failed)?;
        let id = self.blocks.len() as u32;
        self.blocks.insert(key, id);
        Ok(id)
    }

    /// Everything so far is in the file afterwards.
    ///
    /// # Errors
    /// The system's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.get_mut().flush()
    }
}
