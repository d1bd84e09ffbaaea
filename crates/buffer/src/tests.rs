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

#[suite::test]
fn buffers_run_out_and_come_back() {
    let (pool, mut cache) = pool(63 * 5);
    let mut held = Vec::new();
    while let Some(b) = cache.alloc() {
        held.push(b);
    }
    assert_eq!(held.len(), 63 * 5);
    assert_eq!(pool.stats().failures, 1);
    drop(held.pop());
    // A handle that is dropped without a cache comes back through the pool.
    let again = cache.alloc();
    assert!(again.is_some());
    drop(again);
    for b in held {
        cache.free(b);
    }
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

#[suite::test]
fn a_leak_is_told() {
    let (pool, mut cache) = pool(63 * 3);
    let lost = cache.alloc().expect("one");
    drop(cache);
    assert_eq!(pool.release(), Err(1));
    drop(lost);
    assert_eq!(pool.release(), Ok(()));
}

#[suite::test]
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

#[suite::test]
fn scratch_returns_what_was_written() {
    let (_, mut cache) = pool(63);
    let mut b = cache.alloc().expect("one");
    b.set_scratch(Meta { adjacency: 5, fib: 9 });
    assert_eq!(b.scratch::<Meta>(), Meta { adjacency: 5, fib: 9 });
}

#[suite::test]
#[cfg(debug_assertions)]
#[should_panic(expected = "was not written")]
fn scratch_that_nobody_wrote_panics() {
    let (_, mut cache) = pool(63);
    let b = cache.alloc().expect("one");
    let _ = b.scratch::<Meta>();
}

#[suite::test]
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

fn packet_of(len: u32, cache: &mut Cache) -> (Owned, Vec<u8>) {
    let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + i / 256) as u8).collect();
    let mut b = cache.alloc().expect("one");
    assert!(b.append_bytes(&bytes, cache));
    (b, bytes)
}

/// `n` copies that share what is behind their heads.
fn copies_of(b: Owned, n: usize, head: usize, cache: &mut Cache) -> Vec<Owned> {
    let original = b.into_original(head);
    let copies = (0..n).map(|_| original.copy(cache).expect("a buffer")).collect();
    assert!(original.finish(cache).is_none());
    copies
}

/// Allocates all that is free and writes to all of it.
fn overwrite(cache: &mut Cache) -> Vec<Owned> {
    let mut all: Vec<Owned> = std::iter::from_fn(|| cache.alloc()).collect();
    all.iter_mut().for_each(|b| b.fresh_area().fill(0xee));
    all
}

