// SPDX-License-Identifier: Apache-2.0
//! Captures of transmitted packets: threads put them into rings, and a thread of its own writes
//! them to a pcapng file.

use buffer::Owned;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use sync::spsc::{Consumer, Producer, ring};

/// Packets that wait for the writer, for each thread.
const ROOM: usize = 1024;
/// The writer looks for packets this often.
const WAIT: Duration = Duration::from_millis(1);
/// Bytes of a packet in the file at most: none is cut.
const SNAPLEN: u32 = 262_144;
/// Time stamps are in nanoseconds: `if_tsresol`, a power of ten.
const NANOSECONDS: u8 = 9;

macro_rules! application {
    () => {
        "Ferrovia interface "
    };
}

/// A packet with the time of its transmission, in nanoseconds since 1970.
type Sent = (u64, Owned);

/// State of a capture that the writer, the sending threads and control share.
pub struct Capture {
    /// The file.
    pub path: PathBuf,
    /// Its device and inode: what names of one file have in common.
    id: (u64, u64),
    /// Packets in the file.
    pub written: AtomicU64,
    /// Packets that were taken from threads and aren't in the file, because it failed.
    pub lost: AtomicU64,
    /// The file can't be written: packets are refused.
    pub has_failed: AtomicBool,
    failure: Mutex<Option<String>>,
    /// The writer is to end when its rings are empty.
    finish: AtomicBool,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// The sending end of a thread.
pub struct Sender {
    pub ring: Producer<Sent>,
    pub capture: Arc<Capture>,
    /// Segments of packets that wait.
    pub waiting: Arc<AtomicUsize>,
}

impl Capture {
    /// Opens the file and starts its writer. `name` is the interface's; `ip` is true if packets
    /// begin with an IP header. Returns an end for each of `threads` threads.
    ///
    /// # Errors
    /// The system's; a file that exists and isn't such a capture of ours, or that one of `others`
    /// writes.
    pub fn start(
        path: &Path,
        name: &str,
        ip: bool,
        threads: usize,
        others: &[Arc<Self>],
    ) -> io::Result<(Arc<Self>, Vec<Sender>)> {
        let mut file = open(path)?;
        let found = file.metadata()?;
        let id = (found.dev(), found.ino());
        // Two writers would overwrite each other's packets.
        if others.iter().any(|other| other.id == id) {
            let text = "another interface captures to it: choose another name";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        let (whole, _) = whole_blocks(&mut file, 0)?;
        file.set_len(whole)?;
        file.seek(SeekFrom::Start(whole))?;
        let mut file = begin(file, name, ip)?;
        let whole = file.get_mut().stream_position()?;
        let capture = Arc::new(Self {
            path: path.to_path_buf(),
            id,
            written: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            finish: AtomicBool::new(false),
            writer: Mutex::new(None),
        });
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for _ in 0..threads {
            let (producer, consumer) = ring(ROOM);
            let waiting = Arc::new(AtomicUsize::new(0));
            receivers.push((consumer, waiting.clone()));
            senders.push(Sender { ring: producer, capture: capture.clone(), waiting });
        }
        let shared = capture.clone();
        let thread = std::thread::Builder::new().name("ferrovia_pcap_w".into());
        let writer = thread.spawn(move || {
            let log =
                Log { file: Some(file), capture: &shared, whole, pending: 0, scratch: Vec::new() };
            log.write(receivers);
        })?;
        *capture.writer.lock().expect("no panic inside") = Some(writer);
        Ok((capture, senders))
    }

    /// The reason why the file isn't written any more.
    pub fn failed(&self) -> Option<String> {
        self.failure.lock().expect("no panic inside").clone()
    }

    fn fail(&self, error: &io::Error) {
        let text = format!("{}: {error}", self.path.display());
        log::error!(target: "pcap", "{text}: packets are no longer captured");
        *self.failure.lock().expect("no panic inside") = Some(text);
        self.has_failed.store(true, Ordering::Release);
    }

    /// Waits until the packets sent so far are in the file, and closes it.
    pub fn complete(&self) {
        self.finish.store(true, Ordering::Release);
        let writer = self.writer.lock().expect("no panic inside").take();
        // A writer that panicked has written what it could.
        writer.into_iter().for_each(|writer| drop(writer.join()));
    }
}

type Output = PcapNgWriter<BufWriter<File>>;

/// Opens a new file, or one that an earlier capture of ours has left, to append to it. Never
/// through a link or to another's file: /tmp is shared by all users.
fn open(path: &Path) -> io::Result<File> {
    match File::options().read(true).write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => return result,
    }
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let found = file.metadata()?;
    let mut head = [0; SECTION + application!().len()];
    let is_ours = found.is_file()
        && found.uid() == rustix::process::geteuid().as_raw()
        && file.read_exact(&mut head).is_ok()
        && head.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a])
        && head.ends_with(application!().as_bytes());
    if !is_ours {
        let text =
            "exists and isn't the capture of an interface: remove it, or choose another name";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    Ok(file)
}

/// Bytes of a section header in front of its first option's text.
const SECTION: usize = 28;

