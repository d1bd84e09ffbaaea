// SPDX-License-Identifier: Apache-2.0
use crate::{Cache, FIELD_BYTES, FieldValue, Owned, Pool};
use std::collections::HashMap;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// So many bytes; types of different `N` are different fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
struct Bytes<const N: usize>([u8; N]);

impl<const N: usize> Default for Bytes<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> FieldValue for Bytes<N> {}

fn pool() -> (&'static Pool, Cache) {
    let pool = Pool::new(63 * 2).expect("a small pool");
    (pool, Cache::new(pool))
}

fn end(pool: &Pool, cache: Cache, packets: impl IntoIterator<Item = Owned>) {
    packets.into_iter().for_each(drop);
    drop(cache);
    let stats = pool.stats();
    assert_eq!(stats.carved, stats.depot + stats.loose);
}

#[suite::test]
fn fields_lie_side_by_side_and_keep_their_values() {
    let (pool, mut cache) = pool();
    pool.reserve_field::<Bytes<1>>("one").expect("room");
    pool.reserve_field::<Bytes<0>>("none").expect("room");
    pool.reserve_field::<Bytes<17>>("many").expect("room");
    pool.reserve_field::<Bytes<8>>("eight").expect("room");
    let bytes: Vec<_> = pool.fields().into_iter().map(|field| (field.owner, field.bytes)).collect();
    assert_eq!(bytes, [("one", 0..4), ("none", 4..8), ("many", 8..28), ("eight", 28..36)]);
    let one = pool.field::<Bytes<1>>().expect("reserved");
    let none = pool.field::<Bytes<0>>().expect("reserved");
    let many = pool.field::<Bytes<17>>().expect("reserved");
    let eight = pool.field::<Bytes<8>>().expect("reserved");
    assert!(pool.field::<Bytes<2>>().is_none());
    let mut b = cache.alloc().expect("one");
    b.set_field(many, Bytes([0xff; 17]));
    assert_eq!((b.find_field(one), b.find_field(none), b.find_field(eight)), (None, None, None));
    b.set_field(one, Bytes([1]));
    b.set_field(eight, Bytes([8; 8]));
    b.set_field(none, Bytes([]));
    b.set_field(one, Bytes([2]));
    assert_eq!((b.field(one), b.find_field(none)), (Bytes([2]), Some(Bytes([]))));
    assert_eq!((b.field(many), b.field(eight)), (Bytes([0xff; 17]), Bytes([8; 8])));
    b.clear_field(many);
    assert_eq!((b.find_field(many), b.find_field(eight)), (None, Some(Bytes([8; 8]))));
    end(pool, cache, [b]);
    assert_eq!(pool.release(), Ok(()));
}

#[suite::test]
fn copies_have_them_and_fresh_buffers_have_not() {
    let (pool, mut cache) = pool();
    pool.reserve_field::<Bytes<8>>("a").expect("room");
    pool.reserve_field::<Bytes<3>>("b").expect("room");
    let (a, b) =
        (pool.field::<Bytes<8>>().expect("reserved"), pool.field::<Bytes<3>>().expect("reserved"));
    for len in [40, 5000] {
        let mut packet = cache.alloc().expect("one");
        assert!(packet.append_bytes(&vec![7; len], &mut cache));
        packet.set_field(a, Bytes([9; 8]));
        let original = packet.into_original(20);
        let [mut first, second] = [(); 2].map(|()| original.copy(&mut cache).expect("a buffer"));
        first.set_field(a, Bytes([1; 8]));
        first.set_field(b, Bytes([2; 3]));
        drop(original.finish(&mut cache));
        let second = second.unshare(&mut cache).expect("buffers");
        assert_eq!((first.field(a), first.field(b)), (Bytes([1; 8]), Bytes([2; 3])));
        assert_eq!((second.field(a), second.find_field(b)), (Bytes([9; 8]), None));
        cache.free(first);
        cache.free(second);
    }
    let fresh: Vec<_> = std::iter::from_fn(|| cache.alloc()).collect();
    assert!(
        fresh.iter().all(|packet| packet.find_field(a).is_none() && packet.find_field(b).is_none())
    );
    end(pool, cache, fresh);
    assert_eq!(pool.release(), Ok(()));
}

#[suite::test]
#[cfg(debug_assertions)]
#[should_panic(expected = "Bytes<4> was not written")]
fn a_value_that_nobody_wrote_panics() {
    let (pool, mut cache) = pool();
    pool.reserve_field::<Bytes<4>>("a").expect("room");
    let field = pool.field::<Bytes<4>>().expect("reserved");
    let mut b = cache.alloc().expect("one");
    b.set_field(field, Bytes([1; 4]));
    cache.free(b);
    let b = cache.alloc().expect("the same");
    let _ = b.field(field);
}

#[suite::test]
fn types_share_fields_and_what_is_too_much_names_the_holders() {
    let (pool, cache) = pool();
    pool.reserve_field::<Bytes<40>>("nat").expect("room");
    pool.reserve_field::<Bytes<40>>("acl").expect("it is there");
    pool.reserve_field::<Bytes<6>>("qos").expect("room");
    let error = pool.reserve_field::<Bytes<20>>("l2").expect_err("too much");
    for words in ["64 bytes", "16 left for the 20 of", "40 by nat for", "8 by qos for", "Bytes<20>"]
    {
        assert!(error.contains(words), "{error}");
    }
    assert!(!error.ends_with(','), "{error}");
    pool.reserve_field::<Bytes<16>>("l2").expect("just room");
    assert_eq!(pool.fields().last().map(|field| field.bytes.end), Some(FIELD_BYTES));
    // The next instance has its own.
    drop(cache);
    assert_eq!(pool.release(), Ok(()));
    let mut held = HashMap::new();
    while !held.contains_key(&std::ptr::from_ref(pool).addr()) {
        let next = Pool::new(63 * 2).expect("a small pool");
        held.insert(std::ptr::from_ref(next).addr(), next);
    }
    assert!(pool.fields().is_empty());
    held.into_values().for_each(|pool| assert_eq!(pool.release(), Ok(())));
}
