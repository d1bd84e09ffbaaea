// SPDX-License-Identifier: Apache-2.0
//! Captures: packets queued for a file, and the file.

use crate::gro::Gro;
use crate::offload::{Offloads, l3_of};
use buffer::{Flags, Owned, Pool, Reservation, Share};
use cli::Error;
use driver::{Segmenter, finish_checksum};
use graph::SwIfIndex;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use sync::{Mailbox, Waker};
use wire::gso::MAX_HEADERS;

/// Packets between the threads and the writer.
pub struct Backlog {
    queue: Mailbox<(SwIfIndex, Owned)>,
    /// Their buffers.
    share: Arc<Share>,
}

const ROOM: usize = 4096;

/// Link types of capture files.
const ETHERNET: u32 = 1;
const RAW_IP: u32 = 12;
/// Bytes of a packet in a capture file at most, as tcpdump writes it: no packet is cut, however
/// long its headers are.
const SNAPLEN: u32 = 262_144;
const _: () = assert!(buffer::MAX_PACKET <= SNAPLEN as usize);

impl Backlog {
    pub fn new(waker: Arc<Waker>, pool: &Pool) -> Self {
        Self { queue: Mailbox::new(ROOM, waker), share: pool.common_share(Reservation::CAPTURE) }
    }

    /// Generators pause: what is in the graph already still fits.
    pub fn is_long(&self) -> bool {
        self.queue.len() > ROOM / 4 || self.share.is_filling()
    }

    pub fn post(&self, sw_if: SwIfIndex, buffer: Owned) -> Result<(), (SwIfIndex, Owned)> {
        let buffers = buffer.segment_count();
        if !self.share.take(buffers) {
            return Err((sw_if, buffer));
        }
        self.queue.post((sw_if, buffer)).inspect_err(|_| self.share.give(buffers))
    }

    pub fn take(&self) -> Option<(SwIfIndex, Owned)> {
        let taken = self.queue.take()?;
        self.share.give(taken.1.segment_count());
        Some(taken)
    }
}

/// A capture file that is being written. It is created with the first packet.
pub struct Capture {
    pub path: PathBuf,
    /// Packets that are still wanted.
    left: u64,
    /// The file's link type.
    link: u32,
    writer: Option<BufWriter<File>>,
    /// Flag for the interface's transmit nodes: true while packets are captured.
    capturing: Arc<AtomicBool>,
    pub written: u64,
    failure: Option<String>,
}

impl Capture {
    /// Captures to a file that mustn't exist.
    ///
    /// # Errors
    /// The file exists, or its folder doesn't.
    pub fn new(
        path: &Path,
        count: Option<u64>,
        ip: bool,
        capturing: Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        if path.exists() {
            return Err(Error::failed(format!(
                "{} exists: remove it, or choose another name",
                path.display()
            )));
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        if folder.is_some_and(|f| !f.is_dir()) {
            return Err(Error::not_found(format!("there is no folder for {}", path.display())));
        }
        let link = if ip { RAW_IP } else { ETHERNET };
        capturing.store(true, Ordering::Release);
        let left = count.unwrap_or(u64::MAX);
        Ok(Self {
            path: path.to_path_buf(),
            left,
            link,
            writer: None,
            capturing,
            written: 0,
            failure: None,
        })
    }

    /// Returns true if all wanted packets are in it, or it failed.
    pub fn is_done(&self) -> bool {
        self.left == 0 || self.failure.is_some()
    }

    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Writes a packet of so many bytes.
    pub fn write<'a>(&mut self, len: usize, pieces: impl Iterator<Item = &'a [u8]>) {
        if self.is_done() {
            return;
        }
        if let Err(e) = self.try_write(len, pieces) {
            self.failure = Some(format!("{}: {e}", self.path.display()));
        }
        if self.is_done() {
            self.capturing.store(false, Ordering::Release);
        }
    }

    /// The classic format, which everything reads: 2.4, native byte order, microseconds, no
    /// padding, no FCS.
    fn try_write<'a>(
        &mut self,
        len: usize,
        pieces: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<()> {
        if self.writer.is_none() {
            let mut writer = BufWriter::new(File::create_new(&self.path)?);
            writer.write_all(&0xa1b2_c3d4_u32.to_ne_bytes())?;
            writer.write_all(&2u16.to_ne_bytes())?;
            writer.write_all(&4u16.to_ne_bytes())?;
            for word in [0, 0, SNAPLEN, self.link] {
                writer.write_all(&u32::to_ne_bytes(word))?;
            }
            self.writer = Some(writer);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let len = len as u32;
        if let Some(writer) = &mut self.writer {
            for word in [now.as_secs() as u32, now.subsec_micros(), len, len] {
                writer.write_all(&word.to_ne_bytes())?;
            }
            for piece in pieces {
                writer.write_all(piece)?;
            }
        }
        self.written += 1;
        self.left -= 1;
        Ok(())
    }

    /// Puts what was written on disk.
    pub fn flush(&mut self) {
        if let Some(Err(e)) = self.writer.as_mut().map(Write::flush) {
            self.failure = Some(format!("{}: {e}", self.path.display()));
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.capturing.store(false, Ordering::Release);
        self.flush();
    }
}

/// Software offloads between an interface's transmit nodes and its capture: completes the checksums
/// and segmentation that the interface doesn't offer.
#[derive(Debug, Default)]
pub struct Egress {
    gro: Gro,
    leaving: Vec<Vec<u8>>,
}

impl Egress {
    /// Sends a packet.
    pub fn send(
        &mut self,
        mut b: Owned,
        ip: bool,
        offloads: Offloads,
        now: u64,
        capture: Option<&mut Capture>,
    ) {
        let cut = b.flags.contains(Flags::GSO) && offloads.gso.is_none();
        if b.flags.contains(Flags::CSUM_PARTIAL) && !cut && !offloads.csum && offloads.gso.is_none()
        {
            // The transmit node has seen that there is a field.
            finish_checksum(&mut b);
        }
        if offloads.coalesce && !b.flags.intersects(Flags::CSUM_PARTIAL | Flags::GSO) {
            let mut frame = Vec::with_capacity(b.packet_len());
            b.segments().for_each(|segment| frame.extend_from_slice(segment));
            self.gro.push(frame, ip, now, &mut self.leaving);
            return self.deliver(capture);
        }
        let Some(capture) = capture else { return };
        let mut headers = [0; MAX_HEADERS];
        let segments =
            l3_of(b.data(), ip).filter(|_| cut).and_then(|l3| Segmenter::new(&b, l3).ok());
        let Some(mut segments) = segments else {
            return capture.write(b.packet_len(), b.segments());
        };
        while let Some((len, payload)) = segments.next(&mut headers) {
            let len_all = len + payload.clone().map(<[u8]>::len).sum::<usize>();
            capture.write(len_all, std::iter::once(&headers[..len]).chain(payload));
        }
    }

    /// Releases coalesced packets whose hold time is over; all of them if `now` is `None`.
    pub fn flush(&mut self, now: Option<u64>, capture: Option<&mut Capture>) {
        self.gro.flush(now, &mut self.leaving);
        self.deliver(capture);
    }

    fn deliver(&mut self, capture: Option<&mut Capture>) {
        let Some(capture) = capture else { return self.leaving.clear() };
        for frame in self.leaving.drain(..) {
            capture.write(frame.len(), std::iter::once(&frame[..]));
        }
    }
}
