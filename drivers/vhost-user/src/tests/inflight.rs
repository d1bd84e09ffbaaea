// SPDX-License-Identifier: Apache-2.0
//! The log of chains in flight: ends that die between any two stores to shared memory, logs of
//! other back-ends, logs with anything in them.

use super::hostile::{config, formats, frame, send, take};
use super::peer::{GuestMemory, file, plain};
use super::ring::{GuestRing, Layout};
use crate::io::{Format, Inflight, InflightInfo, Memory, Queue, Start, inflight_bytes, killed};
use crate::proto::Features;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use testkit::Rng;
use wire::offload::Offload;

/// A guest with one ring, and the log that its front-end keeps.
struct Guest {
    memory: Arc<Memory>,
    ring: GuestRing,
    features: Features,
    size: u16,
    index: u32,
    file: OwnedFd,
    info: InflightInfo,
}

impl Guest {
    fn new(index: u32, features: Features, layout: Layout, size: u16) -> Self {
        let memory = GuestMemory::new().memory;
        let ring = GuestRing::new(memory.clone(), index, size, features, layout);
        let is_packed = features.contains(Features::RING_PACKED);
        let format = if is_packed { Format::Packed } else { Format::Split };
        let size_of = inflight_bytes(format, 2, size);
        let info = InflightInfo { size: size_of, offset: 64, queues: 2, queue_size: size };
        Self { memory, ring, features, size, index, file: file(64 + size_of), info }
    }

    /// This end of the ring, as a new process has it.
    fn queue(&self) -> Result<Queue, String> {
        let config = config(&self.ring, self.features, self.size);
        let log = Inflight::open(&self.file, self.info, None).expect("mapped");
        let part = log.ring(self.index as usize, config.format, self.size)?;
        Queue::new(self.memory.clone(), config, Start { log: Some(part), ..Start::default() })
    }

    /// Bytes of the ring's part of the log, from an offset on.
    fn at(&self, offset: usize) -> u64 {
        64 + self.info.size / 2 * u64::from(self.index) + offset as u64
    }

    fn write(&self, offset: usize, bytes: &[u8]) {
        assert_eq!(rustix::io::pwrite(&self.file, bytes, self.at(offset)), Ok(bytes.len()));
    }

    fn send(&mut self, n: usize) {
        assert!(self.ring.send([0; 12], &frame(n, 40 + n % 7)), "{n}: no room");
    }
}

fn sent(numbers: impl Iterator<Item = usize>) -> Vec<(Offload, Vec<u8>)> {
    numbers.map(|n| (Offload::NONE, frame(n, 40 + n % 7))).collect()
}

fn layouts() -> [Layout; 3] {
    [(1, false), (2, false), (1, true)].map(|(chain, indirect)| Layout {
        buffer: 1024,
        chain,
        indirect,
    })
}

/// Makes an end die after `n` stores, for each `n`, and lets others die while they start.
fn deaths(mut one: impl FnMut(u32, &mut dyn FnMut() -> bool)) {
    let mut rng = Rng::new(7);
    for n in 0.. {
        let mut again = rng.below(4);
        let mut next = || {
            let dies = again > 0;
            again = again.saturating_sub(1);
            let _ = killed::after(dies.then(|| rng.below(40) as u32));
            dies
        };
        let _ = killed::after(None);
        one(n, &mut next);
        // It wasn't dead at the end: later ones aren't either.
        if killed::after(None).is_some_and(|left| left > 0) {
            assert!(n > 3, "nothing was tried");
            return;
        }
    }
}