#[suite::test]
fn copies_of_what_their_heads_hold_share_nothing() {
    let (pool, mut cache) = pool(63 * 4);
    let mut b = cache.alloc().expect("one");
    assert!(b.append_bytes(&[7; 100], &mut cache) && b.pull(10));
    let original = b.into_original(200);
    assert!(original.is_whole());
    let copy = original.copy(&mut cache).expect("a buffer");
    let b = original.finish(&mut cache).expect("the packet itself");
    assert_eq!((b.len(), b.packet_len()), (90, 90));
    assert_eq!((copy.data(), copy.headroom(), copy.is_shared()), (b.data(), b.headroom(), false));
    cache.free(b);
    // The last buffers: what can't be made isn't half made.
    let mut held: Vec<Owned> = std::iter::from_fn(|| cache.alloc()).collect();
    let mut long = held.pop().expect("one");
    assert!(long.set_data(&[1; 2000]));
    let original = long.into_original(64);
    assert!(original.copy(&mut cache).is_none() && original.finish(&mut cache).is_none());
    held.into_iter().chain([copy]).for_each(|b| cache.free(b));
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

#[suite::test]
fn copies_share_their_tail_and_free_it_once() {
    let (pool, mut cache) = pool(63 * 4);
    let (b, packet) = packet_of(9000, &mut cache);
    let mut copies = copies_of(b, 4, 64, &mut cache);
    copies[2].data_mut()[0] = 99;
    for (i, copy) in copies.iter().enumerate() {
        assert!(copy.packet_len() == 9000 && copy.is_shared());
        let bytes = bytes_of(copy);
        assert_eq!(bytes[1..], packet[1..]);
        assert_eq!(bytes[0], if i == 2 { 99 } else { packet[0] });
    }
    assert!(!copies[0].write_u16(5000, 7), "a shared tail is read-only");
    assert!(!copies[0].write_u16(63, 7), "as well if the first byte is in the head");
    let last = copies.pop().expect("four");
    copies.into_iter().for_each(|copy| cache.free(copy));
    assert!(!last.is_shared(), "the last copy has the tail to itself");
    assert_eq!(bytes_of(&last), packet);
    cache.free(last);
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

/// A duplicate has the bytes of the first segment to itself and shares the others, and the packet
/// stays as it is.
#[suite::test]
fn duplicates_change_apart_and_outlive_each_other() {
    for len in [1, 100, 2000, 2049, 9000] {
        let (pool, mut cache) = pool(63 * 4);
        let (mut b, packet) = packet_of(len, &mut cache);
        b.mark_l2();
        assert_eq!((b.pull(1), b.push::<1>().is_some()), (true, true));
        (b.flags, b.rx_if, b.tx_if) = (Flags::LOCAL, 5, 6);
        b.data_mut()[0] = packet[0];
        let mut copy = b.duplicate(&mut cache).expect("a buffer");
        assert_eq!(
            (copy.flags, copy.rx_if, copy.tx_if, copy.headroom()),
            (Flags::LOCAL, 5, 6, b.headroom())
        );
        assert_eq!((bytes_of(&copy), copy.packet_len()), (packet.clone(), packet.len()));
        assert_eq!((copy.is_shared(), b.is_shared()), (b.is_chained(), b.is_chained()));
        copy.data_mut()[0] = 0x55;
        assert_eq!(bytes_of(&b), packet);
        b.data_mut()[0] = 0x66;
        assert_eq!(copy.data()[0], 0x55);
        // A duplicate of a duplicate, which outlives both.
        let last = copy.duplicate(&mut cache).expect("a buffer");
        cache.free(b);
        cache.free(copy);
        assert!(!last.is_shared());
        assert_eq!(bytes_of(&last)[1..], packet[1..]);
        let others = overwrite(&mut cache);
        assert!(last.duplicate(&mut cache).is_none(), "no buffer is left");
        assert_eq!(bytes_of(&last)[1..], packet[1..]);
        others.into_iter().chain([last]).for_each(|b| cache.free(b));
        drop(cache);
        assert_eq!(pool.release(), Ok(()));
    }
}

/// In whatever order packets are freed, by frames, handles, another thread or without a cache: a
/// segment that a copy shares is never given to another packet.
#[suite::test]
fn copies_keep_their_bytes_while_others_come_and_go() {
    for (len, head) in [(1000, 256), (2000, 0), (9000, 256), (9000, 5000)] {
        let (pool, mut cache) = pool(63 * 8);
        // Another thread has buffers of its own.
        let mut other = Cache::new(pool);
        other.alloc().into_iter().for_each(|b| other.free(b));
        let (b, packet) = packet_of(len, &mut cache);
        let original = b.into_original(head);
        let mut frame = Frame::new(pool);
        for _ in 0..5 {
            assert!(frame.push(original.copy(&mut cache).expect("a buffer")).is_ok());
        }
        let [held, dropped, elsewhere] =
            [(); 3].map(|()| original.copy(&mut cache).expect("a buffer"));
        // A copy of a copy has two tails.
        let second = original.copy(&mut cache).expect("a buffer").into_original(10);
        let third = second.copy(&mut cache).expect("a buffer");
        assert!(original.finish(&mut cache).is_none() && second.finish(&mut cache).is_none());
        let all = |cache: &mut Cache, copies: &[&Owned]| {
            let others = overwrite(cache);
            copies.iter().for_each(|copy| assert_eq!(bytes_of(copy), packet));
            others.into_iter().for_each(|b| cache.free(b));
        };
        all(&mut cache, &[&held, &dropped, &elsewhere, &third]);
        cache.free_frame(&mut frame);
        all(&mut cache, &[&held, &dropped, &elsewhere, &third]);
        drop(dropped);
        all(&mut cache, &[&held, &elsewhere, &third]);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let alone = elsewhere.unshare(&mut other).expect("buffers");
                assert!(!alone.is_shared());
                other.free(alone);
            });
            for _ in 0..100 {
                all(&mut cache, &[&held, &third]);
            }
        });
        cache.free(held);
        all(&mut cache, &[&third]);
        assert!(!third.is_shared());
        cache.free(third);
        drop(cache);
        assert_eq!(pool.release(), Ok(()));
    }
}

