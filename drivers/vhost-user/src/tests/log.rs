// SPDX-License-Identifier: Apache-2.0
//! The log of written pages, under traffic.

use super::pair::{A, B, cross, guests, is_up, rig, wanted, warm};
use super::peer::{Dir, Guest, GuestMemory, REGION, file, plain, until};
use crate::io::Log;
use crate::proto::{Features, Request};
use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

const PAGE: u64 = 4096;
/// Bytes of the log: a bit for each page up to the guest's last one, from its address 0 on.
const SIZE: usize = 1024;

fn read(file: &OwnedFd, len: usize, offset: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    assert_eq!(rustix::io::pread(file, &mut bytes, offset), Ok(len));
    bytes
}

/// Pages of the guest that the log has, by their number in its memory.
fn logged(log: &OwnedFd) -> BTreeSet<u64> {
    let bytes = read(log, SIZE, PAGE);
    let bits = (0..8 * SIZE as u64).filter(|n| bytes[*n as usize / 8] & 1 << (n % 8) != 0);
    bits.map(|page| page - GuestMemory::guest(0) / PAGE).collect()
}

fn contents(guest: &Guest) -> Vec<u8> {
    guest.memory.files.iter().flat_map(|file| read(file, REGION as usize, 0)).collect()
}

/// Pages in which both differ.
fn changed(a: &[u8], b: &[u8]) -> BTreeSet<u64> {
    let pages = a.chunks(PAGE as usize).zip(b.chunks(PAGE as usize));
    (0..).zip(pages).filter(|(_, (a, b))| a != b).map(|(page, _)| page).collect()
}

fn set_log(guest: &Guest, log: &OwnedFd, on: bool) {
    let front = &guest.front;
    if on {
        let (size, offset) = (SIZE as u64, PAGE);
        front.send(Request::SetLogBase { size, offset }, &[log.as_fd()]);
        assert_eq!(front.reply(), (6, 0), "it is mapped");
    }
    let features = guest.wanted.features | if on { Features::LOG_ALL } else { Features::empty() };
    front.send_acked(Request::SetFeatures(features.bits()), &[]);
}

#[suite::test]
fn each_written_page_is_logged_while_rings_run() {
    let packed = plain() | Features::RING_PACKED;
    for features in [plain(), plain() | Features::EVENT_IDX, packed, packed | Features::EVENT_IDX] {
        let Some((_lab, _netns, rig)) = rig(1) else { return };
        let dir = Dir::new("log");
        let like = wanted(features, 2, 64, 2, false);
        let (mut a, mut b) = guests(&rig, &dir, like, like, "packed event-idx");
        warm(&mut a, &mut b);
        warm(&mut b, &mut a);
        // The guest's memory: half a MiB for each ring, buffers from 128 KiB on. The guest writes
        // the buffers of rings 1 and 3, and parts of each ring's first pages.
        let is_buffer = |page: &u64| page % 128 >= 32;
        let is_received = |page: &u64| (page / 128).is_multiple_of(2);
        let log = file(PAGE + SIZE as u64 + PAGE);
        for round in 0..3 {
            set_log(&b, &log, true);
            let before = contents(&b);
            cross(&rig, &mut a, &mut b);
            assert!(is_up(&rig, A) && is_up(&rig, B));
            // The last event may be asked for later.
            set_log(&b, &log, false);
            let (all, changed) = (logged(&log), changed(&before, &contents(&b)));
            let written: BTreeSet<_> =
                changed.into_iter().filter(|page| is_buffer(page) && is_received(page)).collect();
            assert!(written.len() > 30, "{round}: {written:?}");
            assert!(written.is_subset(&all), "{:?}", written.difference(&all));
            // Frames of this end are in received buffers only. Used chains are logged, of all rings
            // but the first one, by which the worker doesn't send.
            assert!(all.iter().filter(|page| is_buffer(page)).all(is_received), "{all:?}");
            for ring in 1..4 {
                assert!((ring * 128..ring * 128 + 32).any(|page| all.contains(&page)), "{ring}");
            }
            assert!(all.iter().all(|page| *page < 4 * 128), "{all:?}");
            // Nothing is logged without the feature.
            let none = vec![0; SIZE];
            assert_eq!(rustix::io::pwrite(&log, &none, PAGE), Ok(SIZE));
            cross(&rig, &mut a, &mut b);
            assert_eq!(logged(&log), BTreeSet::new());
        }
        // Memory of other addresses is left alone.
        assert!(read(&log, PAGE as usize, 0).iter().all(|byte| *byte == 0));
        set_log(&b, &log, true);
        let shown = rig.cli(&format!("show vhost-user {B}")).expect("shown");
        assert!(shown.contains("written pages are logged in 1024 bytes"), "{shown}");
        // The log is taken away: the connection ends.
        rustix::fs::ftruncate(&log, 0).expect("shrinks");
        until("the link is down", || {
            a.send(0, &[super::pair::frame(1, 100)]);
            !is_up(&rig, B)
        });
        let shown = rig.cli(&format!("show vhost-user {B}")).expect("shown");
        assert!(
            shown.contains("log of written pages is gone: the front-end has shrunk its file"),
            "{shown}"
        );
        drop((a, b));
        rig.finish();
    }
}

/// A front-end that copies memory while the guest receives, until its rings have stopped: the copy
/// has every byte that was written.
#[suite::test]
fn a_copy_that_follows_the_log_is_the_memory() {
    for features in [plain(), plain() | Features::RING_PACKED] {
        let Some((_lab, _netns, rig)) = rig(1) else { return };
        let dir = Dir::new("migrate");
        let like = wanted(features, 1, 64, 2, false);
        let (mut a, mut b) = guests(&rig, &dir, like, like, "packed");
        warm(&mut a, &mut b);
        warm(&mut b, &mut a);
        let log = file(PAGE + SIZE as u64);
        let bits = Log::open(&log, SIZE as u64, PAGE, None).expect("mapped");
        set_log(&b, &log, true);
        let mut copy = contents(&b);
        let files: Vec<_> =
            b.memory.files.iter().map(|fd| fd.try_clone().expect("a copy")).collect();
        let mut follow = || {
            let pages = bits.take();
            for page in &pages {
                let at = page * PAGE - GuestMemory::guest(0);
                let now = read(&files[(at / REGION) as usize], PAGE as usize, at % REGION);
                copy[at as usize..][..PAGE as usize].copy_from_slice(&now);
            }
            pages.len()
        };
        let end = AtomicBool::new(false);
        let copied = std::thread::scope(|scope| {
            let copier = scope.spawn(|| {
                let mut count = 0;
                while !end.load(Ordering::Relaxed) {
                    count += follow();
                }
                count
            });
            (0..15).for_each(|_| cross(&rig, &mut a, &mut b));
            for ring in 0..2 {
                b.stop(ring);
            }
            end.store(true, Ordering::Relaxed);
            copier.join().expect("no panic")
        });
        assert!(copied > 200, "{copied} pages");
        follow();
        // Pages that the guest writes too aren't logged for its writes: the first ten of each ring,
        // and the buffers by which it sends.
        let is_own = |page: &u64| page % 128 >= 10 && (page % 128 < 32 || *page < 128);
        let differs = changed(&copy, &contents(&b));
        assert_eq!(differs.into_iter().find(is_own), None);
        drop((a, b));
        rig.finish();
    }
}