/// Chains that a guest sends by come back once, and those that don't come back before a death are
/// taken again.
#[suite::test]
fn what_a_guest_sends_is_given_back_once_whenever_this_end_dies() {
    for (features, layout) in formats().into_iter().flat_map(|f| layouts().map(|l| (f, l))) {
        for warm in [0, 3, 6] {
            // A frame takes two descriptors: four frames are all of the ring.
            let size = 8;
            deaths(|n, next| {
                let mut guest = Guest::new(1, features, layout, size);
                let mut queue = guest.queue().expect("a ring");
                let count = if layout.indirect { 1 } else { 4 };
                for n in 0..warm {
                    guest.send(n);
                    assert_eq!(take(&mut queue), sent(n..n + 1));
                }
                (0..count).for_each(|n| guest.send(100 + n));
                let _ = killed::after(Some(n));
                let taken = take(&mut queue);
                drop(queue);
                let left = killed::after(None);
                assert_eq!(taken, sent(100..100 + count));
                let is_back = guest.ring.is_empty();
                let waits = if is_back { 0 } else { count };
                assert_eq!(guest.ring.waiting(), waits, "all or none");
                while next() {
                    // Reads of a dead one don't count.
                    let _ = guest.queue().map(|mut queue| take(&mut queue));
                    let _ = killed::after(None);
                    assert!([0, waits].contains(&guest.ring.waiting()));
                }
                let waits = guest.ring.waiting();
                let mut queue = guest.queue().expect("a ring");
                assert_eq!(take(&mut queue), sent(100 + count - waits..100 + count));
                assert!(guest.ring.is_empty());
                for n in 0..3 * usize::from(size) {
                    guest.send(n);
                    assert_eq!(take(&mut queue), sent(n..n + 1), "it goes on");
                }
                let _ = killed::after(left);
            });
        }
    }
}

/// Packets that a guest receives in several buffers come whole, and no buffer is lost.
#[suite::test]
fn what_a_guest_receives_comes_whole_whenever_this_end_dies() {
    for (features, layout) in formats().into_iter().flat_map(|f| layouts().map(|l| (f, l))) {
        for warm in [0, 5] {
            deaths(|n, next| {
                let mut guest = Guest::new(0, features, layout, 16);
                let mut queue = guest.queue().expect("a ring");
                guest.ring.offer();
                let packets = |from: usize| {
                    // The first one takes several chains.
                    [(from, 2500), (from + 1, 60), (from + 2, 900)]
                        .map(|(n, len)| (Offload::NONE, frame(n, len)))
                };
                let plain = |packets: &[(Offload, Vec<u8>)]| {
                    packets.iter().map(|(_, packet)| packet.clone()).collect::<Vec<_>>()
                };
                let got = |ring: &mut GuestRing| {
                    ring.take().into_iter().map(|(_, packet)| packet).collect::<Vec<_>>()
                };
                for n in 0..warm {
                    assert!(send(&mut queue, &packets(n)).is_empty());
                    assert_eq!(got(&mut guest.ring), plain(&packets(n)));
                }
                let _ = killed::after(Some(n));
                send(&mut queue, &packets(50));
                drop(queue);
                let left = killed::after(None);
                let came = got(&mut guest.ring);
                assert!(came.is_empty() || came == plain(&packets(50)), "{came:?}");
                while next() {
                    let _ = guest.queue().map(|mut queue| send(&mut queue, &packets(60)));
                    let _ = killed::after(None);
                    let came = got(&mut guest.ring);
                    assert!(came.is_empty() || came == plain(&packets(60)), "{came:?}");
                }
                let mut queue = guest.queue().expect("a ring");
                for n in 0..20 {
                    assert_eq!(send(&mut queue, &packets(n)), []);
                    assert_eq!(got(&mut guest.ring), plain(&packets(n)), "it goes on");
                }
                let _ = killed::after(left);
            });
        }
    }
}

