// SPDX-License-Identifier: Apache-2.0
//! Reading a segment, VPP's or ours.

use crate::layout::{ENTRY, Kind, NAME, VERSION, header, ring};
use mem::WordsView;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

/// The longest time that a writer may take to answer, or to come to an end of its changes.
const PATIENCE: Duration = Duration::from_secs(5);

/// A segment that another process, or this one, writes.
#[derive(Debug)]
pub struct Reader {
    view: WordsView,
}

/// An entry of the directory, and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Stat {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

/// The value of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A count or a time.
    Scalar(u64),
    /// A value that goes up and down.
    Gauge(u64),
    /// By thread, then by index.
    Simple(Vec<Vec<u64>>),
    /// Packets and bytes by thread, then by index.
    Combined(Vec<Vec<(u64, u64)>>),
    /// By index; an index without an owner has the empty name.
    Names(Vec<String>),
    /// By thread: the lowest exponent, then counts by powers of two from there on.
    Histogram(Vec<Vec<u64>>),
    /// By thread.
    Ring(Vec<RingRow>),
    /// Of a kind that isn't read here.
    Other(Kind),
}

/// A thread's part of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingRow {
    /// Entries that were ever written.
    pub sequence: u64,
    /// The last of them, the oldest first, in words; the last word is filled up with zeros.
    /// Entries that the writer may have overwritten while they were read are left out.
    pub entries: Vec<Vec<u64>>,
    /// Describes an entry.
    pub schema: String,
    /// Version of that description.
    pub schema_version: u32,
}

impl Value {
    /// The sum over threads and indices; of a combined counter, its packets.
    pub fn total(&self) -> u64 {
        match self {
            Value::Scalar(n) | Value::Gauge(n) => *n,
            Value::Simple(rows) => rows.iter().flatten().sum(),
            Value::Combined(rows) => rows.iter().flatten().map(|(packets, _)| packets).sum(),
            Value::Histogram(rows) => rows.iter().flat_map(|row| row.iter().skip(1)).sum(),
            Value::Ring(rows) => rows.iter().map(|row| row.sequence).sum(),
            Value::Names(_) | Value::Other(_) => 0,
        }
    }
}

#[derive(Clone, Copy)]
struct Entry {
    kind: Kind,
    value: u64,
}