/// Where the last whole block of a file of this machine's byte order ends, and the number of blocks
/// from offset `at` to there: a process that was killed, or a full disk, may have left the last one
/// incomplete.
fn whole_blocks(file: &mut File, mut at: u64) -> io::Result<(u64, u64)> {
    let size = file.metadata()?.len();
    let mut reader = io::BufReader::new(&mut *file);
    reader.seek(SeekFrom::Start(at))?;
    let mut blocks = 0;
    loop {
        let mut head = [0; 8];
        if reader.read_exact(&mut head).is_err() {
            return Ok((at, blocks));
        }
        let len = head[4..].first_chunk().map_or(0, |len| u64::from(u32::from_ne_bytes(*len)));
        if len < 12 || !len.is_multiple_of(4) || at + len > size {
            return Ok((at, blocks));
        }
        at += len;
        blocks += 1;
        reader.seek_relative(len as i64 - 8)?;
    }
}

fn failed(e: pcap_file::PcapError) -> io::Error {
    match e {
        pcap_file::PcapError::IoError(e) => e,
        e => io::Error::other(e),
    }
}

/// Begins a section with one interface.
fn begin(file: File, name: &str, ip: bool) -> io::Result<Output> {
    let section = SectionHeaderBlock {
        endianness: Endianness::native(),
        major_version: 1,
        minor_version: 0,
        section_length: -1,
        options: vec![SectionHeaderOption::UserApplication(
            concat!(application!(), env!("CARGO_PKG_VERSION")).into(),
        )],
    };
    let mut file =
        PcapNgWriter::with_section_header(BufWriter::new(file), section).map_err(failed)?;
    let interface = InterfaceDescriptionBlock {
        linktype: if ip { DataLink::RAW } else { DataLink::ETHERNET },
        snaplen: SNAPLEN,
        options: vec![
            InterfaceDescriptionOption::IfName(name.to_string().into()),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ],
    };
    file.write_pcapng_block(interface).map_err(failed)?;
    file.get_mut().flush()?;
    Ok(file)
}

/// The file while it can be written.
struct Log<'c> {
    /// `None` once it has failed.
    file: Option<Output>,
    capture: &'c Capture,
    /// Bytes of the file that are whole blocks.
    whole: u64,
    /// Packets behind them.
    pending: u64,
    scratch: Vec<u8>,
}

impl Log<'_> {
    fn append(&mut self, time: u64, packet: &Owned) {
        let Some(file) = &mut self.file else {
            self.capture.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        self.pending += 1;
        if let Err(error) = write(file, time, packet, &mut self.scratch) {
            self.fail(&error);
        }
    }

    fn flush(&mut self) {
        let Some(file) = self.file.as_mut().filter(|_| self.pending > 0) else { return };
        let file = file.get_mut();
        match file.flush().and_then(|()| file.get_mut().stream_position()) {
            Ok(position) => {
                self.whole = position;
                self.capture.written.fetch_add(self.pending, Ordering::Relaxed);
                self.pending = 0;
            }
            Err(error) => self.fail(&error),
        }
    }

    /// Leaves a file whose blocks are all whole, and writes no more.
    fn fail(&mut self, error: &io::Error) {
        let Some(file) = self.file.take() else { return };
        // Its buffer isn't written: a part of it may be in the file already.
        let (mut file, _) = file.into_inner().into_parts();
        // Each packet is a block.
        let (whole, written) = whole_blocks(&mut file, self.whole).unwrap_or((self.whole, 0));
        // If it fails, readers stop at the block that isn't whole.
        let _ = file.set_len(whole);
        self.capture.written.fetch_add(written, Ordering::Relaxed);
        self.capture.lost.fetch_add(self.pending.saturating_sub(written), Ordering::Relaxed);
        self.capture.fail(error);
    }
    /// Writes until all senders are gone.
    fn write(mut self, mut rings: Vec<(Consumer<Sent>, Arc<AtomicUsize>)>) {
        loop {
            // Read before the rings: what was sent before is in them.
            let finish = self.capture.finish.load(Ordering::Acquire);
            let mut any = false;
            for (ring, waiting) in &mut rings {
                // A thread that sends without end doesn't keep the others waiting.
                for (time, packet) in std::iter::from_fn(|| ring.pop()).take(ROOM) {
                    any = true;
                    self.append(time, &packet);
                    waiting.fetch_sub(packet.segment_count(), Ordering::Relaxed);
                }
            }
            if !any || self.pending >= ROOM as u64 {
                self.flush();
            }
            if any {
                continue;
            }
            rings.retain_mut(|(ring, _)| !(ring.is_closed() && ring.is_empty()));
            if finish || rings.is_empty() {
                return;
            }
            std::thread::sleep(WAIT);
        }
    }
}

/// Appends a packet's block.
fn write(file: &mut Output, time: u64, packet: &Owned, scratch: &mut Vec<u8>) -> io::Result<()> {
    scratch.clear();
    packet.segments().for_each(|segment| scratch.extend_from_slice(segment));
    let block = EnhancedPacketBlock {
        interface_id: 0,
        timestamp: Duration::from_nanos(time),
        original_len: scratch.len() as u32,
        data: (&scratch[..]).into(),
        // epb_flags, bits 0 and 1: 2 outbound.
        options: vec![EnhancedPacketOption::Flags(2)],
    };
    file.write_pcapng_block(block).map_err(failed).map(drop)
}