/// Logs of another back-end, which had taken chains out of order.
#[suite::test]
fn chains_of_another_back_end_come_first_in_its_order() {
    let layout = layouts()[0];
    for event_idx in [Features::empty(), Features::EVENT_IDX] {
        let mut guest = Guest::new(1, plain() | event_idx, layout, 16);
        (0..6).for_each(|n| guest.send(n));
        // Chains 0 to 3 were taken, in the order 2, 0, 3, 1. The first and the third of these were
        // given back together, but of that the log doesn't know yet. Each has two descriptors.
        guest.write(8, &[1u16, 16, 6, 0].map(u16::to_ne_bytes).concat());
        for (head, number, next) in [(4u16, 7u64, 0u16), (0, 8, 0), (6, 9, 4), (2, 10, 0)] {
            let mut entry = vec![1, 0, 0, 0, 0, 0];
            entry.extend(next.to_ne_bytes());
            entry.extend(number.to_ne_bytes());
            guest.write(16 + 16 * usize::from(head), &entry);
        }
        guest.ring.give_back_split(&[4, 6]);
        let mut queue = guest.queue().expect("a ring");
        assert_eq!(take(&mut queue), sent([0, 1, 4, 5].into_iter()));
        assert_eq!(guest.ring.given_back_split(), [4, 6, 0, 2, 8, 10]);
        drop(queue);
        let mut queue = guest.queue().expect("a ring");
        assert_eq!(take(&mut queue), []);
    }
    let mut guest = Guest::new(1, plain() | Features::RING_PACKED, layout, 16);
    (0..6).for_each(|n| guest.send(n));
    // The same; the log has their descriptors, and the ring's are overwritten.
    let descs: Vec<[u8; 16]> = (0..8).map(|slot| guest.ring.desc(slot)).collect();
    // Two batches of one chain each: the used position is 4, the third descriptor of four.
    guest.write(8, &[1u16, 16, 8, 8, 4, 4, 0x0101, 0].map(u16::to_ne_bytes).concat());
    for chain in 0..8u16 {
        for n in 0..2u16 {
            let index = 2 * chain + n;
            let is_free = chain >= 4;
            let next = index + 1;
            let (number, mark) = ([8u64, 10, 7, 9, 0, 0, 0, 0][usize::from(chain)], chain < 2);
            let first = u16::from_ne_bytes([u8::from(mark && n == 0), 0]);
            let mut entry = [first, next, 2 * chain + 1, 2].map(u16::to_ne_bytes).concat();
            entry.extend(number.to_ne_bytes());
            let desc = if is_free { [0; 16] } else { descs[usize::from(index)] };
            entry.extend(&desc[12..]);
            entry.extend(&desc[8..12]);
            entry.extend(&desc[..8]);
            guest.write(32 + 32 * usize::from(index), &entry);
        }
    }
    for (slot, id) in [(0u64, 4u16), (2, 6)] {
        guest.ring.write_desc(16 * slot, 0, 0, id, 1 << 7 | 1 << 15);
    }
    let mut queue = guest.queue().expect("a ring");
    assert_eq!(take(&mut queue), sent([0, 1, 4, 5].into_iter()));
    let ids = (0..6).map(|chain| guest.ring.desc(2 * chain)[12..].to_vec()).collect::<Vec<_>>();
    let used = |id: u8| vec![id, 0, 0x80, 0x80];
    assert_eq!(ids, [4, 6, 0, 2, 8, 10].map(used));
    drop(queue);
    let mut queue = guest.queue().expect("a ring");
    assert_eq!(take(&mut queue), []);
}

/// A front-end that asks where a ring is takes it elsewhere: nothing is left in flight.
#[suite::test]
fn chains_in_flight_come_back_before_a_ring_is_handed_over() {
    let layout = layouts()[0];
    let mut guest = Guest::new(1, plain(), layout, 16);
    (0..4).for_each(|n| guest.send(n));
    guest.write(8, &[1u16, 16, 0, 0].map(u16::to_ne_bytes).concat());
    for (head, number) in [(0usize, 1u64), (2, 2)] {
        guest.write(
            16 + 16 * head,
            &[&[1, 0, 0, 0, 0, 0, 0, 0], &number.to_ne_bytes()[..]].concat(),
        );
    }
    let mut queue = guest.queue().expect("a ring");
    queue.finish();
    assert_eq!(guest.ring.given_back_split(), [0, 2]);
    assert_eq!((queue.position().next, queue.position().done), (2, 2));
    // The log is an unused one. It doesn't matter any more where the ring was.
    let mut version = [0; 2];
    assert_eq!(rustix::io::pread(&guest.file, &mut version, guest.at(8)), Ok(2));
    assert_eq!(version, [0; 2]);
    let mut queue = guest.queue().expect("a ring");
    assert_eq!(take(&mut queue), sent(2..4));
}

