// SPDX-License-Identifier: Apache-2.0
//! The pcapng file: interfaces by name, packets with direction and, if they were dropped, the
//! reason.

use super::chunk::{Direction, Header};
use graph::{Reason, SwIfIndex};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};
use rustix::fs::{Mode, OFlags};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

macro_rules! application {
    () => {
        "Ferrovia "
    };
}

/// Bytes of a section header in front of its first option's text.
const SECTION: usize = 28;

/// The file is a capture that an earlier one of ours wrote: a file of this user's, no link, that
/// begins as ours do. In a directory that others write to, none of them can change what a name of
/// ours stands for (`/tmp` is sticky); and what is removed is the name.
fn is_ours(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else { return false };
    let mut file = File::from(file);
    let user = rustix::process::geteuid().as_raw();
    if !file.metadata().is_ok_and(|found| found.is_file() && found.uid() == user) {
        return false;
    }
    let mut head = [0; SECTION + application!().len()];
    file.read_exact(&mut head).is_ok()
        && head.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a])
        && head.ends_with(application!().as_bytes())
}

/// Time stamps are in nanoseconds: `if_tsresol`, a power of ten.
const NANOSECONDS: u8 = 9;

pub struct Writer {
    file: PcapNgWriter<BufWriter<File>>,
    /// Interface blocks by interface, and by what its packets begin with.
    blocks: HashMap<(SwIfIndex, u32), u32>,
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
    /// A file that exists already and isn't a capture of ours; the system's.
    pub fn create(path: &Path, snap: usize, epoch: Duration) -> io::Result<Self> {
        if is_ours(path) {
            std::fs::remove_file(path)?;
        }
        // Never through a link or over another's file: /tmp is shared by all users.
        let file = BufWriter::new(File::create_new(path)?);
        let section = SectionHeaderBlock {
            endianness: Endianness::native(),
            major_version: 1,
            minor_version: 0,
            section_length: -1,
            options: vec![SectionHeaderOption::UserApplication(
                concat!(application!(), env!("CARGO_PKG_VERSION")).into(),
            )],
        };
        let mut file = PcapNgWriter::with_section_header(file, section).map_err(failed)?;
        // Even if the daemon dies, the next capture recognises the file.
        file.get_mut().flush()?;
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
            let reason = reasons.get(header.at as usize).filter(|_| header.at != 0);
            let why = reason.map_or("no reason".to_string(), |r| format!("{}: {}", r.node, r.text));
            options.push(EnhancedPacketOption::Comment(format!("dropped: {why}").into()));
        }
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: self.epoch + Duration::from_nanos(header.time),
            // Bytes that a capture of nodes puts in front count, too.
            original_len: header.length + bytes.len() as u32 - header.kept,
            data: bytes.into(),
            options,
        };
        self.file.write_pcapng_block(block).map_err(failed)?;
        self.written += 1;
        Ok(())
    }

    /// The number of the packet's interface in the file; the first packet of an interface describes
    /// it.
    fn interface(
        &mut self,
        header: &Header,
        name: impl FnOnce(SwIfIndex) -> String,
    ) -> io::Result<u32> {
        let (interface, linktype) = match header.direction {
            Direction::Dispatch => (SwIfIndex(u32::MAX), DataLink::VPP_DISPATCH),
            _ => (header.interface, if header.ip { DataLink::RAW } else { DataLink::ETHERNET }),
        };
        let key = (interface, linktype.into());
        if let Some(id) = self.blocks.get(&key) {
            return Ok(*id);
        }
        let block = InterfaceDescriptionBlock {
            linktype,
            snaplen: self.snap,
            options: vec![
                InterfaceDescriptionOption::IfName(name(interface).into()),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        self.file.write_pcapng_block(block).map_err(failed)?;
        let id = self.blocks.len() as u32;
        self.blocks.insert(key, id);
        Ok(id)
    }

    /// Takes the file away again, if the name still stands for it.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        let (ours, there) = (self.file.get_ref().get_ref().metadata()?, path.symlink_metadata()?);
        if (ours.dev(), ours.ino()) == (there.dev(), there.ino()) {
            std::fs::remove_file(path)?;
        }
        Ok(())
    }

    /// Everything so far is in the file afterwards.
    ///
    /// # Errors
    /// The system's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.get_mut().flush()
    }
}
