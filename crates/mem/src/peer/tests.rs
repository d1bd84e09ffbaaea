// SPDX-License-Identifier: Apache-2.0
//! Files that shrink while they are mapped.

use super::registry::Slot;
use super::*;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

pub(super) fn file(len: u64) -> OwnedFd {
    let fd = memfd_create("peer", MemfdFlags::CLOEXEC).expect("a memfd");
    ftruncate(&fd, len).expect("grows");
    fd
}

/// The word at this offset.
fn word(map: &PeerMapping, at: usize) -> &AtomicU64 {
    assert!(at + 8 <= map.len() && at.is_multiple_of(8));
    // SAFETY: inside of the mapping, which lives as long as the reference, and aligned; tests use
    // it by such words only.
    unsafe { AtomicU64::from_ptr(map.base().as_ptr().add(at).cast()) }
}

#[suite::test]
fn a_file_that_shrinks_under_threads_leaves_zeros() {
    const LEN: usize = 64 * PAGE;
    for round in 0..20 {
        let (fd, other_fd) = (file(LEN as u64), file(LEN as u64));
        let wake = Arc::new(eventfd(0, EventfdFlags::NONBLOCK).expect("an event"));
        let map = PeerMapping::new(&fd, LEN, Some(wake.clone())).expect("mapped");
        let other = PeerMapping::new(&other_fd, LEN, None).expect("mapped");
        (0..LEN / 8).for_each(|n| word(&map, n * 8).store(7, Relaxed));
        word(&other, 0).store(9, Relaxed);
        let (end, turns) = (AtomicBool::new(false), [const { AtomicUsize::new(0) }; 4]);
        std::thread::scope(|scope| {
            for (n, turns) in turns.iter().enumerate() {
                let (map, end) = (&map, &end);
                scope.spawn(move || {
                    while !end.load(Relaxed) {
                        for at in (0..LEN).step_by(PAGE / 2) {
                            match n % 2 {
                                0 => assert!([0, 7].contains(&word(map, at).load(Relaxed))),
                                _ => word(map, at).store(7, Relaxed),
                            }
                        }
                        turns.fetch_add(1, Relaxed);
                    }
                });
            }
            let later = |more: usize| {
                let before = turns.each_ref().map(|n| n.load(Relaxed));
                while turns.iter().zip(before).any(|(now, n)| now.load(Relaxed) < n + more) {
                    std::thread::yield_now();
                }
            };
            later(1);
            assert!(!map.is_broken());
            // Not only at the ends of pages.
            ftruncate(&fd, round * 1000).expect("shrinks");
            later(2);
            end.store(true, Relaxed);
        });
        assert!(map.is_broken() && !other.is_broken());
        assert_eq!(word(&other, 0).load(Relaxed), 9);
        let mut count = [0; 8];
        assert_eq!(rustix::io::read(&*wake, &mut count), Ok(8), "the event was raised");
        // It is the whole mapping: nothing of the file is left, and nobody gets what is written.
        word(&map, 0).store(1, Relaxed);
        ftruncate(&fd, LEN as u64).expect("grows");
        let again = PeerMapping::new(&fd, LEN, None).expect("mapped");
        assert!([0, 7].contains(&word(&again, 0).load(Relaxed)));
        assert!(map.is_broken() && !again.is_broken());
    }
}

#[suite::test]
fn each_of_thousands_of_mappings_breaks_alone() {
    let maps: Vec<_> = (0..3000u64)
        .map(|n| {
            let fd = file(2 * PAGE as u64);
            let map = PeerMapping::new(&fd, 2 * PAGE, None).expect("mapped");
            word(&map, PAGE).store(n, Relaxed);
            if n % 3 == 0 {
                ftruncate(&fd, PAGE as u64).expect("shrinks");
            }
            map
        })
        .collect();
    for (n, map) in maps.iter().enumerate() {
        assert!(!map.is_broken());
        let broken = n % 3 == 0;
        let left = word(map, PAGE).load(Relaxed);
        assert_eq!((left, map.is_broken()), (if broken { 0 } else { n as u64 }, broken));
    }
}

/// Mappings come, break and go on several threads, and the kernel gives their addresses to others.
#[suite::test]
fn mappings_that_come_and_go_break_no_others() {
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            scope.spawn(move || {
                for n in 0..1500u64 {
                    let len = PAGE * (1 + (n % 7) as usize);
                    let (fd, kept_fd) = (file(len as u64), file(len as u64));
                    let map = PeerMapping::new(&fd, len, None).expect("mapped");
                    let kept = PeerMapping::new(&kept_fd, len, None).expect("mapped");
                    let mark = thread << 32 | n | 1 << 63;
                    [&map, &kept]
                        .into_iter()
                        .for_each(|map| word(map, len - 8).store(mark, Relaxed));
                    ftruncate(&fd, 0).expect("shrinks");
                    word(&map, len - 8).fetch_add(1, Relaxed);
                    assert_eq!((word(&map, len - 8).load(Relaxed), map.is_broken()), (1, true));
                    drop(map);
                    assert_eq!(word(&kept, len - 8).load(Relaxed), mark);
                    assert!(!kept.is_broken());
                }
            });
        }
    });
}