#[suite::test]
fn logs_of_something_else_are_refused_by_name() {
    #[track_caller]
    fn refused(guest: &Guest, words: &[u16], why: &str) {
        guest.write(8, &words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>());
        let error = guest.queue().err();
        assert!(error.as_ref().is_some_and(|e| e.contains(why)), "{error:?}");
    }
    let split = Guest::new(1, plain(), layouts()[0], 16);
    refused(&split, &[2, 16, 0, 0], "version 2 of the inflight log isn't 1");
    refused(&split, &[1, 8, 0, 0], "has 8 descriptors, not 16");
    refused(&split, &[1, 16, 0, 100], "isn't that of its ring: used index 100 there, 0");
    let packed = Guest::new(0, plain() | Features::RING_PACKED, layouts()[0], 16);
    refused(&packed, &[7, 16], "version 7");
    refused(&packed, &[1, 17], "17 descriptors, not 16");
    refused(&packed, &[1, 16, 0, 0, 16, 0], "a position of the inflight log, [16, 0], isn't");
    refused(&packed, &[1, 16, 0, 0, 0, 99], "isn't in the ring");
    let mark = |guest: &Guest, index: usize, next: u16, count: u16| {
        let words = [u16::from_ne_bytes([1, 0]), next, 0, count];
        guest.write(32 + 32 * index, &words.map(u16::to_ne_bytes).concat());
    };
    let free = [1, 16, 16, 16, 0, 0, 0x0101];
    for (next, count) in [(5, 2), (16, 2), (0xffff, 2), (1, 0), (1, 17), (1, 0xffff)] {
        mark(&packed, 5, next, count);
        refused(&packed, &free, "chain 5 of the inflight log isn't one of its ring");
    }
    mark(&packed, 5, 6, 2);
    mark(&packed, 6, 7, 1);
    refused(&packed, &free, "chain 6 of the inflight log isn't one of its ring");
    // Rings that the log isn't for.
    let log = |info| Inflight::open(file(1 << 16), info, None).expect("mapped");
    let info = InflightInfo { size: 2 * 320, offset: 0, queues: 2, queue_size: 16 };
    for (index, format, size, why) in [
        (2, Format::Split, 16, "has 2 rings, none for ring 2"),
        (1, Format::Split, 32, "for rings of 16 descriptors, ring 1 has 32"),
        (1, Format::Packed, 16, "has 640 bytes, 2 rings of 16 need 1152"),
    ] {
        let error = log(info).ring(index, format, size).err();
        assert!(error.as_ref().is_some_and(|e| e.contains(why)), "{error:?}");
    }
    assert!(log(info).ring(1, Format::Split, 8).is_ok());
}

/// Logs with anything in them, also while they are used: a ring starts or is refused by name.
#[suite::test]
fn anything_in_the_log_is_survived() {
    let mut rng = Rng::new(11);
    let (mut refused, mut again) = (0, 0);
    for round in 0..4000 {
        let features = formats()[round % 4];
        let mut guest = Guest::new(1, features, layouts()[0], 8);
        let is_packed = features.contains(Features::RING_PACKED);
        let header: Vec<u16> =
            [1, 8].into_iter().chain((0..4).map(|_| rng.below(9) as u16)).collect();
        guest.write(8, &header.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>());
        let (first, entry) = if is_packed { (32, 32) } else { (16, 16) };
        for index in 0..8 {
            let mut words: Vec<u16> = (0..entry / 2).map(|_| rng.below(10) as u16).collect();
            words[0] = u16::from_ne_bytes([(rng.below(3) == 0).into(), 0]);
            if is_packed && rng.below(3) > 0 {
                words[3] = 1 + rng.below(2) as u16;
            }
            let bytes: Vec<_> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            guest.write(first + entry * index, &bytes);
        }
        for _ in 0..3 {
            guest.write(rng.below(first + 8 * entry), &[rng.next() as u8]);
        }
        (0..2).for_each(|n| guest.send(n));
        let mut queue = match guest.queue() {
            Ok(queue) => queue,
            Err(text) => {
                assert!(text.contains("inflight log"), "{text}");
                refused += 1;
                continue;
            }
        };
        let before = queue.position();
        again += u32::from(before.next != before.done);
        for _ in 0..3 {
            take(&mut queue);
            guest.write(rng.below(first + 8 * entry), &[rng.next() as u8]);
            guest.ring.disturb(&mut rng);
        }
        queue.finish();
        let after = queue.position();
        assert_eq!(after.next, after.done, "nothing is in flight");
    }
    assert!(refused > 300 && again > 300, "{refused} {again}");
}
