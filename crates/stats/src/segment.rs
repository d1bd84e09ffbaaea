// SPDX-License-Identifier: Apache-2.0
//! The writer's side of the segment: memory is allocated once and for good, and the directory lists
//! what lies where.

use crate::layout::{ENTRY, Kind, NAME, VERSION, header};
use mem::Words;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of a word.
pub(crate) const WORD: usize = 8;
/// Entries of the directory at most.
const ENTRIES: usize = 1 << 22;
/// Words of an entry.
const ENTRY_WORDS: usize = ENTRY / WORD;
/// Address space for the directory and for what isn't a thread's. Memory is taken where it is
/// touched.
const COMMON: usize = 2 << 30;
/// Address space for a thread's cells: about 60 counters of the longest kind.
const PER_THREAD: usize = 4 << 30;
/// Words between the start of a piece and its data: a cache line, which the vector's length ends.
const HEAD: usize = 8;
/// Pieces start on pairs of cache lines: no two share one.
const ALIGN: usize = 16;

/// The segment.
#[derive(Debug)]
pub(crate) struct Segment {
    words: Arc<Words>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The first word that isn't given out.
    next: usize,
    /// Offset of the directory.
    directory: usize,
    entries: usize,
    free: Vec<u32>,
    by_name: HashMap<Box<str>, u32>,
    /// Strings given back, by words.
    strings: HashMap<usize, Vec<usize>>,
    empty: usize,
    /// Names that begin so are counted, but don't stand in the directory.
    hidden: Vec<String>,
}

impl Segment {
    /// One for the counters of this many threads.
    pub fn new(threads: usize) -> Arc<Self> {
        let words = Words::new("stats", COMMON + threads * PER_THREAD)
            .expect("address space for counters (is `ulimit -v` set?)");
        let inner = Inner {
            next: ALIGN,
            directory: 0,
            entries: 0,
            free: Vec::new(),
            by_name: HashMap::new(),
            strings: HashMap::new(),
            empty: 0,
            hidden: Vec::new(),
        };
        let this = Self { words, inner: Mutex::new(inner) };
        {
            let mut inner = this.inner();
            inner.directory =
                inner.alloc(&this.words, ENTRIES * ENTRY_WORDS).expect("room for the directory");
            inner.empty = inner.string(&this.words, "").expect("room for a string");
            let word = |offset: u64| &this.words.as_slice()[offset as usize / WORD];
            word(header::BASE).store(this.words.address(), Ordering::Relaxed);
            word(header::DIRECTORY).store(this.pointer(inner.directory), Ordering::Relaxed);
            word(header::EPOCH).store(1, Ordering::Relaxed);
            word(header::VERSION).store(VERSION, Ordering::Release);
        }
        Arc::new(this)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// The memory.
    pub fn words(&self) -> &Arc<Words> {
        &self.words
    }

    fn pointer(&self, word: usize) -> u64 {
        self.words.address() + (word * WORD) as u64
    }

    /// Room for a vector of `words` words, of length 0; `None` if the segment is full.
    pub fn alloc(&self, words: usize) -> Option<usize> {
        self.inner().alloc(&self.words, words)
    }

    /// Bytes that were given out.
    #[cfg(feature = "tests")]
    pub fn given_out(&self) -> usize {
        self.inner().next * WORD
    }

    /// Changes the directory or lengths of vectors: readers that look meanwhile look again.
    pub fn change<R>(&self, f: impl FnOnce(&mut Change<'_>) -> R) -> R {
        let mut inner = self.inner();
        let word = |offset: u64| &self.words.as_slice()[offset as usize / WORD];
        let (epoch, in_progress) = (word(header::EPOCH), word(header::IN_PROGRESS));
        in_progress.store(1, Ordering::Relaxed);
        // A reader that sees a part of the change sees the mark.
        fence(Ordering::Release);
        let result = f(&mut Change { segment: self, inner: &mut inner });
        epoch.store(epoch.load(Ordering::Relaxed) + 1, Ordering::Release);
        in_progress.store(0, Ordering::Release);
        result
    }

    /// Hides counters whose names begin with `prefix` from the directory.
    pub fn hide(&self, prefix: &str) {
        self.inner().hidden.push(prefix.into());
    }
}

impl Inner {
    /// Returns true if an entry of this name may stand in the directory: it isn't too long, nor
    /// hidden.
    fn lists(&self, name: &str) -> bool {
        name.len() < NAME && !self.hidden.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }

    fn alloc(&mut self, words: &Words, len: usize) -> Option<usize> {
        let next =
            self.next.checked_add(HEAD)?.checked_add(len)?.checked_next_multiple_of(ALIGN)?;
        if next >= words.as_slice().len() {
            return None;
        }
        let data = self.next + HEAD;
        self.next = next;
        Some(data)
    }

    fn string(&mut self, words: &Words, text: &str) -> Option<usize> {
        let bytes = text.len() + 1;
        let len = bytes.div_ceil(WORD).next_power_of_two();
        let kept = self.strings.get_mut(&len).and_then(Vec::pop);
        let at = match kept {
            Some(at) => at,
            None => self.alloc(words, len)?,
        };
        store_text(&words.as_slice()[at..at + len], text);
        words.as_slice()[at - 1].store(bytes as u64, Ordering::Relaxed);
        Some(at)
    }
}

/// Writes a text, and zeros behind it.
pub(crate) fn store_text(words: &[AtomicU64], text: &str) {
    let mut chunks = text.as_bytes().chunks(WORD);
    for word in words {
        let mut bytes = [0; WORD];
        if let Some(chunk) = chunks.next() {
            bytes[..chunk.len()].copy_from_slice(chunk);
        }
        word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
    }
}

/// The directory while it changes; made by [`Registry::change`](crate::Registry::change).
pub struct Change<'a> {
    segment: &'a Segment,
    inner: &'a mut Inner,
}

impl Change<'_> {
    fn word(&self, at: usize) -> &AtomicU64 {
        &self.segment.words.as_slice()[at]
    }