impl Reader {
    /// Fetches the segment from the daemon that listens on `path`.
    ///
    /// # Errors
    /// Of the socket; no descriptor came; as [`Reader::new`].
    pub fn connect(path: &Path) -> io::Result<Self> {
        let socket = net::socket_with(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        net::connect(&socket, &SocketAddrUnix::new(path)?)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::CMSG_CLOEXEC;
        net::recvmsg(&socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags)?;
        let fd: Option<OwnedFd> = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        Self::new(
            fd.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "no descriptor came"))?,
        )
    }

    /// Maps a segment.
    ///
    /// # Errors
    /// Of the mapping; [`io::ErrorKind::InvalidData`] for a file that isn't a segment of version 2.
    pub fn new(fd: impl AsFd) -> io::Result<Self> {
        let this = Self { view: WordsView::new(fd)? };
        match this.view.load(header::VERSION, Ordering::Acquire) {
            Some(VERSION) => Ok(this),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "no stats segment of version 2")),
        }
    }

    /// Counts the changes of the directory.
    pub fn epoch(&self) -> u64 {
        self.view.load(header::EPOCH, Ordering::Acquire).unwrap_or(0)
    }

    /// The names in the directory, with what they are.
    ///
    /// # Errors
    /// A segment that contradicts its own format; a directory that changes without end.
    pub fn list(&self) -> io::Result<Vec<(String, Kind)>> {
        self.optimistic(|| {
            Some(self.directory()?.into_iter().map(|(name, e)| (name, e.kind)).collect())
        })
    }

    /// The names at these indices of the directory, with what they are and with the index of each,
    /// by which [`Reader::at`] finds it without reading the whole directory. `None` if the
    /// directory ends before the first index.
    ///
    /// # Errors
    /// As [`Reader::list`].
    pub fn index(&self, indices: Range<u32>) -> io::Result<Option<Vec<(u32, String, Kind)>>> {
        self.optimistic(|| {
            let (_, len) = self.vector(self.word(header::DIRECTORY)?, ENTRY)?;
            if indices.start as usize >= len {
                return Some(None);
            }
            let mut all = Vec::new();
            for index in indices.start..indices.end.min(len as u32) {
                let (at, entry) = self.entry(index)?;
                if entry.kind != Kind::Empty {
                    all.push((index, self.text(at + 16, NAME)?, entry.kind));
                }
            }
            Some(Some(all))
        })
    }

    /// The value of an entry that was at this index; `None` if it is there no longer.
    ///
    /// # Errors
    /// As [`Reader::list`].
    pub fn at(&self, index: u32, name: &str) -> io::Result<Option<Value>> {
        self.optimistic(|| match self.entry(index) {
            Some((at, entry)) if entry.kind != Kind::Empty && self.text(at + 16, NAME)? == name => {
                self.value(entry).map(Some)
            }
            _ => Some(None),
        })
    }

    /// The entries whose name is wanted, all of one moment of the directory; counts go on
    /// meanwhile.
    ///
    /// # Errors
    /// As [`Reader::list`].
    pub fn read(&self, wanted: impl Fn(&str) -> bool) -> io::Result<Vec<Stat>> {
        self.optimistic(|| {
            let all = self.directory()?.into_iter().filter(|(name, _)| wanted(name));
            all.map(|(name, entry)| Some(Stat { name, value: self.value(entry)? })).collect()
        })
    }

    /// The value of one entry; `None` if there is none.
    ///
    /// # Errors
    /// As [`Reader::list`].
    pub fn get(&self, name: &str) -> io::Result<Option<Value>> {
        Ok(self.read(|n| n == name)?.pop().map(|stat| stat.value))
    }

    /// Repeats `f` until no change of the directory came in between. `f` gives `None` where
    /// something lies outside of the segment.
    fn optimistic<R>(&self, f: impl Fn() -> Option<R>) -> io::Result<R> {
        let until = Instant::now() + PATIENCE;
        loop {
            let word = |at| self.view.load(at, Ordering::Acquire);
            let before = (word(header::EPOCH), Some(0));
            let result = if word(header::IN_PROGRESS) == Some(0) { Some(f()) } else { None };
            // The reads of `f` come before the second read of the header.
            fence(Ordering::Acquire);
            match result {
                Some(result) if (word(header::EPOCH), word(header::IN_PROGRESS)) == before => {
                    let bad = || io::Error::new(io::ErrorKind::InvalidData, "broken stats segment");
                    return result.ok_or_else(bad);
                }
                _ if Instant::now() > until => {
                    let busy = "the directory changes faster than it can be read";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, busy));
                }
                _ => std::thread::yield_now(),
            }
        }
    }

    fn word(&self, at: u64) -> Option<u64> {
        self.view.load(at, Ordering::Relaxed)
    }

    /// The target of a pointer, as an offset.
    fn offset(&self, pointer: u64) -> Option<u64> {
        pointer.checked_sub(self.word(header::BASE)?)
    }

    /// Offset and length of a vector of elements of this size.
    fn vector(&self, pointer: u64, size: usize) -> Option<(u64, usize)> {
        let at = self.offset(pointer)?;
        let len = self.word(at.checked_sub(8)?)? as u32 as usize;
        let end = at.checked_add(len.checked_mul(size)? as u64)?;
        (end <= self.view.len() as u64).then_some((at, len))
    }

    /// The bytes from `at` on, which may be no multiple of 8: up to `len`, or up to the word for
    /// which `last` is true.
    fn bytes(&self, at: u64, len: usize, last: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        let (end, skip) = (at.checked_add(len as u64)?, (at % 8) as usize);
        let mut bytes = Vec::new();
        for word in (at - skip as u64..end).step_by(8) {
            let word = self.word(word)?.to_ne_bytes();
            let word = if bytes.is_empty() { &word[skip..] } else { &word };
            bytes.extend_from_slice(word);
            if last(word) {
                break;
            }
        }
        bytes.truncate(len);
        Some(bytes)
    }

    fn text(&self, at: u64, limit: usize) -> Option<String> {
        let mut bytes = self.bytes(at, limit, |word| word.contains(&0))?;
        bytes.truncate(bytes.iter().position(|b| *b == 0).unwrap_or(limit));
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn entry(&self, index: u32) -> Option<(u64, Entry)> {
        let (at, len) = self.vector(self.word(header::DIRECTORY)?, ENTRY)?;
        if index as usize >= len {
            return None;
        }
        let at = at + u64::from(index) * ENTRY as u64;
        Some((at, Entry { kind: Kind::of(self.word(at)? as u32)?, value: self.word(at + 8)? }))
    }

    fn directory(&self) -> Option<Vec<(String, Entry)>> {
        let (_, len) = self.vector(self.word(header::DIRECTORY)?, ENTRY)?;
        let mut all = Vec::new();
        for index in 0..len as u32 {
            let (at, entry) = self.entry(index)?;
            if entry.kind != Kind::Empty {
                all.push((self.text(at + 16, NAME)?, entry));
            }
        }
        Some(all)
    }

    /// Each element of a vector of pointers.
    fn pointers<R>(&self, pointer: u64, f: impl Fn(u64) -> Option<R>) -> Option<Vec<R>> {
        let (at, len) = self.vector(pointer, 8)?;
        (0..len as u64).map(|i| f(self.word(at + i * 8)?)).collect()
    }

    /// Rows of cells of `N` words, each as `cell` has it; all of each, or one column. Cells that
    /// were never written take no memory.
    fn rows<const N: usize, T>(
        &self,
        pointer: u64,
        column: Option<u32>,
        zero: impl Fn(usize) -> Vec<T>,
        cell: impl Fn([u64; N]) -> T,
    ) -> Option<Vec<Vec<T>>> {
        self.pointers(pointer, |row| {
            let (at, len) = self.vector(row, N * 8)?;
            let size = N as u64 * 8;
            let (first, n) = match column {
                Some(column) => ((column as usize).min(len), usize::from((column as usize) < len)),
                None => (0, len),
            };
            let mut all = zero(n);
            self.view.written(at + first as u64 * size, n as u64 * size, size, |from, words| {
                for (to, group) in all[(from / size) as usize..].iter_mut().zip(words.groups()) {
                    *to = cell(group);
                }
            })?;
            Some(all)
        })
    }

    /// Two 32-bit fields that lie side by side.
    fn pair(&self, at: u64) -> Option<(u64, u64)> {
        let [a, b, c, d, e, f, g, h] = self.word(at)?.to_ne_bytes();
        Some((u32::from_ne_bytes([a, b, c, d]).into(), u32::from_ne_bytes([e, f, g, h]).into()))
    }

    /// One thread's part of the ring at `at`, without the entries that may have been overwritten
    /// meanwhile.
    fn ring_row(&self, at: u64, thread: u64) -> Option<RingRow> {
        let (size, entries) = self.pair(at + ring::ENTRY_SIZE as u64)?;
        let (_, states) = self.pair(at + ring::SCHEMA_VERSION as u64)?;
        let (data, _) = self.pair(at + ring::DATA as u64)?;
        let state = at + states + thread * ring::STATE as u64;
        let count = |at: usize| self.view.load(state + at as u64, Ordering::Acquire);
        // Each thread's entries lie behind those of the threads before it.
        let row = (thread + 1).checked_mul(entries)?.checked_mul(size)?;
        if size == 0 || row > self.view.len() as u64 {
            return None;
        }
        let before = count(ring::SEQUENCE)?;
        let first = before.saturating_sub(entries);
        let entry = |i: u64| -> Option<Vec<u64>> {
            let at = at + data + (thread * entries + i.checked_rem(entries)?) * size;
            let bytes = self.bytes(at, size as usize, |_| false)?;
            let word = |part: &[u8]| {
                let mut word = [0; 8];
                word[..part.len()].copy_from_slice(part);
                u64::from_ne_bytes(word)
            };
            Some(bytes.chunks(8).map(word).collect())
        };
        let mut all = (first..before).map(entry).collect::<Option<Vec<_>>>()?;
        fence(Ordering::Acquire);
        let (begun, after) = (count(ring::BEGUN)?, count(ring::SEQUENCE)?);
        // A writer that doesn't keep BEGUN, as VPP, may always be within the next entry.
        let begun = if begun < after { after.saturating_add(1) } else { begun };
        let lost = begun.saturating_sub(entries).saturating_sub(first);
        all.drain(..(lost as usize).min(all.len()));
        let (schema, len) = self.pair(state + ring::SCHEMA as u64)?;
        let schema = self.text(at + schema, (len as usize).min(self.view.len()))?;
        let (_, schema_version) = self.pair(state + ring::HEAD as u64)?;
        Some(RingRow {
            sequence: before,
            entries: all,
            schema,
            schema_version: schema_version as u32,
        })
    }

    fn value(&self, entry: Entry) -> Option<Value> {
        match entry.kind {
            Kind::Symlink => {
                let bytes = entry.value.to_ne_bytes();
                let half = |i: usize| {
                    u32::from_ne_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]])
                };
                let (_, target) = self.entry(half(0))?;
                if target.kind == Kind::Symlink { None } else { self.plain(target, Some(half(4))) }
            }
            _ => self.plain(entry, None),
        }
    }

    fn plain(&self, entry: Entry, column: Option<u32>) -> Option<Value> {
        Some(match entry.kind {
            Kind::Scalar => Value::Scalar(entry.value),
            Kind::Gauge => Value::Gauge(entry.value),
            Kind::Simple => {
                Value::Simple(self.rows(entry.value, column, |n| vec![0; n], |[count]| count)?)
            }
            Kind::Combined => {
                let pair = |[packets, bytes]: [u64; 2]| (packets, bytes);
                Value::Combined(self.rows(entry.value, column, |n| vec![(0, 0); n], pair)?)
            }
            Kind::Names => Value::Names(self.pointers(entry.value, |text| match text {
                0 => Some(String::new()),
                _ => {
                    let (at, len) = self.vector(text, 1)?;
                    self.text(at, len)
                }
            })?),
            Kind::Histogram => {
                Value::Histogram(self.rows(entry.value, None, |n| vec![0; n], |[count]| count)?)
            }
            Kind::Ring => {
                let at = self.offset(entry.value).filter(|at| *at < self.view.len() as u64)?;
                let (threads, _) = self.pair(at + ring::THREADS as u64)?;
                Value::Ring(
                    (0..threads).map(|thread| self.ring_row(at, thread)).collect::<Option<_>>()?,
                )
            }
            kind => Value::Other(kind),
        })
    }
}
