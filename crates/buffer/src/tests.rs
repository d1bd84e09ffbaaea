// SPDX-License-Identifier: Apache-2.0
use super::*;
use proptest::prelude::*;

crate::scratch! { struct Meta { adjacency: u32, fib: u32 } }

fn pool(limit: usize) -> (&'static Pool, Cache) {
    let pool = Pool::new(limit).expect("a small pool");
    (pool, Cache::new(pool))
}

fn bytes_of(b: &Buffer) -> Vec<u8> {
    b.segments().flatten().copied().collect()
}

#[test]
fn buffers_run_out_and_come_back() {
    let (pool, mut cache) = pool(63 * 5);
    let mut held = Vec::new();
    while let Some(b) = cache.alloc() {
        held.push(b);
    }
    assert_eq!(held.len(), 63 * 5);
    assert_eq!(pool.stats().failures, 1);
    drop(held.pop());
    // A handle that is dropped without a cache comes back by way of the pool.
    let again = cache.alloc();
    assert!(again.is_some());
    drop(again);
    for b in held {
        cache.free(b);
    }
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

#[test]
fn a_leak_is_told() {
    let (pool, mut cache) = pool(63 * 3);
    let lost = cache.alloc().expect("one");
    drop(cache);
    assert_eq!(pool.release(), Err(1));
    drop(lost);
    assert_eq!(pool.release(), Ok(()));
}

#[test]
fn push_and_pull_keep_within_the_area() {
    let (_, mut cache) = pool(63);
    let mut b = cache.alloc().expect("one");
    assert!(b.set_data(&[7; 64]));
    assert!(!b.pull(65));
    assert!(b.pull(14));
    assert_eq!(b.headroom(), HEADROOM + 14);
    *b.push::<20>().expect("room") = [9; 20];
    assert_eq!((b.len(), b.data()[0], b.data()[20]), (70, 9, 7));
    while b.push::<16>().is_some() {}
    assert!(b.headroom() < 16);
    let room = b.tailroom();
    assert!(b.put(room + 1).is_none());
    assert!(b.put(room).is_some());
    assert_eq!(b.tailroom(), 0);
    assert!(!b.set_data(&[0; DATA_SIZE + 1]));
}

#[test]
fn scratch_returns_what_was_written() {
    let (_, mut cache) = pool(63);
    let mut b = cache.alloc().expect("one");
    b.set_scratch(Meta { adjacency: 5, fib: 9 });
    assert_eq!(b.scratch::<Meta>(), Meta { adjacency: 5, fib: 9 });
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "was not written")]
fn scratch_that_nobody_wrote_panics() {
    let (_, mut cache) = pool(63);
    let b = cache.alloc().expect("one");
    let _ = b.scratch::<Meta>();
}

#[test]
fn a_frame_frees_what_it_holds() {
    let (pool, mut cache) = pool(63 * 9);
    let mut frame = Frame::new(pool);
    assert_eq!(cache.alloc_frame(&mut frame, 300), FRAME_SIZE);
    assert!(frame.push(cache.alloc().expect("one")).is_err());
    cache.free_frame(&mut frame);
    assert!(frame.is_empty());
    cache.alloc_frame(&mut frame, 5);
    drop(frame);
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

/// `n` clones; the packet itself is one of them only if it is short.
fn clones_of(mut b: Owned, n: usize, head: usize, cache: &mut Cache) -> Vec<Owned> {
    let head = b.split_head(head);
    let clones = (0..n).map(|_| b.clone_with(&head, cache).expect("a buffer")).collect();
    cache.free(b);
    clones
}

#[test]
fn clones_of_what_their_heads_hold_share_nothing() {
    let (pool, mut cache) = pool(63 * 4);
    let mut b = cache.alloc().expect("one");
    assert!(b.append_bytes(&[7; 100], &mut cache) && b.pull(10));
    let head = b.split_head(200);
    assert!(head.is_whole() && b.len() == 90);
    let clone = b.clone_with(&head, &mut cache).expect("a buffer");
    assert_eq!(
        (clone.data(), clone.headroom(), clone.flags.has(Flags::SHARED)),
        (b.data(), b.headroom(), false)
    );
    cache.free(b);
    // The last buffers: what can't be made isn't half made.
    let mut held: Vec<Owned> = std::iter::from_fn(|| cache.alloc()).collect();
    let mut long = held.pop().expect("one");
    assert!(long.set_data(&[1; 2000]));
    let head = long.split_head(64);
    assert!(long.clone_with(&head, &mut cache).is_none());
    held.into_iter().chain([clone, long]).for_each(|b| cache.free(b));
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

#[test]
fn clones_share_their_tail_and_free_it_once() {
    let (pool, mut cache) = pool(63 * 4);
    let mut b = cache.alloc().expect("one");
    let packet: Vec<u8> = (0..9000u32).map(|i| i as u8).collect();
    assert!(b.append_bytes(&packet, &mut cache));
    let mut clones = clones_of(b, 4, 64, &mut cache);
    assert_eq!(clones.len(), 4);
    clones[2].data_mut()[0] = 99;
    for (i, clone) in clones.iter().enumerate() {
        assert_eq!(clone.packet_len(), 9000);
        let bytes = bytes_of(clone);
        assert_eq!(bytes[1..], packet[1..]);
        assert_eq!(bytes[0], if i == 2 { 99 } else { packet[0] });
    }
    assert!(!clones[0].write_u16(5000, 7), "a shared tail is read-only");
    for clone in clones {
        cache.free(clone);
    }
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

#[test]
fn packets_are_joined_with_all_their_segments_and_clones_as_copies() {
    let (pool, mut cache) = pool(63 * 8);
    let mut packet = |len: u32| {
        let bytes: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
        let mut b = cache.alloc().expect("one");
        assert!(b.append_bytes(&bytes, &mut cache));
        (b, bytes)
    };
    let ((mut head, mut want), (middle, second), (last, third)) = (packet(5000), packet(4100), packet(10));
    want.extend([second, third].concat());
    let mut clones = clones_of(middle, 2, 20, &mut cache);
    let before = clones[0].headroom();
    let alone = clones.remove(0).unshare(&mut cache).expect("buffers");
    assert_eq!((alone.headroom(), alone.flags.has(Flags::SHARED)), (before, false));
    head.append_segments([alone, last]);
    assert_eq!((head.packet_len(), bytes_of(&head)), (want.len(), want));
    cache.free(head);
    cache.free(clones.remove(0));
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn chains_hold_what_was_appended(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5000), 1..8), cut in 0usize..20000) {
        let (pool, mut cache) = pool(63 * 8);
        let mut b = cache.alloc().expect("one");
        let mut want = Vec::new();
        for part in &parts {
            if b.append_bytes(part, &mut cache) {
                want.extend_from_slice(part);
            }
        }
        prop_assert_eq!(bytes_of(&b), want.clone());
        prop_assert_eq!(b.packet_len(), want.len());
        let mut out = vec![0; 300];
        let at = cut.min(want.len());
        let n = b.copy_out(at, &mut out);
        prop_assert_eq!(&out[..n], &want[at..(at + 300).min(want.len())]);
        if want.len() > 4 {
            let at = cut % (want.len() - 1);
            prop_assert!(b.write_u16(at, 0xabcd));
            want[at] = 0xab;
            want[at + 1] = 0xcd;
        }
        b.trim_packet(cut, &mut cache);
        want.truncate(cut);
        prop_assert_eq!(bytes_of(&b), want);
        cache.free(b);
        drop(cache);
        prop_assert_eq!(pool.release(), Ok(()));
    }
}