#[suite::test]
fn files_of_huge_pages_break_too() {
    let huge = memfd_create("huge", MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB);
    let Ok(fd) = huge else { return testkit::skip_lacking(testkit::Lack::HugePages) };
    ftruncate(&fd, 1 << 21).expect("grows");
    let Ok(map) = PeerMapping::new(&fd, PAGE, None) else {
        return testkit::skip_lacking(testkit::Lack::HugePages);
    };
    assert_eq!(map.len(), 1 << 21);
    word(&map, 8).store(1, Relaxed);
    ftruncate(&fd, 0).expect("shrinks");
    assert_eq!((word(&map, 8).load(Relaxed), map.is_broken()), (0, true));
}

#[suite::test]
fn a_full_registry_is_an_error_by_name() {
    static SLOTS: [Slot; 2] = [const { Slot::new() }; 2];
    static FEW: Registry = Registry::new(&SLOTS);
    let fd = file(PAGE as u64);
    let open = || PeerMapping::within(&FEW, &fd, PAGE, None);
    let count = || {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("a list");
        maps.lines().filter(|line| line.contains("memfd:peer")).count()
    };
    let both = [open().expect("mapped"), open().expect("mapped")];
    let before = count();
    let error = open().expect_err("full");
    assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded);
    assert!(error.to_string().contains("2 mappings of memory"), "{error}");
    assert_eq!(count(), before, "it is unmapped");
    drop(both);
    assert!(open().is_ok());
    let error = |len| PeerMapping::new(&fd, len, None).err().map(|error| error.kind());
    assert_eq!(error(0), Some(io::ErrorKind::InvalidInput));
    assert_eq!(error(usize::MAX), Some(io::ErrorKind::InvalidInput));
}

/// Runs a helper of this file in a process of its own.
fn helper(name: &str) -> ExitStatus {
    let program = std::env::current_exe().expect("this program");
    let name = suite::name!(name);
    let mut command = Command::new(program);
    command.args(["--exact", &name, "--ignored", "--nocapture"]);
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("went on"), "{text}");
    output.status
}

/// AddressSanitizer reports the fault and aborts.
const DEATHS: [i32; 2] = [libc::SIGBUS, libc::SIGABRT];

#[suite::test]
fn other_faults_do_what_they_did() {
    for name in ["fault_elsewhere", "signal_of_a_process"] {
        let status = helper(name);
        let expected = if cfg!(ferrovia_asan) { &DEATHS[..] } else { &DEATHS[..1] };
        assert!(status.signal().is_some_and(|n| expected.contains(&n)), "{name}: {status}");
    }
    assert_eq!(helper("fault_with_a_handler").code(), Some(42));
}

/// Has a mapping that is registered, broken, and one that isn't: reads the latter.
fn touch_elsewhere() {
    let (mine, fd) = (file(PAGE as u64), file(PAGE as u64));
    let map = PeerMapping::new(&mine, PAGE, None).expect("mapped");
    ftruncate(&mine, 0).expect("shrinks");
    assert_eq!((word(&map, 0).load(Relaxed), map.is_broken()), (0, true));
    let flags = ProtFlags::READ;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let at = unsafe { mmap(ptr::null_mut(), PAGE, flags, MapFlags::SHARED, &fd, 0) };
    let at = at.expect("mapped").cast::<u64>();
    ftruncate(&fd, 0).expect("shrinks");
    // SAFETY: aligned and mapped; the fault is what is tested.
    let value = unsafe { at.read_volatile() };
    println!("went on: {value}");
}

#[suite::test]
#[ignore = "helper: dies of a fault in memory that isn't registered"]
fn fault_elsewhere() {
    touch_elsewhere();
}

#[suite::test]
#[ignore = "helper: dies of a signal that a process has sent"]
fn signal_of_a_process() {
    // The handler of Rust's library takes the first one for a fault that comes again.
    // SAFETY: sets the default action.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    let fd = file(PAGE as u64);
    let _map = PeerMapping::new(&fd, PAGE, None).expect("mapped");
    // SAFETY: sends a signal to this process.
    unsafe { libc::kill(libc::getpid(), libc::SIGBUS) };
    std::thread::sleep(std::time::Duration::from_secs(5));
    println!("went on");
}

extern "C" fn end(_: libc::c_int) {
    // SAFETY: ends the process at once, which a handler may do.
    unsafe { libc::_exit(42) };
}

#[suite::test]
#[ignore = "helper: ends by the handler that was installed before"]
fn fault_with_a_handler() {
    // SAFETY: the handler does what a handler may do.
    unsafe { libc::signal(libc::SIGBUS, end as *const () as usize) };
    touch_elsewhere();
}