    fn entry(&self, index: u32) -> &[AtomicU64] {
        let at = self.inner.directory + index as usize * ENTRY_WORDS;
        &self.segment.words.as_slice()[at..at + ENTRY_WORDS]
    }

    /// A new entry; `None` if the name is too long, or hidden, or the directory full. A name that
    /// is there gets the new value.
    pub(crate) fn add(&mut self, name: &str, kind: Kind, value: u64) -> Option<u32> {
        if !self.inner.lists(name) {
            return None;
        }
        let known = self.inner.by_name.get(name).copied();
        let index = known.or_else(|| self.inner.free.pop()).unwrap_or(self.inner.entries as u32);
        if index as usize >= ENTRIES {
            return None;
        }
        let entry = self.entry(index);
        store_text(&entry[2..], name);
        entry[1].store(value, Ordering::Relaxed);
        entry[0].store(kind as u64, Ordering::Relaxed);
        if index as usize == self.inner.entries {
            self.inner.entries += 1;
            self.set_len(self.inner.directory, self.inner.entries);
        }
        self.inner.by_name.insert(name.into(), index);
        Some(index)
    }

    /// Returns true if a new entry may have this name, so that no memory is taken for one that
    /// can't be listed.
    pub(crate) fn takes(&self, name: &str) -> bool {
        let room = !self.inner.free.is_empty() || self.inner.entries < ENTRIES;
        room && self.inner.lists(name) && !self.inner.by_name.contains_key(name)
    }

    /// As [`Segment::alloc`].
    pub(crate) fn alloc(&mut self, words: usize) -> Option<usize> {
        self.inner.alloc(&self.segment.words, words)
    }

    /// The memory.
    pub(crate) fn words(&self) -> &Arc<Words> {
        &self.segment.words
    }

    /// An entry for a vector.
    pub(crate) fn add_vector(&mut self, name: &str, kind: Kind, data: usize) -> Option<u32> {
        self.add(name, kind, self.segment.pointer(data))
    }

    /// The word that holds an entry's value.
    pub(crate) fn value_of(&self, index: u32) -> usize {
        self.inner.directory + index as usize * ENTRY_WORDS + 1
    }

    /// Sets the length of a vector.
    pub(crate) fn set_len(&self, data: usize, len: usize) {
        self.word(data - 1).store(len as u64, Ordering::Relaxed);
    }

    /// Lets element `i` of a vector of pointers point to other data.
    pub(crate) fn point(&self, vector: usize, i: usize, data: usize) {
        self.word(vector + i).store(self.segment.pointer(data), Ordering::Relaxed);
    }

    /// Lets element `i` of a vector of names be this text, in place of what was there.
    pub(crate) fn set_text(&mut self, vector: usize, i: usize, text: &str) {
        let new = if text.is_empty() { None } else { self.inner.string(&self.segment.words, text) };
        let old = self.word(vector + i).load(Ordering::Relaxed);
        self.point(vector, i, new.unwrap_or(self.inner.empty));
        if old != 0 && old != self.segment.pointer(self.inner.empty) {
            let at = (old - self.segment.words.address()) as usize / WORD;
            let bytes = self.word(at - 1).load(Ordering::Relaxed) as usize;
            let len = bytes.div_ceil(WORD).next_power_of_two();
            self.inner.strings.entry(len).or_default().push(at);
        }
    }

    /// Lets `name` stand for one column of the entry `target`. Nothing is done if that isn't in the
    /// directory.
    pub fn symlink(&mut self, name: &str, target: &str, column: usize) {
        if let Some(&entry) = self.inner.by_name.get(target) {
            // In memory the entry comes first, then the column.
            let value = [(entry).to_ne_bytes(), (column as u32).to_ne_bytes()].concat();
            let value = u64::from_ne_bytes(value.try_into().expect("8 bytes"));
            self.add(name, Kind::Symlink, value);
        }
    }

    /// Takes an entry out of the directory. Its memory, if it has any, stays.
    pub fn remove(&mut self, name: &str) {
        let Some(index) = self.inner.by_name.remove(name) else { return };
        let entry = self.entry(index);
        entry[0].store(Kind::Empty as u64, Ordering::Relaxed);
        entry[1..].iter().for_each(|word| word.store(0, Ordering::Relaxed));
        self.inner.free.push(index);
    }
}