/// Copies are freed by two threads at once: the last one frees the tail, once.
#[suite::test]
fn threads_free_copies_side_by_side() {
    let (pool, mut cache) = pool(63 * 16);
    for round in 0..200 {
        let (b, packet) = packet_of(3000 + round, &mut cache);
        let mut copies = copies_of(b, 32, 20, &mut cache);
        let others = copies.split_off(16);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut cache = Cache::new(pool);
                for copy in others {
                    assert_eq!(bytes_of(&copy), packet);
                    cache.free(copy);
                    overwrite(&mut cache).truncate(1);
                }
            });
            for copy in copies {
                assert_eq!(bytes_of(&copy), packet);
                cache.free(copy);
            }
        });
    }
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

/// Metadata may be copied and changed at will: a packet consists of what it consisted of.
#[suite::test]
fn flags_say_nothing_of_segments() {
    let (pool, mut cache) = pool(63 * 2);
    let (mut long, bytes) = packet_of(5000, &mut cache);
    let (mut short, little) = packet_of(50, &mut cache);
    short.flags = long.flags;
    for bits in [u32::MAX, 0] {
        (long.flags, short.flags) = (Flags::from_bits_retain(bits), Flags::from_bits_retain(bits));
        assert_eq!((bytes_of(&long), bytes_of(&short)), (bytes.clone(), little.clone()));
        assert_eq!((long.is_chained(), short.is_chained()), (true, false));
    }
    cache.free(long);
    cache.free(short);
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

#[suite::test]
fn shared_segments_take_no_more() {
    let (pool, mut cache) = pool(63 * 4);
    let (b, packet) = packet_of(3000, &mut cache);
    let mut copies = copies_of(b, 2, 20, &mut cache);
    let (more, _) = packet_of(5000, &mut cache);
    let more = copies[0].append_segment(more).expect_err("a shared tail is read-only");
    assert!(!copies[0].append_bytes(&[1], &mut cache));
    // Nor do they become part of another packet, or what comes before them does.
    let (mut head, mut want) = packet_of(10, &mut cache);
    let (first, second) = packet_of(20, &mut cache);
    let refused = head.append_segments([first, copies.remove(0), more]).expect_err("shared");
    assert_eq!(bytes_of(&refused), packet);
    want.extend(second);
    assert_eq!((head.packet_len(), bytes_of(&head)), (want.len(), want));
    [head, refused, copies.remove(0)].into_iter().for_each(|b| cache.free(b));
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

#[suite::test]
fn a_shared_packet_is_trimmed_by_copying_or_not_at_all() {
    let (pool, mut cache) = pool(63 * 2);
    let (b, packet) = packet_of(5000, &mut cache);
    let mut copies = copies_of(b, 2, 20, &mut cache);
    let others = overwrite(&mut cache);
    assert!(!copies[0].trim_packet(3000, &mut cache), "there are no buffers");
    assert!(!copies[0].trim_packet(30, &mut cache));
    assert_eq!(bytes_of(&copies[0]), packet);
    others.into_iter().for_each(|b| cache.free(b));
    assert!(copies[0].trim_packet(3000, &mut cache) && !copies[0].is_shared());
    assert_eq!((copies[0].packet_len(), bytes_of(&copies[0])), (3000, packet[..3000].to_vec()));
    // The other one has the rest to itself by now: no buffer is needed.
    let others = overwrite(&mut cache);
    assert!(copies[1].trim_packet(2100, &mut cache));
    assert_eq!((copies[1].packet_len(), bytes_of(&copies[1])), (2100, packet[..2100].to_vec()));
    copies[1].drop_segments(&mut cache);
    assert_eq!(bytes_of(&copies[1]), packet[..20]);
    copies.into_iter().chain(others).for_each(|b| cache.free(b));
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

#[suite::test]
fn packets_are_joined_with_all_their_segments_and_shared_ones_as_copies() {
    let (pool, mut cache) = pool(63 * 8);
    let mut packet = |len: u32| packet_of(len, &mut cache);
    let ((mut head, mut want), (middle, second), (last, third)) =
        (packet(5000), packet(4100), packet(10));
    want.extend([second, third].concat());
    let mut copies = copies_of(middle, 2, 20, &mut cache);
    let before = copies[0].headroom();
    let alone = copies.remove(0).unshare(&mut cache).expect("buffers");
    assert_eq!((alone.headroom(), alone.is_shared()), (before, false));
    assert!(head.append_segments([alone, last]).is_ok());
    assert_eq!((head.packet_len(), bytes_of(&head)), (want.len(), want));
    cache.free(head);
    cache.free(copies.remove(0));
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[suite::test]
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
        prop_assert!(b.trim_packet(cut, &mut cache));
        prop_assert_eq!(b.packet_len(), cut.min(want.len()));
        want.truncate(cut);
        prop_assert_eq!(bytes_of(&b), want);
        cache.free(b);
        drop(cache);
        prop_assert_eq!(pool.release(), Ok(()));
    }
}

/// Runs `f`, which has to panic; returns true if the panic message contains these words.
fn refused(words: &str, f: impl FnOnce()) -> bool {
    let panic =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).expect_err("it isn't refused");
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .is_some_and(|text| text.contains(words))
}

#[suite::test]
fn pools_stay_apart() {
    const WHY: &str = "another pool";
    let ((pool_a, mut cache_a), (pool_b, mut cache_b)) = (pool(63 * 2), pool(63 * 2));
    let (mut a, mut b) = (Frame::new(pool_a), Frame::new(pool_b));
    cache_a.alloc_frame(&mut a, 3);
    cache_b.alloc_frame(&mut b, 3);
    assert!(refused(WHY, || a.append(&mut b)));
    assert!(refused(WHY, || a.append_first(&mut b, 1)));
    // SAFETY: they take nothing, but panic.
    assert!(refused(WHY, || unsafe { a.take_one(&b, 0) }));
    // SAFETY: as above.
    assert!(refused(WHY, || _ = unsafe { a.take_selected(&b, 1) }));
    let alien = cache_b.alloc().expect("one");
    assert!(refused(WHY, || _ = a.push(alien)));
    assert!(refused(WHY, || cache_a.free_frame(&mut b)));
    assert!(refused(WHY, || _ = cache_a.alloc_frame(&mut b, 1)));
    assert_eq!((a.len(), b.len()), (3, 3));

    let (mut long, mut bytes) = packet_of(3000, &mut cache_a);
    assert!(!long.append_bytes(&[1; 3000], &mut cache_b));
    let alien = cache_b.alloc().expect("one");
    cache_b.free(long.append_segment(alien).expect_err("of another pool"));
    assert_eq!(bytes_of(&long), bytes);
    let original = long.into_original(10);
    assert!(refused(WHY, || _ = original.copy(&mut cache_b)));
    let [mut one, two] = [(); 2].map(|()| original.copy(&mut cache_a).expect("one"));
    assert!(original.finish(&mut cache_b).is_none());
    assert!(!one.trim_packet(2500, &mut cache_b) && bytes_of(&one) == bytes);
    // A copy may be of any pool, and a packet goes back to where it is from.
    let two = two.unshare(&mut cache_b).expect("a buffer");
    assert_eq!(bytes_of(&two), bytes);
    assert!(one.trim_packet(2500, &mut cache_b));
    bytes.truncate(2500);
    assert_eq!(bytes_of(&one), bytes);
    cache_a.free(two);
    cache_b.free(one);
    cache_a.free_frame(&mut a);
    cache_b.free_frame(&mut b);
    drop((cache_a, cache_b));
    assert_eq!((pool_a.release(), pool_b.release()), (Ok(()), Ok(())));
}

#[suite::test]
fn an_abandoned_drain_loses_nothing() {
    let (pool, mut cache) = pool(63);
    let mut frame = Frame::new(pool);
    cache.alloc_frame(&mut frame, 9);
    let some: Vec<_> = frame.drain().take(2).collect();
    assert!(frame.is_empty());
    some.into_iter().for_each(|b| cache.free(b));
    drop((frame, cache));
    assert_eq!(pool.release(), Ok(()));
}

/// Caches that come and go leave full magazines behind, so the depot has room for all.
#[suite::test]
fn many_caches_lose_nothing() {
    let (pool, mut cache) = pool(63 * 4);
    let all: Vec<Owned> = std::iter::from_fn(|| cache.alloc()).collect();
    assert_eq!(all.len(), 63 * 4);
    drop(cache);
    for b in all {
        Cache::new(pool).free(b);
    }
    assert_eq!(pool.release(), Ok(()));
}
